/* schema.h - operators as data: the types of the tables op_table.h and functional_table.h, which the
 * generator makes from operator files.
 *
 * Rows are constant and refer to each other. Code that has an operator's number finds all
 * facts about the operator by index, without comparing names. */
#ifndef LAZULI_SCHEMA_H
#define LAZULI_SCHEMA_H

#include <lazuli/value.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LZ_TYPE_OPTIONAL = 1,  /* T?: the argument may be LZ_KIND_NONE */
    LZ_TYPE_NULLABLE = 2,  /* Tensor?[]: elements may be NULL */
    LZ_TYPE_SYMBOLIC = 4,  /* SymInt, SymBool, and lists of SymInt or SymBool */
    LZ_ARGS_MAX = 64,      /* arguments, or returns, of one operator */
    LZ_LIST_MAX = 64,      /* elements of a list whose size is in the schema */
    LZ_NO_ARGUMENT = 0xff, /* in place of the number of an argument: there is none */
};

typedef struct lz_type_row {
    const char *text; /* "Tensor?" */
    uint8_t kind;     /* lz_kind: what values it has */
    uint8_t flags;
    int16_t size; /* of int[2]: one value stands for two equal ones; -1: any number */
} lz_type_row;

/* Where an argument stands in its schema, in this order. */
typedef enum lz_section {
    LZ_SECTION_PRE_SELF,
    LZ_SECTION_SELF,
    LZ_SECTION_POST_SELF,
    LZ_SECTION_KEYWORD, /* from here on by name only */
    LZ_SECTION_TENSOR_OPTIONS,
    LZ_SECTION_POST_TENSOR_OPTIONS,
    LZ_SECTION_OUT
} lz_section;

/* Alias sets: bit i stands for the letter 'a' + i of the annotation. */
typedef struct lz_arg_row {
    const char *name;
    const lz_type_row *type;
    const char *default_text;      /* as in the schema; NULL: the argument is required */
    const lz_value *default_value; /* NULL where default_text is NULL; lists: v is constant */
    const char *annotation;        /* "a! -> a|b"; NULL: none */
    uint32_t alias;                /* the set it belongs to when the call begins */
    uint8_t section;               /* lz_section */
    bool write;                    /* the call changes it */
    bool fixed;                    /* the graph's structure depends on the value: it is part of the graph */
} lz_arg_row;

typedef struct lz_return_row {
    const char *name; /* NULL: none */
    const lz_type_row *type;
    const char *annotation;
    uint32_t alias;
    uint8_t argument; /* the argument that is returned or viewed; LZ_NO_ARGUMENT */
    bool write;
} lz_return_row;

typedef enum lz_schema_kind {
    LZ_SCHEMA_FUNCTIONAL,
    LZ_SCHEMA_INPLACE,
    LZ_SCHEMA_OUT,
    LZ_SCHEMA_MUTABLE,
    LZ_SCHEMA_SCRATCH
} lz_schema_kind;

enum {
    LZ_OPF_VIEW = 1,       /* a result shares an argument's memory */
    LZ_OPF_MUTABLE = 2,    /* some argument is written */
    LZ_OPF_SYMINT = 4,     /* has symbolic arguments */
    LZ_OPF_STRUCTURED = 8, /* has separate shape function and kernel, or delegates to an operator that has */
    LZ_OPF_GENERATED = 16, /* is in no file: derived from another operator */
    LZ_OPF_ABSTRACT = 32,  /* has a derivative of its own, not only that of its formula */
    LZ_OPF_FUNCTION = 64,  /* f(x) */
    LZ_OPF_METHOD = 128,   /* x.f() */
    LZ_OPF_INPLACE_VIEW = 256, /* changes sizes or strides of self */
    /* Laws that hold for every bit: the field `algebra` of an entry. */
    LZ_OPF_IDEMPOTENT = 512,  /* of one tensor: f(f(x)) = f(x); of two: f(x, x) = x */
    LZ_OPF_INVOLUTION = 1024, /* f(f(x, a, b), a, b) = x */
    LZ_OPF_SYMMETRIC = 2048   /* f(x, a, b) = f(x, b, a) */
};

typedef struct lz_op_row {
    const char *name;   /* "add.Tensor"; in C lz_add_Tensor */
    const char *ns;     /* "aten" */
    const char *schema; /* "add.Tensor(Tensor self, ...) -> Tensor" */
    const lz_arg_row *args;
    const lz_return_row *returns;
    uint8_t nargs, nreturns;
    uint8_t base;   /* length of "add"; behind the dot follows the overload */
    uint8_t kind;   /* lz_schema_kind */
    uint16_t flags; /* LZ_OPF_ */
    uint64_t tags;  /* bit LZ_TAG_x of op_table.h */
} lz_op_row;

