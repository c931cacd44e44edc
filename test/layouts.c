/* layouts FILE KNOWN [-v] [OPERATOR...]: sizes, strides, offsets and storages of results, as PyTorch gave
 * them (torch/record_layouts.py wrote the file and says what is in it). Each call is made without and with
 * gradients, in turns on pending and on held arguments; its results are looked at before and after a step.
 *
 * KNOWN lists differences that stay (known_calls.h). */
#include "base/arena.h"
#include "base/json.h"
#include "base/text.h"
#include "core/convert.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "json_call.h"
#include "known_calls.h"
#include <lazuli/lazuli.h>
#include <lazuli/operator.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS_MAX = 64 };

typedef struct run {
    lz_ctx *c;
    const lz_json *j;
    const lz_op_row *op;
    lz_arena *arena;
    bool grad;
    lz_tensor *tensors[TENSORS_MAX];
    size_t ntensors;
    const lz_value *results;
    size_t nresults;
} run;

/* ---- arguments ---- */

/* Element i of the pattern that record_layouts.py fills tensors with. */
static lz_scalar pattern(lz_dtype d, int64_t i)
{
    if (d == LZ_BOOL)
        return lz_scalar_bool(i % 3 != 0);
    return lz_dtype_is_float(d) ? lz_scalar_float((double)((i * 37 + 11) % 101) / 101) : lz_scalar_int(i % 2);
}

static lz_err *storage_of(run *r, lz_dtype d, const lz_json *t, void **out)
{
    const lz_json *values = &t->items[5];
    int64_t n = t->items[4].i;
    size_t size = lz_dtype_size(d);
    char *to;
    LZ_TRY(lz_arena_new(r->arena, &to, ((size_t)n + 1) * size));
    for (int64_t i = 0; i < n; i++) {
        lz_scalar s = pattern(d, i);
        if (values->kind == LZ_JSON_ARRAY)
            s = lz_dtype_is_float(d) ? lz_scalar_float(lz_json_number(&values->items[i]))
                                     : lz_scalar_int(values->items[i].i);
        lz_element_set(d, s, to + (size_t)i * size);
    }
    *out = to;
    return NULL;
}

static bool is_plain(lz_ints sizes, lz_ints strides, int64_t offset, int64_t room)
{
    int64_t n = 1;
    bool plain = offset == 0;
    for (int64_t d = sizes.n; d-- > 0; n *= sizes.v[d] ? sizes.v[d] : 1)
        plain = plain && strides.v[d] == n;
    for (int64_t d = 0; d < sizes.n; d++)
        n = sizes.v[d] ? n : 0;
    return plain && n == room;
}

static lz_err *make_tensor(run *r, const lz_json *t, lz_tensor **out)
{
    lz_ctx *c = r->c;
    lz_dtype d = lz_dtype_by_abbr(t->items[0].str);
    lz_ints sizes, strides;
    void *data;
    LZ_TRY(lz_json_ints(r->arena, &t->items[1], &sizes));
    LZ_TRY(lz_json_ints(r->arena, &t->items[2], &strides));
    LZ_TRY(storage_of(r, d, t, &data));
    bool plain = is_plain(sizes, strides, t->items[3].i, t->items[4].i);
    lz_tensor *x = lz_from_memory(c, d, plain ? sizes : LZ_DIMS(t->items[4].i), data);
    if (r->grad && lz_dtype_is_float(d)) {
        lz_set_requires_grad(x, true);
        x = lz_clone(c, x);
    }
    *out = plain ? x : lz_as_strided(c, x, sizes, strides, .storage_offset = LZ_SOME(t->items[3].i));
    return NULL;
}

/* ---- the call ---- */

static lz_err *call(run *r)
{
    lz_json_results results;
    LZ_TRY(lz_json_call(r->c, r->arena, r->op, r->tensors, lz_json_get(r->j, "a"), &results));
    r->results = results.v;
    r->nresults = results.n;
    return NULL;
}

/* ---- what was recorded ---- */

/* -1: fresh; -2 - k: the storage of result k. */
static int64_t shared_with(const run *r, size_t k, bool *same)
{
    const lz_tensor *t = lz_json_tensor(r->results[k]);
    *same = false;
    for (size_t i = 0; i < r->ntensors; i++)
        if (r->tensors[i] == t) {
            *same = true;
            return (int64_t)i;
        }
    for (size_t i = 0; i < r->ntensors; i++)
        if (lz_is_alias_of(r->tensors[i], t))
            return (int64_t)i;
    for (size_t i = 0; i < k; i++)
        if (lz_json_tensor(r->results[i]) && lz_is_alias_of(lz_json_tensor(r->results[i]), t))
            return -2 - (int64_t)i;
    return -1;
}

static void put_found(lz_text *out, const run *r, size_t k)
{
    char sizes[LZ_SHAPE_CHARS], strides[LZ_SHAPE_CHARS];
    const lz_tensor *t = lz_json_tensor(r->results[k]);
    bool same;
    int64_t shared = shared_with(r, k, &same);
    lz_text_printf(out, "%s strides %s offset %lld %s", lz_shape_print(lz_tensor_sizes(t), sizes),
                   lz_shape_print(lz_tensor_strides(t), strides), (long long)lz_tensor_offset(t),
                   same         ? "is argument"
                   : shared < 0 ? "fresh or of result"
                                : "shares argument");
    lz_text_printf(out, " %lld", (long long)shared);
}

