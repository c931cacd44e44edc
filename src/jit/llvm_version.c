#include "jit/llvm_version.h"
#include "base/env.h"
#include "base/lock.h"
#include "jit/code_cache.h"
#include "jit/llvm.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { VERSION = 48 };

static struct {
    lz_lock lock;
    char text[VERSION]; /* empty: unknown */
    bool looked;        /* has read_note been called? */
} version = { .lock = LZ_LOCK_INIT };

/* Appends a file's path and the facts that change with its contents. */
static void put_file(const char *path, lz_text *out)
{
    struct stat st;
    lz_text_printf(out, "%s\n", path);
    if (stat(path, &st) == 0)
        lz_text_printf(out, "%llu %llu %lld %lld.%09ld", (unsigned long long)st.st_dev,
                       (unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
                       st.st_mtim.tv_nsec);
    lz_text_putc(out, '\n');
}

/* Everything that decides which library file the loader finds. */
static lz_err *note_key(lz_text *out)
{
    const char *chosen = lz_env_text(LZ_ENV_LLVM), *folders = getenv("LD_LIBRARY_PATH");
    lz_text_puts(out, "llvm\n");
    put_file(chosen ? chosen : "", out);
    put_file("/etc/ld.so.cache", out);
    lz_text_puts(out, folders ? folders : "");
    return lz_text_check(out);
}

/* A note has three lines: path, the file's facts, version. */
static lz_err *use_note(lz_str note)
{
    bool more = true;
    lz_text now = { 0 }, path = { 0 };
    lz_str rest = note;
    lz_text_add(&path, lz_str_cut(&rest, LZ_STR("\n"), &more));
    lz_text_putc(&path, '\0');
    lz_err *e = lz_text_check(&path);
    if (!e) {
        put_file(path.ptr, &now);
        e = lz_text_check(&now);
    }
    lz_str said = lz_str_sub(note, now.len, note.len);
    if (!e && lz_str_starts(note, lz_text_view(&now)) && said.len < VERSION)
        memcpy(version.text, said.ptr, said.len); /* text was zeroed, so the copy is terminated */
    lz_text_deinit(&path);
    lz_text_deinit(&now);
    return e;
}

static lz_err *read_note(lz_str key)
{
    lz_native_object o;
    LZ_TRY(lz_native_cache_find(key, &o));
    lz_err *e = o.memory ? use_note(o.bytes) : NULL;
    lz_native_object_deinit(&o);
    return e;
}

static lz_err *make_note(void *user, lz_text *out)
{
    const lz_llvm *l = user;
    Dl_info file;
    if (!dladdr(*(void *const *)(const void *)&l->GetVersion, &file) || file.dli_fname[0] != '/')
        return lz_errf(LZ_ERR_UNSUPPORTED, "the file of the LLVM library is unknown");
    put_file(file.dli_fname, out);
    lz_text_puts(out, version.text);
    return NULL;
}

/* Replaces an outdated note. Failure is ignored. */
static void leave_note(lz_str key, const lz_llvm *l)
{
    lz_native_object o;
    lz_native_cache_drop(key);
    lz_err_drop(lz_native_cache_get(key, make_note, (void *)l, &o));
    lz_native_object_deinit(&o);
}

static lz_err *ask_library(lz_str key)
{
    const lz_llvm *l;
    LZ_TRY(lz_llvm_get(&l));
    snprintf(version.text, VERSION, "%u.%u.%u", l->major, l->minor, l->patch);
    leave_note(key, l);
    return NULL;
}

/* With the lock held. */
static lz_err *find_out(bool load)
{
    lz_text key = { 0 };
    lz_err *e = note_key(&key);
    if (!e && !version.looked) {
        e = read_note(lz_text_view(&key));
        version.looked = !e;
    }
    if (!e && load && !version.text[0])
        e = ask_library(lz_text_view(&key));
    lz_text_deinit(&key);
    return e;
}

lz_err *lz_llvm_version(bool load, const char **out)
{
    lz_err *e = NULL;
    lz_lock_take(&version.lock);
    if (!version.text[0] && (load || !version.looked))
        e = find_out(load);
    *out = version.text[0] ? version.text : NULL;
    lz_lock_give(&version.lock);
    return e;
}
