#include "autograd/tape.h"
#include "autograd/checkpoint.h"
#include "autograd/function.h"
#include "autograd/grad_table.h"
#include "base/mem.h"
#include <string.h>

/* ---- nodes ---- */

enum { ALIGN = 16 };

static size_t padded(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

lz_err *lz_gnode_alloc(lz_tape *t, lz_gkind kind, size_t more, lz_gnode **out)
{
    size_t own = padded(sizeof **out);
    lz_gnode *n = lz_mem_alloc(own + more);
    if (!n)
        return lz_err_oom();
    memset(n, 0, sizeof *n);
    n->refs = 1;
    n->kind = (uint8_t)kind;
    n->tape = t;
    n->seq = ++t->seq;
    n->prev = t->last;
    *(t->last ? &t->last->next : &t->first) = n;
    t->last = n;
    *out = n;
    return NULL;
}

lz_gnode *lz_gnode_retain(lz_gnode *n)
{
    if (n)
        n->refs++;
    return n;
}

/* NOLINTNEXTLINE(misc-no-recursion): while one node is freed, others wait */
static void free_hooks(lz_ghook **list)
{
    while (*list) {
        lz_ghook *h = *list;
        *list = h->next;
        lz_meta_release(h->meta);
        lz_mem_free(h);
    }
}

const char *lz_gnode_name(const lz_gnode *n)
{
    return n->kind == LZ_GNODE_FUNCTION ? n->fn->f.name : lz_op_table[n->op].name;
}

void lz_gnode_spend(lz_gnode *n)
{
    lz_checkpoint_forget(n);
    if (n->kind == LZ_GNODE_FUNCTION && n->fn)
        n->spent = lz_function_spend(n->fn) || n->spent;
    for (uint32_t i = 0; n->items && i < n->nin + n->nout; i++) {
        lz_alias *a = n->items[i].alias;
        n->items[i].alias = NULL;
        n->spent = n->spent || a;
        if (a)
            lz_alias_release(a);
    }
}

/* All that it leads to. NOLINTNEXTLINE(misc-no-recursion): while one node is freed, others wait */
static void cut_off(lz_gnode *n)
{
    lz_gnode_spend(n);
    free_hooks(&n->hooks);
    for (uint32_t i = 0; n->edges && i < n->nin; i++) {
        lz_gnode_release(n->edges[i].node);
        n->edges[i].node = NULL;
    }
    if (n->kind == LZ_GNODE_FUNCTION && n->fn) {
        lz_function_free(n->fn);
        n->fn = NULL;
    }
    if (n->kind == LZ_GNODE_LEAF && n->meta) {
        n->meta->leaf = NULL;
        lz_meta_release(n->meta);
        n->meta = NULL;
    }
}

/* What only a node held waits in a list until those before it are gone.
 * NOLINTNEXTLINE(misc-no-recursion): so this goes one step deep */
void lz_gnode_release(lz_gnode *n)
{
    if (!n || --n->refs > 0)
        return;
    lz_tape *t = n->tape;
    *(n->prev ? &n->prev->next : &t->first) = n->next;
    *(n->next ? &n->next->prev : &t->last) = n->prev;
    n->next = t->dead;
    t->dead = n;
    if (t->freeing)
        return;
    t->freeing = true;
    while (t->dead) {
        lz_gnode *x = t->dead;
        t->dead = x->next;
        cut_off(x);
        lz_mem_free(x);
    }
    t->freeing = false;
}

/* ---- nodes of calls ---- */

/* What a node's block has room for. */
typedef struct layout {
    lz_tape *tape;
    uint16_t op;
    uint32_t nargs, nresults, nin, nout;
    size_t more; /* bytes of lists and texts */
    const lz_value *in, *out;
} layout;

static size_t items_of(const lz_value *v)
{
    if (v->kind == LZ_KIND_TENSORS)
        return v->tensors.n > 0 ? (size_t)v->tensors.n : 0;
    return v->kind == LZ_KIND_TENSOR;
}

/* Bytes that a value has outside of itself. */
static size_t outside(const lz_value *v, const void **at)
{
    switch (v->kind) {
    case LZ_KIND_INTS:
        *at = v->ints.v;
        return v->ints.n > 0 ? (size_t)v->ints.n * sizeof *v->ints.v : 0;
    case LZ_KIND_FLOATS:
        *at = v->floats.v;
        return v->floats.n > 0 ? (size_t)v->floats.n * sizeof *v->floats.v : 0;
    case LZ_KIND_BOOLS:
        *at = v->bools.v;
        return v->bools.n > 0 ? (size_t)v->bools.n * sizeof *v->bools.v : 0;
    case LZ_KIND_SCALARS:
        *at = v->scalars.v;
        return v->scalars.n > 0 ? (size_t)v->scalars.n * sizeof *v->scalars.v : 0;
    case LZ_KIND_STR:
        *at = v->str;
        return v->str ? strlen(v->str) + 1 : 0;
    default:
        return 0;
    }
}

static void measure(layout *l)
{
    const void *at;
    for (uint32_t i = 0; i < l->nargs; i++) {
        l->nin += (uint32_t)items_of(&l->in[i]);
        l->more += padded(outside(&l->in[i], &at));
    }
    for (uint32_t i = 0; i < l->nresults; i++)
        l->nout += (uint32_t)items_of(&l->out[i]);
}

static void copy_value(const lz_value *v, char **room, lz_value *out)
{
    const void *from = NULL;
    size_t n = outside(v, &from);
    *out = *v;
    if (n == 0)
        return;
    memcpy(*room, from, n);
    if (v->kind == LZ_KIND_STR)
        out->str = *room;
    else if (v->kind == LZ_KIND_INTS)
        out->ints.v = (const int64_t *)(void *)*room;
    else if (v->kind == LZ_KIND_FLOATS)
        out->floats.v = (const double *)(void *)*room;
    else if (v->kind == LZ_KIND_BOOLS)
        out->bools.v = (const bool *)(void *)*room;
    else
        out->scalars.v = (const lz_scalar *)(void *)*room;
    *room += padded(n);
}

static void keep_item(const lz_tensor *t, bool whole, lz_gitem *out)
{
    *out = (lz_gitem){ .spec = t ? t->spec : NULL };
    if (!t || !t->alias || !whole)
        return;
    out->alias = t->alias;
    out->offset = t->offset;
    out->writes = t->alias->writes;
    t->alias->refs++;
}

static lz_gitem *keep_items(const lz_value *v, bool whole, lz_gitem *to)
{
    if (v->kind == LZ_KIND_TENSOR)
        keep_item(v->tensor, whole, to++);
    for (int64_t i = 0; v->kind == LZ_KIND_TENSORS && i < v->tensors.n; i++)
        keep_item(v->tensors.v[i], whole, to++);
    return to;
}

static void fill_node(const layout *l, uint64_t whole, const lz_gedge *edges, lz_gnode *n)
{
    uint32_t nvalues = l->nargs + l->nresults, nitems = l->nin + l->nout;
    char *room = (char *)n + padded(sizeof *n);
    n->op = l->op;
    n->nargs = l->nargs;
    n->nresults = l->nresults;
    n->nin = l->nin;
    n->nout = l->nout;
    n->values = (lz_value *)(void *)room;
    room += padded(nvalues * sizeof *n->values);
    n->items = (lz_gitem *)(void *)room;
    room += padded(nitems * sizeof *n->items);
    n->edges = (lz_gedge *)(void *)room;
    room += padded(n->nin * sizeof *n->edges);
    lz_gitem *to = n->items;
    for (uint32_t i = 0; i < nvalues; i++) {
        const lz_value *v = i < l->nargs ? &l->in[i] : &l->out[i - l->nargs];
        to = keep_items(v, whole >> i & 1, to);
        if (i < l->nargs)
            copy_value(v, &room, &n->values[i]);
        else
            n->values[i] = *v;
    }
    for (uint32_t i = 0; i < n->nin; i++)
        n->edges[i] = edges[i];
}

void lz_edges_release(const lz_gedge *edges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lz_gnode_release(edges[i].node);
}

lz_err *lz_gnode_of_call(lz_tape *t, uint16_t op, lz_loc at, const lz_value *in, const lz_value *out,
                         uint64_t wanted, const lz_gedge *edges, size_t nedges, lz_gnode **node)
{
    layout l = { .tape = t, .op = op, .in = in, .out = out };
    l.nargs = (uint32_t)lz_grad_nargs(op);
    l.nresults = lz_op_table[op].nreturns;
    measure(&l);
    size_t room = padded((l.nargs + l.nresults) * sizeof(lz_value))
                  + padded((l.nin + l.nout) * sizeof(lz_gitem)) + padded(l.nin * sizeof(lz_gedge)) + l.more;
    lz_err *e = lz_gnode_alloc(t, LZ_GNODE_OP, room, node);
    if (e) {
        lz_edges_release(edges, nedges);
        return e;
    }
    (*node)->at = at;
    (*node)->wanted = wanted;
    fill_node(&l, t->keeps_all ? UINT64_MAX : lz_grad_keeps(op, wanted).whole, edges, *node);
    return NULL;
}

/* ---- what is known of tensors ---- */

lz_grad_meta *lz_meta_retain(lz_grad_meta *m)
{
    m->refs++;
    return m;
}

/* NOLINTNEXTLINE(misc-no-recursion): while one node is freed, others wait */
void lz_meta_release(lz_grad_meta *m)
{
    if (!m || --m->refs > 0)
        return;
    lz_gnode_release(m->fn.node);
    lz_release(m->grad);
    free_hooks(&m->hooks);
    lz_mem_free(m);
}

void lz_meta_set_fn(lz_grad_meta *m, lz_gedge e)
{
    lz_gnode *old = m->fn.node;
    m->fn = e;
    lz_gnode_release(old);
}

lz_err *lz_meta_create(lz_ctx *c, uint32_t family, lz_grad_meta **out)
{
    lz_grad_meta *m = lz_mem_zalloc(1, sizeof *m);
    if (!m)
        return lz_err_oom();
    m->refs = 1;
    m->ctx = c;
    m->family = family;
    *out = m;
    return NULL;
}

void lz_meta_make_base(lz_grad_meta *m, lz_alias *a)
{
    m->next = a->bases;
    a->bases = lz_meta_retain(m);
}

lz_err *lz_meta_of(lz_tensor *t, lz_grad_meta **out)
{
    if (!t->meta) {
        LZ_TRY(lz_meta_create(t->ctx, t->family, &t->meta));
        t->meta->t = t;
        if (!(t->made & LZ_MADE_VIEW))
            lz_meta_make_base(t->meta, t->alias);
    }
    *out = t->meta;
    return NULL;
}

/* ---- recorders ---- */

typedef struct lz_spare {
    struct lz_spare *next;
    lz_recorder r;
} spare;

lz_err *lz_tape_recorder(lz_tape *t, lz_loc at, lz_recorder **out)
{
    spare *s = t->spare;
    if (s) {
        t->spare = s->next;
        s->r.at = at;
    } else {
        s = lz_mem_alloc(sizeof *s);
        if (!s)
            return lz_err_oom();
        lz_recorder_init(&s->r, t->ctx, at);
    }
    *out = &s->r;
    return NULL;
}

void lz_tape_recorder_done(lz_tape *t, lz_recorder *r)
{
    spare *s = (spare *)(void *)((char *)r - offsetof(spare, r));
    lz_recorder_clear(r);
    s->next = t->spare;
    t->spare = s;
}

static void free_spare(lz_tape *t)
{
    while (t->spare) {
        spare *s = t->spare;
        t->spare = s->next;
        lz_recorder_deinit(&s->r);
        lz_mem_free(s);
    }
}

/* ---- hooks of the recorder ---- */

static void drop_tensor(lz_tensor *t)
{
    lz_grad_meta *m = t->meta;
    t->meta = NULL;
    m->t = NULL;
    m->spec = t->spec;
    m->offset = t->offset;
    lz_meta_release(m);
}

static void drop_storage(lz_alias *a)
{
    while (a->bases) {
        lz_grad_meta *m = a->bases;
        a->bases = m->next;
        m->next = NULL;
        lz_meta_release(m);
    }
}

/* Nothing is kept from here on; tensors go next. */
static void close_tape(lz_ctx *c)
{
    lz_tape *t = c->tape;
    for (lz_gnode *n = t->first; n; n = n->next)
        n->refs++;
    for (lz_gnode *n = t->first; n; n = n->next)
        cut_off(n);
    for (lz_gnode *n = t->first, *next; n; n = next) {
        next = n->next;
        lz_gnode_release(n);
    }
}

static void free_tape(lz_ctx *c)
{
    free_spare(c->tape);
    lz_checkpoints_close(c->tape);
    lz_mem_free(c->tape);
    c->tape = NULL;
}

static const lz_tape_hooks hooks = { lz_tape_record, lz_grad_required, drop_tensor,
                                     drop_storage,   close_tape,       free_tape };

lz_err *lz_tape_of(lz_ctx *c, lz_tape **out)
{
    if (!c->tape) {
        lz_tape *t = lz_mem_zalloc(1, sizeof *t);
        if (!t)
            return lz_err_oom();
        t->ctx = c;
        c->tape = t;
        c->tape_hooks = &hooks;
    }
    *out = c->tape;
    return NULL;
}
