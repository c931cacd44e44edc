/* recurrent_steps.h - the steps of recurrent cells, and exp and tanh for them; compiled for each vector
 * width, with the same bits, by a file that defines LZ_CELL_TABLE. */
#include <math.h>
#include <string.h>

/* A choice between two values may compare without regard to signals; otherwise loops with choices are not
 * made vectors. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

/* exp and tanh of floats without branches, so that loops become vectors; within 2 ulp. */

static inline float exp_f32(float x)
{
    const float shift = 0x1.8p23f, log2e = 0x1.715476p0f, high = 0x1.62e4p-1f, low = 0x1.7f7d1cp-20f;
    float y = x > 88.72283f ? 88.72283f : x;
    y = y < -87.33654f ? -87.33654f : y; /* NaN stays */
    float k = y * log2e + shift;
    uint32_t bits;
    memcpy(&bits, &k, sizeof bits);
    k -= shift;
    float r = y - k * high - k * low, p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1;
    /* 2^k as 2 * 2^(k - 1), for k = 128 */
    uint32_t half = (bits + 126) << 23;
    float by;
    memcpy(&by, &half, sizeof by);
    return p * by * 2;
}

static inline float tanh_f32(float x)
{
    float a = fabsf(x), q = x * x, p = -5.70498872745e-3f;
    p = p * q + 2.06390887954e-2f;
    p = p * q - 5.37397155531e-2f;
    p = p * q + 1.33314422036e-1f;
    p = p * q - 3.33332819422e-1f;
    float small = p * q * x + x, large = copysignf(1 - 2 / (exp_f32(a + a) + 1), x);
    return a < 0.625f ? small : large;
}

#define T       float
#define NAME(x) x##_f32
#define EXP     exp_f32
#define TANH    tanh_f32
#include "kernel/recurrent_math.h"
#undef T
#undef NAME
#undef EXP
#undef TANH
#define T       double
#define NAME(x) x##_f64
#define EXP     exp
#define TANH    tanh
#include "kernel/recurrent_math.h"

const lz_cell_math LZ_CELL_TABLE = {
    .forward = {
        [LZ_CELL_TANH] = { tanh_forward_f32, tanh_forward_f64 },
        [LZ_CELL_RELU] = { relu_forward_f32, relu_forward_f64 },
        [LZ_CELL_LSTM] = { lstm_forward_f32, lstm_forward_f64 },
        [LZ_CELL_GRU] = { gru_forward_f32, gru_forward_f64 },
    },
    .backward = {
        [LZ_CELL_TANH] = { tanh_backward_f32, tanh_backward_f64 },
        [LZ_CELL_RELU] = { relu_backward_f32, relu_backward_f64 },
        [LZ_CELL_LSTM] = { lstm_backward_f32, lstm_backward_f64 },
        [LZ_CELL_GRU] = { gru_backward_f32, gru_backward_f64 },
    },
    .linear = { { linear_f32, linear_f64 }, { linear_memory_f32, linear_memory_f64 } },
    .linear_backward = { { linear_backward_f32, linear_backward_f64 },
                         { linear_memory_backward_f32, linear_memory_backward_f64 } },
};
