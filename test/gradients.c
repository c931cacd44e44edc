/* gradients [-v] [-o OPERATOR] [-d FILE] CASES...: derivatives of all operators against finite differences.
 *
 * The recorded calls of operators give the inputs; they are taken in f64. Of what an operator
 * gives, a random linear function is differentiated along random directions: by central
 * differences of the operator, and by the formulas of ops/derivatives.yaml, recorded by a small
 * tape. The gradient is then differentiated the same way, for second derivatives. Where two
 * steps of different length disagree there is a kink, and another direction is tried.
 * Tangents are compared with gradients, and gradients that a case knows (at kinks, where they
 * are a choice) with those. Prints what differs and, last, which operators were never looked
 * at; -d writes all gradients, for test/torch/gradients.py. */
#include "autograd/grad_table.h"
#include "base/gzip.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "core/convert.h"
#include "core/dtype.h"
#include "small_tape.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAVES = 64, ELEMENTS = 4096, QUOTA = 40, TRIES = 4, LINE = 1 << 16 };

typedef enum verdict { GOOD, WRONG, KINK, SKIPPED, VERDICTS } verdict;

typedef struct count {
    const lz_op_row *op;
    size_t cases, seen, by[3][VERDICTS]; /* by first and second derivatives and tangents */
} count;

/* A tensor among the arguments. */
typedef struct leaf {
    lz_dtype dtype;
    lz_ints sizes;
    int64_t numel;
    void *data; /* of floats: double */
    bool differentiable;
    double *weights;
} leaf;

typedef struct problem {
    const lz_op_row *op;
    uint16_t number;
    lz_str id, line;
    const lz_json *j, *tensors;
    const char *bytes;
    lz_arena *arena;
    lz_ctx *ctx;
    leaf leaves[LEAVES];
    size_t nleaves;
    uint64_t dice;
    bool ones; /* the linear function is the sum */
} problem;

static count counts[LZ_OP_COUNT];
static bool verbose;
static const char *only;
static FILE *dump;

