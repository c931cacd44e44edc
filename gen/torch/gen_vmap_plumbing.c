#include "gen/torch/gen_vmap_plumbing.h"
#include "gen/api/dispatcher.h"
#include "gen/api/translate.h"
#include "gen/text/fill.h"
#include "gen/text/utils.h"

static const char *const names[LZG_VMAP_COUNT] = {
    [LZG_VMAP_NONE] = "none",
    [LZG_VMAP_FUNCTIONAL] = "gen_vmap_plumbing",
    [LZG_VMAP_INPLACE] = "gen_vmap_inplace_plumbing",
    [LZG_VMAP_NO_RETURNS] = "gen_vmap_plumbing_no_returns",
};

const char *lzg_vmap_name(lzg_vmap v)
{
    return names[v];
}

/* Wrapped although they also return SymInts. */
static const char *const mixed_returns[] = {
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_flash_attention_quantized",
};

static bool may_mix_returns(lz_str name)
{
    for (size_t i = 0; i < sizeof mixed_returns / sizeof mixed_returns[0]; i++)
        if (lz_str_is(name, mixed_returns[i]))
            return true;
    return false;
}

static bool takes_tensor(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nargs; i++)
        if (lzg_type_is_tensor_like(s->args[i].type))
            return true;
    return false;
}

static bool returns_tensors(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nreturns; i++)
        if (!lzg_type_is_tensor_like(s->returns[i].type))
            return false;
    return true;
}

/* Tensor or Tensor[], not Tensor?. */
static bool returns_batchable(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nreturns; i++) {
        const lzg_type *t = s->returns[i].type;
        if (!lzg_type_is(t->kind == LZG_TYPE_LIST ? t->elem : t, LZG_TY_Tensor))
            return false;
    }
    return true;
}

static bool writes_first_alone(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nargs; i++)
        if (lzg_argument_writes(&s->args[i]) != (i == 0))
            return false;
    return true;
}

static lzg_vmap kind_of(const lzg_function *f)
{
    const lzg_schema *s = f->func;
    if (!takes_tensor(s))
        return LZG_VMAP_NONE;
    if (s->nreturns == 0)
        return LZG_VMAP_NO_RETURNS;
    if (!returns_tensors(s) && !may_mix_returns(s->name.unambiguous))
        return LZG_VMAP_NONE;
    if (lzg_function_has_tag(f, "inplace_view"))
        return LZG_VMAP_NONE;
    if (s->kind == LZG_INPLACE)
        return writes_first_alone(s) && returns_batchable(s) ? LZG_VMAP_INPLACE : LZG_VMAP_NONE;
    return s->kind == LZG_FUNCTIONAL ? LZG_VMAP_FUNCTIONAL : LZG_VMAP_NONE;
}

lz_err *lzg_vmap_plumbing(lz_arena *a, const lzg_function *f, lzg_vmap *out)
{
    lzg_sig sig;
    *out = kind_of(f);
    if (*out == LZG_VMAP_NONE)
        return NULL;
    return lzg_dispatcher_signature(a, f->func, lzg_local_of(f), (lzg_dispatcher_form){ 0 }, &sig);
}

/* ---- the wrapper ---- */

static bool is_optional_tensor(const lzg_type *t)
{
    return t->kind == LZG_TYPE_OPTIONAL && lzg_type_is(t->elem, LZG_TY_Tensor);
}

static bool is_unwrapped(const lzg_type *t)
{
    return lzg_type_is(t, LZG_TY_Tensor) || is_optional_tensor(t);
}

/* Nothing batched at this level: the operator itself. */
static lz_err *put_shortcut(lz_arena *a, const lzg_schema *s, const lzg_sig *sig, lz_text *out)
{
    lz_str *exprs;
    bool again = false;
    lz_text_puts(out, "  if (");
    for (size_t i = 0; i < s->nargs; i++) {
        if (!lzg_type_is_tensor_like(s->args[i].type))
            continue;
        lzg_fill_named(out, "${and}!isBatchedAtLevel(${arg}, cur_level)",
                       { "and", again ? LZ_STR(" && ") : LZ_STR("") }, { "arg", s->args[i].name });
        again = true;
    }
    lzg_fill_named(out, ") {\n    return at::_ops::${op}::call(", { "op", s->name.unambiguous });
    LZ_TRY(lzg_translate_bindings(a, sig->args, sig->args, &exprs));
    lzg_exprs_print(exprs, sig->args.n, out);
    lz_text_puts(out, ");\n  }\n");
    return NULL;
}

/* Plain tensors first; an empty line where there is none at all. */
static void put_unwraps(const lzg_schema *s, lz_text *out)
{
    size_t start = out->len;
    for (size_t i = 0; i < s->nargs; i++)
        if (lzg_type_is(s->args[i].type, LZG_TY_Tensor))
            lzg_fill_named(out,
                           "  auto [${arg}_value, ${arg}_bdim] = unwrapTensorAtLevel(${arg}, cur_level);\n",
                           { "arg", s->args[i].name });
    for (size_t i = 0; i < s->nargs; i++)
        if (is_optional_tensor(s->args[i].type))
            lzg_fill_named(out,
                           "  std::optional<Tensor> ${arg}_value;\n"
                           "  std::optional<int64_t> ${arg}_bdim;\n"
                           "  if (${arg}) {\n"
                           "      std::tie(${arg}_value, ${arg}_bdim) = "
                           "unwrapTensorAtLevel(${arg}.value(), cur_level);\n"
                           "  }\n",
                           { "arg", s->args[i].name });
    lz_text_puts(out, out->len == start ? "\n" : "");
}

