#include "autograd/grad.h"
#include "autograd/grad_table.h"
#include "core/convert.h"
#include "core/dtype.h"
#include "grad_problem.h"
#include "op/functional_table.h"
#include <math.h>
#include <string.h>

/* ---- evaluating ---- */

/* Elements of a value that has a gradient; none are zeros. */
static lz_err *read_doubles(problem *p, small_tape *t, const lz_low_value *v, double *out, int64_t n)
{
    int64_t slot = lz_recorder_slot(v);
    for (int64_t i = 0; i < n; i++)
        out[i] = 0;
    if (slot < 0)
        return NULL;
    if (v->dtype != LZ_F64 && p->as_is)
        return lz_sync(p->ctx, &t->r.tensors.data[slot], 1) ? NULL
                                                            : lz_errf(LZ_ERR_MODEL, "%s", lz_message(p->ctx));
    if (v->dtype != LZ_F64 || lz_low_value_numel(v) != n)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a result that is not f64");
    if (!lz_read(t->r.tensors.data[slot], out, (size_t)n * sizeof *out))
        return lz_errf(LZ_ERR_MODEL, "%s", lz_message(t->r.ctx));
    return NULL;
}

typedef struct outputs {
    lz_low_value y[LEAVES], gy[LEAVES];
    double *weights[LEAVES];
    size_t n;
} outputs;

static lz_err *add_output(problem *p, small_tape *t, const lz_low_value *v, uint64_t *dice, outputs *out)
{
    int64_t n = v->kind == LZ_LOW_VALUE_TENSOR ? lz_low_value_numel(v) : 0;
    double *w;
    for (size_t i = 0; v->kind == LZ_LOW_VALUE_LIST && i < v->list.n; i++)
        LZ_TRY(add_output(p, t, &v->list.items[i], dice, out));
    if (v->kind != LZ_LOW_VALUE_TENSOR || !lz_dtype_is_float(v->dtype) || out->n == LEAVES)
        return NULL;
    LZ_TRY(lz_arena_new(p->arena, &w, (size_t)n + 1));
    for (int64_t k = 0; k < n; k++)
        w[k] = p->ones ? 1 : problem_roll(dice);
    if (p->outs && p->nouts < p->outs->len && !p->outs->items[p->nouts++].i)
        return NULL;
    out->weights[out->n] = w;
    out->y[out->n] = *v;
    lz_low_value *gy = &out->gy[out->n++];
    LZ_TRY(lz_recorder_add(&t->r, lz_from_memory(p->ctx, LZ_F64, lz_low_value_sizes(v), w), gy));
    return lz_low_cast_to(&t->r.b, gy, v->dtype, gy);
}

double problem_dot(const double *x, const double *y, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s += x[i] * y[i];
    return s;
}

/* A view of something larger, which has a history then, too. */
static lz_err *part_of_pair(small_tape *t, lz_low_value *x)
{
    const lz_low_value two[] = { *x, *x }, stack[] = { lz_low_value_list(two, 2), lz_low_value_int(0) };
    lz_low_value part[] = { { 0 }, lz_low_value_int(0), lz_low_value_int(1) };
    LZ_TRY(small_tape_call(t, LZ_OP_stack, stack, &part[0]));
    return small_tape_call(t, LZ_OP_select_int, part, x);
}

/* An operator that writes a list returns nothing: the list is the result. */
static lz_err *call_list_in_place(problem *p, small_tape *t, lz_low_value *args, lz_low_value *results)
{
    lz_low_value *items;
    LZ_TRY(lz_arena_new(p->arena, &items, args[0].list.n + 1));
    for (size_t i = 0; i < args[0].list.n; i++) {
        items[i] = args[0].list.items[i];
        LZ_TRY(part_of_pair(t, &items[i]));
    }
    args[0] = results[0] = lz_low_value_list(items, args[0].list.n);
    return small_tape_call(t, lz_functional_table[p->number].inplace, args, results + 1);
}

static lz_err *call_in_place(problem *p, small_tape *t, lz_low_value *args, lz_low_value *results)
{
    if (args[0].kind == LZ_LOW_VALUE_LIST)
        return call_list_in_place(p, t, args, results);
    LZ_TRY(part_of_pair(t, &args[0]));
    return small_tape_call(t, lz_functional_table[p->number].inplace, args, results);
}

