/* op_cases CASES.jsonl.gz [OPERATOR...]: recorded calls of operators against their
 * lowering. Each case is lowered twice: for shapes and dtypes alone, and in full, which
 * is then computed by lower_eval.h; numbers are run-time arguments. Prints the cases that
 * differ, one line per operator with -v, and a closing line. */
#include "base/file.h"
#include "base/gzip.h"
#include "base/json.h"
#include "base/mem.h"
#include "core/convert.h"
#include "core/shape.h"
#include "dtype_name.h"
#include "lower/lower_table.h"
#include "lower_eval.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCALARS_MAX = 64, INPUTS_MAX = 256, RESULTS_MAX = 16 };

typedef struct cases {
    lz_str lines, bytes;
    bool verbose;
} cases;

/* One case under way. */
typedef struct run {
    const lz_json *j, *tensors;
    const char *bytes;
    lz_arena *arena;
    lz_lower b;
    lz_eval eval;
    const void *inputs[INPUTS_MAX];
    size_t ninputs;
    lz_scalar scalars[SCALARS_MAX];
    size_t nscalars;
    lz_low_value args[LZ_ARGS_MAX];
    const lz_op_row *op;
    const lz_lower_row *row;
} run;

/* ---- reading values ---- */

static lz_ints ints_of(lz_arena *a, const lz_json *list)
{
    int64_t *v = lz_arena_zalloc(a, (list->len + 1) * sizeof *v);
    for (uint32_t i = 0; v && i < list->len; i++)
        v[i] = list->items[i].i;
    return (lz_ints){ v, list->len };
}

static lz_err *read_tensor(run *r, int64_t i, lz_low_value *out)
{
    const lz_json *t = &r->tensors->items[i], *strides = lz_json_get(t, "strides");
    lz_dtype d = lz_dtype_by_abbr(lz_json_get(t, "dt")->str);
    lz_ints sizes = ints_of(r->arena, lz_json_get(t, "shape"));
    int64_t dense[LZ_MAX_DIMS], stride = 1;
    const lz_low_node *n;
    (void)strides; /* the bytes are in row-major order whatever they were */
    for (int64_t k = sizes.n; k-- > 0; stride *= sizes.v[k])
        dense[k] = stride;
    LZ_TRY(lz_low_input(&r->b, i, d, sizes, (lz_ints){ dense, sizes.n }, 0, &n));
    r->inputs[i] = r->bytes + lz_json_get(t, "off")->i;
    *out = lz_low_value_tensor(n);
    return NULL;
}

static double number_of(const lz_json *v)
{
    if (v->kind == LZ_JSON_STRING)
        return lz_str_is(v->str, "nan") ? NAN : lz_str_is(v->str, "inf") ? INFINITY : -INFINITY;
    return v->kind == LZ_JSON_INT ? (double)v->i : v->d;
}

static lz_dtype any_dtype(lz_str name)
{
    lz_dtype d = lz_dtype_by_abbr(name);
    return d == LZ_DTYPE_NONE ? dtype_by_name(name) : d;
}

/* A number that only the run knows. */
static lz_err *late(run *r, lz_scalar v, lz_low_value *out)
{
    const lz_low_node *n;
    lz_dtype d = v.kind == LZ_SCALAR_BOOL ? LZ_BOOL : v.kind == LZ_SCALAR_INT ? LZ_I64 : LZ_F64;
    LZ_TRY(lz_low_scalar(&r->b, (int64_t)r->nscalars, d, &n));
    r->scalars[r->nscalars++] = v;
    *out = (lz_low_value){ .kind = LZ_LOW_VALUE_NUMBER, .node = n, .number = { .kind = v.kind } };
    return NULL;
}

