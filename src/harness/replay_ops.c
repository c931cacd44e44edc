/* Runs recorded operator calls and compares their results. */
#include "base/mem.h"
#include "core/convert.h"
#include "core/device.h"
#include "core/scalar.h"
#include "core/strides.h"
#include "core/value_kind.h"
#include "harness/replay_impl.h"
#include "lower/op_lower.h"
#include "op/op_find.h"
#include "plan/op_nonzero.h"
#include "plan/plan.h"
#include <math.h>
#include <string.h>

/* ---- cases ---- */

enum { MOST_TENSORS = 256, MOST_SCALARS = 64, MOST_OUTPUTS = 256 };

typedef struct replayed {
    lz_replay *r;
    const lz_json *json;
    lz_str bytes;
    const lz_op_row *op;
    lz_arena *arena;
    lz_lower b;
    lz_array arrays[MOST_TENSORS];
    lz_run_input inputs[MOST_TENSORS];
    size_t n_arrays;
    lz_op_found found;
    lz_scalar scalars[MOST_SCALARS];
    int64_t n_scalars;
    bool statics; /* all numbers are known when the operator is lowered */
    lz_low_value args[LZ_ARGS_MAX], results[LZ_ARGS_MAX];
    size_t n_results;
    const lz_array *arg_arrays[LZ_ARGS_MAX];
    lz_text why;
} replayed;

/* ---- tensors ---- */

static lz_err *read_ints(const lz_json *v, lz_shape *out)
{
    *out = (lz_shape){ .n = v->len };
    if (v->kind != LZ_JSON_ARRAY || v->len > LZ_MAX_DIMS)
        return lz_errf(LZ_ERR_MODEL, "sizes of a tensor: expected a list of at most %d numbers", LZ_MAX_DIMS);
    for (uint32_t i = 0; i < v->len; i++)
        LZ_TRY(lz_json_as_int(&v->items[i], "a size", &out->v[i]));
    return NULL;
}

/* If the recorded tensor was not row-major, gives ours the same order of dimensions. */
static lz_err *lay_out(const lz_json *strides, lz_array *a)
{
    lz_array wide, view;
    lz_shape s;
    int64_t low = 0, high = 0;
    LZ_TRY(read_ints(strides, &s));
    if (a->numel == 0 || s.n != a->sizes.n)
        return NULL;
    LZ_TRY(lz_strides_extent(lz_array_sizes(a), lz_shape_ints(&s), 0, &low, &high));
    if (low < 0)
        return NULL;
    LZ_TRY(lz_array_init_zero(&wide, NULL, a->dtype, LZ_DIMS(high + 1)));
    lz_err *e = lz_array_init_view(&view, wide.buffer, a->dtype, lz_array_sizes(a), lz_shape_ints(&s), 0);
    if (!e)
        e = lz_array_copy(a, &view);
    lz_array_deinit(&wide);
    if (e)
        return e;
    lz_array_deinit(a);
    *a = view;
    return NULL;
}

static lz_err *read_tensor(replayed *c, const lz_json *v, lz_array *out)
{
    lz_str name;
    lz_shape sizes;
    uint64_t offset, n;
    const lz_json *list, *strides = lz_json_get(v, "strides");
    LZ_TRY(lz_json_get_str(v, "dt", &name));
    LZ_TRY(lz_json_get_array(v, "shape", &list));
    LZ_TRY(lz_json_get_uint(v, "off", &offset));
    LZ_TRY(lz_json_get_uint(v, "n", &n));
    LZ_TRY(read_ints(list, &sizes));
    lz_dtype d = lz_dtype_by_abbr(name);
    if (d == LZ_DTYPE_NONE)
        return lz_errf(LZ_ERR_UNSUPPORTED, "dtype %.*s", LZ_FMT(name));
    LZ_TRY(lz_array_init(out, NULL, d, lz_shape_ints(&sizes)));
    if (n != (uint64_t)out->numel * lz_dtype_size(d) || offset > c->bytes.len || n > c->bytes.len - offset)
        return lz_errf(LZ_ERR_MODEL, "the elements of a tensor are outside the file of bytes");
    if (n)
        memcpy(out->buffer->data, c->bytes.ptr + offset, n);
    return strides ? lay_out(strides, out) : NULL;
}

