#include "core/value_kind.h"
#include "core/device.h"
#include "core/dtype.h"
#include "core/scalar.h"
#include <assert.h>
#include <string.h>

/* ---- words ---- */

/* Puts n bytes, padded to whole words. */
static lz_err *put_bytes(lz_words *out, const void *p, size_t n)
{
    size_t words = (n + 7) / 8;
    LZ_TRY(lz_vec_reserve(out, words + 1));
    uint64_t *to = out->data + out->len;
    if (words)
        to[words - 1] = 0;
    if (n)
        memcpy(to, p, n);
    out->len += words;
    return NULL;
}

/* Kinds that are one integer. */
#define LZ_WHOLE_KINDS(X)                                                                                    \
    X(integer, int64_t)                                                                                      \
    X(truth, bool)                                                                                           \
    X(dtype, lz_dtype)                                                                                       \
    X(layout, lz_layout)                                                                                     \
    X(memory_format, lz_memory_format)                                                                       \
    X(qscheme, lz_qscheme)

#define X(member, type)                                                                                      \
    static lz_err *put_##member(lz_words *out, const lz_value *v)                                            \
    {                                                                                                        \
        return lz_vec_push(out, (uint64_t)v->member);                                                        \
    }                                                                                                        \
    static void get_##member(const uint64_t *words, lz_value *out)                                           \
    {                                                                                                        \
        out->member = (type)words[0];                                                                        \
    }
LZ_WHOLE_KINDS(X)
#undef X

static lz_err *put_real(lz_words *out, const lz_value *v)
{
    return put_bytes(out, &v->real, sizeof v->real);
}

static void get_real(const uint64_t *words, lz_value *out)
{
    memcpy(&out->real, words, sizeof out->real);
}

static lz_err *put_device(lz_words *out, const lz_value *v)
{
    return lz_vec_push(out, (uint64_t)(uint16_t)v->device.type << 16 | (uint16_t)v->device.index);
}

static void get_device(const uint64_t *words, lz_value *out)
{
    out->device = (lz_device){ (int16_t)(words[0] >> 16), (int16_t)words[0] };
}

/* The struct as in memory, with its padding set to 0. */
static lz_err *put_number(lz_words *out, const lz_scalar *s)
{
    lz_scalar clean;
    memset(&clean, 0, sizeof clean);
    clean.kind = s->kind;
    if (s->kind == LZ_SCALAR_BOOL || s->kind == LZ_SCALAR_INT)
        clean.i = s->i;
    if (s->kind == LZ_SCALAR_FLOAT || s->kind == LZ_SCALAR_COMPLEX)
        clean.re = s->re;
    if (s->kind == LZ_SCALAR_COMPLEX)
        clean.im = s->im;
    return put_bytes(out, &clean, sizeof clean);
}

static lz_err *put_scalar(lz_words *out, const lz_value *v)
{
    return put_number(out, &v->scalar);
}

static void get_scalar(const uint64_t *words, lz_value *out)
{
    memcpy(&out->scalar, words, sizeof out->scalar);
}

static lz_err *put_str(lz_words *out, const lz_value *v)
{
    size_t n = strlen(v->str) + 1;
    LZ_TRY(lz_vec_push(out, n));
    return put_bytes(out, v->str, n);
}

static void get_str(const uint64_t *words, lz_value *out)
{
    out->str = (const char *)(words + 1);
}

/* All kinds of lists have the same layout here. */
static lz_err *put_list(lz_words *out, const lz_value *v)
{
    int64_t n = v->ints.n;
    LZ_TRY(lz_vec_push(out, (uint64_t)n));
    return put_bytes(out, v->ints.v, (size_t)(n < 0 ? 0 : n) * lz_kinds[v->kind].size);
}

static lz_err *put_scalars(lz_words *out, const lz_value *v)
{
    LZ_TRY(lz_vec_push(out, (uint64_t)v->scalars.n));
    for (int64_t i = 0; i < v->scalars.n; i++)
        LZ_TRY(put_number(out, &v->scalars.v[i]));
    return NULL;
}

static void get_list(const uint64_t *words, lz_value *out)
{
    out->ints = (lz_ints){ (const int64_t *)(words + 1), (int64_t)words[0] };
}

lz_err *lz_value_put(lz_words *out, const lz_value *v)
{
    assert(lz_kinds[v->kind].put);
    LZ_TRY(lz_vec_push(out, (uint64_t)v->kind));
    return lz_kinds[v->kind].put(out, v);
}

