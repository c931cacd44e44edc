#include "lazy_calls.h"
#include <lazuli/lazuli.h>

/* Functions made of compiled graphs: what PyTorch's extract_compiled_graph promises of writes and views. */

static void expect(lz_tensor *t, const float *want, size_t n)
{
    float got[8];
    if (!lz_read(t, got, n * sizeof *got))
        return;
    for (size_t i = 0; i < n; i++)
        assert_true(got[i] == want[i]);
}

static lz_err *test_what_is_written_comes_back(void)
{
    const float v[] = { 1, 2, 3, 4 }, w[] = { 5, 6, 7, 8 };
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *u = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 2), v), *r[2];
    lz_add__Scalar(c, u, 1);
    lz_tensor *out[] = { u, lz_t(c, u) };
    lz_compiled *f = lz_failed(c) ? NULL : lz_extract(c, &u, 1, out, 2);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 2), w);
    if (f && lz_compiled_run(f, &x, 1, r, 2)) {
        assert_true(lz_tensor_strides(r[1]).v[0] == 1 && lz_tensor_strides(r[1]).v[1] == 2);
        assert_false(lz_is_alias_of(r[0], x));
        expect(r[0], (float[]){ 6, 7, 8, 9 }, 4);
        expect(r[1], (float[]){ 6, 8, 7, 9 }, 4);
        expect(x, (float[]){ 6, 7, 8, 9 }, 4);
        expect(u, (float[]){ 2, 3, 4, 5 }, 4);
    }
    lz_compiled_free(f);
    return finish(c);
}

/* The second input is only read; a view as input of a call is taken as it looks. */
static lz_err *test_inputs_that_are_views(void)
{
    const float v[] = { 1, 2, 3, 4 };
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *in[] = { lz_from_memory(c, LZ_F32, LZ_DIMS(2), v),
                        lz_from_memory(c, LZ_F32, LZ_DIMS(2), v + 2) };
    lz_tensor *y = lz_mul_Tensor(c, in[0], in[1]), *r;
    lz_add__Tensor(c, in[0], y);
    lz_compiled *f = lz_failed(c) ? NULL : lz_extract(c, in, 2, &y, 1);
    lz_tensor *m = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 2), v);
    lz_tensor *columns[] = { lz_select_int(c, m, 1, 0), lz_select_int(c, m, 1, 1) };
    if (f && lz_compiled_run(f, columns, 2, &r, 1)) {
        expect(r, (float[]){ 2, 12 }, 2);
        expect(m, (float[]){ 3, 2, 15, 4 }, 4);
    }
    lz_compiled_free(f);
    return finish(c);
}

static lz_err *test_what_cannot_be_extracted_is_named(void)
{
    const float v[] = { 1, 2, 3, 4 };
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 2), v), *row = lz_select_int(c, x, 0, 0);
    lz_tensor *y = lz_neg(c, row);
    lz_compiled *f = lz_failed(c) ? NULL : lz_extract(c, &row, 1, &y, 1);
    assert_null(f);
    if (!lz_check_failing())
        assert_string_equal(lz_message(c), "input 0 is a view: pass a clone");
    lz_clear(c);
    return finish(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_what_is_written_comes_back),
                                        LZ_TEST(test_inputs_that_are_views),
                                        LZ_TEST(test_what_cannot_be_extracted_is_named) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
