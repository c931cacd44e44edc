#include "gen/torch/consumers.h"
#include "gen/api/cpp.h"
#include "gen/api/dispatcher.h"
#include "gen/api/native.h"
#include "gen/api/structured.h"
#include "gen/api/translate.h"
#include "gen/torch/dest/native_functions.h"
#include "gen/torch/dest/register_dispatch_key.h"
#include "gen/torch/dest/ufunc_kernel.h"
#include "gen/torch/functionalization/composite_kernels.h"
#include "gen/torch/functionalization/gen_functionalization_type.h"

typedef struct walk {
    const lzg_ops *ops;
    lzg_diag *diag;
    lz_arena arena; /* emptied after every item */
} walk;

typedef lz_err *function_check(lz_arena *a, const lzg_ops *ops, const lzg_function *f);
typedef lz_err *group_check(lz_arena *a, const lzg_ops *ops, const lzg_group *g);
typedef lz_err *view_check(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g);

/* Whose place an item's errors are reported at. */
static lz_err *settle(walk *w, lz_arena_mark mark, lz_err *e, const lzg_function *f)
{
    lz_arena_rewind(&w->arena, mark);
    return lzg_diag_take(w->diag, e, f->loc, f->func->text);
}

static lz_err *each_function(walk *w, function_check *check)
{
    for (size_t i = 0; i < w->ops->nfunctions; i++) {
        const lzg_function *f = w->ops->functions[i];
        lz_arena_mark mark = lz_arena_save(&w->arena);
        LZ_TRY(settle(w, mark, check(&w->arena, w->ops, f), f));
    }
    return NULL;
}

static lz_err *each_group(walk *w, group_check *check)
{
    for (size_t i = 0; i < w->ops->ngroups; i++) {
        const lzg_group *g = &w->ops->groups[i];
        lz_arena_mark mark = lz_arena_save(&w->arena);
        LZ_TRY(settle(w, mark, check(&w->arena, w->ops, g), g->out));
    }
    return NULL;
}

static lz_err *each_view(walk *w, view_check *check)
{
    for (size_t i = 0; i < w->ops->nview_groups; i++) {
        const lzg_view_group *g = &w->ops->view_groups[i];
        lz_arena_mark mark = lz_arena_save(&w->arena);
        LZ_TRY(settle(w, mark, check(&w->arena, w->ops, g), g->view));
    }
    return NULL;
}

static bool in_group(const lzg_ops *ops, const lzg_function *f)
{
    return lz_map_get(&ops->group_of, f->func->name.text) != NULL;
}

static bool in_view_group(const lzg_ops *ops, const lzg_function *f)
{
    return lz_map_get(&ops->view_group_of, f->func->name.text) != NULL;
}

static lz_err *finish(walk *w, lz_err *e)
{
    lz_arena_deinit(&w->arena);
    return e;
}

/* ---- cpp ---- */

/* Every C++ signature must be able to call the dispatcher's. */
static lz_err *check_calls(lz_arena *a, const lzg_function *f, bool method, lzg_bindings goals)
{
    lzg_cpp_form forms[4];
    size_t n = lzg_cpp_forms(f->func, (lzg_cpp_form){ .method = method }, forms);
    for (size_t i = 0; i < n; i++) {
        lzg_sig sig;
        lzg_scope scope;
        lz_str *exprs;
        LZ_TRY(lzg_cpp_signature(a, f, forms[i], &sig));
        lzg_scope_init(&scope, a);
        LZ_TRY(lzg_scope_add_bindings(&scope, sig.args));
        if (method)
            LZ_TRY(lzg_scope_add_this(&scope));
        LZ_TRY(lzg_translate(&scope, goals, false, &exprs));
    }
    return NULL;
}

