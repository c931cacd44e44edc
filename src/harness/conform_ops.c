/* Every operator that the CPU supports, in rounds: tensors of various sizes, dtypes and elements, and
 * every argument with other values. */
#include "base/clock.h"
#include "harness/conform_args.h"
#include <math.h>
#include <string.h>

enum {
    TENSORS = 64,
    ELEMENTS = 1 << 21, /* most elements of a result: an outer product of long vectors is left out */
    LARGE = 10000,      /* elements */
    SLOW_NS = 2000000,  /* calls that take the CPU longer are not tried with large tensors */
    VARIANTS = 8
};

/* In each round the device must be right on every variant that the CPU accepts. In a round with choices,
 * each argument that has choices takes each choice, one at a time, with the first variant that the CPU
 * accepts; a number is tried with every variant. */
static const struct round {
    const char *group;
    bool choices;
    lz_conform_variant variants[VARIANTS]; /* those with a dtype */
    size_t n;
} rounds[] = {
    { "operators",
      false,
      { { LZ_F32, 2, { 2, 3 }, LZ_PLAIN },
        { LZ_F32, 2, { 3, 3 }, LZ_PLAIN },
        { LZ_F32, 1, { 6 }, LZ_PLAIN },
        { LZ_F32, 3, { 2, 3, 3 }, LZ_PLAIN },
        { LZ_F32, 4, { 1, 2, 4, 4 }, LZ_PLAIN },
        { LZ_I64, 2, { 2, 3 }, LZ_PLAIN },
        { LZ_BOOL, 2, { 2, 3 }, LZ_PLAIN } },
      7 },
    { "arguments",
      true,
      { { LZ_F32, 2, { 2, 3 }, LZ_PLAIN },
        { LZ_F32, 2, { 3, 3 }, LZ_PLAIN },
        { LZ_F32, 3, { 2, 3, 3 }, LZ_PLAIN },
        { LZ_F32, 4, { 1, 2, 4, 4 }, LZ_PLAIN },
        { LZ_F32, 1, { 6 }, LZ_PLAIN },
        { LZ_I64, 2, { 2, 3 }, LZ_PLAIN } },
      6 },
    { "sizes",
      false,
      { { LZ_F32, 1, { 257 }, LZ_PLAIN },
        { LZ_F32, 2, { 241, 17 }, LZ_PLAIN },
        { LZ_F32, 1, { 4097 }, LZ_PLAIN },
        { LZ_I64, 1, { 4097 }, LZ_PLAIN },
        { LZ_F32, 1, { 100000 }, LZ_PLAIN } },
      5 },
    { "dtypes",
      false,
      { { LZ_F64, 2, { 2, 3 }, LZ_FINE },
        { LZ_F64, 2, { 3, 3 }, LZ_FINE },
        { LZ_F64, 1, { 6 }, LZ_FINE },
        { LZ_F16, 2, { 2, 3 }, LZ_PLAIN },
        { LZ_BF16, 2, { 2, 3 }, LZ_PLAIN },
        { LZ_I32, 2, { 2, 3 }, LZ_PLAIN },
        { LZ_U8, 2, { 2, 3 }, LZ_PLAIN } },
      7 },
    { "specials",
      false,
      { { LZ_F32, 2, { 4, 5 }, LZ_SPECIAL },
        { LZ_F32, 1, { 17 }, LZ_SPECIAL },
        { LZ_F64, 1, { 17 }, LZ_SPECIAL } },
      3 },
    { "wide integers", false, { { LZ_I64, 2, { 2, 3 }, LZ_WIDE }, { LZ_I64, 1, { 6 }, LZ_WIDE } }, 2 },
};

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

static bool same_real(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-4 * fabs(b);
}

