#include "jit/codes.h"
#include "base/env.h"
#include "base/lock.h"
#include "base/mem.h"
#include "jit/code_launch.h"
#include "jit/codes_impl.h"
#include "jit/emitter.h"
#include "jit/program.h"
#include <string.h>

enum {
    MOST_ENTRIES = 4096,
    HOT = 3000000,  /* elements after which compiling pays off; measured for a kernel of ten operations */
    LOOK_AT = 4096, /* kernels that run on fewer elements are not even looked up on the disk */
};

lz_native_codes lz_native_codes_all = { .lock = LZ_LOCK_INIT };

/* ---- modes ---- */

static const char *const modes[] = { "off", "background", "now", NULL };
static atomic_int chosen = LZ_JIT_MODES;

const char *lz_jit_mode_text(lz_jit_mode mode)
{
    return modes[mode];
}

lz_err *lz_jit_mode_get(lz_jit_mode *out)
{
    int mode = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (mode == LZ_JIT_MODES) {
        mode = LZ_JIT_BACKGROUND;
        LZ_TRY(lz_env_word(LZ_ENV_JIT, modes, &mode));
        atomic_store_explicit(&chosen, mode, memory_order_relaxed);
    }
    *out = (lz_jit_mode)mode;
    return NULL;
}

void lz_jit_mode_set(lz_jit_mode mode)
{
    atomic_store_explicit(&chosen, (int)mode, memory_order_relaxed);
}

void lz_native_codes_source_set(lz_native_source *s)
{
    atomic_store(&lz_native_codes_all.source, s);
    atomic_store(&lz_native_codes_all.none, false);
}

/* ---- entries ---- */

static void destroy_entry(lz_native_slot *e)
{
    if (!e)
        return;
    lz_native_unload(&e->loaded);
    lz_kernel_release(e->kernel);
    lz_err_free(e->fault);
    lz_mem_free(e);
}

/* Copies the structure of a kernel without its program for the interpreter. */
static lz_err *copy_structure(const lz_kernel *k, lz_kernel *to)
{
    const lz_kernel_ir *x = &k->ir;
    lz_kernel_ir *y = &to->ir;
    to->hash = k->hash;
    y->mode = x->mode;
    y->n_outer = x->n_outer;
    y->n_row = x->n_row;
    LZ_TRY(lz_vec_reserve(&y->nodes, x->nodes.len));
    LZ_TRY(lz_vec_reserve(&y->access, x->access.len));
    LZ_TRY(lz_vec_reserve(&y->params, x->params.len));
    LZ_TRY(lz_vec_reserve(&y->stores, x->stores.len));
    for (size_t i = 0; i < x->nodes.len; i++)
        y->nodes.data[y->nodes.len++] = x->nodes.data[i];
    for (size_t i = 0; i < x->access.len; i++)
        y->access.data[y->access.len++] = x->access.data[i];
    for (size_t i = 0; i < x->params.len; i++)
        y->params.data[y->params.len++] = x->params.data[i];
    for (size_t i = 0; i < x->stores.len; i++)
        y->stores.data[y->stores.len++] = x->stores.data[i];
    return NULL;
}

/* NULL: out of memory. */
static lz_native_slot *create_entry(const lz_kernel *k, const lz_native_variant *v)
{
    lz_native_slot *e = lz_mem_zalloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->variant = *v;
    e->kernel = lz_mem_zalloc(1, sizeof *e->kernel);
    lz_err *err = e->kernel ? copy_structure(k, e->kernel) : lz_err_oom();
    if (!err)
        return e;
    lz_err_drop(err);
    destroy_entry(e);
    return NULL;
}

static uint64_t hash_of(const lz_kernel *k, const lz_native_variant *v)
{
    return lz_hash_add(k->hash, lz_hash64(v, sizeof *v)).lo;
}

static uint64_t hash_of_entry(const void *item)
{
    const lz_native_slot *e = item;
    return hash_of(e->kernel, &e->variant);
}

static const lz_hash_kind entries = { offsetof(lz_native_slot, link), hash_of_entry };

lz_native_slot *lz_native_next(lz_native_slot *after)
{
    return lz_hash_table_next(&lz_native_codes_all.entries, &entries, after);
}

typedef struct wanted {
    const lz_kernel *kernel;
    const lz_native_variant *variant;
} wanted;

static bool same(const void *item, const void *key)
{
    const lz_native_slot *e = item;
    const wanted *w = key;
    return memcmp(&e->variant, w->variant, sizeof e->variant) == 0 && lz_kernel_equal(e->kernel, w->kernel);
}

