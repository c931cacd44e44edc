/* grad_problem.h - a call of an operator that is to be differentiated: its tensors in f64, and
 * its derivatives as the formulas give them.
 *
 * What is differentiated is a random linear function of what the call gives. */
#ifndef LZ_GRAD_PROBLEM_H
#define LZ_GRAD_PROBLEM_H

#include "base/json.h"
#include "small_tape.h"
#include <lazuli/schema.h>
#include <stdio.h>

enum { LEAVES = 64, ELEMENTS = 4096 };

/* A tensor among the arguments. */
typedef struct leaf {
    lz_dtype dtype;
    lz_ints sizes;
    int64_t numel;
    void *data; /* of floats: double */
    bool differentiable;
    double *weights;
} leaf;

typedef struct problem {
    const lz_op_row *op;
    uint16_t number; /* of it */
    lz_str id, line; /* the case as text */
    const lz_json *j, *tensors;
    const char *bytes; /* of recorded tensors */
    lz_arena *arena;
    lz_ctx *ctx;
    leaf leaves[LEAVES];
    size_t nleaves;
    uint64_t dice;
    bool in_place;       /* the operator that writes to its first argument is called, on a copy of it */
    bool ones;           /* the linear function is the sum */
    bool as_is;          /* tensors have the dtypes that were recorded; nothing is compared then */
    const lz_json *outs; /* for each floating-point result 1 if the linear function uses it; NULL: all that
                            have gradients */
    size_t nouts;        /* floating-point results so far */
} problem;

/* -1 to 1. */
double problem_roll(uint64_t *dice);
double problem_number(const lz_json *v); /* "nan", "inf", too */
double problem_dot(const double *x, const double *y, int64_t n);

/* The tensors, from the case. */
LZ_MUST_USE lz_err *problem_read(problem *p);
/* Gives all leaves new weights, drawn from the seed in the order of the arguments. */
void problem_weigh(problem *p, uint64_t seed);
/* Arguments for a call on the tape, of the tensors as they are now; leaves: their values. */
LZ_MUST_USE lz_err *problem_args(problem *p, small_tape *t, lz_low_value *args, lz_low_value *leaves);

/* order 0: *value is the linear function of what comes out. 1: grads are its gradients, and
 * *value a linear function of these, with the leaves' weights. 2: grads are the gradients of
 * that. LZ_ERR_UNSUPPORTED: something is not computed in f64. */
LZ_MUST_USE lz_err *problem_evaluate(problem *p, int order, double *value, double *const *grads);
/* The linear function's tangent, where leaves have their weights for tangents. */
LZ_MUST_USE lz_err *problem_tangent(problem *p, double *value);
/* Tensors and gradients as a line of JSON. */
LZ_MUST_USE lz_err *problem_dump(problem *p, FILE *f);

#endif
