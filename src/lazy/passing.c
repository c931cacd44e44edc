/* Temporaries that a read need not keep. */
#include "lazy/sync.h"

/* Steps that are looked at: a longer expression is worth keeping. */
enum { MOST_STEPS = 32 };

/* Kept by the innermost scope alone, which may be popped soon (the outermost never is), while some pending
 * node is computed from it: it has counts that are neither the storage's nor a view's. */
static bool is_temporary(const lz_alias *a)
{
    const lz_scope *s = a->ctx->scope;
    const lz_node *n = a->value.node;
    uint32_t own = 1;
    if (!s->outer || !a->views)
        return false;
    for (const lz_tensor *t = a->views; t; t = t->next) {
        if (t->scope != s || t->count != 1)
            return false;
        own += t->value.node == n;
    }
    return n->refs > own;
}

static bool is_step(const lz_node *n)
{
    return n->op && n->nout == 1 && !n->passed && (n->op->tags & LZ_TAG_BIT(pointwise));
}

/* Element-wise operators only, down to held data. All below a cheap node are cheap, and get the mark. */
static bool is_cheap(lz_node *n, uint32_t mark)
{
    lz_node *steps[MOST_STEPS];
    size_t seen = 0;
    if (n->mark == mark)
        return true;
    if (!is_step(n))
        return false;
    steps[seen++] = n;
    for (size_t k = 0; k < seen; k++)
        for (uint32_t i = 0; i < steps[k]->nin; i++) {
            lz_node *in = (lz_node *)steps[k]->in[i].node;
            if (!in || !in->op)
                continue;
            if (!is_step(in) || seen == MOST_STEPS)
                return false;
            steps[seen++] = in;
        }
    while (seen)
        steps[--seen]->mark = mark;
    return true;
}

bool lz_passes_by(const lz_alias *a, uint32_t mark)
{
    lz_node *n = (lz_node *)a->value.node;
    if (!n->op || !is_temporary(a) || !is_cheap(n, mark))
        return false;
    n->passed = true;
    return true;
}
