#include "gen/torch/functionalization/composite_kernels.h"
#include "gen/api/cpp.h"
#include "gen/api/dispatcher.h"
#include "gen/api/native.h"
#include "gen/api/translate.h"
#include "gen/text/fill.h"
#include "gen/torch/functionalization/redispatch.h"

static const lzg_dispatcher_form plain = { 0 };

static void put_head(const lzg_sig *sig, lz_text *out)
{
    lz_text_putc(out, '\n');
    lzg_sig_defn(sig, out);
    lz_text_puts(out, " {\n");
}

/* at::_ops::NAME::call(arguments) */
static lz_err *put_call(const lzg_scope *scope, const lzg_function *target, lzg_bindings goals, lz_text *out)
{
    lz_str *exprs;
    LZ_TRY(lzg_translate(scope, goals, false, &exprs));
    lzg_fill_named(out, "at::_ops::${op}::call(", { "op", target->func->name.unambiguous });
    lzg_exprs_print(exprs, goals.n, out);
    lz_text_puts(out, ");\n");
    return NULL;
}

/* ---- copies of views ---- */

/* slice_scatter, the twin of slice_inverse, exists already; so does every other name. */
static bool is_default_copy(const lzg_view_group *g)
{
    if (!g->view_copy)
        return false;
    lz_str view_name = g->view->func->name.printed_base, copy = g->view_copy->func->name.base;
    return copy.len == view_name.len + LZ_STR("_copy").len && lz_str_starts(copy, view_name)
           && lz_str_ends(copy, LZ_STR("_copy"));
}

/* view_copy also works where a view is impossible: it reshapes then. */
static const char view_copy[] =
    "at::Tensor view_copy_symint(const at::Tensor & self, at::SymIntArrayRef size) {\n"
    "  c10::SymDimVector shape = infer_size_dv(size, self.sym_numel());\n"
    "  if (!at::detail::computeStride(self.sym_sizes(), self.sym_strides(), shape).has_value()) {\n"
    "    return self.reshape_symint(size);\n"
    "  } else {\n"
    "    auto output = at::_ops::view::call(self, size);\n"
    "    return output.clone(/*memory_format=*/at::MemoryFormat::Contiguous);\n"
    "  }\n"
    "}\n";

static const char clone_one[] = "  return output.clone(/*memory_format=*/at::MemoryFormat::Contiguous);\n}\n";

static const char clone_each[] =
    " out_clone;\n"
    "  for (const auto i : c10::irange(output.size())) {\n"
    "    out_clone.push_back(output[i].clone(/*memory_format=*/at::MemoryFormat::Contiguous));\n"
    "  }\n"
    "  return out_clone;\n}\n";

static lz_err *put_view_copy(const lzg_backend_metadata *m, lz_text *out)
{
    if (!lz_str_is(m->kernel, "view_copy_symint"))
        return lz_errf(LZ_ERR_MODEL, "view_copy's kernel is view_copy_symint, not %.*s", LZ_FMT(m->kernel));
    lz_text_puts(out, view_copy);
    return lz_text_check(out);
}

static lz_err *put_clones(const lzg_schema *view, const lzg_sig *sig, lz_text *out)
{
    const lzg_type *t = view->nreturns == 1 ? view->returns[0].type : NULL;
    bool list = t && t->kind == LZG_TYPE_LIST && t->size < 0 && lzg_type_is(t->elem, LZG_TY_Tensor);
    if (!list && !(t && lzg_type_is(t, LZG_TY_Tensor)))
        return lz_errf(LZ_ERR_UNSUPPORTED, "a copied view returns one Tensor or Tensor[]");
    lz_text_puts(out, "  ");
    if (list) {
        lz_text_puts(out, "  ");
        lzg_ctype_print(sig->returns, out);
    }
    lz_text_puts(out, list ? clone_each : clone_one);
    return lz_text_check(out);
}

