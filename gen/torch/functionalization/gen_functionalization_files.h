/* gen_functionalization_files.h - RegisterFunctionalization.cpp, FunctionalInverses.h, ViewMetaClasses.h and
 * .cpp, CompositeViewCopyKernels.cpp; and the command `torch-view-meta`: ViewMetaClassesPythonBinding.cpp. */
#ifndef LZG_GEN_FUNCTIONALIZATION_FILES_H
#define LZG_GEN_FUNCTIONALIZATION_FILES_H

#include "gen/torch/gen_torch.h"

LZ_MUST_USE lz_err *lzg_plan_functionalization(lzg_torch_settings *s);

#endif
