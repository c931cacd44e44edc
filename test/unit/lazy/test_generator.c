#include "check.h"
#include "open_ctx.h"

/* Generators: which numbers a call draws, and what does not matter for it. */

enum { N = 64 };

typedef struct draw {
    float v[N];
} draw;

static draw read_draw(lz_tensor *t)
{
    draw d = { { 0 } };
    assert_true(lz_read(t, d.v, sizeof d.v));
    return d;
}

static bool equal(draw a, draw b)
{
    bool same = true;
    for (int i = 0; i < N; i++)
        same = same && a.v[i] == b.v[i];
    return same;
}

static lz_tensor *rand_of(lz_ctx *c, lz_generator *g)
{
    return lz_rand_generator(c, LZ_DIMS(N), g);
}

static void test_equal_seeds_draw_equal_numbers(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_generator *a = lz_generator_create(c, 7), *b = lz_generator_create(c, 7),
                 *o = lz_generator_create(c, 8);
    draw first = read_draw(rand_of(c, a)), second = read_draw(rand_of(c, a));
    assert_true(equal(read_draw(rand_of(c, b)), first));
    assert_true(equal(read_draw(rand_of(c, b)), second));
    assert_false(equal(first, second));
    assert_false(equal(read_draw(rand_of(c, o)), first));
    lz_manual_seed(c, 7);
    assert_true(equal(read_draw(lz_rand(c, LZ_DIMS(N))), first));
    lz_generator_free(a);
    lz_generator_free(b);
    lz_generator_free(o);
    close_ctx(c);
}

static void test_generators_are_apart(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_generator *g = lz_generator_create(c, 7);
    lz_random_state before = lz_get_random_state(c);
    rand_of(c, g);
    lz_random_state after = lz_get_random_state(c);
    assert_memory_equal(&before, &after, sizeof before);
    lz_random_state at = lz_generator_get_state(g);
    lz_rand(c, LZ_DIMS(N));
    after = lz_generator_get_state(g);
    assert_memory_equal(&at, &after, sizeof at);
    assert_true(lz_get_random_state(c).position > before.position);
    lz_generator_free(g);
    close_ctx(c);
}

/* A call holds its numbers: what happens to the generator later does not matter. */
static void test_states(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_generator *g = lz_generator_create(c, 7);
    rand_of(c, g);
    lz_random_state at = lz_generator_get_state(g);
    assert_int_equal(at.seed, 7);
    lz_tensor *pending = rand_of(c, g);
    lz_generator_set_state(g, at);
    lz_tensor *again = rand_of(c, g);
    lz_generator_free(g);
    assert_true(equal(read_draw(pending), read_draw(again)));
    close_ctx(c);
}

/* Numbers of draws are run-time numbers. */
static void test_draws_compile_once(void **state)
{
    int64_t before = 0, after = 0;
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_generator *g = lz_generator_create(c, 7);
    read_draw(lz_normal_(c, lz_zeros(c, LZ_DIMS(N)), .generator = g));
    lz_counter_value("UncachedCompile", &before);
    draw x = read_draw(lz_normal_(c, lz_zeros(c, LZ_DIMS(N)), .generator = g));
    lz_generator_set_state(g, (lz_random_state){ 9, 1 });
    draw y = read_draw(lz_normal_(c, lz_zeros(c, LZ_DIMS(N)), .generator = g));
    draw z = read_draw(lz_normal_(c, lz_zeros(c, LZ_DIMS(N)), .generator = lz_default_generator(c)));
    lz_counter_value("UncachedCompile", &after);
    assert_int_equal(before, after);
    assert_false(equal(x, y) || equal(x, z));
    lz_generator_free(g);
    close_ctx(c);
}

/* A call that needs gradients is recorded by its formula: the formula's draws are of the call's generator. */
static void test_formulas_draw_from_the_generator_of_their_call(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_generator *g = lz_generator_create(c, 7);
    lz_tensor *p = lz_full(c, LZ_DIMS(N), LZ_S(0.5));
    draw plain = read_draw(lz_bernoulli_Tensor(c, lz_zeros(c, LZ_DIMS(N)), p, .generator = g));
    lz_random_state own = lz_get_random_state(c);
    lz_generator_set_state(g, (lz_random_state){ 7, 0 });
    assert_true(lz_set_requires_grad(p, true));
    draw taped = read_draw(lz_bernoulli_Tensor(c, lz_zeros(c, LZ_DIMS(N)), p, .generator = g));
    assert_true(equal(plain, taped));
    assert_int_equal(lz_get_random_state(c).position, own.position);
    lz_generator_free(g);
    close_ctx(c);
}

enum { MANY = 100000 };

typedef lz_tensor *many_fn(lz_ctx *c);

static lz_tensor *many_normal(lz_ctx *c)
{
    return lz_mul_Scalar(c, lz_randn(c, LZ_DIMS(MANY)), LZ_S(3));
}

