/* executor.h - running a graph: numbers, lists and control flow one by one, operators in
 * segments.
 *
 * Plans are kept between runs. Several threads may run one executor at the same time,
 * each with an environment of its own. */
#ifndef LZ_SCRIPT_EXECUTOR_H
#define LZ_SCRIPT_EXECUTOR_H

#include "script/segment.h"

typedef struct lz_executor lz_executor;

/* The graph must not be changed as long as the executor lives. */
LZ_MUST_USE lz_err *lz_executor_create(lz_graph *g, lz_executor **out);
void lz_executor_destroy(lz_executor *x); /* NULL does nothing */

size_t lz_executor_inputs(const lz_executor *x);
size_t lz_executor_outputs(const lz_executor *x);

/* Inputs are borrowed; their arrays do not change, even where the graph writes to them. Gives one count of
 * each output; none on failure. */
LZ_MUST_USE lz_err *lz_executor_run(lz_executor *x, const lz_script_value *in, size_t nin, lz_script_env *env,
                                    lz_script_value *out);

/* Plans made so far. */
size_t lz_executor_plans(lz_executor *x);

#endif