/* Results that are no tensors. */
static bool same_plain(const lz_value *a, const lz_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case LZ_KIND_INT:
        return a->integer == b->integer;
    case LZ_KIND_BOOL:
        return a->truth == b->truth;
    case LZ_KIND_FLOAT:
        return same_real(a->real, b->real);
    case LZ_KIND_DTYPE:
        return a->dtype == b->dtype;
    case LZ_KIND_SCALAR:
        return a->scalar.kind == b->scalar.kind
               && (a->scalar.kind == LZ_SCALAR_FLOAT ? same_real(a->scalar.re, b->scalar.re)
                                                     : a->scalar.i == b->scalar.i);
    default:
        return true;
    }
}

static lz_err *compare(lz_conform *k, const lz_op_row *op, const lz_made_args *cpu, const lz_made_args *dev)
{
    lz_tensor *want[TENSORS] = { NULL }, *got[TENSORS] = { NULL };
    size_t n = flatten(op, cpu->out, want), m = flatten(op, dev->out, got);
    if (n != m)
        lz_text_printf(&k->why, "%zu results, expected %zu", m, n);
    for (uint32_t i = 0; !k->why.len && i < op->nreturns; i++)
        if (!same_plain(&dev->out[i], &cpu->out[i]))
            lz_text_printf(&k->why, "result %u differs", i);
    for (size_t i = 0; !k->why.len && i < n; i++)
        if (is_random(op)) {
            if (!lz_shape_eq(lz_tensor_sizes(want[i]), lz_tensor_sizes(got[i])))
                lz_text_puts(&k->why, "the sizes differ");
        } else {
            LZ_TRY(lz_conform_compare(k, want[i], got[i]));
        }
    return NULL;
}

/* One call on the CPU and on the device. */
typedef struct attempt {
    const lz_op_row *op;
    const lz_conform_variant *variant;
    lz_choice choice;
} attempt;

/* Runs the call on the device, with and without permission to fall back to the CPU. */
static lz_err *on_device(lz_conform *k, const attempt *a, const lz_made_args *cpu, unsigned forbidden,
                         bool *ok)
{
    lz_made_args dev;
    lz_scope *s = lz_scope_push(k->dev);
    lz_forbid(k->dev, forbidden);
    lz_err *e = lz_conform_made_call(k->dev, a->op, a->variant, a->choice, &dev, ok);
    if (!e && !*ok)
        lz_text_printf(&k->why, "refused: %s", lz_message(k->dev));
    if (!e && *ok)
        e = compare(k, a->op, cpu, &dev);
    *ok = *ok && !k->why.len;
    lz_forbid(k->dev, 0);
    lz_clear(k->dev);
    lz_scope_pop(s);
    return e;
}

static bool mentions(const lz_text *why, const char *part)
{
    return lz_str_find(lz_text_view(why), lz_str_of(part)) != SIZE_MAX;
}

static lz_err *judge_device(lz_conform *k, const attempt *a, const lz_made_args *cpu, lz_verdict *out)
{
    bool ok;
    *out = LZ_PASSED;
    LZ_TRY(on_device(k, a, cpu, LZ_FALLBACK, &ok));
    if (ok)
        return NULL;
    *out = LZ_FAILED;
    if (!mentions(&k->why, "a fallback is forbidden"))
        return NULL;
    k->why.len = 0;
    LZ_TRY(on_device(k, a, cpu, 0, &ok));
    *out = ok ? LZ_UNSUPPORTED : LZ_FAILED;
    return NULL;
}

static bool is_small(const lz_op_row *op, const lz_made_args *m)
{
    lz_tensor *flat[TENSORS];
    size_t n = flatten(op, m->out, flat), i = 0;
    while (i < n && lz_tensor_numel(flat[i]) <= ELEMENTS)
        i++;
    return i == n && n < TENSORS;
}

