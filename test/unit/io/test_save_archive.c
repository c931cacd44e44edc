#include "base/dir.h"
#include "base/file.h"
#include "base/mem.h"
#include "check.h"
#include "core/convert.h"
#include "dir_list.h"
#include "io/archive.h"
#include "io/npy.h"
#include "io/save_archive.h"
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

typedef lz_err *write_fn(const char *path, const lz_save_list *list);

static char path[512];

static const char *at(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", lz_check_dir(), name);
    return path;
}

/* Elements that depend on the place only. */
static unsigned char byte_at(size_t item, size_t i, lz_dtype d)
{
    unsigned char b = (unsigned char)(item * 37 + i * 11 + i / 251);
    return d == LZ_BOOL ? b & 1 : b;
}

static int fetches;

static lz_err *fetch(void *user, size_t i, lz_array *out)
{
    const lz_save_item *t = (const lz_save_item *)user + i;
    fetches++;
    LZ_TRY(lz_array_init(out, NULL, t->dtype, t->sizes));
    unsigned char *p = out->buffer->data;
    for (size_t k = 0; k < (size_t)out->numel * lz_dtype_size(t->dtype); k++)
        p[k] = byte_at(i, k, t->dtype);
    return NULL;
}

#define D(...)                                                                                               \
    {                                                                                                        \
        (const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)         \
    }

/* The first ones can be in both formats. */
static const lz_save_item items[] = {
    { "param/c1.weight", LZ_F32, D(6, 1, 5, 5) },
    { "bools", LZ_BOOL, D(7) },
    { "a \"name\"\nof two lines", LZ_F16, D(3, 3) },
    { "gr\xc3\xb6\xc3\x9f\x65", LZ_I8, D(1, 2, 3) },
    { "f64", LZ_F64, D(4) },
    { "none", LZ_F32, D(3, 0) },
    { "scalar", LZ_I64, { NULL, 0 } },
    { "u8", LZ_U8, D(1000) },
    { "i16", LZ_I16, D(5) },
    { "i32", LZ_I32, D(2) },
    { "c64", LZ_C64, D(2, 2) },
    { ".npy", LZ_F32, D(1) },
    { "c128", LZ_C128, D(3) },
};

static const lz_save_item bf16 = { "bf16", LZ_BF16, D(9) };

enum { BOTH = 12, NPZ = 13 };

static lz_err *check_item(const lz_archive *a, const lz_save_item *list, size_t i, bool mapped)
{
    lz_array x;
    size_t k = lz_archive_find(a, list[i].name);
    assert_true(k != SIZE_MAX);
    assert_int_equal(lz_archive_dtype(a, k), list[i].dtype);
    assert_true(lz_shape_eq(lz_archive_sizes(a, k), list[i].sizes));
    LZ_TRY(lz_archive_get(a, k, NULL, &x));
    assert_true(!mapped || x.buffer == a->file);
    const unsigned char *p = lz_array_data(&x);
    for (size_t n = 0; n < (size_t)x.numel * lz_dtype_size(x.dtype); n++)
        assert_int_equal(p[n], byte_at(i, n, x.dtype));
    lz_array_deinit(&x);
    return NULL;
}

static lz_err *check_file(const char *file, const lz_save_item *list, size_t n)
{
    lz_archive *a;
    LZ_TRY(lz_archive_read(file, &a));
    assert_int_equal(lz_archive_count(a), n);
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < n; i++)
        e = check_item(a, list, i, true);
    lz_archive_close(a);
    return e;
}

/* What is read back is what was written, and lies so that it need not be copied. */
static lz_err *test_npz_round_trip(void)
{
    const lz_save_list list = { items, NPZ, fetch, (void *)items, NULL, 0 };
    LZ_TRY(lz_npz_write(at("all.npz"), &list));
    LZ_TRY(check_file(path, items, NPZ));
    LZ_TRY(lz_npz_write(path, &(lz_save_list){ .n = 0 }));
    return check_file(path, items, 0);
}

