#include "base/gzip.h"
#include "base/mem.h"
#include "check.h"
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

static char path[512];

static const char *at(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", lz_check_dir(), name);
    return path;
}

static void put(const char *file, const char *mode, const void *data, size_t n)
{
    FILE *f = fopen(file, mode);
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

/* zlib's own writer makes the files. */
static void put_gz(const char *file, const char *mode, const char *data, size_t n)
{
    gzFile f = gzopen(file, mode);
    assert_non_null(f);
    assert_int_equal(gzwrite(f, data, (unsigned)n), (int)n);
    gzclose(f);
}

static lz_err *expect(const char *file, const char *want, size_t n)
{
    char *got = NULL;
    size_t len = 0;
    LZ_TRY(lz_gzip_read(file, 1 << 20, &len, &got));
    assert_int_equal(len, n);
    assert_memory_equal(got, want, n);
    assert_int_equal(got[n], 0);
    lz_mem_free(got);
    return NULL;
}

static lz_err *test_plain_and_packed_read_alike(void)
{
    static char big[300000];
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (char)("lazy tensors"[i % 12] + (char)(i / 5000 % 7));
    put(at("plain"), "wb", big, sizeof big);
    LZ_TRY(expect(path, big, sizeof big));
    put_gz(at("packed.gz"), "wb9", big, sizeof big);
    LZ_TRY(expect(path, big, sizeof big));
    put_gz(at("members.gz"), "wb", big, 1000);
    put_gz(path, "ab", big + 1000, 2000);
    LZ_TRY(expect(path, big, 3000));
    put_gz(at("empty.gz"), "wb", "", 0);
    return expect(path, "", 0);
}

static lz_err *refused(const char *file, size_t limit, lz_code code, const char *part)
{
    char *got = NULL;
    size_t len = 0;
    lz_err *e = lz_gzip_read(file, limit, &len, &got);
    assert_null(got);
    return lz_check_err(e, code, part);
}

static lz_err *test_bad_files_are_refused(void)
{
    static char zeros[100000];
    put_gz(at("bomb.gz"), "wb9", zeros, sizeof zeros);
    LZ_TRY(refused(path, 5000, LZ_ERR_LIMIT, "more than 5000 bytes"));
    char *got = NULL;
    size_t len = 0;
    LZ_TRY(lz_gzip_read(path, sizeof zeros, &len, &got)); /* the limit itself is fine */
    assert_int_equal(len, sizeof zeros);
    lz_mem_free(got);
    put(at("cut.gz"), "wb", "\x1f\x8b\x08\0\0\0\0\0\0\3\x4b", 11);
    LZ_TRY(refused(path, 5000, LZ_ERR_SYNTAX, "end too early"));
    put(at("bad.gz"), "wb", "\x1f\x8b\x08\0\0\0\0\0\0\3\xff\xff\xff\xff\xff\xff", 16);
    LZ_TRY(refused(path, 5000, LZ_ERR_SYNTAX, "broken gzip data"));
    return refused(at("absent"), 5000, LZ_ERR_NOT_FOUND, "absent");
}

/* zlib packs, without a header; returns the bytes it takes. */
static size_t deflate_raw(const char *data, size_t n, unsigned char *out, size_t room)
{
    z_stream z = { .next_in = (Bytef *)data, .avail_in = (uInt)n, .avail_out = (uInt)room };
    z.next_out = out;
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return room - z.avail_out;
}

static lz_err *test_deflated_bytes_come_back(void)
{
    static char data[50000], got[60000];
    static unsigned char bytes[60000];
    const char *packed = (const char *)bytes;
    lz_inflated r;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * i >> 7);
    size_t n = deflate_raw(data, sizeof data, bytes, sizeof bytes - 3);
    LZ_TRY(lz_inflate((lz_str){ packed, n + 3 }, got, sizeof got, &r));
    assert_true(r.ended && r.taken == n && r.given == sizeof data);
    assert_memory_equal(got, data, sizeof data);
    LZ_TRY(lz_inflate((lz_str){ packed, n }, got, sizeof data, &r));
    assert_true(r.ended && r.given == sizeof data);
    memset(got, 0, 1000);
    LZ_TRY(lz_inflate((lz_str){ packed, n }, got, 999, &r)); /* a beginning */
    assert_true(!r.ended && r.given == 999 && got[999] == 0);
    assert_memory_equal(got, data, 999);
    LZ_TRY(lz_inflate((lz_str){ packed, deflate_raw("", 0, bytes, 100) }, NULL, 0, &r));
    assert_true(r.ended && r.given == 0);
    assert_int_equal(lz_crc32(lz_crc32(0, LZ_STR("1234")), LZ_STR("56789")),
                     0xcbf43926); /* the check value of CRC-32 */
    return lz_check_err(lz_inflate((lz_str){ packed, 1 }, got, 10, &r), LZ_ERR_SYNTAX, "end too early");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_plain_and_packed_read_alike),
        LZ_TEST(test_bad_files_are_refused),
        LZ_TEST(test_deflated_bytes_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
