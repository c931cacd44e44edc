#include "gen/torch/functionalization/gen_functionalization_files.h"
#include "gen/torch/functionalization/composite_kernels.h"
#include "gen/torch/functionalization/functionalization_kernels.h"
#include "gen/torch/functionalization/view_meta_classes.h"
#include "gen/torch/torch_commands.h"
#include <stddef.h>

/* ---- headers ---- */

/* The last of these headers does not end its line. */
static void put_header(lz_text *out, const lzg_function *f, const char *what)
{
    lz_text_puts(out, "#include <ATen/ops/");
    lz_text_add(out, f->func->name.base);
    lz_text_puts(out, what);
}

static void put_both_headers(lz_text *out, const lzg_function *f)
{
    if (!f)
        return;
    put_header(out, f, "_native.h>\n");
    put_header(out, f, "_ops.h>\n");
}

static void put_op_headers(lz_text *out, const lzg_functionalized *u)
{
    if (u->views) {
        put_both_headers(out, u->views->view);
        put_both_headers(out, u->views->view_copy);
    } else if (u->group) {
        put_both_headers(out, u->group->functional);
        put_both_headers(out, u->group->out);
        put_both_headers(out, u->group->inplace);
        put_both_headers(out, u->group->mutable);
    } else {
        put_both_headers(out, u->single);
    }
}

/* ---- RegisterFunctionalization.cpp ---- */

enum { HEADERS, DEFINITIONS, REGISTRATIONS };

static const lzg_function *speaker(const lzg_functionalized *u)
{
    return u->views ? u->views->view : u->group ? u->group->out : u->single;
}

static lz_str root_name(const lzg_functionalized *u)
{
    const lzg_function *f = u->views ? u->views->view : u->group ? u->group->functional : u->single;
    return f->func->name.base;
}

/* A selective build has no kernels of functionalization. */
static lz_err *put_functionalized(lzg_job *j, const lzg_torch_settings *s, const lzg_functionalized *u,
                                  lzg_shards *shards)
{
    const lzg_ops *ops = &j->run->ops;
    lz_arena_mark mark = lz_arena_save(&j->scratch);
    lz_err *e = NULL;
    lzg_shards_item(shards, root_name(u));
    put_op_headers(lzg_shards_text(shards, HEADERS), u);
    if (s->selector->include_all_operators)
        e = lzg_put_functionalization_kernels(&j->scratch, ops, *u, lzg_shards_text(shards, DEFINITIONS));
    if (!e && s->selector->include_all_operators)
        e = lzg_put_functionalization_impls(&j->scratch, ops, *u, lzg_shards_text(shards, REGISTRATIONS));
    lz_arena_rewind(&j->scratch, mark);
    LZ_TRY(lzg_job_take(j, e, speaker(u)));
    LZ_TRY(lzg_shards_end(shards, HEADERS));
    LZ_TRY(lzg_shards_end(shards, DEFINITIONS));
    return lzg_shards_end(shards, REGISTRATIONS);
}

static lz_err *put_all_functionalized(lzg_job *j, const lzg_torch_settings *s, lzg_shards *shards)
{
    lzg_functionalized_list all;
    LZ_TRY(lzg_functionalized_make(&j->arena, &j->run->ops, &all));
    for (size_t i = 0; i < all.n; i++)
        LZ_TRY(put_functionalized(j, s, &all.at[i], shards));
    return NULL;
}

static lz_err *register_functionalization(lzg_job *j, const void *arg)
{
    const lzg_torch_settings *s = arg;
    lzg_shards shards;
    LZ_TRY(lzg_shards_begin(&shards, 4, "ops_headers", "func_definitions", "func_registrations",
                            "func_add_back_views_definitions", "func_add_back_views_registrations", NULL));
    lz_err *e = j->run->dry_run ? NULL : put_all_functionalized(j, s, &shards);
    if (!e)
        e = lzg_job_sharded(j, s->cpu, "RegisterFunctionalization.cpp", "RegisterFunctionalization.cpp", NULL,
                            &shards);
    lzg_shards_deinit(&shards);
    return e;
}

