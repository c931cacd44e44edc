#include "open_ctx.h"
#include <string.h>

/* What PyTorch refuses, in its words: arguments that would give numbers without a meaning. */

typedef struct inputs {
    lz_ctx *c;
    lz_tensor *x, *soft, *classes, *few, *image, *labels, *row;
} inputs;

static lz_tensor *smooth_l1(const inputs *in)
{
    return lz_smooth_l1_loss(in->c, in->x, in->soft, .beta = -1);
}

static lz_tensor *huber(const inputs *in)
{
    return lz_huber_loss(in->c, in->x, in->soft, .delta = 0);
}

static lz_tensor *ignored_class(const inputs *in)
{
    return lz_cross_entropy_loss(in->c, in->x, in->soft, .ignore_index = 2);
}

static lz_tensor *weights_of_soft(const inputs *in)
{
    return lz_cross_entropy_loss(in->c, in->x, in->soft, .weight = in->few);
}

static lz_tensor *weights(const inputs *in)
{
    return lz_cross_entropy_loss(in->c, in->x, in->classes, .weight = in->few);
}

static lz_tensor *weights_of_image(const inputs *in)
{
    return lz_nll_loss2d(in->c, in->image, in->labels, .weight = in->few);
}

static lz_tensor *wrapped_twice(const inputs *in)
{
    return lz_pad(in->c, in->row, LZ_INTS(4, 0), .mode = "circular");
}

static lz_tensor *nothing_left(const inputs *in)
{
    return lz_pad(in->c, in->row, LZ_INTS(-4, 0), .mode = "circular");
}

static const struct {
    lz_tensor *(*call)(const inputs *in);
    const char *text;
} rows[] = {
    { smooth_l1, "smooth_l1_loss does not support negative values for beta." },
    { huber, "huber_loss does not support non-positive values for delta." },
    { ignored_class, "ignore_index is not supported for floating point target" },
    { weights_of_soft, "either for all 4 classes or no classes but got weight tensor of shape: [3]" },
    { weights, "either for all 4 classes or no classes but got weight tensor of shape: [3]" },
    { weights_of_image, "weight tensor should be defined either for all or no classes" },
    { wrapped_twice, "Padding value causes wrapping around more than once." },
    { nothing_left, "Negative padding value is resulting in an empty dimension" },
};

static inputs make_inputs(lz_ctx *c)
{
    return (inputs){ .c = c,
                     .x = lz_ones(c, LZ_DIMS(3, 4)),
                     .soft = lz_full(c, LZ_INTS(3, 4), 0.25),
                     .classes = lz_zeros(c, LZ_DIMS(3), .dtype = LZ_I64),
                     .few = lz_ones(c, LZ_DIMS(3)),
                     .image = lz_ones(c, LZ_DIMS(1, 4, 2, 2)),
                     .labels = lz_zeros(c, LZ_DIMS(1, 2, 2), .dtype = LZ_I64),
                     .row = lz_ones(c, LZ_DIMS(1, 1, 3)) };
}

static void test_meaningless_arguments_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lz_ctx *c = open_ctx(NULL);
        inputs in = make_inputs(c);
        assert_string_equal(lz_message(c), "");
        rows[i].call(&in);
        if (!strstr(lz_message(c), rows[i].text))
            fail_msg("'%s' does not say '%s'", lz_message(c), rows[i].text);
        lz_close(c);
    }
}

/* ---- values, which are known when the graph runs ---- */

static lz_tensor *scattered(const inputs *in, int64_t have)
{
    lz_tensor *mask = lz_ge_Scalar(in->c, in->x, 0), *source = lz_ones(in->c, LZ_DIMS(have));
    return lz_masked_scatter(in->c, in->x, mask, source);
}

static lz_tensor *short_source(const inputs *in)
{
    return scattered(in, 11);
}

static lz_tensor *empty_source(const inputs *in)
{
    return scattered(in, 0);
}

static lz_tensor *no_probability(const inputs *in)
{
    return lz_binary_cross_entropy(in->c, lz_add_Scalar(in->c, in->x, 1), in->soft);
}

static lz_tensor *no_quantile(const inputs *in)
{
    return lz_quantile(in->c, in->x, lz_mul_Scalar(in->c, in->few, 1.5));
}

static lz_tensor *negative_weights(const inputs *in)
{
    lz_tensor *zeros = lz_zeros(in->c, LZ_DIMS(4), .dtype = LZ_I64),
              *negative = lz_sub_Scalar(in->c, zeros, 1);
    return lz_cov(in->c, in->x, .fweights = negative);
}

static const struct {
    lz_tensor *(*call)(const inputs *in);
    const char *text;
} values[] = {
    { short_source, "Number of elements of source < number of ones in mask" },
    { empty_source, "Number of elements of source < number of ones in mask" },
    { no_probability, "all elements of input should be between 0 and 1" },
    { no_quantile, "q values must be in the range [0, 1]" },
    { negative_weights, "fweights cannot be negative" },
};

static void test_values_are_refused_when_they_are_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        lz_ctx *c = open_ctx(NULL);
        inputs in = make_inputs(c);
        lz_tensor *out = values[i].call(&in);
        assert_string_equal(lz_message(c), "");
        assert_string_equal(lz_print(out), "");
        if (!strstr(lz_message(c), values[i].text))
            fail_msg("'%s' does not say '%s'", lz_message(c), values[i].text);
        lz_close(c);
    }
}

static void test_enough_elements_are_taken(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    inputs in = make_inputs(c);
    assert_true(lz_item_double(lz_sum(c, scattered(&in, 12))) == 12);
    assert_string_equal(lz_message(c), "");
    lz_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_meaningless_arguments_are_refused),
                                        cmocka_unit_test(test_values_are_refused_when_they_are_known),
                                        cmocka_unit_test(test_enough_elements_are_taken) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
