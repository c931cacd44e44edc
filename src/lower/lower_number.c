/* Numbers of formulas: known numbers and run-time numbers. */
#include "core/scalar.h"
#include "lower/lower_impl.h"
#include "op/op_table.h"
#include <math.h>

/* ---- known numbers ---- */

static double real(lz_scalar v)
{
    return v.kind == LZ_SCALAR_FLOAT ? v.re : (double)v.i;
}

static const int8_t binary_ops[LZ_LOPS_COUNT] = {
    [LZ_LOW_OP_ADD] = 1 + LZ_SCALAR_ADD,           [LZ_LOW_OP_SUB] = 1 + LZ_SCALAR_SUB,
    [LZ_LOW_OP_MUL] = 1 + LZ_SCALAR_MUL,           [LZ_LOW_OP_DIV] = 1 + LZ_SCALAR_DIV,
    [LZ_LOW_OP_FLOORDIV] = 1 + LZ_SCALAR_FLOORDIV, [LZ_LOW_OP_MOD] = 1 + LZ_SCALAR_REMAINDER,
    [LZ_LOW_OP_POW] = 1 + LZ_SCALAR_POW,           [LZ_LOW_OP_MIN] = 1 + LZ_SCALAR_MIN,
    [LZ_LOW_OP_MAX] = 1 + LZ_SCALAR_MAX,           [LZ_LOW_OP_BITAND] = 1 + LZ_SCALAR_AND,
    [LZ_LOW_OP_BITOR] = 1 + LZ_SCALAR_OR,          [LZ_LOW_OP_BITXOR] = 1 + LZ_SCALAR_XOR,
    [LZ_LOW_OP_SHL] = 1 + LZ_SCALAR_SHL,           [LZ_LOW_OP_SHR] = 1 + LZ_SCALAR_SHR,
};

static const int8_t compare_ops[LZ_LOPS_COUNT] = {
    [LZ_LOW_OP_EQ] = 1 + LZ_SCALAR_EQ, [LZ_LOW_OP_NE] = 1 + LZ_SCALAR_NE, [LZ_LOW_OP_LT] = 1 + LZ_SCALAR_LT,
    [LZ_LOW_OP_LE] = 1 + LZ_SCALAR_LE, [LZ_LOW_OP_GT] = 1 + LZ_SCALAR_GT, [LZ_LOW_OP_GE] = 1 + LZ_SCALAR_GE,
};

typedef double function(double x);
static function *const functions[LZ_LOPS_COUNT] = {
    [LZ_LOW_OP_FLOOR] = floor, [LZ_LOW_OP_CEIL] = ceil,   [LZ_LOW_OP_TRUNC] = trunc,
    [LZ_LOW_OP_ROUND] = rint,  [LZ_LOW_OP_SQRT] = sqrt,   [LZ_LOW_OP_EXP] = exp,
    [LZ_LOW_OP_EXP2] = exp2,   [LZ_LOW_OP_EXPM1] = expm1, [LZ_LOW_OP_LOG] = log,
    [LZ_LOW_OP_LOG1P] = log1p, [LZ_LOW_OP_LOG2] = log2,   [LZ_LOW_OP_LOG10] = log10,
    [LZ_LOW_OP_SIN] = sin,     [LZ_LOW_OP_COS] = cos,     [LZ_LOW_OP_TAN] = tan,
    [LZ_LOW_OP_ASIN] = asin,   [LZ_LOW_OP_ACOS] = acos,   [LZ_LOW_OP_ATAN] = atan,
    [LZ_LOW_OP_SINH] = sinh,   [LZ_LOW_OP_COSH] = cosh,   [LZ_LOW_OP_TANH] = tanh,
    [LZ_LOW_OP_ASINH] = asinh, [LZ_LOW_OP_ACOSH] = acosh, [LZ_LOW_OP_ATANH] = atanh,
    [LZ_LOW_OP_ERF] = erf,     [LZ_LOW_OP_ERFC] = erfc,
};

