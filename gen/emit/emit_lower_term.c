/* C for a term of a formula: chooses how a value is held and evaluates its parts. */
#include "gen/emit/c_text.h"
#include "gen/emit/emit_lower.h"
#include "gen/formula/check_reason.h"

/* NOLINTBEGIN(misc-no-recursion): as deep as the formula */

typedef lz_err *eval_fn(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out);

static eval_fn *const evals[LZG_TERM_COUNT];

/* ---- kinds of values ---- */

lzg_rep lzg_rep_of(const lzg_fty *type, bool dynamic)
{
    bool truth = lzg_fty_is(type, LZG_TY_bool) || lzg_fty_is(type, LZG_TY_SymBool);
    if (lzg_fty_is(type, LZG_TY_ScalarType))
        return LZG_REP_DTYPE;
    if (dynamic)
        return LZG_REP_VALUE;
    if (lzg_fty_is_int(type) || lzg_fty_is(type, LZG_TY_DeviceIndex))
        return LZG_REP_INT;
    return truth ? LZG_REP_BOOL : LZG_REP_VALUE;
}

static lzg_rep rep_of(const lzg_term *t)
{
    return lzg_rep_of(t->type, t->dynamic);
}

static bool is_tuple(const lzg_term *t)
{
    return t->type->kind == LZG_FTY_TUPLE;
}

bool lzg_are_plain(const lzg_lower *f, const lzg_term *const *terms, size_t n)
{
    bool plain = true;
    for (size_t i = 0; plain && i < n; i++)
        plain = lzg_is_plain(f, terms[i]);
    return plain;
}

static bool is_plain_cond(const lzg_lower *f, const lzg_term *t)
{
    return rep_of(t->kids[0]) == LZG_REP_BOOL && rep_of(t->kids[1]) == rep_of(t->kids[2])
           && rep_of(t) != LZG_REP_VALUE && lzg_are_plain(f, t->kids, 3);
}

bool lzg_is_plain(const lzg_lower *f, const lzg_term *t)
{
    switch (t->kind) {
    case LZG_TERM_VAR:
        return !is_tuple(t) && f->slots[t->integer].expr.rep == rep_of(t);
    case LZG_TERM_OP:
        return lzg_is_plain_op(f, t);
    case LZG_TERM_PRIM:
        return lzg_is_plain_prim(f, t);
    case LZG_TERM_CONVERT:
        return lzg_is_plain_convert(f, t);
    case LZG_TERM_COND:
        return is_plain_cond(f, t);
    default:
        return t->kind <= LZG_TERM_CONST;
    }
}

/* ---- leaves ---- */

static int bits_of(int64_t v)
{
    uint64_t size = v < 0 ? -(uint64_t)v : (uint64_t)v;
    return size ? 64 - __builtin_clzll(size) : 0;
}

static lz_err *eval_int(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    (void)want;
    int binds = t->integer < 0 ? LZG_BINDS_UNARY : LZG_BINDS_PRIMARY, bits = bits_of(t->integer);
    LZ_TRY(bits > 31 ? lzg_expr_make(f, LZG_REP_INT, binds, out, "INT64_C(%lld)", (long long)t->integer)
                     : lzg_expr_make(f, LZG_REP_INT, binds, out, "%lld", (long long)t->integer));
    out->bits = (uint8_t)bits;
    return NULL;
}

static lz_err *eval_float(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    (void)want;
    lz_text text = { 0 };
    lz_str number = { 0 };
    double v = t->real;
    if (v != v)
        lz_text_puts(&text, "NAN");
    else if (v - v != 0)
        lz_text_puts(&text, v > 0 ? "INFINITY" : "-INFINITY");
    else
        lz_text_double(&text, v);
    lz_err *e = lz_text_save(&text, &f->arena, &number);
    lz_text_deinit(&text);
    return e ? e
             : lzg_expr_make(f, LZG_REP_VALUE, LZG_BINDS_PRIMARY, out, "lz_low_value_float(%.*s)",
                             LZ_FMT(number));
}

