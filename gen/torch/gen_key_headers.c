#include "gen/torch/gen_key_headers.h"
#include "gen/emit/c_text.h"
#include "gen/text/identifiers.h"
#include "gen/text/utils.h"
#include "gen/torch/gen_register_files.h"
#include "gen/torch/namespaced_lists.h"
#include <stdlib.h>

typedef struct key_job {
    const lzg_torch_settings *s;
    const char *key;
    lzg_dispatch_key number;
    lz_str ns; /* the key in small letters */
    const lzg_backend_index *index;
} key_job;

/* KEYFunctions.h, which includes KEYFunctions_inl.h. */
static lz_err *write_outer(lzg_job *j, const key_job *k, lzg_env *env)
{
    lz_str name, include;
    LZ_TRY(lz_arena_printf(&j->arena, &name, "%sFunctions.h", k->key));
    LZ_TRY(lz_arena_printf(&j->arena, &include, "#include <ATen/%sFunctions_inl.h>", k->key));
    LZ_TRY(lzg_env_text(env, "dispatch_key", lz_str_of(k->key)));
    LZ_TRY(lzg_env_text(env, "inline_headers", include));
    return lzg_job_template(j, lzg_torch_files(k->s, k->number), name.ptr, "DispatchKeyFunctions.h", env);
}

/* KEYFunctions_inl.h */
static lz_err *write_inner(lzg_job *j, const key_job *k, const lzg_texts *includes,
                           const lzg_texts *declarations, lzg_env *env)
{
    lz_str name;
    LZ_TRY(lz_arena_printf(&j->arena, &name, "%sFunctions_inl.h", k->key));
    LZ_TRY(lzg_env_text(env, "dispatch_namespace", k->ns));
    LZ_TRY(lzg_env_texts(env, "DispatchKeyFunctions_inl_includes", includes));
    LZ_TRY(lzg_env_texts(env, "dispatch_namespaced_declarations", declarations));
    return lzg_job_template(j, lzg_torch_files(k->s, k->number), name.ptr, "DispatchKeyFunctions_inl.h", env);
}

static lz_err *write_both(lzg_job *j, const key_job *k, const lzg_texts *includes,
                          const lzg_texts *declarations)
{
    lzg_env outer, inner;
    lzg_env_init(&outer, &j->arena);
    lzg_env_init(&inner, &j->arena);
    lz_err *e = write_outer(j, k, &outer);
    if (!e)
        e = write_inner(j, k, includes, declarations, &inner);
    lzg_env_deinit(&outer);
    lzg_env_deinit(&inner);
    return e;
}

/* ---- one header ---- */

/* at::native of a kernel becomes at::cpu; without a kernel at::cpu too. */
static lz_err *namespace_of(lzg_job *j, const key_job *k, const lzg_grouped *g, lz_str *out)
{
    const lzg_backend_metadata *m =
        g->group ? lzg_index_kernel_of_group(k->index, g->group) : lzg_index_kernel_of(k->index, g->f);
    lz_str ns = m ? m->cpp_namespace : LZ_STR("at::native");
    if (lz_str_find(ns, LZ_STR("::native")) == SIZE_MAX)
        return lz_errf(LZ_ERR_UNSUPPORTED, "the kernel for %s is in %.*s, which does not end in ::native",
                       k->key, LZ_FMT(ns));
    return lzg_replace_all(&j->arena, ns, LZ_STR("native"), k->ns, out);
}

static lz_err *add_declarations(lzg_job *j, const key_job *k, const lzg_grouped *g, lzg_texts *found,
                                lzg_namespaced_lists *lists)
{
    lz_str ns = { 0 }, *there;
    found->text.len = found->ends.len = 0;
    LZ_TRY(namespace_of(j, k, g, &ns));
    LZ_TRY(lzg_namespaced_lists_open(lists, ns));
    LZ_TRY(lzg_put_namespaced_declarations(&j->scratch, k->s, k->index, g, found));
    for (size_t i = 0; i < lzg_texts_count(found); i++) {
        lz_str text = lzg_texts_item(found, i);
        LZ_TRY(lzg_namespaced_lists_add(lists, ns, text, text, &there));
    }
    return NULL;
}

static lz_err *collect(lzg_job *j, const key_job *k, lzg_namespaced_lists *lists)
{
    const lzg_ops *ops = &j->run->ops;
    lzg_texts *found;
    LZ_TRY(lzg_job_texts(j, &found));
    for (size_t i = 0; i < ops->ngrouped; i++) {
        const lzg_grouped *g = &ops->grouped[i];
        lz_arena_mark mark = lz_arena_save(&j->scratch);
        LZ_TRY(lzg_job_take(j, add_declarations(j, k, g, found, lists), g->group ? g->group->out : g->f));
        lz_arena_rewind(&j->scratch, mark);
    }
    return NULL;
}

