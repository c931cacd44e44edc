#include "lower/op_results.h"
#include "lower/op_lower.h"
#include "lower/view_strides.h"
#include "lower/views.h"
#include <assert.h>

typedef struct question {
    const lz_op_call *c;
    lz_specs *specs;
    lz_arena *scratch;
} question;

bool lz_op_may_view(const lz_op_row *op)
{
    for (uint32_t i = 0; i < op->nreturns; i++)
        if (op->returns[i].argument != LZ_NO_ARGUMENT && !op->returns[i].write)
            return true;
    return lz_layout_of(op)->memory & LZ_MEMORY_MAY_SHARE;
}

static lz_err *no_view(void)
{
    return lz_err_because(
        LZ_REASON_VIEW,
        "view size is not compatible with input tensor's size and stride (at least one dimension "
        "spans across two contiguous subspaces). Use .reshape(...) instead.");
}

static lz_err *fresh(const question *q, const lz_low_value *v, lz_result *out)
{
    lz_shape strides;
    out->viewed = -1;
    LZ_TRY(lz_layout_fresh(q->c, v->dtype, lz_low_value_sizes(v), &strides));
    return lz_spec_get(q->specs, v->dtype, lz_low_value_sizes(v), lz_shape_ints(&strides), &out->spec);
}

/* Offset and strides of a view without elements. */
static lz_err *resolve_empty(lz_arena *a, const lz_low_node *n, lz_group_view *out)
{
    const lz_low_node *chain[LZ_MAX_DIMS], *base = n;
    int64_t k = 0;
    for (; k < LZ_MAX_DIMS && base->nin == 1 && (base->kind == LZ_LOW_INDEX || base->kind == LZ_LOW_RESHAPE);
         k++) {
        chain[k] = base;
        base = base->in[0];
    }
    LZ_TRY(lz_dense_view(a, base, out));
    while (k-- > 0) {
        const lz_low_node *x = chain[k]->in[0], *y = chain[k];
        const lz_low_index_attr *at = y->attr;
        int64_t *strides;
        lz_shape shape = { 0 };
        LZ_TRY(lz_arena_new(a, &strides, (size_t)y->ndim + 1));
        if (y->kind == LZ_LOW_RESHAPE)
            lz_strides_view(lz_low_node_sizes(x), (lz_ints){ out->strides, x->ndim }, lz_low_node_sizes(y),
                            &shape);
        for (int64_t c = 0; y->kind == LZ_LOW_RESHAPE && c < y->ndim; c++)
            strides[c] = shape.v[c];
        for (int64_t r = 0; y->kind == LZ_LOW_INDEX && r < x->ndim; r++) {
            out->offset += out->strides[r] * at->v[r];
            for (int64_t c = 0; c < y->ndim; c++)
                strides[c] = lz_stride_plus(
                    strides[c], lz_stride_times(out->strides[r], at->v[x->ndim + r * y->ndim + c]));
        }
        out->strides = strides;
    }
    return NULL;
}

/* Whether the strides are equal in all dimensions whose size is not 1. */
static bool agree(lz_ints sizes, lz_ints a, const lz_shape *b)
{
    bool same = true;
    assert(sizes.n == 0 || a.v);
    for (int64_t d = 0; same && d < sizes.n; d++)
        same = sizes.v[d] == 1 || a.v[d] == b->v[d];
    return same;
}

/* The stride of a dimension of size 1 is arbitrary. Without a rule for the operator it is that of
 * unsqueeze. */
static void fill_ones(lz_ints sizes, int64_t *strides)
{
    for (int64_t d = sizes.n; d-- > 0;)
        if (sizes.v[d] == 1 && strides[d] == 0)
            strides[d] = d + 1 < sizes.n ? sizes.v[d + 1] * strides[d + 1] : 1;
}

/* The node of an operand among the arguments of the lowering function. */
static const lz_low_node *node_of_operand(const question *q, uint32_t operand)
{
    for (uint32_t i = 0; i < q->c->op->nargs; i++) {
        uint32_t first, n = lz_op_call_operands(q->c, i, &first);
        if (operand < first || operand >= first + n)
            continue;
        return q->c->args[i].kind == LZ_LOW_VALUE_LIST ? q->c->args[i].list.items[operand - first].node
                                                       : q->c->args[i].node;
    }
    return NULL;
}

static bool returns_itself(const lz_op_row *op, const lz_spec *self)
{
    uint32_t memory = lz_layout_of(op)->memory;
    return memory & LZ_MEMORY_MAY_RETURN || (memory & LZ_MEMORY_RETURN_0D && self->ndim == 0);
}

