/* archive.h - the inside of the archives of lazuli/io.h.
 *
 * One struct for all formats. A format recognises its files, lists what is in them, and
 * makes an array of one entry; it is a row of a table in archive.c. */
#ifndef LZ_IO_ARCHIVE_H
#define LZ_IO_ARCHIVE_H

#include "base/map.h"
#include "io/elements.h"
#include "io/zip.h"
#include <lazuli/io.h>

typedef struct lz_archive_entry {
    lz_str name;          /* also a C string */
    lz_elements elements; /* dtype LZ_DTYPE_NONE: the entry can only be listed */
    size_t at, bytes;     /* safetensors: where the elements are in the file */
    lz_str dtype;         /* safetensors: the dtype's name in the file */
    size_t member;        /* npz */
} lz_archive_entry;

typedef struct lz_archive_class {
    const char *name;
    bool (*is)(lz_str bytes);
    lz_err *(*list)(lz_archive *a);
    lz_err *(*get)(const lz_archive *a, const lz_archive_entry *e, lz_buffer_pool *pool, lz_array *out);
} lz_archive_class;

struct lz_archive {
    const lz_archive_class *class;
    lz_arena arena;
    lz_str path;
    lz_buffer *file; /* the bytes of the file */
    lz_archive_entry *entries;
    size_t count;
    lz_metadata *metadata;
    size_t metadata_count;
    lz_map by_name; /* entries */
    lz_zip zip;     /* npz */
};

static inline lz_str lz_archive_bytes(const lz_archive *a)
{
    return (lz_str){ a->file->data, a->file->size };
}

extern const lz_archive_class lz_npz_class, lz_safetensors_class;

/* Takes over the buffer, also on failure. name is for messages. */
LZ_MUST_USE lz_err *lz_archive_create(lz_buffer *file, const char *name, lz_archive **out);

LZ_MUST_USE lz_err *lz_archive_get(const lz_archive *a, size_t i, lz_buffer_pool *pool, lz_array *out);

/* "FILE: there is no tensor 'NAME' among the 3 of the file (...)" */
LZ_MUST_USE lz_err *lz_archive_missing(const lz_archive *a, const char *name);

#endif
