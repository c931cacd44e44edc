#include "graph/ir.h"
#include "base/mem.h"
#include <assert.h>
#include <stddef.h>

/* ---- the graph ---- */

static lz_err *make_block(lz_graph *g, lz_ssa_node *owner, uint32_t index, lz_ssa_block **out);

static lz_err *set_up(lz_graph *g, const lz_ssa_ops *ops)
{
    atomic_init(&g->count, 1);
    lz_arena_init(&g->arena);
    lz_type_table_init(&g->types, &g->arena);
    g->ops = ops;
    return make_block(g, NULL, 0, &g->block);
}

lz_err *lz_graph_create(const lz_ssa_ops *ops, lz_graph **out)
{
    lz_graph *g = lz_mem_zalloc(1, sizeof *g);
    if (!g)
        return lz_err_oom();
    lz_err *e = set_up(g, ops);
    if (e)
        lz_graph_release(g);
    else
        *out = g;
    return e;
}

lz_graph *lz_graph_retain(lz_graph *g)
{
    atomic_fetch_add_explicit(&g->count, 1, memory_order_relaxed);
    return g;
}

void lz_graph_release(lz_graph *g)
{
    if (!g || atomic_fetch_sub_explicit(&g->count, 1, memory_order_acq_rel) != 1)
        return;
    for (lz_ssa_attr *a = g->attrs; a; a = a->next)
        lz_script_value_release(a->value);
    lz_text_deinit(&g->text);
    lz_map_deinit(&g->symbols);
    lz_type_table_deinit(&g->types);
    lz_arena_deinit(&g->arena);
    lz_mem_free(g);
}

void lz_graph_swap(lz_graph *a, lz_graph *b)
{
    enum { FROM = offsetof(lz_graph, arena), BYTES = sizeof(lz_graph) - FROM }; /* all but the count */
    char *x = (char *)a + FROM, *y = (char *)b + FROM, room[BYTES];
    memcpy(room, x, BYTES);
    memcpy(x, y, BYTES);
    memcpy(y, room, BYTES);
    a->types.arena = &a->arena;
    b->types.arena = &b->arena;
}

/* ---- symbols ---- */

enum { FEW = 64 }; /* most overloads of one name */

static lz_err *keep_builtins(lz_graph *g, lz_ssa_symbol *s)
{
    const lz_builtin *found[FEW], **kept;
    size_t n = lz_builtins_find(s->name, found, FEW);
    assert(n <= FEW);
    if (!n)
        return NULL;
    LZ_TRY(lz_arena_new(&g->arena, &kept, n));
    memcpy(kept, found, n * sizeof(lz_builtin *));
    s->builtins = kept;
    s->nbuiltins = n;
    return NULL;
}

/* Rows are sorted by full name, and '.' sorts before every character of a name, so the overloads of one base
 * name are consecutive. */
