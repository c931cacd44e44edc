/* nn_state.h - what saving and loading of modules and of optimisers share. */
#ifndef LZ_NN_STATE_H
#define LZ_NN_STATE_H

#include "base/err.h"
#include <lazuli/nn.h>

/* Under prefix + name + end, once. */
LZ_MUST_USE lz_err *lz_state_put(lz_state *s, const char *prefix, const char *name, const char *end,
                                 lz_tensor *t);
LZ_MUST_USE lz_err *lz_check_sizes(const char *name, const lz_tensor *have, const lz_tensor *given);
/* Without the tape; a sync. Tensors of other contexts are shared. */
LZ_MUST_USE lz_err *lz_copy_all(lz_ctx *c, lz_tensor *const *to, lz_tensor *const *from, size_t n);

#endif
