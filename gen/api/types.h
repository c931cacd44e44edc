/* types.h - C++ types, bindings and signatures as values.
 *
 * Types are immutable trees; leaves and whatever wraps a leaf once or as a const
 * reference to an optional are shared static nodes, the rest belongs to an arena.
 * Two types are the same type exactly if they print alike. */
#ifndef LZG_API_TYPES_H
#define LZG_API_TYPES_H

#include "gen/model/model.h"

#define LZG_CPP_TYPES(X)                                                                                     \
    X(void, "void")                                                                                          \
    X(bool, "bool")                                                                                          \
    X(int32, "int32_t")                                                                                      \
    X(long, "int64_t")                                                                                       \
    X(float, "float")                                                                                        \
    X(double, "double")                                                                                      \
    X(string, "c10::string_view")                                                                            \
    X(Generator, "at::Generator")                                                                            \
    X(ScalarType, "at::ScalarType")                                                                          \
    X(Tensor, "at::Tensor")                                                                                  \
    X(OptionalTensorRef, "at::OptionalTensorRef")                                                            \
    X(TensorList, "at::TensorList")                                                                          \
    X(ITensorListRef, "at::ITensorListRef")                                                                  \
    X(IOptTensorListRef, "at::IOptTensorListRef")                                                            \
    X(DimVector, "at::DimVector")                                                                            \
    X(Layout, "at::Layout")                                                                                  \
    X(Device, "at::Device")                                                                                  \
    X(DeviceIndex, "at::DeviceIndex")                                                                        \
    X(Scalar, "at::Scalar")                                                                                  \
    X(OptionalScalarRef, "at::OptionalScalarRef")                                                            \
    X(MemoryFormat, "at::MemoryFormat")                                                                      \
    X(QScheme, "at::QScheme")                                                                                \
    X(Storage, "at::Storage")                                                                                \
    X(Stream, "at::Stream")                                                                                  \
    X(IntArrayRef, "at::IntArrayRef")                                                                        \
    X(OptionalIntArrayRef, "at::OptionalIntArrayRef")                                                        \
    X(OptionalSymIntArrayRef, "at::OptionalSymIntArrayRef")                                                  \
    X(TensorOptions, "at::TensorOptions")                                                                    \
    X(TensorGeometry, "at::TensorGeometry")                                                                  \
    X(TypeAndSize, "torch::autograd::generated::TypeAndSize")                                                \
    X(SymInt, "c10::SymInt")                                                                                 \
    X(SymBool, "c10::SymBool")                                                                               \
    X(SymIntArrayRef, "c10::SymIntArrayRef")                                                                 \
    X(InverseReturnMode, "at::functionalization::InverseReturnMode")                                         \
    X(Value, "torch::lazy::Value")                                                                           \
    X(scalar_t, "scalar_t")                                                                                  \
    X(opmath_t, "opmath_t")

typedef enum lzg_cpp {
#define X(id, text) LZG_CPP_##id,
    LZG_CPP_TYPES(X)
#undef X
        LZG_CPP_COUNT
} lzg_cpp;

typedef enum lzg_ctype_kind {
    LZG_C_BASE,
    LZG_C_CONST_REF,
    LZG_C_MUT_REF,
    LZG_C_OPTIONAL,
    LZG_C_LIST, /* c10::List */
    LZG_C_ARRAY_REF,
    LZG_C_VECTOR,
    LZG_C_VECTORIZED,
    LZG_C_ARRAY,
    LZG_C_TUPLE,
    LZG_C_KIND_COUNT
} lzg_ctype_kind;

typedef struct lzg_ctype lzg_ctype;
struct lzg_ctype {
    lzg_ctype_kind kind;
    lz_str name;                   /* BASE: with its namespace */
    const lzg_ctype *elem;         /* all but BASE and TUPLE */
    const lzg_ctype *const *elems; /* TUPLE */
    size_t n;                      /* TUPLE: how many; ARRAY: its size */
};

