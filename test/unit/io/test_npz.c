#include "base/file.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "io/little.h"
#include "stored_archive.h"
#include <unistd.h>

static const stored arrays[] = {
    { "param/c1.weight", LZ_F32, { (const int64_t[]){ 6, 1, 5, 5 }, 4 } },
    { "param/c1.bias", LZ_F32, { (const int64_t[]){ 6 }, 1 } },
    { "fortran", LZ_F64, { (const int64_t[]){ 3, 4 }, 2 } },
    { "big", LZ_I32, { (const int64_t[]){ 5 }, 1 } },
    { "bools", LZ_BOOL, { (const int64_t[]){ 7 }, 1 } },
    { "scalar", LZ_I64, { NULL, 0 } },
    { "none", LZ_F32, { (const int64_t[]){ 0, 3 }, 2 } },
    { "gr\xc3\xb6\xc3\x9f\x65", LZ_C64, { (const int64_t[]){ 2, 2 }, 2 } },
};

enum { ARRAYS = sizeof arrays / sizeof *arrays };

static lz_err *test_files_of_numpy_are_read(void)
{
    static const char *const files[] = { "stored.npz", "packed.npz", "streamed.npz" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        lz_archive *a;
        LZ_TRY(lz_archive_read(path_of(files[i]), &a));
        assert_string_equal(lz_archive_format(a), "npz");
        assert_int_equal(lz_archive_metadata_count(a), 0);
        assert_null(lz_archive_metadata(a, "x"));
        assert_true(lz_archive_find(a, "param/c1") == SIZE_MAX);
        lz_err *e = check_archive(a, arrays, ARRAYS, false);
        for (size_t k = 0; !e && k < ARRAYS; k++)
            assert_string_equal(lz_archive_name(a, k), arrays[k].name); /* in the order of the file */
        lz_archive_close(a);
        LZ_TRY(e);
    }
    return NULL;
}

/* One that nothing follows and that has no names. */
static lz_err *test_an_empty_file_has_nothing(void)
{
    lz_archive *a;
    LZ_TRY(lz_archive_read(path_of("empty.npz"), &a));
    assert_int_equal(lz_archive_count(a), 0);
    assert_true(lz_archive_find(a, "") == SIZE_MAX);
    lz_err *e = lz_check_err(lz_archive_missing(a, "x"), LZ_ERR_NOT_FOUND, "no tensor 'x' among the 0");
    lz_archive_close(a);
    return e;
}

static lz_err *check_mixed(const lz_archive *a)
{
    lz_array *x;
    assert_int_equal(lz_archive_count(a), 4);
    assert_string_equal(lz_archive_name(a, 0), "folder/readme.txt");
    assert_int_equal(lz_archive_dtype(a, 0), LZ_DTYPE_NONE);
    LZ_TRY(lz_check_err(lz_archive_array(a, 0, &x), LZ_ERR_SYNTAX,
                        "member 'folder/readme.txt': byte 0: not an .npy file"));
    assert_int_equal(lz_archive_dtype(a, lz_archive_find(a, "folder/words")), LZ_DTYPE_NONE);
    assert_true(lz_shape_eq(lz_archive_sizes(a, 2), (lz_ints){ (const int64_t[]){ 2 }, 1 }));
    assert_true(lz_shape_eq(lz_archive_sizes(a, 3), (lz_ints){ (const int64_t[]){ 3 }, 1 }));
    LZ_TRY(lz_check_err(lz_archive_array(a, 2, &x), LZ_ERR_UNSUPPORTED, "dtype '<U2' is not supported"));
    LZ_TRY(lz_check_err(lz_archive_array(a, 3, &x), LZ_ERR_UNSUPPORTED, "member 'folder/u2.npy': byte"));
    LZ_TRY(lz_check_err(lz_archive_array(a, 4, &x), LZ_ERR_ARG, "the archive has 4 tensors, got number 4"));
    LZ_TRY(lz_archive_array(a, 1, &x));
    check_elements(x, LZ_F32, (lz_ints){ (const int64_t[]){ 3 }, 1 });
    lz_array_release(x);
    return NULL;
}

