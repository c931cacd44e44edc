/* c_shim_files.h - c_shim_DEVICE.h and c_shim_DEVICE.cpp.
 *
 * The headers are an ABI. So they are written only on request (--update-aoti-c-shim); else a header that is
 * there must be what would be written. */
#ifndef LZG_C_SHIM_FILES_H
#define LZG_C_SHIM_FILES_H

#include "gen/torch/gen_torch.h"

/* Adds the jobs. */
LZ_MUST_USE lz_err *lzg_plan_c_shims(lzg_torch_settings *s);

/* The headers that CUDA code needs besides ATen's; those of HIP for rocm. */
const char *lzg_cuda_headers(bool rocm);

#endif