static lz_err *evaluate_on(problem *p, small_tape *t, int order, double *value, double *const *grads)
{
    lz_low_value args[LZ_ARGS_MAX], results[LZ_ARGS_MAX], leaves[LEAVES], g[LEAVES], w[LEAVES];
    outputs out = { .n = 0 };
    uint64_t dice = 7;
    double room[ELEMENTS];
    p->nouts = 0;
    LZ_TRY(problem_args(p, t, args, leaves));
    LZ_TRY(p->in_place ? call_in_place(p, t, args, results) : small_tape_call(t, p->number, args, results));
    for (int i = 0; i < p->op->nreturns; i++)
        if (p->outs || lz_grad_table[p->number].results >> i & 1)
            LZ_TRY(add_output(p, t, &results[i], &dice, &out));
    *value = 0;
    for (size_t i = 0; order == 0 && i < out.n; i++) {
        int64_t n = lz_low_value_numel(&out.y[i]);
        if (n > ELEMENTS)
            return lz_errf(LZ_ERR_UNSUPPORTED, "too large");
        LZ_TRY(read_doubles(p, t, &out.y[i], room, n));
        *value += problem_dot(room, out.weights[i], n);
    }
    if (order == 0)
        return NULL;
    LZ_TRY(small_tape_back(t, out.y, out.gy, out.n, leaves, g, p->nleaves, order > 1));
    for (size_t i = 0; i < p->nleaves; i++) {
        const leaf *l = &p->leaves[i];
        if (!l->differentiable)
            continue;
        if (order == 1) {
            LZ_TRY(read_doubles(p, t, &g[i], grads[i], l->numel));
            *value += problem_dot(grads[i], l->weights, l->numel);
        } else {
            LZ_TRY(lz_recorder_add(&t->r, lz_from_memory(p->ctx, LZ_F64, l->sizes, l->weights), &w[i]));
            LZ_TRY(lz_low_cast_to(&t->r.b, &w[i], l->dtype, &w[i]));
        }
    }
    if (order == 1)
        return NULL;
    for (size_t i = 0; i < p->nleaves; i++)
        if (!p->leaves[i].differentiable)
            g[i] = w[i] = lz_low_value_none();
    lz_low_value gg[LEAVES];
    LZ_TRY(small_tape_back(t, g, w, p->nleaves, leaves, gg, p->nleaves, false));
    for (size_t i = 0; i < p->nleaves; i++)
        if (p->leaves[i].differentiable)
            LZ_TRY(read_doubles(p, t, &gg[i], grads[i], p->leaves[i].numel));
    return NULL;
}

lz_err *problem_evaluate(problem *p, int order, double *value, double *const *grads)
{
    small_tape t;
    lz_scope *s = lz_scope_push(p->ctx);
    lz_manual_seed(p->ctx, 3);
    small_tape_init(&t, p->ctx);
    lz_err *e = evaluate_on(p, &t, order, value, grads);
    small_tape_deinit(&t);
    lz_clear(p->ctx);
    lz_scope_pop(s);
    return e;
}

/* ---- tangents ---- */

/* A tangent as each leaf has one in its weights; other arguments have none. */
static lz_err *tangent_of(problem *p, small_tape *t, const lz_low_value *v, const lz_low_value *leaves,
                          lz_low_value *out)
{
    lz_low_value *items;
    *out = lz_low_value_none();
    if (v->kind == LZ_LOW_VALUE_LIST) {
        LZ_TRY(lz_low_list_new(&t->r.b, v->list.n, &items));
        for (size_t i = 0; i < v->list.n; i++)
            LZ_TRY(tangent_of(p, t, &v->list.items[i], leaves, &items[i]));
        *out = lz_low_value_list(items, v->list.n);
        return NULL;
    }
    for (size_t i = 0; i < p->nleaves && v->kind == LZ_LOW_VALUE_TENSOR; i++)
        if (lz_recorder_slot(v) == lz_recorder_slot(&leaves[i]) && p->leaves[i].differentiable)
            return lz_recorder_add(
                &t->r, lz_from_memory(p->ctx, LZ_F64, p->leaves[i].sizes, p->leaves[i].weights), out);
    return NULL;
}

