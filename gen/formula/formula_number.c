/* Type rules for constants, operators and attributes. */
#include "gen/formula/formula_check_impl.h"
#include <math.h>

/* ---- constants ---- */

typedef struct constant {
    const char *name;
    lzg_base_ty type;
    const char *text; /* of a constant that is no number */
    double real;
    int64_t integer;
    bool in_defaults; /* valid only there */
} constant;

#define DTYPE(name)                                                                                          \
    {                                                                                                        \
#name, LZG_TY_ScalarType, #name, 0, 0, false                                                         \
    }
static const constant constants[] = {
    { "inf", LZG_TY_float, NULL, INFINITY, 0, false },
    { "nan", LZG_TY_float, NULL, NAN, 0, false },
    { "pi", LZG_TY_float, NULL, 3.14159265358979323846, 0, false },
    { "Mean", LZG_TY_int, NULL, 0, 1, false },
    { "Sum", LZG_TY_int, NULL, 0, 2, false },
    DTYPE(bool),
    DTYPE(uint8),
    DTYPE(int8),
    DTYPE(int16),
    DTYPE(int32),
    DTYPE(int64),
    DTYPE(float16),
    DTYPE(bfloat16),
    DTYPE(float32),
    DTYPE(float64),
    DTYPE(complex64),
    DTYPE(complex128),
    { "long", LZG_TY_ScalarType, "int64", 0, 0, true },
    { "strided", LZG_TY_Layout, "strided", 0, 0, false },
    { "contiguous_format", LZG_TY_MemoryFormat, "contiguous_format", 0, 0, false },
    { "preserve_format", LZG_TY_MemoryFormat, "preserve_format", 0, 0, false },
    { "channels_last", LZG_TY_MemoryFormat, "channels_last", 0, 0, false },
    { "channels_last_3d", LZG_TY_MemoryFormat, "channels_last_3d", 0, 0, false },
};
#undef DTYPE

static const constant *find_constant(lz_str name, bool defaults)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (lz_str_is(name, constants[i].name) && (defaults || !constants[i].in_defaults))
            return &constants[i];
    return NULL;
}

bool lzg_is_constant(lz_str name)
{
    return find_constant(name, false) != NULL;
}

lz_err *lzg_check_constant(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    const constant *k = find_constant(e->text, c->defaults);
    *out = NULL;
    if (!k)
        return NULL;
    lzg_term proto = { .kind = k->type == LZG_TY_float ? LZG_TERM_FLOAT
                               : k->type == LZG_TY_int ? LZG_TERM_INT
                                                       : LZG_TERM_CONST,
                       .type = lzg_fty_base(k->type),
                       .loc = e->loc,
                       .text = lz_str_of(k->text),
                       .real = k->real,
                       .integer = k->integer };
    return lzg_term_make(c, proto, NULL, 0, out);
}

/* ---- operators ---- */

/* The operator on tensors for a C operator; NULL: there is none. */
static const char *const operator_names[LZG_OP_COUNT] = {
    [LZG_OP_EQ] = "eq",
    [LZG_OP_NE] = "ne",
    [LZG_OP_LE] = "le",
    [LZG_OP_GE] = "ge",
    [LZG_OP_LT] = "lt",
    [LZG_OP_GT] = "gt",
    [LZG_OP_BITOR] = "bitwise_or",
    [LZG_OP_BITXOR] = "bitwise_xor",
    [LZG_OP_BITAND] = "bitwise_and",
    [LZG_OP_SHL] = "bitwise_left_shift",
    [LZG_OP_SHR] = "bitwise_right_shift",
    [LZG_OP_ADD] = "add",
    [LZG_OP_SUB] = "sub",
    [LZG_OP_MUL] = "mul",
    [LZG_OP_FLOORDIV] = "floor_divide",
    [LZG_OP_DIV] = "div",
    [LZG_OP_MOD] = "remainder",
    [LZG_OP_POW] = "pow",
    [LZG_OP_NEG] = "neg",
    [LZG_OP_BITNOT] = "bitwise_not",
};

