#include "base/dir.h"
#include "base/env.h"
#include "base/mem.h"
#include "base/text.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

lz_err *lz_path_join(const char *folder, const char *name, char **out)
{
    lz_text t = { 0 };
    lz_str f = lz_str_of(folder);
    if (name[0] != '/' && f.len) {
        lz_text_add(&t, f);
        if (!lz_str_ends(f, LZ_STR("/")))
            lz_text_putc(&t, '/');
    }
    lz_text_puts(&t, name);
    lz_err *e = lz_text_take(&t, out);
    lz_text_deinit(&t);
    return e;
}

lz_err *lz_dir_user_cache(char **out)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && xdg[0] == '/') /* the XDG specification says to ignore relative paths */
        return lz_path_join("", xdg, out);
    if (home && home[0] == '/')
        return lz_path_join(home, ".cache", out);
    return lz_errf(LZ_ERR_NOT_FOUND, "no cache folder: neither XDG_CACHE_HOME nor HOME is an absolute path");
}

static lz_err *make_one(const char *path, mode_t mode)
{
    struct stat st;
    if (mkdir(path, mode) == 0)
        return NULL;
    int why = errno;
    if (stat(path, &st) != 0)
        return lz_err_errno(why, "make folder", path);
    return S_ISDIR(st.st_mode) ? NULL : lz_err_errno(ENOTDIR, "make folder", path);
}

lz_err *lz_dir_make(const char *path, mode_t mode)
{
    char *part;
    LZ_TRY(lz_path_join("", path, &part));
    lz_err *e = NULL;
    for (char *p = part; !e && *p; p++) {
        if (p == part || *p != '/')
            continue;
        *p = '\0';
        e = make_one(part, mode);
        *p = '/';
    }
    lz_mem_free(part);
    return e ? e : make_one(path, mode);
}

static lz_err *path_of(const char *folder, char **out)
{
    LZ_TRY(lz_path_join("", folder, out));
    for (size_t n = strlen(*out); n > 1 && (*out)[n - 1] == '/'; n--)
        (*out)[n - 1] = '\0'; /* with a trailing slash, open() would follow a link */
    return NULL;
}

lz_err *lz_dir_cache(char **out)
{
    static const char *const words[] = { "on", "off", NULL };
    int off = 0;
    char *user = NULL;
    LZ_TRY(lz_env_word(LZ_ENV_CACHE, words, &off));
    if (off)
        return lz_errf(LZ_ERR_UNSUPPORTED, "the cache is switched off: %s=off",
                       lz_env_vars[LZ_ENV_CACHE].name);
    const char *folder = lz_env_text(LZ_ENV_CACHE_DIR);
    if (folder)
        return path_of(folder, out);
    LZ_TRY(lz_dir_user_cache(&user));
    lz_err *e = lz_path_join(user, "lazuli", out);
    lz_mem_free(user);
    return e;
}
