#include "gen/torch/torch_record.h"
#include "base/dir.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/vec.h"
#include "gen/torch/record_file.h"
#include <dirent.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 28, MOST_RECORDS = 64, FOLDER_MOST = 4096 };

struct lzg_record {
    lz_arena arena;
    char *folder; /* of all records */
    lz_str name;  /* of this one */
    lz_str key;
    lzg_recorded now;
};

/* ---- the state of files ---- */

static bool is_name(const struct dirent *d)
{
    return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

/* The names in a folder, in any order: their hashes are added. */
static lz_hash hash_folder(DIR *d)
{
    lz_hash all = { .lo = 1 };
    for (struct dirent *one; (one = readdir(d)) != NULL;)
        if (is_name(one)) {
            lz_hash h = lz_hash_bytes(one->d_name, strlen(one->d_name));
            all = (lz_hash){ all.lo + h.lo, all.hi + h.hi };
        }
    return all;
}

/* Zero for what cannot be read: it is not there, or the run will say so. */
static lz_hash hash_input(const char *path)
{
    lz_hash h = { 0 };
    char *text;
    size_t len;
    DIR *d = opendir(path);
    if (d) {
        h = hash_folder(d);
        closedir(d);
        return h;
    }
    lz_err *e = lz_file_read(path, MOST_BYTES, &len, &text);
    if (e) {
        lz_err_free(e);
        return h;
    }
    h = lz_hash_bytes(text, len);
    lz_mem_free(text);
    return h;
}

static uint64_t ns_of(struct timespec t)
{
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* All zero for what is no file. */
static lzg_file_state state_of(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return (lzg_file_state){ 0 };
    return (lzg_file_state){ (uint64_t)st.st_size, (uint64_t)st.st_ino, ns_of(st.st_mtim),
                             ns_of(st.st_ctim) };
}

static bool same_state(lzg_file_state a, lzg_file_state b)
{
    return a.inode && a.size == b.size && a.inode == b.inode && a.modified == b.modified
           && a.changed == b.changed;
}

/* ---- opening ---- */

/* Another build of the generator may write other files. */
static void print_program(lz_text *out)
{
    lzg_file_state s = state_of("/proc/self/exe");
    lz_text_printf(out, "%s %zu %zu %zu\n", lz_version(), (size_t)s.size, (size_t)s.inode,
                   (size_t)s.modified);
}

static lz_err *print_key(lz_str command, lz_text *out)
{
    char folder[FOLDER_MOST];
    if (!getcwd(folder, sizeof folder))
        return lz_errf(LZ_ERR_IO, "the working folder has no path, or a long one");
    print_program(out);
    lz_text_printf(out, "%s\n%.*s", folder, LZ_FMT(command));
    return lz_text_check(out);
}

static lz_err *name_record(lzg_record *r, lz_str command)
{
    lz_text t = { 0 };
    lz_err *e = print_key(command, &t);
    if (!e)
        e = lz_text_save(&t, &r->arena, &r->key);
    lz_text_deinit(&t);
    LZ_TRY(e);
    char hex[LZ_HASH_CHARS];
    lz_hash_print(lz_hash_bytes(r->key.ptr, r->key.len), hex);
    return lz_arena_copy(&r->arena, lz_str_of(hex), &r->name);
}

static lz_err *find_folder(lzg_record *r)
{
    char *cache;
    LZ_TRY(lz_dir_cache(&cache));
    lz_err *e = lz_path_join(cache, "torch", &r->folder);
    lz_mem_free(cache);
    return e;
}

/* Without a cache folder runs are made each time. */
lz_err *lzg_record_open(lz_str key, lzg_record **out)
{
    lzg_record *r = lz_mem_zalloc(1, sizeof *r);
    *out = NULL;
    if (!r)
        return lz_err_oom();
    lz_err *e = find_folder(r);
    if (!e)
        e = name_record(r, key);
    if (!e) {
        *out = r;
        return NULL;
    }
    lzg_record_close(r);
    if (lz_err_code(e) == LZ_ERR_MEMORY || lz_err_code(e) == LZ_ERR_ARG)
        return e;
    lz_err_free(e);
    return NULL;
}

void lzg_record_close(lzg_record *r)
{
    if (!r)
        return;
    lzg_recorded_deinit(&r->now);
    lz_mem_free(r->folder);
    lz_arena_deinit(&r->arena);
    lz_mem_free(r);
}

lz_err *lzg_record_input(lzg_record *r, const char *path)
{
    lz_str copy;
    LZ_TRY(lz_arena_copy(&r->arena, lz_str_of(path), &copy));
    return lz_vec_push(&r->now.inputs, (lzg_input_file){ copy.ptr, hash_input(path) });
}

lz_err *lzg_record_output(lzg_record *r, const char *path)
{
    lz_str copy;
    LZ_TRY(lz_arena_copy(&r->arena, lz_str_of(path), &copy));
    return lz_vec_push(&r->now.outputs, (lzg_output_file){ copy.ptr, { 0 } });
}

/* ---- comparing ---- */

typedef struct comparison {
    const lzg_recorded *then;
    atomic_bool differs;
} comparison;

static lz_err *compare_some(void *user, int64_t begin, int64_t end, int worker)
{
    comparison *c = user;
    (void)worker;
    for (int64_t i = begin; i < end && !atomic_load(&c->differs); i++) {
        const lzg_output_file *f = &c->then->outputs.data[i];
        if (!same_state(state_of(f->path), f->state))
            atomic_store(&c->differs, true);
    }
    return NULL;
}

static bool same_inputs(const lzg_recorded *then)
{
    for (size_t i = 0; i < then->inputs.len; i++) {
        lz_hash now = hash_input(then->inputs.data[i].path), old = then->inputs.data[i].hash;
        if (now.lo != old.lo || now.hi != old.hi)
            return false;
    }
    return true;
}

static lz_err *compare(const lzg_recorded *then, lz_pool *pool, bool *out)
{
    enum { GRAIN = 256 };
    comparison c = { .then = then };
    *out = false;
    if (!same_inputs(then))
        return NULL;
    LZ_TRY(lz_pool_for(pool, (int64_t)then->outputs.len, GRAIN, compare_some, &c));
    *out = !atomic_load(&c.differs);
    return NULL;
}

static lz_err *path_of(const lzg_record *r, char **out)
{
    return lz_path_join(r->folder, r->name.ptr, out);
}

static lz_err *read_record(const lzg_record *r, size_t *len, char **out)
{
    char *path;
    LZ_TRY(path_of(r, &path));
    lz_err *e = lz_file_read(path, MOST_BYTES, len, out);
    lz_mem_free(path);
    return e;
}

lz_err *lzg_record_holds(const lzg_record *r, lz_pool *pool, bool *out, size_t *files)
{
    char *text;
    size_t len;
    lzg_recorded then = { 0 };
    *out = false;
    lz_err *e = read_record(r, &len, &text);
    if (e) {
        lz_err_free(e);
        return NULL;
    }
    bool good = false;
    e = lzg_recorded_parse((lz_str){ text, len }, r->key, &then, &good);
    if (!e && good)
        e = compare(&then, pool, out);
    *files = *out ? then.outputs.len : 0;
    lzg_recorded_deinit(&then);
    lz_mem_free(text);
    return e;
}

/* ---- saving ---- */

static uint64_t latest_change(const lzg_recorded *now)
{
    uint64_t latest = 0;
    for (size_t i = 0; i < now->outputs.len; i++)
        if (now->outputs.data[i].state.changed > latest)
            latest = now->outputs.data[i].state.changed;
    return latest;
}

/* File times advance in steps. After this, a change of an output gives the file another time. */
static void wait_for_next_step(uint64_t latest)
{
    enum { ROUNDS = 50, ROUND_NS = 1000000 };
    struct timespec now;
    for (int i = 0; i < ROUNDS; i++) {
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
        if (ns_of(now) > latest)
            return;
        lz_sleep_ns(ROUND_NS);
    }
}

typedef struct old_record {
    uint64_t used;
    char *path;
} old_record;

typedef LZ_VEC(old_record) old_records;

static int by_use(const void *a, const void *b)
{
    uint64_t x = ((const old_record *)a)->used, y = ((const old_record *)b)->used;
    return (x > y) - (x < y);
}

static lz_err *list_records(const lzg_record *r, DIR *d, old_records *out)
{
    for (struct dirent *one; (one = readdir(d)) != NULL;) {
        char *path;
        if (!is_name(one))
            continue;
        LZ_TRY(lz_path_join(r->folder, one->d_name, &path));
        lz_err *e = lz_vec_push(out, (old_record){ state_of(path).modified, path });
        if (e) {
            lz_mem_free(path);
            return e;
        }
    }
    return NULL;
}

/* The oldest records go where there are too many. */
static lz_err *tidy(const lzg_record *r)
{
    old_records all = { 0 };
    DIR *d = opendir(r->folder);
    lz_err *e = d ? list_records(r, d, &all) : NULL;
    if (d)
        closedir(d);
    if (all.len)
        qsort(all.data, all.len, sizeof *all.data, by_use);
    for (size_t i = 0; i < all.len; i++) {
        if (!e && i + MOST_RECORDS < all.len)
            unlink(all.data[i].path);
        lz_mem_free(all.data[i].path);
    }
    lz_vec_deinit(&all);
    return e;
}

static lz_err *save(lzg_record *r)
{
    lz_text t = { 0 };
    char *path = NULL;
    for (size_t i = 0; i < r->now.outputs.len; i++)
        r->now.outputs.data[i].state = state_of(r->now.outputs.data[i].path);
    wait_for_next_step(latest_change(&r->now));
    lzg_recorded_print(&r->now, r->key, &t);
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = lz_dir_make(r->folder, 0700);
    if (!e)
        e = path_of(r, &path);
    if (!e)
        e = lz_file_replace(path, lz_text_view(&t), 0600, LZ_FILE_NO_SYNC);
    lz_mem_free(path);
    lz_text_deinit(&t);
    return e ? e : tidy(r);
}

void lzg_record_save(lzg_record *r)
{
    lz_err_free(save(r));
}
