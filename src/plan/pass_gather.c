/* Part of the pass "views". Replaces a gather of computed elements by the computation on gathered
 * elements, if far fewer elements are gathered than computed. Example: of the logarithm of a softmax, a
 * loss reads one element in each row. */
#include "lower/lower_impl.h"
#include "plan/dag_passes.h"

enum { FEWER = 4, DEEPEST = 6 };

typedef struct pusher {
    lz_lower *b;
    const lz_low_node *index;
    int64_t dim;
    int nodes, gathers; /* how many more may be visited, may be made */
} pusher;

/* Whether x has the same elements at every index of dimension dim. */
static bool stands_still(const lz_low_node *x, int64_t dim)
{
    const lz_low_index_attr *a = x->attr;
    bool still = x->kind == LZ_LOW_INDEX && x->nin == 1;
    for (int64_t r = 0; still && r < x->in[0]->ndim; r++)
        still = a->v[x->in[0]->ndim + r * x->ndim + dim] == 0;
    return still;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most DEEPEST deep */
static lz_err *can_push(pusher *p, const lz_low_node *x, int depth, bool *ok)
{
    lz_group_view v;
    *ok = p->nodes-- > 0;
    if (!*ok || stands_still(x, p->dim))
        return NULL;
    if (!lz_low_node_is_pointwise(x)) {
        LZ_TRY(lz_view_resolve(p->b->arena, x, &v));
        *ok = (v.base->kind == LZ_LOW_INPUT || v.base->kind == LZ_LOW_CALL) && p->gathers-- > 0;
        return NULL;
    }
    *ok = depth < DEEPEST;
    for (int i = 0; *ok && i < x->nin; i++)
        LZ_TRY(can_push(p, x->in[i], depth + 1, ok));
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as can_push */
static lz_err *push(pusher *p, const lz_low_node *x, const lz_low_node **out)
{
    const lz_low_node *in[LZ_LOW_OPERANDS];
    if (stands_still(x, p->dim)) {
        const lz_low_index_attr *a = x->attr;
        const lz_low_node *y = x->in[0];
        return lz_low_index(p->b, y, lz_low_node_sizes(p->index), a->v + y->ndim, a->v, a->bounded, NULL,
                            out);
    }
    if (!lz_low_node_is_pointwise(x))
        return lz_low_gather(p->b, x, p->index, p->dim, out);
    for (int i = 0; i < x->nin; i++)
        LZ_TRY(push(p, x->in[i], &in[i]));
    return lz_low_again(p->b, x, in, lz_low_node_sizes(p->index), out);
}

lz_err *lz_gather_operands(lz_lower *b, const lz_low_node *data, const lz_low_node *index, int64_t dim,
                           const lz_low_node **out)
{
    enum { NODES = 24, GATHERS = 2 };
    pusher p = { .b = b, .index = index, .dim = dim, .nodes = NODES, .gathers = GATHERS };
    bool ok;
    *out = NULL;
    if (!lz_low_node_is_pointwise(data) || data->numel / FEWER < index->numel)
        return NULL;
    LZ_TRY(can_push(&p, data, 0, &ok));
    ok = ok && p.gathers < GATHERS; /* without a gather no node would check the index */
    return ok ? push(&p, data, out) : NULL;
}
