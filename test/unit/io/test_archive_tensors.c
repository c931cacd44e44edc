#include "base/file.h"
#include "open_ctx.h"
#include <stdio.h>
#include <unistd.h>

static char path[512];

static const char *at(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", lz_check_dir(), name);
    return path;
}

static const char *recorded(const char *name)
{
    snprintf(path, sizeof path, LZ_SOURCE_DIR "/test/data/io/%s", name);
    return path;
}

static void refused(lz_ctx *c, lz_code code, const char *part)
{
    assert_int_equal(lz_code_of(c), code);
    if (!strstr(lz_message(c), part))
        fail_msg("'%s' is not in '%s'", part, lz_message(c));
    lz_clear(c);
}

static int64_t graphs(void)
{
    int64_t made = 0, found = 0;
    lz_counter_value("UncachedCompile", &made);
    lz_counter_value("CachedCompile", &found);
    return made + found;
}

static void expect(lz_tensor *t, const float *want, size_t n)
{
    float got[64];
    assert_int_equal(lz_tensor_numel(t), n);
    assert_true(lz_read(t, got, sizeof got));
    assert_memory_equal(got, want, n * sizeof *got);
}

#define EXPECT(t, ...)                                                                                       \
    expect(t, (const float[]){ __VA_ARGS__ }, sizeof((const float[]){ __VA_ARGS__ }) / sizeof(float))

/* The map lives as long as the tensors, and nobody writes into it. */
static void look(const char *file, const char *name)
{
    lz_ctx *c = open_ctx(NULL);
    for (int again = 0; again < 2; again++) {
        lz_archive *a = lz_archive_open(c, recorded(file));
        assert_non_null(a);
        lz_tensor *t = lz_archive_tensor(c, a, name);
        lz_archive_close(a);
        assert_true(lz_tensor_is_held(t));
        lz_tensor *sum = lz_add_Tensor(c, t, t);
        EXPECT(sum, -3, -2, -1, 0, 1, 2);
        lz_mul__Scalar(c, t, 2);
        lz_mark_step(c);
        EXPECT(t, -3, -2, -1, 0, 1, 2);
    }
    close_ctx(c);
}

static void test_tensors_outlive_their_archive(void **state)
{
    (void)state;
    look("all.safetensors", "f32");
    look("all.safetensors", "layer.0/gr\xc3\xb6\xc3\x9f\x65");
    look("packed.npz", "param/c1.bias");
    look("stored.npz", "param/c1.bias");
}

static void test_all_tensors_come_with_their_names(void **state)
{
    lz_ctx *c = open_ctx(NULL);
    lz_archive *a = lz_archive_open(c, recorded("all.safetensors"));
    lz_named_tensor all[14];
    (void)state;
    assert_int_equal(lz_archive_count(a), 14);
    assert_true(lz_archive_tensors(c, a, all));
    for (size_t i = 0; i < 14; i++) {
        assert_ptr_equal(all[i].name, lz_archive_name(a, i));
        assert_int_equal(lz_tensor_dtype(all[i].tensor), lz_archive_dtype(a, i));
        assert_int_equal(lz_tensor_ndim(all[i].tensor), lz_archive_sizes(a, i).n);
    }
    lz_archive_close(a);
    a = lz_archive_open(c, recorded("others.safetensors"));
    assert_false(lz_archive_tensors(c, a, all));
    refused(c, LZ_ERR_UNSUPPORTED, "others.safetensors: tensor 'u32'");
    lz_archive_close(a);
    close_ctx(c);
}

static void test_what_is_missing_is_told(void **state)
{
    lz_ctx *c = open_ctx(NULL);
    (void)state;
    assert_null(lz_archive_open(c, at("absent")));
    refused(c, LZ_ERR_NOT_FOUND, "absent");
    assert_true(lz_tensor_is_inert(lz_archive_tensor(c, NULL, "x")));
    lz_archive *a = lz_archive_open(c, recorded("packed.npz"));
    assert_true(lz_tensor_is_inert(lz_archive_tensor(c, a, "x")));
    refused(c, LZ_ERR_NOT_FOUND,
            "packed.npz: there is no tensor 'x' among the 8 of the file ('param/c1.weight', ...)");
    lz_archive_close(a);
    close_ctx(c);
}

