/* model.h - the operator language as a typed model.
 *
 * Everything here is immutable once made, owned by one arena, and prints back to
 * the text it was read from: a part that does not is refused where it is parsed.
 * The names follow seed 003 (torchgen.model), so that a reader finds each class. */
#ifndef LZG_MODEL_H
#define LZG_MODEL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "gen/text/diag.h"
#include "gen/text/yaml_utils.h"
#include <lazuli/schema.h>

/* ---- types ---- */

/* clang-format off */
#define LZG_BASE_TYPES(X)                                                                                    \
    X(Generator) X(ScalarType) X(Tensor) X(int) X(DimVector) X(float) X(str) X(bool) X(Layout) X(Device)     \
    X(DeviceIndex) X(Scalar) X(MemoryFormat) X(QScheme) X(Storage) X(Stream) X(SymInt) X(SymBool)            \
    X(GraphModule)
/* clang-format on */

typedef enum lzg_base_ty {
#define X(name) LZG_TY_##name,
    LZG_BASE_TYPES(X)
#undef X
        LZG_TY_COUNT
} lzg_base_ty;

typedef enum lzg_type_kind { LZG_TYPE_BASE, LZG_TYPE_OPTIONAL, LZG_TYPE_LIST, LZG_TYPE_CLASS } lzg_type_kind;

typedef struct lzg_type lzg_type;
struct lzg_type {
    lzg_type_kind kind;
    lzg_base_ty base;     /* BASE */
    const lzg_type *elem; /* OPTIONAL, LIST */
    int32_t size;         /* LIST: -1 for [] */
    lz_str class_name;    /* CLASS: what stands behind __torch__.torch.classes. */
};

LZ_MUST_USE
lz_err *lzg_type_parse(lz_arena *a, lz_str text, lz_loc loc, const lzg_type **out);
void lzg_type_print(const lzg_type *t, lz_text *out);
bool lzg_type_eq(const lzg_type *a, const lzg_type *b);
bool lzg_type_is_base_like(const lzg_type *t, lzg_base_ty base); /* looks through ? and [] */
bool lzg_type_is_tensor_like(const lzg_type *t);
bool lzg_type_is_symint_like(const lzg_type *t);
bool lzg_type_is_generator_like(const lzg_type *t);
bool lzg_type_is_nullable(const lzg_type *t);
const lzg_type *lzg_type_is_list_like(const lzg_type *t); /* the LIST, looking through ?; or NULL */
bool lzg_type_is(const lzg_type *t, lzg_base_ty base);    /* exactly this base type */
const char *lzg_base_ty_name(lzg_base_ty base);

/* ---- annotations, arguments, returns ---- */

typedef struct lzg_annotation {
    char set[3];       /* one or two letters, NUL-terminated */
    const char *after; /* letters, NUL-terminated; "*" alone: anything; "": no after-set */
    bool write;
} lzg_annotation;

LZ_MUST_USE
lz_err *lzg_annotation_parse(lz_arena *a, lz_str text, lz_loc loc, const lzg_annotation **out);
void lzg_annotation_print(const lzg_annotation *n, lz_text *out);
bool lzg_annotation_eq(const lzg_annotation *a, const lzg_annotation *b); /* NULL equals NULL */

typedef enum lzg_section {
    LZG_PRE_SELF,
    LZG_SELF,
    LZG_POST_SELF,
    LZG_PRE_TENSOR_OPTIONS,
    LZG_TENSOR_OPTIONS,
    LZG_POST_TENSOR_OPTIONS,
    LZG_OUT,
    LZG_SECTION_COUNT
} lzg_section;

typedef struct lzg_argument {
    lz_str name;
    const lzg_type *type;
    lz_str deflt;                     /* ptr NULL: none */
    const lzg_annotation *annotation; /* NULL: none */
    lzg_section section;
} lzg_argument;

typedef struct lzg_return {
    lz_str name; /* ptr NULL: none */
    const lzg_type *type;
    const lzg_annotation *annotation;
} lzg_return;

LZ_MUST_USE
lz_err *lzg_argument_parse(lz_arena *a, lz_str text, lz_loc loc, lzg_argument *out);
void lzg_argument_print(const lzg_argument *arg, lz_text *out);
void lzg_return_print(const lzg_return *r, lz_text *out);
bool lzg_argument_eq(const lzg_argument *a, const lzg_argument *b); /* the section does not count */
bool lzg_argument_writes(const lzg_argument *arg);
bool lzg_return_writes(const lzg_return *r);

/* ---- names ---- */

