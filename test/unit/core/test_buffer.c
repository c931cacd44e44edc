#include "base/mem.h"
#include "base/thread.h"
#include "check.h"
#include "core/buffer.h"
#include <stdlib.h>

static bool aligned(const lz_buffer *b, uintptr_t to)
{
    return (uintptr_t)b->data % to == 0;
}

/* Sizes around every power of two: aligned, writable to the last byte, at most an eighth
 * (or 64 bytes) larger than asked for. */
static lz_err *test_every_size_is_aligned_and_tight(void)
{
    lz_buffer_pool *p = NULL;
    lz_err *e = lz_buffer_pool_create(0, &p);
    for (int log = 0; !e && log < 24; log++)
        for (size_t d = 0; !e && d < 3; d++) {
            size_t size = ((size_t)1 << log) + d - 1;
            lz_buffer *b;
            e = lz_buffer_create(p, size, &b);
            if (e)
                break;
            size_t live = lz_buffer_pool_stats(p).live;
            memset(b->data, 0xab, size);
            assert_int_equal(b->size, size);
            assert_true(aligned(b, size >= LZ_BUFFER_HUGE ? 2 << 20 : LZ_BUFFER_ALIGN));
            assert_true(live >= size && live <= size + (size / 8 > 64 ? size / 8 : 64));
            lz_buffer_release(b);
            assert_int_equal(lz_buffer_pool_stats(p).live, 0);
        }
    lz_buffer_pool_release(p);
    return e;
}

static lz_err *test_a_released_buffer_comes_back(void)
{
    lz_buffer_pool *p = NULL;
    lz_buffer *b = NULL;
    lz_err *e = lz_buffer_pool_create(1 << 20, &p);
    if (!e)
        e = lz_buffer_create(p, 1000, &b);
    if (!e) {
        const void *data = b->data;
        lz_buffer_release(b);
        lz_buffer_stats s = lz_buffer_pool_stats(p);
        assert_int_equal(s.live, 0);
        assert_int_equal(s.cached, 1024);
        e = lz_buffer_create(p, 961, &b); /* of the same class */
        assert_null(e);                   /* as nothing is allocated */
        assert_ptr_equal(b->data, data);
        assert_int_equal(b->size, 961);
        s = lz_buffer_pool_stats(p);
        assert_true(s.cached == 0 && s.live == 1024 && s.made == 1 && s.reused == 1);
        lz_buffer_release(b);
        e = lz_buffer_create(p, 960, &b); /* of another */
    }
    if (!e) {
        assert_int_equal(lz_buffer_pool_stats(p).made, 2);
        lz_buffer_release(b);
    }
    lz_buffer_pool_release(p);
    return e;
}

/* Releases a block of 1 MiB and requests `size`: whether the block was reused. */
static lz_err *reuses_a_mebibyte(size_t size, bool brief, bool *out)
{
    lz_buffer_pool *p = NULL;
    lz_buffer *b = NULL;
    lz_err *e = lz_buffer_pool_create(4 << 20, &p);
    if (!e)
        e = lz_buffer_create(p, 1 << 20, &b);
    if (!e) {
        lz_buffer_release(b);
        e = (brief ? lz_buffer_create_brief : lz_buffer_create)(p, size, &b);
    }
    if (!e) {
        lz_buffer_stats s = lz_buffer_pool_stats(p);
        *out = s.reused == 1;
        assert_int_equal(s.live, lz_buffer_capacity(size));
        if (*out) /* otherwise the failure of an allocation may have freed the other block */
            assert_int_equal(s.live + s.cached, 1 << 20);
        memset(b->data, 1, size);
        lz_buffer_release(b);
        s = lz_buffer_pool_stats(p);
        assert_int_equal(s.live, 0);
        if (*out)
            assert_int_equal(s.cached, 1 << 20);
    }
    lz_buffer_pool_release(p);
    return e;
}

/* Up to half its size, or for a brief use for any large size. */
static lz_err *test_a_larger_block_is_reused(void)
{
    static const struct {
        size_t size;
        bool brief, reused;
    } cases[] = { { 1 << 20, false, true },
                  { 700000, false, true },
                  { 1 << 19, false, true },
                  { (1 << 19) - 65536, false, false },
                  { (1 << 19) - 65536, true, true },
                  { 70000, true, true },
                  { 30000, true, false },
                  { (1 << 20) + 1, true, false } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool reused = false;
        LZ_TRY(reuses_a_mebibyte(cases[i].size, cases[i].brief, &reused));
        assert_int_equal(reused, cases[i].reused);
    }
    return NULL;
}