static lz_err *read_tensors(replayed *c)
{
    const lz_json *list;
    LZ_TRY(lz_json_get_array(c->json, "tensors", &list));
    if (list->len > MOST_TENSORS)
        return lz_errf(LZ_ERR_LIMIT, "more than %d tensors", MOST_TENSORS);
    for (uint32_t i = 0; i < list->len; i++) {
        c->n_arrays = i + 1;
        LZ_TRY(read_tensor(c, &list->items[i], &c->arrays[i]));
        c->inputs[i] = (lz_run_input){ .buffer = c->arrays[i].buffer };
    }
    return NULL;
}

static lz_err *tensor_at(replayed *c, const lz_json *v, const lz_array **array, lz_low_value *out)
{
    uint64_t i;
    const lz_low_node *n;
    *out = lz_low_value_none();
    if (v->kind == LZ_JSON_NULL)
        return NULL;
    LZ_TRY(lz_json_as_uint(v, "a tensor's number", &i));
    if (i >= c->n_arrays)
        return lz_errf(LZ_ERR_MODEL, "tensor %llu does not exist", (unsigned long long)i);
    const lz_array *a = &c->arrays[i];
    if (array)
        *array = a;
    LZ_TRY(lz_low_input(&c->b, (int64_t)i, a->dtype, lz_array_sizes(a), lz_array_strides(a), 0, &n));
    *out = lz_low_value_tensor(n);
    return NULL;
}

/* ---- values ---- */

static lz_err *read_number(const lz_json *v, lz_scalar *out)
{
    const lz_json *x;
    lz_str s;
    if ((x = lz_json_get(v, "i"))) {
        *out = lz_scalar_int(0);
        return lz_json_as_int(x, "a number", &out->i);
    }
    if ((x = lz_json_get(v, "b"))) {
        bool truth;
        LZ_TRY(lz_json_as_bool(x, "a bool", &truth));
        *out = lz_scalar_bool(truth);
        return NULL;
    }
    *out = lz_scalar_float(0);
    LZ_TRY(lz_json_get_any(v, "f", &x));
    if (x->kind != LZ_JSON_STRING)
        return lz_json_as_double(x, "a number", &out->re);
    LZ_TRY(lz_json_as_str(x, "a number", &s));
    out->re = lz_str_is(s, "nan") ? (double)NAN : lz_str_is(s, "-inf") ? -(double)INFINITY : (double)INFINITY;
    return NULL;
}

static bool is_number(const lz_json *v)
{
    return lz_json_get(v, "i") || lz_json_get(v, "f") || lz_json_get(v, "b");
}

/* Scalars and floats become run-time numbers, unless the operator needs their values. */
static lz_err *number_value(replayed *c, lz_kind kind, const lz_json *v, lz_low_value *out)
{
    lz_scalar s;
    bool run_time =
        (kind == LZ_KIND_SCALAR || kind == LZ_KIND_FLOAT || kind == LZ_KIND_TENSOR) && !c->statics;
    LZ_TRY(read_number(v, &s));
    if (kind == LZ_KIND_FLOAT && s.kind != LZ_SCALAR_FLOAT)
        s = lz_scalar_float((double)s.i);
    *out = lz_low_value_number(s);
    if (run_time && c->n_scalars < MOST_SCALARS) {
        c->scalars[c->n_scalars] = s;
        LZ_TRY(lz_low_scalar(&c->b, c->n_scalars++, lz_low_value_number_dtype(out), &out->node));
    }
    return kind == LZ_KIND_TENSOR ? lz_low_wrap(&c->b, out, out) : NULL;
}