/* With the lock held. Removes from the table, and returns, the least recently used entry that has no users
 * and is not queued; NULL if there is none. */
static lz_native_slot *take_oldest(void)
{
    lz_native_slot *oldest = NULL;
    for (lz_native_slot *e = NULL; (e = lz_native_next(e));)
        if (!e->users && !e->queued && (!oldest || e->used < oldest->used))
            oldest = e;
    if (oldest)
        lz_hash_table_remove(&lz_native_codes_all.entries, &entries, oldest);
    return oldest;
}

/* With the lock held. */
static lz_err *find_or_create(const lz_kernel *k, const lz_native_variant *v, lz_native_slot **out)
{
    lz_native_codes *c = &lz_native_codes_all;
    uint64_t hash = hash_of(k, v);
    lz_native_slot *e = lz_hash_table_find(&c->entries, &entries, hash, same, &(wanted){ k, v });
    if (!e) {
        if (c->entries.count >= MOST_ENTRIES)
            destroy_entry(take_oldest());
        e = create_entry(k, v);
        if (!e)
            return lz_err_oom();
        lz_err *err = lz_hash_table_reserve(&c->entries, &entries);
        if (err) { /* an empty table must have no memory of its own */
            destroy_entry(e);
            return err;
        }
        lz_hash_table_add(&c->entries, &entries, hash, e);
    }
    e->used = ++c->clock;
    *out = e;
    return NULL;
}

static lz_native_slot *attached(const lz_kernel *k, const lz_native_variant *v)
{
    const struct lz_kernel_code *n = atomic_load_explicit(&k->codes, memory_order_acquire);
    while (n && memcmp(&n->entry->variant, v, sizeof *v) != 0)
        n = n->next;
    return n ? n->entry : NULL;
}

/* With the lock held. Casts away const: the list of codes is the only part of a kernel that changes. */
static lz_err *attach(const lz_kernel *k, const lz_native_variant *v, lz_native_slot **out)
{
    lz_native_codes *c = &lz_native_codes_all;
    lz_kernel *mine = (lz_kernel *)k;
    if ((*out = attached(k, v)))
        return NULL;
    struct lz_kernel_code *n = lz_mem_zalloc(1, sizeof *n);
    if (!n)
        return lz_err_oom();
    lz_err *e = find_or_create(k, v, &n->entry);
    if (e) {
        lz_mem_free(n);
        return e;
    }
    n->next = atomic_load_explicit(&k->codes, memory_order_relaxed);
    c->holders += !n->next;
    n->entry->users++;
    *out = n->entry;
    atomic_store_explicit(&mine->codes, n, memory_order_release);
    return NULL;
}

/* Of a slot that is refused: NULL if it may be interpreted. */
static lz_err *fault_of(const lz_native_slot *e)
{
    return e->fault ? lz_err_copy(e->fault) : NULL;
}

lz_err *lz_native_codes_find(const lz_kernel *k, const lz_native_variant *v, int64_t elements,
                             lz_jit_mode mode, const lz_native_loaded **out)
{
    lz_native_slot *e = attached(k, v);
    if (!e) {
        lz_lock_take(&lz_native_codes_all.lock);
        lz_err *err = attach(k, v, &e);
        lz_lock_give(&lz_native_codes_all.lock);
        LZ_TRY(err);
    }
    *out = atomic_load_explicit(&e->code, memory_order_acquire);
    if (*out)
        return NULL;
    if (atomic_load_explicit(&e->refused, memory_order_acquire))
        return fault_of(e);
    if (atomic_load_explicit(&lz_native_codes_all.none, memory_order_relaxed))
        return NULL;
    if (mode == LZ_JIT_NOW) {
        lz_native_make(e, LZ_WANT_CODE);
        *out = atomic_load_explicit(&e->code, memory_order_acquire);
        return atomic_load_explicit(&e->refused, memory_order_acquire) ? fault_of(e) : NULL;
    }
    int64_t before = atomic_fetch_add_explicit(&e->elements, elements, memory_order_relaxed);
    int want = before >= HOT - elements ? LZ_WANT_CODE : elements >= LOOK_AT ? LZ_WANT_LOOK : LZ_WANT_NOTHING;
    if (want > atomic_load_explicit(&e->asked, memory_order_relaxed))
        lz_native_request(e, want);
    return NULL;
}

/* ---- holders ---- */

typedef struct leftovers {
    lz_hash_table entries;
    struct lz_native_thread *thread;
} leftovers;

