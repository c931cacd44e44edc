#include "base/mem.h"
#include "check.h"
#include "core/device.h"
#include "fake_backend.h"
#include "lazy/backend_data.h"
#include "lazy/registry.h"

/* Names stay registered for the life of a process, backends are forgotten after each test. */

static lz_err *test_defaults_are_filled_in(void)
{
    fake_backend f;
    int16_t type;
    lz_memory_info info;
    lz_backend_device d;
    fake_backend_init(&f, "fake_one", 2);
    LZ_TRY(lz_backend_register(&f.table, &type));
    const lz_backend *b = lz_get_backend("fake_one");
    assert_non_null(b);
    assert_ptr_equal(b, lz_backend_of(type));
    assert_true(lz_has_backend("fake_one"));
    assert_false(lz_has_backend("fake_none"));
    assert_ptr_equal(b->self, &f);
    assert_int_equal(b->get_default_device_type(b->self), 3);
    assert_int_equal(b->get_default_device_ordinal(b->self), 0);
    assert_string_equal(b->create_metric_report(b->self), "");
    assert_int_equal(b->get_metrics(b->self, NULL, 0), 0);
    lz_err *e = b->get_memory_info(b->self, (lz_backend_device){ 3, 0 }, &info);
    assert_true(e || info.total_bytes == -1);
    assert_null(b->get_backend_device(b->self, (lz_device){ type, 1 }, &d));
    assert_true(d.type == 3 && d.ordinal == 1);
    lz_backend_forget(type);
    assert_null(lz_backend_of(type));
    return e;
}

static lz_err *test_what_is_left_out_is_known(void)
{
    fake_backend f;
    int16_t type;
    fake_backend_init(&f, "fake_one", 1);
    LZ_TRY(lz_backend_register(&f.table, &type));
    size_t n = 0, has = 0;
    for (const char *name; (name = lz_backend_entry_name(n)); n++) {
        bool is = lz_backend_has_entry(lz_backend_of(type), n);
        has += is;
        assert_int_equal(is, strcmp(name, "supports") == 0 || strcmp(name, "device_type_name") == 0);
        assert_int_equal(is, lz_backend_has_entry(&f.table, n));
    }
    assert_int_equal(has, 2);
    /* Every entry of the table is one of the required or one of these. */
    assert_int_equal(sizeof(lz_backend),
                     offsetof(lz_backend, get_backend_devices) + (7 + n) * sizeof(void *));
    lz_backend_forget(type);
    return NULL;
}

static lz_err *test_default_ordinal_is_checked(void)
{
    fake_backend f;
    int16_t type;
    lz_device d;
    fake_backend_init(&f, "fake_one", 2);
    LZ_TRY(lz_backend_register(&f.table, &type));
    const lz_backend *b = lz_backend_of(type);
    lz_err *e = lz_check_err(b->set_default_device_ordinal(b->self, 2), LZ_ERR_NOT_FOUND, "ordinal 2");
    if (!e)
        e = lz_check_err(b->set_default_device_type(b->self, 1), LZ_ERR_NOT_FOUND, "type 1");
    if (!e)
        e = b->set_default_device_ordinal(b->self, 1);
    if (!e)
        e = lz_backend_device_of((lz_device){ type, -1 }, &d);
    assert_true(e || d.index == 1);
    if (!e)
        e = lz_check_err(lz_backend_device_of((lz_device){ type, 2 }, &d), LZ_ERR_ARG, "no such device");
    lz_backend_forget(type);
    return e;
}

typedef struct refusal {
    void (*spoil)(lz_backend *b);
    lz_code code;
    const char *why;
} refusal;

static void no_compile(lz_backend *b)
{
    b->compile = NULL;
}
static void other_major(lz_backend *b)
{
    b->abi = (LZ_BACKEND_ABI + 1) << 16;
}
static void too_short(lz_backend *b)
{
    b->struct_size = offsetof(lz_backend, release_computation);
}
static void no_name(lz_backend *b)
{
    b->name = NULL;
}
static void bad_name(lz_backend *b)
{
    b->name = "fake 1";
}

static lz_err *test_refusals(void)
{
    static const refusal all[] = {
        { no_compile, LZ_ERR_MODEL, "required entry compile is missing" },
        { other_major, LZ_ERR_UNSUPPORTED, "has version 2 of the interface" },
        { too_short, LZ_ERR_MODEL, "ends before the required entries" },
        { no_name, LZ_ERR_MODEL, "the name is NULL" },
        { bad_name, LZ_ERR_ARG, "fake 1" },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        fake_backend f;
        fake_backend_init(&f, "fake_bad", 1);
        all[i].spoil(&f.table);
        LZ_TRY(lz_check_err(lz_backend_register(&f.table, NULL), all[i].code, all[i].why));
        assert_false(lz_has_backend("fake_bad"));
    }
    return NULL;
}