lz_value lz_value_get(const uint64_t *words)
{
    lz_value v = { .kind = (lz_kind)words[0] };
    assert(words[0] < LZ_KIND_COUNT && lz_kinds[v.kind].get);
    lz_kinds[v.kind].get(words + 1, &v);
    return v;
}

/* ---- numbers ---- */

static lz_scalar of_enumerator(int v)
{
    return v < 0 ? lz_scalar_none() : lz_scalar_int(v);
}

#define LZ_NUMBER_KINDS(X)                                                                                   \
    X(integer, lz_scalar_int)                                                                                \
    X(real, lz_scalar_float)                                                                                 \
    X(truth, lz_scalar_bool)                                                                                 \
    X(scalar, lz_scalar_same)                                                                                \
    X(dtype, of_enumerator)                                                                                  \
    X(layout, of_enumerator)                                                                                 \
    X(memory_format, of_enumerator)                                                                          \
    X(qscheme, of_enumerator)

#define X(member, make)                                                                                      \
    static lz_scalar number_##member(const lz_value *v)                                                      \
    {                                                                                                        \
        return make(v->member);                                                                              \
    }
LZ_NUMBER_KINDS(X)
#undef X

lz_scalar lz_value_number(const lz_value *v)
{
    return lz_kinds[v->kind].number ? lz_kinds[v->kind].number(v) : lz_scalar_none();
}

/* ---- text ---- */

static void print_str(const lz_value *v, lz_text *out)
{
    lz_text_printf(out, "'%s'", v->str);
}

static void print_dtype(const lz_value *v, lz_text *out)
{
    lz_text_puts(out, lz_dtype_get(v->dtype)->script);
}

static void print_device(const lz_value *v, lz_text *out)
{
    char room[LZ_DEVICE_CHARS];
    lz_text_puts(out, lz_device_print(v->device, room));
}

static void print_list(const lz_value *v, lz_text *out)
{
    lz_text_putc(out, '[');
    for (int64_t i = 0; i < v->ints.n; i++) {
        lz_value item = lz_value_item(v, i);
        lz_text_puts(out, i ? ", " : "");
        lz_value_print(&item, out);
    }
    lz_text_putc(out, ']');
}

/* NOLINTNEXTLINE(misc-no-recursion): the items of a list are no lists */
void lz_value_print(const lz_value *v, lz_text *out)
{
    if (lz_kinds[v->kind].print && !lz_value_is_absent(v))
        lz_kinds[v->kind].print(v, out);
    else
        lz_scalar_print(lz_value_number(v), out);
}

/* ---- the table ---- */

/* A kind without words refers to something outside the graph. */
const lz_kind_row lz_kinds[LZ_KIND_COUNT] = {
    [LZ_KIND_INT] = { 0, 0, put_integer, get_integer, number_integer, NULL },
    [LZ_KIND_FLOAT] = { 0, 0, put_real, get_real, number_real, NULL },
    [LZ_KIND_BOOL] = { 0, 0, put_truth, get_truth, number_truth, NULL },
    [LZ_KIND_SCALAR] = { 0, 0, put_scalar, get_scalar, number_scalar, NULL },
    [LZ_KIND_STR] = { 0, 0, put_str, get_str, NULL, print_str },
    [LZ_KIND_DTYPE] = { 0, 0, put_dtype, get_dtype, number_dtype, print_dtype },
    [LZ_KIND_LAYOUT] = { 0, 0, put_layout, get_layout, number_layout, NULL },
    [LZ_KIND_MEMORY_FORMAT] = { 0, 0, put_memory_format, get_memory_format, number_memory_format, NULL },
    [LZ_KIND_QSCHEME] = { 0, 0, put_qscheme, get_qscheme, number_qscheme, NULL },
    [LZ_KIND_DEVICE] = { 0, 0, put_device, get_device, NULL, print_device },
    [LZ_KIND_INTS] = { LZ_KIND_INT, sizeof(int64_t), put_list, get_list, NULL, print_list },
    [LZ_KIND_FLOATS] = { LZ_KIND_FLOAT, sizeof(double), put_list, get_list, NULL, print_list },
    [LZ_KIND_BOOLS] = { LZ_KIND_BOOL, sizeof(bool), put_list, get_list, NULL, print_list },
    [LZ_KIND_SCALARS] = { LZ_KIND_SCALAR, sizeof(lz_scalar), put_scalars, get_list, NULL, print_list },
    [LZ_KIND_STRS] = { LZ_KIND_STR, sizeof(const char *), NULL, NULL, NULL, print_list },
    [LZ_KIND_TENSORS] = { LZ_KIND_TENSOR, sizeof(lz_tensor *), NULL, NULL, NULL, NULL },
};
