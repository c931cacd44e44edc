/* lazy_node.h - an operator as a node of the lazy graph: which arguments are operands
 * (Values) and which are members of the node. */
#ifndef LZG_LAZY_NODE_H
#define LZG_LAZY_NODE_H

#include "gen/api/types.h"

/* One line is a group, of which at most one holds. */
#define LZG_LAZY_PROPERTIES(X)                                                                               \
    X(0, ShapePrecompute)                                                                                    \
    X(0, ShapeCompute)                                                                                       \
    X(0, ShapeCache)                                                                                         \
    X(1, Lower)                                                                                              \
    X(1, LowerDeclOnly)                                                                                      \
    X(2, CanBeReused)                                                                                        \
    X(2, CanBeReusedDeclOnly)                                                                                \
    X(3, CreateFn)                                                                                           \
    X(3, CreateFnDeclOnly)                                                                                   \
    X(4, TreatScalarsAsConstants)

typedef enum lzg_lazy_property {
#define X(group, name) LZG_LAZY_##name,
    LZG_LAZY_PROPERTIES(X)
#undef X
        LZG_LAZY_PROPERTY_COUNT
} lzg_lazy_property;

typedef struct lzg_lazy_properties {
    uint16_t set; /* bit per property */
} lzg_lazy_properties;

lzg_lazy_properties lzg_lazy_defaults(void);                                 /* of native operators */
lzg_lazy_property lzg_lazy_property_find(lz_str name);                       /* COUNT: unknown */
void lzg_lazy_set(lzg_lazy_properties *p, lzg_lazy_property which, bool on); /* clears its group first */
bool lzg_lazy_has(lzg_lazy_properties p, lzg_lazy_property which);

typedef struct lzg_lazy_argument {
    const lzg_argument *argument;
    const lzg_ctype *type;
    bool keyword;
    bool value;          /* an operand */
    bool wrapped_scalar; /* a Scalar that became a Value */
    bool generator;
    bool symint; /* SymInt or SymInt?, as a Value */
} lzg_lazy_argument;

typedef struct lzg_lazy_schema {
    const lzg_schema *func;
    lz_str node_name;              /* AddTensor */
    lz_str aten_name;              /* add */
    const lzg_lazy_argument *args; /* in the schema's order */
    size_t nargs;
    const lzg_argument *generator; /* the keyword-only one, or NULL */
} lzg_lazy_schema;

typedef struct lzg_lazy_options {
    lzg_lazy_properties properties;
    bool symint;
    const lzg_ctype *value; /* the backend's type of operands; NULL: torch::lazy::Value */
} lzg_lazy_options;

LZ_MUST_USE lz_err *lzg_lazy_schema_make(lz_arena *a, const lzg_schema *s, lzg_lazy_options o,
                                         lzg_lazy_schema *out);

#endif