typedef struct lzg_op_name {
    lz_str ns;   /* what stands before the last "::" inside the schema; usually empty */
    lz_str base; /* without the inplace underscore, dunder underscores and _functional */
    bool inplace, dunder, functional_overload;
    lz_str overload;     /* empty: none */
    lz_str text;         /* as printed: base.overload */
    lz_str printed_base; /* with ns:: if there is one */
    lz_str unambiguous;  /* printed base, _, overload */
} lzg_op_name;

LZ_MUST_USE
lz_err *lzg_op_name_parse(lz_arena *a, lz_str text, lz_loc loc, lzg_op_name *out);
/* Fills text, printed_base and unambiguous from the other fields. */
LZ_MUST_USE
lz_err *lzg_op_name_finish(lz_arena *a, lzg_op_name *name);

/* ---- schemas ---- */

typedef enum lzg_schema_kind {
    LZG_FUNCTIONAL,
    LZG_INPLACE,
    LZG_OUT_KIND,
    LZG_MUTABLE,
    LZG_SCRATCH,
    LZG_KIND_COUNT
} lzg_schema_kind;
const char *
lzg_schema_kind_name(lzg_schema_kind kind); /* "functional", "inplace", "out", "mutable", "scratch" */

typedef struct lzg_schema {
    lzg_op_name name;
    const lzg_argument *args; /* in the order of flat_all; section s is args[first[s] .. first[s+1]) */
    size_t nargs;
    size_t first[LZG_SECTION_COUNT + 1];
    const lzg_return *returns;
    size_t nreturns;
    lz_str text; /* as printed */
    lzg_schema_kind kind;
} lzg_schema;

/* S1-S10 hold afterwards; the kind is asked, too. */
LZ_MUST_USE
lz_err *lzg_schema_parse(lz_arena *a, lz_str text, lz_loc loc, const lzg_schema **out);
void lzg_schema_print(const lzg_schema *s, lz_text *out);

const lzg_argument *lzg_schema_arg(const lzg_schema *s, lz_str name);                          /* or NULL */
const lzg_argument *lzg_schema_self(const lzg_schema *s);                                      /* or NULL */
size_t lzg_schema_section(const lzg_schema *s, lzg_section which, const lzg_argument **first); /* how many */
bool lzg_schema_is_mutable(const lzg_schema *s);
bool lzg_schema_modifies_arguments(const lzg_schema *s);
bool lzg_schema_has_symint(const lzg_schema *s);
bool lzg_schema_is_out_fn(const lzg_schema *s);
bool lzg_schema_has_tensor_options(const lzg_schema *s);
/* out[i]: the argument that return i aliases, or an empty string; an error when two could. */
LZ_MUST_USE
lz_err *lzg_schema_aliased_returns(const lzg_schema *s, lz_arena *a, lz_str **out);

typedef struct lzg_signature_options {
    bool strip_default, strip_view_copy_name, keep_return_names;
} lzg_signature_options;

LZ_MUST_USE
lz_err *lzg_schema_signature(lz_arena *a, const lzg_schema *s, lzg_signature_options o,
                             const lzg_schema **out);
LZ_MUST_USE
lz_err *lzg_schema_view_signature(lz_arena *a, const lzg_schema *s, const lzg_schema **out);
/* Builds a schema from parts (arguments in flat_all order with their sections set); checks the invariants S.
 */
LZ_MUST_USE
lz_err *lzg_schema_make(lz_arena *a, const lzg_schema *parts, lz_loc loc, const lzg_schema **out);

/* ---- dispatch keys ---- */

typedef uint16_t lzg_dispatch_key; /* index into the 140 names, in torchgen's order */
enum { LZG_KEY_NONE = 0xffff, LZG_KEY_COUNT = 140 };

const char *lzg_dispatch_key_name(lzg_dispatch_key key);
lzg_dispatch_key lzg_dispatch_key_find(lz_str name); /* LZG_KEY_NONE: unknown */
bool lzg_dispatch_key_allowed(lzg_dispatch_key key); /* in a dispatch table */
bool lzg_dispatch_key_structured(lzg_dispatch_key key);
bool lzg_dispatch_key_ufunc(lzg_dispatch_key key);
bool lzg_dispatch_key_is_cuda(lzg_dispatch_key key); /* the CUDA family; likewise below */
bool lzg_dispatch_key_is_xpu(lzg_dispatch_key key);
bool lzg_dispatch_key_device_guard(lzg_dispatch_key key); /* one of these families */
/* Well-known ones, looked up once. */
extern const lzg_dispatch_key lzg_key_implicit, lzg_key_implicit_nested, lzg_key_explicit,
    lzg_key_non_functional;

typedef struct lzg_backend_metadata {
    lzg_dispatch_key key;
    lz_str kernel;
    lz_str cpp_namespace;
    bool structured;
} lzg_backend_metadata;

bool lzg_backend_metadata_symint(const lzg_backend_metadata *m);

/* ---- native functions ---- */

