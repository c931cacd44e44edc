#include "small_tape.h"
#include "autograd/grad_table.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "exec/lower_table.h"

static lz_err *apply(lz_lower *b, uint16_t op, const lz_lv *args, lz_lv *results)
{
    return small_tape_call(b->user, op, args, results);
}

void small_tape_init(small_tape *t, lz_ctx *c)
{
    *t = (small_tape){ .on = true };
    lz_recorder_init(&t->r, c, LZ_HERE);
    t->r.b.apply = apply;
    t->r.b.user = t;
}

void small_tape_deinit(small_tape *t)
{
    lz_vec_deinit(&t->calls);
    lz_vec_deinit(&t->wanted);
    lz_vec_deinit(&t->grads);
    lz_recorder_deinit(&t->r);
}

/* ---- going forward ---- */

static bool is_wanted(const small_tape *t, const lz_lv *v)
{
    int64_t slot = lz_recorder_slot(v);
    if (v->kind == LZ_LV_LIST) {
        for (size_t i = 0; i < v->list.n; i++)
            if (is_wanted(t, &v->list.items[i]))
                return true;
        return false;
    }
    return slot >= 0 && (size_t)slot < t->wanted.len && t->wanted.data[slot];
}

lz_err *small_tape_want(small_tape *t, const lz_lv *v)
{
    int64_t slot = lz_recorder_slot(v);
    for (size_t i = 0; v->kind == LZ_LV_LIST && i < v->list.n; i++)
        LZ_TRY(small_tape_want(t, &v->list.items[i]));
    if (slot < 0 || !lz_dtype_is_float(v->dtype))
        return NULL;
    while (t->wanted.len <= (size_t)slot)
        LZ_TRY(lz_vec_push(&t->wanted, false));
    t->wanted.data[slot] = true;
    return NULL;
}

static bool wants_any(const small_tape *t, uint64_t bits, const lz_lv *args)
{
    for (int i = 0; bits >> i; i++)
        if ((bits >> i & 1) && is_wanted(t, &args[i]))
            return true;
    return false;
}

static lz_err *write_down(small_tape *t, uint16_t op, const lz_lv *args, const lz_lv *results)
{
    const lz_op_row *row = &lz_op_table[op];
    lz_lv *a, *r;
    LZ_TRY(lz_arena_new(&t->r.arena, &a, row->nargs + 1U));
    LZ_TRY(lz_arena_new(&t->r.arena, &r, row->nreturns + 1U));
    memcpy(a, args, row->nargs * sizeof *a);
    memcpy(r, results, row->nreturns * sizeof *r);
    for (int i = 0; i < row->nargs; i++) /* a list may be the caller's own */
        if (a[i].kind == LZ_LV_LIST)
            LZ_TRY(lz_low_list(&t->r.b, args[i].list.items, args[i].list.n, &a[i]));
    for (int i = 0; i < row->nreturns; i++)
        if (lz_grad_table[op].results >> i & 1)
            LZ_TRY(small_tape_want(t, &r[i]));
    return lz_vec_push(&t->calls, (tape_call){ op, a, r });
}

lz_err *small_tape_call(small_tape *t, uint16_t op, const lz_lv *args, lz_lv *results)
{
    const lz_grad_row *row = &lz_grad_table[op];
    lz_lv copy[LZ_ARGS_MAX] = { 0 };
    bool wanted = t->on && row->kind != LZ_GRAD_NOT && wants_any(t, row->args, args);
    if (lz_op_table[op].nargs)
        memcpy(copy, args,
               lz_op_table[op].nargs * sizeof *copy); /* a result may go where one of them stands */
    if (wanted && row->kind == LZ_GRAD_PARTS)
        return lz_lower_table[op].fn(&t->r.b, copy, results);
    LZ_TRY(lz_recorder_call(&t->r, op, copy, results));
    return wanted ? write_down(t, op, copy, results) : NULL;
}

/* ---- going back ---- */

static lz_lv *grad_at(small_tape *t, const lz_lv *v)
{
    static lz_lv none;
    int64_t slot = lz_recorder_slot(v);
    none = lz_lv_none();
    return slot >= 0 && (size_t)slot < t->grads.len ? &t->grads.data[slot] : &none;
}

