#include "lazy/canon.h"
#include "base/arena.h"
#include "lazy/subgraph.h"
#include <stdlib.h>
#include <string.h>

/* Colour refinement: a node's colour starts as a hash of its own facts and is refined by its operands' and
 * users' colours until the number of colours no longer grows. Roots of one colour are then ordered by the
 * part of the graph that they lie in: a part is a set of nodes with shared colours that are connected. If one
 * part has several roots of one colour, the first of these roots gets a colour of its own, and the refinement
 * is repeated. */
enum { CHOICES = 64, ROUNDS = 64 };

typedef struct canon {
    lz_arena arena;
    lz_graph_index places;
    uint64_t *colour, *down, *up; /* by place */
    uint64_t *sorted;
    bool *single;   /* no other node has the colour */
    uint32_t *part; /* union-find */
    uint32_t *rank; /* by part: the part's first root, in the given order */
    size_t ncolours;
} canon;

typedef struct entry {
    uint64_t colour;
    uint32_t rank, result;
} entry;

/* ---- colours ---- */

static uint64_t look_at(const lz_flat_node *n)
{
    const uint64_t *from = n->args;
    return lz_hash64_pair((uint64_t)n->op << 32 | n->nin,
                          lz_hash64(from, (size_t)(n->end - from) * sizeof *from));
}

static int by_value(const void *pa, const void *pb)
{
    uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
    return a < b ? -1 : a > b;
}

static size_t count_colours(canon *c)
{
    uint32_t n = c->places.n;
    size_t distinct = 0;
    memcpy(c->sorted, c->colour, n * sizeof *c->sorted);
    qsort(c->sorted, n, sizeof *c->sorted, by_value);
    for (uint32_t i = 0; i < n; i++)
        distinct += i == 0 || c->sorted[i] != c->sorted[i - 1];
    return distinct;
}

static void pass_up(canon *c)
{
    for (uint32_t i = 0; i < c->places.n; i++) {
        lz_flat_node n = lz_flat_read(c->places.at[i]);
        uint64_t h = c->colour[i];
        for (uint32_t k = 0; k < n.nin; k++)
            h = lz_hash64_pair(
                h, n.in[k] ? lz_hash64_pair(c->down[lz_flat_ref_place(n.in[k])], lz_flat_ref_output(n.in[k]))
                           : 1);
        c->down[i] = h;
    }
}

/* A sum over the users: their order does not matter. */
static void pass_down(canon *c)
{
    const lz_graph_index *p = &c->places;
    memset(c->up, 0, p->n * sizeof *c->up);
    for (uint32_t r = 0; r < p->nroots; r++)
        c->up[lz_flat_ref_place(p->roots[r])] += lz_hash64_pair(7, lz_flat_ref_output(p->roots[r]));
    for (uint32_t i = p->n; i-- > 0;) {
        lz_flat_node n = lz_flat_read(p->at[i]);
        uint64_t own = lz_hash64_pair(c->down[i], c->up[i]);
        for (uint32_t k = 0; k < n.nin; k++)
            if (n.in[k])
                c->up[lz_flat_ref_place(n.in[k])] +=
                    lz_hash64_pair(own, (uint64_t)k << 16 | lz_flat_ref_output(n.in[k]));
    }
}

static void refine(canon *c)
{
    for (int round = 0; round < ROUNDS; round++) {
        pass_up(c);
        pass_down(c);
        for (uint32_t i = 0; i < c->places.n; i++)
            c->colour[i] = lz_hash64_pair(c->down[i], c->up[i]);
        size_t now = count_colours(c);
        if (now == c->ncolours)
            break;
        c->ncolours = now;
    }
}

/* ---- parts ---- */

static uint32_t part_of(canon *c, uint32_t i)
{
    while (c->part[i] != i)
        i = c->part[i] = c->part[c->part[i]];
    return i;
}

static bool is_single(const canon *c, uint32_t place)
{
    const uint64_t *at = bsearch(&c->colour[place], c->sorted, c->places.n, sizeof *c->sorted, by_value);
    const uint64_t *end = c->sorted + c->places.n;
    return !(at > c->sorted && at[-1] == *at) && !(at + 1 < end && at[1] == *at);
}

