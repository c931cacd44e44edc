#include "base/file.h"
#include "base/mem.h"
#include "core/device.h"
#include "lazy/lazy_tensor.h"
#include "lazy/sync.h"
#include "lazy_desk.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const lz_options plain = { 0 };

/* ---- dumps ---- */

static lz_err *dump(lz_ctx *c, lz_tensor *t, lz_dump_form form, const char *want)
{
    char *text = NULL;
    lz_err *e = lz_failed(c) ? NULL : lz_dump(c, &t, 1, form, &text);
    if (text && strcmp(text, want) != 0)
        fail_msg("got:\n%s\nwant:\n%s", text, want);
    lz_text_free(text);
    return e;
}

static lz_err *test_dumps(void)
{
    bench b;
    LZ_TRY(bench_open(&b, plain));
    lz_tensor *x = bench_data(b.c, 4, 1), *y = bench_op(b.c, "add.Tensor", x, x, 2, 10);
    y = bench_op(b.c, "relu", y, NULL, 1, 11);
    lz_err *e = dump(b.c, y, LZ_DUMP_TEXT,
                     "IR {\n"
                     "  %0 = [Float[4]] lazy_tensors::device_data()\n"
                     "  %1 = [Float[4]] aten::add.Tensor(%0, %0), alpha=a float, location=model.c:10\n"
                     "  %2 = [Float[4]] aten::relu(%1), ROOT=0, location=model.c:11\n"
                     "}\n");
    if (!e)
        e = dump(b.c, y, LZ_DUMP_DOT,
                 "digraph G {\n"
                 "  node0 [label=\"lazy_tensors::device_data\\n[Float[4]]\"]\n"
                 "  node1 [label=\"aten::add.Tensor\\n[Float[4]]\\nalpha=a float\\nmodel.c:10\"]\n"
                 "  node2 [label=\"aten::relu\\n[Float[4]]\\nROOT=0\\nmodel.c:11\"]\n"
                 "  node0 -> node1 [label=\"i=0\"]\n"
                 "  node0 -> node1 [label=\"i=1\"]\n"
                 "  node1 -> node2 [label=\"i=0\"]\n"
                 "}\n");
    if (!e)
        e = dump(b.c, y, LZ_DUMP_BACKEND, "");
    bench_expect(y, 3, 3);
    lz_err *own = bench_close(&b);
    return lz_err_first(e, own);
}

/* ---- the file ---- */

static lz_err *saved(const char *form, const char *want)
{
    char path[512], sync[512], *text = NULL;
    bench b;
    snprintf(path, sizeof path, "%s/graphs", lz_check_dir());
    unlink(path);
    setenv("LTC_SAVE_TENSORS_FILE", path, 1);
    setenv("LAZULI_SAVE_TENSORS_FMT", form, 1);
    lz_err *e = bench_open(&b, plain);
    unsetenv("LTC_SAVE_TENSORS_FILE");
    unsetenv("LAZULI_SAVE_TENSORS_FMT");
    LZ_TRY(e);
    lz_tensor *x = bench_data(b.c, 4, 1);
    for (int i = 0; i < 2; i++) {
        bench_op(b.c, "relu", x, NULL, 1, 40 + i);
        snprintf(sync, sizeof sync, "Sync: %s:%d\n", __FILE__, __LINE__ + 1);
        lz_mark_step(b.c);
    }
    if (!lz_check_failing()) {
        e = lz_file_read(path, 1 << 20, NULL, &text);
        assert_true(e || (strstr(text, want) && strstr(text, "model.c:40") && strstr(text, "model.c:41")));
        assert_true(e
                    || (strstr(text, sync) && strstr(text, "Hashes: (") && strstr(text, "## BEGIN_GRAPH\n")));
        lz_mem_free(text);
    }
    return lz_err_first(bench_close(&b), e);
}

static lz_err *test_saved_file(void)
{
    LZ_TRY(saved("text", "aten::relu(%0), ROOT=0"));
    return saved("dot", "digraph G {");
}

/* ---- hashes and the cache ---- */

