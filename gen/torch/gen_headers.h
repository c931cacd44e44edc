/* gen_headers.h - the headers of `lazuli gen torch`. */
#ifndef LZG_GEN_HEADERS_H
#define LZG_GEN_HEADERS_H

#include "gen/torch/gen_torch.h"

/* Adds the jobs. */
LZ_MUST_USE lz_err *lzg_plan_headers(lzg_torch_settings *s);

#endif
