#include "gen/text/lists.h"
#include "base/file.h"
#include "base/mem.h"
#include <stdlib.h>

enum { LARGEST = 64 << 20 };

/* The default lists; LZG_LISTS_JSON is the file's path at build time. */
__asm__(".pushsection .rodata\n"
        ".hidden lzg_lists_begin\n"
        ".hidden lzg_lists_size\n"
        ".global lzg_lists_begin\n"
        ".global lzg_lists_size\n"
        "lzg_lists_begin:\n"
        ".incbin \"" LZG_LISTS_JSON "\"\n"
        "lzg_lists_end:\n"
        ".balign 8\n"
        "lzg_lists_size: .quad lzg_lists_end - lzg_lists_begin\n"
        ".popsection\n");
extern const char lzg_lists_begin[];
extern const uint64_t lzg_lists_size;

static int by_bytes(const void *a, const void *b)
{
    return lz_str_cmp(*(const lz_str *)a, *(const lz_str *)b);
}

static lz_err *index_list(lz_arena *a, const lz_json_member *m, lzg_name_list *out)
{
    const lz_json *v = &m->value;
    lz_str *names;
    if (v->kind != LZ_JSON_ARRAY && v->kind != LZ_JSON_OBJECT)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "'%.*s' is %s, not a list of names", LZ_FMT(m->key),
                         lz_json_kind_name(v->kind));
    LZ_TRY(lz_arena_new(a, &names, v->len));
    for (uint32_t i = 0; i < v->len; i++) {
        if (v->kind == LZ_JSON_OBJECT)
            names[i] = v->members[i].key;
        else
            LZ_TRY(lz_json_as_str(&v->items[i], "a name", &names[i]));
    }
    if (v->len)
        qsort(names, v->len, sizeof *names, by_bytes);
    *out = (lzg_name_list){ names, v->len };
    return NULL;
}

static lz_err *index_all(lz_arena *a, const lz_json *root, const lzg_lists **out)
{
    lzg_lists *l;
    lzg_name_list *lists;
    if (root->kind != LZ_JSON_OBJECT)
        return lz_err_at(LZ_ERR_MODEL, root->loc, "the name lists are %s, not an object",
                         lz_json_kind_name(root->kind));
    LZ_TRY(lz_arena_new(a, &l, 1));
    LZ_TRY(lz_arena_new(a, &lists, root->len));
    for (uint32_t i = 0; i < root->len; i++)
        LZ_TRY(index_list(a, &root->members[i], &lists[i]));
    *l = (lzg_lists){ root, lists };
    *out = l;
    return NULL;
}

static lz_err *parse(lz_arena *a, const char *path, lz_str text, const lzg_lists **out)
{
    const lz_json *root;
    LZ_TRY(lz_json_parse(a, path, text, &root));
    return index_all(a, root, out);
}

lz_err *lzg_lists_load(lz_arena *a, const char *path, const lzg_lists **out)
{
    char *text;
    size_t len;
    if (!path)
        return parse(a, "lists.json", (lz_str){ lzg_lists_begin, lzg_lists_size }, out);
    LZ_TRY(lz_file_read(path, LARGEST, &len, &text));
    lz_err *e = parse(a, path, (lz_str){ text, len }, out);
    lz_mem_free(text);
    return e;
}

const lz_json *lzg_lists_get(const lzg_lists *l, const char *list)
{
    return lz_json_get(l->root, list);
}

lz_str lzg_lists_text(const lzg_lists *l, const char *list, lz_str name)
{
    const lz_json *texts = lzg_lists_get(l, list);
    for (uint32_t i = 0; texts && texts->kind == LZ_JSON_OBJECT && i < texts->len; i++)
        if (lz_str_eq(texts->members[i].key, name) && texts->members[i].value.kind == LZ_JSON_STRING)
            return texts->members[i].value.str;
    return (lz_str){ 0 };
}

bool lzg_lists_has(const lzg_lists *l, const char *list, lz_str name)
{
    const lz_json *v = lz_json_get(l->root, list);
    if (!v)
        return false;
    const lz_json_member *m = (const lz_json_member *)((const char *)v - offsetof(lz_json_member, value));
    const lzg_name_list *n = &l->lists[m - l->root->members];
    return n->n && bsearch(&name, n->names, n->n, sizeof *n->names, by_bytes);
}

lz_err *lzg_lists_patterns(const lzg_lists *l, lz_arena *a, const char *list, lzg_pattern_list *out)
{
    const lz_json *v = lz_json_get(l->root, list);
    const lzg_pattern **patterns;
    *out = (lzg_pattern_list){ 0 };
    if (!v)
        return NULL;
    LZ_TRY(lz_json_as_array(v, list, &v));
    LZ_TRY(lz_arena_new(a, &patterns, v->len));
    for (uint32_t i = 0; i < v->len; i++)
        LZ_TRY(lzg_pattern_compile(a, v->items[i].str, v->items[i].loc, &patterns[i]));
    *out = (lzg_pattern_list){ patterns, v->len };
    return NULL;
}

bool lzg_pattern_list_match(const lzg_pattern_list *l, lz_str name)
{
    for (size_t i = 0; i < l->n; i++)
        if (lzg_pattern_match(l->patterns[i], name))
            return true;
    return false;
}
