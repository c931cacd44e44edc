/* gen_sources.h - the sources of `lazuli gen torch`. */
#ifndef LZG_GEN_SOURCES_H
#define LZG_GEN_SOURCES_H

#include "gen/torch/gen_torch.h"

/* Adds the jobs. */
LZ_MUST_USE lz_err *lzg_plan_sources(lzg_torch_settings *s);

#endif
