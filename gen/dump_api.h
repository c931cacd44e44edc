/* dump_api.h - the signatures of an operator as canonical JSON.
 *
 * Each function writes one value: what stands under its key in a line of the model
 * dump. Keys inside are sorted. Where torchgen refuses a computation that its dump
 * lets fail, the value is {"error":true}; other refusals are errors. The arena is for
 * scratch: rewind it after each operator. */
#ifndef LZG_DUMP_API_H
#define LZG_DUMP_API_H

#include "base/json_write.h"
#include "gen/model.h"

typedef struct lzg_dump {
    const lzg_ops *ops;
    lz_arena *arena;
    lz_json_writer *out;
    lz_text text; /* for one value at a time; deinit is the owner's */
} lzg_dump;

LZ_MUST_USE lz_err *lzg_dump_sig(lzg_dump *d, const lzg_function *f);
LZ_MUST_USE lz_err *lzg_dump_lazy(lzg_dump *d, const lzg_function *f);
LZ_MUST_USE lz_err *lzg_dump_functionalization(lzg_dump *d, const lzg_function *f);
LZ_MUST_USE lz_err *lzg_dump_vmap(lzg_dump *d, const lzg_function *f);
LZ_MUST_USE lz_err *lzg_dump_c_shim(lzg_dump *d, const lzg_function *f);
LZ_MUST_USE lz_err *lzg_dump_return_names(lzg_dump *d, const lzg_function *f);

#endif