enum { LZG_VARIANT_FUNCTION = 1, LZG_VARIANT_METHOD = 2 };

typedef struct lzg_precompute_replace {
    lz_str arg;
    const lzg_argument *with;
    size_t n;
} lzg_precompute_replace;

typedef struct lzg_precompute {
    const lzg_precompute_replace *replace;
    size_t nreplace;
    const lzg_argument *add;
    size_t nadd;
} lzg_precompute;

typedef enum lzg_ufunc_key {
    LZG_UFUNC_CUDAFunctor,
    LZG_UFUNC_CUDAFunctorOnOther,
    LZG_UFUNC_CUDAFunctorOnSelf,
    LZG_UFUNC_CPUScalar,
    LZG_UFUNC_CPUVector,
    LZG_UFUNC_ScalarOnly,
    LZG_UFUNC_Generic,
    LZG_UFUNC_COUNT
} lzg_ufunc_key;
const char *lzg_ufunc_key_name(lzg_ufunc_key key);

typedef struct lzg_ufunc_loop {
    lzg_ufunc_key key;
    lz_str name;
    const lz_str *dtypes; /* ScalarType names, each once, as written; a class gives its members in order */
    size_t ndtypes;
} lzg_ufunc_loop;

/* A form of an operator that its entry lists under `variants` instead of being an entry of its own. */
typedef struct lzg_form {
    lzg_schema_kind kind; /* LZG_INPLACE or LZG_OUT_KIND */
    lz_str name; /* "pow_.Tensor", "add.out"; empty: the entry's overload, with _out behind it for out */
    lz_str args; /* of an out form: "max,max_values"; empty: the usual names */
    lz_loc loc;
} lzg_form;
enum { LZG_FORMS = 2 };

typedef enum lzg_view_kind { LZG_NON_ALIASING, LZG_ALIASING, LZG_ALIASING_INPLACE } lzg_view_kind;
const char *lzg_view_kind_name(lzg_view_kind kind); /* "non_aliasing", ... */

typedef struct lzg_function lzg_function; /* torchgen's NativeFunction */
struct lzg_function {
    lz_str ns;
    const lzg_schema *func;
    lz_loc loc;                       /* of the entry: its first line */
    lz_loc func_loc;                  /* of the schema's text */
    lz_str written;                   /* the func field as written; of a generated one, its schema */
    lz_str signature, view_signature; /* as printed */
    unsigned variants;
    bool structured;
    const lzg_op_name *structured_delegate; /* or NULL */
    lz_str structured_inherits;             /* ptr NULL: none; likewise below */
    const lzg_precompute *precomputed;      /* or NULL */
    const lzg_ufunc_loop *ufunc;
    size_t nufunc;
    bool device_check; /* true: ExactSame, false: NoCheck */
    bool device_guard, manual_kernel_registration, manual_cpp_binding, use_const_ref;
    lz_str python_module, category_override;
    const lz_str *cpp_no_default_args; /* sorted */
    size_t ncpp_no_default_args;
    const lzg_op_name *autogen;
    size_t nautogen;
    const lz_str *tags; /* sorted */
    size_t ntags;
    const lzg_backend_metadata *dispatch; /* in file order, without ignored keys */
    size_t ndispatch;
    bool is_abstract;
    bool generated; /* made for autogen, or its entry has the tag `generated` */
    bool composite_implicit, composite_implicit_nested, composite_explicit, composite_non_functional;
    bool is_view_op;
    lzg_view_kind view_kind;
    /* Lazuli's own fields; NULL where absent. */
    const lzg_yaml *formula, *inner, *shape, *statics, *memory, *strides;
    const lzg_function *same_as; /* the operator that the field `same_as` names; or NULL */
    const lzg_function *each;    /* the operator that this one applies to the items of lists; or NULL */
    const lzg_function *forward; /* of X_backward: X, if an earlier entry defines X; or NULL */
    lz_layout_row layout;        /* from the fields memory, strides, mask, length and number */
    lz_str statistics;           /* the operator that the field `statistics` names; ptr NULL: none */
    uint8_t statistics_when;     /* the argument that must be true for statistics to be written */
    uint16_t algebra;            /* LZ_OPF_IDEMPOTENT, LZ_OPF_INVOLUTION, LZ_OPF_SYMMETRIC */
    lz_str copying;              /* the operator that copies where this view is impossible; ptr NULL: none */
    lzg_form forms[LZG_FORMS];
    size_t nforms;
    uint32_t form_memory;        /* words of `memory` that concern only the forms */
    const lzg_function *form_of; /* of a form: its entry, or NULL */
};

/* The argument of f that is passed as argument `a` of the operator f->statistics. LZ_NO_ARGUMENT: none is
 * passed, because statistics do not depend on optional tensors. -1: f has no argument of that name. */
