/* Numbers of formulas: those that are known, and those that are known at run time. */
#include "core/scalar.h"
#include "lower/lower_impl.h"
#include "op/op_table.h"
#include <math.h>

/* ---- numbers that are known ---- */

static double real(lz_scalar v)
{
    return v.kind == LZ_SCALAR_FLOAT ? v.re : (double)v.i;
}

static const int8_t binary_ops[LZ_LOPS_COUNT] = {
    [LZ_LOP_ADD] = 1 + LZ_SCALAR_ADD,           [LZ_LOP_SUB] = 1 + LZ_SCALAR_SUB,
    [LZ_LOP_MUL] = 1 + LZ_SCALAR_MUL,           [LZ_LOP_DIV] = 1 + LZ_SCALAR_DIV,
    [LZ_LOP_FLOORDIV] = 1 + LZ_SCALAR_FLOORDIV, [LZ_LOP_MOD] = 1 + LZ_SCALAR_REMAINDER,
    [LZ_LOP_POW] = 1 + LZ_SCALAR_POW,           [LZ_LOP_MIN] = 1 + LZ_SCALAR_MIN,
    [LZ_LOP_MAX] = 1 + LZ_SCALAR_MAX,           [LZ_LOP_BITAND] = 1 + LZ_SCALAR_AND,
    [LZ_LOP_BITOR] = 1 + LZ_SCALAR_OR,          [LZ_LOP_BITXOR] = 1 + LZ_SCALAR_XOR,
    [LZ_LOP_SHL] = 1 + LZ_SCALAR_SHL,           [LZ_LOP_SHR] = 1 + LZ_SCALAR_SHR,
};

static const int8_t compare_ops[LZ_LOPS_COUNT] = {
    [LZ_LOP_EQ] = 1 + LZ_SCALAR_EQ, [LZ_LOP_NE] = 1 + LZ_SCALAR_NE, [LZ_LOP_LT] = 1 + LZ_SCALAR_LT,
    [LZ_LOP_LE] = 1 + LZ_SCALAR_LE, [LZ_LOP_GT] = 1 + LZ_SCALAR_GT, [LZ_LOP_GE] = 1 + LZ_SCALAR_GE,
};

typedef double function(double x);
static function *const functions[LZ_LOPS_COUNT] = {
    [LZ_LOP_FLOOR] = floor, [LZ_LOP_CEIL] = ceil,   [LZ_LOP_TRUNC] = trunc, [LZ_LOP_ROUND] = rint,
    [LZ_LOP_SQRT] = sqrt,   [LZ_LOP_EXP] = exp,     [LZ_LOP_EXP2] = exp2,   [LZ_LOP_EXPM1] = expm1,
    [LZ_LOP_LOG] = log,     [LZ_LOP_LOG1P] = log1p, [LZ_LOP_LOG2] = log2,   [LZ_LOP_LOG10] = log10,
    [LZ_LOP_SIN] = sin,     [LZ_LOP_COS] = cos,     [LZ_LOP_TAN] = tan,     [LZ_LOP_ASIN] = asin,
    [LZ_LOP_ACOS] = acos,   [LZ_LOP_ATAN] = atan,   [LZ_LOP_SINH] = sinh,   [LZ_LOP_COSH] = cosh,
    [LZ_LOP_TANH] = tanh,   [LZ_LOP_ASINH] = asinh, [LZ_LOP_ACOSH] = acosh, [LZ_LOP_ATANH] = atanh,
    [LZ_LOP_ERF] = erf,     [LZ_LOP_ERFC] = erfc,
};

/* These keep integers as they are. */
static bool keeps_whole(lz_lop op)
{
    return op == LZ_LOP_FLOOR || op == LZ_LOP_CEIL || op == LZ_LOP_TRUNC || op == LZ_LOP_ROUND;
}

static bool is_nan(lz_scalar v)
{
    return v.kind == LZ_SCALAR_FLOAT && isnan(v.re);
}

static lz_err *known_binary(lz_lop op, lz_scalar x, lz_scalar y, lz_scalar *out)
{
    bool extreme = op == LZ_LOP_MIN || op == LZ_LOP_MAX;
    *out = is_nan(x) ? x : y;
    if (extreme && (is_nan(x) || is_nan(y)))
        return NULL;
    return lz_scalar_binary((lz_scalar_op)(binary_ops[op] - 1), x, y, out);
}

