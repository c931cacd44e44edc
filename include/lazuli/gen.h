/* gen.h - operator files as a library (liblazuli-gen.a).
 *
 * Reads operator definitions, checks them against every rule of the language, and
 * describes them. All returned pointers and texts belong to the set and are valid
 * until lzg_set_close. A set is used by one thread at a time. */
#ifndef LAZULI_GEN_H
#define LAZULI_GEN_H

#include <lazuli/base.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lzg_set lzg_set;           /* some operator files, read and checked */
typedef struct lzg_function lzg_function; /* one operator */

typedef struct lzg_set_options {
    const char *const *files; /* operator files, NULL-terminated */
    const char *tags;         /* a tags file; NULL: no operator may have a tag */
    bool own_fields;          /* Lazuli's own fields, such as formula and inner, are allowed */
} lzg_set_options;

/* The error's text lists all mistakes, each on a line of its own: "FILE:LINE:COL: reason". */
LZ_MUST_USE lz_err *lzg_set_open(const lzg_set_options *o, lzg_set **out);
void lzg_set_close(lzg_set *s); /* NULL does nothing */

/* Operators: those of the files in their order, then the generated ones. */
size_t lzg_set_count(const lzg_set *s);
const lzg_function *lzg_set_at(const lzg_set *s, size_t i);           /* NULL: out of range */
const lzg_function *lzg_set_find(const lzg_set *s, const char *name); /* "add.Tensor"; NULL: none */

/* Absent texts have ptr NULL. */
typedef struct lzg_facts {
    lz_str ns, name, base, overload, schema, signature;
    lz_str kind; /* functional, inplace, out, mutable, scratch */
    lz_str python_module;
    lz_loc loc;
    bool structured, generated, is_view, is_abstract, has_function, has_method;
    size_t nargs, nreturns, ntags, nkernels;
} lzg_facts;

typedef struct lzg_arg_facts {
    lz_str name, type, deflt, annotation;
    bool keyword_only, out, write, tensor_like, symint_like, nullable;
} lzg_arg_facts;

typedef struct lzg_kernel_facts {
    lz_str key, kernel, ns; /* dispatch key, kernel, C++ namespace */
    bool structured, symint;
} lzg_kernel_facts;

lzg_facts lzg_describe(const lzg_function *f);
/* The rest by index; LZ_ERR_ARG beyond the counts above. Returns are described as
 * arguments that have only name, type, annotation, write and the last three. */
LZ_MUST_USE lz_err *lzg_describe_arg(lzg_set *s, const lzg_function *f, size_t i, lzg_arg_facts *out);
LZ_MUST_USE lz_err *lzg_describe_return(lzg_set *s, const lzg_function *f, size_t i, lzg_arg_facts *out);
LZ_MUST_USE lz_err *lzg_describe_kernel(const lzg_function *f, size_t i, lzg_kernel_facts *out);
LZ_MUST_USE lz_err *lzg_describe_tag(const lzg_function *f, size_t i, lz_str *out);

/* Operators that compute the same and differ only in where they store the result. Absent members are NULL. */
typedef struct lzg_group_facts {
    const lzg_function *functional, *inplace, *mutable_, *out;
    bool structured;
} lzg_group_facts;

typedef struct lzg_view_facts {
    const lzg_function *view, *view_copy, *view_inplace;
    bool composite;
} lzg_view_facts;

size_t lzg_set_groups(const lzg_set *s);
LZ_MUST_USE lz_err *lzg_describe_group(const lzg_set *s, size_t i, lzg_group_facts *out);
size_t lzg_set_views(const lzg_set *s);
LZ_MUST_USE lz_err *lzg_describe_view(const lzg_set *s, size_t i, lzg_view_facts *out);

/* Backend indices: one for each dispatch key that some operator has a kernel for. */
typedef struct lzg_index_facts {
    lz_str key;
    size_t nkernels;
    bool device_guard;
} lzg_index_facts;

