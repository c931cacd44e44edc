/* storage.h - memory that several tensors may view, and their views.
 *
 * A storage is a run of elements with a version that counts writes. A tensor is a strided view of a storage:
 * dtype, sizes and strides (spec.h), and an offset. A write through one view gives the storage another
 * buffer: all views of the storage see the write, holders of the old buffer do not. Anything derived from a
 * view at an older version is stale.
 *
 * The overlap rules are PyTorch's. They compare storages only by address, so any code with views can use
 * them. */
#ifndef LZ_CORE_STORAGE_H
#define LZ_CORE_STORAGE_H

#include "core/buffer.h"
#include "core/spec.h"
#include <stdatomic.h>

/* The head of every storage, here and of lazy tensors (lazy/lazy_storage.h). A value that was derived from a
 * view is stale as soon as the storage has another version. */
typedef struct lz_storage_head {
    uint32_t version; /* counts writes, and replacements of the contents by equal ones */
} lz_storage_head;

static inline void lz_storage_changed(lz_storage_head *s)
{
    s->version++;
}

static inline bool lz_storage_is_at(const lz_storage_head *s, uint32_t version)
{
    return s->version == version;
}

typedef struct lz_storage {
    lz_storage_head head;
    atomic_uint count;
    lz_buffer *buffer; /* one reference; NULL: the creator describes the contents elsewhere */
    size_t bytes;      /* size of the buffer */
} lz_storage;

/* Takes over one reference to the buffer, even on failure. */
LZ_MUST_USE lz_err *lz_storage_create(lz_buffer *buffer, lz_storage **out);
lz_storage *lz_storage_retain(lz_storage *s);
void lz_storage_release(lz_storage *s); /* NULL is allowed */
/* Gives the storage another buffer; takes over one reference. */
void lz_storage_write(lz_storage *s, lz_buffer *buffer);

/* A tensor's view of a storage. */
typedef struct lz_storage_view {
    const void *storage;
    const lz_spec *spec;
    int64_t offset; /* in elements */
} lz_storage_view;

/* Do two views share elements? Only decided for dense views with elements, as in PyTorch; otherwise false. */
static inline bool lz_storage_views_overlap(const lz_storage_view *a, const lz_storage_view *b)
{
    return a->storage == b->storage && a->spec->dense && b->spec->dense && a->spec->numel && b->spec->numel
           && a->offset < b->offset + b->spec->numel && b->offset < a->offset + a->spec->numel;
}

/* Do two dense views of different tensors share elements at different indices? As in PyTorch, even strides of
 * dimensions of size 1 must be equal for a "no". */
bool lz_storage_views_shifted(const lz_storage_view *a, const lz_storage_view *b);

/* Do two indices lead to one element? fills: all elements get one value; then, as in PyTorch, only a stride
 * of 0 is refused. */
bool lz_spec_overlaps_itself(const lz_spec *s, bool fills);

#endif
