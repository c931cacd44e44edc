#include "base/hash.h"
#include "check.h"

/* Values published with XXH3 (seed 0, secret default): the empty input, and the
 * generator sequence of its own sanity check. */
static lz_err *test_known_values(void)
{
    char hex[LZ_HASH_CHARS];
    lz_hash_print(lz_hash_bytes("", 0), hex);
    assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
    assert_true(lz_hash64("", 0) == 0x2d06800538d394c2u);
    return NULL;
}

static lz_err *test_order_and_content_matter(void)
{
    lz_hash a = lz_hash_bytes("a", 1), b = lz_hash_bytes("b", 1);
    assert_false(lz_hash_eq(a, b));
    assert_true(lz_hash_eq(a, lz_hash_bytes("a", 1)));
    assert_false(lz_hash_eq(lz_hash_mix(a, b), lz_hash_mix(b, a)));
    assert_false(lz_hash_eq(lz_hash_add(a, 1), lz_hash_add(a, 2)));
    assert_false(lz_hash_eq(lz_hash_mix(a, a), a));
    assert_true(lz_hash64_pair(1, 2) == lz_hash64((const uint64_t[]){ 1, 2 }, 16));
    assert_true(lz_hash64_pair(1, 2) != lz_hash64_pair(2, 1));
    assert_false(lz_hash_eq(lz_hash_word(a, 1), lz_hash_word(a, 2)));
    assert_false(lz_hash_eq(lz_hash_word(lz_hash_word(a, 1), 2), lz_hash_word(lz_hash_word(a, 2), 1)));
    assert_true(lz_hash_word64(7, 1) != lz_hash_word64(7, 2));
    return NULL;
}

/* Flipping any single input bit should flip about half of the output bits. */
static lz_err *test_avalanche(void)
{
    uint64_t in[4] = { 1, 2, 3, 4 };
    lz_hash base = lz_hash_bytes(in, sizeof in);
    for (int bit = 0; bit < 256; bit++) {
        in[bit / 64] ^= 1ull << (bit % 64);
        lz_hash h = lz_hash_bytes(in, sizeof in);
        in[bit / 64] ^= 1ull << (bit % 64);
        int flipped = __builtin_popcountll(h.lo ^ base.lo) + __builtin_popcountll(h.hi ^ base.hi);
        assert_in_range(flipped, 30, 98);
    }
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_known_values),
        LZ_TEST(test_order_and_content_matter),
        LZ_TEST(test_avalanche),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