static lz_err *eval_str(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    (void)want;
    lz_text text = { 0 };
    lz_str quoted = { 0 };
    lzg_put_c_string(&text, t->text);
    lz_err *e = lz_text_save(&text, &f->arena, &quoted);
    lz_text_deinit(&text);
    return e ? e
             : lzg_expr_make(f, LZG_REP_VALUE, LZG_BINDS_PRIMARY, out, "lz_low_value_str(LZ_STR(%.*s))",
                             LZ_FMT(quoted));
}

static lz_err *eval_bool(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    (void)want;
    return lzg_expr_make(f, LZG_REP_BOOL, LZG_BINDS_PRIMARY, out, "%s", t->truth ? "true" : "false");
}

static lz_err *eval_none(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    (void)t, (void)want;
    return lzg_expr_make(f, LZG_REP_VALUE, LZG_BINDS_PRIMARY, out, "lz_low_value_none()");
}

typedef struct constant {
    const char *name;
    lzg_rep rep;
    const char *c;
} constant;

static const constant constants[] = {
    { "bool", LZG_REP_DTYPE, "LZ_BOOL" },
    { "uint8", LZG_REP_DTYPE, "LZ_U8" },
    { "int8", LZG_REP_DTYPE, "LZ_I8" },
    { "int16", LZG_REP_DTYPE, "LZ_I16" },
    { "int32", LZG_REP_DTYPE, "LZ_I32" },
    { "int64", LZG_REP_DTYPE, "LZ_I64" },
    { "float16", LZG_REP_DTYPE, "LZ_F16" },
    { "bfloat16", LZG_REP_DTYPE, "LZ_BF16" },
    { "float32", LZG_REP_DTYPE, "LZ_F32" },
    { "float64", LZG_REP_DTYPE, "LZ_F64" },
    { "complex64", LZG_REP_DTYPE, "LZ_C64" },
    { "complex128", LZG_REP_DTYPE, "LZ_C128" },
    { "strided", LZG_REP_VALUE, "lz_low_value_layout(LZ_STRIDED)" },
    { "contiguous_format", LZG_REP_VALUE, "lz_low_value_memory_format(LZ_CONTIGUOUS)" },
    { "preserve_format", LZG_REP_VALUE, "lz_low_value_memory_format(LZ_PRESERVE)" },
    { "channels_last", LZG_REP_VALUE, "lz_low_value_memory_format(LZ_CHANNELS_LAST)" },
    { "channels_last_3d", LZG_REP_VALUE, "lz_low_value_memory_format(LZ_CHANNELS_LAST_3D)" },
};

static lz_err *eval_const(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    (void)want;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (lz_str_is(t->text, constants[i].name))
            return lzg_expr_make(f, constants[i].rep, LZG_BINDS_PRIMARY, out, "%s", constants[i].c);
    return lz_err_at(LZ_ERR_UNSUPPORTED, t->loc, "the constant '%.*s' cannot be lowered", LZ_FMT(t->text));
}

/* An optional that is known not to be None is unpacked. */
static lz_err *eval_var(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    (void)want;
    *out = f->slots[t->integer].expr;
    return lzg_as(f, out, rep_of(t));
}

/* ---- several at once ---- */

lz_err *lzg_eval_pointer(lzg_lower *f, const lzg_term *t, lz_str *out)
{
    lzg_c_expr e;
    LZ_TRY(lzg_eval(f, t, &e));
    return lzg_by_pointer(f, &e, out);
}

lz_err *lzg_eval_args(lzg_lower *f, const lzg_term *const *terms, size_t n, lz_str *out)
{
    lz_text text = { 0 };
    lz_err *err = NULL;
    for (size_t i = 0; !err && i < n; i++) {
        lzg_c_expr e;
        lz_str value = { 0 };
        err = lzg_eval(f, terms[i], &e);
        if (!err)
            err = lzg_by_value(f, &e, &value);
        lz_text_puts(&text, i ? ", " : "");
        lz_text_add(&text, value);
    }
    if (!err)
        err = lz_text_save(&text, &f->arena, out);
    lz_text_deinit(&text);
    return err;
}

