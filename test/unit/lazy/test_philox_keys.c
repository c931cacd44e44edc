#include "open_ctx.h"
#include <math.h>

/* Draws from Philox keys, against the values that PyTorch gives for the same bits of a key. */

enum { MOST = 8 };

typedef struct keys {
    lz_ctx *c;
    lz_tensor *one, *batch; /* [2], [2, 1, 2] */
} keys;

static keys open_keys(void)
{
    static const int64_t one[] = { -1, 7 }, batch[] = { 3, 1, 9, 2 };
    lz_ctx *c = open_ctx(NULL);
    lz_rand(c, LZ_DIMS(3)); /* the context's own draws do not matter */
    return (keys){ c, lz_from_memory(c, LZ_I64, LZ_DIMS(2), one),
                   lz_from_memory(c, LZ_I64, LZ_DIMS(2, 1, 2), batch) };
}

static void expect_ints(const keys *k, lz_tensor *t, const int64_t *expected, int64_t n)
{
    int64_t v[MOST];
    assert_true(lz_read(lz_to_dtype(k->c, lz_reshape(k->c, t, LZ_DIMS(-1)), LZ_I64), v, sizeof v));
    assert_int_equal(lz_tensor_numel(t), n);
    for (int64_t i = 0; i < n; i++)
        assert_true(v[i] == expected[i]);
}

static void expect_reals(const keys *k, lz_tensor *t, const double *expected, int64_t n)
{
    double v[MOST];
    assert_true(lz_read(lz_to_dtype(k->c, lz_reshape(k->c, t, LZ_DIMS(-1)), LZ_F64), v, sizeof v));
    assert_int_equal(lz_tensor_numel(t), n);
    for (int64_t i = 0; i < n; i++)
        assert_true(fabs(v[i] - expected[i]) <= 1e-6 * fabs(expected[i]));
}

#define INTS(t, ...)                                                                                         \
    expect_ints(&k, t, (const int64_t[])__VA_ARGS__, sizeof((int64_t[])__VA_ARGS__) / sizeof(int64_t))
#define REALS(t, ...)                                                                                        \
    expect_reals(&k, t, (const double[])__VA_ARGS__, sizeof((double[])__VA_ARGS__) / sizeof(double))

static lz_tensor *zeros(const keys *k, lz_dtype d, int64_t n)
{
    return lz_zeros(k->c, LZ_DIMS(n), .dtype = d);
}

static void test_keys(void **state)
{
    (void)state;
    keys k = open_keys();
    INTS(lz__philox_key_split(k.c, k.one, 3),
         { INT64_C(-4521549754141707599), INT64_C(6698370541310539856), INT64_C(8807069446168994752),
           INT64_C(1996757392869114405), INT64_C(-7652268386550589878), INT64_C(3395581537279146639) });
    INTS(lz__philox_key_split(k.c, k.batch, 2),
         { INT64_C(-8272752712032299871), INT64_C(-7236265219797729783), INT64_C(-8812798627240713741),
           INT64_C(6933514693415437383), INT64_C(-3959599482971074962), INT64_C(6657439624340844782),
           INT64_C(-4224536992311733200), INT64_C(5903909672793003047) });
    INTS(lz__philox_key_fold_in(k.c, k.one, 5),
         { INT64_C(8976632147777476726), INT64_C(-3938092765772512367) });
    lz_tensor *five = lz_full(k.c, LZ_DIMS(1), LZ_S(5), .dtype = LZ_I64);
    INTS(lz__philox_key_fold_in_Tensor(k.c, k.one, five),
         { INT64_C(8976632147777476726), INT64_C(-3938092765772512367) });
    close_ctx(k.c);
}

static void test_integers(void **state)
{
    (void)state;
    keys k = open_keys();
    lz_tensor *x = zeros(&k, LZ_I64, 6), *few = lz_zeros(k.c, LZ_DIMS(2, 3), .dtype = LZ_I64);
    INTS(lz__philox_randint(k.c, zeros(&k, LZ_I64, 5), k.one),
         { INT64_C(7935609388692159092), INT64_C(-8015993575190469500), INT64_C(-2658984426650140929),
           INT64_C(43138398582859845), INT64_C(2716609878575394418) });
    INTS(lz__philox_randint(k.c, few, k.batch, .low = lz_some_int(-7), .high = lz_some_int(1000)),
         { INT64_C(240), INT64_C(244), INT64_C(507), INT64_C(640), INT64_C(23), INT64_C(67) });
    INTS(lz__philox_randint(k.c, x, k.one, .low = lz_some_int(INT64_MIN),
                            .high = lz_some_int(INT64_C(1) << 62)),
         { INT64_C(-1287762648162616716), INT64_C(1207378461664306308), INT64_C(-7270670445077528833),
           INT64_C(-9180233638271915963), INT64_C(-6506762158279381390), INT64_C(-6384421403849947286) });
    INTS(lz__philox_randint(k.c, x, k.one, .low = lz_some_int(5)),
         { INT64_C(7935609388692159097), INT64_C(1207378461664306318), INT64_C(6564387610204634889),
           INT64_C(43138398582859850), INT64_C(2716609878575394423), INT64_C(7450636651432216436) });
    INTS(lz__philox_randint(k.c, zeros(&k, LZ_I64, 3), k.one, .low = lz_some_int(6), .high = lz_some_int(5)),
         { INT64_C(7935609388692159098), INT64_C(-8015993575190469494), INT64_C(-2658984426650140923) });
    INTS(lz__philox_randint(k.c, zeros(&k, LZ_I32, 5), k.one),
         { INT64_C(1847653041), INT64_C(-1052755340), INT64_C(-1866368944), INT64_C(1559585924),
           INT64_C(-619093056) });
    INTS(lz__philox_randint(k.c, zeros(&k, LZ_I16, 5), k.one, .low = lz_some_int(-5),
                            .high = lz_some_int(1000)),
         { INT64_C(736), INT64_C(546), INT64_C(772), INT64_C(789), INT64_C(305) });
    INTS(lz__philox_randint(k.c, zeros(&k, LZ_U8, 5), k.one, .low = lz_some_int(0), .high = lz_some_int(300)),
         { INT64_C(141), INT64_C(56), INT64_C(252), INT64_C(224), INT64_C(40) });
    close_ctx(k.c);
}

