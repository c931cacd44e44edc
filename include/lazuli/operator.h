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

typedef enum lz_support {
    LZ_SUPPORT_NOT,       /* it is known, and cannot run yet */
    LZ_SUPPORT_PRIMITIVE, /* written by hand, or by what happens to one element */
    LZ_SUPPORT_FORMULA,   /* made of other operators */
    LZ_SUPPORT_DERIVED,   /* another operator's in-place, out or copying form */
    LZ_SUPPORT_COUNT
} lz_support;

LZ_API const char *lz_support_name(lz_support s); /* "not yet", "primitive", ...; NULL: none such */

/* from (may be NULL): the operator that a derived one is made from, otherwise NULL. */
LZ_API lz_support lz_operator_support(const lz_op_row *op, const lz_op_row **from);

#ifdef __cplusplus
}
#endif
#endif
