/* lazy_tensor.h - tensors of a context: strided views of storages.
 *
 * A tensor with the storage's own spec and offset 0 has the storage's value. The value of any other
 * tensor is derived from the storage on demand, and is stale after the next write. */
#ifndef LZ_LAZY_LAZY_TENSOR_H
#define LZ_LAZY_LAZY_TENSOR_H

#include "core/strided_array.h"
#include "lazy/lazy_storage.h"

struct lz_tensor {
    uint32_t count;
    uint32_t version; /* of the storage when `value` was derived */
    lz_ctx *ctx;
    lz_lazy_storage *storage; /* one count; NULL: inert */
    lz_tensor *next, *prev;   /* of the storage */
    const lz_spec *spec;
    int64_t offset, id;
    lz_output value;        /* one count; node NULL: the storage's value, or not derived yet */
    struct lz_scope *scope; /* the scope that will release the tensor, or NULL */
    lz_tensor *scope_next, *scope_prev;
    struct lz_extra *extras; /* more counts that belong to scopes */
    lz_tape_slot tape;
};

/* One more count of a tensor that a scope will release: for a call that returned its argument. */
typedef struct lz_extra {
    lz_tensor *t;
    struct lz_scope *scope;
    struct lz_extra *next; /* of the tensor */
    struct lz_extra *scope_next, *scope_prev;
} lz_extra;

/* Whether the tensor has the storage's own layout, so that its value is the storage's. */
static inline bool lz_tensor_is_base(const lz_tensor *t)
{
    return t->spec == t->storage->spec && t->offset == 0;
}

/* Whether the tensor's value is up to date. */
static inline bool lz_tensor_is_current(const lz_tensor *t)
{
    return lz_tensor_is_base(t) || (t->value.node && lz_storage_is_at(&t->storage->head, t->version));
}

static inline lz_storage_view lz_tensor_view_of(const lz_tensor *t)
{
    return (lz_storage_view){ t->storage, t->spec, t->offset };
}

/* A tensor overlaps itself even without elements. */
static inline bool lz_tensors_overlap(const lz_tensor *a, const lz_tensor *b)
{
    lz_storage_view x = lz_tensor_view_of(a), y = lz_tensor_view_of(b);
    return a == b || lz_storage_views_overlap(&x, &y);
}

/* ---- the list of a storage ---- */

static inline void lz_tensor_link(lz_tensor *t)
{
    t->prev = NULL;
    t->next = t->storage->views;
    if (t->next)
        t->next->prev = t;
    t->storage->views = t;
}

static inline void lz_tensor_unlink(lz_tensor *t)
{
    *(t->prev ? &t->prev->next : &t->storage->views) = t->next;
    if (t->next)
        t->next->prev = t->prev;
}

/* ---- life and values (lazy_tensor.c, lazy_storage.c) ---- */

/* A tensor of the storage, which gets one more count; the tensor belongs to the scope. */
LZ_MUST_USE lz_err *lz_tensor_create(lz_lazy_storage *a, const lz_spec *s, int64_t offset, lz_tensor **out);
/* A tensor of a new storage with a pending value; takes over one count of its node unless this fails. */
LZ_MUST_USE lz_err *lz_tensor_pending(lz_ctx *c, const lz_spec *s, lz_device d, lz_output v, lz_tensor **out);
/* A tensor of a new storage that holds the data; takes over one count of the data, also on failure. */
LZ_MUST_USE lz_err *lz_tensor_of_data(lz_ctx *c, const lz_spec *s, lz_device d, lz_data *data,
                                      lz_tensor **out);
void lz_tensor_release(lz_tensor *t); /* requires: t is not inert, lz_ctx_enter (debug.h) was called */
void lz_tensor_destroy(lz_tensor *t); /* whatever its count is */
/* Makes t a view of another storage or part; drops its value. */
void lz_tensor_look(lz_tensor *t, lz_lazy_storage *a, const lz_spec *s, int64_t offset);
/* Gives t other sizes and strides. If t needs more elements, the storage grows. */
LZ_MUST_USE lz_err *lz_tensor_resize(lz_tensor *t, const lz_spec *s);
/* Records that the program wrote to t, or changed t's view of its storage. */
void lz_tensor_written(lz_tensor *t, const lz_op_row *op, lz_loc at);
/* Records that v is a view of t, made by the operator that is being recorded. creation: LZ_CREATED_ bits
 * that v gets in addition. */
void lz_tensor_shows(lz_tensor *v, const lz_tensor *t, unsigned creation);

/* The tensor's elements in host memory, row-major or not; a sync. */
LZ_MUST_USE lz_err *lz_tensor_fetch(lz_tensor *t, lz_loc at, lz_array *out);

/* The tensor's current value: a node's output, borrowed. */
LZ_MUST_USE lz_err *lz_tensor_value(lz_tensor *t, lz_output *out);
/* Writes v, which has t's sizes and dtype, to t. */
LZ_MUST_USE lz_err *lz_tensor_write(lz_tensor *t, lz_output v, lz_loc at);

#endif
