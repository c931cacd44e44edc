#include "lazy/walk.h"
#include "core/shape.h"
#include "op/op_table.h"
#include <assert.h>
#include <string.h>

void lz_walk_deinit(lz_walk *w)
{
    lz_vec_deinit(&w->stack);
    lz_vec_deinit(&w->nodes);
    lz_vec_deinit(&w->numbered);
    lz_vec_deinit(&w->leaves);
    lz_vec_deinit(&w->locs);
    lz_vec_deinit(&w->results);
    lz_vec_deinit(&w->result_of);
    lz_vec_deinit(&w->first);
    lz_vec_deinit(&w->others);
    lz_hash_table_deinit(&w->by_data);
    lz_arena_deinit(&w->arena);
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
    w->stack.len = w->nodes.len = w->leaves.len = w->locs.len = 0;
    w->results.len = w->result_of.len = w->first.len = w->others.len = w->words.len = 0;
    w->numbered.len = w->nnumbers = 0;
    w->guess = NULL;
    w->differs = false;
    lz_hash_table_clear(&w->by_data);
    lz_arena_clear(&w->arena);
}

/* Adds a node. Requires that its operands have their places (flat.h). */
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
    assert(to <= w->data + w->cap);
    to = lz_copy_words(to, n->args, n->nargs);
    if (nfixed)
        to = lz_copy_words(to, n->fixed, nfixed);
    for (uint32_t i = 0; i < n->nout; i++) {
        const lz_spec *s = n->specs[i];
        assert(s->ndim <= LZ_MAX_DIMS);
        *to++ = (uint64_t)(uint8_t)s->dtype << 32 | (uint16_t)s->ndim;
        to = lz_copy_words(to, s->sizes, (size_t)s->ndim);
    }
    assert(to <= w->data + w->cap);
    w->len = (size_t)(to - w->data);
    return NULL;
}

/* ---- comparing with a guess ---- */

static inline bool has_operands(const lz_node *n, const uint64_t *refs)
{
    bool same = true;
    const lz_output *in = lz_node_in(n);
    for (uint32_t i = 0; same && i < n->nin; i++)
        same = refs[i] == (in[i].node ? lz_flat_ref(in[i].node->index, in[i].index) : 0);
    return same;
}

/* For a node of another form, which may still have the same words. */
static __attribute__((noinline)) lz_err *compare_words(lz_walk *w, const lz_node *n)
{
    const struct lz_walk_place *p = &w->guess->places.data[n->index];
    size_t bytes = (p[1].at - p->at) * sizeof(uint64_t);
    w->words.len = 0;
    LZ_TRY(add_words(&w->words, n));
    w->differs = w->words.len * sizeof(uint64_t) != bytes
                 || memcmp(w->words.data, w->guess->flat.words + p->at, bytes) != 0;
    return NULL;
}

/* Requires a place of the guess for n. */
static inline lz_err *compare(lz_walk *w, const lz_node *n)
{
    const lz_walk_guess *g = w->guess;
    const struct lz_walk_place *p = &g->places.data[n->index];
    if (!n->form || n->form != p->form)
        return compare_words(w, n);
    w->differs = !has_operands(n, g->flat.words + p->at + 2);
    return NULL;
}

/* ---- placing nodes ---- */

static inline lz_err *place(lz_walk *w, lz_node *n)
{
    assert(n->op_number == (n->op ? n->op - lz_op_table : 0));
    for (uint32_t i = 0; i < n->nin; i++) /* post-order: operands have their places */
        assert(!n->in[i].node || (n->in[i].node->mark == w->number && n->in[i].node->index < w->nodes.len));
    LZ_TRY(lz_vec_push(&w->nodes, n));
    LZ_TRY(lz_vec_push(&w->locs, n->at));
    n->index = (uint32_t)(w->nodes.len - 1);
    w->nnumbers += n->nnumbers;
    if (n->nnumbers)
        LZ_TRY(lz_vec_push(&w->numbered, n));
    return w->guess ? compare(w, n) : add_words(&w->words, n);
}

static lz_data *data_of(const lz_walk *w, const lz_node *n)
{
    const lz_backend *b = w->backend;
    lz_data *d = b ? b->get_computation_data_from_node(b->self, n) : NULL;
    return d ? d : n->data;
}

typedef struct leaf {
    lz_hash_entry data;
    uint32_t place; /* 1 + the place of the first node with this data; 0: not placed yet */
} leaf;

/* Nodes with the same data share one leaf. */
static lz_err *place_leaf(lz_walk *w, lz_node *n)
{
    lz_data *d = data_of(w, n);
    leaf *x;
    LZ_TRY(lz_hash_table_entry(&w->by_data, &w->arena, (uintptr_t)d, &x));
    if (x->place) {
        n->index = x->place - 1;
        return NULL;
    }
    LZ_TRY(lz_vec_push(&w->leaves, d));
    x->place = (uint32_t)w->nodes.len + 1;
    return place(w, n);
}

/* ---- nodes ---- */

/* The next operand that was not visited, or NULL. */
static inline lz_node *next_new(uint32_t number, lz_walk_step *s)
{
    while (s->next < s->node->nin) {
        lz_node *x = (lz_node *)lz_node_in(s->node)[s->next++].node;
        if (x && x->mark != number)
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
        n = next_new(w->number, top);
        if (n)
            continue;
        LZ_TRY(top->node->op ? place(w, top->node) : place_leaf(w, top->node));
        w->stack.len--;
    }
    return NULL;
}

