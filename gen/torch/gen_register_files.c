#include "gen/torch/gen_register_files.h"
#include "gen/text/utils.h"
#include "gen/torch/c_shim_files.h"
#include "gen/torch/dest/native_functions.h"
#include "gen/torch/dest/register_dispatch_key.h"
#include "gen/torch/dest/ufunc_kernel.h"
#include "gen/torch/gen_meta.h"
#include "gen/torch/grouped.h"
#include <stdlib.h>

typedef struct register_job {
    const lzg_torch_settings *s;
    lzg_dispatch_key key;
    const lzg_backend_index *index;
} register_job;

typedef struct ufunc_job {
    const lzg_torch_settings *s;
    const lzg_group *g;
    lzg_dispatch_key key;
} ufunc_job;

static bool is_key(lzg_dispatch_key key, const char *name)
{
    return strcmp(lzg_dispatch_key_name(key), name) == 0;
}

/* ---- headers ---- */

/* Whether a group has anything to register: a kernel, or one that is made from its meta function. */
static bool is_registered(const register_job *r, const lzg_grouped *g)
{
    const lzg_function *members[LZG_GROUP_MEMBERS];
    size_t n = lzg_grouped_members(g, members);
    for (size_t i = 0; i < n; i++)
        if (lzg_index_kernel_of(r->index, members[i]))
            return true;
    bool structured = g->group ? g->group->structured : g->f->structured;
    return structured && (is_key(r->key, "Meta") || r->key == lzg_key_non_functional);
}

static int by_bytes(const void *a, const void *b)
{
    return lz_str_cmp(*(const lz_str *)a, *(const lz_str *)b);
}

typedef LZ_VEC(lz_str) names;

static lz_err *add_header(names *out, lz_arena *a, lz_str root, const char *between, lz_str what)
{
    lz_str line;
    LZ_TRY(
        lz_arena_printf(a, &line, "#include <ATen/ops/%.*s%s%.*s.h>", LZ_FMT(root), between, LZ_FMT(what)));
    return lz_vec_push(out, line);
}

static lz_err *collect_headers(lzg_job *j, const register_job *r, names *out)
{
    const lzg_ops *ops = &j->run->ops;
    lz_text lower = { 0 };
    lz_str dispatch;
    lzg_put_lower(&lower, lz_str_of(lzg_dispatch_key_name(r->key)));
    lz_text_puts(&lower, "_dispatch");
    lz_err *e = lz_text_save(&lower, &j->arena, &dispatch);
    lz_text_deinit(&lower);
    for (size_t i = 0; !e && i < ops->ngrouped; i++) {
        lz_str root = ops->grouped[i].f->func->name.base;
        if (!is_registered(r, &ops->grouped[i]))
            continue;
        e = add_header(out, &j->arena, root, "_", LZ_STR("native"));
        if (!e && r->key == lzg_key_non_functional)
            e = add_header(out, &j->arena, root, "", LZ_STR(""));
        if (!e && lzg_keys_has(&r->s->functions_keys, r->key))
            e = add_header(out, &j->arena, root, "_", dispatch);
    }
    return e;
}

/* The headers of the registered operators, sorted, each once. */
static lz_err *add_operator_headers(lzg_job *j, const register_job *r, lzg_env *env)
{
    names all = { 0 };
    lz_err *e = collect_headers(j, r, &all);
    if (!e && all.len)
        qsort(all.data, all.len, sizeof *all.data, by_bytes);
    for (size_t i = 0; !e && i < all.len; i++)
        if (!i || !lz_str_eq(all.data[i], all.data[i - 1]))
            e = lzg_env_add(env, "ops_headers", all.data[i]);
    lz_vec_deinit(&all);
    return e;
}

static lz_err *add_whole_headers(lzg_job *j, const register_job *r, lzg_env *env)
{
    lz_str line;
    LZ_TRY(lzg_env_add(env, "ops_headers", LZ_STR("#include <ATen/NativeFunctions.h>")));
    if (r->key == lzg_key_non_functional)
        LZ_TRY(lzg_env_add(env, "ops_headers", LZ_STR("#include <ATen/Functions.h>")));
    if (!lzg_keys_has(&r->s->functions_keys, r->key))
        return NULL;
    LZ_TRY(lz_arena_printf(&j->arena, &line, "#include <ATen/%sFunctions.h>", lzg_dispatch_key_name(r->key)));
    return lzg_env_add(env, "ops_headers", line);
}

/* ---- Register<Key>.cpp ---- */