static lz_err *write_aggregated(lzg_job *j, const void *arg)
{
    enum { LEVELS = 3 };
    const key_job *k = arg;
    lzg_namespaced_lists lists = { .arena = &j->arena };
    lzg_texts *declarations, *none;
    LZ_TRY(lzg_job_texts(j, &declarations));
    LZ_TRY(lzg_job_texts(j, &none));
    lz_err *e = j->run->dry_run ? NULL : collect(j, k, &lists);
    if (!e)
        e = lzg_namespaced_lists_print(&lists, LEVELS, false, declarations);
    lzg_namespaced_lists_deinit(&lists);
    return e ? e : write_both(j, k, none, declarations);
}

/* ---- headers by name ---- */

/* ops/NAME_KEY_dispatch.h */
static lz_err *write_named(lzg_job *j, const key_job *k, lz_str root, const lzg_texts *declarations)
{
    lz_str name;
    lzg_env env;
    LZ_TRY(lz_arena_printf(&j->scratch, &name, "%.*s_%.*s_dispatch.h", LZ_FMT(root), LZ_FMT(k->ns)));
    lzg_env_init(&env, &j->scratch);
    lz_err *e = lzg_env_text(&env, "dispatch_namespace", k->ns);
    if (!e)
        e = lzg_env_texts(&env, "dispatch_namespaced_declarations", declarations);
    if (!e)
        e = lzg_job_template(j, k->s->ops, name.ptr, "DispatchKeyFunction.h", &env);
    lzg_env_deinit(&env);
    return e;
}

/* *any: whether there is anything to declare. */
static lz_err *write_root(lzg_job *j, const key_job *k, const lzg_root *root, lzg_texts *found, bool *any)
{
    found->text.len = found->ends.len = 0;
    for (size_t i = 0; i < root->ngrouped; i++) {
        const lzg_grouped *g = &root->grouped[i];
        lz_err *e = lzg_put_namespaced_declarations(&j->scratch, k->s, k->index, g, found);
        LZ_TRY(lzg_job_take(j, e, g->group ? g->group->out : g->f));
    }
    *any = lzg_texts_count(found) > 0;
    return *any ? write_named(j, k, root->name, found) : NULL;
}

static int by_bytes(const void *a, const void *b)
{
    return lz_str_cmp(*(const lz_str *)a, *(const lz_str *)b);
}

static lz_err *put_includes(const key_job *k, lz_str *names, size_t n, lzg_texts *out)
{
    if (n)
        qsort(names, n, sizeof *names, by_bytes);
    for (size_t i = 0; i < n; i++) {
        lzg_fill(&out->text, "#include <ATen/ops/$_$_dispatch.h>", names[i], k->ns);
        LZ_TRY(lzg_texts_end(out));
    }
    return NULL;
}

static lz_err *write_by_name(lzg_job *j, const void *arg)
{
    const key_job *k = arg;
    const lzg_roots *roots = &k->s->roots;
    lzg_texts *found, *includes, *none;
    lz_str *names;
    size_t n = 0;
    LZ_TRY(lzg_job_texts(j, &found));
    LZ_TRY(lzg_job_texts(j, &includes));
    LZ_TRY(lzg_job_texts(j, &none));
    LZ_TRY(lz_arena_new(&j->arena, &names, roots->n));
    for (size_t i = 0; i < roots->n; i++) {
        lz_arena_mark mark = lz_arena_save(&j->scratch);
        bool any;
        LZ_TRY(write_root(j, k, &roots->at[i], found, &any));
        lz_arena_rewind(&j->scratch, mark);
        if (any)
            names[n++] = roots->at[i].name;
    }
    LZ_TRY(put_includes(k, names, n, includes));
    return write_both(j, k, includes, none);
}

/* ---- the plan ---- */

static lz_err *lower(lz_arena *a, const char *name, lz_str *out)
{
    lz_text t = { 0 };
    lzg_put_lower(&t, lz_str_of(name));
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

static lz_err *plan_key(lzg_torch_settings *s, lzg_dispatch_key key)
{
    key_job *k;
    LZ_TRY(lz_arena_new(&s->run->arena, &k, 1));
    *k = (key_job){
        .s = s, .key = lzg_dispatch_key_name(key), .number = key, .index = lzg_run_index(s->run, key)
    };
    LZ_TRY(lower(&s->run->arena, k->key, &k->ns));
    uint32_t weight = 2 + (uint32_t)(lz_map_count(&k->index->index) / 40);
    return lzg_run_add(s->run, weight, s->o->per_operator_headers ? write_by_name : write_aggregated, k);
}

lz_err *lzg_plan_key_headers(lzg_torch_settings *s)
{
    for (size_t i = 0; i < s->keys.n; i++)
        if (lzg_keys_has(&s->functions_keys, s->keys.at[i]))
            LZ_TRY(plan_key(s, s->keys.at[i]));
    return NULL;
}
