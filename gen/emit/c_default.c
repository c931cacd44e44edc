#include "gen/emit/c_default.h"
#include "base/number.h"
#include "gen/emit/c_text.h"
#include <lazuli/schema.h>

/* Appends the initialiser for text; false: text has no value of the type. */
typedef bool read_fn(lz_str text, lz_text *out);

typedef struct word {
    const char *text, *init;
} word;

static bool read_word(const word *words, lz_str text, lz_text *out)
{
    for (; words->text; words++)
        if (lz_str_is(text, words->text)) {
            lz_text_puts(out, words->init);
            return true;
        }
    return false;
}

static const word bools[] = {
    { "True", "true" }, { "False", "false" }, { "true", "true" }, { "false", "false" }, { 0 }
};

/* at::Reduction */
static const word ints[] = { { "Mean", "1" }, { "Sum", "2" }, { 0 } };

static const word dtypes[] = {
    { "uint8", "LZ_U8" },      { "int8", "LZ_I8" },
    { "int16", "LZ_I16" },     { "short", "LZ_I16" },
    { "int32", "LZ_I32" },     { "int", "LZ_I32" },
    { "int64", "LZ_I64" },     { "long", "LZ_I64" },
    { "float16", "LZ_F16" },   { "half", "LZ_F16" },
    { "float32", "LZ_F32" },   { "float", "LZ_F32" },
    { "float64", "LZ_F64" },   { "double", "LZ_F64" },
    { "complex32", "LZ_C32" }, { "complex64", "LZ_C64" },
    { "bool", "LZ_BOOL" },     { "complex128", "LZ_C128" },
    { "bfloat16", "LZ_BF16" }, { 0 },
};

static const word layouts[] = { { "strided", "LZ_STRIDED" }, { "sparse_coo", "LZ_SPARSE" }, { 0 } };

static const word memory_formats[] = {
    { "contiguous_format", "LZ_CONTIGUOUS" },
    { "preserve_format", "LZ_PRESERVE" },
    { "channels_last", "LZ_CHANNELS_LAST" },
    { "channels_last_3d", "LZ_CHANNELS_LAST_3D" },
    { 0 },
};

static const word devices[] = {
    { "cpu", "{ 0, -1 }" }, { "\"cpu\"", "{ 0, -1 }" }, { "'cpu'", "{ 0, -1 }" }, { 0 }
};

static bool read_bool(lz_str text, lz_text *out)
{
    return read_word(bools, text, out);
}

/* The smallest integer has no literal in C. */
static bool read_int(lz_str text, lz_text *out)
{
    int64_t v;
    if (!lz_int64_parse(text, &v))
        return read_word(ints, text, out);
    if (v == INT64_MIN)
        lzg_put(out, "INT64_MIN");
    else
        lz_text_int(out, v);
    return true;
}

static bool read_float(lz_str text, lz_text *out)
{
    double v;
    if (!lz_double_parse(text, &v))
        return false;
    if (v != v)
        lzg_put(out, "__builtin_nan(\"\")");
    else if (v - v != 0)
        lz_text_puts(out, v > 0 ? "__builtin_inf()" : "-__builtin_inf()");
    else
        lz_text_double(out, v);
    return true;
}

static bool read_scalar(lz_str text, lz_text *out)
{
    static const struct {
        read_fn *read;
        const char *before, *behind;
    } kinds[] = {
        { read_bool, "{ LZ_SCALAR_BOOL, ", ", 0, 0 }" },
        { read_int, "{ LZ_SCALAR_INT, ", ", 0, 0 }" },
        { read_float, "{ LZ_SCALAR_FLOAT, 0, ", ", 0 }" },
    };
    size_t start = out->len;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        lz_text_puts(out, kinds[i].before);
        if (kinds[i].read(text, out)) {
            lz_text_puts(out, kinds[i].behind);
            return true;
        }
        out->len = start;
    }
    return false;
}

static char unescape(char c)
{
    static const char from[] = "ntr0", to[] = "\n\t\r";
    const char *at = c ? strchr(from, c) : NULL;
    return at ? to[at - from] : c;
}

/* A string in single or double quotes, with the escapes that C and Python share. */
static bool read_str(lz_str text, lz_text *out)
{
    lz_text plain = { 0 };
    char quote = text.len >= 2 ? text.ptr[0] : '\0';
    bool ok = (quote == '"' || quote == '\'') && text.ptr[text.len - 1] == quote;
    for (size_t i = 1; ok && i + 1 < text.len; i++) {
        bool escape = text.ptr[i] == '\\';
        i += escape;
        ok = i + 1 < text.len && (escape || text.ptr[i] != quote);
        lz_text_putc(&plain, escape ? unescape(text.ptr[i]) : text.ptr[i]);
    }
    lz_str s = lz_text_view(&plain);
    if (ok)
        lzg_put_c_string(out, s.ptr ? s : LZ_STR(""));
    out->failed = out->failed || plain.failed;
    lz_text_deinit(&plain);
    return ok;
}

static bool read_dtype(lz_str text, lz_text *out)
{
    return read_word(dtypes, text, out);
}

