/* .npz files: a zip file with one .npy member for each array. */
#include "base/mem.h"
#include "io/archive.h"
#include "io/npy_header.h"

/* Reads the member's bytes up to the elements; *start: the number of these bytes. */
static lz_err *read_header(const lz_zip *z, const lz_zip_member *m, lz_npy_header *h, size_t *start)
{
    char prefix[LZ_NPY_PREFIX];
    size_t got;
    LZ_TRY(lz_zip_peek(z, m, prefix, sizeof prefix, &got));
    LZ_TRY(lz_zip_wrap(z, m, lz_npy_header_length((lz_str){ prefix, got }, NULL, start)));
    char *bytes = lz_mem_alloc(*start);
    if (!bytes)
        return lz_err_oom();
    lz_err *e = lz_zip_peek(z, m, bytes, *start, &got);
    if (!e)
        e = lz_zip_wrap(z, m, lz_npy_header_parse((lz_str){ bytes, got }, NULL, h));
    lz_mem_free(bytes);
    return e;
}

/* Checks that the elements fill the rest of the member. */
static lz_err *check_size(const lz_zip *z, const lz_zip_member *m, const lz_npy_header *h, size_t start)
{
    size_t need;
    LZ_TRY(lz_zip_wrap(z, m, lz_shape_bytes(lz_shape_ints(&h->sizes), lz_dtype_size(h->dtype), &need)));
    if (m->size - start == need)
        return NULL;
    return lz_zip_wrap(z, m,
                       lz_errf(LZ_ERR_SYNTAX,
                               "byte %zu: the shape needs %zu bytes of elements, the member has %zu", start,
                               need, m->size - start));
}

static lz_err *read_member(const lz_zip *z, const lz_zip_member *m, lz_npy_header *h, size_t *start)
{
    LZ_TRY(read_header(z, m, h, start));
    return check_size(z, m, h, *start);
}

/* As NumPy, looks at the first bytes. A member that is called .npy must be one. */
static lz_err *is_npy(const lz_zip *z, const lz_zip_member *m, bool *out)
{
    char start[LZ_NPY_PREFIX];
    size_t got;
    *out = lz_str_ends(m->name, LZ_STR(".npy"));
    if (*out)
        return NULL;
    LZ_TRY(lz_zip_peek(z, m, start, sizeof start, &got));
    *out = lz_str_starts((lz_str){ start, got }, LZ_STR("\x93NUMPY"));
    return NULL;
}

/* A valid member of another kind is listed without a dtype. */
static lz_err *describe(lz_archive *a, lz_archive_entry *e)
{
    const lz_zip_member *m = &a->zip.members[e->member];
    lz_npy_header h = { .dtype = LZ_DTYPE_NONE };
    size_t start;
    int64_t *sizes;
    bool npy;
    LZ_TRY(is_npy(&a->zip, m, &npy));
    if (npy) {
        lz_err *err = read_member(&a->zip, m, &h, &start);
        if (err && lz_err_code(err) != LZ_ERR_UNSUPPORTED)
            return err;
        lz_err_free(err);
    }
    LZ_TRY(lz_arena_new(&a->arena, &sizes, (size_t)h.sizes.n + 1));
    memcpy(sizes, h.sizes.v, (size_t)h.sizes.n * sizeof *sizes);
    e->elements = (lz_elements){ h.dtype, h.swapped, h.fortran, { sizes, h.sizes.n } };
    return NULL;
}

static lz_err *list(lz_archive *a)
{
    LZ_TRY(lz_zip_open(&a->arena, lz_archive_bytes(a), a->path.ptr, &a->zip));
    LZ_TRY(lz_arena_new(&a->arena, &a->entries, a->zip.n + 1));
    for (size_t i = 0; i < a->zip.n; i++) {
        lz_str name = a->zip.members[i].name, npy = LZ_STR(".npy");
        lz_archive_entry *e = &a->entries[a->count];
        if (lz_str_ends(name, LZ_STR("/")) && a->zip.members[i].size == 0)
            continue; /* a folder */
        e->member = i;
        LZ_TRY(lz_arena_copy(
            &a->arena, lz_str_sub(name, 0, name.len - (lz_str_ends(name, npy) ? npy.len : 0)), &e->name));
        LZ_TRY(describe(a, e));
        a->count++;
    }
    return NULL;
}

static lz_err *get_stored(const lz_archive *a, const lz_zip_member *m, const lz_elements *s, size_t start,
                          lz_buffer_pool *pool, lz_array *out)
{
    lz_str bytes;
    LZ_TRY(lz_zip_stored(&a->zip, m, &bytes));
    return lz_elements_array(s, a->file, m->at + start, pool, out);
}

static lz_err *get_packed(const lz_archive *a, const lz_zip_member *m, const lz_elements *s, size_t start,
                          lz_buffer_pool *pool, lz_array *out)
{
    lz_buffer *b;
    LZ_TRY(lz_buffer_create(pool, m->size, &b));
    lz_err *e = lz_zip_extract(&a->zip, m, b->data);
    if (!e)
        e = lz_elements_array(s, b, start, pool, out);
    lz_buffer_release(b);
    return e;
}

static lz_err *get(const lz_archive *a, const lz_archive_entry *entry, lz_buffer_pool *pool, lz_array *out)
{
    const lz_zip_member *m = &a->zip.members[entry->member];
    lz_npy_header h;
    size_t start;
    LZ_TRY(read_member(&a->zip, m, &h, &start));
    lz_elements s = { h.dtype, h.swapped, h.fortran, lz_shape_ints(&h.sizes) };
    return (m->method == LZ_ZIP_STORED ? get_stored : get_packed)(a, m, &s, start, pool, out);
}

const lz_archive_class lz_npz_class = { "npz", lz_zip_looks_like, list, get };
