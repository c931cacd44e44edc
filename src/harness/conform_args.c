#include "harness/conform_args.h"
#include <string.h>

static bool names(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

/* Argument `i` of a call, to be generated for the variant `v`. */
typedef struct argument {
    lz_ctx *c;
    const lz_arg_row *row;
    const lz_conform_variant *v;
    uint32_t i;
    lz_made_args *m; /* memory for lists */
} argument;

static lz_err *make_tensor(lz_ctx *c, const lz_conform_variant *v, const char *name, uint64_t seed,
                           lz_tensor **out)
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
        *out = zeros.tensor; /* index 0 is valid for every tensor that is not empty */
    return NULL;
}

/* ---- usual arguments ---- */

static lz_err *usual_tensor(const argument *a, lz_value *out)
{
    *out = lz_value_tensor(NULL);
    return make_tensor(a->c, a->v, a->row->name, a->i + 1, &out->tensor);
}

static lz_err *usual_tensors(const argument *a, lz_value *out)
{
    lz_tensor **list = a->m->lists[a->i];
    LZ_TRY(make_tensor(a->c, a->v, a->row->name, 1, &list[0]));
    LZ_TRY(make_tensor(a->c, a->v, a->row->name, 2, &list[1]));
    *out = lz_value_tensors((lz_tensors){ list, 2 });
    return NULL;
}

static lz_err *usual_ints(const argument *a, lz_value *out)
{
    const lz_conform_variant *v = a->v;
    const char *name = a->row->name;
    int64_t *room = a->m->ints[a->i], size = a->row->type->size;
    bool sizes = names(name, "size") || names(name, "shape"),
         dims = !strcmp(name, "dims") || names(name, "layout");
    bool strides = size <= 0 && a->i > 0 && !strcmp(name, "stride") && !strcmp((a->row - 1)->name, "size");
    int64_t n = sizes || dims || strides ? v->n : size > 0 && size <= LZ_CONFORM_INTS ? size : 1;
    for (int64_t i = 0; i < n; i++)
        room[i] = sizes && i < v->n && !names(name, "kernel") ? v->sizes[i]
                  : dims                                      ? v->n - 1 - i
                                                              : !names(name, "dim");
    *out = lz_value_ints((lz_ints){ room, n });
    return NULL;
}

static lz_err *usual_int(const argument *a, lz_value *out)
{
    *out = lz_value_integer(!names(a->row->name, "dim") || names(a->row->name, "1"));
    return NULL;
}

static lz_err *usual_number(const argument *a, lz_value *out)
{
    *out = lz_value_scalar(lz_scalar_int(a->v->flavour == LZ_WIDE ? (INT64_C(1) << 33) + 1 : 2));
    return NULL;
}

/* ---- other arguments ---- */

#define VALUE(kind_, member, ...)                                                                            \
    {                                                                                                        \
        .kind = LZ_KIND_##kind_, .member = __VA_ARGS__                                                       \
    }
#define NUMBER(...) VALUE(SCALAR, scalar, { __VA_ARGS__ })
#define WORD(text)  VALUE(STR, str, text)

static const lz_value integers[] = { VALUE(INT, integer, 0), VALUE(INT, integer, 2), VALUE(INT, integer, -1),
                                     VALUE(INT, integer, 1), VALUE(INT, integer, 3) };
static const lz_value reals[] = { VALUE(FLOAT, real, 0.25), VALUE(FLOAT, real, 2), VALUE(FLOAT, real, -0.5) };
static const lz_value truths[] = { VALUE(BOOL, truth, true), VALUE(BOOL, truth, false) };
static const lz_value numbers[] = { NUMBER(LZ_SCALAR_INT, 3, 0, 0), NUMBER(LZ_SCALAR_FLOAT, 0, 0.5, 0),
                                    NUMBER(LZ_SCALAR_INT, -2, 0, 0), NUMBER(LZ_SCALAR_INT, 0, 0, 0) };
static const lz_value dtypes[] = { VALUE(DTYPE, dtype, LZ_F64), VALUE(DTYPE, dtype, LZ_F16),
                                   VALUE(DTYPE, dtype, LZ_I32) };
static const lz_value words[] = { WORD("floor"),   WORD("trunc"),     WORD("sum"),      WORD("mean"),
                                  WORD("prod"),    WORD("amax"),      WORD("amin"),     WORD("tanh"),
                                  WORD("reflect"), WORD("replicate"), WORD("circular"), WORD("linear"),
                                  WORD("left"),    WORD("ij") };
static const lz_value lists[] = { VALUE(INTS, ints, { (const int64_t[]){ 0 }, 1 }),
                                  VALUE(INTS, ints, { (const int64_t[]){ -1 }, 1 }),
                                  VALUE(INTS, ints, { (const int64_t[]){ 0, 1 }, 2 }) };

