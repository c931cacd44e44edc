#include "check.h"
#include <lazuli/lazuli.h>
#include <stdio.h>

/* A run that is stopped and goes on in another context, from a file, gives the bits of one that is
 * not stopped: a model with everything that has a state (batch normalisation, dropout's random
 * numbers, two optimisers, a schedule). */

enum { STEPS = 7, STOP = 3, BATCH = 8, IN = 6, HIDDEN = 10, OUT = 3 };

typedef struct run {
    lz_ctx *c;
    lz_module *model, *net;
    lz_optim *optim;
    bool adam;
} run;

static void open_run(run *r, uint64_t seed, bool adam)
{
    r->c = lz_open(&(lz_options){ .seed = seed });
    assert_non_null(r->c);
    r->adam = adam;
    r->model = lz_module_create(r->c);
    r->net = lz_nn_sequential(r->model, "net");
    lz_nn_linear(r->net, "f1", IN, HIDDEN);
    lz_nn_batch_norm1d(r->net, "norm", HIDDEN);
    lz_nn_op(r->net, "relu", lz_relu_at);
    lz_nn_dropout(r->net, "drop", 0.25);
    lz_nn_linear(r->net, "f2", HIDDEN, OUT);
    r->optim = adam ? lz_adam(r->model, .lr = 0.05, .weight_decay = 0.01)
                    : lz_sgd(r->model, .lr = 0.1, .momentum = 0.9, .nesterov = true);
    assert_string_equal(lz_message(r->c), "");
}

static void close_run(run *r)
{
    assert_string_equal(lz_message(r->c), "");
    lz_optim_free(r->optim);
    lz_module_free(r->model);
    lz_close(r->c);
}

static float step(run *r, int64_t n)
{
    float in[BATCH * IN], loss = 0;
    int64_t label[BATCH];
    for (int i = 0; i < BATCH * IN; i++)
        in[i] = (float)((i * 7 + n * 13) % 11) / 5 - 1;
    for (int i = 0; i < BATCH; i++)
        label[i] = (i + n) % OUT;
    lz_scope *s = lz_scope_push(r->c);
    lz_tensor *x = lz_from_memory(r->c, LZ_F32, LZ_DIMS(BATCH, IN), in);
    lz_tensor *y = lz_from_memory(r->c, LZ_I64, LZ_DIMS(BATCH), label);
    lz_tensor *l = lz_retain(lz_cross_entropy_loss(r->c, lz_forward(r->net, x), y));
    lz_backward(r->c, l);
    lz_clip_grad_norm(r->model, 1.0);
    lz_optim_set_lr(r->optim, lz_schedule_cosine(r->adam ? 0.05 : 0.1, n, STEPS, 0));
    lz_optim_step(r->optim);
    lz_scope_pop(s);
    lz_mark_step(r->c);
    assert_string_equal(lz_message(r->c), "");
    assert_true(lz_read(l, &loss, sizeof loss));
    lz_release(l);
    return loss;
}

typedef struct format {
    const char *name;
    bool (*save)(run *r, const char *path, lz_named_tensors list);
    lz_archive *(*open)(run *r, const char *path);
} format;

static bool save_checkpoint(run *r, const char *path, lz_named_tensors list)
{
    return lz_save_checkpoint(r->c, path, list, STOP);
}

static lz_archive *open_checkpoint(run *r, const char *path)
{
    int64_t n = 0;
    lz_archive *a = lz_open_checkpoint(r->c, path, &n);
    assert_int_equal(n, STOP);
    return a;
}

static bool save_npz(run *r, const char *path, lz_named_tensors list)
{
    return lz_save_npz(r->c, path, list);
}

static lz_archive *open_npz(run *r, const char *path)
{
    return lz_archive_open(r->c, path);
}

static const format formats[] = {
    { "run.safetensors", save_checkpoint, open_checkpoint },
    { "run.npz", save_npz, open_npz },
};

static void save_run(run *r, const format *f, const char *path)
{
    lz_state *s = lz_training_state(r->model, r->optim);
    assert_non_null(s);
    assert_true(f->save(r, path, lz_state_list(s)));
    lz_state_free(s);
}

static void load_run(run *r, const format *f, const char *path)
{
    lz_named_tensor all[64];
    lz_archive *a = f->open(r, path);
    assert_non_null(a);
    size_t n = lz_archive_count(a);
    assert_true(n <= 64 && lz_archive_tensors(r->c, a, all));
    assert_true(lz_training_load_state(r->model, r->optim, (lz_named_tensors){ all, n }));
    lz_archive_close(a);
}

static uint32_t bits(float v)
{
    uint32_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}

static void compare(const format *f, bool adam)
{
    char path[512];
    float losses[STEPS];
    run whole, rest;
    snprintf(path, sizeof path, "%s/%s", lz_check_dir(), f->name);
    open_run(&whole, 42, adam);
    for (int64_t n = 0; n < STEPS; n++) {
        if (n == STOP)
            save_run(&whole, f, path);
        losses[n] = step(&whole, n);
    }
    open_run(&rest, 7, adam);
    load_run(&rest, f, path);
    for (int64_t n = STOP; n < STEPS; n++) {
        float loss = step(&rest, n);
        if (bits(loss) != bits(losses[n]))
            fail_msg("%s: step %d: %a instead of %a", f->name, (int)n, (double)loss, (double)losses[n]);
    }
    assert_true(losses[STEPS - 1] != losses[STOP]);
    close_run(&rest);
    close_run(&whole);
}

static void test_a_run_goes_on_to_the_last_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        compare(&formats[i], true);
        compare(&formats[i], false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_a_run_goes_on_to_the_last_bit) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
