/* Lists the entries of the cache folder and removes old and unfinished ones. */
#include "base/number.h"
#include "jit/cache_folder.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FORGOTTEN_S = 3600, LOOK_EVERY = 16, LOCK_NUMBER = 1 };

typedef lz_err *visit_fn(void *user, const lz_cache_folder *f, const char *name, const struct stat *st);

static lz_err *visit_names(DIR *d, const lz_cache_folder *f, visit_fn *visit, void *user)
{
    const struct dirent *file;
    for (errno = 0; (file = readdir(d)); errno = 0) {
        struct stat st;
        if (fstatat(f->fd, file->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) /* else just removed */
            LZ_TRY(visit(user, f, file->d_name, &st));
    }
    return errno ? lz_err_errno(errno, "list", "the cache") : NULL;
}

static lz_err *visit_all(const lz_cache_folder *f, visit_fn *visit, void *user)
{
    int fd = openat(f->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        lz_err *e = lz_err_errno(errno, "list", "the cache");
        if (fd >= 0)
            close(fd);
        return e;
    }
    lz_err *e = visit_names(d, f, visit, user);
    closedir(d);
    return e;
}

static lz_err *add_info(void *user, const lz_cache_folder *f, const char *name, const struct stat *st)
{
    (void)f;
    lz_cache_files *all = user;
    lz_cache_file info = {
        .size = (uint64_t)st->st_size,
        .used = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
    };
    if (!lz_native_entry_is_name(lz_str_of(name)))
        return NULL;
    memcpy(info.name, name, LZ_ENTRY_NAME);
    return lz_vec_push(all, info);
}

static int by_use(const void *a, const void *b)
{
    const lz_cache_file *x = a, *y = b;
    return x->used != y->used ? (x->used > y->used) - (x->used < y->used) : strcmp(x->name, y->name);
}

lz_err *lz_cache_folder_list(const lz_cache_folder *f, lz_cache_files *out)
{
    lz_err *e = visit_all(f, add_info, out);
    if (e)
        lz_vec_deinit(out);
    else if (out->len)
        qsort(out->data, out->len, sizeof *out->data, by_use);
    return e;
}

/* The id of the process that writes the entry of this temporary name; 0 if the name is not a temporary
 * one. */
static int64_t writer_of(lz_str name)
{
    bool more = true;
    int64_t pid, serial;
    if (!lz_str_starts(name, LZ_STR(".new-")))
        return 0;
    name = lz_str_sub(name, 5, name.len);
    lz_str first = lz_str_cut(&name, LZ_STR("-"), &more);
    bool is = more && lz_int64_parse(first, &pid) && lz_int64_parse(name, &serial);
    return is && pid > 0 && pid <= INT32_MAX ? pid : 0;
}

/* A writer on another machine or in another PID namespace looks dead here. Removing its file costs that
 * process one more write. */
static lz_err *remove_left(void *user, const lz_cache_folder *f, const char *name, const struct stat *st)
{
    const int64_t *now = user;
    int64_t pid = writer_of(lz_str_of(name));
    if (pid && ((kill((pid_t)pid, 0) != 0 && errno == ESRCH) || *now - st->st_mtim.tv_sec > FORGOTTEN_S))
        lz_cache_folder_remove(f, name);
    return NULL;
}

/* Removes down to 7/8 of the limit, so that not every new entry has to remove one. */
static void remove_oldest(const lz_cache_folder *f, const lz_cache_files *all)
{
    uint64_t total = 0;
    for (size_t i = 0; i < all->len; i++)
        total += all->data[i].size;
    uint64_t wanted = total > f->limit ? f->limit - f->limit / 8 : total;
    for (size_t i = 0; i < all->len && total > wanted; i++) {
        lz_cache_folder_remove(f, all->data[i].name);
        total -= all->data[i].size;
    }
}

static void tidy(const lz_cache_folder *f)
{
    lz_cache_files all = { 0 };
    int64_t now = time(NULL);
    lz_err *e = visit_all(f, remove_left, &now);
    if (!e)
        e = lz_cache_folder_list(f, &all);
    if (!e)
        remove_oldest(f, &all);
    lz_err_drop(e); /* the next process tries again */
    lz_vec_deinit(&all);
}

void lz_cache_folder_tidy(const lz_cache_folder *f, uint64_t added)
{
    static _Atomic uint64_t unseen = (uint64_t)INT64_MAX; /* the first write tidies */
    lz_cache_lock lock;
    if (atomic_fetch_add(&unseen, added) + added <= f->limit / LOOK_EVERY)
        return;
    atomic_store(&unseen, 0);
    lz_cache_lock_init(f, LOCK_NUMBER, &lock);
    if (lz_cache_lock_try(&lock) != LZ_LOCK_THEIRS)
        tidy(f);
    lz_cache_lock_deinit(&lock);
}

typedef struct gone {
    size_t count;
    uint64_t bytes;
    lz_err *first; /* the first failure; the other files are still removed */
} gone;

static lz_err *remove_ours(void *user, const lz_cache_folder *f, const char *name, const struct stat *st)
{
    gone *g = user;
    lz_str s = lz_str_of(name);
    if (!lz_native_entry_is_name(s) && !writer_of(s))
        return NULL;
    if (unlinkat(f->fd, name, 0) != 0) {
        if (errno != ENOENT)
            g->first = lz_err_first(g->first, lz_err_errno(errno, "remove", name));
        return NULL;
    }
    g->count++;
    g->bytes += (uint64_t)st->st_size;
    return NULL;
}

lz_err *lz_cache_folder_clear(const lz_cache_folder *f, size_t *count, uint64_t *bytes)
{
    gone g = { 0 };
    lz_err *e = visit_all(f, remove_ours, &g);
    *count = g.count;
    *bytes = g.bytes;
    return lz_err_first(g.first, e);
}
