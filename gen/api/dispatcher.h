/* dispatcher.h - the unboxed calling convention of the dispatcher: schema order,
 * TensorOptions as four arguments, no defaults. */
#ifndef LZG_API_DISPATCHER_H
#define LZG_API_DISPATCHER_H

#include "gen/api/local.h"
#include "gen/api/types.h"

typedef struct lzg_dispatcher_form {
    bool owning; /* arguments without references and views */
    bool nosymint;
} lzg_dispatcher_form;

LZ_MUST_USE lz_err *lzg_dispatcher_argument(lz_arena *a, const lzg_argument *arg, lzg_local local,
                                            lzg_dispatcher_form form, lzg_binding *out);
LZ_MUST_USE lz_err *lzg_dispatcher_arguments(lz_arena *a, const lzg_schema *s, lzg_local local,
                                             lzg_dispatcher_form form, lzg_bindings *out);
LZ_MUST_USE lz_err *lzg_dispatcher_signature(lz_arena *a, const lzg_schema *s, lzg_local local,
                                             lzg_dispatcher_form form, lzg_sig *out);

#endif
