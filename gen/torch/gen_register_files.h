/* gen_register_files.h - Register<Key>.cpp for every key, and the kernels around inner loops: UfuncCPU_*.cpp,
 * UfuncCPUKernel_*.cpp, UfuncCUDA_*.cu. */
#ifndef LZG_GEN_REGISTER_FILES_H
#define LZG_GEN_REGISTER_FILES_H

#include "gen/torch/gen_torch.h"

LZ_MUST_USE lz_err *lzg_plan_register_dispatch_key(lzg_torch_settings *s);

/* The declarations of a group's direct functions at::<key>::, an item for each operator. */
LZ_MUST_USE lz_err *lzg_put_namespaced_declarations(lz_arena *a, const lzg_torch_settings *s,
                                                    const lzg_backend_index *index, const lzg_grouped *g,
                                                    lzg_texts *out);

#endif
