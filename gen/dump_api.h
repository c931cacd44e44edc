/* dump_api.h - the signatures of an operator as canonical JSON: hooks of the model dump.
 *
 * Each writes one value, what stands under its key, with sorted keys inside. Where
 * torchgen's dump lets a computation fail, the value is {"error":true}; any other
 * refusal is an error. */
#ifndef LZG_DUMP_API_H
#define LZG_DUMP_API_H

#include "gen/dump.h"

LZ_MUST_USE lz_err *lzg_dump_sig(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch,
                                 lz_json_writer *w);
LZ_MUST_USE lz_err *lzg_dump_lazy(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch,
                                  lz_json_writer *w);
LZ_MUST_USE lz_err *lzg_dump_functionalization(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch,
                                               lz_json_writer *w);
LZ_MUST_USE lz_err *lzg_dump_vmap(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch,
                                  lz_json_writer *w);
LZ_MUST_USE lz_err *lzg_dump_c_shim(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch,
                                    lz_json_writer *w);
LZ_MUST_USE lz_err *lzg_dump_return_names(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch,
                                          lz_json_writer *w);

#endif
