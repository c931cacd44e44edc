/* optim_lbfgs.h - what the optimiser LBFGS keeps between steps, instead of a state of each parameter. */
#ifndef LZ_NN_OPTIM_LBFGS_H
#define LZ_NN_OPTIM_LBFGS_H

#include "base/text.h"
#include "base/vec.h"
#include "nn/nn_state.h"
#include "nn/optim_impl.h"

/* By PyTorch's names. */
enum { LZ_LBFGS_ITERATIONS, LZ_LBFGS_EVALS, LZ_LBFGS_T, LZ_LBFGS_SCALE, LZ_LBFGS_LOSS, LZ_LBFGS_NUMBERS };
enum { LZ_LBFGS_DIRECTION, LZ_LBFGS_GRADIENT, LZ_LBFGS_VECTORS };
enum { LZ_LBFGS_CHANGE, LZ_LBFGS_STEP, LZ_LBFGS_PAIR };

/* A step and the change of the gradient along it, and the reciprocal of their product. */
typedef struct lz_lbfgs_pair {
    lz_tensor *v[LZ_LBFGS_PAIR];
    double ro;
} lz_lbfgs_pair;

/* Tensors are vectors over all parameters, with one count each. */
typedef struct lz_lbfgs {
    double number[LZ_LBFGS_NUMBERS];
    lz_tensor *vector[LZ_LBFGS_VECTORS]; /* NULL: no iteration yet */
    LZ_VEC(lz_lbfgs_pair) history;       /* the oldest first */
} lz_lbfgs;

void lz_lbfgs_clear(lz_lbfgs *s);

/* One step: several iterations. *loss: before the step. */
LZ_MUST_USE lz_err *lz_lbfgs_step(lz_optim *o, lz_loc at, lz_closure *closure, void *user, double *loss);

/* "lbfgs.t", "lbfgs.old_dirs.0" and so on; name is room. */
LZ_MUST_USE lz_err *lz_lbfgs_save(const lz_optim *o, const char *prefix, lz_text *name, lz_state *out);
/* Whether `from` has all parts of a state, or none. */
LZ_MUST_USE lz_err *lz_lbfgs_check(const lz_optim *o, const char *prefix, lz_named_tensors from);
/* Where the value of this name belongs: a tensor that is made if it is missing, or a number. False: an
 * unknown name. Both NULL: the name is known, but for_good is false. */
typedef struct lz_lbfgs_place {
    lz_tensor **tensor;
    double *number;
    bool is_tensor;
} lz_lbfgs_place;
LZ_MUST_USE lz_err *lz_lbfgs_find(lz_optim *o, lz_str name, bool for_good, bool *found, lz_lbfgs_place *out);
int64_t lz_lbfgs_width(const lz_optim *o); /* elements of all parameters */

#endif
