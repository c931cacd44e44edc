#include "lazy/node.h"
#include "base/mem.h"
#include "base/slab.h"
#include "lazy/backend_data.h"
#include "lazy/pack.h"
#include "op/op_table.h"
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

enum { CLASS_BYTES = 16, CLASSES = 64 };

struct lz_nodes {
    lz_nodes_used used;
    lz_slab classes[CLASSES]; /* by size, rounded up */
    lz_hash_table table;      /* of the nodes without numbers */
    uint64_t born;
};

/* ---- hashes ---- */

static lz_hash words_hash(lz_hash h, const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t v;
        memcpy(&v, (const char *)p + 8 * i, 8);
        h = lz_hash_word(h, v);
    }
    return h;
}

static lz_hash form_hash(const lz_node_form *f)
{
    lz_hash h = lz_hash_word((lz_hash){ 1, 2 }, (uint64_t)(f->op - lz_op_table));
    h = lz_hash_word(h, (uint64_t)f->nslots << 32 | f->nfixed);
    h = words_hash(h, f->slots, f->nslots);
    h = words_hash(h, f->fixed, f->nfixed);
    for (uint32_t i = 0; i < f->nout; i++)
        h = lz_hash_word(h, f->specs[i]->type_hash);
    return h;
}

/* The hash of a node, and the key of the table. The hash tells structures apart. The key also depends on the
 * operands' addresses, which tell nodes of one structure apart. */