lz_err *lzg_put_view_copy_kernel(lz_arena *a, const lzg_view_group *g, lz_text *out)
{
    if (!is_default_copy(g))
        return NULL;
    lzg_local local = lzg_local_of(g->view);
    const lzg_schema *copy = g->view_copy->func;
    const lzg_backend_metadata *m = lzg_function_kernel(g->view_copy, lzg_key_non_functional);
    lzg_sig sig;
    lzg_bindings goals;
    lzg_scope scope;
    if (!m)
        return lz_errf(LZ_ERR_MODEL, "%.*s needs a CompositeExplicitAutogradNonFunctional kernel",
                       LZ_FMT(copy->name.text));
    if (lz_str_is(copy->name.text, "view_copy"))
        return put_view_copy(m, out);
    LZ_TRY(lzg_native_signature(a, copy, local, lzg_backend_metadata_symint(m), &sig));
    LZ_TRY(lzg_dispatcher_arguments(a, g->view->func, local, plain, &goals));
    sig.name = m->kernel;
    put_head(&sig, out);
    lz_text_puts(out, "  auto output = ");
    lzg_scope_init(&scope, a);
    LZ_TRY(lzg_scope_add_bindings(&scope, sig.args));
    LZ_TRY(put_call(&scope, g->view, goals, out));
    return put_clones(g->view->func, &sig, out);
}

lz_err *lzg_view_copy_check(lz_arena *a, const lzg_view_group *g)
{
    lz_text scratch = { 0 };
    lz_err *e = lzg_put_view_copy_kernel(a, g, &scratch);
    lz_text_deinit(&scratch);
    return e;
}

/* ---- functional operators ---- */

/* The form that the generated functional operator calls, which is not generated itself. */
static const lzg_function *writing_form(const lzg_group *g)
{
    if (g->inplace && !g->inplace->generated)
        return g->inplace;
    return g->mutable && !g->mutable->generated ? g->mutable : NULL;
}

typedef struct clones {
    lz_str *names;
    size_t n;
} clones;

/* Written arguments are cloned, and the clones passed and returned. */
static lz_err *put_arguments(lz_arena *a, const lzg_function *target, lzg_bindings args, lzg_scope *scope,
                             clones *made, lz_text *out)
{
    size_t n = args.n < target->func->nargs ? args.n : target->func->nargs;
    LZ_TRY(lz_arena_new(a, &made->names, n));
    for (size_t i = 0; i < n; i++) {
        lz_str expr = args.at[i].name;
        if (lzg_argument_writes(&target->func->args[i])) {
            LZ_TRY(lz_arena_printf(a, &expr, "%.*s_clone", LZ_FMT(expr)));
            lzg_fill_named(out, "${newline}auto ${clone} = clone_arg(${arg});",
                           { "newline", made->n ? LZ_STR("\n") : LZ_STR("") }, { "clone", expr },
                           { "arg", args.at[i].name });
            made->names[made->n++] = expr;
        }
        LZ_TRY(lzg_scope_add(scope, expr, args.at[i].what));
    }
    return NULL;
}

/* What the called form makes anew, then the clones. */
static lz_err *put_results(lz_arena *a, const lzg_function *target, const lzg_sig *sig, const clones *made,
                           size_t nreturns, lz_text *out)
{
    lzg_redispatch inner;
    LZ_TRY(lzg_redispatch_make(a, target->func, LZ_STR("output"), &inner));
    lzg_redispatch all = { inner.fresh, made->names, inner.nfresh, made->n };
    if (inner.nfresh + made->n != nreturns)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%.*s makes %zu results, not %zu", LZ_FMT(target->func->name.text),
                       inner.nfresh + made->n, nreturns);
    lz_text_puts(out, "  ");
    LZ_TRY(lzg_put_return(sig->returns, &all, out));
    lz_text_puts(out, "\n}\n");
    return lz_text_check(out);
}

static lz_err *add_symint(lz_arena *a, const lzg_group *g, lz_str *name)
{
    return lzg_schema_has_symint(g->out->func) ? lz_arena_printf(a, name, "%.*s_symint", LZ_FMT(*name))
                                               : NULL;
}

