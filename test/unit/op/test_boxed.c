#include "check.h"
#include "op/boxed.h"

static const lz_type_row t_tensor = { "Tensor", LZ_KIND_TENSOR, 0, -1 };
static const lz_type_row t_tensors = { "Tensor[]", LZ_KIND_TENSORS, 0, -1 };
static const lz_type_row t_nullable = { "Tensor?[]", LZ_KIND_TENSORS, LZ_TYPE_NULLABLE, -1 };
static const lz_type_row t_float = { "float", LZ_KIND_FLOAT, 0, -1 };
static const lz_type_row t_int_opt = { "int?", LZ_KIND_INT, LZ_TYPE_OPTIONAL, -1 };
static const lz_type_row t_dtype_opt = { "ScalarType?", LZ_KIND_DTYPE, LZ_TYPE_OPTIONAL, -1 };
static const lz_type_row t_scalars = { "Scalar[3]", LZ_KIND_SCALARS, 0, 3 };
static const lz_type_row t_bools = { "bool[60]", LZ_KIND_BOOLS, 0, 60 };
static const lz_value half = { .kind = LZ_KIND_FLOAT, .real = 0.5 };
static const lz_value none = { .kind = LZ_KIND_NONE };

static const lz_arg_row args[] = {
    { .name = "self", .type = &t_tensor },
    { .name = "x", .type = &t_float, .default_text = "0.5", .default_value = &half },
    { .name = "n", .type = &t_int_opt, .default_text = "None", .default_value = &none },
    { .name = "d", .type = &t_dtype_opt, .default_text = "None", .default_value = &none },
};
static const lz_op_row op = { .name = "f.x", .args = args, .nargs = 4 };
static const lz_loc here = { "user.c", 7, 0 };
static int thing;
#define TENSOR ((lz_tensor *)(void *)&thing)

static lz_err *test_defaults(void)
{
    lz_value in[4] = { lz_value_tensor(TENSOR), lz_value_none() };
    lz_bound b;
    LZ_TRY(lz_boxed_bind(&op, here, in, 1, &b));
    assert_ptr_equal(b.in[0].tensor, TENSOR);
    assert_true(b.in[1].real == 0.5 && b.in[2].kind == LZ_KIND_NONE);
    assert_true(b.in[3].kind == LZ_KIND_DTYPE && b.in[3].dtype == LZ_DTYPE_NONE);
    LZ_TRY(lz_boxed_bind(&op, here, in, 2, &b)); /* none is no float, so it is the default */
    assert_true(b.in[1].real == 0.5);
    return NULL;
}

/* Every value that is taken for another keeps its meaning. */
static lz_err *test_conversions(void)
{
    lz_value in[4] = { lz_value_tensor(TENSOR), lz_value_integer(3), lz_value_scalar(lz_scalar_int(4)),
                       lz_value_dtype(LZ_F32) };
    lz_bound b;
    LZ_TRY(lz_boxed_bind(&op, here, in, 4, &b));
    assert_true(b.in[1].kind == LZ_KIND_FLOAT && b.in[1].real == 3);
    assert_true(b.in[2].kind == LZ_KIND_INT && b.in[2].integer == 4 && b.in[3].dtype == LZ_F32);
    in[1] = lz_value_scalar(lz_scalar_float(2.5));
    LZ_TRY(lz_boxed_bind(&op, here, in, 4, &b));
    assert_true(b.in[1].real == 2.5);
    in[2] = lz_value_scalar(lz_scalar_float(4));
    LZ_TRY(lz_check_err(lz_boxed_bind(&op, here, in, 4, &b), LZ_ERR_ARG,
                        "f.x: argument 'n': expected int?, found Scalar"));
    in[2] = lz_value_truth(true);
    return lz_check_err(lz_boxed_bind(&op, here, in, 4, &b), LZ_ERR_ARG,
                        "f.x: argument 'n': expected int?, found bool");
}

static lz_err *test_refusals(void)
{
    lz_value in[5] = { lz_value_tensor(TENSOR), lz_value_str("1"), lz_value_none(), lz_value_none(),
                       lz_value_none() };
    lz_bound b;
    lz_err *e = lz_boxed_bind(&op, here, in, 2, &b);
    assert_true(lz_err_loc(e).line == 7 || lz_err_code(e) == LZ_ERR_MEMORY);
    LZ_TRY(lz_check_err(e, LZ_ERR_ARG, "f.x: argument 'x': expected float, found str"));
    LZ_TRY(lz_check_err(lz_boxed_bind(&op, here, in, 5, &b), LZ_ERR_ARG,
                        "f.x: expected at most 4 arguments, found 5"));
    LZ_TRY(lz_check_err(lz_boxed_bind(&op, here, in, 0, &b), LZ_ERR_ARG,
                        "f.x: argument 'self' of type Tensor is missing"));
    in[0] = lz_value_tensor(NULL);
    LZ_TRY(lz_check_err(lz_boxed_bind(&op, here, in, 1, &b), LZ_ERR_ARG, "'self' of type Tensor is NULL"));
    in[0].kind = (lz_kind)99;
    return lz_check_err(lz_boxed_bind(&op, here, in, 1, &b), LZ_ERR_ARG,
                        "expected Tensor, found an unknown kind of value");
}

static lz_err *bind_one(const lz_type_row *type, lz_value v, lz_bound *out)
{
    const lz_arg_row arg = { .name = "l", .type = type };
    const lz_op_row one = { .name = "g", .args = &arg, .nargs = 1 };
    return lz_boxed_bind(&one, here, &v, 1, out);
}

static lz_err *test_lists(void)
{
    lz_tensor *const with[] = { TENSOR, NULL };
    const lz_tensors list = { with, 2 };
    lz_bound b;
    LZ_TRY(bind_one(&t_scalars, lz_value_integer(2), &b));
    assert_int_equal(b.in[0].scalars.n, 3);
    for (int i = 0; i < 3; i++)
        assert_true(b.in[0].scalars.v[i].kind == LZ_SCALAR_INT && b.in[0].scalars.v[i].i == 2);
    LZ_TRY(bind_one(&t_bools, lz_value_truth(true), &b));
    for (int i = 0; i < 60; i++)
        assert_true(b.in[0].bools.v[i]);
    LZ_TRY(bind_one(&t_nullable, lz_value_tensors(list), &b));
    LZ_TRY(lz_check_err(bind_one(&t_tensors, lz_value_tensors(list), &b), LZ_ERR_ARG, "is NULL"));
    return lz_check_err(bind_one(&t_tensors, lz_value_tensor(TENSOR), &b), LZ_ERR_ARG,
                        "expected Tensor[], found Tensor");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_defaults),
        LZ_TEST(test_conversions),
        LZ_TEST(test_refusals),
        LZ_TEST(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
