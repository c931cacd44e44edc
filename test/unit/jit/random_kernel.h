/* random_kernel.h - a kernel and arguments for it, made from a seed or from bytes: operations,
 * types, shapes, strides and data at random, with NaN, infinities and the like among the data. */
#ifndef LZ_TEST_RANDOM_KERNEL_H
#define LZ_TEST_RANDOM_KERNEL_H

#include "jit/kernel_ir.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifndef RK_FAIL /* what is done when it cannot be made: as printf */
#include "check.h"
#define RK_FAIL fail_msg
#endif

enum { RK_VALUES = 48, RK_ACCESSES = 16, RK_PARAMS = 4 };

typedef struct random_kernel {
    uint64_t state;
    const uint8_t *bytes_left; /* decide before the state does */
    size_t n_bytes_left;
    int n_outer, n_row;
    int64_t extents[8], strides[RK_ACCESSES][8];
    lz_kernel_access access[RK_ACCESSES];
    lz_kernel_scalar params[RK_PARAMS];
    size_t bytes[RK_ACCESSES];
    bool stored[RK_ACCESSES];
    int dtypes[RK_ACCESSES];
    int n_access, n_params, n_values;
    lz_kernel_value values[RK_VALUES];
    lz_kernel_builder *b;
} random_kernel;

static uint64_t rk_next(random_kernel *r)
{
    if (r->n_bytes_left) {
        r->n_bytes_left--;
        return *r->bytes_left++ * UINT64_C(0x0204081020408101);
    }
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return r->state * UINT64_C(0x2545F4914F6CDD1D);
}

static int rk_below(random_kernel *r, int n)
{
    return (int)((rk_next(r) >> 33) % (uint64_t)n);
}

static double rk_double(random_kernel *r)
{
    static const double special[] = {
        0.0, -0.0, 1, -1, (double)INFINITY, (double)-INFINITY, (double)NAN, 1e-40, 0.5, 1e30, -1e5, 3e9
    };
    if (rk_below(r, 8) == 0)
        return special[rk_below(r, (int)(sizeof special / sizeof *special))];
    return ((double)(int64_t)rk_next(r) * 0x1p-63) * (rk_below(r, 3) ? 4 : 1000);
}

static void rk_fill(random_kernel *r, int dtype, void *base, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double d = rk_double(r);
        float f = (float)d;
        uint32_t w;
        int64_t whole = (int64_t)rk_next(r) >> (rk_below(r, 63));
        memcpy(&w, &f, sizeof w);
        switch (dtype) {
        case LZ_BOOL:
            ((uint8_t *)base)[i] = (uint8_t)(whole & 1);
            break;
        case LZ_U8:
        case LZ_I8:
            ((uint8_t *)base)[i] = (uint8_t)whole;
            break;
        case LZ_I16:
            ((int16_t *)base)[i] = (int16_t)whole;
            break;
        case LZ_I32:
            ((int32_t *)base)[i] = (int32_t)whole;
            break;
        case LZ_I64:
            ((int64_t *)base)[i] = whole;
            break;
        case LZ_F16:
            ((uint16_t *)base)[i] = (uint16_t)whole;
            break;
        case LZ_BF16:
            ((uint16_t *)base)[i] = (uint16_t)(w >> 16);
            break;
        case LZ_F32:
            ((float *)base)[i] = f;
            break;
        default:
            ((double *)base)[i] = d;
        }
    }
}

static void rk_shape(random_kernel *r)
{
    static const int64_t sizes[] = { 1, 2, 3, 5, 7, 8, 17, 63, 64, 65, 130, 300 };
    r->n_outer = rk_below(r, 4);
    r->n_row = rk_below(r, 4);
    int64_t total = 1;
    for (int d = 0; d < r->n_outer + r->n_row; d++) {
        int64_t e = sizes[rk_below(r, 12)];
        r->extents[d] = total * e <= 3000 ? e : 1;
        total *= r->extents[d];
    }
    if (rk_below(r, 40) == 0 && r->n_outer + r->n_row)
        r->extents[rk_below(r, r->n_outer + r->n_row)] = 0;
    if (rk_below(r, 6) == 0 && r->n_row && total < 4) /* several chunks and blocks */
        r->extents[r->n_outer + r->n_row - 1] = 4096 * rk_below(r, 3) + rk_below(r, 9000);
}

