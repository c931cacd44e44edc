#include "check.h"
#include "jit/code_entry.h"

static char noise[257];

static void make_noise(void)
{
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof noise; i++) {
        x = x * 1664525 + 1013904223;
        noise[i] = (char)(x >> 24);
    }
}

static lz_str part(size_t from, size_t len)
{
    return lz_str_sub((lz_str){ noise, sizeof noise }, from, from + len);
}

static lz_err *write_entry(lz_str key, lz_str object, lz_text *out)
{
    lz_native_entry_write(key, object, out);
    lz_err *e = lz_text_check(out);
    if (e)
        lz_text_deinit(out);
    return e;
}

static lz_err *test_round_trip(void)
{
    for (size_t k = 0; k < 40; k++) {
        lz_text t = { 0 };
        lz_native_entry e;
        lz_str key = part(3, k), object = part(50, k * 5);
        LZ_TRY(write_entry(key, object, &t));
        assert_int_equal(t.len, lz_native_entry_size(key, object));
        assert_null(lz_native_entry_read(lz_text_view(&t), &e));
        assert_true(lz_str_eq(e.key, key));
        assert_true(lz_str_eq(e.object, object));
        assert_int_equal((e.object.ptr - t.ptr) % 16, 0);
        lz_text_deinit(&t);
    }
    return NULL;
}

/* Every shorter one, and longer ones. */
static lz_err *test_lengths(void)
{
    lz_text t = { 0 };
    lz_native_entry e;
    LZ_TRY(write_entry(part(0, 21), part(30, 100), &t));
    size_t whole = t.len;
    for (size_t n = 0; n < whole; n++)
        assert_string_equal(lz_native_entry_read((lz_str){ t.ptr, n }, &e), "it is truncated");
    lz_text_fill(&t, '\0', 33);
    lz_err *bad = lz_text_check(&t);
    for (size_t n = whole + 1; !bad && n <= t.len; n++)
        assert_string_equal(lz_native_entry_read((lz_str){ t.ptr, n }, &e), "something was added to it");
    lz_text_deinit(&t);
    return bad;
}

static lz_err *test_each_bit_counts(void)
{
    lz_text t = { 0 };
    lz_native_entry e;
    LZ_TRY(write_entry(part(0, 21), part(30, 100), &t));
    for (size_t bit = 0; bit < 8 * t.len; bit++) {
        t.ptr[bit / 8] = (char)(t.ptr[bit / 8] ^ (1 << bit % 8));
        assert_non_null(lz_native_entry_read(lz_text_view(&t), &e));
        t.ptr[bit / 8] = (char)(t.ptr[bit / 8] ^ (1 << bit % 8));
    }
    assert_null(lz_native_entry_read(lz_text_view(&t), &e));
    lz_text_deinit(&t);
    return NULL;
}

/* Sizes that would lead out of the bytes, or around. */
static lz_err *test_sizes(void)
{
    static const unsigned char huge[] = { 0xff, 0x7f, 0x40, 0x04 };
    lz_text t = { 0 };
    lz_native_entry e;
    LZ_TRY(write_entry(part(0, 16), part(30, 64), &t));
    for (size_t at = 16; at < 32; at++)
        for (size_t i = 0; i < sizeof huge; i++) {
            char was = t.ptr[at];
            t.ptr[at] = (char)huge[i];
            assert_true(lz_native_entry_read(lz_text_view(&t), &e) != NULL || was == t.ptr[at]);
            t.ptr[at] = was;
        }
    lz_text_deinit(&t);
    lz_str large = { noise, LZ_ENTRY_MOST };
    assert_int_equal(lz_native_entry_size(large, (lz_str){ 0 }), 0);
    assert_int_equal(lz_native_entry_size((lz_str){ 0 }, large), 0);
    assert_int_equal(lz_native_entry_size((lz_str){ noise, SIZE_MAX }, (lz_str){ noise, SIZE_MAX }), 0);
    return NULL;
}

static lz_err *test_names(void)
{
    char one[LZ_ENTRY_NAME], two[LZ_ENTRY_NAME];
    lz_native_entry_name(part(0, 20), one);
    lz_native_entry_name(part(0, 21), two);
    assert_string_not_equal(one, two);
    assert_true(lz_native_entry_is_name(lz_str_of(one)));
    assert_false(lz_native_entry_is_name(lz_str_sub(lz_str_of(one), 1, 39)));
    assert_false(lz_native_entry_is_name(LZ_STR("lock")));
    assert_false(lz_native_entry_is_name(LZ_STR("")));
    one[3] = 'G';
    assert_false(lz_native_entry_is_name(lz_str_of(one)));
    two[38] = 'x';
    assert_false(lz_native_entry_is_name(lz_str_of(two)));
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_round_trip), LZ_TEST(test_lengths), LZ_TEST(test_each_bit_counts),
        LZ_TEST(test_sizes),      LZ_TEST(test_names),
    };
    make_noise();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
