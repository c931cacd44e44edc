/* The files of Python bindings: python_*_functions, python_variable_methods, python_return_types,
 * python_enum_tag. */
#include "gen/torch/autograd/gen_autograd.h"
#include "gen/torch/autograd/python_bindings.h"
#include <stdlib.h>

enum { TORCH_SHARDS = 3 };

static const struct {
    lzg_py_module module;
    const char *file;
} files[] = {
    { LZG_PY_TENSOR, "python_variable_methods.cpp" },   { LZG_PY_NN, "python_nn_functions.cpp" },
    { LZG_PY_FFT, "python_fft_functions.cpp" },         { LZG_PY_LINALG, "python_linalg_functions.cpp" },
    { LZG_PY_NESTED, "python_nested_functions.cpp" },   { LZG_PY_SPARSE, "python_sparse_functions.cpp" },
    { LZG_PY_SPECIAL, "python_special_functions.cpp" },
};

/* ---- bindings ---- */

/* The lists of every such file, in the order of a file's shards. */
enum { HEADERS, FORWARDS, METHODS, ROWS, LISTS };
static const char *const lists[LISTS] = { "ops_headers", "py_forwards", "py_methods", "py_method_defs" };

static lz_err *add_binding(lzg_job *j, lzg_snippets *pieces, const lzg_py_name *name, lzg_shards *out)
{
    lzg_binding_text t;
    const lzg_op_name *op = &name->functions[0]->func->name;
    LZ_TRY(lzg_python_binding_print(pieces, &j->run->ops, name, &t));
    lz_str header = lzg_phrase(pieces, "#include <ATen/ops/$.h>", op->base);
    const lz_str texts[LISTS] = { header, t.forward, t.method, t.row };
    lzg_shards_item(out, op->base);
    for (size_t i = 0; i < LISTS; i++) {
        lz_text_add(lzg_shards_text(out, i), texts[i]);
        LZ_TRY(lzg_shards_end(out, i));
    }
    return lzg_snippets_check(pieces);
}

/* The names of a module, sorted by bytes, or as they occur first. */
static int by_place(const void *a, const void *b)
{
    const lzg_py_name *x = *(const lzg_py_name *const *)a, *y = *(const lzg_py_name *const *)b;
    return (x->place > y->place) - (x->place < y->place);
}

static lz_err *names_of(const lzg_python *p, lz_arena *a, lzg_py_module module, bool as_found,
                        const lzg_py_name ***out, size_t *n)
{
    *n = 0;
    LZ_TRY(lz_arena_new(a, out, p->nnames));
    for (size_t i = 0; i < p->nnames; i++)
        if (p->names[i].module == module)
            (*out)[(*n)++] = &p->names[i];
    if (as_found && *n)
        qsort(*out, *n, sizeof **out, by_place);
    return NULL;
}

static lz_err *add_bindings(lzg_job *j, const lzg_python *p, lzg_py_module module, lzg_shards *out)
{
    const lzg_py_name **names;
    size_t n;
    lzg_snippets pieces;
    LZ_TRY(names_of(p, &j->arena, module, module == LZG_PY_TORCH, &names, &n));
    lzg_snippets_init(&pieces, &j->scratch);
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < n; i++) {
        lz_arena_mark mark = lz_arena_save(&j->scratch);
        e = lzg_job_take(j, add_binding(j, &pieces, names[i], out), names[i]->functions[0]);
        lz_arena_rewind(&j->scratch, mark);
    }
    lzg_snippets_deinit(&pieces);
    return e;
}

static lz_err *begin_shards(lzg_shards *out, uint32_t count)
{
    LZ_TRY(lzg_shards_begin(out, count, NULL));
    for (size_t i = 0; i < LISTS; i++)
        LZ_TRY(lzg_shards_list(out, lists[i]));
    return NULL;
}