/* Dense in some order of the dimensions, with gaps, reversed, or with stride 0. */
static void rk_strides(random_kernel *r, int a, lz_kernel_vary vary, bool store)
{
    int dims = r->n_outer + r->n_row, order[8];
    for (int d = 0; d < dims; d++)
        order[d] = d;
    bool shuffled = rk_below(r, 3) == 0;
    for (int d = dims - 1; shuffled && d > 0; d--) {
        int other = rk_below(r, d + 1), was = order[d];
        order[d] = order[other];
        order[other] = was;
    }
    int64_t step = rk_below(r, 5) ? 1 : 2, low = 0;
    for (int d = dims - 1; d >= 0; d--) {
        int dim = order[d];
        bool still = dim >= r->n_outer && vary == LZ_KERNEL_OUTER;
        bool broadcast = !store && rk_below(r, 6) == 0;
        bool reverse = rk_below(r, 8) == 0;
        r->strides[a][dim] = still || broadcast ? 0 : reverse ? -step : step;
        int64_t reach = r->strides[a][dim] * (r->extents[dim] - 1);
        low += reach < 0 ? reach : 0;
        if (!still && !broadcast)
            step *= r->extents[dim] > 0 ? r->extents[dim] : 1;
    }
    r->access[a].offset = -low + 3;
    r->bytes[a] = (size_t)(step + 8) * 8;
    r->access[a].strides = r->strides[a];
}

static int rk_access(random_kernel *r, int dtype, lz_kernel_vary vary, bool store)
{
    int a = lz_kernel_build_access(r->b, (lz_dtype)dtype, vary);
    rk_strides(r, a, vary, store);
    r->access[a].base = calloc(1, r->bytes[a]);
    if (!store)
        rk_fill(r, dtype, r->access[a].base, (int64_t)r->bytes[a] / 8);
    r->stored[a] = store;
    r->dtypes[a] = dtype;
    r->n_access = a + 1;
    return a;
}

static const int rk_dtypes[] = { LZ_F32,  LZ_F32, LZ_F32,  LZ_F64, LZ_I32, LZ_I64,
                                 LZ_BOOL, LZ_F16, LZ_BF16, LZ_I8,  LZ_U8,  LZ_I16 };

static lz_kernel_value rk_pick(random_kernel *r, lz_kernel_type t)
{
    lz_kernel_value any = r->values[rk_below(r, r->n_values)];
    for (int tries = 0; tries < 8; tries++) {
        lz_kernel_value v = r->values[rk_below(r, r->n_values)];
        if (lz_kernel_build_type(r->b, v) == t)
            return v;
    }
    static const lz_dtype dtype[LZ_KERNEL_TYPES] = { LZ_BOOL, LZ_I32, LZ_I64, LZ_F32, LZ_F64 };
    return lz_kernel_build_cast(r->b, any, dtype[t]);
}

/* Something else where it is NaN: the sign and the bits of a NaN are nobody's promise. */
static lz_kernel_value rk_number(random_kernel *r, lz_kernel_value x)
{
    lz_kernel_type t = lz_kernel_build_type(r->b, x);
    if (t != LZ_KERNEL_F32 && t != LZ_KERNEL_F64)
        return x;
    lz_kernel_value is = lz_kernel_build_op2(r->b, LZ_KERNEL_EQ, x, x);
    return lz_kernel_build_op3(r->b, LZ_KERNEL_SELECT, is, x, lz_kernel_build_const_f(r->b, t, -2));
}

static lz_kernel_value rk_op(random_kernel *r)
{
    lz_kernel_op op = (lz_kernel_op)rk_below(r, LZ_KERNEL_TURN_COUNT);
    lz_kernel_type t = (lz_kernel_type)rk_below(r, LZ_KERNEL_TYPES);
    while (!(lz_kernel_op_types(op) >> t & 1))
        t = (lz_kernel_type)rk_below(r, LZ_KERNEL_TYPES);
    lz_kernel_value x = rk_pick(r, t), y = rk_pick(r, t);
    bool divides = op == LZ_KERNEL_IDIV || op == LZ_KERNEL_IDIV_FLOOR || op == LZ_KERNEL_FMOD
                   || op == LZ_KERNEL_REMAINDER;
    if (divides && t < LZ_KERNEL_F32)
        y = lz_kernel_build_op2(r->b, LZ_KERNEL_OR, y, lz_kernel_build_const_i(r->b, t, 1));
    if (op == LZ_KERNEL_BITS || op == LZ_KERNEL_SIGNBIT)
        x = rk_number(r, x);
    if (op == LZ_KERNEL_COPYSIGN || op == LZ_KERNEL_NEXTAFTER)
        y = rk_number(r, y);
    if (op == LZ_KERNEL_SELECT)
        return lz_kernel_build_op3(r->b, op, rk_pick(r, LZ_KERNEL_BOOL), x, y);
    int n = lz_kernel_op_operands(op);
    return n == 1   ? lz_kernel_build_op1(r->b, op, x)
           : n == 2 ? lz_kernel_build_op2(r->b, op, x, y)
                    : lz_kernel_build_op3(r->b, op, x, y, rk_pick(r, t));
}