static lz_err *known_fmod(lz_scalar x, lz_scalar y, lz_scalar *out)
{
    if (x.kind == LZ_SCALAR_FLOAT || y.kind == LZ_SCALAR_FLOAT)
        *out = lz_scalar_float(fmod(real(x), real(y)));
    else if (y.i == 0)
        return lz_errf(LZ_ERR_ARG, "ZeroDivisionError");
    else
        *out = lz_scalar_int(y.i == -1 ? 0 : x.i % y.i);
    return NULL;
}

/* false: this one is only had from nodes. */
static bool known_rest(lz_lop op, const lz_lv *args, lz_scalar *out)
{
    lz_scalar x = args[0].number;
    if (op == LZ_LOP_AND)
        *out = lz_scalar_bool(x.i && args[1].number.i);
    else if (op == LZ_LOP_OR)
        *out = lz_scalar_bool(x.i || args[1].number.i);
    else if (op == LZ_LOP_NOT)
        *out = lz_scalar_bool(!lz_scalar_is_true(x));
    else if (op == LZ_LOP_BITNOT)
        *out = x.kind == LZ_SCALAR_BOOL ? lz_scalar_bool(!x.i) : lz_scalar_int(~x.i);
    else if (op == LZ_LOP_ATAN2)
        *out = lz_scalar_float(atan2(real(x), real(args[1].number)));
    else if (op == LZ_LOP_SELECT)
        *out = lz_scalar_is_true(x) ? args[1].number : args[2].number;
    else if (functions[op])
        *out = keeps_whole(op) && x.kind != LZ_SCALAR_FLOAT ? x : lz_scalar_float(functions[op](real(x)));
    else
        return false;
    return true;
}

/* ---- numbers that are known at run time ---- */

static const lz_dtype number_dtypes[] = { [LZ_SCALAR_NONE] = LZ_DTYPE_NONE,
                                          [LZ_SCALAR_BOOL] = LZ_BOOL,
                                          [LZ_SCALAR_INT] = LZ_I64,
                                          [LZ_SCALAR_FLOAT] = LZ_F64,
                                          [LZ_SCALAR_COMPLEX] = LZ_C128 };

lz_dtype lz_lv_number_dtype(const lz_lv *v)
{
    return number_dtypes[v->number.kind];
}

static lz_scalar_kind kind_of(const lz_ln *n)
{
    return n->dtype == LZ_BOOL ? LZ_SCALAR_BOOL : n->dtype == LZ_I64 ? LZ_SCALAR_INT : LZ_SCALAR_FLOAT;
}

static lz_lv run_time(const lz_ln *n)
{
    return (lz_lv){ .kind = LZ_LV_NUMBER, .node = n, .number = { .kind = kind_of(n) } };
}

/* A number of the language as a node of a dtype. */
static lz_err *number_node(lz_lower *b, const lz_lv *v, lz_dtype d, const lz_ln **out)
{
    if (v->number.kind == LZ_SCALAR_COMPLEX)
        return lz_errf(LZ_ERR_UNSUPPORTED, "complex numbers are not supported yet");
    if (v->node)
        return lz_low_make_cast(b, v->node, d, true, out);
    LZ_TRY(lz_low_make_const(b, v->number, lz_lv_number_dtype(v), true, v->sized, out));
    return lz_low_make_cast(b, *out, d, true, out);
}

static const uint8_t operands[LZ_LOPS_COUNT] = {
#define X(name, text, n) [LZ_LOP_##name] = n,
    LZ_LOPS(X)
#undef X
};

/* Which dtype numbers are computed in. */
static lz_dtype common_dtype(lz_lop op, const lz_lv *args)
{
    lz_scalar_kind kind = LZ_SCALAR_BOOL;
    for (int i = op == LZ_LOP_SELECT; i < operands[op]; i++)
        kind = args[i].number.kind > kind ? args[i].number.kind : kind;
    bool arithmetic = op <= LZ_LOP_POW || op == LZ_LOP_NEG || op == LZ_LOP_ABS;
    bool floats = op == LZ_LOP_DIV || functions[op] || op == LZ_LOP_ATAN2 || op >= LZ_LOP_ERFINV;
    if (floats && !keeps_whole(op) && op != LZ_LOP_SELECT)
        return LZ_F64;
    return arithmetic && kind == LZ_SCALAR_BOOL ? LZ_I64 : number_dtypes[kind];
}

static lz_err *number_op(lz_lower *b, lz_lop op, const lz_lv *args, lz_lv *out)
{
    const lz_ln *in[3], *n;
    lz_dtype d = common_dtype(op, args);
    for (int i = 0; i < operands[op]; i++)
        LZ_TRY(number_node(b, &args[i], op == LZ_LOP_SELECT && i == 0 ? LZ_BOOL : d, &in[i]));
    LZ_TRY(lz_low_node_op(b, op, in, true, &n));
    *out = run_time(n);
    return NULL;
}

