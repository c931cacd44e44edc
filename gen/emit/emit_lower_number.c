/* C for operators and conversions of a formula, of numbers and of elements. */
#include "gen/emit/emit_lower.h"

/* NOLINTBEGIN(misc-no-recursion): as deep as the formula */

static lzg_rep rep_of(const lzg_term *t)
{
    return lzg_rep_of(t->type, t->dynamic);
}

/* ---- operators ---- */

/* An operator in C, for operands that are C values, and as an lz_low_operator. */
typedef struct op_row {
    const char *lop;
    const char *c;    /* infix; NULL: it has none */
    const char *calc; /* the function that checks for overflow; NULL: no overflow is possible */
    int binds;
} op_row;

static const op_row op_rows[LZG_OP_COUNT] = {
    [LZG_OP_OR] = { "OR", "||", NULL, LZG_BINDS_OR },
    [LZG_OP_AND] = { "AND", "&&", NULL, LZG_BINDS_AND },
    [LZG_OP_EQ] = { "EQ", "==", NULL, LZG_BINDS_EQ },
    [LZG_OP_NE] = { "NE", "!=", NULL, LZG_BINDS_EQ },
    [LZG_OP_LE] = { "LE", "<=", NULL, LZG_BINDS_REL },
    [LZG_OP_GE] = { "GE", ">=", NULL, LZG_BINDS_REL },
    [LZG_OP_LT] = { "LT", "<", NULL, LZG_BINDS_REL },
    [LZG_OP_GT] = { "GT", ">", NULL, LZG_BINDS_REL },
    [LZG_OP_BITOR] = { "BITOR", "|", NULL, LZG_BINDS_BITOR },
    [LZG_OP_BITXOR] = { "BITXOR", "^", NULL, LZG_BINDS_BITXOR },
    [LZG_OP_BITAND] = { "BITAND", "&", NULL, LZG_BINDS_BITAND },
    [LZG_OP_SHL] = { "SHL", NULL, NULL, 0 },
    [LZG_OP_SHR] = { "SHR", NULL, NULL, 0 },
    [LZG_OP_ADD] = { "ADD", "+", "lz_calc_add", LZG_BINDS_ADD },
    [LZG_OP_SUB] = { "SUB", "-", "lz_calc_sub", LZG_BINDS_ADD },
    [LZG_OP_MUL] = { "MUL", "*", "lz_calc_mul", LZG_BINDS_MUL },
    [LZG_OP_FLOORDIV] = { "FLOORDIV", NULL, "lz_calc_div", 0 },
    [LZG_OP_DIV] = { "DIV", NULL, NULL, 0 },
    [LZG_OP_MOD] = { "MOD", NULL, "lz_calc_mod", 0 },
    [LZG_OP_POW] = { "POW", NULL, "lz_calc_pow", 0 },
    [LZG_OP_NEG] = { "NEG", "-", "lz_calc_neg", LZG_BINDS_UNARY },
    [LZG_OP_NOT] = { "NOT", "!", NULL, LZG_BINDS_UNARY },
    [LZG_OP_BITNOT] = { "BITNOT", "~", NULL, LZG_BINDS_UNARY },
};

static bool in_c(const lzg_term *t)
{
    const op_row *row = &op_rows[t->op];
    bool c = rep_of(t) != LZG_REP_VALUE && (row->c || row->calc);
    for (size_t i = 0; c && i < t->nkids; i++)
        c = rep_of(t->kids[i]) != LZG_REP_VALUE && rep_of(t->kids[i]) == rep_of(t->kids[0]);
    return c;
}

bool lzg_is_plain_op(const lzg_lower *f, const lzg_term *t)
{
    return in_c(t) && lzg_are_plain(f, t->kids, t->nkids);
}

static int max(int a, int b)
{
    return a > b ? a : b;
}

/* A bound on the result's magnitude. */
static int bits_after(lzg_op op, const lzg_c_expr *x, const lzg_c_expr *y)
{
    switch (op) {
    case LZG_OP_ADD:
    case LZG_OP_SUB:
        return max(x->bits, y->bits) + 1;
    case LZG_OP_MUL:
        return x->bits + y->bits;
    case LZG_OP_FLOORDIV:
        return x->bits;
    case LZG_OP_MOD:
        return y->bits;
    default:
        return LZG_BITS_ANY;
    }
}

