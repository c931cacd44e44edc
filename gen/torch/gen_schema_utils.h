/* gen_schema_utils.h - a schema from the values of one call.
 *
 * Operators whose arguments differ from call to call (loops and branches over whole graphs) get a
 * schema from one of their calls. Only the type of a value counts: eight base types, objects of a
 * class, and lists of these, whose length becomes part of the type. All arguments are positional,
 * without default or annotation, and results have no names. */
#ifndef LZG_GEN_SCHEMA_UTILS_H
#define LZG_GEN_SCHEMA_UTILS_H

#include "gen/model/model.h"

typedef struct lzg_example lzg_example;
struct lzg_example {
    lzg_type_kind kind;       /* BASE, CLASS or LIST */
    lzg_base_ty base;         /* Tensor, int, float, str, bool, SymInt, SymBool, GraphModule */
    const char *class_name;   /* CLASS: the name after __torch__.torch.classes. */
    const lzg_example *items; /* LIST: not empty, all of one type */
    size_t n;
};

typedef struct lzg_named_example {
    const char *name;
    lzg_example value;
} lzg_named_example;

/* LZ_ERR_UNSUPPORTED for a value of another type, LZ_ERR_MODEL for an empty or mixed list. */
LZ_MUST_USE
lz_err *lzg_type_of_example(lz_arena *a, const lzg_example *x, const lzg_type **out);

/* A value as `lazuli gen torch-schema` reads it: tensor, symint, symbool, graph, object(CLASS), 3, 2.5, true,
 * "text", [1, 2]. `what` names it in messages. LZ_ERR_ARG for anything else. */
LZ_MUST_USE
lz_err *lzg_example_parse(lz_arena *a, lz_str text, const char *what, lzg_example *out);

/* name is taken as it is: nothing in it means in-place or an overload. */
LZ_MUST_USE
lz_err *lzg_schema_of_examples(lz_arena *a, const char *name, const lzg_named_example *in, size_t nin,
                               const lzg_example *outs, size_t nouts, const lzg_schema **out);

#endif
