#include "json_tree.h"

static void tree_null(lz_json_writer *w, const lz_json *v)
{
    (void)v;
    lz_json_put_null(w);
}

static void tree_bool(lz_json_writer *w, const lz_json *v)
{
    lz_json_put_bool(w, v->b);
}

static void tree_int(lz_json_writer *w, const lz_json *v)
{
    lz_json_put_int(w, v->i);
}

static void tree_uint(lz_json_writer *w, const lz_json *v)
{
    lz_json_put_uint(w, v->u);
}

static void tree_double(lz_json_writer *w, const lz_json *v)
{
    lz_json_put_double(w, v->d);
}

static void tree_str(lz_json_writer *w, const lz_json *v)
{
    lz_json_put_str(w, v->str);
}

static void tree_begin(lz_json_writer *w, const lz_json *v)
{
    if (v->kind == LZ_JSON_OBJECT)
        lz_json_begin_object(w);
    else
        lz_json_begin_array(w);
}

static void tree_end(lz_json_writer *w, const lz_json *v)
{
    if (v->kind == LZ_JSON_OBJECT)
        lz_json_end_object(w);
    else
        lz_json_end_array(w);
}

static void (*const tree_writers[LZ_JSON_KINDS])(lz_json_writer *, const lz_json *) = {
    [LZ_JSON_NULL] = tree_null,   [LZ_JSON_BOOL] = tree_bool,     [LZ_JSON_INT] = tree_int,
    [LZ_JSON_UINT] = tree_uint,   [LZ_JSON_DOUBLE] = tree_double, [LZ_JSON_STRING] = tree_str,
    [LZ_JSON_ARRAY] = tree_begin, [LZ_JSON_OBJECT] = tree_begin,
};

/* The stack suffices: a tree is at most as deep as the reader and the writer allow. */
void json_put_tree(lz_json_writer *w, const lz_json *v)
{
    struct {
        const lz_json *v;
        uint32_t next;
    } open[LZ_JSON_DEPTH], *top = open;
    for (;;) {
        tree_writers[v->kind](w, v);
        if (w->code)
            return;
        if (v->kind >= LZ_JSON_ARRAY) {
            top->v = v;
            top++->next = 0;
        }
        while (top > open && top[-1].next == top[-1].v->len)
            tree_end(w, (--top)->v);
        if (top == open)
            return;
        const lz_json *parent = top[-1].v;
        uint32_t i = top[-1].next++;
        if (parent->kind == LZ_JSON_OBJECT)
            lz_json_put_key_str(w, parent->members[i].key);
        v = parent->kind == LZ_JSON_OBJECT ? &parent->members[i].value : &parent->items[i];
    }
}
