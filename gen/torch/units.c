#include "gen/torch/units.h"
#include "gen/model/model_group.h"

size_t lzg_group_members(const lzg_group *g, const lzg_function *out[LZG_UNIT_MEMBERS])
{
    const lzg_function *const all[] = { g->functional, g->out, g->inplace, g->mutable };
    size_t n = 0;
    for (size_t i = 0; i < LZG_UNIT_MEMBERS; i++)
        if (all[i])
            out[n++] = all[i];
    return n;
}

size_t lzg_unit_members(lzg_unit u, const lzg_function *out[LZG_UNIT_MEMBERS])
{
    if (u.group)
        return lzg_group_members(u.group, out);
    out[0] = u.single;
    return 1;
}

const lzg_function *lzg_unit_functional(lzg_unit u)
{
    return u.group ? u.group->functional : u.single;
}

lz_str lzg_unit_root_name(lzg_unit u)
{
    return lzg_unit_functional(u)->func->name.base;
}

const lzg_function *lzg_unit_speaker(lzg_unit u)
{
    return u.group ? u.group->out : u.single;
}

const lzg_backend_metadata *lzg_index_function(const lzg_backend_index *index, const lzg_function *f)
{
    return index->external ? lz_map_get(&index->index, f->func->name.text)
                           : lzg_function_kernel(f, index->key);
}

const lzg_backend_metadata *lzg_index_unit(const lzg_backend_index *index, lzg_unit u)
{
    if (!u.group)
        return lzg_index_function(index, u.single);
    return lzg_index_function(index, index->use_out_as_primary ? u.group->out : u.group->functional);
}

/* Each operator's bucket, in the order of their first operators. */
static lz_err *fill(lzg_buckets *b, lz_arena *a, const lzg_ops *ops, lzg_bucket **of)
{
    for (size_t i = 0; i < ops->nfunctions; i++) {
        const lzg_function *f = ops->functions[i];
        LZ_TRY(lzg_buckets_get(b, a, f->signature, f->func->name.dunder, &of[i]));
    }
    return NULL;
}

static void put_unit(lzg_unit *units, size_t *n, const lzg_ops *ops, const lzg_function *f)
{
    const lzg_group *g = lz_map_get(&ops->group_of, f->func->name.text);
    bool again = g && *n && units[*n - 1].group == g;
    if (!again)
        units[(*n)++] = (lzg_unit){ g, g ? NULL : f };
}

/* Operators chained by bucket: next[i] is the next operator of i's bucket. */
static void chain(lzg_bucket *const *of, size_t n, size_t *next)
{
    for (size_t i = n; i-- > 0;) {
        next[i] = of[i]->n; /* bucket->n is free here: 0, or the operator after i, from 1 */
        of[i]->n = i + 1;
    }
}

static lz_err *make(lz_arena *a, const lzg_ops *ops, lzg_buckets *b, lzg_units *out)
{
    lzg_bucket **of;
    lzg_unit *units;
    size_t *next, n = ops->nfunctions;
    LZ_TRY(lz_arena_new(a, &of, n));
    LZ_TRY(lz_arena_new(a, &next, n));
    LZ_TRY(lz_arena_new(a, &units, n));
    LZ_TRY(fill(b, a, ops, of));
    chain(of, n, next);
    *out = (lzg_units){ .at = units };
    for (const lzg_bucket *one = b->first; one; one = one->next)
        for (size_t i = one->n; i; i = next[i - 1])
            put_unit(units, &out->n, ops, ops->functions[i - 1]);
    return NULL;
}

lz_err *lzg_units_make(lz_arena *a, const lzg_ops *ops, lzg_units *out)
{
    lzg_buckets b;
    lzg_buckets_init(&b);
    lz_err *e = make(a, ops, &b, out);
    lzg_buckets_deinit(&b);
    return e;
}
