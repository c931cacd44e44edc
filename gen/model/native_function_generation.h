/* native_function_generation.h - the out and functional variants that entries ask for
 * with `autogen`, so that operators come in complete groups. */
#ifndef LZG_NATIVE_FUNCTION_GENERATION_H
#define LZG_NATIVE_FUNCTION_GENERATION_H

#include "gen/model/model.h"

/* The out variant of an in-place, mutable or functional schema. */
LZ_MUST_USE
lz_err *lzg_schema_out_variant(lz_arena *a, const lzg_schema *s, lz_loc loc, const lzg_schema **out);
/* The functional variant of any other schema. */
LZ_MUST_USE
lz_err *lzg_schema_functional_variant(lz_arena *a, const lzg_schema *s, lz_loc loc, const lzg_schema **out);

#endif