static lz_err *test_other_members_are_listed(void)
{
    lz_archive *a;
    LZ_TRY(lz_archive_read(path_of("mixed.npz"), &a));
    lz_err *e = check_mixed(a);
    lz_archive_close(a);
    return e;
}

/* ---- files made by hand ---- */

/* A zip file of one member, each number of which can be wrong. */
typedef struct numbers {
    uint64_t flags, method, crc, packed, size, record; /* of the directory */
    uint64_t local_flags, local_method, local_crc, local_packed, local_size;
    uint64_t disk, entries, directory_size, directory_at; /* of the end */
    lz_str name, local_name, data, extra, behind, before_directory;
    bool wide; /* sizes and places stand in zip64 fields */
} numbers;

#define LOCAL_SIZE(n)   (30 + (n)->local_name.len + ((n)->wide ? 20 : 0))
#define CENTRAL_SIZE(n) (46 + (n)->name.len + (n)->extra.len + ((n)->wide ? 28 : 0))

static lz_text member; /* an .npy file of two floats */

static numbers good(void)
{
    lz_str data = lz_text_view(&member), name = LZ_STR("a.npy");
    uint32_t crc = lz_crc32(0, data);
    numbers n = { .crc = crc,
                  .packed = data.len,
                  .size = data.len,
                  .local_crc = crc,
                  .local_packed = data.len,
                  .local_size = data.len,
                  .entries = 1,
                  .name = name,
                  .local_name = name,
                  .data = data };
    n.directory_at = LOCAL_SIZE(&n) + data.len;
    n.directory_size = CENTRAL_SIZE(&n);
    return n;
}

static void put_local(const numbers *n, lz_text *t)
{
    lz_text_add(t, LZ_STR("PK\3\4"));
    lz_put_little(t, 45, 2);
    lz_put_little(t, n->local_flags, 2);
    lz_put_little(t, n->local_method, 2);
    lz_put_little(t, 0, 4);
    lz_put_little(t, n->local_crc, 4);
    lz_put_little(t, n->wide ? UINT32_MAX : n->local_packed, 4);
    lz_put_little(t, n->wide ? UINT32_MAX : n->local_size, 4);
    lz_put_little(t, n->local_name.len, 2);
    lz_put_little(t, n->wide ? 20 : 0, 2);
    lz_text_add(t, n->local_name);
    if (!n->wide)
        return;
    lz_put_little(t, 1, 2);
    lz_put_little(t, 16, 2);
    lz_put_little(t, n->local_size, 8);
    lz_put_little(t, n->local_packed, 8);
}

static void put_central(const numbers *n, lz_text *t)
{
    lz_text_add(t, LZ_STR("PK\1\2"));
    lz_put_little(t, 45, 2);
    lz_put_little(t, 45, 2);
    lz_put_little(t, n->flags, 2);
    lz_put_little(t, n->method, 2);
    lz_put_little(t, 0, 4);
    lz_put_little(t, n->crc, 4);
    lz_put_little(t, n->wide ? UINT32_MAX : n->packed, 4);
    lz_put_little(t, n->wide ? UINT32_MAX : n->size, 4);
    lz_put_little(t, n->name.len, 2);
    lz_put_little(t, n->extra.len + (n->wide ? 28 : 0), 2);
    lz_put_little(t, 0, 2);
    lz_put_little(t, n->disk, 2);
    lz_put_little(t, 0, 6);
    lz_put_little(t, n->wide ? UINT32_MAX : n->record, 4);
    lz_text_add(t, n->name);
    lz_text_add(t, n->extra);
    if (!n->wide)
        return;
    lz_put_little(t, 1, 2);
    lz_put_little(t, 24, 2);
    lz_put_little(t, n->size, 8);
    lz_put_little(t, n->packed, 8);
    lz_put_little(t, n->record, 8);
}

