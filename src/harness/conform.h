/* conform.h - compares a backend with the CPU: the same calls on both must give the same results.
 *
 * The cases are generated, the same in every run. */
#ifndef LZ_HARNESS_CONFORM_H
#define LZ_HARNESS_CONFORM_H

#include "harness/replay_impl.h"
#include "lazy/record.h"
#include "op/boxed.h"
#include "op/op_table.h"
#include <lazuli/backend.h>
#include <lazuli/tensor.h>

typedef struct lz_conform {
    lz_replay r;
    const char *device;
    lz_ctx *cpu, *dev;
    lz_text why; /* what is wrong with the current case */
} lz_conform;

/* Whether the options ask for a case, or for cases of a group (id NULL). */
bool lz_conform_wants(const lz_conform *k, const char *group, const char *id);

/* Counts the case under the group, reports `why` if it is not empty, and empties it. */
LZ_MUST_USE lz_err *lz_conform_judge(lz_conform *k, const char *group, const char *id, lz_verdict v);
/* As lz_conform_judge: passed if `why` is empty, else failed. */
LZ_MUST_USE lz_err *lz_conform_done(lz_conform *k, const char *group, const char *id);

/* Opens a context on the device, "npu:1" for index 1. NULL: the error was added to `why`. */
lz_ctx *lz_conform_open(lz_conform *k, int index, bool async);

/* Reads and compares two tensors. Adds differences to `why`. */
LZ_MUST_USE lz_err *lz_conform_compare(lz_conform *k, lz_tensor *cpu, lz_tensor *dev);
/* Reads a tensor of context c. If that fails, *ok is false and the error is added to `why`. */
LZ_MUST_USE lz_err *lz_conform_read(lz_conform *k, lz_tensor *t, lz_ctx *c, lz_array *out, bool *ok);

/* Calls an operator with arguments as in boxed.h. False: the call was refused. */
bool lz_conform_call(lz_ctx *c, const lz_op_row *op, const lz_value *in, size_t n, lz_value *out);

/* Elements that look random, of both signs, with repetitions; every run has equal elements. */
typedef enum lz_flavour {
    LZ_PLAIN,   /* small multiples of 1/8: sums are exact in any order */
    LZ_FINE,    /* f64 numbers that f32 cannot represent */
    LZ_SPECIAL, /* includes NaN, infinities and negative zeros */
    LZ_WIDE     /* integers of more than 32 bits */
} lz_flavour;

LZ_MUST_USE lz_err *lz_conform_fill(lz_dtype d, lz_ints sizes, lz_flavour f, uint64_t seed, lz_array *out);
LZ_MUST_USE lz_err *lz_conform_tensor(lz_ctx *c, lz_dtype d, lz_ints sizes, lz_flavour f, uint64_t seed,
                                      lz_tensor **out);

uint64_t lz_conform_roll(uint64_t *dice);

/* ---- the groups ---- */

LZ_MUST_USE lz_err *lz_conform_data(lz_conform *k);
LZ_MUST_USE lz_err *lz_conform_ops(lz_conform *k);
LZ_MUST_USE lz_err *lz_conform_programs(lz_conform *k);
LZ_MUST_USE lz_err *lz_conform_failure(lz_conform *k);
LZ_MUST_USE lz_err *lz_conform_threads(lz_conform *k);
LZ_MUST_USE lz_err *lz_conform_by_hand(lz_conform *k);
LZ_MUST_USE lz_err *lz_conform_leaks(lz_conform *k);

#endif
