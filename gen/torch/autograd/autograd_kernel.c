#include "gen/torch/autograd/autograd_kernel.h"
#include "gen/api/cpp.h"
#include "gen/api/dispatcher.h"
#include "gen/text/lists.h"

static lz_str formals(lzg_snippets *s, lzg_bindings args)
{
    lzg_put(&s->text, "c10::DispatchKeySet ks");
    for (size_t i = 0; i < args.n; i++) {
        lzg_put(&s->text, ", ");
        lzg_binding_defn(&args.at[i], &s->text);
    }
    return lzg_snippet_take(s);
}

static lz_str names(lzg_snippets *s, lzg_bindings args)
{
    for (size_t i = 0; i < args.n; i++)
        lzg_fill(&s->text, "$$", i ? LZ_STR(", ") : LZ_STR(""), args.at[i].name);
    return lzg_snippet_take(s);
}

lz_err *lzg_autograd_kernel_init(lzg_autograd_kernel *k, lzg_snippets *s, const lzg_function *f)
{
    lzg_local local = lzg_local_of(f);
    const lzg_ctype *returns;
    lz_str *results;
    *k = (lzg_autograd_kernel){ .f = f };
    LZ_TRY(lzg_cpp_name(s->arena, f->func, (lzg_cpp_form){ 0 }, &k->name));
    LZ_TRY(lzg_cpp_returns_type(s->arena, f->func, local, &returns));
    LZ_TRY(lzg_cpp_return_names(s->arena, f, "result", &results));
    LZ_TRY(lzg_dispatcher_arguments(s->arena, f->func, local, (lzg_dispatcher_form){ 0 }, &k->args));
    k->results = results;
    k->returns = lzg_snippet_type(s, returns);
    k->wrapper = f->func->name.overload.len ? lzg_phrase(s, "$_$", k->name, f->func->name.overload) : k->name;
    k->formals = formals(s, k->args);
    k->exprs = names(s, k->args);
    return NULL;
}

bool lzg_modifies_arguments(const lzg_function *f)
{
    return f->func->kind == LZG_INPLACE || f->func->kind == LZG_OUT_KIND;
}

bool lzg_is_manual_autograd(const lzg_ops *ops, lz_str cpp_name)
{
    return lzg_lists_has(ops->lists, "gen_inplace_or_view_type.manual_autograd", cpp_name);
}

lz_str lzg_tie_return_values(lzg_snippets *s, const lzg_autograd_kernel *k)
{
    const lzg_schema *func = k->f->func;
    lzg_pieces all = { 0 };
    if (func->nreturns == 1)
        return lzg_phrase(s, "auto $", func->returns[0].name.len ? func->returns[0].name : LZ_STR("result"));
    for (size_t i = 0; i < func->nreturns; i++)
        lzg_pieces_add(s, &all, k->results[i]);
    return lzg_phrase(s, "auto [$]", lzg_pieces_join(s, &all, ", "));
}

lz_str lzg_return_value(lzg_snippets *s, const lzg_autograd_kernel *k)
{
    const lzg_schema *func = k->f->func;
    bool out = func->kind == LZG_OUT_KIND;
    lzg_pieces all = { 0 };
    if (func->nreturns == 1)
        return k->results[0];
    for (size_t i = 0; i < func->nreturns; i++)
        lzg_pieces_add(s, &all, out ? k->results[i] : lzg_phrase(s, "std::move($)", k->results[i]));
    return lzg_phrase(s, "$($)", out ? LZ_STR("std::forward_as_tuple") : LZ_STR("std::make_tuple"),
                      lzg_pieces_join(s, &all, ", "));
}

lz_str lzg_autograd_definition(lzg_snippets *s, const lzg_autograd_kernel *k, lz_str name,
                               const lzg_pieces *body)
{
    return lzg_snippet(s,
                       "${return_type} ${type_wrapper_name}(${formals}) {\n"
                       "  ${type_definition_body}\n"
                       "}\n",
                       { "return_type", k->returns }, { "type_wrapper_name", name },
                       { "formals", k->formals }, { "type_definition_body", lzg_pieces_lines(s, body) });
}

lz_str lzg_autograd_registration(lzg_snippets *s, const lzg_autograd_kernel *k, const char *class,
                                 lz_str name)
{
    return lzg_snippet(s,
                       "m.impl(\"${name}\",\n"
                       "       TORCH_FN(${class_type}::${type_wrapper_name})\n"
                       ");\n",
                       { "name", k->f->func->name.text }, { "class_type", lz_str_of(class) },
                       { "type_wrapper_name", name });
}

lz_str lzg_ops_header(lzg_snippets *s, const lzg_function *f)
{
    return lzg_phrase(s, "#include <ATen/ops/$_ops.h>", f->func->name.base);
}
