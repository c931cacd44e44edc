#include "core/spec.h"
#include "base/hash.h"
#include "base/mem.h"
#include "core/strides.h"
#include <assert.h>
#include <string.h>

struct lz_specs {
    lz_arena arena;
    lz_hash_table table;
};

lz_err *lz_specs_create(lz_specs **out)
{
    lz_specs *s = lz_mem_zalloc(1, sizeof *s);
    if (!s)
        return lz_err_oom();
    lz_arena_init(&s->arena);
    *out = s;
    return NULL;
}

void lz_specs_destroy(lz_specs *s)
{
    if (!s)
        return;
    lz_arena_deinit(&s->arena);
    lz_hash_table_deinit(&s->table);
    lz_mem_free(s);
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

typedef struct wanted {
    uint64_t hash;
    lz_dtype dtype;
    lz_ints sizes, strides;
} wanted;

static uint64_t hash_of_spec(const void *item)
{
    return ((const lz_spec *)item)->hash;
}

static const lz_hash_kind specs = { offsetof(lz_spec, link), hash_of_spec };

static bool same(const void *item, const void *key)
{
    const lz_spec *x = item;
    const wanted *w = key;
    return x->hash == w->hash && x->dtype == (int8_t)w->dtype && x->ndim == w->sizes.n
           && same_ints(x->sizes, w->sizes.v, w->sizes.n) && same_ints(x->strides, w->strides.v, w->sizes.n);
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

static lz_err *fill(lz_spec *x, uint64_t hash, lz_dtype d, lz_ints sizes, lz_ints strides)
{
    size_t n = (size_t)sizes.n;
    x->hash = hash;
    x->type_hash = hash_of(d, sizes, (lz_ints){ NULL, 0 });
    x->ndim = (int16_t)n;
    x->dtype = (int8_t)d;
    x->strides = x->sizes + n;
    for (size_t i = 0; i < n; i++) {
        x->sizes[i] = sizes.v[i];
        x->sizes[n + i] = strides.v[i];
    }
    return measure(x);
}

static lz_err *make(lz_specs *s, uint64_t hash, lz_dtype d, lz_ints sizes, lz_ints strides,
                    const lz_spec **out)
{
    lz_arena_mark mark = lz_arena_save(&s->arena);
    lz_spec *x = lz_arena_zalloc(&s->arena, sizeof *x + 2 * (size_t)sizes.n * sizeof(int64_t));
    if (!x)
        return lz_err_oom();
    lz_err *e = fill(x, hash, d, sizes, strides);
    if (!e)
        e = lz_hash_table_reserve(&s->table, &specs);
    if (e) {
        lz_arena_rewind(&s->arena, mark);
        return e;
    }
    assert(x->extent >= 0 && (!x->contiguous || x->extent == x->numel));
    lz_hash_table_add(&s->table, &specs, hash, x);
    *out = x;
    return NULL;
}

/* Row-major strides if none are given. */
static lz_err *complete(lz_ints sizes, lz_shape *dense, lz_ints *strides)
{
    LZ_TRY(lz_shape_check(sizes));
    if (strides->v && sizes.n)
        return NULL;
    LZ_TRY(lz_strides_contiguous(sizes, dense));
    *strides = lz_shape_ints(dense);
    return NULL;
}

lz_err *lz_spec_create(lz_dtype d, lz_ints sizes, lz_ints strides, lz_spec **out)
{
    lz_shape dense;
    LZ_TRY(complete(sizes, &dense, &strides));
    lz_spec *x = lz_mem_zalloc(1, sizeof *x + 2 * (size_t)sizes.n * sizeof(int64_t));
    if (!x)
        return lz_err_oom();
    lz_err *e = fill(x, hash_of(d, sizes, strides), d, sizes, strides);
    if (e)
        lz_mem_free(x);
    else
        *out = x;
    return e;
}

lz_err *lz_spec_get(lz_specs *s, lz_dtype d, lz_ints sizes, lz_ints strides, const lz_spec **out)
{
    lz_shape dense;
    LZ_TRY(complete(sizes, &dense, &strides));
    uint64_t hash = hash_of(d, sizes, strides);
    *out = lz_hash_table_find(&s->table, &specs, hash, same, &(wanted){ hash, d, sizes, strides });
    return *out ? NULL : make(s, hash, d, sizes, strides, out);
}
