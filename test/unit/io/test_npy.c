#include "base/file.h"
#include "base/mem.h"
#include "io/npy.h"
#include "stored_elements.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The program's definition wins over the C library's, so reading can be made to fail, to
 * be interrupted and to come in pieces. */
static struct {
    int error, times;
    bool piecemeal;
} fault;

ssize_t read(int fd, void *buf, size_t nbytes)
{
    if (fault.times > 0) {
        fault.times--;
        errno = fault.error;
        return -1;
    }
    return syscall(SYS_read, fd, buf, fault.piecemeal && nbytes > 7 ? 7 : nbytes);
}

/* Written by NumPy. */
static const struct {
    const char *name;
    lz_dtype dtype;
    lz_ints sizes;
    bool ours; /* what we would write, byte for byte */
} files[] = {
    { "b1", LZ_BOOL, { (const int64_t[]){ 2, 2, 2 }, 3 }, true },
    { "u1_0d", LZ_U8, { NULL, 0 }, true },
    { "i1", LZ_I8, { (const int64_t[]){ 7 }, 1 }, true },
    { "i2_big_fortran", LZ_I16, { (const int64_t[]){ 2, 3, 4 }, 3 }, false },
    { "i4", LZ_I32, { (const int64_t[]){ 1, 4 }, 2 }, true },
    { "i8_big", LZ_I64, { (const int64_t[]){ 3 }, 1 }, false },
    { "f2", LZ_F16, { (const int64_t[]){ 5 }, 1 }, true },
    { "f4_c", LZ_F32, { (const int64_t[]){ 2, 3 }, 2 }, true },
    { "f4_big", LZ_F32, { (const int64_t[]){ 2, 2 }, 2 }, false },
    { "f4_empty", LZ_F32, { (const int64_t[]){ 0, 3 }, 2 }, true },
    { "f4_v2", LZ_F32, { (const int64_t[]){ 2, 3 }, 2 }, false },
    { "f4_v3", LZ_F32, { (const int64_t[]){ 2, 3 }, 2 }, false },
    { "f8_1d", LZ_F64, { (const int64_t[]){ 10 }, 1 }, true },
    { "f8_fortran", LZ_F64, { (const int64_t[]){ 2, 3 }, 2 }, true },
    { "c8", LZ_C64, { (const int64_t[]){ 2, 2 }, 2 }, true },
    { "c16_big", LZ_C128, { (const int64_t[]){ 3 }, 1 }, false },
};

enum { FILES = sizeof files / sizeof *files };

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, LZ_SOURCE_DIR "/test/data/npy/%s.npy", name);
    return path;
}

static void check_file(const lz_array *a, size_t file)
{
    check_elements(a, files[file].dtype, files[file].sizes);
}

typedef lz_err *reader(const char *path, lz_buffer_pool *pool, lz_array *out);

static lz_err *read_every_file(reader *f)
{
    lz_array a;
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < FILES; i++) {
        e = f(path_of(files[i].name), NULL, &a);
        if (e)
            break;
        check_file(&a, i);
        lz_array_deinit(&a);
    }
    return e;
}

static lz_err *test_files_of_numpy_are_read(void)
{
    return read_every_file(lz_npy_read);
}

static lz_err *test_files_are_read_in_pieces(void)
{
    fault.piecemeal = true;
    fault.error = EINTR;
    fault.times = 3;
    lz_err *e = read_every_file(lz_npy_read);
    fault.piecemeal = false;
    fault.times = 0;
    return e;
}

static void put_file(const char *path, const char *bytes, size_t n)
{
    unlink(path); /* some file systems flush one that is cut to nothing and filled again */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), (ssize_t)n);
    close(fd);
}

static lz_err *read_bytes(lz_str bytes, lz_array *out)
{
    char path[256];
    snprintf(path, sizeof path, "%s/x.npy", lz_check_dir());
    put_file(path, bytes.ptr, bytes.len);
    return lz_npy_read(path, NULL, out);
}

