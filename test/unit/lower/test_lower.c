#include "check.h"
#include "core/shape.h"
#include "lower/lower.h"

/* What the builder makes of things: sizes, dtypes, shared nodes, errors. */

typedef struct rig {
    lz_arena arena;
    lz_lower b;
} rig;

static void set_up(rig *r, bool shape_only)
{
    lz_arena_init(&r->arena);
    lz_low_init(&r->b, &r->arena);
    r->b.shape_only = shape_only;
}

static lz_err *tear_down(rig *r, lz_err *e)
{
    lz_low_deinit(&r->b);
    lz_arena_deinit(&r->arena);
    return e;
}

static lz_err *input(rig *r, int64_t slot, lz_dtype d, lz_ints sizes, const lz_low_node **out)
{
    int64_t strides[LZ_MAX_DIMS];
    for (int64_t i = sizes.n, s = 1; i-- > 0; s *= sizes.v[i])
        strides[i] = s;
    return lz_low_input(&r->b, slot, d, sizes, (lz_ints){ strides, sizes.n }, 0, out);
}

static void assert_sizes(const lz_low_node *n, lz_ints want)
{
    char a[LZ_SHAPE_CHARS], b[LZ_SHAPE_CHARS];
    assert_string_equal(lz_shape_print(lz_low_node_sizes(n), a), lz_shape_print(want, b));
}

/* ---- sharing ---- */

static lz_err *equal_nodes(rig *r)
{
    const lz_low_node *x, *y, *a, *b, *t;
    LZ_TRY(input(r, 0, LZ_F32, LZ_DIMS(2, 3), &x));
    LZ_TRY(input(r, 0, LZ_F32, LZ_DIMS(2, 3), &y));
    assert_ptr_equal(x, y);
    LZ_TRY(input(r, 1, LZ_F32, LZ_DIMS(2, 3), &y));
    assert_ptr_not_equal(x, y);
    LZ_TRY(lz_low_map(&r->b, LZ_KERNEL_ADD, (const lz_low_node *[]){ x, y }, &a));
    LZ_TRY(lz_low_map(&r->b, LZ_KERNEL_ADD, (const lz_low_node *[]){ x, y }, &b));
    assert_ptr_equal(a, b);
    LZ_TRY(lz_low_map(&r->b, LZ_KERNEL_ADD, (const lz_low_node *[]){ y, x }, &b));
    assert_ptr_not_equal(a, b);
    /* casts and views that do nothing, or undo each other */
    LZ_TRY(lz_low_cast(&r->b, a, LZ_F32, &t));
    assert_ptr_equal(t, a);
    LZ_TRY(lz_low_cast(&r->b, a, LZ_F64, &t));
    LZ_TRY(lz_low_cast(&r->b, t, LZ_F32, &t));
    assert_ptr_equal(t, a);
    LZ_TRY(lz_low_permute(&r->b, a, (int64_t[]){ 1, 0 }, &t));
    LZ_TRY(lz_low_permute(&r->b, t, (int64_t[]){ 1, 0 }, &t));
    assert_ptr_equal(t, a);
    LZ_TRY(lz_low_reshape(&r->b, a, LZ_DIMS(6), &t));
    LZ_TRY(lz_low_reshape(&r->b, t, LZ_DIMS(2, 3), &t));
    assert_ptr_equal(t, a);
    LZ_TRY(lz_low_unsqueeze(&r->b, a, 1, &t));
    assert_sizes(t, LZ_DIMS(2, 1, 3));
    LZ_TRY(lz_low_reshape(&r->b, t, LZ_DIMS(2, 3), &t));
    assert_ptr_equal(t, a);
    return NULL;
}

static lz_err *test_equal_requests_share_a_node(void)
{
    rig r;
    set_up(&r, false);
    return tear_down(&r, equal_nodes(&r));
}

/* ---- inner expressions ---- */

static lz_err *add(rig *r, lz_inner_rule rule, const lz_low_value *args, lz_low_value *out)
{
    lz_low_value e[2];
    lz_inner in;
    LZ_TRY(lz_inner_begin(&r->b, "add", rule, args, 2, e, &in));
    LZ_TRY(lz_low_op(&r->b, rule == LZ_INNER_PREDICATE ? LZ_LOW_OP_LT : LZ_LOW_OP_ADD, e, &e[0]));
    return lz_inner_end(&r->b, &in, &e[0], out);
}