/* The shared nodes: [LZG_C_BASE][T] is T, [wrap][T] is wrap<T>. */
extern const lzg_ctype lzg_ctypes[LZG_C_ARRAY][LZG_CPP_COUNT];
extern const lzg_ctype lzg_const_optionals[LZG_CPP_COUNT]; /* const std::optional<T> & */

static inline const lzg_ctype *lzg_ctype_base(lzg_cpp base)
{
    return &lzg_ctypes[LZG_C_BASE][base];
}

static inline const lzg_ctype *lzg_ctype_of(lzg_ctype_kind wrap, lzg_cpp base)
{
    return &lzg_ctypes[wrap][base];
}

/* wrap<elem>, shared where it can be. */
LZ_MUST_USE lz_err *lzg_ctype_wrap(lz_arena *a, lzg_ctype_kind wrap, const lzg_ctype *elem,
                                   const lzg_ctype **out);
LZ_MUST_USE lz_err *lzg_ctype_array(lz_arena *a, const lzg_ctype *elem, size_t size, const lzg_ctype **out);
LZ_MUST_USE lz_err *lzg_ctype_tuple(lz_arena *a, const lzg_ctype *const *elems, size_t n,
                                    const lzg_ctype **out);
/* The same without references at any depth. */
LZ_MUST_USE lz_err *lzg_ctype_remove_const_ref(lz_arena *a, const lzg_ctype *t, const lzg_ctype **out);

bool lzg_ctype_eq(const lzg_ctype *a, const lzg_ctype *b);
bool lzg_ctype_is(const lzg_ctype *t, lzg_cpp base);
void lzg_ctype_print(const lzg_ctype *t, lz_text *out);
void lzg_ctype_print_value(const lzg_ctype *t, lz_text *out); /* without outer references */

/* LZ_ERR_UNSUPPORTED, "why: type as printed". */
LZ_MUST_USE lz_err *lzg_refuse_type(const lzg_type *t, const char *why);

/* A type and its role: two bools are not exchangeable, two "pin_memory" are. */
typedef struct lzg_nctype {
    lz_str name;
    const lzg_ctype *type;
} lzg_nctype;

/* What a memory_format argument beside TensorOptions binds: the options may hold one,
 * too. The space keeps it apart from every argument's name. */
extern const lz_str lzg_redundant_memory_format;

bool lzg_nctype_eq(lzg_nctype a, lzg_nctype b);

typedef struct lzg_binding {
    lz_str name;
    lzg_nctype what;
    lz_str deflt;                 /* ptr NULL: none */
    const lzg_argument *argument; /* NULL: the packed TensorOptions, or of no schema */
} lzg_binding;

void lzg_binding_decl(const lzg_binding *b, lz_text *out); /* "T name=default" */
void lzg_binding_defn(const lzg_binding *b, lz_text *out); /* "T name" */

typedef struct lzg_bindings {
    const lzg_binding *at;
    size_t n;
} lzg_bindings;

/* Separated by ", ", without parentheses: "T a=1, U b", "T a, U b", "T, U" and "a, b". */
void lzg_bindings_decl(lzg_bindings b, lz_text *out);
void lzg_bindings_defn(lzg_bindings b, lz_text *out);
void lzg_bindings_types(lzg_bindings b, lz_text *out);
void lzg_bindings_names(lzg_bindings b, lz_text *out);

typedef struct lzg_cexpr {
    lz_str expr;
    lzg_nctype what;
} lzg_cexpr;

typedef struct lzg_sig {
    lz_str name;
    const lzg_ctype *returns;
    lzg_bindings args;
} lzg_sig;

void lzg_sig_decl(const lzg_sig *s, lz_text *out);     /* "R name(T a=1, U b)" */
void lzg_sig_defn(const lzg_sig *s, lz_text *out);     /* "R name(T a, U b)" */
void lzg_sig_type(const lzg_sig *s, lz_text *out);     /* "R (T, U)" */
void lzg_sig_ptr_type(const lzg_sig *s, lz_text *out); /* "R (*)(T, U)" */
void lzg_sig_ptr_defn(const lzg_sig *s, lz_text *out); /* "R (*)(T a, U b)" */

#endif
