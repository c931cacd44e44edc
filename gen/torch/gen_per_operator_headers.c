#include "gen/torch/gen_per_operator_headers.h"
#include "gen/emit/c_text.h"
#include "gen/torch/dest/native_functions.h"
#include "gen/torch/gen_functions.h"
#include "gen/torch/gen_meta.h"
#include "gen/torch/gen_operators.h"
#include "gen/torch/gen_static_dispatch.h"
#include <stddef.h>
#include <stdlib.h>

/* ---- the headers of one name ---- */

typedef struct root_job {
    lzg_job *j;
    const lzg_torch_settings *s;
    const lzg_root *root;
    lzg_texts *items, *headers; /* emptied for each file */
    lzg_env env;
} root_job;

/* ops/NAME_SUFFIX.h from a template; env is empty afterwards. */
static lz_err *write_header(root_job *r, const char *suffix, const char *template_name)
{
    lz_str name;
    LZ_TRY(lz_arena_printf(&r->j->scratch, &name, "%.*s%s.h", LZ_FMT(r->root->name), suffix));
    return lzg_job_template(r->j, r->s->ops, name.ptr, template_name, &r->env);
}

static void begin_header(root_job *r)
{
    lzg_env_deinit(&r->env);
    lzg_env_init(&r->env, &r->j->scratch);
    r->items->text.len = r->items->ends.len = 0;
    r->headers->text.len = r->headers->ends.len = 0;
}

static lz_err *write_operators(root_job *r)
{
    begin_header(r);
    if (!r->j->run->dry_run) {
        LZ_TRY(lzg_job_each(r->j, r->root->f, r->root->n, lzg_put_operator_declaration, r->s, r->items));
        LZ_TRY(lzg_env_texts(&r->env, "declarations", r->items));
    }
    return write_header(r, "_ops", "Operator.h");
}

static lz_err *fill_function(root_job *r)
{
    lz_str include;
    LZ_TRY(
        lz_arena_printf(&r->j->scratch, &include, "#include <ATen/ops/%.*s_ops.h>", LZ_FMT(r->root->name)));
    for (size_t i = 0; i < r->root->n; i++)
        LZ_TRY(lzg_static_dispatch_op_headers(r->s, r->root->f[i], r->headers));
    LZ_TRY(lzg_job_each(r->j, r->root->f, r->root->n, lzg_put_function, r->s, r->items));
    LZ_TRY(lzg_env_texts(&r->env, "static_dispatch_ops_headers", r->headers));
    LZ_TRY(lzg_env_text(&r->env, "operator_includes", include));
    return lzg_env_texts(&r->env, "function_definitions", r->items);
}

static lz_err *write_function(root_job *r)
{
    begin_header(r);
    if (!r->j->run->dry_run)
        LZ_TRY(fill_function(r));
    return write_header(r, "", "Function.h");
}

static lz_err *put_meta_functions(root_job *r)
{
    for (size_t i = 0; i < r->root->ngrouped; i++) {
        const lzg_group *g = r->root->grouped[i].group;
        if (!g)
            continue;
        LZ_TRY(lzg_job_take(r->j, lzg_put_meta_function(&r->j->scratch, g, &r->items->text), g->out));
        LZ_TRY(lzg_texts_end_if_any(r->items));
    }
    return lzg_env_texts(&r->env, "meta_function_declarations", r->items);
}

static lz_err *write_meta(root_job *r)
{
    begin_header(r);
    if (!r->j->run->dry_run)
        LZ_TRY(put_meta_functions(r));
    return write_header(r, "_meta", "NativeMetaFunction.h");
}

static bool is_structured(const lzg_root *root)
{
    for (size_t i = 0; i < root->ngrouped; i++)
        if (root->grouped[i].group && root->grouped[i].group->structured)
            return true;
    return false;
}

static lz_err *fill_native(root_job *r)
{
    lz_str include;
    LZ_TRY(
        lz_arena_printf(&r->j->scratch, &include, "#include <ATen/ops/%.*s_meta.h>", LZ_FMT(r->root->name)));
    if (is_structured(r->root))
        LZ_TRY(lzg_env_text(&r->env, "extra_includes", include));
    else
        LZ_TRY(lzg_env_list(&r->env, "extra_includes"));
    lz_err *e = lzg_put_namespaced_kernels(&r->j->scratch, &r->j->run->ops, r->root->grouped,
                                           r->root->ngrouped, r->items);
    LZ_TRY(lzg_job_take(r->j, e, r->root->f[0]));
    return lzg_env_texts(&r->env, "native_function_declarations", r->items);
}

static lz_err *write_native(root_job *r)
{
    begin_header(r);
    if (!r->j->run->dry_run)
        LZ_TRY(fill_native(r));
    return write_header(r, "_native", "NativeFunction.h");
}

static lz_err *write_root(root_job *r)
{
    LZ_TRY(write_operators(r));
    LZ_TRY(write_function(r));
    if (is_structured(r->root))
        LZ_TRY(write_meta(r));
    return write_native(r);
}

/* ---- jobs over some names ---- */

typedef struct roots_job {
    const lzg_torch_settings *s;
    const lzg_root *first;
    size_t n;
} roots_job;

