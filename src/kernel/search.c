/* Looks up values in a sorted sequence. For sequences that are not sorted or contain NaNs the result is
 * PyTorch's: the search compares the same elements in the same order. */
#include "core/half.h"
#include "kernel/strided_walk.h"
#include <assert.h>

typedef struct lookup {
    const void *sequence, *values;
    int64_t step, n;       /* of the sequence */
    int64_t value_step, m; /* of the values */
    bool right;
} lookup;

typedef void search_fn(const lookup *l, int64_t *out);

/* Searches that run interleaved: while one waits for memory, the others continue. */
enum { LANES = 8 };

static int steps_of(int64_t n)
{
    return n > 0 ? 64 - __builtin_clzll((uint64_t)n) : 0;
}

/* low, left: the position is in [low, low + left]. A finished search continues without effect, at an element
 * that exists. */
#define SEARCH(name, T, LOAD, V)                                                                             \
    static void name##_lanes(const lookup *l, const V *v, int64_t *low)                                      \
    {                                                                                                        \
        const T *s = l->sequence;                                                                            \
        int64_t left[LANES];                                                                                 \
        for (int k = 0; k < LANES; k++) {                                                                    \
            low[k] = 0;                                                                                      \
            left[k] = l->n;                                                                                  \
        }                                                                                                    \
        for (int step = steps_of(l->n); step > 0; step--)                                                    \
            for (int k = 0; k < LANES; k++) {                                                                \
                int64_t half = left[k] / 2, at = low[k] + half, last = l->n - 1;                             \
                V e = LOAD(s[(at < last ? at : last) * l->step]);                                            \
                bool behind = (left[k] > 0) & (l->right ? !(e > v[k]) : !(e >= v[k]));                       \
                low[k] = behind ? at + 1 : low[k];                                                           \
                left[k] = behind ? left[k] - half - 1 : half;                                                \
            }                                                                                                \
    }                                                                                                        \
    static void name(const lookup *l, int64_t *out)                                                          \
    {                                                                                                        \
        const T *values = l->values;                                                                         \
        V v[LANES];                                                                                          \
        int64_t low[LANES];                                                                                  \
        for (int64_t i = 0; i < l->m; i += LANES) {                                                          \
            int64_t lanes = l->m - i < LANES ? l->m - i : LANES;                                             \
            for (int64_t k = 0; k < LANES; k++)                                                              \
                v[k] = LOAD(values[(i + (k < lanes ? k : 0)) * l->value_step]);                              \
            name##_lanes(l, v, low);                                                                         \
            for (int64_t k = 0; k < lanes; k++)                                                              \
                out[i + k] = low[k];                                                                         \
        }                                                                                                    \
    }

#define SAME(v) (v)
SEARCH(search_u8, uint8_t, SAME, uint8_t)
SEARCH(search_i8, int8_t, SAME, int8_t)
SEARCH(search_i16, int16_t, SAME, int16_t)
SEARCH(search_i32, int32_t, SAME, int32_t)
SEARCH(search_i64, int64_t, SAME, int64_t)
SEARCH(search_f16, uint16_t, lz_f16_to_f32, float)
SEARCH(search_bf16, uint16_t, lz_bf16_to_f32, float)
SEARCH(search_f32, float, SAME, float)
SEARCH(search_f64, double, SAME, double)

static search_fn *const searches[LZ_DTYPE_NUMBERS] = {
    [LZ_BOOL] = search_u8, [LZ_U8] = search_u8,   [LZ_I8] = search_i8,   [LZ_I16] = search_i16,
    [LZ_I32] = search_i32, [LZ_I64] = search_i64, [LZ_F16] = search_f16, [LZ_BF16] = search_bf16,
    [LZ_F32] = search_f32, [LZ_F64] = search_f64,
};

/* Values [begin, end) of all, in runs within one row. */
static lz_err *search_range(void *user, int64_t begin, int64_t end, int worker)
{
    const lz_kernel_call *c = user;
    const lz_strided *seq = &c->in[0], *values = &c->in[1];
    int64_t m = values->ndim ? values->sizes[values->ndim - 1] : 1;
    lookup l = { .step = seq->strides[seq->ndim - 1],
                 .n = seq->sizes[seq->ndim - 1],
                 .value_step = values->ndim ? values->strides[values->ndim - 1] : 0,
                 .right = c->params[0] != 0 };
    (void)worker;
    for (int64_t i = begin; i < end; i += l.m) {
        int64_t row = i / m;
        l.m = (row + 1) * m < end ? (row + 1) * m - i : end - i;
        l.sequence = lz_strided_at(seq, seq->ndim == 1 ? 0 : lz_strided_offset(seq, seq->ndim - 1, row));
        l.values = lz_strided_at(values, lz_strided_offset(values, values->ndim, i));
        searches[seq->dtype](&l, (int64_t *)c->out.data + i);
    }
    return NULL;
}

lz_err *lz_search_sorted(const lz_kernel_call *c)
{
    assert(c->in[0].ndim >= 1 && c->in[0].dtype == c->in[1].dtype && c->out.dtype == LZ_I64);
    const lz_strided *values = &c->in[1];
    lz_kernel_call call = *c;
    if (!searches[c->in[0].dtype])
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s numbers have no order", lz_dtype_get(c->in[0].dtype)->name);
    return lz_pool_for(c->pool, lz_strided_count(values, values->ndim), 2048, search_range, &call);
}