static void test_reals(void **state)
{
    (void)state;
    keys k = open_keys();
    REALS(lz__philox_uniform(k.c, zeros(&k, LZ_F32, 5), k.one, .low = 2, .high = 5),
          { 2.3861095905303955, 2.752675771713257, 4.267226219177246, 4.87569522857666, 2.297534942626953 });
    REALS(lz__philox_normal(k.c, zeros(&k, LZ_F32, 5), k.one, .mean = 1, .std = 3),
          { 1.1196132898330688, -2.8947649002075195, -1.089963674545288, 3.427835702896118,
            -0.6570441722869873 });
    REALS(lz__philox_uniform(k.c, zeros(&k, LZ_F64, 5), k.one, .low = 2, .high = 5),
          { 2.088877327279515, 2.1378102728644293, 4.380280223987853, 4.367973005644467, 3.812850835566091 });
    REALS(lz__philox_normal(k.c, zeros(&k, LZ_F64, 5), k.one, .mean = 1, .std = 3),
          { -2.5717130318470476, -0.5576794337687212, 2.6736631129472777, 1.0245936770148925,
            5.8335927637703815 });
    REALS(lz__philox_uniform(k.c, zeros(&k, LZ_F16, 5), k.one, .low = 2, .high = 5),
          { 3.009765625, 2.919921875, 2.1171875, 3.693359375, 3.40625 });
    REALS(lz__philox_normal(k.c, zeros(&k, LZ_F16, 5), k.one, .mean = 1, .std = 3),
          { 1.119140625, -2.89453125, -1.08984375, 3.427734375, -0.6572265625 });
    REALS(lz__philox_uniform(k.c, zeros(&k, LZ_BF16, 5), k.one, .low = 2, .high = 5),
          { 4.0625, 3.359375, 2.9375, 3.546875, 4.25 });
    REALS(lz__philox_normal(k.c, zeros(&k, LZ_BF16, 5), k.one, .mean = 1, .std = 3),
          { 1.1171875, -2.890625, -1.09375, 3.421875, -0.65625 });
    lz_tensor *x = lz_zeros(k.c, LZ_DIMS(2, 3), .dtype = LZ_F64),
              *y = lz_zeros(k.c, LZ_DIMS(2, 2), .dtype = LZ_F64);
    REALS(lz__philox_normal_(k.c, x, k.batch),
          { 0.2599819076939003, 1.6013353095533698, 0.3175816968540082, 1.024201493762724,
            -1.3824942287663804, 0.12753064881342235 });
    REALS(lz__philox_normal(k.c, y, lz_reshape(k.c, k.batch, LZ_DIMS(1, 2, 2))),
          { 0.2599819076939003, 1.024201493762724, 0.2599819076939003, 1.024201493762724 });
    close_ctx(k.c);
}

static void refused(const keys *k, const char *part)
{
    if (!strstr(lz_message(k->c), part))
        fail_msg("\"%s\" does not contain \"%s\"", lz_message(k->c), part);
    lz_clear(k->c);
}

static void test_refused(void **state)
{
    (void)state;
    keys k = open_keys();
    lz_tensor *x = zeros(&k, LZ_F32, 3), *i = zeros(&k, LZ_I32, 3);
    lz__philox_uniform(k.c, x, k.batch);
    refused(&k, "batched key must have ndim == output ndim + 1");
    lz__philox_normal(k.c, i, k.one);
    refused(&k, "not implemented for");
    lz__philox_randint(k.c, x, k.one);
    refused(&k, "self must have an integer dtype");
    lz__philox_randint(k.c, i, k.one, .low = lz_some_int(5), .high = lz_some_int(5));
    refused(&k, "must be non-empty");
    lz__philox_randint(k.c, i, k.one, .low = lz_some_int(6), .high = lz_some_int(5));
    refused(&k, "does not divide 2^32 evenly");
    lz__philox_key_split(k.c, k.one, 0);
    refused(&k, "num_splits must be positive");
    lz__philox_key_fold_in(k.c, x, 1);
    refused(&k, "key must have dtype int64");
    close_ctx(k.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_reals),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