static lz_err *make(lz_buffer_pool *p, size_t size, lz_buffer **b, size_t n)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < n; i++)
        e = lz_buffer_create(p, size << i, &b[i]);
    return e;
}

static void drop(lz_buffer **b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lz_buffer_release(b[i]);
}

/* 1, 2, 4 and 8 KiB, released in this order; the pool keeps 13. */
static lz_err *test_the_longest_unused_goes_first(void)
{
    lz_buffer_pool *p = NULL;
    lz_buffer *b[4] = { 0 }, *again = NULL;
    lz_err *e = lz_buffer_pool_create(13 << 10, &p);
    if (!e)
        e = make(p, 1024, b, 4);
    bool all = !e;
    drop(b, 4);
    if (all) {
        assert_int_equal(lz_buffer_pool_stats(p).cached, 12 << 10);
        assert_int_equal(lz_buffer_pool_stats(p).peak, 15 << 10);
        lz_buffer_pool_trim(p, 9 << 10);
        assert_int_equal(lz_buffer_pool_stats(p).cached, 8 << 10);
        assert_null(lz_buffer_create(p, 8192, &again));
        assert_int_equal(lz_buffer_pool_stats(p).reused, 1);
        lz_buffer_release(again);
        lz_buffer_pool_trim(p, 0);
        assert_int_equal(lz_buffer_pool_stats(p).cached, 0);
        lz_buffer_pool_reset_peak(p);
        assert_int_equal(lz_buffer_pool_stats(p).peak, 0);
    }
    lz_buffer_pool_release(p);
    return e;
}

static lz_err *test_a_buffer_above_the_bound_drives_out_nobody(void)
{
    lz_buffer_pool *p = NULL;
    lz_buffer *b[2] = { 0 };
    lz_err *e = lz_buffer_pool_create(4096, &p);
    if (!e)
        e = lz_buffer_create(p, 1024, &b[0]);
    if (!e)
        e = lz_buffer_create(p, 1 << 20, &b[1]);
    drop(b, 2);
    if (!e)
        assert_int_equal(lz_buffer_pool_stats(p).cached, 1024);
    lz_buffer_pool_release(p);
    return e;
}

static lz_err *test_buffers_outlive_their_pool(void)
{
    lz_buffer_pool *p = NULL;
    lz_buffer *b[3] = { 0 };
    lz_err *e = lz_buffer_pool_create(SIZE_MAX, &p);
    if (!e)
        e = make(p, 100, b, 3);
    lz_buffer_release(b[0]);
    lz_buffer_pool_release(p);
    for (int i = 1; i < 3; i++)
        if (b[i])
            memset(b[i]->data, 1, b[i]->size);
    drop(b + 1, 2);
    return e;
}

/* With one block failing, what is cached goes, and the second attempt succeeds. */
static lz_err *test_the_cache_gives_way_when_memory_is_out(void)
{
    lz_buffer_pool *p = NULL;
    lz_buffer *b = NULL;
    lz_err *e = lz_buffer_pool_create(SIZE_MAX, &p);
    if (!e)
        e = lz_buffer_create(p, 5000, &b);
    lz_buffer_release(b);
    b = NULL;
    size_t cached = p ? lz_buffer_pool_stats(p).cached : 0;
    if (!e)
        e = lz_buffer_create(p, 10000, &b);
    if (b && lz_check_failing() && cached && lz_buffer_pool_stats(p).cached == 0)
        assert_int_equal(lz_buffer_pool_stats(p).live, 10240);
    lz_buffer_release(b);
    if (!e)
        e = lz_check_err(lz_buffer_create(p, SIZE_MAX, &b), LZ_ERR_MEMORY, "exceed the address space");
    lz_buffer_pool_release(p);
    return e;
}

static lz_err *test_without_a_pool(void)
{
    lz_buffer *b = NULL;
    lz_err *e = lz_buffer_create(NULL, 0, &b);
    if (!e) {
        assert_non_null(b->data);
        assert_int_equal(b->size, 0);
        assert_true(lz_buffer_is_exclusive(b));
        assert_ptr_equal(lz_buffer_retain(b), b);
        assert_false(lz_buffer_is_exclusive(b));
        lz_buffer_release(b);
        assert_true(lz_buffer_is_exclusive(b));
    }
    lz_buffer_release(b);
    lz_buffer_release(NULL);
    lz_buffer_pool_release(NULL);
    return e;
}

