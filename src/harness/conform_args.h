/* conform_args.h - arguments of an operator, made up from its schema. */
#ifndef LZ_HARNESS_CONFORM_ARGS_H
#define LZ_HARNESS_CONFORM_ARGS_H

#include "harness/conform.h"

enum { LZ_CONFORM_INTS = 8 };

/* What tensors look like. */
typedef struct lz_variant {
    lz_dtype dtype;
    int64_t n, sizes[4];
    lz_flavour flavour;
} lz_variant;

/* One argument that is not as usual: choice `which` for argument `arg`. arg -1: all are as usual. */
typedef struct lz_choice {
    int arg;
    size_t which;
} lz_choice;

/* Arguments of one call, in one context, and room for its results. */
typedef struct lz_made_args {
    lz_value in[LZ_ARGS_MAX], out[LZ_ARGS_MAX];
    lz_tensor *lists[LZ_ARGS_MAX][2];
    int64_t ints[LZ_ARGS_MAX][LZ_CONFORM_INTS];
} lz_made_args;

/* How many choices there are for an argument, besides the usual. */
size_t lz_conform_choices(const lz_arg_row *arg);

/* Records the call; *ok is false if nobody can make up its arguments, or if the context refuses it. */
LZ_MUST_USE lz_err *lz_conform_made_call(lz_ctx *c, const lz_op_row *op, const lz_variant *v,
                                         lz_choice choice, lz_made_args *m, bool *ok);

#endif
