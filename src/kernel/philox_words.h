/* philox_words.h - random words for kernels: Philox-4x32-10 (Salmon et al. 2011). Block b of a stream is a
 * function of key, stream and b alone. */
#ifndef LZ_KERNEL_PHILOX_WORDS_H
#define LZ_KERNEL_PHILOX_WORDS_H

#include <stdint.h>

/* One block of four words. */
static inline void lz_philox_block(uint64_t key, uint64_t block, uint32_t stream, uint32_t out[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c[4] = { (uint32_t)block, (uint32_t)(block >> 32), stream, 0 };
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)UINT32_C(0xD2511F53) * c[0], q = (uint64_t)UINT32_C(0xCD9E8D57) * c[2];
        c[0] = (uint32_t)(q >> 32) ^ c[1] ^ k0;
        c[2] = (uint32_t)(p >> 32) ^ c[3] ^ k1;
        c[1] = (uint32_t)q;
        c[3] = (uint32_t)p;
        k0 += UINT32_C(0x9E3779B9);
        k1 += UINT32_C(0xBB67AE85);
    }
    for (int i = 0; i < 4; i++)
        out[i] = c[i];
}

/* Words of many blocks, LZ_PHILOX_GROUP at a time: the first words of a group's blocks, then the second ones,
 * ... */
enum { LZ_PHILOX_GROUP = 8, LZ_PHILOX_WORDS = 4 * LZ_PHILOX_GROUP };

/* Groups [first, first + n) of a stream, to out [n * LZ_PHILOX_WORDS]. */
typedef void lz_philox_fill_fn(uint64_t key, uint32_t stream, int64_t first, int64_t n, uint32_t *out);
lz_philox_fill_fn lz_philox_fill_base, lz_philox_fill_avx2; /* the same words */
lz_philox_fill_fn *lz_philox_fill(void);                    /* for this machine */

#endif
