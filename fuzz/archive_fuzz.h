/* archive_fuzz.h - what every archive that was opened must stand. */
#ifndef LZ_FUZZ_ARCHIVE_FUZZ_H
#define LZ_FUZZ_ARCHIVE_FUZZ_H

#include "io/archive.h"
#include "io/names.h"
#include <stdlib.h>

static inline void check(bool ok)
{
    if (!ok)
        abort();
}

/* Errors say where; no bug of ours is one. */
static inline void check_error(lz_err *e)
{
    check(lz_err_code(e) != LZ_ERR_INTERNAL && lz_str_starts(lz_str_of(lz_err_text(e)), LZ_STR("fuzz: ")));
    lz_err_free(e);
}

/* Every byte of it can be touched. */
static inline void touch(const lz_array *a)
{
    unsigned char bits = 0;
    for (int64_t i = 0; i < a->numel; i++) {
        const unsigned char *p = lz_array_at_flat(a, i);
        for (size_t b = 0; b < lz_dtype_size(a->dtype); b++)
            bits |= p[b];
    }
    check(a->dtype != LZ_BOOL || bits <= 1);
}

static inline void check_entry(const lz_archive *a, size_t i)
{
    lz_array x;
    check(lz_archive_find(a, lz_archive_name(a, i)) == i);
    lz_err *e = lz_archive_get(a, i, NULL, &x);
    if (e) {
        check_error(e);
        return;
    }
    check(x.dtype == lz_archive_dtype(a, i) && lz_shape_eq(lz_array_sizes(&x), lz_archive_sizes(a, i)));
    touch(&x);
    lz_array_deinit(&x);
}

static inline void fuzz_archive(const uint8_t *data, size_t size, const lz_archive_class *class)
{
    lz_buffer *b;
    lz_archive *a;
    if (!class->is((lz_str){ (const char *)data, size }))
        return;
    check(!lz_buffer_wrap((void *)data, size, true, NULL, NULL, &b));
    lz_err *e = lz_archive_create(b, "fuzz", &a);
    if (e) {
        check_error(e);
        return;
    }
    for (size_t i = 0; i < lz_archive_count(a); i++)
        check_entry(a, i);
    for (size_t i = 0; i < lz_archive_metadata_count(a); i++)
        check(lz_archive_metadata(a, lz_archive_metadata_at(a, i).key) != NULL);
    lz_archive_close(a);
}

#endif
