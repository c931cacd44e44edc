#include "io/safetensors.h"
#include "base/json.h"
#include "base/mem.h"
#include "io/archive.h"
#include "io/little.h"
#include "io/names.h"
#include <stdio.h>
#include <stdlib.h>

#define SWAPPED (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* A dtype of safetensors. Tensors of a dtype without an lz_dtype are listed but cannot be read. */
typedef struct kind {
    const char *name;
    lz_dtype dtype;
    size_t bits;
} kind;

static const kind kinds[] = {
    { "BOOL", LZ_BOOL, 8 },
    { "U8", LZ_U8, 8 },
    { "I8", LZ_I8, 8 },
    { "I16", LZ_I16, 16 },
    { "I32", LZ_I32, 32 },
    { "I64", LZ_I64, 64 },
    { "F16", LZ_F16, 16 },
    { "BF16", LZ_BF16, 16 },
    { "F32", LZ_F32, 32 },
    { "F64", LZ_F64, 64 },
    { "C64", LZ_C64, 64 },
    { "U16", LZ_DTYPE_NONE, 16 },
    { "U32", LZ_DTYPE_NONE, 32 },
    { "U64", LZ_DTYPE_NONE, 64 },
    { "F8_E4M3", LZ_DTYPE_NONE, 8 },
    { "F8_E4M3FNUZ", LZ_DTYPE_NONE, 8 },
    { "F8_E5M2", LZ_DTYPE_NONE, 8 },
    { "F8_E5M2FNUZ", LZ_DTYPE_NONE, 8 },
    { "F8_E8M0", LZ_DTYPE_NONE, 8 },
    { "F6_E2M3", LZ_DTYPE_NONE, 6 },
    { "F6_E3M2", LZ_DTYPE_NONE, 6 },
    { "F4", LZ_DTYPE_NONE, 4 },
};

enum { KINDS = sizeof kinds / sizeof *kinds };

const char *lz_safetensors_dtype(lz_dtype d)
{
    for (size_t i = 0; i < KINDS && d != LZ_DTYPE_NONE; i++)
        if (kinds[i].dtype == d)
            return kinds[i].name;
    return NULL;
}

static bool is_safetensors(lz_str bytes)
{
    return bytes.len > LZ_SAFETENSORS_PREFIX && bytes.ptr[LZ_SAFETENSORS_PREFIX] == '{';
}

/* ---- errors ---- */

/* The byte of the file at a place in the header. */
static size_t byte_of(const lz_archive *a, lz_loc loc)
{
    lz_str bytes = lz_archive_bytes(a);
    size_t at = LZ_SAFETENSORS_PREFIX;
    for (int32_t line = 1; line < loc.line && at < bytes.len; at++)
        line += bytes.ptr[at] == '\n';
    return at + (loc.col ? (size_t)loc.col - 1 : 0);
}

static lz_err *bad(const lz_archive *a, lz_loc loc, lz_str tensor, lz_code code, const char *what)
{
    char name[LZ_NAME_CHARS];
    return lz_errf(code, "%s: byte %zu: tensor '%s': %s", a->path.ptr, byte_of(a, loc),
                   lz_name_print(tensor, name), what);
}