static lz_err *read_number(run *r, const lz_arg_row *arg, lz_scalar v, lz_low_value *out)
{
    bool tensor = arg->type->kind == LZ_KIND_TENSOR || arg->type->kind == LZ_KIND_TENSORS;
    bool run_time = arg->type->kind == LZ_KIND_SCALAR || arg->type->kind == LZ_KIND_FLOAT;
    if (arg->type->kind == LZ_KIND_FLOAT && v.kind == LZ_SCALAR_INT)
        v = lz_scalar_float((double)v.i);
    *out = lz_low_value_number(v);
    if (tensor || (run_time && !arg->fixed && !r->b.shape_only))
        LZ_TRY(late(r, v, out));
    return tensor ? lz_low_wrap(&r->b, out, out) : NULL;
}

static lz_err *read_value(run *r, const lz_arg_row *arg, const lz_json *v, lz_low_value *out);

static lz_err *read_list(run *r, const lz_arg_row *arg, const lz_json *list, lz_low_value *out)
{
    lz_low_value *items;
    LZ_TRY(lz_low_list_new(&r->b, list->len, &items));
    for (uint32_t i = 0; i < list->len; i++)
        LZ_TRY(read_value(r, arg, &list->items[i], &items[i]));
    *out = lz_low_value_list(items, list->len);
    return NULL;
}

static lz_err *read_tensors(run *r, const lz_json *list, lz_low_value *out)
{
    lz_low_value *items;
    LZ_TRY(lz_low_list_new(&r->b, list->len, &items));
    for (uint32_t i = 0; i < list->len; i++)
        if (list->items[i].kind == LZ_JSON_INT)
            LZ_TRY(read_tensor(r, list->items[i].i, &items[i]));
    *out = lz_low_value_list(items, list->len);
    return NULL;
}

static lz_err *read_value(run *r, const lz_arg_row *arg, const lz_json *v, lz_low_value *out)
{
    *out = lz_low_value_none();
    if (v->kind != LZ_JSON_OBJECT)
        return NULL;
    const lz_json_member *m = &v->members[0];
    const lz_json *x = &m->value;
    if (lz_str_is(m->key, "T"))
        return read_tensor(r, x->i, out);
    if (lz_str_is(m->key, "TL"))
        return read_tensors(r, x, out);
    if (lz_str_is(m->key, "i") && arg->type->kind == LZ_KIND_DTYPE) {
        *out = lz_low_value_dtype((lz_dtype)x->i);
        return NULL;
    }
    if (lz_str_is(m->key, "i"))
        return read_number(r, arg, lz_scalar_int(x->i), out);
    if (lz_str_is(m->key, "f"))
        return read_number(r, arg, lz_scalar_float(number_of(x)), out);
    if (lz_str_is(m->key, "b"))
        return read_number(r, arg, lz_scalar_bool(x->b), out);
    if (lz_str_is(m->key, "l"))
        return read_list(r, arg, x, out);
    if (lz_str_is(m->key, "s"))
        *out = lz_low_value_str(x->str);
    if (lz_str_is(m->key, "dt"))
        *out = lz_low_value_dtype(any_dtype(x->str));
    if (lz_str_is(m->key, "lay"))
        *out = lz_low_value_layout(LZ_STRIDED);
    if (lz_str_is(m->key, "mf"))
        *out = lz_low_value_memory_format(LZ_CONTIGUOUS);
    return NULL;
}

/* int[2] takes one number for two. */
static lz_err *spread(run *r, const lz_arg_row *arg, lz_low_value *v)
{
    lz_low_value *items;
    size_t n = (size_t)arg->type->size;
    if (arg->type->size <= 0 || v->kind != LZ_LOW_VALUE_NUMBER)
        return NULL;
    LZ_TRY(lz_low_list_new(&r->b, n, &items));
    for (size_t i = 0; i < n; i++)
        items[i] = *v;
    *v = lz_low_value_list(items, n);
    return NULL;
}

