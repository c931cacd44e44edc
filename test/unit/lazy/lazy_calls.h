/* lazy_calls.h - operators by number, for tests that record without the generated functions. */
#ifndef LZ_TEST_LAZY_CALLS_H
#define LZ_TEST_LAZY_CALLS_H

#include "check.h"
#include "core/strides.h"
#include "lazy/lazy_tensor.h"
#include "lazy/record.h"
#include "op/boxed.h"

#define CALL(c, op, ...)                                                                                     \
    call(c, LZ_OP_##op, (lz_value[]){ __VA_ARGS__ }, sizeof((lz_value[]){ __VA_ARGS__ }) / sizeof(lz_value))
#define T(x)   lz_value_tensor(x)
#define I(x)   lz_value_integer(x)
#define S(x)   lz_value_scalar(LZ_S(x))
#define L(...) lz_value_ints(LZ_INTS(__VA_ARGS__))

/* Arguments are bound as a user's are; results go to out. */
static inline void call_all(lz_ctx *c, lz_op op, const lz_value *in, size_t n, lz_value *out)
{
    lz_bound bound;
    lz_err *e = lz_boxed_bind(&lz_op_table[op], LZ_HERE, in, n, &bound);
    out[0] = lz_value_tensor(c->inert);
    if (e)
        lz_ctx_fail(c, LZ_HERE, lz_err_wrap(e, "aten::%s", lz_op_table[op].name));
    else
        lz_record(c, &lz_op_table[op], LZ_HERE, bound.in, out);
}

/* The first result. */
static inline lz_tensor *call(lz_ctx *c, lz_op op, const lz_value *in, size_t n)
{
    lz_value out[LZ_ARGS_MAX];
    call_all(c, op, in, n, out);
    return out[0].tensor;
}

/* Reads the tensor and compares its elements. False: the context has an error. */
static inline bool expect_floats(lz_tensor *t, const float *want, size_t n)
{
    float got[64] = { 0 };
    if (lz_failed(t->ctx) || !lz_read(t, got, sizeof got))
        return false;
    assert_int_equal(lz_tensor_numel(t), n);
    for (size_t i = 0; i < n; i++)
        assert_true(got[i] == want[i]);
    return true;
}

#define EXPECT(t, ...)                                                                                       \
    expect_floats(t, (const float[]){ __VA_ARGS__ }, sizeof((const float[]){ __VA_ARGS__ }) / sizeof(float))

/* Closes the context; its error is to be returned, and may only be one of memory. */
static inline lz_err *finish(lz_ctx *c)
{
    lz_err *e = NULL;
    if (!c)
        return lz_err_oom();
    if (lz_failed(c)) {
        if (!lz_check_failing())
            fail_msg("%s", lz_message(c));
        e = lz_errf(lz_code_of(c), "%s", lz_message(c));
    }
    lz_close(c);
    return e;
}

#endif