static lz_err *make_calc(lzg_lower *f, const op_row *row, const lzg_c_expr *x, const lzg_c_expr *y,
                         lzg_c_expr *out)
{
    LZ_TRY(lzg_expr_make(f, LZG_REP_INT, LZG_BINDS_PRIMARY, out, "%s(&fault, %.*s, %.*s)", row->calc,
                         LZ_FMT(x->text), LZ_FMT(y->text)));
    f->faults = true;
    out->risky = true;
    return NULL;
}

static lz_err *make_binary(lzg_lower *f, const lzg_term *t, const lzg_c_expr *x, const lzg_c_expr *y,
                           lzg_c_expr *out)
{
    const op_row *row = &op_rows[t->op];
    lz_str left, right;
    int bits = x->rep == LZG_REP_INT ? bits_after(t->op, x, y) : 0;
    bool whole = rep_of(t) == LZG_REP_INT && row->calc;
    if (whole && (bits > LZG_BITS_SAFE || !row->c)) {
        LZ_TRY(make_calc(f, row, x, y, out));
    } else {
        bool loose = t->op == LZG_OP_AND || t->op == LZG_OP_OR || t->op == LZG_OP_BITAND
                     || t->op == LZG_OP_BITOR || t->op == LZG_OP_BITXOR;
        LZ_TRY(lzg_operand(f, x, loose && x->binds != row->binds ? LZG_BINDS_EQ : row->binds, &left));
        LZ_TRY(lzg_operand(f, y, loose ? LZG_BINDS_EQ : row->binds + 1, &right));
        LZ_TRY(lzg_expr_make(f, rep_of(t), row->binds, out, "%.*s %s %.*s", LZ_FMT(left), row->c,
                             LZ_FMT(right)));
        out->risky = x->risky || y->risky;
    }
    out->bits = (uint8_t)(bits > LZG_BITS_ANY ? LZG_BITS_ANY : bits);
    return NULL;
}

static lz_err *make_unary(lzg_lower *f, const lzg_term *t, const lzg_c_expr *x, lzg_c_expr *out)
{
    const op_row *row = &op_rows[t->op];
    lz_str text;
    bool whole = t->op == LZG_OP_NEG && x->bits > LZG_BITS_SAFE;
    if (whole) {
        LZ_TRY(lzg_expr_make(f, LZG_REP_INT, LZG_BINDS_PRIMARY, out, "%s(&fault, %.*s)", row->calc,
                             LZ_FMT(x->text)));
        f->faults = true;
    } else {
        LZ_TRY(lzg_operand(f, x, LZG_BINDS_PRIMARY, &text));
        LZ_TRY(lzg_expr_make(f, rep_of(t), row->binds, out, "%s%.*s", row->c, LZ_FMT(text)));
    }
    out->bits = x->bits;
    out->risky = whole || x->risky;
    return NULL;
}

/* x && y where y has statements: they run only if x holds. */
static lz_err *eval_guarded(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    lzg_c_expr x;
    LZ_TRY(lzg_eval(f, t->kids[0], &x));
    LZ_TRY(lzg_settle(f, &x));
    if (want && want->rep == LZG_REP_BOOL) {
        LZ_TRY(lzg_result(f, LZG_REP_BOOL, want, out));
        lzg_stmt(f, "%.*s = %.*s;", LZ_FMT(out->text), LZ_FMT(x.text));
    } else {
        lz_str name;
        LZ_TRY(lzg_name_count(f, "c", &name));
        LZ_TRY(lzg_declare(f, name, &x));
        *out = x;
    }
    LZ_TRY(lzg_open(f, "if (%s%.*s)", t->op == LZG_OP_AND ? "" : "!", LZ_FMT(out->text)));
    LZ_TRY(lzg_eval_into(f, t->kids[1], &(lzg_c_place){ out->text, LZG_REP_BOOL }));
    lzg_close(f, "");
    return NULL;
}

