#include "gen/emit/emit.h"
#include "base/dir.h"
#include "base/file.h"
#include "base/mem.h"
#include "gen/emit/c_text.h"

const lzg_target lzg_targets[] = {
    { "tables", "numbers, schemas and names of all operators: op/op_table.{h,c}", false, lzg_emit_tables,
      lzg_why_tables },
    { "api", "C functions and keyword macros: include/lazuli/ops.h, api/ops_defaults.c", false, lzg_emit_api,
      lzg_why_api },
    { "short", "one name for several overloads: include/lazuli/short_ops.h, api/short_ops.c", false,
      lzg_emit_short, lzg_why_short },
    { "boxed", "calls by number with arrays of values: api/boxed_table.{h,c}, api/boxed_N.c", false,
      lzg_emit_boxed, lzg_why_boxed },
    { "dispatch", "kernels by dispatch key: op/dispatch_table.{h,c}", false, lzg_emit_dispatch,
      lzg_why_dispatch },
    { "lower", "what operators are made of: lower/lower_table.{h,c}, lower/lower_FILE.c", false,
      lzg_emit_lower, lzg_why_lower },
    { "autograd", "backward and forward formulas: autograd/grad_table.{h,c}, autograd/grad_FILE.c", false,
      lzg_emit_autograd, lzg_why_autograd },
    { "lazy", "recording: lazy/ops_N.c; of a backend lazy/lazy_table.{h,c}, lazy/nodes.h, lazy/nodes_N.c",
      false, lzg_emit_lazy, lzg_why_lazy },
    { "functionalization", "what views and writes become: op/functional_table.{h,c}", false,
      lzg_emit_functionalization, lzg_why_functionalization },
    { "backend-stubs", "a backend to fill in: stubs/NAME_{ops.h,ops.c,stubs.c,backend.c}", true,
      lzg_emit_backend_stubs, lzg_why_backend_stubs },
    { 0 },
};

lz_err *lzg_emit_init(lzg_emit *e, const lzg_c_ops *c, const char *folder, uint32_t shards)
{
    *e = (lzg_emit){ .c = c, .shards = shards };
    LZ_TRY(lzg_files_init(&e->all, folder, "lazuli-gen", true));
    return lzg_files_init(&e->fresh, folder, "lazuli-gen", false);
}

void lzg_emit_deinit(lzg_emit *e)
{
    lzg_files_deinit(&e->all);
    lzg_files_deinit(&e->fresh);
    lz_text_deinit(&e->text);
    lz_file_map_close(&e->old);
    *e = (lzg_emit){ 0 };
}

const lzg_target *lzg_target_find(lz_str name)
{
    for (const lzg_target *t = lzg_targets; t->name; t++)
        if (lz_str_is(name, t->name))
            return t;
    return NULL;
}

static lz_err *unknown(lz_str name)
{
    lz_text known = { 0 };
    for (const lzg_target *t = lzg_targets; t->name; t++)
        lz_text_printf(&known, "%s%s", t == lzg_targets ? "" : ", ", t->name);
    lz_err *e = lz_text_check(&known);
    if (!e)
        e = lz_errf(LZ_ERR_ARG, "no target '%.*s'; there are %.*s", LZ_FMT(name),
                    LZ_FMT(lz_text_view(&known)));
    lz_text_deinit(&known);
    return e;
}

/* The next name of a list, and its row; "all" gives every row in turn. */
typedef struct walk {
    lz_str rest;
    const lzg_target *row;
    bool all, more, backend;
} walk;

static walk walk_begin(lz_str names, bool backend)
{
    return (walk){
        .rest = names, .row = lzg_targets, .all = lz_str_is(names, "all"), .more = true, .backend = backend
    };
}

static lz_err *walk_next(walk *w, const lzg_target **out)
{
    *out = NULL;
    while (w->all && w->row->backend && !w->backend)
        w->row++;
    if (w->all) {
        *out = w->row->name ? w->row++ : NULL;
        return NULL;
    }
    if (!w->more)
        return NULL;
    lz_str name = lz_str_trim(lz_str_cut(&w->rest, LZ_STR(","), &w->more));
    *out = lzg_target_find(name);
    if (*out && (*out)->backend && !w->backend)
        return lz_errf(LZ_ERR_ARG, "target '%.*s' needs a backend file: --backend FILE", LZ_FMT(name));
    return *out ? NULL : unknown(name);
}

