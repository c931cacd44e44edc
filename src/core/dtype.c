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

#define WHOLE(order, id, category, name, script, abbr, c_name, min, max)                                     \
    [id] = { id, category, sizeof(c_name), true, order, id, name, script, abbr, #c_name, min, max, 0 }
#define FLOAT(order, id, size, name, script, abbr, c_name, largest)                                          \
    [id] = { id, LZ_CATEGORY_FLOAT, size, true, order, id, name, script, abbr, c_name, 0, 0, largest }
#define COMPLEX(order, id, size, part, name, script, abbr, c_name, largest)                                  \
    [id] = { id, LZ_CATEGORY_COMPLEX, size, false, order, part, name, script, abbr, c_name, 0, 0, largest }

static const lz_dtype_info rows[LZ_DTYPE_NUMBERS] = {
    WHOLE(0, LZ_BOOL, LZ_CATEGORY_BOOL, "bool", "Bool", "bool", bool, 0, 1),
    WHOLE(1, LZ_U8, LZ_CATEGORY_INT, "uint8", "Byte", "u8", uint8_t, 0, UINT8_MAX),
    WHOLE(2, LZ_I8, LZ_CATEGORY_INT, "int8", "Char", "i8", int8_t, INT8_MIN, INT8_MAX),
    WHOLE(3, LZ_I16, LZ_CATEGORY_INT, "int16", "Short", "i16", int16_t, INT16_MIN, INT16_MAX),
    WHOLE(4, LZ_I32, LZ_CATEGORY_INT, "int32", "Int", "i32", int, INT32_MIN, INT32_MAX),
    WHOLE(5, LZ_I64, LZ_CATEGORY_INT, "int64", "Long", "i64", int64_t, INT64_MIN, INT64_MAX),
    FLOAT(6, LZ_F16, 2, "float16", "Half", "f16", "at::Half", F16_MAX),
    FLOAT(7, LZ_BF16, 2, "bfloat16", "BFloat16", "bf16", "at::BFloat16", BF16_MAX),
    FLOAT(8, LZ_F32, 4, "float32", "Float", "f32", "float", FLT_MAX),
    FLOAT(9, LZ_F64, 8, "float64", "Double", "f64", "double", DBL_MAX),
    COMPLEX(10, LZ_C32, 4, LZ_F16, "complex32", "ComplexHalf", "c32", "c10::complex<at::Half>", F16_MAX),
    COMPLEX(11, LZ_C64, 8, LZ_F32, "complex64", "ComplexFloat", "c64", "c10::complex<float>", FLT_MAX),
    COMPLEX(12, LZ_C128, 16, LZ_F64, "complex128", "ComplexDouble", "c128", "c10::complex<double>", DBL_MAX),
};

/* In the order of `order` in the table above. */
const lz_dtype lz_dtypes[LZ_DTYPE_COUNT] = { LZ_BOOL, LZ_U8,  LZ_I8,  LZ_I16, LZ_I32, LZ_I64, LZ_F16,
                                             LZ_BF16, LZ_F32, LZ_F64, LZ_C32, LZ_C64, LZ_C128 };

const lz_dtype_info *lz_dtype_get(lz_dtype d)
{
    bool known = (int)d >= 0 && (int)d < LZ_DTYPE_NUMBERS && rows[d].category != LZ_CATEGORY_NONE;
    return known ? &rows[d] : &none;
}

lz_dtype lz_dtype_by_abbr(lz_str name)
{
    for (size_t i = 0; i < LZ_DTYPE_COUNT; i++)
        if (lz_str_is(name, rows[lz_dtypes[i]].abbr))
            return lz_dtypes[i];
    return LZ_DTYPE_NONE;
}

lz_dtype lz_dtype_complex_of(lz_dtype part)
{
    for (size_t i = 0; i < LZ_DTYPE_COUNT; i++) {
        const lz_dtype_info *row = &rows[lz_dtypes[i]];
        if (row->category == LZ_CATEGORY_COMPLEX && row->part == part)
            return row->dtype;
    }
    return part == LZ_BF16 ? LZ_C64 : LZ_DTYPE_NONE;
}
