#include "autograd/grad.h"
#include "autograd/grad_table.h"
#include "core/dtype.h"
#include "core/shape.h"

enum { VALUES_MAX = 3 * LZ_ARGS_MAX + 2 };

int lz_grad_nargs(uint16_t op)
{
    const lz_op_row *row = &lz_op_table[op];
    int n = row->nargs;
    while (n > 0 && row->args[n - 1].section == LZ_SECTION_OUT)
        n--;
    return n;
}

/* ---- what is saved ---- */

lz_grad_needs lz_grad_keeps(uint16_t op, uint64_t wanted)
{
    const lz_grad_row *row = &lz_grad_table[op];
    lz_grad_needs n = { 0, wanted }; /* gradients are summed and cast to wanted arguments */
    uint64_t results = ((UINT64_C(1) << lz_op_table[op].nreturns) - 1) << lz_grad_nargs(op);
    for (int i = 0; i < row->nformulas; i++) {
        const lz_grad_formula *f = &row->formulas[i];
        if (!(f->gives & wanted))
            continue;
        n.whole |= f->whole;
        n.facts |= f->facts | (f->zeros ? results : 0);
    }
    n.facts &= ~n.whole;
    return n;
}

/* NOLINTNEXTLINE(misc-no-recursion): a list has no lists in it */
lz_err *lz_grad_keep(lz_recorder *r, const lz_low_value *v, bool whole, bool facts, lz_low_value *out)
{
    lz_low_value *items;
    *out = *v;
    if (v->kind == LZ_LOW_VALUE_LIST) {
        LZ_TRY(lz_low_list_new(&r->b, v->list.n, &items));
        for (size_t i = 0; i < v->list.n; i++)
            LZ_TRY(lz_grad_keep(r, &v->list.items[i], whole, facts, &items[i]));
        *out = lz_low_value_list(items, v->list.n);
    }
    if (v->kind != LZ_LOW_VALUE_TENSOR || whole)
        return NULL;
    *out = lz_low_value_none();
    return facts ? lz_recorder_facts(r, v->dtype, lz_low_value_sizes(v), out) : NULL;
}

/* ---- sizes and dtypes ---- */

static lz_err *sum_to(lz_lower *b, const lz_low_value *like, lz_low_value *g)
{
    int64_t lead = lz_low_value_ndim(g) - lz_low_value_ndim(like);
    lz_low_value dims[LZ_ARGS_MAX], sizes;
    size_t n = 0;
    for (int64_t d = 0; d < lz_low_value_ndim(g) && n < LZ_ARGS_MAX; d++)
        if (d < lead || (lz_low_value_sizes(like).v[d - lead] == 1 && lz_low_value_sizes(g).v[d] != 1))
            dims[n++] = lz_low_value_int(d);
    if (n == 0)
        return NULL;
    const lz_low_value sum[] = { *g, lz_low_value_list(dims, n), lz_low_value_bool(true),
                                 lz_low_value_none() };
    LZ_TRY(b->apply(b, LZ_OP_sum_dim_IntList, sum, g));
    if (lead == 0)
        return NULL;
    LZ_TRY(lz_low_shape(b, like, &sizes));
    const lz_low_value view[] = { *g, sizes };
    return b->apply(b, LZ_OP_view, view, g);
}

/* NOLINTNEXTLINE(misc-no-recursion): a list has no lists in it */
static lz_err *fit(lz_recorder *r, const lz_low_value *like, lz_low_value *g)
{
    lz_low_value *items;
    char is[LZ_SHAPE_CHARS], wanted[LZ_SHAPE_CHARS];
    if (g->kind == LZ_LOW_VALUE_LIST) {
        if (like->kind != LZ_LOW_VALUE_LIST || like->list.n != g->list.n)
            return lz_errf(
                LZ_ERR_INTERNAL,
                "the derivative gave a list of %zu gradients, expected the kind and length of the argument",
                g->list.n);
        LZ_TRY(lz_low_list_new(&r->b, g->list.n, &items));
        for (size_t i = 0; i < g->list.n; i++) {
            items[i] = g->list.items[i];
            LZ_TRY(fit(r, &like->list.items[i], &items[i]));
        }
        *g = lz_low_value_list(items, g->list.n);
    }
    if (g->kind != LZ_LOW_VALUE_TENSOR || like->kind != LZ_LOW_VALUE_TENSOR)
        return NULL;
    LZ_TRY(sum_to(&r->b, like, g));
    if (!lz_shape_eq(lz_low_value_sizes(g), lz_low_value_sizes(like)))
        return lz_errf(LZ_ERR_INTERNAL, "a gradient has sizes %s, expected %s",
                       lz_shape_print(lz_low_value_sizes(g), is),
                       lz_shape_print(lz_low_value_sizes(like), wanted));
    return lz_low_cast_to(&r->b, g, like->dtype, g);
}