static lz_err *differs(const run *r, size_t k, lz_ints sizes, lz_ints strides, const lz_json *due)
{
    lz_text text = { 0 };
    char a[LZ_SHAPE_CHARS], b[LZ_SHAPE_CHARS];
    lz_text_printf(&text, "result %zu: ", k);
    put_found(&text, r, k);
    lz_text_printf(&text, "; PyTorch: %s strides %s offset %lld shared %lld%s", lz_shape_print(sizes, a),
                   lz_shape_print(strides, b), (long long)due->items[2].i, (long long)due->items[3].i,
                   due->items[4].i ? " (itself)" : "");
    lz_err *e = lz_errf(LZ_ERR_MODEL, "%.*s", LZ_FMT(lz_text_view(&text)));
    lz_text_deinit(&text);
    return e;
}

static lz_err *check_result(const run *r, size_t k, const lz_json *due)
{
    lz_ints sizes, strides;
    const lz_tensor *t = lz_json_tensor(r->results[k]);
    bool same;
    if (due->kind == LZ_JSON_NULL)
        return NULL;
    if (!t)
        return lz_errf(LZ_ERR_MODEL, "result %zu: none", k);
    LZ_TRY(lz_json_ints(r->arena, &due->items[0], &sizes));
    LZ_TRY(lz_json_ints(r->arena, &due->items[1], &strides));
    int64_t shared = shared_with(r, k, &same);
    bool equal = lz_shape_eq(lz_tensor_sizes(t), sizes) && lz_shape_eq(lz_tensor_strides(t), strides)
                 && lz_tensor_offset(t) == due->items[2].i && shared == due->items[3].i
                 && same == (due->items[4].i != 0);
    return equal ? NULL : differs(r, k, sizes, strides, due);
}

static lz_err *check_results(const run *r, const lz_json *due)
{
    if (due->kind != LZ_JSON_ARRAY)
        return NULL;
    if (due->len != r->nresults)
        return lz_errf(LZ_ERR_MODEL, "%zu results, PyTorch: %u", r->nresults, due->len);
    for (size_t k = 0; k < r->nresults; k++)
        LZ_TRY(check_result(r, k, &due->items[k]));
    return NULL;
}

/* ---- one case in one mode ---- */

static lz_err *failure(lz_ctx *c, const char *when)
{
    lz_err *e = lz_errf(LZ_ERR_MODEL, "%srefused: %s", when, lz_message(c));
    lz_clear(c);
    return e;
}

static lz_err *make_and_call(run *r, bool held)
{
    const lz_json *list = lz_json_get(r->j, "t");
    for (r->ntensors = 0; r->ntensors < list->len && r->ntensors < TENSORS_MAX; r->ntensors++)
        LZ_TRY(make_tensor(r, &list->items[r->ntensors], &r->tensors[r->ntensors]));
    if (held)
        lz_mark_step(r->c);
    return lz_failed(r->c) ? failure(r->c, "arguments ") : call(r);
}

static lz_err *run_case(lz_ctx *c, const lz_json *j, const lz_op_row *op, lz_arena *a, bool grad, bool held)
{
    run r = { .c = c, .j = j, .op = op, .arena = a, .grad = grad };
    const lz_json *due = lz_json_get(j, "o"), *other = lz_json_get(j, "g");
    due = grad && other ? other : due;
    lz_scope *s = lz_scope_push(c);
    lz_err *e = make_and_call(&r, held);
    if (!e && due->kind == LZ_JSON_STRING) {
        if (!lz_failed(c))
            lz_mark_step(c);
        e = lz_failed(c) ? NULL : lz_errf(LZ_ERR_MODEL, "taken, PyTorch refuses");
        lz_clear(c);
    } else if (!e) {
        e = lz_failed(c) ? failure(c, "") : check_results(&r, due);
        if (!e && !lz_mark_step(c))
            e = failure(c, "the step was ");
        if (!e)
            e = check_results(&r, due);
    }
    lz_clear(c);
    lz_scope_pop(s);
    return e;
}

/* ---- all of them ---- */

static lz_err *one_line(known_calls *x, const lz_json *j, lz_arena *a)
{
    static const char *const modes[] = { "", " (held)", " (gradients)", " (gradients, held)" };
    const lz_op_row *op = lz_operator_find(x->op);
    if (!op)
        return lz_errf(LZ_ERR_MODEL, "there is no operator %s", x->op);
    const lz_json *other = lz_json_get(j, "g");
    bool has_grad = op->kind != LZ_SCHEMA_OUT && (!other || other->kind != LZ_JSON_INT);
    for (int grad = 0; grad <= (has_grad ? 1 : 0); grad++) {
        bool held = (j->loc.line + grad) % 2;
        known_calls_report(x, j, modes[2 * grad + held], run_case(x->c, j, op, a, grad, held));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    known_calls x = { .c = lz_open(&(lz_options){ .threads = 1 }), .line = one_line };
    bool good = known_calls_run(&x, argc, argv);
    printf("%d operators, %d of them differ somewhere; %d calls, %d differ\n", x.ops, x.bad_ops, x.calls,
           x.failed);
    lz_close(x.c);
    return !good;
}
