/* llvm_version.h - which LLVM would be found here, without loading it.
 *
 * Loading LLVM takes longer than the rest of a start, but code from the disk needs only LLVM's version, for
 * the key. So a process that has loaded LLVM leaves a note in the cache: the file's path and facts, and the
 * version. A note is valid as long as that file, and what decides which file is found, are unchanged. The
 * version affects keys only: code of any version is right. */
#ifndef LZ_JIT_LLVM_VERSION_H
#define LZ_JIT_LLVM_VERSION_H

#include "base/err.h"
#include <stdbool.h>

/* "19.1.7"; valid for the life of the process. Without `load`, LLVM is not loaded, and *out is NULL if there
 * is no note. LZ_ERR_NOT_FOUND: there is no LLVM. */
LZ_MUST_USE lz_err *lz_llvm_version(bool load, const char **out);

#endif
