/* variable_factories.h: functions that make tensors with a flag for autograd. */
#include "gen/api/cpp.h"
#include "gen/torch/autograd/gen_autograd.h"

static bool is_factory(const lzg_function *f, lz_str cpp_name)
{
    return (f->variants & LZG_VARIANT_FUNCTION)
           && (lzg_schema_has_tensor_options(f->func) || lz_str_ends(cpp_name, LZ_STR("_like")));
}

/* Options ask for gradients of the result, not of the operator that makes it. */
static lz_str factory(lzg_snippets *s, const lzg_sig *sig)
{
    lzg_pieces formals = { 0 }, exprs = { 0 };
    lz_str requires_grad = LZ_STR("false");
    for (size_t i = 0; i < sig->args.n; i++) {
        const lzg_binding *b = &sig->args.at[i];
        lzg_binding_defn(b, &s->text);
        lz_str formal = lzg_snippet_take(s);
        lzg_pieces_add(s, &formals, b->deflt.len ? lzg_phrase(s, "$ = $", formal, b->deflt) : formal);
        if (!b->argument)
            requires_grad = lzg_phrase(s, "$.requires_grad()", b->name);
        lzg_pieces_add(s, &exprs,
                       b->argument
                           ? b->name
                           : lzg_phrase(s, "at::TensorOptions($).requires_grad(::std::nullopt)", b->name));
    }
    return lzg_snippet(
        s,
        "inline at::Tensor ${name}(${formals}) {\n"
        "  at::AutoDispatchBelowADInplaceOrView guard;\n"
        "  return autograd::make_variable(at::${name}(${exprs}), /*requires_grad=*/${requires_grad});\n"
        "}\n",
        { "name", sig->name }, { "formals", lzg_pieces_join(s, &formals, ", ") },
        { "exprs", lzg_pieces_join(s, &exprs, ", ") }, { "requires_grad", requires_grad });
}

static lz_err *add_factory(lzg_snippets *s, const lzg_function *f, lzg_texts *headers, lzg_texts *definitions)
{
    lz_str name;
    LZ_TRY(lzg_cpp_name(s->arena, f->func, (lzg_cpp_form){ 0 }, &name));
    if (!is_factory(f, name))
        return NULL;
    lzg_fill(&headers->text, "#include <ATen/ops/$.h>", f->func->name.base);
    int forms = lzg_schema_has_symint(f->func) ? 2 : 1;
    for (int symint = 0; symint < forms; symint++) {
        lzg_sig sig;
        LZ_TRY(lzg_cpp_signature(s->arena, f, (lzg_cpp_form){ .symint = symint }, &sig));
        lz_text_add(&definitions->text, factory(s, &sig));
    }
    LZ_TRY(lzg_texts_end(headers));
    LZ_TRY(lzg_texts_end(definitions));
    return lzg_snippets_check(s);
}

static lz_err *add_factories(lzg_job *j, lzg_texts *headers, lzg_texts *definitions)
{
    lzg_snippets pieces;
    lz_err *e = NULL;
    lzg_snippets_init(&pieces, &j->scratch);
    for (size_t i = 0; !e && i < j->run->ops.nfunctions; i++) {
        lz_arena_mark mark = lz_arena_save(&j->scratch);
        const lzg_function *f = j->run->ops.functions[i];
        e = lzg_job_take(j, add_factory(&pieces, f, headers, definitions), f);
        lz_arena_rewind(&j->scratch, mark);
    }
    lzg_snippets_deinit(&pieces);
    return e;
}

static lz_err *variable_factories(lzg_job *j, const void *arg)
{
    const lzg_autograd_settings *s = arg;
    static const char name[] = "variable_factories.h";
    lzg_texts *headers, *definitions;
    lzg_env env;
    LZ_TRY(lzg_job_texts(j, &headers));
    LZ_TRY(lzg_job_texts(j, &definitions));
    LZ_TRY(add_factories(j, headers, definitions));
    lz_err *e = lzg_autograd_env(j, &env, name);
    if (!e)
        e = lzg_env_texts(&env, "ops_headers", headers);
    if (!e)
        e = lzg_env_texts(&env, "function_definitions", definitions);
    if (!e)
        e = lzg_job_template(j, s->files, name, name, &env);
    lzg_env_deinit(&env);
    return e;
}

lz_err *lzg_plan_variable_factories(const lzg_autograd_settings *s)
{
    return lzg_run_add(s->run, 2, variable_factories, s);
}
