#include "engines.h"
#include "base/mem.h"
#include "jit/codes.h"
#include "jit/kernel_ir.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 }; /* elements at once */

/* ---- formulas, step by step as the operators' entries have them ---- */

typedef lz_kv formula(lz_kb *b, lz_ktype t, lz_kv x);

static lz_kv divided_by_one_and_exp(lz_kb *b, lz_ktype t, lz_kv x, lz_kv exponent)
{
    lz_kv sum = lz_kb_op2(b, LZ_K_ADD, lz_kb_op1(b, LZ_K_EXP, exponent), lz_kb_const_f(b, t, 1));
    return lz_kb_op2(b, LZ_K_DIV, x, sum);
}

static lz_kv silu(lz_kb *b, lz_ktype t, lz_kv x)
{
    return divided_by_one_and_exp(b, t, x, lz_kb_op1(b, LZ_K_NEG, x));
}

static lz_kv gelu_tanh(lz_kb *b, lz_ktype t, lz_kv x)
{
    double k = sqrt(8 / 3.14159265358979323846);
    lz_kv u = lz_kb_op2(b, LZ_K_MUL, lz_kb_op2(b, LZ_K_MUL, x, x), lz_kb_const_f(b, t, -0.044715 * k));
    u = lz_kb_op2(b, LZ_K_MUL, x, lz_kb_op2(b, LZ_K_SUB, u, lz_kb_const_f(b, t, k)));
    return divided_by_one_and_exp(b, t, x, u);
}

static lz_kv gelu_erf(lz_kb *b, lz_ktype t, lz_kv x)
{
    (void)t;
    return lz_kb_op2(b, LZ_K_MUL, x, lz_kb_op1(b, LZ_K_NORMAL_CDF, x));
}

static const struct {
    const char *name;
    formula *of;
} formulas[] = { { "gelu_tanh", gelu_tanh }, { "gelu_erf", gelu_erf }, { "silu", silu } };

/* ---- engines ---- */

static lz_kv value(lz_kb *b, const char *name, lz_dtype dtype)
{
    lz_kop op = LZ_KOP_COUNT;
    lz_kv x = lz_kb_load(b, lz_kb_access(b, dtype, LZ_K_ELEMENT));
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        if (strcmp(formulas[i].name, name) == 0)
            return formulas[i].of(b, lz_ktype_of(dtype), x);
    }
    if (!lz_kop_find(lz_str_of(name), &op))
        return lz_kb_fail(b, lz_errf(LZ_ERR_ARG, "there is no function %s", name));
    if (lz_kop_operands(op) == 1)
        return lz_kb_op1(b, op, x);
    return lz_kb_op2(b, op, x, lz_kb_load(b, lz_kb_access(b, dtype, LZ_K_ELEMENT)));
}

/* Is this one of the operations that lz_kernel_expand would have written out? */
static bool is_function(const lz_knode *n)
{
    return n->op == LZ_K_POW || n->op == LZ_K_ATAN2 || (n->op >= LZ_K_EXP && n->op <= LZ_K_DIGAMMA);
}

static lz_err *count_steps(engine *e)
{
    lz_kernel *hot;
    LZ_TRY(lz_kernel_expand_hot(e->kernel, strcmp(lz_tile()->name, "avx512") == 0, &hot));
    for (size_t i = 0; i < hot->ir.nodes.len; i++) {
        const lz_knode *n = &hot->ir.nodes.data[i];
        e->steps += n->op != LZ_N_CONST && n->op != LZ_N_LOAD;
        e->called = e->called || is_function(n);
        e->rare = e->rare || n->op == LZ_N_RARE;
    }
    lz_kernel_release(hot);
    return NULL;
}

lz_err *engine_init(engine *e, const char *name, bool f64)
{
    lz_kb *b;
    lz_dtype dtype = f64 ? LZ_F64 : LZ_F32;
    *e = (engine){ .f64 = f64 };
    LZ_TRY(lz_kb_create(LZ_K_ROWS, 0, 1, &b));
    lz_kv v = value(b, name, dtype);
    lz_kb_store(b, lz_kb_access(b, dtype, LZ_K_ELEMENT), v);
    LZ_TRY(lz_kb_finish(b, &e->kernel));
    LZ_TRY(lz_program_create(&e->kernel->ir, lz_tile(), &e->program));
    return count_steps(e);
}

void engine_deinit(engine *e)
{
    lz_kernel_release(e->kernel);
    lz_program_destroy(e->program);
}

static int64_t count_differences(bool f64, const char *a, const char *b, int n)
{
    size_t size = f64 ? sizeof(double) : sizeof(float);
    uint64_t infinite = f64 ? UINT64_C(0x7ff0000000000000) : 0x7f800000;
    uint64_t sign = f64 ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
    int64_t differ = 0;
    if (memcmp(a, b, (size_t)n * size) == 0)
        return 0;
    for (int i = 0; i < n; i++) {
        uint64_t x = 0, y = 0;
        memcpy(&x, a + (size_t)i * size, size);
        memcpy(&y, b + (size_t)i * size, size);
        differ += x != y && !((x & ~sign) > infinite && (y & ~sign) > infinite);
    }
    return differ;
}

/* Where compiled code calls the interpreter's function, some are enough. */
static bool worth_comparing(run *r, const void *x)
{
    const engine *e = r->of;
    double first = e->f64 ? *(const double *)x : (double)*(const float *)x;
    bool same = e->called || (e->rare && fabs(first) > 0x1p30);
    return !same || r->calls++ % 16 == 0;
}

void engine_run(void *user, void *out, void *x, void *y, int n)
{
    run *r = user;
    const engine *e = r->of;
    double beside[MOST];
    int64_t extents[] = { n }, strides[] = { 1 };
    bool two = e->kernel->ir.access.len == 3;
    lz_kaccess access[3] = { { x, 0, strides }, { y, 0, strides } };
    lz_kaccess *store = &access[two ? 2 : 1];
    lz_kernel_args args = { .extents = extents, .access = access };
    *store = (lz_kaccess){ out, 0, strides };
    lz_err *err = lz_kernel_run(e->kernel, &args, NULL);
    store->base = beside;
    bool compared = !err && worth_comparing(r, x);
    if (compared)
        err = lz_program_run(e->program, &args, NULL);
    if (compared && !err)
        r->differ += count_differences(e->f64, out, (const char *)beside, n);
    r->err = lz_err_first(r->err, err);
}

lz_err *engines_open(void)
{
    lz_jit_mode_set(LZ_JIT_NOW);
    return lz_codes_open(NULL);
}

void engines_close(void)
{
    lz_codes_close(NULL);
}
