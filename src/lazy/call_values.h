/* call_values.h - the arguments of a packed call as those of a lowering function. */
#ifndef LZ_LAZY_CALL_VALUES_H
#define LZ_LAZY_CALL_VALUES_H

#include "lazy/pack.h"
#include "lower/lower.h"

/* Operand i is input slot i, run-time number i is scalar slot i. in: specs of the operands, NULL
 * for an absent one. out has room for all arguments of the operator. */
LZ_MUST_USE lz_err *lz_call_low_values(lz_lower *b, const lz_call *c, const lz_spec *const *in,
                                       lz_low_value *out);

#endif
