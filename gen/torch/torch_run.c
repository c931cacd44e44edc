#include "gen/torch/torch_run.h"
#include "base/dir.h"
#include "base/file.h"
#include "base/mem.h"
#include "gen/torch/torch_record.h"
#include <stdlib.h>

typedef struct lzg_output_list {
    const lzg_files *files;
    const char *variable, *path;
} lzg_output_list;

typedef struct lzg_kept {
    void *what;
    void (*destroy)(void *what);
} lzg_kept;

/* ---- reading ---- */

lz_err *lzg_run_path(lzg_run *r, const char *folder, const char *name, const char **out)
{
    char *path;
    lz_str copy;
    LZ_TRY(lz_path_join(folder, name, &path));
    lz_err *e = lz_arena_copy(&r->arena, lz_str_of(path), &copy);
    lz_mem_free(path);
    *out = copy.ptr;
    return e;
}

lz_err *lzg_run_depend(lzg_run *r, const char *path)
{
    lz_lock_take(&r->lock);
    lz_err *e = r->record ? lzg_record_input(r->record, path) : NULL;
    lz_lock_give(&r->lock);
    return e;
}

lz_err *lzg_run_read(lzg_run *r, lz_arena *a, const char *path, lz_str *out)
{
    char *text;
    size_t len;
    LZ_TRY(lzg_run_depend(r, path));
    LZ_TRY(lz_file_read(path, LZG_YAML_BYTES, &len, &text));
    lz_err *e = lz_arena_copy(a, (lz_str){ text, len }, out);
    lz_mem_free(text);
    return e;
}

lz_err *lzg_run_yaml(lzg_run *r, lz_arena *a, const char *path, const lzg_yaml **out)
{
    LZ_TRY(lzg_run_depend(r, path));
    return lzg_yaml_load(a, path, out);
}

static lz_err *load_template(lzg_run *r, const char *name, lzg_template **out)
{
    char *text;
    size_t len;
    lz_str copy;
    LZ_TRY(lz_arena_new(&r->arena, out, 1));
    LZ_TRY(lzg_run_path(r, r->o.templates, name, &(*out)->path));
    if (r->record)
        LZ_TRY(lzg_record_input(r->record, (*out)->path));
    LZ_TRY(lz_file_read((*out)->path, LZG_YAML_BYTES, &len, &text));
    lz_err *e = lz_arena_copy(&r->arena, (lz_str){ text, len }, &(*out)->text);
    lz_mem_free(text);
    LZ_TRY(e);
    LZ_TRY(lz_arena_copy(&r->arena, lz_str_of(name), &copy));
    (*out)->file = copy.ptr;
    return lz_map_put(&r->templates, copy, *out);
}

lz_err *lzg_run_template(lzg_run *r, const char *name, const lzg_template **out)
{
    lz_lock_take(&r->lock);
    lzg_template *t = lz_map_get(&r->templates, lz_str_of(name));
    lz_err *e = t ? NULL : load_template(r, name, &t);
    lz_lock_give(&r->lock);
    *out = t;
    return e;
}

/* ---- selections ---- */

static void select_all(lzg_selector *s)
{
    s->include_all_operators = s->include_all_non_op_selectives = true;
}

static lz_err *select_listed(lzg_selector *s, const char *const *names)
{
    s->include_all_non_op_selectives = true;
    for (; *names; names++) {
        lz_str name = lz_str_of(*names);
        LZ_TRY(lzg_selector_allow(s, &name, 1, true, false));
    }
    return NULL;
}

lz_err *lzg_run_selection(lzg_run *r, const char *path, const char *const *names, const lzg_selector **out)
{
    lzg_selector *s;
    if (names && path)
        return lz_errf(
            LZ_ERR_UNSUPPORTED,
            "operators are selected by a list or by a file (--op-selection-yaml-path), not by both");
    LZ_TRY(lz_arena_new(&r->arena, &s, 1));
    LZ_TRY(lz_vec_push(&r->selectors, s));
    lzg_selector_init(s);
    *out = s;
    if (names)
        return select_listed(s, names);
    if (!path) {
        select_all(s);
        return NULL;
    }
    LZ_TRY(lzg_run_depend(r, path));
    LZ_TRY(lzg_selector_load(s, path, &r->diag));
    return lzg_diag_error(&r->diag);
}

