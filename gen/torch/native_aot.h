/* native_aot.h - kernels that were compiled ahead of time for structured operators.
 *
 * A folder has OP/aot.py for each such operator. Of these Python files only literals at the beginning of a
 * line count: ATEN_OP ("topk", "gt.Tensor"), DISPATCH_KEY, UNCONDITIONAL. The operator then has a stub that
 * the generated wrapper consults between meta and impl. */
#ifndef LZG_NATIVE_AOT_H
#define LZG_NATIVE_AOT_H

#include "gen/torch/torch_run.h"

typedef struct lzg_aot_declaration {
    lz_str op; /* its base name, or with overload */
    lzg_dispatch_key key;
    bool unconditional;     /* these kernels are the implementation: no switch for users turns them off */
    const lzg_group *group; /* that it is for */
    const char *path;
    lz_str id; /* op as an identifier: gt_Tensor */
} lzg_aot_declaration;

typedef struct lzg_aot {
    const lzg_aot_declaration *at; /* sorted by op */
    size_t n;
} lzg_aot;

/* Reads the declarations of a folder; none if it does not exist. Refuses operators that are not structured,
 * ambiguous names, two declarations of one operator, and declarations for different keys. */
LZ_MUST_USE lz_err *lzg_aot_load(lzg_run *r, const char *folder, lzg_aot *out);

/* One file. *out is complete but for key and group. */
LZ_MUST_USE lz_err *lzg_aot_parse(lz_arena *a, lz_str text, const char *path, lz_str *key,
                                  lzg_aot_declaration *out);

LZ_MUST_USE lz_err *lzg_put_aot_stub_declaration(lz_arena *a, const lzg_aot_declaration *d, lz_text *out);
void lzg_put_aot_stub_definition(const lzg_aot_declaration *d, lz_text *out);
/* What stands in the wrapper instead of "op.impl(args);" */
void lzg_put_aot_consultation(const lzg_aot_declaration *d, lz_str args, lz_text *out);

/* The declaration for a group and key, or NULL. */
const lzg_aot_declaration *lzg_aot_find(const lzg_aot *aot, const lzg_group *g, lzg_dispatch_key key);
bool lzg_aot_has_key(const lzg_aot *aot, lzg_dispatch_key key);

#endif