static lz_err *test_what_we_write_is_what_numpy_wrote(void)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < FILES; i++) {
        lz_array a;
        lz_text t = { 0 };
        char *bytes = NULL;
        size_t len = 0;
        e = lz_npy_read(path_of(files[i].name), NULL, &a);
        if (e)
            break;
        e = lz_npy_encode(&a, &t);
        if (!e && files[i].ours)
            e = lz_file_read(path_of(files[i].name), 1 << 16, &len, &bytes);
        if (!e && files[i].ours)
            assert_true(lz_str_eq(lz_text_view(&t), (lz_str){ bytes, len }));
        lz_array_deinit(&a);
        if (!e)
            e = read_bytes(lz_text_view(&t), &a);
        if (!e)
            check_file(&a, i);
        if (!e)
            lz_array_deinit(&a);
        lz_mem_free(bytes);
        lz_text_deinit(&t);
    }
    return e;
}

/* A view with gaps, out of order, from the middle of a buffer. */
static lz_err *test_any_view_is_written_in_its_own_order(void)
{
    char path[256];
    lz_array a = { .dtype = LZ_DTYPE_NONE }, v = a, back = a;
    const lz_tolerance exact = { .nan_equal = true };
    lz_err *e = lz_array_init(&a, NULL, LZ_I32, LZ_DIMS(30));
    snprintf(path, sizeof path, "%s/view.npy", lz_check_dir());
    for (int64_t i = 0; !e && i < 30; i++)
        lz_array_set(&a, i, lz_scalar_int(i * i));
    if (!e)
        e = lz_array_init_view(&v, a.buffer, LZ_I32, LZ_DIMS(2, 3, 2), LZ_DIMS(1, -7, 3), 20);
    if (!e)
        e = lz_npy_write(path, &v);
    if (!e)
        e = lz_npy_read(path, NULL, &back);
    if (!e) {
        assert_true(lz_array_is_contiguous(&back));
        assert_true(lz_array_equal(&back, &v, &exact, NULL, NULL));
    }
    lz_array_deinit(&a);
    lz_array_deinit(&v);
    lz_array_deinit(&back);
    return e;
}

static lz_err *test_64_dimensions_round_trip(void)
{
    int64_t sizes[64];
    lz_array a = { .dtype = LZ_DTYPE_NONE }, back = a;
    lz_text t = { 0 };
    for (int i = 0; i < 64; i++)
        sizes[i] = 1 + (i == 40);
    lz_err *e = lz_array_init_zero(&a, NULL, LZ_U8, (lz_ints){ sizes, 64 });
    if (!e)
        e = lz_npy_encode(&a, &t);
    if (!e)
        e = read_bytes(lz_text_view(&t), &back);
    if (!e)
        assert_true(lz_shape_eq(lz_array_sizes(&back), (lz_ints){ sizes, 64 }));
    lz_text_deinit(&t);
    lz_array_deinit(&a);
    lz_array_deinit(&back);
    return e;
}

static lz_err *test_dtypes_without_a_name_are_refused(void)
{
    static const lz_dtype nameless[] = { LZ_BF16, LZ_C32 };
    lz_err *e = NULL;
    for (int i = 0; !e && i < 2; i++) {
        lz_array a;
        lz_text t = { 0 };
        e = lz_array_init_zero(&a, NULL, nameless[i], LZ_DIMS(2));
        if (e)
            break;
        e = lz_check_err(lz_npy_encode(&a, &t), LZ_ERR_UNSUPPORTED,
                         i ? "complex32 has no name in .npy files; convert it to complex64 first"
                           : "bfloat16 has no name in .npy files; convert it to float32 first");
        assert_int_equal(t.len, 0);
        lz_text_deinit(&t);
        lz_array_deinit(&a);
    }
    return e;
}

/* Magic, version, a length and the dictionary; then data bytes. */
static void wrap(lz_text *t, int version, const char *dict, size_t data)
{
    size_t len = strlen(dict);
    const char head[] = { (char)0x93,       'N', 'U', 'M', 'P', 'Y', (char)version, 0, (char)(len & 0xff),
                          (char)(len >> 8), 0,   0 };
    lz_text_add(t, (lz_str){ head, version == 1 ? 10 : 12 });
    lz_text_puts(t, dict);
    lz_text_fill(t, 1, data);
}