static lz_err *known_op(lz_lower *b, lz_lop op, const lz_lv *args, lz_lv *out)
{
    lz_scalar v = { 0 };
    bool truth;
    if (binary_ops[op]) {
        LZ_TRY(known_binary(op, args[0].number, args[1].number, &v));
    } else if (compare_ops[op]) {
        LZ_TRY(
            lz_scalar_compare((lz_scalar_cmp)(compare_ops[op] - 1), args[0].number, args[1].number, &truth));
        v = lz_scalar_bool(truth);
    } else if (op == LZ_LOP_NEG) {
        LZ_TRY(lz_scalar_neg(args[0].number, &v));
    } else if (op == LZ_LOP_ABS) {
        LZ_TRY(lz_scalar_abs(args[0].number, &v));
    } else if (op == LZ_LOP_FMOD) {
        LZ_TRY(known_fmod(args[0].number, args[1].number, &v));
    } else if (!known_rest(op, args, &v)) {
        return number_op(b, op, args, out);
    }
    bool sized = false;
    for (int i = 0; i < operands[op]; i++)
        sized = sized || args[i].sized;
    *out = sized ? lz_lv_sized(v) : lz_lv_number(v);
    return NULL;
}

/* ---- elements ---- */

/* The node of an operand among elements like `like`. */
static lz_err *element(lz_lower *b, const lz_lv *v, const lz_ln *like, bool condition, const lz_ln **out)
{
    lz_dtype d = condition ? LZ_BOOL : (lz_dtype)like->dtype;
    const lz_ln *n = NULL;
    if (v->kind == LZ_LV_TENSOR) {
        *out = v->node;
        return NULL;
    }
    LZ_TRY(number_node(b, v, d, &n));
    LZ_TRY(lz_low_cast(b, n, d, &n));
    return lz_low_expand(b, n, lz_ln_sizes(like), out);
}

static const lz_lv *first_element(lz_lop op, const lz_lv *args)
{
    for (int i = op == LZ_LOP_SELECT; i < operands[op]; i++)
        if (args[i].kind == LZ_LV_TENSOR)
            return &args[i];
    return args[0].kind == LZ_LV_TENSOR ? &args[0] : NULL;
}

static lz_err *element_op(lz_lower *b, lz_lop op, const lz_lv *args, const lz_lv *like, lz_lv *out)
{
    const lz_ln *in[3], *n;
    for (int i = 0; i < operands[op]; i++)
        LZ_TRY(element(b, &args[i], like->node, op == LZ_LOP_SELECT && i == 0, &in[i]));
    LZ_TRY(lz_low_node_op(b, op, in, false, &n));
    bool same = n->dtype == like->node->dtype;
    *out = (lz_lv){ .kind = LZ_LV_TENSOR, .dtype = same ? like->dtype : (lz_dtype)n->dtype, .node = n };
    return NULL;
}

lz_err *lz_low_op(lz_lower *b, lz_lop op, const lz_lv *args, lz_lv *out)
{
    const lz_lv *like = first_element(op, args);
    bool known = true;
    if (like)
        return element_op(b, op, args, like, out);
    for (int i = 0; i < operands[op]; i++) {
        if (args[i].kind != LZ_LV_NUMBER)
            return lz_errf(LZ_ERR_INTERNAL, "an operation on what is no number");
        known = known && !args[i].node;
    }
    return known ? known_op(b, op, args, out) : number_op(b, op, args, out);
}

/* ---- conversions ---- */

lz_err *lz_low_wrap(lz_lower *b, const lz_lv *number, lz_lv *out)
{
    const lz_ln *n;
    if (number->kind == LZ_LV_TENSOR) {
        *out = *number;
        return NULL;
    }
    LZ_TRY(number_node(b, number, lz_lv_number_dtype(number), &n));
    *out = lz_lv_tensor(n);
    return NULL;
}

lz_err *lz_low_convert(lz_lower *b, const lz_lv *number, lz_scalar_kind to, lz_lv *out)
{
    lz_scalar v = number->number;
    const lz_ln *n;
    *out = *number;
    if (number->kind != LZ_LV_NUMBER || v.kind == to)
        return NULL;
    if (number->node) {
        LZ_TRY(number_node(b, number, number_dtypes[to], &n));
        *out = run_time(n);
        return NULL;
    }
    LZ_TRY(lz_scalar_cast(v, number_dtypes[to], &out->number));
    return NULL;
}

