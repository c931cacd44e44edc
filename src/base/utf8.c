#include "base/utf8.h"

/* By length: mask and mark of the first byte, and the smallest code point that needs this length. */
static const struct {
    unsigned char mask, mark;
    uint32_t least;
} forms[] = { [1] = { 0x80, 0x00, 0 },
              [2] = { 0xe0, 0xc0, 0x80 },
              [3] = { 0xf0, 0xe0, 0x800 },
              [4] = { 0xf8, 0xf0, 0x10000 } };

size_t lz_utf8_decode(lz_str s, uint32_t *out)
{
    unsigned char first = s.len ? (unsigned char)s.ptr[0] : 0xff;
    size_t n = 1;
    while (n <= 4 && (first & forms[n].mask) != forms[n].mark)
        n++;
    if (n > 4 || n > s.len)
        return 0;
    uint32_t code = first & ~(uint32_t)forms[n].mask;
    for (size_t i = 1; i < n; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if ((c & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (c & 0x3f);
    }
    if (code < forms[n].least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    *out = code;
    return n;
}

size_t lz_utf8_encode(uint32_t code, char buf[4])
{
    size_t n = 1;
    while (n < 4 && code >= forms[n + 1].least)
        n++;
    for (size_t i = n - 1; i > 0; i--) {
        buf[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    buf[0] = (char)(forms[n].mark | code);
    return n;
}