static lz_err *check_dict(int version, const char *dict, size_t data, lz_code code, const char *why)
{
    lz_text t = { 0 };
    lz_array a = { .dtype = LZ_DTYPE_NONE };
    wrap(&t, version, dict, data);
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = read_bytes(lz_text_view(&t), &a);
    const char *file = lz_err_loc(e).file;
    if (code != LZ_OK && lz_err_code(e) == code)
        assert_non_null(strstr(file ? file : lz_err_text(e), "x.npy"));
    e = code == LZ_OK ? e : lz_check_err(e, code, why);
    lz_array_deinit(&a);
    lz_text_deinit(&t);
    return e;
}

#define HEAD "{'descr': '<f4', 'fortran_order': False, "

static lz_err *test_headers_in_other_words(void)
{
    static const struct {
        const char *dict;
        size_t data;
    } rows[] = {
        { HEAD "'shape': (2, 3), }", 24 },
        { HEAD "'shape': (2,3)}\n", 24 },
        { HEAD "'shape': (2L, 3L)}", 24 },
        { HEAD "'shape': (2,), }      \n", 8 },
        { HEAD "'shape': ()}", 4 },
        { "{\"shape\":(0,5,),\"fortran_order\":True,\"descr\":\">i8\"}", 0 },
        { "{ 'fortran_order' : False , 'shape' : ( 3 , ) , 'descr' : '=f8' , }", 24 },
        { "{'descr': '<b1', 'fortran_order': False, 'shape': (3,)}", 3 },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807, 9223372036854775807)}",
          0 },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++)
        for (int version = 1; !e && version <= 3; version++)
            e = check_dict(version, rows[i].dict, rows[i].data, LZ_OK, NULL);
    return e;
}