static void put_end64(const numbers *n, lz_text *t)
{
    size_t at = t->len;
    lz_text_add(t, LZ_STR("PK\6\6"));
    lz_put_little(t, 44, 8);
    lz_put_little(t, 45, 2);
    lz_put_little(t, 45, 2);
    lz_put_little(t, 0, 8);
    lz_put_little(t, n->entries, 8);
    lz_put_little(t, n->entries, 8);
    lz_put_little(t, n->directory_size, 8);
    lz_put_little(t, n->directory_at, 8);
    lz_text_add(t, LZ_STR("PK\6\7"));
    lz_put_little(t, 0, 4);
    lz_put_little(t, at, 8);
    lz_put_little(t, 1, 4);
}

static void put_end(const numbers *n, lz_text *t)
{
    lz_text_add(t, LZ_STR("PK\5\6"));
    lz_put_little(t, n->disk, 2);
    lz_put_little(t, n->disk, 2);
    lz_put_little(t, n->wide ? UINT16_MAX : n->entries, 2);
    lz_put_little(t, n->wide ? UINT16_MAX : n->entries, 2);
    lz_put_little(t, n->wide ? UINT32_MAX : n->directory_size, 4);
    lz_put_little(t, n->wide ? UINT32_MAX : n->directory_at, 4);
    lz_put_little(t, 0, 2);
}

static void put_zip(const numbers *n, lz_text *t)
{
    put_local(n, t);
    lz_text_add(t, n->data);
    lz_text_add(t, n->behind);
    put_central(n, t);
    lz_text_add(t, n->before_directory);
    if (n->wide)
        put_end64(n, t);
    put_end(n, t);
}

/* Opens what was made, and reads its one array. */
static lz_err *read_made(lz_str bytes)
{
    lz_archive *a;
    lz_array x;
    LZ_TRY(open_bytes(bytes, &a));
    lz_err *e = lz_archive_count(a) == 1 ? lz_archive_get(a, 0, NULL, &x) : NULL;
    if (!e && lz_archive_count(a) == 1) {
        assert_int_equal(lz_archive_dtype(a, 0), LZ_F32); /* what can be read is listed so */
        check_elements(&x, LZ_F32, (lz_ints){ (const int64_t[]){ 2 }, 1 });
        lz_array_deinit(&x);
    }
    lz_archive_close(a);
    return e;
}

static lz_err *make_and_read(const numbers *n)
{
    lz_text t = { 0 };
    put_zip(n, &t);
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = read_made(lz_text_view(&t));
    lz_text_deinit(&t);
    return e;
}

static lz_err *refused(const numbers *n, lz_code code, const char *part)
{
    return lz_check_err(make_and_read(n), code, part);
}

/* The two floats that element number 0 and 1 should be. */
static lz_err *make_member(void)
{
    const float v[] = { -1.5F, -1 };
    lz_text_clear(&member);
    lz_text_add(&member, LZ_STR("\x93NUMPY\1\0"));
    lz_put_little(&member, 118, 2);
    size_t from = member.len;
    lz_text_puts(&member, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }");
    lz_text_fill(&member, ' ', 117 - (member.len - from));
    lz_text_putc(&member, '\n');
    lz_text_add(&member, (lz_str){ (const char *)v, sizeof v });
    return lz_text_check(&member);
}

static lz_err *with_member(lz_err *(*f)(void))
{
    lz_err *e = make_member();
    if (!e)
        e = f();
    lz_text_deinit(&member);
    return e;
}

static lz_err *sound_files(void)
{
    numbers n = good();
    LZ_TRY(make_and_read(&n));
    n.extra = LZ_STR("\x34\x12\2\0ab");
    n.directory_size += n.extra.len;
    LZ_TRY(make_and_read(&n));
    n = good(); /* an array under any name */
    n.name = n.local_name = LZ_STR("a.dat");
    LZ_TRY(make_and_read(&n));
    n = good(); /* sizes and checksum behind the member */
    n.flags = n.local_flags = 8;
    n.local_crc = n.local_packed = n.local_size = 0;
    char after[16] = "PK\7\x8";
    for (int i = 0; i < 4; i++)
        after[4 + i] = (char)(n.crc >> 8 * i);
    after[8] = after[12] = (char)n.size;
    n.behind = (lz_str){ after, 16 };
    n.directory_at += 16;
    LZ_TRY(make_and_read(&n));
    n.behind = (lz_str){ after + 4, 12 }; /* the signature can be left out */
    n.directory_at -= 4;
    LZ_TRY(make_and_read(&n));
    after[8]++;
    LZ_TRY(refused(&n, LZ_ERR_SYNTAX, "central directory and data descriptor differ"));
    n = good();
    n.wide = true;
    n.directory_at = LOCAL_SIZE(&n) + n.data.len;
    n.directory_size = CENTRAL_SIZE(&n);
    LZ_TRY(make_and_read(&n));
    n.size++;
    return refused(&n, LZ_ERR_SYNTAX, "the member is stored, but its two sizes differ");
}