static lz_err *torch_functions(lzg_job *j, const lzg_autograd_settings *s, const lzg_python *p)
{
    static const char name[] = "python_torch_functions.cpp";
    lzg_shards shards;
    lzg_env env;
    lz_err *e = lzg_autograd_env(j, &env, name);
    e = lz_err_first(e, begin_shards(&shards, TORCH_SHARDS));
    if (!e)
        e = add_bindings(j, p, LZG_PY_TORCH, &shards);
    if (!e)
        e = lzg_job_sharded(j, s->files, name, name, &env, &shards);
    lzg_shards_deinit(&shards);
    lzg_env_deinit(&env);
    return e;
}

/* All items in one file that has no number. */
static lz_err *module_functions(lzg_job *j, const lzg_autograd_settings *s, const lzg_python *p, size_t file)
{
    const char *name = files[file].file;
    lzg_shards shards;
    lzg_env env;
    lz_err *e = lzg_autograd_env(j, &env, name);
    e = lz_err_first(e, begin_shards(&shards, 1));
    if (!e)
        e = add_bindings(j, p, files[file].module, &shards);
    for (size_t i = 0; !e && i < LISTS; i++)
        e = lzg_env_texts(&env, lists[i], &shards.lists.data[i].texts);
    if (!e)
        e = lzg_job_template(j, s->files, name, name, &env);
    lzg_shards_deinit(&shards);
    lzg_env_deinit(&env);
    return e;
}

/* ---- python_return_types ---- */

typedef struct return_lists {
    lzg_texts *definitions, *registrations, *declarations;
} return_lists;

static int by_name(const void *a, const void *b)
{
    return lz_str_cmp((*(const lz_map_entry *const *)a)->key, (*(const lz_map_entry *const *)b)->key);
}

static lz_err *add_text(lzg_texts *to, lz_str text)
{
    lz_text_add(&to->text, text);
    return lzg_texts_end(to);
}

static lz_err *add_return_types(lzg_job *j, const lzg_py_group *group, const return_lists *to)
{
    lzg_snippets pieces;
    lzg_return_types t;
    lzg_snippets_init(&pieces, &j->scratch);
    lz_err *e = lzg_python_return_types(&pieces, group, &t);
    if (!e)
        e = add_text(to->definitions, t.definitions);
    if (!e)
        e = add_text(to->registrations, t.registrations);
    if (!e)
        e = add_text(to->declarations, t.declarations);
    lzg_snippets_deinit(&pieces);
    return lzg_job_take(j, e, group->functions[0]);
}

static lz_err *fill_return_lists(lzg_job *j, const lz_map *groups, const return_lists *to)
{
    const lz_map_entry **sorted;
    size_t n = 0;
    LZ_TRY(lz_arena_new(&j->arena, &sorted, lz_map_count(groups)));
    for (const lz_map_entry *g = lz_map_next(groups, NULL); g; g = lz_map_next(groups, g))
        sorted[n++] = g;
    if (n)
        qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 0; i < n; i++)
        LZ_TRY(add_return_types(j, sorted[i]->value, to));
    return NULL;
}

static lz_err *return_types_file(lzg_job *j, const lzg_autograd_settings *s, const char *name,
                                 const return_lists *from)
{
    lzg_env env;
    lz_err *e = lzg_autograd_env(j, &env, name);
    if (!e && from->definitions)
        e = lzg_env_texts(&env, "py_return_types", from->definitions);
    if (!e && from->registrations)
        e = lzg_env_texts(&env, "py_return_types_registrations", from->registrations);
    if (!e && from->declarations)
        e = lzg_env_texts(&env, "py_return_types_declarations", from->declarations);
    if (!e)
        e = lzg_job_template(j, s->files, name, name, &env);
    lzg_env_deinit(&env);
    return e;
}