static lz_err *test_malformed_headers_are_refused(void)
{
    static const struct {
        const char *dict;
        lz_code code;
        const char *why;
    } rows[] = {
        { "", LZ_ERR_SYNTAX, "byte 10: expected a dictionary" },
        { "[]", LZ_ERR_SYNTAX, "byte 10: expected a dictionary" },
        { "{", LZ_ERR_SYNTAX, "byte 11: expected a string" },
        { "{}", LZ_ERR_SYNTAX, "one of descr, fortran_order and shape is missing" },
        { HEAD "}", LZ_ERR_SYNTAX, "one of descr, fortran_order and shape is missing" },
        { HEAD "'shape': (2, 3)", LZ_ERR_SYNTAX, "expected , or }" },
        { HEAD "'shape': (2, 3) 'x': 1}", LZ_ERR_SYNTAX, "expected , or }" },
        { HEAD "'shape': (2, 3), 'x': 1}", LZ_ERR_SYNTAX, "unknown key" },
        { HEAD "'shape': (2, 3), 'shape': (2, 3)}", LZ_ERR_SYNTAX, "the key is given twice" },
        { HEAD "'shape': (2, 3)} x", LZ_ERR_SYNTAX, "unexpected text behind the dictionary" },
        { HEAD "'shape': [2, 3]}", LZ_ERR_SYNTAX, "expected the shape, a tuple" },
        { HEAD "'shape': (2 3)}", LZ_ERR_SYNTAX, "expected , or )" },
        { HEAD "'shape': (6)}", LZ_ERR_SYNTAX, "a tuple of one size is written (3,)" },
        { HEAD "'shape': (,)}", LZ_ERR_SYNTAX, "expected a size" },
        { HEAD "'shape': (2,,3)}", LZ_ERR_SYNTAX, "expected a size" },
        { HEAD "'shape': (-1,)}", LZ_ERR_SYNTAX, "expected a size" },
        { HEAD "'shape': (2, 3", LZ_ERR_SYNTAX, "expected , or )" },
        { HEAD "'shape': (99999999999999999999,)}", LZ_ERR_LIMIT, "does not fit into 64 bits" },
        { HEAD "'shape': (9223372036854775807,)}", LZ_ERR_LIMIT, "overflowed" },
        { HEAD "'shape': (4294967296, 4294967296)}", LZ_ERR_LIMIT, "overflow" },
        { HEAD "'shape': (3,)}", LZ_ERR_SYNTAX,
          "the shape needs 12 bytes of elements, the file has more than 12" },
        { HEAD "'shape': (7,)}", LZ_ERR_SYNTAX, "the shape needs 28 bytes of elements, the file has 24" },
        { HEAD "'shape", LZ_ERR_SYNTAX, "the string has no end" },
        { HEAD "'sh\\x61pe': (6,)}", LZ_ERR_SYNTAX, "the string has no end" },
        { HEAD "'shape' (6,)}", LZ_ERR_SYNTAX, "expected :" },
        { "{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}", LZ_ERR_SYNTAX, "expected True or False" },
        { "{'descr': f4, 'fortran_order': False, 'shape': (6,)}", LZ_ERR_SYNTAX, "expected a string" },
        { "{'descr': '<u2', 'fortran_order': False, 'shape': (6,)}", LZ_ERR_UNSUPPORTED,
          "NumPy's dtype '<u2' is not supported" },
        { "{'descr': '|V2', 'fortran_order': False, 'shape': (6,)}", LZ_ERR_UNSUPPORTED, "'|V2'" },
        { "{'descr': '|O', 'fortran_order': False, 'shape': (6,)}", LZ_ERR_UNSUPPORTED, "'|O'" },
        { "{'descr': '|f4', 'fortran_order': False, 'shape': (6,)}", LZ_ERR_UNSUPPORTED, "'|f4'" },
        { "{'descr': '', 'fortran_order': False, 'shape': (6,)}", LZ_ERR_UNSUPPORTED, "''" },
        { "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", LZ_ERR_UNSUPPORTED,
          "the elements are records, [('a', '<f4')];" },
        { "{'descr': [('a]\\'', [('b', '<f4', (2,))])], 'fortran_order': False, 'shape': (6,)}",
          LZ_ERR_UNSUPPORTED, "(2,))])];" },
        { "{'descr': [('a', '<f4')", LZ_ERR_SYNTAX, "the list has no end" },
        { "{'descr': [('a', '<f4'], 'fortran_order': False, 'shape': 6}", LZ_ERR_SYNTAX, "the shape" },
        { "{'descr': '<u2', 'fortran_order': False, 'shape': (6}", LZ_ERR_SYNTAX, "expected , or )" },
        { "{'descr': '\x1b[1m', 'fortran_order': False, 'shape': (6,)}", LZ_ERR_UNSUPPORTED, "'?[1m'" },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++)
        e = check_dict(1, rows[i].dict, 24, rows[i].code, rows[i].why);
    return e;
}

static lz_err *test_too_many_dimensions_are_refused(void)
{
    lz_text dict = { 0 };
    lz_text_puts(&dict, HEAD "'shape': (");
    for (int i = 0; i < 65; i++)
        lz_text_puts(&dict, "1, ");
    lz_text_puts(&dict, ")}");
    char *text = NULL;
    lz_err *e = lz_text_take(&dict, &text);
    if (!e)
        e = check_dict(1, text, 4, LZ_ERR_LIMIT, "more than 64 dimensions");
    lz_mem_free(text);
    lz_text_deinit(&dict);
    return e;
}

static lz_err *test_foreign_and_future_files_are_refused(void)
{
    static const struct {
        lz_str bytes;
        lz_code code;
        const char *why;
    } rows[] = {
        { { "", 0 }, LZ_ERR_SYNTAX, "not an .npy file" },
        { { "PK\3\4", 4 }, LZ_ERR_SYNTAX, "not an .npy file" },
        { { "\x93NUMPY", 6 }, LZ_ERR_SYNTAX, "expected version" },
        { { "\x93NUMPY\0\0\0\0\0\0", 12 }, LZ_ERR_SYNTAX, "byte 6: expected version 1.0, 2.0 or 3.0" },
        { { "\x93NUMPY\4\0\0\0\0\0", 12 }, LZ_ERR_SYNTAX, "expected version" },
        { { "\x93NUMPY\1\1\0\0\0\0", 12 }, LZ_ERR_SYNTAX, "expected version" },
        { { "\x93NUMPY\1\0\1", 9 }, LZ_ERR_SYNTAX, "byte 8: the file ends inside the length of its header" },
        { { "\x93NUMPY\2\0\1\0\0", 11 }, LZ_ERR_SYNTAX, "the file ends inside the length of its header" },
        { { "\x93NUMPY\2\0\1\0\1\0", 12 }, LZ_ERR_LIMIT, "the header has 65537 bytes; the limit is 65536" },
        { { "\x93NUMPY\1\0\xff\xff{}", 12 }, LZ_ERR_SYNTAX, "byte 12: the file ends inside its header" },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++) {
        lz_array a;
        e = lz_check_err(read_bytes(rows[i].bytes, &a), rows[i].code, rows[i].why);
    }
    return e;
}

