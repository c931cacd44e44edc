/* Type rules for functions of the formula language. */
#include "gen/formula/formula_check_impl.h"

/* ---- functions of numbers ---- */

typedef struct function {
    lzg_prim prim;
    const char *name;
    size_t n;
    bool same; /* the result has the type of the arguments; otherwise it is a float */
} function;

enum { FLOAT, SAME };
static const function functions[] = {
#define X(NAME, name, n, result) { LZG_PRIM_##NAME, #name, n, result },
    LZG_SCALAR_FUNCTIONS(X)
#undef X
};

static const function *find_function(lz_str name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (lz_str_is(name, functions[i].name))
            return &functions[i];
    return NULL;
}

static lz_err *no_keywords(const lzg_call *call)
{
    for (size_t i = 0; i < call->n; i++)
        if (call->args[i].keyword.text.ptr)
            return lz_err_at(LZ_ERR_MODEL, call->args[i].keyword.loc, "%.*s takes no keywords",
                             LZ_FMT(call->name));
    return NULL;
}

static lz_err *count_arguments(const lzg_call *call, size_t least, size_t most)
{
    LZ_TRY(no_keywords(call));
    if (call->n >= least && call->n <= most)
        return NULL;
    if (least == most)
        return lz_err_at(LZ_ERR_MODEL, call->at, "%.*s takes %zu arguments, not %zu", LZ_FMT(call->name),
                         least, call->n);
    return lz_err_at(LZ_ERR_MODEL, call->at, "%.*s takes %s%zu arguments, not %zu", LZ_FMT(call->name),
                     call->n < least ? "at least " : "at most ", call->n < least ? least : most, call->n);
}

static lz_err *bad_argument(lzg_checker *c, const lzg_call *call, size_t i, const char *wanted)
{
    const lzg_actual *arg = &call->args[i];
    const char *shown;
    if (arg->term->type->kind == LZG_FTY_OPTIONAL)
        return lzg_maybe_none(c, arg->loc, arg->term->type);
    LZ_TRY(lzg_show(c, arg->term->type, &shown));
    return lz_err_at(LZ_ERR_MODEL, arg->loc, "%.*s takes %s, not %s", LZ_FMT(call->name), wanted, shown);
}

/* A term of a function with these arguments. */
static lz_err *apply(lzg_checker *c, const lzg_call *call, lzg_prim prim, const lzg_fty *type, bool dynamic,
                     const lzg_term **out)
{
    const lzg_term **kids;
    lzg_term proto = {
        .kind = LZG_TERM_PRIM, .prim = prim, .type = type, .loc = call->loc, .dynamic = dynamic
    };
    LZ_TRY(lz_arena_new(c->arena, &kids, call->n));
    for (size_t i = 0; i < call->n; i++)
        kids[i] = call->args[i].term;
    return lzg_term_make(c, proto, kids, call->n, out);
}

lz_err *lzg_check_scalar_call(lzg_checker *c, const lzg_call *call, const lzg_term **out)
{
    const function *f = find_function(call->name);
    const lzg_fty *type = NULL;
    bool dynamic = false;
    *out = NULL;
    if (!f)
        return NULL;
    LZ_TRY(count_arguments(call, f->n, f->n));
    for (size_t i = 0; i < call->n; i++) {
        const lzg_term *arg = call->args[i].term;
        if (!lzg_fty_is_number(arg->type))
            return bad_argument(c, call, i, "numbers");
        LZ_TRY(lzg_fty_join(c->arena, type ? type : arg->type, arg->type, &type));
        dynamic = dynamic || arg->dynamic;
    }
    if (!f->same && lzg_fty_is_int(type))
        type = lzg_fty_base(LZG_TY_float);
    return apply(c, call, f->prim, type, dynamic, out);
}

/* ---- the language's own functions ---- */

static bool is(const lzg_call *call, size_t i, lzg_base_ty base)
{
    return lzg_fty_is(call->args[i].term->type, base);
}

static bool is_plain(const lzg_call *call, size_t i)
{
    return lzg_fty_is_number(call->args[i].term->type) || is(call, i, LZG_TY_bool);
}

static lz_err *check_static(lzg_checker *c, const lzg_call *call)
{
    for (size_t i = 0; i < call->n; i++) {
        lz_str culprit = lzg_term_culprit(c, call->args[i].term);
        if (call->args[i].term->dynamic)
            return lz_err_at(
                LZ_ERR_MODEL, call->args[i].loc,
                "%.*s needs a value known before the run; '%.*s' is not, unless it is named under "
                "static",
                LZ_FMT(call->name), LZ_FMT(culprit));
    }
    return NULL;
}

