#include "jit/codes.h"

lz_err *lz_code_get(const lz_kernel *k, const lz_variant *v, bool make, lz_ccode *out, bool *made)
{
    (void)k, (void)v, (void)out, (void)made;
    return make ? lz_errf(LZ_ERR_NOT_FOUND, "no compiler") : NULL;
}
