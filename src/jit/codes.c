#include "jit/codes.h"
#include "base/env.h"
#include "base/lock.h"
#include "base/mem.h"
#include "jit/code_launch.h"
#include "jit/codes_impl.h"
#include "jit/emit.h"
#include "jit/program.h"
#include <string.h>

enum {
    MOST_ENTRIES = 4096,
    HOT = 3000000,  /* elements after which compiling pays; measured for a kernel of ten operations */
    LOOK_AT = 4096, /* what is run on fewer need not even be looked for on the disk */
};

lz_codes lz_codes_all = { .lock = LZ_LOCK_INIT };

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

void lz_codes_source_set(lz_code_source *s)
{
    atomic_store(&lz_codes_all.source, s);
    atomic_store(&lz_codes_all.none, false);
}

/* ---- entries ---- */

static void destroy_entry(lz_centry *e)
{
    if (!e)
        return;
    lz_code_unload(&e->loaded);
    lz_kernel_release(e->kernel);
    lz_mem_free(e);
}

/* The structure of a kernel without what is needed to interpret it. */
static lz_err *copy_structure(const lz_kernel *k, lz_kernel *to)
{
    const lz_kir *x = &k->ir;
    lz_kir *y = &to->ir;
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

/* NULL: memory is out. */
static lz_centry *create_entry(const lz_kernel *k, const lz_variant *v)
{
    lz_centry *e = lz_mem_zalloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->variant = *v;
    e->kernel = lz_mem_zalloc(1, sizeof *e->kernel);
    lz_err *err = e->kernel ? copy_structure(k, e->kernel) : lz_err_oom();
    if (!err)
        return e;
    lz_err_free(err);
    destroy_entry(e);
    return NULL;
}

static lz_centry **bucket_of(const lz_kernel *k, const lz_variant *v)
{
    uint64_t h = lz_hash_add(k->hash, lz_hash64(v, sizeof *v)).lo;
    return &lz_codes_all.bucket[h % LZ_CODE_BUCKETS];
}

/* With the lock. The least recently used that nobody has leaves the table. */
static lz_centry *take_oldest(void)
{
    lz_centry **oldest = NULL;
    for (size_t b = 0; b < LZ_CODE_BUCKETS; b++) {
        for (lz_centry **at = &lz_codes_all.bucket[b]; *at; at = &(*at)->next) {
            if (!(*at)->users && !(*at)->queued && (!oldest || (*at)->used < (*oldest)->used))
                oldest = at;
        }
    }
    lz_centry *e = oldest ? *oldest : NULL;
    if (e) {
        *oldest = e->next;
        lz_codes_all.count--;
    }
    return e;
}

/* With the lock. */
static lz_err *find_or_create(const lz_kernel *k, const lz_variant *v, lz_centry **out)
{
    lz_codes *c = &lz_codes_all;
    lz_centry **b = bucket_of(k, v), *e = *b;
    while (e && !(memcmp(&e->variant, v, sizeof *v) == 0 && lz_kernel_equal(e->kernel, k)))
        e = e->next;
    if (!e) {
        if (c->count >= MOST_ENTRIES)
            destroy_entry(take_oldest());
        e = create_entry(k, v);
        if (!e)
            return lz_err_oom();
        e->next = *b;
        *b = e;
        c->count++;
    }
    e->used = ++c->clock;
    *out = e;
    return NULL;
}

static lz_centry *attached(const lz_kernel *k, const lz_variant *v)
{
    const struct lz_kcode *n = atomic_load_explicit(&k->codes, memory_order_acquire);
    while (n && memcmp(&n->entry->variant, v, sizeof *v) != 0)
        n = n->next;
    return n ? n->entry : NULL;
}

/* With the lock. The list of a kernel is the one part of it that changes. */
static lz_err *attach(const lz_kernel *k, const lz_variant *v, lz_centry **out)
{
    lz_codes *c = &lz_codes_all;
    lz_kernel *mine = (lz_kernel *)k;
    if ((*out = attached(k, v)))
        return NULL;
    struct lz_kcode *n = lz_mem_zalloc(1, sizeof *n);
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

lz_err *lz_codes_find(const lz_kernel *k, const lz_variant *v, int64_t elements, lz_jit_mode mode,
                      const lz_ccode **out)
{
    lz_centry *e = attached(k, v);
    if (!e) {
        lz_lock_take(&lz_codes_all.lock);
        lz_err *err = attach(k, v, &e);
        lz_lock_give(&lz_codes_all.lock);
        LZ_TRY(err);
    }
    *out = atomic_load_explicit(&e->code, memory_order_acquire);
    if (*out || atomic_load_explicit(&e->refused, memory_order_relaxed)
        || atomic_load_explicit(&lz_codes_all.none, memory_order_relaxed))
        return NULL;
    if (mode == LZ_JIT_NOW) {
        lz_code_make(e, LZ_WANT_CODE);
        *out = atomic_load_explicit(&e->code, memory_order_acquire);
        return NULL;
    }
    int64_t before = atomic_fetch_add_explicit(&e->elements, elements, memory_order_relaxed);
    int want = before >= HOT - elements ? LZ_WANT_CODE : elements >= LOOK_AT ? LZ_WANT_LOOK : LZ_WANT_NOTHING;
    if (want > atomic_load_explicit(&e->asked, memory_order_relaxed))
        lz_code_ask(e, want);
    return NULL;
}

/* ---- who holds it ---- */

typedef struct leftovers {
    lz_centry *entries;
    struct lz_code_thread *thread;
} leftovers;

/* With the lock: all there is, when nobody holds it any more. */
static leftovers take_all(void)
{
    lz_codes *c = &lz_codes_all;
    leftovers all = { NULL, NULL };
    if (c->holders)
        return all;
    all.thread = lz_code_thread_take();
    for (size_t b = 0; b < LZ_CODE_BUCKETS; b++) {
        while (c->bucket[b]) {
            lz_centry *e = c->bucket[b];
            c->bucket[b] = e->next;
            e->next = all.entries;
            all.entries = e;
        }
    }
    c->queue = NULL;
    c->queue_end = NULL;
    c->count = 0;
    return all;
}

/* Without the lock. */
static void drop_all(leftovers all)
{
    lz_code_thread_join(all.thread);
    while (all.entries) {
        lz_centry *e = all.entries;
        all.entries = e->next;
        destroy_entry(e);
    }
}

void lz_codes_detach(lz_kernel *k)
{
    struct lz_kcode *n = atomic_load_explicit(&k->codes, memory_order_acquire);
    if (!n)
        return;
    lz_lock_take(&lz_codes_all.lock);
    while (n) {
        struct lz_kcode *next = n->next;
        n->entry->users--;
        lz_mem_free(n);
        n = next;
    }
    lz_codes_all.holders--;
    leftovers all = take_all();
    lz_lock_give(&lz_codes_all.lock);
    drop_all(all);
}

/* Without a machine to compile for everything is interpreted; a wrong name for one is an error. */
static lz_err *check_target(void)
{
    const lz_target *t;
    lz_err *e = lz_target_here(&t);
    if (lz_err_code(e) == LZ_ERR_ARG)
        return e;
    lz_err_free(e);
    return NULL;
}

lz_err *lz_codes_open(lz_metrics *m)
{
    lz_jit_mode mode;
    LZ_TRY(lz_jit_mode_get(&mode));
    LZ_TRY(check_target());
    LZ_TRY(lz_codes_tell(m));
    lz_lock_take(&lz_codes_all.lock);
    lz_codes_all.holders++;
    lz_lock_give(&lz_codes_all.lock);
    return NULL;
}

void lz_codes_close(lz_metrics *m)
{
    lz_codes_tell_no_more(m);
    lz_code_thread_end(); /* a kernel that is being compiled may be held by the thread alone */
    lz_lock_take(&lz_codes_all.lock);
    lz_codes_all.holders--;
    leftovers all = take_all();
    lz_lock_give(&lz_codes_all.lock);
    drop_all(all);
}

void lz_codes_count(lz_codes_counts *out)
{
    lz_codes *c = &lz_codes_all;
    *out = (lz_codes_counts){ .compiles = atomic_load(&c->compiles),
                              .compile_ns = atomic_load(&c->compile_ns),
                              .disk_hits = atomic_load(&c->disk_hits),
                              .disk_ns = atomic_load(&c->disk_ns),
                              .swaps = atomic_load(&c->swaps),
                              .refused = atomic_load(&c->refused) };
    lz_lock_take(&c->lock);
    out->entries = (int64_t)c->count;
    lz_lock_give(&c->lock);
}

/* ---- the door ---- */

static lz_err *run_code(const lz_kernel *k, const lz_kernel_args *args, lz_jit_mode mode, lz_pool *pool,
                        bool *ran)
{
    const lz_ccode *code = NULL;
    lz_ccut cut;
    LZ_TRY(lz_ccut_make(k, args, &cut));
    LZ_TRY(lz_codes_find(k, &cut.variant, cut.elements, mode, &code));
    if (code)
        LZ_TRY(lz_code_run(code, &cut, pool));
    *ran = code;
    return NULL;
}

/* The interpreter takes no memory: it serves where there is no code, and where memory is out. */
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