int lzg_statistics_argument(const lzg_function *f, const lzg_argument *a);

bool lzg_function_has_tag(const lzg_function *f, const char *tag);
bool lzg_function_has_composite(const lzg_function *f); /* any of the composites */
const lzg_backend_metadata *lzg_function_kernel(const lzg_function *f, lzg_dispatch_key key); /* or NULL */

typedef struct lzg_group { /* NativeFunctionsGroup */
    const lzg_function *functional, *inplace, *mutable, *out;
    bool structured;
} lzg_group;

typedef struct lzg_grouped { /* a group, or an operator outside of groups */
    const lzg_group *group;  /* or NULL */
    const lzg_function *f;   /* without a group: the operator; else the functional one */
} lzg_grouped;

typedef struct lzg_view_group { /* NativeFunctionsViewGroup */
    const lzg_function *view, *view_copy, *view_inplace;
    bool composite;
} lzg_view_group;

typedef struct lzg_backend_index {
    lzg_dispatch_key key;
    bool use_out_as_primary, external, device_guard;
    lz_map index; /* operator name -> const lzg_backend_metadata * */
} lzg_backend_index;

/* ---- a set of operator files ---- */

typedef struct lzg_ops {
    lz_arena arena;
    lz_map tags;                    /* tag name -> its lzg_yaml node */
    const lzg_function **functions; /* explicit ones in file order, then generated ones */
    size_t nfunctions, nexplicit;
    size_t cfunctions; /* room in functions */
    lz_map by_name;    /* "add.Tensor" -> lzg_function *; the last of that name */
    const lzg_group *groups;
    size_t ngroups;
    const lzg_grouped *grouped; /* every operator, in groups where there are groups; by first member */
    size_t ngrouped;
    const lzg_view_group *view_groups;
    size_t nview_groups;
    lzg_backend_index *indices; /* one per key that occurs, in order of lzg_dispatch_key */
    size_t nindices;
    lz_map group_of, view_group_of;            /* operator name -> lzg_group * / lzg_view_group * */
    lzg_dispatch_key key_order[LZG_KEY_COUNT]; /* the keys of indices, in the order of first use */
    const struct lzg_lists *lists;             /* the name lists that rules refer to (lists.h) */
    bool ignored[LZG_KEY_COUNT];               /* keys that are skipped in dispatch tables, but counted */
    bool defines; /* the file being read has definitions, and so our own defaults */
    bool broken;  /* an entry was refused: rules across entries are not reported any more */
} lzg_ops;

typedef struct lzg_ops_options {
    const char *const *files;       /* operator files, NULL-terminated */
    const char *tags;               /* tags file, or NULL: any tag is refused */
    const char *lists;              /* JSON name lists, or NULL: the built-in ones */
    bool own_fields;                /* formula, inner, shape, static, ... are allowed */
    const char *const *ignore_keys; /* dispatch keys to skip, NULL-terminated; or NULL */
} lzg_ops_options;

/* Reads the files, checks and groups the operators, and generates variants. Every mistake goes
 * into d; *ops has the operators without mistakes. Call lzg_ops_deinit in any case. Returns only
 * memory and I/O errors. */
LZ_MUST_USE
lz_err *lzg_ops_load(lzg_ops *ops, const lzg_ops_options *o, lzg_diag *d);
void lzg_ops_deinit(lzg_ops *ops);
const lzg_function *lzg_ops_find(const lzg_ops *ops, lz_str name); /* or NULL */
const lzg_backend_index *lzg_ops_index(const lzg_ops *ops, lzg_dispatch_key key);

/* The stages of lzg_ops_load, for callers that need some of them (tests of refusals, other
 * files). Call lzg_ops_deinit after lzg_ops_begin. lists NULL: the built-in lists. */
LZ_MUST_USE
lz_err *lzg_ops_begin(lzg_ops *ops, const char *tags, const char *lists, lzg_diag *d);
LZ_MUST_USE
lz_err *lzg_ops_add_tags(lzg_ops *ops, const lzg_yaml *tags, lzg_diag *d);
LZ_MUST_USE
lz_err *lzg_ops_add(lzg_ops *ops, const lzg_yaml *entries, bool own_fields, lzg_diag *d);
LZ_MUST_USE
lz_err *lzg_ops_check(lzg_ops *ops, lzg_diag *d); /* X1-X3 */
LZ_MUST_USE
lz_err *lzg_ops_generate(lzg_ops *ops, lzg_diag *d); /* X4, autogen */
LZ_MUST_USE
lz_err *lzg_ops_group(lzg_ops *ops, lzg_diag *d);
LZ_MUST_USE
lz_err *lzg_ops_group_views(lzg_ops *ops, lzg_diag *d);

#endif