lz_err *lzg_result(lzg_lower *f, lzg_rep rep, const lzg_c_place *want, lzg_c_expr *out)
{
    static const char *const stems[LZG_REP_COUNT] = { NULL, "n", "c", "d" };
    lz_str name;
    if (want && want->rep == rep) {
        *out = (lzg_c_expr){ .rep = rep, .text = want->text, .binds = LZG_BINDS_PRIMARY, .place = true };
        out->bits = LZG_BITS_ANY;
        return NULL;
    }
    if (rep == LZG_REP_VALUE)
        return lzg_temp(f, out);
    LZ_TRY(lzg_name_count(f, stems[rep], &name));
    lzg_stmt(f, "%s %.*s;", lzg_rep_type(rep), LZ_FMT(name));
    *out = (lzg_c_expr){ .rep = rep, .text = name, .binds = LZG_BINDS_PRIMARY, .bits = LZG_BITS_ANY };
    return NULL;
}

/* ---- calls ---- */

/* results: "&y" or the name of an array. */
static lz_err *put_call(lzg_lower *f, const lzg_term *t, const char *results)
{
    lz_str symbol, args;
    LZ_TRY(lzg_lower_symbol(f->ops, t->function, &symbol));
    LZ_TRY(lzg_eval_args(f, t->kids, t->nkids, &args));
    f->builder = true;
    if (t->nkids)
        lzg_stmt(f, "LZ_TRY(lz_low_apply(b, LZ_OP_%.*s, LZ_ARGS(%.*s), %s));", LZ_FMT(symbol), LZ_FMT(args),
                 results);
    else
        lzg_stmt(f, "LZ_TRY(lz_low_apply(b, LZ_OP_%.*s, NULL, %s));", LZ_FMT(symbol), results);
    return NULL;
}

/* The arguments are copies, so the result may overwrite one of them. */
static lz_err *eval_call(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    lz_str where;
    LZ_TRY(lzg_result(f, LZG_REP_VALUE, want, out));
    LZ_TRY(lz_str_eq(out->text, LZ_STR("results[0]"))
               ? lz_arena_copy(&f->arena, LZ_STR("results"), &where)
               : lz_arena_printf(&f->arena, &where, "&%.*s", LZ_FMT(out->text)));
    return put_call(f, t, where.ptr);
}

/* ---- conditions ---- */

static lz_err *eval_branches(lzg_lower *f, const lzg_term *t, const lzg_c_place *to);

/* An else whose value is a conditional continues as "else if". */
static lz_err *eval_else(lzg_lower *f, const lzg_term *t, const lzg_c_place *to)
{
    lzg_c_expr c;
    bool chain = t->kind == LZG_TERM_COND && rep_of(t->kids[0]) == LZG_REP_BOOL && lzg_is_plain(f, t->kids[0])
                 && !lzg_is_plain(f, t);
    if (chain)
        LZ_TRY(lzg_eval(f, t->kids[0], &c));
    if (!chain || c.risky) {
        LZ_TRY(lzg_open(f, "} else"));
        LZ_TRY(lzg_eval_into(f, t, to));
        lzg_close(f, "");
        return NULL;
    }
    LZ_TRY(lzg_open(f, "} else if (%.*s)", LZ_FMT(c.text)));
    return eval_branches(f, t, to);
}

static lz_err *eval_branches(lzg_lower *f, const lzg_term *t, const lzg_c_place *to)
{
    LZ_TRY(lzg_eval_into(f, t->kids[1], to));
    lzg_leave_block(f);
    return eval_else(f, t->kids[2], to);
}