/* Cut off anywhere, and with one byte more. */
static lz_err *test_every_cut_is_noticed(void)
{
    char *bytes = NULL;
    size_t len = 0;
    lz_err *e = lz_file_read(path_of("f4_c"), 1 << 16, &len, &bytes);
    for (size_t n = 0; !e && n <= len + 1; n += lz_check_failing() ? 31 : 1) {
        lz_array a = { .dtype = LZ_DTYPE_NONE };
        if (n == len)
            continue;
        e = lz_check_err(read_bytes((lz_str){ bytes, n }, &a), LZ_ERR_SYNTAX, "");
    }
    lz_mem_free(bytes);
    return e;
}

/* A pipe has no size: it is read until it ends. */
static lz_err *test_pipes_are_read(void)
{
    for (int more = -1; more <= 1; more++) {
        char *bytes = NULL, path[64];
        size_t len = 0;
        int ends[2];
        lz_array a;
        LZ_TRY(lz_file_read(path_of("f4_c"), 1 << 16, &len, &bytes));
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], bytes, len + (size_t)more), (ssize_t)len + more); /* with the NUL */
        close(ends[1]);
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        lz_err *e = lz_npy_read(path, NULL, &a);
        if (!e) {
            check_file(&a, 7);
            lz_array_deinit(&a);
        }
        close(ends[0]);
        lz_mem_free(bytes);
        LZ_TRY(more == 0 ? e : lz_check_err(e, LZ_ERR_SYNTAX, more < 0 ? "the file has 23" : "more than 24"));
    }
    return NULL;
}

static lz_err *test_the_system_says_why(void)
{
    lz_array a, b = { .dtype = LZ_DTYPE_NONE };
    lz_err *e = lz_check_err(lz_npy_read("/nowhere/x.npy", NULL, &a), LZ_ERR_NOT_FOUND, "/nowhere/x.npy");
    if (!e)
        e = lz_check_err(lz_npy_read("/", NULL, &a), LZ_ERR_IO, "read /");
    if (!e) {
        fault.error = EIO;
        fault.times = 1;
        lz_err *failed = lz_npy_read(path_of("f4_c"), NULL, &a);
        fault.times = 0;
        e = lz_check_err(failed, LZ_ERR_IO, "f4_c.npy");
    }
    if (!e)
        e = lz_npy_read(path_of("f4_c"), NULL, &b);
    if (!e)
        e = lz_check_err(lz_npy_write("/nowhere/x.npy", &b), LZ_ERR_NOT_FOUND, "/nowhere/x.npy");
    lz_array_deinit(&b);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_files_of_numpy_are_read),
        LZ_TEST(test_files_are_read_in_pieces),
        LZ_TEST(test_what_we_write_is_what_numpy_wrote),
        LZ_TEST(test_any_view_is_written_in_its_own_order),
        LZ_TEST(test_64_dimensions_round_trip),
        LZ_TEST(test_dtypes_without_a_name_are_refused),
        LZ_TEST(test_headers_in_other_words),
        LZ_TEST(test_malformed_headers_are_refused),
        LZ_TEST(test_too_many_dimensions_are_refused),
        LZ_TEST(test_foreign_and_future_files_are_refused),
        LZ_TEST(test_every_cut_is_noticed),
        LZ_TEST(test_pipes_are_read),
        LZ_TEST(test_the_system_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