static lz_err *eval_in_c(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    lzg_c_expr x, y;
    if ((t->op == LZG_OP_AND || t->op == LZG_OP_OR) && !lzg_is_plain(f, t->kids[1]))
        return eval_guarded(f, t, want, out);
    LZ_TRY(lzg_eval(f, t->kids[0], &x));
    if (t->nkids == 1)
        return make_unary(f, t, &x, out);
    LZ_TRY(lzg_eval(f, t->kids[1], &y));
    return make_binary(f, t, &x, &y, out);
}

/* ---- operators on values ---- */

static lz_err *low_op(lzg_lower *f, const char *lop, const lzg_term *const *args, size_t n,
                      const lzg_c_place *want, lzg_c_expr *out)
{
    lz_str text;
    LZ_TRY(lzg_eval_args(f, args, n, &text));
    LZ_TRY(lzg_result(f, LZG_REP_VALUE, want, out));
    lzg_stmt(f, "LZ_TRY(lz_low_op(b, LZ_LOW_OP_%s, LZ_ARGS(%.*s), &%.*s));", lop, LZ_FMT(text),
             LZ_FMT(out->text));
    f->builder = true;
    return NULL;
}

/* A function of the form f(b, &x, &y, &result). */
static lz_err *pair_call(lzg_lower *f, const char *fn, const lzg_term *x, const lzg_term *y, lzg_rep rep,
                         const lzg_c_place *want, lzg_c_expr *out)
{
    lz_str left, right;
    LZ_TRY(lzg_eval_pointer(f, x, &left));
    LZ_TRY(lzg_eval_pointer(f, y, &right));
    LZ_TRY(lzg_result(f, rep, want, out));
    lzg_stmt(f, "LZ_TRY(%s(b, %.*s, %.*s, &%.*s));", fn, LZ_FMT(left), LZ_FMT(right), LZ_FMT(out->text));
    f->builder = true;
    return NULL;
}

static lz_err *eval_equal(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    lzg_c_expr same;
    LZ_TRY(pair_call(f, "lz_low_value_equal", t->kids[0], t->kids[1], LZG_REP_BOOL,
                     t->op == LZG_OP_EQ ? want : NULL, &same));
    *out = same;
    return t->op == LZG_OP_EQ ? NULL
                              : make_unary(f, &(lzg_term){ .op = LZG_OP_NOT, .type = t->type }, &same, out);
}

/* A list from a list and an int: fn(b, list, n, &out). */
static lz_err *list_call(lzg_lower *f, const char *fn, const lzg_term *t, const lzg_c_place *want,
                         lzg_c_expr *out)
{
    lz_str list;
    lzg_c_expr n;
    LZ_TRY(lzg_eval_pointer(f, t->kids[0], &list));
    LZ_TRY(lzg_eval_as(f, t->kids[1], LZG_REP_INT, &n));
    LZ_TRY(lzg_settle(f, &n));
    LZ_TRY(lzg_result(f, LZG_REP_VALUE, want, out));
    lzg_stmt(f, "LZ_TRY(%s(b, %.*s, %.*s, &%.*s));", fn, LZ_FMT(list), LZ_FMT(n.text), LZ_FMT(out->text));
    f->builder = true;
    return NULL;
}

static lz_err *eval_repeat(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    return list_call(f, "lz_low_list_repeat", t, want, out);
}

lz_err *lzg_eval_op(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    bool list = t->type->kind == LZG_FTY_LIST;
    bool equality = (t->op == LZG_OP_EQ || t->op == LZG_OP_NE) && !t->dynamic;
    if (in_c(t))
        return eval_in_c(f, t, want, out);
    if (list && t->op == LZG_OP_ADD)
        return pair_call(f, "lz_low_list_join", t->kids[0], t->kids[1], LZG_REP_VALUE, want, out);
    if (list)
        return eval_repeat(f, t, want, out);
    if (t->op == LZG_OP_IN)
        return pair_call(f, "lz_low_list_has", t->kids[1], t->kids[0], LZG_REP_BOOL, want, out);
    if (equality)
        return eval_equal(f, t, want, out);
    LZ_TRY(low_op(f, op_rows[t->op].lop, t->kids, t->nkids, want, out));
    return lzg_as(f, out, rep_of(t));
}

/* ---- functions ---- */

typedef lz_err *prim_fn(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out);