/* *taken: the CPU accepts the call. *ns: time of the CPU. */
static lz_err *try_once(lz_conform *k, const attempt *a, bool *taken, uint64_t *ns, lz_verdict *out)
{
    lz_made_args cpu;
    uint64_t start = lz_clock_ns();
    lz_scope *s = lz_scope_push(k->cpu);
    lz_err *e = lz_conform_made_call(k->cpu, a->op, a->variant, a->choice, &cpu, taken);
    if (!e && *taken)
        *taken = is_small(a->op, &cpu) && lz_mark_step(k->cpu) && !lz_failed(k->cpu);
    *ns = lz_clock_ns() - start;
    if (!e && *taken)
        e = judge_device(k, a, &cpu, out);
    lz_clear(k->cpu);
    lz_scope_pop(s);
    return e;
}

/* Whether the result depends only on the arguments. */
static bool is_checked(const lz_op_row *op)
{
    return op->kind == LZ_SCHEMA_FUNCTIONAL && op->nreturns > 0 && !strstr(op->name, "empty");
}

typedef struct result {
    lz_verdict worst;
    int taken;
} result;

/* Some operators split a tensor: a long tensor would give too many results. */
static bool is_too_much(const lz_op_row *op, const lz_conform_variant *v)
{
    return op->returns[0].type->kind == LZ_KIND_TENSORS && v->sizes[0] > TENSORS;
}

static bool is_large(const lz_conform_variant *v)
{
    int64_t numel = 1;
    for (int64_t i = 0; i < v->n; i++)
        numel *= v->sizes[i];
    return numel >= LARGE;
}

/* Tries all variants; with `first`, only up to the first one that the CPU accepts. */
static lz_err *try_variants(lz_conform *k, const struct round *r, attempt a, bool first, result *out)
{
    bool ok = false;
    uint64_t slowest =
        0; /* slowest of the smaller variants; a refused call takes no time and is not counted */
    for (size_t i = 0; i < r->n && out->worst != LZ_FAILED && !(first && ok); i++) {
        lz_verdict v = LZ_PASSED;
        uint64_t ns;
        a.variant = &r->variants[i];
        if (is_too_much(a.op, a.variant) || (slowest >= SLOW_NS && is_large(a.variant)))
            continue;
        LZ_TRY(try_once(k, &a, &ok, &ns, &v));
        slowest = ns > slowest ? ns : slowest;
        out->taken += ok;
        if (ok && v != LZ_PASSED)
            out->worst = v;
    }
    return NULL;
}

static lz_err *try_choices(lz_conform *k, const struct round *r, const lz_op_row *op, result *out)
{
    for (int arg = 0; arg < (int)op->nargs; arg++)
        for (size_t which = 0; which < lz_conform_choices(&op->args[arg]) && out->worst != LZ_FAILED;
             which++) {
            bool number = op->args[arg].type->kind
                          == LZ_KIND_SCALAR; /* a number may have another kind than the tensors */
            LZ_TRY(try_variants(k, r, (attempt){ .op = op, .choice = { arg, which } }, !number, out));
            if (out->worst == LZ_FAILED)
                lz_text_printf(&k->why, " (choice %zu of %s)", which, op->args[arg].name);
        }
    return NULL;
}

static lz_err *check_op(lz_conform *k, const struct round *r, const lz_op_row *op)
{
    result x = { LZ_PASSED, 0 };
    if (r->choices)
        LZ_TRY(try_choices(k, r, op, &x));
    else
        LZ_TRY(try_variants(k, r, (attempt){ .op = op, .choice = { -1, 0 } }, false, &x));
    if (!x.taken)
        return NULL;
    if (x.worst == LZ_UNSUPPORTED)
        lz_text_puts(&k->why, "runs on the CPU");
    return lz_conform_judge(k, r->group, op->name, x.worst);
}

lz_err *lz_conform_ops(lz_conform *k)
{
    for (size_t r = 0; r < sizeof rounds / sizeof *rounds; r++)
        for (size_t i = 1; i < LZ_OP_COUNT; i++)
            if (is_checked(&lz_op_table[i]) && lz_conform_wants(k, rounds[r].group, lz_op_table[i].name))
                LZ_TRY(check_op(k, &rounds[r], &lz_op_table[i]));
    return NULL;
}