static lz_tensor *many_gamma(lz_ctx *c)
{
    return lz__standard_gamma(c, lz_full(c, LZ_DIMS(MANY), LZ_S(1.5)));
}

static lz_tensor *many_poisson(lz_ctx *c)
{
    return lz_poisson(c, lz_full(c, LZ_DIMS(MANY), LZ_S(20.0)));
}

static lz_tensor *many_whole(lz_ctx *c)
{
    return lz_to_dtype(c, lz_randperm(c, MANY), LZ_F32);
}

static lz_tensor *many_samples(lz_ctx *c)
{
    lz_tensor *weights = lz_arange(c, LZ_S(50), .dtype = LZ_F32);
    return lz_to_dtype(c, lz_multinomial(c, weights, MANY, .replacement = true), LZ_F32);
}

/* The column of a matrix: its elements lie apart. */
static lz_tensor *many_strided(lz_ctx *c)
{
    lz_tensor *m = lz_zeros(c, LZ_DIMS(MANY, 3));
    lz_mul__Scalar(c, lz_normal_(c, lz_select(c, m, 1, 1)), LZ_S(3));
    return lz_select(c, m, 1, 1);
}

static many_fn *const many[] = {
    many_normal, many_gamma, many_poisson, many_whole, many_samples, many_strided
};

static void read_many(int threads, bool at_once, many_fn *make, float *out)
{
    lz_ctx *c = lz_open(&(lz_options){ .threads = threads });
    lz_tensor *before = lz_rand(c, LZ_DIMS(N)), *t = make(c);
    if (at_once)
        assert_true(lz_mark_step(c));
    assert_true(lz_read(t, out, MANY * sizeof *out));
    read_draw(before);
    lz_close(c);
}

/* Neither threads, nor strides, nor what runs together makes a difference. */
static void test_draws_depend_on_nothing_else(void **state)
{
    static float a[MANY], b[MANY];
    (void)state;
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        read_many(1, false, many[i], a);
        read_many(3, true, many[i], b);
        assert_memory_equal(a, b, sizeof a);
    }
    read_many(2, false, many_normal, b);
    assert_memory_equal(a, b, sizeof a); /* of many_strided, the last one */
    lz_ctx *c = lz_open(NULL);
    read_draw(lz_rand(c, LZ_DIMS(N)));
    lz_tensor *x = lz_randn(c, LZ_DIMS(MANY));
    assert_true(lz_mark_step(c)); /* the draw and the product run apart */
    assert_true(lz_read(lz_mul_Scalar(c, x, LZ_S(3)), b, sizeof b));
    assert_memory_equal(a, b, sizeof a);
    lz_close(c);
}

/* Two draws are two nodes, though their operators and arguments are equal. */
static void test_equal_draws_are_not_merged(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = lz_zeros(c, LZ_DIMS(N)), *a = lz_exponential(c, x), *b = lz_exponential(c, x);
    assert_false(equal(read_draw(a), read_draw(b)));
    lz_tensor *p = lz_full(c, LZ_DIMS(N), LZ_S(9.0)),
              *d = lz_sub_Tensor(c, lz_poisson(c, p), lz_poisson(c, p));
    assert_true(lz_item_double(lz_sum(c, lz_abs(c, d))) > 0);
    close_ctx(c);
}

static void test_misuse(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL), *other = open_ctx(NULL);
    lz_generator *g = lz_generator_create(other, 7);
    rand_of(c, g);
    assert_int_equal(lz_reason_of(c), LZ_REASON_CONTEXT);
    lz_clear(c);
    lz_generator_free(lz_default_generator(c)); /* is left alone */
    lz_generator_free(NULL);
    lz_generator_set_state(NULL, (lz_random_state){ 1, 1 });
    assert_int_equal(lz_generator_get_state(NULL).seed, 0);
    read_draw(lz_rand(c, LZ_DIMS(N)));
    close_ctx(other);
    lz_generator_free(g); /* after its context */
    close_ctx(c);
}

static lz_err *test_out_of_memory(void)
{
    lz_ctx *c = lz_open(NULL);
    lz_generator *g = c ? lz_generator_create(c, 7) : NULL;
    if (g)
        rand_of(c, g);
    lz_err *e = !c || lz_failed(c) ? lz_err_oom() : NULL;
    if (c && lz_failed(c))
        assert_int_equal(lz_code_of(c), LZ_ERR_MEMORY);
    lz_generator_free(g);
    lz_close(c);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_seeds_draw_equal_numbers),
        cmocka_unit_test(test_generators_are_apart),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_draws_compile_once),
        cmocka_unit_test(test_formulas_draw_from_the_generator_of_their_call),
        cmocka_unit_test(test_draws_depend_on_nothing_else),
        cmocka_unit_test(test_equal_draws_are_not_merged),
        cmocka_unit_test(test_misuse),
        LZ_TEST(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