typedef struct prim_row {
    prim_fn *eval;
    const char *text; /* for it */
    int bits;         /* of an int result */
    bool plain;       /* without statements, if its arguments are */
} prim_row;

static const prim_row *row_of(const lzg_term *t);

/* A C expression in which $ stands for the argument by pointer. */
static lz_err *eval_pointer_expr(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    (void)want;
    lz_str x, head, rest = lz_str_of(row_of(t)->text);
    bool more;
    LZ_TRY(lzg_eval_pointer(f, t->kids[0], &x));
    head = lz_str_cut(&rest, LZ_STR("$"), &more);
    LZ_TRY(lzg_expr_make(f, rep_of(t), LZG_BINDS_PRIMARY, out, "%.*s%.*s%.*s", LZ_FMT(head), LZ_FMT(x),
                         LZ_FMT(rest)));
    out->bits = (uint8_t)row_of(t)->bits;
    return NULL;
}

static lz_err *eval_tensor_dtype(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    (void)want;
    lzg_c_expr x;
    LZ_TRY(lzg_eval(f, t->kids[0], &x));
    return lzg_expr_make(f, LZG_REP_DTYPE, LZG_BINDS_PRIMARY, out, "%.*s%sdtype", LZ_FMT(x.text),
                         x.pointer ? "->" : ".");
}

static lz_err *eval_dtype_expr(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    (void)want;
    lzg_c_expr d;
    lz_str head, rest = lz_str_of(row_of(t)->text);
    bool more;
    LZ_TRY(lzg_eval_as(f, t->kids[0], LZG_REP_DTYPE, &d));
    head = lz_str_cut(&rest, LZ_STR("$"), &more);
    LZ_TRY(lzg_expr_make(f, rep_of(t), LZG_BINDS_PRIMARY, out, "%.*s%.*s%.*s", LZ_FMT(head), LZ_FMT(d.text),
                         LZ_FMT(rest)));
    out->bits = (uint8_t)row_of(t)->bits;
    return NULL;
}

static lz_err *eval_text(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    (void)want;
    f->builder = f->builder || t->prim == LZG_PRIM_DEFAULT_DTYPE;
    return lzg_expr_make(f, rep_of(t), LZG_BINDS_PRIMARY, out, "%s", row_of(t)->text);
}

/* The dtype of an element is the computation's dtype; a number argument has its own dtype. */
static lz_err *eval_number_dtype(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    const lzg_term *x = t->kids[0];
    const lzg_schema *s = f->op->f->func;
    bool given = x->kind == LZG_TERM_VAR && (size_t)x->integer < f->def->checked.ngiven;
    if (!f->inner)
        return eval_pointer_expr(f, t, want, out);
    if (given && !lzg_type_is_base_like(s->args[x->integer].type, LZG_TY_Tensor))
        return lzg_expr_make(f, LZG_REP_DTYPE, LZG_BINDS_PRIMARY, out, "lz_low_value_number_dtype(&args[%d])",
                             (int)x->integer);
    return lzg_expr_make(f, LZG_REP_DTYPE, LZG_BINDS_PRIMARY, out, "in.type");
}

/* In an inner expression: whether the argument of the element is None. */
static lz_err *eval_is_none(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    const lzg_term *x = t->kids[0];
    if (!f->inner || x->kind != LZG_TERM_VAR || (size_t)x->integer >= f->def->checked.ngiven)
        return eval_pointer_expr(f, t, want, out);
    return lzg_expr_make(f, LZG_REP_BOOL, LZG_BINDS_PRIMARY, out, "lz_low_value_is_none(&args[%d])",
                         (int)x->integer);
}

/* f(b, LZ_ARGS(...), n, &result) */
static lz_err *eval_many(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    lz_str args;
    LZ_TRY(lzg_eval_args(f, t->kids, t->nkids, &args));
    LZ_TRY(lzg_result(f, rep_of(t), want, out));
    lzg_stmt(f, "LZ_TRY(%s(b, LZ_ARGS(%.*s), %zu, &%.*s));", row_of(t)->text, LZ_FMT(args), t->nkids,
             LZ_FMT(out->text));
    f->builder = true;
    return NULL;
}

