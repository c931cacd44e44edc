#include "lazy/node.h"
#include "base/mem.h"
#include "lazy/data.h"
#include "lazy/pack.h"
#include "lazy/slab.h"
#include "op/op_table.h"
#include <assert.h>
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

static lz_hash form_hash(const lz_node_form *f)
{
    lz_hash h = mix((lz_hash){ 1, 2 }, (uint64_t)(f->op - lz_op_table));
    h = mix(h, (uint64_t)f->nslots << 32 | f->nfixed);
    h = mix_words(h, f->slots, f->nslots);
    h = mix_words(h, f->fixed, f->nfixed);
    for (uint32_t i = 0; i < f->nout; i++)
        h = mix(h, f->specs[i]->type_hash);
    return h;
}

/* The hash of a node, and that of what it is found by: the hash tells structures apart, and which nodes the
 * operands are tells those of one structure. */
static inline lz_hash hash_of(const lz_node_form *f, const lz_output *in, uint32_t *bucket)
{
    lz_hash h = f->hash;
    uint64_t at = 0;
    for (uint32_t i = 0; i < f->nin; i++) {
        const lz_node *x = in[i].node;
        h = mix(h, x ? x->hash.lo + in[i].index : 0);
        h.hi += x ? x->hash.hi : 0;
        at = (at ^ (uintptr_t)x >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    }
    h = mix(h, f->nin);
    at ^= h.lo;
    *bucket = (uint32_t)(at ^ at >> 32);
    return h;
}

/* ---- forms ---- */

static inline bool is_joined(const lz_node_form *f)
{
    return (const char *)f->specs == (const char *)(f->slots + f->nslots)
           && (const char *)f->fixed == (const char *)(f->specs + f->nout);
}

void lz_node_form_join(lz_node_form *f, void *words)
{
    lz_slot *slots = words;
    const lz_spec **specs = (const lz_spec **)(void *)(slots + f->nslots);
    uint64_t *fixed = (uint64_t *)(void *)(specs + f->nout);
    if (f->nslots)
        memcpy(slots, f->slots, f->nslots * sizeof *slots);
    if (f->nout)
        memcpy((void *)specs, (const void *)f->specs, f->nout * sizeof *specs);
    if (f->nfixed)
        memcpy(fixed, f->fixed, f->nfixed * sizeof *fixed);
    fixed[f->nfixed] = 0;
    f->slots = slots;
    f->specs = specs;
    f->fixed = fixed;
}

void lz_node_form_finish(lz_node_form *f)
{
    assert(is_joined(f));
    f->size = (uint32_t)((sizeof(lz_node) + f->nin * sizeof(lz_output) + f->nnumbers * sizeof(lz_scalar)
                          + lz_node_form_words(f) * sizeof(uint64_t))
                         / CLASS_BYTES * CLASS_BYTES);
    f->hash = form_hash(f);
    f->op_number = (uint16_t)(f->op - lz_op_table);
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

static inline void *take(lz_nodes *t, size_t size)
{
    size_t k = (size - 1) / CLASS_BYTES;
    void *p = k < CLASSES ? lz_slab_take(&t->classes[k]) : lz_mem_alloc(size);
    if (!p)
        return NULL;
    t->used.live++;
    t->used.bytes += size;
    return p;
}

/* The caller takes it off t->used. */
static inline void give(lz_nodes *t, lz_node *n)
{
    size_t k = (n->size - 1) / CLASS_BYTES;
    if (k < CLASSES)
        lz_slab_give(&t->classes[k], n);
    else
        lz_mem_free(n);
}

/* ---- finding equal ones ---- */

static inline lz_node **bucket_of(const lz_nodes *t, uint32_t hash)
{
    return &t->buckets[hash & (t->nbuckets - 1)];
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
            lz_node **to = bucket_of(t, x->bucket);
            next = x->chain;
            x->chain = *to;
            *to = x;
        }
    lz_mem_free(old);
}

static inline void forget(lz_nodes *t, lz_node *n)
{
    lz_node **p = bucket_of(t, n->bucket);
    while (*p != n)
        p = &(*p)->chain;
    *p = n->chain;
    t->found--;
}

static inline bool can_be_found(const lz_node *n)
{
    return n->op && n->nnumbers == 0;
}

/* ---- making ---- */

/* Pairs of words: nodes are multiples of 16 bytes, and so are the parts in front of the form's words. The
 * barrier keeps the compiler from calling memcpy, which takes longer. */
static inline void copy_pairs(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += CLASS_BYTES) {
        memcpy((char *)to + i, (const char *)from + i, CLASS_BYTES);
        __asm__ volatile("" : : : "memory");
    }
}

