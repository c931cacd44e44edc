#include "gen/torch/gen_schema_utils.h"

enum { DEEPEST = 64 };

static const bool has_values[LZG_TY_COUNT] = {
    [LZG_TY_Tensor] = true, [LZG_TY_int] = true,    [LZG_TY_float] = true,   [LZG_TY_str] = true,
    [LZG_TY_bool] = true,   [LZG_TY_SymInt] = true, [LZG_TY_SymBool] = true, [LZG_TY_GraphModule] = true,
};

static lz_err *type_of(lz_arena *a, const lzg_example *x, int depth, const lzg_type **out);

/* NOLINTNEXTLINE(misc-no-recursion): lists nest DEEPEST deep at most */
static lz_err *type_of_list(lz_arena *a, const lzg_example *x, int depth, lzg_type *t)
{
    if (!x->n || x->n > INT32_MAX)
        return lz_errf(LZ_ERR_MODEL, "a list of %zu values has no type", x->n);
    LZ_TRY(type_of(a, &x->items[0], depth + 1, &t->elem));
    for (size_t i = 1; i < x->n; i++) {
        const lzg_type *other = NULL;
        LZ_TRY(type_of(a, &x->items[i], depth + 1, &other));
        if (!lzg_type_eq(t->elem, other))
            return lz_errf(LZ_ERR_MODEL, "the values of a list must be of one type: number %zu differs",
                           i + 1);
    }
    t->size = (int32_t)x->n;
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as type_of_list */
static lz_err *type_of(lz_arena *a, const lzg_example *x, int depth, const lzg_type **out)
{
    lzg_type *t;
    if (depth > DEEPEST)
        return lz_errf(LZ_ERR_LIMIT, "lists nest more than %d deep", DEEPEST);
    if (x->kind == LZG_TYPE_OPTIONAL)
        return lz_errf(LZ_ERR_UNSUPPORTED, "an absent value has no type");
    if (x->kind == LZG_TYPE_BASE && (x->base >= LZG_TY_COUNT || !has_values[x->base]))
        return lz_errf(LZ_ERR_UNSUPPORTED, "no schema is made from values of type %s",
                       x->base < LZG_TY_COUNT ? lzg_base_ty_name(x->base) : "?");
    LZ_TRY(lz_arena_new(a, &t, 1));
    *t = (lzg_type){ .kind = x->kind, .base = x->base, .size = -1 };
    if (x->kind == LZG_TYPE_CLASS)
        LZ_TRY(lz_arena_copy(a, lz_str_of(x->class_name), &t->class_name));
    if (x->kind == LZG_TYPE_LIST)
        LZ_TRY(type_of_list(a, x, depth, t));
    *out = t;
    return NULL;
}

lz_err *lzg_type_of_example(lz_arena *a, const lzg_example *x, const lzg_type **out)
{
    return type_of(a, x, 0, out);
}

static lz_err *make_arguments(lz_arena *a, const lzg_named_example *in, size_t n, lzg_schema *s)
{
    lzg_argument *args;
    LZ_TRY(lz_arena_new(a, &args, n));
    for (size_t i = 0; i < n; i++) {
        args[i] = (lzg_argument){ .section = LZG_POST_SELF };
        LZ_TRY(lz_arena_copy(a, lz_str_of(in[i].name), &args[i].name));
        LZ_TRY(type_of(a, &in[i].value, 0, &args[i].type));
    }
    s->args = args;
    s->nargs = n;
    return NULL;
}

static lz_err *make_returns(lz_arena *a, const lzg_example *outs, size_t n, lzg_schema *s)
{
    lzg_return *returns;
    LZ_TRY(lz_arena_new(a, &returns, n));
    for (size_t i = 0; i < n; i++) {
        returns[i] = (lzg_return){ 0 };
        LZ_TRY(type_of(a, &outs[i], 0, &returns[i].type));
    }
    s->returns = returns;
    s->nreturns = n;
    return NULL;
}

lz_err *lzg_schema_of_examples(lz_arena *a, const char *name, const lzg_named_example *in, size_t nin,
                               const lzg_example *outs, size_t nouts, const lzg_schema **out)
{
    lzg_schema parts = { 0 };
    LZ_TRY(lz_arena_copy(a, lz_str_of(name), &parts.name.base));
    LZ_TRY(make_arguments(a, in, nin, &parts));
    LZ_TRY(make_returns(a, outs, nouts, &parts));
    return lzg_schema_make(a, &parts, (lz_loc){ 0 }, out);
}
