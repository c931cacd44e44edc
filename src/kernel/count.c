#include "base/mem.h"
#include "kernel/walk.h"
#include <string.h>

/* How often each number occurs. Each thread counts in bins of its own; where there are more bins than
 * numbers, one thread counts them all, since adding up the bins would take longer. */
typedef struct counting {
    const lz_kcall *c;
    int64_t n, bins, part;
    int64_t *own; /* bins of the parts behind the first, which counts in the result */
} counting;

static void count_range(const lz_strided *x, int64_t begin, int64_t end, int64_t *bins)
{
    const int64_t *v = x->data;
    int64_t step = x->strides[0];
    for (int64_t i = begin; i < end; i++)
        bins[v[i * step]]++;
}

static lz_err *count_parts(void *user, int64_t begin, int64_t end, int worker)
{
    const counting *k = user;
    (void)worker;
    for (int64_t p = begin; p < end; p++) {
        int64_t *bins = p ? k->own + (p - 1) * k->bins : k->c->out.data, last = (p + 1) * k->part;
        memset(bins, 0, (size_t)k->bins * sizeof *bins);
        count_range(&k->c->in[0], p * k->part, last < k->n ? last : k->n, bins);
    }
    return NULL;
}

lz_err *lz_count_numbers(const lz_kcall *c)
{
    enum { PART = 1 << 16 };
    counting k = { .c = c, .n = c->in[0].sizes[0], .bins = c->out.sizes[0] };
    int64_t threads = c->pool ? lz_pool_threads(c->pool) : 1, *out = c->out.data;
    int64_t parts = k.bins < PART && k.n / PART < threads ? k.n / PART : k.bins < PART ? threads : 1;
    parts = parts > 1 ? parts : 1;
    k.part = (k.n + parts - 1) / parts;
    if (parts > 1 && !(k.own = lz_mem_zalloc((size_t)((parts - 1) * k.bins) + 1, sizeof *k.own)))
        return lz_err_oom();
    lz_err *e = lz_pool_for(c->pool, parts, 1, count_parts, &k);
    for (int64_t p = 1; !e && p < parts; p++)
        for (int64_t i = 0; i < k.bins; i++)
            out[i] += k.own[(p - 1) * k.bins + i];
    lz_mem_free(k.own);
    return e;
}