static double roll(uint64_t *dice)
{
    *dice = *dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(int64_t)(*dice >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

/* ---- reading cases ---- */

static lz_ints ints_of(lz_arena *a, const lz_json *list)
{
    int64_t *v = lz_arena_zalloc(a, (list->len + 1) * sizeof *v);
    for (uint32_t i = 0; v && i < list->len; i++)
        v[i] = list->items[i].i;
    return (lz_ints){ v, list->len };
}

static double number_of(const lz_json *v)
{
    if (v->kind == LZ_JSON_STRING)
        return lz_str_is(v->str, "nan") ? NAN : lz_str_is(v->str, "inf") ? INFINITY : -INFINITY;
    return v->kind == LZ_JSON_INT ? (double)v->i : v->d;
}

/* An element of a tensor that was not recorded: in a range, or a whole number below a bound. */
static lz_scalar made_up(problem *p, const lz_json *t, int64_t at)
{
    const lz_json *range = lz_json_get(t, "range"), *below = lz_json_get(t, "below");
    const lz_json *data = lz_json_get(t, "data");
    double x = roll(&p->dice);
    if (data)
        return lz_scalar_float(number_of(&data->items[at]));
    if (below)
        return lz_scalar_int((int64_t)((x + 1) / 2 * (double)below->i));
    double low = range ? number_of(&range->items[0]) : -1, high = range ? number_of(&range->items[1]) : 1;
    return lz_scalar_float(low + (x + 1) / 2 * (high - low));
}

static lz_err *read_leaf(problem *p, int64_t i, bool differentiable)
{
    const lz_json *t = &p->tensors->items[i];
    lz_dtype d = lz_dtype_by_abbr(lz_json_get(t, "dt")->str);
    const lz_json *off = lz_json_get(t, "off");
    const char *from = off ? p->bytes + off->i : NULL;
    if (p->nleaves == LEAVES)
        return lz_errf(LZ_ERR_LIMIT, "too many tensors");
    leaf *l = &p->leaves[p->nleaves++];
    *l = (leaf){ .dtype = d, .sizes = ints_of(p->arena, lz_json_get(t, "shape")), .numel = 1 };
    for (int64_t k = 0; k < l->sizes.n; k++)
        l->numel *= l->sizes.v[k];
    size_t size = lz_dtype_size(d);
    l->data = lz_arena_zalloc(p->arena, (size_t)(l->numel + 1) * 16);
    if (!l->data)
        return lz_err_oom();
    for (int64_t k = 0; !from && k < l->numel; k++)
        lz_element_set(lz_dtype_is_float(d) ? LZ_F64 : d, made_up(p, t, k),
                       (char *)l->data + (size_t)k * size);
    if (!lz_dtype_is_float(d)) {
        if (from)
            memcpy(l->data, from, (size_t)l->numel * size);
        return NULL;
    }
    for (int64_t k = 0; from && k < l->numel; k++)
        ((double *)l->data)[k] = lz_element_get(d, from + (size_t)k * size).re;
    l->dtype = LZ_F64;
    l->differentiable = differentiable;
    LZ_TRY(lz_arena_new(p->arena, &l->weights, (size_t)l->numel + 1));
    for (int64_t k = 0; k < l->numel; k++)
        l->weights[k] = roll(&p->dice);
    return NULL;
}

static lz_err *read_leaves(problem *p)
{
    const lz_json *args = lz_json_get(p->j, "args"), *kwargs = lz_json_get(p->j, "kwargs");
    for (uint32_t i = 0; i < p->op->nargs; i++) {
        const lz_json *v = i < args->len ? &args->items[i]
                           : kwargs      ? lz_json_get(kwargs, p->op->args[i].name)
                                         : NULL;
        bool d = lz_grad_table[p->number].args >> i & 1;
        const lz_json *one = v && v->kind == LZ_JSON_OBJECT ? lz_json_get(v, "T") : NULL;
        const lz_json *list = v && v->kind == LZ_JSON_OBJECT ? lz_json_get(v, "TL") : NULL;
        if (one)
            LZ_TRY(read_leaf(p, one->i, d));
        for (uint32_t k = 0; list && k < list->len; k++)
            if (list->items[k].kind == LZ_JSON_INT)
                LZ_TRY(read_leaf(p, list->items[k].i, d));
    }
    return NULL;
}

typedef struct reading {
    problem *p;
    small_tape *t;
    size_t next; /* leaf */
    lz_lv *values;
} reading;

static lz_err *next_leaf(reading *r, lz_lv *out)
{
    const leaf *l = &r->p->leaves[r->next];
    lz_tensor *t = lz_from_memory(r->p->ctx, l->dtype, l->sizes, l->data);
    LZ_TRY(lz_recorder_add(&r->t->r, t, out));
    r->values[r->next++] = *out;
    return l->differentiable ? small_tape_want(r->t, out) : NULL;
}

static lz_err *read_value(reading *r, const lz_arg_row *arg, const lz_json *v, lz_lv *out);

static lz_err *read_items(reading *r, const lz_arg_row *arg, const lz_json *list, bool tensors, lz_lv *out)
{
    lz_lv *items;
    LZ_TRY(lz_low_list_new(&r->t->r.b, list->len, &items));
    for (uint32_t i = 0; i < list->len; i++)
        if (!tensors)
            LZ_TRY(read_value(r, arg, &list->items[i], &items[i]));
        else if (list->items[i].kind == LZ_JSON_INT)
            LZ_TRY(next_leaf(r, &items[i]));
    *out = lz_lv_list(items, list->len);
    return NULL;
}

static lz_err *read_number(reading *r, const lz_arg_row *arg, lz_scalar v, lz_lv *out)
{
    if (arg->type->kind == LZ_KIND_FLOAT && v.kind == LZ_SCALAR_INT)
        v = lz_scalar_float((double)v.i);
    *out = lz_lv_number(v);
    return arg->type->kind == LZ_KIND_TENSOR ? lz_low_wrap(&r->t->r.b, out, out) : NULL;
}

static lz_dtype any_dtype(lz_str name)
{
    lz_dtype d = lz_dtype_by_abbr(name);
    d = d == LZ_DTYPE_NONE ? lz_dtype_by_name(name) : d;
    return lz_dtype_is_float(d) ? LZ_F64 : d;
}

static lz_err *read_value(reading *r, const lz_arg_row *arg, const lz_json *v, lz_lv *out)
{
    *out = lz_lv_none();
    if (v->kind != LZ_JSON_OBJECT)
        return NULL;
    lz_str key = v->members[0].key;
    const lz_json *x = &v->members[0].value;
    if (lz_str_is(key, "T"))
        return next_leaf(r, out);
    if (lz_str_is(key, "TL") || lz_str_is(key, "l"))
        return read_items(r, arg, x, key.len == 2, out);
    if (lz_str_is(key, "i") && arg->type->kind == LZ_KIND_DTYPE)
        *out = lz_lv_dtype(lz_dtype_is_float((lz_dtype)x->i) ? LZ_F64 : (lz_dtype)x->i);
    else if (lz_str_is(key, "i"))
        return read_number(r, arg, lz_scalar_int(x->i), out);
    if (lz_str_is(key, "f"))
        return read_number(r, arg, lz_scalar_float(number_of(x)), out);
    if (lz_str_is(key, "b"))
        return read_number(r, arg, lz_scalar_bool(x->b), out);
    if (lz_str_is(key, "s"))
        *out = lz_lv_str(x->str);
    if (lz_str_is(key, "dt"))
        *out = lz_lv_dtype(any_dtype(x->str));
    return NULL;
}

static lz_err *read_args(reading *r, lz_lv *args)
{
    const lz_json *list = lz_json_get(r->p->j, "args"), *kwargs = lz_json_get(r->p->j, "kwargs");
    for (uint32_t i = 0; i < r->p->op->nargs; i++) {
        const lz_arg_row *arg = &r->p->op->args[i];
        const lz_json *v = i < list->len ? &list->items[i] : kwargs ? lz_json_get(kwargs, arg->name) : NULL;
        args[i] = lz_lv_none();
        if (v)
            LZ_TRY(read_value(r, arg, v, &args[i]));
        else if (arg->default_value)
            LZ_TRY(lz_recorder_take(&r->t->r, arg->default_value, &args[i]));
        if (arg->type->size > 0 && args[i].kind == LZ_LV_NUMBER)
            LZ_TRY(lz_low_list_repeat(&r->t->r.b, &(lz_lv){ .kind = LZ_LV_LIST, .list = { &args[i], 1 } },
                                      arg->type->size, &args[i]));
    }
    return NULL;
}

/* ---- evaluating ---- */

/* Elements of a value that has a gradient; none are zeros. */
static lz_err *read_doubles(small_tape *t, const lz_lv *v, double *out, int64_t n)
{
    int64_t slot = lz_recorder_slot(v);
    memset(out, 0, (size_t)n * sizeof *out);
    if (slot < 0)
        return NULL;
    if (v->dtype != LZ_F64 || lz_lv_numel(v) != n)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a result that is not f64");
    if (!lz_read(t->r.tensors.data[slot], out, (size_t)n * sizeof *out))
        return lz_errf(LZ_ERR_MODEL, "%s", lz_message(t->r.ctx));
    return NULL;
}

typedef struct outputs {
    lz_lv y[LEAVES], gy[LEAVES];
    double *weights[LEAVES];
    size_t n;
} outputs;

static lz_err *add_output(problem *p, small_tape *t, const lz_lv *v, uint64_t *dice, outputs *out)
{
    int64_t n = v->kind == LZ_LV_TENSOR ? lz_lv_numel(v) : 0;
    double *w;
    for (size_t i = 0; v->kind == LZ_LV_LIST && i < v->list.n; i++)
        LZ_TRY(add_output(p, t, &v->list.items[i], dice, out));
    if (v->kind != LZ_LV_TENSOR || !lz_dtype_is_float(v->dtype) || out->n == LEAVES)
        return NULL;
    LZ_TRY(lz_arena_new(p->arena, &w, (size_t)n + 1));
    for (int64_t k = 0; k < n; k++)
        w[k] = p->ones ? 1 : roll(dice);
    out->weights[out->n] = w;
    out->y[out->n] = *v;
    LZ_TRY(lz_recorder_add(&t->r, lz_from_memory(p->ctx, LZ_F64, lz_lv_sizes(v), w), &out->gy[out->n++]));
    return NULL;
}

static double dot(const double *x, const double *y, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s += x[i] * y[i];
    return s;
}

/* order 0: *value is the linear function of what comes out. 1: grads are its gradients, and
 * *value a linear function of these. 2: grads are the gradients of that. */
static lz_err *evaluate_on(problem *p, small_tape *t, int order, double *value, double *const *grads)
{
    lz_lv args[LZ_ARGS_MAX], results[LZ_ARGS_MAX], leaves[LEAVES], g[LEAVES], w[LEAVES];
    reading r = { .p = p, .t = t, .values = leaves };
    outputs out = { .n = 0 };
    uint64_t dice = 7;
    double room[ELEMENTS];
    LZ_TRY(read_args(&r, args));
    LZ_TRY(small_tape_call(t, p->number, args, results));
    for (int i = 0; i < p->op->nreturns; i++)
        if (lz_grad_table[p->number].results >> i & 1)
            LZ_TRY(add_output(p, t, &results[i], &dice, &out));
    *value = 0;
    for (size_t i = 0; order == 0 && i < out.n; i++) {
        int64_t n = lz_lv_numel(&out.y[i]);
        if (n > ELEMENTS)
            return lz_errf(LZ_ERR_UNSUPPORTED, "too large");
        LZ_TRY(read_doubles(t, &out.y[i], room, n));
        *value += dot(room, out.weights[i], n);
    }
    if (order == 0)
        return NULL;
    LZ_TRY(small_tape_back(t, out.y, out.gy, out.n, leaves, g, p->nleaves, order > 1));
    for (size_t i = 0; i < p->nleaves; i++) {
        const leaf *l = &p->leaves[i];
        if (!l->differentiable)
            continue;
        if (order == 1) {
            LZ_TRY(read_doubles(t, &g[i], grads[i], l->numel));
            *value += dot(grads[i], l->weights, l->numel);
        } else {
            LZ_TRY(lz_recorder_add(&t->r, lz_from_memory(p->ctx, LZ_F64, l->sizes, l->weights), &w[i]));
        }
    }
    if (order == 1)
        return NULL;
    for (size_t i = 0; i < p->nleaves; i++)
        if (!p->leaves[i].differentiable)
            g[i] = w[i] = lz_lv_none();
    lz_lv gg[LEAVES];
    LZ_TRY(small_tape_back(t, g, w, p->nleaves, leaves, gg, p->nleaves, false));
    for (size_t i = 0; i < p->nleaves; i++)
        if (p->leaves[i].differentiable)
            LZ_TRY(read_doubles(t, &gg[i], grads[i], p->leaves[i].numel));
    return NULL;
}

static lz_err *evaluate(problem *p, int order, double *value, double *const *grads)
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

/* A tangent as each leaf has one in its weights; other arguments have zeros. */
static lz_err *tangent_of(problem *p, small_tape *t, const lz_lv *v, const lz_lv *leaves, lz_lv *out)
{
    lz_lv *items;
    *out = lz_lv_none();
    if (v->kind == LZ_LV_LIST) {
        LZ_TRY(lz_low_list_new(&t->r.b, v->list.n, &items));
        for (size_t i = 0; i < v->list.n; i++)
            LZ_TRY(tangent_of(p, t, &v->list.items[i], leaves, &items[i]));
        *out = lz_lv_list(items, v->list.n);
        return NULL;
    }
    for (size_t i = 0; i < p->nleaves && v->kind == LZ_LV_TENSOR; i++)
        if (lz_recorder_slot(v) == lz_recorder_slot(&leaves[i]) && p->leaves[i].differentiable)
            return lz_recorder_add(
                &t->r, lz_from_memory(p->ctx, LZ_F64, p->leaves[i].sizes, p->leaves[i].weights), out);
    double *none =
        v->kind == LZ_LV_TENSOR ? lz_arena_zalloc(p->arena, (size_t)(lz_lv_numel(v) + 1) * 8) : NULL;
    return none ? lz_recorder_add(&t->r, lz_from_memory(p->ctx, LZ_F64, lz_lv_sizes(v), none), out) : NULL;
}

static lz_err *push_forward(problem *p, small_tape *t, double *value)
{
    lz_lv args[LZ_ARGS_MAX], results[LZ_ARGS_MAX], tangents[LZ_ARGS_MAX], made[LZ_ARGS_MAX], leaves[LEAVES];
    reading r = { .p = p, .t = t, .values = leaves };
    outputs out = { .n = 0 };
    uint64_t dice = 7;
    double room[ELEMENTS];
    *value = 0;
    t->on = false;
    LZ_TRY(read_args(&r, args));
    LZ_TRY(small_tape_call(t, p->number, args, results));
    for (int i = 0; i < p->op->nargs; i++)
        LZ_TRY(tangent_of(p, t, &args[i], leaves, &tangents[i]));
    LZ_TRY(small_tape_forward(t, p->number, args, results, tangents, made));
    for (int i = 0; i < p->op->nreturns; i++)
        if (lz_grad_table[p->number].results >> i & 1)
            LZ_TRY(add_output(p, t, &made[i], &dice, &out));
    for (size_t i = 0; i < out.n; i++) {
        LZ_TRY(read_doubles(t, &out.y[i], room, lz_lv_numel(&out.y[i])));
        *value += dot(room, out.weights[i], lz_lv_numel(&out.y[i]));
    }
    return NULL;
}

static lz_err *find_tangent(problem *p, double *value)
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

/* ---- comparing ---- */

/* Differences along a direction with one step. */
typedef struct slope {
    double value; /* central */
    double bend;  /* how much those to both sides differ */
    double noise; /* that rounding makes */
    bool defined;
} slope;

static lz_err *evaluate_at(problem *p, leaf *l, const double *v, double h, int order, double *const *scratch,
                           slope *s, double *out)
{
    double *x = l->data, *old = lz_mem_alloc((size_t)l->numel * sizeof *old + 1);
    if (!old)
        return lz_err_oom();
    memcpy(old, x, (size_t)l->numel * sizeof *x);
    for (int64_t i = 0; i < l->numel; i++)
        x[i] = old[i] + h * v[i];
    lz_err *e = evaluate(p, order, out, scratch);
    memcpy(x, old, (size_t)l->numel * sizeof *x);
    lz_mem_free(old);
    if (!e || lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_err_free(e); /* beyond the edge */
    s->defined = false;
    *out = 0;
    return NULL;
}

static lz_err *find_slope(problem *p, leaf *l, const double *v, double h, int order, double *const *scratch,
                          slope *out)
{
    double up, down, here;
    *out = (slope){ .defined = true };
    LZ_TRY(evaluate_at(p, l, v, h, order, scratch, out, &up));
    LZ_TRY(evaluate_at(p, l, v, -h, order, scratch, out, &down));
    LZ_TRY(evaluate_at(p, l, v, 0, order, scratch, out, &here));
    out->value = (up - down) / (2 * h);
    out->bend = fabs(up - 2 * here + down) / h;
    out->noise = 4e-15 * fmax(fabs(up), fabs(down)) / h;
    out->defined = out->defined && isfinite(up) && isfinite(down);
    return NULL;
}

static bool repeats(const leaf *l)
{
    const int64_t *x = l->data;
    for (int64_t i = 0; l->dtype == LZ_I64 && i < l->numel; i++)
        for (int64_t k = 0; k < i; k++)
            if (x[i] == x[k])
                return true;
    return false;
}

/* Gradients that are not derivatives, as in PyTorch: of what is written several times to one
 * place all get the gradient of the one that stays; embeddings that are padding get none, and
 * with scale_grad_by_freq less; of the weights of classes only a part is differentiated. */
static bool is_by_choice(const problem *p, size_t tensor)
{
    static const char *const writers[] = { "scatter.src",          "index_put", "_unsafe_index_put",
                                           "index_copy",           "put",       "max_unpool2d",
                                           "max_unpool3d",         "embedding", "scatter.reduce",
                                           "index_fill.int_Tensor" };
    bool writes = false, twice = false;
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        writes = writes || !strcmp(p->op->name, writers[i]);
    for (size_t i = 0; i < p->nleaves; i++)
        twice = twice || repeats(&p->leaves[i]);
    /* and a cumulative product: its second derivatives are those of elements that are not 0 */
    return (writes && twice) || !strcmp(p->op->name, "cumprod")
           || (tensor == 2 && !strcmp(p->op->name, "cross_entropy_loss"));
}

/* The bend of a smooth function goes with the step, that of a kink stays. */
static bool is_kink(const slope *far, const slope *near, double size)
{
    double bound = 1e-5 * size + far->noise + near->noise;
    return fabs(far->value - near->value) > bound || (near->bend > bound && near->bend > far->bend / 2);
}

static lz_err *compare_leaf(problem *p, size_t i, int order, double *const *grads, double *const *scratch,
                            verdict *out, lz_text *why)
{
    leaf *l = &p->leaves[i];
    double v[ELEMENTS];
    slope far, near;
    for (int try = 0; try < TRIES; try++) {
        for (int64_t k = 0; k < l->numel; k++)
            v[k] = roll(&p->dice) * fmax(fmin(fabs(((double *)l->data)[k]), 1), 0.01);
        LZ_TRY(find_slope(p, l, v, 2e-5, order - 1, scratch, &far));
        LZ_TRY(find_slope(p, l, v, 5e-6, order - 1, scratch, &near));
        double got = dot(grads[i], v, l->numel);
        double size = 1 + fabs(near.value) + sqrt(dot(grads[i], grads[i], l->numel));
        *out = far.defined && near.defined && isfinite(got) ? GOOD : SKIPPED;
        if (*out == SKIPPED || fabs(got - near.value) <= 2e-6 * size + near.noise
            || fabs(got - far.value) <= 2e-6 * size + far.noise)
            return NULL;
        *out = is_kink(&far, &near, size) || is_by_choice(p, i) ? KINK : WRONG;
        if (*out == KINK)
            continue;
        lz_text_printf(why, "tensor %zu: ", i);
        lz_text_double(why, got);
        lz_text_puts(why, ", by differences ");
        lz_text_double(why, near.value);
        return NULL;
    }
    return NULL;
}

static lz_err *compare_order(problem *p, int order, verdict *out, lz_text *why)
{
    double *grads[LEAVES], *scratch[LEAVES], value;
    for (size_t i = 0; i < p->nleaves; i++) {
        LZ_TRY(lz_arena_new(p->arena, &grads[i], (size_t)p->leaves[i].numel + 1));
        LZ_TRY(lz_arena_new(p->arena, &scratch[i], (size_t)p->leaves[i].numel + 1));
    }
    LZ_TRY(evaluate(p, order, &value, grads));
    *out = SKIPPED;
    for (size_t i = 0; i < p->nleaves && *out != WRONG; i++) {
        verdict one;
        if (!p->leaves[i].differentiable || p->leaves[i].numel == 0)
            continue;
        LZ_TRY(compare_leaf(p, i, order, grads, scratch, &one, why));
        *out = one == WRONG ? WRONG : *out == GOOD || one == GOOD ? GOOD : one;
    }
    return NULL;
}

/* The tangent against the gradient: both are the derivative along the weights. */
static lz_err *compare_tangent(problem *p, verdict *out, lz_text *why)
{
    double *grads[LEAVES], value, tangent, size = 1;
    for (size_t i = 0; i < p->nleaves; i++)
        LZ_TRY(lz_arena_new(p->arena, &grads[i], (size_t)p->leaves[i].numel + 1));
    LZ_TRY(evaluate(p, 1, &value, grads));
    LZ_TRY(find_tangent(p, &tangent));
    for (size_t i = 0; i < p->nleaves; i++)
        size += p->leaves[i].differentiable ? sqrt(dot(grads[i], grads[i], p->leaves[i].numel)) : 0;
    *out = !isfinite(value) || !isfinite(tangent) ? SKIPPED
           : fabs(value - tangent) <= 1e-9 * size ? GOOD
                                                  : WRONG;
    if (*out == WRONG && is_by_choice(p, 0))
        *out = KINK;
    if (*out != WRONG)
        return NULL;
    lz_text_puts(why, "tangent ");
    lz_text_double(why, tangent);
    lz_text_puts(why, ", by the gradient ");
    lz_text_double(why, value);
    return NULL;
}

static bool fits(const problem *p)
{
    int64_t n = 0;
    bool finite = true;
    for (size_t i = 0; i < p->nleaves; i++) {
        const leaf *l = &p->leaves[i];
        n += l->differentiable ? l->numel : 0;
        for (int64_t k = 0; l->dtype == LZ_F64 && k < l->numel; k++)
            finite = finite && fabs(((double *)l->data)[k]) < 1e3; /* or the steps would drown in rounding */
        if (l->numel > ELEMENTS)
            return false;
    }
    return n > 0 && finite;
}

/* Whether the call is refused, or not computed in f64. */
static lz_err *is_taken_by_all(problem *p, bool *out)
{
    double value;
    lz_err *e = evaluate(p, 0, &value, NULL);
    *out = !e;
    if (lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_err_free(e);
    return NULL;
}

/* Away from a kink: equal elements are equal no longer. */
static void move_a_little(problem *p)
{
    for (size_t i = 0; i < p->nleaves; i++) {
        double *x = p->leaves[i].data;
        for (int64_t k = 0; p->leaves[i].dtype == LZ_F64 && k < p->leaves[i].numel; k++)
            x[k] += 0.01 * roll(&p->dice) * fmax(fmin(fabs(x[k]), 1), 0.1);
    }
}

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

static lz_err *dump_case(problem *p)
{
    double *grads[LEAVES], value;
    FILE *f = dump;
    if (!f)
        return NULL;
    for (size_t i = 0; i < p->nleaves; i++)
        LZ_TRY(lz_arena_new(p->arena, &grads[i], (size_t)p->leaves[i].numel + 1));
    lz_err *e = evaluate(p, 1, &value, grads);
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

/* Gradients of the sum of all that comes out, which the case knows. */
static lz_err *compare_known(problem *p, const lz_json *known, verdict *out, lz_text *why)
{
    double *grads[LEAVES], value;
    *out = GOOD;
    for (size_t i = 0; i < p->nleaves; i++)
        LZ_TRY(lz_arena_new(p->arena, &grads[i], (size_t)p->leaves[i].numel + 1));
    p->ones = true;
    lz_err *e = evaluate(p, 1, &value, grads);
    p->ones = false;
    for (uint32_t i = 0; !e && i < known->len; i++)
        for (uint32_t k = 0; known->items[i].kind == LZ_JSON_ARRAY && k < known->items[i].len; k++) {
            double due = number_of(&known->items[i].items[k]), got = grads[i][k];
            if (fabs(got - due) <= 1e-12 * fabs(due) || got == due || (isnan(got) && isnan(due)))
                continue;
            *out = WRONG;
            lz_text_printf(why, "tensor %u, element %u: ", i, k);
            lz_text_double(why, got);
            lz_text_puts(why, " instead of ");
            lz_text_double(why, due);
            return NULL;
        }
    return e;
}

/* An error is a wrong result, unless nobody computes that in f64. */
static void judge(problem *p, count *c, int what, lz_err *e, verdict *v, lz_text *why)
{
    static const char *const names[] = { "first derivative", "second derivative", "tangent" };
    if (e && lz_err_code(e) != LZ_ERR_UNSUPPORTED) {
        *v = WRONG;
        lz_text_puts(why, lz_err_text(e));
    }
    lz_err_free(e);
    c->by[what][*v]++;
    if (*v == WRONG)
        printf("%.*s %s: %.*s\n", LZ_FMT(p->id), names[what], LZ_FMT(lz_text_view(why)));
    why->len = 0;
}

static lz_err *check_case(problem *p, count *c)
{
    bool retry = false;
    LZ_TRY(read_leaves(p));
    const lz_json *known = lz_json_get(p->j, "grads");
    if (known) {
        lz_text reason = { 0 };
        verdict kind = SKIPPED;
        lz_err *e = compare_known(p, known, &kind, &reason);
        judge(p, c, 0, e, &kind, &reason);
        lz_text_deinit(&reason);
        return NULL;
    }
    bool fine = fits(p);
    if (fine)
        LZ_TRY(is_taken_by_all(p, &fine));
    if (!fine) {
        c->by[0][SKIPPED]++;
        return NULL;
    }
    LZ_TRY(dump_case(p));
    lz_text why = { 0 };
    verdict v = GOOD;
    if (lz_grad_table[p->number].forward != LZ_FORWARD_NONE) {
        lz_err *e = compare_tangent(p, &v, &why);
        judge(p, c, 2, e, &v, &why);
    }
    v = GOOD;
    for (int order = 1; order <= 2 && v == GOOD; order++) {
        v = SKIPPED;
        lz_err *e = compare_order(p, order, &v, &why);
        if (!e && v == KINK && !retry) {
            move_a_little(p);
            retry = true;
            order = 0;
            v = GOOD;
            continue;
        }
        judge(p, c, order - 1, e, &v, &why);
    }
    lz_text_deinit(&why);
    return NULL;
}

/* ---- files ---- */

static uint16_t find_op(lz_str name)
{
    if (lz_str_starts(name, LZ_STR("aten::")))
        name = lz_str_sub(name, 6, name.len);
    for (uint16_t i = 1; i < LZ_OP_COUNT; i++)
        if (lz_str_is(name, lz_op_table[i].name))
            return i;
    return 0;
}

static bool is_checked(uint16_t op)
{
    return op && lz_op_table[op].kind == LZ_SCHEMA_FUNCTIONAL && lz_grad_table[op].kind != LZ_GRAD_NOT
           && (!only || !strcmp(only, lz_op_table[op].name));
}

/* Cases of an operator are taken evenly from all there are. */
static bool is_taken(count *c, bool recorded)
{
    size_t before = c->seen * QUOTA / c->cases, after = ++c->seen * QUOTA / c->cases;
    return only || !recorded || after > before;
}

static lz_err *each_case(const char *path, lz_str lines, const char *bytes, lz_ctx *ctx, bool run)
{
    lz_arena a;
    lz_err *e = NULL;
    bool more = true;
    lz_arena_init(&a);
    lz_arena_mark start = lz_arena_save(&a);
    while (!e && more) {
        lz_str line = lz_str_cut(&lines, LZ_STR("\n"), &more);
        const lz_json *j;
        if (!line.len)
            continue;
        lz_arena_rewind(&a, start);
        e = lz_json_parse(&a, path, line, &j);
        uint16_t op = e ? 0 : find_op(lz_json_get(j, "op")->str);
        if (e || !is_checked(op))
            continue;
        count *c = &counts[op];
        c->op = &lz_op_table[op];
        if (!run) {
            c->cases++;
            continue;
        }
        if (!is_taken(c, strstr(path, ".gz")))
            continue;
        problem *p;
        e = lz_arena_new(&a, &p, 1);
        if (e)
            break;
        *p = (problem){ .op = c->op,
                        .number = op,
                        .id = lz_json_get(j, lz_json_get(j, "id") ? "id" : "op")->str,
                        .j = j,
                        .dice = 1 };
        p->line = line;
        p->tensors = lz_json_get(j, "tensors");
        p->bytes = bytes;
        p->arena = &a;
        p->ctx = ctx;
        e = check_case(p, c);
    }
    lz_arena_deinit(&a);
    return e;
}

static lz_err *read_gz(const char *path, size_t *len, char **out)
{
    return lz_gzip_read(path, (size_t)1 << 30, len, out);
}

static lz_err *check_file(const char *path, lz_ctx *ctx, bool run)
{
    char *lines, *bytes, bin[4096];
    size_t n, m;
    const char *dot_at = strstr(path, ".jsonl");
    if (!dot_at)
        return lz_errf(LZ_ERR_ARG, "not a file of cases: %s", path);
    bool packed = strstr(path, ".gz") != NULL; /* with elements beside it */
    if (packed)
        snprintf(bin, sizeof bin, "%.*s.bin.gz", (int)(dot_at - path), path);
    else
        snprintf(bin, sizeof bin, "%s", path);
    LZ_TRY(read_gz(path, &n, &lines));
    lz_err *e = read_gz(bin, &m, &bytes);
    if (!e) {
        e = each_case(path, (lz_str){ lines, n }, bytes, ctx, run);
        lz_mem_free(bytes);
    }
    lz_mem_free(lines);
    return e;
}

static int report(void)
{
    size_t wrong = 0, ops = 0, first = 0, second = 0, tangents = 0;
    for (size_t i = 1; i < LZ_OP_COUNT; i++) {
        const count *c = &counts[i];
        wrong += c->by[0][WRONG] + c->by[1][WRONG] + c->by[2][WRONG];
        tangents += c->by[2][GOOD];
        first += c->by[0][GOOD];
        second += c->by[1][GOOD];
        ops += c->by[0][GOOD] > 0;
        if (verbose && c->op)
            printf("%s: %zu good, %zu wrong, %zu at kinks, %zu skipped; second %zu good, %zu wrong, %zu at "
                   "kinks, "
                   "%zu skipped\n",
                   c->op->name, c->by[0][GOOD], c->by[0][WRONG], c->by[0][KINK], c->by[0][SKIPPED],
                   c->by[1][GOOD], c->by[1][WRONG], c->by[1][KINK], c->by[1][SKIPPED]);
    }
    for (uint16_t i = 1; i < LZ_OP_COUNT; i++)
        if (is_checked(i) && !counts[i].by[0][GOOD])
            printf("not looked at: %s (%zu cases)\n", lz_op_table[i].name, counts[i].cases);
    printf("%zu operators, %zu first derivatives, %zu second ones, %zu tangents, %zu wrong\n", ops, first,
           second, tangents, wrong);
    return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
    lz_err *e = NULL;
    lz_ctx *ctx = lz_open(NULL);
    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at++)
        if (!strcmp(argv[at], "-v"))
            verbose = true;
        else if (at + 1 < argc && !strcmp(argv[at], "-o"))
            only = argv[++at];
        else if (at + 1 < argc && !strcmp(argv[at], "-d"))
            dump = fopen(argv[++at], "w");
    for (int run = 0; run < 2; run++)
        for (int i = at; !e && i < argc; i++)
            e = check_file(argv[i], ctx, run);
    lz_close(ctx);
    if (dump)
        fclose(dump);
    if (e) {
        fprintf(stderr, "gradients: %s\n", lz_err_text(e));
        lz_err_free(e);
        return 2;
    }
    return report();
}
