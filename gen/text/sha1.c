#include "gen/text/sha1.h"

enum { BLOCK = 64 };

static uint32_t rotate(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

static uint32_t mix(int round, uint32_t b, uint32_t c, uint32_t d)
{
    static const uint32_t constants[] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6 };
    uint32_t choose = (b & c) | (~b & d), parity = b ^ c ^ d, majority = (b & c) | (b & d) | (c & d);
    const uint32_t f[] = { choose, parity, majority, parity };
    return f[round / 20] + constants[round / 20];
}

static void add_block(uint32_t h[5], const unsigned char *p)
{
    uint32_t w[80], v[5];
    for (size_t i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (int i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 80; i++) {
        uint32_t t = rotate(v[0], 5) + mix(i, v[1], v[2], v[3]) + v[4] + w[i];
        v[4] = v[3];
        v[3] = v[2];
        v[2] = rotate(v[1], 30);
        v[1] = v[0];
        v[0] = t;
    }
    for (int i = 0; i < 5; i++)
        h[i] += v[i];
}

void lzg_sha1(lz_str data, unsigned char out[LZG_SHA1_BYTES])
{
    uint32_t h[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
    unsigned char tail[2 * BLOCK] = { 0 };
    size_t whole = data.len / BLOCK, rest = data.len % BLOCK, blocks = rest < BLOCK - 8 ? 1 : 2;
    for (size_t i = 0; i < whole; i++)
        add_block(h, (const unsigned char *)data.ptr + i * BLOCK);
    if (rest)
        memcpy(tail, data.ptr + whole * BLOCK, rest);
    tail[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        tail[blocks * BLOCK - 1 - i] = (unsigned char)((uint64_t)data.len * 8 >> 8 * i);
    for (size_t i = 0; i < blocks; i++)
        add_block(h, tail + i * BLOCK);
    for (size_t i = 0; i < LZG_SHA1_BYTES; i++)
        out[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
}

uint32_t lzg_sha1_mod(lz_str data, uint32_t n)
{
    unsigned char digest[LZG_SHA1_BYTES];
    uint64_t r = 0;
    lzg_sha1(data, digest);
    for (size_t i = LZG_SHA1_BYTES; i-- > 0;)
        r = (r * 256 + digest[i]) % n;
    return (uint32_t)r;
}
