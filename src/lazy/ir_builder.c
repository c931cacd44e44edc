#include "lazy/ir_builder.h"
#include "core/dtype.h"
#include "lazy/ctx.h"
#include "lazy/lazy_scope.h"
#include "lazy/lazy_tensor.h"
#include "op/op_table.h"

/* lz_ir is lz_ctx under the name that backends see. */
lz_ir *lz_ir_of(lz_ctx *c)
{
    return (lz_ir *)c;
}

static lz_ctx *ctx_of(lz_ir *ir)
{
    return (lz_ctx *)ir;
}

void lz_ir_release(lz_ir *ir, lz_output o)
{
    lz_node_release(ctx_of(ir)->nodes, (lz_node *)o.node);
}

lz_err *lz_ir_output(lz_tensor *t, lz_output *out)
{
    if (!t || !t->storage)
        return lz_errf(LZ_ERR_ARG, "the tensor is NULL or inert");
    LZ_TRY(lz_tensor_value(t, out));
    lz_node_retain((lz_node *)out->node);
    return NULL;
}

lz_err *lz_ir_tensor(lz_ir *ir, lz_output o, lz_tensor **out)
{
    lz_ctx *c = ctx_of(ir);
    const lz_spec *s = o.node->specs[o.index];
    lz_lazy_storage *a;
    LZ_TRY(lz_spec_get(c->specs, (lz_dtype)s->dtype, lz_spec_sizes(s), (lz_ints){ NULL, 0 }, &s));
    LZ_TRY(lz_lazy_storage_pending(c, s, o, &a));
    lz_node_retain((lz_node *)o.node);
    lz_err *e = lz_tensor_create(a, s, 0, out);
    lz_lazy_storage_release(a);
    return e;
}

/* ---- any node ---- */

typedef struct making {
    lz_ctx *c;
    lz_call call;
    lz_value args[LZ_ARGS_MAX];
    LZ_VEC(lz_tensor *) present; /* of all lists: NULL or, where there is an operand, an inert tensor */
    LZ_VEC(lz_output) in;
    LZ_VEC(const lz_spec *) specs;
} making;

static lz_err *add_operands(making *m, lz_operands o)
{
    for (size_t i = 0; i < o.n; i++) {
        const lz_node *n = o.v[i].node;
        LZ_TRY(lz_vec_push(&m->present, n ? m->c->inert : NULL));
        LZ_TRY(lz_vec_push(&m->in, o.v[i]));
        LZ_TRY(lz_vec_push(&m->specs, n ? n->specs[o.v[i].index] : NULL));
    }
    return NULL;
}

/* Stands in for tensors: lz_call_pack only asks whether a tensor is NULL. */
static lz_err *fill_args(making *m, const lz_op_row *op, const lz_value *args, const lz_operands *in,
                         size_t n)
{
    size_t k = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        LZ_TRY(add_operands(m, in[i]));
    for (size_t i = 0; i < op->nargs; i++) {
        m->args[i] = args[i];
        if (op->args[i].type->kind != LZ_KIND_TENSOR && op->args[i].type->kind != LZ_KIND_TENSORS)
            continue;
        if (k == n)
            return lz_errf(LZ_ERR_ARG, "%s::%s takes more operands than the %zu given", op->ns, op->name, n);
        if (op->args[i].type->kind == LZ_KIND_TENSOR)
            m->args[i] = lz_value_tensor(in[k].n ? m->present.data[at] : NULL);
        else
            m->args[i] = lz_value_tensors((lz_tensors){ m->present.data + at, (int64_t)in[k].n });
        at += in[k++].n;
    }
    return k == n ? NULL : lz_errf(LZ_ERR_ARG, "%s::%s takes %zu operands, got %zu", op->ns, op->name, k, n);
}

static lz_err *drop_absent(making *m)
{
    size_t k = 0;
    for (size_t i = 0; i < m->in.len; i++)
        if (m->in.data[i].node || m->call.tensors.len == m->in.len) {
            m->in.data[k] = m->in.data[i];
            m->specs.data[k++] = m->specs.data[i];
        }
    m->in.len = m->specs.len = k;
    return k == m->call.tensors.len ? NULL : lz_errf(LZ_ERR_ARG, "an operand is missing");
}

static lz_err *make(making *m, const lz_op_row *op, const lz_value *args, const lz_operands *in, size_t n,
                    lz_output *out)
{
    const lz_inferred *x;
    lz_node *node;
    LZ_TRY(fill_args(m, op, args, in, n));
    LZ_TRY(lz_call_pack(&m->call, op, m->args, lz_infer_is_static(m->c->infer, op)));
    LZ_TRY(drop_absent(m));
    LZ_TRY(lz_infer_call(m->c->infer, &m->call, m->specs.data, &x));
    if (x->dynamic)
        return lz_errf(LZ_ERR_ARG, "%s::%s: the result's sizes depend on elements, so no node can be made",
                       op->ns, op->name);
    lz_generator *g = m->c->drawing;
    if (x->streams)
        LZ_TRY(lz_ctx_draw(m->c, &m->call, &g));
    LZ_TRY(
        lz_node_make(m->c->nodes, &x->form, m->in.data, m->call.numbers, m->c->at, m->c->scope->path, &node));
    g->state.position += x->streams;
    *out = (lz_output){ node, 0 };
    return NULL;
}

