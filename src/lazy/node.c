#include "lazy/node.h"
#include "base/mem.h"
#include "lazy/data.h"
#include "lazy/pack.h"
#include "lazy/slab.h"
#include "op/op_table.h"
#include <string.h>

enum { CLASS_BYTES = 16, CLASSES = 64, FIRST_BUCKETS = 1024 };

struct lz_nodes {
    lz_nodes_used used;
    lz_slab classes[CLASSES]; /* by size, rounded up */
    lz_node **buckets;        /* of nodes that may be found again */
    size_t nbuckets, found;   /* nodes in them */
    uint64_t born;
};

/* ---- hashes ---- */

static inline lz_hash mix(lz_hash h, uint64_t v)
{
    h.lo = (h.lo ^ v) * UINT64_C(0x9fb21c651e98df25);
    h.lo ^= h.lo >> 32;
    h.hi = (h.hi + v) * UINT64_C(0xc2b2ae3d27d4eb4f);
    h.hi ^= h.hi >> 29;
    return h;
}

static lz_hash mix_words(lz_hash h, const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t v;
        memcpy(&v, (const char *)p + 8 * i, 8);
        h = mix(h, v);
    }
    return h;
}

lz_hash lz_node_form_hash(const lz_node_form *f)
{
    lz_hash h = mix((lz_hash){ 1, 2 }, (uint64_t)(f->op - lz_op_table));
    h = mix(h, (uint64_t)f->nslots << 32 | f->nfixed);
    h = mix_words(h, f->slots, f->nslots);
    h = mix_words(h, f->fixed, f->nfixed);
    for (uint32_t i = 0; i < f->nout; i++)
        h = mix(h, f->specs[i]->type_hash);
    return h;
}

static lz_hash hash_of(const lz_node_form *f, const lz_output *in)
{
    lz_hash h = f->hash;
    for (uint32_t i = 0; i < f->nin; i++) {
        h = mix(h, in[i].node ? in[i].node->hash.lo + in[i].index : 0);
        h.hi += in[i].node ? in[i].node->hash.hi : 0;
    }
    return mix(h, f->nin);
}

/* ---- memory ---- */

lz_err *lz_nodes_create(lz_nodes **out)
{
    lz_nodes *t = lz_mem_zalloc(1, sizeof *t);
    if (!t)
        return lz_err_oom();
    t->buckets = lz_mem_zalloc(FIRST_BUCKETS, sizeof(lz_node *));
    if (!t->buckets) {
        lz_mem_free(t);
        return lz_err_oom();
    }
    t->nbuckets = FIRST_BUCKETS;
    for (size_t i = 0; i < CLASSES; i++)
        lz_slab_init(&t->classes[i], (i + 1) * CLASS_BYTES);
    *out = t;
    return NULL;
}

void lz_nodes_destroy(lz_nodes *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < CLASSES; i++)
        lz_slab_deinit(&t->classes[i]);
    lz_mem_free(t->buckets);
    lz_mem_free(t);
}

void lz_nodes_trim(lz_nodes *t)
{
    for (size_t i = 0; i < CLASSES; i++)
        lz_slab_trim(&t->classes[i]);
}

uint64_t lz_nodes_born(const lz_nodes *t)
{
    return t->born;
}

static void *take(lz_nodes *t, size_t size)
{
    size_t k = (size - 1) / CLASS_BYTES;
    void *p = k < CLASSES ? lz_slab_take(&t->classes[k]) : lz_mem_alloc(size);
    t->used.live += p != NULL;
    t->used.bytes += p ? size : 0;
    return p;
}

static void give(lz_nodes *t, lz_node *n)
{
    size_t k = (n->size - 1) / CLASS_BYTES;
    t->used.live--;
    t->used.bytes -= n->size;
    if (k < CLASSES)
        lz_slab_give(&t->classes[k], n);
    else
        lz_mem_free(n);
}

/* ---- finding equal ones ---- */