static lz_err *test_safetensors_round_trip(void)
{
    static const lz_metadata m[] = { { "step", "17" },
                                     { "gr\xc3\xb6\xc3\x9f\x65", "\"\xc3\xa4\"\n" },
                                     { "none", "" } };
    lz_save_item all[BOTH + 1];
    memcpy(all, items, BOTH * sizeof *all);
    all[BOTH] = bf16;
    const lz_save_list list = { all, BOTH + 1, fetch, all, m, 3 };
    lz_archive *a;
    LZ_TRY(lz_safetensors_write(at("all.safetensors"), &list));
    LZ_TRY(check_file(path, all, BOTH + 1));
    LZ_TRY(lz_archive_read(path, &a));
    assert_int_equal(lz_archive_metadata_count(a), 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(lz_archive_metadata(a, m[i].key), m[i].value);
    assert_int_equal(a->entries[0].at % 64, 0);
    lz_archive_close(a);
    LZ_TRY(lz_safetensors_write(path, &(lz_save_list){ .n = 0 }));
    return check_file(path, items, 0);
}

/* ---- what is refused, before there is a file ---- */

static lz_err *refused(write_fn *f, const lz_save_item *list, size_t n, lz_code code, const char *part)
{
    fetches = 0;
    lz_err *e = f(at("refused"), &(lz_save_list){ list, n, fetch, (void *)list, NULL, 0 });
    assert_int_equal(fetches, 0);
    assert_int_equal(access(path, F_OK), -1);
    return lz_check_err(e, code, part);
}

static lz_err *refused_by_all(const char *name, const char *part)
{
    const lz_save_item one[] = { { "ok", LZ_F32, D(1) }, { name, LZ_F32, D(1) } };
    LZ_TRY(refused(lz_npz_write, one, 2, LZ_ERR_ARG, part));
    return refused(lz_safetensors_write, one, 2, LZ_ERR_ARG, part);
}

static lz_err *test_bad_names_are_refused(void)
{
    const lz_save_item reserved = { "__metadata__", LZ_F32, D(1) };
    LZ_TRY(refused_by_all("ok", "tensor 'ok': the name is given twice"));
    LZ_TRY(refused_by_all("", "the name is empty"));
    LZ_TRY(refused_by_all(NULL, "the name is NULL"));
    LZ_TRY(refused_by_all("a\xff", "tensor 'a?': the name is not UTF-8"));
    return refused(lz_safetensors_write, &reserved, 1, LZ_ERR_ARG, "the name '__metadata__' is reserved");
}

static lz_err *test_names_of_zip_files_end(void)
{
    char *name = lz_mem_alloc(70000);
    if (!name)
        return lz_err_oom();
    memset(name, 'x', 65532);
    name[65532] = '\0';
    lz_save_item t = { name, LZ_F32, D(1) };
    lz_err *e = refused(lz_npz_write, &t, 1, LZ_ERR_LIMIT, "allows 65531 bytes");
    name[65531] = '\0';
    if (!e)
        e = lz_npz_write(at("long.npz"), &(lz_save_list){ &t, 1, fetch, &t, NULL, 0 });
    if (!e)
        e = check_file(path, &t, 1);
    lz_mem_free(name);
    return e;
}

static lz_err *test_dtypes_without_a_name_are_refused(void)
{
    const lz_save_item c32 = { "x", LZ_C32, D(1) };
    LZ_TRY(refused(lz_npz_write, &bf16, 1, LZ_ERR_UNSUPPORTED, "tensor 'bf16': bfloat16 has no name"));
    LZ_TRY(refused(lz_npz_write, &c32, 1, LZ_ERR_UNSUPPORTED, "tensor 'x': complex32 has no name"));
    LZ_TRY(refused(lz_safetensors_write, &c32, 1, LZ_ERR_UNSUPPORTED, "tensor 'x': complex32 has no name"));
    return refused(lz_safetensors_write, &items[BOTH], 1, LZ_ERR_UNSUPPORTED, "complex128 has no name");
}

static lz_err *write_metadata(const lz_metadata *m, size_t n, lz_code code, const char *part)
{
    return lz_check_err(
        lz_safetensors_write(at("refused"), &(lz_save_list){ .metadata = m, .metadata_count = n }), code,
        part);
}

static lz_err *test_bad_metadata_are_refused(void)
{
    const lz_metadata twice[] = { { "a", "1" }, { "a", "2" } }, bad = { "a", "\xff" }, none = { "a", NULL };
    LZ_TRY(write_metadata(twice, 2, LZ_ERR_ARG, "metadata 'a': the name is given twice"));
    LZ_TRY(write_metadata(&bad, 1, LZ_ERR_ARG, "metadata 'a': the text is not UTF-8"));
    LZ_TRY(write_metadata(&none, 1, LZ_ERR_ARG, "metadata 'a'"));
    return lz_check_err(
        lz_npz_write(at("refused"), &(lz_save_list){ .metadata = twice, .metadata_count = 1 }),
        LZ_ERR_UNSUPPORTED, "cannot hold metadata");
}

/* ---- what fails in the middle ---- */

static lz_err *fail_second(void *user, size_t i, lz_array *out)
{
    return i == 1 ? lz_errf(LZ_ERR_BUSY, "not now") : fetch(user, i, out);
}

/* What was there stays; nothing else does. */
static lz_err *check_old(const char *want)
{
    lz_arena arena = { 0 };
    lz_str *names;
    size_t n = 0, len;
    char *text;
    LZ_TRY(lz_file_read(path, 100, &len, &text));
    assert_string_equal(text, want);
    lz_mem_free(text);
    lz_err *e = dir_list(lz_check_dir(), &arena, &n, &names);
    for (size_t i = 0; !e && i < n; i++)
        assert_false(lz_str_ends(names[i], LZ_STR(".tmp")));
    lz_arena_deinit(&arena);
    return e;
}

static lz_err *test_a_failure_leaves_the_old_file(void)
{
    const lz_save_list list = { items, BOTH, fail_second, (void *)items, NULL, 0 };
    write_fn *const writers[] = { lz_npz_write, lz_safetensors_write };
    for (size_t i = 0; i < 2; i++) {
        LZ_TRY(lz_file_replace(at("old"), LZ_STR("old"), 0600, LZ_FILE_NO_SYNC));
        LZ_TRY(lz_check_err(writers[i](path, &list), LZ_ERR_BUSY, "not now"));
        LZ_TRY(check_old("old"));
    }
    LZ_TRY(lz_check_err(lz_npz_write(at("absent/x"), &list), LZ_ERR_NOT_FOUND, "absent/x"));
    return lz_check_err(lz_safetensors_write(at("absent/x"), &list), LZ_ERR_NOT_FOUND, "absent/x");
}

/* As on a full disk. */
static lz_err *test_a_full_disk_leaves_the_old_file(void)
{
    const lz_save_list list = { items, BOTH, fetch, (void *)items, NULL, 0 };
    struct rlimit was, small;
    LZ_TRY(lz_file_replace(at("old"), LZ_STR("old"), 0600, LZ_FILE_NO_SYNC));
    getrlimit(RLIMIT_FSIZE, &was);
    small = was;
    small.rlim_cur = 1500;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    lz_err *first = lz_npz_write(path, &list), *second = lz_safetensors_write(path, &list);
    setrlimit(RLIMIT_FSIZE, &was);
    first = lz_check_err(first, LZ_ERR_IO, "write");
    second = lz_check_err(second, LZ_ERR_IO, "old: File too large");
    lz_err *e = lz_err_first(first, second);
    return e ? e : check_old("old");
}

/* ---- what is there already ---- */

static lz_err *write_npy(const char *file, const lz_save_list *list)
{
    lz_array a;
    LZ_TRY(list->fetch(list->user, 0, &a));
    lz_err *e = lz_npy_write(file, &a);
    lz_array_deinit(&a);
    return e;
}

static write_fn *const all_writers[] = { lz_npz_write, lz_safetensors_write, write_npy };

enum { WRITERS = sizeof all_writers / sizeof *all_writers };

/* Renaming would put a file in the place of a device. */
static lz_err *test_only_files_are_replaced(void)
{
    const lz_save_list list = { items, BOTH, fetch, (void *)items, NULL, 0 };
    struct stat st;
    for (size_t i = 0; i < WRITERS; i++) {
        unlink(at("pipe"));
        assert_int_equal(mkfifo(path, 0600), 0);
        LZ_TRY(lz_check_err(all_writers[i](path, &list), LZ_ERR_ARG,
                            "pipe: not a regular file; refusing to replace it"));
        assert_int_equal(stat(path, &st), 0);
        assert_true(S_ISFIFO(st.st_mode));
        LZ_TRY(lz_check_err(all_writers[i](lz_check_dir(), &list), LZ_ERR_ARG,
                            "not a regular file; refusing to replace it"));
    }
    return NULL;
}

/* What only its owner may read stays so. */
static lz_err *test_rights_stay(void)
{
    const lz_save_list list = { items, BOTH, fetch, (void *)items, NULL, 0 };
    struct stat st;
    for (size_t i = 0; i < WRITERS; i++)
        for (mode_t mode = 0400; mode <= 0600; mode += 0200) {
            LZ_TRY(lz_file_replace(at("private"), LZ_STR("old"), mode, LZ_FILE_NO_SYNC));
            LZ_TRY(all_writers[i](path, &list));
            assert_int_equal(stat(path, &st), 0);
            assert_int_equal(st.st_mode & 0777, mode);
            assert_true(st.st_size > 3);
        }
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_npz_round_trip),
        LZ_TEST(test_safetensors_round_trip),
        LZ_TEST(test_bad_names_are_refused),
        LZ_TEST(test_names_of_zip_files_end),
        LZ_TEST(test_dtypes_without_a_name_are_refused),
        LZ_TEST(test_bad_metadata_are_refused),
        LZ_TEST(test_a_failure_leaves_the_old_file),
        LZ_TEST(test_a_full_disk_leaves_the_old_file),
        LZ_TEST(test_only_files_are_replaced),
        LZ_TEST(test_rights_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
