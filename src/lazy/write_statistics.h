/* write_statistics.h - recording calls that write running statistics (lower/statistics.h).
 *
 * The operator is recorded without the statistics, so that it keeps nothing that the next batch writes. No
 * gradient flows into the statistics. */
#ifndef LZ_LAZY_WRITE_STATISTICS_H
#define LZ_LAZY_WRITE_STATISTICS_H

#include "lazy/ctx.h"
#include "op/op_table.h"

/* Whether the call of the operator writes running statistics. */
bool lz_statistics_are_written(const lz_op_row *op, const lz_value *in);

/* Records the writes, below the tape. `rest`: room for op->nargs values, the arguments without the
 * statistics. */
LZ_MUST_USE lz_err *lz_statistics_write(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in,
                                        lz_value *rest);

#endif
