#include "kernel/matmul_pairs.h"
#include "core/dtype.h"
#include <string.h>

static bool is_bf16(const lz_kernel_call *c)
{
    return c->in[0].dtype == LZ_BF16 && c->in[1].dtype == LZ_BF16 && c->out.dtype == LZ_F32;
}

/* i8, or u8 by i8: both are numbers of 16 bits. */
static bool is_int8(const lz_kernel_call *c)
{
    return (c->in[0].dtype == LZ_I8 || c->in[0].dtype == LZ_U8) && c->in[1].dtype == LZ_I8
           && c->out.dtype == LZ_I32;
}

bool lz_matmul_has_pairs(const lz_kernel_call *c)
{
    return (is_bf16(c) && lz_gemm_pairs(LZ_GEMM_BF16_PAIRS))
           || (is_int8(c) && lz_gemm_pairs(LZ_GEMM_I16_PAIRS));
}

const char *lz_matmul_pairs_name(const lz_kernel_call *c)
{
    return is_bf16(c) ? "avx512_bf16" : "avx512_vnni";
}

/* ---- packing ---- */

/* Pairs (i, q) of elements 2q and 2q + 1 along k go to [q][wide]; behind an odd end is 0. */
#define PACK(T, U)                                                                                           \
    static void pack_##T(const T *x, int64_t along, int64_t k, int64_t n, int64_t nk, int64_t wide,          \
                         uint32_t *panel)                                                                    \
    {                                                                                                        \
        enum { STEP = 8 };                                                                                   \
        for (int64_t q0 = 0; q0 < nk / 2; q0 += STEP) {                                                      \
            int64_t end = q0 + STEP < nk / 2 ? q0 + STEP : nk / 2;                                           \
            for (int64_t i = 0; i < n; i++)                                                                  \
                for (int64_t q = q0; q < end; q++) {                                                         \
                    const T *at = x + i * along + 2 * q * k;                                                 \
                    panel[q * wide + i] = (uint32_t)(U)at[0] | (uint32_t)(U)at[k] << 16;                     \
                }                                                                                            \
        }                                                                                                    \
        for (int64_t i = 0; nk % 2 && i < n; i++)                                                            \
            panel[nk / 2 * wide + i] = (uint32_t)(U)x[i * along + (nk - 1) * k];                             \
    }                                                                                                        \
    static void pack_rows_##T(const T *x, int64_t k, int64_t n, int64_t nk, int64_t wide, uint32_t *panel)   \
    {                                                                                                        \
        for (int64_t q = 0; q < nk / 2; q++)                                                                 \
            for (int64_t i = 0; i < n; i++)                                                                  \
                panel[q * wide + i] =                                                                        \
                    (uint32_t)(U)x[2 * q * k + i] | (uint32_t)(U)x[(2 * q + 1) * k + i] << 16;               \
        for (int64_t i = 0; nk % 2 && i < n; i++)                                                            \
            panel[nk / 2 * wide + i] = (uint32_t)(U)x[(nk - 1) * k + i];                                     \
    }                                                                                                        \
    static void fill_##T(const void *from, int64_t along, int64_t k, int64_t n, int64_t nk, int64_t wide,    \
                         void *panel)                                                                        \
    {                                                                                                        \
        if (along == 1)                                                                                      \
            pack_rows_##T(from, k, n, nk, wide, panel);                                                      \
        else                                                                                                 \
            pack_##T(from, along, k, n, nk, wide, panel);                                                    \
    }
PACK(uint16_t, uint16_t)
PACK(uint8_t, uint16_t)
PACK(int8_t, uint16_t)

/* along: the dimension of s that is not k. */
static void fetch(const lz_matmul_pairs *p, const lz_strided *s, int along, int64_t b, int64_t at, int64_t n,
                  int64_t k0, int64_t nk, int64_t wide, void *panel)
{
    int64_t size = (int64_t)lz_dtype_size(s->dtype), step = s->strides[along], k = s->strides[3 - along];
    int64_t left = p->x->sizes[2] - 2 * k0;
    const char *from = (const char *)s->data + (b * s->strides[0] + at * step + 2 * k0 * k) * size;
    nk = left < 2 * nk ? left : 2 * nk;
    if (s->dtype == LZ_BF16)
        fill_uint16_t(from, step, k, n, nk, wide, panel);
    else if (s->dtype == LZ_U8)
        fill_uint8_t(from, step, k, n, nk, wide, panel);
    else
        fill_int8_t(from, step, k, n, nk, wide, panel);
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
    p->g.type = is_bf16(c) ? LZ_GEMM_BF16_PAIRS : LZ_GEMM_I16_PAIRS;
    p->g.k = (own->k + 1) / 2;
    p->g.x = side_of(p->x, 1, fetch_x);
    p->g.y = side_of(p->y, 2, fetch_y);
    p->g.user = p;
}
