#include "lazy/explain.h"
#include "lazy/flat_text.h"
#include "op/op_table.h"
#include <stdlib.h>
#include <string.h>

/* Nodes are compared by their own facts: operator, fixed arguments, kinds of numbers, types. The operands are
 * left out: one changed attribute would make every node that depends on it look new. */
enum { COMPARED = 32 }; /* the most recently used graphs of the cache */

typedef struct node_facts {
    uint64_t hash; /* of the node's own facts */
    uint32_t place;
} node_facts;

typedef struct graph_facts {
    lz_graph_index places;
    node_facts *nodes; /* sorted */
    uint64_t *hash;    /* by place */
} graph_facts;

static uint64_t hash_facts(const lz_flat_node *n)
{
    uint64_t head[] = { n->op, (uint64_t)n->nin << 32 | n->nout };
    lz_hash h = lz_hash_bytes(head, sizeof head);
    h = lz_hash_mix(h, lz_hash_bytes(n->args, n->nargs * sizeof *n->args));
    h = lz_hash_mix(h, lz_hash_bytes(n->fixed, n->nfixed * sizeof *n->fixed));
    return lz_hash_mix(h, lz_hash_bytes(n->types, (size_t)(n->end - n->types) * sizeof *n->types)).lo;
}

static int by_hash(const void *pa, const void *pb)
{
    const node_facts *a = pa, *b = pb;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static lz_err *collect_facts(lz_arena *a, const uint64_t *words, graph_facts *out)
{
    LZ_TRY(lz_graph_index_init(a, words, &out->places));
    LZ_TRY(lz_arena_new(a, &out->nodes, out->places.n));
    LZ_TRY(lz_arena_new(a, &out->hash, out->places.n));
    for (uint32_t i = 0; i < out->places.n; i++) {
        lz_flat_node n = lz_flat_read(out->places.at[i]);
        out->hash[i] = hash_facts(&n);
        out->nodes[i] = (node_facts){ out->hash[i], i };
    }
    if (out->places.n)
        qsort(out->nodes, out->places.n, sizeof *out->nodes, by_hash);
    return NULL;
}

/* Counts pairs of equal nodes. Marks nodes without a partner where the arrays are not NULL. */
static uint32_t in_common(const graph_facts *x, const graph_facts *y, bool *alone_x, bool *alone_y)
{
    uint32_t i = 0, k = 0, same = 0;
    while (i < x->places.n || k < y->places.n) {
        const node_facts *a = i < x->places.n ? &x->nodes[i] : NULL,
                         *b = k < y->places.n ? &y->nodes[k] : NULL;
        bool both = a && b && a->hash == b->hash, left = !both && a && (!b || a->hash < b->hash);
        if (left && alone_x)
            alone_x[a->place] = true;
        if (!both && !left && b && alone_y)
            alone_y[b->place] = true;
        same += both;
        i += both || left;
        k += both || !left;
    }
    return same;
}

/* ---- the most similar graph ---- */

typedef struct search {
    lz_arena *arena;
    graph_facts own, nearest;
    const lz_flat *flat;
    const lz_loc *locs; /* of the most similar graph; copied */
    uint32_t same;
    size_t seen;
    bool found;
    lz_err *error;
    lz_arena_mark base; /* memory above it belongs to the most similar graph */
} search;

static lz_err *keep(search *s, const lz_flat *f, const lz_loc *locs)
{
    uint64_t *words;
    lz_loc *own;
    size_t n = lz_flat_nodes(f->words);
    lz_arena_rewind(s->arena, s->base);
    LZ_TRY(lz_arena_new(s->arena, &words, f->n));
    LZ_TRY(lz_arena_new(s->arena, &own, n));
    memcpy(words, f->words, f->n * sizeof *words);
    memcpy(own, locs, n * sizeof *own);
    s->locs = own;
    s->found = true;
    return collect_facts(s->arena, words, &s->nearest);
}

/* The similarity of two graphs: the nodes in common, less the nodes of one graph only. */
static int64_t likeness(uint32_t same, uint32_t n, uint32_t m)
{
    return 3 * (int64_t)same - n - m;
}

static bool compare(void *user, const lz_flat *f, const lz_loc *locs, const lz_executable *r)
{
    search *s = user;
    graph_facts p;
    (void)r;
    if (lz_hash_eq(f->hash, s->flat->hash)) /* the graph itself, compiled meanwhile */
        return true;
    lz_arena_mark before = lz_arena_save(s->arena);
    s->error = collect_facts(s->arena, f->words, &p);
    if (s->error)
        return false;
    uint32_t same = in_common(&s->own, &p, NULL, NULL), n = s->own.places.n;
    bool nearer = !s->found || likeness(same, n, p.places.n) > likeness(s->same, n, s->nearest.places.n);
    lz_arena_rewind(s->arena, before);
    if (nearer) {
        s->same = same;
        s->error = keep(s, f, locs);
    }
    return !s->error && ++s->seen < COMPARED;
}

/* ---- the difference ---- */

static void put_node(lz_text *out, const lz_flat_node *n, lz_loc at)
{
    lz_put_op(out, n, true);
    if (at.file) {
        lz_text_puts(out, " at ");
        lz_put_loc(out, at);
    }
}

static void put_both(lz_text *out, const char *what, const lz_flat_node *was, const lz_flat_node *is,
                     uint32_t i)
{
    lz_text_printf(out, "%s %s is ", what, lz_arg_name(is, i));
    lz_put_arg(out, is, i);
    lz_text_puts(out, ", was ");
    lz_put_arg(out, was, i);
}

static bool same_arg(const lz_flat_node *a, const lz_flat_node *b, uint32_t i)
{
    lz_text x = { 0 }, y = { 0 };
    lz_slot s, t;
    memcpy(&s, &a->args[i], sizeof s);
    memcpy(&t, &b->args[i], sizeof t);
    bool tensors = s.kind == LZ_ARG_TENSOR && t.kind == LZ_ARG_TENSOR;
    if (!tensors) {
        lz_put_arg(&x, a, i);
        lz_put_arg(&y, b, i);
    }
    bool same = tensors || lz_str_eq(lz_text_view(&x), lz_text_view(&y));
    lz_text_deinit(&x);
    lz_text_deinit(&y);
    return same;
}

static bool same_sizes(lz_data_type a, lz_data_type b)
{
    return a.sizes.n == b.sizes.n && memcmp(a.sizes.v, b.sizes.v, (size_t)a.sizes.n * sizeof(int64_t)) == 0;
}

static bool put_type_change(lz_text *out, const lz_flat_node *was, const lz_flat_node *is)
{
    for (uint32_t i = 0; i < is->nout && i < was->nout; i++) {
        lz_data_type a = lz_flat_type(was, i), b = lz_flat_type(is, i);
        bool dtype = a.dtype != b.dtype;
        if (!dtype && same_sizes(a, b))
            continue;
        lz_text_printf(out, "%s is ", dtype ? "dtype" : "shape");
        lz_put_type(out, b);
        lz_text_puts(out, ", was ");
        lz_put_type(out, a);
        return true;
    }
    return false;
}

/* The first difference between two nodes of one operator. */
static void put_change(lz_text *out, const lz_flat_node *was, const lz_flat_node *is)
{
    for (uint32_t i = 0; i < is->nargs && i < was->nargs; i++)
        if (!same_arg(was, is, i)) {
            put_both(out, "attribute", was, is, i);
            return;
        }
    if (!put_type_change(out, was, is))
        lz_text_puts(out, "its operands differ");
}

static uint32_t first_of(const bool *is, const lz_graph_index *p, uint32_t op, bool any)
{
    uint32_t i = 0;
    while (i < p->n && !(is[i] && (any || lz_flat_read(p->at[i]).op == op)))
        i++;
    return i;
}

/* All nodes have partners, so some node is connected differently. */
static void put_wiring(const search *s, lz_text *out, const lz_loc *locs)
{
    const lz_graph_index *p = &s->own.places, *q = &s->nearest.places;
    uint32_t i = 0;
    bool same = true;
    for (; i < p->n && i < q->n; i += same) {
        lz_flat_node a = lz_flat_read(p->at[i]), b = lz_flat_read(q->at[i]);
        same = s->own.hash[i] == s->nearest.hash[i] && memcmp(a.in, b.in, a.nin * sizeof *a.in) == 0;
        if (!same)
            break;
    }
    if (i < p->n) {
        lz_flat_node n = lz_flat_read(p->at[i]);
        put_node(out, &n, locs[i]);
        lz_text_puts(out, ": its operands or its position differ");
    } else {
        lz_text_printf(out, "%u tensors are computed, %u were before", p->nroots, q->nroots);
    }
}

static lz_err *put_difference(search *s, lz_text *out, const lz_loc *locs)
{
    const lz_graph_index *p = &s->own.places, *q = &s->nearest.places;
    bool *fresh, *gone;
    LZ_TRY(lz_arena_new(s->arena, &fresh, p->n));
    LZ_TRY(lz_arena_new(s->arena, &gone, q->n));
    in_common(&s->own, &s->nearest, fresh, gone);
    uint32_t i = first_of(fresh, p, 0, true);
    if (i == p->n) {
        uint32_t k = first_of(gone, q, 0, true);
        if (k == q->n) {
            put_wiring(s, out, locs);
            return NULL;
        }
        lz_flat_node lost = lz_flat_read(q->at[k]);
        put_node(out, &lost, s->locs[k]);
        lz_text_puts(out, " is missing");
        return NULL;
    }
    lz_flat_node is = lz_flat_read(p->at[i]);
    put_node(out, &is, locs[i]);
    uint32_t k = first_of(gone, q, is.op, false);
    if (k == q->n) {
        lz_text_puts(out, " is new");
        return NULL;
    }
    lz_flat_node was = lz_flat_read(q->at[k]);
    lz_text_puts(out, ": ");
    put_change(out, &was, &is);
    if (is.op && s->locs[k].file) {
        lz_text_puts(out, " at ");
        lz_put_loc(out, s->locs[k]);
    }
    return NULL;
}

static lz_err *explain(search *s, lz_cache *c, const lz_loc *locs, lz_text *out)
{
    LZ_TRY(collect_facts(s->arena, s->flat->words, &s->own));
    s->base = lz_arena_save(s->arena);
    lz_cache_each(c, compare, s);
    if (s->error)
        return s->error;
    if (!s->found) {
        lz_text_printf(out, "the first graph, %u nodes", s->own.places.n);
        return NULL;
    }
    lz_text_printf(
        out,
        "%u nodes; the most similar compiled graph (%u nodes) shares %u nodes with it; first difference: ",
        s->own.places.n, s->nearest.places.n, s->same);
    return put_difference(s, out, locs);
}

lz_err *lz_explain_miss(lz_cache *c, const lz_flat *f, const lz_loc *locs, lz_text *out)
{
    lz_arena a;
    lz_arena_init(&a);
    search s = { .arena = &a, .flat = f };
    lz_err *e = explain(&s, c, locs, out);
    lz_arena_deinit(&a);
    return e;
}
