#include "gen/torch/gen_headers.h"
#include "gen/emit/c_text.h"
#include "gen/text/utils.h"
#include "gen/torch/dest/native_functions.h"
#include "gen/torch/gen_functions.h"
#include "gen/torch/gen_key_headers.h"
#include "gen/torch/gen_meta.h"
#include "gen/torch/gen_operators.h"
#include "gen/torch/gen_per_operator_headers.h"
#include "gen/torch/gen_registration.h"
#include "gen/torch/gen_static_dispatch.h"
#include "gen/torch/gen_vmap_plumbing.h"
#include <stddef.h>
#include <stdlib.h>

/* ---- core/ ---- */

static int by_bytes(const void *a, const void *b)
{
    return lz_str_cmp(*(const lz_str *)a, *(const lz_str *)b);
}

/* The keys of a map, sorted, in the arena. */
static lz_err *sorted_keys(lz_arena *a, const lz_map *m, lz_str **out, size_t *n)
{
    *n = 0;
    LZ_TRY(lz_arena_new(a, out, lz_map_count(m)));
    for (lz_map_entry *e = lz_map_next(m, NULL); e; e = lz_map_next(m, e))
        (*out)[(*n)++] = e->key;
    if (*n)
        qsort(*out, *n, sizeof **out, by_bytes);
    return NULL;
}

static lz_err *fill_tags(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    lzg_texts *tags;
    lz_str *names;
    size_t n;
    (void)s;
    LZ_TRY(lzg_job_texts(j, &tags));
    LZ_TRY(sorted_keys(&j->arena, &j->run->ops.tags, &names, &n));
    lzg_put_joined(&tags->text, names, n, ",\n");
    return lzg_env_text(env, "enum_of_valid_tags", lz_text_view(&tags->text));
}

