/* stored_archive.h - the archives of test/data/io, and what must be in them; archives of bytes. */
#ifndef LZ_TEST_STORED_ARCHIVE_H
#define LZ_TEST_STORED_ARCHIVE_H

#include "io/archive.h"
#include "stored_elements.h"
#include <stdio.h>
#include <string.h>

typedef struct stored {
    const char *name;
    lz_dtype dtype;
    lz_ints sizes;
} stored;

static inline const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, LZ_SOURCE_DIR "/test/data/io/%s", name);
    return path;
}

/* in_file: elements are looked at where they are. */
static inline lz_err *check_archive(const lz_archive *a, const stored *want, size_t n, bool in_file)
{
    lz_array x;
    assert_int_equal(lz_archive_count(a), n);
    for (size_t i = 0; i < n; i++) {
        size_t at = lz_archive_find(a, want[i].name);
        assert_true(at < n);
        assert_string_equal(lz_archive_name(a, at), want[i].name);
        assert_int_equal(lz_archive_dtype(a, at), want[i].dtype);
        assert_true(lz_shape_eq(lz_archive_sizes(a, at), want[i].sizes));
        LZ_TRY(lz_archive_get(a, at, NULL, &x));
        assert_true(!in_file || x.buffer == a->file);
        check_elements(&x, want[i].dtype, want[i].sizes);
        lz_array_deinit(&x);
    }
    return NULL;
}

/* ---- archives that a test makes ---- */

static inline lz_err *open_bytes(lz_str bytes, lz_archive **out)
{
    lz_buffer *b;
    LZ_TRY(lz_buffer_create(NULL, bytes.len, &b));
    memcpy(b->data, bytes.ptr, bytes.len);
    return lz_archive_create(b, "made", out);
}

static inline lz_err *read_all(const lz_archive *a)
{
    lz_array x;
    for (size_t i = 0; i < lz_archive_count(a); i++) {
        LZ_TRY(lz_archive_get(a, i, NULL, &x));
        lz_array_deinit(&x);
    }
    return NULL;
}

static inline lz_err *open_and_read(lz_str bytes)
{
    lz_archive *a;
    LZ_TRY(open_bytes(bytes, &a));
    lz_err *e = read_all(a);
    lz_archive_close(a);
    return e;
}

#endif