/* The operator to use instead. */
static const char *const tensor_hints[LZG_OP_COUNT] = {
    [LZG_OP_OR] = "logical_or",
    [LZG_OP_AND] = "logical_and",
    [LZG_OP_NOT] = "logical_not",
    [LZG_OP_IN] = "isin",
};

static lz_err *cannot_take(lzg_checker *c, const lzg_expr *e, const lzg_term *const *operands, size_t n)
{
    const char *a, *b = "";
    for (size_t i = 0; i < n; i++)
        if (operands[i]->type->kind == LZG_FTY_OPTIONAL)
            return lzg_maybe_none(c, operands[i]->loc, operands[i]->type);
    LZ_TRY(lzg_show(c, operands[0]->type, &a));
    if (n > 1)
        LZ_TRY(lzg_show(c, operands[1]->type, &b));
    return lz_err_at(LZ_ERR_MODEL, e->at, "'%s' cannot take %s%s%s", lzg_op_spelling(e->op), a,
                     n > 1 ? " and " : "", b);
}

static bool any_tensor(const lzg_term *const *operands, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any = any || lzg_fty_is(operands[i]->type, LZG_TY_Tensor);
    return any;
}

static lz_err *on_tensors(lzg_checker *c, const lzg_expr *e, const lzg_term *const *operands, size_t n,
                          const lzg_term **out)
{
    lzg_actual args[2] = { 0 };
    lzg_call call = { .loc = e->loc, .at = e->at, .spelling = lzg_op_spelling(e->op), .args = args, .n = n };
    if (!operator_names[e->op])
        return lz_err_at(LZ_ERR_MODEL, e->at, "'%s' cannot take a Tensor: use %s", lzg_op_spelling(e->op),
                         tensor_hints[e->op]);
    call.name = lz_str_of(operator_names[e->op]);
    for (size_t i = 0; i < n; i++) {
        if (operands[i]->type->kind == LZG_FTY_OPTIONAL)
            return lzg_maybe_none(c, operands[i]->loc, operands[i]->type);
        args[i] = (lzg_actual){ .term = operands[i], .loc = operands[i]->loc };
    }
    return lzg_check_call(c, &call, out);
}

static lz_err *operation(lzg_checker *c, const lzg_expr *e, const lzg_fty *type,
                         const lzg_term *const *operands, size_t n, const lzg_term **out)
{
    lzg_term proto = { .kind = LZG_TERM_OP, .op = e->op, .type = type, .loc = e->loc };
    for (size_t i = 0; i < n; i++)
        proto.dynamic = proto.dynamic || operands[i]->dynamic;
    return lzg_term_make(c, proto, operands, n, out);
}

static lz_err *negative(lzg_checker *c, const lzg_expr *e, const lzg_term *literal, const lzg_term **out)
{
    lzg_term proto = *literal;
    proto.loc = e->loc;
    proto.integer = -literal->integer;
    proto.real = -literal->real;
    return lzg_term_make(c, proto, NULL, 0, out);
}

/* Whether a value has bits: integers and elements do. */
static bool has_bits(const lzg_checker *c, const lzg_fty *t)
{
    return lzg_fty_is_int(t) || (c->inner && lzg_fty_is(t, LZG_TY_Scalar));
}

lz_err *lzg_check_unary(lzg_checker *c, const lzg_expr *e, const lzg_term *operand, const lzg_term **out)
{
    const lzg_fty *t = operand->type;
    bool good = e->op == LZG_OP_NOT      ? lzg_fty_is(t, LZG_TY_bool)
                : e->op == LZG_OP_BITNOT ? has_bits(c, t)
                                         : lzg_fty_is_number(t);
    if (any_tensor(&operand, 1))
        return on_tensors(c, e, &operand, 1, out);
    if (!good)
        return cannot_take(c, e, &operand, 1);
    if (e->op == LZG_OP_NEG && (operand->kind == LZG_TERM_INT || operand->kind == LZG_TERM_FLOAT))
        return negative(c, e, operand, out);
    return operation(c, e, t, &operand, 1, out);
}

/* ---- binary operators: each says the type of the result, NULL if it cannot be ---- */

