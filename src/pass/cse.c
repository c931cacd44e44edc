/* Common subexpressions: a node that computes what an earlier one, still in sight, has
 * computed already goes, and its uses with it to the earlier one. Two results that can
 * change must not become one: neither may be written, anywhere in the graph, nor what
 * they are made from; and at most one may leave the nodes that only look at it.
 * Requires: any graph. Keeps: effects, and which results may share memory. */
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "graph/effects.h"
#include "pass/alias.h"
#include "pass/pass.h"

typedef struct entry {
    lz_ir_node *node;
    uint64_t hash;
    uint32_t next;  /* 1 + index of the next in its bucket; 0: none */
    bool only_read; /* nobody who uses its outputs does more than look */
} entry;

typedef struct cse {
    lz_alias alias;
    LZ_VEC(entry) entries; /* of the blocks that are open, outer ones first */
    LZ_VEC(size_t) scopes; /* where the entries of each open block begin */
    uint32_t *buckets;
    uint64_t mask;
} cse;

/* ---- which nodes are equal ---- */

static uint64_t hash_node(const lz_ir_node *n)
{
    uint64_t h = lz_hash64(&n->sym, sizeof n->sym);
    for (uint32_t i = 0; i < n->nin; i++) {
        const lz_ir_value *v = lz_ir_in(n, i);
        const uint64_t both[] = { h, (uint64_t)(uintptr_t)v };
        h = lz_hash64(both, sizeof both);
    }
    for (uint32_t i = 0; i < n->nattrs; i++) {
        const uint64_t both[] = { h, n->attrs[i]->type ? 0 : lz_gv_hash(n->attrs[i]->value) };
        h = lz_hash64(both, sizeof both);
    }
    return h;
}

static bool same_attrs(const lz_ir_node *a, const lz_ir_node *b)
{
    bool same = a->nattrs == b->nattrs;
    for (uint32_t i = 0; same && i < a->nattrs; i++) {
        const lz_ir_attr *x = a->attrs[i], *y = b->attrs[i];
        same = lz_str_eq(x->name, y->name) && x->type == y->type && lz_gv_identical(x->value, y->value);
    }
    return same;
}

static bool same_node(const lz_ir_node *a, const lz_ir_node *b)
{
    bool same = a->sym == b->sym && a->op == b->op && a->builtin == b->builtin && a->nin == b->nin
                && a->nout == b->nout;
    for (uint32_t i = 0; same && i < a->nin; i++)
        same = lz_ir_in(a, i) == lz_ir_in(b, i);
    for (uint32_t i = 0; same && i < a->nout; i++)
        same =
            lz_type_fits(a->out[i]->type, b->out[i]->type) && lz_type_fits(b->out[i]->type, a->out[i]->type);
    return same && same_attrs(a, b);
}

/* ---- which may be merged ---- */

static bool is_candidate(const cse *c, const lz_ir_node *n)
{
    bool ok = n->next && !n->nblocks && n->nout && !lz_ir_effects(n);
    for (uint32_t i = 0; ok && i < n->nin; i++)
        ok = !lz_alias_is_written(&c->alias, lz_ir_in(n, i));
    for (uint32_t i = 0; ok && i < n->nout; i++)
        ok = !lz_alias_is_written(&c->alias, n->out[i]);
    return ok;
}

static bool only_read(const lz_ir_node *n)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < n->nout; i++)
        ok = !lz_type_is_mutable(n->out[i]->type) || lz_ir_only_read(n->out[i]);
    return ok;
}

/* ---- the walk ---- */

static entry *find(const cse *c, const lz_ir_node *n, uint64_t hash)
{
    for (uint32_t i = c->buckets[hash & c->mask]; i; i = c->entries.data[i - 1].next) {
        entry *e = &c->entries.data[i - 1];
        if (e->hash == hash && same_node(e->node, n))
            return e;
    }
    return NULL;
}

static lz_err *add(cse *c, lz_ir_node *n, uint64_t hash)
{
    uint32_t *bucket = &c->buckets[hash & c->mask];
    entry e = { .node = n, .hash = hash, .next = *bucket, .only_read = only_read(n) };
    LZ_TRY(lz_vec_push(&c->entries, e));
    *bucket = (uint32_t)c->entries.len;
    return NULL;
}

/* What was found in a block is out of sight behind it. */
static void leave(cse *c)
{
    size_t begin = c->scopes.data[--c->scopes.len];
    while (c->entries.len > begin) {
        const entry *e = &c->entries.data[--c->entries.len];
        c->buckets[e->hash & c->mask] = e->next;
    }
}

static lz_err *visit(cse *c, lz_ir_node *n)
{
    if (!is_candidate(c, n))
        return NULL;
    uint64_t hash = hash_node(n);
    entry *earlier = find(c, n, hash);
    if (!earlier)
        return add(c, n, hash);
    bool harmless = only_read(n);
    if (!harmless && !earlier->only_read)
        return NULL;
    earlier->only_read = earlier->only_read && harmless;
    for (uint32_t i = 0; i < n->nout; i++)
        lz_ir_replace(n->out[i], earlier->node->out[i]);
    lz_ir_erase(n);
    return NULL;
}

static lz_err *enter(cse *c)
{
    return lz_vec_push(&c->scopes, c->entries.len);
}

/* The end of a block; the next one of the same node begins, if there is one. */
static lz_err *end_block(cse *c, const lz_ir_block *b)
{
    leave(c);
    return b->owner && b->index + 1 < b->owner->nblocks ? enter(c) : NULL;
}

static lz_err *walk(cse *c, const lz_graph *g)
{
    LZ_TRY(enter(c));
    for (lz_ir_node *n = lz_ir_first(g->block), *next; n; n = next) {
        next = lz_ir_next(n);
        if (n->nblocks)
            LZ_TRY(enter(c));
        else if (n->next)
            LZ_TRY(visit(c, n));
        else
            LZ_TRY(end_block(c, n->block));
    }
    return NULL;
}

static lz_err *make_buckets(cse *c, size_t nodes)
{
    size_t n = 16;
    while (n < 2 * nodes)
        n *= 2;
    c->mask = n - 1;
    c->buckets = lz_mem_zalloc(n, sizeof *c->buckets);
    return c->buckets ? NULL : lz_err_oom();
}

lz_err *lz_pass_cse(lz_graph *g)
{
    cse c = { 0 };
    LZ_TRY(lz_alias_init(&c.alias, g));
    lz_err *e = make_buckets(&c, lz_graph_count(g));
    e = e ? e : walk(&c, g);
    lz_alias_deinit(&c.alias);
    lz_vec_deinit(&c.entries);
    lz_vec_deinit(&c.scopes);
    lz_mem_free(c.buckets);
    return e;
}
