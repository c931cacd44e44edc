/* lazy_storage.h - storages of lazy tensors; several tensors may share one.
 *
 * A storage is pending, the output of a recorded node, or held, data of a device. Syncs make pending ones
 * held, writes make held ones pending. A context lists all of its storages, the pending ones first. */
#ifndef LZ_LAZY_LAZY_STORAGE_H
#define LZ_LAZY_LAZY_STORAGE_H

#include "core/storage.h"
#include "lazy/backend_data.h"
#include "lazy/ctx.h"
#include "lazy/registry.h"

/* The memory that tensors are views of. Its value is pending (a node's output) or held. */
struct lz_lazy_storage {
    lz_storage_head head;
    uint32_t refs;                /* tensors and views */
    lz_lazy_storage *next, *prev; /* of the context */
    lz_ctx *ctx;
    int64_t id;
    const lz_spec *spec; /* dense, as the storage was made: the order of the elements */
    lz_output value;     /* pending: one count of the node; node NULL: held */
    lz_data *data;       /* held, one count */
    lz_node *leaf;       /* node for `data`, one count, or NULL */
    int64_t origin; /* of a pending value: the id of the data that was held before it was written; 0: none */
    lz_tensor *views; /* all tensors of the storage */
    lz_device device;
    bool is_inert;
    bool is_asked;               /* already collected by the sync that collects its roots */
    bool is_parted;              /* the pending value is held data with some parts overwritten */
    uint32_t writes;             /* writes by the program, without syncs */
    const lz_op_row *written_by; /* the operator of the last write */
    lz_loc written_at;
    lz_attachment *attached; /* objects of the tape, one count each; NULL: none */
};

/* Whether offsets of the storage's views are run-time numbers of the graph: the storage is held, or was until
 * parts were written, and the device takes offsets as run-time numbers. */
static inline bool lz_lazy_storage_moves(const lz_lazy_storage *a)
{
    if (a->value.node && !a->is_parted)
        return false;
    return a->device.type == a->ctx->device.type ? a->ctx->moves_views
                                                 : lz_backend_takes_offsets(a->device.type);
}

/* ---- the list of a context ---- */

static inline void lz_lazy_storage_unlink(lz_lazy_storage *a)
{
    lz_ctx *c = a->ctx;
    *(a->prev ? &a->prev->next : &c->live) = a->next;
    *(a->next ? &a->next->prev : &c->last) = a->prev;
}

static inline void lz_lazy_storage_link_first(lz_lazy_storage *a)
{
    lz_ctx *c = a->ctx;
    a->prev = NULL;
    a->next = c->live;
    *(c->live ? &c->live->prev : &c->last) = a;
    c->live = a;
}

/* ---- life and values (lazy_storage.c) ---- */

/* Makes the storage held by d, which may still be empty. Takes over one count of d; releases the pending
 * value, the leaf and the values of views, and increases the version. */
void lz_lazy_storage_hold(lz_lazy_storage *a, lz_data *d);
/* The leaf for held data, made if need be; borrowed. */
LZ_MUST_USE lz_err *lz_lazy_storage_leaf(lz_lazy_storage *a, lz_node **out);

/* A storage without a value yet, with no tensors and one count of the caller. */
LZ_MUST_USE lz_err *lz_lazy_storage_create(lz_ctx *c, const lz_spec *s, lz_lazy_storage **out);
/* A storage with a pending value; takes over one count of its node unless this fails. */
LZ_MUST_USE lz_err *lz_lazy_storage_pending(lz_ctx *c, const lz_spec *s, lz_output v, lz_lazy_storage **out);

/* Initialises memory of the slab as a pending storage. Inline, because recording calls it for each result. */
static inline void lz_lazy_storage_begin(lz_lazy_storage *a, lz_ctx *c, const lz_spec *s, lz_device d,
                                         lz_output v)
{
    a->ctx = c;
    a->head.version = 1;
    a->refs = 1;
    a->id = ++c->next_id;
    a->spec = s;
    a->value = v;
    a->data = NULL;
    a->leaf = NULL;
    a->origin = 0;
    a->views = NULL;
    a->device = d;
    a->is_inert = a->is_asked = a->is_parted = false;
    a->writes = 0;
    a->written_by = NULL;
    a->attached = NULL;
    lz_lazy_storage_link_first(a);
    c->n_pending++;
}

void lz_lazy_storage_free(lz_lazy_storage *a); /* when its last count is released */
static inline void lz_lazy_storage_release(lz_lazy_storage *a)
{
    if (--a->refs == 0)
        lz_lazy_storage_free(a);
}
/* Sets the pending value; takes over one count of its node. */
void lz_lazy_storage_set(lz_lazy_storage *a, lz_output v);
/* The current value of the storage, borrowed. */
LZ_MUST_USE lz_err *lz_lazy_storage_value(lz_lazy_storage *a, lz_output *out);
/* Syncs the storage unless it is held, and waits if syncs are asynchronous. */
LZ_MUST_USE lz_err *lz_lazy_storage_make_held(lz_lazy_storage *a, lz_loc at);
/* Grows the storage to at least n elements; new elements are 0. */
LZ_MUST_USE lz_err *lz_lazy_storage_grow(lz_lazy_storage *a, int64_t n);

#endif
