/* One node of the backward pass: unpacks saved values, calls the derivative, checks its results. */
#include "autograd/checkpoint.h"
#include "autograd/engine.h"
#include "autograd/function.h"
#include "autograd/unpack.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "op/op_table.h"
#include <lazuli/array.h>

/* Gradients that pass through one node. */
typedef struct passing {
    lz_ctx *c;
    lz_tape_node *n;
    lz_tensor *const *grads; /* of the results */
    uint64_t wanted;
    bool create;
    lz_tensor **out; /* by edge */
} passing;

lz_loc lz_engine_place(const lz_tape_node *n)
{
    return (lz_loc){ n->at.file, n->at.line, LZ_COL_BACKWARD };
}

/* ---- operators ---- */

static lz_err *grad_value(lz_recorder *r, const passing *p, const lz_value *v, uint32_t *item,
                          lz_low_value *out)
{
    lz_low_value *list;
    *out = lz_low_value_none();
    if (v->kind == LZ_KIND_TENSOR)
        return lz_recorder_add(r, p->grads[(*item)++], out);
    if (v->kind != LZ_KIND_TENSORS)
        return NULL;
    LZ_TRY(lz_low_list_new(&r->b, (size_t)v->tensors.n, &list));
    for (int64_t i = 0; i < v->tensors.n; i++)
        LZ_TRY(lz_recorder_add(r, p->grads[(*item)++], &list[i]));
    *out = lz_low_value_list(list, (size_t)v->tensors.n);
    return NULL;
}

static lz_err *give(lz_recorder *r, const passing *p, const lz_low_value *made)
{
    uint32_t edge = 0;
    for (uint32_t i = 0; i < p->n->nargs; i++) {
        const lz_value *v = &p->n->values[i];
        if (v->kind == LZ_KIND_TENSOR)
            LZ_TRY(lz_recorder_tensor(r, &made[i], &p->out[edge++]));
        for (int64_t k = 0; v->kind == LZ_KIND_TENSORS && k < v->tensors.n; k++, edge++)
            if (made[i].kind == LZ_LOW_VALUE_LIST)
                LZ_TRY(lz_recorder_tensor(r, &made[i].list.items[k], &p->out[edge]));
    }
    return NULL;
}

static lz_err *differentiate(lz_recorder *r, const passing *p)
{
    lz_tape_node *n = p->n;
    lz_low_value args[LZ_ARGS_MAX], results[LZ_ARGS_MAX], grads[LZ_ARGS_MAX], made[LZ_ARGS_MAX];
    uint32_t item = 0;
    LZ_TRY(lz_unpack_call(r, n, p->create, args, results));
    for (uint32_t i = 0; i < n->nresults; i++)
        LZ_TRY(grad_value(r, p, &n->values[n->nargs + i], &item, &grads[i]));
    LZ_TRY(lz_grad_call(r, n->op, args, results, grads, p->wanted, made));
    return give(r, p, made);
}

/* The gradient of a view of a part: zeros with the gradient written into the part. The zeros count as held
 * data of which a part is written, so that the offset is a run-time number, not a word of the graph. */
static lz_err *pass_moved(const passing *p)
{
    const lz_tape_node *n = p->n;
    lz_value in[LZ_ARGS_MAX];
    lz_tensor *zeros, *view, *written;
    lz_loc at = lz_engine_place(n);
    LZ_TRY(lz_engine_zeros(p->c, at, n->items[0].spec, &zeros));
    lz_tensor_make_offsets_numbers(zeros);
    for (uint32_t i = 0; i < n->nargs; i++)
        in[i] = n->values[i];
    in[0] = lz_value_tensor(zeros);
    LZ_TRY(lz_record_one(p->c, &lz_op_table[n->op], at, in, &view));
    const lz_value copied[] = { lz_value_tensor(view), lz_value_tensor(p->grads[0]), lz_value_truth(false) };
    LZ_TRY(lz_record_one(p->c, &lz_op_table[LZ_OP_copy_], at, copied, &written));
    p->out[0] = zeros;
    return NULL;
}