/* Lists of fixed length hold one number repeated. Other lists hold dimensions. */
static lz_err *other_ints(const argument *a, size_t which, lz_value *out)
{
    int64_t size = a->row->type->size, *room = a->m->ints[a->i];
    *out = lists[which];
    if (size <= 1 || size > LZ_CONFORM_INTS)
        return NULL;
    for (int64_t i = 0; i < size; i++)
        room[i] = integers[which].integer;
    *out = lz_value_ints((lz_ints){ room, size });
    return NULL;
}

/* Choice 0 has all sizes; the others have only the first or the last size, like a weight or bias. */
static lz_err *other_tensor(const argument *a, size_t which, lz_value *out)
{
    lz_conform_variant w = *a->v;
    if (which && w.n) {
        w.sizes[0] = which == 1 ? w.sizes[0] : w.sizes[w.n - 1];
        w.n = 1;
    }
    *out = lz_value_tensor(NULL);
    return make_tensor(a->c, &w, a->row->name, 77, &out->tensor);
}

/* ---- kinds ---- */

enum { TENSORS_TRIED = 3 };

#define CHOICES(array) .n = sizeof(array) / sizeof *(array), .values = (array)

/* As many as usual_tensors makes. */
static const lz_scalar two_numbers[] = { { .kind = LZ_SCALAR_FLOAT, .re = 0.5 },
                                         { .kind = LZ_SCALAR_FLOAT, .re = 2 } };

/* By kind: the usual argument without a default, and the choices. Each is made by a function or is a
 * constant. */
static const struct {
    lz_err *(*make)(const argument *a, lz_value *out);
    lz_value usual; /* none, and no `make`: this kind cannot be generated */
    lz_err *(*other)(const argument *a, size_t which, lz_value *out);
    size_t n; /* number of choices */
    const lz_value *values;
} kinds[LZ_KIND_COUNT] = {
    [LZ_KIND_TENSOR] = { .make = usual_tensor, .other = other_tensor, .n = TENSORS_TRIED },
    [LZ_KIND_INT] = { .make = usual_int, CHOICES(integers) },
    [LZ_KIND_FLOAT] = { .usual = VALUE(FLOAT, real, 0.5), CHOICES(reals) },
    [LZ_KIND_BOOL] = { .usual = VALUE(BOOL, truth, false), CHOICES(truths) },
    [LZ_KIND_SCALAR] = { .make = usual_number, CHOICES(numbers) },
    [LZ_KIND_STR] = { CHOICES(words) },
    [LZ_KIND_DTYPE] = { .usual = VALUE(DTYPE, dtype, LZ_F32), CHOICES(dtypes) },
    [LZ_KIND_INTS] = { .make = usual_ints, .other = other_ints, CHOICES(lists) },
    [LZ_KIND_TENSORS] = { .make = usual_tensors },
    [LZ_KIND_SCALARS] = { .usual = VALUE(SCALARS, scalars, { two_numbers, 2 }) },
    [LZ_KIND_MEMORY_FORMAT] = { .usual = VALUE(MEMORY_FORMAT, memory_format, LZ_CONTIGUOUS) },
};

size_t lz_conform_choices(const lz_arg_row *arg)
{
    bool tensor = arg->type->kind == LZ_KIND_TENSOR;
    return tensor && !(arg->type->flags & LZ_TYPE_OPTIONAL) ? 0 : kinds[arg->type->kind].n;
}

/* Sets *ok to false if the argument cannot be generated. */
static lz_err *make_usual(const argument *a, bool *ok, lz_value *out)
{
    lz_kind kind = (lz_kind)a->row->type->kind;
    *out = a->row->default_text ? lz_value_none() : kinds[kind].usual;
    if (a->row->default_text || out->kind != LZ_KIND_NONE)
        return NULL;
    if (kinds[kind].make)
        return kinds[kind].make(a, out);
    *ok = *ok && a->row->type->flags & LZ_TYPE_OPTIONAL;
    return NULL;
}

static lz_err *choose(const argument *a, size_t which, lz_value *out)
{
    lz_kind kind = (lz_kind)a->row->type->kind;
    if (kinds[kind].other)
        return kinds[kind].other(a, which, out);
    *out = kinds[kind].values[which];
    return NULL;
}

/* ---- the call ---- */

lz_err *lz_conform_made_call(lz_ctx *c, const lz_op_row *op, const lz_conform_variant *v, lz_choice choice,
                             lz_made_args *m, bool *ok)
{
    *ok = true;
    for (int i = 0; i < (int)op->nargs; i++) {
        const argument a = { c, &op->args[i], v, (uint32_t)i, m };
        LZ_TRY(i == choice.arg ? choose(&a, choice.which, &m->in[i]) : make_usual(&a, ok, &m->in[i]));
    }
    *ok = *ok && lz_conform_call(c, op, m->in, op->nargs, m->out);
    return NULL;
}