lz_err *lzg_run_keep(lzg_run *r, void *what, void (*destroy)(void *what))
{
    lz_err *e = lz_vec_push(&r->kept, (lzg_kept){ what, destroy });
    if (e)
        destroy(what);
    return e;
}

/* ---- indices ---- */

const lzg_backend_index *lzg_run_index(const lzg_run *r, lzg_dispatch_key key)
{
    static const lzg_backend_index undefined = { .use_out_as_primary = true }; /* key 0 is Undefined */
    const lzg_backend_index *index = lzg_ops_index(&r->ops, key);
    return index ? index : &undefined;
}

const lzg_backend_metadata *lzg_index_kernel_of(const lzg_backend_index *index, const lzg_function *f)
{
    return lz_map_get(&index->index, f->func->name.text);
}

const lzg_function *lzg_index_primary(const lzg_backend_index *index, const lzg_group *g)
{
    return index->use_out_as_primary ? g->out : g->functional;
}

const lzg_backend_metadata *lzg_index_kernel_of_group(const lzg_backend_index *index, const lzg_group *g)
{
    return lzg_index_kernel_of(index, lzg_index_primary(index, g));
}

/* ---- planning ---- */

lz_err *lzg_run_folder(lzg_run *r, const char *folder, lzg_files **out)
{
    LZ_TRY(lz_arena_new(&r->arena, out, 1));
    LZ_TRY(lzg_files_init(*out, folder, r->o.generator, r->dry_run));
    return lz_vec_push(&r->folders, *out);
}

lz_err *lzg_run_list(lzg_run *r, const lzg_files *files, const char *prefix, const char *path)
{
    lz_str folder = lz_file_folder(path), name = lz_str_of(path + folder.len), variable, own;
    size_t dot = lz_str_rfind(name, LZ_STR("."));
    lz_str stem = lz_str_sub(name, 0, dot && dot != SIZE_MAX && dot + 1 < name.len ? dot : name.len);
    LZ_TRY(lz_arena_printf(&r->arena, &variable, "%s%.*s", prefix, LZ_FMT(stem)));
    LZ_TRY(lz_arena_printf(&r->arena, &own, "%.*s%s%.*s", LZ_FMT(folder), prefix, LZ_FMT(name)));
    return lz_vec_push(&r->lists, (lzg_output_list){ files, variable.ptr, own.ptr });
}

lz_err *lzg_run_add(lzg_run *r, uint32_t weight, lzg_job_fn *fn, const void *arg)
{
    lzg_job *j;
    LZ_TRY(lz_arena_new(&r->arena, &j, 1));
    *j = (lzg_job){ .run = r, .fn = fn, .arg = arg, .weight = weight };
    lzg_diag_init(&j->diag);
    return lz_vec_push(&r->jobs, j);
}

/* ---- jobs ---- */

lz_err *lzg_job_take(lzg_job *j, lz_err *e, const lzg_function *f)
{
    return lzg_diag_take(&j->diag, e, f->loc, f->func->text);
}

lz_err *lzg_job_texts(lzg_job *j, lzg_texts **out)
{
    LZ_TRY(lz_arena_new(&j->arena, out, 1));
    return lz_vec_push(&j->texts, *out);
}

lz_err *lzg_job_each(lzg_job *j, const lzg_function *const *f, size_t n, lzg_put_fn *put, const void *user,
                     lzg_texts *out)
{
    for (size_t i = 0; i < n; i++) {
        lz_arena_mark mark = lz_arena_save(&j->scratch);
        LZ_TRY(lzg_job_take(j, put(&j->scratch, user, f[i], &out->text), f[i]));
        lz_arena_rewind(&j->scratch, mark);
        LZ_TRY(lzg_texts_end_if_any(out));
    }
    return NULL;
}

lz_err *lzg_job_template(lzg_job *j, lzg_files *files, const char *name, const char *template_name,
                         const lzg_env *env)
{
    const lzg_template *t = NULL;
    if (!j->run->dry_run)
        LZ_TRY(lzg_run_template(j->run, template_name, &t));
    return lzg_files_add_template(files, name, t, env);
}