static lz_err *test_cached_graphs(void)
{
    bench b;
    lz_graph_key k = { 0 }, other = { 0 };
    lz_tensor *in[2], *out[1] = { NULL };
    size_t n = 2;
    LZ_TRY(bench_open(&b, plain));
    lz_tensor *x = bench_data(b.c, 4, 1), *y = bench_data(b.c, 4, 10),
              *p = bench_op(b.c, "mul.Tensor", x, y, 1, 1);
    lz_tensor *q = bench_op(b.c, "mul.Tensor", y, x, 1, 2);
    lz_graph_hash(b.c, &p, 1, &k);
    lz_graph_hash(b.c, &q, 1, &other);
    assert_true(lz_failed(b.c) || (k.lo == other.lo && k.hi == other.hi && b.fake.compiles == 0));
    lz_graph_inputs(b.c, &p, 1, in, &n);
    if (!lz_failed(b.c)) {
        assert_int_equal(n, 2);
        bench_expect(in[0], 1, 1);
        bench_expect(in[1], 10, 1);
    }
    if (!lz_check_failing()) {
        lz_tensor *two[2] = { bench_data(b.c, 4, 2), bench_data(b.c, 4, 0) };
        assert_false(lz_run_cached(b.c, k, two, 2, out, 1));
        assert_non_null(strstr(lz_message(b.c), "no compiled graph has this hash"));
        assert_true(lz_tensor_is_inert(out[0]));
        lz_clear(b.c);
        lz_sync(b.c, &p, 1);
        assert_int_equal(lz_cache_count(b.c), 1);
        assert_true(lz_run_cached(b.c, k, two, 2, out, 1));
        float v[4], want[4] = { 0, 3, 8, 15 }; /* (2 + i) * i */
        assert_true(lz_read(out[0], v, sizeof v));
        assert_memory_equal(v, want, sizeof v);
        assert_int_equal(b.fake.compiles, 1);
        lz_tensor *bad[2] = { two[0], bench_data(b.c, 3, 0) };
        assert_false(lz_run_cached(b.c, k, bad, 2, out, 1));
        assert_non_null(strstr(lz_message(b.c), "the dtype or the sizes of input 1 differ"));
        lz_clear(b.c);
        assert_true(lz_cache_remove(b.c, k));
        assert_false(lz_cache_remove(b.c, k));
        assert_int_equal(lz_cache_count(b.c), 0);
        assert_false(lz_run_cached(b.c, k, two, 2, out, 1));
        lz_clear(b.c);
        lz_sync(b.c, &q, 1);
        assert_int_equal(b.fake.compiles, 2);
        lz_cache_clear(b.c);
        assert_int_equal(lz_cache_count(b.c), 0);
        assert_int_equal(b.fake.live_computations, 0);
        bench_expect(two[0], 2, 1);
    }
    return bench_close(&b);
}

/* Results come in the order of the tensors that were asked about, numbers as they were then. */
static lz_err *test_order_of_results(void)
{
    bench b;
    lz_graph_key k, k2;
    LZ_TRY(bench_open(&b, plain));
    lz_tensor *x = bench_data(b.c, 4, 1), *y = bench_data(b.c, 4, 3);
    lz_tensor *m = bench_op(b.c, "mul.Scalar", x, NULL, 3, 1), *n = bench_op(b.c, "neg", x, NULL, 1, 2);
    lz_tensor *o = bench_op(b.c, "neg", y, NULL, 1, 3);
    lz_tensor *one[3] = { m, n, o }, *two[3] = { o, n, m }, *got[3] = { NULL };
    lz_graph_hash(b.c, one, 3, &k);
    lz_graph_hash(b.c, two, 3, &k2);
    if (!lz_check_failing()) {
        assert_true(k.lo == k2.lo && k.hi == k2.hi);
        lz_tensor *in[2];
        size_t nin = 2;
        assert_true(lz_graph_inputs(b.c, two, 3, in, &nin));
        assert_int_equal(nin, 2);
        assert_true(lz_sync(b.c, one, 3));
        assert_true(lz_run_cached(b.c, k2, in, 2, got, 3));
        bench_expect(got[0], -3, -1);
        bench_expect(got[1], -1, -1);
        bench_expect(got[2], 3, 3);
        assert_int_equal(b.fake.compiles, 1);
    }
    return bench_close(&b);
}

/* It does not matter which graph was asked about last. */
static lz_err *test_answers_are_kept_by_graph(void)
{
    bench b;
    lz_graph_key k, other;
    LZ_TRY(bench_open(&b, plain));
    lz_tensor *x = bench_data(b.c, 4, 1), *m = bench_op(b.c, "mul.Scalar", x, NULL, 3, 1);
    lz_tensor *n = bench_op(b.c, "add.Scalar", x, NULL, 5, 2), *got = NULL;
    lz_graph_hash(b.c, &m, 1, &k);
    lz_graph_hash(b.c, &n, 1, &other);
    if (!lz_check_failing()) {
        assert_true(lz_sync(b.c, &m, 1));
        assert_true(lz_sync(b.c, &n, 1));
        assert_true(lz_run_cached(b.c, k, &x, 1, &got, 1));
        bench_expect(got, 3, 3);
        assert_true(lz_run_cached(b.c, other, &x, 1, &got, 1));
        bench_expect(got, 6, 1);
        assert_true(lz_run_cached(b.c, k, &x, 1, &got, 1));
        bench_expect(got, 3, 3);
    }
    return bench_close(&b);
}

