#include "grad_problem.h"
#include "autograd/grad_table.h"
#include "core/convert.h"
#include "core/device.h"
#include "core/dtype.h"
#include "dtype_name.h"
#include <math.h>
#include <string.h>

double problem_roll(uint64_t *dice)
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
    return (lz_ints){ v, v ? list->len : 0 };
}

double problem_number(const lz_json *v)
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
    double x = problem_roll(&p->dice);
    if (data)
        return lz_scalar_float(problem_number(&data->items[at]));
    if (below)
        return lz_scalar_int((int64_t)((x + 1) / 2 * (double)below->i));
    double low = range ? problem_number(&range->items[0]) : -1,
           high = range ? problem_number(&range->items[1]) : 1;
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
    bool raw = !lz_dtype_is_float(d) || (p->as_is && from);
    if (raw && from)
        memcpy(l->data, from, (size_t)l->numel * size);
    if (!lz_dtype_is_float(d))
        return NULL;
    for (int64_t k = 0; from && !raw && k < l->numel; k++)
        ((double *)l->data)[k] = lz_element_get(d, from + (size_t)k * size).re;
    l->dtype = raw ? d : LZ_F64;
    l->differentiable = differentiable;
    LZ_TRY(lz_arena_new(p->arena, &l->weights, (size_t)l->numel + 1));
    for (int64_t k = 0; k < l->numel; k++)
        l->weights[k] = problem_roll(&p->dice);
    return NULL;
}

/* PyTorch differentiates these in their second argument only. */
static bool is_refused(const problem *p, uint32_t arg)
{
    static const char *const names[] = { "igamma", "igammac", "special_gammainc", "special_gammaincc",
                                         "special_zeta" };
    for (size_t i = 0; arg == 0 && i < sizeof names / sizeof *names; i++)
        if (!strcmp(p->op->name, names[i]))
            return true;
    return false;
}

