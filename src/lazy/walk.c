#include "lazy/walk.h"
#include "core/shape.h"
#include "op/op_table.h"
#include <assert.h>
#include <string.h>

void lz_walk_deinit(lz_walk *w)
{
    lz_vec_deinit(&w->stack);
    lz_vec_deinit(&w->nodes);
    lz_vec_deinit(&w->leaves);
    lz_vec_deinit(&w->leaf_place);
    lz_vec_deinit(&w->locs);
    lz_vec_deinit(&w->results);
    lz_vec_deinit(&w->result_of);
    lz_vec_deinit(&w->first);
    lz_vec_deinit(&w->others);
    lz_vec_deinit(&w->table);
    lz_vec_deinit(&w->words);
    *w = (lz_walk){ 0 };
}

uint32_t lz_walk_mark(lz_walk *w)
{
    if (++w->number == 0) /* 0 is the mark of a new node */
        w->number = 1;
    return w->number;
}

static void begin(lz_walk *w)
{
    (void)lz_walk_mark(w);
    w->stack.len = w->nodes.len = w->leaves.len = w->leaf_place.len = w->locs.len = 0;
    w->results.len = w->result_of.len = w->first.len = w->others.len = w->words.len = 0;
    w->nnumbers = 0;
    if (w->table.len)
        memset(w->table.data, 0, w->table.len * sizeof *w->table.data);
}

/* ---- leaves: one parameter for each data ---- */

