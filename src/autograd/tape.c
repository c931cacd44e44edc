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

lz_err *lz_tape_node_alloc(lz_tape *t, lz_tape_node_kind kind, size_t more, lz_tape_node **out)
{
    size_t own = padded(sizeof **out);
    lz_tape_node *n = lz_mem_alloc(own + more);
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

lz_tape_node *lz_tape_node_retain(lz_tape_node *n)
{
    if (n)
        n->refs++;
    return n;
}

/* NOLINTNEXTLINE(misc-no-recursion): lz_tape_node_release lists nodes instead of freeing them recursively */
static void free_hooks(lz_tape_hook **list)
{
    while (*list) {
        lz_tape_hook *h = *list;
        *list = h->next;
        lz_meta_release(h->meta);
        lz_mem_free(h);
    }
}

const char *lz_tape_node_name(const lz_tape_node *n)
{
    return n->kind == LZ_TAPE_NODE_FUNCTION ? n->fn->f.name : lz_op_table[n->op].name;
}

void lz_tape_node_free_saved_values(lz_tape_node *n)
{
    lz_checkpoint_forget(n);
    if (n->kind == LZ_TAPE_NODE_FUNCTION && n->fn && lz_function_free_saved_values(n->fn))
        n->freed_saved_values = true;
    for (uint32_t i = 0; n->items && i < n->nin + n->nout; i++) {
        if (n->items[i].storage)
            n->freed_saved_values = true;
        lz_saved_drop(&n->items[i]);
    }
}

/* Releases all that n refers to. NOLINTNEXTLINE(misc-no-recursion): lz_tape_node_release lists nodes */
static void cut_off(lz_tape_node *n)
{
    lz_tape_node_free_saved_values(n);
    free_hooks(&n->hooks);
    for (uint32_t i = 0; n->edges && i < n->nin; i++) {
        lz_tape_node_release(n->edges[i].node);
        n->edges[i].node = NULL;
    }
    if (n->kind == LZ_TAPE_NODE_FUNCTION && n->fn) {
        lz_function_free(n->fn);
        n->fn = NULL;
    }
    if (n->kind == LZ_TAPE_NODE_LEAF && n->meta) {
        n->meta->leaf = NULL;
        lz_meta_release(n->meta);
        n->meta = NULL;
    }
}

/* Nodes that lose their last count while another node is freed wait in t->dead.
 * NOLINTNEXTLINE(misc-no-recursion): so the recursion is one step deep */
void lz_tape_node_release(lz_tape_node *n)
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
        lz_tape_node *x = t->dead;
        t->dead = x->next;
        cut_off(x);
        lz_mem_free(x);
    }
    t->freeing = false;
}

/* ---- nodes of calls ---- */

/* The parts of a node's block. */
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

/* The bytes that a value refers to outside of itself. */
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

static lz_saved *save_items(const lz_value *v, bool whole, lz_saved *to)
{
    if (v->kind == LZ_KIND_TENSOR)
        lz_saved_init(to++, v->tensor, whole);
    for (int64_t i = 0; v->kind == LZ_KIND_TENSORS && i < v->tensors.n; i++)
        lz_saved_init(to++, v->tensors.v[i], whole);
    return to;
}

static void fill_node(const layout *l, uint64_t whole, const lz_tape_edge *edges, lz_tape_node *n)
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
    n->items = (lz_saved *)(void *)room;
    room += padded(nitems * sizeof *n->items);
    n->edges = (lz_tape_edge *)(void *)room;
    room += padded(n->nin * sizeof *n->edges);
    lz_saved *to = n->items;
    for (uint32_t i = 0; i < nvalues; i++) {
        const lz_value *v = i < l->nargs ? &l->in[i] : &l->out[i - l->nargs];
        to = save_items(v, whole >> i & 1, to);
        if (i < l->nargs)
            copy_value(v, &room, &n->values[i]);
        else
            n->values[i] = *v;
    }
    for (uint32_t i = 0; i < n->nin; i++)
        n->edges[i] = edges[i];
}

