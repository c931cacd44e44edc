#include "lazy/cut.h"
#include "lazy/lowering.h"
#include "op/op_table.h"
#include <string.h>

lz_err *lz_places_init(lz_arena *a, const uint64_t *words, lz_places *out)
{
    lz_places p = { .words = words,
                    .n = lz_flat_nodes(words),
                    .nroots = lz_flat_roots(words),
                    .nleaves = lz_flat_leaves(words) };
    LZ_TRY(lz_arena_new(a, &p.at, p.n));
    LZ_TRY(lz_arena_new(a, &p.first_number, p.n));
    LZ_TRY(lz_arena_new(a, &p.first_slot, p.n));
    const uint64_t *at = lz_flat_first(words);
    uint32_t leaves = 0;
    p.nslots = p.nleaves;
    for (uint32_t i = 0; i < p.n; i++) {
        lz_flat_node n = lz_flat_read(at);
        p.at[i] = at;
        p.first_slot[i] = n.op ? p.nslots : leaves++;
        p.nslots += n.op ? n.nout : 0;
        p.first_number[i] = p.nnumbers;
        p.nnumbers += n.nnumbers;
        at = n.end;
    }
    p.roots = at;
    LZ_TRY(lz_arena_new(a, &p.is_root, p.n));
    for (uint32_t i = 0; i < p.nroots; i++)
        p.is_root[lz_flat_ref_place(at[i])] = true;
    *out = p;
    return NULL;
}

lz_err *lz_cut_reach(lz_arena *a, const lz_places *p, const uint64_t *refs, size_t n, bool **needed)
{
    bool *is;
    LZ_TRY(lz_arena_new(a, &is, p->n));
    for (size_t i = 0; i < n; i++)
        is[lz_flat_ref_place(refs[i])] = true;
    for (uint32_t i = p->n; i-- > 0;) {
        if (!is[i])
            continue;
        lz_flat_node x = lz_flat_read(p->at[i]);
        for (uint32_t k = 0; k < x.nin; k++)
            if (x.in[k])
                is[lz_flat_ref_place(x.in[k])] = true;
    }
    *needed = is;
    return NULL;
}

/* ---- nodes ---- */

typedef struct cutter {
    lz_arena *arena;
    const lz_places *places;
    const bool *in;
    lz_origins origins;
    lz_cut *cut;
    lz_node **inside;    /* by place: the copy, or NULL */
    lz_node **outside;   /* by place: the first leaf that stands for an output of it, others in a list */
    const lz_spec *last; /* the last that was made */
} cutter;

static bool is_of_type(const lz_spec *s, lz_data_type t)
{
    return s->dtype == (int8_t)t.dtype && s->ndim == t.sizes.n
           && (t.sizes.n == 0 || !memcmp(s->sizes, t.sizes.v, (size_t)t.sizes.n * sizeof *t.sizes.v));
}

static lz_err *make_spec(lz_arena *a, lz_data_type t, const lz_spec **out)
{
    size_t nd = (size_t)t.sizes.n;
    lz_spec *s = lz_arena_zalloc(a, sizeof *s + 2 * nd * sizeof(int64_t));
    if (!s)
        return lz_err_oom();
    int64_t *strides = s->sizes + nd;
    s->numel = 1;
    for (size_t i = nd; i-- > 0;) {
        s->sizes[i] = t.sizes.v[i];
        strides[i] = s->numel;
        s->numel *= s->sizes[i];
    }
    s->extent = s->numel;
    s->ndim = (int16_t)nd;
    s->dtype = (int8_t)t.dtype;
    s->contiguous = s->dense = true;
    s->strides = strides;
    *out = s;
    return NULL;
}

/* Neighbours mostly have one shape: they share it. */
static lz_err *spec_of(cutter *c, lz_data_type t, const lz_spec **out)
{
    if (!c->last || !is_of_type(c->last, t))
        LZ_TRY(make_spec(c->arena, t, &c->last));
    *out = c->last;
    return NULL;
}

static lz_err *specs_of(cutter *c, const lz_flat_node *x, lz_node *n)
{
    const lz_spec **specs;
    LZ_TRY(lz_arena_new(c->arena, &specs, x->nout));
    for (uint32_t i = 0; i < x->nout; i++)
        LZ_TRY(spec_of(c, lz_flat_type(x, i), &specs[i]));
    n->specs = specs;
    n->nout = x->nout;
    return NULL;
}

static lz_err *keep(cutter *c, lz_node *n, uint32_t place)
{
    n->at = c->origins.locs ? c->origins.locs[place] : (lz_loc){ 0 };
    n->scope = c->origins.scopes ? c->origins.scopes[place] : NULL;
    c->cut->place_of[c->cut->lowering->nodes.len] = place;
    return lz_lowering_place(c->cut->lowering, n);
}

static lz_err *add_source(cutter *c, lz_parameter p, lz_source s)
{
    lz_cut *cut = c->cut;
    LZ_TRY(lz_vec_push(&cut->lowering->parameters, p));
    cut->sources[cut->nsources++] = s;
    return NULL;
}

/* A leaf that stands for an output from outside. Leaves of one node hang together by `chain`;
 * `refs` remembers which output it is. */
