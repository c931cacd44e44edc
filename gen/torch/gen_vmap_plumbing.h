/* gen_vmap_plumbing.h - the wrapper that batches an operator: it unpacks every Tensor and Tensor? into value
 * and batch dimension around a batch rule. */
#ifndef LZG_GEN_VMAP_PLUMBING_H
#define LZG_GEN_VMAP_PLUMBING_H

#include "gen/torch/gen_torch.h"

typedef enum lzg_vmap {
    LZG_VMAP_NONE,
    LZG_VMAP_FUNCTIONAL,
    LZG_VMAP_INPLACE,
    LZG_VMAP_NO_RETURNS,
    LZG_VMAP_COUNT
} lzg_vmap;

const char *lzg_vmap_name(lzg_vmap v); /* torchgen's: "none", "gen_vmap_plumbing", ... */

/* An error where the wrapper's signature has no C++ types. */
LZ_MUST_USE lz_err *lzg_vmap_plumbing(lz_arena *a, const lzg_function *f, lzg_vmap *out);

/* "template <...> R NAME_generated_plumbing(...) {...}\n"; nothing for LZG_VMAP_NONE. */
LZ_MUST_USE lz_err *lzg_put_vmap_plumbing(lz_arena *a, const lzg_function *f, lz_text *out);

/* VmapGeneratedPlumbing.h */
LZ_MUST_USE lz_err *lzg_plan_vmap_plumbing(lzg_torch_settings *s);

#endif
