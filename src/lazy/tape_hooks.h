/* tape_hooks.h - the functions of a tape of gradients that the recorder calls.
 *
 * A context has no tape until one of its tensors requires a gradient; until then every call
 * pays for one test. What a tape attaches to tensors and storages is a counted object with a
 * function that frees it: tensors and storages hold counts of the object and look at nothing inside. */
#ifndef LZ_LAZY_TAPE_HOOKS_H
#define LZ_LAZY_TAPE_HOOKS_H

#include "core/spec.h"
#include <lazuli/schema.h>

typedef struct lz_tape lz_tape;
typedef struct lz_lazy_storage lz_lazy_storage;

/* How a tensor was created, for the rules about writing to views. */
enum {
    LZ_CREATED_VIEW = 1,      /* a view of another tensor's storage */
    LZ_CREATED_NO_GRAD = 2,   /* while gradients were off */
    LZ_CREATED_SEVERAL = 4,   /* one of several views that one call returned */
    LZ_CREATED_INFERENCE = 8, /* cannot be part of a tape */
};

/* The first member of what a tape attaches. The tensor has one count. The storage has one count if other
 * tensors are views of the tensor. */
typedef struct lz_attachment {
    uint32_t refs;
    uint32_t history;                      /* of the tensor: lz_tape_slot */
    void (*free)(struct lz_attachment *a); /* called after the last release */
    lz_tensor *tensor;   /* the tensor that has the attachment; NULL: none, or the tensor is gone */
    const lz_spec *spec; /* the view of a tensor that is gone */
    int64_t offset;
    struct lz_attachment *next; /* of the storage */
} lz_attachment;

static inline void lz_attachment_release(lz_attachment *a)
{
    if (--a->refs == 0)
        a->free(a);
}

/* The part of every tensor for the tape. */
typedef struct lz_tape_slot {
    lz_attachment *attached; /* one count; NULL: the tape knows nothing of the tensor */
    uint32_t history; /* tensors of a storage that share a history have one number; detach begins another */
    uint32_t writes;  /* to the storage when the history was set */
    uint8_t creation; /* LZ_CREATED_ */
} lz_tape_slot;

typedef struct lz_tape_hooks {
    /* *done: the tape has recorded the call. */
    lz_err *(*record)(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out,
                      bool *done);
    void (*close)(lz_ctx *c); /* called before tensors are freed: the tape must release everything */
    void (*free)(lz_ctx *c);  /* called after that */
} lz_tape_hooks;

#endif