/* Words of C++ are no symbols. */
static bool is_cpp_operator(lz_str name)
{
    static const char *const words[] = { "and",    "and_eq", "bitand", "bitor", "compl", "not",
                                         "not_eq", "or",     "or_eq",  "xor",   "xor_eq" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (lz_str_is(name, words[i]))
            return true;
    return false;
}

/* "_(aten, add) \\\n_(aten, sub)" */
static lz_err *put_symbols(lzg_job *j, const lz_map *names, const char *kind, lz_text *out)
{
    lz_str *sorted;
    size_t n;
    LZ_TRY(sorted_keys(&j->arena, names, &sorted, &n));
    for (size_t i = 0; i < n; i++)
        lzg_fill(out, "$_($, $)", i ? LZ_STR(" \\\n") : LZ_STR(""), lz_str_of(kind), sorted[i]);
    return lz_text_check(out);
}

static lz_err *add_name(lz_map *names, lz_str name)
{
    return is_cpp_operator(name) ? NULL : lz_map_put(names, name, NULL);
}

static lz_err *collect_names(const lzg_ops *ops, lz_map *names, lz_map *attributes)
{
    for (size_t i = 0; i < ops->nfunctions; i++) {
        const lzg_schema *s = ops->functions[i]->func;
        LZ_TRY(add_name(names, s->name.printed_base));
        LZ_TRY(add_name(names, s->name.base));
        for (size_t k = 0; k < s->nargs; k++)
            LZ_TRY(lz_map_put(attributes, s->args[k].name, NULL));
    }
    return NULL;
}

static lz_err *fill_strings(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    lz_map names = { 0 }, attributes = { 0 };
    lzg_texts *symbols, *attrs;
    (void)s;
    LZ_TRY(lzg_job_texts(j, &symbols));
    LZ_TRY(lzg_job_texts(j, &attrs));
    lz_err *e = collect_names(&j->run->ops, &names, &attributes);
    if (!e)
        e = put_symbols(j, &names, "aten", &symbols->text);
    if (!e)
        e = put_symbols(j, &attributes, "attr", &attrs->text);
    lz_map_deinit(&names);
    lz_map_deinit(&attributes);
    LZ_TRY(e);
    LZ_TRY(lzg_env_text(env, "aten_symbols", lz_text_view(&symbols->text)));
    return lzg_env_text(env, "attr_symbols", lz_text_view(&attrs->text));
}

static lz_err *fill_tensor_body(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    const lzg_ops *ops = &j->run->ops;
    lzg_texts *declarations, *definitions;
    LZ_TRY(lzg_job_texts(j, &declarations));
    LZ_TRY(lzg_job_texts(j, &definitions));
    LZ_TRY(lzg_job_each(j, ops->functions, ops->nfunctions, lzg_put_method_declaration, s, declarations));
    LZ_TRY(lzg_job_each(j, ops->functions, ops->nfunctions, lzg_put_method_definition, s, definitions));
    LZ_TRY(lzg_env_texts(env, "tensor_method_declarations", declarations));
    return lzg_env_texts(env, "tensor_method_definitions", definitions);
}

/* ---- one header for all operators ---- */

static lz_err *fill_redispatch(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    return lzg_job_list(j, "function_redispatch_definitions", lzg_put_redispatch_function, s, env);
}

static lz_err *fill_registrations(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    return lzg_job_list(j, "registration_declarations", lzg_put_registration_declaration, s, env);
}

static lz_err *fill_meta_functions(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    lzg_texts *items;
    (void)s;
    LZ_TRY(lzg_job_texts(j, &items));
    for (size_t i = 0; i < j->run->ops.ngroups; i++) {
        const lzg_group *g = &j->run->ops.groups[i];
        lz_arena_mark mark = lz_arena_save(&j->scratch);
        LZ_TRY(lzg_job_take(j, lzg_put_meta_function(&j->scratch, g, &items->text), g->out));
        lz_arena_rewind(&j->scratch, mark);
        LZ_TRY(lzg_texts_end_if_any(items));
    }
    LZ_TRY(lzg_env_list(env, "NativeMetaFunctions_includes"));
    return lzg_env_texts(env, "NativeMetaFunctions_declarations", items);
}

/* The operators that are methods, or the others. */
static lz_err *pick_methods(lzg_job *j, bool methods, const lzg_function ***out, size_t *n)
{
    const lzg_ops *ops = &j->run->ops;
    *n = 0;
    LZ_TRY(lz_arena_new(&j->arena, out, ops->nfunctions));
    for (size_t i = 0; i < ops->nfunctions; i++)
        if (((ops->functions[i]->variants & LZG_VARIANT_METHOD) != 0) == methods)
            (*out)[(*n)++] = ops->functions[i];
    return NULL;
}

static lz_err *put_operators(lzg_job *j, bool methods, const char *list, lzg_env *env)
{
    const lzg_function **picked;
    lzg_texts *items;
    size_t n;
    LZ_TRY(pick_methods(j, methods, &picked, &n));
    LZ_TRY(lzg_job_texts(j, &items));
    LZ_TRY(lzg_job_each(j, picked, n, lzg_put_operator_declaration, NULL, items));
    return lzg_env_texts(env, list, items);
}

static lz_err *fill_method_operators(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    (void)s;
    LZ_TRY(lzg_env_list(env, "MethodOperators_includes"));
    return put_operators(j, true, "MethodOperators_declarations", env);
}

static lz_err *fill_operators(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    (void)s;
    LZ_TRY(lzg_env_add(env, "Operators_includes", LZ_STR("#include <ATen/MethodOperators.h>")));
    return put_operators(j, false, "Operators_declarations", env);
}

static lz_err *fill_functions(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    const lzg_ops *ops = &j->run->ops;
    lzg_texts *headers, *items;
    LZ_TRY(lzg_job_texts(j, &headers));
    LZ_TRY(lzg_job_texts(j, &items));
    LZ_TRY(lzg_static_dispatch_headers(s, headers));
    LZ_TRY(lzg_job_each(j, ops->functions, ops->nfunctions, lzg_put_function, s, items));
    LZ_TRY(lzg_env_texts(env, "static_dispatch_extra_headers", headers));
    LZ_TRY(lzg_env_add(env, "Functions_includes", LZ_STR("#include <ATen/Operators.h>")));
    return lzg_env_texts(env, "Functions_declarations", items);
}

static lz_err *fill_native_functions(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    const lzg_ops *ops = &j->run->ops;
    lzg_texts *items;
    (void)s;
    LZ_TRY(lzg_job_texts(j, &items));
    LZ_TRY(lzg_put_namespaced_kernels(&j->arena, ops, ops->grouped, ops->ngrouped, items));
    LZ_TRY(lzg_env_add(env, "NativeFunctions_includes", LZ_STR("#include <ATen/NativeMetaFunctions.h>")));
    return lzg_env_texts(env, "NativeFunctions_declarations", items);
}

static lz_err *fill_aot_stubs(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    lzg_texts *items;
    LZ_TRY(lzg_job_texts(j, &items));
    for (size_t i = 0; i < s->aot.n; i++) {
        LZ_TRY(lzg_put_aot_stub_declaration(&j->arena, &s->aot.at[i], &items->text));
        LZ_TRY(lzg_texts_end(items));
    }
    return lzg_env_texts(env, "native_aot_stub_declarations", items);
}

#define FOLDER(name) offsetof(lzg_torch_settings, name)
static const lzg_torch_file aggregated[] = {
    { "NativeMetaFunctions.h", FOLDER(cpu), 2, fill_meta_functions },
    { "MethodOperators.h", FOLDER(cpu), 5, fill_method_operators },
    { "Operators.h", FOLDER(cpu), 20, fill_operators },
    { "Functions.h", FOLDER(cpu), 40, fill_functions },
    { "NativeFunctions.h", FOLDER(cpu), 10, fill_native_functions },
    { 0 },
};

static const lzg_torch_file always[] = {
    { "TensorBody.h", FOLDER(core), 10, fill_tensor_body },
    { "RedispatchFunctions.h", FOLDER(cpu), 40, fill_redispatch },
    { "RegistrationDeclarations.h", FOLDER(cpu), 10, fill_registrations },
    { "NativeAotStubs.h", FOLDER(cpu), 1, fill_aot_stubs },
    { "aten_interned_strings.h", FOLDER(core), 2, fill_strings },
    { "enum_tag.h", FOLDER(headeronly), 1, fill_tags },
    { 0 },
};

lz_err *lzg_plan_headers(lzg_torch_settings *s)
{
    LZ_TRY(s->o->per_operator_headers ? lzg_plan_per_operator_headers(s) : lzg_torch_plan(s, aggregated));
    LZ_TRY(lzg_plan_key_headers(s));
    LZ_TRY(lzg_plan_vmap_plumbing(s));
    return lzg_torch_plan(s, always);
}
