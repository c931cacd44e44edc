#include "base/file.h"
#include "base/mem.h"
#include "io/little.h"
#include "stored_archive.h"

static const stored tensors[] = {
    { "bf16", LZ_BF16, { (const int64_t[]){ 5 }, 1 } },
    { "f16", LZ_F16, { (const int64_t[]){ 2, 3 }, 2 } },
    { "f32", LZ_F32, { (const int64_t[]){ 2, 3 }, 2 } },
    { "f64", LZ_F64, { (const int64_t[]){ 2, 3 }, 2 } },
    { "c64", LZ_C64, { (const int64_t[]){ 2, 3 }, 2 } },
    { "i8", LZ_I8, { (const int64_t[]){ 2, 3 }, 2 } },
    { "u8", LZ_U8, { (const int64_t[]){ 2, 3 }, 2 } },
    { "i16", LZ_I16, { (const int64_t[]){ 2, 3 }, 2 } },
    { "i32", LZ_I32, { (const int64_t[]){ 2, 3 }, 2 } },
    { "i64", LZ_I64, { (const int64_t[]){ 2, 3 }, 2 } },
    { "bool", LZ_BOOL, { (const int64_t[]){ 2, 3 }, 2 } },
    { "layer.0/gr\xc3\xb6\xc3\x9f\x65", LZ_F32, { (const int64_t[]){ 3, 1, 2 }, 3 } },
    { "scalar", LZ_F32, { NULL, 0 } },
    { "none", LZ_F32, { (const int64_t[]){ 0, 3 }, 2 } },
};

enum { TENSORS = sizeof tensors / sizeof *tensors };

static void check_metadata(const lz_archive *a)
{
    assert_int_equal(lz_archive_metadata_count(a), 3);
    assert_string_equal(lz_archive_metadata(a, "format"), "pt");
    assert_string_equal(lz_archive_metadata(a, "step"), "17");
    assert_string_equal(lz_archive_metadata(a, "gr\xc3\xb6\xc3\x9f\x65"), "\"\xc3\xa4\"\n");
    assert_null(lz_archive_metadata(a, "Step"));
    for (size_t i = 0; i < 3; i++) {
        lz_metadata m = lz_archive_metadata_at(a, i);
        assert_string_equal(lz_archive_metadata(a, m.key), m.value);
    }
}

static lz_err *test_files_of_the_reference_are_read(void)
{
    lz_archive *a;
    LZ_TRY(lz_archive_read(path_of("all.safetensors"), &a));
    assert_string_equal(lz_archive_format(a), "safetensors");
    check_metadata(a);
    lz_err *e = check_archive(a, tensors, TENSORS, true);
    lz_archive_close(a);
    return e;
}

static lz_err *test_an_empty_file_has_nothing(void)
{
    lz_archive *a;
    LZ_TRY(lz_archive_read(path_of("empty.safetensors"), &a));
    assert_int_equal(lz_archive_count(a), 0);
    assert_int_equal(lz_archive_metadata_count(a), 0);
    lz_archive_close(a);
    return NULL;
}

static lz_err *check_others(const lz_archive *a)
{
    lz_array *x;
    assert_int_equal(lz_archive_count(a), 3);
    size_t f8 = lz_archive_find(a, "f8"), u32 = lz_archive_find(a, "u32");
    assert_int_equal(lz_archive_dtype(a, f8), LZ_DTYPE_NONE);
    assert_true(lz_shape_eq(lz_archive_sizes(a, f8), (lz_ints){ (const int64_t[]){ 5 }, 1 }));
    LZ_TRY(lz_check_err(lz_archive_array(a, u32, &x), LZ_ERR_UNSUPPORTED,
                        "tensor 'u32': dtype U32 is not supported"));
    LZ_TRY(lz_archive_array(a, lz_archive_find(a, "x"), &x));
    check_elements(x, LZ_F32, (lz_ints){ (const int64_t[]){ 3 }, 1 });
    lz_array_release(x);
    return NULL;
}

