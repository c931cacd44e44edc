/* schema.h - operators as data: what op_table.h, dispatch_table.h and boxed_table.h,
 * which are generated from the operator files, are made of.
 *
 * Rows are constant and refer to each other; whoever knows an operator's number knows
 * everything about it without asking its name again. */
#ifndef LAZULI_SCHEMA_H
#define LAZULI_SCHEMA_H

#include <lazuli/value.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LZ_TYPE_OPTIONAL = 1,  /* T?: LZ_KIND_NONE is a value of it */
    LZ_TYPE_NULLABLE = 2,  /* Tensor?[]: elements may be NULL */
    LZ_TYPE_SYMBOLIC = 4,  /* SymInt, SymBool and lists of them */
    LZ_ARGS_MAX = 64,      /* arguments, or returns, of one operator */
    LZ_LIST_MAX = 64,      /* elements of a list whose size the schema tells */
    LZ_NO_ARGUMENT = 0xff, /* a return that is no argument */
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
    const char *default_text;      /* as in the schema; NULL: it must be given */
    const lz_value *default_value; /* NULL where the text is; lists: v is constant */
    const char *annotation;        /* "a! -> a|b"; NULL: none */
    uint32_t alias;                /* the set it belongs to when the call begins */
    uint8_t section;               /* lz_section */
    bool write;                    /* the call changes it */
    bool fixed;                    /* its value decides over structure, so it is part of the graph */
} lz_arg_row;

typedef struct lz_return_row {
    const char *name; /* NULL: none */
    const lz_type_row *type;
    const char *annotation;
    uint32_t alias;
    uint8_t argument; /* the one that comes back or is looked at; LZ_NO_ARGUMENT */
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
    LZ_OPF_VIEW = 1,          /* a result looks at an argument's memory */
    LZ_OPF_MUTABLE = 2,       /* some argument is written */
    LZ_OPF_SYMINT = 4,        /* has symbolic arguments */
    LZ_OPF_STRUCTURED = 8,    /* has shape function and kernel apart, or delegates to one that has */
    LZ_OPF_GENERATED = 16,    /* stands in no file: derived from another operator */
    LZ_OPF_ABSTRACT = 32,     /* needs a derivative formula of its own to be differentiable */
    LZ_OPF_FUNCTION = 64,     /* f(x) */
    LZ_OPF_METHOD = 128,      /* x.f() */
    LZ_OPF_INPLACE_VIEW = 256 /* changes sizes or strides of self */
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

/* What results and arguments have to do with each other's memory, beyond the marks of the schema. */
enum {
    LZ_MEMORY_MAY_COPY = 1,     /* marked as a view: a copy where no view can be had, or is asked for */
    LZ_MEMORY_MAY_SHARE = 2,    /* not marked: a view of an argument where the formula only looks at one */
    LZ_MEMORY_MAY_RETURN = 4,   /* the argument itself where there is nothing to do */
    LZ_MEMORY_ROW_MAJOR = 8,    /* a view only of an argument that is row-major, else a copy */
    LZ_MEMORY_OVERLAP = 16,     /* may write to a tensor that has elements in common with itself */
    LZ_MEMORY_NO_WRITE = 32,    /* an in-place form that changes no element: saved values stay good */
    LZ_MEMORY_CAST_OUT = 64,    /* an out form that casts its result; the others want the result's dtype */
    LZ_MEMORY_APART = 128,      /* no argument but self may share an element with what is written */
    LZ_MEMORY_NO_CAST = 256,    /* an in-place form that wants self to have the result's dtype */
    LZ_MEMORY_FILLS = 512,      /* one value for all elements, which may be one of them; no stride of 0 */
    LZ_MEMORY_ALONE = 1024,     /* an out form: nothing else may share an element with what is written */
    LZ_MEMORY_RETURN_0D = 2048, /* the argument itself if it has no dimensions */
    LZ_MEMORY_OWN_DTYPE = 4096, /* computes in the dtype of what it writes, unless the call names one */
    LZ_MEMORY_STATISTICS = 8192 /* writes running_mean and running_var in training, which nothing marks */
};

/* How strides of results are found (lazy/layout.h); views first. The names are those of the field
 * `strides` of an entry. */
/* clang-format off */
#define LZ_STRIDE_RULES(X)                                                                                   \
    X(same) X(parts) X(slice) X(narrow) X(expand) X(select) X(unsqueeze) X(squeeze) X(squeeze_dim)           \
    X(squeeze_dims) X(unfold) X(diagonal) X(transpose) X(swap_last) X(reverse) X(permute) X(movedim)         \
    X(movedims) X(view) X(flatten) X(contiguous) X(operands) X(operands_and_number) X(like) X(order)         \
    X(format) X(common_format) X(any_format) X(index) X(rot90) X(transposed) X(first_inner)                   \
    X(pad) X(dim_outer) X(row_major)
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
    uint16_t memory;              /* LZ_MEMORY_ */
    uint8_t strides;              /* lz_stride_rule; NONE: row-major */
    uint8_t nargs;                /* that the rule looks at; 0: all tensors */
    uint8_t args[LZ_LAYOUT_ARGS]; /* their numbers, in the order in which they decide */
} lz_layout_row;

/* The operators that do the same in another way; 0: there is none. */
typedef struct lz_kin_row {
    uint16_t functional, inplace, mutable_, out;
    uint16_t view, view_copy, view_inplace;
} lz_kin_row;

/* What a backend's file says of an operator. */
enum {
    LZ_LAZY_RECORDED = 1,  /* full_codegen: a node is recorded */
    LZ_LAZY_SUPPORTED = 2, /* by hand */
    LZ_LAZY_IR_GEN = 4,    /* has a node, but nothing records it by itself */
    LZ_LAZY_AUTOGRAD = 8,  /* has a derivative of its own there */
    LZ_LAZY_SYMINT = 16    /* sizes may be symbolic */
};

/* What a view or an operator that writes is without memory. */
typedef struct lz_write_row {
    uint8_t argument; /* gets */
    uint8_t result;   /* this result of the functional operator */
} lz_write_row;

typedef struct lz_functional_row {
    uint16_t functional; /* the operator that computes what is written, or copies the view; 0: none */
    uint16_t inverse;    /* of a view: puts a changed view back into its base; 0: the view is turned round */
    uint8_t nwrites;
    const lz_write_row *writes; /* in the order of the arguments */
} lz_functional_row;

enum {
    LZ_KERNEL_STRUCTURED = 1,
    LZ_KERNEL_SYMINT = 2, /* takes symbolic sizes as they are */
};

typedef struct lz_kernel_row {
    const char *name, *ns; /* "mul_sparse", "at::native" */
    uint16_t key;          /* LZ_KEY_x of dispatch_table.h */
    uint8_t flags;
} lz_kernel_row;

/* How an operator that has no kernel for some key can be had from others, in the order
 * in which to try: bit i stands for entry i of lz_composite_order. */
typedef struct lz_dispatch_row {
    const lz_kernel_row *kernels; /* in the order of the file */
    uint16_t delegate;            /* the structured operator whose kernels serve this one; 0: none */
    uint8_t nkernels;
    uint8_t composite;
    bool device_check; /* all tensors must be on one device */
    bool device_guard;
} lz_dispatch_row;

#ifdef __cplusplus
}
#endif
#endif
