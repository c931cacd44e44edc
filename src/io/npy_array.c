/* The functions of lazuli/array.h that read and write .npy files. */
#include "core/array_handle.h"
#include "io/npy.h"

lz_err *lz_array_load(const char *path, lz_array **out)
{
    lz_array a;
    LZ_TRY(lz_npy_read(path, NULL, &a));
    return lz_array_create_from(&a, out);
}

lz_err *lz_array_save(const char *path, const lz_array *a)
{
    return lz_npy_write(path, a);
}
