/* nn_state.h - what saving and loading of modules and of optimisers share. */
#ifndef LZ_NN_STATE_H
#define LZ_NN_STATE_H

#include "base/err.h"
#include "base/text.h"
#include <lazuli/optim.h>

/* Adds a tensor under the name prefix + name + end. An error if the name exists. */
LZ_MUST_USE lz_err *lz_state_put(lz_state *s, const char *prefix, const char *name, const char *end,
                                 lz_tensor *t);
LZ_MUST_USE lz_err *lz_check_sizes(const char *name, const lz_tensor *have, const lz_tensor *given);
/* Copies without the tape, and syncs. Tensors of other contexts are shared. */
LZ_MUST_USE lz_err *lz_copy_all(lz_ctx *c, lz_tensor *const *to, lz_tensor *const *from, size_t n);

/* lz_module_load_state; appends missing and unexpected names and size mismatches to the text. */
LZ_MUST_USE lz_err *lz_state_into(lz_module *m, const char *prefix, lz_named_tensors from, bool partial,
                                  lz_text *findings);

/* The state of a run: the model under "model.", the optimiser (may be NULL) under "optim.". The caller frees
 * it; NULL on failure. */
lz_state *lz_run_state(lz_module *m, lz_optim *o);
/* Checks everything before anything is changed. */
bool lz_run_load_state(lz_module *m, lz_optim *o, lz_named_tensors from);

#endif