/* Summed and cast to what the value is. */
static lz_err *fit(small_tape *t, const lz_lv *like, lz_lv *g)
{
    int64_t lead = lz_lv_ndim(g) - lz_lv_ndim(like);
    lz_lv dims[LZ_ARGS_MAX], sizes;
    size_t n = 0;
    for (int64_t d = 0; d < lz_lv_ndim(g); d++)
        if (d < lead || (lz_lv_sizes(like).v[d - lead] == 1 && lz_lv_sizes(g).v[d] != 1))
            dims[n++] = lz_lv_int(d);
    if (n) {
        const lz_lv args[] = { *g, lz_lv_list(dims, n), lz_lv_bool(true), lz_lv_none() };
        LZ_TRY(small_tape_call(t, LZ_OP_sum_dim_IntList, args, g));
        LZ_TRY(lz_low_shape(&t->r.b, like, &sizes));
        LZ_TRY(small_tape_call(t, LZ_OP_view, (lz_lv[]){ *g, sizes }, g));
    }
    if (!lz_shape_eq(lz_lv_sizes(g), lz_lv_sizes(like)))
        return lz_errf(LZ_ERR_MODEL, "a gradient has a shape that cannot be summed to its value's");
    return lz_low_cast_to(&t->r.b, g, like->dtype, g);
}

static lz_err *add_grad(small_tape *t, const lz_lv *v, const lz_lv *g)
{
    int64_t slot = lz_recorder_slot(v);
    lz_lv fitted = *g, sum;
    for (size_t i = 0; v->kind == LZ_LV_LIST && i < v->list.n; i++)
        if (g->kind == LZ_LV_LIST && g->list.n == v->list.n)
            LZ_TRY(add_grad(t, &v->list.items[i], &g->list.items[i]));
        else
            return lz_errf(LZ_ERR_MODEL, "the gradients of a list are not as many as its items");
    if (slot < 0 || !is_wanted(t, v) || g->kind != LZ_LV_TENSOR)
        return NULL;
    LZ_TRY(fit(t, v, &fitted));
    while (t->grads.len <= (size_t)slot)
        LZ_TRY(lz_vec_push(&t->grads, lz_lv_none()));
    if (t->grads.data[slot].kind == LZ_LV_TENSOR) {
        const lz_lv args[] = { t->grads.data[slot], fitted, lz_lv_int(1) };
        LZ_TRY(small_tape_call(t, LZ_OP_add_Tensor, args, &sum));
        fitted = sum;
    }
    t->grads.data[slot] = fitted;
    return NULL;
}

static lz_err *zeros_like(small_tape *t, const lz_lv *v, lz_lv *out)
{
    lz_lv sizes;
    LZ_TRY(lz_low_shape(&t->r.b, v, &sizes));
    const lz_lv args[] = { sizes, lz_lv_dtype(v->dtype), lz_lv_none(), lz_lv_none(), lz_lv_none() };
    return small_tape_call(t, LZ_OP_zeros, args, out);
}

/* A value as a formula may see it. */
static lz_err *show(small_tape *t, const lz_lv *v, bool whole, bool facts, lz_lv *out)
{
    lz_lv *items;
    *out = *v;
    if (v->kind == LZ_LV_TENSOR && !whole)
        return facts ? lz_recorder_facts(&t->r, v->dtype, lz_lv_sizes(v), out) : (*out = lz_lv_none(), NULL);
    if (v->kind != LZ_LV_LIST || !v->list.n || v->list.items[0].kind != LZ_LV_TENSOR)
        return NULL;
    LZ_TRY(lz_low_list_new(&t->r.b, v->list.n, &items));
    for (size_t i = 0; i < v->list.n; i++)
        LZ_TRY(show(t, &v->list.items[i], whole, facts, &items[i]));
    *out = lz_lv_list(items, v->list.n);
    return NULL;
}

static lz_err *result_grads(small_tape *t, const tape_call *c, bool zeros, lz_lv *grads, lz_lv *list,
                            bool *any)
{
    int n = lz_op_table[c->op].nreturns;
    const lz_lv *of = c->results;
    size_t len = (size_t)n;
    bool one_list = n == 1 && of[0].kind == LZ_LV_LIST;
    lz_lv *items;
    *any = false;
    if (one_list) {
        len = of[0].list.n;
        of = of[0].list.items;
    }
    LZ_TRY(lz_low_list_new(&t->r.b, len, &items));
    for (size_t i = 0; i < len; i++) {
        items[i] = *grad_at(t, &of[i]);
        *any = *any || items[i].kind == LZ_LV_TENSOR;
    }
    for (size_t i = 0; *any && zeros && i < len; i++)
        if (items[i].kind == LZ_LV_NONE && of[i].kind == LZ_LV_TENSOR)
            LZ_TRY(zeros_like(t, &of[i], &items[i]));
    *list = lz_lv_list(items, len);
    for (int i = 0; i < n; i++)
        grads[i] = one_list ? *list : items[i];
    return NULL;
}

