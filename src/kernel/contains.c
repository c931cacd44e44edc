/* Tests which elements are in a set. The keys of the set's elements are in a hash table with open addressing.
 * A NaN equals nothing, so its key is never inserted. The table of base/hash_table.h links items, each at
 * least 24 bytes with link and hash; a key here takes 8 bytes, and a look-up reads one cache line without
 * following a pointer. */
#include "base/mem.h"
#include "kernel/keys.h"
#include "kernel/strided_walk.h"
#include <assert.h>
#include <string.h>

typedef struct set {
    const lz_kernel_call *c;
    lz_keys_fn *keys_of;
    uint64_t nan; /* the key of a NaN */
    bool real;    /* the dtype has NaNs */
    uint64_t *table;
    int shift;     /* the table has 1 << (64 - shift) entries */
    bool greatest; /* whether UINT64_MAX, which marks free entries, is in the set */
} set;

enum { BLOCK = 256 };

static uint64_t slot_of(const set *s, uint64_t key)
{
    key ^= key >> 32;
    return (key * UINT64_C(0x9e3779b97f4a7c15)) >> s->shift;
}

/* The key's slot, or the free slot where it belongs. At least half of the table is free. */
static uint64_t find(const set *s, uint64_t key)
{
    uint64_t mask = UINT64_MAX >> s->shift, at = slot_of(s, key);
    while (s->table[at] != key && s->table[at] != UINT64_MAX)
        at = (at + 1) & mask;
    return at;
}

static void insert(set *s, uint64_t key)
{
    if (s->real && key == s->nan)
        return;
    if (key == UINT64_MAX)
        s->greatest = true;
    else
        s->table[find(s, key)] = key;
}

static bool has(const set *s, uint64_t key)
{
    return key == UINT64_MAX ? s->greatest : s->table[find(s, key)] == key;
}

/* Computes the keys of at most BLOCK elements of x from element `number` on, all in one row; returns how
 * many. */
static int64_t take_keys(const set *s, const lz_strided *x, int64_t number, int64_t end, uint64_t *keys)
{
    int64_t inner = x->ndim ? x->sizes[x->ndim - 1] : 1, n = inner - number % inner;
    n = n < end - number ? n : end - number;
    n = n < BLOCK ? n : BLOCK;
    s->keys_of(lz_strided_at(x, lz_strided_offset(x, x->ndim, number)), x->ndim ? x->strides[x->ndim - 1] : 0,
               n, false, keys);
    return n;
}

static lz_err *look_up(void *user, int64_t begin, int64_t end, int worker)
{
    const set *s = user;
    uint64_t keys[BLOCK];
    uint8_t *out = s->c->out.data;
    (void)worker;
    for (int64_t i = begin, n; i < end; i += n) {
        n = take_keys(s, &s->c->in[0], i, end, keys);
        for (int64_t k = 0; k < n; k++)
            out[i + k] = has(s, keys[k]);
    }
    return NULL;
}

static lz_err *fill(set *s)
{
    const lz_strided *x = &s->c->in[1];
    int64_t count = lz_strided_count(x, x->ndim);
    uint64_t keys[BLOCK];
    size_t entries = 16, size;
    for (s->shift = 60; entries < 2 * (size_t)count; s->shift--)
        entries *= 2;
    if (!lz_size_mul(entries, sizeof *s->table, &size) || !(s->table = lz_temporary_take(size, LZ_MEM_ALIGN)))
        return lz_err_oom();
    memset(s->table, 0xff, size);
    for (int64_t i = 0, n; i < count; i += n) {
        n = take_keys(s, x, i, count, keys);
        for (int64_t k = 0; k < n; k++)
            insert(s, keys[k]);
    }
    return NULL;
}

lz_err *lz_contains(const lz_kernel_call *c)
{
    assert(c->in[0].dtype == c->in[1].dtype && c->out.dtype == LZ_BOOL);
    lz_dtype d = c->in[0].dtype;
    set s = { .c = c, .keys_of = lz_keys_of(d), .real = lz_dtype_is_float(d) };
    if (!s.keys_of)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s numbers have no order", lz_dtype_get(d)->name);
    s.nan = UINT64_MAX >> (64 - 8 * lz_dtype_size(d));
    LZ_TRY(fill(&s));
    lz_err *e = lz_pool_for(c->pool, lz_strided_count(&c->in[0], c->in[0].ndim), 8192, look_up, &s);
    lz_temporary_give(s.table);
    return e;
}
