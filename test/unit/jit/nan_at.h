/* nan_at.h - a NaN is as good as another: its sign and bits are nobody's promise. */
#ifndef LZ_TEST_NAN_AT_H
#define LZ_TEST_NAN_AT_H

#include <lazuli/value.h>
#include <stdbool.h>
#include <string.h>

/* Of the element at p; 8 bytes from there can be read. */
static inline bool nan_at(int dtype, const char *p)
{
    uint16_t h;
    float f;
    double d;
    memcpy(&h, p, sizeof h);
    if (dtype == LZ_F16)
        return (h & 0x7fff) > 0x7c00;
    if (dtype == LZ_BF16)
        return (h & 0x7fff) > 0x7f80;
    memcpy(&f, p, sizeof f);
    if (dtype == LZ_F32)
        return f != f;
    memcpy(&d, p, sizeof d);
    return dtype == LZ_F64 && d != d;
}

#endif
