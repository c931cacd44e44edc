#include "gen/api/translate.h"

#define BASE(t)     &lzg_ctypes[LZG_C_BASE][LZG_CPP_##t]
#define OPTIONAL(t) &lzg_ctypes[LZG_C_OPTIONAL][LZG_CPP_##t]
#define VECTOR(t)   &lzg_ctypes[LZG_C_VECTOR][LZG_CPP_##t]
#define CONST(t)    &lzg_ctypes[LZG_C_CONST_REF][LZG_CPP_##t]
#define MUT(t)      &lzg_ctypes[LZG_C_MUT_REF][LZG_CPP_##t]

static const lzg_ctype optional_longs = { .kind = LZG_C_OPTIONAL, .elem = VECTOR(long) };
static const lzg_ctype optional_tensors = { .kind = LZG_C_LIST, .elem = OPTIONAL(Tensor) };
static const lzg_ctype const_optional_tensors = { .kind = LZG_C_CONST_REF, .elem = &optional_tensors };
static const lzg_ctype longs_ref = { .kind = LZG_C_ARRAY_REF, .elem = BASE(long) };

/* One step from `from` to `to`; $ is the expression of type `from`. */
typedef struct step {
    const lzg_ctype *to, *from;
    const char *how;
    bool owning; /* only where copies are allowed */
} step;

/* Taken as soon as something is added to a scope. */
static const step forward[] = {
    { BASE(OptionalTensorRef), &lzg_const_optionals[LZG_CPP_Tensor],
      "(($.has_value() && (*$).defined()) ? at::OptionalTensorRef(*$) : at::OptionalTensorRef())", false },
    { BASE(opmath_t), CONST(Scalar), "($).to<opmath_t>()", false },
    { BASE(OptionalScalarRef), &lzg_const_optionals[LZG_CPP_Scalar],
      "($.has_value() ? at::OptionalScalarRef(&($.value())) : at::OptionalScalarRef())", false },
    { BASE(opmath_t), BASE(scalar_t), "static_cast<opmath_t>($)", false },
    { BASE(IOptTensorListRef), &const_optional_tensors, "at::IOptTensorListRef($)", false },
};

/* Taken towards a goal; of several towards one type the first possible. */
static const step backward[] = {
    { BASE(IntArrayRef), VECTOR(long), "$", false },
    { BASE(IntArrayRef), BASE(SymIntArrayRef), "C10_AS_INTARRAYREF_SLOW($)", false },
    { BASE(SymIntArrayRef), BASE(IntArrayRef), "c10::fromIntArrayRefSlow($)", false },
    { BASE(SymIntArrayRef), VECTOR(SymInt), "$", false },
    { BASE(SymInt), BASE(long), "$", false },
    { OPTIONAL(SymInt), OPTIONAL(long),
      "$.has_value() ? ::std::make_optional(c10::SymInt(*$)) : ::std::nullopt", false },
    { BASE(long), BASE(SymInt), "$.guard_int(__FILE__, __LINE__)", false },
    { OPTIONAL(long), OPTIONAL(SymInt),
      "$.has_value() ? ::std::make_optional($->guard_int(__FILE__, __LINE__)) : ::std::nullopt", false },
    { BASE(OptionalIntArrayRef), &optional_longs, "$", false },
    { BASE(OptionalIntArrayRef), BASE(OptionalSymIntArrayRef),
      "$.has_value() ? ::std::make_optional(C10_AS_INTARRAYREF_SLOW(*$)) : ::std::nullopt", false },
    { BASE(OptionalSymIntArrayRef), BASE(OptionalIntArrayRef),
      "$.has_value() ? ::std::make_optional(c10::fromIntArrayRefSlow(*$)) : ::std::nullopt", false },
    { BASE(OptionalScalarRef), OPTIONAL(Scalar), "$", false },
    { BASE(OptionalTensorRef), OPTIONAL(Tensor), "$", false },
    { VECTOR(long), BASE(IntArrayRef), "$.vec()", true },
    { VECTOR(SymInt), BASE(SymIntArrayRef), "$.vec()", true },
    { BASE(Tensor), CONST(Tensor), "$", true },
    { OPTIONAL(Tensor), &lzg_const_optionals[LZG_CPP_Tensor], "$", true },
    { &optional_longs, BASE(OptionalIntArrayRef),
      "$.has_value() ? ::std::make_optional($->vec()) : ::std::nullopt", true },
    { OPTIONAL(Scalar), BASE(OptionalScalarRef), "$.has_value() ? ::std::make_optional($) : ::std::nullopt",
      true },
    { MUT(Tensor), CONST(Tensor), "const_cast<Tensor&>($)", false },
};

