#include "gen/text/yaml_utils.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "gen/text/yaml_scalar.h"
#include <stdlib.h>
#include <yaml.h>

/* How much a subtree weighs once its aliases are expanded. */
typedef struct extent {
    size_t nodes, height;
} extent;

typedef struct anchor {
    const lzg_yaml *node;
    extent extent;
    bool open; /* its node is still being read: an alias would make a cycle */
} anchor;

typedef struct frame {
    lzg_yaml *node;
    anchor *anchor;
    size_t first; /* of its items among the pending ones */
    extent extent;
} frame;

typedef struct builder {
    lz_arena *arena;
    const char *file;
    yaml_parser_t parser;
    yaml_event_t event;
    LZ_VEC(frame) stack;
    LZ_VEC(const lzg_yaml *) pending; /* finished nodes whose parents are not */
    lz_map anchors;
    const lzg_yaml *root;
    bool documents, done;
} builder;

static lz_loc loc_of(const builder *b, yaml_mark_t mark)
{
    return (lz_loc){ b->file, (int32_t)mark.line + 1, (int32_t)mark.column + 1 };
}

/* ---- errors of libyaml ---- */

/* A reader error knows only the byte. */
static lz_loc loc_of_byte(const builder *b, lz_str text, size_t offset)
{
    lz_loc loc = { b->file, 1, 1 };
    for (size_t i = 0; i < offset && i < text.len; i++) {
        bool newline = text.ptr[i] == '\n', continues = ((unsigned char)text.ptr[i] & 0xc0) == 0x80;
        loc.line += newline;
        loc.col = newline ? 1 : loc.col + !continues;
    }
    return loc;
}

static lz_err *parser_error(const builder *b, lz_str text)
{
    const yaml_parser_t *p = &b->parser;
    const char *problem = p->problem ? p->problem : "malformed";
    if (p->error == YAML_MEMORY_ERROR)
        return lz_err_oom();
    if (p->error == YAML_READER_ERROR)
        return lz_err_at(LZ_ERR_SYNTAX, loc_of_byte(b, text, p->problem_offset), "%s", problem);
    lz_loc loc = loc_of(b, p->problem_mark);
    if (p->context)
        return lz_err_at(LZ_ERR_SYNTAX, loc, "%s: %s", p->context, problem);
    return lz_err_at(LZ_ERR_SYNTAX, loc, "%s", problem);
}

/* ---- nodes ---- */

static lz_err *new_node(builder *b, lzg_yaml_kind kind, lzg_yaml **out)
{
    LZ_TRY(lz_arena_new(b->arena, out, 1));
    (*out)->kind = kind;
    (*out)->loc = loc_of(b, b->event.start_mark);
    return NULL;
}

static lz_err *too_large(lz_loc loc, extent e, size_t depth)
{
    if (depth + e.height > LZG_YAML_DEPTH)
        return lz_err_at(LZ_ERR_LIMIT, loc, "nested more than %d deep", LZG_YAML_DEPTH);
    if (e.nodes > LZG_YAML_NODES)
        return lz_err_at(LZ_ERR_LIMIT, loc, "more than %d nodes", LZG_YAML_NODES);
    return NULL;
}

/* A finished node is added to its parent, or becomes the root. */
static lz_err *add_node(builder *b, const lzg_yaml *node, extent e, lz_loc loc)
{
    if (!b->stack.len) {
        b->root = node;
        return NULL;
    }
    frame *parent = &b->stack.data[b->stack.len - 1];
    parent->extent.nodes += e.nodes;
    if (parent->extent.height < e.height + 1)
        parent->extent.height = e.height + 1;
    LZ_TRY(too_large(loc, parent->extent, b->stack.len - 1));
    return lz_vec_push(&b->pending, node);
}

static lz_err *new_anchor(builder *b, const yaml_char_t *name, const lzg_yaml *node, anchor **out)
{
    lz_str key;
    if (!name)
        return NULL;
    if (lz_map_find(&b->anchors, lz_str_of((const char *)name)))
        return lz_err_at(LZ_ERR_SYNTAX, node->loc, "a second anchor '%s'", (const char *)name);
    LZ_TRY(lz_arena_copy(b->arena, lz_str_of((const char *)name), &key));
    LZ_TRY(lz_arena_new(b->arena, out, 1));
    **out = (anchor){ .node = node, .extent = { .nodes = 1 } };
    return lz_map_put(&b->anchors, key, *out);
}

/* ---- scalars ---- */

static size_t characters(lz_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    return n;
}

/* Text and source agree character by character if they have equally many. */
static bool stands_as_written(const yaml_event_t *event, lz_str text, bool quoted)
{
    size_t from = event->start_mark.column, to = event->end_mark.column;
    return event->start_mark.line == event->end_mark.line && to - from == characters(text) + (quoted ? 2 : 0);
}

static lz_err *resolve(const yaml_event_t *event, lzg_yaml *node)
{
    if (event->data.scalar.plain_implicit)
        return lzg_yaml_resolve_plain(node);
    if (event->data.scalar.tag)
        return lzg_yaml_resolve_tagged(node, (const char *)event->data.scalar.tag);
    node->kind = LZG_YAML_STR;
    return NULL;
}

