/* functional_call.h - the functional form of a call that writes to its arguments. */
#ifndef LZ_LAZY_FUNCTIONAL_CALL_H
#define LZ_LAZY_FUNCTIONAL_CALL_H

#include "op/op_table.h"

/* A tensor that a call writes, and what it becomes: a result of the functional operator, or an item of a
 * result that is a list. */
typedef struct lz_written {
    lz_tensor *t;
    uint32_t result, item;
    uint32_t of; /* the length of the list of written tensors; 0: the argument is one tensor */
} lz_written;

/* The written tensors of a call, in the order of its arguments. */
typedef struct lz_writes {
    uint32_t n;
    lz_written *v; /* `few` or the heap */
    lz_written few[8];
} lz_writes;

/* The functional operator that computes the values that a call writes, and its arguments. */
typedef struct lz_functional_call {
    const lz_op_row *functional;
    lz_value args[LZ_ARGS_MAX];
    lz_writes writes;
} lz_functional_call;

/* Lists the tensors that a call writes. out->v is NULL before. The caller deinits *out, also after an error.
 * *ok false: a written tensor is inert. */
LZ_MUST_USE lz_err *lz_writes_find(const lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_writes *out,
                                   bool *ok);
void lz_writes_deinit(lz_writes *list);
/* The arguments of the functional operator: `in` where they are the same, else `own`, which has room for
 * LZ_ARGS_MAX of them. */
const lz_value *lz_functional_args(const lz_op_row *op, const lz_value *in, const lz_writes *writes,
                                   lz_value *own);
/* Whether a call passes an argument that may be absent. */
static inline bool lz_functional_is_passed(const lz_value *v)
{
    return v->kind != LZ_KIND_NONE && (v->kind != LZ_KIND_DTYPE || v->dtype != LZ_DTYPE_NONE);
}

void lz_functional_call_deinit(lz_functional_call *f);
/* The value among the functional operator's results that w->t gets; NULL: there is none. */
lz_tensor *lz_written_value(const lz_written *w, const lz_value *results, size_t n);

/* Whether the items of a written list are recorded one after the other, because the new value of one item is
 * an operand of another; lz_record_by_items does it. */
LZ_MUST_USE lz_err *lz_record_is_by_items(const lz_op_row *op, const lz_value *in, const lz_writes *writes,
                                          bool *found);
LZ_MUST_USE lz_err *lz_record_by_items(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in,
                                       uint32_t n);

/* Fails where recording the call would fail; records nothing. *ok false: an argument is inert. The caller
 * deinits *out, also after an error. */
LZ_MUST_USE lz_err *lz_record_functional(lz_ctx *c, const lz_op_row *op, const lz_value *in,
                                         lz_functional_call *out, bool *ok);
/* Writes the elements of `made`, cast to t's dtype, to t. op: the operator that writes. */
LZ_MUST_USE lz_err *lz_record_put(lz_ctx *c, const lz_op_row *op, lz_tensor *t, lz_tensor *made);

#endif