static lz_err *read_args(run *r)
{
    const lz_json *args = lz_json_get(r->j, "args"), *kwargs = lz_json_get(r->j, "kwargs");
    for (uint32_t i = 0; i < r->op->nargs; i++) {
        const lz_arg_row *arg = &r->op->args[i];
        const lz_json *v = i < args->len ? &args->items[i] : lz_json_get(kwargs, arg->name);
        r->args[i] = lz_low_value_none();
        if (v)
            LZ_TRY(read_value(r, arg, v, &r->args[i]));
        LZ_TRY(spread(r, arg, &r->args[i]));
    }
    return NULL;
}

/* ---- dynamic sizes ---- */

static lz_err *find_nonzero(void *user, lz_lower *b, const lz_low_node *x, const lz_low_node **out)
{
    run *r = user;
    const lz_cell *cells;
    int64_t *found, n = 0, dims = x->ndim;
    LZ_TRY(lz_eval_node(&r->eval, b, x, &cells));
    LZ_TRY(lz_arena_new(r->arena, &found, (size_t)(x->numel * (dims + 1) + 1)));
    for (int64_t i = 0; i < x->numel; i++) {
        if (!cells[i].i)
            continue;
        for (int64_t d = dims, at = i; d-- > 0; at /= x->sizes[d])
            found[n * dims + d] = at % x->sizes[d];
        n++;
    }
    r->inputs[r->ninputs] = found;
    return lz_low_input(b, (int64_t)r->ninputs++, LZ_I64, LZ_INTS(n, dims), LZ_INTS(dims, 1), 0, out);
}

/* ---- comparing ---- */

static double tolerance(lz_dtype d, double v)
{
    double size = isfinite(v) ? fabs(v) : 0;
    switch (d) {
    case LZ_F64:
        return 1e-9 + 1e-9 * size;
    case LZ_F16:
        return size * 0x1p-9 + 0x1p-23;
    case LZ_BF16:
        return size * 0x1p-6 + 1e-30;
    default:
        return 1e-5 + 1e-4 * size;
    }
}

static bool same_element(lz_dtype d, lz_scalar got, lz_scalar due)
{
    if (!lz_dtype_is_float(d))
        return got.i == due.i;
    if (isnan(due.re) || isnan(got.re))
        return isnan(due.re) && isnan(got.re);
    return got.re == due.re || fabs(got.re - due.re) <= tolerance(d, due.re);
}

static lz_err *compare_type(const lz_low_value *got, const lz_json *t, lz_arena *a)
{
    lz_dtype d = lz_dtype_by_abbr(lz_json_get(t, "dt")->str);
    lz_ints sizes = ints_of(a, lz_json_get(t, "shape"));
    char x[LZ_SHAPE_CHARS], y[LZ_SHAPE_CHARS];
    if (got->kind != LZ_LOW_VALUE_TENSOR)
        return lz_errf(LZ_ERR_MODEL, "no tensor");
    if (got->dtype == d && lz_shape_eq(lz_low_value_sizes(got), sizes))
        return NULL;
    return lz_errf(LZ_ERR_MODEL, "%s%s instead of %s%s", lz_dtype_get(got->dtype)->abbr,
                   lz_shape_print(lz_low_value_sizes(got), x), lz_dtype_get(d)->abbr,
                   lz_shape_print(sizes, y));
}

/* Operators whose indices are a choice among equal elements of the first argument, along
 * the argument `dim`. */
static bool chooses(const lz_op_row *op)
{
    static const char *const names[] = { "sort",          "sort.stable", "topk",    "kthvalue", "median.dim",
                                         "nanmedian.dim", "mode",        "max.dim", "min.dim",  "argsort" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(op->name, names[i]))
            return true;
    return false;
}

