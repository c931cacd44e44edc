/* functionalize_impl.h - what the files of functionalization share. */
#ifndef LZ_SCRIPT_FUNCTIONALIZE_IMPL_H
#define LZ_SCRIPT_FUNCTIONALIZE_IMPL_H

#include "lower/op_results.h"
#include "script/functionalize.h"

typedef struct lz_functionalizer {
    const lz_functionalize_input *a;
    lz_functional *out;
    lz_graph *g;
    lz_arena scratch;         /* freed when functionalization ends */
    lz_script_value *env;     /* by local; counted */
    lz_ssa_value **numbers;   /* by local: of run-time numbers */
    lz_ssa_value **constants; /* by local: values other than tensors that have a constant in the graph */
    lz_described **mirrors;   /* by tensor */
    uint32_t n_mirrored;
    uint32_t index; /* of the current instruction */
    bool dynamic;   /* a size depends on elements */
} lz_functionalizer;

enum { LZ_NO_LOCAL = UINT32_MAX };

/* An argument of an operator: a value, or the default. */
typedef struct lz_functionalize_arg {
    bool is_given;
    lz_script_value value; /* borrowed */
    uint32_t local;        /* the local that holds the value; LZ_NO_LOCAL: none */
} lz_functionalize_arg;

/* A call of an operator that writes nothing. */
typedef struct lz_functionalize_call {
    const lz_op_row *op;
    lz_functionalize_arg args[LZ_ARGS_MAX];
    const lz_script_value *given; /* its results, if they were computed before */
    uint32_t n_given;
    lz_script_value results[LZ_ARGS_MAX]; /* described tensors; one count each */
    uint32_t n;
} lz_functionalize_call;

/* ---- functional_args.c ---- */

/* Sets results and c->n, also on failure; lz_functionalize_call_deinit releases them. */
LZ_MUST_USE lz_err *lz_functionalize_call_run(lz_functionalizer *f, lz_functionalize_call *c);
void lz_functionalize_call_deinit(lz_functionalize_call *c);

/* ---- functional_write.c ---- */

/* Calls `op`, which writes, with `args`: by its functional operator, whose results `functional` has then.
 * functional->op and ->given are set by the caller, who calls lz_functionalize_call_deinit in any case. */
LZ_MUST_USE lz_err *lz_functionalize_call_write(lz_functionalizer *f, const lz_op_row *op,
                                                const lz_functionalize_arg *args,
                                                lz_functionalize_call *functional);

/* ---- functional_statistics.c ---- */

/* Writes the running statistics of a call that is about to run, and takes them out of its arguments. */
LZ_MUST_USE lz_err *lz_functionalize_statistics(lz_functionalizer *f, lz_functionalize_call *c);

/* ---- functional_emit.c: nodes of the new graph ---- */

LZ_MUST_USE lz_err *lz_functionalize_type(lz_functionalizer *f, const lz_spec *s, const lz_type **out);
LZ_MUST_USE lz_err *lz_functionalize_param(lz_functionalizer *f, const lz_type *type,
                                           const lz_static_graph_input *in, lz_functionalize_source source,
                                           lz_ssa_value **out);
LZ_MUST_USE lz_err *lz_functionalize_node(lz_functionalizer *f, const char *name, lz_ssa_value *const *in,
                                          uint32_t nin, const lz_type *const *types, uint32_t nout,
                                          lz_ssa_node **out);
LZ_MUST_USE lz_err *lz_functionalize_op(lz_functionalizer *f, const lz_op_row *op, lz_ssa_value *const *in,
                                        uint32_t nin, const lz_type *const *types, uint32_t nout,
                                        lz_ssa_node **out);
/* A constant of the graph for a value without tensors. */
LZ_MUST_USE lz_err *lz_functionalize_constant(lz_functionalizer *f, lz_script_value v, lz_ssa_value **out);
LZ_MUST_USE lz_err *lz_functionalize_ints(lz_functionalizer *f, lz_ints v, lz_ssa_value **out);
/* lz_functionalize_strided: a view of base with these sizes, strides and offset. lz_functionalize_scatter:
 * base with that view overwritten. */
LZ_MUST_USE lz_err *lz_functionalize_strided(lz_functionalizer *f, lz_ssa_value *base, const lz_spec *s,
                                             int64_t offset, lz_ssa_value **out);
LZ_MUST_USE lz_err *lz_functionalize_scatter(lz_functionalizer *f, lz_ssa_value *base,
                                             const lz_spec *base_spec, lz_ssa_value *part, const lz_spec *s,
                                             int64_t offset, lz_ssa_value **out);
LZ_MUST_USE lz_err *lz_functionalize_permute(lz_functionalizer *f, lz_ssa_value *x, const lz_spec *to,
                                             const int64_t *dims, lz_ssa_value **out);
/* The last element along a dimension. `to` has the sizes of the result, with 1 in that dimension. */
LZ_MUST_USE lz_err *lz_functionalize_last(lz_functionalizer *f, lz_ssa_value *x, const lz_spec *to,
                                          int64_t dim, int64_t size, lz_ssa_value **out);
LZ_MUST_USE lz_err *lz_functionalize_cast(lz_functionalizer *f, lz_ssa_value *x, const lz_spec *to,
                                          lz_ssa_value **out);

/* ---- functional_tensor.c: described storages and tensors ---- */

/* Makes a new tensor whose elements are `value`, in the memory order of the spec. */
LZ_MUST_USE lz_err *lz_described_fresh(lz_functionalizer *f, lz_ssa_value *value, const lz_spec *spec,
                                       lz_script_value *out);
LZ_MUST_USE lz_err *lz_described_view(lz_functionalizer *f, lz_described_storage *s, const lz_spec *spec,
                                      int64_t offset, lz_script_value *out);
/* Replaces each tensor of the caller by a described tensor. Must be called in the order of `tensors`. */
LZ_MUST_USE lz_err *lz_described_mirror(lz_functionalizer *f, lz_script_value v, lz_script_value *out);

static inline bool lz_described_is_current(const lz_described *t)
{
    return t->value && lz_storage_is_at(&t->x.storage->head, t->version);
}
/* The tensor's current elements. */
LZ_MUST_USE lz_err *lz_described_value(lz_functionalizer *f, lz_described *t, lz_ssa_value **out);
/* The contents of the storage, row-major. */
LZ_MUST_USE lz_err *lz_described_base(lz_functionalizer *f, lz_described_storage *s, lz_ssa_value **out);
/* Changes the tensor's view of its storage. */
LZ_MUST_USE lz_err *lz_described_set_view(lz_described *t, const lz_spec *spec, int64_t offset);
/* The elements become `value`, whose dtype and sizes are those of the tensor. */
LZ_MUST_USE lz_err *lz_described_write(lz_functionalizer *f, lz_described *t, lz_ssa_value *value);
/* Changes the tensor's sizes and strides, and grows its storage if necessary. */
LZ_MUST_USE lz_err *lz_described_resize(lz_functionalizer *f, lz_described *t, const lz_spec *spec);

#endif
