/* Temporaries that a read need not keep. */
#include "lazy/sync.h"

/* Steps that are looked at: a longer expression is worth keeping. */
enum { MOST_STEPS = 32 };

/* Until the scope is popped, which may be soon. The outermost scope is never popped. */
static bool is_temporary(const lz_alias *a)
{
    const lz_scope *s = a->ctx->scope;
    bool is = s->outer && a->views;
    for (const lz_tensor *t = a->views; is && t; t = t->next)
        is = t->scope == s && t->count == 1;
    return is;
}

/* Some pending node is computed from it: counts that are neither the storage's nor a view's. */
static bool has_users(const lz_alias *a)
{
    const lz_node *n = a->value.node;
    uint32_t own = 1;
    for (const lz_tensor *t = a->views; t; t = t->next)
        own += t->value.node == n;
    return n->refs > own;
}

static bool is_step(const lz_node *n)
{
    return n->op && n->nout == 1 && !n->passed && (n->op->tags & LZ_TAG_BIT(pointwise));
}

/* Element-wise operators only, down to held data. */
static bool is_cheap(const lz_node *n)
{
    const lz_node *todo[MOST_STEPS] = { n };
    size_t left = is_step(n), seen = left;
    bool cheap = left > 0;
    while (cheap && left > 0) {
        const lz_node *x = todo[--left];
        for (uint32_t i = 0; cheap && i < x->nin; i++) {
            const lz_node *in = x->in[i].node;
            if (!in || !in->op)
                continue;
            cheap = is_step(in) && seen < MOST_STEPS;
            if (cheap) {
                todo[left++] = in;
                seen++;
            }
        }
    }
    return cheap;
}

bool lz_passes_by(const lz_alias *a)
{
    lz_node *n = (lz_node *)a->value.node;
    if (!n->op || !is_temporary(a) || !has_users(a) || !is_cheap(n))
        return false;
    n->passed = true;
    return true;
}
