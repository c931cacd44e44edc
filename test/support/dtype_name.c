#include "dtype_name.h"
#include "core/dtype.h"

lz_dtype dtype_by_name(lz_str name)
{
    if (lz_str_is(name, "float"))
        return LZ_F32;
    for (size_t i = 0; i < LZ_DTYPE_COUNT; i++)
        if (lz_str_is(name, lz_dtype_get(lz_dtypes[i])->name))
            return lz_dtypes[i];
    return LZ_DTYPE_NONE;
}
