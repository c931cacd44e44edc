#include "small_tape.h"
#include "autograd/grad.h"
#include "autograd/grad_table.h"
#include "core/dtype.h"
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
    for (size_t i = 0; v->kind == LZ_LV_LIST && i < v->list.n; i++)
        if (is_wanted(t, &v->list.items[i]))
            return true;
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

static uint64_t wanted_of(const small_tape *t, uint16_t op, const lz_lv *args)
{
    uint64_t bits = 0;
    for (int i = 0; i < lz_grad_nargs(op); i++)
        bits |= (uint64_t)((lz_grad_table[op].args >> i & 1) && is_wanted(t, &args[i])) << i;
    return bits;
}

/* Edges are the values as they were; formulas see what is kept. */
static lz_err *write_down(small_tape *t, uint16_t op, uint64_t wanted, const lz_lv *args,
                          const lz_lv *results)
{
    int n = lz_grad_nargs(op), m = lz_op_table[op].nreturns;
    lz_grad_needs needs = lz_grad_keeps(op, wanted);
    lz_lv *all;
    LZ_TRY(lz_arena_new(&t->r.arena, &all, 2 * (size_t)(n + m) + 1));
    for (int i = 0; i < n + m; i++) {
        const lz_lv *v = i < n ? &args[i] : &results[i - n];
        LZ_TRY(lz_grad_keep(&t->r, v, true, true, &all[i]));
        LZ_TRY(lz_grad_keep(&t->r, v, needs.whole >> i & 1, needs.facts >> i & 1, &all[n + m + i]));
    }
    for (int i = 0; i < m; i++)
        if (lz_grad_table[op].results >> i & 1)
            LZ_TRY(small_tape_want(t, &results[i]));
    return lz_vec_push(&t->calls, (tape_call){ op, wanted, all, all + n, all + n + m, all + 2 * n + m });
}

lz_err *small_tape_call(small_tape *t, uint16_t op, const lz_lv *args, lz_lv *results)
{
    lz_lv copy[LZ_ARGS_MAX] = { 0 };
    bool asked = t->on && lz_grad_table[op].kind != LZ_GRAD_NOT;
    uint64_t wanted = asked ? wanted_of(t, op, args) : 0;
    for (int i = 0; i < lz_op_table[op].nargs; i++) /* a result may go where one of them stands */
        copy[i] = args[i];
    if (wanted && lz_grad_table[op].kind == LZ_GRAD_PARTS)
        return lz_lower_table[op].fn(&t->r.b, copy, results);
    LZ_TRY(lz_recorder_call(&t->r, op, copy, results));
    return wanted ? write_down(t, op, wanted, copy, results) : NULL;
}

/* ---- going back ---- */

static lz_err *grad_of(small_tape *t, const lz_lv *v, lz_lv *out, bool *any)
{
    int64_t slot = lz_recorder_slot(v);
    lz_lv *items;
    *out = slot >= 0 && (size_t)slot < t->grads.len ? t->grads.data[slot] : lz_lv_none();
    *any = *any || out->kind == LZ_LV_TENSOR;
    if (v->kind != LZ_LV_LIST)
        return NULL;
    LZ_TRY(lz_low_list_new(&t->r.b, v->list.n, &items));
    for (size_t i = 0; i < v->list.n; i++)
        LZ_TRY(grad_of(t, &v->list.items[i], &items[i], any));
    *out = lz_lv_list(items, v->list.n);
    return NULL;
}

static lz_err *add_grad(small_tape *t, const lz_lv *v, const lz_lv *g)
{
    int64_t slot = lz_recorder_slot(v);
    lz_lv sum = *g;
    for (size_t i = 0; v->kind == LZ_LV_LIST && g->kind == LZ_LV_LIST && i < v->list.n; i++)
        LZ_TRY(add_grad(t, &v->list.items[i], &g->list.items[i]));
    if (slot < 0 || !is_wanted(t, v) || g->kind != LZ_LV_TENSOR)
        return NULL;
    while (t->grads.len <= (size_t)slot)
        LZ_TRY(lz_vec_push(&t->grads, lz_lv_none()));
    if (t->grads.data[slot].kind == LZ_LV_TENSOR) {
        const lz_lv args[] = { t->grads.data[slot], *g, lz_lv_int(1) };
        LZ_TRY(small_tape_call(t, LZ_OP_add_Tensor, args, &sum));
    }
    t->grads.data[slot] = sum;
    return NULL;
}

static lz_err *go_through(small_tape *t, const tape_call *c)
{
    lz_lv grads[LZ_ARGS_MAX], out[LZ_ARGS_MAX];
    bool any = false;
    for (int i = 0; i < lz_op_table[c->op].nreturns; i++)
        LZ_TRY(grad_of(t, &c->results[i], &grads[i], &any));
    if (!any)
        return NULL;
    LZ_TRY(lz_grad_call(&t->r, c->op, c->kept_args, c->kept_results, grads, c->wanted, out));
    for (int i = 0; i < lz_grad_nargs(c->op); i++)
        LZ_TRY(add_grad(t, &c->args[i], &out[i]));
    return NULL;
}

lz_err *small_tape_back(small_tape *t, const lz_lv *y, const lz_lv *gy, size_t ny, const lz_lv *x, lz_lv *gx,
                        size_t nx, bool again)
{
    bool any = false;
    t->grads.len = 0;
    t->on = again;
    for (size_t i = 0; i < ny; i++)
        LZ_TRY(add_grad(t, &y[i], &gy[i]));
    for (size_t i = t->calls.len; i-- > 0;) {
        tape_call c = t->calls.data[i]; /* the vector may grow */
        LZ_TRY(go_through(t, &c));
    }
    t->on = true;
    for (size_t i = 0; i < nx; i++)
        LZ_TRY(grad_of(t, &x[i], &gx[i], &any));
    return NULL;
}
