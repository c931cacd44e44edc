/* Common subexpression elimination: a node that is equal to an earlier, visible node is removed, and
 * its uses go to the earlier one. Two mutable results must not become one: neither they nor their inputs may
 * be written anywhere in the graph, and at most one result may have uses that do more than read it.
 * Requires: any graph. Keeps: effects, and which results may share memory. */
#include "base/arena.h"
#include "base/hash_table.h"
#include "base/vec.h"
#include "graph/effects.h"
#include "pass/alias_sets.h"
#include "pass/pass.h"
#include <assert.h>

typedef struct entry {
    lz_hash_link link;
    lz_ssa_node *node;
    uint64_t hash;
    bool only_read; /* all uses of its outputs only read them */
} entry;

typedef struct cse {
    lz_alias_sets alias;
    LZ_VEC(entry *) entries; /* of the open blocks, outer ones first */
    LZ_VEC(size_t) scopes;   /* index of the first entry of each open block */
    lz_hash_table table;     /* of the entries above */
    lz_arena arena;
} cse;

/* ---- equality ---- */

static uint64_t hash_node(const lz_ssa_node *n)
{
    uint64_t h = lz_hash64(&n->sym, sizeof n->sym);
    for (uint32_t i = 0; i < n->nin; i++) {
        const lz_ssa_value *v = lz_ssa_in(n, i);
        h = lz_hash64_pair(h, (uint64_t)(uintptr_t)v);
    }
    for (uint32_t i = 0; i < n->nattrs; i++)
        h = lz_hash64_pair(h, n->attrs[i]->type ? 0 : lz_script_value_hash(n->attrs[i]->value));
    return h;
}

static bool same_attrs(const lz_ssa_node *a, const lz_ssa_node *b)
{
    bool same = a->nattrs == b->nattrs;
    for (uint32_t i = 0; same && i < a->nattrs; i++) {
        const lz_ssa_attr *x = a->attrs[i], *y = b->attrs[i];
        same = lz_str_eq(x->name, y->name) && x->type == y->type
               && lz_script_value_identical(x->value, y->value);
    }
    return same;
}

static bool same_node(const lz_ssa_node *a, const lz_ssa_node *b)
{
    bool same = a->sym == b->sym && a->op == b->op && a->builtin == b->builtin && a->nin == b->nin
                && a->nout == b->nout;
    for (uint32_t i = 0; same && i < a->nin; i++)
        same = lz_ssa_in(a, i) == lz_ssa_in(b, i);
    for (uint32_t i = 0; same && i < a->nout; i++)
        same =
            lz_type_fits(a->out[i]->type, b->out[i]->type) && lz_type_fits(b->out[i]->type, a->out[i]->type);
    return same && same_attrs(a, b);
}

/* ---- conditions ---- */

static bool is_candidate(const cse *c, const lz_ssa_node *n)
{
    bool ok = n->next && !n->nblocks && n->nout && !lz_ssa_effects(n);
    for (uint32_t i = 0; ok && i < n->nin; i++)
        ok = !lz_alias_sets_is_written(&c->alias, lz_ssa_in(n, i));
    for (uint32_t i = 0; ok && i < n->nout; i++)
        ok = !lz_alias_sets_is_written(&c->alias, n->out[i]);
    return ok;
}

static bool only_read(const lz_ssa_node *n)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < n->nout; i++)
        ok = !lz_type_is_mutable(n->out[i]->type) || lz_ssa_only_read(n->out[i]);
    return ok;
}

/* ---- the walk ---- */

static uint64_t hash_of(const void *item)
{
    return ((const entry *)item)->hash;
}

static const lz_hash_kind entry_kind = { offsetof(entry, link), hash_of };

static bool same_entry(const void *item, const void *key)
{
    const entry *e = item, *like = key;
    return e->hash == like->hash && same_node(e->node, like->node);
}

static entry *find(const cse *c, lz_ssa_node *n, uint64_t hash)
{
    const entry like = { .node = n, .hash = hash };
    return lz_hash_table_find(&c->table, &entry_kind, hash, same_entry, &like);
}

static lz_err *add(cse *c, lz_ssa_node *n, uint64_t hash)
{
    entry *e;
    LZ_TRY(lz_hash_table_reserve(&c->table, &entry_kind));
    LZ_TRY(lz_arena_new(&c->arena, &e, 1));
    LZ_TRY(lz_vec_push(&c->entries, e));
    *e = (entry){ .node = n, .hash = hash, .only_read = only_read(n) };
    lz_hash_table_add(&c->table, &entry_kind, hash, e);
    return NULL;
}

/* Removes the entries of a block that ends: its values are not visible after it. */
static void leave(cse *c)
{
    assert(c->scopes.len > 0 && c->scopes.data[c->scopes.len - 1] <= c->entries.len);
    size_t begin = c->scopes.data[--c->scopes.len];
    while (c->entries.len > begin)
        lz_hash_table_remove(&c->table, &entry_kind, c->entries.data[--c->entries.len]);
}

static lz_err *visit(cse *c, lz_ssa_node *n)
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
    assert(lz_ssa_within(n->block, earlier->node->block)); /* the earlier value is visible here */
    for (uint32_t i = 0; i < n->nout; i++)
        lz_ssa_replace(n->out[i], earlier->node->out[i]);
    lz_ssa_erase(n);
    return NULL;
}

static lz_err *enter(cse *c)
{
    return lz_vec_push(&c->scopes, c->entries.len);
}

/* Ends a block; enters the next one of the same node, if there is one. */
static lz_err *end_block(cse *c, const lz_ssa_block *b)
{
    leave(c);
    return b->owner && b->index + 1 < b->owner->nblocks ? enter(c) : NULL;
}

static lz_err *walk(cse *c, const lz_graph *g)
{
    LZ_TRY(enter(c));
    for (lz_ssa_node *n = lz_ssa_first(g->block), *next; n; n = next) {
        next = lz_ssa_next(n);
        if (n->nblocks)
            LZ_TRY(enter(c));
        else if (n->next)
            LZ_TRY(visit(c, n));
        else
            LZ_TRY(end_block(c, n->block));
    }
    return NULL;
}

lz_err *lz_pass_cse(lz_graph *g)
{
    cse c = { 0 };
    LZ_TRY(lz_alias_sets_init(&c.alias, g));
    lz_err *e = walk(&c, g);
    lz_alias_sets_deinit(&c.alias);
    lz_vec_deinit(&c.entries);
    lz_vec_deinit(&c.scopes);
    lz_hash_table_deinit(&c.table);
    lz_arena_deinit(&c.arena);
    return e;
}