/* Room for as many nodes as the guess has. */
static lz_err *reserve(lz_walk *w)
{
    size_t n = w->guess->places.len;
    LZ_TRY(lz_vec_reserve(&w->stack, n));
    LZ_TRY(lz_vec_reserve(&w->nodes, n));
    LZ_TRY(lz_vec_reserve(&w->numbered, n));
    return lz_vec_reserve(&w->locs, n);
}

/* place(), where there is room. */
static inline lz_err *place_like(lz_walk *w, lz_node *n)
{
    size_t i = w->nodes.len;
    n->index = (uint32_t)i;
    w->nodes.data[i] = n;
    w->locs.data[i] = n->at;
    w->nodes.len = w->locs.len = i + 1;
    if (n->nnumbers) {
        w->nnumbers += n->nnumbers;
        w->numbered.data[w->numbered.len++] = n;
    }
    return compare(w, n);
}

/* visit(), up to the first difference from the guess. */
static lz_err *visit_like(lz_walk *w, lz_node *n)
{
    lz_walk_step *first = w->stack.data, *top = first, *end = first + w->guess->places.len - 1;
    uint32_t number = w->number;
    if (n->mark == number)
        return NULL;
    n->mark = number;
    *top = (lz_walk_step){ n, 0 };
    while (top >= first) {
        n = next_new(number, top);
        if (n && top < end) {
            n->mark = number;
            *++top = (lz_walk_step){ n, 0 };
            continue;
        }
        w->differs = n || w->nodes.len + 1 >= w->guess->places.len;
        if (!w->differs)
            LZ_TRY(top->node->op ? place_like(w, top->node) : place_leaf(w, top->node));
        if (w->differs)
            return NULL;
        top--;
    }
    return NULL;
}

/* ---- results ---- */

static lz_err *add_result(lz_walk *w, lz_output o)
{
    assert(o.node->index < w->nodes.len && o.index < o.node->nout);
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
    w->words.len = w->guess ? 0 : w->words.len;
    for (size_t i = 0; i < w->results.len; i++)
        LZ_TRY(lz_vec_push(&w->words, lz_flat_ref(w->results.data[i].node->index, w->results.data[i].index)));
    return NULL;
}

/* ---- operators that two sets of roots share ---- */

/* Marks all operators below n with the walk's number. Stops with *met at an operator with the mark `other`,
 * unless that is 0. */
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

static void head_words(const lz_walk *w, lz_device d, uint64_t forced_hash, uint64_t head[LZ_FLAT_HEAD])
{
    head[0] = lz_flat_on_device(w->nodes.len, d);
    head[1] = (uint64_t)w->leaves.len << 32 | w->results.len;
    head[2] = forced_hash;
}

lz_err *lz_walk_compare(lz_walk *w, const lz_walk_guess *g, const lz_output *roots, size_t n, lz_device d,
                        uint64_t forced_hash, bool *same)
{
    uint64_t head[LZ_FLAT_HEAD];
    begin(w);
    w->backend = lz_backend_of(d.type);
    w->guess = g;
    *same = false;
    LZ_TRY(reserve(w));
    for (size_t i = 0; i < n && !w->differs; i++)
        LZ_TRY(visit_like(w, (lz_node *)roots[i].node));
    if (w->differs || w->nodes.len + 1 != g->places.len)
        return NULL;
    LZ_TRY(add_results(w, roots, n));
    head_words(w, d, forced_hash, head);
    size_t at = g->places.data[w->nodes.len].at;
    *same = !memcmp(head, g->flat.words, sizeof head) && g->flat.n - at == w->words.len
            && !memcmp(w->words.data, g->flat.words + at, w->words.len * sizeof *w->words.data);
    w->flat = g->flat;
    return NULL;
}

lz_err *lz_walk_expect(const lz_walk *w, const uint64_t *words, lz_walk_guess *g)
{
    uint32_t at = LZ_FLAT_HEAD;
    size_t n = w->nodes.len;
    g->flat = (lz_flat){ NULL, 0, { 0, 0 } };
    g->places.len = 0;
    if (w->flat.n > UINT32_MAX)
        return NULL;
    LZ_TRY(lz_vec_reserve(&g->places, n + 1));
    for (size_t i = 0; i < n; i++) {
        g->places.data[i].form = w->nodes.data[i]->form;
        g->places.data[i].at = at;
        at = (uint32_t)(lz_flat_read(w->flat.words + at).end - w->flat.words);
    }
    g->places.data[n].at = at;
    g->places.len = n + 1;
    g->flat = (lz_flat){ words, w->flat.n, w->flat.hash };
    return NULL;
}

void lz_walk_guess_deinit(lz_walk_guess *g)
{
    lz_vec_deinit(&g->places);
    *g = (lz_walk_guess){ 0 };
}

lz_err *lz_walk_run(lz_walk *w, const lz_output *roots, size_t n, lz_device d, uint64_t forced_hash)
{
    begin(w);
    w->backend = lz_backend_of(d.type);
    for (int i = 0; i < LZ_FLAT_HEAD; i++)
        LZ_TRY(lz_vec_push(&w->words, 0));
    for (size_t i = 0; i < n; i++)
        LZ_TRY(visit(w, (lz_node *)roots[i].node));
    assert(w->stack.len == 0 && w->locs.len == w->nodes.len && w->by_data.count == w->leaves.len);
    LZ_TRY(add_results(w, roots, n));
    uint64_t *head = w->words.data;
    head_words(w, d, forced_hash, head);
    w->flat = (lz_flat){ head, w->words.len, lz_hash_bytes(head, w->words.len * sizeof *head) };
    return NULL;
}