static lz_err *test_made_files_are_read(void)
{
    return with_member(sound_files);
}

static lz_err *wrong_numbers(void)
{
    static const struct {
        size_t field;
        uint64_t value;
        lz_code code;
        const char *part;
    } rows[] = {
#define ROW(field, value, code, part) { offsetof(numbers, field), value, LZ_ERR_##code, part }
        ROW(flags, 1, UNSUPPORTED, "made: byte 179: member 'a.npy': is encrypted"),
        ROW(flags, 1 << 6, UNSUPPORTED, "is encrypted"),
        ROW(flags, 1 << 5, UNSUPPORTED, "is a patch"),
        ROW(local_flags, 1, SYNTAX, "differ"),
        ROW(local_flags, 8, SYNTAX, "central directory and data descriptor differ"),
        ROW(method, 12, UNSUPPORTED, "compressed with bzip2 (method 12)"),
        ROW(method, 77, UNSUPPORTED, "compressed with an unknown method (method 77)"),
        ROW(method, 8, SYNTAX, "central directory and local header differ"),
        ROW(local_method, 8, SYNTAX, "differ"),
        ROW(crc, 5, SYNTAX, "differ"),
        ROW(local_crc, 5, SYNTAX, "differ"),
        ROW(local_packed, 5, SYNTAX, "differ"),
        ROW(local_size, 5, SYNTAX, "differ"),
        ROW(packed, 5, SYNTAX, "stored, but its two sizes differ"),
        ROW(packed, UINT32_MAX, SYNTAX, "the extra field is broken"),
        ROW(packed, UINT32_MAX - 1, SYNTAX, "larger than the file"),
        ROW(size, 137, SYNTAX, "two sizes"),
        ROW(record, 1, SYNTAX, "no member where the central directory says"),
        ROW(record, 160, SYNTAX, "no member where the central directory says"),
        ROW(record, UINT32_MAX - 1, SYNTAX, "larger than the file"),
        ROW(disk, 1, UNSUPPORTED, "one of several disks"),
        ROW(disk, UINT16_MAX, UNSUPPORTED, "the member begins on another disk"),
        ROW(entries, 0, SYNTAX, "more bytes than the entries that the end record counts"),
        ROW(entries, 2, SYNTAX, "too short for its members"),
        ROW(directory_size, 1, SYNTAX, "does not end where"),
        ROW(directory_at, 1, SYNTAX, "does not end where"),
        ROW(directory_at, UINT32_MAX, SYNTAX, "does not end where"),
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        numbers n = good();
        memcpy((char *)&n + rows[i].field, &rows[i].value, sizeof rows[i].value);
        LZ_TRY(refused(&n, rows[i].code, rows[i].part));
    }
    return NULL;
}

static lz_err *test_wrong_numbers_are_refused(void)
{
    return with_member(wrong_numbers);
}

