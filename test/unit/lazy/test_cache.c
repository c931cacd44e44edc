#include "check.h"
#include "handmade_nodes.h"
#include "lazy/cache.h"
#include "lazy/canon.h"
#include <pthread.h>

/* Graphs differ in the number of negations; executables are shells, which cost nothing. */

static lz_err *chain(desk *d, size_t x, int n, size_t *out)
{
    *out = x;
    for (int i = 0; i < n; i++)
        LZ_TRY(desk_op(d, "neg", *out, *out, 1, i, out));
    return desk_walk(d, out, 1);
}

static lz_err *shell_of(const lz_flat *f, lz_executable **out)
{
    lz_compile_request o = { .words = f->words, .keep = f->n };
    return lz_executable_shell(&o, out);
}

/* Looks for the walk's graph; puts a shell there if it is not. *had: it was. */
static lz_err *look(desk *d, lz_cache *c, bool *had)
{
    lz_cache_lookup t;
    uint32_t room[4];
    LZ_TRY(lz_cache_find(c, &d->walk.flat, d->walk.locs.data, room, &t));
    *had = t.executable != NULL;
    lz_executable *r = t.executable;
    lz_err *e = r ? NULL : shell_of(&d->walk.flat, &r);
    if (!*had)
        lz_cache_finish(c, t.to_make, r);
    lz_executable_release(r);
    return e;
}

static lz_err *least_recent_goes(desk *d, lz_cache *c)
{
    /* room for two: 1 2 1 3 leaves 1 and 3 */
    static const int lengths[] = { 1, 2, 1, 3, 1, 2 };
    static const bool there[] = { false, false, true, false, true, false };
    size_t x, out;
    LZ_TRY(desk_data(d, 1, &x));
    for (size_t i = 0; i < 6; i++) {
        bool had;
        LZ_TRY(chain(d, x, lengths[i], &out));
        LZ_TRY(look(d, c, &had));
        assert_int_equal(had, there[i]);
    }
    assert_int_equal(lz_cache_size(c), 2);
    assert_true(lz_cache_drop_hash(c, d->walk.flat.hash));
    assert_false(lz_cache_drop_hash(c, d->walk.flat.hash));
    assert_int_equal(lz_cache_size(c), 1);
    lz_cache_drop(c);
    assert_int_equal(lz_cache_size(c), 0);
    return NULL;
}

/* Graphs of the same size: when room is made for two and a half, the third drives out the first. */
static lz_err *bytes_are_bounded(desk *d, lz_cache *c)
{
    size_t x, out, one = 0;
    bool had;
    LZ_TRY(desk_data(d, 1, &x));
    lz_cache_set_limit(c, 100);
    for (int i = 1; i <= 5; i++) {
        LZ_TRY(chain(d, x, 3 + i % 3, &out));
        LZ_TRY(look(d, c, &had));
        assert_false(had);
        if (i == 1)
            one = lz_cache_measure(c).all;
        assert_true(one > 8 * d->walk.flat.n / 2);
        lz_cache_set_bytes(c, 5 * one / 2);
        assert_true(lz_cache_measure(c).all <= 5 * one / 2);
        assert_in_range(lz_cache_size(c), 1, 2);
    }
    lz_cache_set_bytes(c, 1); /* the newest stays */
    assert_int_equal(lz_cache_size(c), 1);
    LZ_TRY(look(d, c, &had));
    assert_true(had);
    lz_cache_drop(c);
    assert_int_equal(lz_cache_measure(c).all, 0);
    return NULL;
}

/* Equal hashes are not enough. */
static lz_err *words_decide(desk *d, lz_cache *c)
{
    size_t x, out;
    bool had;
    LZ_TRY(desk_data(d, 1, &x));
    LZ_TRY(chain(d, x, 1, &out));
    LZ_TRY(look(d, c, &had));
    lz_hash hash = d->walk.flat.hash;
    LZ_TRY(chain(d, x, 2, &out));
    d->walk.flat.hash = hash;
    LZ_TRY(look(d, c, &had));
    assert_false(had);
    LZ_TRY(chain(d, x, 1, &out));
    LZ_TRY(look(d, c, &had));
    assert_true(had);
    return NULL;
}

typedef lz_err *cache_test(desk *d, lz_cache *c);

static lz_err *with_cache(cache_test *test)
{
    desk d;
    lz_cache *c = NULL;
    LZ_TRY(desk_open(&d));
    lz_err *e = lz_cache_create(2, SIZE_MAX, &c);
    if (!e)
        e = test(&d, c);
    lz_cache_destroy(c);
    desk_close(&d);
    return e;
}

static lz_err *test_least_recent_goes(void)
{
    return with_cache(least_recent_goes);
}

static lz_err *test_words_decide(void)
{
    return with_cache(words_decide);
}

static lz_err *test_bytes_are_bounded(void)
{
    return with_cache(bytes_are_bounded);
}

/* ---- one compiles, the others wait ---- */

typedef struct waiter {
    lz_cache *cache;
    const lz_flat *flat;
    const lz_loc *locs;
    bool got;
} waiter;

static void *wait_for_it(void *user)
{
    waiter *w = user;
    lz_cache_lookup t;
    uint32_t room[4];
    lz_err *e = lz_cache_find(w->cache, w->flat, w->locs, room, &t);
    w->got = !e && t.executable;
    if (!e)
        lz_executable_release(t.executable);
    lz_err_free(e);
    return NULL;
}

static lz_err *others_wait(desk *d, lz_cache *c)
{
    size_t x, out;
    lz_cache_lookup t;
    uint32_t room[4];
    lz_executable *r = NULL;
    LZ_TRY(desk_data(d, 1, &x));
    LZ_TRY(chain(d, x, 1, &out));
    LZ_TRY(lz_cache_find(c, &d->walk.flat, d->walk.locs.data, room, &t));
    lz_err *e = shell_of(&d->walk.flat, &r);
    waiter w[3];
    pthread_t threads[3];
    bool wait = !e && !lz_check_failing();
    for (int i = 0; wait && i < 3; i++) {
        w[i] = (waiter){ c, &d->walk.flat, d->walk.locs.data, false };
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_it, &w[i]), 0);
    }
    lz_cache_finish(c, t.to_make, r);
    for (int i = 0; wait && i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_true(w[i].got);
    }
    lz_executable_release(r);
    return e;
}

static lz_err *test_others_wait(void)
{
    return with_cache(others_wait);
}

/* ---- the walk ---- */

/* a(b, c), b(d), c(d): operands before users, each once. */
static lz_err *test_diamond(void)
{
    desk d;
    size_t x, b, c, a;
    LZ_TRY(desk_open(&d));
    lz_err *e = desk_data(&d, 1, &x);
    if (!e)
        e = desk_op(&d, "neg", x, x, 1, 1, &b);
    if (!e)
        e = desk_op(&d, "relu", x, x, 1, 2, &c);
    if (!e)
        e = desk_op(&d, "add.Tensor", b, c, 1, 3, &a);
    if (!e)
        e = desk_walk(&d, &a, 1);
    if (!e) {
        const size_t order[] = { x, b, c, a };
        assert_int_equal(d.walk.nodes.len, 4);
        for (size_t i = 0; i < 4; i++)
            assert_ptr_equal(d.walk.nodes.data[i], d.v[order[i]].node);
    }
    desk_close(&d);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_least_recent_goes), LZ_TEST(test_words_decide), LZ_TEST(test_bytes_are_bounded),
        LZ_TEST(test_others_wait),       LZ_TEST(test_diamond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