/* The parts of TensorOptions: out of the options, else out of an `out` tensor. */
static const struct {
    const char *name;
    const lzg_ctype *type;
    const char *of_options, *of_out;
} parts[] = {
    { "dtype", OPTIONAL(ScalarType), "c10::optTypeMetaToScalarType($.dtype_opt())", "$.scalar_type()" },
    { "layout", OPTIONAL(Layout), "$.layout_opt()", "$.layout()" },
    { "device", OPTIONAL(Device), "$.device_opt()", "$.device()" },
    { "pin_memory", OPTIONAL(bool), "$.pinned_memory_opt()", "::std::nullopt" },
};
enum { NPARTS = sizeof parts / sizeof parts[0] };

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static const lzg_nctype options_goal = { { "options", 7 }, CONST(TensorOptions) };
static const lzg_nctype out_goal = { { "out", 3 }, CONST(Tensor) };

/* The pattern with every $ replaced. */
static lz_err *fill(lz_arena *a, const char *how, lz_str expr, lz_str *out)
{
    *out = expr;
    if (strcmp(how, "$") == 0)
        return NULL;
    lz_text t = { 0 };
    for (; *how; how++)
        if (*how == '$')
            lz_text_add(&t, expr);
        else
            lz_text_putc(&t, *how);
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

void lzg_scope_init(lzg_scope *s, lz_arena *a)
{
    *s = (lzg_scope){ .arena = a };
}

static lzg_cexpr *find(const lzg_scope *s, lzg_nctype what)
{
    for (size_t i = 0; i < s->n; i++)
        if (lzg_nctype_eq(s->at[i].what, what))
            return &s->at[i];
    return NULL;
}

static lz_err *grow(lzg_scope *s)
{
    size_t cap = s->cap ? 2 * s->cap : 16;
    lzg_cexpr *at;
    LZ_TRY(lz_arena_new(s->arena, &at, cap));
    if (s->n)
        memcpy(at, s->at, s->n * sizeof *at);
    s->at = at;
    s->cap = cap;
    return NULL;
}

static lz_err *put(lzg_scope *s, lz_str expr, lzg_nctype what)
{
    lzg_cexpr *old = find(s, what);
    if (!old && s->n == s->cap)
        LZ_TRY(grow(s));
    *(old ? old : &s->at[s->n++]) = (lzg_cexpr){ expr, what };
    return NULL;
}

lz_err *lzg_scope_add(lzg_scope *s, lz_str expr, lzg_nctype what)
{
    LZ_TRY(put(s, expr, what));
    for (size_t i = 0; i < COUNT(forward); i++) {
        lz_str then;
        if (!lzg_ctype_eq(what.type, forward[i].from))
            continue;
        LZ_TRY(fill(s->arena, forward[i].how, expr, &then));
        LZ_TRY(put(s, then, (lzg_nctype){ what.name, forward[i].to }));
    }
    return NULL;
}

lz_err *lzg_scope_add_bindings(lzg_scope *s, lzg_bindings b)
{
    for (size_t i = 0; i < b.n; i++)
        LZ_TRY(lzg_scope_add(s, b.at[i].name, b.at[i].what));
    return NULL;
}

lz_err *lzg_scope_add_this(lzg_scope *s)
{
    lz_str self = LZ_STR("self"), expr = LZ_STR("const_cast<Tensor&>(*this)");
    LZ_TRY(put(s, expr, (lzg_nctype){ self, MUT(Tensor) }));
    return put(s, expr, (lzg_nctype){ self, CONST(Tensor) });
}

typedef struct solver {
    const lzg_scope *scope;
    lzg_bindings goals;
    bool owning;
} solver;

/* out->ptr stays NULL where there is no way; errors are of memory alone. */
static lz_err *solve(const solver *s, lzg_nctype goal, bool direct, lz_str *out);

/* NOLINTBEGIN(misc-no-recursion): a step goes to a smaller type, and from there only straight to the scope */
static lz_err *solve_direct(const solver *s, lzg_nctype goal, lz_str *out)
{
    return solve(s, goal, true, out);
}

static lz_err *solve_part(const solver *s, size_t i, lz_str *out)
{
    lz_str from;
    LZ_TRY(solve_direct(s, options_goal, &from));
    if (from.ptr)
        return fill(s->scope->arena, parts[i].of_options, from, out);
    LZ_TRY(solve_direct(s, out_goal, &from));
    return from.ptr ? fill(s->scope->arena, parts[i].of_out, from, out) : NULL;
}

static lz_err *solve_options(const solver *s, lz_str *out)
{
    lz_str part[NPARTS];
    for (size_t i = 0; i < NPARTS; i++) {
        LZ_TRY(solve_direct(s, (lzg_nctype){ lz_str_of(parts[i].name), parts[i].type }, &part[i]));
        if (!part[i].ptr)
            return NULL;
    }
    return lz_arena_printf(s->scope->arena, out,
                           "TensorOptions().dtype(%.*s).layout(%.*s).device(%.*s).pinned_memory(%.*s)",
                           LZ_FMT(part[0]), LZ_FMT(part[1]), LZ_FMT(part[2]), LZ_FMT(part[3]));
}

static bool wants_options(const solver *s)
{
    for (size_t i = 0; i < s->goals.n; i++)
        if (lzg_nctype_eq(s->goals.at[i].what, options_goal))
            return true;
    return false;
}

/* The options may hold a memory format as well: where they are taken apart, both are joined. */
static lz_err *solve_memory_format(const solver *s, lz_str *out)
{
    lz_str format, options = { 0 };
    LZ_TRY(solve_direct(s, (lzg_nctype){ lzg_redundant_memory_format, OPTIONAL(MemoryFormat) }, &format));
    if (format.ptr && !wants_options(s))
        LZ_TRY(solve_direct(s, options_goal, &options));
    *out = format;
    if (!format.ptr || !options.ptr)
        return NULL;
    return lz_arena_printf(s->scope->arena, out,
                           "c10::impl::check_tensor_options_and_extract_memory_format(%.*s, %.*s)",
                           LZ_FMT(options), LZ_FMT(format));
}

static lz_err *solve_step(const solver *s, lzg_nctype goal, lz_str *out)
{
    for (size_t i = 0; i < COUNT(backward); i++) {
        lz_str from;
        if (!lzg_ctype_eq(goal.type, backward[i].to) || (backward[i].owning && !s->owning))
            continue;
        LZ_TRY(solve_direct(s, (lzg_nctype){ goal.name, backward[i].from }, &from));
        if (from.ptr)
            return fill(s->scope->arena, backward[i].how, from, out);
    }
    return NULL;
}

static lz_err *solve_indirect(const solver *s, lzg_nctype goal, lz_str *out)
{
    if (lzg_nctype_eq(goal, (lzg_nctype){ LZ_STR("memory_format"), OPTIONAL(MemoryFormat) }))
        return solve_memory_format(s, out);
    if (lzg_nctype_eq(goal, (lzg_nctype){ LZ_STR("options"), BASE(TensorOptions) }))
        return solve_options(s, out);
    for (size_t i = 0; i < NPARTS; i++)
        if (lzg_nctype_eq(goal, (lzg_nctype){ lz_str_of(parts[i].name), parts[i].type }))
            return solve_part(s, i, out);
    return solve_step(s, goal, out);
}

/* A mutable reference serves for a const one, a value for a mutable reference. */
static lz_err *solve_ref(const solver *s, lzg_nctype goal, bool direct, lz_str *out)
{
    if (goal.type->kind == LZG_C_CONST_REF) {
        lzg_nctype ref = { .name = goal.name };
        LZ_TRY(lzg_ctype_wrap(s->scope->arena, LZG_C_MUT_REF, goal.type->elem, &ref.type));
        return solve(s, ref, direct, out);
    }
    if (goal.type->kind == LZG_C_MUT_REF)
        return solve(s, (lzg_nctype){ goal.name, goal.type->elem }, direct, out);
    return NULL;
}

static lz_err *solve(const solver *s, lzg_nctype goal, bool direct, lz_str *out)
{
    *out = (lz_str){ 0 };
    const lzg_cexpr *here = find(s->scope, goal);
    if (here) {
        *out = here->expr;
        return NULL;
    }
    LZ_TRY(solve_ref(s, goal, direct, out));
    if (out->ptr)
        return NULL;
    if (lzg_ctype_eq(goal.type, &longs_ref))
        return solve(s, (lzg_nctype){ goal.name, BASE(IntArrayRef) }, direct, out);
    return direct ? NULL : solve_indirect(s, goal, out);
}
/* NOLINTEND(misc-no-recursion) */

static void print_named(lzg_nctype what, lz_text *out)
{
    lzg_ctype_print(what.type, out);
    lz_text_putc(out, ' ');
    lz_text_add(out, what.name);
}

static lz_err *unsolved(const lzg_scope *s, lzg_nctype goal)
{
    lz_text t = { 0 };
    lz_text_puts(&t, "no expression for ");
    print_named(goal, &t);
    lz_text_puts(&t, s->n ? " among:" : ": the scope is empty");
    for (size_t i = 0; i < s->n; i++) {
        lz_text_puts(&t, "\n    ");
        print_named(s->at[i].what, &t);
        lz_text_printf(&t, "; // %.*s", LZ_FMT(s->at[i].expr));
    }
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = lz_errf(LZ_ERR_UNSUPPORTED, "%.*s", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

lz_err *lzg_translate(const lzg_scope *s, lzg_bindings goals, bool owning, lz_str **out)
{
    solver how = { .scope = s, .goals = goals, .owning = owning };
    LZ_TRY(lz_arena_new(s->arena, out, goals.n));
    for (size_t i = 0; i < goals.n; i++) {
        LZ_TRY(solve(&how, goals.at[i].what, false, &(*out)[i]));
        if (!(*out)[i].ptr)
            return unsolved(s, goals.at[i].what);
    }
    return NULL;
}

void lzg_exprs_print(const lz_str *exprs, size_t n, lz_text *out)
{
    for (size_t i = 0; i < n; i++) {
        lz_text_puts(out, i ? ", " : "");
        lz_text_add(out, exprs[i]);
    }
}

lz_err *lzg_translate_bindings(lz_arena *a, lzg_bindings from, lzg_bindings goals, lz_str **out)
{
    lzg_scope s;
    lzg_scope_init(&s, a);
    LZ_TRY(lzg_scope_add_bindings(&s, from));
    return lzg_translate(&s, goals, false, out);
}