size_t lzg_set_indices(const lzg_set *s);
LZ_MUST_USE lz_err *lzg_describe_index(const lzg_set *s, size_t i, lzg_index_facts *out);
/* LZ_ERR_NOT_FOUND where the operator has no kernel under that key. */
LZ_MUST_USE lz_err *lzg_index_kernel(const lzg_set *s, size_t i, const lzg_function *f,
                                     lzg_kernel_facts *out);

typedef enum lzg_sig_kind {
    LZG_SIG_CPP,
    LZG_SIG_CPP_FAITHFUL, /* absent where equal to LZG_SIG_CPP; the SymInt forms likewise */
    LZG_SIG_CPP_SYMINT,
    LZG_SIG_CPP_SYMINT_FAITHFUL,
    LZG_SIG_DISPATCHER,
    LZG_SIG_DISPATCHER_TYPE, /* as a function type */
    LZG_SIG_NATIVE,
    LZG_SIG_NATIVE_SYMINT,
    LZG_SIG_C_SHIM,
    LZG_SIG_PYTHON, /* as Python's argument parser reads it: the function, not the method */
    LZG_SIG_PYI,    /* as in a type stub */
    LZG_SIG_COUNT
} lzg_sig_kind;

/* The declaration as text; ptr NULL where the operator has no declaration of this kind. LZ_ERR_UNSUPPORTED:
 * the language cannot express the declaration; the error says why. */
LZ_MUST_USE lz_err *lzg_set_signature(lzg_set *s, const lzg_function *f, lzg_sig_kind kind, lz_str *out);

/* ---- torchgen's files ---- */

/* What torchgen's commands write, from the same inputs, to the byte. In options a text of NULL is what
 * torchgen's command line has as default; lists are NULL-terminated, and NULL if they are not given. All
 * mistakes are in the error's text; then nothing was written. What a run read and wrote is remembered in the
 * cache folder (LAZULI_CACHE_DIR), and an equal run does nothing. */
typedef struct lzg_torch_report {
    size_t files;   /* that the run stands for */
    size_t written; /* that were missing or different */
} lzg_torch_report;

/* `lazuli gen torch`: torchgen.gen */
typedef struct lzg_torch_options {
    const char *source_path; /* the folder ATen, with native/ and templates/ */
    const char *output_dependencies;
    const char *install_dir, *aoti_install_dir, *headeronly_install_dir, *native_aot_ops_dir;
    const char *op_selection_yaml_path;
    const char *const *op_registration_whitelist;
    const char *const *backend_whitelist;
    const char *const *static_dispatch_backend;
    const char *const *generate; /* headers, sources, declarations_yaml */
    bool dry_run, per_operator_headers, rocm, mps, xpu, mtia;
    bool skip_dispatcher_op_registration, force_schema_registration;
    bool update_aoti_c_shim, extend_aoti_c_shim;
} lzg_torch_options;

LZ_MUST_USE lz_err *lzg_torch(const lzg_torch_options *o, lzg_torch_report *out);

/* `lazuli gen torch-autograd`: tools/autograd. All texts but the last two are required. */
typedef struct lzg_torch_autograd_options {
    const char *native, *tags; /* the operator file, and the tags that operators may have */
    const char *derivatives;   /* the folder of derivatives.yaml and deprecated.yaml */
    const char *templates, *install_dir;
    const char *subset; /* libtorch, pybindings or python; NULL: all three */
    const char *op_selection_yaml_path;
    bool disable_autograd;
} lzg_torch_autograd_options;

LZ_MUST_USE lz_err *lzg_torch_autograd(const lzg_torch_autograd_options *o, lzg_torch_report *out);

/* `lazuli gen torch-view-meta`: Python bindings of the classes that remember views */
typedef struct lzg_torch_view_meta_options {
    const char *native, *tags; /* files */
    const char *templates, *install_dir;
    const char *op_selection_yaml_path;
} lzg_torch_view_meta_options;

LZ_MUST_USE lz_err *lzg_torch_view_meta(const lzg_torch_view_meta_options *o, lzg_torch_report *out);

