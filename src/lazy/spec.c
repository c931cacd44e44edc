#include "lazy/spec.h"
#include "base/hash.h"
#include "base/mem.h"
#include "core/strides.h"
#include <string.h>

struct lz_specs {
    lz_arena arena;
    const lz_spec **table; /* open addressing, a power of two */
    size_t cap, used;
};

enum { FIRST_CAP = 64 };

lz_err *lz_specs_create(lz_specs **out)
{
    lz_specs *s = lz_mem_zalloc(1, sizeof *s);
    if (!s)
        return lz_err_oom();
    s->table = lz_mem_zalloc(FIRST_CAP, sizeof *s->table);
    if (!s->table) {
        lz_mem_free(s);
        return lz_err_oom();
    }
    lz_arena_init(&s->arena);
    s->cap = FIRST_CAP;
    *out = s;
    return NULL;
}

void lz_specs_destroy(lz_specs *s)
{
    if (!s)
        return;
    lz_arena_deinit(&s->arena);
    lz_mem_free(s->table);
    lz_mem_free(s);
}

static void insert(const lz_spec **table, size_t cap, const lz_spec *s)
{
    size_t i = s->hash & (cap - 1);
    while (table[i])
        i = (i + 1) & (cap - 1);
    table[i] = s;
}

static lz_err *grow(lz_specs *s)
{
    size_t cap = s->cap * 2;
    const lz_spec **table = lz_mem_zalloc(cap, sizeof *table);
    if (!table)
        return lz_err_oom();
    for (size_t i = 0; i < s->cap; i++)
        if (s->table[i])
            insert(table, cap, s->table[i]);
    lz_mem_free(s->table);
    s->table = table;
    s->cap = cap;
    return NULL;
}

static uint64_t hash_of(lz_dtype d, lz_ints sizes, lz_ints strides)
{
    uint64_t words[2 + 2 * LZ_MAX_DIMS] = { (uint64_t)d, (uint64_t)sizes.n };
    size_t n = (size_t)sizes.n * sizeof(int64_t);
    if (n)
        memcpy(words + 2, sizes.v, n);
    if (n && strides.v)
        memcpy((char *)(words + 2) + n, strides.v, n);
    return lz_hash64(words, 2 * sizeof *words + (strides.v ? 2 : 1) * n);
}

static bool same_ints(const int64_t *a, const int64_t *b, int64_t n)
{
    return n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static const lz_spec *find(const lz_specs *s, uint64_t hash, lz_dtype d, lz_ints sizes, lz_ints strides)
{
    for (size_t i = hash & (s->cap - 1); s->table[i]; i = (i + 1) & (s->cap - 1)) {
        const lz_spec *x = s->table[i];
        if (x->hash == hash && x->dtype == (int8_t)d && x->ndim == sizes.n
            && same_ints(x->sizes, sizes.v, sizes.n) && same_ints(x->strides, strides.v, sizes.n))
            return x;
    }
    return NULL;
}

static lz_err *measure(lz_spec *s)
{
    lz_ints sizes = lz_spec_sizes(s), strides = lz_spec_strides(s);
    int64_t low = 0, high = -1;
    LZ_TRY(lz_shape_numel(sizes, &s->numel));
    if (s->numel > 0)
        LZ_TRY(lz_strides_extent(sizes, strides, 0, &low, &high));
    s->extent = high + 1;
    s->contiguous = lz_strides_are_contiguous(sizes, strides);
    s->dense = lz_strides_are_dense(sizes, strides);
    return NULL;
}

static lz_err *make(lz_specs *s, uint64_t hash, lz_dtype d, lz_ints sizes, lz_ints strides,
                    const lz_spec **out)
{
    size_t n = (size_t)sizes.n;
    lz_arena_mark mark = lz_arena_save(&s->arena);
    lz_spec *x = lz_arena_zalloc(&s->arena, sizeof *x + 2 * n * sizeof(int64_t));
    if (!x)
        return lz_err_oom();
    x->hash = hash;
    x->type_hash = hash_of(d, sizes, (lz_ints){ NULL, 0 });
    x->ndim = (int16_t)n;
    x->dtype = (int8_t)d;
    x->strides = x->sizes + n;
    for (size_t i = 0; i < n; i++) {
        x->sizes[i] = sizes.v[i];
        x->sizes[n + i] = strides.v[i];
    }
    lz_err *e = measure(x);
    if (!e && s->used * 2 >= s->cap)
        e = grow(s);
    if (e) {
        lz_arena_rewind(&s->arena, mark);
        return e;
    }
    insert(s->table, s->cap, x);
    s->used++;
    *out = x;
    return NULL;
}

lz_err *lz_spec_get(lz_specs *s, lz_dtype d, lz_ints sizes, lz_ints strides, const lz_spec **out)
{
    lz_shape dense;
    LZ_TRY(lz_shape_check(sizes));
    if (!strides.v || sizes.n == 0) {
        LZ_TRY(lz_strides_contiguous(sizes, &dense));
        strides = lz_shape_ints(&dense);
    }
    uint64_t hash = hash_of(d, sizes, strides);
    *out = find(s, hash, d, sizes, strides);
    return *out ? NULL : make(s, hash, d, sizes, strides, out);
}
