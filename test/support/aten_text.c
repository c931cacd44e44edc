#include "aten_text.h"
#include "base/err.h"
#include "base/number.h"
#include "base/str.h"
#include "lazy/record.h"
#include "op/boxed.h"
#include "op/op_table.h"
#include <string.h>

enum { ITEMS_MAX = 32 };

static lz_err *value_of(aten_text *t, lz_value *out);

/* ---- characters ---- */

static void skip_spaces(aten_text *t)
{
    while (t->rest.len && *t->rest.ptr == ' ')
        t->rest = (lz_str){ t->rest.ptr + 1, t->rest.len - 1 };
}

static bool take(aten_text *t, char ch)
{
    skip_spaces(t);
    if (!t->rest.len || *t->rest.ptr != ch)
        return false;
    t->rest = (lz_str){ t->rest.ptr + 1, t->rest.len - 1 };
    return true;
}

static lz_err *due(aten_text *t, char ch)
{
    return take(t, ch)
               ? NULL
               : lz_errf(LZ_ERR_SYNTAX, "expected '%c' before \"%.*s\"", ch, (int)t->rest.len, t->rest.ptr);
}

static bool is_word(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_'
           || ch == '.' || ch == ':' || ch == '+' || ch == '-';
}

static lz_str word(aten_text *t)
{
    size_t n = 0;
    skip_spaces(t);
    while (n < t->rest.len && is_word(t->rest.ptr[n]))
        n++;
    lz_str w = { t->rest.ptr, n };
    t->rest = (lz_str){ t->rest.ptr + n, t->rest.len - n };
    return w;
}

/* ---- plain values ---- */