static lz_err *return_types(lzg_job *j, const lzg_autograd_settings *s, const lzg_python *p)
{
    return_lists all;
    lz_map groups = { 0 };
    LZ_TRY(lzg_job_texts(j, &all.definitions));
    LZ_TRY(lzg_job_texts(j, &all.registrations));
    LZ_TRY(lzg_job_texts(j, &all.declarations));
    lz_err *e = lzg_python_group(p, &j->arena, LZG_PY_MODULE_COUNT, &groups);
    if (!e)
        e = fill_return_lists(j, &groups, &all);
    lz_map_deinit(&groups);
    LZ_TRY(e);
    const return_lists source = { all.definitions, all.registrations, NULL };
    const return_lists header = { NULL, NULL, all.declarations };
    LZ_TRY(return_types_file(j, s, "python_return_types.cpp", &source));
    return return_types_file(j, s, "python_return_types.h", &header);
}

/* ---- python_enum_tag ---- */

static int by_bytes(const void *a, const void *b)
{
    return lz_str_cmp(*(const lz_str *)a, *(const lz_str *)b);
}

static lz_err *put_tags(lzg_job *j, lz_text *out)
{
    const lz_map *tags = &j->run->ops.tags;
    lz_str *names;
    size_t n = 0;
    LZ_TRY(lz_arena_new(&j->arena, &names, lz_map_count(tags)));
    for (const lz_map_entry *e = lz_map_next(tags, NULL); e; e = lz_map_next(tags, e))
        names[n++] = e->key;
    if (n)
        qsort(names, n, sizeof *names, by_bytes);
    for (size_t i = 0; i < n; i++)
        lzg_fill(out, "\n.value(\"$\", at::Tag::$)", names[i], names[i]);
    return lz_text_check(out);
}

static lz_err *enum_tag(lzg_job *j, const void *arg)
{
    const lzg_autograd_settings *s = arg;
    lzg_texts *tags;
    lzg_env env;
    LZ_TRY(lzg_job_texts(j, &tags));
    LZ_TRY(put_tags(j, &tags->text));
    lzg_env_init(&env, &j->arena);
    lz_err *e = lzg_env_text(&env, "enum_of_valid_tags", lz_text_view(&tags->text));
    if (!e)
        e = lzg_job_template(j, s->files, "python_enum_tag.cpp", "python_enum_tag.cpp", &env);
    lzg_env_deinit(&env);
    return e;
}

/* ---- all of them ---- */

static lz_err *load_python(lzg_job *j, const lzg_autograd_settings *s, lzg_python *p)
{
    const lzg_yaml *deprecated;
    lz_str path;
    bool slash = lz_str_ends(lz_str_of(s->o->derivatives), LZ_STR("/"));
    LZ_TRY(lz_arena_printf(&j->arena, &path, "%s%sdeprecated.yaml", s->o->derivatives, slash ? "" : "/"));
    LZ_TRY(lzg_run_yaml(j->run, &j->arena, path.ptr, &deprecated));
    LZ_TRY(lzg_python_load(p, deprecated, &j->diag));
    return lzg_python_check(p, &j->diag);
}

static lz_err *bindings(lzg_job *j, const void *arg)
{
    const lzg_autograd_settings *s = arg;
    lzg_python p;
    lz_err *e = lzg_python_init(&p, &j->run->ops);
    if (!e)
        e = load_python(j, s, &p);
    if (!e && lzg_diag_any(&j->diag)) {
        lzg_python_deinit(&p);
        return NULL;
    }
    if (!e)
        e = torch_functions(j, s, &p);
    for (size_t i = 0; !e && i < sizeof files / sizeof *files; i++)
        e = module_functions(j, s, &p, i);
    if (!e)
        e = return_types(j, s, &p);
    lzg_python_deinit(&p);
    return e;
}

lz_err *lzg_plan_python_bindings(const lzg_autograd_settings *s)
{
    LZ_TRY(lzg_run_add(s->run, 1, enum_tag, s));
    return lzg_run_add(s->run, 100, bindings, s);
}
