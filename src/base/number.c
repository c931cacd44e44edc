#include "base/number.h"
#include <stdio.h>
size_t lz_double_print(double v, char buf[LZ_DOUBLE_CHARS])
{
    return (size_t)snprintf(buf, LZ_DOUBLE_CHARS, "%.17g", v);
}
