/* llvm_version.h - which LLVM would be found here, without loading it.
 *
 * Loading LLVM takes longer than all the rest of a start, and code from the disk needs only its
 * version, for the key. So a process that has loaded it leaves a note in the cache: which file it
 * was, and the version. A note holds as long as that file, and what decides which file is found, are
 * the same. It decides about keys only: code of any version is right. */
#ifndef LZ_JIT_LLVM_VERSION_H
#define LZ_JIT_LLVM_VERSION_H

#include "base/err.h"
#include <stdbool.h>

/* "19.1.7", for the life of the process. With `load` unset LLVM is not loaded, and where there is no
 * note *out is NULL. LZ_ERR_NOT_FOUND: there is no LLVM. */
LZ_MUST_USE lz_err *lz_llvm_version(bool load, const char **out);

#endif
