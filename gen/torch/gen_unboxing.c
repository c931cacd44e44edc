/* torch-unboxing: functions that take boxed calls apart, and their registration in the runtime of
 * TorchScript: UnboxingFunctions.h and .cpp, RegisterCodegenUnboxedKernels.cpp. */
#include "gen/api/cpp.h"
#include "gen/api/translate.h"
#include "gen/api/unboxing.h"
#include "gen/text/fill.h"
#include "gen/torch/gen_operators.h"
#include "gen/torch/torch_commands.h"
#include "gen/torch/torch_run.h"
#include <stddef.h>

typedef struct settings {
    const lzg_torch_unboxing_options *o;
    const lzg_selector *selector;
    lzg_files *files;
} settings;

/* ---- functions ---- */

static lz_err *is_root(lz_arena *a, const settings *s, const lzg_function *f, bool *out)
{
    lz_str name;
    LZ_TRY(lz_arena_printf(a, &name, "aten::%.*s", LZ_FMT(f->func->name.text)));
    *out = lzg_selector_is_root(s->selector, name);
    return NULL;
}

static void put_head(const lzg_function *f, lz_text *out)
{
    lzg_fill_named(out, "\n// aten::${schema}\nTORCH_API void ${name}(Stack & stack)",
                   { "schema", f->func->text }, { "name", f->func->name.unambiguous });
}

static lz_err *put_declaration(lz_arena *a, const lzg_function *f, lz_text *out)
{
    (void)a;
    put_head(f, out);
    lz_text_puts(out, ";\n");
    return lz_text_check(out);
}

/* Methods are called where there is one. */
static lz_err *put_call(lz_arena *a, const lzg_function *f, lzg_bindings held, lz_text *out)
{
    lzg_cpp_form form = lzg_cpp_most_faithful(f->func);
    lz_str *exprs;
    lzg_sig sig;
    form.method = f->variants & LZG_VARIANT_METHOD;
    LZ_TRY(lzg_cpp_signature(a, f, form, &sig));
    LZ_TRY(lzg_translate_bindings(a, held, sig.args, &exprs));
    lz_text_puts(out, f->func->nreturns ? "auto result_ = " : "");
    lz_text_puts(out, form.method ? "self_base." : "at::");
    lz_text_add(out, sig.name);
    lz_text_putc(out, '(');
    lzg_exprs_print(exprs, sig.args.n, out);
    lz_text_puts(out, ");\n");
    return NULL;
}

static lz_err *put_definition(lz_arena *a, const lzg_function *f, lz_text *out)
{
    lzg_bindings held;
    put_head(f, out);
    lz_text_puts(out, " {\n    ");
    LZ_TRY(lzg_unboxing_arguments(a, f, out, &held));
    lz_text_printf(out, "\n\n    drop(stack, %zu);\n\n    ", held.n);
    LZ_TRY(put_call(a, f, held, out));
    lz_text_puts(out, f->func->nreturns ? "    \n    pack(stack, std::move(result_));\n                \n}\n"
                                        : "    \n}\n");
    return lz_text_check(out);
}

/* ---- registrations ---- */

static lz_err *put_argument(lz_arena *a, const lzg_binding *b, lz_text *out)
{
    lz_str value = LZ_STR("::std::nullopt");
    const char *type = "c10::IValue";
    if (b->argument->deflt.len)
        LZ_TRY(lzg_cpp_default_expr(a, b->argument->deflt, b->argument->type, false, &value));
    if (b->argument->deflt.len && lz_str_starts(value, LZ_STR("{")))
        type = "c10::IntArrayRef";
    lzg_fill_named(out, "c10::Argument(\"${name}\", nullptr, ::std::nullopt, ${type}(${value}))",
                   { "name", b->name }, { "type", lz_str_of(type) }, { "value", value });
    return NULL;
}

static lz_err *put_arguments(lz_arena *a, lzg_bindings args, lz_text *out)
{
    for (size_t i = 0; i < args.n; i++) {
        lz_text_puts(out, i ? ",\n\t\t" : "");
        LZ_TRY(put_argument(a, &args.at[i], out));
    }
    return NULL;
}

