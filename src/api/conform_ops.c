/* Every operator that the CPU can do, with arguments made up from its schema. */
#include "api/conform.h"
#include <string.h>

enum { TENSORS = 64, INTS = 8 };

typedef struct variant {
    lz_dtype dtype;
    int64_t n, sizes[4];
} variant;

static const variant variants[] = {
    { LZ_F32, 2, { 2, 3 } },    { LZ_F32, 2, { 3, 3 } },       { LZ_F32, 1, { 6 } },
    { LZ_F32, 3, { 2, 3, 3 } }, { LZ_F32, 4, { 1, 2, 4, 4 } }, { LZ_I64, 2, { 2, 3 } },
    { LZ_BOOL, 2, { 2, 3 } },
};

enum { VARIANTS = sizeof variants / sizeof *variants };

/* Arguments of one call, in one context. */
typedef struct made {
    lz_value in[LZ_ARGS_MAX], out[LZ_ARGS_MAX];
    lz_tensor *lists[LZ_ARGS_MAX][2];
    int64_t ints[LZ_ARGS_MAX][INTS];
} made;

static bool names(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

static lz_err *make_tensor(lz_ctx *c, const variant *v, const char *name, uint64_t seed, lz_tensor **out)
{
    lz_dtype d = names(name, "ind") || names(name, "target")       ? LZ_I64
                 : names(name, "mask") || names(name, "condition") ? LZ_BOOL
                                                                   : v->dtype;
    LZ_TRY(lz_conform_tensor(c, d, (lz_ints){ v->sizes, v->n }, seed, out));
    if (d != LZ_I64 || v->dtype == LZ_I64)
        return NULL;
    const lz_value in[] = { lz_value_tensor(*out) };
    lz_value zeros;
    if (lz_conform_call(c, &lz_op_table[LZ_OP_zeros_like], in, 1, &zeros))
        *out = zeros.tensor; /* an index that is always there */
    return NULL;
}

static lz_value make_ints(const lz_arg_row *arg, const variant *v, int64_t *room)
{
    bool sizes = names(arg->name, "size") || names(arg->name, "shape"), dims = !strcmp(arg->name, "dims");
    int64_t n = sizes || dims ? v->n : arg->type->size > 0 && arg->type->size <= INTS ? arg->type->size : 1;
    for (int64_t i = 0; i < n; i++)
        room[i] = sizes && i < v->n && !names(arg->name, "kernel") ? v->sizes[i]
                  : dims                                           ? v->n - 1 - i
                                                                   : !names(arg->name, "dim");
    return lz_value_ints((lz_ints){ room, n });
}

/* false: nobody can make it up. */
static lz_err *make_arg(lz_ctx *c, const lz_op_row *op, uint32_t i, const variant *v, made *m, bool *ok)
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
        *out = lz_value_scalar(lz_scalar_int(2));
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

static lz_err *call(lz_ctx *c, const lz_op_row *op, const variant *v, made *m, bool *ok)
{
    *ok = true;
    for (uint32_t i = 0; i < op->nargs; i++)
        LZ_TRY(make_arg(c, op, i, v, m, ok));
    *ok = *ok && lz_conform_call(c, op, m->in, op->nargs, m->out);
    return NULL;
}

static size_t flatten(const lz_op_row *op, const lz_value *out, lz_tensor **flat)
{
    size_t n = 0;
    for (uint32_t i = 0; i < op->nreturns; i++) {
        if (out[i].kind == LZ_KIND_TENSOR && n < TENSORS)
            flat[n++] = out[i].tensor;
        for (int64_t k = 0; out[i].kind == LZ_KIND_TENSORS && k < out[i].tensors.n && n < TENSORS; k++)
            flat[n++] = out[i].tensors.v[k];
    }
    return n;
}

static bool is_random(const lz_op_row *op)
{
    return op->tags >> LZ_TAG_nondeterministic_seeded & 1;
}

static lz_err *compare(lz_conform *k, const lz_op_row *op, const made *cpu, const made *dev)
{
    lz_tensor *want[TENSORS], *got[TENSORS];
    size_t n = flatten(op, cpu->out, want), m = flatten(op, dev->out, got);
    if (n != m)
        lz_text_printf(&k->why, "%zu results, expected %zu", m, n);
    for (size_t i = 0; !k->why.len && i < n; i++)
        if (is_random(op)) {
            if (!lz_shape_eq(lz_tensor_sizes(want[i]), lz_tensor_sizes(got[i])))
                lz_text_puts(&k->why, "other sizes");
        } else {
            LZ_TRY(lz_conform_compare(k, want[i], got[i]));
        }
    return NULL;
}

/* With and without leave to fall back to the CPU. */
static lz_err *on_device(lz_conform *k, const lz_op_row *op, const variant *v, const made *cpu,
                         unsigned forbidden, bool *ok)
{
    made dev;
    lz_scope *s = lz_scope_push(k->dev);
    lz_forbid(k->dev, forbidden);
    lz_err *e = call(k->dev, op, v, &dev, ok);
    if (!e && !*ok)
        lz_text_printf(&k->why, "refused: %s", lz_message(k->dev));
    if (!e && *ok)
        e = compare(k, op, cpu, &dev);
    *ok = *ok && !k->why.len;
    lz_forbid(k->dev, 0);
    lz_clear(k->dev);
    lz_scope_pop(s);
    return e;
}

static lz_err *try_variant(lz_conform *k, const lz_op_row *op, const variant *v, bool *taken, lz_verdict *out)
{
    made cpu;
    bool ok;
    lz_scope *s = lz_scope_push(k->cpu);
    lz_err *e = call(k->cpu, op, v, &cpu, taken);
    if (!e && *taken)
        *taken = lz_mark_step(k->cpu) && !lz_failed(k->cpu);
    if (!e && *taken) {
        *out = LZ_PASSED;
        e = on_device(k, op, v, &cpu, LZ_FALLBACK, &ok);
        if (!e && !ok) {
            k->why.len = 0;
            e = on_device(k, op, v, &cpu, 0, &ok);
            *out = ok ? LZ_UNSUPPORTED : LZ_FAILED;
        }
    }
    lz_clear(k->cpu);
    lz_scope_pop(s);
    return e;
}

/* What it computes must be told by its arguments alone. */
static bool is_checked(const lz_op_row *op)
{
    return op->kind == LZ_SCHEMA_FUNCTIONAL && op->nreturns > 0 && !strstr(op->name, "empty")
           && op->returns[0].type->kind != LZ_KIND_BOOL;
}

static lz_err *check_op(lz_conform *k, const lz_op_row *op)
{
    lz_verdict worst = LZ_PASSED, v;
    int taken = 0;
    for (int i = 0; i < VARIANTS && worst != LZ_FAILED; i++) {
        bool ok;
        LZ_TRY(try_variant(k, op, &variants[i], &ok, &v));
        taken += ok;
        if (ok && v != LZ_PASSED)
            worst = v;
    }
    if (!taken)
        return NULL;
    if (worst == LZ_UNSUPPORTED)
        lz_text_puts(&k->why, "runs on the CPU");
    return lz_conform_judge(k, "operators", op->name, worst);
}

lz_err *lz_conform_ops(lz_conform *k)
{
    for (size_t i = 1; i < LZ_OP_COUNT; i++)
        if (is_checked(&lz_op_table[i])
            && (!k->r.options->only || !strcmp(k->r.options->only, lz_op_table[i].name)))
            LZ_TRY(check_op(k, &lz_op_table[i]));
    return NULL;
}
