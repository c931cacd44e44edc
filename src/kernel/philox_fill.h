/* philox_fill.h - many blocks of Philox words at once; compiled for each vector width, with the same words,
 * by a file that defines LZ_PHILOX_FILL. */

static void fill_group(uint64_t key, uint32_t stream, uint64_t block, uint32_t *out)
{
    uint32_t c0[LZ_PHILOX_GROUP], c1[LZ_PHILOX_GROUP], c2[LZ_PHILOX_GROUP], c3[LZ_PHILOX_GROUP];
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int i = 0; i < LZ_PHILOX_GROUP; i++) {
        c0[i] = (uint32_t)block + (uint32_t)i; /* a group's blocks differ in their low words */
        c1[i] = (uint32_t)(block >> 32);
        c2[i] = stream;
        c3[i] = 0;
    }
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < LZ_PHILOX_GROUP; i++) {
            uint64_t p = (uint64_t)UINT32_C(0xD2511F53) * c0[i], q = (uint64_t)UINT32_C(0xCD9E8D57) * c2[i];
            c0[i] = (uint32_t)(q >> 32) ^ c1[i] ^ k0;
            c2[i] = (uint32_t)(p >> 32) ^ c3[i] ^ k1;
            c1[i] = (uint32_t)q;
            c3[i] = (uint32_t)p;
        }
        k0 += UINT32_C(0x9E3779B9);
        k1 += UINT32_C(0xBB67AE85);
    }
    for (int i = 0; i < LZ_PHILOX_GROUP; i++) {
        out[i] = c0[i];
        out[LZ_PHILOX_GROUP + i] = c1[i];
        out[2 * LZ_PHILOX_GROUP + i] = c2[i];
        out[3 * LZ_PHILOX_GROUP + i] = c3[i];
    }
}

void LZ_PHILOX_FILL(uint64_t key, uint32_t stream, int64_t first, int64_t n, uint32_t *out)
{
    for (int64_t g = 0; g < n; g++)
        fill_group(key, stream, (uint64_t)(first + g) * LZ_PHILOX_GROUP, out + g * LZ_PHILOX_WORDS);
}
