/* save_archive.h - writing archives.
 *
 * The caller lists all items first, then passes one array after the other, so that the elements of
 * only one tensor have to be in memory. Names, dtypes and sizes are checked before a file is made, and
 * the file appears under its name only when it is complete. */
#ifndef LZ_IO_SAVE_ARCHIVE_H
#define LZ_IO_SAVE_ARCHIVE_H

#include "core/strided_array.h"
#include <lazuli/io.h>
#include <sys/types.h>

typedef struct lz_save_item {
    const char *name;
    lz_dtype dtype;
    lz_ints sizes;
} lz_save_item;

/* Gives the elements of item i, row-major; the writer deinitialises *out. */
typedef lz_err *lz_save_fetch(void *user, size_t i, lz_array *out);

typedef struct lz_save_list {
    const lz_save_item *items;
    size_t n;
    lz_save_fetch *fetch;
    void *user;
    const lz_metadata *metadata; /* safetensors only */
    size_t metadata_count;
} lz_save_list;

LZ_MUST_USE lz_err *lz_safetensors_write(const char *path, const lz_save_list *list);
/* Members are stored, and their elements begin at multiples of 64 bytes. */
LZ_MUST_USE lz_err *lz_npz_write(const char *path, const lz_save_list *list);

/* Checks that names are valid in every format and unique; path is for messages. */
LZ_MUST_USE lz_err *lz_save_check(const char *path, const lz_save_list *list);

/* The mode of a file saved to path: that of the file it replaces, or the default. */
LZ_MUST_USE lz_err *lz_save_mode(const char *path, mode_t *out);

/* Called once with the bytes of an item. */
typedef lz_err *lz_save_use(void *user, lz_str bytes);
LZ_MUST_USE lz_err *lz_save_bytes(const lz_save_list *list, size_t i, lz_save_use *use, void *user);

#endif