lz_err *lz_ir_make(lz_ir *ir, const lz_op_row *op, const lz_value *args, const lz_operands *in, size_t n,
                   lz_output *out)
{
    making m = { .c = ctx_of(ir) };
    lz_call_init(&m.call);
    lz_err *e = make(&m, op, args, in, n, out);
    lz_call_deinit(&m.call);
    lz_vec_deinit(&m.present);
    lz_vec_deinit(&m.in);
    lz_vec_deinit(&m.specs);
    return e;
}

/* ---- the builder ---- */

/* args: values for all arguments; none() for an operand. */
static lz_err *make_of(lz_ir *ir, lz_op op, const lz_value *args, const lz_output *x, size_t n,
                       lz_output *out)
{
    const lz_operands in[] = { { x, 1 }, { n > 1 ? x + 1 : x, 1 } };
    return lz_ir_make(ir, &lz_op_table[op], args, n ? in : NULL, n, out);
}

static lz_err *device_data(void *self, lz_ir *ir, lz_data *data, lz_output *out)
{
    lz_ctx *c = ctx_of(ir);
    const lz_spec *spec;
    lz_node *n;
    (void)self;
    LZ_TRY(lz_spec_get(c->specs, data->type.dtype, data->type.sizes, (lz_ints){ NULL, 0 }, &spec));
    lz_err *e = lz_node_data(c->nodes, lz_data_retain(data), spec, c->at, &n);
    if (e)
        lz_data_release(data);
    else
        *out = (lz_output){ n, 0 };
    return e;
}

static lz_err *scalar(void *self, lz_ir *ir, lz_scalar value, lz_dtype dtype, lz_output *out)
{
    const lz_value none = lz_value_none(),
                   args[] = { lz_value_scalar(value), lz_value_dtype(dtype), none, none, none };
    (void)self;
    return make_of(ir, LZ_OP_scalar_tensor, args, NULL, 0, out);
}

/* An expanded scalar is copied, because an expanded tensor's elements share memory. */
static lz_err *expand(void *self, lz_ir *ir, lz_output x, lz_ints sizes, bool is_scalar, lz_output *out)
{
    const lz_value expanded[] = { lz_value_none(), lz_value_ints(sizes), lz_value_truth(false) };
    const lz_value cloned[] = { lz_value_none(), lz_value_memory_format(LZ_CONTIGUOUS) };
    lz_output wide;
    (void)self;
    LZ_TRY(make_of(ir, LZ_OP_expand_copy, expanded, &x, 1, &wide));
    if (!is_scalar) {
        *out = wide;
        return NULL;
    }
    lz_err *e = make_of(ir, LZ_OP_clone, cloned, &wide, 1, out);
    lz_ir_release(ir, wide);
    return e;
}

static lz_err *cast(void *self, lz_ir *ir, lz_output x, lz_dtype to, lz_output *out)
{
    const lz_value none = lz_value_none();
    const lz_value args[] = { none, lz_value_dtype(to), none, none, none, lz_value_truth(false), none };
    (void)self;
    return make_of(ir, LZ_OP__to_copy, args, &x, 1, out);
}

static lz_err *generic(void *self, lz_ir *ir, const lz_op_row *op, const lz_value *args,
                       const lz_operands *in, size_t n, lz_output *out)
{
    (void)self;
    return lz_ir_make(ir, op, args, in, n, out);
}

static lz_err *size_node(void *self, lz_ir *ir, lz_output x, int64_t dim, lz_output *out)
{
    const lz_spec *s = x.node->specs[x.index];
    if (dim < -s->ndim || dim >= s->ndim)
        return lz_errf(LZ_ERR_ARG, "expected a dimension of a tensor with %d dimensions, got %lld", s->ndim,
                       (long long)dim);
    return scalar(self, ir, lz_scalar_int(s->sizes[dim < 0 ? dim + s->ndim : dim]), LZ_I64, out);
}

static lz_err *size_add(void *self, lz_ir *ir, lz_output a, lz_output b, lz_output *out)
{
    const lz_output in[] = { a, b };
    const lz_value args[] = { lz_value_none(), lz_value_none(), lz_value_scalar(lz_scalar_int(1)) };
    (void)self;
    return make_of(ir, LZ_OP_add_Tensor, args, in, 2, out);
}

static lz_err *size_mul(void *self, lz_ir *ir, lz_output a, lz_output b, lz_output *out)
{
    const lz_output in[] = { a, b };
    const lz_value args[] = { lz_value_none(), lz_value_none() };
    (void)self;
    return make_of(ir, LZ_OP_mul_Tensor, args, in, 2, out);
}

static lz_err *size_div(void *self, lz_ir *ir, lz_output a, lz_output b, lz_output *out)
{
    const lz_output in[] = { a, b };
    const lz_value args[] = { lz_value_none(), lz_value_none(), lz_value_str("floor") };
    (void)self;
    return make_of(ir, LZ_OP_div_Tensor_mode, args, in, 2, out);
}

const lz_ir_builder lz_own_ir_builder = {
    sizeof(lz_ir_builder), device_data, scalar, expand, cast, generic, size_node, size_add, size_mul, size_div
};