static void find_parts(canon *c)
{
    const lz_graph_index *p = &c->places;
    for (uint32_t i = 0; i < p->n; i++) {
        c->part[i] = i;
        c->rank[i] = UINT32_MAX;
        c->single[i] = is_single(c, i);
    }
    for (uint32_t i = 0; i < p->n; i++) {
        lz_flat_node n = lz_flat_read(p->at[i]);
        for (uint32_t k = 0; !c->single[i] && k < n.nin; k++) {
            uint32_t from = n.in[k] ? lz_flat_ref_place(n.in[k]) : i;
            if (!c->single[from])
                c->part[part_of(c, from)] = part_of(c, i);
        }
    }
    for (uint32_t r = p->nroots; r-- > 0;)
        c->rank[part_of(c, lz_flat_ref_place(p->roots[r]))] = r;
}

/* ---- the order ---- */

static int by_colour(const void *pa, const void *pb)
{
    const entry *a = pa, *b = pb;
    if (a->colour != b->colour)
        return a->colour < b->colour ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->result < b->result ? -1 : 1;
}

static void sort_roots(canon *c, entry *e)
{
    const lz_graph_index *p = &c->places;
    find_parts(c);
    for (uint32_t r = 0; r < p->nroots; r++) {
        uint32_t place = lz_flat_ref_place(p->roots[r]);
        e[r] = (entry){ lz_hash64_pair(c->colour[place], lz_flat_ref_output(p->roots[r])),
                        c->rank[part_of(c, place)], r };
    }
    qsort(e, p->nroots, sizeof *e, by_colour);
}

/* The first of two neighbours with equal colour and rank; nroots if there are none. */
static uint32_t first_tie(const canon *c, const entry *e)
{
    uint32_t i = 0, n = c->places.nroots;
    while (i + 1 < n && !(e[i].colour == e[i + 1].colour && e[i].rank == e[i + 1].rank))
        i++;
    return i + 1 < n ? i : n;
}

static lz_err *init(canon *c, const uint64_t *words, entry **e)
{
    lz_arena *a = &c->arena;
    LZ_TRY(lz_graph_index_init(a, words, &c->places));
    uint32_t n = c->places.n;
    LZ_TRY(lz_arena_new(a, &c->colour, n));
    LZ_TRY(lz_arena_new(a, &c->down, n));
    LZ_TRY(lz_arena_new(a, &c->up, n));
    LZ_TRY(lz_arena_new(a, &c->sorted, n));
    LZ_TRY(lz_arena_new(a, &c->single, n));
    LZ_TRY(lz_arena_new(a, &c->part, n));
    LZ_TRY(lz_arena_new(a, &c->rank, n));
    LZ_TRY(lz_arena_new(a, e, c->places.nroots));
    for (uint32_t i = 0; i < n; i++) {
        lz_flat_node x = lz_flat_read(c->places.at[i]);
        c->colour[i] = look_at(&x);
    }
    return NULL;
}

static lz_err *find_order(canon *c, const uint64_t *words, uint32_t *order, bool *other)
{
    entry *e;
    LZ_TRY(init(c, words, &e));
    refine(c);
    sort_roots(c, e);
    for (int i = 0; i < CHOICES; i++) {
        uint32_t tie = first_tie(c, e);
        if (tie == c->places.nroots)
            break;
        uint32_t place = lz_flat_ref_place(c->places.roots[e[tie].result]);
        c->colour[place] = lz_hash64_pair(c->colour[place], 11);
        refine(c);
        sort_roots(c, e);
    }
    *other = false;
    for (uint32_t i = 0; i < c->places.nroots; i++) {
        order[i] = e[i].result;
        *other = *other || order[i] != i;
    }
    return NULL;
}

lz_err *lz_canon_order(const lz_flat *f, uint32_t *order, bool *other)
{
    canon c = { 0 };
    lz_arena_init(&c.arena);
    lz_err *e = find_order(&c, f->words, order, other);
    lz_arena_deinit(&c.arena);
    return e;
}
