#include "check.h"
#include "core/device.h"
#include "lazy/registry.h"
#include <stdio.h>

/* LZ_PLUGIN_DIR/bad_N.so has mistake N of test/plugin/bad_backend.c; 0 has none. */

typedef struct refusal {
    const char *file;
    lz_code code;
    const char *why;
} refusal;

static const refusal refusals[] = {
    { "bad_1.so", LZ_ERR_UNSUPPORTED, "has version 2 of the interface, expected version 1" },
    { "bad_2.so", LZ_ERR_MODEL, "24 bytes and ends before the required entries" },
    { "bad_3.so", LZ_ERR_MODEL, "required entry execute_computation is missing" },
    { "bad_4.so", LZ_ERR_NOT_FOUND, "the backend has no devices" },
    { "bad_5.so", LZ_ERR_UNSUPPORTED, "returned NULL for version 1.2" },
    { "absent.so", LZ_ERR_NOT_FOUND, "absent.so" },
};

static lz_err *test_refusals(void)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", LZ_PLUGIN_DIR, refusals[i].file);
        LZ_TRY(lz_check_err(lz_backend_load(path, NULL), refusals[i].code, refusals[i].why));
        assert_false(lz_has_backend("bad"));
    }
    LZ_TRY(lz_check_err(lz_backend_load(NULL, NULL), LZ_ERR_ARG, "the path is NULL"));
    LZ_TRY(lz_check_err(lz_backend_load(LZ_SOURCE_DIR "/test/unit/lazy/test_load.c", NULL), LZ_ERR_NOT_FOUND,
                        "test_load.c"));
    return lz_check_err(lz_backend_load("libm.so.6", NULL), LZ_ERR_NOT_FOUND, "lazuli_backend");
}

static lz_err *test_loads(void)
{
    int16_t type;
    lz_device d;
    LZ_TRY(lz_backend_load(LZ_PLUGIN_DIR "/bad_0.so", &type));
    assert_string_equal(lz_get_backend("bad")->name, "bad");
    lz_err *e = lz_check_err(lz_backend_load(LZ_PLUGIN_DIR "/bad_0.so", NULL), LZ_ERR_BUSY, "taken");
    if (!e)
        e = lz_backend_load_all(LZ_PLUGIN_DIR "/bad_0.so"); /* is there already */
    if (!e)
        e = lz_device_parse(LZ_STR("bad:0"), &d);
    assert_true(e || (d.type == type && d.index == 0));
    lz_backend_forget(type);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_refusals), LZ_TEST(test_loads) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