lz_err *problem_read(problem *p)
{
    const lz_json *args = lz_json_get(p->j, "args"), *kwargs = lz_json_get(p->j, "kwargs");
    for (uint32_t i = 0; i < p->op->nargs; i++) {
        const lz_json *v = i < args->len ? &args->items[i]
                           : kwargs      ? lz_json_get(kwargs, p->op->args[i].name)
                                         : NULL;
        bool d = (lz_grad_table[p->number].args >> i & 1) && !is_refused(p, i);
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

void problem_weigh(problem *p, uint64_t seed)
{
    for (size_t i = 0; i < p->nleaves; i++)
        for (int64_t k = 0; p->leaves[i].dtype == LZ_F64 && k < p->leaves[i].numel; k++)
            p->leaves[i].weights[k] = problem_roll(&seed);
}

typedef struct reading {
    problem *p;
    small_tape *t;
    size_t next; /* leaf */
    lz_low_value *values;
} reading;

static lz_err *next_leaf(reading *r, lz_low_value *out)
{
    const leaf *l = &r->p->leaves[r->next];
    lz_tensor *t = lz_from_memory(r->p->ctx, l->dtype, l->sizes, l->data);
    LZ_TRY(lz_recorder_add(&r->t->r, t, out));
    r->values[r->next++] = *out;
    return l->differentiable ? small_tape_want(r->t, out) : NULL;
}

static lz_err *read_value(reading *r, const lz_arg_row *arg, const lz_json *v, lz_low_value *out);

static lz_err *read_items(reading *r, const lz_arg_row *arg, const lz_json *list, bool tensors,
                          lz_low_value *out)
{
    lz_low_value *items;
    LZ_TRY(lz_low_list_new(&r->t->r.b, list->len, &items));
    for (uint32_t i = 0; i < list->len; i++)
        if (!tensors)
            LZ_TRY(read_value(r, arg, &list->items[i], &items[i]));
        else if (list->items[i].kind == LZ_JSON_INT)
            LZ_TRY(next_leaf(r, &items[i]));
    *out = lz_low_value_list(items, list->len);
    return NULL;
}

static lz_err *read_number(reading *r, const lz_arg_row *arg, lz_scalar v, lz_low_value *out)
{
    if (arg->type->kind == LZ_KIND_FLOAT && v.kind == LZ_SCALAR_INT)
        v = lz_scalar_float((double)v.i);
    *out = lz_low_value_number(v);
    return arg->type->kind == LZ_KIND_TENSOR ? lz_low_wrap(&r->t->r.b, out, out) : NULL;
}

static lz_dtype any_dtype(const problem *p, lz_str name)
{
    lz_dtype d = lz_dtype_by_abbr(name);
    d = d == LZ_DTYPE_NONE ? dtype_by_name(name) : d;
    return lz_dtype_is_float(d) && !p->as_is ? LZ_F64 : d;
}

static lz_memory_format format_of(lz_str name)
{
    return lz_str_is(name, "preserve_format")    ? LZ_PRESERVE
           : lz_str_is(name, "channels_last")    ? LZ_CHANNELS_LAST
           : lz_str_is(name, "channels_last_3d") ? LZ_CHANNELS_LAST_3D
                                                 : LZ_CONTIGUOUS;
}

static lz_err *read_value(reading *r, const lz_arg_row *arg, const lz_json *v, lz_low_value *out)
{
    *out = lz_low_value_none();
    if (v->kind != LZ_JSON_OBJECT)
        return NULL;
    lz_str key = v->members[0].key;
    const lz_json *x = &v->members[0].value;
    if (lz_str_is(key, "T"))
        return next_leaf(r, out);
    if (lz_str_is(key, "TL") || lz_str_is(key, "l"))
        return read_items(r, arg, x, key.len == 2, out);
    if (lz_str_is(key, "i") && arg->type->kind == LZ_KIND_DTYPE)
        *out =
            lz_low_value_dtype(lz_dtype_is_float((lz_dtype)x->i) && !r->p->as_is ? LZ_F64 : (lz_dtype)x->i);
    else if (lz_str_is(key, "i"))
        return read_number(r, arg, lz_scalar_int(x->i), out);
    if (lz_str_is(key, "f"))
        return read_number(r, arg, lz_scalar_float(problem_number(x)), out);
    if (lz_str_is(key, "b"))
        return read_number(r, arg, lz_scalar_bool(x->b), out);
    if (lz_str_is(key, "s"))
        *out = lz_low_value_str(x->str);
    if (lz_str_is(key, "dt"))
        *out = lz_low_value_dtype(any_dtype(r->p, x->str));
    if (lz_str_is(key, "mf"))
        *out = lz_low_value_memory_format(format_of(x->str));
    if (lz_str_is(key, "dev")) {
        lz_device d;
        LZ_TRY(lz_device_parse(x->str, &d));
        *out = lz_low_value_device(d);
    }
    return NULL;
}

lz_err *problem_args(problem *p, small_tape *t, lz_low_value *args, lz_low_value *leaves)
{
    reading reads = { .p = p, .t = t, .values = leaves }, *r = &reads;
    const lz_json *list = lz_json_get(r->p->j, "args"), *kwargs = lz_json_get(r->p->j, "kwargs");
    for (uint32_t i = 0; i < r->p->op->nargs; i++) {
        const lz_arg_row *arg = &r->p->op->args[i];
        const lz_json *v = i < list->len ? &list->items[i] : kwargs ? lz_json_get(kwargs, arg->name) : NULL;
        args[i] = lz_low_value_none();
        if (v)
            LZ_TRY(read_value(r, arg, v, &args[i]));
        else if (arg->default_value)
            LZ_TRY(lz_recorder_take(&r->t->r, arg->default_value, &args[i]));
        if (arg->type->size > 0 && args[i].kind == LZ_LOW_VALUE_NUMBER)
            LZ_TRY(lz_low_list_repeat(&r->t->r.b,
                                      &(lz_low_value){ .kind = LZ_LOW_VALUE_LIST, .list = { &args[i], 1 } },
                                      arg->type->size, &args[i]));
    }
    return NULL;
}