/* The hash tells structures apart; which nodes the operands are tells those of one structure. */
static lz_node **bucket_of(const lz_nodes *t, lz_hash h, const lz_output *in, uint32_t nin)
{
    uint64_t at = h.lo;
    for (uint32_t i = 0; i < nin; i++)
        at = (at ^ (uintptr_t)in[i].node >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    return &t->buckets[(at ^ at >> 32) & (t->nbuckets - 1)];
}

static bool same(const lz_node *n, const lz_node_form *f, lz_hash hash, const lz_output *in)
{
    bool eq = lz_hash_eq(n->hash, hash) && n->op == f->op && n->nin == f->nin && n->nargs == f->nslots
              && n->nfixed == f->nfixed && memcmp(n->args, f->slots, f->nslots * sizeof *f->slots) == 0
              && (f->nfixed == 0 || memcmp(n->fixed, f->fixed, f->nfixed * sizeof *f->fixed) == 0);
    for (uint32_t i = 0; eq && i < f->nin; i++)
        eq = n->in[i].node == in[i].node && n->in[i].index == in[i].index;
    return eq;
}

/* A table that cannot grow only becomes slower. */
static void grow(lz_nodes *t)
{
    size_t n = t->nbuckets * 4;
    lz_node **buckets = lz_mem_zalloc(n, sizeof *buckets), **old = t->buckets;
    size_t nold = t->nbuckets;
    if (!buckets)
        return;
    t->buckets = buckets;
    t->nbuckets = n;
    for (size_t i = 0; i < nold; i++)
        for (lz_node *x = old[i], *next; x; x = next) {
            lz_node **to = bucket_of(t, x->hash, x->in, x->nin);
            next = x->chain;
            x->chain = *to;
            *to = x;
        }
    lz_mem_free(old);
}

static void forget(lz_nodes *t, lz_node *n)
{
    lz_node **p = bucket_of(t, n->hash, n->in, n->nin);
    while (*p != n)
        p = &(*p)->chain;
    *p = n->chain;
    t->found--;
}

static bool can_be_found(const lz_node *n)
{
    return n->op && n->nnumbers == 0;
}

/* ---- making ---- */

static inline void *copy(uint64_t **to, const void *from, size_t bytes)
{
    uint64_t *start = *to;
    *to = lz_copy_words(start, from, bytes / sizeof *start);
    return start;
}

static lz_node *build(lz_nodes *t, const lz_node_form *f, const lz_output *in, const lz_scalar *numbers)
{
    size_t size = sizeof(lz_node) + f->nslots * sizeof(lz_slot) + f->nin * sizeof *in
                  + f->nnumbers * sizeof *numbers + f->nfixed * sizeof *f->fixed + f->nout * sizeof *f->specs;
    lz_node *n = take(t, size);
    if (!n)
        return NULL;
    /* One by one: clearing all of it first is what a small node spends most time on. */
    n->op = f->op;
    n->chain = NULL;
    n->refs = 1;
    n->mark = n->index = 0;
    n->born = ++t->born;
    n->nargs = f->nslots;
    n->nin = f->nin;
    n->nnumbers = f->nnumbers;
    n->nout = f->nout;
    n->size = (uint32_t)size;
    n->nfixed = f->nfixed;
    uint64_t *at = (uint64_t *)(n + 1);
    n->numbers = copy(&at, numbers, f->nnumbers * sizeof *numbers);
    n->in = copy(&at, in, f->nin * sizeof *in);
    n->args = copy(&at, f->slots, f->nslots * sizeof *f->slots);
    n->specs = copy(&at, f->specs, f->nout * sizeof *f->specs);
    n->fixed = copy(&at, f->fixed, f->nfixed * sizeof *f->fixed);
    uint32_t depth = 0;
    for (uint32_t i = 0; i < f->nin; i++) {
        if (!in[i].node)
            continue;
        lz_node_retain((lz_node *)in[i].node);
        depth = depth > in[i].node->depth ? depth : in[i].node->depth + 1U;
    }
    n->depth = depth & INT32_MAX;
    n->passed = false;
    return n;
}

lz_err *lz_node_make(lz_nodes *t, const lz_node_form *f, const lz_output *in, const lz_scalar *numbers,
                     lz_loc at, const char *scope, lz_node **out)
{
    lz_hash hash = hash_of(f, in);
    lz_node **bucket = f->nnumbers == 0 ? bucket_of(t, hash, in, f->nin) : NULL;
    lz_node *n = bucket ? *bucket : NULL;
    while (n && !same(n, f, hash, in))
        n = n->chain;
    if (n) {
        *out = lz_node_retain(n);
        return NULL;
    }
    *out = n = build(t, f, in, numbers);
    if (!n)
        return lz_err_oom();
    n->hash = hash;
    n->at = at;
    n->scope = scope;
    if (!bucket)
        return NULL;
    if (++t->found > t->nbuckets) {
        grow(t);
        bucket = bucket_of(t, hash, in, f->nin);
    }
    n->chain = *bucket;
    *bucket = n;
    return NULL;
}

lz_err *lz_node_data(lz_nodes *t, lz_data *d, const lz_spec *s, lz_loc at, lz_node **out)
{
    const lz_spec **specs;
    lz_node *n = take(t, sizeof *n + sizeof *specs);
    if (!n)
        return lz_err_oom();
    specs = (const lz_spec **)(n + 1);
    specs[0] = s;
    *n = (lz_node){ .hash = mix((lz_hash){ 3, 4 }, s->type_hash),
                    .data = d,
                    .at = at,
                    .refs = 1,
                    .born = ++t->born,
                    .nout = 1,
                    .size = (uint32_t)(sizeof *n + sizeof *specs),
                    .specs = specs };
    *out = n;
    return NULL;
}

lz_err *lz_node_op_create(lz_nodes *t, const lz_op_row *op, const lz_value *args, const lz_output *in,
                          size_t nin, const lz_spec *const *specs, size_t nout, lz_loc at, lz_node **out)
{
    lz_call c;
    lz_call_init(&c);
    lz_err *e = lz_call_pack(&c, op, args, false);
    if (!e && (c.tensors.len != nin || nin > UINT16_MAX || nout > UINT16_MAX))
        e = lz_errf(LZ_ERR_ARG, "%s: %zu operands where the arguments say %zu", op->name, nin, c.tensors.len);
    if (!e) {
        lz_node_form f = { .op = op,
                           .slots = c.slots,
                           .fixed = c.words.data,
                           .specs = specs,
                           .nfixed = (uint32_t)c.words.len,
                           .nslots = (uint16_t)c.nslots,
                           .nin = (uint16_t)nin,
                           .nnumbers = (uint16_t)c.nnumbers,
                           .nout = (uint16_t)nout };
        f.hash = lz_node_form_hash(&f);
        e = lz_node_make(t, &f, in, c.numbers, at, NULL, out);
    }
    lz_call_deinit(&c);
    return e;
}

/* ---- letting go ---- */

/* Out of its bucket and onto the list of those that go, which runs over `chain`. */
static lz_node *doom(lz_nodes *t, lz_node *n, lz_node *rest)
{
    if (can_be_found(n))
        forget(t, n);
    n->chain = rest;
    return n;
}

static lz_node *dismantle(lz_nodes *t, lz_node *n, lz_node *rest)
{
    if (!n->op)
        lz_data_release(n->data);
    for (uint32_t i = 0; i < n->nin; i++) {
        lz_node *x = (lz_node *)n->in[i].node;
        if (x && --x->refs == 0)
            rest = doom(t, x, rest);
    }
    return rest;
}

void lz_node_release(lz_nodes *t, lz_node *n)
{
    if (!n || --n->refs > 0)
        return;
    for (lz_node *list = doom(t, n, NULL); list;) {
        n = list;
        list = dismantle(t, n, n->chain);
        give(t, n);
    }
}

/* ---- what backends ask ---- */

lz_node_kind lz_node_kind_of(const lz_node *n)
{
    return n->op ? LZ_NODE_OP : LZ_NODE_DATA;
}

const lz_op_row *lz_node_op(const lz_node *n)
{
    return n->op;
}

lz_node_arg lz_node_arg_get(const lz_node *n, size_t i)
{
    lz_node_arg a = { .kind = LZ_ARG_NONE };
    if (i >= n->nargs)
        return a;
    const lz_slot *s = &n->args[i];
    a.kind = (lz_arg_kind)s->kind;
    if (a.kind == LZ_ARG_VALUE)
        a.value = lz_unpack(n->fixed, s->first);
    a.number = s->first;
    a.scalar = (lz_scalar_kind)s->scalar;
    if (a.kind == LZ_ARG_TENSOR || a.kind == LZ_ARG_TENSORS) {
        a.tensors = n->in + s->first;
        a.n = s->n;
    }
    return a;
}

size_t lz_node_operands(const lz_node *n, const lz_output **out)
{
    *out = n->in;
    return n->nin;
}

size_t lz_node_numbers(const lz_node *n)
{
    return n->nnumbers;
}

size_t lz_node_outputs(const lz_node *n)
{
    return n->nout;
}

lz_data_type lz_node_type(const lz_node *n, size_t output)
{
    const lz_spec *s = n->specs[output];
    return (lz_data_type){ (lz_dtype)s->dtype, lz_spec_sizes(s) };
}

lz_loc lz_node_loc(const lz_node *n)
{
    return n->at;
}

const char *lz_node_scope(const lz_node *n)
{
    return n->scope ? n->scope : "";
}
