#include "core/convert.h"
#include "core/half.h"

/* Every element passes through one of three wide types, each exact for the dtypes that use it: 19 load loops
 * and 29 store loops do the work of 169. */
typedef enum wide { WIDE_INT, WIDE_FLOAT, WIDE_COMPLEX, WIDE_COUNT } wide;

typedef struct c128 {
    double re, im;
} c128;
typedef struct c64 {
    float re, im;
} c64;
typedef struct c32 {
    uint16_t re, im;
} c32;

enum { TILE = 256 };

typedef union wides {
    int64_t i[TILE];
    double f[TILE];
    c128 c[TILE];
} wides;

typedef void load_fn(const char *src, ptrdiff_t step, int64_t n, void *tile);
typedef void store_fn(const void *tile, int64_t n, char *dst, ptrdiff_t step);

int32_t lz_f64_to_i32(double v)
{
    return v > -2147483649.0 && v < 2147483648.0 ? (int32_t)v : INT32_MIN;
}

int64_t lz_f64_to_i64(double v)
{
    return lz_f64_fits_i64(v) ? (int64_t)v : INT64_MIN;
}

/* x: the element, of type T; expr converts it to W. */
#define LOAD(name, T, W, expr)                                                                               \
    static void load_##name(const char *src, ptrdiff_t step, int64_t n, void *tile)                          \
    {                                                                                                        \
        W *out = tile;                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            T x;                                                                                             \
            memcpy(&x, src + i * step, sizeof x);                                                            \
            out[i] = (expr);                                                                                 \
        }                                                                                                    \
    }

/* w: the wide value, of type W; the expression converts it to T. */
#define STORE(name, T, W, ...)                                                                               \
    static void store_##name(const void *tile, int64_t n, char *dst, ptrdiff_t step)                         \
    {                                                                                                        \
        const W *in = tile;                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            W w = in[i];                                                                                     \
            T x = __VA_ARGS__;                                                                               \
            memcpy(dst + i * step, &x, sizeof x);                                                            \
        }                                                                                                    \
    }

LOAD(bool, uint8_t, int64_t, x != 0)
LOAD(u8, uint8_t, int64_t, x)
LOAD(i8, int8_t, int64_t, (int)x)
LOAD(i16, int16_t, int64_t, x)
LOAD(i32, int32_t, int64_t, x)
LOAD(i64, int64_t, int64_t, x)
LOAD(f16, uint16_t, double, (double)lz_f16_to_f32(x))
LOAD(bf16, uint16_t, double, (double)lz_bf16_to_f32(x))
LOAD(f32, float, double, (double)x)
LOAD(f64, double, double, x)
LOAD(c32_any, c32, int64_t, ((x.re | x.im) & 0x7fff) != 0)
LOAD(c64_any, c64, int64_t, x.re != 0 || x.im != 0)
LOAD(c128_any, c128, int64_t, x.re != 0 || x.im != 0)
LOAD(c32_re, c32, double, (double)lz_f16_to_f32(x.re))
LOAD(c64_re, c64, double, (double)x.re)
LOAD(c128_re, c128, double, x.re)
LOAD(c32, c32, c128, ((c128){ (double)lz_f16_to_f32(x.re), (double)lz_f16_to_f32(x.im) }))
LOAD(c64, c64, c128, ((c128){ (double)x.re, (double)x.im }))
LOAD(c128, c128, c128, x)

STORE(int_bool, uint8_t, int64_t, w != 0)
STORE(int_u8, uint8_t, int64_t, (uint8_t)w)
STORE(int_i8, int8_t, int64_t, (int8_t)w)
STORE(int_i16, int16_t, int64_t, (int16_t)w)
STORE(int_i32, int32_t, int64_t, (int32_t)w)
STORE(int_i64, int64_t, int64_t, w)
STORE(int_f16, uint16_t, int64_t, lz_f32_to_f16((float)w))
STORE(int_bf16, uint16_t, int64_t, lz_f32_to_bf16((float)w))
STORE(int_f32, float, int64_t, (float)w)
STORE(int_f64, double, int64_t, (double)w)
STORE(int_c32, c32, int64_t, { lz_f32_to_f16((float)w), 0 })
STORE(int_c64, c64, int64_t, { (float)w, 0 })
STORE(int_c128, c128, int64_t, { (double)w, 0 })

STORE(float_bool, uint8_t, double, w != 0)
STORE(float_u8, uint8_t, double, (uint8_t)lz_f64_to_i32(w))
STORE(float_i8, int8_t, double, (int8_t)lz_f64_to_i32(w))
STORE(float_i16, int16_t, double, (int16_t)lz_f64_to_i32(w))
STORE(float_i32, int32_t, double, lz_f64_to_i32(w))
STORE(float_i64, int64_t, double, lz_f64_to_i64(w))
STORE(float_f16, uint16_t, double, lz_f32_to_f16((float)w))
STORE(float_bf16, uint16_t, double, lz_f32_to_bf16((float)w))
STORE(float_f32, float, double, (float)w)
STORE(float_f64, double, double, w)
STORE(float_c32, c32, double, { lz_f32_to_f16((float)w), 0 })
STORE(float_c64, c64, double, { (float)w, 0 })
STORE(float_c128, c128, double, { w, 0 })

STORE(complex_c32, c32, c128, { lz_f32_to_f16((float)w.re), lz_f32_to_f16((float)w.im) })
STORE(complex_c64, c64, c128, { (float)w.re, (float)w.im })
STORE(complex_c128, c128, c128, w)