static lz_err *eval_if(lzg_lower *f, const lzg_term *t, const lzg_c_place *to)
{
    lzg_c_expr c;
    LZ_TRY(lzg_eval_as(f, t->kids[0], LZG_REP_BOOL, &c));
    LZ_TRY(lzg_settle(f, &c));
    LZ_TRY(lzg_open(f, "if (%.*s)", LZ_FMT(c.text)));
    return eval_branches(f, t, to);
}

static lz_err *eval_ternary(lzg_lower *f, const lzg_term *t, lzg_c_expr *out)
{
    lzg_c_expr c, x, y;
    lz_str text;
    LZ_TRY(lzg_eval(f, t->kids[0], &c));
    LZ_TRY(lzg_eval(f, t->kids[1], &x));
    LZ_TRY(lzg_eval(f, t->kids[2], &y));
    LZ_TRY(lzg_operand(f, &c, LZG_BINDS_OR, &text));
    LZ_TRY(lzg_expr_make(f, x.rep, LZG_BINDS_COND, out, "%.*s ? %.*s : %.*s", LZ_FMT(text), LZ_FMT(x.text),
                         LZ_FMT(y.text)));
    out->bits = x.bits > y.bits ? x.bits : y.bits;
    out->risky = c.risky || x.risky || y.risky;
    return NULL;
}

static lz_err *eval_select(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    lz_str args;
    LZ_TRY(lzg_eval_args(f, t->kids, 3, &args));
    LZ_TRY(lzg_result(f, LZG_REP_VALUE, want, out));
    if (f->inner)
        lzg_stmt(f, "LZ_TRY(lz_calc_select(b, &in, LZ_ARGS(%.*s), &%.*s));", LZ_FMT(args), LZ_FMT(out->text));
    else
        lzg_stmt(f, "LZ_TRY(lz_low_op(b, LZ_LOW_OP_SELECT, LZ_ARGS(%.*s), &%.*s));", LZ_FMT(args),
                 LZ_FMT(out->text));
    f->builder = true;
    return NULL;
}

static lz_err *eval_cond(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    if (rep_of(t->kids[0]) == LZG_REP_VALUE)
        return eval_select(f, t, want, out);
    if (is_plain_cond(f, t))
        return eval_ternary(f, t, out);
    LZ_TRY(lzg_result(f, rep_of(t), want, out));
    return eval_if(f, t, &(lzg_c_place){ out->text, out->rep });
}

/* ---- let and check ---- */

/* A variable of that name. A statement's result is written to the variable directly. */
static lz_err *bind_new(lzg_lower *f, lzg_c_slot *s, lz_str name, lzg_rep rep, const lzg_term *value)
{
    bool first = lzg_is_plain(f, value) || value->kind == LZG_TERM_MAP || value->kind == LZG_TERM_FOLD;
    if (first)
        LZ_TRY(lzg_eval_as(f, value, rep, &s->expr));
    if (value->kind == LZG_TERM_FOLD)
        return NULL;
    LZ_TRY(lzg_name_new(f, name, &name));
    if (first)
        return lzg_declare(f, name, &s->expr);
    lzg_c_place to = { name, rep };
    lzg_stmt(f, "%s %.*s;", lzg_rep_type(rep), LZ_FMT(name));
    LZ_TRY(evals[value->kind](f, value, &to, &s->expr));
    int bits = s->expr.bits;
    LZ_TRY(lzg_store(f, &to, &s->expr));
    s->expr = (lzg_c_expr){ .rep = rep, .text = name, .binds = LZG_BINDS_PRIMARY, .bits = (uint8_t)bits };
    s->expr.place = rep == LZG_REP_VALUE;
    return NULL;
}