/* ---- files of views ---- */

/* Adds a list: an item for each group of views that put prints something for. */
static lz_err *set_views(lzg_job *j, lzg_env *env, const char *name, lzg_view_classes_fn *put)
{
    const lzg_ops *ops = &j->run->ops;
    lzg_texts *t;
    LZ_TRY(lzg_job_texts(j, &t));
    for (size_t i = 0; i < ops->nview_groups; i++) {
        const lzg_view_group *g = &ops->view_groups[i];
        lz_arena_mark mark = lz_arena_save(&j->scratch);
        LZ_TRY(lzg_job_take(j, put(&j->scratch, ops, g, &t->text), g->view));
        lz_arena_rewind(&j->scratch, mark);
        LZ_TRY(lzg_texts_end_if_any(t));
    }
    return lzg_env_texts(env, name, t);
}

static lz_err *put_view_headers(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g, lz_text *out)
{
    (void)a;
    (void)ops;
    put_op_headers(out, &(lzg_functionalized){ .views = g });
    return NULL;
}

static lz_err *put_nothing(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g, lz_text *out)
{
    (void)a;
    (void)ops;
    (void)g;
    (void)out;
    return NULL;
}

static lz_err *fill_inverses(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    (void)s;
    return set_views(j, env, "view_inverse_declarations", lzg_put_view_inverse);
}

static lz_err *fill_classes(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    bool all = s->selector->include_all_operators;
    return set_views(j, env, "view_meta_declarations", all ? lzg_put_view_class : put_nothing);
}

static lz_err *fill_methods(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    bool all = s->selector->include_all_operators;
    LZ_TRY(set_views(j, env, "view_meta_implementations", all ? lzg_put_view_class_methods : put_nothing));
    return set_views(j, env, "op_headers", put_view_headers);
}

/* ---- CompositeViewCopyKernels.cpp ---- */

static void put_reversed_headers(lz_text *out, const lzg_function *f)
{
    if (!f)
        return;
    put_header(out, f, "_ops.h>\n");
    put_header(out, f, "_native.h>\n");
}

static const lzg_function *unless_generated(const lzg_function *f)
{
    return f && !f->generated ? f : NULL;
}

static lz_err *put_composite_headers(lzg_job *j, lzg_env *env)
{
    const lzg_ops *ops = &j->run->ops;
    lzg_texts *t;
    LZ_TRY(lzg_job_texts(j, &t));
    for (size_t i = 0; i < ops->nview_groups; i++) {
        put_reversed_headers(&t->text, ops->view_groups[i].view);
        put_reversed_headers(&t->text, ops->view_groups[i].view_copy);
    }
    for (size_t i = 0; i < ops->ngroups; i++) {
        const lzg_group *g = &ops->groups[i];
        put_reversed_headers(&t->text, unless_generated(g->inplace));
        put_reversed_headers(&t->text, unless_generated(g->mutable));
        put_reversed_headers(&t->text, unless_generated(g->functional));
    }
    LZ_TRY(lz_text_check(&t->text));
    LZ_TRY(lzg_env_list(env, "ops_headers"));
    return lzg_env_add(env, "ops_headers", lz_text_view(&t->text));
}

typedef lz_err *put_group_fn(lz_arena *a, const lzg_group *g, lz_text *out);

static lz_err *set_groups(lzg_job *j, lzg_env *env, const char *name, put_group_fn *put)
{
    const lzg_ops *ops = &j->run->ops;
    lzg_texts *t;
    LZ_TRY(lzg_job_texts(j, &t));
    for (size_t i = 0; i < ops->ngroups; i++) {
        lz_arena_mark mark = lz_arena_save(&j->scratch);
        LZ_TRY(lzg_job_take(j, put(&j->scratch, &ops->groups[i], &t->text), ops->groups[i].out));
        lz_arena_rewind(&j->scratch, mark);
        LZ_TRY(lzg_texts_end_if_any(t));
    }
    return lzg_env_texts(env, name, t);
}

