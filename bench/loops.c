#include "loops.h"
#include <math.h>
#include <string.h>

#define LOOP(name, expr)                                                                                     \
    void name(const float *const in[4], float *restrict y, int64_t n)                                        \
    {                                                                                                        \
        const float *restrict as = in[0], *restrict bs = in[1], *restrict cs = in[2], *restrict ds = in[3];  \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            float a = as[i], b = bs[i], c = cs[i], d = ds[i];                                                \
            y[i] = expr;                                                                                     \
        }                                                                                                    \
    }

static inline float gelu(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

static inline float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

LOOP(loop_gelu, gelu(a *b + c) * sigmoid(d))
LOOP(loop_gauss, tanhf(a *b + c) * expf(-(d * d)))
LOOP(loop_norm, logf(1.0f + a * a) + sqrtf(b * b + c * c) / (1.0f + fabsf(d)))
LOOP(loop_soft, log1pf(expf(a)) + sqrtf(b * b + c * c) / (1.0f + fabsf(d)))
LOOP(loop_chain, ((((a + b) * c - d) * a + c) * b - a) * d + (b - c) * 0.5f)

void loop_sum_rows(const float *restrict x, float *restrict y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0;
        for (int64_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = sum;
    }
}

void loop_sum_columns(const float *restrict x, float *restrict y, int64_t rows, int64_t cols, int64_t pitch)
{
    memset(y, 0, (size_t)cols * sizeof *y);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            y[j] += x[i * pitch + j];
}

const char *loop_compiler(void)
{
#ifdef __clang__
    return "clang -Ofast";
#else
    return "gcc -Ofast";
#endif
}
