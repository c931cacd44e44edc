#include "jit/kernel_set.h"
#include "base/lock.h"
#include "base/mem.h"
#include "jit/codes.h"
#include "jit/program.h"

enum { BUCKETS = 4096 };

static struct {
    lz_lock lock;
    lz_kernel *buckets[BUCKETS];
} set = { .lock = LZ_LOCK_INIT };

static lz_kernel **bucket_of(const lz_kernel *k)
{
    return &set.buckets[k->hash.lo % BUCKETS];
}

/* With the lock. */
static lz_kernel *find(const lz_kernel *like)
{
    lz_kernel *k = *bucket_of(like);
    while (k && !lz_kernel_equal(k, like))
        k = k->chain;
    return k ? lz_kernel_retain(k) : NULL;
}

lz_kernel *lz_kernel_set_find(const lz_kernel *like)
{
    lz_lock_take(&set.lock);
    lz_kernel *k = find(like);
    lz_lock_give(&set.lock);
    return k;
}

lz_kernel *lz_kernel_set_add(lz_kernel *k)
{
    lz_lock_take(&set.lock);
    lz_kernel *quicker = find(k);
    if (!quicker) {
        lz_kernel **bucket = bucket_of(k);
        k->chain = *bucket;
        *bucket = k;
        k->listed = true;
    }
    lz_lock_give(&set.lock);
    if (quicker)
        lz_kernel_release(k);
    return quicker ? quicker : k;
}

static void unlist(lz_kernel *k)
{
    lz_kernel **at = bucket_of(k);
    while (*at != k)
        at = &(*at)->chain;
    *at = k->chain;
}

static void destroy(lz_kernel *k)
{
    lz_codes_detach(k);
    lz_vec_deinit(&k->ir.nodes);
    lz_vec_deinit(&k->ir.access);
    lz_vec_deinit(&k->ir.params);
    lz_vec_deinit(&k->ir.stores);
    lz_program_destroy(k->program);
    lz_mem_free(k);
}

/* `count` is how many there are beside the first: a new kernel is all zeros. */
lz_kernel *lz_kernel_retain(lz_kernel *k)
{
    atomic_fetch_add_explicit(&k->count, 1, memory_order_relaxed);
    return k;
}

/* Whether there are others. The last one goes under the lock, for there it can be found. */
static bool drop_one(lz_kernel *k)
{
    int n = atomic_load_explicit(&k->count, memory_order_relaxed);
    while (n > 0)
        if (atomic_compare_exchange_weak_explicit(&k->count, &n, n - 1, memory_order_release,
                                                  memory_order_relaxed))
            return true;
    return false;
}

size_t lz_kernel_share(const lz_kernel *k)
{
    const lz_kir *ir = &k->ir;
    size_t bytes = sizeof *k + ir->nodes.cap * sizeof *ir->nodes.data
                   + ir->access.cap * sizeof *ir->access.data + ir->params.cap
                   + ir->stores.cap * sizeof *ir->stores.data
                   + (k->program ? sizeof *k->program + k->program->arena.total : 0);
    int holders = atomic_load_explicit(&k->count, memory_order_relaxed);
    return bytes / (size_t)(holders > 0 ? holders : 1);
}

void lz_kernel_release(lz_kernel *k)
{
    if (!k || drop_one(k))
        return;
    lz_lock_take(&set.lock);
    bool last = atomic_fetch_sub_explicit(&k->count, 1, memory_order_acq_rel) == 0;
    if (last && k->listed)
        unlist(k);
    lz_lock_give(&set.lock);
    if (last)
        destroy(k);
}
