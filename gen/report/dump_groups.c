/* Groups of operators (functional, in-place, out) as JSON. */
#include "gen/report/dump_model.h"
#include <stdlib.h>

static void put_member(lz_json_writer *w, const char *key, const lzg_function *f)
{
    lz_json_member_optional_str(w, key, f ? f->func->name.text : (lz_str){ 0 });
}

static lz_err *dump_group(const lzg_group *g, lz_text *out)
{
    lz_json_writer w;
    lz_json_writer_init(&w, out, LZ_JSON_COMPACT);
    lz_json_begin_object(&w);
    put_member(&w, "functional", g->functional);
    put_member(&w, "inplace", g->inplace);
    put_member(&w, "mutable", g->mutable);
    put_member(&w, "out", g->out);
    lz_json_member_bool(&w, "structured", g->structured);
    lz_json_member_cstr(&w, "type", "group");
    lz_json_end_object(&w);
    lz_text_putc(out, '\n');
    return lz_json_finish(&w);
}

static lz_err *dump_view_group(const lzg_view_group *g, lz_text *out)
{
    lz_json_writer w;
    lz_json_writer_init(&w, out, LZ_JSON_COMPACT);
    lz_json_begin_object(&w);
    lz_json_member_bool(&w, "composite", g->composite);
    lz_json_member_cstr(&w, "type", "view");
    put_member(&w, "view", g->view);
    put_member(&w, "view_copy", g->view_copy);
    put_member(&w, "view_inplace", g->view_inplace);
    lz_json_end_object(&w);
    lz_text_putc(out, '\n');
    return lz_json_finish(&w);
}

static int by_functional(const void *a, const void *b)
{
    const lzg_group *const *x = a, *const *y = b;
    return lz_str_cmp((*x)->functional->func->name.text, (*y)->functional->func->name.text);
}

static int by_view(const void *a, const void *b)
{
    const lzg_view_group *const *x = a, *const *y = b;
    return lz_str_cmp((*x)->view->func->name.text, (*y)->view->func->name.text);
}

static lz_err *dump_groups(const lzg_ops *ops, lz_arena *a, lz_text *out)
{
    const lzg_group **groups;
    const lzg_view_group **views;
    LZ_TRY(lz_arena_new(a, &groups, ops->ngroups));
    LZ_TRY(lz_arena_new(a, &views, ops->nview_groups));
    for (size_t i = 0; i < ops->ngroups; i++)
        groups[i] = &ops->groups[i];
    for (size_t i = 0; i < ops->nview_groups; i++)
        views[i] = &ops->view_groups[i];
    qsort(groups, ops->ngroups, sizeof *groups, by_functional);
    qsort(views, ops->nview_groups, sizeof *views, by_view);
    for (size_t i = 0; i < ops->ngroups; i++)
        LZ_TRY(dump_group(groups[i], out));
    for (size_t i = 0; i < ops->nview_groups; i++)
        LZ_TRY(dump_view_group(views[i], out));
    return NULL;
}

lz_err *lzg_dump_groups(const lzg_ops *ops, lz_text *out)
{
    lz_arena a = { 0 };
    lz_err *e = dump_groups(ops, &a, out);
    lz_arena_deinit(&a);
    return e;
}
