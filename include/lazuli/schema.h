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
    uint8_t kind;     /* lz_kind: the kind of its values */
    uint8_t flags;
    int16_t size; /* of int[2]: one value stands for two equal ones; -1: any number */
} lz_type_row;

/* The part of the schema in which an argument is; the parts are in this order. */
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
    uint32_t alias;                /* the alias set of the argument when the call begins */
    uint8_t section;               /* lz_section */
    bool write;                    /* the call changes it */
    bool fixed; /* the graph's structure depends on the value, which is part of the graph */
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
    LZ_OPF_GENERATED = 16, /* has no entry: made from the entry of another operator */
    LZ_OPF_ABSTRACT = 32,  /* has a derivative of its own, not only that of its formula */
    LZ_OPF_FUNCTION = 64,  /* f(x) */
    LZ_OPF_METHOD = 128,   /* x.f() */
    LZ_OPF_INPLACE_VIEW = 256, /* changes sizes or strides of self */
    /* Laws that hold exactly, to the last bit of a result: the field `algebra` of an entry. */
    LZ_OPF_IDEMPOTENT = 512,  /* with one tensor argument: f(f(x)) = f(x); with two: f(x, x) = x */
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
    uint8_t base;   /* length of "add"; after the dot comes the name of the overload */
    uint8_t kind;   /* lz_schema_kind */
    uint16_t flags; /* LZ_OPF_ */
    uint64_t tags;  /* bit LZ_TAG_x of op_table.h */
} lz_op_row;

/* How results and arguments share memory, beyond the annotations of the schema. */
enum {
    LZ_MEMORY_MAY_COPY = 1,   /* annotated as a view; copies where strides or arguments rule out a view */
    LZ_MEMORY_MAY_SHARE = 2,  /* not annotated; a view where the formula calls only views */
    LZ_MEMORY_MAY_RETURN = 4, /* returns the argument itself where there is nothing to do */
    LZ_MEMORY_ROW_MAJOR = 8,  /* a view of a row-major argument, a copy of any other */
    LZ_MEMORY_OVERLAP = 16,   /* the written tensor may have two elements at one address */
    LZ_MEMORY_NO_WRITE = 32,  /* an in-place form that changes no element: saved values stay valid */
    LZ_MEMORY_CAST_OUT = 64,  /* an out form that casts its result; others require the result's dtype */
    LZ_MEMORY_APART = 128,    /* no argument but self may share memory with a written tensor */
    LZ_MEMORY_NO_CAST = 256,  /* an in-place form that requires self to have the result's dtype */
    LZ_MEMORY_FILLS = 512,    /* writes one value, which may be one of the elements; refuses a stride of 0 */
    LZ_MEMORY_ALONE = 1024,   /* an out form: no argument may share memory with a written tensor */
    LZ_MEMORY_RETURN_0D = 2048,  /* returns the argument itself if it has no dimensions */
    LZ_MEMORY_OWN_DTYPE = 4096,  /* computes in the written tensor's dtype, unless the call names a dtype */
    LZ_MEMORY_STATISTICS = 8192, /* writes running statistics in training, which the schema does not mark */
    LZ_MEMORY_INSTANCES = 16384, /* these statistics are means over the instances of a batch */
    LZ_MEMORY_STORAGE = 32768,   /* reads the whole storage of self, not only the elements of the view self */
    LZ_MEMORY_DETACHES = 65536,  /* the result, a view or self, is not part of the tape */
    LZ_MEMORY_COPIES = 131072,   /* an in-place form that does nothing where both arguments are one tensor */
    LZ_MEMORY_ITEMS = 262144,    /* item i of each result comes from item i of each list */
    LZ_MEMORY_RESIZES =
        524288, /* in place: changes sizes, and no element; else: written tensors may get new sizes */
    LZ_MEMORY_ONE_BY_ONE = 1048576 /* views made one by one: each may be written while gradients are on */
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
    uint8_t nargs;                /* number of arguments that the rule reads; 0: all tensors */
    uint8_t args[LZ_LAYOUT_ARGS]; /* their numbers, in the order in which they decide */
    uint8_t mask;                 /* 1 + the argument that selects between others, and is not cast; 0: none */
    uint8_t length;               /* 1 + the argument that gives the length of the returned list; 0: none */
    uint8_t more;                 /* number of tensors in that list beyond this length */
    uint8_t number;               /* 1 + the argument that a graph may pass as a constant tensor; 0: none */
} lz_layout_row;

/* Facts about an operator from a backend's file. */
enum {
    LZ_LAZY_RECORDED = 1,  /* full_codegen: a node is recorded */
    LZ_LAZY_SUPPORTED = 2, /* supported: the backend's author writes the kernel */
    LZ_LAZY_IR_GEN = 4,    /* has a node, but nothing records it by itself */
    LZ_LAZY_AUTOGRAD = 8,  /* has a derivative of its own there */
    LZ_LAZY_SYMINT = 16    /* sizes may be symbolic */
};

/* The functional form of a view, or of an operator that writes. */
typedef struct lz_write_row {
    uint8_t argument; /* the argument that is written */
    uint8_t result;   /* the result of the functional operator that it gets */
} lz_write_row;

typedef struct lz_functional_row lz_functional_row;
struct lz_functional_row {
    uint16_t functional; /* the operator that computes the written values, or copies the view; 0: none */
    uint16_t inverse;    /* of a view: writes a changed view back to its base; 0: another view undoes it */
    uint16_t view;       /* of an operator that makes self a view of itself, as t_: that view, t; 0: none */
    uint16_t inplace;    /* of a functional operator: the one that writes the result into self; 0: none */
    uint16_t copying;    /* of a view that strides may not allow: the operator that copies then; 0: none */
    uint8_t nwrites;
    uint8_t dtype; /* of an operator that writes: 1 + the functional form's argument `dtype`; 0: none */
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
