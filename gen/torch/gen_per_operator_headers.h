/* gen_per_operator_headers.h - a set of headers for each base name of operators, in ops/, and headers that
 * include them all. */
#ifndef LZG_GEN_PER_OPERATOR_HEADERS_H
#define LZG_GEN_PER_OPERATOR_HEADERS_H

#include "gen/torch/gen_torch.h"

/* Adds the jobs; those for dispatch keys are in gen_key_headers.h. */
LZ_MUST_USE lz_err *lzg_plan_per_operator_headers(lzg_torch_settings *s);

#endif
