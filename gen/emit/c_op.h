/* c_op.h - an operator as a C function.
 *
 *     R lz_IDENT_at(lz_ctx *c, lz_loc at, POSITIONAL..., const lz_IDENT_args *args)
 *
 * Arguments without a default are positional, in the order of the schema; those with
 * one are members of lz_IDENT_args. Several results are an lz_IDENT_result. Equal
 * structs are one type under several names, so that functions of equal parameters have
 * equal types. */
#ifndef LZG_C_OP_H
#define LZG_C_OP_H

#include "gen/emit/c_default.h"

typedef struct lzg_c_param {
    const lzg_argument *arg;
    lz_str name;
    lzg_c_type type;
    bool keyword;
    bool fixed;          /* static: its value decides over structure */
    lzg_c_default deflt; /* of keywords */
} lzg_c_param;

typedef struct lzg_c_return {
    lz_str name;
    lzg_c_type type;
} lzg_c_return;

/* The declarations besides lz_IDENT, with the ends of their names: "_at", "_args", ..., plus an
 * underscore if an operator has that name. */
typedef enum lzg_c_part {
    LZG_PART_AT,
    LZG_PART_ARGS,
    LZG_PART_DEFAULTS,
    LZG_PART_RESULT,
    LZG_PART_COUNT
} lzg_c_part;

typedef struct lzg_c_op lzg_c_op;
struct lzg_c_op {
    const lzg_function *f;
    uint32_t id;  /* from 1 */
    lz_str ident; /* "add_Tensor" */
    lz_str part[LZG_PART_COUNT];
    const lzg_c_param *params;
    size_t nparams, npositional; /* params: all, in the order of the schema */
    const lzg_c_return *returns;
    size_t nreturns;
    const lzg_c_op
        *args_like; /* the first with an equal struct of keywords, maybe itself; NULL: no keywords */
    const lzg_c_op *result_like; /* as above, for the struct of several results */
    const lzg_c_op *call_like;   /* the first with the same type of function and order of arguments */
};

typedef struct lzg_c_ops {
    lz_arena arena;
    const lzg_ops *ops;
    const struct lzg_definitions *definitions;
    lzg_c_op *all; /* one for each function of ops, in its order */
    size_t n;
    size_t nleft;       /* operators that a selection leaves out: behind the n others, with number 0 */
    lz_map by_ident;    /* ident -> lzg_c_op * */
    lz_map by_function; /* bytes of a const lzg_function * -> lzg_c_op * */
    lz_map names;       /* of arguments -> their C names, lz_str * */
    lz_map reserved;    /* names after lz_ that headers declare */
} lzg_c_ops;

/* The definitions say which arguments are static; NULL or empty: none is. Mistakes go into d: types,
 * defaults and names that have no form in C, and operators whose names clash with others or with a name
 * in one of the headers (a NULL-terminated list of paths, or NULL). Call deinit in any case. Returns
 * memory and I/O errors. */
LZ_MUST_USE
lz_err *lzg_c_ops_init(lzg_c_ops *c, const lzg_ops *ops, const struct lzg_definitions *definitions,
                       const char *const *headers, lzg_diag *d);
void lzg_c_ops_deinit(lzg_c_ops *c);
/* Leaves out the operators for which kept, by index, is false: they are not found, and the others are
 * numbered anew. Names stay as they are. At most once. */
LZ_MUST_USE lz_err *lzg_c_ops_keep(lzg_c_ops *c, const bool *kept);

/* "add_Tensor_args" */
void lzg_put_c_name(lz_text *out, const lzg_c_op *op, lzg_c_part part);

const lzg_c_op *lzg_c_ops_find(const lzg_c_ops *c, const lzg_function *f); /* f may be NULL: NULL */

/* The text before the function's name: "lz_tensor *", "void ", "lz_max_dim_result ". */
void lzg_put_c_result(lz_text *out, const lzg_c_op *op);

/* The head of the function, from the result to `end`, with `before` in front. */
void lzg_put_c_head(lz_text *out, const lzg_c_op *op, const char *before, lz_str end);

#endif