static lz_memory_format format_of(lz_str name)
{
    static const char *const names[] = { [LZ_CONTIGUOUS] = "contiguous_format",
                                         [LZ_PRESERVE] = "preserve_format",
                                         [LZ_CHANNELS_LAST] = "channels_last",
                                         [LZ_CHANNELS_LAST_3D] = "channels_last_3d" };
    for (int i = 0; i < 4; i++)
        if (lz_str_is(name, names[i]))
            return (lz_memory_format)i;
    return LZ_MEMORY_FORMAT_NONE;
}

static lz_err *word_value(const lz_json *v, lz_low_value *out)
{
    static const char *const keys[] = { "s", "dt", "dev", "lay", "mf" };
    lz_str s = { 0 };
    size_t k = 0;
    lz_device d;
    while (k < 5 && !lz_json_get(v, keys[k]))
        k++;
    if (k == 5)
        return lz_errf(LZ_ERR_MODEL, "a value of an unknown kind");
    LZ_TRY(lz_json_get_str(v, keys[k], &s));
    if (k == 2)
        LZ_TRY(lz_device_parse(s, &d));
    *out = k == 0   ? lz_low_value_str(s)
           : k == 1 ? lz_low_value_dtype(lz_dtype_by_abbr(s))
           : k == 2 ? lz_low_value_device(d)
           : k == 3 ? lz_low_value_layout(LZ_STRIDED)
                    : lz_low_value_memory_format(format_of(s));
    return NULL;
}

/* Defaults of the schema are recorded as PyTorch's numbers of dtypes. */
static lz_err *numbered_dtype(const lz_json *v, lz_low_value *out)
{
    static const lz_dtype all[] = { LZ_U8,  LZ_I8,  LZ_I16, LZ_I32,  LZ_I64,  LZ_F16,
                                    LZ_F32, LZ_F64, LZ_C64, LZ_C128, LZ_BOOL, LZ_BF16 };
    lz_scalar s;
    LZ_TRY(read_number(v, &s));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if ((int64_t)all[i] == s.i) {
            *out = lz_low_value_dtype(all[i]);
            return NULL;
        }
    return lz_errf(LZ_ERR_UNSUPPORTED, "dtype number %lld", (long long)s.i);
}

static lz_err *low_value(replayed *c, const lz_type_row *type, const lz_json *v, const lz_array **array,
                         lz_low_value *out);

