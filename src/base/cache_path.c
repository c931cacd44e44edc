#include "base/cache_path.h"
#include "base/dir.h"
#include "base/env.h"
#include "base/mem.h"
#include "base/str.h"

static lz_err *path_of(const char *folder, char **out)
{
    LZ_TRY(lz_path_join("", folder, out));
    for (size_t n = strlen(*out); n > 1 && (*out)[n - 1] == '/'; n--)
        (*out)[n - 1] = '\0'; /* with a trailing slash, open() would follow a link */
    return NULL;
}

lz_err *lz_cache_path(char **out)
{
    static const char *const words[] = { "on", "off", NULL };
    int off = 0;
    char *user;
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
