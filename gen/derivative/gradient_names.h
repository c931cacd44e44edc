/* gradient_names.h - how backward formulas name incoming gradients.
 *
 * There are three ways: grad (the first output's), grads[i], and grad_<output>. An entry keeps to one
 * of them, because each implies something else about which outputs may lack a gradient. */
#ifndef LZG_GRADIENT_NAMES_H
#define LZG_GRADIENT_NAMES_H

#include "gen/api/derivative.h"

/* Every grads[i] has an output i. */
LZ_MUST_USE
lz_err *lzg_gradients_in_bounds(lz_str formula, const lzg_function *f, const lzg_yaml *written);

/* The ways are not mixed, and grads[0] alone is written grad. */
LZ_MUST_USE
lz_err *lzg_gradients_check(const lzg_diff_info *info);

/* Fills in used_named_gradients. */
LZ_MUST_USE
lz_err *lzg_gradients_used(lz_arena *a, lzg_diff_info *info);

#endif
