/* json_call.h - calls of operators whose arguments are written as JSON.
 *
 * An argument is null (absent, or its default) or an object with one key, which says what it is:
 *
 *     {"T": 3}  {"TL": [0, null]}                        tensors, by number
 *     {"i": 2}  {"f": 0.5}  {"b": true}  {"s": "sum"}    numbers and texts; "nan", "inf", "-inf" are numbers
 * too
 *     {"l": [{"i": 2}, {"i": 3}]}                        a list of numbers
 *     {"dt": "f32"}  {"mf": "channels_last"}  {"dev": 0}  {"lay": 0}
 *
 * The recorded operator cases of test/data are written like this. */
#ifndef LZ_TEST_JSON_CALL_H
#define LZ_TEST_JSON_CALL_H

#include "base/arena.h"
#include "base/json.h"
#include <lazuli/schema.h>
#include <lazuli/tensor.h>

/* The results of a call, in order; those of a list of tensors one by one. */
typedef struct lz_json_results {
    lz_value *v; /* the arena's */
    size_t n;
} lz_json_results;

/* NULL if v is no tensor. */
lz_tensor *lz_json_tensor(lz_value v);

double lz_json_number(const lz_json *v);
LZ_MUST_USE lz_err *lz_json_ints(lz_arena *a, const lz_json *v, lz_ints *out);
LZ_MUST_USE lz_err *lz_json_value(lz_arena *a, lz_tensor *const *tensors, lz_kind kind, const lz_json *v,
                                  lz_value *out);

/* lz_call with arguments in JSON. A refusal is left in c; *out is empty then. */
LZ_MUST_USE lz_err *lz_json_call(lz_ctx *c, lz_arena *a, const lz_op_row *op, lz_tensor *const *tensors,
                                 const lz_json *args, lz_json_results *out);

#endif
