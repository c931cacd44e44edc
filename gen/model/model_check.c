/* Rules that an operator's entry must keep, and facts that follow from it. */
#include "gen/model/model_entry.h"

const char *lzg_view_kind_name(lzg_view_kind kind)
{
    static const char *const names[] = { "non_aliasing", "aliasing", "aliasing_inplace" };
    return names[kind];
}

bool lzg_function_has_tag(const lzg_function *f, const char *tag)
{
    for (size_t i = 0; i < f->ntags; i++)
        if (lz_str_is(f->tags[i], tag))
            return true;
    return false;
}

bool lzg_function_has_composite(const lzg_function *f)
{
    return f->composite_implicit || f->composite_explicit || f->composite_non_functional;
}

/* T1, T7 */
static lz_err *check_out(const lzg_entry *x, const lzg_function *f)
{
    if (!lzg_schema_is_out_fn(f->func))
        return NULL;
    if (f->variants != LZG_VARIANT_FUNCTION)
        return lzg_entry_error(x, f, LZG_F_variants, "an out function is a function, never a method");
    if (x && f->use_const_ref) /* a generated one inherits it */
        return lzg_entry_error(x, f, LZG_F_use_const_ref_for_mutable_tensors,
                               "use_const_ref_for_mutable_tensors on an out function");
    return NULL;
}

/* T2-T5 */
static lz_err *check_structured(const lzg_entry *x, const lzg_function *f)
{
    if (f->structured && f->func->kind != LZG_OUT_KIND)
        return lzg_entry_error(x, f, LZG_F_structured,
                               "structured belongs on the out function; here it is structured_delegate");
    if (f->structured_delegate && f->func->kind == LZG_OUT_KIND)
        return lzg_entry_error(x, f, LZG_F_structured_delegate,
                               "an out function is structured, it does not delegate");
    if ((f->structured || f->structured_delegate) && !f->device_guard)
        return lzg_entry_error(x, f, LZG_F_device_guard,
                               "structured kernels do not respect device_guard: False");
    if (f->structured_inherits.ptr && !f->structured)
        return lzg_entry_error(x, f, LZG_F_structured_inherits,
                               "structured_inherits without structured: True");
    return NULL;
}

static bool contains(lz_str s, const char *part)
{
    return lz_str_find(s, lz_str_of(part)) != SIZE_MAX;
}

/* Draws random numbers, as far as names and types tell. */
static bool looks_random(const lzg_schema *s)
{
    lz_str name = s->name.text;
    bool dropout = contains(name, "dropout");
    for (size_t i = 0; i < s->nargs; i++) {
        if (s->args[i].section != LZG_OUT && lzg_type_is_generator_like(s->args[i].type))
            return true;
        dropout = dropout || contains(s->args[i].name, "dropout");
    }
    if (contains(name, "rand") && !contains(name, "_philox_"))
        return true;
    return dropout && !contains(name, "backward")
           && !lz_str_is(s->name.printed_base, "_cudnn_init_dropout_state");
}

lz_err *lzg_function_check(const lzg_entry *x, const lzg_function *f)
{
    LZ_TRY(check_out(x, f));
    LZ_TRY(check_structured(x, f));
    if (f->python_module.ptr && (f->variants & LZG_VARIANT_METHOD))
        return lzg_entry_error(x, f, LZG_F_python_module, "a function in a module cannot be a method");
    if (lz_str_starts(f->func->name.text, LZ_STR("_foreach")) && f->device_check)
        return lzg_entry_error(x, f, LZG_F_func, "a foreach function needs device_check: NoCheck");
    if (looks_random(f->func) && !lzg_function_has_tag(f, "nondeterministic_seeded"))
        return lzg_entry_error(x, f, LZG_F_func, "the tag nondeterministic_seeded is missing");
    return NULL;
}

/* ---- what follows ---- */

static bool returns_view(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nreturns; i++)
        if (s->returns[i].annotation && !s->returns[i].annotation->write)
            return true;
    return false;
}

static bool has_wildcard(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nargs; i++)
        if (s->args[i].annotation && strchr(s->args[i].annotation->after, '*'))
            return true;
    return false;
}

static bool is_view(const lzg_function *f)
{
    lz_str name = f->func->name.text;
    bool resize = lz_str_is(name, "resize_") || lz_str_is(name, "resize_as_");
    return returns_view(f->func) || has_wildcard(f->func)
           || (!resize && lzg_function_has_tag(f, "inplace_view"));
}

lz_err *lzg_function_derive(lz_arena *a, lzg_function *f)
{
    const lzg_schema *sig, *view;
    LZ_TRY(lzg_schema_signature(a, f->func, (lzg_signature_options){ 0 }, &sig));
    view = sig;
    if (lz_str_ends(f->func->name.base, LZ_STR("_copy"))
        || lz_str_ends(f->func->name.base, LZ_STR("_scatter")))
        LZ_TRY(lzg_schema_view_signature(a, f->func, &view));
    f->signature = sig->text;
    f->view_signature = view->text;
    f->is_view_op = is_view(f);
    f->view_kind = !f->is_view_op          ? LZG_NON_ALIASING
                   : f->func->name.inplace ? LZG_ALIASING_INPLACE
                                           : LZG_ALIASING;
    return NULL;
}
