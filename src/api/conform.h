/* conform.h - a backend beside the CPU: the same calls on both, and the same results.
 *
 * Cases are made up as it goes, by a sequence that is the same in every run. */
#ifndef LZ_API_CONFORM_H
#define LZ_API_CONFORM_H

#include "exec/replay_impl.h"
#include "lazy/record.h"
#include "op/boxed.h"
#include "op/op_table.h"
#include <lazuli/tensor.h>

typedef struct lz_conform {
    lz_replay r;
    const char *device;
    lz_ctx *cpu, *dev;
    lz_text why; /* of the case at hand */
} lz_conform;

/* Counts a case under a group, and empties `why`; what is in it says what is wrong. */
LZ_MUST_USE lz_err *lz_conform_judge(lz_conform *k, const char *group, const char *id, lz_verdict v);

/* Reads both and compares; what differs is added to `why`. */
LZ_MUST_USE lz_err *lz_conform_compare(lz_conform *k, lz_tensor *cpu, lz_tensor *dev);

/* Calls an operator with arguments as in a boxed call; false: it was refused. */
bool lz_conform_call(lz_ctx *c, const lz_op_row *op, const lz_value *in, size_t n, lz_value *out);

/* Elements that look random but are not: of both signs, small, some equal. */
LZ_MUST_USE lz_err *lz_conform_tensor(lz_ctx *c, lz_dtype d, lz_ints sizes, uint64_t seed, lz_tensor **out);

uint64_t lz_conform_roll(uint64_t *dice);

/* ---- the groups ---- */

LZ_MUST_USE lz_err *lz_conform_data(lz_conform *k);
LZ_MUST_USE lz_err *lz_conform_ops(lz_conform *k);
LZ_MUST_USE lz_err *lz_conform_programs(lz_conform *k);
LZ_MUST_USE lz_err *lz_conform_failure(lz_conform *k);
LZ_MUST_USE lz_err *lz_conform_threads(lz_conform *k);

#endif
