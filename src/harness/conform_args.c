#include "harness/conform_args.h"
#include <string.h>

static bool names(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

/* ---- as usual ---- */

static lz_err *make_tensor(lz_ctx *c, const lz_variant *v, const char *name, uint64_t seed, lz_tensor **out)
{
    lz_dtype d = names(name, "ind") || names(name, "target")       ? LZ_I64
                 : names(name, "mask") || names(name, "condition") ? LZ_BOOL
                                                                   : v->dtype;
    LZ_TRY(lz_conform_tensor(c, d, (lz_ints){ v->sizes, v->n }, v->flavour, seed, out));
    if (d != LZ_I64 || v->dtype == LZ_I64)
        return NULL;
    const lz_value in[] = { lz_value_tensor(*out) };
    lz_value zeros;
    if (lz_conform_call(c, &lz_op_table[LZ_OP_zeros_like], in, 1, &zeros))
        *out = zeros.tensor; /* an index that is always there */
    return NULL;
}

static lz_value make_ints(const lz_arg_row *arg, const lz_variant *v, int64_t *room)
{
    bool sizes = names(arg->name, "size") || names(arg->name, "shape"), dims = !strcmp(arg->name, "dims");
    int64_t n = sizes || dims                                               ? v->n
                : arg->type->size > 0 && arg->type->size <= LZ_CONFORM_INTS ? arg->type->size
                                                                            : 1;
    for (int64_t i = 0; i < n; i++)
        room[i] = sizes && i < v->n && !names(arg->name, "kernel") ? v->sizes[i]
                  : dims                                           ? v->n - 1 - i
                                                                   : !names(arg->name, "dim");
    return lz_value_ints((lz_ints){ room, n });
}

static lz_value make_number(const lz_variant *v)
{
    return lz_value_scalar(lz_scalar_int(v->flavour == LZ_WIDE ? (INT64_C(1) << 33) + 1 : 2));
}

/* false: nobody can make it up. */
static lz_err *make_usual(lz_ctx *c, const lz_op_row *op, uint32_t i, const lz_variant *v, lz_made_args *m,
                          bool *ok)
{
    const lz_arg_row *arg = &op->args[i];
    lz_value *out = &m->in[i];
    *out = lz_value_none();
    if (arg->default_text)
        return NULL;
    switch (arg->type->kind) {
    case LZ_KIND_TENSOR:
        *out = lz_value_tensor(NULL);
        return make_tensor(c, v, arg->name, i + 1, &out->tensor);
    case LZ_KIND_TENSORS:
        LZ_TRY(make_tensor(c, v, arg->name, 1, &m->lists[i][0]));
        LZ_TRY(make_tensor(c, v, arg->name, 2, &m->lists[i][1]));
        *out = lz_value_tensors((lz_tensors){ m->lists[i], 2 });
        return NULL;
    case LZ_KIND_INTS:
        *out = make_ints(arg, v, m->ints[i]);
        return NULL;
    case LZ_KIND_INT:
        *out = lz_value_integer(!names(arg->name, "dim") || names(arg->name, "1"));
        return NULL;
    case LZ_KIND_SCALAR:
        *out = make_number(v);
        return NULL;
    case LZ_KIND_FLOAT:
        *out = lz_value_real(0.5);
        return NULL;
    case LZ_KIND_BOOL:
        *out = lz_value_truth(false);
        return NULL;
    case LZ_KIND_DTYPE:
        *out = lz_value_dtype(LZ_F32);
        return NULL;
    default:
        *ok = *ok && arg->type->flags & LZ_TYPE_OPTIONAL;
        return NULL;
    }
}

/* ---- otherwise ---- */

static const int64_t integers[] = { 0, 2, -1, 1, 3 };
static const double reals[] = { 0.25, 2, -0.5 };
static const lz_dtype dtypes[] = { LZ_F64, LZ_F16, LZ_I32 };
static const char *const words[] = { "floor", "trunc",   "sum",       "mean",     "prod",   "amax", "amin",
                                     "tanh",  "reflect", "replicate", "circular", "linear", "left", "ij" };
static const struct {
    int64_t n, v[2];
} lists[] = { { 1, { 0, 0 } }, { 1, { -1, 0 } }, { 2, { 0, 1 } } };

enum { TENSORS_TRIED = 3, NUMBERS_TRIED = 4 };

static const size_t counts[LZ_KIND_COUNT] = {
    [LZ_KIND_TENSOR] = TENSORS_TRIED,
    [LZ_KIND_INTS] = sizeof lists / sizeof *lists,
    [LZ_KIND_INT] = sizeof integers / sizeof *integers,
    [LZ_KIND_SCALAR] = NUMBERS_TRIED,
    [LZ_KIND_FLOAT] = sizeof reals / sizeof *reals,
    [LZ_KIND_BOOL] = 2,
    [LZ_KIND_DTYPE] = sizeof dtypes / sizeof *dtypes,
    [LZ_KIND_STR] = sizeof words / sizeof *words,
};

size_t lz_conform_choices(const lz_arg_row *arg)
{
    bool tensor = arg->type->kind == LZ_KIND_TENSOR;
    return tensor && !(arg->type->flags & LZ_TYPE_OPTIONAL) ? 0 : counts[arg->type->kind];
}

/* Lists of a fixed length hold the same number everywhere; others are dimensions. */
static lz_value choose_ints(const lz_arg_row *arg, size_t which, int64_t *room)
{
    int64_t size = arg->type->size;
    if (size <= 1 || size > LZ_CONFORM_INTS)
        return lz_value_ints((lz_ints){ lists[which].v, lists[which].n });
    for (int64_t i = 0; i < size; i++)
        room[i] = integers[which];
    return lz_value_ints((lz_ints){ room, size });
}

/* Of all sizes, and of the first or the last alone: a bias or a weight. */
static lz_err *choose_tensor(lz_ctx *c, const lz_variant *v, const lz_arg_row *arg, size_t which,
                             lz_value *out)
{
    lz_variant w = *v;
    if (which && v->n) {
        w.n = 1;
        w.sizes[0] = which == 1 ? v->sizes[0] : v->sizes[v->n - 1];
    }
    *out = lz_value_tensor(NULL);
    return make_tensor(c, &w, arg->name, 77, &out->tensor);
}

static lz_value choose_number(size_t which)
{
    const lz_scalar all[NUMBERS_TRIED] = { lz_scalar_int(3), lz_scalar_float(0.5), lz_scalar_int(-2),
                                           lz_scalar_int(0) };
    return lz_value_scalar(all[which]);
}

static lz_err *choose(lz_ctx *c, const lz_arg_row *arg, const lz_variant *v, size_t which, int64_t *room,
                      lz_value *out)
{
    switch (arg->type->kind) {
    case LZ_KIND_TENSOR:
        return choose_tensor(c, v, arg, which, out);
    case LZ_KIND_INTS:
        *out = choose_ints(arg, which, room);
        return NULL;
    case LZ_KIND_INT:
        *out = lz_value_integer(integers[which]);
        return NULL;
    case LZ_KIND_SCALAR:
        *out = choose_number(which);
        return NULL;
    case LZ_KIND_FLOAT:
        *out = lz_value_real(reals[which]);
        return NULL;
    case LZ_KIND_BOOL:
        *out = lz_value_truth(which == 0);
        return NULL;
    case LZ_KIND_DTYPE:
        *out = lz_value_dtype(dtypes[which]);
        return NULL;
    default:
        *out = lz_value_str(words[which]);
        return NULL;
    }
}

/* ---- the call ---- */

lz_err *lz_conform_made_call(lz_ctx *c, const lz_op_row *op, const lz_variant *v, lz_choice choice,
                             lz_made_args *m, bool *ok)
{
    *ok = true;
    for (int i = 0; i < (int)op->nargs; i++)
        LZ_TRY(i == choice.arg ? choose(c, &op->args[i], v, choice.which, m->ints[i], &m->in[i])
                               : make_usual(c, op, (uint32_t)i, v, m, ok));
    *ok = *ok && lz_conform_call(c, op, m->in, op->nargs, m->out);
    return NULL;
}