static lz_err *on_scalar(builder *b)
{
    const yaml_event_t *event = &b->event;
    lz_str text = { (const char *)event->data.scalar.value, event->data.scalar.length };
    yaml_scalar_style_t style = event->data.scalar.style;
    anchor *named = NULL;
    lzg_yaml *node;
    LZ_TRY(new_node(b, LZG_YAML_STR, &node));
    LZ_TRY(lz_arena_copy(b->arena, text, &node->text));
    node->quoted = style == YAML_SINGLE_QUOTED_SCALAR_STYLE || style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    node->one_line = stands_as_written(event, text, node->quoted);
    LZ_TRY(resolve(event, node));
    LZ_TRY(new_anchor(b, event->data.scalar.anchor, node, &named));
    return add_node(b, node, (extent){ .nodes = 1 }, node->loc);
}

static lz_err *on_alias(builder *b)
{
    const char *name = (const char *)b->event.data.alias.anchor;
    const anchor *target = lz_map_get(&b->anchors, lz_str_of(name));
    lz_loc loc = loc_of(b, b->event.start_mark);
    if (!target)
        return lz_err_at(LZ_ERR_SYNTAX, loc, "there is no anchor '%s' before", name);
    if (target->open)
        return lz_err_at(LZ_ERR_SYNTAX, loc, "alias '%s' lies inside the node of its own anchor", name);
    return add_node(b, target->node, target->extent, loc);
}

/* ---- collections ---- */

static lz_err *open_frame(builder *b, lzg_yaml_kind kind, const yaml_char_t *name, const yaml_char_t *tag)
{
    const char *allowed = kind == LZG_YAML_LIST ? YAML_SEQ_TAG : YAML_MAP_TAG;
    frame f = { .first = b->pending.len, .extent = { .nodes = 1 } };
    LZ_TRY(new_node(b, kind, &f.node));
    if (tag && strcmp((const char *)tag, "!") != 0 && strcmp((const char *)tag, allowed) != 0)
        return lz_err_at(LZ_ERR_UNSUPPORTED, f.node->loc, "%s cannot have the tag '%s'",
                         lzg_yaml_kind_name(kind), (const char *)tag);
    LZ_TRY(too_large(f.node->loc, f.extent, b->stack.len + 1));
    LZ_TRY(new_anchor(b, name, f.node, &f.anchor));
    if (f.anchor)
        f.anchor->open = true;
    return lz_vec_push(&b->stack, f);
}

static lz_err *on_list(builder *b)
{
    return open_frame(b, LZG_YAML_LIST, b->event.data.sequence_start.anchor,
                      b->event.data.sequence_start.tag);
}

static lz_err *on_map(builder *b)
{
    return open_frame(b, LZG_YAML_MAP, b->event.data.mapping_start.anchor, b->event.data.mapping_start.tag);
}

static lz_err *close_frame(builder *b)
{
    frame f = b->stack.data[--b->stack.len];
    size_t n = b->pending.len - f.first;
    const lzg_yaml **items;
    LZ_TRY(lz_arena_new(b->arena, &items, n));
    if (n)
        memcpy(items, b->pending.data + f.first, n * sizeof *items);
    b->pending.len = f.first;
    f.node->items = items;
    f.node->len = f.node->kind == LZG_YAML_MAP ? n / 2 : n;
    if (f.anchor)
        *f.anchor = (anchor){ .node = f.node, .extent = f.extent };
    return add_node(b, f.node, f.extent, f.node->loc);
}

static lz_err *duplicate(const lzg_yaml *key)
{
    return lz_err_at(LZ_ERR_SYNTAX, key->loc, "the key '%.*s' occurs twice", LZ_FMT(key->text));
}

static int key_order(const void *a, const void *b)
{
    return lzg_yaml_key_cmp(*(const lzg_yaml *const *)a, *(const lzg_yaml *const *)b);
}

static bool stands_before(const lzg_yaml *a, const lzg_yaml *b)
{
    return a->loc.line != b->loc.line ? a->loc.line < b->loc.line : a->loc.col < b->loc.col;
}

static lz_err *check_many_keys(lz_arena *a, const lzg_yaml *const *pairs, size_t n)
{
    lz_arena_mark mark = lz_arena_save(a);
    const lzg_yaml **keys, *twice = NULL;
    LZ_TRY(lz_arena_new(a, &keys, n));
    for (size_t i = 0; i < n; i++)
        keys[i] = pairs[2 * i];
    qsort(keys, n, sizeof *keys, key_order);
    for (size_t i = 1; i < n; i++)
        if (lzg_yaml_key_cmp(keys[i - 1], keys[i]) == 0 && (!twice || stands_before(keys[i], twice)))
            twice = stands_before(keys[i - 1], keys[i]) ? keys[i] : keys[i - 1];
    lz_arena_rewind(a, mark);
    return twice ? duplicate(twice) : NULL;
}