/* Operators that leave integers unchanged. */
static bool keeps_whole(lz_low_operator op)
{
    return op == LZ_LOW_OP_FLOOR || op == LZ_LOW_OP_CEIL || op == LZ_LOW_OP_TRUNC || op == LZ_LOW_OP_ROUND;
}

static bool is_nan(lz_scalar v)
{
    return v.kind == LZ_SCALAR_FLOAT && isnan(v.re);
}

static lz_err *known_binary(lz_low_operator op, lz_scalar x, lz_scalar y, lz_scalar *out)
{
    bool extreme = op == LZ_LOW_OP_MIN || op == LZ_LOW_OP_MAX;
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

/* False: only nodes can compute the operator. */
static bool known_rest(lz_low_operator op, const lz_low_value *args, lz_scalar *out)
{
    lz_scalar x = args[0].number;
    if (op == LZ_LOW_OP_AND)
        *out = lz_scalar_bool(x.i && args[1].number.i);
    else if (op == LZ_LOW_OP_OR)
        *out = lz_scalar_bool(x.i || args[1].number.i);
    else if (op == LZ_LOW_OP_NOT)
        *out = lz_scalar_bool(!lz_scalar_is_true(x));
    else if (op == LZ_LOW_OP_BITNOT)
        *out = x.kind == LZ_SCALAR_BOOL ? lz_scalar_bool(!x.i) : lz_scalar_int(~x.i);
    else if (op == LZ_LOW_OP_ATAN2)
        *out = lz_scalar_float(atan2(real(x), real(args[1].number)));
    else if (op == LZ_LOW_OP_SELECT)
        *out = lz_scalar_is_true(x) ? args[1].number : args[2].number;
    else if (functions[op])
        *out = keeps_whole(op) && x.kind != LZ_SCALAR_FLOAT ? x : lz_scalar_float(functions[op](real(x)));
    else
        return false;
    return true;
}

/* ---- run-time numbers ---- */

static const lz_dtype number_dtypes[] = { [LZ_SCALAR_NONE] = LZ_DTYPE_NONE,
                                          [LZ_SCALAR_BOOL] = LZ_BOOL,
                                          [LZ_SCALAR_INT] = LZ_I64,
                                          [LZ_SCALAR_FLOAT] = LZ_F64,
                                          [LZ_SCALAR_COMPLEX] = LZ_C128 };

lz_dtype lz_low_value_number_dtype(const lz_low_value *v)
{
    return number_dtypes[v->number.kind];
}

static lz_scalar_kind kind_of(const lz_low_node *n)
{
    return n->dtype == LZ_BOOL ? LZ_SCALAR_BOOL : n->dtype == LZ_I64 ? LZ_SCALAR_INT : LZ_SCALAR_FLOAT;
}

static lz_low_value run_time(const lz_low_node *n)
{
    return (lz_low_value){ .kind = LZ_LOW_VALUE_NUMBER, .node = n, .number = { .kind = kind_of(n) } };
}

/* A number of the formula language as a node of dtype d. */
static lz_err *number_node(lz_lower *b, const lz_low_value *v, lz_dtype d, const lz_low_node **out)
{
    if (v->number.kind == LZ_SCALAR_COMPLEX)
        return lz_errf(LZ_ERR_UNSUPPORTED, "complex numbers are not supported yet");
    if (v->node)
        return lz_low_make_cast(b, v->node, d, true, out);
    LZ_TRY(lz_low_make_const(b, v->number, lz_low_value_number_dtype(v), true, v->sized, out));
    return lz_low_make_cast(b, *out, d, true, out);
}

lz_err *lz_low_element(lz_lower *b, const lz_low_value *tensor, lz_low_value *out)
{
    const lz_low_node *n = tensor->node;
    lz_dtype d = lz_dtype_is_float((lz_dtype)n->dtype) ? LZ_F64 : n->dtype == LZ_BOOL ? LZ_BOOL : LZ_I64;
    if (lz_dtype_is_complex((lz_dtype)n->dtype))
        return lz_errf(LZ_ERR_UNSUPPORTED, "complex numbers are not supported yet");
    if (n->numel != 1)
        return lz_err_because(LZ_REASON_SHAPE, "a Tensor with %lld elements cannot be converted to Scalar",
                              (long long)n->numel);
    LZ_TRY(lz_low_reshape(b, n, (lz_ints){ NULL, 0 }, &n));
    LZ_TRY(lz_low_make_cast(b, n, d, true, &n));
    *out = run_time(n);
    return NULL;
}

static const uint8_t operands[LZ_LOPS_COUNT] = {
#define X(name, text, n) [LZ_LOW_OP_##name] = n,
    LZ_LOW_OPERATORS(X)
#undef X
};

/* The dtype in which the operator computes numbers. */
static lz_dtype common_dtype(lz_low_operator op, const lz_low_value *args)
{
    lz_scalar_kind kind = LZ_SCALAR_BOOL;
    for (int i = op == LZ_LOW_OP_SELECT; i < operands[op]; i++)
        kind = args[i].number.kind > kind ? args[i].number.kind : kind;
    bool arithmetic = op <= LZ_LOW_OP_POW || op == LZ_LOW_OP_NEG || op == LZ_LOW_OP_ABS;
    bool floats = op == LZ_LOW_OP_DIV || functions[op] || op == LZ_LOW_OP_ATAN2 || op >= LZ_LOW_OP_ERFINV;
    if (floats && !keeps_whole(op) && op != LZ_LOW_OP_SELECT)
        return LZ_F64;
    return arithmetic && kind == LZ_SCALAR_BOOL ? LZ_I64 : number_dtypes[kind];
}

static lz_err *number_op(lz_lower *b, lz_low_operator op, const lz_low_value *args, lz_low_value *out)
{
    const lz_low_node *in[3], *n;
    lz_dtype d = common_dtype(op, args);
    for (int i = 0; i < operands[op]; i++)
        LZ_TRY(number_node(b, &args[i], op == LZ_LOW_OP_SELECT && i == 0 ? LZ_BOOL : d, &in[i]));
    LZ_TRY(lz_low_node_op(b, op, in, true, &n));
    *out = run_time(n);
    return NULL;
}

static lz_err *known_op(lz_lower *b, lz_low_operator op, const lz_low_value *args, lz_low_value *out)
{
    lz_scalar v = { 0 };
    bool truth;
    if (binary_ops[op]) {
        LZ_TRY(known_binary(op, args[0].number, args[1].number, &v));
    } else if (compare_ops[op]) {
        LZ_TRY(
            lz_scalar_compare((lz_scalar_cmp)(compare_ops[op] - 1), args[0].number, args[1].number, &truth));
        v = lz_scalar_bool(truth);
    } else if (op == LZ_LOW_OP_NEG) {
        LZ_TRY(lz_scalar_neg(args[0].number, &v));
    } else if (op == LZ_LOW_OP_ABS) {
        LZ_TRY(lz_scalar_abs(args[0].number, &v));
    } else if (op == LZ_LOW_OP_FMOD) {
        LZ_TRY(known_fmod(args[0].number, args[1].number, &v));
    } else if (!known_rest(op, args, &v)) {
        return number_op(b, op, args, out);
    }
    bool sized = false;
    for (int i = 0; i < operands[op]; i++)
        sized = sized || args[i].sized;
    *out = sized ? lz_low_value_sized(v) : lz_low_value_number(v);
    return NULL;
}

/* ---- elements ---- */

/* An operand as a node with the sizes of `like`, and its dtype or bool. */
static lz_err *element(lz_lower *b, const lz_low_value *v, const lz_low_node *like, bool condition,
                       const lz_low_node **out)
{
    lz_dtype d = condition ? LZ_BOOL : (lz_dtype)like->dtype;
    const lz_low_node *n = NULL;
    if (v->kind == LZ_LOW_VALUE_TENSOR) {
        *out = v->node;
        return NULL;
    }
    LZ_TRY(number_node(b, v, d, &n));
    LZ_TRY(lz_low_cast(b, n, d, &n));
    return lz_low_expand(b, n, lz_low_node_sizes(like), out);
}

static const lz_low_value *first_element(lz_low_operator op, const lz_low_value *args)
{
    for (int i = op == LZ_LOW_OP_SELECT; i < operands[op]; i++)
        if (args[i].kind == LZ_LOW_VALUE_TENSOR)
            return &args[i];
    return args[0].kind == LZ_LOW_VALUE_TENSOR ? &args[0] : NULL;
}

static lz_err *element_op(lz_lower *b, lz_low_operator op, const lz_low_value *args, const lz_low_value *like,
                          lz_low_value *out)
{
    const lz_low_node *in[3], *n;
    for (int i = 0; i < operands[op]; i++)
        LZ_TRY(element(b, &args[i], like->node, op == LZ_LOW_OP_SELECT && i == 0, &in[i]));
    LZ_TRY(lz_low_node_op(b, op, in, false, &n));
    bool same = n->dtype == like->node->dtype;
    *out = (lz_low_value){ .kind = LZ_LOW_VALUE_TENSOR,
                           .dtype = same ? like->dtype : (lz_dtype)n->dtype,
                           .node = n };
    return NULL;
}

static lz_err *no_number(const lz_low_value *found)
{
    lz_text t = { 0 };
    lz_low_value_print(found, &t);
    lz_err *e = lz_text_check(&t);
    e = e ? e : lz_errf(LZ_ERR_INTERNAL, "expected a number, found %.*s", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

lz_err *lz_low_op(lz_lower *b, lz_low_operator op, const lz_low_value *args, lz_low_value *out)
{
    const lz_low_value *like = first_element(op, args);
    bool known = true;
    if (like)
        return element_op(b, op, args, like, out);
    for (int i = 0; i < operands[op]; i++) {
        if (args[i].kind != LZ_LOW_VALUE_NUMBER)
            return no_number(&args[i]);
        known = known && !args[i].node;
    }
    return known ? known_op(b, op, args, out) : number_op(b, op, args, out);
}

/* ---- conversions ---- */

lz_err *lz_low_wrap(lz_lower *b, const lz_low_value *number, lz_low_value *out)
{
    const lz_low_node *n;
    if (number->kind == LZ_LOW_VALUE_TENSOR) {
        *out = *number;
        return NULL;
    }
    LZ_TRY(number_node(b, number, lz_low_value_number_dtype(number), &n));
    *out = lz_low_value_tensor(n);
    return NULL;
}

lz_err *lz_low_convert(lz_lower *b, const lz_low_value *number, lz_scalar_kind to, lz_low_value *out)
{
    lz_scalar v = number->number;
    const lz_low_node *n;
    *out = *number;
    if (number->kind != LZ_LOW_VALUE_NUMBER || v.kind == to)
        return NULL;
    if (number->node) {
        LZ_TRY(number_node(b, number, number_dtypes[to], &n));
        *out = run_time(n);
        return NULL;
    }
    LZ_TRY(lz_scalar_cast(v, number_dtypes[to], &out->number));
    return NULL;
}

/* The number after conversion to dtype d, as a number of d's kind. */
static lz_err *cast_number(lz_lower *b, const lz_low_value *x, lz_dtype to, lz_low_value *out)
{
    char room[16];
    const lz_low_node *n;
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

/* Casts by an operator, for a builder whose `apply` takes operators. */
static lz_err *apply_cast(lz_lower *b, const lz_low_value *x, lz_dtype to, lz_low_value *out)
{
    const lz_low_value args[] = { *x,
                                  lz_low_value_dtype(to),
                                  lz_low_value_none(),
                                  lz_low_value_none(),
                                  lz_low_value_none(),
                                  lz_low_value_bool(false),
                                  lz_low_value_none() };
    *out = *x;
    return x->dtype == to ? NULL : b->apply(b, LZ_OP__to_copy, args, out);
}

lz_err *lz_low_cast_to(lz_lower *b, const lz_low_value *x, lz_dtype to, lz_low_value *out)
{
    const lz_low_node *n;
    lz_dtype carried = lz_low_opmath(to);
    if (x->kind == LZ_LOW_VALUE_NUMBER)
        return cast_number(b, x, to, out);
    if (b->apply)
        return apply_cast(b, x, to, out);
    LZ_TRY(lz_low_cast(b, x->node, to, &n));
    if (carried != to)
        LZ_TRY(lz_low_cast(b, n, carried, &n));
    *out = (lz_low_value){ .kind = LZ_LOW_VALUE_TENSOR, .dtype = to, .node = n };
    return NULL;
}

lz_err *lz_low_bitcast(lz_lower *b, const lz_low_value *x, lz_dtype to, lz_low_value *out)
{
    const lz_low_node *n;
    LZ_TRY(lz_low_map(b, LZ_KERNEL_BITS, &x->node, &n));
    if (n->dtype != (int8_t)to)
        return lz_errf(LZ_ERR_INTERNAL, "cannot bitcast from %s to %s",
                       lz_dtype_get((lz_dtype)x->node->dtype)->name, lz_dtype_get(to)->name);
    *out = lz_low_value_tensor(n);
    return NULL;
}

/* Computes c0 + x * (c1 + ...) by operators. */
static lz_err *apply_poly(lz_lower *b, const lz_low_value *x, const lz_low_value *coefficients,
                          lz_low_value *out)
{
    size_t n = coefficients->list.n;
    LZ_TRY(lz_low_wrap(
        b, n ? &coefficients->list.items[n - 1] : &(lz_low_value){ .kind = LZ_LOW_VALUE_NUMBER }, out));
    for (size_t i = n; i-- > 1;) {
        lz_low_value step[3] = { *x, *out, lz_low_value_int(1) };
        LZ_TRY(b->apply(b, LZ_OP_mul_Tensor, step, &step[0]));
        LZ_TRY(lz_low_wrap(b, &coefficients->list.items[i - 1], &step[1]));
        LZ_TRY(b->apply(b, LZ_OP_add_Tensor, step, out));
    }
    return NULL;
}

lz_err *lz_low_poly(lz_lower *b, const lz_low_value *x, const lz_low_value *coefficients, lz_low_value *out)
{
    size_t n = coefficients->list.n;
    lz_low_value types[2] = { *x, n ? coefficients->list.items[0] : lz_low_value_int(0) }, converted = *x;
    lz_dtype d;
    if (b->apply && x->kind == LZ_LOW_VALUE_TENSOR)
        return apply_poly(b, x, coefficients, out);
    for (size_t i = 0; i < n; i++)
        if (coefficients->list.items[i].number.kind > types[1].number.kind)
            types[1] = coefficients->list.items[i];
    if (x->kind == LZ_LOW_VALUE_TENSOR) {
        LZ_TRY(lz_low_result_type(b, types, 2, &d));
        if (d != x->dtype)
            LZ_TRY(lz_low_cast_to(b, x, d, &converted));
        x = &converted;
    }
    *out = n ? coefficients->list.items[n - 1] : lz_low_value_int(0);
    for (size_t i = n; i-- > 1;) {
        lz_low_value step[2] = { *x, *out };
        LZ_TRY(lz_low_op(b, LZ_LOW_OP_MUL, step, out));
        step[0] = coefficients->list.items[i - 1];
        step[1] = *out;
        LZ_TRY(lz_low_op(b, LZ_LOW_OP_ADD, step, out));
    }
    return NULL;
}
