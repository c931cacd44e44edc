#include "kernel/matmul_pairs.h"
#include "core/dtype.h"
#include <string.h>

static bool is_bf16(const lz_kernel_call *c)
{
    return c->in[0].dtype == LZ_BF16 && c->in[1].dtype == LZ_BF16 && c->out.dtype == LZ_F32;
}

/* i8, or u8 by i8. The instruction multiplies unsigned by signed numbers. */
static bool is_int8(const lz_kernel_call *c)
{
    return (c->in[0].dtype == LZ_I8 || c->in[0].dtype == LZ_U8) && c->in[1].dtype == LZ_I8
           && c->out.dtype == LZ_I32;
}

bool lz_matmul_has_pairs(const lz_kernel_call *c)
{
    return (is_bf16(c) && lz_gemm_pairs(LZ_GEMM_BF16_PAIRS))
           || (is_int8(c) && lz_gemm_pairs(LZ_GEMM_I8_QUADS));
}

const char *lz_matmul_pairs_name(const lz_kernel_call *c)
{
    return is_bf16(c) ? "avx512_bf16" : "avx512_vnni";
}

/* ---- packing ---- */

/* Words (i, q) of elements N * q to N * q + N - 1 along k go to [q][wide], with the bits `flip` inverted;
 * behind the end is 0. */
#define PACK(T, N)                                                                                           \
    static inline uint32_t word_##T(const T *x, int64_t k, int64_t n)                                        \
    {                                                                                                        \
        uint32_t w = 0;                                                                                      \
        for (int e = 0; e < (N); e++)                                                                        \
            w |= e < n ? (uint32_t)x[e * k] << (32 / (N)*e) : 0;                                             \
        return w;                                                                                            \
    }                                                                                                        \
    static void pack_##T(const T *x, int64_t along, int64_t k, int64_t n, int64_t nk, int64_t wide,          \
                         uint32_t flip, uint32_t *panel)                                                     \
    {                                                                                                        \
        enum { STEP = 8 };                                                                                   \
        for (int64_t q0 = 0; q0 < nk / (N); q0 += STEP) {                                                    \
            int64_t end = q0 + STEP < nk / (N) ? q0 + STEP : nk / (N);                                       \
            for (int64_t i = 0; i < n; i++)                                                                  \
                for (int64_t q = q0; q < end; q++)                                                           \
                    panel[q * wide + i] = word_##T(x + i * along + (N)*q * k, k, N) ^ flip;                  \
        }                                                                                                    \
    }                                                                                                        \
    static void pack_rows_##T(const T *x, int64_t k, int64_t n, int64_t nk, int64_t wide, uint32_t flip,     \
                              uint32_t *panel)                                                               \
    {                                                                                                        \
        for (int64_t q = 0; q < nk / (N); q++)                                                               \
            for (int64_t i = 0; i < n; i++)                                                                  \
                panel[q * wide + i] = word_##T(x + (N)*q * k + i, k, N) ^ flip;                              \
    }                                                                                                        \
    static void fill_##T(const void *from, int64_t along, int64_t k, int64_t n, int64_t nk, int64_t wide,    \
                         uint32_t flip, void *panel)                                                         \
    {                                                                                                        \
        const T *x = from;                                                                                   \
        int64_t whole = nk / (N) * (N), rest = nk - whole;                                                   \
        uint32_t *last = (uint32_t *)panel + whole / (N)*wide;                                               \
        if (along == 1)                                                                                      \
            pack_rows_##T(x, k, n, nk, wide, flip, panel);                                                   \
        else if (k == 1)                                                                                     \
            pack_##T(x, along, 1, n, nk, wide, flip, panel);                                                 \
        else                                                                                                 \
            pack_##T(x, along, k, n, nk, wide, flip, panel);                                                 \
        for (int64_t i = 0; rest && i < n; i++)                                                              \
            last[i] = word_##T(x + i * along + whole * k, k, rest)                                           \
                      ^ (flip & ((UINT32_C(1) << (32 / (N)*rest)) - 1));                                     \
    }
PACK(uint16_t, 2)
PACK(uint8_t, 4)

/* along: the dimension of s that is not k. */
static void fetch(const lz_matmul_pairs *p, const lz_strided *s, int along, int64_t b, int64_t at, int64_t n,
                  int64_t k0, int64_t nk, int64_t wide, void *panel)
{
    int64_t size = (int64_t)lz_dtype_size(s->dtype), step = s->strides[along], k = s->strides[3 - along];
    int64_t each = 4 / size, left = p->x->sizes[2] - each * k0;
    const char *from = (const char *)s->data + (b * s->strides[0] + at * step + each * k0 * k) * size;
    nk = left < each * nk ? left : each * nk;
    if (s->dtype == LZ_BF16)
        fill_uint16_t(from, step, k, n, nk, wide, 0, panel);
    else
        fill_uint8_t(from, step, k, n, nk, wide, p->g.shifted && s == p->x ? 0x80808080 : 0, panel);
}

static void fetch_x(void *user, int64_t b, int64_t at, int64_t n, int64_t k0, int64_t nk, int64_t wide,
                    void *panel)
{
    const lz_matmul_pairs *p = user;
    fetch(p, p->x, 1, b, at, n, k0, nk, wide, panel);
}

static void fetch_y(void *user, int64_t b, int64_t at, int64_t n, int64_t k0, int64_t nk, int64_t wide,
                    void *panel)
{
    const lz_matmul_pairs *p = user;
    fetch(p, p->y, 2, b, at, n, k0, nk, wide, panel);
}

/* bf16 that are contiguous along an even k are pairs as they lie in memory. */
static bool has_pairs(const lz_strided *s, int along)
{
    return s->dtype == LZ_BF16 && s->strides[3 - along] == 1 && s->sizes[3 - along] % 2 == 0
           && s->strides[along] % 2 == 0 && (s->sizes[0] == 1 || s->strides[0] % 2 == 0);
}

static lz_gemm_side side_of(const lz_strided *s, int along, lz_gemm_fetch *f)
{
    if (!has_pairs(s, along))
        return (lz_gemm_side){ .fetch = f };
    return (lz_gemm_side){
        .data = s->data, .dtype = LZ_F32, .batch = s->strides[0] / 2, .along = s->strides[along] / 2, .k = 1
    };
}

void lz_matmul_pairs_init(lz_matmul_pairs *p, const lz_kernel_call *c, const lz_gemm *own)
{
    *p = (lz_matmul_pairs){ .x = &c->in[0], .y = &c->in[1], .g = *own };
    int64_t each = is_bf16(c) ? 2 : 4;
    p->g.type = is_bf16(c) ? LZ_GEMM_BF16_PAIRS : LZ_GEMM_I8_QUADS;
    p->g.shifted = c->in[0].dtype == LZ_I8;
    p->g.k = (own->k + each - 1) / each;
    p->g.x = side_of(p->x, 1, fetch_x);
    p->g.y = side_of(p->y, 2, fetch_y);
    p->g.user = p;
}
