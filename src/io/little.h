/* little.h - numbers in files: the least significant byte comes first. */
#ifndef LZ_IO_LITTLE_H
#define LZ_IO_LITTLE_H

#include "base/text.h"

static inline uint64_t lz_little(const char *p, size_t n)
{
    uint64_t v = 0;
    while (n--)
        v = v << 8 | (unsigned char)p[n];
    return v;
}

static inline void lz_put_little(lz_text *t, uint64_t v, size_t n)
{
    for (; n--; v >>= 8)
        lz_text_putc(t, (char)(v & 0xff));
}

#endif