/* Whether two indices at element i of a result lead to equal elements. */
static bool same_choice(run *r, const lz_low_value *got, int64_t i, int64_t x, int64_t y)
{
    const lz_low_node *self = r->args[0].node;
    const lz_cell *cells;
    int64_t dim = -1, inner = 1;
    if (got->dtype != LZ_I64 || !chooses(r->op) || self->ndim == 0)
        return false;
    for (int k = 0; k < r->op->nargs; k++)
        if (!strcmp(r->op->args[k].name, "dim"))
            dim = r->args[k].number.i;
    dim += dim < 0 ? self->ndim : 0;
    lz_err *e = lz_eval_node(&r->eval, &r->b, self, &cells);
    if (e) {
        lz_err_free(e);
        return false;
    }
    for (int64_t d = dim + 1; d < self->ndim; d++)
        inner *= self->sizes[d];
    int64_t len = got->node->ndim == self->ndim ? got->node->sizes[dim] : 1;
    int64_t base = i / inner / len * self->sizes[dim] * inner + i % inner;
    lz_cell a = cells[base + x * inner], b = cells[base + y * inner];
    return a.i == b.i && (a.f == b.f || (isnan(a.f) && isnan(b.f)));
}

static lz_err *compare_values(run *r, const lz_low_value *got, const lz_json *t)
{
    const lz_cell *cells;
    lz_dtype d = got->dtype;
    size_t size = lz_dtype_size(d);
    const char *due = r->bytes + lz_json_get(t, "off")->i;
    char room[16];
    LZ_TRY(lz_eval_node(&r->eval, &r->b, got->node, &cells));
    for (int64_t i = 0; i < got->node->numel; i++) {
        lz_eval_store(d, &cells[i], 1, room);
        lz_scalar x = lz_element_get(d, room), y = lz_element_get(d, due + (size_t)i * size);
        if (!same_element(d, x, y) && !same_choice(r, got, i, x.i, y.i)) {
            lz_text text = { 0 };
            lz_text_printf(&text, "element %lld is ", (long long)i);
            lz_text_double(&text, lz_dtype_is_float(d) ? x.re : (double)x.i);
            lz_text_puts(&text, " instead of ");
            lz_text_double(&text, lz_dtype_is_float(d) ? y.re : (double)y.i);
            lz_err *e = lz_errf(LZ_ERR_MODEL, "%.*s", LZ_FMT(lz_text_view(&text)));
            lz_text_deinit(&text);
            return e;
        }
    }
    return NULL;
}

static lz_err *compare(run *r, const lz_low_value *got, const lz_json *due)
{
    const lz_json *i = lz_json_get(due, "T");
    if (due->kind == LZ_JSON_NULL)
        return got->kind == LZ_LOW_VALUE_NONE ? NULL : lz_errf(LZ_ERR_MODEL, "expected no result, found one");
    if (!i)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a result that is no tensor");
    const lz_json *t = &r->tensors->items[i->i];
    LZ_TRY(compare_type(got, t, r->arena));
    return r->b.shape_only ? NULL : compare_values(r, got, t);
}

/* ---- one case ---- */

static lz_err *call(run *r, lz_low_value *results)
{
    lz_low_value args[LZ_ARGS_MAX];
    for (int i = 0; i < r->row->nargs; i++) {
        int from = r->row->from ? r->row->from[i] : i;
        args[i] = from >= 0 ? r->args[from] : lz_low_value_none();
        if (from == LZ_FROM_OUT_DTYPE)
            args[i] = lz_low_value_dtype(r->args[r->op->nargs - 1].dtype);
    }
    return lz_low_call(&r->b, r->row->fn, args, r->row->nargs, results, r->row->nresults);
}

/* What is written has the dtype of where it goes. */
static lz_err *written(run *r, lz_low_value *results)
{
    size_t k = r->op->kind == LZ_SCHEMA_MUTABLE ? r->op->nreturns : 0;
    for (int i = 0; i < r->op->nargs && k < r->row->nresults; i++)
        if (r->op->args[i].write) {
            if (results[k].kind == LZ_LOW_VALUE_TENSOR && r->args[i].kind == LZ_LOW_VALUE_TENSOR) {
                LZ_TRY(lz_low_cast_to(&r->b, &results[k], r->args[i].dtype, &results[k]));
                if (!(r->op->flags & LZ_OPF_INPLACE_VIEW) && r->op->kind != LZ_SCHEMA_OUT)
                    LZ_TRY(lz_low_expand(&r->b, results[k].node, lz_low_value_sizes(&r->args[i]),
                                         &results[k].node));
                LZ_TRY(lz_low_round(&r->b, &results[k]));
            }
            k++;
        }
    return NULL;
}

