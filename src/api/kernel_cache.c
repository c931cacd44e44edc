/* The public interface of the cache of compiled kernels on disk. */
#include "base/dir.h"
#include "base/mem.h"
#include "jit/cache_folder.h"
#include <lazuli/kernel_cache.h>
#include <time.h>

lz_err *lz_kernel_cache_path(char **out)
{
    return lz_dir_cache(out);
}

lz_err *lz_kernel_cache_limit(uint64_t *out)
{
    return lz_cache_folder_limit(out);
}

/* *there false: the cache does not exist yet. An error: the user has no home. */
static lz_err *open_existing(lz_cache_folder *f, bool *there)
{
    char *path;
    *there = false;
    LZ_TRY(lz_dir_cache(&path));
    lz_mem_free(path);
    lz_err *e = lz_cache_folder_open(false, f);
    *there = !e;
    if (lz_err_code(e) != LZ_ERR_NOT_FOUND)
        return e;
    lz_err_free(e);
    return NULL;
}

static lz_err *check(const lz_cache_folder *f, const char *name)
{
    lz_cache_object o;
    LZ_TRY(lz_cache_folder_read(f, name, &o));
    lz_mem_free(o.memory);
    return NULL;
}

/* The text behind "name: ", because the entry has the name already. */
static const char *why_of(const lz_err *bad, const char *name)
{
    lz_str text = lz_str_of(lz_err_text(bad));
    bool named = lz_str_starts(text, lz_str_of(name)) && text.len > strlen(name) + 2;
    return bad ? text.ptr + (named ? strlen(name) + 2 : 0) : NULL;
}

static lz_err *report_one(const lz_cache_folder *f, const lz_cache_file *info, bool verify,
                          lz_kernel_cache_fn *fn, void *user)
{
    lz_kernel_cache_entry entry = { .name = info->name,
                                    .size = info->size,
                                    .unused = (int64_t)time(NULL) - info->used / 1000000000 };
    lz_err *bad = verify ? check(f, info->name) : NULL;
    lz_code code = lz_err_code(bad);
    if (code == LZ_ERR_MEMORY)
        return bad;
    entry.unused = entry.unused < 0 ? 0 : entry.unused;
    entry.broken = why_of(bad, info->name);
    if (code != LZ_ERR_NOT_FOUND) /* an entry that was deleted meanwhile is left out */
        fn(user, &entry);
    lz_err_free(bad);
    return NULL;
}

static lz_err *report_all(const lz_cache_folder *f, bool verify, lz_kernel_cache_fn *fn, void *user)
{
    lz_cache_files all = { 0 };
    LZ_TRY(lz_cache_folder_list(f, &all));
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < all.len; i++)
        e = report_one(f, &all.data[i], verify, fn, user);
    lz_vec_deinit(&all);
    return e;
}

lz_err *lz_kernel_cache_list(bool verify, lz_kernel_cache_fn *fn, void *user)
{
    lz_cache_folder f;
    bool there;
    lz_err *e = open_existing(&f, &there);
    if (!there)
        return e;
    e = report_all(&f, verify, fn, user);
    lz_cache_folder_close(&f);
    return e;
}

lz_err *lz_kernel_cache_clear(size_t *count, uint64_t *bytes)
{
    lz_cache_folder f;
    bool there;
    *count = 0;
    *bytes = 0;
    lz_err *e = open_existing(&f, &there);
    if (!there)
        return e;
    e = lz_cache_folder_clear(&f, count, bytes);
    lz_cache_folder_close(&f);
    return e;
}
