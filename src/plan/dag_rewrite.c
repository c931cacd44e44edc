#include "plan/dag_rewrite.h"

lz_err *lz_dag_rewrite_init(lz_dag_rewrite *w, lz_lower *dag)
{
    *w = (lz_dag_rewrite){ .dag = dag };
    LZ_TRY(lz_arena_new(dag->arena, &w->uses, dag->n_nodes + 1));
    return lz_arena_new(dag->arena, &w->now, dag->n_nodes + 1);
}

static lz_err *copy_node(lz_dag_rewrite *w, const lz_low_node *n, const lz_low_node **out)
{
    const lz_low_node **in;
    LZ_TRY(lz_arena_new(w->b.arena, &in, n->nin + 1));
    for (int i = 0; i < n->nin; i++)
        in[i] = w->now[n->in[i]->id];
    w->b.origin = n->origin;
    return lz_low_again(&w->b, n, in, lz_low_node_sizes(n), out);
}

static lz_err *rebuild(lz_dag_rewrite *w, lz_dag_replace_fn *replace, void *user)
{
    for (uint32_t i = 0; i < w->dag->n_nodes; i++) {
        if (!w->uses[i])
            continue;
        LZ_TRY(replace(user, w, w->dag->nodes[i], &w->now[i]));
        if (!w->now[i])
            LZ_TRY(copy_node(w, w->dag->nodes[i], &w->now[i]));
    }
    return NULL;
}

lz_err *lz_dag_rewrite_run(lz_dag_rewrite *w, lz_dag_replace_fn *replace, void *user,
                           const lz_low_node **outputs, size_t n)
{
    lz_low_init(&w->b, w->dag->arena);
    lz_err *e = rebuild(w, replace, user);
    if (e) {
        lz_low_deinit(&w->b);
        return e;
    }
    for (size_t i = 0; i < n; i++)
        outputs[i] = w->now[outputs[i]->id];
    lz_low_deinit(w->dag);
    *w->dag = w->b;
    return NULL;
}
