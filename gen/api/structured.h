/* structured.h - arguments of structured kernels: plain ints only, nothing is written
 * through a mutable reference, optional tensors come as non-owning references. */
#ifndef LZG_API_STRUCTURED_H
#define LZG_API_STRUCTURED_H

#include "gen/api/types.h"

LZ_MUST_USE lz_err *lzg_structured_argumenttype(lz_arena *a, const lzg_type *t, const lzg_ctype **out);
LZ_MUST_USE lz_err *lzg_structured_argument(lz_arena *a, const lzg_argument *arg, lzg_binding *out);

/* meta takes the functional op's arguments; impl takes the out op's, with precomputed ones in place of
 * those that they replace, then the added ones, then the outs. */
LZ_MUST_USE lz_err *lzg_structured_meta_arguments(lz_arena *a, const lzg_group *g, lzg_bindings *out);
LZ_MUST_USE lz_err *lzg_structured_impl_arguments(lz_arena *a, const lzg_group *g, lzg_bindings *out);
LZ_MUST_USE lz_err *lzg_structured_out_arguments(lz_arena *a, const lzg_group *g, lzg_bindings *out);

#endif