static lz_err *zeros_like(lz_recorder *r, const lz_low_value *v, lz_dtype d, lz_low_value *out)
{
    lz_low_value sizes;
    LZ_TRY(lz_low_shape(&r->b, v, &sizes));
    const lz_low_value args[] = { sizes, lz_low_value_dtype(d), lz_low_value_none(), lz_low_value_none(),
                                  lz_low_value_none() };
    return r->b.apply(&r->b, LZ_OP_zeros, args, out);
}

/* ---- backward ---- */

typedef struct step {
    lz_recorder *r;
    uint16_t op;
    int nargs, nresults;
    const lz_low_value *args, *results, *grads;
    uint64_t wanted;
} step;

/* The gradients as a formula gets them: one by one and as a list. */
static lz_err *set_grads(const step *s, const lz_grad_formula *f, lz_low_value *grads, lz_low_value *list)
{
    lz_low_value *items;
    for (int i = 0; i < s->nresults; i++) {
        grads[i] = s->grads[i];
        if (f->zeros && grads[i].kind == LZ_LOW_VALUE_NONE && s->results[i].kind == LZ_LOW_VALUE_TENSOR)
            LZ_TRY(zeros_like(s->r, &s->results[i], s->results[i].dtype, &grads[i]));
    }
    *list = grads[0];
    if (s->nresults == 1 && grads[0].kind == LZ_LOW_VALUE_LIST)
        return NULL;
    LZ_TRY(lz_low_list_new(&s->r->b, (size_t)s->nresults, &items));
    for (int i = 0; i < s->nresults; i++)
        items[i] = grads[i];
    *list = lz_low_value_list(items, (size_t)s->nresults);
    return NULL;
}

static lz_err *call_formula(const step *s, const lz_grad_formula *f, lz_low_value *out)
{
    lz_low_value in[VALUES_MAX], made[LZ_ARGS_MAX], mask[LZ_ARGS_MAX];
    int n = s->nargs, m = s->nresults, k = 0;
    for (int i = 0; i < n; i++)
        in[i] = s->args[i];
    for (int i = 0; i < m; i++)
        in[n + i] = s->results[i];
    LZ_TRY(set_grads(s, f, &in[n + m], &in[n + 2 * m]));
    for (int i = 0; i < n; i++)
        if (f->gives >> i & 1)
            mask[k++] = lz_low_value_bool(s->wanted >> i & 1);
    in[n + 2 * m + 1] = lz_low_value_list(mask, (size_t)k);
    LZ_TRY(f->fn(&s->r->b, in, made));
    k = 0;
    for (int i = 0; i < n; i++) {
        if (!(f->gives >> i & 1))
            continue;
        out[i] = s->wanted >> i & 1 ? made[k] : lz_low_value_none();
        LZ_TRY(fit(s->r, &s->args[i], &out[i]));
        k++;
    }
    return NULL;
}

lz_err *lz_grad_call(lz_recorder *r, uint16_t op, const lz_low_value *args, const lz_low_value *results,
                     const lz_low_value *grads, uint64_t wanted, lz_low_value *out)
{
    const lz_grad_row *row = &lz_grad_table[op];
    step s = { r, op, lz_grad_nargs(op), lz_op_table[op].nreturns, args, results, grads, wanted };
    for (int i = 0; i < s.nargs; i++)
        out[i] = lz_low_value_none();
    for (int i = 0; i < row->nformulas; i++) {
        lz_err *e = row->formulas[i].gives & wanted ? call_formula(&s, &row->formulas[i], out) : NULL;
        if (e)
            return lz_err_wrap(e, "the derivative of %s", lz_op_table[op].name);
    }
    return NULL;
}

/* ---- forward ---- */