/* f(b, &x, dtype, &result) */
static lz_err *eval_cast(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    lz_str x;
    lzg_c_expr d;
    LZ_TRY(lzg_eval_pointer(f, t->kids[0], &x));
    LZ_TRY(lzg_eval_as(f, t->kids[1], LZG_REP_DTYPE, &d));
    LZ_TRY(lzg_result(f, LZG_REP_VALUE, want, out));
    lzg_stmt(f, "LZ_TRY(%s(b, %.*s, %.*s, &%.*s));", row_of(t)->text, LZ_FMT(x), LZ_FMT(d.text),
             LZ_FMT(out->text));
    f->builder = true;
    return NULL;
}

static lz_err *eval_pair(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    return pair_call(f, row_of(t)->text, t->kids[0], t->kids[1], LZG_REP_VALUE, want, out);
}

/* f(b, &x, &result) */
static lz_err *eval_one(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    lz_str x;
    LZ_TRY(lzg_eval_pointer(f, t->kids[0], &x));
    LZ_TRY(lzg_result(f, LZG_REP_VALUE, want, out));
    lzg_stmt(f, "LZ_TRY(%s(b, %.*s, &%.*s));", row_of(t)->text, LZ_FMT(x), LZ_FMT(out->text));
    f->builder = true;
    return NULL;
}

static lz_err *eval_wrap_dim(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    lzg_c_expr d, n;
    LZ_TRY(lzg_eval_as(f, t->kids[0], LZG_REP_INT, &d));
    LZ_TRY(lzg_settle(f, &d));
    LZ_TRY(lzg_eval_as(f, t->kids[1], LZG_REP_INT, &n));
    LZ_TRY(lzg_settle(f, &n));
    LZ_TRY(lzg_result(f, LZG_REP_INT, want, out));
    lzg_stmt(f, "LZ_TRY(lz_low_wrap_dim(%.*s, %.*s, &%.*s));", LZ_FMT(d.text), LZ_FMT(n.text),
             LZ_FMT(out->text));
    out->bits = 8;
    return NULL;
}

static lz_err *eval_wrap_dims(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    return list_call(f, "lz_low_wrap_dims", t, want, out);
}

static lz_err *eval_range(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    lzg_c_expr v[3];
    LZ_TRY(lzg_expr_make(f, LZG_REP_INT, LZG_BINDS_PRIMARY, &v[0], "0"));
    LZ_TRY(lzg_expr_make(f, LZG_REP_INT, LZG_BINDS_PRIMARY, &v[2], "1"));
    for (size_t i = 0; i < t->nkids; i++) {
        lzg_c_expr *e = &v[t->nkids == 1 ? 1 : i];
        LZ_TRY(lzg_eval_as(f, t->kids[i], LZG_REP_INT, e));
        LZ_TRY(lzg_settle(f, e));
    }
    LZ_TRY(lzg_result(f, LZG_REP_VALUE, want, out));
    lzg_stmt(f, "LZ_TRY(lz_low_range(b, %.*s, %.*s, %.*s, &%.*s));", LZ_FMT(v[0].text), LZ_FMT(v[1].text),
             LZ_FMT(v[2].text), LZ_FMT(out->text));
    f->builder = true;
    return NULL;
}

static lz_err *eval_to_int(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    lz_str x;
    LZ_TRY(lzg_eval(f, t->kids[0], out));
    if (out->rep == LZG_REP_INT)
        return NULL;
    LZ_TRY(lzg_by_pointer(f, out, &x));
    LZ_TRY(lzg_result(f, rep_of(t), want, out));
    if (t->dynamic)
        lzg_stmt(f, "LZ_TRY(lz_low_convert(b, %.*s, LZ_SCALAR_INT, &%.*s));", LZ_FMT(x), LZ_FMT(out->text));
    else
        lzg_stmt(f, "LZ_TRY(lz_calc_to_int(%.*s, &%.*s));", LZ_FMT(x), LZ_FMT(out->text));
    f->builder = f->builder || t->dynamic;
    return NULL;
}