static lz_err *check_cpp(lz_arena *a, const lzg_ops *ops, const lzg_function *f)
{
    lzg_sig sig;
    lz_str *names;
    (void)ops;
    LZ_TRY(lzg_dispatcher_signature(a, f->func, lzg_local_of(f), (lzg_dispatcher_form){ 0 }, &sig));
    LZ_TRY(lzg_cpp_return_names(a, f, "result", &names));
    LZ_TRY(check_calls(a, f, false, sig.args));
    if (!(f->variants & LZG_VARIANT_METHOD))
        return NULL;
    if (!lzg_schema_self(f->func))
        return lz_errf(LZ_ERR_MODEL, "a method needs a self argument");
    return check_calls(a, f, true, sig.args);
}

lz_err *lzg_check_cpp(const lzg_ops *ops, lzg_diag *d)
{
    walk w = { .ops = ops, .diag = d };
    return finish(&w, each_function(&w, check_cpp));
}

/* ---- native ---- */

static lz_err *declare_kernels(lz_arena *a, const lzg_ops *ops, const lzg_grouped *g)
{
    lzg_texts t = { 0 };
    lz_err *e = lzg_put_namespaced_kernels(a, ops, g, 1, &t);
    lzg_texts_deinit(&t);
    return e;
}

static lz_err *check_native_group(lz_arena *a, const lzg_ops *ops, const lzg_group *g)
{
    return declare_kernels(a, ops, &(lzg_grouped){ g, g->functional });
}

static lz_err *check_native_single(lz_arena *a, const lzg_ops *ops, const lzg_function *f)
{
    return in_group(ops, f) ? NULL : declare_kernels(a, ops, &(lzg_grouped){ NULL, f });
}

lz_err *lzg_check_native(const lzg_ops *ops, lzg_diag *d)
{
    walk w = { .ops = ops, .diag = d };
    lz_err *e = each_group(&w, check_native_group);
    return finish(&w, e ? e : each_function(&w, check_native_single));
}

/* ---- register ---- */

static lz_err *check_register_group(lz_arena *a, const lzg_ops *ops, const lzg_group *g)
{
    return lzg_register_check(a, ops, &(lzg_grouped){ g, g->functional });
}

static lz_err *check_register_single(lz_arena *a, const lzg_ops *ops, const lzg_function *f)
{
    return in_group(ops, f) ? NULL : lzg_register_check(a, ops, &(lzg_grouped){ NULL, f });
}

lz_err *lzg_check_register(const lzg_ops *ops, lzg_diag *d)
{
    walk w = { .ops = ops, .diag = d };
    lz_err *e = each_group(&w, check_register_group);
    return finish(&w, e ? e : each_function(&w, check_register_single));
}

/* ---- functionalize ---- */

static lz_err *check_view(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g)
{
    LZ_TRY(lzg_functionalize_view(a, ops, g));
    return lzg_view_copy_check(a, g);
}

static lz_err *check_functionalize_single(lz_arena *a, const lzg_ops *ops, const lzg_function *f)
{
    lz_str *aliased;
    LZ_TRY(lzg_schema_aliased_returns(f->func, a, &aliased));
    return in_group(ops, f) || in_view_group(ops, f) ? NULL : lzg_functionalize_single(ops, f);
}

lz_err *lzg_check_functionalize(const lzg_ops *ops, lzg_diag *d)
{
    walk w = { .ops = ops, .diag = d };
    lz_err *e = each_group(&w, lzg_functionalize_group);
    if (!e)
        e = each_view(&w, check_view);
    return finish(&w, e ? e : each_function(&w, check_functionalize_single));
}

/* ---- ufunc ---- */

static lz_err *check_ufunc(lz_arena *a, const lzg_ops *ops, const lzg_group *g)
{
    lzg_bindings meta;
    (void)ops;
    if (!g->structured || !g->out->nufunc)
        return NULL;
    LZ_TRY(lzg_structured_meta_arguments(a, g, &meta));
    return lzg_ufunc_check(a, g);
}

lz_err *lzg_check_ufunc(const lzg_ops *ops, lzg_diag *d)
{
    walk w = { .ops = ops, .diag = d };
    return finish(&w, each_group(&w, check_ufunc));
}