/* By wide type: the functions that load and store a dtype. */
typedef struct conversion_row {
    load_fn *load[WIDE_COUNT];
    store_fn *store[WIDE_COUNT];
} conversion_row;

#define WHOLE(x)                                                                                             \
    {                                                                                                        \
        { load_##x, NULL, NULL },                                                                            \
        {                                                                                                    \
            store_int_##x, store_float_##x, NULL                                                             \
        }                                                                                                    \
    }
#define FLOAT(x)                                                                                             \
    {                                                                                                        \
        { NULL, load_##x, NULL },                                                                            \
        {                                                                                                    \
            store_int_##x, store_float_##x, NULL                                                             \
        }                                                                                                    \
    }
#define COMPLEX(x)                                                                                           \
    {                                                                                                        \
        { load_##x##_any, load_##x##_re, load_##x },                                                         \
        {                                                                                                    \
            store_int_##x, store_float_##x, store_complex_##x                                                \
        }                                                                                                    \
    }

static const conversion_row conversions[LZ_DTYPE_NUMBERS] = {
    [LZ_BOOL] = WHOLE(bool),   [LZ_U8] = WHOLE(u8),   [LZ_I8] = WHOLE(i8),     [LZ_I16] = WHOLE(i16),
    [LZ_I32] = WHOLE(i32),     [LZ_I64] = WHOLE(i64), [LZ_F16] = FLOAT(f16),   [LZ_BF16] = FLOAT(bf16),
    [LZ_F32] = FLOAT(f32),     [LZ_F64] = FLOAT(f64), [LZ_C32] = COMPLEX(c32), [LZ_C64] = COMPLEX(c64),
    [LZ_C128] = COMPLEX(c128),
};

static wide passage_of(lz_category from, lz_category to)
{
    if (from == LZ_CATEGORY_COMPLEX)
        return to == LZ_CATEGORY_COMPLEX ? WIDE_COMPLEX : to == LZ_CATEGORY_BOOL ? WIDE_INT : WIDE_FLOAT;
    return from == LZ_CATEGORY_FLOAT ? WIDE_FLOAT : WIDE_INT;
}

#define COPY(bytes)                                                                                          \
    static void copy_##bytes(const char *src, ptrdiff_t src_step, char *dst, ptrdiff_t dst_step, int64_t n)  \
    {                                                                                                        \
        for (int64_t i = 0; i < n; i++)                                                                      \
            memmove(dst + i * dst_step, src + i * src_step, bytes);                                          \
    }

COPY(1)
COPY(2)
COPY(4)
COPY(8)
COPY(16)

static void copy_run(size_t size, const char *src, ptrdiff_t src_step, char *dst, ptrdiff_t dst_step,
                     int64_t n)
{
    static void (*const copy[17])(const char *, ptrdiff_t, char *, ptrdiff_t, int64_t) = {
        [1] = copy_1, [2] = copy_2, [4] = copy_4, [8] = copy_8, [16] = copy_16
    };
    if (src_step == (ptrdiff_t)size && dst_step == (ptrdiff_t)size)
        memmove(dst, src, (size_t)n * size);
    else
        copy[size](src, src_step, dst, dst_step, n);
}

static void convert_run(const conversion_row *from, const char *src, ptrdiff_t src_step,
                        const conversion_row *to, char *dst, ptrdiff_t dst_step, int64_t n, wide w)
{
    wides tile;
    for (int64_t i = 0; i < n; i += TILE) {
        int64_t part = n - i < TILE ? n - i : TILE;
        from->load[w](src + i * src_step, src_step, part, &tile);
        to->store[w](&tile, part, dst + i * dst_step, dst_step);
    }
}

void lz_convert_run(lz_dtype from, const void *src, ptrdiff_t src_step, lz_dtype to, void *dst,
                    ptrdiff_t dst_step, int64_t n)
{
    const lz_dtype_info *f = lz_dtype_get(from), *t = lz_dtype_get(to);
    if (n <= 0 || f->category == LZ_CATEGORY_NONE || t->category == LZ_CATEGORY_NONE)
        return;
    if (from == to && from != LZ_BOOL)
        copy_run(f->size, src, src_step, dst, dst_step, n);
    else
        convert_run(&conversions[from], src, src_step, &conversions[to], dst, dst_step, n,
                    passage_of(f->category, t->category));
}

lz_scalar lz_element_get(lz_dtype d, const void *p)
{
    union {
        int64_t i;
        double f;
        c128 c;
    } w;
    lz_category c = lz_dtype_category(d);
    if (c == LZ_CATEGORY_NONE)
        return lz_scalar_none();
    conversions[d].load[passage_of(c, c)](p, 0, 1, &w);
    if (c == LZ_CATEGORY_COMPLEX)
        return lz_scalar_complex(w.c.re, w.c.im);
    if (c == LZ_CATEGORY_FLOAT)
        return lz_scalar_float(w.f);
    return c == LZ_CATEGORY_BOOL ? lz_scalar_bool(w.i != 0) : lz_scalar_int(w.i);
}

void lz_element_set(lz_dtype d, lz_scalar v, void *p)
{
    const c128 c = { v.re, v.im };
    if (v.kind == LZ_SCALAR_COMPLEX)
        lz_convert_run(LZ_C128, &c, 0, d, p, 0, 1);
    else if (v.kind == LZ_SCALAR_FLOAT)
        lz_convert_run(LZ_F64, &v.re, 0, d, p, 0, 1);
    else
        lz_convert_run(LZ_I64, &v.i, 0, d, p, 0, 1);
}