/* self.shape[i] reads one size; other lists give an item. */
static lz_err *eval_index(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    const lzg_term *list = t->kids[0];
    bool shape = list->kind == LZG_TERM_PRIM && list->prim == LZG_PRIM_SHAPE;
    bool whole = rep_of(t) == LZG_REP_INT;
    lz_str x;
    lzg_c_expr i;
    LZ_TRY(lzg_eval_pointer(f, shape ? list->kids[0] : list, &x));
    LZ_TRY(lzg_eval_as(f, t->kids[1], LZG_REP_INT, &i));
    LZ_TRY(lzg_settle(f, &i));
    LZ_TRY(lzg_result(f, whole ? LZG_REP_INT : LZG_REP_VALUE,
                      whole || rep_of(t) == LZG_REP_VALUE ? want : NULL, out));
    lzg_stmt(f, "LZ_TRY(%s(%.*s, %.*s, &%.*s));",
             shape   ? "lz_calc_size"
             : whole ? "lz_calc_int_at"
                     : "lz_low_list_get",
             LZ_FMT(x), LZ_FMT(i.text), LZ_FMT(out->text));
    return lzg_as(f, out, rep_of(t));
}

static lz_err *eval_slice(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    lz_str x, from, to;
    LZ_TRY(lzg_eval_pointer(f, t->kids[0], &x));
    LZ_TRY(lzg_eval_pointer(f, t->kids[1], &from));
    LZ_TRY(lzg_eval_pointer(f, t->kids[2], &to));
    LZ_TRY(lzg_result(f, LZG_REP_VALUE, want, out));
    lzg_stmt(f, "LZ_TRY(lz_low_list_slice(%.*s, %.*s, %.*s, &%.*s));", LZ_FMT(x), LZ_FMT(from), LZ_FMT(to),
             LZ_FMT(out->text));
    return NULL;
}

/* abs, min, max of ints are C; floor of an int is itself. */
static lz_err *eval_int_function(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    (void)want;
    lzg_c_expr x, y;
    LZ_TRY(lzg_eval(f, t->kids[0], &x));
    if (t->prim == LZG_PRIM_ABS) {
        LZ_TRY(lzg_expr_make(f, LZG_REP_INT, LZG_BINDS_PRIMARY, out, "lz_calc_abs(&fault, %.*s)",
                             LZ_FMT(x.text)));
        f->faults = out->risky = true;
        return NULL;
    }
    *out = x;
    if (t->prim != LZG_PRIM_MIN && t->prim != LZG_PRIM_MAX)
        return NULL;
    LZ_TRY(lzg_eval(f, t->kids[1], &y));
    LZ_TRY(lzg_expr_make(f, LZG_REP_INT, LZG_BINDS_PRIMARY, out, "lz_calc_%s(%.*s, %.*s)",
                         t->prim == LZG_PRIM_MIN ? "min" : "max", LZ_FMT(x.text), LZ_FMT(y.text)));
    out->bits = (uint8_t)max(x.bits, y.bits);
    out->risky = x.risky || y.risky;
    return NULL;
}

static bool is_int_function(const lzg_term *t)
{
    bool c = t->prim <= LZG_PRIM_MAX && rep_of(t) == LZG_REP_INT;
    for (size_t i = 0; c && i < t->nkids; i++)
        c = rep_of(t->kids[i]) == LZG_REP_INT;
    return c;
}

static lz_err *eval_function(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    if (is_int_function(t))
        return eval_int_function(f, t, want, out);
    LZ_TRY(low_op(f, row_of(t)->text, t->kids, t->nkids, want, out));
    return lzg_as(f, out, rep_of(t));
}