typedef lz_err *binary_rule(lzg_checker *c, lzg_op op, const lzg_fty *a, const lzg_fty *b,
                            const lzg_fty **out);

static lz_err *logic_rule(lzg_checker *c, lzg_op op, const lzg_fty *a, const lzg_fty *b, const lzg_fty **out)
{
    (void)c, (void)op, (void)b;
    *out = lzg_fty_is(a, LZG_TY_bool) && lzg_fty_is(b, LZG_TY_bool) ? a : NULL;
    return NULL;
}

static bool comparable(const lzg_fty *t)
{
    while (t->kind == LZG_FTY_LIST && t->elem)
        t = t->elem;
    return t->kind == LZG_FTY_LIST || (t->kind == LZG_FTY_BASE && t->base != LZG_TY_Tensor);
}

static lz_err *equal_rule(lzg_checker *c, lzg_op op, const lzg_fty *a, const lzg_fty *b, const lzg_fty **out)
{
    (void)op;
    LZ_TRY(lzg_fty_join(c->arena, a, b, out));
    *out = *out && comparable(*out) ? lzg_fty_base(LZG_TY_bool) : NULL;
    return NULL;
}

static lz_err *order_rule(lzg_checker *c, lzg_op op, const lzg_fty *a, const lzg_fty *b, const lzg_fty **out)
{
    (void)c, (void)op;
    *out = lzg_fty_is_number(a) && lzg_fty_is_number(b) ? lzg_fty_base(LZG_TY_bool) : NULL;
    return NULL;
}

static lz_err *in_rule(lzg_checker *c, lzg_op op, const lzg_fty *a, const lzg_fty *b, const lzg_fty **out)
{
    *out = NULL;
    if (b->kind != LZG_FTY_LIST)
        return NULL;
    return equal_rule(c, op, a, b->elem ? b->elem : a, out);
}

static lz_err *bits_rule(lzg_checker *c, lzg_op op, const lzg_fty *a, const lzg_fty *b, const lzg_fty **out)
{
    (void)op;
    *out = NULL;
    return has_bits(c, a) && has_bits(c, b) ? lzg_fty_join(c->arena, a, b, out) : NULL;
}

static lz_err *number_rule(lzg_checker *c, lzg_op op, const lzg_fty *a, const lzg_fty *b, const lzg_fty **out)
{
    (void)op;
    *out = NULL;
    return lzg_fty_is_number(a) && lzg_fty_is_number(b) ? lzg_fty_join(c->arena, a, b, out) : NULL;
}

/* True division: of integers too. */
static lz_err *div_rule(lzg_checker *c, lzg_op op, const lzg_fty *a, const lzg_fty *b, const lzg_fty **out)
{
    LZ_TRY(number_rule(c, op, a, b, out));
    if (*out && lzg_fty_is_int(*out))
        *out = lzg_fty_base(LZG_TY_float);
    return NULL;
}

/* A list of the same items, of any length. */
static lz_err *of_any_length(lzg_checker *c, const lzg_fty *list, const lzg_fty **out)
{
    *out = list;
    return list && list->size >= 0 ? lzg_fty_list(c->arena, list->elem, -1, out) : NULL;
}

/* Lists are joined by +. */
static lz_err *add_rule(lzg_checker *c, lzg_op op, const lzg_fty *a, const lzg_fty *b, const lzg_fty **out)
{
    if (a->kind != LZG_FTY_LIST || b->kind != LZG_FTY_LIST)
        return number_rule(c, op, a, b, out);
    LZ_TRY(lzg_fty_join(c->arena, a, b, out));
    return of_any_length(c, *out, out);
}

/* And repeated by *. */
static lz_err *mul_rule(lzg_checker *c, lzg_op op, const lzg_fty *a, const lzg_fty *b, const lzg_fty **out)
{
    if (a->kind == LZG_FTY_LIST && lzg_fty_is_int(b))
        return of_any_length(c, a, out);
    return number_rule(c, op, a, b, out);
}