static inline lz_hash hash_of(const lz_node_form *f, const lz_output *in, uint32_t *found_by)
{
    lz_hash h = f->hash;
    uint64_t at = 0;
    for (uint32_t i = 0; i < f->nin; i++) {
        const lz_node *x = in[i].node;
        h = lz_hash_word(h, x ? x->hash.lo + in[i].index : 0);
        h.hi += x ? x->hash.hi : 0;
        at = (at ^ (uintptr_t)x >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    }
    h = lz_hash_word(h, f->nin);
    at ^= h.lo;
    *found_by = (uint32_t)(at ^ at >> 32);
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

static atomic_uint_fast64_t forms; /* finished so far */

void lz_node_form_finish(lz_node_form *f)
{
    assert(is_joined(f));
    f->size = (uint32_t)((sizeof(lz_node) + f->nin * sizeof(lz_output) + f->nnumbers * sizeof(lz_scalar)
                          + lz_node_form_words(f) * sizeof(uint64_t))
                         / CLASS_BYTES * CLASS_BYTES);
    f->hash = form_hash(f);
    f->op_number = (uint16_t)(f->op - lz_op_table);
    f->number = atomic_fetch_add_explicit(&forms, 1, memory_order_relaxed) + 1;
    assert(f->size % CLASS_BYTES == 0 && f->op == &lz_op_table[f->op_number]);
}

/* ---- memory ---- */

lz_err *lz_nodes_create(lz_nodes **out)
{
    lz_nodes *t = lz_mem_zalloc(1, sizeof *t);
    if (!t)
        return lz_err_oom();
    for (size_t i = 0; i < CLASSES; i++)
        lz_slab_init(&t->classes[i], (i + 1) * CLASS_BYTES);
    *out = t;
    return NULL;
}

void lz_nodes_destroy(lz_nodes *t)
{
    if (!t)
        return;
    assert(t->used.live == 0 && t->used.bytes == 0);
    for (size_t i = 0; i < CLASSES; i++)
        lz_slab_deinit(&t->classes[i]);
    lz_hash_table_deinit(&t->table);
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

/* The caller subtracts n from t->used. */
static inline void give(lz_nodes *t, lz_node *n)
{
    size_t k = (n->size - 1) / CLASS_BYTES;
    if (k < CLASSES)
        lz_slab_give(&t->classes[k], n);
    else
        lz_mem_free(n);
}

/* ---- finding equal ones ---- */

typedef struct wanted {
    const lz_node_form *form;
    lz_hash hash;
    const lz_output *in;
} wanted;

static bool same(const void *item, const void *key)
{
    const lz_node *n = item;
    const wanted *w = key;
    const lz_node_form *f = w->form;
    bool eq = lz_hash_eq(n->hash, w->hash) && n->op == f->op && n->nin == f->nin && n->nargs == f->nslots
              && n->nfixed == f->nfixed && memcmp(n->args, f->slots, f->nslots * sizeof *f->slots) == 0
              && (f->nfixed == 0 || memcmp(n->fixed, f->fixed, f->nfixed * sizeof *f->fixed) == 0);
    for (uint32_t i = 0; eq && i < f->nin; i++)
        eq = n->in[i].node == w->in[i].node && n->in[i].index == w->in[i].index;
    return eq;
}

static inline uint64_t hash_to_find(const void *item)
{
    return ((const lz_node *)item)->found_by;
}

static const lz_hash_kind node_kind = { offsetof(lz_node, link), hash_to_find };

static inline bool can_be_found(const lz_node *n)
{
    return n->op && n->nnumbers == 0;
}

/* ---- making ---- */

/* Copies pairs of words: the size of a node is a multiple of 16 bytes, and so are the sizes of the parts in
 * front of the form's words. The barrier keeps the compiler from calling memcpy, which takes longer. */
static inline void copy_pairs(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += CLASS_BYTES) {
        memcpy((char *)to + i, (const char *)from + i, CLASS_BYTES);
        __asm__ volatile("" : : : "memory");
    }
}

/* Copies and counts the operands; returns the depth of the node that has them. */
static inline uint32_t take_operands(const lz_nodes *t, const lz_node_form *f, const lz_output *in,
                                     lz_output *to)
{
    uint32_t depth = 0;
    (void)t; /* only asserted */
    for (uint32_t i = 0; i < f->nin; i++) {
        lz_node *x = (lz_node *)in[i].node;
        to[i] = in[i];
        if (!x)
            continue;
        assert(x->refs > 0 && in[i].index < x->nout && x->born <= t->born);
        x->refs++;
        depth = depth > x->depth ? depth : x->depth + 1U;
    }
    return depth;
}

/* Sets each member: clearing the whole node first would take most of the time of a small one. */
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
    uint32_t depth = take_operands(t, f, in, operands);
    copy_pairs(own_numbers, numbers, f->nnumbers * sizeof *numbers);
    copy_pairs(slots, f->slots, (size_t)((char *)n + f->size - (char *)slots));
    n->op = f->op;
    n->link.next = NULL;
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
    n->form = f->number;
    n->args = slots;
    n->specs = (const lz_spec *const *)(slots + f->nslots);
    n->fixed = (const uint64_t *)(n->specs + f->nout);
    return n;
}

/* Finds an equal node. If there is none, reserves room for one more. */
static lz_err *find(lz_nodes *t, const lz_node_form *f, lz_hash hash, uint32_t found_by, const lz_output *in,
                    lz_node **out)
{
    *out = lz_hash_table_find(&t->table, &node_kind, found_by, same, &(wanted){ f, hash, in });
    return *out ? NULL : lz_hash_table_reserve(&t->table, &node_kind);
}

lz_err *lz_node_make(lz_nodes *t, const lz_node_form *f, const lz_output *in, const lz_scalar *numbers,
                     lz_loc at, const char *scope, lz_node **out)
{
    uint32_t found_by;
    lz_hash hash = hash_of(f, in, &found_by);
    lz_node *n = NULL;
    if (f->nnumbers == 0)
        LZ_TRY(find(t, f, hash, found_by, in, &n));
    if (n) {
        assert(n->nout == f->nout && n->refs > 0);
        *out = lz_node_retain(n);
        return NULL;
    }
    *out = n = build(t, f, in, numbers);
    if (!n)
        return lz_err_oom();
    n->hash = hash;
    n->found_by = found_by;
    n->at = at;
    n->scope = scope;
    if (f->nnumbers == 0)
        lz_hash_table_add(&t->table, &node_kind, found_by, n);
    return NULL;
}

lz_err *lz_node_data(lz_nodes *t, lz_data *d, const lz_spec *s, lz_loc at, lz_node **out)
{
    const lz_spec **specs;
    lz_node *n = take(t, sizeof *n + sizeof *specs);
    if (!n)
        return lz_err_oom();
    specs = (const lz_spec **)(n + 1);
    assert(d && s);
    specs[0] = s;
    *n = (lz_node){ .hash = lz_hash_word((lz_hash){ 3, 4 }, s->type_hash),
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
        e = lz_errf(LZ_ERR_ARG, "%s: got %zu operands, but the arguments have %zu tensors", op->name, nin,
                    c.tensors.len);
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

/* ---- freeing ---- */

/* Takes n out of the table and puts it in front of the list of nodes to free, which is linked by `link`. */
static inline lz_node *doom(lz_nodes *t, lz_node *n, lz_node *rest)
{
    if (can_be_found(n))
        lz_hash_table_remove(&t->table, &node_kind, n);
    n->link.next = rest;
    return n;
}

static inline lz_node *dismantle(lz_nodes *t, lz_node *n, lz_node *rest)
{
    if (!n->op)
        lz_data_release(n->data);
    for (uint32_t i = 0; i < n->nin; i++) {
        lz_node *x = (lz_node *)lz_node_in(n)[i].node;
        assert(!x || x->born < n->born); /* operands are older, so there are no cycles */
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
        list = dismantle(t, n, n->link.next);
        bytes += n->size;
        give(t, n);
    }
    assert(nodes <= t->used.live && bytes <= t->used.bytes);
    t->used.live -= nodes;
    t->used.bytes -= bytes;
}
