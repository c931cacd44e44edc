/* array_handle.h - reference-counted arrays: those of lazuli/array.h.
 *
 * Functions that read an lz_array accept both kinds. Only arrays made here may be retained and released; only
 * those in the caller's storage are deinited. */
#ifndef LZ_CORE_ARRAY_HANDLE_H
#define LZ_CORE_ARRAY_HANDLE_H

#include "core/strided_array.h"

/* Takes over the array, even on failure, and leaves it empty. */
LZ_MUST_USE lz_err *lz_array_create_from(lz_array *a, lz_array **out);

#endif
