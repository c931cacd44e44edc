/* conform_args.h - generates arguments of an operator from its schema. */
#ifndef LZ_HARNESS_CONFORM_ARGS_H
#define LZ_HARNESS_CONFORM_ARGS_H

#include "harness/conform.h"

enum { LZ_CONFORM_INTS = 8 };

/* Dtype, sizes and elements of the tensors. */
typedef struct lz_conform_variant {
    lz_dtype dtype;
    int64_t n, sizes[4];
    lz_flavour flavour;
} lz_conform_variant;

/* Replaces the default of one argument: choice `which` for argument `arg`. arg -1: all defaults. */
typedef struct lz_choice {
    int arg;
    size_t which;
} lz_choice;

/* Arguments of one call in one context, and memory for its results. */
typedef struct lz_made_args {
    lz_value in[LZ_ARGS_MAX], out[LZ_ARGS_MAX];
    lz_tensor *lists[LZ_ARGS_MAX][2];
    int64_t ints[LZ_ARGS_MAX][LZ_CONFORM_INTS];
} lz_made_args;

/* The number of choices for an argument, besides the usual one. */
size_t lz_conform_choices(const lz_arg_row *arg);

/* Records the call; *ok is false if its arguments cannot be generated, or if the context refuses the call. */
LZ_MUST_USE lz_err *lz_conform_made_call(lz_ctx *c, const lz_op_row *op, const lz_conform_variant *v,
                                         lz_choice choice, lz_made_args *m, bool *ok);

#endif