/* How results and arguments share memory, beyond the annotations of the schema. */
enum {
    LZ_MEMORY_MAY_COPY = 1,   /* annotated as a view, but a copy where a view is impossible or not wanted */
    LZ_MEMORY_MAY_SHARE = 2,  /* not annotated, but a view where the formula only makes views */
    LZ_MEMORY_MAY_RETURN = 4, /* returns the argument itself where there is nothing to do */
    LZ_MEMORY_ROW_MAJOR = 8,  /* a view of a row-major argument, a copy of any other */
    LZ_MEMORY_OVERLAP = 16,   /* may write to a tensor that has elements in common with itself */
    LZ_MEMORY_NO_WRITE = 32,  /* an in-place form that changes no element: saved values stay good */
    LZ_MEMORY_CAST_OUT = 64,  /* an out form that casts its result; the others want the result's dtype */
    LZ_MEMORY_APART = 128,    /* no argument but self may share an element with what is written */
    LZ_MEMORY_NO_CAST = 256,  /* an in-place form that wants self to have the result's dtype */
    LZ_MEMORY_FILLS = 512,    /* one value for all elements, perhaps one of these elements; no stride of 0 */
    LZ_MEMORY_ALONE = 1024,   /* an out form: nothing else may share an element with what is written */
    LZ_MEMORY_RETURN_0D = 2048,  /* the argument itself if it has no dimensions */
    LZ_MEMORY_OWN_DTYPE = 4096,  /* computes in the dtype of what it writes, unless the call names one */
    LZ_MEMORY_STATISTICS = 8192, /* writes running statistics in training, which the schema does not mark */
    LZ_MEMORY_INSTANCES = 16384, /* these statistics are means over the instances of a batch */
    LZ_MEMORY_STORAGE = 32768,   /* looks at the whole storage of self, whatever part self shows */
    LZ_MEMORY_DETACHES = 65536,  /* a view, or self, that has no part in gradients from there on */
    LZ_MEMORY_COPIES = 131072,   /* an in-place form that does nothing where both arguments are one tensor */
    LZ_MEMORY_ITEMS = 262144,    /* item i of each result comes from item i of each list */
    LZ_MEMORY_RESIZES =
        524288 /* in place: changes sizes, and no element; else: what is written may get other sizes */
};

/* How strides of results are found (lower/layout.h); views first. The names are those of the field
 * `strides` of an entry. */
/* clang-format off */
#define LZ_STRIDE_RULES(X)                                                                                   \
    X(same) X(parts) X(slice) X(narrow) X(expand) X(select) X(unsqueeze) X(squeeze) X(squeeze_dim)           \
    X(squeeze_dims) X(unfold) X(diagonal) X(transpose) X(swap_last) X(reverse) X(permute) X(movedim)         \
    X(movedims) X(view) X(flatten) X(contiguous) X(operands) X(operands_and_number) X(like) X(order)         \
    X(format) X(common_format) X(any_format) X(index) X(rot90) X(transposed) X(columns)                        \
    X(columns_left) X(first_inner) X(pad) X(dim_outer) X(row_major) X(roll) X(stacked) X(given) X(physical)          \
    X(preserved)
/* clang-format on */

typedef enum lz_stride_rule {
    LZ_STRIDES_NONE,
#define X(name) LZ_STRIDES_##name,
    LZ_STRIDE_RULES(X)
#undef X
        LZ_STRIDE_RULE_COUNT
} lz_stride_rule;

enum { LZ_LAYOUT_ARGS = 4 };

typedef struct lz_layout_row {
    uint32_t memory;              /* LZ_MEMORY_ */
    uint8_t strides;              /* lz_stride_rule; NONE: row-major */
    uint8_t nargs;                /* that the rule looks at; 0: all tensors */
    uint8_t args[LZ_LAYOUT_ARGS]; /* their numbers, in the order in which they decide */
    uint8_t mask;                 /* 1 + the argument that chooses between others and keeps its dtype; 0 */
    uint8_t length;               /* 1 + the argument that says how long the returned list is; 0: none */
    uint8_t more;                 /* tensors in that list beyond what the argument says */
    uint8_t number;               /* 1 + the argument that, as a constant tensor of a graph, is a number; 0 */
} lz_layout_row;

/* Facts about an operator from a backend's file. */
enum {
    LZ_LAZY_RECORDED = 1,  /* full_codegen: a node is recorded */
    LZ_LAZY_SUPPORTED = 2, /* written by hand */
    LZ_LAZY_IR_GEN = 4,    /* has a node, but nothing records it by itself */
    LZ_LAZY_AUTOGRAD = 8,  /* has a derivative of its own there */
    LZ_LAZY_SYMINT = 16    /* sizes may be symbolic */
};

/* The functional form of a view, or of an operator that writes. */
typedef struct lz_write_row {
    uint8_t argument; /* gets */
    uint8_t result;   /* this result of the functional operator */
} lz_write_row;

typedef struct lz_functional_row lz_functional_row;
struct lz_functional_row {
    uint16_t functional; /* the operator that computes the written values, or copies the view; 0: none */
    uint16_t inverse;    /* of a view: writes a changed view back to its base; 0: another view undoes it */
    uint16_t view;       /* of an operator that makes self a view of itself, as t_: that view, t; 0: none */
    uint16_t inplace;    /* of a functional operator: the one that writes the result into self; 0: none */
    uint16_t copying;    /* of a view that strides may not allow: the operator that copies then; 0: none */
    uint8_t nwrites;
    uint8_t dtype; /* of one that writes: 1 + the functional operator's argument `dtype`; 0: none */
    uint8_t when;  /* of statistics: written if this argument, a bool, is true */
    const lz_write_row *writes; /* in the order of the arguments */
    /* By argument of the functional operator: the argument of this one, or LZ_NO_ARGUMENT. NULL: both have
     * equal arguments. */
    const uint8_t *from;
    const lz_functional_row *statistics; /* writes that the schema does not mark; NULL: none */
};

#ifdef __cplusplus
}
#endif
#endif