/* Adds the byte of the file to an error of the JSON reader. */
static lz_err *in_header(const lz_archive *a, lz_err *e)
{
    if (!e || lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    return lz_err_reword(e, (lz_loc){ 0 }, "%s: byte %zu: header: %s", a->path.ptr, byte_of(a, lz_err_loc(e)),
                         lz_err_text(e));
}

/* ---- the header ---- */

static lz_err *find_header(const lz_archive *a, lz_str *out)
{
    lz_str bytes = lz_archive_bytes(a);
    uint64_t length = lz_little(bytes.ptr, LZ_SAFETENSORS_PREFIX);
    size_t rest = bytes.len - LZ_SAFETENSORS_PREFIX;
    if (length > rest)
        return lz_errf(LZ_ERR_SYNTAX,
                       "%s: byte 0: the header should have %llu bytes, but only %zu bytes follow",
                       a->path.ptr, (unsigned long long)length, rest);
    if (length > LZ_SAFETENSORS_HEADER_MOST)
        return lz_errf(LZ_ERR_LIMIT, "%s: byte 0: the header has %llu bytes; the limit is %d", a->path.ptr,
                       (unsigned long long)length, LZ_SAFETENSORS_HEADER_MOST);
    *out = lz_str_sub(bytes, LZ_SAFETENSORS_PREFIX, LZ_SAFETENSORS_PREFIX + (size_t)length);
    return NULL;
}

static lz_err *read_metadata(lz_archive *a, const lz_json *v)
{
    lz_str value, what = LZ_STR(LZ_SAFETENSORS_METADATA);
    const lz_json *object;
    LZ_TRY(in_header(a, lz_json_as_object(v, LZ_SAFETENSORS_METADATA, &object)));
    LZ_TRY(lz_arena_new(&a->arena, &a->metadata, object->len + 1));
    for (uint32_t i = 0; i < object->len; i++) {
        const lz_json_member *m = &object->members[i];
        LZ_TRY(in_header(a, lz_json_as_str(&m->value, "an entry of " LZ_SAFETENSORS_METADATA, &value)));
        if (lz_name_wrong(m->key) || lz_name_wrong(value))
            return bad(a, m->value.loc, what, LZ_ERR_SYNTAX, "the text has a NUL in it");
        a->metadata[a->metadata_count++] = (lz_metadata){ m->key.ptr, value.ptr };
    }
    return NULL;
}

static lz_err *read_shape(lz_archive *a, const lz_json *v, lz_archive_entry *e)
{
    const lz_json *shape;
    int64_t *sizes;
    LZ_TRY(in_header(a, lz_json_get_array(v, "shape", &shape)));
    if (shape->len > LZ_MAX_DIMS)
        return bad(a, shape->loc, e->name, LZ_ERR_LIMIT, "the shape has more than 64 dimensions");
    LZ_TRY(lz_arena_new(&a->arena, &sizes, shape->len + 1));
    for (uint32_t i = 0; i < shape->len; i++) {
        LZ_TRY(in_header(a, lz_json_as_int(&shape->items[i], "a size", &sizes[i])));
        if (sizes[i] < 0)
            return bad(a, shape->items[i].loc, e->name, LZ_ERR_SYNTAX, "the size is negative");
    }
    e->elements.sizes = (lz_ints){ sizes, shape->len };
    return NULL;
}

static lz_err *read_dtype(lz_archive *a, const lz_json *v, lz_archive_entry *e, const kind **out)
{
    lz_str name;
    LZ_TRY(in_header(a, lz_json_get_str(v, "dtype", &name)));
    for (size_t i = 0; i < KINDS; i++)
        if (lz_str_is(name, kinds[i].name)) {
            *out = &kinds[i];
            e->elements.dtype = kinds[i].dtype;
            e->dtype = name;
            return NULL;
        }
    char asked[LZ_NAME_CHARS], what[LZ_NAME_CHARS + 32];
    snprintf(what, sizeof what, "unknown dtype '%s'", lz_name_print(name, asked));
    return bad(a, lz_json_get(v, "dtype")->loc, e->name, LZ_ERR_UNSUPPORTED, what);
}

/* The bytes of the elements. false: the number is too large, or not whole bytes. */
static bool bytes_needed(const lz_archive_entry *e, const kind *k, size_t *out)
{
    int64_t numel;
    size_t bits = 0;
    lz_err *wrong = lz_shape_numel(e->elements.sizes, &numel);
    bool ok = !wrong && lz_size_mul((size_t)numel, k->bits, &bits) && bits % 8 == 0;
    lz_err_drop(wrong);
    *out = bits / 8;
    return ok;
}

static lz_err *read_place(lz_archive *a, const lz_json *v, size_t need, size_t data, lz_archive_entry *e)
{
    const lz_json *offsets;
    uint64_t from = 0, to = 0;
    LZ_TRY(in_header(a, lz_json_get_array(v, "data_offsets", &offsets)));
    if (offsets->len != 2)
        return bad(a, offsets->loc, e->name, LZ_ERR_SYNTAX, "expected two offsets");
    LZ_TRY(in_header(a, lz_json_as_uint(&offsets->items[0], "an offset", &from)));
    LZ_TRY(in_header(a, lz_json_as_uint(&offsets->items[1], "an offset", &to)));
    if (from > to || to > a->file->size - data)
        return bad(a, offsets->loc, e->name, LZ_ERR_SYNTAX, "data_offsets lie outside of the file");
    if (to - from != need)
        return bad(a, offsets->loc, e->name, LZ_ERR_SYNTAX,
                   "data_offsets differ from the size of shape and dtype");
    e->at = data + (size_t)from;
    e->bytes = need;
    return NULL;
}

static lz_err *read_tensor(lz_archive *a, const lz_json_member *m, size_t data)
{
    lz_archive_entry *e = &a->entries[a->count++];
    const kind *k = NULL;
    const lz_json *v;
    size_t need;
    lz_loc loc = { .line = m->line, .col = m->col };
    *e = (lz_archive_entry){ .name = m->key, .elements = { .swapped = SWAPPED } };
    const char *wrong = lz_name_wrong(e->name);
    if (wrong)
        return bad(a, loc, e->name, LZ_ERR_SYNTAX, wrong);
    LZ_TRY(in_header(a, lz_json_as_object(&m->value, "a tensor", &v)));
    LZ_TRY(read_dtype(a, v, e, &k));
    LZ_TRY(read_shape(a, v, e));
    if (!bytes_needed(e, k, &need))
        return bad(a, v->loc, e->name, LZ_ERR_LIMIT,
                   "the elements take more than can be addressed, or not whole bytes");
    return read_place(a, v, need, data, e);
}

/* ---- every byte belongs to a tensor ---- */

static int by_place(const void *x, const void *y)
{
    const lz_archive_entry *a = *(const lz_archive_entry *const *)x, *b = *(const lz_archive_entry *const *)y;
    return a->at != b->at ? (a->at > b->at) - (a->at < b->at) : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static lz_err *bad_place(const lz_archive *a, size_t at, const lz_archive_entry *next)
{
    char name[LZ_NAME_CHARS];
    lz_name_print(next ? next->name : LZ_STR(""), name);
    if (next && next->at < at)
        return lz_errf(LZ_ERR_SYNTAX, "%s: byte %zu: tensor '%s' begins inside another tensor", a->path.ptr,
                       next->at, name);
    return lz_errf(LZ_ERR_SYNTAX, "%s: byte %zu: bytes%s%s%s belong to no tensor", a->path.ptr, at,
                   next ? " before tensor '" : "", name, next ? "'" : "");
}

/* Checks that each byte behind the header belongs to exactly one tensor. */
static lz_err *check_places(const lz_archive *a, size_t data)
{
    const lz_archive_entry **sorted = lz_mem_zalloc(a->count, sizeof *sorted);
    if (!sorted)
        return lz_err_oom();
    for (size_t i = 0; i < a->count; i++)
        sorted[i] = &a->entries[i];
    qsort(sorted, a->count, sizeof *sorted, by_place);
    lz_err *e = NULL;
    size_t at = data;
    for (size_t i = 0; !e && i < a->count; i++) {
        e = sorted[i]->at == at ? NULL : bad_place(a, at, sorted[i]);
        at += sorted[i]->bytes;
    }
    if (!e && at != a->file->size)
        e = bad_place(a, at, NULL);
    lz_mem_free(sorted);
    return e;
}

static lz_err *list(lz_archive *a)
{
    lz_str header;
    const lz_json *root;
    LZ_TRY(find_header(a, &header));
    LZ_TRY(in_header(a, lz_json_parse(&a->arena, NULL, header, &root)));
    LZ_TRY(in_header(a, lz_json_as_object(root, "the header", &root)));
    LZ_TRY(lz_arena_new(&a->arena, &a->entries, root->len + 1));
    for (uint32_t i = 0; i < root->len; i++) {
        const lz_json_member *m = &root->members[i];
        LZ_TRY(lz_str_is(m->key, LZ_SAFETENSORS_METADATA)
                   ? read_metadata(a, &m->value)
                   : read_tensor(a, m, LZ_SAFETENSORS_PREFIX + header.len));
    }
    return check_places(a, LZ_SAFETENSORS_PREFIX + header.len);
}

static lz_err *get(const lz_archive *a, const lz_archive_entry *e, lz_buffer_pool *pool, lz_array *out)
{
    char name[LZ_NAME_CHARS];
    if (e->elements.dtype == LZ_DTYPE_NONE)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s: tensor '%s': dtype %.*s is not supported", a->path.ptr,
                       lz_name_print(e->name, name), LZ_FMT(e->dtype));
    return lz_elements_array(&e->elements, a->file, e->at, pool, out);
}

const lz_archive_class lz_safetensors_class = { "safetensors", is_safetensors, list, get };