static lz_err *bind(lzg_lower *f, uint32_t slot, const lzg_term *value)
{
    const lzg_slot *what = &f->def->checked.slots[slot];
    lzg_c_slot *s = &f->slots[slot];
    if (is_tuple(value))
        return lzg_eval_parts(f, value, &s->parts);
    lzg_rep rep = lzg_rep_of(what->type, what->dynamic);
    if (value->kind == LZG_TERM_VAR && f->slots[value->integer].expr.rep == rep) {
        s->expr = f->slots[value->integer].expr;
        return NULL;
    }
    return bind_new(f, s, what->name, rep, value);
}

/* A part that already has a name keeps it. */
static lz_err *bind_part(lzg_lower *f, uint32_t slot, lzg_c_expr *part)
{
    const lzg_slot *what = &f->def->checked.slots[slot];
    lzg_c_slot *s = &f->slots[slot];
    if (!s->used)
        return NULL;
    LZ_TRY(lzg_as(f, part, lzg_rep_of(what->type, what->dynamic)));
    LZ_TRY(lzg_settle(f, part));
    s->expr = *part;
    return NULL;
}

static lz_err *bind_let(lzg_lower *f, const lzg_term *t)
{
    const lzg_term *value = t->kids[0];
    lzg_c_expr *parts;
    if (t->nslots == 1)
        return bind(f, t->slots[0], value);
    for (size_t i = 0; value->kind == LZG_TERM_TUPLE && i < t->nslots; i++)
        if (f->slots[t->slots[i]].used)
            LZ_TRY(bind(f, t->slots[i], value->kids[i]));
    if (value->kind == LZG_TERM_TUPLE)
        return NULL;
    LZ_TRY(lzg_eval_parts(f, value, &parts));
    for (size_t i = 0; i < t->nslots; i++)
        LZ_TRY(bind_part(f, t->slots[i], &parts[i]));
    return NULL;
}

static bool negated(lzg_op *op)
{
    static const lzg_op pairs[][2] = { { LZG_OP_EQ, LZG_OP_NE },
                                       { LZG_OP_LT, LZG_OP_GE },
                                       { LZG_OP_LE, LZG_OP_GT } };
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 2; k++)
            if (*op == pairs[i][k]) {
                *op = pairs[i][1 - k];
                return true;
            }
    return false;
}

/* The opposite of a condition, in C. */
static lz_err *eval_opposite(lzg_lower *f, const lzg_term *t, lz_str *out)
{
    lzg_c_expr c;
    lz_str cond;
    lzg_term opposite = *t;
    bool plain = t->kind == LZG_TERM_OP && lzg_is_plain(f, t) && negated(&opposite.op);
    LZ_TRY(lzg_eval(f, plain ? &opposite : t, &c));
    LZ_TRY(lzg_settle(f, &c));
    *out = c.text;
    if (plain)
        return NULL;
    LZ_TRY(lzg_operand(f, &c, LZG_BINDS_PRIMARY, &cond));
    return lz_arena_printf(&f->arena, out, "!%.*s", LZ_FMT(cond));
}

/* "LZ_REASON_SHAPE" */
static const char *reason_of(const lzg_lower *f, const lzg_term *check)
{
    static const char *const names[] = {
#define X(name, text) [LZ_REASON_##name] = "LZ_REASON_" #name,
        LZ_REASONS(X)
#undef X
    };
    return names[lzg_check_reason(f->subjects, check)];
}

/* A condition on run-time numbers is passed to the builder. */
static lz_err *put_require(lzg_lower *f, const lzg_term *t)
{
    lzg_c_expr c;
    lz_str cond, parts;
    LZ_TRY(lzg_eval(f, t->kids[0], &c));
    LZ_TRY(lzg_by_pointer(f, &c, &cond));
    LZ_TRY(lzg_eval_args(f, t->kids + 2, t->nkids - 2, &parts));
    lzg_stmt(f, "LZ_TRY(lz_low_require(b, %.*s, %s, LZ_ARGS(%.*s), %zu));", LZ_FMT(cond), reason_of(f, t),
             LZ_FMT(parts), t->nkids - 2);
    return NULL;
}

