/* save.h - writing archives.
 *
 * The caller says what there will be, then hands over one array after the other: of the
 * elements no more than one tensor has to be in memory. Whatever could be refused (names,
 * dtypes, sizes) is refused before a file is made, and the file appears under its name only
 * when it is whole. */
#ifndef LZ_IO_SAVE_H
#define LZ_IO_SAVE_H

#include "core/array.h"
#include <lazuli/io.h>
#include <sys/types.h>

typedef struct lz_save_item {
    const char *name;
    lz_dtype dtype;
    lz_ints sizes;
} lz_save_item;

/* The elements of item i, row-major; *out is the writer's to deinit. */
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

/* Names that every format can have, and each once; path is for messages. */
LZ_MUST_USE lz_err *lz_save_check(const char *path, const lz_save_list *list);

/* The rights that a file saved there gets: those of the one it replaces, or the usual. Replacing
 * is a matter of renaming, so what is no file (a device, a pipe, a folder) is LZ_ERR_ARG. */
LZ_MUST_USE lz_err *lz_save_mode(const char *path, mode_t *out);

/* The bytes of item i, as its dtype and sizes want them; `use` is called with them once. */
typedef lz_err *lz_save_use(void *user, lz_str bytes);
LZ_MUST_USE lz_err *lz_save_bytes(const lz_save_list *list, size_t i, lz_save_use *use, void *user);

#endif