static lz_err *wrong_names(void)
{
    numbers n = good();
    n.local_name = LZ_STR("b.npy");
    LZ_TRY(refused(&n, LZ_ERR_SYNTAX, "differ"));
    n.name = n.local_name = LZ_STR("a\0npy");
    LZ_TRY(refused(&n, LZ_ERR_SYNTAX, "member 'a?npy': the name has a NUL"));
    n.name = n.local_name = LZ_STR("a\xff.np");
    LZ_TRY(refused(&n, LZ_ERR_SYNTAX, "member 'a?.np': the name is not UTF-8"));
    n.name = n.local_name = LZ_STR("\xc3\xb6.np");
    LZ_TRY(refused(&n, LZ_ERR_UNSUPPORTED, "not marked as UTF-8"));
    n = good();
    n.extra = LZ_STR("\1\0\5\0");
    n.directory_size += n.extra.len;
    LZ_TRY(refused(&n, LZ_ERR_SYNTAX, "the extra field is broken"));
    n = good();
    n.before_directory = LZ_STR("?");
    return refused(&n, LZ_ERR_SYNTAX, "does not end where");
}

static lz_err *test_wrong_names_are_refused(void)
{
    return with_member(wrong_names);
}

/* A byte that says how large it unpacks is not believed. */
static lz_err *bombs(void)
{
    numbers n = good();
    n.method = n.local_method = 8;
    n.data = LZ_STR("\3\0");
    n.packed = n.local_packed = 2;
    n.directory_at = LOCAL_SIZE(&n) + n.data.len;
    n.size = n.local_size = 4000000000;
    LZ_TRY(refused(&n, LZ_ERR_SYNTAX, "the unpacked size is too large"));
    n.size = n.local_size = 1000;
    LZ_TRY(refused(&n, LZ_ERR_SYNTAX, "unpack to less than the size says"));
    n.data = LZ_STR("\xff\xff");
    LZ_TRY(refused(&n, LZ_ERR_SYNTAX, "of the deflated data: invalid"));
    n.data = LZ_STR("\0\5");
    return refused(&n, LZ_ERR_SYNTAX, "they end too early");
}

static lz_err *test_bombs_are_refused(void)
{
    return with_member(bombs);
}

