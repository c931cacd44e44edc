/* turned.h - weights that are transposed once for many runs.
 *
 * A layer's weights lie along k, one row for each of its outputs, and our own product of them with a
 * few rows has to transpose them first, which takes longer than the product. So a matrix that two runs
 * find unchanged gets a transposed copy, which goes with its contents (lz_buffer_forget): weights that
 * every step updates never have one. Results are the same to the last bit. */
#ifndef LZ_PLAN_PACKED_WEIGHTS_H
#define LZ_PLAN_PACKED_WEIGHTS_H

#include "plan/plan_impl.h"

/* Marks the products that can use a copy, and of those of one matrix the first. Needs to know which
 * buffers share memory. */
void lz_plan_find_turned(lz_plan *p);

/* Bytes of copies that a run with these inputs will make. */
size_t lz_turned_will_take(const lz_plan *p, const lz_run_input *inputs);
/* Makes them. Where there is no memory there is no copy. */
void lz_turned_make(const lz_plan *p, const lz_run_args *args);
/* The copy for a product, [k][n], with one count for the caller; NULL: there is none. */
lz_buffer *lz_turned_find(const lz_plan *p, const lz_plaunch *l, const lz_run_input *inputs);

#endif
