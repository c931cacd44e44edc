/* The functions of lazuli/io.h that give tensors. */
#include "io/archive.h"
#include "io/npy.h"
#include "lazy/ctx.h"
#include "lazy/lazy_tensor.h"

lz_archive *lz_archive_open(lz_ctx *c, const char *path)
{
    lz_archive *a = NULL;
    lz_ctx_fail(c, (lz_loc){ 0 }, lz_archive_read(path, &a));
    return a;
}

static void drop_buffer(void *owner)
{
    lz_buffer_release(owner);
}

/* Takes over the array. The tensor shares the array's buffer and holds a count of the buffer. */
static lz_tensor *tensor_of(lz_ctx *c, lz_loc at, lz_array *a)
{
    lz_buffer *b = lz_buffer_retain(a->buffer);
    char *first = (char *)b->data + (size_t)a->offset * lz_dtype_size(a->dtype);
    lz_tensor *t =
        lz_from_foreign_at(c, at, a->dtype, lz_array_sizes(a), lz_array_strides(a), first, drop_buffer, b);
    lz_array_deinit(a);
    return t;
}

/* Returns the inert tensor on failure. */
static lz_tensor *load(lz_ctx *c, const lz_archive *a, size_t i, const char *name)
{
    lz_array array = { .dtype = LZ_DTYPE_NONE };
    lz_err *e = i == SIZE_MAX ? lz_archive_missing(a, name) : lz_archive_get(a, i, NULL, &array);
    if (!e)
        return tensor_of(c, (lz_loc){ 0 }, &array);
    lz_ctx_fail(c, (lz_loc){ 0 }, e);
    return c->inert;
}

lz_tensor *lz_archive_tensor(lz_ctx *c, const lz_archive *a, const char *name)
{
    if (!a)
        return c->inert;
    return name ? load(c, a, lz_archive_find(a, name), name) : load(c, a, SIZE_MAX, "");
}

bool lz_archive_tensors(lz_ctx *c, const lz_archive *a, lz_named_tensor *out)
{
    bool ok = a != NULL;
    size_t n = 0;
    while (ok && n < a->count) {
        out[n] = (lz_named_tensor){ lz_archive_name(a, n), load(c, a, n, NULL) };
        ok = !lz_tensor_is_inert(out[n++].tensor);
    }
    while (!ok && n > 0)
        lz_release(out[--n].tensor);
    return ok;
}

/* ---- .npy ---- */

lz_tensor *lz_load_npy_at(lz_ctx *c, lz_loc at, const char *path)
{
    lz_array array = { 0 };
    lz_err *e = path ? lz_npy_read(path, NULL, &array) : lz_errf(LZ_ERR_ARG, "lz_load_npy: path is NULL");
    return lz_ctx_report(c, at, e) ? tensor_of(c, at, &array) : c->inert;
}

lz_tensor *(lz_load_npy)(lz_ctx *c, const char *path)
{
    return lz_load_npy_at(c, (lz_loc){ 0 }, path);
}

static lz_err *save_npy(lz_tensor *t, lz_loc at, const char *path)
{
    lz_array array;
    if (!path)
        return lz_errf(LZ_ERR_ARG, "lz_save_npy: path is NULL");
    LZ_TRY(lz_tensor_fetch(t, at, &array));
    lz_err *e = lz_npy_write(path, &array);
    lz_array_deinit(&array);
    return e;
}

bool lz_save_npy_at(lz_tensor *t, lz_loc at, const char *path)
{
    return !lz_tensor_is_inert(t) && lz_ctx_report(lz_tensor_ctx(t), at, save_npy(t, at, path));
}

bool(lz_save_npy)(lz_tensor *t, const char *path)
{
    return lz_save_npy_at(t, (lz_loc){ 0 }, path);
}