static lz_err *call_formula(small_tape *t, const tape_call *c, const lz_grad_formula *f)
{
    const lz_op_row *op = &lz_op_table[c->op];
    int n = op->nargs, r = op->nreturns, k = 0;
    lz_lv in[4 * LZ_ARGS_MAX], out[LZ_ARGS_MAX], mask[LZ_ARGS_MAX];
    bool any;
    if (!wants_any(t, f->gives, c->args))
        return NULL;
    for (int i = 0; i < n + r; i++)
        LZ_TRY(
            show(t, i < n ? &c->args[i] : &c->results[i - n], f->whole >> i & 1, f->facts >> i & 1, &in[i]));
    LZ_TRY(result_grads(t, c, f->zeros, &in[n + r], &in[n + 2 * r], &any));
    if (!any)
        return NULL;
    for (int i = 0; i < n; i++)
        if (f->gives >> i & 1)
            mask[k++] = lz_lv_bool(is_wanted(t, &c->args[i]));
    in[n + 2 * r + 1] = lz_lv_list(mask, (size_t)k);
    lz_err *e = f->fn(&t->r.b, in, out);
    if (e)
        return lz_err_wrap(e, "the derivative of %s", op->name);
    k = 0;
    for (int i = 0; i < n; i++)
        if (f->gives >> i & 1)
            LZ_TRY(add_grad(t, &c->args[i], &out[k++]));
    return NULL;
}

static lz_err *go_back(small_tape *t)
{
    for (size_t i = t->calls.len; i-- > 0;) {
        tape_call c = t->calls.data[i]; /* the vector may grow */
        const lz_grad_row *row = &lz_grad_table[c.op];
        for (int k = 0; k < row->nformulas; k++)
            LZ_TRY(call_formula(t, &c, &row->formulas[k]));
    }
    return NULL;
}

lz_err *small_tape_back(small_tape *t, const lz_lv *y, const lz_lv *gy, size_t ny, const lz_lv *x, lz_lv *gx,
                        size_t nx, bool again)
{
    t->grads.len = 0;
    t->on = again;
    for (size_t i = 0; i < ny; i++)
        LZ_TRY(add_grad(t, &y[i], &gy[i]));
    LZ_TRY(go_back(t));
    t->on = true;
    for (size_t i = 0; i < nx; i++)
        gx[i] = *grad_at(t, &x[i]);
    return NULL;
}

/* ---- forward ---- */

static lz_err *linear(small_tape *t, uint16_t op, const lz_lv *args, const lz_lv *tangents, lz_lv *out)
{
    lz_lv in[LZ_ARGS_MAX] = { 0 };
    for (int i = 0; i < lz_op_table[op].nargs; i++)
        in[i] = lz_grad_table[op].args >> i & 1 ? tangents[i] : args[i];
    return small_tape_call(t, op, in, out);
}

static lz_err *written(small_tape *t, uint16_t op, const lz_grad_formula *f, const lz_lv *args,
                       const lz_lv *results, const lz_lv *tangents, lz_lv *out)
{
    int n = lz_op_table[op].nargs, r = lz_op_table[op].nreturns, k = 0;
    lz_lv in[4 * LZ_ARGS_MAX], made[LZ_ARGS_MAX];
    for (int i = 0; i < n + r; i++)
        LZ_TRY(show(t, i < n ? &args[i] : &results[i - n], f->whole >> i & 1, f->facts >> i & 1, &in[i]));
    memcpy(&in[n + r], tangents, (size_t)n * sizeof *in);
    LZ_TRY(f->fn(&t->r.b, in, made));
    for (int i = 0; i < r; i++)
        if (f->gives >> i & 1)
            out[i] = made[k++];
    return NULL;
}

/* The backward formula of the one argument, with its tangent for the gradient. */
static lz_err *element(small_tape *t, uint16_t op, const lz_lv *args, const lz_lv *results,
                       const lz_lv *tangents, lz_lv *out)
{
    const lz_grad_formula *f = &lz_grad_table[op].formulas[0];
    int n = lz_op_table[op].nargs, at = 0;
    lz_lv in[LZ_ARGS_MAX + 8];
    while (!(f->gives >> at & 1))
        at++;
    for (int i = 0; i < n + 1; i++)
        LZ_TRY(show(t, i < n ? &args[i] : &results[0], f->whole >> i & 1, f->facts >> i & 1, &in[i]));
    in[n + 1] = tangents[at];
    return f->fn(&t->r.b, in, out);
}

lz_err *small_tape_forward(small_tape *t, uint16_t op, const lz_lv *args, const lz_lv *results,
                           const lz_lv *tangents, lz_lv *out)
{
    const lz_grad_row *row = &lz_grad_table[op];
    for (int i = 0; i < lz_op_table[op].nreturns; i++)
        out[i] = lz_lv_none();
    if (row->forward == LZ_FORWARD_LINEAR)
        return linear(t, op, args, tangents, out);
    if (row->forward == LZ_FORWARD_ELEMENT)
        return element(t, op, args, results, tangents, out);
    for (int i = 0; i < row->nforwards; i++)
        LZ_TRY(written(t, op, &row->forwards[i], args, results, tangents, out));
    return NULL;
}