static lz_err *check_keys(lz_arena *a, const lzg_yaml *const *pairs, size_t n)
{
    enum { FEW = 12 };
    for (size_t i = 0; i < n; i++)
        if (pairs[2 * i]->kind >= LZG_YAML_LIST)
            return lz_err_at(LZ_ERR_SYNTAX, pairs[2 * i]->loc, "%s cannot be a key",
                             lzg_yaml_kind_name(pairs[2 * i]->kind));
    if (n > FEW)
        return check_many_keys(a, pairs, n);
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (lzg_yaml_key_cmp(pairs[2 * i], pairs[2 * k]) == 0)
                return duplicate(pairs[2 * i]);
    return NULL;
}

static lz_err *close_map(builder *b)
{
    size_t first = b->stack.data[b->stack.len - 1].first;
    if (b->pending.len > first)
        LZ_TRY(check_keys(b->arena, b->pending.data + first, (b->pending.len - first) / 2));
    return close_frame(b);
}

/* ---- the document ---- */

static lz_err *on_document(builder *b)
{
    if (b->documents)
        return lz_err_at(LZ_ERR_SYNTAX, loc_of(b, b->event.start_mark), "a second document in one file");
    b->documents = true;
    return NULL;
}

static lz_err *on_end(builder *b)
{
    b->done = true;
    return NULL;
}

static lz_err *(*const handlers[])(builder *b) = {
    [YAML_DOCUMENT_START_EVENT] = on_document,
    [YAML_STREAM_END_EVENT] = on_end,
    [YAML_ALIAS_EVENT] = on_alias,
    [YAML_SCALAR_EVENT] = on_scalar,
    [YAML_SEQUENCE_START_EVENT] = on_list,
    [YAML_SEQUENCE_END_EVENT] = close_frame,
    [YAML_MAPPING_START_EVENT] = on_map,
    [YAML_MAPPING_END_EVENT] = close_map,
};

static lz_err *build(builder *b, lz_str text)
{
    yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b->parser, (const unsigned char *)text.ptr, text.len);
    while (!b->done) {
        if (!yaml_parser_parse(&b->parser, &b->event))
            return parser_error(b, text);
        lz_err *(*handle)(builder *) = handlers[b->event.type];
        lz_err *e = handle ? handle(b) : NULL;
        yaml_event_delete(&b->event);
        LZ_TRY(e);
    }
    return NULL;
}

static lz_err *finish(builder *b, const lzg_yaml **out)
{
    lzg_yaml *none;
    if (!b->root) {
        LZ_TRY(lz_arena_new(b->arena, &none, 1));
        *none = (lzg_yaml){ .kind = LZG_YAML_NULL, .loc = { b->file, 1, 1 } };
        b->root = none;
    }
    *out = b->root;
    return NULL;
}

lz_err *lzg_yaml_parse(lz_arena *a, lz_str text, const char *file, const lzg_yaml **out)
{
    builder b = { .arena = a };
    lz_str name;
    LZ_TRY(lz_arena_copy(a, lz_str_of(file), &name));
    b.file = name.ptr;
    if (!yaml_parser_initialize(&b.parser))
        return lz_err_oom();
    lz_err *e = build(&b, text);
    if (!e)
        e = finish(&b, out);
    yaml_parser_delete(&b.parser);
    lz_vec_deinit(&b.stack);
    lz_vec_deinit(&b.pending);
    lz_map_deinit(&b.anchors);
    return e;
}

lz_err *lzg_yaml_load(lz_arena *a, const char *path, const lzg_yaml **out)
{
    char *text;
    size_t len;
    LZ_TRY(lz_file_read(path, LZG_YAML_BYTES, &len, &text));
    lz_err *e = lzg_yaml_parse(a, (lz_str){ text, len }, path, out);
    lz_mem_free(text);
    return e;
}

const lzg_yaml *lzg_yaml_get(const lzg_yaml *map, lz_str key)
{
    for (size_t i = 0; map->kind == LZG_YAML_MAP && i < map->len; i++) {
        const lzg_yaml *k = map->items[2 * i];
        if (k->kind == LZG_YAML_STR && lz_str_eq(k->text, key))
            return map->items[2 * i + 1];
    }
    return NULL;
}

const char *lzg_yaml_kind_name(lzg_yaml_kind kind)
{
    static const char *const names[] = {
        [LZG_YAML_NULL] = "null",      [LZG_YAML_BOOL] = "a boolean",   [LZG_YAML_INT] = "an integer",
        [LZG_YAML_FLOAT] = "a number", [LZG_YAML_TIMESTAMP] = "a date", [LZG_YAML_STR] = "a string",
        [LZG_YAML_LIST] = "a list",    [LZG_YAML_MAP] = "a mapping",
    };
    return names[kind];
}

lz_loc lzg_yaml_at(const lzg_yaml *scalar, size_t offset)
{
    lz_loc loc = scalar->loc;
    if (scalar->one_line)
        loc.col += (int32_t)characters(lz_str_sub(scalar->text, 0, offset)) + scalar->quoted;
    return loc;
}
