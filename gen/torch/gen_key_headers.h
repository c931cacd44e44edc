/* gen_key_headers.h - the direct functions of a dispatch key: CPUFunctions.h with at::cpu::add, in one header
 * or in a header for each base name. */
#ifndef LZG_GEN_KEY_HEADERS_H
#define LZG_GEN_KEY_HEADERS_H

#include "gen/torch/gen_torch.h"

/* Adds the jobs. */
LZ_MUST_USE lz_err *lzg_plan_key_headers(lzg_torch_settings *s);

#endif
