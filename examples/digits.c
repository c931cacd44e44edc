/* digits.c - a convolutional network learns to read handwritten digits.
 *
 *     digits [FOLDER [SEEDS]]    FOLDER has digits_images.npy and digits_labels.npy; default: examples/data
 *
 * Trains three networks (or SEEDS), each from another seed, on 1,437 images of 8x8 points, and tests them
 * on 360 others. Forward pass, backward pass and update are one graph, compiled once. */
#include <lazuli/lazuli.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    IMAGES = 1797,
    TRAIN = 1437,
    SIDE = 8,
    BATCH = 64,
    EPOCHS = 20,
    SEEDS = 3,
    BAR = 30,
    SEEN = 64 * 4 * 4
};

typedef struct digits {
    lz_ctx *c;
    lz_tensor *images, *labels; /* [1797, 1, 8, 8], [1797] */
    int64_t order[IMAGES];      /* the first TRAIN images are for training, the others for testing */
} digits;

typedef struct network {
    lz_module *all, *c1, *c2, *dropout, *out;
} network;

static network make_network(lz_ctx *c)
{
    lz_module *m = lz_module_create(c);
    return (network){ m, lz_nn_conv2d(m, "c1", 1, 32, 3, .padding = 1),
                      lz_nn_conv2d(m, "c2", 32, 64, 3, .padding = 1), lz_nn_dropout(m, "dropout", 0.2),
                      lz_nn_linear(m, "out", SEEN, 10) };
}

static lz_tensor *forward(lz_ctx *c, const network *n, lz_tensor *x)
{
    lz_tensor *h = lz_relu(c, lz_forward(n->c1, x));
    h = lz_max_pool2d(c, lz_relu(c, lz_forward(n->c2, h)), LZ_DIMS(2, 2));
    return lz_forward(n->out, lz_forward(n->dropout, lz_flatten(c, h, .start_dim = 1)));
}

/* One training step. Returns the loss, which is computed when it is read. */
static lz_tensor *learn(digits *d, const network *n, lz_optim *optim, const int64_t *which, int64_t count)
{
    lz_scope *s = lz_scope_push(d->c);
    lz_tensor *i = lz_from_memory(d->c, LZ_I64, LZ_DIMS(count), which);
    lz_tensor *x = lz_index_select(d->c, d->images, 0, i), *y = lz_index_select(d->c, d->labels, 0, i);
    lz_tensor *loss = lz_retain(lz_cross_entropy_loss(d->c, forward(d->c, n, x), y));
    lz_backward(d->c, loss);
    lz_optim_step(optim); /* so far, everything is only recorded */
    lz_scope_pop(s);      /* releases the temporaries */
    lz_mark_step(d->c);   /* forward, backward and update are one graph: compiled once, run every time */
    return loss;
}

/* The share of test images that the network classifies correctly. */
static double test(digits *d, const network *n)
{
    double right = 0;
    lz_scope *s = lz_scope_push(d->c);
    lz_train(n->all, false);
    LZ_NO_GRAD(d->c)
    {
        lz_tensor *i = lz_from_memory(d->c, LZ_I64, LZ_DIMS(IMAGES - TRAIN), d->order + TRAIN);
        lz_tensor *y = forward(d->c, n, lz_index_select(d->c, d->images, 0, i));
        lz_tensor *same =
            lz_eq(d->c, lz_argmax(d->c, y, .dim = lz_some_int(1)), lz_index_select(d->c, d->labels, 0, i));
        right = lz_item(lz_mean(d->c, same, .dtype = LZ_F32)).re;
    }
    lz_train(n->all, true);
    lz_scope_pop(s);
    return right;
}

/* Unlike rand, gives the same order on every machine. */
static void shuffle(int64_t *v, int64_t n, uint64_t *state)
{
    for (int64_t i = n - 1; i > 0; i--) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        int64_t j = (int64_t)((*state >> 33) % (uint64_t)(i + 1)), t = v[i];
        v[i] = v[j];
        v[j] = t;
    }
}

/* A bar on a terminal, lines elsewhere. */
static void show(int seed, int epoch, double loss)
{
    int done = epoch * BAR / EPOCHS;
    if (isatty(1))
        printf("\rseed %d  [%.*s%*s]  epoch %2d  loss %.4f", seed, done, "##############################",
               BAR - done, "", epoch, loss);
    else if (epoch % 5 == 0)
        printf("seed %d  epoch %2d of %d  loss %.4f\n", seed, epoch, EPOCHS, loss);
    fflush(stdout);
}