lz_err *lzg_job_list(lzg_job *j, const char *list, lzg_put_fn *put, const void *user, lzg_env *env)
{
    lzg_texts *items;
    LZ_TRY(lzg_job_texts(j, &items));
    LZ_TRY(lzg_job_each(j, j->run->ops.functions, j->run->ops.nfunctions, put, user, items));
    return lzg_env_texts(env, list, items);
}

lz_err *lzg_job_sharded(lzg_job *j, lzg_files *files, const char *name, const char *template_name,
                        const lzg_env *base, const lzg_shards *s)
{
    const lzg_template *t = NULL;
    if (!j->run->dry_run)
        LZ_TRY(lzg_run_template(j->run, template_name, &t));
    return lzg_files_add_sharded(files, name, t, base, s);
}

static void job_end(lzg_job *j)
{
    for (size_t i = 0; i < j->texts.len; i++)
        lzg_texts_deinit(j->texts.data[i]);
    lz_vec_deinit(&j->texts);
    lz_arena_deinit(&j->scratch);
    lz_arena_deinit(&j->arena);
}

static lz_err *run_some(void *user, int64_t begin, int64_t end, int worker)
{
    lzg_job *const *jobs = user;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        lz_err *e = jobs[i]->fn(jobs[i], jobs[i]->arg);
        job_end(jobs[i]);
        LZ_TRY(lzg_diag_take(&jobs[i]->diag, e, (lz_loc){ 0 }, LZ_STR("")));
    }
    return NULL;
}

static int by_weight(const void *a, const void *b)
{
    const lzg_job *x = *(lzg_job *const *)a, *y = *(lzg_job *const *)b;
    return (x->weight < y->weight) - (x->weight > y->weight);
}

static lz_err *run_sorted(lzg_run *r, lzg_job **sorted)
{
    memcpy(sorted, r->jobs.data, r->jobs.len * sizeof *sorted);
    qsort(sorted, r->jobs.len, sizeof *sorted, by_weight);
    return lz_pool_for(r->pool, (int64_t)r->jobs.len, 1, run_some, sorted);
}

static lz_err *run_jobs(lzg_run *r)
{
    if (!r->jobs.len)
        return NULL;
    lzg_job **sorted = lz_mem_alloc(r->jobs.len * sizeof *sorted);
    lz_err *e = sorted ? run_sorted(r, sorted) : lz_err_oom();
    lz_mem_free(sorted);
    for (size_t i = 0; !e && i < r->jobs.len; i++)
        e = lzg_diag_merge(&r->diag, &r->jobs.data[i]->diag);
    return e;
}

/* ---- the end ---- */

static lz_err *write_list(const lzg_output_list *l)
{
    lz_text t = { 0 };
    bool written;
    lz_err *e = lzg_files_list_cmake(l->files, l->variable, &t);
    if (!e)
        e = lzg_file_write(l->path, lz_text_view(&t), &written);
    lz_text_deinit(&t);
    return e;
}

static lz_err *record_outputs(lzg_run *r)
{
    for (size_t i = 0; i < r->folders.len; i++) {
        const lzg_files *m = r->folders.data[i];
        for (lz_map_entry *f = lz_map_next(&m->by_name, NULL); f && !m->dry_run;
             f = lz_map_next(&m->by_name, f)) {
            char *path;
            LZ_TRY(lz_path_join(m->folder.ptr, ((const lzg_file *)f->value)->name.ptr, &path));
            lz_err *e = lzg_record_output(r->record, path);
            lz_mem_free(path);
            LZ_TRY(e);
        }
    }
    for (size_t i = 0; i < r->lists.len; i++)
        LZ_TRY(lzg_record_output(r->record, r->lists.data[i].path));
    return NULL;
}

static lz_err *write_files(lzg_run *r, lzg_torch_report *out)
{
    LZ_TRY(lzg_files_write_all((const lzg_files *const *)r->folders.data, r->folders.len, r->pool,
                               &out->written));
    for (size_t i = 0; i < r->lists.len; i++)
        LZ_TRY(write_list(&r->lists.data[i]));
    for (size_t i = 0; i < r->folders.len; i++)
        out->files += lz_map_count(&r->folders.data[i]->by_name);
    if (!r->record)
        return NULL;
    LZ_TRY(record_outputs(r));
    lzg_record_save(r->record);
    return NULL;
}