/* With the lock held: takes everything once there is no holder. */
static leftovers take_all(void)
{
    lz_native_codes *c = &lz_native_codes_all;
    leftovers all = { 0 };
    if (c->holders)
        return all;
    all.thread = lz_native_thread_take();
    all.entries = c->entries;
    c->entries = (lz_hash_table){ 0 };
    c->queue = NULL;
    c->queue_end = NULL;
    return all;
}

/* Call without the lock: it joins the thread. */
static void drop_all(leftovers all)
{
    lz_native_thread_join(all.thread);
    for (lz_native_slot *e = lz_hash_table_next(&all.entries, &entries, NULL), *next; e; e = next) {
        next = lz_hash_table_next(&all.entries, &entries, e);
        destroy_entry(e);
    }
    lz_hash_table_deinit(&all.entries);
}

void lz_native_codes_detach(lz_kernel *k)
{
    struct lz_kernel_code *n = atomic_load_explicit(&k->codes, memory_order_acquire);
    if (!n)
        return;
    lz_lock_take(&lz_native_codes_all.lock);
    while (n) {
        struct lz_kernel_code *next = n->next;
        n->entry->users--;
        lz_mem_free(n);
        n = next;
    }
    lz_native_codes_all.holders--;
    leftovers all = take_all();
    lz_lock_give(&lz_native_codes_all.lock);
    drop_all(all);
}

/* Without a target everything is interpreted; but an unknown LAZULI_CPU is an error. */
static lz_err *check_target(void)
{
    const lz_target *t;
    lz_err *e = lz_target_here(&t);
    if (lz_err_code(e) == LZ_ERR_ARG || lz_err_must_surface(e))
        return e;
    lz_err_free(e);
    return NULL;
}

lz_err *lz_native_codes_open(lz_metrics *m)
{
    lz_jit_mode mode;
    LZ_TRY(lz_jit_mode_get(&mode));
    LZ_TRY(check_target());
    LZ_TRY(lz_native_codes_metrics_add(m));
    lz_lock_take(&lz_native_codes_all.lock);
    lz_native_codes_all.holders++;
    lz_lock_give(&lz_native_codes_all.lock);
    return NULL;
}

void lz_native_codes_close(lz_metrics *m)
{
    lz_native_codes_metrics_remove(m);
    lz_native_thread_end(); /* the thread may be the last holder of a kernel that it compiles */
    lz_lock_take(&lz_native_codes_all.lock);
    lz_native_codes_all.holders--;
    leftovers all = take_all();
    lz_lock_give(&lz_native_codes_all.lock);
    drop_all(all);
}

void lz_native_codes_count(lz_native_codes_counts *out)
{
    lz_native_codes *c = &lz_native_codes_all;
    *out = (lz_native_codes_counts){ .compiles = atomic_load(&c->compiles),
                                     .compile_ns = atomic_load(&c->compile_ns),
                                     .disk_hits = atomic_load(&c->disk_hits),
                                     .disk_ns = atomic_load(&c->disk_ns),
                                     .swaps = atomic_load(&c->swaps),
                                     .refused = atomic_load(&c->refused) };
    lz_lock_take(&c->lock);
    out->entries = (int64_t)c->entries.count;
    lz_lock_give(&c->lock);
}

/* ---- runs ---- */

static lz_err *run_code(const lz_kernel *k, const lz_kernel_args *args, lz_jit_mode mode, lz_pool *pool,
                        bool *ran)
{
    const lz_native_loaded *code = NULL;
    lz_native_split cut;
    LZ_TRY(lz_native_split_make(k, args, &cut));
    LZ_TRY(lz_native_codes_find(k, &cut.variant, cut.elements, mode, &code));
    if (code)
        LZ_TRY(lz_native_run(code, &cut, pool));
    *ran = code;
    return NULL;
}

/* The interpreter allocates nothing, so it runs when there is no code and when memory is out. */
lz_err *lz_kernel_run(const lz_kernel *k, const lz_kernel_args *args, lz_pool *pool)
{
    lz_jit_mode mode;
    bool ran = false;
    LZ_TRY(lz_jit_mode_get(&mode));
    lz_err *e = mode == LZ_JIT_OFF ? NULL : run_code(k, args, mode, pool, &ran);
    if (e && lz_err_code(e) != LZ_ERR_MEMORY)
        return e;
    lz_err_free(e);
    if (args->compiled)
        *args->compiled = ran;
    return ran ? NULL : lz_program_run(k->program, args, pool);
}