static lz_err *put_copy_kernel(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g, lz_text *out)
{
    (void)ops;
    return lzg_put_view_copy_kernel(a, g, out);
}

static lz_err *fill_composites(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    (void)s;
    LZ_TRY(put_composite_headers(j, env));
    LZ_TRY(set_views(j, env, "CompositeViewCopyKernel_Definitions", put_copy_kernel));
    LZ_TRY(set_groups(j, env, "GeneratedCompositeFunctional_Definitions", lzg_put_composite_functional));
    return set_groups(j, env, "GeneratedCompositeOut_Definitions", lzg_put_composite_out);
}

/* ---- plans ---- */

#define FOLDER(name) offsetof(lzg_torch_settings, name)
static const lzg_torch_file files[] = {
    { "FunctionalInverses.h", FOLDER(cpu), 1, fill_inverses },
    { "ViewMetaClasses.h", FOLDER(cpu), 2, fill_classes },
    { "ViewMetaClasses.cpp", FOLDER(cpu), 2, fill_methods },
    { "CompositeViewCopyKernels.cpp", FOLDER(cpu), 5, fill_composites },
    { 0 },
};

lz_err *lzg_plan_functionalization(lzg_torch_settings *s)
{
    LZ_TRY(lzg_run_add(s->run, 60, register_functionalization, s));
    return lzg_torch_plan(s, files);
}

/* ---- torch-view-meta ---- */

#define AT(name) offsetof(lzg_torch_view_meta_options, name)
static const lzg_option options[] = {
    { "--native", 0, LZG_TEXT, true, AT(native), NULL, "FILE", "the operator file", NULL },
    { "--tags", 0, LZG_TEXT, true, AT(tags), NULL, "FILE", "the tags that operators may have", NULL },
    { "--templates", 0, LZG_TEXT, true, AT(templates), NULL, "DIR",
      "the folder of ViewMetaClassesPythonBinding.cpp", NULL },
    { "--install-dir", 0, LZG_TEXT, true, AT(install_dir), NULL, "DIR", "where the file goes", NULL },
    { "--op-selection-yaml-path", 0, LZG_TEXT, false, AT(op_selection_yaml_path), NULL, "FILE",
      "a selection of operators, which leaves no classes", NULL },
    { 0 },
};

static lz_err *fill_bindings(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    bool all = s->selector->include_all_operators;
    return set_views(j, env, "view_meta_bindings", all ? lzg_put_view_class_binding : put_nothing);
}

static const lzg_torch_file bindings[] = {
    { "ViewMetaClassesPythonBinding.cpp", FOLDER(cpu), 1, fill_bindings },
    { 0 },
};

static lz_err *plan_view_meta(lzg_run *r, const void *o)
{
    const lzg_torch_view_meta_options *v = o;
    lzg_torch_settings *s;
    LZ_TRY(lz_arena_new(&r->arena, &s, 1));
    s->run = r;
    LZ_TRY(lzg_run_selection(r, v->op_selection_yaml_path, NULL, &s->selector));
    LZ_TRY(lzg_run_folder(r, v->install_dir, &s->cpu));
    return lzg_torch_plan(s, bindings);
}

static lz_err *run_view_meta(const void *o, lzg_torch_report *out);

const lzg_command lzg_command_torch_view_meta = { "torch-view-meta",
                                                  "writes the Python bindings of classes that remember views",
                                                  options, sizeof(lzg_torch_view_meta_options),
                                                  run_view_meta };

static lz_err *run_view_meta(const void *o, lzg_torch_report *out)
{
    const lzg_torch_view_meta_options *v = o;
    const lzg_run_options r = { .command = &lzg_command_torch_view_meta,
                                .options = o,
                                .native = v->native,
                                .tags = v->tags,
                                .templates = v->templates,
                                .generator = "torchgen/gen.py" };
    return lzg_run_command(&r, plan_view_meta, out);
}

lz_err *lzg_torch_view_meta(const lzg_torch_view_meta_options *o, lzg_torch_report *out)
{
    return run_view_meta(o, out);
}
