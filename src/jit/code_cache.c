#include "jit/code_cache.h"
#include "base/log.h"
#include "base/mem.h"
#include <stdatomic.h>
#include <time.h>

/* How long to wait for another process that makes the same object: 2 s, in naps, which last longer on a busy
 * machine, where the other process is slow too. A compilation takes some 10 ms. A process that holds the lock
 * for longer is stopped, or uses the file for something else; then this process never waits again. */
enum { NAP_NS = 500000, NAPS_MOST = 4000 };
static atomic_bool waited_in_vain;

void lz_native_object_deinit(lz_native_object *o)
{
    lz_mem_free(o->memory);
    *o = (lz_native_object){ 0 };
}

static lz_err *make_object(lz_native_object_fn *make, void *user, lz_native_object *out)
{
    lz_text t = { 0 };
    lz_err *e = make(user, &t);
    e = e ? e : lz_text_check(&t);
    if (e)
        lz_text_deinit(&t);
    else
        *out = (lz_native_object){ .bytes = lz_text_view(&t), .made = true, .memory = t.ptr };
    return e;
}

/* Logs the first problem of the process. A cache that is switched off is no problem. */
static void complain(const lz_err *e)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    lz_code code = lz_err_code(e);
    if (code == LZ_OK || code == LZ_ERR_UNSUPPORTED || code == LZ_ERR_MEMORY || !lz_log_on(LZ_LOG_WARN))
        return;
    if (!atomic_flag_test_and_set(&said))
        lz_logf(LZ_LOG_WARN, "the cache of compiled kernels: %s", lz_err_text(e));
}

static void forget(lz_err *e)
{
    complain(e);
    lz_err_drop(e);
}

typedef struct wanted {
    const lz_cache_folder *folder;
    char name[LZ_ENTRY_NAME];
    lz_str key;
} wanted;

/* LZ_ERR_NOT_FOUND: the entry does not exist. Other errors except LZ_ERR_MEMORY: the entry exists but
 * cannot be used. */
static lz_err *look(const wanted *w, lz_native_object *out)
{
    lz_cache_object o;
    LZ_TRY(lz_cache_folder_read(w->folder, w->name, &o));
    if (lz_str_eq(o.entry.key, w->key)) {
        lz_cache_folder_touch(w->folder, w->name, &o);
        *out = (lz_native_object){ .bytes = o.entry.object, .memory = o.memory };
        return NULL;
    }
    lz_mem_free(o.memory);
    return lz_errf(LZ_ERR_MODEL, "%s: another kernel has the same hash", w->name);
}

static void store(const wanted *w, lz_str object)
{
    lz_text t = { 0 };
    size_t size = lz_native_entry_size(w->key, object);
    if (size == 0 || size > w->folder->limit)
        return;
    lz_native_entry_write(w->key, object, &t);
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = lz_cache_folder_write(w->folder, w->name, lz_text_view(&t));
    if (!e)
        lz_cache_folder_tidy(w->folder, size);
    forget(e);
    lz_text_deinit(&t);
}

static void stop_waiting(void)
{
    if (!atomic_exchange(&waited_in_vain, true))
        lz_logf(LZ_LOG_WARN, "the cache of compiled kernels: another process has held a lock for 2 s; from "
                             "now on this process "
                             "compiles without waiting for others");
}

/* Waits until no other process makes the object, the object is stored, or the time is over. */
static void wait_for_turn(const wanted *w, const lz_cache_lock *lock, lz_native_object *out)
{
    const struct timespec nap = { .tv_nsec = NAP_NS };
    int naps = 0;
    while (!out->memory && lz_cache_lock_try(lock) == LZ_LOCK_THEIRS && !atomic_load(&waited_in_vain)) {
        nanosleep(&nap, NULL);
        lz_err_drop(look(w, out));
        if (!out->memory && ++naps == NAPS_MOST)
            stop_waiting();
    }
}

/* Called when it is this process's turn. Another process may have stored the object in the meantime, or left
 * a broken entry. */
static lz_err *make_and_store(const wanted *w, lz_native_object_fn *make, void *user, lz_native_object *out)
{
    lz_err *e = look(w, out);
    lz_code code = lz_err_code(e);
    if (!e || lz_err_must_surface(e))
        return e;
    if (code == LZ_ERR_MODEL) {
        lz_logf(LZ_LOG_INFO, "recompiling: %s", lz_err_text(e));
        lz_cache_folder_remove(w->folder, w->name);
    }
    lz_err_free(e);
    LZ_TRY(make_object(make, user, out));
    store(w, out->bytes);
    return NULL;
}

static lz_err *get_once(const wanted *w, lz_native_object_fn *make, void *user, lz_native_object *out)
{
    lz_cache_lock lock;
    lz_err *e = NULL;
    lz_cache_lock_init(w->folder, lz_hash64(w->name, sizeof w->name), &lock);
    wait_for_turn(w, &lock, out);
    if (!out->memory)
        e = make_and_store(w, make, user, out);
    lz_cache_lock_deinit(&lock);
    return e;
}

lz_err *lz_native_cache_get(lz_str key, lz_native_object_fn *make, void *user, lz_native_object *out)
{
    lz_cache_folder folder;
    wanted w = { .folder = &folder, .key = key };
    *out = (lz_native_object){ 0 };
    lz_err *e = lz_cache_folder_open(true, &folder);
    if (e) {
        forget(e);
        return make_object(make, user, out);
    }
    lz_native_entry_name(key, w.name);
    e = look(&w, out);
    if (e && !lz_err_must_surface(e)) {
        lz_err_free(e);
        e = get_once(&w, make, user, out);
    }
    lz_cache_folder_close(&folder);
    return e;
}

lz_err *lz_native_cache_find(lz_str key, lz_native_object *out)
{
    lz_cache_folder folder;
    wanted w = { .folder = &folder, .key = key };
    *out = (lz_native_object){ 0 };
    lz_err *e = lz_cache_folder_open(false, &folder);
    if (!e) {
        lz_native_entry_name(key, w.name);
        e = look(&w, out);
        lz_cache_folder_close(&folder);
    }
    if (lz_err_must_surface(e))
        return e;
    lz_err_free(e);
    return NULL;
}

void lz_native_cache_drop(lz_str key)
{
    lz_cache_folder folder;
    char name[LZ_ENTRY_NAME];
    lz_err *e = lz_cache_folder_open(false, &folder);
    if (!e) {
        lz_native_entry_name(key, name);
        lz_cache_folder_remove(&folder, name);
        lz_cache_folder_close(&folder);
    }
    lz_err_drop(e);
}
