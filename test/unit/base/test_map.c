#include "base/arena.h"
#include "base/map.h"
#include "check.h"

/* The slow simple version: a list searched from the front. */
enum { KEYS = 64 };
typedef struct plain {
    int order[4096], n;
    void *value[KEYS];
} plain;

static uint32_t next_random(uint32_t *s)
{
    *s = *s * 1664525u + 1013904223u;
    return *s >> 8;
}

static void plain_remove(plain *p, int key)
{
    int kept = 0;
    for (int i = 0; i < p->n; i++)
        if (p->order[i] != key)
            p->order[kept++] = p->order[i];
    p->n = kept;
    p->value[key] = NULL;
}

static void same(const lz_map *m, const plain *p, lz_str *keys)
{
    int i = 0;
    assert_int_equal(lz_map_count(m), p->n);
    for (lz_map_entry *e = lz_map_next(m, NULL); e; e = lz_map_next(m, e), i++) {
        assert_true(lz_str_eq(e->key, keys[p->order[i]]));
        assert_ptr_equal(e->value, p->value[p->order[i]]);
        assert_ptr_equal(lz_map_get(m, e->key), e->value);
    }
    assert_int_equal(i, p->n);
}

static lz_err *random_operations(lz_map *m, lz_arena *a)
{
    static char cells[4096];
    plain p = { .n = 0 };
    lz_str keys[KEYS];
    uint32_t seed = 7;
    for (int i = 0; i < KEYS; i++)
        LZ_TRY(lz_arena_printf(a, &keys[i], "key%d", i * i));
    for (int step = 0; step < 4000; step++) {
        int k = (int)(next_random(&seed) % KEYS);
        if (next_random(&seed) % 3 == 0) {
            assert_int_equal(lz_map_remove(m, keys[k]), p.value[k] != NULL);
            plain_remove(&p, k);
        } else {
            LZ_TRY(lz_map_put(m, keys[k], &cells[step]));
            if (!p.value[k])
                p.order[p.n++] = k;
            p.value[k] = &cells[step];
        }
        if (step % 97 == 0)
            same(m, &p, keys);
    }
    same(m, &p, keys);
    return NULL;
}

static lz_err *test_agrees_with_a_list(void)
{
    lz_map m = { 0 };
    lz_arena a = { 0 };
    lz_err *e = random_operations(&m, &a);
    lz_map_deinit(&m);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_keys_are_bytes(void)
{
    lz_map m = { 0 };
    int one = 1, two = 2;
    const uint64_t number = 0x0001000200030004u;
    lz_err *e = lz_map_put(&m, (lz_str){ "a\0b", 3 }, &one);
    e = e ? e : lz_map_put(&m, (lz_str){ (const char *)&number, sizeof number }, &two);
    e = e ? e : lz_map_put(&m, LZ_STR(""), &two);
    if (!e) {
        assert_ptr_equal(lz_map_get(&m, (lz_str){ "a\0b", 3 }), &one);
        assert_null(lz_map_find(&m, LZ_STR("a")));
        assert_ptr_equal(lz_map_get(&m, (lz_str){ (const char *)&number, sizeof number }), &two);
        assert_ptr_equal(lz_map_get(&m, (lz_str){ NULL, 0 }), &two);
    }
    lz_map_deinit(&m);
    return e;
}

static lz_err *test_an_empty_map_answers(void)
{
    lz_map m = { 0 };
    assert_null(lz_map_find(&m, LZ_STR("x")));
    assert_false(lz_map_remove(&m, LZ_STR("x")));
    assert_null(lz_map_next(&m, NULL));
    assert_int_equal(lz_map_count(&m), 0);
    lz_map_deinit(&m);
    return NULL;
}

static lz_err *put_many(lz_map *m, lz_arena *a)
{
    for (int i = 0; i < 50000; i++) {
        lz_str key;
        LZ_TRY(lz_arena_printf(a, &key, "%d", i));
        LZ_TRY(lz_map_put(m, key, (void *)(key.ptr)));
    }
    assert_int_equal(lz_map_count(m), 50000);
    assert_non_null(lz_map_find(m, LZ_STR("49999")));
    return NULL;
}

static lz_err *test_grows(void)
{
    lz_map m = { 0 };
    lz_arena a = { 0 };
    lz_err *e = put_many(&m, &a);
    lz_map_deinit(&m);
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_agrees_with_a_list),
        LZ_TEST(test_keys_are_bytes),
        LZ_TEST(test_an_empty_map_answers),
        LZ_TEST(test_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
