/* infer.h - what a call gives, before anything is computed: dtype, sizes and strides of the
 * results, and which of them look at an argument's memory.
 *
 * A pure function of the operator, the specs of its operands, its fixed arguments and the
 * kinds of its run-time numbers; so what was found once is remembered. An answer stays good
 * until the next question. */
#ifndef LZ_LAZY_INFER_H
#define LZ_LAZY_INFER_H

#include "lazy/pack.h"

typedef struct lz_result {
    const lz_spec *spec;
    int64_t offset; /* of a view, from where its operand begins */
    int32_t viewed; /* the operand it looks at; -1: it is new */
    bool same;      /* it is that operand */
} lz_result;

typedef struct lz_returned {
    uint8_t kind;      /* LZ_KIND_TENSOR, TENSORS, SCALAR (a number that is known), NONE */
    uint32_t first, n; /* results */
    lz_scalar number;
} lz_returned;

typedef struct lz_inferred lz_inferred;
struct lz_inferred {
    lz_inferred *next;
    uint64_t key;
    lz_node_form form; /* of its node; specs are those of the results */
    const lz_spec *const *in;
    const lz_result *results; /* form.nout of them */
    const lz_returned *returns;
    uint32_t nreturns;     /* of the operator; behind them what it writes without returning it */
    uint32_t streams;      /* of random numbers */
    bool dynamic;          /* depends on elements: nothing else here is known */
    bool is_one;           /* it gives one new tensor and nothing else, and draws no random numbers */
    lz_inferred *after[2]; /* what followed it, the latest first */
};

/* Repeated steps ask the same in the same order: what followed the last answer is tried
 * before anything is hashed. */
typedef enum lz_trail {
    LZ_TRAIL_LOST,   /* nothing had followed, or something else; now this has, too */
    LZ_TRAIL_FORKED, /* the same, where something else had followed */
    LZ_TRAIL_KEPT    /* as before */
} lz_trail;

typedef struct lz_infer lz_infer;

LZ_MUST_USE lz_err *lz_infer_create(lz_specs *specs, lz_infer **out);
void lz_infer_destroy(lz_infer *t);

/* in: specs of the call's operands; NULL for an absent one. LZ_ERR_ARG in PyTorch's words
 * where the operator refuses. */
LZ_MUST_USE lz_err *lz_infer_call(lz_infer *t, const lz_call *c, const lz_spec *const *in,
                                  const lz_inferred **out);
/* Where the trail is: the first member of lz_infer, since every recorded call asks. */
typedef struct lz_infer_trail {
    lz_inferred *last; /* answer; never NULL */
    lz_trail trail;    /* of the last call */
} lz_infer_trail;
static inline lz_infer_trail *lz_infer_trail_of(lz_infer *t)
{
    return (lz_infer_trail *)t;
}
void lz_infer_restart(lz_infer *t); /* a step has ended: the next call follows none */
/* The operator needs the values of its numbers: they are to be packed as fixed. */
bool lz_infer_is_static(const lz_infer *t, const lz_op_row *op);

#endif
