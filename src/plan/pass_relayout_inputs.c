/* Part of the pass "views". Where a reduction with short rows reads an input across, and the same elements
 * many times, the input is copied in the order in which vectors read it: a copy of few elements instead
 * of a gather for each vector. Example: the distances between all pairs of rows (cdist). */
#include "plan/dag_passes.h"
#include "plan/dag_rewrite.h"
#include "plan/fuse_impl.h"
#include <stdlib.h>

typedef struct relayout {
    lz_dag_rewrite w;
    const lz_low_node **reduction; /* by node: one that reads it element by element; NULL: none */
    bool *copied, any;
} relayout;

static const int64_t *strides_of(const lz_low_node *input)
{
    return ((const lz_low_input_attr *)input->attr)->strides;
}

static uint64_t dims_of(const lz_low_node *reduction)
{
    return ((const lz_low_reduce_attr *)reduction->attr)->dims;
}

/* The dimension along which vectors of the reduction go; -1: none. */
static int64_t vector_dim(const lz_low_node *input, const lz_low_node *reduction)
{
    int64_t d = input->ndim - 1;
    while (d >= 0 && (input->sizes[d] == 1 || dims_of(reduction) >> d & 1))
        d--;
    return d;
}

static bool gains(const lz_low_node *input, const lz_low_node *reduction)
{
    enum { VECTOR = 16, OFTEN = 8 };
    int64_t along = vector_dim(input, reduction), distinct = 1;
    const int64_t *strides = strides_of(input);
    if (along < 0 || !reduction->numel || input->sizes[along] < VECTOR || llabs(strides[along]) < 2)
        return false;
    for (int64_t d = 0; d < input->ndim; d++)
        distinct *= strides[d] ? input->sizes[d] : 1;
    return distinct <= input->numel / OFTEN
           && lz_wants_columns(reduction->in[0], dims_of(reduction), input->numel / reduction->numel);
}

/* Requires that users are visited before operands. */
static void visit(relayout *t, const lz_low_node *n)
{
    const lz_low_node *r = n->kind == LZ_LOW_REDUCE ? n : t->reduction[n->id];
    for (int i = 0; i < n->nin; i++) {
        t->w.uses[n->in[i]->id]++;
        if (n->kind == LZ_LOW_REDUCE || lz_low_node_is_pointwise(n))
            t->reduction[n->in[i]->id] = r;
    }
    t->copied[n->id] = n->kind == LZ_LOW_INPUT && r && gains(n, r);
    t->any |= t->copied[n->id];
}

/* A dense copy with the dimension `along` innermost, seen with the sizes of the input. */
static lz_err *copy_input(lz_lower *b, const lz_low_node *input, int64_t along, const lz_low_node **out)
{
    const lz_low_input_attr *a = input->attr;
    const lz_low_node *across, *copy, *view;
    lz_shape sizes = { 0 }, strides = { 0 };
    int64_t *map, *none, width = input->ndim;
    LZ_TRY(lz_arena_new(b->arena, &map, (size_t)(width * width)));
    LZ_TRY(lz_arena_new(b->arena, &none, (size_t)width));
    for (int64_t i = 0; i < width; i++) {
        int64_t d = i < along ? i : i < width - 1 ? i + 1 : along;
        if (!a->strides[d])
            continue;
        map[sizes.n * width + d] = 1;
        sizes.v[sizes.n++] = input->sizes[d];
        strides.v[strides.n++] = a->strides[d];
    }
    b->origin = input->origin;
    LZ_TRY(lz_low_input(b, a->slot, (lz_dtype)input->dtype, lz_shape_ints(&sizes), lz_shape_ints(&strides),
                        a->offset, &across));
    LZ_TRY(lz_low_copy(b, across, &copy));
    LZ_TRY(lz_low_index(b, across, lz_low_node_sizes(input), map, none, 0, NULL, &view));
    return lz_low_again(b, view, &copy, lz_low_node_sizes(input), out);
}

static lz_err *replace(void *user, lz_dag_rewrite *w, const lz_low_node *n, const lz_low_node **out)
{
    const relayout *t = user;
    return t->copied[n->id] ? copy_input(&w->b, n, vector_dim(n, t->reduction[n->id]), out) : NULL;
}

lz_err *lz_relayout_inputs(lz_lower *dag, const lz_low_node **outputs, size_t n)
{
    relayout t = { .any = false };
    LZ_TRY(lz_dag_rewrite_init(&t.w, dag));
    LZ_TRY(lz_arena_new(dag->arena, &t.reduction, dag->n_nodes + 1));
    LZ_TRY(lz_arena_new(dag->arena, &t.copied, dag->n_nodes + 1));
    for (size_t i = 0; i < n; i++)
        t.w.uses[outputs[i]->id]++;
    for (uint32_t i = dag->n_nodes; i-- > 0;)
        if (t.w.uses[i])
            visit(&t, dag->nodes[i]);
    for (size_t i = 0; i < n; i++) /* an output stays the input that it is */
        t.any &= !t.copied[outputs[i]->id];
    return t.any ? lz_dag_rewrite_run(&t.w, replace, &t, outputs, n) : NULL;
}
