/* train_steps [--stop STEP FILE] [--resume FILE]: a small network is trained for twelve steps, with
 * what makes steps differ: dropout, batch norm, a rate that changes, clipping, a last batch of
 * another size. Prints every loss and the parameters in the end, to the last bit, and what was
 * compiled; so that runs can be compared: with more threads, in other modes of the JIT, and stopped
 * and resumed. test/system/train_steps.sh does. */
#include "base/hash.h"
#include <lazuli/lazuli.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 12, BATCH = 16, LAST = 7, SIDE = 8, CLASSES = 4 };

typedef struct network {
    lz_module *all, *conv, *norm, *dropout, *out;
} network;

static network make_network(lz_ctx *c)
{
    lz_module *m = lz_module_create(c);
    return (network){ m, lz_nn_conv2d(m, "conv", 1, 8, 3, .padding = 1), lz_nn_batch_norm2d(m, "norm", 8),
                      lz_nn_dropout(m, "dropout", 0.3), lz_nn_linear(m, "out", 8 * 4 * 4, CLASSES) };
}

static lz_tensor *forward(lz_ctx *c, const network *n, lz_tensor *x)
{
    lz_tensor *h = lz_relu(c, lz_forward(n->norm, lz_forward(n->conv, x)));
    h = lz_flatten_using_ints(c, lz_max_pool2d(c, h, LZ_DIMS(2, 2)), .start_dim = 1);
    return lz_forward(n->out, lz_forward(n->dropout, h));
}

/* Stripes whose direction and width are the class. */
static void make_batch(int step, int count, float *x, int64_t *y)
{
    uint32_t dice = (uint32_t)step * 7919 + 1;
    for (int i = 0; i < count; i++) {
        y[i] = (step + i) % CLASSES;
        for (int k = 0; k < SIDE * SIDE; k++) {
            int along = y[i] & 1 ? k / SIDE : k % SIDE;
            dice = dice * 1664525 + 1013904223;
            x[i * SIDE * SIDE + k] = (float)((along >> (y[i] >> 1)) & 1) + (float)(dice >> 16) / 65536;
        }
    }
}

static float learn(lz_ctx *c, const network *n, lz_optim *optim, int step)
{
    static float images[BATCH * SIDE * SIDE];
    static int64_t labels[BATCH];
    int count = step + 1 == STEPS ? LAST : BATCH;
    make_batch(step, count, images, labels);
    lz_scope *s = lz_scope_push(c);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(count, 1, SIDE, SIDE), images);
    lz_tensor *y = lz_from_memory(c, LZ_I64, LZ_DIMS(count), labels);
    lz_tensor *loss = lz_retain(lz_cross_entropy_loss(c, forward(c, n, x), y));
    lz_backward(c, loss);
    lz_clip_grad_norm(n->all, 1.0);
    lz_optim_set_lr(optim, lz_schedule_cosine(0.01, step, STEPS, 0));
    lz_optim_step(optim);
    lz_scope_pop(s);
    lz_mark_step(c);
    float v = (float)lz_item(loss).re;
    lz_release(loss);
    return v;
}

static long long figure(const char *name)
{
    int64_t n = 0;
    lz_counter_value(name, &n);
    return n;
}

static void print_parameters(const network *n)
{
    static float room[4096];
    const char *name;
    lz_tensor *t;
    for (size_t i = 0; (t = lz_module_param(n->all, i, &name)); i++)
        if (lz_read(t, room, sizeof room))
            printf("%s %016llx\n", name,
                   (unsigned long long)lz_hash64(room, (size_t)lz_tensor_numel(t) * sizeof *room));
}

/* What the program was asked to do. */
typedef struct plan {
    int stop; /* before this step */
    const char *save, *resume;
} plan;

static void train(lz_ctx *c, const plan *p)
{
    network n = make_network(c);
    lz_optim *optim = lz_adam(n.all, .weight_decay = 1e-4);
    int64_t first = 0;
    if (p->resume)
        lz_load_training(n.all, optim, p->resume, &first);
    for (int i = (int)first; i < p->stop && !lz_failed(c); i++) {
        long long graphs = figure("UncachedCompile"), kernels = figure("KernelCompile");
        printf("loss %d %a\n", i, (double)learn(c, &n, optim, i));
        if (i >= first + 2)
            printf("compiled %d: %lld graphs%s\n", i, figure("UncachedCompile") - graphs,
                   figure("KernelCompile") > kernels ? ", kernels" : "");
    }
    if (p->stop == STEPS)
        printf("why %s\n", lz_explain(c));
    if (p->save && !lz_failed(c))
        lz_save_training(n.all, optim, p->save, p->stop);
    if (p->stop == STEPS)
        print_parameters(&n);
    lz_optim_free(optim);
    lz_module_free(n.all);
}

int main(int argc, char **argv)
{
    plan p = { .stop = STEPS };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--stop") == 0 && i + 2 < argc) {
            p.stop = atoi(argv[++i]);
            p.save = argv[++i];
        } else if (strcmp(argv[i], "--resume") == 0 && i + 1 < argc) {
            p.resume = argv[++i];
        }
    }
    lz_ctx *c = lz_open(&(lz_options){ .seed = 5 });
    train(c, &p);
    if (lz_failed(c))
        fprintf(stderr, "train_steps: %s\n", lz_message(c));
    int status = lz_failed(c);
    lz_close(c);
    return status;
}
