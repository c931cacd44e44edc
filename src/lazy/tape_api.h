/* tape_api.h - what a tape of gradients asks of contexts, tensors and storages.
 *
 * src/autograd uses the lazy layer through this header, record.h and recorder.h, functional_call.h (the
 * values of a call without its writes) and, for copying recorded nodes into a checkpoint's recomputation,
 * node.h. Contexts, tensors, storages and scopes are opaque there: the tape does not know whether a value is
 * pending or held. The tape's own data of a tensor is in the tensor's slot (tape_hooks.h). */
#ifndef LZ_LAZY_TAPE_API_H
#define LZ_LAZY_TAPE_API_H

#include "lazy/ctx_error.h"
#include "lazy/record.h"
#include "lazy/recording_scope.h"
#include "lazy/tape_hooks.h"
#include <lazuli/backend.h>
#include <lazuli/tensor.h>

/* ---- contexts ---- */

lz_tape *lz_ctx_tape(const lz_ctx *c); /* NULL: it has none */
void lz_ctx_set_tape(lz_ctx *c, lz_tape *t, const lz_tape_hooks *hooks);
lz_loc lz_ctx_line(const lz_ctx *c); /* of the call that was recorded last */
lz_tensor *lz_ctx_inert(const lz_ctx *c);
/* The spec of a row-major tensor. */
LZ_MUST_USE lz_err *lz_ctx_spec(lz_ctx *c, lz_dtype d, lz_ints sizes, const lz_spec **out);
/* Encloses a call of a function of the program: the context cannot be closed meanwhile. */
void lz_ctx_begin_callback(lz_ctx *c);
void lz_ctx_end_callback(lz_ctx *c);

/* ---- tensors ---- */

/* The tape's part of a tensor. */
lz_tape_slot *lz_tensor_slot(const lz_tensor *t);
/* Whether the tape has attached something to t or to its storage; false for an inert tensor and NULL. */
bool lz_tensor_is_tracked(const lz_tensor *t);
/* Takes over one count. */
void lz_tensor_attach(lz_tensor *t, lz_attachment *a);
/* Attaches a to the storage of t, one more count, for all tensors with t's history. */
void lz_tensor_attach_base(const lz_tensor *t, lz_attachment *a);
/* What lz_tensor_attach_base has attached; NULL: nothing. */
lz_attachment *lz_tensor_base_attachment(const lz_tensor *t);
/* The tensor that t is a view of, or t itself; NULL: the tensor is gone. */
lz_tensor *lz_tensor_base(const lz_tensor *t);
void lz_tensor_begin_history(lz_tensor *t); /* a history that no other tensor shares */

const lz_spec *lz_tensor_spec(const lz_tensor *t);
const lz_spec *lz_tensor_storage_spec(const lz_tensor *t);  /* of the storage as it was made */
uint32_t lz_tensor_storage_writes(const lz_tensor *t);      /* by the program, to the storage */
bool lz_tensor_offset_is_number(const lz_tensor *t);        /* the offset is a run-time number in graphs */
void lz_tensor_make_offsets_numbers(const lz_tensor *base); /* for offsets of views of base, from now on */

/* A new row-major tensor with the present elements of t, in a storage of its own. */
LZ_MUST_USE lz_err *lz_tensor_snapshot(lz_tensor *t, lz_tensor **out);

/* ---- saved values ---- */

/* A tensor at the time when it was saved, or only its dtype and sizes. */
typedef struct lz_saved {
    const lz_spec *spec;      /* NULL: no tensor */
    lz_lazy_storage *storage; /* one count; NULL: no elements were saved */
    int64_t offset;
    uint32_t writes; /* to the storage when it was saved */
} lz_saved;

/* t may be NULL, or inert. */
void lz_saved_init(lz_saved *x, const lz_tensor *t, bool with_elements);
void lz_saved_drop(lz_saved *x); /* releases the elements; keeps dtype and sizes */
/* Whether the storage has not been written to since the elements were saved. */
bool lz_saved_is_current(const lz_saved *x);
/* The last write to the storage; op NULL: there was none. */
typedef struct lz_last_write {
    const lz_op_row *op;
    lz_loc at;
    uint32_t writes; /* so far */
} lz_last_write;
lz_last_write lz_saved_last_write(const lz_saved *x);
/* A tensor with the elements; it belongs to the scope. */
LZ_MUST_USE lz_err *lz_saved_tensor(const lz_saved *x, lz_tensor **out);

/* ---- recorded nodes, for code that copies them ---- */

typedef struct lz_nodes lz_nodes;
lz_nodes *lz_ctx_nodes(lz_ctx *c);
bool lz_ctx_makes_own_nodes(const lz_ctx *c); /* false: the backend's builder makes them */
/* The elements as a node's output; one count is the caller's. */
LZ_MUST_USE lz_err *lz_saved_value(const lz_saved *x, lz_output *out);
/* Saves the elements of an output; its storage gets one more count. On failure x is unchanged. */
LZ_MUST_USE lz_err *lz_saved_init_output(lz_saved *x, lz_ctx *c, lz_output o);
/* A tensor for the data of a node without operator; it belongs to the scope. */
LZ_MUST_USE lz_err *lz_tensor_of_leaf(lz_ctx *c, const lz_node *leaf, lz_tensor **out);

/* ---- results of formulas ---- */

/* `out` are results of op's formula, which was recorded in the scope s. Replaces them by the results that op
 * itself has for these arguments, with the same sharing of storages and the same strides. */
LZ_MUST_USE lz_err *lz_record_match_results(lz_ctx *c, const lz_scope *s, const lz_op_row *op, lz_loc at,
                                            const lz_value *in, lz_value *out);

#endif
