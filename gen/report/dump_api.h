/* dump_api.h - the signatures of an operator as canonical JSON: hooks of the model dump.
 *
 * Each hook writes the value of one key, with sorted keys inside. Where torchgen's dump catches a
 * failed computation, the value is {"error":true}; any other refusal is an error. */
#ifndef LZG_DUMP_API_H
#define LZG_DUMP_API_H

#include "gen/report/dump_model.h"

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
