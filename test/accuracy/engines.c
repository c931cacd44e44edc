#include "engines.h"
#include "base/mem.h"
#include "jit/codes.h"
#include "jit/kernel_ir.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 }; /* elements at once */

/* ---- formulas, step by step as the operators' entries have them ---- */

typedef lz_kernel_value formula(lz_kernel_builder *b, lz_kernel_type t, lz_kernel_value x);

static lz_kernel_value divided_by_one_and_exp(lz_kernel_builder *b, lz_kernel_type t, lz_kernel_value x,
                                              lz_kernel_value exponent)
{
    lz_kernel_value sum = lz_kernel_build_op2(
        b, LZ_KERNEL_ADD, lz_kernel_build_op1(b, LZ_KERNEL_EXP, exponent), lz_kernel_build_const_f(b, t, 1));
    return lz_kernel_build_op2(b, LZ_KERNEL_DIV, x, sum);
}

static lz_kernel_value silu(lz_kernel_builder *b, lz_kernel_type t, lz_kernel_value x)
{
    return divided_by_one_and_exp(b, t, x, lz_kernel_build_op1(b, LZ_KERNEL_NEG, x));
}

static lz_kernel_value gelu_tanh(lz_kernel_builder *b, lz_kernel_type t, lz_kernel_value x)
{
    double k = sqrt(8 / 3.14159265358979323846);
    lz_kernel_value u = lz_kernel_build_op2(b, LZ_KERNEL_MUL, lz_kernel_build_op2(b, LZ_KERNEL_MUL, x, x),
                                            lz_kernel_build_const_f(b, t, -0.044715 * k));
    u = lz_kernel_build_op2(b, LZ_KERNEL_MUL, x,
                            lz_kernel_build_op2(b, LZ_KERNEL_SUB, u, lz_kernel_build_const_f(b, t, k)));
    return divided_by_one_and_exp(b, t, x, u);
}

static lz_kernel_value gelu_erf(lz_kernel_builder *b, lz_kernel_type t, lz_kernel_value x)
{
    (void)t;
    return lz_kernel_build_op2(b, LZ_KERNEL_MUL, x, lz_kernel_build_op1(b, LZ_KERNEL_NORMAL_CDF, x));
}

static const struct {
    const char *name;
    formula *of;
} formulas[] = { { "gelu_tanh", gelu_tanh }, { "gelu_erf", gelu_erf }, { "silu", silu } };

/* ---- engines ---- */

static lz_kernel_value value(lz_kernel_builder *b, const char *name, lz_dtype dtype)
{
    lz_kernel_op op = LZ_KERNEL_OP_COUNT;
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, dtype, LZ_KERNEL_ELEMENT));
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        if (strcmp(formulas[i].name, name) == 0)
            return formulas[i].of(b, lz_kernel_type_of(dtype), x);
    }
    if (!lz_kernel_op_find(lz_str_of(name), &op))
        return lz_kernel_builder_fail(b, lz_errf(LZ_ERR_ARG, "there is no function %s", name));
    if (lz_kernel_op_operands(op) == 1)
        return lz_kernel_build_op1(b, op, x);
    return lz_kernel_build_op2(b, op, x,
                               lz_kernel_build_load(b, lz_kernel_build_access(b, dtype, LZ_KERNEL_ELEMENT)));
}

/* Is this one of the operations that lz_kernel_expand would have written out? */
static bool is_function(const lz_kernel_node *n)
{
    return n->op == LZ_KERNEL_POW || n->op == LZ_KERNEL_ATAN2
           || (n->op >= LZ_KERNEL_EXP && n->op <= LZ_KERNEL_DIGAMMA);
}

static lz_err *count_steps(engine *e)
{
    lz_kernel *hot;
    LZ_TRY(lz_kernel_expand_hot(e->kernel, strcmp(lz_tile()->name, "avx512") == 0, &hot));
    for (size_t i = 0; i < hot->ir.nodes.len; i++) {
        const lz_kernel_node *n = &hot->ir.nodes.data[i];
        e->steps += n->op != LZ_KERNEL_NODE_CONST && n->op != LZ_KERNEL_NODE_LOAD;
        e->called = e->called || is_function(n);
        e->rare = e->rare || n->op == LZ_KERNEL_NODE_RARE;
    }
    lz_kernel_release(hot);
    return NULL;
}

lz_err *engine_init(engine *e, const char *name, bool f64)
{
    lz_kernel_builder *b;
    lz_dtype dtype = f64 ? LZ_F64 : LZ_F32;
    *e = (engine){ .f64 = f64 };
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
    lz_kernel_value v = value(b, name, dtype);
    lz_kernel_build_store(b, lz_kernel_build_access(b, dtype, LZ_KERNEL_ELEMENT), v);
    LZ_TRY(lz_kernel_builder_finish(b, &e->kernel));
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
    lz_kernel_access access[3] = { { x, 0, strides }, { y, 0, strides } };
    lz_kernel_access *store = &access[two ? 2 : 1];
    lz_kernel_args args = { .extents = extents, .access = access };
    *store = (lz_kernel_access){ out, 0, strides };
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
    return lz_native_codes_open(NULL);
}

void engines_close(void)
{
    lz_native_codes_close(NULL);
}