lz_err *lzg_targets_check(lz_str names, bool backend)
{
    const lzg_target *t = lzg_targets;
    for (walk w = walk_begin(names, backend); t;)
        LZ_TRY(walk_next(&w, &t));
    return NULL;
}

lz_err *lzg_emit_targets(lzg_emit *e, lz_str names)
{
    const lzg_target *t = lzg_targets;
    for (walk w = walk_begin(names, e->backend != NULL); t;) {
        LZ_TRY(walk_next(&w, &t));
        if (t)
            LZ_TRY(t->emit(e));
    }
    return NULL;
}

static lz_err *fill_copy(lz_arena *a, const char *pattern, lz_str ident, lz_str *out)
{
    lz_text t = { 0 };
    lzg_fill_with(&t, lz_str_of(pattern), &ident, 1);
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

lz_err *lzg_use_add(lz_arena *a, lzg_uses *out, const char *file, const char *symbol, const char *line,
                    lz_str ident)
{
    lzg_use use;
    LZ_TRY(lz_arena_copy(a, lz_str_of(file), &use.file));
    LZ_TRY(fill_copy(a, symbol, ident, &use.symbol));
    LZ_TRY(fill_copy(a, line, ident, &use.line));
    return lz_vec_push(out, use);
}

/* ---- files ---- */

enum { BUFFER = 1 << 16 };

/* An unreadable file is left to lzg_files_write, which reports the error. */
static lz_err *open_old(lzg_emit *e, const char *name)
{
    char *path;
    LZ_TRY(lz_path_join(e->all.folder.ptr, name, &path));
    lz_err *err = lz_file_map_open(path, &e->old);
    lz_mem_free(path);
    e->differs = err != NULL;
    if (lz_err_code(err) == LZ_ERR_MEMORY)
        return err;
    lz_err_free(err);
    return NULL;
}

lz_err *lzg_emit_begin(lzg_emit *e, const char *name, lz_text **out)
{
    lz_text_clear(&e->text);
    lz_file_map_close(&e->old);
    e->name = name;
    e->same = 0;
    e->differs = true;
    *out = &e->text;
    return e->keep ? NULL : open_old(e, name);
}

/* Whether text equals the next bytes on disk; if so, they are skipped. */
static bool found(lzg_emit *e, lz_str text)
{
    bool ok = !e->differs && text.len <= e->old.len - e->same
              && (!text.len || memcmp((const char *)e->old.data + e->same, text.ptr, text.len) == 0);
    e->same += ok ? text.len : 0;
    return ok;
}

/* From here on the whole file is kept, also the bytes that were dropped. */
static void differ(lzg_emit *e)
{
    lz_text all = { 0 };
    if (e->differs)
        return;
    lz_text_add(&all, (lz_str){ e->old.data, e->same });
    lz_text_add(&all, lz_text_view(&e->text));
    all.failed = all.failed || e->text.failed;
    lz_text_deinit(&e->text);
    e->text = all;
    e->differs = true;
}

static void drop(lzg_emit *e)
{
    if (e->differs || e->text.failed)
        return;
    if (found(e, lz_text_view(&e->text)))
        lz_text_clear(&e->text);
    else
        differ(e);
}

void lzg_emit_flush(lzg_emit *e)
{
    if (e->text.len >= BUFFER)
        drop(e);
}

void lzg_emit_each(lzg_emit *e, void (*put)(lz_text *out, const lzg_c_op *op))
{
    for (size_t i = 0; i < e->c->n; i++) {
        put(&e->text, &e->c->all[i]);
        lzg_emit_flush(e);
    }
}

void lzg_emit_add(lzg_emit *e, lz_str text)
{
    drop(e);
    if (found(e, text))
        return;
    differ(e);
    lz_text_add(&e->text, text);
}

lz_err *lzg_emit_end(lzg_emit *e)
{
    drop(e);
    if (!e->differs && e->same < e->old.len)
        differ(e);
    lz_err *err = lz_text_check(&e->text);
    if (!err)
        err = lzg_files_add(&e->all, e->name, LZ_STR(""));
    if (!err && e->differs)
        err = lzg_files_add(&e->fresh, e->name, lz_text_view(&e->text));
    lz_file_map_close(&e->old);
    return err;
}
