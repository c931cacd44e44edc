#include "gen/torch/autograd/gen_autograd.h"
#include "gen/torch/autograd/gen_autograd_functions.h"
#include "gen/torch/torch_commands.h"

#define AT(name) offsetof(lzg_torch_autograd_options, name)
static const char *const subsets[] = { "libtorch", "pybindings", "python", NULL };
static const lzg_option options[] = {
    { "--native", 0, LZG_TEXT, true, AT(native), NULL, "FILE", "the operator file", NULL },
    { "--tags", 0, LZG_TEXT, true, AT(tags), NULL, "FILE", "the tags that operators may have", NULL },
    { "--derivatives", 0, LZG_TEXT, true, AT(derivatives), NULL, "DIR",
      "the folder of derivatives.yaml and deprecated.yaml", NULL },
    { "--templates", 0, LZG_TEXT, true, AT(templates), NULL, "DIR", "the folder of templates", NULL },
    { "--install-dir", 0, LZG_TEXT, true, AT(install_dir), NULL, "DIR", "where files go", NULL },
    { "--subset", 0, LZG_TEXT, false, AT(subset), NULL, "SUBSET",
      "only libtorch (C++), pybindings (python_*) or python (annotated_fn_args.py)", subsets },
    { "--op-selection-yaml-path", 0, LZG_TEXT, false, AT(op_selection_yaml_path), NULL, "FILE",
      "kernels only for the operators that a selection trains", NULL },
    { "--disable-autograd", 0, LZG_FLAG, false, AT(disable_autograd), NULL, NULL,
      "no VariableType, ADInplaceOrViewType and TraceType", NULL },
    { 0 },
};

static lz_err *run(const void *o, lzg_torch_report *out);

const lzg_command lzg_command_torch_autograd = { "torch-autograd", "writes torchgen's files for autograd",
                                                 options, sizeof(lzg_torch_autograd_options), run };

/* Files name the folder of their templates as it is in a checkout, wherever it is. */
lz_err *lzg_autograd_env(lzg_job *j, lzg_env *env, const char *template_name)
{
    lz_str comment;
    lzg_env_init(env, &j->arena);
    LZ_TRY(lz_arena_printf(&j->arena, &comment, "@generated from ../tools/autograd/templates/%s",
                           template_name));
    return lzg_env_text(env, "generated_comment", comment);
}

/* ---- derivatives ---- */

static lz_err *is_trained(const void *user, const lzg_function *f, bool *out)
{
    return lzg_selector_trains_function(user, f, out);
}

static void free_derivatives(void *table)
{
    lzg_derivatives_free(table);
}

/* Bindings are of the nodes of the file, as torchgen writes them before it derives those of foreach
 * operators. */
static lz_err *read_derivatives(lzg_autograd_settings *s, lzg_derivatives **table)
{
    const char *path;
    const lzg_yaml *entries;
    LZ_TRY(lzg_run_path(s->run, s->o->derivatives, "derivatives.yaml", &path));
    LZ_TRY(lzg_run_yaml(s->run, &s->run->arena, path, &entries));
    lz_err *e = lzg_derivatives_read(&s->run->ops, entries, &s->run->diag, table);
    e = *table ? lz_err_first(e, lzg_run_keep(s->run, *table, free_derivatives)) : e;
    LZ_TRY(e);
    s->table = *table;
    return lzg_nodes(&s->run->arena, *table, &s->nodes, &s->nnodes);
}

static lz_err *match_derivatives(lzg_autograd_settings *s, lzg_derivatives *table)
{
    const lzg_selector *selector;
    LZ_TRY(lzg_run_selection(s->run, s->o->op_selection_yaml_path, NULL, &selector));
    LZ_TRY(lzg_derivatives_match_wanted(table, is_trained, selector, &s->run->diag));
    return s->o->disable_autograd ? lzg_derivatives_check_nodes(table, &s->run->diag)
                                  : lzg_derivatives_check(table, &s->run->diag);
}

static lz_err *load_derivatives(lzg_autograd_settings *s, bool kernels)
{
    lzg_derivatives *table = NULL;
    LZ_TRY(read_derivatives(s, &table));
    if (kernels)
        LZ_TRY(match_derivatives(s, table));
    else
        LZ_TRY(lzg_derivatives_check_nodes(table, &s->run->diag));
    return lzg_diag_error(&s->run->diag);
}

/* ---- the run ---- */

static bool wants(const lzg_torch_autograd_options *o, const char *subset)
{
    return !o->subset || !strcmp(o->subset, subset);
}

static lz_err *plan_libtorch(const lzg_autograd_settings *s)
{
    if (!s->o->disable_autograd)
        LZ_TRY(lzg_plan_autograd_kernels(s));
    LZ_TRY(lzg_plan_view_funcs(s));
    LZ_TRY(lzg_plan_autograd_nodes(s));
    return lzg_plan_variable_factories(s);
}

static lz_err *plan(lzg_run *r, const void *o)
{
    lzg_autograd_settings *s;
    LZ_TRY(lz_arena_new(&r->arena, &s, 1));
    *s = (lzg_autograd_settings){ .o = o, .run = r };
    bool libtorch = wants(s->o, "libtorch"), pybindings = wants(s->o, "pybindings");
    LZ_TRY(lzg_run_folder(r, s->o->install_dir, &s->files));
    if (libtorch || pybindings)
        LZ_TRY(load_derivatives(s, libtorch));
    if (libtorch)
        LZ_TRY(plan_libtorch(s));
    if (pybindings)
        LZ_TRY(lzg_plan_node_bindings(s));
    if (pybindings)
        LZ_TRY(lzg_plan_python_bindings(s));
    return wants(s->o, "python") ? lzg_plan_annotated_fn_args(s) : NULL;
}

static lz_err *run(const void *o, lzg_torch_report *out)
{
    const lzg_torch_autograd_options *a = o;
    const lzg_run_options r = { .command = &lzg_command_torch_autograd,
                                .options = o,
                                .native = a->native,
                                .tags = a->tags,
                                .templates = a->templates,
                                .generator = "tools/setup_helpers/generate_code.py" };
    return lzg_run_command(&r, plan, out);
}

lz_err *lzg_torch_autograd(const lzg_torch_autograd_options *o, lzg_torch_report *out)
{
    lzg_torch_autograd_options all = *o;
    LZ_TRY(lzg_options_complete(&lzg_command_torch_autograd, &all));
    return run(&all, out);
}