/* ---- saving ---- */

typedef bool save_fn(lz_ctx *c, const char *file, lz_named_tensors list);

static bool save_safetensors(lz_ctx *c, const char *file, lz_named_tensors list)
{
    return lz_save_safetensors(c, file, list, NULL, 0);
}

static save_fn *const savers[] = { save_safetensors, lz_save_npz };

static const float six[] = { 0, 1, 2, 3, 4, 5 };

/* Pending tensors, views and tensors that are there already: one graph. */
static void save_all_kinds(save_fn *save, bool async)
{
    lz_ctx *c = lz_open(&(lz_options){ .async = async });
    lz_tensor *held = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), six), *pending = lz_mul_Scalar(c, held, 3);
    lz_tensor *transposed = lz_t(c, pending), *part = lz_select_int(c, held, 1, 1);
    const lz_named_tensor list[] = { { "held", held },
                                     { "pending", pending },
                                     { "transposed", transposed },
                                     { "part", part },
                                     { "again", held } };
    int64_t before = graphs();
    assert_true(save(c, at("tensors"), (lz_named_tensors){ list, 5 }));
    assert_int_equal(graphs(), before + 1);
    close_ctx(c);
    c = open_ctx(NULL);
    lz_archive *a = lz_archive_open(c, path);
    EXPECT(lz_archive_tensor(c, a, "held"), 0, 1, 2, 3, 4, 5);
    EXPECT(lz_archive_tensor(c, a, "again"), 0, 1, 2, 3, 4, 5);
    EXPECT(lz_archive_tensor(c, a, "pending"), 0, 3, 6, 9, 12, 15);
    EXPECT(lz_archive_tensor(c, a, "transposed"), 0, 9, 3, 12, 6, 15);
    EXPECT(lz_archive_tensor(c, a, "part"), 1, 4);
    assert_int_equal(lz_tensor_sizes(lz_archive_tensor(c, a, "transposed")).v[0], 3);
    lz_archive_close(a);
    close_ctx(c);
}

static void test_all_kinds_of_tensors_are_saved(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++)
        save_all_kinds(savers[i % 2], i / 2);
}

/* A file can be replaced while tensors look at the old one. */
static void test_a_file_is_replaced_by_what_was_read_from_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        lz_ctx *c = open_ctx(NULL);
        lz_tensor *t = lz_from_memory(c, LZ_F32, LZ_DIMS(6), six);
        assert_true(savers[i](c, at("same"), (lz_named_tensors){ &(lz_named_tensor){ "t", t }, 1 }));
        lz_archive *a = lz_archive_open(c, path);
        t = lz_archive_tensor(c, a, "t");
        assert_true(savers[i](c, path, (lz_named_tensors){ &(lz_named_tensor){ "t", t }, 1 }));
        EXPECT(t, 0, 1, 2, 3, 4, 5);
        lz_archive_close(a);
        close_ctx(c);
    }
}

static void test_what_cannot_be_saved_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        lz_ctx *c = open_ctx(NULL), *other = open_ctx(NULL);
        lz_tensor *t = lz_from_memory(c, LZ_F32, LZ_DIMS(6), six);
        const lz_named_tensor twice[] = { { "t", t }, { "t", t } }, none = { "n", NULL },
                              foreign = { "f", lz_from_memory(other, LZ_F32, LZ_DIMS(6), six) };
        assert_false(savers[i](c, at("refused"), (lz_named_tensors){ twice, 2 }));
        refused(c, LZ_ERR_ARG, "refused: tensor 't': the name is given twice");
        assert_false(savers[i](c, path, (lz_named_tensors){ &none, 1 }));
        refused(c, LZ_ERR_ARG, "refused: 'n': the tensor is NULL");
        assert_false(savers[i](c, path, (lz_named_tensors){ &foreign, 1 }));
        refused(c, LZ_ERR_ARG, "'f': the tensor belongs to another context");
        lz_tensor *inert = lz_select_int(c, t, 7, 7);
        lz_clear(c);
        assert_false(savers[i](c, path, (lz_named_tensors){ &(lz_named_tensor){ "i", inert }, 1 }));
        refused(c, LZ_ERR_ARG, "'i': the tensor is inert");
        assert_int_equal(access(path, F_OK), -1);
        close_ctx(other);
        close_ctx(c);
    }
}