/* The tangent, with zeros for missing parts. NOLINTNEXTLINE(misc-no-recursion): a list has no lists in it */
static lz_err *fill(lz_recorder *r, const lz_low_value *v, const lz_low_value *tangent, lz_dtype kind,
                    lz_low_value *out)
{
    lz_low_value *items, none = lz_low_value_none();
    bool given = tangent->kind == LZ_LOW_VALUE_LIST;
    *out = *tangent;
    if (v->kind == LZ_LOW_VALUE_TENSOR && tangent->kind == LZ_LOW_VALUE_NONE)
        return zeros_like(r, v, lz_dtype_is_float(v->dtype) ? v->dtype : kind, out);
    if (v->kind != LZ_LOW_VALUE_LIST)
        return NULL;
    LZ_TRY(lz_low_list_new(&r->b, v->list.n, &items));
    for (size_t i = 0; i < v->list.n; i++)
        LZ_TRY(fill(r, &v->list.items[i], given ? &tangent->list.items[i] : &none, kind, &items[i]));
    *out = lz_low_value_list(items, v->list.n);
    return NULL;
}

/* An integer argument gets a zero tangent with the dtype of the other tangents. */
static lz_err *fill_tangents(const step *s, const lz_low_value *tangents, lz_low_value *out)
{
    lz_dtype kind = s->r->b.default_float;
    for (int i = 0; i < s->nargs; i++)
        if (tangents[i].kind == LZ_LOW_VALUE_TENSOR)
            kind = tangents[i].dtype;
    for (int i = 0; i < s->nargs; i++) {
        out[i] = lz_low_value_none();
        if (lz_grad_table[s->op].args >> i & 1)
            LZ_TRY(fill(s->r, &s->args[i], &tangents[i], kind, &out[i]));
    }
    return NULL;
}

static lz_err *push_linear(const step *s, const lz_low_value *tangents, lz_low_value *out)
{
    lz_low_value in[LZ_ARGS_MAX];
    for (int i = 0; i < s->nargs; i++)
        in[i] = lz_grad_table[s->op].args >> i & 1 ? tangents[i] : s->args[i];
    return s->r->b.apply(&s->r->b, s->op, in, out);
}

/* Applies the backward formula of the only argument to its tangent: for element-wise operators both are
 * equal. */
static lz_err *push_element(const step *s, const lz_low_value *tangents, lz_low_value *out)
{
    const lz_grad_formula *f = &lz_grad_table[s->op].formulas[0];
    lz_low_value in[LZ_ARGS_MAX + 4], mask = lz_low_value_bool(true);
    int n = s->nargs;
    for (int i = 0; i < n; i++)
        in[i] = s->args[i];
    in[n] = s->results[0];
    in[n + 1] = tangents[__builtin_ctzll(f->gives)];
    in[n + 2] = lz_low_value_list(&in[n + 1], 1);
    in[n + 3] = lz_low_value_list(&mask, 1);
    return f->fn(&s->r->b, in, out);
}

static lz_err *push_written(const step *s, const lz_grad_formula *f, const lz_low_value *tangents,
                            lz_low_value *out)
{
    lz_low_value in[VALUES_MAX], made[LZ_ARGS_MAX];
    int k = 0;
    for (int i = 0; i < s->nargs; i++) {
        in[i] = s->args[i];
        in[s->nargs + s->nresults + i] = tangents[i];
    }
    for (int i = 0; i < s->nresults; i++)
        in[s->nargs + i] = s->results[i];
    LZ_TRY(f->fn(&s->r->b, in, made));
    for (int i = 0; i < s->nresults; i++)
        if (f->gives >> i & 1)
            out[i] = made[k++];
    return NULL;
}

lz_err *lz_grad_forward(lz_recorder *r, uint16_t op, const lz_low_value *args, const lz_low_value *results,
                        const lz_low_value *tangents, lz_low_value *out)
{
    const lz_grad_row *row = &lz_grad_table[op];
    step s = { .r = r, .op = op, .nargs = lz_grad_nargs(op), .args = args, .results = results };
    lz_low_value full[LZ_ARGS_MAX];
    s.nresults = lz_op_table[op].nreturns;
    for (int i = 0; i < s.nresults; i++)
        out[i] = lz_low_value_none();
    LZ_TRY(fill_tangents(&s, tangents, full));
    switch ((lz_forward_kind)row->forward) {
    case LZ_FORWARD_LINEAR:
        return push_linear(&s, full, out);
    case LZ_FORWARD_ELEMENT:
        return push_element(&s, full, out);
    case LZ_FORWARD_WRITTEN:
        for (int i = 0; i < row->nforwards; i++)
            LZ_TRY(push_written(&s, &row->forwards[i], full, out));
        return NULL;
    default:
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s has no forward formula", lz_op_table[op].name);
    }
}