/* `lazuli gen torch-unboxing`: tools/jit/gen_unboxing.py */
typedef struct lzg_torch_unboxing_options {
    const char *source_path, *install_dir, *output_dependencies;
    const char *op_selection_yaml_path;
    const char *const *op_registration_allowlist;
    bool dry_run;
} lzg_torch_unboxing_options;

LZ_MUST_USE lz_err *lzg_torch_unboxing(const lzg_torch_unboxing_options *o, lzg_torch_report *out);

/* `lazuli gen torch-static-runtime`: torchgen.static_runtime.gen_static_runtime_ops */
typedef struct lzg_torch_static_runtime_options {
    const char *source_path;
    const char *generated_ops_cpp_path, *generated_ops_test_cpp_path; /* the two files */
} lzg_torch_static_runtime_options;

LZ_MUST_USE lz_err *lzg_torch_static_runtime(const lzg_torch_static_runtime_options *o,
                                             lzg_torch_report *out);

/* `lazuli gen torch-upgraders`: torchgen.operator_versions.gen_mobile_upgraders */
typedef struct lzg_torch_upgraders_options {
    const char *bytecode; /* upgraders and versions, as JSON or YAML */
    const char *install_dir;
} lzg_torch_upgraders_options;

LZ_MUST_USE lz_err *lzg_torch_upgraders(const lzg_torch_upgraders_options *o, lzg_torch_report *out);

/* `lazuli gen torch-backend-stubs`: torchgen.gen_backend_stubs */
typedef struct lzg_torch_backend_stubs_options {
    const char *source_path; /* the folder ATen, with native/ and templates/ */
    const char *source_yaml, *output_dir, *impl_path;
    bool dry_run;
} lzg_torch_backend_stubs_options;

LZ_MUST_USE lz_err *lzg_torch_backend_stubs(const lzg_torch_backend_stubs_options *o, lzg_torch_report *out);

/* `lazuli gen torch-schema`: torchgen.gen_schema_utils, a schema from the values of one call. A value is
 * tensor, symint, symbool, graph, object(CLASS), a number, true or false, a text in quotes, or a list of such
 * values of one type, [1, 2]. The schema goes to out, NUL-terminated; LZ_ERR_LIMIT if it is too long. */
typedef struct lzg_torch_schema_options {
    const char *name;
    const char *const *inputs;  /* "NAME=VALUE" */
    const char *const *outputs; /* "VALUE" */
} lzg_torch_schema_options;

LZ_MUST_USE lz_err *lzg_torch_schema(const lzg_torch_schema_options *o, char *out, size_t size);

/* `lazuli gen torch-lazy`: gen_lazy_tensor.run_gen_lazy_tensor, with its parameters' names. The first three
 * texts are required. */
typedef struct lzg_torch_lazy_options {
    const char *source_path; /* the folder ATen, with native/ and templates/ */
    const char *source_yaml; /* the backend's file */
    const char *output_dir;
    const char *impl_path; /* a C++ file with the kernels that are written by hand, to be checked */
    const char *node_base, *node_base_hdr, *tensor_class, *tensor_class_hdr, *shape_inference_hdr;
    const char *backend_name, *backend_namespace;
    const char *get_tensorlist, *get_tensor_or_wrap_number, *try_get_tensor, *metrics_counter, *create_tensor;
    const char *create_aten_from_ltc_tensor, *tuple_aten_from_ltc_tensors;
    const char *lazy_value_class, *lazy_tensor_ptr, *get_device_fn;
    bool gen_ts_lowerings; /* nodes lower themselves to TorchScript */
    bool build_in_tree, per_operator_headers, gen_forced_fallback_code, create_from_first_tensor;
    bool no_lazy_shape, dry_run;
} lzg_torch_lazy_options;

LZ_MUST_USE lz_err *lzg_torch_lazy(const lzg_torch_lazy_options *o, lzg_torch_report *out);

#ifdef __cplusplus
}
#endif
#endif
