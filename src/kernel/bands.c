#include "kernel/bands.h"

void lz_bands_init(lz_bands *s, lz_kernel_after_fn *fn, void *user, int64_t batch, int64_t m, int64_t height,
                   int64_t across, int threads)
{
    s->fn = fn;
    s->user = user;
    s->m = m;
    s->height = height;
    s->across = across;
    s->each = (m + height - 1) / height;
    s->all = batch * s->each;
    s->go = (s->all + LZ_BANDS - 1) / LZ_BANDS;
    s->late = s->all < threads;
    for (int i = 0; fn && i < LZ_BANDS; i++)
        atomic_init(&s->done[i], 0);
}

static int64_t first_row(const lz_bands *s, int64_t band)
{
    return band / s->each * s->m + band % s->each * s->height;
}

lz_err *lz_bands_add(lz_bands *s, int64_t band)
{
    if (!s->fn || s->late)
        return NULL;
    int64_t first = band / s->go * s->go, end = first + s->go < s->all ? first + s->go : s->all;
    int64_t before = atomic_fetch_add_explicit(&s->done[band / s->go], 1, memory_order_acq_rel);
    if (before + 1 < (end - first) * s->across)
        return NULL;
    return s->fn(s->user, first_row(s, first), first_row(s, end));
}

lz_err *lz_bands_finish(const lz_bands *s)
{
    return s->fn && s->late ? s->fn(s->user, 0, first_row(s, s->all)) : NULL;
}