static lz_err *check_cast(lzg_checker *c, const lzg_call *call, lzg_prim prim, const lzg_term **out)
{
    bool tensor = is(call, 0, LZG_TY_Tensor);
    if (!tensor && !is_plain(call, 0))
        return bad_argument(c, call, 0, "a Tensor or a number");
    if (!is(call, 1, LZG_TY_ScalarType))
        return bad_argument(c, call, 1, "a ScalarType as second argument");
    if (prim == LZG_PRIM_BITCAST && !c->inner)
        return lz_err_at(LZ_ERR_MODEL, call->at, "bitcast is for inner expressions");
    return apply(c, call, prim, lzg_fty_base(tensor ? LZG_TY_Tensor : LZG_TY_Scalar),
                 call->args[0].term->dynamic, out);
}

static lz_err *check_poly(lzg_checker *c, const lzg_call *call, lzg_prim prim, const lzg_term **out)
{
    const lzg_fty *x = call->args[0].term->type, *list = call->args[1].term->type;
    bool scalar = lzg_fty_is(x, LZG_TY_Scalar) || (list->elem && lzg_fty_is(list->elem, LZG_TY_Scalar));
    bool dynamic = call->args[0].term->dynamic || call->args[1].term->dynamic;
    if (!lzg_fty_is(x, LZG_TY_Tensor) && !lzg_fty_is_number(x))
        return bad_argument(c, call, 0, "a Tensor or a number");
    if (list->kind != LZG_FTY_LIST || !list->elem || !lzg_fty_is_number(list->elem))
        return bad_argument(c, call, 1, "a list of numbers as second argument");
    if (lzg_fty_is(x, LZG_TY_Tensor))
        return apply(c, call, prim, x, false, out);
    return apply(c, call, prim, lzg_fty_base(scalar ? LZG_TY_Scalar : LZG_TY_float), dynamic, out);
}

static lz_err *check_len(lzg_checker *c, const lzg_call *call, lzg_prim prim, const lzg_term **out)
{
    if (call->args[0].term->type->kind != LZG_FTY_LIST)
        return bad_argument(c, call, 0, "a list");
    return apply(c, call, prim, lzg_fty_base(LZG_TY_int), false, out);
}

static lz_err *check_range(lzg_checker *c, const lzg_call *call, lzg_prim prim, const lzg_term **out)
{
    const lzg_fty *type = lzg_fty_base(LZG_TY_int);
    LZ_TRY(check_static(c, call));
    for (size_t i = 0; i < call->n; i++) {
        if (!lzg_fty_is_int(call->args[i].term->type))
            return bad_argument(c, call, i, "ints");
        LZ_TRY(lzg_fty_join(c->arena, type, call->args[i].term->type, &type));
    }
    LZ_TRY(lzg_fty_list(c->arena, type, -1, &type));
    return apply(c, call, prim, type, false, out);
}

static lz_err *check_to_int(lzg_checker *c, const lzg_call *call, lzg_prim prim, const lzg_term **out)
{
    if (!is_plain(call, 0))
        return bad_argument(c, call, 0, "a number");
    return apply(c, call, prim, lzg_fty_base(LZG_TY_int), call->args[0].term->dynamic, out);
}

static lz_err *check_result_type(lzg_checker *c, const lzg_call *call, lzg_prim prim, const lzg_term **out)
{
    for (size_t i = 0; i < call->n; i++) {
        const lzg_fty *t = call->args[i].term->type;
        bool list = t->kind == LZG_FTY_LIST && t->elem && lzg_fty_is(t->elem, LZG_TY_Tensor);
        if (!list && !is_plain(call, i) && !is(call, i, LZG_TY_Tensor) && !is(call, i, LZG_TY_ScalarType))
            return bad_argument(c, call, i, "Tensors, numbers and ScalarTypes");
    }
    return apply(c, call, prim, lzg_fty_base(LZG_TY_ScalarType), false, out);
}

static lz_err *check_dtype(lzg_checker *c, const lzg_call *call, lzg_prim prim, const lzg_term **out)
{
    if (call->n && !is(call, 0, LZG_TY_ScalarType))
        return bad_argument(c, call, 0, "a ScalarType");
    return apply(c, call, prim, lzg_fty_base(LZG_TY_ScalarType), false, out);
}

static bool is_int_list(const lzg_fty *t)
{
    return t->kind == LZG_FTY_LIST && (!t->elem || lzg_fty_is_int(t->elem));
}

