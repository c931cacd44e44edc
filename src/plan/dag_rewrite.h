/* dag_rewrite.h - builds a lowered graph again, with some of its nodes replaced.
 *
 *     LZ_TRY(lz_dag_rewrite_init(&w, dag));
 *     ... count the uses in w.uses, find out what to replace ...
 *     return lz_dag_rewrite_run(&w, replace, user, outputs, n);
 *
 * The new graph has only nodes that are used. It is in the old graph's arena and takes its place. */
#ifndef LZ_PLAN_DAG_REWRITE_H
#define LZ_PLAN_DAG_REWRITE_H

#include "lower/lower_impl.h"

typedef struct lz_dag_rewrite {
    lz_lower *dag;           /* the old graph */
    lz_lower b;              /* the new one */
    uint32_t *uses;          /* by old node: number of uses; nodes without uses are left out */
    const lz_low_node **now; /* by old node: its node in the new graph; operands come before users */
} lz_dag_rewrite;

/* Makes the node of w->b that stands for the old node n. *out stays NULL: n is copied. */
typedef lz_err *lz_dag_replace_fn(void *user, lz_dag_rewrite *w, const lz_low_node *n,
                                  const lz_low_node **out);

LZ_MUST_USE lz_err *lz_dag_rewrite_init(lz_dag_rewrite *w, lz_lower *dag);
/* Also replaces the outputs by their nodes in the new graph. After an error the old graph is unchanged. */
LZ_MUST_USE lz_err *lz_dag_rewrite_run(lz_dag_rewrite *w, lz_dag_replace_fn *replace, void *user,
                                       const lz_low_node **outputs, size_t n);

#endif
