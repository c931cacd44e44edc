#include "base/mem.h"
#include "check.h"
#include "gen/torch/record_file.h"

static lz_err *make(lzg_recorded *r, lz_text *out)
{
    LZ_TRY(lz_vec_push(&r->inputs, (lzg_input_file){ "in/a", { .lo = 1, .hi = UINT64_MAX } }));
    LZ_TRY(lz_vec_push(&r->inputs, (lzg_input_file){ "in/b\n c", { 0 } }));
    LZ_TRY(lz_vec_push(&r->outputs, (lzg_output_file){ "out/x", { 1, 2, UINT64_MAX, 4 } }));
    lzg_recorded_print(r, LZ_STR("key\nof a run"), out);
    return lz_text_check(out);
}

/* *out is freed after an error. */
static lz_err *parse(lz_str text, const char *key, lzg_recorded *out, bool *good)
{
    *out = (lzg_recorded){ 0 };
    lz_err *e = lzg_recorded_parse(text, lz_str_of(key), out, good);
    if (e)
        lzg_recorded_deinit(out);
    return e;
}

static lz_err *check_same(lz_str text)
{
    lzg_recorded r;
    bool good;
    LZ_TRY(parse(text, "key\nof a run", &r, &good));
    assert_true(good);
    assert_int_equal(r.inputs.len, 2);
    assert_int_equal(r.outputs.len, 1);
    assert_string_equal(r.inputs.data[0].path, "in/a");
    assert_true(r.inputs.data[0].hash.lo == 1 && r.inputs.data[0].hash.hi == UINT64_MAX);
    assert_string_equal(r.inputs.data[1].path, "in/b\n c");
    lzg_file_state s = r.outputs.data[0].state;
    assert_string_equal(r.outputs.data[0].path, "out/x");
    assert_true(s.size == 1 && s.inode == 2 && s.modified == UINT64_MAX && s.changed == 4);
    lzg_recorded_deinit(&r);
    return NULL;
}

/* Another key, any part of the text, anything behind it: no record. */
static lz_err *check_wrong(lz_str text)
{
    lzg_recorded r;
    bool good;
    LZ_TRY(parse(text, "key\nof another", &r, &good));
    assert_false(good);
    lzg_recorded_deinit(&r);
    for (size_t n = 0; n < text.len; n++) {
        LZ_TRY(parse(lz_str_sub(text, 0, n), "key\nof a run", &r, &good));
        assert_false(good);
        lzg_recorded_deinit(&r);
    }
    return NULL;
}

static lz_err *check_longer(lz_text *t)
{
    lzg_recorded r;
    bool good;
    lz_text_putc(t, 'E');
    LZ_TRY(parse(lz_text_view(t), "key\nof a run", &r, &good));
    assert_false(good);
    lzg_recorded_deinit(&r);
    return NULL;
}

static lz_err *test_records(void)
{
    lzg_recorded r = { 0 };
    lz_text t = { 0 };
    lz_err *e = make(&r, &t);
    if (!e)
        e = check_same(lz_text_view(&t));
    if (!e)
        e = check_wrong(lz_text_view(&t));
    if (!e)
        e = check_longer(&t);
    lzg_recorded_deinit(&r);
    lz_text_deinit(&t);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_records) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
