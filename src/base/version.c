/* The version of the library. */
#include <lazuli/base.h>

const char *lz_version(void)
{
    return LZ_VERSION;
}
