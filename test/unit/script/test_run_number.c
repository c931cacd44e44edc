/* Numbers are arguments of the run: another value makes no other plan, gives the result of
 * that value, and is refused where the operator refuses it. */
#include "base/text.h"
#include "check.h"
#include <lazuli/run.h>
#include <math.h>
#include <stdio.h>

enum { POINTS = 5 };
static const float points[POINTS] = { -4, -0.25F, 0, 0.25F, 9 };

typedef struct fixture {
    lz_graph *graph;
    lz_runner *runner;
    lz_array *x;
    size_t plans;
} fixture;

static lz_err *begin(fixture *f, const char *op, bool separate)
{
    char text[160];
    *f = (fixture){ 0 };
    snprintf(text, sizeof text,
             "graph(%%x : Tensor, %%n : float):\n  %%y : Tensor = %s(%%x, %%n)\n  return (%%y)\n", op);
    LZ_TRY(lz_graph_parse("test.ir", lz_str_of(text), &f->graph));
    LZ_TRY(
        lz_runner_create(f->graph, &(lz_runner_options){ .threads = 1, .separate = separate }, &f->runner));
    LZ_TRY(lz_array_create(LZ_F32, LZ_DIMS(POINTS), &f->x));
    for (int i = 0; i < POINTS; i++)
        ((float *)lz_array_data(f->x))[i] = points[i];
    return NULL;
}

static void end(fixture *f)
{
    lz_array_release(f->x);
    lz_runner_release(f->runner);
    lz_graph_release(f->graph);
}

static lz_err *run(fixture *f, const char *number, float *out)
{
    lz_gvalue *in[2] = { 0 }, *result = NULL;
    lz_array *y = NULL;
    lz_run_stats stats = { 0 };
    lz_err *e = lz_gvalue_create_array(f->x, &in[0]);
    e = e ? e : lz_gvalue_create_literal(lz_str_of(number), &in[1]);
    e = e ? e : lz_runner_run(f->runner, in, 2, &result, &stats);
    e = e ? e : lz_gvalue_array(result, &y);
    for (int i = 0; !e && i < POINTS; i++)
        out[i] = ((float *)lz_array_data(y))[i];
    f->plans = stats.plans;
    lz_array_release(y);
    lz_gvalue_release(result);
    lz_gvalue_release(in[0]);
    lz_gvalue_release(in[1]);
    return e;
}

static void same(float got, double want)
{
    if (isnan(want) || isinf(want))
        assert_true(isnan(want) ? isnan(got) : (double)got == want);
    else
        assert_true(fabs((double)got - want) <= 1e-6 * fabs(want));
}

typedef struct number {
    const char *text;
    double value;
} number;

typedef double function(double x, double n);

static lz_err *follows(const char *op, const number *numbers, size_t n, function *want)
{
    lz_err *e = NULL;
    for (int separate = 0; !e && separate < 2; separate++) {
        fixture f;
        float got[POINTS];
        e = begin(&f, op, separate);
        for (size_t i = 0; !e && i < n; i++) {
            e = run(&f, numbers[i].text, got);
            for (int k = 0; !e && k < POINTS; k++)
                same(got[k], want((double)points[k], numbers[i].value));
            if (!e)
                assert_int_equal(f.plans, 1);
        }
        end(&f);
    }
    return e;
}

/* The roots are those of sqrt: of numbers below 0 there is none. */
static double power(double x, double n)
{
    return n == 0.5 ? sqrt(x) : n == -0.5 ? 1 / sqrt(x) : pow(x, n);
}

static lz_err *test_exponents(void)
{
    static const number numbers[] = { { "2.", 2 },      { "0.5", 0.5 }, { "3.", 3 },
                                      { "-0.5", -0.5 }, { "-1.", -1 },  { "2.5", 2.5 },
                                      { "0.", 0 },      { "-2.", -2 },  { "0.75", 0.75 } };
    return follows("aten::pow", numbers, sizeof numbers / sizeof *numbers, power);
}

static double celu(double x, double n)
{
    return x < 0 ? n * expm1(x / n) : x;
}

static lz_err *test_celu(void)
{
    static const number numbers[] = { { "1.", 1 }, { "0.5", 0.5 }, { "4.", 4 } };
    return follows("aten::celu", numbers, sizeof numbers / sizeof *numbers, celu);
}

static double softshrink(double x, double n)
{
    return x > n ? x - n : x < -n ? x + n : 0;
}

static lz_err *test_softshrink(void)
{
    static const number numbers[] = { { "0.125", 0.125 }, { "0.", 0 }, { "4.", 4 } };
    return follows("aten::softshrink", numbers, sizeof numbers / sizeof *numbers, softshrink);
}

/* What the operator refuses is refused in any run, by name, and the next one is as before. */
static lz_err *refuse_between(fixture *f, const char *good, const char *bad, const char *why)
{
    float before[POINTS], after[POINTS];
    LZ_TRY(run(f, good, before));
    LZ_TRY(lz_check_err(run(f, bad, after), LZ_ERR_ARG, why));
    LZ_TRY(run(f, good, after));
    assert_int_equal(f->plans, 1);
    assert_memory_equal(before, after, sizeof before);
    return NULL;
}

static lz_err *refuses(const char *op, const char *good, const char *bad, const char *why)
{
    fixture f;
    lz_err *e = begin(&f, op, false);
    e = e ? e : refuse_between(&f, good, bad, why);
    end(&f);
    return e;
}

static lz_err *test_refusals(void)
{
    LZ_TRY(refuses("aten::celu", "2.", "0.", "alpha cannot be 0"));
    LZ_TRY(refuses("aten::softshrink", "2.", "-1.", "found -1.0"));
    LZ_TRY(refuses("aten::softshrink", "2.", "nan", "found nan"));
    return refuses("aten::clamp_min", "2.", "1e60", "without overflow");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_exponents),
        LZ_TEST(test_celu),
        LZ_TEST(test_softshrink),
        LZ_TEST(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
