/* Counts how often each number occurs. Each thread counts in bins of its own. If there are more bins than
 * numbers, one thread counts them all, since adding up the bins would take longer. */
#include "base/mem.h"
#include "kernel/index_range.h"
#include "kernel/strided_walk.h"
#include <assert.h>
#include <string.h>

typedef struct counting {
    const lz_kernel_call *c;
    int64_t n, bins, part;
    int64_t *own; /* bins of all parts but the first, which counts in the result */
} counting;

/* Checks and counts a stretch at a time, while it is in the cache. */
static lz_err *count_range(const counting *k, int64_t begin, int64_t end, int64_t *bins)
{
    enum { STRETCH = 1024 };
    int64_t step = k->c->in[0].strides[0];
    for (int64_t n; begin < end; begin += n) {
        const int64_t *v = (const int64_t *)k->c->in[0].data + begin * step;
        n = end - begin < STRETCH ? end - begin : STRETCH;
        if (k->c->params[0] && !lz_index_range_holds(v, step, n, 0, k->bins))
            return lz_index_range_err(v, step, n, 0, k->bins, k->c->params[1]);
        for (int64_t i = 0; i < n; i++)
            bins[v[i * step]]++;
    }
    return NULL;
}

static lz_err *count_parts(void *user, int64_t begin, int64_t end, int worker)
{
    const counting *k = user;
    (void)worker;
    for (int64_t p = begin; p < end; p++) {
        int64_t *bins = p ? k->own + (p - 1) * k->bins : k->c->out.data, last = (p + 1) * k->part;
        memset(bins, 0, (size_t)k->bins * sizeof *bins);
        LZ_TRY(count_range(k, p * k->part, last < k->n ? last : k->n, bins));
    }
    return NULL;
}

lz_err *lz_count_numbers(const lz_kernel_call *c)
{
    enum { PART = 1 << 16 };
    assert(c->in[0].dtype == LZ_I64 && c->in[0].ndim == 1 && c->out.dtype == LZ_I64 && c->out.ndim == 1);
    counting k = { .c = c, .n = c->in[0].sizes[0], .bins = c->out.sizes[0] };
    int64_t threads = c->pool ? lz_pool_threads(c->pool) : 1, *out = c->out.data;
    int64_t parts = k.bins < PART && k.n / PART < threads ? k.n / PART : k.bins < PART ? threads : 1;
    parts = parts > 1 ? parts : 1;
    k.part = (k.n + parts - 1) / parts;
    if (parts > 1 && !(k.own = lz_temporary_zeroed((size_t)((parts - 1) * k.bins) + 1, sizeof *k.own)))
        return lz_err_oom();
    lz_err *e = lz_pool_for(c->pool, parts, 1, count_parts, &k);
    for (int64_t p = 1; !e && p < parts; p++)
        for (int64_t i = 0; i < k.bins; i++)
            out[i] += k.own[(p - 1) * k.bins + i];
    lz_temporary_give(k.own);
    return e;
}
