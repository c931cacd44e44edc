/* Batches of indices. */
#include "base/err.h"
#include "base/mem.h"
#include "nn/module.h"
#include <lazuli/data.h>

struct lz_loader {
    lz_ctx *ctx;
    lz_loader_options options;
    int64_t n, epoch, batch; /* epoch and number of the next batch */
    int64_t ordered;         /* the epoch of `order`; -1: none yet */
    int64_t order[];         /* [n] */
};

/* ---- life ---- */

static lz_err *create(lz_ctx *c, int64_t n, const lz_loader_options *o, lz_loader **out)
{
    if (n < 0)
        return lz_errf(LZ_ERR_ARG, "lz_loader_create: expected at least 0 elements, got %lld", (long long)n);
    if (o->batch < 1)
        return lz_errf(LZ_ERR_ARG, "lz_loader_create: expected a batch of at least 1 element, got %lld",
                       (long long)o->batch);
    if ((uint64_t)n > (SIZE_MAX - sizeof **out) / sizeof(int64_t))
        return lz_err_oom();
    *out = lz_mem_zalloc(1, sizeof **out + (size_t)n * sizeof(int64_t));
    if (!*out)
        return lz_err_oom();
    **out = (lz_loader){ .ctx = c, .options = *o, .n = n, .ordered = -1 };
    return NULL;
}

lz_loader *lz_loader_create_at(lz_ctx *c, lz_loc at, int64_t n, const lz_loader_options *options)
{
    lz_loader *l = NULL;
    return lz_nn_report(c, at, create(c, n, options, &l)) ? l : NULL;
}

void lz_loader_free(lz_loader *l)
{
    lz_mem_free(l);
}

/* ---- orders ---- */

/* SplitMix64: a bijection of a counter, so that neighbouring epochs and seeds are unrelated. */
static uint64_t draw(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A number below n, all equally likely: draws beyond the last multiple of n are repeated. */
static uint64_t draw_below(uint64_t *state, uint64_t n)
{
    uint64_t x, limit = UINT64_MAX - UINT64_MAX % n;
    do
        x = draw(state);
    while (x >= limit);
    return x % n;
}

static void shuffle(lz_loader *l)
{
    uint64_t state = l->options.seed, mixed = draw(&state) ^ (uint64_t)l->epoch;
    for (int64_t i = l->n - 1; i > 0; i--) {
        int64_t j = (int64_t)draw_below(&mixed, (uint64_t)i + 1), t = l->order[i];
        l->order[i] = l->order[j];
        l->order[j] = t;
    }
}

static void put_in_order(lz_loader *l)
{
    if (l->ordered == l->epoch)
        return;
    for (int64_t i = 0; i < l->n; i++)
        l->order[i] = i;
    if (l->options.shuffle)
        shuffle(l);
    l->ordered = l->epoch;
}

/* ---- batches ---- */

int64_t lz_loader_batches(const lz_loader *l)
{
    if (!l)
        return 0;
    int64_t whole = l->n / l->options.batch;
    return whole + (!l->options.drop_last && l->n % l->options.batch != 0);
}

int64_t lz_loader_epoch(const lz_loader *l)
{
    return l ? l->epoch : 0;
}

int64_t lz_loader_batch(const lz_loader *l)
{
    return l ? l->batch : 0;
}

bool lz_loader_seek(lz_loader *l, int64_t epoch, int64_t batch)
{
    lz_err *e = NULL;
    if (!l)
        return false;
    if (epoch < 0 || batch < 0 || batch > lz_loader_batches(l))
        e = lz_errf(LZ_ERR_ARG,
                    "lz_loader_seek: got epoch %lld and batch %lld, but an epoch has %lld batches",
                    (long long)epoch, (long long)batch, (long long)lz_loader_batches(l));
    if (!lz_nn_report(l->ctx, (lz_loc){ 0 }, e))
        return false;
    l->epoch = epoch;
    l->batch = batch;
    return true;
}

lz_tensor *lz_loader_next(lz_loader *l)
{
    if (!l)
        return NULL;
    if (l->batch >= lz_loader_batches(l)) {
        l->epoch++;
        l->batch = 0;
        return NULL;
    }
    put_in_order(l);
    int64_t first = l->batch * l->options.batch, left = l->n - first;
    int64_t size = left < l->options.batch ? left : l->options.batch;
    lz_tensor *t = lz_from_memory_at(l->ctx, (lz_loc){ 0 }, LZ_I64, (lz_ints){ &size, 1 }, l->order + first);
    if (lz_tensor_is_inert(t))
        return NULL;
    l->batch++;
    return t;
}