static lz_kernel_value rk_along(random_kernel *r)
{
    lz_kernel_reduction kind = (lz_kernel_reduction)rk_below(r, LZ_KERNEL_REDUCES);
    bool bits = kind == LZ_KERNEL_RAND || kind == LZ_KERNEL_ROR || kind == LZ_KERNEL_RXOR;
    lz_kernel_type t = bits ? (lz_kernel_type)rk_below(r, 3) : (lz_kernel_type)(1 + rk_below(r, 4));
    lz_kernel_value x = rk_pick(r, t);
    return rk_below(r, 4) ? lz_kernel_build_reduce(r->b, kind, x) : lz_kernel_build_scan(r->b, kind, x);
}

static lz_kernel_value rk_gather(random_kernel *r)
{
    int a = rk_access(r, rk_dtypes[rk_below(r, 12)], LZ_KERNEL_OUTER, false);
    for (int d = 0; d < 8; d++)
        r->strides[a][d] = 0;
    r->access[a].offset = 0;
    int64_t n = (int64_t)r->bytes[a] / 8;
    lz_kernel_value size = lz_kernel_build_const_i(r->b, LZ_KERNEL_I64, n);
    lz_kernel_value index = lz_kernel_build_op2(r->b, LZ_KERNEL_REMAINDER, rk_pick(r, LZ_KERNEL_I64), size);
    bool bad = rk_below(r, 30) == 0;
    index = lz_kernel_build_check(r->b, bad ? rk_pick(r, LZ_KERNEL_I64) : index, size, 1, rk_below(r, 2));
    lz_kernel_value mask = rk_pick(r, LZ_KERNEL_BOOL),
                    fill = rk_pick(r, lz_kernel_type_of((lz_dtype)r->dtypes[a]));
    return rk_below(r, 2) ? lz_kernel_build_gather(r->b, a, index)
                          : lz_kernel_build_gather_if(r->b, a, index, mask, fill);
}

static lz_kernel_value rk_load(random_kernel *r)
{
    int a =
        rk_access(r, rk_dtypes[rk_below(r, 12)], rk_below(r, 4) ? LZ_KERNEL_ELEMENT : LZ_KERNEL_OUTER, false);
    if (rk_below(r, 6) == 0)
        return lz_kernel_build_affine(r->b, a);
    if (rk_below(r, 6) == 0 && r->n_values)
        return lz_kernel_build_load_if(r->b, a, rk_pick(r, LZ_KERNEL_BOOL),
                                       rk_pick(r, lz_kernel_type_of((lz_dtype)r->dtypes[a])));
    return lz_kernel_build_load(r->b, a);
}

static lz_kernel_value rk_leaf(random_kernel *r)
{
    lz_kernel_type t = (lz_kernel_type)rk_below(r, LZ_KERNEL_TYPES);
    bool floating = t == LZ_KERNEL_F32 || t == LZ_KERNEL_F64;
    if (rk_below(r, 2) && r->n_params < RK_PARAMS) {
        if (floating)
            r->params[r->n_params++].f = rk_double(r);
        else
            r->params[r->n_params++].i = rk_below(r, 200) - 100;
        return lz_kernel_build_param(r->b, t);
    }
    return floating ? lz_kernel_build_const_f(r->b, t, rk_double(r))
                    : lz_kernel_build_const_i(r->b, t, rk_below(r, 200) - 100);
}

static lz_kernel_value rk_value(random_kernel *r)
{
    int dice = rk_below(r, 24);
    if (dice < 2)
        return rk_leaf(r);
    if (dice < 4)
        return rk_along(r);
    if (dice == 4 && r->n_access < RK_ACCESSES - 5)
        return rk_gather(r);
    if (dice < 7 && r->n_access < RK_ACCESSES - 5)
        return rk_load(r);
    if (dice == 7)
        return lz_kernel_build_philox(r->b, rk_below(r, 4), rk_pick(r, LZ_KERNEL_I64),
                                      rk_pick(r, LZ_KERNEL_I64), rk_pick(r, LZ_KERNEL_I64));
    if (dice == 8)
        return lz_kernel_build_cast(r->b, r->values[rk_below(r, r->n_values)],
                                    (lz_dtype)rk_dtypes[rk_below(r, 12)]);
    return rk_op(r);
}