static binary_rule *const rules[LZG_OP_COUNT] = {
    [LZG_OP_OR] = logic_rule,   [LZG_OP_AND] = logic_rule,   [LZG_OP_EQ] = equal_rule,
    [LZG_OP_NE] = equal_rule,   [LZG_OP_LE] = order_rule,    [LZG_OP_GE] = order_rule,
    [LZG_OP_LT] = order_rule,   [LZG_OP_GT] = order_rule,    [LZG_OP_IN] = in_rule,
    [LZG_OP_BITOR] = bits_rule, [LZG_OP_BITXOR] = bits_rule, [LZG_OP_BITAND] = bits_rule,
    [LZG_OP_SHL] = bits_rule,   [LZG_OP_SHR] = bits_rule,    [LZG_OP_ADD] = add_rule,
    [LZG_OP_SUB] = number_rule, [LZG_OP_MUL] = mul_rule,     [LZG_OP_FLOORDIV] = number_rule,
    [LZG_OP_DIV] = div_rule,    [LZG_OP_MOD] = number_rule,  [LZG_OP_POW] = number_rule,
};

lz_err *lzg_check_binary(lzg_checker *c, const lzg_expr *e, const lzg_term *left, const lzg_term *right,
                         const lzg_term **out)
{
    const lzg_term *operands[2] = { left, right };
    const lzg_fty *type;
    if (any_tensor(operands, 2) && right->type->kind != LZG_FTY_LIST && left->type->kind != LZG_FTY_LIST)
        return on_tensors(c, e, operands, 2, out);
    if ((e->op == LZG_OP_EQ || e->op == LZG_OP_NE)
        && (left->type->kind == LZG_FTY_NONE || right->type->kind == LZG_FTY_NONE))
        return lz_err_at(LZ_ERR_MODEL, e->at, "None cannot be compared: use 'is None'");
    LZ_TRY(rules[e->op](c, e->op, left->type, right->type, &type));
    if (!type)
        return cannot_take(c, e, operands, 2);
    return operation(c, e, type, operands, 2, out);
}

/* ---- attributes ---- */

typedef struct attribute {
    lzg_prim prim;
    lzg_base_ty of;
    const char *name;
    lzg_base_ty type;
    bool list;
} attribute;

static const attribute attributes[] = {
#define X(NAME, of, name, type, list) { LZG_PRIM_##NAME, LZG_TY_##of, #name, LZG_TY_##type, list },
    LZG_ATTRIBUTES(X)
#undef X
};

static lz_err *unknown_attribute(lzg_checker *c, const lzg_expr *e, const lzg_fty *t)
{
    lzg_suggestion s = lzg_suggest(e->text);
    const char *hint, *shown;
    if (t->kind == LZG_FTY_OPTIONAL)
        return lzg_maybe_none(c, e->loc, t);
    if (lzg_fty_is(t, LZG_TY_Tensor) && lzg_callees_find(c->callees, (lz_str){ 0 }, e->text))
        return lz_err_at(LZ_ERR_MODEL, e->at, "'%.*s' is an operator: call it", LZ_FMT(e->text));
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (lzg_fty_is(t, attributes[i].of))
            lzg_suggest_offer(&s, lz_str_of(attributes[i].name));
    LZ_TRY(lzg_suggest_text(&s, c->arena, &hint));
    LZ_TRY(lzg_show(c, t, &shown));
    return lz_err_at(LZ_ERR_MODEL, e->at, "%s has no attribute '%.*s'%s", shown, LZ_FMT(e->text), hint);
}

lz_err *lzg_check_attribute(lzg_checker *c, const lzg_expr *e, const lzg_term *whose, const lzg_term **out)
{
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        const attribute *a = &attributes[i];
        if (!lzg_fty_is(whose->type, a->of) || !lz_str_is(e->text, a->name))
            continue;
        lzg_term proto = { .kind = LZG_TERM_PRIM, .prim = a->prim, .loc = e->loc };
        proto.type = lzg_fty_base(a->type);
        if (a->list)
            LZ_TRY(lzg_fty_list(c->arena, proto.type, -1, &proto.type));
        return lzg_term_make(c, proto, &whose, 1, out);
    }
    return unknown_attribute(c, e, whose->type);
}