/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_JSON_DEPTH deep */
static lz_err *list_value(replayed *c, const lz_type_row *type, const lz_json *list, bool tensors,
                          lz_low_value *out)
{
    lz_kind kind = lz_kinds[type->kind].element;
    lz_type_row element = { .kind = kind ? (uint8_t)kind : type->kind };
    lz_low_value *items;
    LZ_TRY(lz_low_list_new(&c->b, list->len, &items));
    for (uint32_t i = 0; i < list->len; i++)
        LZ_TRY(tensors ? tensor_at(c, &list->items[i], NULL, &items[i])
                       : low_value(c, &element, &list->items[i], NULL, &items[i]));
    *out = lz_low_value_list(items, list->len);
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_JSON_DEPTH deep */
static lz_err *low_value(replayed *c, const lz_type_row *type, const lz_json *v, const lz_array **array,
                         lz_low_value *out)
{
    const lz_json *x;
    *out = lz_low_value_none();
    if (v->kind == LZ_JSON_NULL)
        return NULL;
    if ((x = lz_json_get(v, "T")))
        return tensor_at(c, x, array, out);
    if ((x = lz_json_get(v, "TL")))
        return list_value(c, type, x, true, out);
    if ((x = lz_json_get(v, "l")))
        return list_value(c, type, x, false, out);
    if (!is_number(v))
        return word_value(v, out);
    if (type->kind == LZ_KIND_DTYPE)
        return numbered_dtype(v, out);
    if (!lz_kinds[type->kind].element)
        return number_value(c, (lz_kind)type->kind, v, out);
    lz_low_value one; /* int[2] given as one number */
    LZ_TRY(number_value(c, lz_kinds[type->kind].element, v, &one));
    size_t n = type->size > 0 ? (size_t)type->size : 1;
    lz_low_value *items;
    LZ_TRY(lz_low_list_new(&c->b, n, &items));
    for (size_t i = 0; i < n; i++)
        items[i] = one;
    *out = lz_low_value_list(items, n);
    return NULL;
}

static lz_err *read_args(replayed *c)
{
    const lz_json *args, *kwargs;
    LZ_TRY(lz_json_get_array(c->json, "args", &args));
    LZ_TRY(lz_json_get_object(c->json, "kwargs", &kwargs));
    for (uint32_t i = 0; i < c->op->nargs; i++) {
        const lz_arg_row *a = &c->op->args[i];
        const lz_json *v = i < args->len ? &args->items[i] : lz_json_get(kwargs, a->name);
        if (!v)
            return lz_errf(LZ_ERR_MODEL, "argument '%s' is missing", a->name);
        LZ_TRY(low_value(c, a->type, v, &c->arg_arrays[i], &c->args[i]));
    }
    return NULL;
}

/* ---- results ---- */

/* NOLINTNEXTLINE(misc-no-recursion): a list of tensors */
static lz_err *cast_to(replayed *c, const lz_low_value *to, lz_low_value *v)
{
    bool lists = to->kind == LZ_LOW_VALUE_LIST && v->kind == LZ_LOW_VALUE_LIST;
    for (size_t i = 0; lists && i < v->list.n && i < to->list.n; i++)
        LZ_TRY(cast_to(c, &to->list.items[i], &((lz_low_value *)v->list.items)[i]));
    if (to->kind != LZ_LOW_VALUE_TENSOR || v->kind != LZ_LOW_VALUE_TENSOR)
        return NULL;
    v->dtype = to->dtype;
    return lz_low_cast(&c->b, v->node, to->dtype, &v->node);
}

/* Converts written results to the dtype of the tensor that they are written to. */
static lz_err *cast_written(replayed *c)
{
    size_t k = c->op->kind == LZ_SCHEMA_INPLACE || c->op->kind == LZ_SCHEMA_OUT ? 0 : c->op->nreturns;
    for (uint32_t i = 0; i < c->op->nargs; i++) {
        if (!c->op->args[i].write)
            continue;
        if (k < c->n_results)
            LZ_TRY(cast_to(c, &c->args[i], &c->results[k]));
        k++;
    }
    return NULL;
}

typedef struct wanted {
    const lz_json *v;
    lz_low_value got;
    size_t output; /* index of the result; SIZE_MAX: a written argument */
    size_t node;   /* index among the plan's outputs; SIZE_MAX: a known number */
} wanted;

typedef LZ_VEC(wanted) wanteds;

static lz_err *want(wanteds *w, const lz_json *v, lz_low_value got, size_t output)
{
    return lz_vec_push(w, (wanted){ .v = v, .got = got, .output = output, .node = SIZE_MAX });
}

/* Adds a result that is computed but not compared. */
static lz_err *want_anything(wanteds *w, const lz_low_value *r)
{
    static const lz_json nothing = { .kind = LZ_JSON_NULL };
    size_t n = r->kind == LZ_LOW_VALUE_LIST ? r->list.n : 1;
    for (size_t k = 0; k < n; k++)
        LZ_TRY(want(w, &nothing, r->kind == LZ_LOW_VALUE_LIST ? r->list.items[k] : *r, 0));
    return NULL;
}

static lz_err *want_outputs(replayed *c, wanteds *w)
{
    const lz_json *list;
    uint32_t at = 0;
    if (lz_json_get(c->json, "error")) {
        for (size_t i = 0; i < c->n_results; i++)
            LZ_TRY(want_anything(w, &c->results[i]));
        return NULL;
    }
    LZ_TRY(lz_json_get_array(c->json, "outputs", &list));
    for (size_t i = 0; i < c->op->nreturns && i < c->n_results; i++) {
        lz_low_value r = c->results[i];
        size_t n = r.kind == LZ_LOW_VALUE_LIST ? r.list.n : 1;
        if (n > list->len - at)
            return lz_errf(LZ_ERR_ARG, "found %zu results, expected %u", at + n, list->len);
        for (size_t k = 0; k < n; k++)
            LZ_TRY(want(w, &list->items[at++], r.kind == LZ_LOW_VALUE_LIST ? r.list.items[k] : r, i));
    }
    return at == list->len ? NULL : lz_errf(LZ_ERR_ARG, "found %u results, expected %u", at, list->len);
}

/* A tensor, or a list of tensors: {"l": [{"T": 0}, ...]}. */
static lz_err *want_value(wanteds *w, const lz_json *v, lz_low_value got)
{
    const lz_json *list = lz_json_get(v, "l");
    if (!list || got.kind != LZ_LOW_VALUE_LIST)
        return want(w, v, got, SIZE_MAX);
    if (list->len != got.list.n)
        return lz_errf(LZ_ERR_ARG, "found %zu tensors in a written list, expected %u", got.list.n, list->len);
    for (uint32_t i = 0; i < list->len; i++)
        LZ_TRY(want(w, &list->items[i], got.list.items[i], SIZE_MAX));
    return NULL;
}

static lz_err *want_written(replayed *c, wanteds *w)
{
    const lz_json *list = lz_json_get(c->json, "mutated");
    bool first = c->op->kind == LZ_SCHEMA_INPLACE || c->op->kind == LZ_SCHEMA_OUT;
    for (uint32_t i = 0; list && i < list->len; i++) {
        lz_str name;
        const lz_json *v;
        size_t k = first ? 0 : c->op->nreturns, arg = 0;
        LZ_TRY(lz_json_get_str(&list->items[i], "arg", &name));
        LZ_TRY(lz_json_get_any(&list->items[i], "v", &v));
        for (; arg < c->op->nargs && !lz_str_is(name, c->op->args[arg].name); arg++)
            k += c->op->args[arg].write;
        if (arg == c->op->nargs || k >= c->n_results)
            return lz_errf(LZ_ERR_UNSUPPORTED, "the value that is written to '%.*s' is not known",
                           LZ_FMT(name));
        LZ_TRY(want_value(w, v, c->results[k]));
    }
    return NULL;
}

/* ---- comparing ---- */

static bool same_number(lz_scalar got, lz_scalar want)
{
    if (want.kind != LZ_SCALAR_FLOAT || got.kind != LZ_SCALAR_FLOAT)
        return got.kind == want.kind && got.i == want.i;
    return fabs(got.re - want.re) <= 1e-5 + 1e-4 * fabs(want.re) || got.re == want.re
           || (isnan(got.re) && isnan(want.re));
}

static lz_err *compare_number(replayed *c, const wanted *w, const lz_array *got, bool *ok)
{
    lz_scalar s;
    lz_scalar number = w->got.kind == LZ_LOW_VALUE_DTYPE ? lz_scalar_int(w->got.dtype) : w->got.number;
    LZ_TRY(read_number(w->v, &s));
    *ok = same_number(got ? lz_array_get(got, 0) : number, s);
    if (!*ok)
        lz_text_puts(&c->why, "the number differs");
    return NULL;
}

static lz_err *compare(replayed *c, const wanted *w, const lz_array *got, bool *ok)
{
    const lz_json *t = lz_json_get(w->v, "T");
    uint64_t i = 0;
    *ok = false;
    if (is_number(w->v))
        return compare_number(c, w, got, ok);
    if (!t || !got) {
        *ok = !got && w->v->kind == LZ_JSON_NULL;
        lz_text_puts(&c->why, *ok   ? ""
                              : got ? "expected None, found a tensor"
                                    : "expected a tensor, found None");
        return NULL;
    }
    LZ_TRY(lz_json_as_uint(t, "a tensor's number", &i));
    if (i >= c->n_arrays)
        return lz_errf(LZ_ERR_MODEL, "tensor %llu does not exist", (unsigned long long)i);
    const lz_array *recorded = &c->arrays[i];
    if (lz_json_get(c->json, "random") && got->dtype == recorded->dtype
        && lz_shape_eq(lz_array_sizes(got), lz_array_sizes(recorded))) { /* the values are other draws */
        *ok = true;
        return NULL;
    }
    lz_rule_case rc = { .op = c->op, .args = c->args, .arrays = c->arg_arrays, .output = w->output };
    *ok = lz_replay_equal(&rc, got, recorded, &c->why);
    return NULL;
}

static lz_err *compare_all(replayed *c, const wanteds *w, const lz_plan *p, lz_buffer *const *buffers,
                           bool *ok)
{
    *ok = true;
    for (size_t i = 0; *ok && i < w->len; i++) {
        lz_array got = { 0 };
        bool there = w->data[i].node != SIZE_MAX;
        if (there) {
            const lz_plan_output *o = lz_plan_output_get(p, w->data[i].node);
            LZ_TRY(lz_array_init_view(&got, buffers[w->data[i].node], o->dtype, o->sizes, o->strides,
                                      o->offset));
        }
        lz_str id = LZ_STR("");
        lz_err *e = lz_json_get_str(c->json, "id", &id);
        e = e || !there ? e : lz_replay_see(c->r, id, &got);
        e = e ? e : compare(c, &w->data[i], there ? &got : NULL, ok);
        lz_array_deinit(&got);
        if (!*ok && !e)
            lz_text_printf(&c->why, " (result %zu)", i);
        LZ_TRY(e);
    }
    return NULL;
}

/* A run must take exactly the memory that the plan predicts. */
static void compare_peak(replayed *c, const lz_plan *p, size_t before, bool *ok)
{
    size_t taken = lz_buffer_pool_stats(c->r->memory).peak - before;
    if (!*ok || taken == lz_plan_peak(p))
        return;
    *ok = false;
    lz_text_printf(&c->why, "the run took %zu bytes, expected %zu as planned", taken, lz_plan_peak(p));
}

static lz_err *run_plan(replayed *c, const wanteds *w, const lz_plan *p, bool *ok)
{
    lz_buffer *buffers[MOST_OUTPUTS] = { NULL };
    lz_run_args args = {
        .inputs = c->inputs, .scalars = c->scalars, .memory = c->r->memory, .threads = c->r->threads
    };
    size_t before = lz_buffer_pool_stats(c->r->memory).live;
    lz_buffer_pool_reset_peak(c->r->memory);
    lz_err *e = lz_plan_run(p, &args, buffers);
    if (!e)
        e = compare_all(c, w, p, buffers, ok);
    if (!e)
        compare_peak(c, p, before, ok);
    for (size_t i = 0; i < lz_plan_outputs(p); i++)
        lz_buffer_release(buffers[i]);
    return e;
}

static lz_err *run_wanted(replayed *c, wanteds *w, bool *ok)
{
    const lz_low_node *outputs[MOST_OUTPUTS];
    size_t n = 0;
    lz_plan *p;
    lz_plan_options options = { .separate = c->r->options->separate };
    if (w->len > MOST_OUTPUTS)
        return lz_errf(LZ_ERR_LIMIT, "more than %d results", MOST_OUTPUTS);
    for (size_t i = 0; i < w->len; i++)
        if (w->data[i].got.node) {
            w->data[i].node = n;
            LZ_TRY(lz_op_use_known(&c->b, &c->found, w->data[i].got.node, &outputs[n++]));
        }
    LZ_TRY(lz_plan_create(&c->b, outputs, n, &options, &p));
    lz_err *e = run_plan(c, w, p, ok);
    lz_plan_destroy(p);
    return e;
}

/* ---- sizes that depend on elements ---- */

static lz_err *add_found(void *user, lz_array *a, int64_t *slot)
{
    replayed *c = user;
    if (c->n_arrays == MOST_TENSORS) {
        lz_array_deinit(a);
        return lz_errf(LZ_ERR_LIMIT, "more than %d tensors", MOST_TENSORS);
    }
    c->inputs[c->n_arrays] = (lz_run_input){ .buffer = a->buffer };
    c->arrays[c->n_arrays] = *a;
    *slot = (int64_t)c->n_arrays++;
    return NULL;
}

static lz_err *nonzero(void *user, lz_lower *b, const lz_low_node *x, const lz_low_node **out)
{
    replayed *c = user;
    lz_run_args args = {
        .inputs = c->inputs, .scalars = c->scalars, .memory = c->r->memory, .threads = c->r->threads
    };
    return lz_op_nonzero(b, x, &args, &c->found, out);
}

/* ---- one case ---- */

static lz_err *lower_and_run(replayed *c, bool *ok)
{
    wanteds w = { 0 };
    LZ_TRY(read_args(c));
    LZ_TRY(lz_op_lower(&c->b, c->op, c->args, c->results, &c->n_results));
    LZ_TRY(cast_written(c));
    lz_err *e = want_outputs(c, &w);
    if (!e)
        e = want_written(c, &w);
    if (!e)
        e = run_wanted(c, &w, ok);
    lz_vec_deinit(&w);
    return e;
}

static lz_err *attempt(replayed *c, bool statics, bool *ok)
{
    c->statics = statics;
    c->n_scalars = 0;
    lz_low_init(&c->b, c->arena);
    c->b.nonzero = nonzero;
    c->b.user = c;
    c->found = (lz_op_found){ .add_input = add_found, .user = c };
    lz_err *e = lower_and_run(c, ok);
    lz_op_found_deinit(&c->found);
    lz_low_deinit(&c->b);
    return e;
}

static lz_err *run_case(replayed *c, bool *ok)
{
    LZ_TRY(read_tensors(c));
    size_t n = c->n_arrays;
    lz_err *e = attempt(c, false, ok);
    if (lz_err_code(e) != LZ_ERR_NEEDS_VALUE)
        return e;
    lz_err_free(e);
    while (c->n_arrays > n)
        lz_array_deinit(&c->arrays[--c->n_arrays]);
    return attempt(c, true, ok);
}

/* ---- refusals: a case with "error" passes if the call is refused, with any message ---- */

static bool is_refusal(lz_code code)
{
    return code == LZ_ERR_ARG || code == LZ_ERR_LIMIT || code == LZ_ERR_UNSUPPORTED;
}

static lz_err *run_refused(replayed *c, bool *ok)
{
    lz_err *e = run_case(c, ok);
    *ok = is_refusal(lz_err_code(e));
    if (!e)
        lz_text_puts(&c->why, "expected an error, as PyTorch reports");
    if (e && !*ok)
        return e;
    lz_err_free(e);
    return NULL;
}

/* ---- verdicts: a dtype is supported as a whole or not at all ---- */

typedef struct by_dtype {
    lz_tally *tally;
    size_t tried[LZ_DTYPE_NUMBERS], unsupported[LZ_DTYPE_NUMBERS];
} by_dtype;

static size_t dtype_of(const replayed *c)
{
    const lz_json *list = lz_json_get(c->json, "tensors");
    lz_str name;
    lz_err *e = list && list->len ? lz_json_get_str(&list->items[0], "dt", &name) : NULL;
    lz_dtype d = list && list->len && !e ? lz_dtype_by_abbr(name) : LZ_DTYPE_NONE;
    lz_err_free(e);
    return d == LZ_DTYPE_NONE ? LZ_C32 : (size_t)d; /* index of cases without a dtype: no case has c32 */
}

static lz_err *judge(replayed *c, by_dtype *d, lz_str id, lz_err *e, bool ok)
{
    lz_code code = lz_err_code(e);
    lz_verdict v = code == LZ_ERR_UNSUPPORTED ? LZ_UNSUPPORTED : e || !ok ? LZ_FAILED : LZ_PASSED;
    if (code == LZ_ERR_MEMORY)
        return e;
    (v == LZ_UNSUPPORTED ? d->unsupported : d->tried)[dtype_of(c)]++;
    lz_str why = e ? lz_str_of(lz_err_text(e)) : lz_text_view(&c->why);
    lz_err *said = lz_replay_judge(c->r, d->tally, v, id, why);
    lz_err_free(e);
    return said;
}

static lz_err *find_by_dtype(lz_replay *r, lz_map *all, lz_str name, by_dtype **out)
{
    *out = lz_map_get(all, name);
    if (*out)
        return NULL;
    LZ_TRY(lz_arena_new(&r->names, out, 1));
    LZ_TRY(lz_replay_tally(r, name, &(*out)->tally));
    return lz_map_put(all, lz_str_of((*out)->tally->name), *out);
}

/* A file of cases and the file with the bytes of their tensors. */
typedef struct cases {
    lz_replay *r;
    lz_str bytes;
    lz_map all; /* by_dtype, by operator */
} cases;

static lz_err *replay_line(void *user, const lz_json *v, lz_arena *arena)
{
    cases *x = user;
    lz_replay *r = x->r;
    lz_str id, name;
    bool ok = false;
    by_dtype *d;
    LZ_TRY(lz_json_get_str(v, "id", &id));
    LZ_TRY(lz_json_get_str(v, "op", &name));
    if (!lz_replay_wants(r, name, v))
        return NULL;
    LZ_TRY(find_by_dtype(r, &x->all, name, &d));
    const lz_op_row *op = lz_op_find(name);
    if (!op || !lz_op_can_lower(op))
        return lz_replay_judge(r, d->tally, LZ_UNSUPPORTED, id, LZ_STR("not implemented yet"));
    replayed *c = lz_mem_zalloc(1, sizeof *c);
    if (!c)
        return lz_err_oom();
    c->r = r;
    c->json = v;
    c->bytes = x->bytes;
    c->op = op;
    c->arena = arena;
    lz_err *e = lz_json_get(v, "error") ? run_refused(c, &ok) : run_case(c, &ok);
    e = judge(c, d, id, e, ok);
    for (size_t i = 0; i < c->n_arrays; i++)
        lz_array_deinit(&c->arrays[i]);
    lz_text_deinit(&c->why);
    lz_mem_free(c);
    return e;
}

/* If any case of a dtype ran, the dtype is supported: its unsupported cases count as failed. */
static void settle(lz_map *all)
{
    for (lz_map_entry *e = lz_map_next(all, NULL); e; e = lz_map_next(all, e)) {
        by_dtype *d = e->value;
        for (size_t i = 0; i < LZ_DTYPE_NUMBERS; i++)
            if (d->tried[i] && d->unsupported[i]) {
                d->tally->count[LZ_UNSUPPORTED] -= d->unsupported[i];
                d->tally->count[LZ_FAILED] += d->unsupported[i];
            }
    }
}

/* ---- files ---- */

/* "cases.jsonl.gz" -> "cases.bin" */
static lz_err *bin_path(const char *path, char **out)
{
    lz_str p = lz_str_of(path);
    lz_text t = { 0 };
    if (lz_str_ends(p, LZ_STR(".gz")))
        p.len -= 3;
    if (lz_str_ends(p, LZ_STR(".jsonl")))
        p.len -= 6;
    lz_text_add(&t, p);
    lz_text_puts(&t, ".bin");
    return lz_text_take(&t, out);
}

static lz_err *replay_files(lz_replay *r, const char *path, lz_replay_totals *out)
{
    char *text = NULL, *bytes = NULL, *bin = NULL;
    size_t text_len = 0;
    cases x = { .r = r };
    lz_err *e = lz_replay_read(path, &text_len, &text);
    if (!e)
        e = bin_path(path, &bin);
    if (!e)
        e = lz_replay_read(bin, &x.bytes.len, &bytes);
    x.bytes.ptr = bytes;
    if (!e)
        e = lz_json_lines_each(path, (lz_str){ text, text_len }, replay_line, &x);
    if (!e) {
        settle(&x.all);
        e = lz_replay_close(r, out);
    }
    lz_map_deinit(&x.all);
    lz_mem_free(text);
    lz_mem_free(bytes);
    lz_mem_free(bin);
    return e;
}

lz_err *lz_replay_ops(const char *path, const lz_replay_options *options, lz_replay_line_fn *report,
                      void *user, lz_replay_totals *out)
{
    lz_replay r;
    lz_err *e = lz_replay_init(&r, options, report, user);
    if (!e)
        e = replay_files(&r, path, out);
    lz_replay_deinit(&r);
    return e;
}
