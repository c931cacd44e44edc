/* Part of the pass "views". If all users of a matrix product read it transposed, computes y' x' instead of
 * (x y)'. So the gradient of a layer's weight has the memory order of the weight, and an update walks
 * along its rows. */
#include "core/strides.h"
#include "plan/dag_passes.h"
#include "plan/dag_rewrite.h"

typedef struct transposer {
    lz_dag_rewrite w;
    bool *seen; /* by node: a view of the node is used, or a kernel with strided operands reads the node */
    const lz_low_node *
        *products; /* by view: the product that the view shows, if the product is to be transposed */
    bool any;
} transposer;

static bool is_view(const lz_low_node *n)
{
    return ((n->kind == LZ_LOW_INDEX && n->nin == 1) || n->kind == LZ_LOW_RESHAPE) && n->numel > 0;
}

static void count_uses(transposer *t, const lz_low_node *const *outputs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        t->w.uses[outputs[i]->id]++;
    for (uint32_t i = t->w.dag->n_nodes; i-- > 0;) {
        const lz_low_node *x = t->w.dag->nodes[i];
        for (int k = 0; t->w.uses[i] && k < x->nin; k++) {
            t->w.uses[x->in[k]->id]++;
            t->seen[x->in[k]->id] |= x->kind == LZ_LOW_CALL || is_view(x);
        }
    }
}

/* *ok: n shows the whole product in the element order of the transposed product. */
static lz_err *is_transpose_of(const transposer *t, const lz_low_node *n, const lz_low_node *product,
                               bool *ok)
{
    const int64_t *s = product->sizes;
    lz_shape strides;
    lz_group_view v;
    LZ_TRY(lz_view_resolve(t->w.dag->arena, n, &v));
    *ok = v.base == product && v.offset == 0 && n->numel == product->numel && s[1] > 1 && s[2] > 1
          && lz_strides_view(LZ_INTS(s[0], s[2], s[1]), LZ_INTS(s[1] * s[2], 1, s[2]), lz_low_node_sizes(n),
                             &strides);
    for (int64_t d = 0; *ok && d < n->ndim; d++)
        *ok = n->sizes[d] == 1 || v.strides[d] == strides.v[d];
    return NULL;
}

/* Requires that users are visited before operands. Clears the uses of nodes that only the old product
 * needed. */
static lz_err *find(transposer *t, const lz_low_node *n)
{
    const lz_low_node *x = n;
    bool ok;
    if (!is_view(n) || (t->seen[n->id] && t->w.uses[n->id] == 1))
        return NULL;
    do
        x = x->in[0];
    while (is_view(x) && t->w.uses[x->id] == 1);
    if (x->kind != LZ_LOW_CALL || x->op != LZ_CALL_MATMUL || t->w.uses[x->id] != 1)
        return NULL;
    LZ_TRY(is_transpose_of(t, n, x, &ok));
    if (!ok)
        return NULL;
    t->products[n->id] = x;
    t->any = true;
    for (const lz_low_node *y = n->in[0]; y != x; y = y->in[0])
        t->w.uses[y->id] = 0;
    t->w.uses[x->id] = 0;
    return NULL;
}

static lz_err *transpose(void *user, lz_dag_rewrite *w, const lz_low_node *n, const lz_low_node **out)
{
    static const int64_t swap[] = { 0, 2, 1 };
    const transposer *t = user;
    const lz_low_node *product = t->products[n->id], *x, *y;
    if (!product)
        return NULL;
    w->b.origin = product->origin;
    LZ_TRY(lz_low_permute(&w->b, w->now[product->in[1]->id], swap, &x));
    LZ_TRY(lz_low_permute(&w->b, w->now[product->in[0]->id], swap, &y));
    LZ_TRY(lz_low_matmul_to(&w->b, x, y, (lz_dtype)product->dtype, out));
    return lz_low_reshape(&w->b, *out, lz_low_node_sizes(n), out);
}

lz_err *lz_transpose_products(lz_lower *dag, const lz_low_node **outputs, size_t n)
{
    transposer t = { .any = false };
    LZ_TRY(lz_dag_rewrite_init(&t.w, dag));
    LZ_TRY(lz_arena_new(dag->arena, &t.seen, dag->n_nodes + 1));
    LZ_TRY(lz_arena_new(dag->arena, &t.products, dag->n_nodes + 1));
    count_uses(&t, outputs, n);
    for (uint32_t i = dag->n_nodes; i-- > 0;)
        if (t.w.uses[i])
            LZ_TRY(find(&t, dag->nodes[i]));
    return t.any ? lz_dag_rewrite_run(&t.w, transpose, &t, outputs, n) : NULL;
}
