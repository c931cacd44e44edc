#include "lazy/registry.h"
#include "lazy_desk.h"

/* A device that cannot do relu, beside a CPU that can. */
typedef struct pair {
    bench b;
    fake_backend cpu;
    int16_t cpu_type;
} pair;

static lz_err *open_pair(pair *p, lz_options options)
{
    const lz_backend *own = lz_get_backend("cpu"); /* the library's, if it was registered */
    if (own)
        lz_backend_forget(lz_backend_type(own));
    fake_backend_init(&p->cpu, "cpu", 1);
    LZ_TRY(lz_backend_register(&p->cpu.table, &p->cpu_type));
    lz_err *e = bench_open(&p->b, options);
    if (e)
        lz_backend_forget(p->cpu_type);
    p->b.fake.refuses = "relu";
    return e;
}

static lz_err *close_pair(pair *p)
{
    lz_err *e = bench_close(&p->b);
    assert_int_equal(p->cpu.live_data, 0);
    assert_int_equal(p->cpu.live_computations, 0);
    lz_backend_forget(p->cpu_type);
    return e;
}

static lz_tensor *relu_of_sum(lz_ctx *c, lz_tensor *x, float add)
{
    lz_tensor *s = bench_op(c, "add.Tensor", x, x, (double)add, 10);
    return bench_op(c, "neg", bench_op(c, "relu", s, NULL, 1, 11), NULL, 1, 12);
}

/* Every run counts; nothing is compiled twice. */
static lz_err *falls_back(lz_options options)
{
    pair p;
    LZ_TRY(open_pair(&p, options));
    lz_ctx *c = p.b.c;
    lz_tensor *x = bench_data(c, 4, 1);
    for (int i = 0; i < 3; i++)
        bench_expect(relu_of_sum(c, x, (float)i), (float)-(1 + i), (float)-(1 + i));
    if (!lz_check_failing()) {
        assert_int_equal(bench_count("aten::relu"), 3);
        assert_int_equal(bench_count("lazy::relu"), 3);
        assert_int_equal(p.cpu.compiles, 1);
        assert_int_equal(p.cpu.runs, 3);
        assert_int_equal(p.b.fake.compiles, 2);
    }
    return close_pair(&p);
}

static lz_err *test_falls_back(void)
{
    LZ_TRY(falls_back((lz_options){ 0 }));
    return falls_back((lz_options){ .async = true });
}

static lz_err *test_forced(void)
{
    pair p;
    LZ_TRY(open_pair(&p, (lz_options){ .force_fallback = "aten::neg" }));
    p.b.fake.refuses = NULL;
    bench_expect(relu_of_sum(p.b.c, bench_data(p.b.c, 4, 1), 1), -2, -2);
    if (!lz_check_failing()) {
        assert_int_equal(bench_count("aten::neg"), 1);
        assert_int_equal(bench_count("aten::relu"), 0);
        assert_int_equal(p.cpu.runs, 1);
    }
    return close_pair(&p);
}

/* At the call that needs it, whether the graph is compiled already or not; nothing changes. */
static lz_err *test_forbidden(void)
{
    pair p;
    float v[4];
    LZ_TRY(open_pair(&p, (lz_options){ 0 }));
    lz_ctx *c = p.b.c;
    lz_tensor *x = bench_data(c, 4, 1), *y = relu_of_sum(c, x, 1), *z = NULL;
    if (!lz_check_failing()) {
        for (int i = 0; i < 2; i++) {
            lz_forbid(c, LZ_FALLBACK);
            assert_false(lz_read(y, v, sizeof v));
            assert_non_null(strstr(lz_message(c), "a fallback is forbidden here"));
            assert_true(i || strstr(lz_message(c), "aten::relu"));
            lz_clear(c);
            lz_forbid(c, 0);
            bench_expect(y, i ? -6 : -2, i ? -6 : -2);
            z = y;
            y = relu_of_sum(c, x, 5);
        }
        bench_expect(z, -6, -6);
        assert_int_equal(p.cpu.runs, 2);
    }
    return close_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_falls_back), LZ_TEST(test_forced),
                                        LZ_TEST(test_forbidden) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
