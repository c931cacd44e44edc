/* The cache of compiled kernels on disk, as the public interface shows it. */
#include "base/mem.h"
#include "jit/cache_folder.h"
#include <lazuli/kernel_cache.h>
#include <time.h>

lz_err *lz_kernel_cache_path(char **out)
{
    return lz_cfolder_path(out);
}

lz_err *lz_kernel_cache_limit(uint64_t *out)
{
    return lz_cfolder_limit(out);
}

/* A cache that nobody has used yet is an empty one; a user without a home has none. */
static lz_err *open_existing(lz_cfolder *f, bool *there)
{
    char *path;
    *there = false;
    LZ_TRY(lz_cfolder_path(&path));
    lz_mem_free(path);
    lz_err *e = lz_cfolder_open(false, f);
    *there = !e;
    if (lz_err_code(e) != LZ_ERR_NOT_FOUND)
        return e;
    lz_err_free(e);
    return NULL;
}

static lz_err *check(const lz_cfolder *f, const char *name)
{
    lz_cobject o;
    LZ_TRY(lz_cfolder_read(f, name, &o));
    lz_mem_free(o.memory);
    return NULL;
}

/* "name: why" */
static const char *why_of(const lz_err *bad, const char *name)
{
    lz_str text = lz_str_of(lz_err_text(bad));
    bool named = lz_str_starts(text, lz_str_of(name)) && text.len > strlen(name) + 2;
    return bad ? text.ptr + (named ? strlen(name) + 2 : 0) : NULL;
}

static lz_err *tell_one(const lz_cfolder *f, const lz_cinfo *info, bool verify, lz_kernel_cache_fn *tell,
                        void *user)
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
    if (code != LZ_ERR_NOT_FOUND) /* else it has just gone */
        tell(user, &entry);
    lz_err_free(bad);
    return NULL;
}

static lz_err *tell_all(const lz_cfolder *f, bool verify, lz_kernel_cache_fn *tell, void *user)
{
    lz_cinfos all = { 0 };
    LZ_TRY(lz_cfolder_list(f, &all));
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < all.len; i++)
        e = tell_one(f, &all.data[i], verify, tell, user);
    lz_vec_deinit(&all);
    return e;
}

lz_err *lz_kernel_cache_list(bool verify, lz_kernel_cache_fn *tell, void *user)
{
    lz_cfolder f;
    bool there;
    lz_err *e = open_existing(&f, &there);
    if (!there)
        return e;
    e = tell_all(&f, verify, tell, user);
    lz_cfolder_close(&f);
    return e;
}

lz_err *lz_kernel_cache_clear(size_t *count, uint64_t *bytes)
{
    lz_cfolder f;
    bool there;
    *count = 0;
    *bytes = 0;
    lz_err *e = open_existing(&f, &there);
    if (!there)
        return e;
    e = lz_cfolder_clear(&f, count, bytes);
    lz_cfolder_close(&f);
    return e;
}
