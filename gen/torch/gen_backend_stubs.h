/* gen_backend_stubs.h - a backend's own YAML file, checked against a set of operators.
 *
 * The file names operators for which the backend has kernels: under its dispatch key (supported,
 * full_codegen) or under its autograd key (autograd), never both for one group. A file without
 * operators is not checked further. */
#ifndef LZG_GEN_BACKEND_STUBS_H
#define LZG_GEN_BACKEND_STUBS_H

#include "gen/model/model.h"
#include "gen/text/diag.h"

/* An IR node that is no operator of the set. */
typedef struct lzg_non_native {
    const lzg_schema *func;
    lz_str opkind; /* ptr NULL: none */
    const lz_str *properties;
    size_t nproperties;
    lz_loc loc;
} lzg_non_native;

typedef struct lzg_op_list {
    const lzg_op_name *names;
    size_t n;
    lz_map set; /* their texts */
} lzg_op_list;

typedef struct lzg_backend {
    lz_arena arena;
    lz_str name; /* as written: XLA */
    lz_str cpp_namespace;
    lz_str class_name;                       /* as written, or <key>NativeFunctions */
    lzg_dispatch_key key, autograd_key;      /* LZG_KEY_NONE: no operators there */
    lzg_backend_index index, autograd_index; /* in the file's order */
    /* For lazy backends, by lzg_backend_read_lazy. */
    lzg_op_list full_codegen, ir_gen;
    const lzg_non_native *non_native;
    size_t nnon_native;
} lzg_backend;

bool lzg_op_list_has(const lzg_op_list *l, lz_str name);

void lzg_backend_init(lzg_backend *b); /* allocates nothing */
void lzg_backend_deinit(lzg_backend *b);

/* Every mistake goes into d. Texts of doc are borrowed. */
LZ_MUST_USE
lz_err *lzg_backend_read(lzg_backend *b, const lzg_ops *ops, const lzg_yaml *doc, lzg_diag *d);
/* The fields that only lazy backends use; others ignore them. */
LZ_MUST_USE
lz_err *lzg_backend_read_lazy(lzg_backend *b, const lzg_yaml *doc, lzg_diag *d);
/* Both of a file; the document goes to the backend's arena. */
LZ_MUST_USE
lz_err *lzg_backend_load(lzg_backend *b, const lzg_ops *ops, const char *path, bool lazy, lzg_diag *d);

/* Compares how often each kernel's name occurs after "CLASS::" and before "(" in the text of an
 * implementation with the expected number; full_codegen is not checked. */
LZ_MUST_USE
lz_err *lzg_backend_check_kernels(const lzg_backend *b, const lzg_ops *ops, const char *file, lz_str text,
                                  lzg_diag *d);

#endif