static size_t first_row(const lz_ssa_ops *ops, lz_str base)
{
    size_t lo = 0, hi = ops->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        uint16_t number = ops->by_name[mid];
        if (!number || lz_str_cmp(lz_str_of(ops->rows[number].name), base) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static lz_err *keep_ops(lz_graph *g, lz_ssa_symbol *s)
{
    size_t colon = lz_str_find(s->name, LZ_STR("::")), n = 0;
    lz_str ns = lz_str_sub(s->name, 0, colon), base = lz_str_sub(s->name, colon + 2, s->name.len);
    const lz_op_row *found[FEW], **kept;
    if (!g->ops || colon == SIZE_MAX)
        return NULL;
    for (size_t i = first_row(g->ops, base); i < g->ops->n && n < FEW; i++) {
        const lz_op_row *row = &g->ops->rows[g->ops->by_name[i]];
        if (!lz_str_eq(base, (lz_str){ row->name, row->base }))
            break;
        if (lz_str_is(ns, row->ns))
            found[n++] = row;
    }
    if (!n)
        return NULL;
    LZ_TRY(lz_arena_new(&g->arena, &kept, n));
    memcpy(kept, found, n * sizeof(lz_op_row *));
    s->ops = kept;
    s->nops = n;
    return NULL;
}

lz_err *lz_ssa_symbol_get(lz_graph *g, lz_str name, const lz_ssa_symbol **out)
{
    lz_ssa_symbol *s = lz_map_get(&g->symbols, name);
    *out = s;
    if (s)
        return NULL;
    LZ_TRY(lz_arena_new(&g->arena, &s, 1));
    LZ_TRY(lz_arena_copy(&g->arena, name, &s->name));
    s->prim = lz_prim_find(name);
    LZ_TRY(keep_builtins(g, s));
    LZ_TRY(keep_ops(g, s));
    *out = s;
    return lz_map_put(&g->symbols, s->name, s);
}

/* ---- uses ---- */

static void link_use(lz_ssa_use *u, lz_ssa_value *v)
{
    u->value = v;
    u->prev = NULL;
    u->next = v->uses;
    if (v->uses)
        v->uses->prev = u;
    v->uses = u;
    v->nuses++;
}

static void unlink_use(lz_ssa_use *u)
{
    if (u->prev)
        u->prev->next = u->next;
    else
        u->value->uses = u->next;
    if (u->next)
        u->next->prev = u->prev;
    u->value->nuses--;
}

/* Repairs the links after the record has moved. */
static void moved_use(lz_ssa_use *u)
{
    if (u->prev)
        u->prev->next = u;
    else
        u->value->uses = u;
    if (u->next)
        u->next->prev = u;
}

/* ---- nodes ---- */

static lz_err *make_value(lz_graph *g, lz_ssa_node *n, uint32_t index, const lz_type *type,
                          lz_ssa_value **out)
{
    lz_ssa_value *v;
    LZ_TRY(lz_arena_new(&g->arena, &v, 1));
    if (g->next_id == UINT32_MAX)
        return lz_errf(LZ_ERR_LIMIT, "a graph has at most %u values", UINT32_MAX);
    *v = (lz_ssa_value){ .type = type, .node = n, .index = index, .id = g->next_id++ };
    *out = v;
    return NULL;
}

static lz_err *make_inputs(lz_graph *g, lz_ssa_node *n, const lz_ssa_spec *s)
{
    if (!s->nin)
        return NULL;
    LZ_TRY(lz_arena_new(&g->arena, &n->in, s->nin));
    for (uint32_t i = 0; i < s->nin; i++) {
        n->in[i].user = n;
        link_use(&n->in[i], s->in[i]);
    }
    n->nin = s->nin;
    return NULL;
}

static lz_err *make_outputs(lz_graph *g, lz_ssa_node *n, const lz_ssa_spec *s)
{
    if (!s->nout)
        return NULL;
    LZ_TRY(lz_arena_new(&g->arena, &n->out, s->nout));
    for (; n->nout < s->nout; n->nout++)
        LZ_TRY(make_value(g, n, n->nout, s->types[n->nout], &n->out[n->nout]));
    return NULL;
}

static lz_err *make_bare(lz_graph *g, const lz_ssa_symbol *sym, lz_ssa_node **out)
{
    LZ_TRY(lz_arena_new(&g->arena, out, 1));
    (*out)->sym = sym;
    return NULL;
}

/* Links the inputs last: nothing can fail once a value's use list is changed. */
lz_err *lz_ssa_node_make(lz_graph *g, const lz_ssa_spec *s, lz_ssa_node **out)
{
    lz_ssa_node *n;
    LZ_TRY(make_bare(g, s->sym, &n));
    n->loc = s->loc;
    LZ_TRY(make_outputs(g, n, s));
    for (uint32_t i = 0; i < s->nblocks; i++) {
        lz_ssa_block *b;
        LZ_TRY(lz_ssa_block_add(g, n, &b));
    }
    *out = n;
    return make_inputs(g, n, s);
}

lz_err *lz_ssa_constant_make(lz_graph *g, lz_script_value value, const lz_type *type, lz_loc loc,
                             lz_ssa_node **out)
{
    lz_ssa_spec spec = { .types = &type, .nout = 1, .loc = loc };
    lz_err *e = lz_ssa_symbol_get(g, LZ_STR("prim::Constant"), &spec.sym);
    e = e ? e : lz_ssa_node_make(g, &spec, out);
    if (e || value.kind == LZ_SCRIPT_VALUE_NONE) {
        lz_script_value_release(value);
        return e;
    }
    return lz_ssa_attr_add(g, *out, LZ_STR("value"), NULL, value);
}

/* Grows an array by doubling: it is full when its count is a power of two. */
static lz_err *grow(lz_graph *g, void *array, uint32_t n, size_t size)
{
    void *old, *now;
    if (n & (n - 1))
        return NULL;
    memcpy(&old, array, sizeof old);
    now = lz_arena_zalloc(&g->arena, (n ? 2 * (size_t)n : 1) * size);
    if (!now)
        return lz_err_oom();
    if (n)
        memcpy(now, old, n * size);
    memcpy(array, &now, sizeof now);
    return NULL;
}

lz_err *lz_ssa_output_add(lz_graph *g, lz_ssa_node *n, const lz_type *type, lz_ssa_value **out)
{
    LZ_TRY(grow(g, &n->out, n->nout, sizeof(lz_ssa_value *)));
    LZ_TRY(make_value(g, n, n->nout, type, out));
    n->out[n->nout++] = *out;
    return NULL;
}

lz_err *lz_ssa_input_add(lz_graph *g, lz_ssa_node *n, lz_ssa_value *v)
{
    const lz_ssa_use *old = n->in;
    LZ_TRY(grow(g, &n->in, n->nin, sizeof *n->in));
    for (uint32_t i = 0; n->in != old && i < n->nin; i++) {
        n->in[i] = old[i]; /* copied one by one: neighbours in the use list may have moved too */
        moved_use(&n->in[i]);
    }
    n->in[n->nin].user = n;
    link_use(&n->in[n->nin++], v);
    return NULL;
}

lz_err *lz_ssa_attr_add(lz_graph *g, lz_ssa_node *n, lz_str name, const lz_type *type, lz_script_value value)
{
    lz_ssa_attr *a = NULL;
    lz_err *e = lz_arena_new(&g->arena, &a, 1);
    e = e ? e : lz_arena_copy(&g->arena, name, &a->name);
    e = e ? e : grow(g, &n->attrs, n->nattrs, sizeof(lz_ssa_attr *));
    if (e) {
        lz_script_value_release(value);
        return e;
    }
    a->type = type;
    a->value = value;
    a->next = g->attrs;
    g->attrs = a;
    n->attrs[n->nattrs++] = a;
    return NULL;
}

lz_err *lz_ssa_name_set(lz_graph *g, lz_ssa_value *v, lz_str name)
{
    return lz_arena_copy(&g->arena, name, &v->name);
}

/* ---- blocks ---- */

static lz_err *make_edge(lz_graph *g, const char *name, lz_ssa_block *b, lz_ssa_node **out)
{
    const lz_ssa_symbol *sym;
    LZ_TRY(lz_ssa_symbol_get(g, lz_str_of(name), &sym));
    LZ_TRY(make_bare(g, sym, out));
    (*out)->block = b;
    return NULL;
}

static lz_err *make_block(lz_graph *g, lz_ssa_node *owner, uint32_t index, lz_ssa_block **out)
{
    lz_ssa_block *b;
    LZ_TRY(lz_arena_new(&g->arena, &b, 1));
    *b = (lz_ssa_block){ .owner = owner, .index = index };
    LZ_TRY(make_edge(g, lz_prim_name(LZ_PRIM_PARAM), b, &b->param));
    LZ_TRY(make_edge(g, lz_prim_name(LZ_PRIM_RETURN), b, &b->ret));
    b->param->next = b->ret;
    b->ret->prev = b->param;
    *out = b;
    return NULL;
}

lz_err *lz_ssa_block_add(lz_graph *g, lz_ssa_node *owner, lz_ssa_block **out)
{
    LZ_TRY(grow(g, &owner->blocks, owner->nblocks, sizeof(lz_ssa_block *)));
    LZ_TRY(make_block(g, owner, owner->nblocks, out));
    owner->blocks[owner->nblocks++] = *out;
    return NULL;
}

lz_err *lz_ssa_param_add(lz_graph *g, lz_ssa_block *b, const lz_type *type, lz_ssa_value **out)
{
    return lz_ssa_output_add(g, b->param, type, out);
}

uint32_t lz_ssa_depth(const lz_ssa_block *b)
{
    uint32_t depth = 0;
    for (; b->owner; b = b->owner->block)
        depth++;
    return depth;
}

void lz_ssa_insert_before(lz_ssa_node *n, lz_ssa_node *at)
{
    assert(!n->block && at->prev);
    n->block = at->block;
    n->prev = at->prev;
    n->next = at;
    at->prev->next = n;
    at->prev = n;
}

void lz_ssa_append(lz_ssa_node *n, lz_ssa_block *b)
{
    lz_ssa_insert_before(n, b->ret);
}

/* ---- reading ---- */

bool lz_ssa_named(const lz_ssa_node *n, const char *name)
{
    return lz_str_is(n->sym->name, name);
}

const lz_ssa_attr *lz_ssa_attr_find(const lz_ssa_node *n, const char *name)
{
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (lz_str_is(n->attrs[i]->name, name))
            return n->attrs[i];
    return NULL;
}

bool lz_ssa_const(const lz_ssa_value *v, lz_script_value *out)
{
    if (!lz_ssa_is(v->node, LZ_PRIM_CONSTANT))
        return false;
    const lz_ssa_attr *a = lz_ssa_attr_find(v->node, "value");
    *out = a ? a->value : lz_script_value_none();
    return true;
}

bool lz_ssa_const_int(const lz_ssa_value *v, int64_t *out)
{
    lz_script_value c;
    bool ok = lz_ssa_const(v, &c) && c.kind == LZ_SCRIPT_VALUE_INT;
    if (ok)
        *out = c.i;
    return ok;
}

lz_ssa_node *lz_ssa_skip(const lz_ssa_node *n)
{
    while (!n->next) { /* n is the ret of its block */
        const lz_ssa_block *b = n->block;
        if (!b->owner)
            return NULL;
        if (b->index + 1 < b->owner->nblocks)
            return lz_ssa_first(b->owner->blocks[b->index + 1]);
        n = b->owner;
    }
    return n->next;
}

lz_ssa_node *lz_ssa_next(const lz_ssa_node *n)
{
    return n->nblocks ? lz_ssa_first(n->blocks[0]) : lz_ssa_skip(n);
}

bool lz_ssa_within(const lz_ssa_block *b, const lz_ssa_block *outer)
{
    while (b != outer && b->owner)
        b = b->owner->block;
    return b == outer;
}

/* ---- changes ---- */

void lz_ssa_input_remove(lz_ssa_node *n, uint32_t i)
{
    unlink_use(&n->in[i]);
    for (n->nin--; i < n->nin; i++) {
        n->in[i] = n->in[i + 1];
        moved_use(&n->in[i]);
    }
}

void lz_ssa_output_remove(lz_ssa_node *n, uint32_t i)
{
    for (n->nout--; i < n->nout; i++) {
        n->out[i] = n->out[i + 1];
        n->out[i]->index = i;
    }
}

void lz_ssa_replace(lz_ssa_value *old, lz_ssa_value *now)
{
    lz_ssa_use *last = old->uses;
    if (old == now || !last)
        return;
    for (last->value = now; last->next; last->value = now)
        last = last->next;
    last->next = now->uses;
    if (now->uses)
        now->uses->prev = last;
    now->uses = old->uses;
    now->nuses += old->nuses;
    old->uses = NULL;
    old->nuses = 0;
}

static void drop_inputs(lz_ssa_node *n)
{
    for (uint32_t i = 0; i < n->nin; i++)
        unlink_use(&n->in[i]);
    n->nin = 0;
}

static void take_out(lz_ssa_node *n)
{
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->prev = n->next = NULL;
    n->block = NULL;
}

void lz_ssa_erase(lz_ssa_node *n)
{
    lz_ssa_node *end = lz_ssa_skip(n);
    for (lz_ssa_node *i = lz_ssa_next(n); n->nblocks && i != end; i = lz_ssa_next(i))
        drop_inputs(i);
    drop_inputs(n);
    take_out(n);
}

void lz_ssa_splice(lz_ssa_block *b, lz_ssa_node *at)
{
    lz_ssa_node *first = lz_ssa_first(b), *last = b->ret->prev;
    if (first == b->ret)
        return;
    for (lz_ssa_node *n = first; n != b->ret; n = n->next)
        n->block = at->block;
    b->param->next = b->ret;
    b->ret->prev = b->param;
    first->prev = at->prev;
    at->prev->next = first;
    last->next = at;
    at->prev = last;
}

size_t lz_graph_count(const lz_graph *g)
{
    size_t n = 0;
    for (const lz_ssa_node *i = lz_ssa_first(g->block); i; i = lz_ssa_next(i))
        n += i->next != NULL;
    return n;
}
