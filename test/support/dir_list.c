#include "dir_list.h"
#include "base/vec.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef LZ_VEC(lz_str) names;

static lz_err *read_names(DIR *d, const char *path, lz_arena *a, names *out)
{
    const struct dirent *f;
    for (errno = 0; (f = readdir(d)); errno = 0) {
        lz_str name = lz_str_of(f->d_name);
        if (lz_str_is(name, ".") || lz_str_is(name, ".."))
            continue;
        LZ_TRY(lz_arena_copy(a, name, &name));
        LZ_TRY(lz_vec_push(out, name));
    }
    return errno ? lz_err_errno(errno, "list", path) : NULL;
}

static int by_bytes(const void *a, const void *b)
{
    const lz_str *x = a, *y = b;
    return lz_str_cmp(*x, *y);
}

lz_err *dir_list(const char *path, lz_arena *a, size_t *count, lz_str **out)
{
    DIR *d = opendir(path);
    if (!d)
        return lz_err_errno(errno, "list", path);
    names v = { 0 };
    lz_arena_mark mark = lz_arena_save(a);
    lz_err *e = read_names(d, path, a, &v);
    closedir(d);
    if (!e)
        e = lz_arena_new(a, out, v.len);
    if (e) {
        lz_arena_rewind(a, mark);
    } else if ((*count = v.len)) {
        qsort(v.data, v.len, sizeof *v.data, by_bytes);
        memcpy(*out, v.data, v.len * sizeof *v.data);
    }
    lz_vec_deinit(&v);
    return e;
}
