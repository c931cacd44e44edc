/* cache_path.h - the folder in which Lazuli keeps things between processes: compiled kernels, and what
 * generator runs read and wrote. */
#ifndef LZ_BASE_CACHE_PATH_H
#define LZ_BASE_CACHE_PATH_H

#include "base/err.h"

/* LAZULI_CACHE_DIR, else "lazuli" in the user's cache folder. Does not create it. Free it with lz_mem_free.
 * LZ_ERR_UNSUPPORTED: LAZULI_CACHE is off. LZ_ERR_NOT_FOUND: the user has no home. */
LZ_MUST_USE lz_err *lz_cache_path(char **out);

#endif