static lz_err *fill_base(lzg_job *j, const register_job *r, lzg_env *env)
{
    const lzg_torch_options *o = r->s->o;
    const lzg_register_options how = { .per_operator_headers = o->per_operator_headers,
                                       .rocm = o->rocm,
                                       .has_native_aot = lzg_aot_has_key(&r->s->aot, r->key) };
    const char *cuda = lzg_dispatch_key_is_cuda(r->key) ? lzg_cuda_headers(o->rocm) : "";
    LZ_TRY(lzg_env_text(env, "extra_cuda_headers", lz_str_of(cuda)));
    LZ_TRY(lzg_env_text(env, "external_backend_headers", LZ_STR("")));
    LZ_TRY(lzg_env_list(env, "dispatch_headers"));
    LZ_TRY(lzg_env_list(env, "dispatch_helpers"));
    LZ_TRY(lzg_env_list(env, "ops_headers"));
    LZ_TRY(lzg_register_headers(r->index, how, env, "dispatch_headers"));
    if (r->key != lzg_key_implicit_nested) /* whose kernels use none: compilers warn of unused functions */
        LZ_TRY(lzg_register_helpers(r->index, env, "dispatch_helpers"));
    return o->per_operator_headers ? add_operator_headers(j, r, env) : add_whole_headers(j, r, env);
}

/* A structured operator with a kernel compiled ahead of time tries that first. */
static lz_err *consult_aot(const void *context, const lzg_group *g, lz_str args, lz_text *out, bool *found)
{
    const register_job *r = context;
    const lzg_aot_declaration *d = lzg_aot_find(&r->s->aot, g, r->key);
    *found = d != NULL;
    if (d)
        lzg_put_aot_consultation(d, args, out);
    return lz_text_check(out);
}

static lz_err *put_definitions(lzg_job *j, const register_job *r, const lzg_register_file *file,
                               lzg_shards *shards)
{
    const lzg_ops *ops = &j->run->ops;
    const lzg_registrar registrar = { .arena = &j->scratch,
                                      .index = r->index,
                                      .key = r->key,
                                      .selector = r->s->selector,
                                      .consult = consult_aot,
                                      .context = r };
    for (size_t i = 0; i < ops->ngrouped; i++) {
        const lzg_grouped *g = &ops->grouped[i];
        lz_arena_mark mark = lz_arena_save(&j->scratch);
        lzg_shards_item(shards, g->f->func->name.base);
        lz_err *e = lzg_register_definitions(&registrar, file, g, lzg_shards_text(shards, 0));
        lz_arena_rewind(&j->scratch, mark);
        LZ_TRY(lzg_job_take(j, e, g->group ? g->group->out : g->f));
        LZ_TRY(lzg_shards_end(shards, 0));
    }
    return NULL;
}

static lz_err *fill_shards(lzg_job *j, const register_job *r, lzg_shards *shards)
{
    lzg_register_file file = { .skip_registration = r->s->o->skip_dispatcher_op_registration };
    lzg_env base;
    lzg_env_init(&base, &j->arena);
    lz_err *e = lzg_run_template(j->run, "RegisterDispatchDefinitions.ini", &file.definitions);
    if (!e)
        e = lzg_env_text(&base, "generated_comment",
                         LZ_STR("@generated by torchgen/gen.py from RegisterDispatchDefinitions.ini"));
    file.base = &base;
    if (!e)
        e = put_definitions(j, r, &file, shards);
    lzg_env_deinit(&base);
    return e;
}

static lz_err *write_registration(lzg_job *j, const void *arg)
{
    const register_job *r = arg;
    lzg_env base;
    lzg_shards shards;
    lz_str name;
    LZ_TRY(lz_arena_printf(&j->arena, &name, "Register%s.cpp", lzg_dispatch_key_name(r->key)));
    LZ_TRY(lzg_shards_begin(&shards, is_key(r->key, "CPU") ? 4 : 1, "dispatch_definitions", NULL));
    lzg_env_init(&base, &j->arena);
    lz_err *e = NULL;
    if (!j->run->dry_run)
        e = fill_base(j, r, &base);
    if (!e && !j->run->dry_run)
        e = fill_shards(j, r, &shards);
    if (!e)
        e = lzg_job_sharded(j, lzg_torch_files(r->s, r->key), name.ptr, "RegisterDispatchKey.cpp", &base,
                            &shards);
    lzg_env_deinit(&base);
    lzg_shards_deinit(&shards);
    return e;
}

lz_err *lzg_put_namespaced_declarations(lz_arena *a, const lzg_torch_settings *s,
                                        const lzg_backend_index *index, const lzg_grouped *g, lzg_texts *out)
{
    const lzg_registrar r = { .arena = a, .index = index, .key = index->key, .selector = s->selector };
    return lzg_register_declarations(&r, g, out);
}

/* ---- inner loops ---- */

typedef lz_err *put_kernel_fn(lz_arena *a, const lzg_group *g, lz_text *out);