static lz_err *test_other_dtypes_are_listed(void)
{
    lz_archive *a;
    LZ_TRY(lz_archive_read(path_of("others.safetensors"), &a));
    lz_err *e = check_others(a);
    lz_archive_close(a);
    return e;
}

/* ---- files made by hand ---- */

/* A header and so many bytes of elements. */
static lz_err *make(lz_str header, uint64_t length, size_t data)
{
    lz_text t = { 0 };
    lz_put_little(&t, length, 8);
    lz_text_add(&t, header);
    lz_text_fill(&t, 1, data);
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = open_and_read(lz_text_view(&t));
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_headers_in_other_words(void)
{
    static const char *const headers[] = {
        "{}     \n",
        "{ \"a\" : {\"shape\":[], \"data_offsets\":[0,4],\n \"dtype\":\"F32\"} }",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4],\"note\":{\"any\":null}}}",
        "{\"b\":{\"dtype\":\"I16\",\"shape\":[1],\"data_offsets\":[2,4]},\"a\":{\"dtype\":\"I16\",\"shape\":["
        "1],"
        "\"data_offsets\":[0,2]}}",
        "{\"n\":{\"dtype\":\"F64\",\"shape\":[9,0],\"data_offsets\":[4,4]},\"a\":{\"dtype\":\"F32\","
        "\"shape\":[1],"
        "\"data_offsets\":[0,4]},\"m\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[0,0]}}",
        "{\"\":{\"dtype\":\"BOOL\",\"shape\":[2,2],\"data_offsets\":[0,4]},\"__metadata__\":{}}",
        "{\"p\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},\"\\u00e4\":{\"dtype\":\"U8\","
        "\"shape\":[0],"
        "\"data_offsets\":[4,4]}}",
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        LZ_TRY(make(lz_str_of(headers[i]), strlen(headers[i]), i ? 4 : 0));
    return NULL;
}

#define ONE(rest) "{\"a\":{\"dtype\":\"F32\"," rest "}}"
#define TWO(x, y)                                                                                            \
    "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" x                                             \
    "},\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" y "}}"

/* Each with four bytes of elements. */
static lz_err *test_malformed_headers_are_refused(void)
{
    static const struct {
        const char *header;
        lz_code code;
        const char *part;
    } rows[] = {
        { "{}", LZ_ERR_SYNTAX, "made: byte 10: bytes belong to no tensor" },
        { "{", LZ_ERR_SYNTAX, "made: byte 9: header: " },
        { "{\n\n,}", LZ_ERR_SYNTAX, "made: byte 11: header: " },
        { "{} {}", LZ_ERR_SYNTAX, "made: byte 11: header: " },
        { "{\"a\":1}", LZ_ERR_MODEL, "made: byte 13: header: a tensor" },
        { ONE("\"shape\":[1]"), LZ_ERR_NOT_FOUND, "data_offsets" },
        { ONE("\"data_offsets\":[0,4]"), LZ_ERR_NOT_FOUND, "shape" },
        { "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", LZ_ERR_NOT_FOUND, "dtype" },
        { "{\"a\":{\"dtype\":\"F33\",\"shape\":[1],\"data_offsets\":[0,4]}}", LZ_ERR_UNSUPPORTED,
          "byte 22: tensor 'a': unknown dtype 'F33'" },
        { "{\"a\":{\"dtype\":4,\"shape\":[1],\"data_offsets\":[0,4]}}", LZ_ERR_MODEL,
          "byte 22: header: dtype" },
        { ONE("\"shape\":[-1],\"data_offsets\":[0,4]"), LZ_ERR_SYNTAX,
          "byte 37: tensor 'a': the size is negative" },
        { ONE("\"shape\":[1.0],\"data_offsets\":[0,4]"), LZ_ERR_MODEL, "a size" },
        { ONE("\"shape\":[9223372036854775808],\"data_offsets\":[0,4]"), LZ_ERR_LIMIT, "a size" },
        { ONE("\"shape\":[9223372036854775807,9223372036854775807],\"data_offsets\":[0,4]"), LZ_ERR_LIMIT,
          "more than can be addressed" },
        { ONE("\"shape\":[4611686018427387904],\"data_offsets\":[0,4]"), LZ_ERR_LIMIT,
          "more than can be addressed" },
        { ONE("\"shape\":[1],\"data_offsets\":[0]"), LZ_ERR_SYNTAX, "expected two offsets" },
        { ONE("\"shape\":[1],\"data_offsets\":[0,4,4]"), LZ_ERR_SYNTAX, "expected two offsets" },
        { ONE("\"shape\":[1],\"data_offsets\":[4,0]"), LZ_ERR_SYNTAX, "lie outside of the file" },
        { ONE("\"shape\":[1],\"data_offsets\":[1,5]"), LZ_ERR_SYNTAX,
          "tensor 'a': data_offsets lie outside of the file" },
        { ONE("\"shape\":[1],\"data_offsets\":[18446744073709551612,18446744073709551615]"), LZ_ERR_SYNTAX,
          "lie outside of the file" },
        { ONE("\"shape\":[1],\"data_offsets\":[-4,0]"), LZ_ERR_LIMIT, "an offset" },
        { ONE("\"shape\":[1],\"data_offsets\":[0,3]"), LZ_ERR_SYNTAX,
          "differ from the size of shape and dtype" },
        { ONE("\"shape\":[2],\"data_offsets\":[0,4]"), LZ_ERR_SYNTAX,
          "differ from the size of shape and dtype" },
        { ONE("\"shape\":[0],\"data_offsets\":[0,0]"), LZ_ERR_SYNTAX, "belong to no tensor" },
        { ONE("\"shape\":[0],\"data_offsets\":[2,2]"), LZ_ERR_SYNTAX,
          "bytes before tensor 'a' belong to no tensor" },
        { ONE("\"shape\":[1],\"shape\":[1],\"data_offsets\":[0,4]"), LZ_ERR_SYNTAX, "header: " },
        { TWO("[0,2]", "[0,2]"), LZ_ERR_SYNTAX, "tensor 'b' begins inside another" },
        { TWO("[0,2]", "[1,3]"), LZ_ERR_SYNTAX, "tensor 'b' begins inside another" },
        { TWO("[2,4]", "[1,3]"), LZ_ERR_SYNTAX, "bytes before tensor 'b' belong to no tensor" },
        { "{\"a\":{\"dtype\":\"F4\",\"shape\":[7],\"data_offsets\":[0,4]}}", LZ_ERR_LIMIT,
          "not whole bytes" },
        { "{\"a\\u0000b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", LZ_ERR_SYNTAX,
          "byte 9: tensor 'a?b': the name has a NUL" },
        { "{\"\xff\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", LZ_ERR_SYNTAX, "header: " },
        { "{\"__metadata__\":[]}", LZ_ERR_MODEL, "__metadata__" },
        { "{\"__metadata__\":{\"step\":1}}", LZ_ERR_MODEL, "an entry of __metadata__" },
        { "{\"__metadata__\":{\"step\":\"\\u0000\"}}", LZ_ERR_SYNTAX, "the text has a NUL" },
        { "{\"__metadata__\":{\"step\":\"1\",\"step\":\"2\"}}", LZ_ERR_SYNTAX, "header: " },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lz_str header = lz_str_of(rows[i].header);
        LZ_TRY(lz_check_err(make(header, header.len, 4), rows[i].code, rows[i].part));
    }
    return NULL;
}

static lz_err *test_too_many_dimensions_are_refused(void)
{
    lz_text t = { 0 };
    lz_text_puts(&t, "{\"a\":{\"dtype\":\"F32\",\"shape\":[");
    for (int i = 0; i < 64; i++)
        lz_text_puts(&t, "1,");
    lz_text_puts(&t, "1],\"data_offsets\":[0,4]}}");
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = lz_check_err(make(lz_text_view(&t), t.len, 4), LZ_ERR_LIMIT, "more than 64 dimensions");
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_lengths_of_headers_are_checked(void)
{
    lz_str header = LZ_STR("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}");
    LZ_TRY(lz_check_err(make(header, header.len + 5, 4), LZ_ERR_SYNTAX, "byte 0: the header should have"));
    LZ_TRY(lz_check_err(make(header, UINT64_MAX, 4), LZ_ERR_SYNTAX,
                        "the header should have 18446744073709551615 bytes"));
    LZ_TRY(lz_check_err(make(header, header.len - 1, 4), LZ_ERR_SYNTAX, "header: "));
    LZ_TRY(lz_check_err(make(header, header.len + 1, 4), LZ_ERR_SYNTAX, "header: "));
    LZ_TRY(lz_check_err(make(header, 0, 4), LZ_ERR_SYNTAX, "header: "));
    return lz_check_err(open_and_read(LZ_STR("\2\0\0\0\0\0\0\0")), LZ_ERR_SYNTAX,
                        "neither an .npz nor a safetensors");
}

/* Every prefix is refused; a changed bit of the header is found, or is one of a name, of a
 * dtype of the same size, or of the metadata. Elements have no checksum. */
static lz_err *test_damage_is_found(void)
{
    char *bytes;
    size_t len;
    if (lz_check_failing())
        return NULL;
    LZ_TRY(lz_file_read(path_of("all.safetensors"), 1 << 20, &len, &bytes));
    size_t header = 8 + (size_t)lz_little(bytes, 8), survived = 0;
    for (size_t n = 0; n < len; n++)
        LZ_TRY(lz_check_err(open_and_read((lz_str){ bytes, n }), LZ_ERR_SYNTAX, "made: byte"));
    for (size_t i = 0; i < header * 8; i++) {
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
        lz_err *e = open_and_read((lz_str){ bytes, len });
        survived += !e;
        assert_true(!e || (lz_err_code(e) != LZ_ERR_INTERNAL && strncmp(lz_err_text(e), "made: ", 6) == 0));
        lz_err_free(e);
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
    }
    lz_mem_free(bytes);
    assert_true(survived < header);
    return NULL;
}

/* Bools other than 0 and 1, and elements between their places, are copied. */
static lz_err *test_elements_that_lie_badly_are_copied(void)
{
    lz_str header = LZ_STR("{\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]},"
                           "\"b\":{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[1,5]}}");
    lz_text t = { 0 };
    lz_archive *a = NULL;
    lz_array x = { .dtype = LZ_DTYPE_NONE }, y = x;
    lz_put_little(&t, header.len, 8);
    lz_text_add(&t, header);
    lz_text_add(&t, LZ_STR("\7\1\0\2\0"));
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = open_bytes(lz_text_view(&t), &a);
    if (!e)
        e = lz_archive_get(a, 0, NULL, &x);
    if (!e)
        e = lz_archive_get(a, 1, NULL, &y);
    if (!e) {
        assert_true(header.len % 2 == 0 && x.buffer != a->file && y.buffer != a->file);
        assert_int_equal(*(unsigned char *)lz_array_data(&x), 1);
        assert_true(lz_array_get(&y, 0).i == 1 && lz_array_get(&y, 1).i == 2);
    }
    lz_array_deinit(&x);
    lz_array_deinit(&y);
    lz_archive_close(a);
    lz_text_deinit(&t);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_files_of_the_reference_are_read),
        LZ_TEST(test_an_empty_file_has_nothing),
        LZ_TEST(test_other_dtypes_are_listed),
        LZ_TEST(test_headers_in_other_words),
        LZ_TEST(test_malformed_headers_are_refused),
        LZ_TEST(test_too_many_dimensions_are_refused),
        LZ_TEST(test_lengths_of_headers_are_checked),
        LZ_TEST(test_damage_is_found),
        LZ_TEST(test_elements_that_lie_badly_are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