/* A term without statements and without computation. */
static bool are_brief(const lzg_lower *f, const lzg_term *const *terms, size_t n)
{
    bool brief = lzg_are_plain(f, terms, n);
    for (size_t i = 0; i < n; i++)
        brief = brief && (terms[i]->kind < LZG_TERM_CALL || terms[i]->kind == LZG_TERM_PRIM);
    return brief;
}

static lz_err *put_check(lzg_lower *f, const lzg_term *t)
{
    lz_str cond, parts;
    bool plain = are_brief(f, t->kids + 2, t->nkids - 2);
    if (rep_of(t->kids[0]) == LZG_REP_VALUE)
        return put_require(f, t);
    LZ_TRY(eval_opposite(f, t->kids[0], &cond));
    if (!plain)
        LZ_TRY(lzg_open(f, "if (%.*s)", LZ_FMT(cond)));
    else
        lzg_stmt(f, "if (%.*s)", LZ_FMT(cond));
    f->indent += plain;
    LZ_TRY(lzg_eval_args(f, t->kids + 2, t->nkids - 2, &parts));
    lzg_stmt(f, "return lz_low_message(%s, LZ_ARGS(%.*s), %zu);", reason_of(f, t), LZ_FMT(parts),
             t->nkids - 2);
    f->indent -= plain;
    if (!plain)
        lzg_close(f, "");
    return NULL;
}

/* The statements before the value of a block. */
static lz_err *enter(lzg_lower *f, const lzg_term *t, const lzg_term **value)
{
    for (; t->kind == LZG_TERM_LET || t->kind == LZG_TERM_CHECK; t = t->kids[1])
        LZ_TRY(t->kind == LZG_TERM_LET ? bind_let(f, t) : put_check(f, t));
    *value = t;
    return NULL;
}

static lz_err *eval_block(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    const lzg_term *value;
    LZ_TRY(enter(f, t, &value));
    if (!want)
        return lzg_eval(f, value, out);
    LZ_TRY(lzg_eval_into(f, value, want));
    return lzg_result(f, want->rep, want, out);
}

/* ---- tuples ---- */

static lz_err *eval_get(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    (void)want;
    lzg_c_expr *parts;
    LZ_TRY(lzg_eval_parts(f, t->kids[0], &parts));
    *out = parts[t->integer];
    return lzg_as(f, out, rep_of(t));
}

static lz_err *array_part(lzg_lower *f, lz_str array, size_t i, lzg_c_expr *out)
{
    LZ_TRY(lzg_expr_make(f, LZG_REP_VALUE, LZG_BINDS_PRIMARY, out, "%.*s[%zu]", LZ_FMT(array), i));
    out->place = true;
    return NULL;
}

/* Into an array of its own. */
static lz_err *parts_in_array(lzg_lower *f, const lzg_term *t, lzg_c_expr *parts)
{
    lz_str array;
    LZ_TRY(lzg_name_count(f, "r", &array));
    lzg_stmt(f, "lz_low_value %.*s[%zu];", LZ_FMT(array), t->type->n);
    LZ_TRY(lzg_eval_into(f, t, &(lzg_c_place){ array, LZG_REP_VALUE }));
    for (size_t i = 0; i < t->type->n; i++)
        LZ_TRY(array_part(f, array, i, &parts[i]));
    return NULL;
}

static lz_err *converted_parts(lzg_lower *f, const lzg_term *t, lzg_c_expr *parts)
{
    lzg_c_expr *from;
    LZ_TRY(lzg_eval_parts(f, t->kids[0], &from));
    for (size_t i = 0; i < t->type->n; i++) {
        parts[i] = from[i];
        LZ_TRY(lzg_convert(f, &parts[i], t->kids[0]->type->items[i], t->type->items[i], NULL));
    }
    return NULL;
}

