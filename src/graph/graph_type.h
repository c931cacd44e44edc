/* graph_type.h - the types of values in a graph: TorchScript's.
 *
 * Types are immutable. Leaves are static; every other type is interned in a table, so within one table equal
 * types are one pointer. Types are compared by their text, which parses back to the same type. */
#ifndef LZ_GRAPH_GRAPH_TYPE_H
#define LZ_GRAPH_GRAPH_TYPE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/text.h"
#include <lazuli/value.h>

typedef enum lz_type_kind {
    LZ_GRAPH_TYPE_TENSOR,
    LZ_GRAPH_TYPE_INT,
    LZ_GRAPH_TYPE_FLOAT,
    LZ_GRAPH_TYPE_COMPLEX,
    LZ_GRAPH_TYPE_BOOL,
    LZ_GRAPH_TYPE_STR,
    LZ_GRAPH_TYPE_NONE,
    LZ_GRAPH_TYPE_SCALAR, /* int, float or complex */
    LZ_GRAPH_TYPE_DEVICE,
    LZ_GRAPH_TYPE_GENERATOR,
    LZ_GRAPH_TYPE_STREAM,
    LZ_GRAPH_TYPE_STORAGE,
    LZ_GRAPH_TYPE_ANY,
    LZ_GRAPH_TYPE_LEAVES,
    LZ_GRAPH_TYPE_LIST = LZ_GRAPH_TYPE_LEAVES, /* int[] */
    LZ_GRAPH_TYPE_OPTIONAL,                    /* int? */
    LZ_GRAPH_TYPE_FUTURE,                      /* Future[int] */
    LZ_GRAPH_TYPE_DICT,                        /* Dict(str, int) */
    LZ_GRAPH_TYPE_TUPLE,                       /* (int, Tensor), NamedTuple(x : int) */
    LZ_GRAPH_TYPE_UNION,                       /* Union[int, str] */
    LZ_GRAPH_TYPE_CLASS,                       /* __torch__.Net: only the name is known */
    LZ_GRAPH_TYPE_COUNT
} lz_type_kind;

enum {
    LZ_TYPE_DEPTH = 32,     /* most levels of nesting: bounds every recursion over types */
    LZ_TYPE_SIZES = 64,     /* dimensions */
    LZ_TYPE_UNKNOWN = -1,   /* an unknown size, printed as * */
    LZ_TYPE_ELEMENTS = 4096 /* of one tuple or union */
};

/* What a tensor type records beyond "Tensor": observations, not guarantees. */
typedef struct lz_tensor_facts {
    lz_dtype dtype;         /* LZ_DTYPE_NONE: unknown */
    int rank;               /* -1: unknown; 0 with unknown dtype: the last two are unknown, too */
    const int64_t *sizes;   /* `rank` sizes; each may be LZ_TYPE_UNKNOWN */
    const int64_t *strides; /* `rank` strides; NULL: unknown, and always NULL for rank 0 */
    int requires_grad;      /* 0, 1; -1: unknown */
    lz_str device;          /* "cuda:0"; empty: unknown */
} lz_tensor_facts;

typedef struct lz_type lz_type;
struct lz_type {
    lz_type_kind kind;
    uint32_t depth;                /* 1 for a leaf */
    size_t n;                      /* LIST, OPTIONAL, FUTURE: 1; DICT: 2; TUPLE, UNION */
    const lz_type *const *elem;    /* n of them */
    const lz_str *names;           /* n names of a NamedTuple; 1 of a CLASS; otherwise NULL */
    const lz_tensor_facts *tensor; /* NULL: nothing is known */
};

typedef struct lz_type_table {
    lz_arena *arena; /* borrowed */
    lz_map by_text;
    lz_text text; /* of the type being looked up */
} lz_type_table;

void lz_type_table_init(lz_type_table *t, lz_arena *arena);
void lz_type_table_deinit(lz_type_table *t); /* the types live as long as the arena */

const lz_type *lz_type_leaf(lz_type_kind kind);   /* kind < LZ_GRAPH_TYPE_LEAVES */
const lz_type *lz_type_leaf_by_name(lz_str name); /* "int", "NoneType", ...; NULL: unknown name */
lz_dtype lz_type_dtype_by_name(lz_str name);      /* "Float", ...; LZ_DTYPE_NONE: unknown name */
const char *lz_type_dtype_name(lz_dtype dtype);   /* NULL: none */

/* Each finds or creates a type; elements must be leaves or belong to this table. An optional of an optional,
 * None or Any is that type itself. LZ_ERR_LIMIT beyond the limits. */
LZ_MUST_USE lz_err *lz_type_list(lz_type_table *t, const lz_type *elem, const lz_type **out);
LZ_MUST_USE lz_err *lz_type_optional(lz_type_table *t, const lz_type *elem, const lz_type **out);
LZ_MUST_USE lz_err *lz_type_dict(lz_type_table *t, const lz_type *key, const lz_type *value,
                                 const lz_type **out);
LZ_MUST_USE lz_err *lz_type_tensor(lz_type_table *t, const lz_tensor_facts *facts, const lz_type **out);
/* names: n for a NamedTuple, otherwise NULL. */
LZ_MUST_USE lz_err *lz_type_compound(lz_type_table *t, lz_type_kind kind, const lz_type *const *elem,
                                     const lz_str *names, size_t n, const lz_type **out);
LZ_MUST_USE lz_err *lz_type_class(lz_type_table *t, lz_str name, const lz_type **out);
/* The equal type in another table. */
LZ_MUST_USE lz_err *lz_type_copy(lz_type_table *t, const lz_type *type, const lz_type **out);

/* Writes the type as TorchScript does. */
void lz_type_print(const lz_type *type, lz_text *out);

/* Do two types, of one table or of two, have the same text? */
bool lz_type_equal(const lz_type *a, const lz_type *b);

/* May a value of type `is` be used where `wanted` is required? Equal types; int and float for Scalar, T and
 * None for T?, anything for Any, a NamedTuple for its tuple. Facts about tensors are ignored. Works across
 * tables. */
bool lz_type_fits(const lz_type *is, const lz_type *wanted);

/* Can values of this type be changed in place, or hold a value that can? */
bool lz_type_is_mutable(const lz_type *type);

#endif