static void put_rule_call(const lzg_schema *s, lz_text *out)
{
    lz_text_puts(out, "batch_rule(");
    for (size_t i = 0; i < s->nargs; i++)
        lzg_fill_fields(out,
                        is_unwrapped(s->args[i].type) ? LZ_STR("${comma}${arg}_value, ${arg}_bdim")
                                                      : LZ_STR("${comma}${arg}"),
                        (const lzg_named_text[]){ { "arg", s->args[i].name },
                                                  { "comma", i ? LZ_STR(", ") : LZ_STR("") } },
                        2);
    lz_text_puts(out, ");\n");
}

/* A tensor, or a list of them, is two results of the rule: value and batch dimension. */
static const char *batched(const lzg_type *t)
{
    if (lzg_type_is(t, LZG_TY_Tensor))
        return "makeBatched";
    return t->kind == LZG_TYPE_LIST && lzg_type_is(t->elem, LZG_TY_Tensor) ? "makeBatchedVector" : NULL;
}

static void put_results(const lzg_schema *s, lz_text *out)
{
    size_t at = 0;
    lz_text_puts(out, s->nreturns == 1 ? "  return " : "  return std::make_tuple(");
    for (size_t i = 0; i < s->nreturns; i++) {
        const char *make = batched(s->returns[i].type);
        lz_text_puts(out, i ? ", " : "");
        if (make)
            lz_text_printf(out, "%s(std::get<%zu>(results), std::get<%zu>(results), cur_level)", make, at,
                           at + 1);
        else
            lz_text_printf(out, "std::get<%zu>(results)", at);
        at += make ? 2 : 1;
    }
    lz_text_puts(out, s->nreturns == 1 ? ";\n" : ");\n");
}

lz_err *lzg_put_vmap_plumbing(lz_arena *a, const lzg_function *f, lz_text *out)
{
    const lzg_schema *s = f->func;
    lzg_vmap kind = kind_of(f);
    lzg_sig sig;
    if (kind == LZG_VMAP_NONE)
        return NULL;
    LZ_TRY(lzg_dispatcher_signature(a, s, lzg_local_of(f), (lzg_dispatcher_form){ 0 }, &sig));
    LZ_TRY(lz_arena_printf(a, &sig.name, "%.*s_generated_plumbing", LZ_FMT(s->name.unambiguous)));
    lz_text_puts(out, "template <typename batch_rule_t, batch_rule_t batch_rule>\n");
    lzg_sig_decl(&sig, out);
    lzg_fill_named(out,
                   " {\n"
                   "  c10::impl::ExcludeDispatchKeyGuard guard(DispatchKey::FuncTorchBatched);\n"
                   "  auto maybe_layer = maybeCurrentDynamicLayer();\n"
                   "  vmap_check_escaped(maybe_layer, \"${kind}\");\n"
                   "  int64_t cur_level = maybe_layer->layerId();\n",
                   { "kind", lz_str_of(lzg_vmap_name(kind)) });
    LZ_TRY(put_shortcut(a, s, &sig, out));
    put_unwraps(s, out);
    lz_text_puts(out, kind == LZG_VMAP_FUNCTIONAL ? "  auto results = " : "  ");
    put_rule_call(s, out);
    if (kind == LZG_VMAP_FUNCTIONAL)
        put_results(s, out);
    if (kind == LZG_VMAP_INPLACE)
        lzg_fill_named(out, "  return ${self};\n", { "self", s->args[0].name });
    lz_text_puts(out, "}\n");
    return lz_text_check(out);
}

/* ---- the file ---- */

static lz_err *put_all(lzg_job *j, lz_text *out)
{
    const lzg_ops *ops = &j->run->ops;
    size_t start;
    lz_text_puts(out, "\n#pragma once\n"
                      "#include <ATen/Operators.h>\n"
                      "#include <ATen/functorch/PlumbingHelper.h>\n\n"
                      "namespace at { namespace functorch {\n\n");
    start = out->len;
    for (size_t i = 0; i < ops->nfunctions; i++) {
        lz_arena_mark mark = lz_arena_save(&j->scratch);
        LZ_TRY(
            lzg_job_take(j, lzg_put_vmap_plumbing(&j->scratch, ops->functions[i], out), ops->functions[i]));
        lz_arena_rewind(&j->scratch, mark);
    }
    lz_text_puts(out, out->len == start ? "\n" : "");
    lz_text_puts(out, "\n}} // namespace at::functorch\n");
    return lz_text_check(out);
}

static lz_err *write_plumbing(lzg_job *j, const void *arg)
{
    const lzg_torch_settings *s = arg;
    lz_text t = { 0 };
    lz_err *e = j->run->dry_run ? NULL : put_all(j, &t);
    if (!e)
        e = lzg_files_take(s->cpu, "VmapGeneratedPlumbing.h", &t);
    lz_text_deinit(&t);
    return e;
}

lz_err *lzg_plan_vmap_plumbing(lzg_torch_settings *s)
{
    return lzg_run_add(s->run, 15, write_plumbing, s);
}