static lz_err *promotions(rig *r)
{
    static const struct {
        lz_dtype x, y;
        lz_inner_rule rule;
        lz_dtype want;
    } rows[] = {
        { LZ_F32, LZ_I64, LZ_INNER_POINTWISE, LZ_F32 },  { LZ_U8, LZ_I8, LZ_INNER_POINTWISE, LZ_I16 },
        { LZ_F16, LZ_BF16, LZ_INNER_POINTWISE, LZ_F32 }, { LZ_I32, LZ_BOOL, LZ_INNER_FLOAT, LZ_F32 },
        { LZ_F64, LZ_F32, LZ_INNER_PREDICATE, LZ_BOOL }, { LZ_BF16, LZ_BF16, LZ_INNER_POINTWISE, LZ_BF16 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const lz_low_node *x, *y;
        lz_low_value out;
        LZ_TRY(input(r, 0, rows[i].x, LZ_DIMS(2, 1), &x));
        LZ_TRY(input(r, 1, rows[i].y, LZ_DIMS(3), &y));
        LZ_TRY(
            add(r, rows[i].rule, (lz_low_value[]){ lz_low_value_tensor(x), lz_low_value_tensor(y) }, &out));
        assert_int_equal(out.dtype, rows[i].want);
        assert_sizes(out.node, LZ_DIMS(2, 3));
        LZ_TRY(lz_low_round(&r->b, &out));
        assert_int_equal(out.node->dtype, rows[i].want);
    }
    return NULL;
}

static lz_err *test_inner_promotes_and_broadcasts(void)
{
    rig r;
    set_up(&r, false);
    LZ_TRY(tear_down(&r, promotions(&r)));
    set_up(&r, true);
    return tear_down(&r, promotions(&r));
}

/* A number yields to tensors of its kind, and makes integers floats. */
static lz_err *wrapped(rig *r)
{
    const lz_low_node *x;
    lz_low_value two = lz_low_value_int(2), half = lz_low_value_float(0.5), out, w;
    LZ_TRY(input(r, 0, LZ_I8, LZ_DIMS(2), &x));
    LZ_TRY(lz_low_wrap(&r->b, &two, &w));
    LZ_TRY(add(r, LZ_INNER_POINTWISE, (lz_low_value[]){ lz_low_value_tensor(x), w }, &out));
    assert_int_equal(out.dtype, LZ_I8);
    LZ_TRY(lz_low_wrap(&r->b, &half, &w));
    LZ_TRY(add(r, LZ_INNER_POINTWISE, (lz_low_value[]){ lz_low_value_tensor(x), w }, &out));
    assert_int_equal(out.dtype, LZ_F32);
    LZ_TRY(input(r, 1, LZ_F16, LZ_DIMS(2), &x));
    LZ_TRY(add(r, LZ_INNER_POINTWISE, (lz_low_value[]){ lz_low_value_tensor(x), w }, &out));
    assert_int_equal(out.dtype, LZ_F16);
    assert_int_equal(out.node->dtype, LZ_F32); /* carried, not rounded yet */
    return NULL;
}

static lz_err *test_numbers_yield(void)
{
    rig r;
    set_up(&r, false);
    return tear_down(&r, wrapped(&r));
}

static lz_err *mismatch(rig *r)
{
    const lz_low_node *x, *y;
    lz_low_value out;
    LZ_TRY(input(r, 0, LZ_F32, LZ_DIMS(2, 3), &x));
    LZ_TRY(input(r, 1, LZ_F32, LZ_DIMS(4), &y));
    lz_err *e =
        add(r, LZ_INNER_POINTWISE, (lz_low_value[]){ lz_low_value_tensor(x), lz_low_value_tensor(y) }, &out);
    LZ_TRY(lz_check_err(e, LZ_ERR_ARG, "must match the size of tensor"));
    LZ_TRY(lz_check_err(lz_low_expand(&r->b, x, LZ_DIMS(2, 5), &y), LZ_ERR_ARG, "expanded size"));
    LZ_TRY(input(r, 2, LZ_F32, LZ_DIMS(0, 3), &y));
    return lz_check_err(lz_low_reduce(&r->b, LZ_KERNEL_RMAX, y, 1, false, &x), LZ_ERR_ARG, "no identity");
}

static lz_err *test_what_does_not_fit_is_refused(void)
{
    rig r;
    set_up(&r, false);
    return tear_down(&r, mismatch(&r));
}

/* ---- numbers ---- */

static lz_err *number(rig *r, lz_low_operator op, lz_low_value x, lz_low_value y, lz_low_value *out)
{
    return lz_low_op(&r->b, op, (lz_low_value[]){ x, y }, out);
}

static lz_err *numbers(rig *r)
{
    lz_low_value v, s = { .kind = LZ_LOW_VALUE_NUMBER, .number = { .kind = LZ_SCALAR_INT } };
    LZ_TRY(number(r, LZ_LOW_OP_ADD, lz_low_value_int(2), lz_low_value_int(3), &v));
    assert_true(!v.node && v.number.kind == LZ_SCALAR_INT && v.number.i == 5);
    LZ_TRY(number(r, LZ_LOW_OP_DIV, lz_low_value_int(1), lz_low_value_int(4), &v));
    assert_true(v.number.kind == LZ_SCALAR_FLOAT && v.number.re == 0.25);
    LZ_TRY(number(r, LZ_LOW_OP_MOD, lz_low_value_int(-7), lz_low_value_int(3), &v));
    assert_int_equal(v.number.i, 2);
    LZ_TRY(number(r, LZ_LOW_OP_LT, lz_low_value_int(1), lz_low_value_float(1.5), &v));
    assert_true(v.number.kind == LZ_SCALAR_BOOL && v.number.i);
    LZ_TRY(lz_check_err(number(r, LZ_LOW_OP_MUL, lz_low_value_int(INT64_MAX), lz_low_value_int(2), &v),
                        LZ_ERR_LIMIT, ""));
    /* of a number that is not known only the kind is */
    LZ_TRY(lz_low_scalar(&r->b, 0, LZ_I64, &s.node));
    LZ_TRY(number(r, LZ_LOW_OP_MUL, s, lz_low_value_float(0.5), &v));
    assert_true(v.node && v.number.kind == LZ_SCALAR_FLOAT && v.node->number);
    int64_t i;
    return lz_check_err(lz_low_value_get_int(&v, &i), LZ_ERR_NEEDS_VALUE, "run-time number");
}

static lz_err *test_numbers_known_and_not(void)
{
    rig r;
    set_up(&r, false);
    return tear_down(&r, numbers(&r));
}

/* ---- lists ---- */

static lz_err *lists(rig *r)
{
    lz_low_value x, y, z;
    bool has;
    lz_low_value from = lz_low_value_int(-2), none = lz_low_value_none();
    LZ_TRY(lz_low_range(&r->b, 0, 5, 2, &x));  /* 0 2 4 */
    LZ_TRY(lz_low_range(&r->b, 3, 0, -1, &y)); /* 3 2 1 */
    LZ_TRY(lz_low_list_join(&r->b, &x, &y, &z));
    assert_int_equal(z.list.n, 6);
    LZ_TRY(lz_low_list_slice(&z, &from, &none, &z));
    assert_int_equal(z.list.n, 2);
    assert_int_equal(z.list.items[0].number.i, 2);
    LZ_TRY(lz_low_list_has(&r->b, &x, &z.list.items[0], &has));
    assert_true(has);
    LZ_TRY(lz_low_list_repeat(&r->b, &z, 3, &z));
    assert_int_equal(z.list.n, 6);
    LZ_TRY(lz_low_list_get(&z, -1, &y));
    assert_int_equal(y.number.i, 1);
    return lz_check_err(lz_low_list_get(&z, 6, &y), LZ_ERR_ARG, "out of range");
}

static lz_err *test_lists_count_as_pythons(void)
{
    rig r;
    set_up(&r, false);
    return tear_down(&r, lists(&r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_equal_requests_share_a_node),
        LZ_TEST(test_inner_promotes_and_broadcasts),
        LZ_TEST(test_numbers_yield),
        LZ_TEST(test_what_does_not_fit_is_refused),
        LZ_TEST(test_numbers_known_and_not),
        LZ_TEST(test_lists_count_as_pythons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
