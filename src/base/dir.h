/* dir.h - folders: joining paths, creating folders.
 *
 * Paths are bytes; nothing here resolves "..", links or ~. */
#ifndef LZ_BASE_DIR_H
#define LZ_BASE_DIR_H

#include "base/err.h"
#include "base/str.h"
#include <sys/types.h>

/* "folder/name" with one slash between; just name if it is absolute or folder is empty. Free with
 * lz_mem_free. */
LZ_MUST_USE lz_err *lz_path_join(const char *folder, const char *name, char **out);

/* $XDG_CACHE_HOME if it is an absolute path, else $HOME/.cache; LZ_ERR_NOT_FOUND if neither is absolute. Does
 * not create the folder. Free with lz_mem_free. */
LZ_MUST_USE lz_err *lz_dir_user_cache(char **out);

/* What Lazuli keeps between processes: LAZULI_CACHE_DIR, else "lazuli" in the user's cache folder. Does not
 * create the folder. LZ_ERR_UNSUPPORTED: LAZULI_CACHE is off. Free with lz_mem_free. */
LZ_MUST_USE lz_err *lz_dir_cache(char **out);

/* Creates the folder and its missing parents, all with this mode less the umask. Succeeds if the folder
 * exists, whatever its mode. */
LZ_MUST_USE lz_err *lz_dir_make(const char *path, mode_t mode);

#endif