typedef struct foreign {
    int drops;
    void *data;
    size_t size;
} foreign;

static void on_drop(void *user, void *data, size_t size)
{
    foreign *f = user;
    *f = (foreign){ f->drops + 1, data, size };
}

static lz_err *test_foreign_memory_is_handed_back_once(void)
{
    char bytes[10];
    foreign f = { 0 };
    lz_buffer *b = NULL;
    lz_err *e = lz_buffer_wrap(bytes + 1, 9, true, on_drop, &f, &b);
    if (!e) {
        assert_ptr_equal(b->data, bytes + 1);
        assert_false(lz_buffer_is_exclusive(b)); /* read-only */
        lz_buffer_retain(b);
        lz_buffer_release(b);
        assert_int_equal(f.drops, 0);
        lz_buffer_release(b);
        assert_true(f.drops == 1 && f.data == bytes + 1 && f.size == 9);
        e = lz_buffer_wrap(NULL, 0, false, NULL, NULL, &b);
    } else
        assert_int_equal(f.drops, 0);
    if (!e)
        lz_buffer_release(b);
    return e;
}

enum { THREADS = 4, ROUNDS = 3000, SHARED = 8 };

static struct {
    lz_buffer_pool *pool;
    lz_buffer *shared[SHARED];
} crowd;

/* Each fills its own buffers with its number and finds only that; the shared ones are
 * retained and released by all. */
static void *hammer(void *arg)
{
    unsigned char mark = *(unsigned char *)arg;
    uint32_t x = mark;
    for (int i = 0; i < ROUNDS; i++) {
        x = x * 1664525 + 1013904223;
        size_t size = (x >> 8) % 5000;
        lz_buffer *b;
        lz_err *e = lz_buffer_create(crowd.pool, size, &b);
        if (e) {
            lz_err_free(e);
            continue;
        }
        memset(b->data, mark, size);
        lz_buffer *s = lz_buffer_retain(crowd.shared[x % SHARED]);
        for (size_t k = 0; k < size; k += 97)
            if (((unsigned char *)b->data)[k] != mark)
                abort();
        lz_buffer_release(s);
        lz_buffer_release(b);
        if (i % 100 == 0)
            lz_buffer_pool_trim(crowd.pool, size * 10);
    }
    return NULL;
}

static lz_err *run_crowd(void)
{
    pthread_t t[THREADS];
    unsigned char marks[THREADS];
    int started = 0;
    lz_err *e = NULL;
    for (; !e && started < THREADS; started += !e) {
        marks[started] = (unsigned char)(started + 1);
        e = lz_thread_start("hammer", 1 << 18, hammer, &marks[started], &t[started]);
    }
    for (int i = 0; i < started; i++)
        pthread_join(t[i], NULL);
    return e;
}

static lz_err *test_threads_share_a_pool(void)
{
    static bool once;
    if (lz_check_failing() && once)
        return NULL; /* the order of allocations is another in each run */
    once = true;
    memset(&crowd, 0, sizeof crowd);
    lz_err *e = lz_buffer_pool_create(64 << 10, &crowd.pool);
    for (int i = 0; !e && i < SHARED; i++)
        e = lz_buffer_create(crowd.pool, 100, &crowd.shared[i]);
    if (!e)
        e = run_crowd();
    drop(crowd.shared, SHARED);
    if (!e) {
        lz_buffer_stats s = lz_buffer_pool_stats(crowd.pool);
        assert_int_equal(s.live, 0);
        assert_true(s.cached <= 64 << 10);
        assert_int_equal(s.made + s.reused, THREADS * ROUNDS + SHARED);
    }
    lz_buffer_pool_release(crowd.pool);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_every_size_is_aligned_and_tight),
        LZ_TEST(test_a_released_buffer_comes_back),
        LZ_TEST(test_a_larger_block_is_reused),
        LZ_TEST(test_the_longest_unused_goes_first),
        LZ_TEST(test_a_buffer_above_the_bound_drives_out_nobody),
        LZ_TEST(test_buffers_outlive_their_pool),
        LZ_TEST(test_the_cache_gives_way_when_memory_is_out),
        LZ_TEST(test_without_a_pool),
        LZ_TEST(test_foreign_memory_is_handed_back_once),
        LZ_TEST(test_threads_share_a_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