static void test_what_is_forbidden_is_not_done(void **state)
{
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *t = lz_mul_Scalar(c, lz_from_memory(c, LZ_F32, LZ_DIMS(6), six), 2);
    const lz_named_tensors list = { &(lz_named_tensor){ "t", t }, 1 };
    (void)state;
    lz_forbid(c, LZ_SYNC);
    assert_false(lz_save_npz(c, at("forbidden"), list));
    refused(c, LZ_ERR_UNSUPPORTED, "forbidden");
    assert_int_equal(access(path, F_OK), -1);
    lz_forbid(c, 0);
    assert_true(lz_save_npz(c, path, list));
    close_ctx(c);
}

/* Whatever cannot be allocated, the file is whole or not there, and the next try is as good as any. */
static lz_err *test_saving_needs_memory(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    unlink(at("memory"));
    lz_tensor *t = lz_from_memory(c, LZ_F32, LZ_DIMS(6), six);
    bool saved = lz_save_safetensors(c, path, (lz_named_tensors){ &(lz_named_tensor){ "t", t }, 1 }, NULL, 0);
    assert_true(saved == (access(path, F_OK) == 0));
    lz_archive *a = saved ? lz_archive_open(c, path) : NULL;
    t = lz_archive_tensor(c, a, "t");
    if (!lz_tensor_is_inert(t))
        assert_int_equal(lz_tensor_numel(t), 6);
    lz_archive_close(a);
    lz_err *e = lz_failed(c) ? lz_errf(lz_code_of(c), "%s", lz_message(c)) : NULL;
    lz_close(c);
    return e;
}

/* ---- runs that go on ---- */

/* One step of something that draws, with a number from outside. */
static void step(lz_ctx *c, lz_tensor *x, int64_t n)
{
    lz_scope *s = lz_scope_push(c);
    lz_add__Tensor(c, x, lz_randn(c, LZ_INTS(6), .dtype = LZ_F32), .alpha = LZ_S(1.0 / (double)(n + 1)));
    lz_scope_pop(s);
    lz_mark_step(c);
}

static void run(lz_ctx *c, lz_tensor *x, int64_t from, int64_t to)
{
    for (int64_t n = from; n < to; n++)
        step(c, x, n);
}

static void test_a_run_goes_on(void **state)
{
    float want[6];
    int64_t n = 0;
    (void)state;
    lz_ctx *c = lz_open(&(lz_options){ .seed = 42 });
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(6), six);
    run(c, x, 0, 5);
    assert_true(lz_save_checkpoint(c, at("run"), (lz_named_tensors){ &(lz_named_tensor){ "x", x }, 1 }, 5));
    run(c, x, 5, 9);
    assert_true(lz_read(x, want, sizeof want));
    close_ctx(c);
    c = lz_open(&(lz_options){ .seed = 7 });
    lz_archive *a = lz_open_checkpoint(c, path, &n);
    assert_int_equal(n, 5);
    x = lz_archive_tensor(c, a, "x");
    lz_archive_close(a);
    run(c, x, n, 9);
    expect(x, want, 6);
    assert_null(lz_open_checkpoint(c, recorded("all.safetensors"), &n));
    refused(c, LZ_ERR_MODEL, "all.safetensors: this is no checkpoint");
    assert_null(lz_open_checkpoint(c, at("absent"), &n));
    refused(c, LZ_ERR_NOT_FOUND, "absent");
    close_ctx(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors_outlive_their_archive),
        cmocka_unit_test(test_all_tensors_come_with_their_names),
        cmocka_unit_test(test_what_is_missing_is_told),
        cmocka_unit_test(test_all_kinds_of_tensors_are_saved),
        cmocka_unit_test(test_a_file_is_replaced_by_what_was_read_from_it),
        cmocka_unit_test(test_what_cannot_be_saved_is_refused),
        cmocka_unit_test(test_what_is_forbidden_is_not_done),
        LZ_TEST(test_saving_needs_memory),
        cmocka_unit_test(test_a_run_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