static bool read_layout(lz_str text, lz_text *out)
{
    return read_word(layouts, text, out);
}

static bool read_memory_format(lz_str text, lz_text *out)
{
    return read_word(memory_formats, text, out);
}

static bool read_device(lz_str text, lz_text *out)
{
    return read_word(devices, text, out);
}

static read_fn *const readers[LZG_C_TYPE_COUNT] = {
    [LZG_C_INT] = read_int,       [LZG_C_FLOAT] = read_float,   [LZG_C_BOOL] = read_bool,
    [LZG_C_SCALAR] = read_scalar, [LZG_C_STR] = read_str,       [LZG_C_DTYPE] = read_dtype,
    [LZG_C_LAYOUT] = read_layout, [LZG_C_DEVICE] = read_device, [LZG_C_MEMORY_FORMAT] = read_memory_format,
};

/* ---- lists ---- */

static bool read_items(read_fn *read, lz_str items, lz_text *out, size_t *n)
{
    bool ok = true;
    for (bool more = true; ok && more; ++*n) {
        lz_str item = lz_str_trim(lz_str_cut(&items, LZ_STR(","), &more));
        lz_text_puts(out, *n ? ", " : "");
        ok = read(item, out);
    }
    return ok;
}

/* One value for a list of known size is repeated. */
static bool read_repeated(read_fn *read, lz_str item, int32_t size, lz_text *out)
{
    bool ok = size > 0 && size <= LZ_LIST_MAX;
    for (int32_t i = 0; ok && i < size; i++) {
        lz_text_puts(out, i ? ", " : "");
        ok = read(item, out);
    }
    return ok;
}

static bool read_list(const lzg_type *list, lzg_c_type c, lz_str text, lz_text *out)
{
    read_fn *read = readers[lzg_c_types[c].plain];
    bool bracketed = text.len >= 2 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']';
    lz_str items = bracketed ? lz_str_trim(lz_str_sub(text, 1, text.len - 1)) : text;
    size_t n = 0;
    if (bracketed && !items.len) {
        lzg_put(out, "{ NULL, 0 }");
        return true;
    }
    if (!read)
        return false;
    lzg_fill(out, "{ (const $[]){ ", lzg_c_types[c].element);
    bool ok = bracketed ? read_items(read, items, out, &n) : read_repeated(read, text, list->size, out);
    lz_text_printf(out, " }, %zu }", bracketed ? n : (size_t)(list->size > 0 ? list->size : 0));
    return ok;
}

/* ---- any type ---- */

static lz_err *refused(lz_str text, const lzg_type *t)
{
    lz_text type = { 0 };
    lzg_type_print(t, &type);
    lz_err *e = lz_text_check(&type);
    if (!e)
        e = lz_errf(LZ_ERR_UNSUPPORTED, "the default '%.*s' is no value of type %.*s", LZ_FMT(text),
                    LZ_FMT(lz_text_view(&type)));
    lz_text_deinit(&type);
    return e;
}

static lz_err *save(lz_arena *a, lz_text *t, lzg_c_type c, lzg_c_default *out)
{
    LZ_TRY(lz_text_save(t, a, &out->value));
    out->init = out->value;
    if (!lzg_c_types[c].opt.len)
        return NULL;
    lzg_fill(t, "{ true, $ }", out->value);
    return lz_text_save(t, a, &out->init);
}

/* The common defaults, without making text. */
static bool common(lz_str text, lzg_c_type c, lzg_c_default *out)
{
    static const struct {
        const char *text;
        lzg_c_type c;
        lz_str init;
    } rows[] = {
        { "False", LZG_C_BOOL, { "false", 5 } }, { "True", LZG_C_BOOL, { "true", 4 } },
        { "0", LZG_C_INT, { "0", 1 } },          { "1", LZG_C_INT, { "1", 1 } },
        { "-1", LZG_C_INT, { "-1", 2 } },        { "1", LZG_C_SCALAR, { "{ LZ_SCALAR_INT, 1, 0, 0 }", 26 } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (c == rows[i].c && lz_str_is(text, rows[i].text)) {
            *out = (lzg_c_default){ .init = rows[i].init, .value = rows[i].init };
            return true;
        }
    return false;
}

lz_err *lzg_c_default_read(lz_arena *a, lz_str text, const lzg_type *t, lzg_c_type c, lzg_c_default *out)
{
    *out = (lzg_c_default){ 0 };
    if (t->kind == LZG_TYPE_OPTIONAL && lz_str_is(text, "None")) {
        *out = (lzg_c_default){ .none = true, .init = lzg_c_types[c].absent };
        return NULL;
    }
    if (common(text, c, out))
        return NULL;
    const lzg_type *list = lzg_type_is_list_like(t);
    read_fn *read = readers[lzg_c_types[c].plain];
    lz_text made = { 0 };
    bool ok = list ? read_list(list, c, text, &made) : read && read(text, &made);
    lz_err *e = ok || made.failed ? save(a, &made, c, out) : refused(text, t);
    lz_text_deinit(&made);
    return e;
}
