/* dir_list.h - the files of a folder. */
#ifndef LZ_TEST_DIR_LIST_H
#define LZ_TEST_DIR_LIST_H

#include "base/arena.h"
#include "base/str.h"

/* The names in a folder, without "." and "..", sorted by bytes, each followed by a NUL. The array and the
 * names belong to the arena. */
LZ_MUST_USE lz_err *dir_list(const char *path, lz_arena *a, size_t *count, lz_str **out);

#endif