static const prim_row prim_rows[LZG_PRIM_COUNT] = {
#define X(NAME, name, n, result) [LZG_PRIM_##NAME] = { eval_function, #NAME, LZG_BITS_ANY, false },
    LZG_SCALAR_FUNCTIONS(X)
#undef X
        [LZG_PRIM_CAST] = { eval_cast, "lz_low_cast_to", 0, false },
    [LZG_PRIM_BITCAST] = { eval_cast, "lz_low_bitcast", 0, false },
    [LZG_PRIM_POLY] = { eval_pair, "lz_low_poly", 0, false },
    [LZG_PRIM_LEN] = { eval_pointer_expr, "lz_calc_len($)", 32, true },
    [LZG_PRIM_RANGE] = { eval_range, NULL, 0, false },
    [LZG_PRIM_TO_INT] = { eval_to_int, NULL, 0, false },
    [LZG_PRIM_RESULT_TYPE] = { eval_many, "lz_low_result_type", 0, false },
    [LZG_PRIM_OPMATH] = { eval_dtype_expr, "lz_low_opmath($)", 0, true },
    [LZG_PRIM_DEFAULT_DTYPE] = { eval_text, "b->default_float", 0, true },
    [LZG_PRIM_WRAP_DIM] = { eval_wrap_dim, NULL, 0, false },
    [LZG_PRIM_WRAP_DIMS] = { eval_wrap_dims, NULL, 0, false },
    [LZG_PRIM_SUMS] = { eval_one, "lz_low_sums", 0, false },
    [LZG_PRIM_BROADCAST_SHAPES] = { eval_many, "lz_low_broadcast_shapes", 0, false },
    [LZG_PRIM_CONTRACTION] = { eval_many, "lz_low_contraction", 0, false },
    [LZG_PRIM_ELEMENT] = { eval_one, "lz_low_element", 0, false },
    [LZG_PRIM_SHAPE] = { eval_one, "lz_low_shape", 0, false },
    [LZG_PRIM_STRIDES] = { eval_one, "lz_low_strides", 0, false },
    [LZG_PRIM_NDIM] = { eval_pointer_expr, "lz_low_value_ndim($)", 8, true },
    [LZG_PRIM_NUMEL] = { eval_pointer_expr, "lz_low_value_numel($)", LZG_BITS_ANY, true },
    [LZG_PRIM_DTYPE] = { eval_tensor_dtype, NULL, 0, true },
    [LZG_PRIM_DEVICE] = { eval_text, "lz_low_value_none()", 0, true },
    [LZG_PRIM_LAYOUT] = { eval_text, "lz_low_value_layout(LZ_STRIDED)", 0, true },
    [LZG_PRIM_NUMBER_DTYPE] = { eval_number_dtype, "lz_low_value_number_dtype($)", 0, true },
    [LZG_PRIM_IS_FLOATING_POINT] = { eval_dtype_expr, "lz_calc_is($, LZ_DTYPE_IS_FLOATING_POINT)", 0, true },
    [LZG_PRIM_IS_COMPLEX] = { eval_dtype_expr, "lz_calc_is($, LZ_DTYPE_IS_COMPLEX)", 0, true },
    [LZG_PRIM_IS_INTEGRAL] = { eval_dtype_expr, "lz_calc_is($, LZ_DTYPE_IS_INTEGRAL)", 0, true },
    [LZG_PRIM_IS_SIGNED] = { eval_dtype_expr, "lz_calc_is($, LZ_DTYPE_IS_SIGNED)", 0, true },
    [LZG_PRIM_ITEMSIZE] = { eval_dtype_expr, "lz_calc_itemsize($)", 8, true },
    [LZG_PRIM_LOWEST] = { eval_dtype_expr, "lz_low_dtype_attr($, LZ_DTYPE_MIN)", 0, true },
    [LZG_PRIM_HIGHEST] = { eval_dtype_expr, "lz_low_dtype_attr($, LZ_DTYPE_MAX)", 0, true },
    [LZG_PRIM_EPS] = { eval_dtype_expr, "lz_low_dtype_attr($, LZ_DTYPE_EPS)", 0, true },
    [LZG_PRIM_INDEX] = { eval_index, NULL, 0, false },
    [LZG_PRIM_SLICE] = { eval_slice, NULL, 0, false },
    [LZG_PRIM_IS_NONE] = { eval_is_none, "lz_low_value_is_none($)", 0, true },
};

static const prim_row *row_of(const lzg_term *t)
{
    return &prim_rows[t->prim];
}

bool lzg_is_plain_prim(const lzg_lower *f, const lzg_term *t)
{
    return (row_of(t)->plain || is_int_function(t)) && lzg_are_plain(f, t->kids, t->nkids);
}

lz_err *lzg_eval_prim(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    return row_of(t)->eval(f, t, want, out);
}

/* ---- conversions ---- */

static const lzg_fty *core(const lzg_fty *t)
{
    return t->kind == LZG_FTY_OPTIONAL ? t->elem : t;
}