static void rk_store(random_kernel *r, lz_kernel_value v)
{
    static const int by_type[LZ_KERNEL_TYPES][4] = { { LZ_BOOL, LZ_BOOL, LZ_BOOL, LZ_BOOL },
                                                     { LZ_I32, LZ_I8, LZ_U8, LZ_I16 },
                                                     { LZ_I64, LZ_I64, LZ_I64, LZ_I64 },
                                                     { LZ_F32, LZ_F32, LZ_F16, LZ_BF16 },
                                                     { LZ_F64, LZ_F64, LZ_F64, LZ_F64 } };
    bool element = lz_kernel_build_varies(r->b, v) || rk_below(r, 3) == 0;
    int dtype = by_type[lz_kernel_build_type(r->b, v)][rk_below(r, 4)];
    lz_kernel_build_store(r->b, rk_access(r, dtype, element ? LZ_KERNEL_ELEMENT : LZ_KERNEL_OUTER, true), v);
}

/* So many elements that threads share them: one of the dimensions becomes long. */
static void rk_stretch(random_kernel *r)
{
    int64_t total = 1;
    if (r->n_outer + r->n_row == 0)
        r->extents[r->n_row++] = 1;
    for (int d = 0; d < r->n_outer + r->n_row; d++)
        total *= r->extents[d] = r->extents[d] ? r->extents[d] : 1;
    r->extents[rk_below(r, r->n_outer + r->n_row)] *= (40000 + rk_below(r, 60000)) / total + 1;
}

static inline lz_kernel *rk_build(random_kernel *r, bool large)
{
    lz_kernel *k = NULL;
    rk_shape(r);
    if (large)
        rk_stretch(r);
    lz_err *e = lz_kernel_builder_create(rk_below(r, 2) ? LZ_KERNEL_ROWS : LZ_KERNEL_COLUMNS, r->n_outer,
                                         r->n_row, &r->b);
    if (e)
        RK_FAIL("%s", lz_err_text(e));
    r->values[0] = rk_load(r);
    int count = 4 + rk_below(r, 30);
    for (r->n_values = 1; r->n_values < count; r->n_values++)
        r->values[r->n_values] = rk_value(r);
    int stores = 1 + rk_below(r, 3);
    for (int i = 0; i < stores; i++)
        rk_store(r, r->values[i ? rk_below(r, r->n_values) : r->n_values - 1]);
    e = lz_kernel_builder_finish(r->b, &k);
    if (e && lz_err_code(e) != LZ_ERR_LIMIT)
        RK_FAIL("%s", lz_err_text(e));
    lz_err_free(e);
    return k;
}

/* NULL if the dice asked for too large a kernel. rk_free in any case. */
static inline lz_kernel *rk_make(random_kernel *r, uint64_t seed, bool large)
{
    *r = (random_kernel){ .state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1 };
    rk_next(r);
    return rk_build(r, large);
}

static inline lz_kernel *rk_make_of(random_kernel *r, const uint8_t *bytes, size_t n)
{
    *r = (random_kernel){ .state = 1 + n, .bytes_left = bytes, .n_bytes_left = n };
    return rk_build(r, false);
}

__attribute__((unused)) static lz_kernel_args rk_args(const random_kernel *r)
{
    return (lz_kernel_args){ .extents = r->extents, .access = r->access, .params = r->params };
}

/* Copies the memory of the stores to copy, whose members are NULL or blocks of an earlier call, and clears
 * it. The caller frees the copies. */
__attribute__((unused)) static void rk_keep(const random_kernel *r, char *copy[RK_ACCESSES])
{
    for (int a = 0; a < r->n_access; a++) {
        if (!r->stored[a])
            continue;
        copy[a] = copy[a] ? copy[a] : malloc(r->bytes[a]);
        if (!copy[a])
            RK_FAIL("out of memory");
        memcpy(copy[a], r->access[a].base, r->bytes[a]);
        memset(r->access[a].base, 0, r->bytes[a]);
    }
}

__attribute__((unused)) static void rk_free(random_kernel *r)
{
    for (int a = 0; a < r->n_access; a++)
        free(r->access[a].base);
}

#endif
