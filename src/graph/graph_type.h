/* graph_type.h - the types of values in a graph: TorchScript's.
 *
 * A type never changes. The leaves are static; every other type belongs to a table and
 * is in it once, so that within one table equal types are one pointer. Types are told
 * apart by their text, which reads back as the same type. */
#ifndef LZ_GRAPH_GRAPH_TYPE_H
#define LZ_GRAPH_GRAPH_TYPE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/text.h"
#include <lazuli/value.h>

typedef enum lz_type_kind {
    LZ_TY_TENSOR,
    LZ_TY_INT,
    LZ_TY_FLOAT,
    LZ_TY_COMPLEX,
    LZ_TY_BOOL,
    LZ_TY_STR,
    LZ_TY_NONE,
    LZ_TY_SCALAR, /* int, float or complex */
    LZ_TY_DEVICE,
    LZ_TY_GENERATOR,
    LZ_TY_STREAM,
    LZ_TY_STORAGE,
    LZ_TY_ANY,
    LZ_TY_LEAVES,
    LZ_TY_LIST = LZ_TY_LEAVES, /* int[] */
    LZ_TY_OPTIONAL,            /* int? */
    LZ_TY_FUTURE,              /* Future[int] */
    LZ_TY_DICT,                /* Dict(str, int) */
    LZ_TY_TUPLE,               /* (int, Tensor), NamedTuple(x : int) */
    LZ_TY_UNION,               /* Union[int, str] */
    LZ_TY_CLASS,               /* __torch__.Net: only its name is known */
    LZ_TY_COUNT
} lz_type_kind;

enum {
    LZ_TYPE_DEPTH = 32,     /* types within types, at most: bounds every recursion over types */
    LZ_TYPE_SIZES = 64,     /* dimensions */
    LZ_TYPE_UNKNOWN = -1,   /* a size that may be any, printed as * */
    LZ_TYPE_ELEMENTS = 4096 /* of one tuple or union */
};

/* What a tensor type says beyond "Tensor": a record of what was seen, not a promise. */
typedef struct lz_tensor_facts {
    lz_dtype dtype;         /* LZ_DTYPE_NONE: unknown */
    int rank;               /* -1: unknown; if dtype is unknown too, rank 0 has neither of the last two */
    const int64_t *sizes;   /* rank of them, or LZ_TYPE_UNKNOWN */
    const int64_t *strides; /* rank of them; NULL: unknown, as always for rank 0 */
    int requires_grad;      /* 0, 1; -1: unknown */
    lz_str device;          /* "cuda:0"; empty: unknown */
} lz_tensor_facts;

typedef struct lz_type lz_type;
struct lz_type {
    lz_type_kind kind;
    uint32_t depth;                /* 1 for a leaf */
    size_t n;                      /* LIST, OPTIONAL, FUTURE: 1; DICT: 2; TUPLE, UNION */
    const lz_type *const *elem;    /* n of them */
    const lz_str *names;           /* n, of a NamedTuple; 1, of a CLASS; otherwise NULL */
    const lz_tensor_facts *tensor; /* NULL: only that it is a tensor */
};

typedef struct lz_type_table {
    lz_arena *arena; /* borrowed */
    lz_map by_text;
    lz_text text; /* of the type being looked up */
} lz_type_table;

void lz_type_table_init(lz_type_table *t, lz_arena *arena);
void lz_type_table_deinit(lz_type_table *t); /* the types live as long as the arena */

const lz_type *lz_type_leaf(lz_type_kind kind);   /* kind < LZ_TY_LEAVES */
const lz_type *lz_type_leaf_by_name(lz_str name); /* "int", "NoneType", ...; NULL: no such leaf */
lz_dtype lz_type_dtype_by_name(lz_str name);      /* "Float", ...; LZ_DTYPE_NONE: no such dtype */
const char *lz_type_dtype_name(lz_dtype dtype);   /* NULL: none */

/* Each finds or makes a type; elements must be of the same table or leaves. An optional
 * of an optional, None or Any is what it already is. LZ_ERR_LIMIT beyond the bounds. */
LZ_MUST_USE lz_err *lz_type_list(lz_type_table *t, const lz_type *elem, const lz_type **out);
LZ_MUST_USE lz_err *lz_type_optional(lz_type_table *t, const lz_type *elem, const lz_type **out);
LZ_MUST_USE lz_err *lz_type_dict(lz_type_table *t, const lz_type *key, const lz_type *value,
                                 const lz_type **out);
LZ_MUST_USE lz_err *lz_type_tensor(lz_type_table *t, const lz_tensor_facts *facts, const lz_type **out);
/* names: n for a NamedTuple, otherwise NULL. */
LZ_MUST_USE lz_err *lz_type_compound(lz_type_table *t, lz_type_kind kind, const lz_type *const *elem,
                                     const lz_str *names, size_t n, const lz_type **out);
LZ_MUST_USE lz_err *lz_type_class(lz_type_table *t, lz_str name, const lz_type **out);
/* The same type in another table. */
LZ_MUST_USE lz_err *lz_type_copy(lz_type_table *t, const lz_type *type, const lz_type **out);

/* As TorchScript writes it. */
void lz_type_print(const lz_type *type, lz_text *out);

/* Whether two types, of one table or of two, have the same text. */
bool lz_type_equal(const lz_type *a, const lz_type *b);

/* Whether a value of type `is` may stand where `wanted` is asked for: itself, int and
 * float for Scalar, T and None for T?, anything for Any, a NamedTuple for its tuple. What
 * is known of tensors does not count. Works across tables. */
bool lz_type_fits(const lz_type *is, const lz_type *wanted);

/* Whether values of this type can be changed in place, or hold such a value. */
bool lz_type_is_mutable(const lz_type *type);

#endif