static lz_err *two_members(void)
{
    numbers n = good();
    lz_text t = { 0 };
    put_local(&n, &t);
    lz_text_add(&t, n.data);
    n.directory_at = t.len;
    put_central(&n, &t);
    put_central(&n, &t);
    n.directory_size = t.len - n.directory_at;
    n.entries = 2;
    put_end(&n, &t);
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = lz_check_err(read_made(lz_text_view(&t)), LZ_ERR_SYNTAX, "another member has the same name");
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_two_of_one_name_are_refused(void)
{
    return with_member(two_members);
}

/* b's bytes lie in those of a. */
static lz_err *overlapping(void)
{
    numbers n = good(), b = good();
    lz_text t = { 0 }, inner = { 0 };
    b.name = b.local_name = LZ_STR("b.npy");
    put_local(&b, &inner);
    lz_text_add(&inner, b.data);
    n.data = lz_text_view(&inner);
    n.crc = n.local_crc = lz_crc32(0, n.data);
    n.packed = n.size = n.local_packed = n.local_size = inner.len;
    put_local(&n, &t);
    b.record = t.len;
    lz_text_add(&t, n.data);
    n.directory_at = t.len;
    put_central(&b, &t);
    n.name = LZ_STR("a.npy");
    put_central(&n, &t);
    n.directory_size = t.len - n.directory_at;
    n.entries = 2;
    put_end(&n, &t);
    lz_err *e = lz_err_first(lz_text_check(&t), lz_text_check(&inner));
    if (!e)
        e = lz_check_err(read_made(lz_text_view(&t)), LZ_ERR_SYNTAX,
                         "member 'b.npy': the member begins inside another member");
    lz_text_deinit(&t);
    lz_text_deinit(&inner);
    return e;
}

static lz_err *test_overlapping_members_are_refused(void)
{
    return with_member(overlapping);
}

/* ---- damage ---- */

/* Every prefix is refused; every changed bit is found, or changes nothing that matters: a time,
 * a version, an attribute, a name. */
static lz_err *damage(const char *file)
{
    char *bytes;
    size_t len, survived = 0;
    LZ_TRY(lz_file_read(path_of(file), 1 << 20, &len, &bytes));
    lz_err *e = NULL;
    for (size_t n = 0; !e && n < len; n += 7)
        e = lz_check_err(open_and_read((lz_str){ bytes, n }), LZ_ERR_SYNTAX, "made: byte");
    for (size_t i = 0; !e && i < len; i++) {
        bytes[i] = (char)(bytes[i] ^ 1 << i % 8);
        e = open_and_read((lz_str){ bytes, len });
        survived += !e;
        if (e && lz_err_code(e) != LZ_ERR_MEMORY) {
            assert_int_not_equal(lz_err_code(e), LZ_ERR_INTERNAL);
            assert_true(strncmp(lz_err_text(e), "made: ", 6) == 0);
            lz_err_free(e);
            e = NULL;
        }
        bytes[i] = (char)(bytes[i] ^ 1 << i % 8);
    }
    lz_mem_free(bytes);
    assert_true(e || survived < ARRAYS * 48);
    return e;
}

static lz_err *test_damage_is_found(void)
{
    if (lz_check_failing())
        return NULL;
    LZ_TRY(damage("packed.npz"));
    LZ_TRY(damage("streamed.npz"));
    return damage("stored.npz");
}

/* ---- where files are ---- */

static lz_err *test_what_is_no_archive_is_refused(void)
{
    lz_archive *a;
    LZ_TRY(lz_check_err(lz_archive_read(path_of("absent.npz"), &a), LZ_ERR_NOT_FOUND, "absent.npz"));
    LZ_TRY(lz_check_err(lz_archive_read(LZ_SOURCE_DIR, &a), LZ_ERR_IO, "directory"));
    LZ_TRY(lz_check_err(lz_archive_read("/dev/zero", &a), LZ_ERR_IO, "/dev/zero: not a regular file"));
    return lz_check_err(lz_archive_read(path_of("../npy/b1.npy"), &a), LZ_ERR_SYNTAX, "b1.npy: byte 0");
}

/* What comes out of a pipe cannot be mapped. */
static lz_err *test_pipes_are_read(void)
{
    char *bytes, name[64];
    size_t len;
    int ends[2];
    lz_archive *a;
    LZ_TRY(lz_file_read(path_of("stored.npz"), 1 << 16, &len, &bytes));
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, len), (ssize_t)len);
    close(ends[1]);
    lz_mem_free(bytes);
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[0]);
    lz_err *e = lz_archive_read(name, &a);
    close(ends[0]);
    if (!e) {
        e = check_archive(a, arrays, ARRAYS, false);
        lz_archive_close(a);
    }
    return e;
}

/* Stored elements that lie well are looked at in the file, which then stays. */
static lz_err *look(void)
{
    numbers n = good();
    lz_text t = { 0 };
    lz_archive *a;
    lz_array x = { .dtype = LZ_DTYPE_NONE };
    n.name = n.local_name = LZ_STR("ab.npy"); /* 30 and 6 bytes before it: elements at 164 */
    n.directory_at++;
    n.directory_size++;
    put_zip(&n, &t);
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = open_bytes(lz_text_view(&t), &a);
    if (!e) {
        lz_buffer *file = a->file;
        e = lz_archive_get(a, 0, NULL, &x);
        lz_archive_close(a);
        assert_true(e || x.buffer == file);
        if (!e)
            check_elements(&x, LZ_F32, (lz_ints){ (const int64_t[]){ 2 }, 1 });
    }
    lz_array_deinit(&x);
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_stored_elements_are_not_copied(void)
{
    return with_member(look);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_files_of_numpy_are_read),
        LZ_TEST(test_an_empty_file_has_nothing),
        LZ_TEST(test_other_members_are_listed),
        LZ_TEST(test_made_files_are_read),
        LZ_TEST(test_wrong_numbers_are_refused),
        LZ_TEST(test_wrong_names_are_refused),
        LZ_TEST(test_bombs_are_refused),
        LZ_TEST(test_two_of_one_name_are_refused),
        LZ_TEST(test_overlapping_members_are_refused),
        LZ_TEST(test_damage_is_found),
        LZ_TEST(test_what_is_no_archive_is_refused),
        LZ_TEST(test_pipes_are_read),
        LZ_TEST(test_stored_elements_are_not_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