typedef enum change { KEEP, TO_FLOAT, TO_TENSOR, SPREAD, TO_FLOATS } change;

static change change_of(const lzg_fty *from, const lzg_fty *to)
{
    from = core(from);
    to = core(to);
    bool whole = lzg_fty_is_int(from);
    if (to->kind == LZG_FTY_LIST && from->kind == LZG_FTY_BASE)
        return SPREAD;
    if (to->kind == LZG_FTY_LIST && to->elem && lzg_fty_is(to->elem, LZG_TY_float) && from->elem
        && lzg_fty_is_int(from->elem))
        return TO_FLOATS;
    if (lzg_fty_is(to, LZG_TY_Tensor) && !lzg_fty_is(from, LZG_TY_Tensor) && from->kind == LZG_FTY_BASE)
        return TO_TENSOR;
    return whole && lzg_fty_is(to, LZG_TY_float) ? TO_FLOAT : KEEP;
}

bool lzg_is_plain_convert(const lzg_lower *f, const lzg_term *t)
{
    change c = change_of(t->kids[0]->type, t->type);
    bool whole = c == TO_FLOAT && rep_of(t->kids[0]) == LZG_REP_INT;
    return (c == KEEP || whole) && lzg_is_plain(f, t->kids[0]);
}

/* f(b, &x..., &result) */
static lz_err *changed(lzg_lower *f, const char *fn, const char *more, lzg_c_expr *e, const lzg_c_place *want)
{
    lz_str x;
    LZ_TRY(lzg_by_pointer(f, e, &x));
    LZ_TRY(lzg_result(f, LZG_REP_VALUE, want, e));
    lzg_stmt(f, "LZ_TRY(%s(b, %.*s%s, &%.*s));", fn, LZ_FMT(x), more, LZ_FMT(e->text));
    f->builder = true;
    return NULL;
}

static lz_err *to_float(lzg_lower *f, lzg_c_expr *e, const lzg_c_place *want)
{
    lz_str x;
    if (e->rep != LZG_REP_INT)
        return changed(f, "lz_low_convert", ", LZ_SCALAR_FLOAT", e, want);
    LZ_TRY(lzg_settle(f, e));
    LZ_TRY(lzg_operand(f, e, LZG_BINDS_UNARY, &x));
    if (lzg_is_literal(e))
        return lzg_expr_make(f, LZG_REP_VALUE, LZG_BINDS_PRIMARY, e, "lz_low_value_float((double)%.*s)",
                             LZ_FMT(x));
    return lzg_expr_make(f, LZG_REP_VALUE, LZG_BINDS_PRIMARY, e,
                         "lz_low_value_sized(lz_scalar_float((double)%.*s))", LZ_FMT(x));
}

static lz_err *spread(lzg_lower *f, lzg_c_expr *e, const lzg_fty *from, const lzg_fty *to,
                      const lzg_c_place *want)
{
    lz_str x;
    LZ_TRY(lzg_convert(f, e, from, to->elem, NULL));
    LZ_TRY(lzg_by_value(f, e, &x));
    LZ_TRY(lzg_result(f, LZG_REP_VALUE, want, e));
    lzg_stmt(f, "LZ_TRY(lz_calc_spread(b, %.*s, %d, &%.*s));", LZ_FMT(x), (int)to->size, LZ_FMT(e->text));
    f->builder = true;
    return NULL;
}

lz_err *lzg_convert(lzg_lower *f, lzg_c_expr *e, const lzg_fty *from, const lzg_fty *to,
                    const lzg_c_place *want)
{
    switch (change_of(from, to)) {
    case TO_FLOAT:
        return to_float(f, e, want);
    case TO_TENSOR:
        return changed(f, "lz_low_wrap", "", e, want);
    case SPREAD:
        return spread(f, e, core(from), core(to), want);
    case TO_FLOATS:
        return changed(f, "lz_calc_floats", "", e, want);
    default:
        return NULL;
    }
}

lz_err *lzg_eval_convert(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    LZ_TRY(lzg_eval(f, t->kids[0], out));
    LZ_TRY(lzg_convert(f, out, t->kids[0]->type, t->type, want));
    return lzg_as(f, out, rep_of(t));
}

/* NOLINTEND(misc-no-recursion) */