/* ---- as a function ---- */

static lz_err *test_extract(void)
{
    bench b;
    LZ_TRY(bench_open(&b, plain));
    lz_tensor *x = bench_data(b.c, 4, 1), *w = bench_data(b.c, 4, 5);
    lz_tensor *s = bench_op(b.c, "sub.Tensor", x, w, 3, 1), *m = bench_op(b.c, "mul.Scalar", x, NULL, 2, 2);
    lz_tensor *out[4] = { s, m, s, x }, *got[4] = { NULL };
    lz_compiled *f = lz_failed(b.c) ? NULL : lz_extract(b.c, &x, 1, out, 4);
    lz_tensor *fresh = bench_data(b.c, 4, 100);
    if (f && lz_compiled_run(f, &fresh, 1, got, 4)) {
        bench_expect(got[0], 85, -2); /* 100 + i - 3 (5 + i) */
        bench_expect(got[1], 200, 2);
        bench_expect(got[2], 85, -2);
        bench_expect(got[3], 100, 1);
        assert_true(lz_check_failing() || b.fake.compiles == 1);
    }
    lz_compiled_free(f);
    /* its own outputs are as they were */
    bench_expect(s, -14, -2);
    return bench_close(&b);
}

static lz_err *test_extract_refuses_fallback(void)
{
    bench b;
    LZ_TRY(bench_open(&b, plain));
    lz_tensor *x = bench_data(b.c, 4, 1), *y = bench_op(b.c, "relu", x, NULL, 1, 1);
    b.fake.refuses = "relu";
    lz_compiled *f = lz_failed(b.c) ? NULL : lz_extract(b.c, &x, 1, &y, 1);
    assert_null(f);
    if (!lz_check_failing())
        lz_clear(b.c);
    return bench_close(&b);
}

/* ---- two devices ---- */

static lz_err *test_two_devices(void)
{
    bench b;
    LZ_TRY(bench_open(&b, plain));
    lz_tensor *x = bench_data(b.c, 4, 1), *y = lz_copy_to(b.c, x, (lz_device){ b.type, 1 });
    lz_tensor *p = bench_op(b.c, "neg", x, NULL, 1, 1), *q = bench_op(b.c, "neg", y, NULL, 1, 2);
    lz_mark_step(b.c);
    if (!lz_check_failing()) {
        assert_int_equal(b.fake.runs, 2);
        assert_int_equal(lz_tensor_device(q).index, 1);
        assert_int_equal(q->storage->data->real.ordinal, 1);
    }
    bench_expect(p, -1, -1);
    bench_expect(q, -1, -1);
    return bench_close(&b);
}

/* ---- large ones ---- */

/* On a small stack: a chain of a million is one graph, and goes without recursion. */
static void *long_chain(void *user)
{
    enum { LONG = 1000000 };
    bench *b = user;
    lz_tensor *x = bench_data(b->c, 1, 1);
    for (int i = 0; i < LONG && !lz_failed(b->c); i++) {
        lz_tensor *y = bench_op(b->c, "neg", x, NULL, 1, 1);
        lz_release(x);
        x = y;
    }
    lz_mark_step(b->c);
    bench_expect(x, 1, 0);
    return NULL;
}

static lz_err *test_long_chain(void)
{
    bench b;
    pthread_t t;
    pthread_attr_t small;
    LZ_TRY(bench_open(&b, plain));
    if (!lz_check_failing()) {
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, LZ_SMALL_STACK);
        assert_int_equal(pthread_create(&t, &small, long_chain, &b), 0);
        pthread_join(t, NULL);
        pthread_attr_destroy(&small);
        assert_int_equal(b.fake.runs, 1);
    }
    return bench_close(&b);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_dumps),
        LZ_TEST(test_saved_file),
        LZ_TEST(test_cached_graphs),
        LZ_TEST(test_order_of_results),
        LZ_TEST(test_answers_are_kept_by_graph),
        LZ_TEST(test_extract),
        LZ_TEST(test_extract_refuses_fallback),
        LZ_TEST(test_two_devices),
        LZ_TEST(test_long_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