lz_err *lzg_eval_parts(lzg_lower *f, const lzg_term *t, lzg_c_expr **out)
{
    LZ_TRY(enter(f, t, &t));
    LZ_TRY(lz_arena_new(&f->arena, out, t->type->n));
    for (size_t i = 0; t->kind == LZG_TERM_TUPLE && i < t->nkids; i++)
        LZ_TRY(lzg_eval(f, t->kids[i], &(*out)[i]));
    switch (t->kind) {
    case LZG_TERM_TUPLE:
        return NULL;
    case LZG_TERM_VAR:
        *out = f->slots[t->integer].parts;
        return NULL;
    case LZG_TERM_FOLD:
        return lzg_eval_fold(f, t, *out);
    case LZG_TERM_LOOP:
        return lzg_eval_loop(f, t, *out);
    case LZG_TERM_CONVERT:
        return converted_parts(f, t, *out);
    default:
        return parts_in_array(f, t, *out);
    }
}

static lz_err *parts_into(lzg_lower *f, const lzg_term *t, const lzg_c_place *to)
{
    lzg_c_expr *parts, part;
    LZ_TRY(lzg_eval_parts(f, t, &parts));
    for (size_t i = 0; i < t->type->n; i++) {
        LZ_TRY(array_part(f, to->text, i, &part));
        LZ_TRY(lzg_store(f, &(lzg_c_place){ part.text, LZG_REP_VALUE }, &parts[i]));
    }
    return NULL;
}

static lz_err *tuple_into(lzg_lower *f, const lzg_term *t, const lzg_c_place *to)
{
    LZ_TRY(enter(f, t, &t));
    if (t->kind == LZG_TERM_CALL)
        return put_call(f, t, to->text.ptr);
    return t->kind == LZG_TERM_COND ? eval_if(f, t, to) : parts_into(f, t, to);
}

static lz_err *eval_turns(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    (void)want;
    return t->kind == LZG_TERM_FOLD ? lzg_eval_fold(f, t, out) : lzg_eval_loop(f, t, out);
}

/* ---- all of them ---- */

static eval_fn *const evals[LZG_TERM_COUNT] = {
    [LZG_TERM_INT] = eval_int,
    [LZG_TERM_FLOAT] = eval_float,
    [LZG_TERM_STR] = eval_str,
    [LZG_TERM_BOOL] = eval_bool,
    [LZG_TERM_NONE] = eval_none,
    [LZG_TERM_CONST] = eval_const,
    [LZG_TERM_VAR] = eval_var,
    [LZG_TERM_CALL] = eval_call,
    [LZG_TERM_OP] = lzg_eval_op,
    [LZG_TERM_PRIM] = lzg_eval_prim,
    [LZG_TERM_COND] = eval_cond,
    [LZG_TERM_GET] = eval_get,
    [LZG_TERM_LIST] = lzg_eval_list,
    [LZG_TERM_MAP] = lzg_eval_map,
    [LZG_TERM_FOLD] = eval_turns,
    [LZG_TERM_LOOP] = eval_turns,
    [LZG_TERM_LET] = eval_block,
    [LZG_TERM_CHECK] = eval_block,
    [LZG_TERM_CONVERT] = lzg_eval_convert,
};

lz_err *lzg_eval(lzg_lower *f, const lzg_term *t, lzg_c_expr *out)
{
    return evals[t->kind](f, t, NULL, out);
}

lz_err *lzg_eval_as(lzg_lower *f, const lzg_term *t, lzg_rep rep, lzg_c_expr *out)
{
    LZ_TRY(lzg_eval(f, t, out));
    return lzg_as(f, out, rep);
}

lz_err *lzg_eval_into(lzg_lower *f, const lzg_term *t, const lzg_c_place *to)
{
    lzg_c_expr e;
    if (is_tuple(t))
        return tuple_into(f, t, to);
    LZ_TRY(evals[t->kind](f, t, to, &e));
    return lzg_store(f, to, &e);
}

/* NOLINTEND(misc-no-recursion) */
