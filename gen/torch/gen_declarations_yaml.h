/* gen_declarations_yaml.h - Declarations.yaml: the public C++ signatures as data. */
#ifndef LZG_GEN_DECLARATIONS_YAML_H
#define LZG_GEN_DECLARATIONS_YAML_H

#include "gen/torch/gen_torch.h"

/* One entry of the list. user: unused. */
LZ_MUST_USE lz_err *lzg_put_declaration_yaml(lz_arena *a, const void *user, const lzg_function *f,
                                             lz_text *out);

/* Adds the jobs. */
LZ_MUST_USE lz_err *lzg_plan_declarations(lzg_torch_settings *s);

#endif
