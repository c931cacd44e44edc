#include "core/dtype.h"
#include <float.h>

#define F16_MAX  65504.0
#define BF16_MAX 0x1.fep127

static const lz_dtype_info none = { .dtype = LZ_DTYPE_NONE,
                                    .part = LZ_DTYPE_NONE,
                                    .name = "none",
                                    .script = "None",
                                    .abbr = "none",
                                    .c_name = "void" };

#define WHOLE(id, kind, name, script, abbr, c_name, min, max)                                                \
    [id] = { id, kind, sizeof(c_name), true, id, name, script, abbr, #c_name, min, max, 0 }
#define FLOAT(id, size, name, script, abbr, c_name, largest)                                                 \
    [id] = { id, LZ_KIND_FLOAT, size, true, id, name, script, abbr, c_name, 0, 0, largest }
#define COMPLEX(id, size, part, name, script, abbr, c_name, largest)                                         \
    [id] = { id, LZ_KIND_COMPLEX, size, false, part, name, script, abbr, c_name, 0, 0, largest }

static const lz_dtype_info rows[LZ_DTYPE_NUMBERS] = {
    WHOLE(LZ_BOOL, LZ_KIND_BOOL, "bool", "Bool", "bool", bool, 0, 1),
    WHOLE(LZ_U8, LZ_KIND_INT, "uint8", "Byte", "u8", uint8_t, 0, UINT8_MAX),
    WHOLE(LZ_I8, LZ_KIND_INT, "int8", "Char", "i8", int8_t, INT8_MIN, INT8_MAX),
    WHOLE(LZ_I16, LZ_KIND_INT, "int16", "Short", "i16", int16_t, INT16_MIN, INT16_MAX),
    WHOLE(LZ_I32, LZ_KIND_INT, "int32", "Int", "i32", int, INT32_MIN, INT32_MAX),
    WHOLE(LZ_I64, LZ_KIND_INT, "int64", "Long", "i64", int64_t, INT64_MIN, INT64_MAX),
    FLOAT(LZ_F16, 2, "float16", "Half", "f16", "at::Half", F16_MAX),
    FLOAT(LZ_BF16, 2, "bfloat16", "BFloat16", "bf16", "at::BFloat16", BF16_MAX),
    FLOAT(LZ_F32, 4, "float32", "Float", "f32", "float", FLT_MAX),
    FLOAT(LZ_F64, 8, "float64", "Double", "f64", "double", DBL_MAX),
    COMPLEX(LZ_C32, 4, LZ_F16, "complex32", "ComplexHalf", "c32", "c10::complex<at::Half>", F16_MAX),
    COMPLEX(LZ_C64, 8, LZ_F32, "complex64", "ComplexFloat", "c64", "c10::complex<float>", FLT_MAX),
    COMPLEX(LZ_C128, 16, LZ_F64, "complex128", "ComplexDouble", "c128", "c10::complex<double>", DBL_MAX),
};

const lz_dtype lz_dtypes[LZ_DTYPE_COUNT] = { LZ_BOOL, LZ_U8,  LZ_I8,  LZ_I16, LZ_I32, LZ_I64, LZ_F16,
                                             LZ_BF16, LZ_F32, LZ_F64, LZ_C32, LZ_C64, LZ_C128 };

static const struct {
    const char *name;
    lz_dtype dtype;
} second_names[] = {
    { "half", LZ_F16 }, { "float", LZ_F32 }, { "double", LZ_F64 }, { "short", LZ_I16 },    { "int", LZ_I32 },
    { "long", LZ_I64 }, { "chalf", LZ_C32 }, { "cfloat", LZ_C64 }, { "cdouble", LZ_C128 },
};

const lz_dtype_info *lz_dtype_get(lz_dtype d)
{
    bool known = (int)d >= 0 && (int)d < LZ_DTYPE_NUMBERS && rows[d].kind != LZ_KIND_NONE;
    return known ? &rows[d] : &none;
}

/* The name at the same place in each row. */
static lz_dtype find(lz_str name, size_t field)
{
    for (size_t i = 0; i < LZ_DTYPE_COUNT; i++) {
        const char *own;
        memcpy(&own, (const char *)&rows[lz_dtypes[i]] + field, sizeof own);
        if (lz_str_is(name, own))
            return lz_dtypes[i];
    }
    return LZ_DTYPE_NONE;
}

lz_dtype lz_dtype_by_name(lz_str name)
{
    if (lz_str_starts(name, LZ_STR("torch.")))
        name = lz_str_sub(name, sizeof "torch." - 1, name.len);
    lz_dtype d = find(name, offsetof(lz_dtype_info, name));
    for (size_t i = 0; d == LZ_DTYPE_NONE && i < sizeof second_names / sizeof *second_names; i++)
        if (lz_str_is(name, second_names[i].name))
            d = second_names[i].dtype;
    return d;
}

lz_dtype lz_dtype_by_script(lz_str name)
{
    return find(name, offsetof(lz_dtype_info, script));
}

lz_dtype lz_dtype_by_abbr(lz_str name)
{
    return find(name, offsetof(lz_dtype_info, abbr));
}

lz_dtype lz_dtype_complex_of(lz_dtype part)
{
    for (size_t i = 0; i < LZ_DTYPE_COUNT; i++) {
        const lz_dtype_info *row = &rows[lz_dtypes[i]];
        if (row->kind == LZ_KIND_COMPLEX && row->part == part)
            return row->dtype;
    }
    return part == LZ_BF16 ? LZ_C64 : LZ_DTYPE_NONE;
}