/* The number that an element of d would hold, as a number of d's kind. */
static lz_err *cast_number(lz_lower *b, const lz_lv *x, lz_dtype to, lz_lv *out)
{
    char room[16];
    const lz_ln *n;
    if (!x->node) {
        lz_element_set(to, x->number, room);
        *out = *x;
        out->number = lz_element_get(to, room);
        return NULL;
    }
    LZ_TRY(number_node(b, x, to, &n));
    LZ_TRY(lz_low_make_cast(b, n,
                            to == LZ_BOOL           ? LZ_BOOL
                            : lz_dtype_is_whole(to) ? LZ_I64
                                                    : LZ_F64,
                            true, &n));
    *out = run_time(n);
    return NULL;
}

/* The operator that casts, for a builder that takes operators. */
static lz_err *apply_cast(lz_lower *b, const lz_lv *x, lz_dtype to, lz_lv *out)
{
    const lz_lv args[] = { *x,           lz_lv_dtype(to),   lz_lv_none(), lz_lv_none(),
                           lz_lv_none(), lz_lv_bool(false), lz_lv_none() };
    *out = *x;
    return x->dtype == to ? NULL : b->apply(b, LZ_OP__to_copy, args, out);
}

lz_err *lz_low_cast_to(lz_lower *b, const lz_lv *x, lz_dtype to, lz_lv *out)
{
    const lz_ln *n;
    lz_dtype carried = lz_low_opmath(to);
    if (x->kind == LZ_LV_NUMBER)
        return cast_number(b, x, to, out);
    if (b->apply)
        return apply_cast(b, x, to, out);
    LZ_TRY(lz_low_cast(b, x->node, to, &n));
    if (carried != to)
        LZ_TRY(lz_low_cast(b, n, carried, &n));
    *out = (lz_lv){ .kind = LZ_LV_TENSOR, .dtype = to, .node = n };
    return NULL;
}

lz_err *lz_low_bitcast(lz_lower *b, const lz_lv *x, lz_dtype to, lz_lv *out)
{
    const lz_ln *n;
    LZ_TRY(lz_low_map(b, LZ_K_BITS, &x->node, &n));
    if (n->dtype != (int8_t)to)
        return lz_errf(LZ_ERR_INTERNAL, "bitcast from %s to %s", lz_dtype_get((lz_dtype)x->node->dtype)->name,
                       lz_dtype_get(to)->name);
    *out = lz_lv_tensor(n);
    return NULL;
}

/* c0 + x * (c1 + ...) by operators. */
static lz_err *apply_poly(lz_lower *b, const lz_lv *x, const lz_lv *coefficients, lz_lv *out)
{
    size_t n = coefficients->list.n;
    LZ_TRY(lz_low_wrap(b, n ? &coefficients->list.items[n - 1] : &(lz_lv){ .kind = LZ_LV_NUMBER }, out));
    for (size_t i = n; i-- > 1;) {
        lz_lv step[3] = { *x, *out, lz_lv_int(1) };
        LZ_TRY(b->apply(b, LZ_OP_mul_Tensor, step, &step[0]));
        LZ_TRY(lz_low_wrap(b, &coefficients->list.items[i - 1], &step[1]));
        LZ_TRY(b->apply(b, LZ_OP_add_Tensor, step, out));
    }
    return NULL;
}

lz_err *lz_low_poly(lz_lower *b, const lz_lv *x, const lz_lv *coefficients, lz_lv *out)
{
    size_t n = coefficients->list.n;
    lz_lv types[2] = { *x, n ? coefficients->list.items[0] : lz_lv_int(0) }, converted = *x;
    lz_dtype d;
    if (b->apply && x->kind == LZ_LV_TENSOR)
        return apply_poly(b, x, coefficients, out);
    for (size_t i = 0; i < n; i++)
        if (coefficients->list.items[i].number.kind > types[1].number.kind)
            types[1] = coefficients->list.items[i];
    if (x->kind == LZ_LV_TENSOR) {
        LZ_TRY(lz_low_result_type(b, types, 2, &d));
        if (d != x->dtype)
            LZ_TRY(lz_low_cast_to(b, x, d, &converted));
        x = &converted;
    }
    *out = n ? coefficients->list.items[n - 1] : lz_lv_int(0);
    for (size_t i = n; i-- > 1;) {
        lz_lv step[2] = { *x, *out };
        LZ_TRY(lz_low_op(b, LZ_LOP_MUL, step, out));
        step[0] = coefficients->list.items[i - 1];
        step[1] = *out;
        LZ_TRY(lz_low_op(b, LZ_LOP_ADD, step, out));
    }
    return NULL;
}
