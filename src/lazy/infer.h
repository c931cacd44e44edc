/* infer.h - infers dtype, sizes and strides of a call's results, and which results are views of an
 * argument, before anything is computed.
 *
 * The answer is a pure function of the operator, the specs of its operands, its fixed arguments and the
 * kinds of its run-time numbers; so answers are remembered. An answer is valid until the next
 * lz_infer_call. */
#ifndef LZ_LAZY_INFER_H
#define LZ_LAZY_INFER_H

#include "lazy/pack.h"
#include "lower/op_results.h"

typedef struct lz_returned {
    uint8_t kind;      /* LZ_KIND_TENSOR, TENSORS, SCALAR (a known number), NONE */
    uint32_t first, n; /* results */
    lz_scalar number;
} lz_returned;

typedef struct lz_inferred lz_inferred;
struct lz_inferred {
    lz_hash_link link;
    uint64_t key;
    lz_node_form form; /* of its node; specs are those of the results */
    const lz_spec *const *in;
    const lz_result *results; /* [form.nout] */
    const lz_returned *returns;
    uint32_t nreturns;     /* of the operator; written arguments that it does not return follow */
    uint32_t streams;      /* of random numbers */
    bool dynamic;          /* the results depend on elements: the other members are unknown */
    bool is_one;           /* the only result is one new tensor, and no random numbers are drawn */
    lz_inferred *after[2]; /* answers of the calls that followed this one, the latest first */
};

/* Repeated steps make the same calls in the same order. So the answer that followed the last answer in an
 * earlier step is tried first, before anything is hashed. */
typedef enum lz_infer_sequence {
    LZ_INFER_SEQUENCE_NEW,     /* no call followed the last answer before; this one does from now on */
    LZ_INFER_SEQUENCE_FORKED,  /* other calls followed the last answer before */
    LZ_INFER_SEQUENCE_REPEATED /* this call followed the last answer before */
} lz_infer_sequence;

typedef struct lz_infer lz_infer;

LZ_MUST_USE lz_err *lz_infer_create(lz_specs *specs, lz_infer **out);
void lz_infer_destroy(lz_infer *t);

/* in: specs of the call's operands; NULL for an absent one. LZ_ERR_ARG with PyTorch's message
 * where the operator rejects its arguments. */
LZ_MUST_USE lz_err *lz_infer_call(lz_infer *t, const lz_call *c, const lz_spec *const *in,
                                  const lz_inferred **out);
/* Where the last call stands in the sequence of calls: the first member of lz_infer, because every recorded
 * call reads it. */
typedef struct lz_infer_position {
    lz_inferred *last;          /* answer; never NULL */
    lz_infer_sequence sequence; /* of the last call */
} lz_infer_position;
static inline lz_infer_position *lz_infer_position_of(lz_infer *t)
{
    return (lz_infer_position *)t;
}
void lz_infer_restart(lz_infer *t); /* a step has ended: the next call begins a sequence */
/* Whether the operator needs the values of its numbers, so that they must be packed as fixed. */
bool lz_infer_is_static(const lz_infer *t, const lz_op_row *op);

#endif
