/* A call that repeats what followed the last one is compared with it, not packed: whatever argument differs,
 * the node is the one that packing gives. */
#include "lazy/record_impl.h"
#include "lazy_calls.h"
#include <math.h>

enum { MOST_ARGS = 4 };

typedef struct variant {
    lz_value in[MOST_ARGS];
    size_t n;
} variant;

#define V(...)                                                                                               \
    {                                                                                                        \
        { __VA_ARGS__ }, sizeof((lz_value[]){ __VA_ARGS__ }) / sizeof(lz_value)                              \
    }

static lz_tensor *record(lz_ctx *c, lz_op op, const variant *v)
{
    lz_infer_restart(c->infer);
    return call(c, op, v->in, v->n);
}

static bool has_form(const lz_node *n, const lz_node_form *f)
{
    return n->op == f->op && n->nargs == f->nslots && n->nin == f->nin && n->nfixed == f->nfixed
           && n->nnumbers == f->nnumbers && n->nout == f->nout && n->specs[0] == f->specs[0]
           && memcmp(n->args, f->slots, f->nslots * sizeof *f->slots) == 0
           && (f->nfixed == 0 || memcmp(n->fixed, f->fixed, f->nfixed * sizeof *f->fixed) == 0);
}

static bool has_values(const lz_node *n, const lz_call *call)
{
    bool same = true;
    for (uint32_t i = 0; same && i < n->nin; i++) {
        lz_output o = { NULL, 0 };
        lz_err_free(lz_tensor_value(call->tensors.data[i], &o));
        same = n->in[i].node == o.node && n->in[i].index == o.index;
    }
    for (uint32_t i = 0; same && i < n->nnumbers; i++) {
        const lz_scalar *x = &lz_node_scalars(n)[i], *y = &call->numbers[i];
        same = x->kind == y->kind && x->i == y->i && x->re == y->re;
    }
    return same;
}

/* Records the call, then packs it: the next call of the operator is compared with this one. */
static void check_one(lz_ctx *c, lz_op op, const variant *v)
{
    const lz_inferred *x = NULL;
    const lz_tensor *t = record(c, op, v);
    lz_bound bound;
    bool ok = true;
    if (lz_failed(c))
        return;
    lz_infer_restart(c->infer);
    lz_err *e = lz_boxed_bind(&lz_op_table[op], LZ_HERE, v->in, v->n, &bound);
    if (!e)
        e = lz_record_pack(c, &lz_op_table[op], bound.in, &ok);
    if (!e)
        e = lz_record_infer(c, bound.in, &x);
    if (e) {
        lz_ctx_fail(c, LZ_HERE, lz_err_wrap(e, "aten::%s", lz_op_table[op].name));
        return;
    }
    const lz_node *n = t->storage->value.node;
    if (!has_form(n, &x->form) || !has_values(n, &c->call))
        fail_msg("%s: a call was taken for another", lz_op_table[op].name);
}

/* Each of two calls behind itself, and behind the other. */
static void check_two(lz_ctx *c, lz_op op, const variant *x, const variant *y)
{
    check_one(c, op, y);
    check_one(c, op, x);
    int64_t before = (int64_t)c->counts[LZ_COUNT_REUSED + op];
    check_one(c, op, x);
    if (!lz_failed(c))
        assert_int_equal(c->counts[LZ_COUNT_REUSED + op], before + 1);
    check_one(c, op, y);
}

static void check(lz_ctx *c, lz_op op, const variant *v, size_t n)
{
    for (size_t i = 0; i < n && !lz_failed(c); i++)
        for (size_t k = 0; k < n && !lz_failed(c); k++)
            if (i != k)
                check_two(c, op, &v[i], &v[k]);
}

#define CHECK(c, op, ...)                                                                                    \
    check(c, LZ_OP_##op, (const variant[]){ __VA_ARGS__ },                                                   \
          sizeof((const variant[]){ __VA_ARGS__ }) / sizeof(variant))

static const float data[] = { 0, 1, 2, 3, 4, 5 };