static lz_err *pass_operator(const passing *p)
{
    lz_recorder *r;
    if (p->n->moves && p->grads[0])
        return pass_moved(p);
    lz_tape *tape = lz_ctx_tape(p->c);
    LZ_TRY(lz_tape_recorder(tape, lz_engine_place(p->n), &r));
    lz_err *e = differentiate(r, p);
    lz_tape_recorder_done(tape, r);
    return e;
}

/* ---- cuts and functions ---- */

static lz_err *pass_cut(const passing *p)
{
    return lz_engine_zeros(p->c, lz_engine_place(p->n), p->n->cut, &p->out[0]);
}

static lz_err *pass_function(const passing *p)
{
    return lz_function_back(p->n, p->grads, p->wanted, p->create, p->out);
}

typedef lz_err *pass_fn(const passing *p);
static pass_fn *const pass[LZ_TAPE_NODE_KINDS] = {
    [LZ_TAPE_NODE_OP] = pass_operator,
    [LZ_TAPE_NODE_CUT] = pass_cut,
    [LZ_TAPE_NODE_FUNCTION] = pass_function,
};

lz_err *lz_engine_values_were_freed(const lz_tape_node *n)
{
    return lz_err_because(
        LZ_REASON_AUTOGRAD_BACKWARD,
        "Trying to backward through the graph a second time: the values that %s at %s:%d saved were freed. "
        "Specify retain_graph for the first time, if that is needed.",
        lz_tape_node_name(n), n->at.file ? n->at.file : "?", (int)n->at.line);
}

static lz_tensor *any_of(lz_tensor *const *grads, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (grads[i])
            return grads[i];
    return NULL;
}

lz_err *lz_engine_node(lz_ctx *c, lz_tape_node *n, lz_tensor *const *grads, uint64_t wanted, bool create,
                       lz_tensor **out)
{
    const passing p = { c, n, grads, wanted, create, out };
    for (uint32_t i = 0; i < n->nin; i++)
        out[i] = NULL;
    if (n->freed_saved_values)
        return lz_engine_values_were_freed(n);
    LZ_TRY(lz_checkpoint_restore(n, any_of(grads, n->nout)));
    return pass[n->kind](&p);
}

lz_err *lz_engine_zeros(lz_ctx *c, lz_loc at, const lz_spec *s, lz_tensor **out)
{
    const lz_value in[] = { lz_value_ints(lz_spec_sizes(s)), lz_value_dtype((lz_dtype)s->dtype),
                            lz_value_layout(LZ_LAYOUT_NONE), lz_value_device((lz_device){ -1, -1 }),
                            lz_value_none() };
    return lz_record_one(c, &lz_op_table[LZ_OP_zeros], at, in, out);
}

lz_err *lz_engine_fits(const lz_ctx *c, const char *what, size_t i, const lz_tensor *t,
                       const lz_spec *expected, bool same_dtype)
{
    char is[LZ_SHAPE_CHARS], sizes[LZ_SHAPE_CHARS];
    if (lz_tensor_is_inert(t) || lz_tensor_ctx(t) != c)
        return lz_err_because(LZ_REASON_CONTEXT, "%s %zu belongs to another context, or is inert", what, i);
    if (!lz_shape_eq(lz_tensor_sizes(t), lz_spec_sizes(expected)))
        return lz_err_because(LZ_REASON_SHAPE, "Mismatch in shape: %s %zu has the sizes %s, not %s", what, i,
                              lz_shape_print(lz_tensor_sizes(t), is),
                              lz_shape_print(lz_spec_sizes(expected), sizes));
    if (same_dtype && lz_tensor_dtype(t) != (lz_dtype)expected->dtype)
        return lz_err_because(LZ_REASON_DTYPE, "Mismatch in dtype: %s %zu is %s, not %s", what, i,
                              lz_dtype_name(lz_tensor_dtype(t)), lz_dtype_name((lz_dtype)expected->dtype));
    return NULL;
}
