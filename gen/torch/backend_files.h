/* backend_files.h - the files of an external backend that follow from its YAML file: the class with its
 * kernels' declarations, and the registrations for its dispatch keys. */
#ifndef LZG_BACKEND_FILES_H
#define LZG_BACKEND_FILES_H

#include "gen/torch/gen_backend_stubs.h"
#include "gen/torch/torch_run.h"

typedef struct lzg_backend_files {
    const lzg_backend *backend;
    const lzg_grouped *grouped; /* of lzg_backend_groups */
    size_t ngrouped;
    lzg_files *files;
    const char *output_dir; /* as #include lines name it */
    const char *name;       /* of the backend, in names of functions */
    bool build_in_tree;     /* includes are <...> */
    bool per_operator_headers;
    bool eager; /* registered when the library is loaded, not by a call */
} lzg_backend_files;

/* All operators, sorted by the name of the functional one; those of one name stay in order. */
LZ_MUST_USE lz_err *lzg_backend_groups(lz_arena *a, const lzg_ops *ops, const lzg_grouped **out);

/* <Key>NativeFunctions.h */
LZ_MUST_USE lz_err *lzg_backend_header_file(lzg_job *j, const lzg_backend_files *f);
/* Register<Key>.cpp of the backend's key or of its autograd key. */
LZ_MUST_USE lz_err *lzg_backend_registration_file(lzg_job *j, const lzg_backend_files *f,
                                                  const lzg_backend_index *index);

#endif
