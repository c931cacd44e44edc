/* conform.h - a backend beside the CPU: the same calls on both, and the same results.
 *
 * Cases are made up as it goes, by a sequence that is the same in every run. */
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
    lz_text why; /* of the case at hand */
} lz_conform;

/* Whether the options ask for a case, or for cases of a group (id NULL). */
bool lz_conform_wants(const lz_conform *k, const char *group, const char *id);

/* Counts a case under a group, and empties `why`; what is in it says what is wrong. */
LZ_MUST_USE lz_err *lz_conform_judge(lz_conform *k, const char *group, const char *id, lz_verdict v);
/* The same: it passed if `why` is empty. */
LZ_MUST_USE lz_err *lz_conform_done(lz_conform *k, const char *group, const char *id);

/* A context of its own on the device, "npu:1" for index 1; NULL: what is wrong was added to `why`. */
lz_ctx *lz_conform_open(lz_conform *k, int index, bool async);

/* Reads both and compares; what differs is added to `why`. */
LZ_MUST_USE lz_err *lz_conform_compare(lz_conform *k, lz_tensor *cpu, lz_tensor *dev);
/* Reads, of a context c; *ok is false, and `why` says so, if that cannot be. */
LZ_MUST_USE lz_err *lz_conform_read(lz_conform *k, lz_tensor *t, lz_ctx *c, lz_array *out, bool *ok);

/* Calls an operator with arguments as in a boxed call; false: it was refused. */
bool lz_conform_call(lz_ctx *c, const lz_op_row *op, const lz_value *in, size_t n, lz_value *out);

/* Elements that look random but are not: of both signs, some equal. */
typedef enum lz_flavour {
    LZ_PLAIN,   /* small multiples of 1/8: sums of them are exact, in whichever order */
    LZ_FINE,    /* f64 that no f32 is */
    LZ_SPECIAL, /* NaN, infinities and negative zeros among them */
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
