/* operator.h - the operators of the library, and what can be done with each. */
#ifndef LAZULI_OPERATOR_H
#define LAZULI_OPERATOR_H

#include <lazuli/schema.h>

#ifdef __cplusplus
extern "C" {
#endif

LZ_API size_t lz_operator_count(void);
LZ_API const lz_op_row *lz_operator_at(size_t i);           /* NULL: there is no such i */
LZ_API const lz_op_row *lz_operator_find(const char *name); /* "add.Tensor"; NULL: none */

/* The family ("sparse tensors") of a PyTorch operator that Lazuli leaves out; NULL: any other name. */
LZ_API const char *lz_operator_left_out(const char *name);

typedef enum lz_support {
    LZ_SUPPORT_NOT,       /* has a schema, but cannot run yet */
    LZ_SUPPORT_PRIMITIVE, /* lowered by C code, or defined as a function of one element */
    LZ_SUPPORT_FORMULA,   /* defined by a formula that calls other operators */
    LZ_SUPPORT_DERIVED,   /* the in-place, out or copying form of another operator */
    LZ_SUPPORT_COUNT
} lz_support;

LZ_API const char *lz_support_name(lz_support s); /* "not yet", "primitive", ...; NULL: unknown */

/* *from (`from` may be NULL): for LZ_SUPPORT_DERIVED the operator that this one is a form of, otherwise
 * NULL. */
LZ_API lz_support lz_operator_support(const lz_op_row *op, const lz_op_row **from);

/* Calls an operator by its name, "add.Tensor" or "aten::add.Tensor", exactly as its C function does.
 * Arguments are in the order of the schema. Arguments after the n-th have their defaults, and so has an
 * argument whose value is of kind none although its type does not allow none. A value that can be converted
 * in one way only is converted: an integer to a float, a number to a Scalar, one number to a list of known
 * size. Results belong to the current scope. Returns the number of results. A call that fails leaves its
 * error in the context (tensor.h) and returns 0, or gives inert tensors where the operator itself failed.
 * `room` is the length of `out`, at least the number of the operator's results. */
LZ_API size_t lz_call_at(lz_ctx *c, lz_loc at, const char *name, const lz_value *in, size_t n, lz_value *out,
                         size_t room);

#ifdef __cplusplus
}
#else

/* The first result of a call: lz_call(c, "add.Tensor", LZ_V(a), LZ_V(b)).tensor; of kind none after an
 * error. */
#define lz_call(c, name, ...)                                                                                \
    lz_call_first((c), LZ_HERE, (name), (const lz_value[]){ __VA_ARGS__ },                                   \
                  sizeof((const lz_value[]){ __VA_ARGS__ }) / sizeof(lz_value))
LZ_API lz_value lz_call_first(lz_ctx *c, lz_loc at, const char *name, const lz_value *in, size_t n);

#endif
#endif