static void put_returns(const lzg_schema *s, lz_text *out)
{
    for (size_t i = 0; i < s->nreturns; i++)
        lzg_fill_named(out, "${comma}c10::Argument(\"${name}\")",
                       { "comma", i ? LZ_STR(",\n\t\t") : LZ_STR("") }, { "name", s->returns[i].name });
}

/* The schema in a comment, with the escapes of a string literal. */
static void put_comment(lz_str schema, lz_text *out)
{
    lz_text literal = { 0 };
    lzg_put_cpp_string(&literal, schema);
    lz_str text = lz_text_view(&literal);
    lzg_fill_named(out, "\n// aten::${schema}\n", { "schema", lz_str_sub(text, 1, text.len - 1) });
    out->failed = out->failed || literal.failed;
    lz_text_deinit(&literal);
}

static lz_err *put_kernel(lz_arena *a, const lzg_function *f, lz_text *out)
{
    const lzg_op_name *name = &f->func->name;
    lzg_sig sig;
    LZ_TRY(lzg_cpp_signature(a, f, lzg_cpp_most_faithful(f->func), &sig));
    put_comment(f->func->text, out);
    lzg_fill_named(out,
                   "OperatorGenerator(\n"
                   "    \"aten::${base}\",\n"
                   "    \"${overload}\",\n"
                   "    {\n"
                   "        ",
                   { "base", name->printed_base }, { "overload", name->overload });
    LZ_TRY(put_arguments(a, sig.args, out));
    lz_text_puts(out, "\n    },\n    {\n        ");
    put_returns(f->func, out);
    lzg_fill_named(out,
                   "\n    },\n"
                   "    [](Stack & stack) {\n"
                   "        RECORD_FUNCTION(\"${name}\", std::vector<c10::IValue>());\n"
                   "        at::unboxing::${unboxing}(stack);\n"
                   "    },\n"
                   "    aliasAnalysisFromSchema()\n"
                   "),\n",
                   { "name", sig.name }, { "unboxing", name->unambiguous });
    return lz_text_check(out);
}

/* ---- files ---- */

typedef lz_err *put_fn(lz_arena *a, const lzg_function *f, lz_text *out);

/* Appends the text of a root operator. */
static lz_err *put_root(lzg_job *j, const settings *s, const lzg_function *f, put_fn *put, lz_text *out)
{
    lz_arena_mark mark = lz_arena_save(&j->scratch);
    bool root = false;
    LZ_TRY(is_root(&j->scratch, s, f, &root));
    lz_err *e = root ? put(&j->scratch, f, out) : NULL;
    lz_arena_rewind(&j->scratch, mark);
    return lzg_job_take(j, e, f);
}

static lz_err *put_shards(lzg_job *j, const settings *s, put_fn *put, lzg_shards *shards)
{
    for (size_t i = 0; i < j->run->ops.nfunctions && !j->run->dry_run; i++) {
        const lzg_function *f = j->run->ops.functions[i];
        lzg_shards_item(shards, f->func->name.base);
        LZ_TRY(put_root(j, s, f, put, lzg_shards_text(shards, 0)));
        LZ_TRY(lzg_shards_end(shards, 0));
    }
    return NULL;
}

/* From a hundred selected operators on the files are split. */
static lz_err *write_sharded(lzg_job *j, const settings *s, const char *name, const char *list, uint32_t many,
                             put_fn *put)
{
    lzg_shards shards;
    LZ_TRY(lzg_shards_begin(&shards, lz_map_count(&s->selector->operators) >= 100 ? many : 1, list, NULL));
    lz_err *e = put_shards(j, s, put, &shards);
    if (!e)
        e = lzg_job_sharded(j, s->files, name, name, NULL, &shards);
    lzg_shards_deinit(&shards);
    return e;
}