lz_err *lzg_put_composite_functional(lz_arena *a, const lzg_group *g, lz_text *out)
{
    const lzg_function *target = writing_form(g);
    lzg_local local = lzg_local_of(g->out);
    lzg_scope scope;
    clones made = { 0 };
    lzg_sig sig, called;
    if (!g->functional->generated)
        return NULL;
    if (!target)
        return lz_errf(LZ_ERR_MODEL, "%.*s has no form that writes to call",
                       LZ_FMT(g->functional->func->text));
    LZ_TRY(lzg_dispatcher_signature(a, g->functional->func, local, plain, &sig));
    LZ_TRY(lzg_dispatcher_signature(a, target->func, local, plain, &called));
    LZ_TRY(add_symint(a, g, &sig.name));
    put_head(&sig, out);
    lz_text_puts(out, "  ");
    lzg_scope_init(&scope, a);
    LZ_TRY(put_arguments(a, target, sig.args, &scope, &made, out));
    lz_text_puts(out, target->func->nreturns ? "\n  auto output = " : "\n  ");
    LZ_TRY(put_call(&scope, target, called.args, out));
    return put_results(a, target, &sig, &made, g->functional->func->nreturns, out);
}

/* ---- out operators ---- */

/* Result i of the functional operator. */
static lz_err *result_name(lz_arena *a, const lzg_group *g, size_t i, lz_str *out)
{
    *out = LZ_STR("tmp_output");
    return g->functional->func->nreturns == 1 ? NULL
                                              : lz_arena_printf(a, out, "std::get<%zu>(tmp_output)", i);
}

static lz_err *put_copies(lz_arena *a, const lzg_group *g, lz_text *out)
{
    const lzg_argument *outs;
    size_t n = lzg_schema_section(g->out->func, LZG_OUT, &outs);
    lz_text_puts(out, "  ");
    for (size_t i = 0; i < n; i++) {
        lz_str result;
        LZ_TRY(result_name(a, g, i, &result));
        const lzg_named_text fields[] = { { "out", outs[i].name }, { "result", result } };
        lzg_fill_fields(out,
                        LZ_STR("  resize_out_helper(${out}, ${result});\n  copy_arg(${out}, ${result});\n"),
                        fields, 2);
    }
    lz_text_puts(out, n ? "" : "\n");
    return NULL;
}

static lz_err *put_out_returns(lz_arena *a, const lzg_group *g, const lzg_sig *sig, lz_text *out)
{
    const lzg_schema *s = g->out->func;
    lz_str *names;
    LZ_TRY(lzg_schema_aliased_returns(s, a, &names));
    for (size_t i = 0; i < s->nreturns; i++)
        if (!names[i].len)
            LZ_TRY(result_name(a, g, i, &names[i]));
    lz_text_puts(out, "  ");
    LZ_TRY(lzg_put_return_of(sig->returns, names, s->nreturns, out));
    lz_text_puts(out, "\n}\n");
    return lz_text_check(out);
}

lz_err *lzg_put_composite_out(lz_arena *a, const lzg_group *g, lz_text *out)
{
    lzg_local local = lzg_local_of(g->out);
    lzg_scope scope;
    lzg_sig sig, called;
    if (!g->out->generated)
        return NULL;
    LZ_TRY(lzg_dispatcher_signature(a, g->out->func, local, plain, &sig));
    LZ_TRY(lzg_dispatcher_signature(a, g->functional->func, local, plain, &called));
    sig.name = g->out->func->name.unambiguous;
    LZ_TRY(add_symint(a, g, &sig.name));
    put_head(&sig, out);
    lz_text_puts(out, "  auto tmp_output = ");
    lzg_scope_init(&scope, a);
    LZ_TRY(lzg_scope_add_bindings(&scope, sig.args));
    LZ_TRY(put_call(&scope, g->functional, called.args, out));
    LZ_TRY(put_copies(a, g, out));
    return put_out_returns(a, g, &sig, out);
}
