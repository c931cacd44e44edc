/* statistics.h - running statistics, which a call in training writes although its schema marks no write.
 *
 * The field `statistics` of an entry names the operator whose schema marks these writes, and the argument
 * that must be true. The statistics are written first; then the operator, which does not need them in
 * training, is called without them. Shared by lazy tensors (lazy/write_statistics.c) and TorchScript graphs
 * (script/functional_statistics.c): both tell here how operators are called.
 *
 *   batch_norm(x, w, b, mean, var, True, 0.1, eps)
 *     new = _native_batch_norm_legit_functional(x, None, None, mean, var, True, 0.1, eps)
 *     mean.copy_(new[3]); var.copy_(new[4])
 *     batch_norm(x, w, b, None, None, True, 0.1, eps) */
#ifndef LZ_LOWER_STATISTICS_H
#define LZ_LOWER_STATISTICS_H

#include "core/spec.h"
#include "lower/write_rules.h"

enum {
    LZ_STATISTICS_VALUES = 64,  /* arguments of the call, and results of all calls for one update */
    LZ_STATISTICS_CONSTANT = -1 /* a constant instead of a value */
};

/* An argument of a call: value `number`, or a constant without tensors, which the callee borrows. Values are
 * the arguments of the operator with statistics, and behind them results in the order of the calls. */
typedef struct lz_statistics_arg {
    int32_t number;
    lz_value constant;
} lz_statistics_arg;

typedef struct lz_statistics_update {
    const lz_op_row *op;
    const lz_spec *input; /* of the first argument */
    bool shared;          /* tensors that are written share a storage */
    void *user;
    /* Calls an operator that writes nothing; all its results become values. */
    lz_err *(*call)(void *user, const lz_op_row *op, const lz_statistics_arg *args);
    /* copy_ of value `from` to argument `to` */
    lz_err *(*write)(void *user, uint32_t to, int32_t from);
} lz_statistics_update;

/* Which arguments a call writes, and when; NULL: the operator has no statistics. */
static inline const lz_functional_row *lz_statistics_of(const lz_op_row *op)
{
    bool any = lz_layout_of(op)->memory & LZ_MEMORY_STATISTICS;
    return any ? lz_functional_of(op)->statistics : NULL;
}
/* Whether an input of this shape changes statistics. */
bool lz_statistics_need(const lz_spec *input);
/* Computes the statistics and writes them. */
LZ_MUST_USE lz_err *lz_statistics_run(const lz_statistics_update *u);

#endif
