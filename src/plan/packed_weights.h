/* packed_weights.h - weights that are transposed once for many runs.
 *
 * A layer's weights are stored along k, one row for each output. Our own product of weights with a
 * few rows has to transpose the weights first, which takes longer than the product. So a matrix that two
 * runs find unchanged gets a transposed copy. lz_buffer_forget frees the copy when the matrix changes, so
 * weights that every step updates never have a copy. Results are the same to the last bit. */
#ifndef LZ_PLAN_PACKED_WEIGHTS_H
#define LZ_PLAN_PACKED_WEIGHTS_H

#include "plan/plan_impl.h"

/* Marks the products that can use a copy, and the first product of each matrix. Requires
 * lz_plan_buffer.shares.
 */
void lz_plan_find_packed_weights(lz_plan *p);

/* Bytes of copies that a run with these inputs will make. */
size_t lz_packed_weights_will_take(const lz_plan *p, const lz_run_input *inputs);
/* Makes the copies. Out of memory is no error: that matrix then has no copy. */
void lz_packed_weights_make(const lz_plan *p, const lz_run_args *args);
/* The copy for a product, [k][n], with one count for the caller; NULL: it does not exist. */
lz_buffer *lz_packed_weights_find(const lz_plan *p, const lz_plan_launch *l, const lz_run_input *inputs);

#endif