/* One by one: clearing all of it first is what a small node spends most time on. */
static inline lz_node *build(lz_nodes *t, const lz_node_form *f, const lz_output *in,
                             const lz_scalar *numbers)
{
    static_assert(sizeof(lz_node) % CLASS_BYTES == 0 && sizeof *in % CLASS_BYTES == 0
                      && sizeof *numbers % CLASS_BYTES == 0,
                  "copied in pairs of words");
    lz_node *n = take(t, f->size);
    if (!n)
        return NULL;
    assert(is_joined(f));
    lz_output *operands = (lz_output *)(n + 1);
    lz_scalar *own_numbers = (lz_scalar *)(operands + f->nin);
    lz_slot *slots = (lz_slot *)(own_numbers + f->nnumbers);
    uint32_t depth = 0;
    for (uint32_t i = 0; i < f->nin; i++) {
        lz_node *x = (lz_node *)in[i].node;
        operands[i] = in[i];
        if (!x)
            continue;
        x->refs++;
        depth = depth > x->depth ? depth : x->depth + 1U;
    }
    copy_pairs(own_numbers, numbers, f->nnumbers * sizeof *numbers);
    copy_pairs(slots, f->slots, (size_t)((char *)n + f->size - (char *)slots));
    n->op = f->op;
    n->chain = NULL;
    n->born = ++t->born;
    n->refs = 1;
    n->mark = n->index = 0;
    n->size = f->size;
    n->nargs = f->nslots;
    n->nout = f->nout;
    n->nin = f->nin;
    n->op_number = f->op_number;
    n->nfixed = f->nfixed;
    n->nnumbers = f->nnumbers;
    n->depth = depth & INT32_MAX;
    n->passed = false;
    n->in = operands;
    n->numbers = own_numbers;
    n->args = slots;
    n->specs = (const lz_spec *const *)(slots + f->nslots);
    n->fixed = (const uint64_t *)(n->specs + f->nout);
    return n;
}

static lz_node *find(const lz_nodes *t, const lz_node_form *f, lz_hash hash, uint32_t bucket,
                     const lz_output *in)
{
    lz_node *n = *bucket_of(t, bucket);
    while (n && !same(n, f, hash, in))
        n = n->chain;
    return n;
}

static inline void remember(lz_nodes *t, lz_node *n)
{
    if (++t->found > t->nbuckets)
        grow(t);
    lz_node **bucket = bucket_of(t, n->bucket);
    n->chain = *bucket;
    *bucket = n;
}

lz_err *lz_node_make(lz_nodes *t, const lz_node_form *f, const lz_output *in, const lz_scalar *numbers,
                     lz_loc at, const char *scope, lz_node **out)
{
    uint32_t bucket;
    lz_hash hash = hash_of(f, in, &bucket);
    lz_node *n = f->nnumbers == 0 ? find(t, f, hash, bucket, in) : NULL;
    if (n) {
        *out = lz_node_retain(n);
        return NULL;
    }
    *out = n = build(t, f, in, numbers);
    if (!n)
        return lz_err_oom();
    n->hash = hash;
    n->bucket = bucket;
    n->at = at;
    n->scope = scope;
    if (f->nnumbers == 0)
        remember(t, n);
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
        void *words = lz_mem_alloc(lz_node_form_words(&f) * sizeof(uint64_t));
        e = words ? NULL : lz_err_oom();
        if (!e) {
            lz_node_form_join(&f, words);
            lz_node_form_finish(&f);
            e = lz_node_make(t, &f, in, c.numbers, at, NULL, out);
        }
        lz_mem_free(words);
    }
    lz_call_deinit(&c);
    return e;
}

/* ---- letting go ---- */

/* Out of its bucket and onto the list of those that go, which runs over `chain`. */
static inline lz_node *doom(lz_nodes *t, lz_node *n, lz_node *rest)
{
    if (can_be_found(n))
        forget(t, n);
    n->chain = rest;
    return n;
}

static inline lz_node *dismantle(lz_nodes *t, lz_node *n, lz_node *rest)
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

void lz_node_free(lz_nodes *t, lz_node *n)
{
    assert(n->refs == 0);
    size_t nodes = 0, bytes = 0;
    for (lz_node *list = doom(t, n, NULL); list; nodes++) {
        n = list;
        list = dismantle(t, n, n->chain);
        bytes += n->size;
        give(t, n);
    }
    t->used.live -= nodes;
    t->used.bytes -= bytes;
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