static double train(digits *d, int seed)
{
    uint64_t dice = (uint64_t)seed;
    int step = 0, steps = EPOCHS * ((TRAIN + BATCH - 1) / BATCH);
    lz_manual_seed(d->c, (uint64_t)seed);
    network n = make_network(d->c);
    lz_optim *optim = lz_adam(n.all, .lr = 0);
    for (int epoch = 1; epoch <= EPOCHS && !lz_failed(d->c); epoch++) {
        lz_tensor *loss = NULL;
        shuffle(d->order, TRAIN, &dice);
        for (int64_t at = 0; at < TRAIN; at += BATCH) {
            int64_t left = TRAIN - at;
            lz_release(loss);
            lz_optim_set_lr(optim, lz_schedule_cosine(0.004, step++, steps, 0));
            loss = learn(d, &n, optim, d->order + at, left < BATCH ? left : BATCH);
        }
        show(seed, epoch, lz_item(loss).re);
        lz_release(loss);
    }
    double right = test(d, &n);
    printf("%sseed %d  %.2f %% of %d test images are classified correctly\n", isatty(1) ? "\n" : "", seed,
           100 * right, IMAGES - TRAIN);
    lz_optim_free(optim);
    lz_module_free(n.all);
    return right;
}

/* ---- the images ---- */

static lz_tensor *load(lz_ctx *c, const char *folder, const char *name, lz_dtype d, lz_ints sizes)
{
    char path[4096];
    lz_array *a = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    lz_err *e = lz_array_load(path, &a);
    if (e) {
        fprintf(stderr, "digits: %s\n", lz_err_text(e));
        lz_err_free(e);
        return NULL;
    }
    lz_tensor *bytes = lz_from_memory(c, lz_array_dtype(a), lz_array_sizes(a), lz_array_data(a));
    lz_array_release(a);
    return lz_reshape(c, lz_to_dtype(c, bytes, d), sizes);
}

static bool load_all(digits *d, const char *folder)
{
    uint64_t dice = 1797;
    d->images = load(d->c, folder, "digits_images.npy", LZ_F32, LZ_DIMS(IMAGES, 1, SIDE, SIDE));
    d->labels = load(d->c, folder, "digits_labels.npy", LZ_I64, LZ_DIMS(IMAGES));
    if (!d->images || !d->labels)
        return false;
    d->images = lz_div(d->c, d->images, 16); /* points range from 0 to 16 */
    for (int64_t i = 0; i < IMAGES; i++)
        d->order[i] = i;
    shuffle(d->order, IMAGES, &dice);
    return lz_mark_step(d->c);
}

/* ---- statistics ---- */

static long long figure(const char *name)
{
    int64_t n = 0;
    lz_counter_value(name, &n);
    return n;
}

static long long operators(void)
{
    const char *name;
    long long n = 0;
    for (size_t i = 0; (name = lz_counter_name(i)); i++)
        n += strncmp(name, "lazy::", 6) == 0 ? figure(name) : 0;
    return n;
}

static void print_statistics(lz_ctx *c)
{
    long long compiled = figure("UncachedCompile"), reused = figure("CachedCompile");
    printf("\nwhat laziness did\n");
    printf("  operators recorded  %8lld\n", operators());
    printf("  graphs compiled     %8lld\n", compiled);
    printf("  graphs reused       %8lld\n", reused);
    printf("  kernels run         %8lld   %.1f for a graph\n", figure("TsLaunches"),
           (double)figure("TsLaunches") / (double)(compiled + reused));
    printf("  peak memory         %8.2f MB predicted, %.2f MB in fact\n",
           (double)figure("TsBytesPredicted") / 1e6, (double)figure("TsBytesPeak") / 1e6);
    printf("  why the last graph was compiled: %s\n", lz_explain(c));
}

int main(int argc, char **argv)
{
    long seeds = argc > 2 ? strtol(argv[2], NULL, 10) : SEEDS;
    if (seeds < 1 || seeds > 100) {
        fprintf(stderr, "digits: SEEDS is a number from 1 to 100, not '%s'\n", argv[2]);
        return 2;
    }
    digits d = { .c = lz_open(NULL) };
    bool ok = load_all(&d, argc > 1 ? argv[1] : "examples/data");
    for (int seed = 1; ok && seed <= seeds; seed++)
        ok = train(&d, seed) >= 0.98;
    if (lz_failed(d.c))
        fprintf(stderr, "digits: %s\n", lz_message(d.c));
    else if (ok)
        print_statistics(d.c);
    lz_close(d.c);
    return ok ? 0 : 1;
}
