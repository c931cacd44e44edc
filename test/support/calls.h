/* calls.h - operators for tests of the lazy layer, recorded by number. */
#ifndef LZ_TEST_CALLS_H
#define LZ_TEST_CALLS_H

#include "lazy/record.h"
#include "op/boxed.h"
#include "op/op_table.h"
#include <lazuli/tensor.h>

/* Bound as a boxed call is: arguments behind the n-th take their defaults. */
static inline lz_tensor *call_at(lz_ctx *c, lz_loc at, lz_op op, const lz_value *in, size_t n)
{
    lz_value out[LZ_ARGS_MAX];
    lz_bound b;
    lz_err *e = lz_boxed_bind(&lz_op_table[op], at, in, n, &b);
    if (e) {
        lz_err_free(e);
        return NULL;
    }
    lz_record(c, &lz_op_table[op], at, b.in, out);
    return out[0].kind == LZ_KIND_TENSORS ? out[0].tensors.v[0] : out[0].tensor;
}

#define CALL(c, op, ...)                                                                                     \
    call_at((c), LZ_HERE, LZ_OP_##op, (const lz_value[]){ __VA_ARGS__ },                                     \
            sizeof((const lz_value[]){ __VA_ARGS__ }) / sizeof(lz_value))
#define T(x)   lz_value_tensor(x)
#define I(x)   lz_value_integer(x)
#define F(x)   lz_value_real(x)
#define L(...) lz_value_ints(LZ_INTS(__VA_ARGS__))

static inline int64_t counted(const char *name)
{
    int64_t v = 0;
    return lz_counter_value(name, &v) ? v : 0;
}

/* Graphs compiled so far in this process. */
static inline int64_t compiles(void)
{
    return counted("UncachedCompile");
}

#endif
