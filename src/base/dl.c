#include "base/dl.h"
#include "base/foreign.h"
#include "base/mem.h"
#include "base/text.h"
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef void any_fn(void);

struct lz_dl {
    void *handle;
    void *root; /* the root object of lz_dl_open_lasting; NULL: none */
    char path[];
};

static void close_both(void *handle, void *root)
{
    dlclose(handle);
    if (root)
        dlclose(root);
}

/* Takes ownership of the handles, even on failure. */
static lz_err *adopt(void *handle, void *root, lz_dl **out)
{
    struct link_map *map = NULL;
    const char *path = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
    size_t size = strlen(path) + 1;
    lz_dl *dl = lz_mem_alloc(sizeof *dl + size);
    if (!dl) {
        close_both(handle, root);
        return lz_err_oom();
    }
    *dl = (lz_dl){ .handle = handle, .root = root };
    memcpy(dl->path, path, size);
    *out = dl;
    return NULL;
}

/* Removes the name at the start of the loader's reason, because the caller prints it anyway. */
static void add_reason(lz_text *t, const char *name, const char *reason)
{
    lz_str why = lz_str_of(reason ? reason : "unknown reason"), n = lz_str_of(name);
    if (n.len && lz_str_starts(why, n))
        why = lz_str_sub(why, n.len, why.len);
    if (lz_str_starts(why, LZ_STR(": ")))
        why = lz_str_sub(why, 2, why.len);
    lz_text_printf(t, "%s%s: %.*s", t->len ? "; " : "", n.len ? name : "(empty name)", LZ_FMT(why));
}

static void *open_plain(const char *name, void **root)
{
    *root = NULL;
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

typedef void *opener(const char *name, void **root);

/* NULL: name may be opened. An empty name would open the program itself, and the loader waits for a writer of
 * a named pipe. */
static const char *refusal(const char *name)
{
    struct stat st;
    bool path = strchr(name, '/') != NULL;
    if (!name[0])
        return "names no library";
    return path && stat(name, &st) == 0 && !S_ISREG(st.st_mode) ? "is not a regular file" : NULL;
}

static void *try_open(opener *open, const char *name, void **root, lz_text *reasons)
{
    const char *why = refusal(name);
    void *handle = why ? NULL : open(name, root);
    if (!handle)
        add_reason(reasons, name, why ? why : dlerror());
    return handle;
}

static lz_err *open_first(opener *open, const char *const *candidates, lz_dl **out)
{
    lz_text reasons = { 0 };
    void *handle = NULL, *root = NULL;
    if (!candidates[0])
        return lz_errf(LZ_ERR_ARG, "no names of libraries to try");
    for (size_t i = 0; !handle && candidates[i]; i++)
        handle = try_open(open, candidates[i], &root, &reasons);
    lz_err *e = handle ? adopt(handle, root, out) : lz_text_check(&reasons);
    if (!handle && !e)
        e = lz_errf(LZ_ERR_NOT_FOUND, "no library could be loaded: %.*s", LZ_FMT(lz_text_view(&reasons)));
    lz_text_deinit(&reasons);
    return e;
}

lz_err *lz_dl_open(const char *const *candidates, lz_dl **out)
{
    return open_first(open_plain, candidates, out);
}

lz_err *lz_dl_open_lasting(const char *const *candidates, lz_dl **out)
{
    return open_first(lz_dl_lasting_handle, candidates, out);
}

void lz_dl_close(lz_dl *dl)
{
    if (!dl)
        return;
    close_both(dl->handle, dl->root);
    lz_mem_free(dl);
}

const char *lz_dl_path(const lz_dl *dl)
{
    return dl->path;
}

/* ISO C has no conversion from object to function pointers; POSIX guarantees equal representation. */
static void store(void *table, size_t offset, void *address)
{
    _Static_assert(sizeof(any_fn *) == sizeof address, "function and object pointers must be alike");
    memcpy((char *)table + offset, &address, sizeof address);
}

lz_err *lz_dl_load(const lz_dl *dl, const lz_dl_symbol *symbols, size_t count, void *out)
{
    lz_text missing = { 0 };
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(dl->handle, symbols[i].name);
        store(out, symbols[i].offset, address);
        if (!address && symbols[i].required)
            lz_text_printf(&missing, "%s%s", missing.len ? ", " : "", symbols[i].name);
    }
    lz_err *e = lz_text_check(&missing);
    if (!e && missing.len)
        e = lz_errf(LZ_ERR_NOT_FOUND, "%s lacks %.*s", dl->path, LZ_FMT(lz_text_view(&missing)));
    for (size_t i = 0; e && i < count; i++)
        store(out, symbols[i].offset, NULL);
    lz_text_deinit(&missing);
    return e;
}

static lz_err *look(void *user)
{
    lz_dl_choice *c = user;
    lz_memory_limit_check();
    if (!lz_memory_limit_allows(&c->memory))
        return lz_errf(LZ_ERR_MEMORY, "%s is not loaded: too little memory is left", c->name);
    if (!lz_foreign_enter())
        return lz_foreign_ended(c->name);
    lz_foreign_loaded();
    lz_err *e = c->load();
    lz_foreign_loaded();
    lz_foreign_leave();
    if (lz_err_must_surface(e))
        return e;
    c->found = !e;
    if (e)
        snprintf(c->why, sizeof c->why, "%s", lz_err_text(e));
    lz_err_free(e);
    return NULL;
}

lz_err *lz_dl_have(lz_dl_choice *c)
{
    LZ_TRY(lz_once_run(&c->once, look, c));
    return c->found ? NULL : lz_errf(LZ_ERR_NOT_FOUND, "%s: %s", c->name, c->why);
}
