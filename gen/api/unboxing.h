/* unboxing.h - C++ text that takes a boxed call apart: from IValues on a stack to the
 * typed arguments of the most faithful C++ signature, without SymInt. */
#ifndef LZG_API_UNBOXING_H
#define LZG_API_UNBOXING_H

#include "gen/api/types.h"

/* Appends statements that read `stack` with peek(), every line but the first behind a tab; the bindings name
 * the variables that hold the converted arguments, in the signature's order. */
LZ_MUST_USE lz_err *lzg_unboxing_arguments(lz_arena *a, const lzg_function *f, lz_text *code,
                                           lzg_bindings *out);

#endif
