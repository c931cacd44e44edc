/* gen_static_dispatch.h - calls that lead to a kernel without the dispatcher.
 *
 * With one key that has a kernel the call goes there; with several a switch decides; with none the
 * composite kernel is called, or the call is an error. */
#ifndef LZG_GEN_STATIC_DISPATCH_H
#define LZG_GEN_STATIC_DISPATCH_H

#include "gen/api/types.h"
#include "gen/torch/gen_torch.h"

/* The body of a function with that dispatcher signature. */
LZ_MUST_USE lz_err *lzg_put_static_dispatch(lz_arena *a, const lzg_torch_settings *s, const lzg_function *f,
                                            const lzg_sig *sig, lz_text *out);

/* The headers that such bodies need: one for each key and composite key, or those of one operator. */
LZ_MUST_USE lz_err *lzg_static_dispatch_headers(const lzg_torch_settings *s, lzg_texts *out);
LZ_MUST_USE lz_err *lzg_static_dispatch_op_headers(const lzg_torch_settings *s, const lzg_function *f,
                                                   lzg_texts *out);

/* The signature of at::KEY::NAME as it is called without the dispatcher: with SymInt where there is one. */
LZ_MUST_USE lz_err *lzg_static_call_signature(lz_arena *a, const lzg_function *f, lzg_sig *out);

#endif