void lz_edges_release(const lz_tape_edge *edges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lz_tape_node_release(edges[i].node);
}

lz_err *lz_tape_node_of_call(lz_tape *t, uint16_t op, lz_loc at, const lz_value *in, const lz_value *out,
                             uint64_t wanted, const lz_tape_edge *edges, size_t nedges, lz_tape_node **node)
{
    layout l = { .tape = t, .op = op, .in = in, .out = out };
    l.nargs = (uint32_t)lz_grad_nargs(op);
    l.nresults = lz_op_table[op].nreturns;
    measure(&l);
    size_t room = padded((l.nargs + l.nresults) * sizeof(lz_value))
                  + padded((l.nin + l.nout) * sizeof(lz_saved)) + padded(l.nin * sizeof(lz_tape_edge))
                  + l.more;
    lz_err *e = lz_tape_node_alloc(t, LZ_TAPE_NODE_OP, room, node);
    if (e) {
        lz_edges_release(edges, nedges);
        return e;
    }
    (*node)->at = at;
    (*node)->wanted = wanted;
    fill_node(&l, t->keeps_all ? UINT64_MAX : lz_grad_keeps(op, wanted).whole, edges, *node);
    return NULL;
}

/* ---- attachments of tensors ---- */

lz_grad_meta *lz_meta_retain(lz_grad_meta *m)
{
    m->base.refs++;
    return m;
}

void lz_meta_release(lz_grad_meta *m)
{
    if (m)
        lz_attachment_release(&m->base);
}

static void free_meta(lz_attachment *a)
{
    lz_grad_meta *m = (lz_grad_meta *)(void *)a;
    lz_tape_node_release(m->fn.node);
    lz_release(m->grad);
    free_hooks(&m->hooks);
    lz_mem_free(m);
}

void lz_meta_set_fn(lz_grad_meta *m, lz_tape_edge e)
{
    lz_tape_node *old = m->fn.node;
    m->fn = e;
    lz_tape_node_release(old);
}

lz_err *lz_meta_create(const lz_tensor *t, lz_grad_meta **out)
{
    lz_grad_meta *m = lz_mem_zalloc(1, sizeof *m);
    if (!m)
        return lz_err_oom();
    m->base = (lz_attachment){ .refs = 1, .history = lz_tensor_slot(t)->history, .free = free_meta };
    m->ctx = lz_tensor_ctx(t);
    *out = m;
    return NULL;
}

lz_err *lz_meta_of(lz_tensor *t, lz_grad_meta **out)
{
    *out = lz_meta_at(t);
    if (*out)
        return NULL;
    LZ_TRY(lz_meta_create(t, out));
    lz_tensor_attach(t, &(*out)->base);
    if (!(lz_tensor_slot(t)->creation & LZ_CREATED_VIEW))
        lz_tensor_attach_base(t, &(*out)->base);
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

/* ---- the tape of a context ---- */

/* Cuts all nodes off, because tensors are freed next. */
static void close_tape(lz_ctx *c)
{
    const lz_tape *t = lz_ctx_tape(c);
    for (lz_tape_node *n = t->first; n; n = n->next)
        n->refs++;
    for (lz_tape_node *n = t->first; n; n = n->next)
        cut_off(n);
    for (lz_tape_node *n = t->first, *next; n; n = next) {
        next = n->next;
        lz_tape_node_release(n);
    }
}

static void free_tape(lz_ctx *c)
{
    lz_tape *t = lz_ctx_tape(c);
    free_spare(t);
    lz_checkpoints_close(t);
    lz_mem_free(t);
    lz_ctx_set_tape(c, NULL, NULL);
}

static const lz_tape_hooks hooks = { lz_tape_record, close_tape, free_tape };

lz_err *lz_tape_of(lz_ctx *c, lz_tape **out)
{
    *out = lz_ctx_tape(c);
    if (*out)
        return NULL;
    *out = lz_mem_zalloc(1, sizeof **out);
    if (!*out)
        return lz_err_oom();
    (*out)->ctx = c;
    lz_ctx_set_tape(c, *out, &hooks);
    return NULL;
}
