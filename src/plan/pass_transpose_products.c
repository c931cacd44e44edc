/* Part of the pass "views". A product of matrices that is only looked at transposed is made transposed:
 * y' x' instead of (x y)'. So the gradient of a layer's weight lies as the weight does, and what is made
 * of it goes over its rows. */
#include "core/strides.h"
#include "lower/lower_impl.h"
#include "plan/dag_passes.h"

typedef struct turner {
    const lz_lower *dag;
    lz_lower *b;
    uint32_t *uses;         /* of a node: by nodes that are needed, and as outputs */
    bool *seen;             /* of a node: a view shows it, or a kernel that takes strided operands */
    const lz_ln **products; /* of a view: what it shows, if that is to be turned */
    bool any;
    const lz_ln **now;
} turner;

static bool is_view(const lz_ln *n)
{
    return ((n->kind == LZ_L_INDEX && n->nin == 1) || n->kind == LZ_L_RESHAPE) && n->numel > 0;
}

static void count_uses(turner *t, const lz_ln *const *outputs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        t->uses[outputs[i]->id]++;
    for (uint32_t i = t->dag->n_nodes; i-- > 0;) {
        const lz_ln *x = t->dag->nodes[i];
        for (int k = 0; t->uses[i] && k < x->nin; k++) {
            t->uses[x->in[k]->id]++;
            t->seen[x->in[k]->id] |= x->kind == LZ_L_CALL || is_view(x);
        }
    }
}

/* n shows all of the product in the order of the transposed one. */
static lz_err *shows_turned(const turner *t, const lz_ln *n, const lz_ln *product, bool *ok)
{
    const int64_t *s = product->sizes;
    lz_shape strides;
    lz_gview v;
    LZ_TRY(lz_view_resolve(t->b->arena, n, &v));
    *ok = v.base == product && v.offset == 0 && n->numel == product->numel && s[1] > 1 && s[2] > 1
          && lz_strides_view(LZ_INTS(s[0], s[2], s[1]), LZ_INTS(s[1] * s[2], 1, s[2]), lz_ln_sizes(n),
                             &strides);
    for (int64_t d = 0; *ok && d < n->ndim; d++)
        *ok = n->sizes[d] == 1 || v.strides[d] == strides.v[d];
    return NULL;
}

/* Users come before operands; what only a turned product was needed for is needed no more. */
static lz_err *find(turner *t, const lz_ln *n)
{
    const lz_ln *x = n;
    bool ok;
    if (!is_view(n) || (t->seen[n->id] && t->uses[n->id] == 1))
        return NULL;
    do
        x = x->in[0];
    while (is_view(x) && t->uses[x->id] == 1);
    if (x->kind != LZ_L_CALL || x->op != LZ_CALL_MATMUL || t->uses[x->id] != 1)
        return NULL;
    LZ_TRY(shows_turned(t, n, x, &ok));
    if (!ok)
        return NULL;
    t->products[n->id] = x;
    t->any = true;
    for (const lz_ln *y = n->in[0]; y != x; y = y->in[0])
        t->uses[y->id] = 0;
    t->uses[x->id] = 0;
    return NULL;
}

static lz_err *turn(turner *t, const lz_ln *product, lz_ints sizes, const lz_ln **out)
{
    static const int64_t swap[] = { 0, 2, 1 };
    const lz_ln *x, *y;
    t->b->origin = product->origin;
    LZ_TRY(lz_low_permute(t->b, t->now[product->in[1]->id], swap, &x));
    LZ_TRY(lz_low_permute(t->b, t->now[product->in[0]->id], swap, &y));
    LZ_TRY(lz_low_matmul(t->b, x, y, out));
    return lz_low_reshape(t->b, *out, sizes, out);
}

static lz_err *rebuild(turner *t, const lz_ln *n, const lz_ln **out)
{
    const lz_ln **in;
    if (t->products[n->id])
        return turn(t, t->products[n->id], lz_ln_sizes(n), out);
    LZ_TRY(lz_arena_new(t->b->arena, &in, n->nin + 1));
    for (int i = 0; i < n->nin; i++)
        in[i] = t->now[n->in[i]->id];
    t->b->origin = n->origin;
    return lz_low_again(t->b, n, in, lz_ln_sizes(n), out);
}

static lz_err *rebuild_all(turner *t, const lz_ln **outputs, size_t n)
{
    for (uint32_t i = 0; i < t->dag->n_nodes; i++)
        if (t->uses[i])
            LZ_TRY(rebuild(t, t->dag->nodes[i], &t->now[i]));
    for (size_t i = 0; i < n; i++)
        outputs[i] = t->now[outputs[i]->id];
    return NULL;
}

lz_err *lz_turn_products(lz_lower *dag, const lz_ln **outputs, size_t n)
{
    lz_lower made;
    size_t all = dag->n_nodes + 1;
    turner t = { .dag = dag, .b = &made };
    lz_low_init(&made, dag->arena);
    LZ_TRY(lz_arena_new(dag->arena, &t.uses, all));
    LZ_TRY(lz_arena_new(dag->arena, &t.seen, all));
    LZ_TRY(lz_arena_new(dag->arena, &t.products, all));
    LZ_TRY(lz_arena_new(dag->arena, &t.now, all));
    count_uses(&t, outputs, n);
    for (uint32_t i = dag->n_nodes; i-- > 0;)
        if (t.uses[i])
            LZ_TRY(find(&t, dag->nodes[i]));
    if (!t.any)
        return NULL;
    lz_err *e = rebuild_all(&t, outputs, n);
    lz_low_deinit(e ? &made : dag);
    if (!e)
        *dag = made;
    return e;
}