/* What arguments become. */
static lz_err *check_mutated(run *r, const lz_low_value *results)
{
    const lz_json *list = lz_json_get(r->j, "mutated");
    for (uint32_t i = 0; list && i < list->len && r->op->kind == LZ_SCHEMA_MUTABLE; i++) {
        lz_str arg = lz_json_get(&list->items[i], "arg")->str;
        size_t k = r->op->nreturns;
        for (int j = 0; j < r->op->nargs && !lz_str_is(arg, r->op->args[j].name); j++)
            k += r->op->args[j].write;
        LZ_TRY(compare(r, &results[k], lz_json_get(&list->items[i], "v")));
    }
    return NULL;
}

static lz_err *check_outputs(run *r)
{
    const lz_json *due = lz_json_get(r->j, "outputs");
    lz_low_value results[RESULTS_MAX] = { { 0 } };
    uint32_t k = 0;
    LZ_TRY(call(r, results));
    if (r->op->flags & LZ_OPF_MUTABLE)
        LZ_TRY(written(r, results));
    for (int i = 0; i < r->op->nreturns; i++) {
        if (results[i].kind != LZ_LOW_VALUE_LIST) {
            if (k >= due->len)
                return lz_errf(LZ_ERR_MODEL, "more results than due");
            LZ_TRY(compare(r, &results[i], &due->items[k++]));
            continue;
        }
        for (size_t j = 0; j < results[i].list.n; j++) {
            if (k >= due->len)
                return lz_errf(LZ_ERR_MODEL, "more results than due");
            LZ_TRY(compare(r, &results[i].list.items[j], &due->items[k++]));
        }
    }
    if (k != due->len)
        return lz_errf(LZ_ERR_MODEL, "%u results instead of %u", k, due->len);
    return check_mutated(r, results);
}

static lz_err *run_case(const cases *c, const lz_json *j, lz_op op, bool shapes, lz_arena *a)
{
    run *r;
    LZ_TRY(lz_arena_new(a, &r, 1));
    r->j = j;
    r->tensors = lz_json_get(j, "tensors");
    r->bytes = c->bytes.ptr;
    r->arena = a;
    r->op = &lz_op_table[op];
    r->row = &lz_lower_table[op];
    r->ninputs = r->tensors->len;
    lz_low_init(&r->b, a);
    r->b.shape_only = shapes;
    r->b.nonzero = find_nonzero;
    r->b.user = r;
    r->eval = (lz_eval){ .arena = a, .inputs = r->inputs, .scalars = r->scalars };
    lz_err *e = read_args(r);
    if (!e)
        e = check_outputs(r);
    lz_low_deinit(&r->b);
    return e;
}

/* ---- all cases ---- */

static lz_op find_op(lz_str name)
{
    if (lz_str_starts(name, LZ_STR("aten::")))
        name = lz_str_sub(name, 6, name.len);
    for (int i = 1; i < LZ_OP_COUNT; i++)
        if (lz_str_is(name, lz_op_table[i].name))
            return (lz_op)i;
    return LZ_OP_NONE;
}

static bool is_asked(int argc, char **argv, lz_str name)
{
    bool any = argc <= 2 || (argc == 3 && !strcmp(argv[2], "-v"));
    for (int i = 2; i < argc; i++)
        any = any || lz_str_is(name, argv[i]) || lz_str_is(lz_str_sub(name, 6, name.len), argv[i]);
    return any;
}

typedef struct tally {
    lz_str name;
    int passed, failed, unsupported;
} tally;

