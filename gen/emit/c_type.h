/* c_type.h - schema types in C.
 *
 * SymInt and DeviceIndex are int64_t. An option uses the type's value for "absent" (value.h) if there
 * is one, else an lz_opt_ struct. A list is a pointer with a length. */
#ifndef LZG_C_TYPE_H
#define LZG_C_TYPE_H

#include "gen/model/model.h"

typedef enum lzg_c_type {
    LZG_C_TENSOR,
    LZG_C_GENERATOR,
    LZG_C_STORAGE,
    LZG_C_STREAM,
    LZG_C_OBJECT,
    LZG_C_INT,
    LZG_C_FLOAT,
    LZG_C_BOOL,
    LZG_C_SCALAR,
    LZG_C_STR,
    LZG_C_DTYPE,
    LZG_C_LAYOUT,
    LZG_C_MEMORY_FORMAT,
    LZG_C_QSCHEME,
    LZG_C_DEVICE,
    LZG_C_INTS,
    LZG_C_FLOATS,
    LZG_C_BOOLS,
    LZG_C_SCALARS,
    LZG_C_STRS,
    LZG_C_TENSORS,
    LZG_C_OPT_INT,
    LZG_C_OPT_FLOAT,
    LZG_C_OPT_BOOL,
    LZG_C_TYPE_COUNT
} lzg_c_type;

typedef struct lzg_c_type_row {
    lz_str decl;      /* the text before a name: "lz_tensor *", "int64_t " */
    lz_str kind;      /* "TENSOR": of LZ_KIND_ */
    lz_str member;    /* of lz_value, and of its maker lz_value_ */
    lz_str opt;       /* "opt_int" if a function has to read it from an lz_value; else empty */
    lz_str absent;    /* initialiser of an absent option; empty: never absent */
    lz_str element;   /* of a list, as declared; else empty */
    lzg_c_type plain; /* without the option, or the element's type */
} lzg_c_type_row;

extern const lzg_c_type_row lzg_c_types[LZG_C_TYPE_COUNT];

/* LZ_ERR_UNSUPPORTED for lists of lists, of options other than Tensor?, and so on. */
LZ_MUST_USE lz_err *lzg_c_type_of(const lzg_type *t, lzg_c_type *out);

#endif