static lz_err *test_names_and_selves_are_one_backends_own(void)
{
    fake_backend f, g;
    int16_t type;
    fake_backend_init(&f, "fake_one", 1);
    fake_backend_init(&g, "fake_one", 1);
    LZ_TRY(lz_backend_register(&f.table, &type));
    lz_err *e = lz_check_err(lz_backend_register(&g.table, NULL), LZ_ERR_BUSY, "taken");
    g.table.name = "fake_two";
    g.table.self = &f;
    if (!e)
        e = lz_check_err(lz_backend_register(&g.table, NULL), LZ_ERR_BUSY, "self");
    lz_backend_forget(type);
    return e;
}

/* An older table ends earlier; a newer one goes on behind what we know. */
static lz_err *test_other_minor_versions(void)
{
    struct {
        fake_backend f;
        void *more[4];
    } newer;
    fake_backend older;
    int16_t type;
    fake_backend_init(&older, "fake_old", 1);
    older.table.struct_size = offsetof(lz_backend, supports);
    LZ_TRY(lz_backend_register(&older.table, &type));
    const lz_backend *b = lz_backend_of(type);
    assert_ptr_not_equal(b->supports, older.table.supports);
    assert_true(b->supports(b->self, NULL));
    lz_backend_forget(type);
    fake_backend_init(&newer.f, "fake_new", 1);
    newer.f.table.struct_size = sizeof(lz_backend) + sizeof newer.more;
    newer.f.table.abi += 7;
    LZ_TRY(lz_backend_register(&newer.f.table, &type));
    assert_ptr_equal(lz_backend_of(type)->supports, newer.f.table.supports);
    lz_backend_forget(type);
    return NULL;
}

/* ---- data ---- */

static const float numbers[6] = { 1, 2, 3, 4, 5, 6 };

static lz_err *upload(const lz_backend *b, lz_device d, lz_data **out)
{
    lz_host_tensor t = { .type = { LZ_F32, LZ_DIMS(2, 3) },
                         .strides = LZ_INTS(3, 1),
                         .data = (void *)numbers };
    return lz_data_upload(b, d, &t, out);
}

static lz_err *expect(lz_data *d)
{
    float got[6] = { 0 };
    lz_host_tensor t = { .type = { LZ_F32, LZ_DIMS(2, 3) }, .strides = LZ_INTS(1, 2), .data = got };
    LZ_TRY(lz_data_read(d, LZ_F32, &t));
    for (int i = 0; i < 6; i++)
        assert_true(got[i / 3 + i % 3 * 2] == numbers[i]);
    return NULL;
}

static lz_err *test_copies_between_devices(void)
{
    fake_backend f, g;
    int16_t type, other;
    lz_data *a = NULL, *b = NULL, *c = NULL, *same = NULL;
    fake_backend_init(&f, "fake_one", 2);
    fake_backend_init(&g, "fake_two", 1);
    LZ_TRY(lz_backend_register(&f.table, &type));
    lz_err *e = lz_backend_register(&g.table, &other);
    if (e) {
        lz_backend_forget(type);
        return e;
    }
    e = upload(lz_backend_of(type), (lz_device){ type, 0 }, &a);
    if (!e)
        e = lz_data_copy(a, lz_backend_of(type), (lz_device){ type, 1 }, &b);
    if (!e)
        e = lz_data_copy(b, lz_backend_of(other), (lz_device){ other, 0 }, &c);
    if (!e)
        e = lz_data_copy(a, lz_backend_of(type), (lz_device){ type, 0 }, &same);
    if (!e)
        e = expect(c);
    assert_true(e || (same == a && b->real.ordinal == 1 && b->id != a->id));
    lz_data_release(a);
    lz_data_release(b);
    lz_data_release(c);
    lz_data_release(same);
    assert_int_equal(f.live_data, 0);
    assert_int_equal(g.live_data, 0);
    lz_backend_forget(type);
    lz_backend_forget(other);
    return e;
}

static lz_err *test_failed_data_tells_why(void)
{
    fake_backend f;
    int16_t type;
    lz_data *d;
    fake_backend_init(&f, "fake_one", 1);
    LZ_TRY(lz_backend_register(&f.table, &type));
    lz_err *e =
        lz_data_create(lz_backend_of(type), (lz_device){ type, 0 }, (lz_data_type){ LZ_F32, LZ_DIMS(2) }, &d);
    if (!e) {
        lz_err *why = lz_err_at(LZ_ERR_LIMIT, (lz_loc){ "model.c", 7, 0 }, "too hot");
        assert_int_equal(lz_data_state_of(d), LZ_DATA_EMPTY);
        lz_data_fail(d, why);
        lz_err_free(why);
        e = lz_data_wait(d);
        assert_int_equal(lz_err_loc(e).line, lz_check_failing() && !lz_err_loc(e).file ? 0 : 7);
        e = lz_check_err(e, LZ_ERR_LIMIT, lz_check_failing() ? "" : "too hot");
        lz_data_release(d);
    }
    lz_backend_forget(type);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_defaults_are_filled_in),
        LZ_TEST(test_what_is_left_out_is_known),
        LZ_TEST(test_default_ordinal_is_checked),
        LZ_TEST(test_refusals),
        LZ_TEST(test_names_and_selves_are_one_backends_own),
        LZ_TEST(test_other_minor_versions),
        LZ_TEST(test_copies_between_devices),
        LZ_TEST(test_failed_data_tells_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