static lz_err *write_functions(lzg_job *j, const void *arg)
{
    return write_sharded(j, arg, "UnboxingFunctions.cpp", "definitions", 5, put_definition);
}

static lz_err *write_kernels(lzg_job *j, const void *arg)
{
    return write_sharded(j, arg, "RegisterCodegenUnboxedKernels.cpp", "unboxed_ops", 10, put_kernel);
}

static lz_err *write_header(lzg_job *j, const void *arg)
{
    static const char name[] = "UnboxingFunctions.h";
    const settings *s = arg;
    lzg_texts *all;
    lzg_env env;
    LZ_TRY(lzg_job_texts(j, &all));
    for (size_t i = 0; i < j->run->ops.nfunctions && !j->run->dry_run; i++) {
        LZ_TRY(put_root(j, s, j->run->ops.functions[i], put_declaration, &all->text));
        LZ_TRY(lzg_texts_end_if_any(all));
    }
    lzg_env_init(&env, &j->arena);
    lz_err *e = lzg_env_texts(&env, "declarations", all);
    if (!e)
        e = lzg_job_template(j, s->files, name, name, &env);
    lzg_env_deinit(&env);
    return e;
}

/* ---- the command ---- */

#define AT(name) offsetof(lzg_torch_unboxing_options, name)
static const lzg_option options[] = {
    { "--source-path", 's', LZG_TEXT, false, AT(source_path), "aten/src/ATen", "DIR",
      "the folder with native/ and templates/", NULL },
    { "--install-dir", 'd', LZG_TEXT, false, AT(install_dir), "build/aten/src/ATen", "DIR", "where files go",
      NULL },
    { "--output-dependencies", 'o', LZG_TEXT, false, AT(output_dependencies), NULL, "FILE",
      "writes the names of the other files into this one", NULL },
    { "--dry-run", 0, LZG_FLAG, false, AT(dry_run), NULL, NULL, "writes only the names", NULL },
    { "--op-selection-yaml-path", 0, LZG_TEXT, false, AT(op_selection_yaml_path), NULL, "FILE",
      "only the root operators of a selection", NULL },
    { "--op-registration-allowlist", 0, LZG_LIST, false, AT(op_registration_allowlist), NULL, "OP",
      "only these operators, with all overloads", NULL },
    { 0 },
};

static lz_err *plan(lzg_run *r, const void *o)
{
    const lzg_torch_unboxing_options *u = o;
    settings *s;
    LZ_TRY(lz_arena_new(&r->arena, &s, 1));
    s->o = u;
    LZ_TRY(lzg_run_selection(r, u->op_selection_yaml_path, u->op_registration_allowlist, &s->selector));
    LZ_TRY(lzg_run_folder(r, u->install_dir, &s->files));
    LZ_TRY(lzg_run_add(r, 40, write_functions, s));
    LZ_TRY(lzg_run_add(r, 30, write_kernels, s));
    LZ_TRY(lzg_run_add(r, 5, write_header, s));
    return u->output_dependencies ? lzg_run_list(r, s->files, "", u->output_dependencies) : NULL;
}

static lz_err *run(const void *o, lzg_torch_report *out);

const lzg_command lzg_command_torch_unboxing = { "torch-unboxing",
                                                 "writes functions that take boxed calls apart", options,
                                                 sizeof(lzg_torch_unboxing_options), run };

static lz_err *run(const void *o, lzg_torch_report *out)
{
    const lzg_torch_unboxing_options *u = o;
    const lzg_run_options r = { .command = &lzg_command_torch_unboxing,
                                .options = o,
                                .generator = "tools/jit/gen_unboxing.py",
                                .dry_run = u->dry_run };
    return lzg_run_source(&r, u->source_path, plan, out);
}

lz_err *lzg_torch_unboxing(const lzg_torch_unboxing_options *o, lzg_torch_report *out)
{
    lzg_torch_unboxing_options all = *o;
    LZ_TRY(lzg_options_complete(&lzg_command_torch_unboxing, &all));
    return run(&all, out);
}
