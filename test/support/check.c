#include "check.h"
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* TSan looks for races, and a failing allocation makes none; ASan's runs try them all. */
#if defined(__SANITIZE_THREAD__)
enum { EVERY_ONE_UP_TO = 20, SAMPLES_BEYOND = 20 };
#else
enum { EVERY_ONE_UP_TO = 300, SAMPLES_BEYOND = 100 };
#endif

static struct {
    pthread_mutex_t lock;
    size_t live, calls, fail_at; /* fail_at 0: never */
    bool and_later, hit;
} heap = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool must_fail(void)
{
    heap.calls++;
    bool fail = heap.fail_at && (heap.calls == heap.fail_at || (heap.and_later && heap.calls > heap.fail_at));
    heap.hit = heap.hit || fail;
    return fail;
}

static void *counting_resize(void *user, void *ptr, size_t size, size_t align)
{
    (void)user;
    pthread_mutex_lock(&heap.lock);
    bool fail = size > 0 && must_fail();
    void *out = NULL;
    if (size == 0) {
        free(ptr);
        heap.live--;
    } else if (!fail) {
        if (align <= 16)
            out = realloc(ptr, size);
        else if (posix_memalign(&out, align, size) != 0)
            out = NULL;
        heap.live += out && !ptr;
    }
    pthread_mutex_unlock(&heap.lock);
    return out;
}

bool lz_check_failing(void)
{
    return heap.fail_at != 0;
}

static void run_once(const lz_test_case *t, size_t fail_at, bool and_later)
{
    heap.calls = heap.live = 0;
    heap.hit = false;
    heap.and_later = and_later;
    heap.fail_at = fail_at;
    lz_err *e = t->run();
    lz_code code = lz_err_code(e);
    if (code != LZ_OK && (fail_at == 0 || code != LZ_ERR_MEMORY))
        fail_msg("%s, allocation %zu failing: %s error: %s", t->name, fail_at, lz_code_name(code),
                 lz_err_text(e));
    if (code != LZ_OK && !heap.hit)
        fail_msg("%s: LZ_ERR_MEMORY although no allocation failed", t->name);
    lz_err_free(e);
    heap.fail_at = 0;
    if (heap.live)
        fail_msg("%s, allocation %zu failing: %zu blocks leaked", t->name, fail_at, heap.live);
}

void lz_check_run(void **state)
{
    const lz_test_case *t = *state;
    const lz_allocator counting = { .resize = counting_resize };
    setenv("LAZULI_JIT", "off", 0); /* which allocation comes when must not depend on another thread */
    lz_allocator_set(&counting);
    run_once(t, 0, false);
    size_t calls = heap.calls, step = 1;
    for (size_t k = 1; k <= calls; k += step) {
        run_once(t, k, false);
        run_once(t, k, true);
        if (k >= EVERY_ONE_UP_TO)
            step = 1 + (calls - EVERY_ONE_UP_TO) / SAMPLES_BEYOND;
    }
    lz_allocator_set(NULL);
}

lz_err *lz_check_err(lz_err *e, lz_code code, const char *part)
{
    if (lz_check_failing() && lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    if (lz_err_code(e) != code || !strstr(lz_err_text(e), part))
        fail_msg("expected a %s error with '%s', got %s: %s", lz_code_name(code), part,
                 lz_code_name(lz_err_code(e)), lz_err_text(e));
    lz_err_free(e);
    return NULL;
}

void lz_check_temp(const char *name, char path[4096])
{
    const char *under = getenv("TMPDIR");
    int n = snprintf(path, 4096, "%s/%s", under && *under ? under : "/tmp", name);
    if (n >= 4096)
        fail_msg("TMPDIR is too long");
}

static char scratch[4096];

static void remove_tree(const char *path)
{
    DIR *d = opendir(path);
    for (struct dirent *f = d ? readdir(d) : NULL; f; f = readdir(d)) {
        char sub[4096];
        if (strcmp(f->d_name, ".") == 0 || strcmp(f->d_name, "..") == 0)
            continue;
        snprintf(sub, sizeof sub, "%s/%s", path, f->d_name);
        if (unlink(sub) != 0)
            remove_tree(sub);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

static void remove_scratch(void)
{
    remove_tree(scratch);
}

const char *lz_check_dir(void)
{
    static bool made;
    if (!made)
        lz_check_temp("lazuli-test-XXXXXX", scratch);
    if (!made && mkdtemp(scratch)) {
        made = true;
        atexit(remove_scratch);
    }
    return scratch;
}
