#include "check.h"
#include "core/device.h"
#include <pthread.h>
#include <stdio.h>

static lz_err *parse(const char *text, lz_device *out)
{
    return lz_device_parse(lz_str_of(text), out);
}

static lz_err *test_cpu_is_there_from_the_start(void)
{
    lz_device d = LZ_DEVICE_NONE;
    lz_err *e = parse("cpu", &d);
    if (e)
        return e;
    assert_true(d.type == 0 && d.index == -1);
    assert_int_equal(lz_device_count(0), 1);
    assert_string_equal(lz_device_name(0), "cpu");
    e = lz_device_check(LZ_DEVICE_CPU);
    return e ? e : lz_device_check(d);
}

static lz_err *test_what_is_printed_is_parsed(void)
{
    static const char *const texts[] = { "cuda", "cuda:0", "cuda:1", "cuda:32766", "cpu:0", "lazy:7" };
    int16_t cuda, lazy;
    lz_err *e = lz_device_register(LZ_STR("cuda"), 2, &cuda);
    if (!e)
        e = lz_device_register(LZ_STR("lazy"), 1, &lazy);
    for (size_t i = 0; !e && i < sizeof texts / sizeof *texts; i++) {
        lz_device d;
        char text[LZ_DEVICE_CHARS];
        e = parse(texts[i], &d);
        if (!e)
            assert_string_equal(lz_device_print(d, text), texts[i]);
    }
    if (!e)
        assert_true(cuda > 0 && lazy > 0 && cuda != lazy);
    return e;
}

static lz_err *test_a_name_keeps_its_number(void)
{
    int16_t first, again;
    lz_err *e = lz_device_register(LZ_STR("xpu"), 4, &first);
    if (!e)
        e = lz_device_register(LZ_STR("xpu"), 3, &again);
    if (!e) {
        assert_int_equal(first, again);
        assert_int_equal(lz_device_count(first), 3);
        e = lz_device_check((lz_device){ first, 2 });
    }
    if (!e)
        e = lz_check_err(lz_device_check((lz_device){ first, 3 }), LZ_ERR_ARG,
                         "xpu:3: no such device; there are 3");
    return e;
}

static lz_err *test_malformed_devices_are_refused(void)
{
    static const char *const texts[] = { "",
                                         ":",
                                         "cpu:",
                                         "cpu:01",
                                         "cpu:-1",
                                         "cpu:+1",
                                         "cpu: 1",
                                         "cpu:1:2",
                                         "c pu",
                                         "cpu1",
                                         "cpu:1a",
                                         " cpu",
                                         "cpu ",
                                         "cpu:32767",
                                         "cpu:99999999999999999999",
                                         "a_name_that_is_longer_than_there_is_room_for" };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof texts / sizeof *texts; i++) {
        lz_device d;
        e = lz_check_err(parse(texts[i], &d), LZ_ERR_SYNTAX, "Invalid device string");
    }
    return e;
}

static lz_err *test_an_unknown_type_says_what_there_is(void)
{
    lz_device d;
    lz_err *e = lz_check_err(parse("quantum:1", &d), LZ_ERR_NOT_FOUND,
                             "no device type 'quantum' is registered; there is cpu");
    if (!e)
        e = lz_check_err(lz_device_check((lz_device){ 31, 0 }), LZ_ERR_ARG, "no such device type");
    if (!e)
        e = lz_check_err(lz_device_check(LZ_DEVICE_NONE), LZ_ERR_ARG, "none: no such device type");
    assert_null(lz_device_name(31));
    assert_int_equal(lz_device_count(-1), 0);
    return e;
}

static lz_err *test_names_and_counts_are_bounded(void)
{
    static const char *const names[] = {
        "", "a1", "a b", "cuda:1", "a-b", "0", "abcdefghijklmnopqrstuvwxyzabcdef"
    };
    int16_t type;
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof names / sizeof *names; i++)
        e = lz_check_err(lz_device_register(lz_str_of(names[i]), 1, &type), LZ_ERR_ARG,
                         "cannot name a device type");
    if (!e)
        e = lz_check_err(lz_device_register(LZ_STR("bad"), -1, &type), LZ_ERR_ARG, "-1 devices");
    if (!e)
        e = lz_check_err(lz_device_register(LZ_STR("bad"), 40000, &type), LZ_ERR_ARG, "40000 devices");
    return e;
}

enum { THREADS = 4 };

static void *register_many(void *arg)
{
    int16_t *out = arg;
    for (int16_t i = 0; i < 8; i++) {
        char name[] = "threadA";
        name[6] = (char)('A' + i);
        lz_err_free(lz_device_register(lz_str_of(name), i, &out[i]));
    }
    return NULL;
}

/* Threads that register the same names at once agree about the numbers. */
static lz_err *test_threads_agree(void)
{
    pthread_t t[THREADS];
    int16_t types[THREADS][8];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, register_many, types[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    for (int i = 1; i < THREADS; i++)
        assert_memory_equal(types[0], types[i], sizeof types[0]);
    return NULL;
}

/* The last test: it leaves no room. */
static lz_err *test_there_is_room_for_so_many(void)
{
    char name[] = "fillAA";
    int16_t type;
    lz_err *e = NULL;
    while (!e && lz_device_types() < LZ_DEVICE_TYPES) {
        name[4] = (char)('A' + lz_device_types() / 26);
        name[5] = (char)('A' + lz_device_types() % 26);
        e = lz_device_register(lz_str_of(name), 0, &type);
    }
    if (!e)
        e = lz_check_err(lz_device_register(LZ_STR("onemore"), 1, &type), LZ_ERR_LIMIT, "no room");
    assert_int_equal(lz_device_types(), LZ_DEVICE_TYPES);
    return e ? e : lz_device_register(LZ_STR("cpu"), 1, &type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_cpu_is_there_from_the_start),
        LZ_TEST(test_what_is_printed_is_parsed),
        LZ_TEST(test_a_name_keeps_its_number),
        LZ_TEST(test_malformed_devices_are_refused),
        LZ_TEST(test_an_unknown_type_says_what_there_is),
        LZ_TEST(test_names_and_counts_are_bounded),
        LZ_TEST(test_threads_agree),
        LZ_TEST(test_there_is_room_for_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
