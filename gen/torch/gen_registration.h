/* gen_registration.h - how operators are made known to the dispatcher: their schemas (RegisterSchema.cpp),
 * the choice of a backend by TensorOptions (RegisterBackendSelect.cpp), and lists of operators
 * (RegistrationDeclarations.h, ATenOpList.cpp). */
#ifndef LZG_GEN_REGISTRATION_H
#define LZG_GEN_REGISTRATION_H

#include "gen/torch/gen_torch.h"

/* user: lzg_torch_settings. "Tensor add(...); // {"schema": ..., "dispatch": ..., "default": ...}\n" */
LZ_MUST_USE lz_err *lzg_put_registration_declaration(lz_arena *a, const void *user, const lzg_function *f,
                                                     lz_text *out);

/* user: unused. "{"aten::add", "Tensor"}," */
LZ_MUST_USE lz_err *lzg_put_aten_op(lz_arena *a, const void *user, const lzg_function *f, lz_text *out);

/* Adds the jobs of RegisterSchema.cpp, RegisterBackendSelect.cpp and ATenOpList.cpp. */
LZ_MUST_USE lz_err *lzg_plan_registration(lzg_torch_settings *s);

#endif