/* A text of the operator as a value; the list keeps it until the end of the job. */
static lz_err *set_text(lzg_job *j, lzg_env *env, const char *name, const ufunc_job *u, put_kernel_fn *put)
{
    lzg_texts *t;
    LZ_TRY(lzg_job_texts(j, &t));
    LZ_TRY(lzg_job_take(j, put(&j->arena, u->g, &t->text), u->g->out));
    return lzg_env_text(env, name, lz_text_view(&t->text));
}

static lz_err *set_declarations(lzg_job *j, lzg_env *env, const ufunc_job *u)
{
    const lzg_backend_index *index = lzg_run_index(j->run, u->key);
    const lzg_grouped g = { u->g, u->g->functional };
    lzg_texts *t;
    LZ_TRY(set_text(j, env, "meta_declaration", u, lzg_put_meta_function));
    LZ_TRY(lzg_job_texts(j, &t));
    LZ_TRY(lzg_job_take(j, lzg_put_native_declarations(&j->arena, &j->run->ops, index, &g, t), u->g->out));
    return lzg_env_texts(env, "native_declaration", t);
}

typedef struct ufunc_file {
    const char *stem, *extension, *template_name;
    put_kernel_fn *put;
    bool is_kernel; /* includes the user's loops, not the kernel's class */
} ufunc_file;

static const ufunc_file cpu_file = { "UfuncCPU", "cpp", "UfuncCPU.cpp", lzg_put_ufunc_cpu, false };
static const ufunc_file vector_file = { "UfuncCPUKernel", "cpp", "UfuncCPUKernel.cpp",
                                        lzg_put_ufunc_cpu_kernel, true };
static const ufunc_file cuda_file = { "UfuncCUDA", "cu", "UfuncCUDA.cu", lzg_put_ufunc_cuda, false };

static lz_err *fill_ufunc(lzg_job *j, const ufunc_job *u, const ufunc_file *f, lzg_env *env)
{
    const char *loops =
        u->s->o->rocm ? "#include <ATen/native/hip/Loops.cuh>" : "#include <ATen/native/cuda/Loops.cuh>";
    if (f != &cpu_file)
        LZ_TRY(lzg_env_text(env, "name", u->g->functional->func->name.printed_base));
    if (f == &cuda_file)
        LZ_TRY(lzg_env_text(env, "cuda_headers", lz_str_of(loops)));
    if (!f->is_kernel)
        LZ_TRY(set_declarations(j, env, u));
    return set_text(j, env, "native_definitions", u, f->put);
}

static lz_err *write_ufunc(lzg_job *j, const ufunc_job *u, const ufunc_file *f, lzg_files *to)
{
    lz_str name, op = u->g->functional->func->name.printed_base;
    lzg_env env;
    LZ_TRY(lz_arena_printf(&j->arena, &name, "%s_%.*s.%s", f->stem, LZ_FMT(op), f->extension));
    lzg_env_init(&env, &j->arena);
    lz_err *e = j->run->dry_run ? NULL : fill_ufunc(j, u, f, &env);
    if (!e)
        e = lzg_job_template(j, to, name.ptr, f->template_name, &env);
    lzg_env_deinit(&env);
    return e;
}

static lz_err *write_ufuncs(lzg_job *j, const void *arg)
{
    const ufunc_job *u = arg;
    if (lzg_dispatch_key_is_cuda(u->key))
        return write_ufunc(j, u, &cuda_file, lzg_torch_files(u->s, u->key));
    LZ_TRY(write_ufunc(j, u, &cpu_file, u->s->cpu));
    return write_ufunc(j, u, &vector_file, u->s->cpu_vec);
}

/* ---- plans ---- */

static lz_err *plan_registration(lzg_torch_settings *s, lzg_dispatch_key key)
{
    register_job *r;
    LZ_TRY(lz_arena_new(&s->run->arena, &r, 1));
    *r = (register_job){ .s = s, .key = key, .index = lzg_run_index(s->run, key) };
    return lzg_run_add(s->run, 2 + (uint32_t)(lz_map_count(&r->index->index) / 20), write_registration, r);
}

static lz_err *plan_ufunc(lzg_torch_settings *s, const lzg_group *g, lzg_dispatch_key key)
{
    ufunc_job *u;
    LZ_TRY(lz_arena_new(&s->run->arena, &u, 1));
    *u = (ufunc_job){ s, g, key };
    return lzg_run_add(s->run, 1, write_ufuncs, u);
}

lz_err *lzg_plan_register_dispatch_key(lzg_torch_settings *s)
{
    const lzg_ops *ops = &s->run->ops;
    for (size_t i = 0; i < s->keys.n; i++) {
        LZ_TRY(plan_registration(s, s->keys.at[i]));
        for (size_t k = 0; k < ops->ngroups && lzg_dispatch_key_ufunc(s->keys.at[i]); k++)
            if (ops->groups[k].out->nufunc)
                LZ_TRY(plan_ufunc(s, &ops->groups[k], s->keys.at[i]));
    }
    return NULL;
}
