#include "core/storage.h"
#include "base/mem.h"
#include "core/strides.h"

lz_err *lz_storage_create(lz_buffer *buffer, lz_storage **out)
{
    lz_storage *s = lz_mem_zalloc(1, sizeof *s);
    if (!s) {
        lz_buffer_release(buffer);
        return lz_err_oom();
    }
    atomic_init(&s->count, 1);
    s->buffer = buffer;
    s->bytes = buffer->size;
    *out = s;
    return NULL;
}

lz_storage *lz_storage_retain(lz_storage *s)
{
    atomic_fetch_add_explicit(&s->count, 1, memory_order_relaxed);
    return s;
}

void lz_storage_release(lz_storage *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->count, 1, memory_order_acq_rel) != 1)
        return;
    lz_buffer_release(s->buffer);
    lz_mem_free(s);
}

void lz_storage_write(lz_storage *s, lz_buffer *buffer)
{
    lz_buffer *old = s->buffer;
    s->buffer = buffer;
    s->bytes = buffer->size;
    lz_storage_changed(&s->head);
    lz_buffer_release(old);
}

/* ---- overlap ---- */

bool lz_storage_views_shifted(const lz_storage_view *a, const lz_storage_view *b)
{
    if (!lz_storage_views_overlap(a, b))
        return false;
    return a->offset != b->offset || a->spec->numel != b->spec->numel
           || !lz_shape_eq(lz_spec_strides(a->spec), lz_spec_strides(b->spec));
}

static bool is_expanded(const lz_spec *s)
{
    bool found = false;
    for (int64_t d = 0; s->numel && !found && d < s->ndim; d++)
        found = s->sizes[d] > 1 && s->strides[d] == 0;
    return found;
}

bool lz_spec_overlaps_itself(const lz_spec *s, bool fills)
{
    if (s->dense)
        return false;
    return fills ? is_expanded(s)
                 : lz_strides_overlap(lz_spec_sizes(s), lz_spec_strides(s)) == LZ_OVERLAP_YES;
}
