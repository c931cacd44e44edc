/* pack.h - the arguments of a call, sorted into tensors, run-time numbers and fixed values.
 *
 * Fixed values are written as 64-bit words: the same values always give the same words, so
 * that calls can be compared and hashed as memory. A number is a run-time one if its type is
 * Scalar and the schema does not call it fixed. */
#ifndef LZ_LAZY_PACK_H
#define LZ_LAZY_PACK_H

#include "base/vec.h"
#include "core/value_kind.h"
#include "lazy/node.h"

typedef struct lz_call {
    const lz_op_row *op;
    const lz_value *args; /* borrowed while the call is recorded */
    uint32_t nslots, nnumbers;
    lz_slot slots[LZ_ARGS_MAX + 1];
    lz_scalar numbers[LZ_ARGS_MAX + 2];
    LZ_VEC(lz_tensor *) tensors; /* operands in order; in a list NULL is an absent one */
    lz_words words;              /* fixed values */
} lz_call;

void lz_call_init(lz_call *c);
void lz_call_deinit(lz_call *c);

/* An error if a list has n > 0 but v NULL. For code that reads arguments before they are packed; packing
 * checks the lists, too. */
LZ_MUST_USE lz_err *lz_call_check_lists(const lz_op_row *op, const lz_value *args);
/* statics: all numbers are fixed. Handles stay borrowed. */
LZ_MUST_USE lz_err *lz_call_pack(lz_call *c, const lz_op_row *op, const lz_value *args, bool statics);
/* Whether packing v as argument `a` would give slot s of a call with these fixed words. Only for slots of
 * fixed values. May return false for equal values that are rare or costly to compare. */
bool lz_pack_repeats(const lz_slot *s, const uint64_t *fixed, const lz_arg_row *a, const lz_value *v);
/* The generator that the call names; NULL: none. */
lz_generator *lz_call_generator(const lz_call *c);
/* Appends the two numbers of a random operator. */
void lz_call_add_random(lz_call *c, uint64_t seed, uint64_t position);

/* The value that begins at a word; lists and texts are borrowed from the words. */
lz_value lz_unpack(const uint64_t *words, uint32_t first);

#endif