static lz_err *leaf_for(cutter *c, uint64_t ref, lz_node **out)
{
    uint32_t place = lz_flat_ref_place(ref), output = lz_flat_ref_output(ref);
    lz_flat_node x = lz_flat_read(c->places->at[place]);
    for (lz_node *n = c->outside[place]; n; n = n->chain)
        if (n->refs == output) {
            *out = n;
            return NULL;
        }
    lz_node *n;
    const lz_spec **specs;
    LZ_TRY(lz_arena_new(c->arena, &n, 1));
    LZ_TRY(lz_arena_new(c->arena, &specs, 1));
    LZ_TRY(spec_of(c, lz_flat_type(&x, output), &specs[0]));
    n->specs = specs;
    n->nout = 1;
    n->refs = output;
    n->chain = c->outside[place];
    c->outside[place] = n;
    LZ_TRY(keep(c, n, place));
    *out = n;
    return add_source(c, (lz_parameter){ .node = n, .type = lz_node_type(n, 0) },
                      (lz_source){ .at = lz_places_slot(c->places, ref) });
}

static lz_err *operands(cutter *c, const lz_flat_node *x, lz_node *n)
{
    lz_output *in;
    LZ_TRY(lz_arena_new(c->arena, &in, x->nin));
    for (uint32_t i = 0; i < x->nin; i++) {
        if (!x->in[i])
            continue;
        lz_node *from = c->inside[lz_flat_ref_place(x->in[i])];
        in[i] = (lz_output){ from, lz_flat_ref_output(x->in[i]) };
        if (!from) {
            LZ_TRY(leaf_for(c, x->in[i], &from));
            in[i] = (lz_output){ from, 0 };
        }
    }
    n->in = in;
    n->nin = x->nin;
    return NULL;
}

static lz_err *copy_node(cutter *c, uint32_t place)
{
    lz_flat_node x = lz_flat_read(c->places->at[place]);
    lz_node *n;
    LZ_TRY(lz_arena_new(c->arena, &n, 1));
    LZ_TRY(operands(c, &x, n));
    LZ_TRY(specs_of(c, &x, n));
    LZ_TRY(lz_arena_new(c->arena, &n->numbers, x.nnumbers));
    n->op = &lz_op_table[x.op];
    n->args = (const lz_slot *)x.args;
    n->nargs = x.nargs;
    n->fixed = x.fixed;
    n->nfixed = x.nfixed;
    n->nnumbers = x.nnumbers;
    c->inside[place] = n;
    return keep(c, n, place);
}

/* The numbers come behind all data, in the order of the nodes. */
static lz_err *numbers_of(cutter *c, const lz_node *n)
{
    uint32_t first = c->places->first_number[c->cut->place_of[n->index]];
    for (uint32_t i = 0; i < n->nargs; i++) {
        const lz_slot *s = &n->args[i];
        uint32_t count = s->kind == LZ_ARG_SCALAR ? 1 : s->kind == LZ_ARG_RANDOM ? 2 : 0;
        lz_scalar_kind kind = count == 2 ? LZ_SCALAR_INT : (lz_scalar_kind)s->scalar;
        for (uint32_t k = 0; k < count; k++)
            LZ_TRY(add_source(c,
                              (lz_parameter){ .node = n,
                                              .number = s->first + k,
                                              .scalar = kind,
                                              .type = { LZ_DTYPE_NONE, { NULL, 0 } } },
                              (lz_source){ .is_number = true, .at = first + s->first + k }));
    }
    return NULL;
}

static lz_err *results_of(cutter *c, const uint64_t *results, size_t n)
{
    lz_lowering *l = c->cut->lowering;
    for (size_t i = 0; i < n; i++) {
        lz_node *from = c->inside[lz_flat_ref_place(results[i])];
        LZ_TRY(lz_vec_push(&l->results, (lz_output){ from, lz_flat_ref_output(results[i]) }));
    }
    return NULL;
}

static lz_err *fill(cutter *c, const uint64_t *results, size_t nresults)
{
    const lz_places *p = c->places;
    lz_node *leaf;
    for (uint32_t i = 0; i < p->n; i++)
        if (c->in[i])
            LZ_TRY(lz_flat_read(p->at[i]).op ? copy_node(c, i) : leaf_for(c, lz_flat_ref(i, 0), &leaf));
    const lz_lowering *l = c->cut->lowering;
    for (size_t i = 0; i < l->nodes.len; i++)
        if (l->nodes.data[i]->op)
            LZ_TRY(numbers_of(c, l->nodes.data[i]));
    c->cut->nnodes = l->nodes.len;
    return results_of(c, results, nresults);
}

static size_t count_operands(const lz_places *p, const bool *in)
{
    size_t n = 0;
    for (uint32_t i = 0; i < p->n; i++)
        n += in[i] ? 1 + (size_t)lz_flat_read(p->at[i]).nin : 0;
    return n;
}

lz_err *lz_cut_make(lz_arena *a, const lz_places *p, const bool *in, const uint64_t *results, size_t nresults,
                    lz_origins origins, const char *name, lz_backend_device d, lz_cut *out)
{
    size_t most = count_operands(p, in);
    cutter c = { .arena = a, .places = p, .in = in, .origins = origins, .cut = out };
    *out = (lz_cut){ 0 };
    LZ_TRY(lz_arena_new(a, &out->sources, most + p->nnumbers));
    LZ_TRY(lz_arena_new(a, &out->place_of, most));
    LZ_TRY(lz_arena_new(a, &c.inside, p->n));
    LZ_TRY(lz_arena_new(a, &c.outside, p->n));
    LZ_TRY(lz_arena_new(a, &out->lowering, 1));
    lz_lowering_init(out->lowering, a, name, d);
    lz_err *e = fill(&c, results, nresults);
    if (e) {
        lz_lowering_deinit(out->lowering);
        *out = (lz_cut){ 0 };
    }
    return e;
}
