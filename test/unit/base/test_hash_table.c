#include "base/hash.h"
#include "base/hash_table.h"
#include "check.h"

/* The slow simple version: a list of numbers searched from the front. */
enum { ITEMS = 512, STEPS = 6000, KINDS = 5 };

typedef struct thing {
    uint32_t number;
    int kind;
    bool there;
    lz_hash_link link; /* anywhere in an item */
} thing;

/* From well mixed to all equal: what is found must not depend on it. */
static uint64_t hash_of_number(uint32_t number, int kind)
{
    const uint64_t hashes[KINDS] = { lz_hash_word64(1, number), number, number % 7, 42,
                                     (uint64_t)number << 40 };
    return hashes[kind];
}

static uint64_t hash_of(const void *item)
{
    const thing *x = item;
    return hash_of_number(x->number, x->kind);
}

static bool is_number(const void *item, const void *key)
{
    return ((const thing *)item)->number == *(const uint32_t *)key;
}

static const lz_hash_kind things_by_number = { offsetof(thing, link), hash_of };

static uint32_t next_random(uint32_t *s)
{
    *s = *s * 1664525u + 1013904223u;
    return *s >> 8;
}

static const thing *plain_find(const thing *things, uint32_t number)
{
    for (int i = 0; i < ITEMS; i++)
        if (things[i].there && things[i].number == number)
            return &things[i];
    return NULL;
}

static thing *find(const lz_hash_table *t, uint32_t number, int kind)
{
    return lz_hash_table_find(t, &things_by_number, hash_of_number(number, kind), is_number, &number);
}

static void same(const lz_hash_table *t, const thing *things, int kind)
{
    size_t n = 0, seen = 0;
    for (uint32_t i = 0; i < ITEMS; i++) {
        assert_ptr_equal(find(t, i, kind), plain_find(things, i));
        n += things[i].there;
    }
    assert_int_equal(t->count, n);
    for (thing *x = NULL; (x = lz_hash_table_next(t, &things_by_number, x)); seen++)
        assert_true(x->there);
    assert_int_equal(seen, n);
}

static lz_err *random_operations(lz_hash_table *t, thing *things, int kind)
{
    uint32_t seed = (uint32_t)kind + 1;
    for (int step = 0; step < STEPS; step++) {
        uint32_t i = next_random(&seed) % (kind == 3 ? 24 : ITEMS);
        thing *x = find(t, i, kind);
        assert_ptr_equal(x, plain_find(things, i));
        if (x) {
            lz_hash_table_remove(t, &things_by_number, x);
            x->there = false;
        } else {
            LZ_TRY(lz_hash_table_reserve(t, &things_by_number));
            lz_hash_table_add(t, &things_by_number, hash_of_number(i, kind), &things[i]);
            things[i].there = true;
        }
        if (step % 501 == 0)
            same(t, things, kind);
    }
    same(t, things, kind);
    return NULL;
}

static lz_err *agree(lz_hash_table *t, int kind)
{
    thing things[ITEMS];
    for (uint32_t i = 0; i < ITEMS; i++)
        things[i] = (thing){ .number = i, .kind = kind };
    LZ_TRY(random_operations(t, things, kind));
    lz_hash_table_clear(t);
    for (uint32_t i = 0; i < ITEMS; i++)
        things[i].there = false;
    same(t, things, kind);
    return random_operations(t, things, kind); /* once more in the memory that is there */
}

static lz_err *test_agrees_with_a_list(void)
{
    lz_err *e = NULL;
    for (int kind = 0; !e && kind < KINDS; kind++) {
        lz_hash_table t = { 0 };
        e = agree(&t, kind);
        lz_hash_table_deinit(&t);
    }
    return e;
}

/* A table that cannot grow keeps what it has, and takes more once there is memory again. */
static lz_err *test_growing_fails_whole(void)
{
    static thing things[ITEMS];
    lz_hash_table t = { 0 };
    lz_err *first = NULL;
    size_t added = 0;
    for (uint32_t i = 0; i < ITEMS; i++) {
        things[i] = (thing){ .number = i };
        lz_err *e = lz_hash_table_reserve(&t, &things_by_number);
        if (!e) {
            lz_hash_table_add(&t, &things_by_number, hash_of(&things[i]), &things[i]);
            things[i].there = true;
            added++;
        }
        first = lz_err_first(first, e);
        assert_true(!t.count || t.count <= t.mask + 1);
    }
    same(&t, things, 0);
    assert_true(added == ITEMS || lz_check_failing());
    lz_hash_table_deinit(&t);
    assert_int_equal(t.count, 0);
    return first;
}

/* Items may go while they are looked at, each after the next one is known. */
static lz_err *test_removing_all(void)
{
    static thing things[ITEMS];
    lz_hash_table t = { 0 };
    lz_err *e = NULL;
    for (uint32_t i = 0; !e && i < ITEMS; i++) {
        things[i] = (thing){ .number = i, .kind = 2 };
        e = lz_hash_table_reserve(&t, &things_by_number);
        if (!e)
            lz_hash_table_add(&t, &things_by_number, hash_of(&things[i]), &things[i]);
    }
    for (thing *x = lz_hash_table_next(&t, &things_by_number, NULL), *next; x; x = next) {
        next = lz_hash_table_next(&t, &things_by_number, x);
        lz_hash_table_remove(&t, &things_by_number, x);
        assert_null(find(&t, x->number, 2));
    }
    assert_int_equal(t.count, 0);
    assert_null(lz_hash_table_next(&t, &things_by_number, NULL));
    lz_hash_table_deinit(&t);
    return e;
}

/* Keys as they come: small numbers, addresses, multiples of large powers of two. */
typedef struct numbered {
    lz_hash_entry entry;
    uint64_t count;
} numbered;

static lz_err *count_keys(lz_hash_table *t, lz_arena *a, uint64_t step)
{
    numbered *x;
    for (uint64_t i = 0; i < 3 * ITEMS; i++) {
        LZ_TRY(lz_hash_table_entry(t, a, i % ITEMS * step, &x));
        assert_int_equal(x->count++, i / ITEMS);
    }
    assert_int_equal(t->count, ITEMS);
    for (uint64_t i = 0; i < ITEMS; i++) {
        x = lz_hash_table_get(t, i * step);
        assert_true(x && x->entry.key == i * step && x->count == 3);
    }
    assert_null(lz_hash_table_get(t, ITEMS * step));
    return NULL;
}

/* Items of the fullest bucket. */
static size_t longest_chain(const lz_hash_table *t)
{
    size_t most = 0;
    for (size_t i = 0; i <= t->mask; i++) {
        size_t n = 0;
        for (void *x = t->buckets[i]; x; x = *lz_hash_next(&lz_hash_entries, x))
            n++;
        most = n > most ? n : most;
    }
    return most;
}

static lz_err *test_keys_are_numbers(void)
{
    static const uint64_t steps[] = {
        1, 8, 16, 48, 224, 4096, 1 << 21, UINT64_C(1) << 32, UINT64_C(1) << 48
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof steps / sizeof *steps; i++) {
        lz_hash_table t = { 0 };
        lz_arena a = { 0 };
        assert_null(lz_hash_table_get(&t, 7));
        e = count_keys(&t, &a, steps[i]);
        assert_true(e || longest_chain(&t) <= 16);
        lz_hash_table_deinit(&t);
        lz_arena_deinit(&a);
    }
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_agrees_with_a_list),
        LZ_TEST(test_growing_fails_whole),
        LZ_TEST(test_removing_all),
        LZ_TEST(test_keys_are_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
