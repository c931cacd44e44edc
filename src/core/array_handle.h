/* array_handle.h - arrays that are counted: those of lazuli/array.h.
 *
 * The functions that look at an lz_array take both kinds. Only what was made here may be
 * retained and released; only what lies in the caller's storage is deinited. */
#ifndef LZ_CORE_ARRAY_HANDLE_H
#define LZ_CORE_ARRAY_HANDLE_H

#include "core/array.h"

/* Takes the array over, also when it fails, and leaves it empty. */
LZ_MUST_USE lz_err *lz_array_create_from(lz_array *a, lz_array **out);

#endif
