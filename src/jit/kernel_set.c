#include "jit/kernel_set.h"
#include "base/lock.h"
#include "base/mem.h"
#include "jit/codes.h"
#include "jit/program.h"
#include <assert.h>

static struct {
    lz_lock lock;
    lz_hash_table table; /* has no memory while there are no kernels */
} set = { .lock = LZ_LOCK_INIT };

static uint64_t hash_of(const void *item)
{
    return ((const lz_kernel *)item)->hash.lo;
}

static const lz_hash_kind kernels = { offsetof(lz_kernel, link), hash_of };

static bool same(const void *item, const void *like)
{
    return lz_kernel_equal(item, like);
}

/* With the lock held. */
static lz_kernel *find(const lz_kernel *like)
{
    lz_kernel *k = lz_hash_table_find(&set.table, &kernels, like->hash.lo, same, like);
    return k ? lz_kernel_retain(k) : NULL;
}

lz_kernel *lz_kernel_set_find(const lz_kernel *like)
{
    lz_lock_take(&set.lock);
    lz_kernel *k = find(like);
    lz_lock_give(&set.lock);
    return k;
}

lz_err *lz_kernel_set_add(lz_kernel *k, lz_kernel **out)
{
    lz_lock_take(&set.lock);
    lz_kernel *quicker = find(k);
    lz_err *e = quicker ? NULL : lz_hash_table_reserve(&set.table, &kernels);
    if (!quicker && !e) {
        lz_hash_table_add(&set.table, &kernels, k->hash.lo, k);
        assert(!k->listed);
        k->listed = true;
    }
    lz_lock_give(&set.lock);
    if (quicker || e)
        lz_kernel_release(k);
    *out = quicker ? quicker : e ? NULL : k;
    return e;
}

static void unlist(lz_kernel *k)
{
    assert(k->listed);
    lz_hash_table_remove(&set.table, &kernels, k);
    if (!set.table.count)
        lz_hash_table_deinit(&set.table);
}

static void destroy(lz_kernel *k)
{
    lz_native_codes_detach(k);
    lz_vec_deinit(&k->ir.nodes);
    lz_vec_deinit(&k->ir.access);
    lz_vec_deinit(&k->ir.params);
    lz_vec_deinit(&k->ir.stores);
    lz_program_destroy(k->program);
    lz_mem_free(k);
}

/* `count` is the number of owners beyond the first, so that a zeroed kernel has one. */
lz_kernel *lz_kernel_retain(lz_kernel *k)
{
    assert(atomic_load_explicit(&k->count, memory_order_relaxed) >= 0);
    atomic_fetch_add_explicit(&k->count, 1, memory_order_relaxed);
    return k;
}

/* Drops one owner; false if it is the last. The last owner must drop under the lock, because lookups can
 * still find the kernel. */
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
    const lz_kernel_ir *ir = &k->ir;
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