static lz_err *write_roots(lzg_job *j, const void *arg)
{
    const roots_job *job = arg;
    root_job r = { .j = j, .s = job->s };
    LZ_TRY(lzg_job_texts(j, &r.items));
    LZ_TRY(lzg_job_texts(j, &r.headers));
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < job->n; i++) {
        lz_arena_mark mark = lz_arena_save(&j->scratch);
        r.root = &job->first[i];
        e = write_root(&r);
        lzg_env_deinit(&r.env);
        lz_arena_rewind(&j->scratch, mark);
    }
    return e;
}

/* ---- headers that include them ---- */

static int by_bytes(const void *a, const void *b)
{
    return lz_str_cmp(*(const lz_str *)a, *(const lz_str *)b);
}

static bool any_method(const lzg_root *root)
{
    for (size_t i = 0; i < root->n; i++)
        if (root->f[i]->variants & LZG_VARIANT_METHOD)
            return true;
    return false;
}

static bool any_operator(const lzg_root *root)
{
    return root->n > 0;
}

/* "#include <ATen/ops/NAME_SUFFIX.h>" of the names that are wanted; sorted by name, or as lines. */
static lz_err *put_includes(lzg_job *j, const lzg_roots *roots, const char *suffix,
                            bool (*wanted)(const lzg_root *root), bool by_line, lzg_texts *out)
{
    lz_str *lines;
    size_t n = 0;
    LZ_TRY(lz_arena_new(&j->arena, &lines, roots->n));
    for (size_t i = 0; i < roots->n; i++) {
        if (!wanted(&roots->at[i]))
            continue;
        lines[n] = roots->at[i].name;
        if (by_line)
            LZ_TRY(lz_arena_printf(&j->arena, &lines[n], "%.*s%s.h>", LZ_FMT(roots->at[i].name), suffix));
        n++;
    }
    if (n)
        qsort(lines, n, sizeof *lines, by_bytes);
    for (size_t i = 0; i < n; i++) {
        lzg_fill(&out->text, "#include <ATen/ops/$", lines[i]);
        if (!by_line)
            lzg_fill(&out->text, "$.h>", lz_str_of(suffix));
        LZ_TRY(lzg_texts_end(out));
    }
    return NULL;
}

typedef struct category {
    const char *file, *includes, *declarations, *suffix;
    bool (*wanted)(const lzg_root *root);
    bool by_line;
} category;

static const category categories[] = {
    { "Functions.h", "Functions_includes", "Functions_declarations", "", any_operator, false },
    { "Operators.h", "Operators_includes", "Operators_declarations", "_ops", any_operator, false },
    { "NativeMetaFunctions.h", "NativeMetaFunctions_includes", "NativeMetaFunctions_declarations", "_meta",
      any_operator, false },
    { "NativeFunctions.h", "NativeFunctions_includes", "NativeFunctions_declarations", "_native",
      any_operator, false },
    { "MethodOperators.h", "MethodOperators_includes", "MethodOperators_declarations", "_ops", any_method,
      true },
};

typedef struct category_job {
    const lzg_torch_settings *s;
    const category *c;
    const lzg_roots *roots;
} category_job;

static lz_err *fill_category(lzg_job *j, const category_job *job, lzg_env *env)
{
    lzg_texts *includes;
    LZ_TRY(lzg_job_texts(j, &includes));
    LZ_TRY(put_includes(j, job->roots, job->c->suffix, job->c->wanted, job->c->by_line, includes));
    LZ_TRY(lzg_env_texts(env, job->c->includes, includes));
    return lzg_env_list(env, job->c->declarations);
}

static lz_err *write_category(lzg_job *j, const void *arg)
{
    const category_job *job = arg;
    lzg_env env;
    lzg_env_init(&env, &j->arena);
    lz_err *e = j->run->dry_run ? NULL : fill_category(j, job, &env);
    if (!e)
        e = lzg_job_template(j, job->s->cpu, job->c->file, job->c->file, &env);
    lzg_env_deinit(&env);
    return e;
}

static lz_err *plan_categories(lzg_torch_settings *s, const lzg_roots *roots)
{
    category_job *jobs;
    size_t n = sizeof categories / sizeof *categories;
    LZ_TRY(lz_arena_new(&s->run->arena, &jobs, n));
    for (size_t i = 0; i < n; i++) {
        jobs[i] = (category_job){ s, &categories[i], roots };
        LZ_TRY(lzg_run_add(s->run, 1, write_category, &jobs[i]));
    }
    return NULL;
}

lz_err *lzg_plan_per_operator_headers(lzg_torch_settings *s)
{
    enum { NAMES = 64 }; /* of a job */
    const lzg_roots *roots = &s->roots;
    for (size_t i = 0; i < roots->n; i += NAMES) {
        roots_job *job;
        LZ_TRY(lz_arena_new(&s->run->arena, &job, 1));
        *job = (roots_job){ s, &roots->at[i], roots->n - i < NAMES ? roots->n - i : NAMES };
        LZ_TRY(lzg_run_add(s->run, 5, write_roots, job));
    }
    return plan_categories(s, roots);
}
