/* statistics.h - running statistics of operators that are marked `memory: statistics`.
 *
 * In training PyTorch writes the running mean and variance although the schema does not say so. The
 * statistics are written first; the operator, which does not need them then, is recorded without them, so
 * that it keeps nothing that the next batch writes. No gradient flows into the statistics. */
#ifndef LZ_LAZY_STATISTICS_H
#define LZ_LAZY_STATISTICS_H

#include "lazy/ctx.h"
#include "op/op_table.h"

/* Has the call of the operator statistics to write? */
bool lz_statistics_are_written(const lz_op_row *op, const lz_value *in);

/* Records the writes. `rest`: room for op->nargs values, the arguments without the statistics. */
void lz_statistics_write(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *rest);

#endif
