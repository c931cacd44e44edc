#include "base/slab.h"
#include "check.h"
#include <string.h>

enum { SIZE = 48, MANY = 100000, EVERY = 5000 };

typedef struct object {
    uint64_t number;
    char rest[SIZE - sizeof(uint64_t)];
} object;

/* Those that were given back, or all: where keep is 0. */
static lz_err *take(lz_slab *s, object **all, uint64_t keep)
{
    for (uint64_t i = 0; i < MANY; i++) {
        if (keep && i % keep == 0)
            continue;
        all[i] = lz_slab_take(s);
        if (!all[i])
            return lz_err_oom();
        all[i]->number = i;
        memset(all[i]->rest, (int)(i % 251), sizeof all[i]->rest);
    }
    return NULL;
}

static void check(const object *o, uint64_t number)
{
    assert_int_equal(o->number, number);
    for (size_t i = 0; i < sizeof o->rest; i++)
        assert_int_equal((unsigned char)o->rest[i], number % 251);
}

/* All but every EVERY-th object, in no particular order. */
static void give_most(lz_slab *s, object **all)
{
    for (size_t i = 0; i < MANY; i++)
        if (i * 7 % MANY % EVERY)
            lz_slab_give(s, all[i * 7 % MANY]);
}

/* What lives stays where it is, empty chunks go, and what is taken next overlaps nothing. */
static lz_err *trim_most(lz_slab *s, object **all)
{
    LZ_TRY(take(s, all, 0));
    size_t room = s->room;
    lz_slab_trim(s); /* nothing to free */
    assert_int_equal(s->room, room);
    give_most(s, all);
    lz_slab_trim(s);
    assert_int_equal(s->live, MANY / EVERY);
    LZ_TRY(take(s, all, EVERY));
    for (uint64_t i = 0; i < MANY; i++)
        check(all[i], i);
    return NULL;
}

static lz_err *test_trim(void)
{
    static object *all[MANY];
    lz_slab s;
    lz_slab_init(&s, SIZE);
    lz_slab_trim(&s); /* nothing there yet */
    lz_err *e = trim_most(&s, all);
    lz_slab_deinit(&s);
    return e;
}

/* With one object left, its own chunk stays and the newest one. */
static lz_err *test_trim_to_one(void)
{
    static object *all[MANY];
    lz_slab s;
    lz_slab_init(&s, SIZE);
    lz_err *e = take(&s, all, 0);
    for (size_t i = 1; !e && i < MANY; i++)
        lz_slab_give(&s, all[i * 31 % (MANY - 1) + 1]); /* in no order: each but the first once */
    lz_slab_trim(&s);
    if (!e) {
        check(all[0], 0);
        assert_int_equal(s.live, 1);
        assert_true(lz_check_failing() || s.room * SIZE <= (2 << 20));
    }
    lz_slab_deinit(&s);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_trim), LZ_TEST(test_trim_to_one) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