static void report(const tally *t, bool verbose, tally *sum, tally *ops)
{
    if (!t->name.len)
        return;
    bool none = !t->passed && !t->failed;
    sum->passed += t->passed;
    sum->failed += t->failed;
    sum->unsupported += t->unsupported;
    ops->passed += !none && !t->failed && !t->unsupported;
    ops->failed += !none && (t->failed || t->unsupported);
    ops->unsupported += none;
    if (verbose)
        printf("%-50.*s %d passed, %d failed, %d unsupported\n", LZ_FMT(t->name), t->passed, t->failed,
               t->unsupported);
}

static void count(tally *t, lz_err *e, lz_str id, const char *what)
{
    if (!e) {
        t->passed++;
    } else if (lz_err_code(e) == LZ_ERR_UNSUPPORTED && !strcmp(what, "")) {
        t->unsupported++;
    } else {
        t->failed++;
        printf("%.*s%s: %s\n", LZ_FMT(id), what, lz_err_text(e));
    }
    lz_err_free(e);
}

static lz_err *run_all(const cases *c, int argc, char **argv)
{
    lz_json_lines lines;
    lz_arena a = { 0 };
    const lz_json *j;
    tally t = { 0 }, sum = { 0 }, ops = { 0 };
    char kept[200] = "";
    lz_err *e;
    lz_json_lines_init(&lines, argv[1], c->lines);
    while (!(e = lz_json_lines_next(&lines, &a, &j)) && j) {
        lz_str name = lz_json_get(j, "op")->str, id = lz_json_get(j, "id")->str;
        if (!lz_str_eq(name, t.name)) {
            report(&t, c->verbose, &sum, &ops);
            snprintf(kept, sizeof kept, "%.*s", LZ_FMT(name));
            t = (tally){ .name = lz_str_of(kept) };
        }
        lz_op op = is_asked(argc, argv, name) ? find_op(name) : LZ_OP_NONE;
        if (!is_asked(argc, argv, name)) {
            t.name.len = 0;
        } else if (!op || !lz_lower_table[op].fn) {
            t.unsupported++;
        } else {
            lz_err *shape = run_case(c, j, op, true, &a);
            lz_err *value = run_case(c, j, op, false, &a);
            if (shape && !value && lz_err_code(shape) != LZ_ERR_UNSUPPORTED)
                count(&t, shape, id, " (shape)");
            else
                lz_err_free(shape);
            count(&t, value, id, "");
        }
        lz_arena_deinit(&a);
    }
    report(&t, c->verbose, &sum, &ops);
    lz_json_lines_deinit(&lines);
    lz_arena_deinit(&a);
    printf("operators: %d passed, %d failed, %d not yet\n", ops.passed, ops.failed, ops.unsupported);
    printf("%d passed, %d failed, %d unsupported\n", sum.passed, sum.failed, sum.unsupported);
    return e ? e : sum.failed ? lz_errf(LZ_ERR_MODEL, "some differ") : NULL;
}

static lz_err *load(const char *path, lz_str *out)
{
    enum { MOST = 1 << 28 };
    char *text;
    LZ_TRY(lz_gzip_read(path, MOST, &out->len, &text));
    out->ptr = text;
    return NULL;
}

int main(int argc, char **argv)
{
    cases c = { 0 };
    char bin[1000];
    const char *dot = argc > 1 ? strstr(argv[1], ".jsonl") : NULL;
    if (!dot)
        return 2;
    for (int i = 2; i < argc; i++)
        c.verbose = c.verbose || !strcmp(argv[i], "-v");
    snprintf(bin, sizeof bin, "%.*s.bin%s", (int)(dot - argv[1]), argv[1], dot + 6);
    lz_err *e = load(argv[1], &c.lines);
    if (!e)
        e = load(bin, &c.bytes);
    if (!e)
        e = run_all(&c, argc, argv);
    if (e)
        fprintf(stderr, "%s\n", lz_err_text(e));
    bool failed = e != NULL;
    lz_err_free(e);
    lz_mem_free((void *)c.lines.ptr);
    lz_mem_free((void *)c.bytes.ptr);
    return failed;
}