static lz_err *test_fixed_arguments(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), data);
    lz_value none = lz_value_none(), yes = lz_value_truth(true), no = lz_value_truth(false);
    CHECK(c, sum_dim_IntList, V(T(x), L(0), no), V(T(x), L(1), no), V(T(x), L(0, 1), no), V(T(x), L(0), yes),
          V(T(x), L(0), no, lz_value_dtype(LZ_F64)), V(T(x), lz_value_ints((lz_ints){ NULL, -1 }), no));
    CHECK(c, argmax, V(T(x), none), V(T(x), I(0)), V(T(x), I(1)));
    CHECK(c, gelu, V(T(x), lz_value_str("none")), V(T(x), lz_value_str("tanh")));
    CHECK(c, nan_to_num, V(T(x), none), V(T(x), lz_value_real(0)), V(T(x), lz_value_real(-0.0)),
          V(T(x), lz_value_real((double)NAN)));
    return finish(c);
}

static lz_err *test_numbers(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    static const int64_t whole[] = { 1, 2, 3 };
    lz_tensor *x = lz_from_memory(c, LZ_I64, LZ_DIMS(3), whole);
    lz_value one = lz_value_scalar(lz_scalar_int(1)), none = lz_value_none();
    CHECK(c, add_Scalar, V(T(x), one), V(T(x), S(1.0)), V(T(x), lz_value_scalar(lz_scalar_int(2))));
    lz_tensor *f = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), data);
    CHECK(c, add_Tensor, V(T(f), T(f), one), V(T(f), T(f), S(1.0)), V(T(f), T(f), S(0.5)));
    CHECK(c, clamp, V(T(x), one, none), V(T(x), none, one), V(T(x), one, one));
    return finish(c);
}

static lz_err *test_operands(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), data), *t = CALL(c, t, T(x));
    lz_tensor *y = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), data), *z = CALL(c, t, T(t));
    lz_tensor *row = CALL(c, select_int, T(x), I(0), I(1)), *other = CALL(c, select_int, T(y), I(0), I(1));
    CHECK(c, relu, V(T(x)), V(T(t)), V(T(y)), V(T(row)), V(T(other)));
    CHECK(c, mul_Tensor, V(T(x), T(y)), V(T(y), T(x)), V(T(x), T(row)), V(T(z), T(z)));
    lz_tensor *two[] = { x, y }, *swapped[] = { y, x }, *three[] = { x, y, x };
    CHECK(c, cat, V(lz_value_tensors((lz_tensors){ two, 2 }), I(0)),
          V(lz_value_tensors((lz_tensors){ two, 2 }), I(1)),
          V(lz_value_tensors((lz_tensors){ swapped, 2 }), I(0)),
          V(lz_value_tensors((lz_tensors){ three, 3 }), I(0)));
    return finish(c);
}

/* A view whose storage was written has another value than when the call was recorded. */
static lz_err *test_written_views(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = CALL(c, relu, T(lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), data)));
    lz_tensor *row = CALL(c, select_int, T(x), I(0), I(1));
    const variant of_row = V(T(row));
    lz_tensor *before = record(c, LZ_OP_neg, &of_row);
    CALL(c, add__Scalar, T(x), S(10));
    lz_tensor *after = record(c, LZ_OP_neg, &of_row);
    float got[3] = { 0 }, then[3] = { 0 };
    if (!lz_failed(c) && lz_read(after, got, sizeof got) && lz_read(before, then, sizeof then))
        for (int i = 0; i < 3; i++) {
            assert_true(then[i] == -data[3 + i]);
            assert_true(got[i] == -data[3 + i] - 10);
        }
    return finish(c);
}

/* What cannot be repeated: inert operands, and operators that become others by their arguments. */
static lz_err *test_inert_operands(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), data);
    const variant good = V(T(x), T(x)), bad = V(T(x), T(c->inert));
    record(c, LZ_OP_add_Tensor, &good);
    record(c, LZ_OP_add_Tensor, &good);
    if (!lz_failed(c))
        assert_true(lz_tensor_is_inert(record(c, LZ_OP_add_Tensor, &bad)));
    return finish(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_fixed_arguments), LZ_TEST(test_numbers),
                                        LZ_TEST(test_operands), LZ_TEST(test_written_views),
                                        LZ_TEST(test_inert_operands) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