static lz_err *push_forward(problem *p, small_tape *t, double *value)
{
    lz_low_value args[LZ_ARGS_MAX], results[LZ_ARGS_MAX], tangents[LZ_ARGS_MAX], made[LZ_ARGS_MAX],
        leaves[LEAVES];
    outputs out = { .n = 0 };
    uint64_t dice = 7;
    double room[ELEMENTS];
    *value = 0;
    t->on = false;
    LZ_TRY(problem_args(p, t, args, leaves));
    LZ_TRY(small_tape_call(t, p->number, args, results));
    for (int i = 0; i < p->op->nargs; i++)
        LZ_TRY(tangent_of(p, t, &args[i], leaves, &tangents[i]));
    LZ_TRY(lz_grad_forward(&t->r, p->number, args, results, tangents, made));
    for (int i = 0; i < p->op->nreturns; i++)
        if (lz_grad_table[p->number].results >> i & 1)
            LZ_TRY(add_output(p, t, &made[i], &dice, &out));
    for (size_t i = 0; i < out.n; i++) {
        LZ_TRY(read_doubles(p, t, &out.y[i], room, lz_low_value_numel(&out.y[i])));
        *value += problem_dot(room, out.weights[i], lz_low_value_numel(&out.y[i]));
    }
    return NULL;
}

lz_err *problem_tangent(problem *p, double *value)
{
    small_tape t;
    lz_scope *s = lz_scope_push(p->ctx);
    lz_manual_seed(p->ctx, 3);
    small_tape_init(&t, p->ctx);
    lz_err *e = push_forward(p, &t, value);
    small_tape_deinit(&t);
    lz_clear(p->ctx);
    lz_scope_pop(s);
    return e;
}

/* ---- as text ---- */

/* For a comparison with another system: gradients of the linear function, as JSON. */
static void dump_doubles(FILE *f, const double *x, int64_t n)
{
    fputc('[', f);
    for (int64_t i = 0; i < n; i++)
        fprintf(f,
                isfinite(x[i]) ? "%s%.17g"
                : isnan(x[i])  ? "%sNaN"
                : x[i] > 0     ? "%sInfinity"
                               : "%s-Infinity",
                i ? "," : "", x[i]);
    fputc(']', f);
}

lz_err *problem_dump(problem *p, FILE *f)
{
    double none = 0, *grads[LEAVES], value;
    for (size_t i = 0; i < LEAVES; i++)
        grads[i] = &none;
    for (size_t i = 0; i < p->nleaves; i++)
        LZ_TRY(lz_arena_new(p->arena, &grads[i], (size_t)p->leaves[i].numel + 1));
    lz_err *e = problem_evaluate(p, 1, &value, grads);
    fprintf(f, "{\"case\":%.*s,\"leaves\":[", LZ_FMT(p->line));
    for (size_t i = 0; i < p->nleaves; i++) {
        const leaf *l = &p->leaves[i];
        fprintf(f, "%s[\"%s\",", i ? "," : "", lz_dtype_get(l->dtype)->abbr);
        double *x;
        LZ_TRY(lz_arena_new(p->arena, &x, (size_t)l->numel + 1));
        for (int64_t k = 0; k < l->numel; k++) {
            lz_scalar v =
                lz_element_get(l->dtype, (const char *)l->data + (size_t)k * lz_dtype_size(l->dtype));
            x[k] = v.kind == LZ_SCALAR_FLOAT ? v.re : (double)v.i;
        }
        dump_doubles(f, x, l->numel);
        fputs("]", f);
    }
    fputs("],\"grads\":[", f);
    for (size_t i = 0; !e && i < p->nleaves; i++) {
        fputs(i ? "," : "", f);
        if (p->leaves[i].differentiable)
            dump_doubles(f, grads[i], p->leaves[i].numel);
        else
            fputs("null", f);
    }
    fprintf(f, "],\"error\":%s}\n", e ? "true" : "false");
    lz_err_free(e);
    return NULL;
}
