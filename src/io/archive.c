#include "io/archive.h"
#include "base/file.h"
#include "base/mem.h"
#include "core/array_handle.h"
#include "io/names.h"
#include <assert.h>
#include <sys/stat.h>

static const lz_archive_class *const classes[] = { &lz_npz_class, &lz_safetensors_class };

/* ---- the file ---- */

static void unmap(void *user, void *data, size_t size)
{
    lz_file_map m = { data, size };
    (void)user;
    lz_file_map_close(&m);
}

static void give_back(void *user, void *data, size_t size)
{
    (void)user, (void)size;
    lz_mem_free(data);
}

static lz_err *map_file(const char *path, lz_buffer **out)
{
    lz_file_map m;
    LZ_TRY(lz_file_map_open(path, &m));
    lz_err *e = lz_buffer_wrap((void *)m.data, m.len, true, unmap, NULL, out);
    if (e)
        lz_file_map_close(&m);
    return e;
}

static lz_err *read_pipe(const char *path, lz_buffer **out)
{
    char *bytes;
    size_t len;
    LZ_TRY(lz_file_read(path, SIZE_MAX, &len, &bytes));
    lz_err *e = lz_buffer_wrap(bytes, len, true, give_back, NULL, out);
    if (e)
        lz_mem_free(bytes);
    return e;
}

static lz_err *load(const char *path, lz_buffer **out)
{
    lz_file_info info;
    LZ_TRY(lz_file_stat(path, &info));
    return S_ISFIFO(info.mode) ? read_pipe(path, out) : map_file(path, out); /* a device may have no end */
}

/* ---- life ---- */

static lz_err *list(lz_archive *a)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes && !a->class; i++)
        a->class = classes[i]->is(lz_archive_bytes(a)) ? classes[i] : NULL;
    if (!a->class)
        return lz_errf(LZ_ERR_SYNTAX, "%s: byte 0: neither an .npz nor a safetensors file", a->path.ptr);
    LZ_TRY(a->class->list(a));
    for (size_t i = 0; i < a->count; i++) {
        char name[LZ_NAME_CHARS];
        if (lz_map_find(&a->by_name, a->entries[i].name))
            return lz_errf(LZ_ERR_SYNTAX, "%s: there are two tensors '%s'", a->path.ptr,
                           lz_name_print(a->entries[i].name, name));
        LZ_TRY(lz_map_put(&a->by_name, a->entries[i].name, &a->entries[i]));
    }
    return NULL;
}

lz_err *lz_archive_create(lz_buffer *file, const char *name, lz_archive **out)
{
    lz_archive *a = lz_mem_zalloc(1, sizeof *a);
    if (!a) {
        lz_buffer_release(file);
        return lz_err_oom();
    }
    a->file = file;
    lz_arena_init(&a->arena);
    lz_err *e = lz_arena_copy(&a->arena, lz_str_of(name), &a->path);
    if (!e)
        e = list(a);
    if (e) {
        lz_archive_close(a);
        return e;
    }
    *out = a;
    return NULL;
}

lz_err *lz_archive_read(const char *path, lz_archive **out)
{
    lz_buffer *file;
    LZ_TRY(load(path, &file));
    return lz_archive_create(file, path, out);
}

void lz_archive_close(lz_archive *a)
{
    if (!a)
        return;
    lz_buffer_release(a->file);
    lz_map_deinit(&a->by_name);
    lz_arena_deinit(&a->arena);
    lz_mem_free(a);
}

/* ---- contents ---- */

const char *lz_archive_format(const lz_archive *a)
{
    return a ? a->class->name : "";
}

size_t lz_archive_count(const lz_archive *a)
{
    return a ? a->count : 0;
}

const char *lz_archive_name(const lz_archive *a, size_t i)
{
    return i < lz_archive_count(a) ? a->entries[i].name.ptr : "";
}

lz_dtype lz_archive_dtype(const lz_archive *a, size_t i)
{
    return i < lz_archive_count(a) ? a->entries[i].elements.dtype : LZ_DTYPE_NONE;
}

lz_ints lz_archive_sizes(const lz_archive *a, size_t i)
{
    return i < lz_archive_count(a) ? a->entries[i].elements.sizes : (lz_ints){ NULL, 0 };
}

size_t lz_archive_find(const lz_archive *a, const char *name)
{
    const lz_archive_entry *e = !a || !name ? NULL : lz_map_get(&a->by_name, lz_str_of(name));
    return e ? (size_t)(e - a->entries) : SIZE_MAX;
}

size_t lz_archive_metadata_count(const lz_archive *a)
{
    return a ? a->metadata_count : 0;
}

lz_metadata lz_archive_metadata_at(const lz_archive *a, size_t i)
{
    return i < lz_archive_metadata_count(a) ? a->metadata[i] : (lz_metadata){ "", "" };
}

const char *lz_archive_metadata(const lz_archive *a, const char *key)
{
    for (size_t i = 0; a && key && i < a->metadata_count; i++)
        if (strcmp(a->metadata[i].key, key) == 0)
            return a->metadata[i].value;
    return NULL;
}

/* ---- elements ---- */

lz_err *lz_archive_get(const lz_archive *a, size_t i, lz_buffer_pool *pool, lz_array *out)
{
    assert(i < a->count);
    *out = (lz_array){ .dtype = LZ_DTYPE_NONE };
    return a->class->get(a, &a->entries[i], pool, out);
}

lz_err *lz_archive_array(const lz_archive *a, size_t i, lz_array **out)
{
    lz_array array;
    if (!a)
        return lz_errf(LZ_ERR_ARG, "the archive is NULL");
    if (i >= a->count)
        return lz_errf(LZ_ERR_ARG, "%s: the archive has %zu tensors, got number %zu", a->path.ptr, a->count,
                       i);
    LZ_TRY(lz_archive_get(a, i, NULL, &array));
    return lz_array_create_from(&array, out);
}

lz_err *lz_archive_missing(const lz_archive *a, const char *name)
{
    char asked[LZ_NAME_CHARS], first[LZ_NAME_CHARS];
    return lz_errf(LZ_ERR_NOT_FOUND, "%s: there is no tensor '%s' among the %zu of the file%s%s%s",
                   a->path.ptr, lz_name_print(lz_str_of(name), asked), a->count, a->count ? " ('" : "",
                   a->count ? lz_name_print(a->entries[0].name, first) : "", a->count ? "', ...)" : "");
}
