/* dir.h - folders: paths in them, making and listing them.
 *
 * Paths are bytes; nothing here resolves "..", links or ~. */
#ifndef LZ_BASE_DIR_H
#define LZ_BASE_DIR_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include <sys/types.h>

/* "folder/name" with one slash between; just name if it is absolute or folder is
 * empty. Free with lz_mem_free. */
LZ_MUST_USE lz_err *lz_path_join(const char *folder, const char *name, char **out);

/* $XDG_CACHE_HOME if it is an absolute path, else $HOME/.cache; LZ_ERR_NOT_FOUND if
 * neither variable helps. Not made; free with lz_mem_free. */
LZ_MUST_USE lz_err *lz_dir_user_cache(char **out);

/* The folder and what is missing above it, all with this mode less the umask. One
 * that is there already is success, whatever its mode. */
LZ_MUST_USE lz_err *lz_dir_make(const char *path, mode_t mode);

/* The names in a folder, without "." and "..", sorted by bytes, each followed by a
 * NUL. The array and the names belong to the arena. */
LZ_MUST_USE lz_err *lz_dir_list(const char *path, lz_arena *a, size_t *count, lz_str **out);

#endif
