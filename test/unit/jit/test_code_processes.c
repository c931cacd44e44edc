/* Processes that share one cache, with the real compiler. Each child makes the same kernels, runs them
 * interpreted and compiled, compares, and tells what it took. */
#include "check.h"
#include "jit/code_cache.h"
#include "jit/codes.h"
#include "jit/launch.h"
#include "nan_at.h"
#include "random_kernel.h"
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KERNELS = 12, PROCESSES = 16 };

typedef struct told {
    int64_t compiles, disk_hits, wrong, loaded; /* loaded: LLVM is in memory */
} told;

static char folder[200];

static void new_folder(void)
{
    static int serial;
    snprintf(folder, sizeof folder, "%s/%d", lz_check_dir(), serial++);
    setenv("LAZULI_CACHE_DIR", folder, 1);
}

/* ---- in a child ---- */

static void make_nans_equal(const random_kernel *r, int a)
{
    size_t size = lz_dtype_bytes(r->dtypes[a]);
    char *p = r->access[a].base;
    for (size_t i = 0; i + size <= r->bytes[a]; i += size) {
        char element[8] = { 0 };
        memcpy(element, p + i, size);
        if (nan_at(r->dtypes[a], element))
            memset(p + i, 0xff, size);
    }
}

static lz_hash result_of(const random_kernel *r, const lz_err *e)
{
    lz_hash h = lz_hash_bytes(lz_err_text(e), strlen(lz_err_text(e)));
    for (int a = 0; !e && a < r->n_access; a++) {
        if (!r->stored[a])
            continue;
        make_nans_equal(r, a);
        h = lz_hash_mix(h, lz_hash_bytes(r->access[a].base, r->bytes[a]));
    }
    return h;
}

static lz_hash run(const random_kernel *r, const lz_kernel *k, lz_jit_mode mode)
{
    lz_kernel_args args = rk_args(r);
    for (int a = 0; a < r->n_access; a++)
        if (r->stored[a])
            memset(r->access[a].base, 0x55, r->bytes[a]);
    lz_jit_mode_set(mode);
    lz_err *e = lz_kernel_run(k, &args, NULL);
    lz_hash h = result_of(r, e);
    lz_err_free(e);
    return h;
}

static void run_both(uint64_t seed, told *t)
{
    random_kernel r;
    lz_kernel *k = rk_make(&r, seed, true);
    if (k)
        t->wrong += !lz_hash_eq(run(&r, k, LZ_JIT_OFF), run(&r, k, LZ_JIT_NOW));
    lz_kernel_release(k);
    rk_free(&r);
}

static bool llvm_is_loaded(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[1000];
    bool found = false;
    while (f && fgets(line, sizeof line, f))
        found = found || strstr(line, "libLLVM");
    if (f)
        fclose(f);
    return found;
}

static void child(int start, int out)
{
    told t = { 0 };
    lz_native_codes_counts c;
    char go;
    bool ok = read(start, &go, 1) == 0; /* until the parent lets everybody go */
    lz_err *e = lz_native_codes_open(NULL);
    for (uint64_t seed = 1; seed <= KERNELS; seed++)
        run_both(seed, &t);
    lz_native_codes_count(&c);
    t.compiles = c.compiles;
    t.disk_hits = c.disk_hits;
    t.loaded = llvm_is_loaded();
    ok = ok && !e && write(out, &t, sizeof t) == sizeof t;
    _exit(ok ? 0 : 1);
}

/* ---- in the parent ---- */

/* All start together; *all is what they tell, added up. */
static void start(int processes, told *all)
{
    int go[2], out[2], status;
    pid_t pids[PROCESSES];
    told t;
    *all = (told){ 0 };
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(out), 0);
    for (int i = 0; i < processes; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            close(go[1]);
            child(go[0], out[1]);
        }
    }
    close(go[0]);
    close(go[1]);
    for (int i = 0; i < processes; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
        assert_int_equal(read(out[0], &t, sizeof t), sizeof t);
        all->compiles += t.compiles;
        all->disk_hits += t.disk_hits;
        all->wrong += t.wrong;
        all->loaded += t.loaded;
    }
    close(out[0]);
    close(out[1]);
    assert_int_equal(all->wrong, 0);
}

static void assert_told(int processes, int64_t compiles, int64_t disk_hits)
{
    told t;
    start(processes, &t);
    assert_int_equal(t.compiles, compiles);
    assert_int_equal(t.disk_hits, disk_hits);
}

/* Does `damage` to each entry; returns how many there are. */
static int damage_all(void (*damage)(const char *path, size_t size))
{
    int n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *f; (f = readdir(d));) {
        char path[600];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, f->d_name);
        if (!lz_native_entry_is_name(lz_str_of(f->d_name)) || stat(path, &st) != 0)
            continue;
        damage(path, (size_t)st.st_size);
        n++;
    }
    closedir(d);
    return n;
}

static void cut(const char *path, size_t size)
{
    assert_int_equal(truncate(path, (off_t)size - 1), 0);
}

/* In the object, behind the key. */
static void flip(const char *path, size_t size)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, (long)size - 60, SEEK_SET);
    int c = fgetc(f);
    fseek(f, (long)size - 60, SEEK_SET);
    fputc(c ^ 1, f);
    fclose(f);
}

/* All entries get the names of their neighbours. */
static void rotate(const char *path, size_t size)
{
    static char before[600];
    char kept[600];
    (void)size;
    snprintf(kept, sizeof kept, "%s/kept", folder);
    if (before[0]) {
        assert_int_equal(rename(path, kept), 0);
        assert_int_equal(rename(before, path), 0);
        assert_int_equal(rename(kept, before), 0);
    }
    snprintf(before, sizeof before, "%s", path);
}

static lz_err *test_one_cache(void)
{
    told alone;
    if (lz_check_failing())
        return NULL;
    new_folder();
    start(1, &alone);
    if (alone.compiles == 0)
        return NULL; /* nothing can be compiled here */
    int64_t n = alone.compiles;
    assert_true(n >= KERNELS / 2);
    assert_int_equal(alone.disk_hits, 0);

    told again; /* a second process compiles nothing, and does not even load the compiler */
    start(1, &again);
    assert_int_equal(again.compiles, 0);
    assert_int_equal(again.disk_hits, n);
    assert_int_equal(again.loaded, 0);

    void (*const damages[])(const char *, size_t) = { cut, flip, rotate };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        assert_true(damage_all(damages[i]) >= n);
        assert_told(1, n, 0);
        assert_told(1, 0, n);
    }

    new_folder();
    assert_told(PROCESSES, n, (PROCESSES - 1) * n);
    setenv("LAZULI_CACHE", "off", 1);
    assert_told(2, 2 * n, 0);
    unsetenv("LAZULI_CACHE");
    setenv("LAZULI_LLVM", "/nowhere/libLLVM.so", 1); /* no compiler: everything is interpreted */
    assert_told(1, 0, 0);
    unsetenv("LAZULI_LLVM");
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_one_cache) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