static bool constant(lz_str w, lz_value *out)
{
    static const struct {
        const char *word;
        int reduction;
    } reductions[] = { { "none", 0 }, { "mean", 1 }, { "sum", 2 } };
    double real;
    int64_t integer;
    bool truth = lz_str_is(w, "True");
    if (lz_int64_parse(w, &integer))
        *out = lz_value_integer(integer);
    else if (lz_double_parse(w, &real))
        *out = lz_value_real(real);
    else if (truth || lz_str_is(w, "False"))
        *out = lz_value_truth(truth);
    else if (lz_str_is(w, "None"))
        *out = lz_value_none();
    else {
        for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
            if (lz_str_is(w, reductions[i].word)) {
                *out = lz_value_integer(reductions[i].reduction);
                return true;
            }
        return false;
    }
    return true;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the text */
static lz_err *list_of(aten_text *t, lz_value *out)
{
    lz_value item[ITEMS_MAX];
    int64_t *ints;
    double *reals;
    lz_tensor **tensors;
    int64_t n = 0;
    while (!take(t, ']')) {
        if (n == ITEMS_MAX)
            return lz_errf(LZ_ERR_LIMIT, "more than %d items", ITEMS_MAX);
        LZ_TRY(value_of(t, &item[n++]));
        take(t, ',');
    }
    LZ_TRY(lz_arena_new(t->arena, &ints, ITEMS_MAX));
    LZ_TRY(lz_arena_new(t->arena, &reals, ITEMS_MAX));
    LZ_TRY(lz_arena_new(t->arena, &tensors, ITEMS_MAX));
    for (int64_t i = 0; i < n; i++) {
        ints[i] = item[i].kind == LZ_KIND_INT ? item[i].integer : 0;
        reals[i] = item[i].kind == LZ_KIND_FLOAT ? item[i].real : (double)ints[i];
        tensors[i] = item[i].kind == LZ_KIND_TENSOR ? item[i].tensor : NULL;
    }
    *out = n && item[0].kind == LZ_KIND_TENSOR  ? lz_value_tensors((lz_tensors){ tensors, n })
           : n && item[0].kind == LZ_KIND_FLOAT ? lz_value_floats((lz_floats){ reals, n })
                                                : lz_value_ints((lz_ints){ ints, n });
    return NULL;
}

/* ---- calls ---- */

typedef struct call {
    lz_str name; /* without the namespace */
    size_t n;
    lz_str key[ITEMS_MAX]; /* empty: by place */
    lz_value value[ITEMS_MAX];
} call;

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the text */
static lz_err *arguments_of(aten_text *t, call *k)
{
    while (!take(t, ')')) {
        aten_text before = *t;
        lz_str key = word(t);
        if (k->n == ITEMS_MAX)
            return lz_errf(LZ_ERR_LIMIT, "more than %d arguments", ITEMS_MAX);
        k->key[k->n] = (lz_str){ "", 0 };
        if (take(t, '='))
            k->key[k->n] = key;
        else
            *t = before;
        LZ_TRY(value_of(t, &k->value[k->n++]));
        take(t, ',');
    }
    return NULL;
}

static bool place_all(const lz_op_row *op, const call *k, lz_value *in)
{
    for (size_t i = 0; i < op->nargs; i++)
        in[i] = lz_value_none();
    for (size_t i = 0; i < k->n; i++) {
        size_t at = i;
        if (k->key[i].len)
            for (at = 0; at < op->nargs && !lz_str_is(k->key[i], op->args[at].name);)
                at++;
        if (at >= op->nargs)
            return false;
        in[at] = k->value[i];
    }
    return true;
}

static bool is_called(const lz_op_row *op, lz_str name)
{
    return op->kind == LZ_SCHEMA_FUNCTIONAL && op->base == name.len
           && memcmp(op->name, name.ptr, name.len) == 0;
}

/* The first overload that takes these arguments. */
static lz_err *run_call(aten_text *t, const call *k, lz_value *out)
{
    lz_value in[LZ_ARGS_MAX], results[LZ_ARGS_MAX];
    lz_bound bound;
    for (size_t i = 0; i < LZ_OP_COUNT; i++) {
        const lz_op_row *op = &lz_op_table[i];
        if (!op->name || !is_called(op, k->name) || !place_all(op, k, in))
            continue;
        lz_err *e = lz_boxed_bind(op, LZ_HERE, in, op->nargs, &bound);
        if (e) {
            lz_err_free(e);
            continue;
        }
        lz_record(t->c, op, LZ_HERE, bound.in, results);
        *out = results[0];
        return lz_failed(t->c) ? lz_errf(lz_code_of(t->c), "%s", lz_message(t->c)) : NULL;
    }
    return lz_errf(LZ_ERR_NOT_FOUND, "no operator aten::%.*s takes these %zu arguments", (int)k->name.len,
                   k->name.ptr, k->n);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the text */
static lz_err *value_of(aten_text *t, lz_value *out)
{
    call k = { .n = 0 };
    if (take(t, '['))
        return list_of(t, out);
    lz_str w = word(t);
    if (lz_str_starts(w, LZ_STR("aten::"))) {
        k.name = (lz_str){ w.ptr + 6, w.len - 6 };
        LZ_TRY(due(t, '('));
        LZ_TRY(arguments_of(t, &k));
        return run_call(t, &k, out);
    }
    lz_map_entry *named = lz_map_find(t->names, w);
    if (named)
        *out = lz_value_tensor(named->value);
    else if (!constant(w, out))
        return lz_errf(LZ_ERR_NOT_FOUND, "there is no \"%.*s\"", (int)w.len, w.ptr);
    return NULL;
}

lz_err *aten_text_run(aten_text *t, lz_str line)
{
    lz_value v = lz_value_none();
    t->rest = line;
    lz_str name = word(t);
    LZ_TRY(due(t, '='));
    LZ_TRY(value_of(t, &v));
    if (v.kind != LZ_KIND_TENSOR)
        return lz_errf(LZ_ERR_SYNTAX, "%.*s is no tensor", (int)name.len, name.ptr);
    return lz_map_put(t->names, name, v.tensor);
}