static lz_err *load(lzg_run *r)
{
    if (!r->o.native)
        return NULL;
    const char *const files[] = { r->o.native, NULL };
    const lzg_ops_options o = { .files = files, .tags = r->o.tags, .ignore_keys = r->o.ignore_keys };
    LZ_TRY(lzg_run_depend(r, r->o.native));
    if (r->o.tags)
        LZ_TRY(lzg_run_depend(r, r->o.tags));
    LZ_TRY(lzg_ops_load(&r->ops, &o, &r->diag));
    return lzg_diag_error(&r->diag);
}

static lz_err *run_all(lzg_run *r, lzg_plan_fn *plan, lzg_torch_report *out)
{
    LZ_TRY(load(r));
    LZ_TRY(plan(r, r->o.options));
    LZ_TRY(lzg_diag_error(&r->diag));
    LZ_TRY(run_jobs(r));
    LZ_TRY(lzg_diag_error(&r->diag));
    return write_files(r, out);
}

static lz_err *open_record(lzg_run *r)
{
    lz_text key = { 0 };
    lzg_options_print(r->o.command, r->o.options, &key);
    lz_err *e = lz_text_check(&key);
    if (!e)
        e = lzg_record_open(lz_text_view(&key), &r->record);
    lz_text_deinit(&key);
    return e;
}

static lz_err *run_if_needed(lzg_run *r, lzg_plan_fn *plan, lzg_torch_report *out)
{
    bool holds = false;
    LZ_TRY(open_record(r));
    LZ_TRY(lz_pool_create(0, &r->pool));
    if (r->record)
        LZ_TRY(lzg_record_holds(r->record, r->pool, &holds, &out->files));
    return holds ? NULL : run_all(r, plan, out);
}

static void run_deinit(lzg_run *r)
{
    for (size_t i = 0; i < r->jobs.len; i++)
        lzg_diag_deinit(&r->jobs.data[i]->diag);
    for (size_t i = 0; i < r->folders.len; i++)
        lzg_files_deinit(r->folders.data[i]);
    for (size_t i = 0; i < r->selectors.len; i++)
        lzg_selector_deinit(r->selectors.data[i]);
    for (size_t i = r->kept.len; i-- > 0;)
        r->kept.data[i].destroy(r->kept.data[i].what);
    lz_vec_deinit(&r->kept);
    lz_vec_deinit(&r->selectors);
    lz_vec_deinit(&r->jobs);
    lz_vec_deinit(&r->folders);
    lz_vec_deinit(&r->lists);
    lz_map_deinit(&r->templates);
    lzg_record_close(r->record);
    lz_pool_destroy(r->pool);
    lzg_diag_deinit(&r->diag);
    lzg_ops_deinit(&r->ops);
    lz_arena_deinit(&r->arena);
    lz_lock_deinit(&r->lock);
}

lz_err *lzg_run_command(const lzg_run_options *o, lzg_plan_fn *plan, lzg_torch_report *out)
{
    lzg_run r = { .o = *o, .dry_run = o->dry_run };
    *out = (lzg_torch_report){ 0 };
    lzg_diag_init(&r.diag);
    lz_err *e = run_if_needed(&r, plan, out);
    run_deinit(&r);
    return e;
}

lz_err *lzg_run_source(const lzg_run_options *o, const char *source, lzg_plan_fn *plan, lzg_torch_report *out)
{
    char *native, *tags = NULL, *templates = NULL;
    lzg_run_options all = *o;
    LZ_TRY(lz_path_join(source, "native/native_functions.yaml", &native));
    lz_err *e = lz_path_join(source, "native/tags.yaml", &tags);
    if (!e)
        e = lz_path_join(source, "templates", &templates);
    all.native = native;
    all.tags = tags;
    all.templates = templates;
    if (!e)
        e = lzg_run_command(&all, plan, out);
    lz_mem_free(native);
    lz_mem_free(tags);
    lz_mem_free(templates);
    return e;
}
