/* gen_meta.h - the shape classes of structured operators, with their precomputed values. */
#ifndef LZG_GEN_META_H
#define LZG_GEN_META_H

#include "gen/model/model.h"

/* "struct TORCH_API structured_NAME : public at::impl::MetaBase {...};\n"; nothing for a group that is not
 * structured. */
LZ_MUST_USE lz_err *lzg_put_meta_function(lz_arena *a, const lzg_group *g, lz_text *out);

#endif
