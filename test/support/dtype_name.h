/* dtype_name.h - dtypes by the names that recorded cases have. */
#ifndef LZ_TEST_DTYPE_NAME_H
#define LZ_TEST_DTYPE_NAME_H

#include "base/str.h"
#include <lazuli/value.h>

/* "float32", or "float"; LZ_DTYPE_NONE if there is none. */
lz_dtype dtype_by_name(lz_str name);

#endif