static lz_err *check_wrap(lzg_checker *c, const lzg_call *call, lzg_prim prim, const lzg_term **out)
{
    const lzg_fty *type = lzg_fty_base(LZG_TY_int);
    bool list = prim == LZG_PRIM_WRAP_DIMS;
    const lzg_fty *first = call->args[0].term->type;
    LZ_TRY(check_static(c, call));
    if (list ? !is_int_list(first) : !lzg_fty_is_int(first))
        return bad_argument(c, call, 0, list ? "a list of ints" : "an int");
    if (!lzg_fty_is_int(call->args[1].term->type))
        return bad_argument(c, call, 1, "the number of dimensions as second argument");
    if (list)
        LZ_TRY(lzg_fty_list(c->arena, type, -1, &type));
    return apply(c, call, prim, type, false, out);
}

static lz_err *check_sums(lzg_checker *c, const lzg_call *call, lzg_prim prim, const lzg_term **out)
{
    const lzg_fty *type = lzg_fty_base(LZG_TY_int), *list = call->args[0].term->type;
    LZ_TRY(check_static(c, call));
    if (!is_int_list(list))
        return bad_argument(c, call, 0, "a list of ints");
    if (list->elem)
        LZ_TRY(lzg_fty_join(c->arena, type, list->elem, &type));
    LZ_TRY(lzg_fty_list(c->arena, type, -1, &type));
    return apply(c, call, prim, type, false, out);
}

/* An equation, sizes as one list (each operand's after their number), a path or an empty list. */
static lz_err *check_contraction(lzg_checker *c, const lzg_call *call, lzg_prim prim, const lzg_term **out)
{
    const lzg_fty *type;
    LZ_TRY(check_static(c, call));
    if (!is(call, 0, LZG_TY_str))
        return bad_argument(c, call, 0, "a str");
    for (size_t i = 1; i < call->n; i++)
        if (!is_int_list(call->args[i].term->type))
            return bad_argument(c, call, i, "lists of ints behind it");
    LZ_TRY(lzg_fty_list(c->arena, lzg_fty_base(LZG_TY_int), -1, &type));
    return apply(c, call, prim, type, false, out);
}

static lz_err *check_shapes(lzg_checker *c, const lzg_call *call, lzg_prim prim, const lzg_term **out)
{
    const lzg_fty *type;
    for (size_t i = 0; i < call->n; i++)
        if (!is_int_list(call->args[i].term->type))
            return bad_argument(c, call, i, "shapes");
    LZ_TRY(lzg_fty_list(c->arena, lzg_fty_base(LZG_TY_SymInt), -1, &type));
    return apply(c, call, prim, type, false, out);
}

static lz_err *check_element(lzg_checker *c, const lzg_call *call, lzg_prim prim, const lzg_term **out)
{
    if (!is(call, 0, LZG_TY_Tensor))
        return bad_argument(c, call, 0, "a Tensor");
    return apply(c, call, prim, lzg_fty_base(LZG_TY_Scalar), true, out);
}

typedef struct builtin {
    const char *name;
    lzg_prim prim;
    size_t least, most;
    lz_err *(*check)(lzg_checker *c, const lzg_call *call, lzg_prim prim, const lzg_term **out);
} builtin;

static const builtin builtins[] = {
    { "cast", LZG_PRIM_CAST, 2, 2, check_cast },
    { "bitcast", LZG_PRIM_BITCAST, 2, 2, check_cast },
    { "poly", LZG_PRIM_POLY, 2, 2, check_poly },
    { "len", LZG_PRIM_LEN, 1, 1, check_len },
    { "range", LZG_PRIM_RANGE, 1, 3, check_range },
    { "to_int", LZG_PRIM_TO_INT, 1, 1, check_to_int },
    { "result_type", LZG_PRIM_RESULT_TYPE, 1, SIZE_MAX, check_result_type },
    { "opmath", LZG_PRIM_OPMATH, 1, 1, check_dtype },
    { "default_dtype", LZG_PRIM_DEFAULT_DTYPE, 0, 0, check_dtype },
    { "wrap_dim", LZG_PRIM_WRAP_DIM, 2, 2, check_wrap },
    { "wrap_dims", LZG_PRIM_WRAP_DIMS, 2, 2, check_wrap },
    { "sums", LZG_PRIM_SUMS, 1, 1, check_sums },
    { "broadcast_shapes", LZG_PRIM_BROADCAST_SHAPES, 1, SIZE_MAX, check_shapes },
    { "contraction", LZG_PRIM_CONTRACTION, 2, 3, check_contraction },
    { "element", LZG_PRIM_ELEMENT, 1, 1, check_element },
};

lz_err *lzg_check_builtin(lzg_checker *c, const lzg_call *call, const lzg_term **out)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) {
        const builtin *b = &builtins[i];
        if (!lz_str_is(call->name, b->name))
            continue;
        LZ_TRY(count_arguments(call, b->least, b->most));
        return b->check(c, call, b->prim, out);
    }
    return NULL;
}