/* Describes a result that is a view of an operand. g: offset and strides, if the result has elements. */
static lz_err *looking(const question *q, const lz_low_value *v, uint32_t operand, const lz_group_view *g,
                       lz_result *out)
{
    const lz_spec *self = q->c->in[operand];
    bool empty = v->node->numel == 0, looks = g->base == node_of_operand(q, operand);
    lz_shape exact;
    *out = (lz_result){ .viewed = (int32_t)operand, .offset = looks ? g->offset : 0 };
    if (empty)
        lz_view_offset(q->c, self, &out->offset);
    lz_ints strides = { looks ? g->strides : NULL, v->node->ndim };
    lz_shape own = { .n = self->ndim };
    for (int64_t d = 0; d < self->ndim; d++)
        own.v[d] = self->strides[d];
    if (looks)
        fill_ones(lz_low_value_sizes(v), g->strides);
    exact.n = 0;
    if (lz_view_strides(q->c, self, lz_low_value_sizes(v), &exact)
        && (empty || agree(lz_low_value_sizes(v), strides, &exact)))
        strides = lz_shape_ints(&exact);
    else if (looks && lz_shape_eq(lz_low_value_sizes(v), lz_spec_sizes(self))
             && agree(lz_low_value_sizes(v), strides, &own))
        strides = lz_shape_ints(&own);
    LZ_TRY(lz_spec_get(q->specs, v->dtype, lz_low_value_sizes(v), strides, &out->spec));
    out->same = out->spec == self && out->offset == 0 && returns_itself(q->c->op, self);
    return NULL;
}

static lz_err *resolve(const question *q, const lz_low_value *v, lz_group_view *out)
{
    return (v->node->numel ? lz_view_resolve : resolve_empty)(q->scratch, v->node, out);
}

/* A result that the schema marks as a view of argument `arg`. */
static lz_err *view(const question *q, const lz_low_value *v, uint32_t arg, lz_result *out)
{
    lz_group_view g;
    uint32_t operand;
    lz_op_call_operands(q->c, arg, &operand);
    const lz_spec *self = q->c->in[operand];
    bool may_copy = lz_layout_of(q->c->op)->memory & LZ_MEMORY_MAY_COPY;
    if (v->dtype != (lz_dtype)self->dtype && !may_copy)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a view with another dtype is not supported");
    if (v->dtype != (lz_dtype)self->dtype || (may_copy && lz_layout_must_copy(q->c, self)))
        return fresh(q, v, out);
    LZ_TRY(resolve(q, v, &g));
    if (g.base != q->c->args[arg].node && v->node->numel)
        return may_copy ? fresh(q, v, out) : no_view();
    return looking(q, v, operand, &g, out);
}

/* A result without a mark in the schema, of an operator that returns views where possible. */
static lz_err *share(const question *q, const lz_low_value *v, lz_result *out)
{
    lz_group_view g;
    LZ_TRY(resolve(q, v, &g));
    uint32_t first, n = lz_op_call_operands(q->c, q->c->op->nargs - 1U, &first);
    for (uint32_t i = 0; i < first + n; i++)
        if (q->c->in[i] && g.base == node_of_operand(q, i) && v->dtype == (lz_dtype)q->c->in[i]->dtype)
            return looking(q, v, i, &g, out);
    return lz_layout_of(q->c->op)->strides == LZ_STRIDES_view ? no_view() : fresh(q, v, out);
}

lz_err *lz_op_result(const lz_op_call *c, lz_specs *specs, lz_arena *scratch, uint32_t ret,
                     const lz_low_value *v, lz_result *out)
{
    const question q = { c, specs, scratch };
    const lz_op_row *op = c->op;
    uint8_t arg = ret < op->nreturns ? op->returns[ret].argument : LZ_NO_ARGUMENT;
    if (v->kind != LZ_LOW_VALUE_TENSOR)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s: a list of lists as result is not supported", op->name);
    if (arg != LZ_NO_ARGUMENT && !op->returns[ret].write && c->args[arg].kind == LZ_LOW_VALUE_TENSOR)
        return view(&q, v, arg, out);
    return lz_layout_of(op)->memory & LZ_MEMORY_MAY_SHARE ? share(&q, v, out) : fresh(&q, v, out);
}

/* An operator without a tensor as its result may ask for strides, which only input nodes have. */
static bool gives_tensors(const lz_op_row *op)
{
    bool any = op->nreturns == 0;
    for (uint32_t i = 0; i < op->nreturns; i++)
        any = any || op->returns[i].type->kind == LZ_KIND_TENSOR
              || op->returns[i].type->kind == LZ_KIND_TENSORS;
    return any;
}

lz_err *lz_op_infer(lz_lower *b, const lz_op_row *op, const lz_low_value *args, lz_low_value *results,
                    size_t *n)
{
    bool views = lz_op_may_view(op) || !gives_tensors(op);
    b->shape_only = !views;
    lz_err *e = (views ? lz_op_lower_as_is : lz_op_lower)(b, op, args, results, n);
    if (!e || views || lz_err_code(e) != LZ_ERR_UNSUPPORTED || !lz_op_can_lower(op))
        return e;
    /* A builder with nodes calls b->nonzero for sizes that depend on elements, so try again with nodes. */
    lz_err_free(e);
    b->shape_only = false;
    return lz_op_lower(b, op, args, results, n);
}