static size_t slot_of(const lz_walk *w, const lz_data *d)
{
    size_t mask = w->table.len - 1, i = (size_t)((uintptr_t)d * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
    while (w->table.data[i] && w->leaves.data[w->table.data[i] - 1] != d)
        i = (i + 1) & mask;
    return i;
}

static lz_err *grow_table(lz_walk *w)
{
    size_t n = w->table.len ? 2 * w->table.len : 64;
    LZ_TRY(lz_vec_reserve(&w->table, n - w->table.len));
    w->table.len = n;
    memset(w->table.data, 0, n * sizeof *w->table.data);
    for (uint32_t i = 0; i < w->leaves.len; i++)
        w->table.data[slot_of(w, w->leaves.data[i])] = i + 1;
    return NULL;
}

/* Adds a node whose operands have their places (flat.h). */
static inline lz_err *add_words(lz_words *w, const lz_node *n)
{
    enum { TYPE = 1 + LZ_MAX_DIMS };
    uint32_t nfixed = n->op ? n->nfixed : 0;
    size_t most = 2 + (size_t)n->nin + n->nargs + nfixed + n->nout * (size_t)TYPE;
    if (w->cap - w->len < most)
        LZ_TRY(lz_vec_reserve(w, most));
    uint64_t *to = w->data + w->len;
    to[0] = (uint64_t)n->op_number << 48 | (uint64_t)n->nin << 32 | (uint64_t)n->nout << 16 | n->nargs;
    to[1] = (uint64_t)n->nnumbers << 32 | nfixed;
    to += 2;
    for (uint32_t i = 0; i < n->nin; i++)
        *to++ = n->in[i].node ? lz_flat_ref(n->in[i].node->index, n->in[i].index) : 0;
    to = lz_copy_words(to, n->args, n->nargs);
    if (nfixed)
        to = lz_copy_words(to, n->fixed, nfixed);
    for (uint32_t i = 0; i < n->nout; i++) {
        const lz_spec *s = n->specs[i];
        assert(s->ndim <= LZ_MAX_DIMS);
        *to++ = (uint64_t)(uint8_t)s->dtype << 32 | (uint16_t)s->ndim;
        to = lz_copy_words(to, s->sizes, (size_t)s->ndim);
    }
    w->len = (size_t)(to - w->data);
    return NULL;
}

static inline lz_err *place(lz_walk *w, lz_node *n)
{
    assert(n->op_number == (n->op ? n->op - lz_op_table : 0));
    LZ_TRY(lz_vec_push(&w->nodes, n));
    LZ_TRY(lz_vec_push(&w->locs, n->at));
    n->index = (uint32_t)(w->nodes.len - 1);
    w->nnumbers += n->nnumbers;
    return add_words(&w->words, n);
}

static lz_data *data_of(const lz_walk *w, const lz_node *n)
{
    const lz_backend *b = w->backend;
    lz_data *d = b ? b->get_computation_data_from_node(b->self, n) : NULL;
    return d ? d : n->data;
}

static lz_err *place_leaf(lz_walk *w, lz_node *n)
{
    if (2 * (w->leaves.len + 1) > w->table.len)
        LZ_TRY(grow_table(w));
    lz_data *d = data_of(w, n);
    uint32_t *slot = &w->table.data[slot_of(w, d)];
    if (*slot) {
        n->index = w->leaf_place.data[*slot - 1];
        return NULL;
    }
    LZ_TRY(lz_vec_push(&w->leaves, d));
    LZ_TRY(lz_vec_push(&w->leaf_place, (uint32_t)w->nodes.len));
    *slot = (uint32_t)w->leaves.len;
    return place(w, n);
}

/* ---- nodes ---- */

/* The next operand that was not visited, or NULL. */
static inline lz_node *next_new(const lz_walk *w, lz_walk_step *s)
{
    while (s->next < s->node->nin) {
        lz_node *x = (lz_node *)s->node->in[s->next++].node;
        if (x && x->mark != w->number)
            return x;
    }
    return NULL;
}

static lz_err *visit(lz_walk *w, lz_node *n)
{
    if (n->mark == w->number)
        return NULL;
    while (n || w->stack.len) {
        if (n) {
            n->mark = w->number;
            LZ_TRY(lz_vec_push(&w->stack, (lz_walk_step){ n, 0 }));
        }
        lz_walk_step *top = &w->stack.data[w->stack.len - 1];
        n = next_new(w, top);
        if (n)
            continue;
        LZ_TRY(top->node->op ? place(w, top->node) : place_leaf(w, top->node));
        w->stack.len--;
    }
    return NULL;
}

/* ---- results ---- */

static lz_err *add_result(lz_walk *w, lz_output o)
{
    uint32_t *first = &w->first.data[o.node->index], k = *first;
    while (k && w->results.data[k - 1].index != o.index)
        k = w->others.data[k - 1];
    if (!k) {
        LZ_TRY(lz_vec_push(&w->results, o));
        LZ_TRY(lz_vec_push(&w->others, *first));
        *first = k = (uint32_t)w->results.len;
    }
    return lz_vec_push(&w->result_of, k - 1);
}

static lz_err *add_results(lz_walk *w, const lz_output *roots, size_t n)
{
    LZ_TRY(lz_vec_reserve(&w->first, w->nodes.len));
    w->first.len = w->nodes.len;
    memset(w->first.data, 0, w->first.len * sizeof *w->first.data);
    for (size_t i = 0; i < n; i++)
        LZ_TRY(add_result(w, roots[i]));
    for (size_t i = 0; i < w->results.len; i++)
        LZ_TRY(lz_vec_push(&w->words, lz_flat_ref(w->results.data[i].node->index, w->results.data[i].index)));
    return NULL;
}

/* ---- what two graphs share ---- */

/* Marks all operators below n with the walk's number, until one has the mark `other`; 0: none has. */
static lz_err *mark_below(lz_walk *w, lz_node *n, uint32_t other, bool *met)
{
    LZ_TRY(lz_vec_push(&w->stack, (lz_walk_step){ n, 0 }));
    while (w->stack.len && !*met) {
        lz_node *x = w->stack.data[--w->stack.len].node;
        *met = other && x->op && x->mark == other;
        if (!x->op || x->mark == w->number)
            continue;
        x->mark = w->number;
        for (uint32_t i = 0; i < x->nin && !*met; i++)
            if (x->in[i].node)
                LZ_TRY(lz_vec_push(&w->stack, (lz_walk_step){ (lz_node *)x->in[i].node, 0 }));
    }
    return NULL;
}

lz_err *lz_walk_shares(lz_walk *w, const lz_output *roots, size_t na, size_t n, bool *out)
{
    uint32_t first = 0, number = lz_walk_mark(w);
    bool met = false;
    w->stack.len = 0;
    for (size_t i = 0; i < n && !met; i++) {
        if (i == na) {
            first = number;
            (void)lz_walk_mark(w);
        }
        LZ_TRY(mark_below(w, (lz_node *)roots[i].node, first, &met));
    }
    w->stack.len = 0;
    *out = met;
    return NULL;
}

lz_err *lz_walk_run(lz_walk *w, const lz_output *roots, size_t n, lz_device d, uint64_t fence)
{
    begin(w);
    w->backend = lz_backend_of(d.type);
    for (int i = 0; i < LZ_FLAT_HEAD; i++)
        LZ_TRY(lz_vec_push(&w->words, 0));
    for (size_t i = 0; i < n; i++)
        LZ_TRY(visit(w, (lz_node *)roots[i].node));
    LZ_TRY(add_results(w, roots, n));
    uint64_t *head = w->words.data;
    head[0] = (uint64_t)(uint16_t)d.type << 48 | (uint64_t)(uint16_t)d.index << 32 | w->nodes.len;
    head[1] = (uint64_t)w->leaves.len << 32 | w->results.len;
    head[2] = fence;
    w->flat = (lz_flat){ head, w->words.len, lz_hash_bytes(head, w->words.len * sizeof *head) };
    return NULL;
}
