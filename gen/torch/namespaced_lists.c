#include "gen/torch/namespaced_lists.h"
#include "gen/emit/c_text.h"
#include "gen/text/utils.h"

typedef struct declaration {
    lz_str text;
} declaration;

void lzg_namespaced_lists_deinit(lzg_namespaced_lists *l)
{
    for (lz_map_entry *e = lz_map_next(&l->lists, NULL); e; e = lz_map_next(&l->lists, e))
        lz_map_deinit(e->value);
    lz_map_deinit(&l->lists);
}

static lz_err *list_of(lzg_namespaced_lists *l, lz_str ns, lz_map **out)
{
    *out = lz_map_get(&l->lists, ns);
    if (*out)
        return NULL;
    LZ_TRY(lz_arena_new(l->arena, out, 1));
    return lz_map_put(&l->lists, ns, *out);
}

lz_err *lzg_namespaced_lists_open(lzg_namespaced_lists *l, lz_str ns)
{
    lz_map *list;
    return list_of(l, ns, &list);
}

lz_err *lzg_namespaced_lists_add(lzg_namespaced_lists *l, lz_str ns, lz_str key, lz_str text, lz_str **out)
{
    lz_map *list;
    LZ_TRY(list_of(l, ns, &list));
    declaration *d = lz_map_get(list, key);
    if (!d) {
        lz_str own;
        LZ_TRY(lz_arena_new(l->arena, &d, 1));
        LZ_TRY(lz_arena_copy(l->arena, text, &d->text));
        LZ_TRY(lz_arena_copy(l->arena, key, &own));
        LZ_TRY(lz_map_put(list, own, d));
    }
    *out = &d->text;
    return NULL;
}

/* Ends an item at each line end since `from`, which is cut, and at the end. */
static lz_err *end_lines(lzg_texts *t, size_t from)
{
    lz_text *text = &t->text;
    size_t to = from;
    LZ_TRY(lz_text_check(text));
    for (size_t i = from; i < text->len; i++) {
        if (text->ptr[i] != '\n')
            text->ptr[to++] = text->ptr[i];
        else
            LZ_TRY(lz_vec_push(&t->ends, to));
    }
    text->len = to;
    return lzg_texts_end(t);
}

static lz_err *print_list(lz_str ns, const lz_map *list, size_t levels, lzg_texts *out)
{
    size_t from = out->text.len;
    LZ_TRY(lzg_namespace_check(ns, levels, (lz_loc){ 0 }));
    lzg_put(&out->text, "\n");
    lzg_namespace_open(&out->text, ns);
    for (lz_map_entry *e = lz_map_next(list, NULL); e; e = lz_map_next(list, e))
        lzg_fill(&out->text, "\n$", ((const declaration *)e->value)->text);
    lz_text_puts(&out->text, lz_map_count(list) ? "\n" : "\n\n");
    lzg_namespace_close(&out->text, ns);
    lzg_put(&out->text, "\n        ");
    return end_lines(out, from);
}

lz_err *lzg_namespaced_lists_print(const lzg_namespaced_lists *l, size_t levels, bool empty, lzg_texts *out)
{
    for (lz_map_entry *e = lz_map_next(&l->lists, NULL); e; e = lz_map_next(&l->lists, e))
        if (empty || lz_map_count(e->value))
            LZ_TRY(print_list(e->key, e->value, levels, out));
    return NULL;
}
