/* Keys of the static graphs of a segment: the kinds of its inputs, as bytes. */
#include "base/hash_table.h"
#include "script/segment_impl.h"
#include <assert.h>
#include <string.h>

static lz_err *add_bytes(lz_segment_call *c, const void *p, size_t n)
{
    LZ_TRY(lz_vec_reserve(&c->key, n));
    if (n)
        memcpy(c->key.data + c->key.len, p, n);
    c->key.len += n;
    return NULL;
}

static lz_err *add_int(lz_segment_call *c, int64_t v)
{
    return add_bytes(c, &v, sizeof v);
}

/* ---- equal tensors and shared storages ---- */

static const void *identity(const lz_segment_call *c, size_t i, bool storage)
{
    const lz_script_tensor *t = c->tensors.data[i];
    return storage ? (const void *)t->storage : t;
}

static uint32_t first_of_few(const lz_segment_call *c, size_t i, bool storage)
{
    uint32_t k = 0;
    while (identity(c, k, storage) != identity(c, i, storage))
        k++;
    return k;
}

typedef struct met {
    lz_hash_entry head; /* by identity */
    uint32_t first;     /* 1 + tensor */
} met;

typedef struct identities {
    lz_hash_table table;
    lz_arena arena;
} identities;

static lz_err *first_of_many(const lz_segment_call *c, size_t i, bool storage, identities *all, uint32_t *out)
{
    met *x;
    LZ_TRY(lz_hash_table_entry(&all->table, &all->arena, (uintptr_t)identity(c, i, storage), &x));
    x->first = x->first ? x->first : (uint32_t)i + 1;
    *out = x->first - 1;
    return NULL;
}

static lz_err *find_firsts(lz_segment_call *c, bool storage)
{
    enum { FEW = 16 };
    size_t n = c->tensors.len;
    identities all = { 0 };
    lz_err *e = NULL;
    lz_arena_init(&all.arena);
    for (size_t i = 0; !e && i < n; i++) {
        uint32_t first = 0;
        if (n > FEW)
            e = first_of_many(c, i, storage, &all, &first);
        else
            first = first_of_few(c, i, storage);
        assert(e || (first <= i && identity(c, first, storage) == identity(c, i, storage)));
        if (!e)
            e = storage ? lz_vec_push(&c->shared, first) : lz_vec_push(&c->same, first);
    }
    lz_hash_table_deinit(&all.table);
    lz_arena_deinit(&all.arena);
    return e;
}

/* For segments that write: adds which tensors are the same or share a storage, their offsets, and the
 * sizes of the storages. */
static lz_err *add_sharing(lz_segment_call *c)
{
    LZ_TRY(find_firsts(c, false));
    LZ_TRY(find_firsts(c, true));
    assert(c->same.len == c->tensors.len && c->shared.len == c->tensors.len);
    for (size_t i = 0; i < c->tensors.len; i++) {
        LZ_TRY(add_int(c, (int64_t)c->same.data[i] << 32 | c->shared.data[i]));
        LZ_TRY(add_int(c, c->tensors.data[i]->offset));
        LZ_TRY(add_int(c, (int64_t)c->tensors.data[i]->storage->bytes));
    }
    return NULL;
}

/* ---- values ---- */

static lz_err *add_tensor(lz_segment_call *c, lz_script_value v)
{
    if (!lz_is_script_tensor(v))
        return lz_errf(LZ_ERR_ARG, "a tensor that the executor did not make");
    lz_script_tensor *t = lz_script_tensor_of(v);
    LZ_TRY(lz_vec_push(&c->tensors, t));
    LZ_TRY(add_int(c, t->spec->dtype));
    LZ_TRY(add_int(c, t->spec->ndim));
    return add_bytes(c, t->spec->sizes, 2 * (size_t)t->spec->ndim * sizeof(int64_t)); /* sizes and strides */
}

/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_SCRIPT_VALUE_DEPTH deep */
static lz_err *add_value(lz_segment_call *c, lz_script_value v, bool run_time, int depth)
{
    LZ_TRY(add_int(c, lz_script_value_is_tensor(v) ? LZ_SCRIPT_VALUE_TENSOR : v.kind));
    if (lz_script_value_is_tensor(v))
        return add_tensor(c, v);
    if (run_time || v.kind == LZ_SCRIPT_VALUE_NONE)
        return NULL;
    if (v.kind == LZ_SCRIPT_VALUE_BOOL)
        return add_int(c, v.b);
    if (v.kind == LZ_SCRIPT_VALUE_INT)
        return add_int(c, v.i);
    if (v.kind == LZ_SCRIPT_VALUE_FLOAT)
        return add_bytes(c, &v.f, sizeof v.f);
    if (v.kind == LZ_SCRIPT_VALUE_STR || v.kind == LZ_SCRIPT_VALUE_DEVICE) {
        LZ_TRY(add_int(c, (int64_t)lz_script_value_text(v).len));
        return add_bytes(c, lz_script_value_text(v).ptr, lz_script_value_text(v).len);
    }
    if ((v.kind != LZ_SCRIPT_VALUE_LIST && v.kind != LZ_SCRIPT_VALUE_TUPLE) || depth == 0)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a value of this type is not supported in a segment");
    LZ_TRY(add_int(c, (int64_t)v.list->len));
    for (size_t i = 0; i < v.list->len; i++)
        LZ_TRY(add_value(c, v.list->data[i], false, depth - 1));
    return NULL;
}

/* All entries share the constants. */
static lz_err *find_live(lz_segment_call *c)
{
    const lz_segment *s = c->seg;
    bool statics = atomic_load(&s->statics);
    for (uint32_t i = 0; i < s->n_local; i++)
        c->run_time[i] = -1;
    for (uint32_t i = 0; i < s->n_inputs; i++)
        if (s->inputs[i].run_time && !statics)
            c->run_time[s->inputs[i].local] = i;
    for (uint32_t i = 0; c->from == 0 && i < s->n_inputs; i++)
        LZ_TRY(lz_vec_push(&c->live, s->inputs[i].local));
    for (uint32_t i = 0; c->from > 0 && i < s->n_local; i++)
        if (s->first[i] <= c->from && s->last[i] >= c->from && !s->is_constant[i])
            LZ_TRY(lz_vec_push(&c->live, i));
    return NULL;
}

lz_err *lz_segment_key(lz_segment_call *c)
{
    c->key.len = c->tensors.len = c->live.len = c->same.len = c->shared.len = 0;
    LZ_TRY(find_live(c));
    LZ_TRY(add_int(c, c->from));
    for (size_t i = 0; i < c->live.len; i++) {
        uint32_t local = c->live.data[i];
        assert(local < c->seg->n_local);
        LZ_TRY(add_value(c, c->locals[local], c->run_time[local] >= 0, LZ_SCRIPT_VALUE_DEPTH));
    }
    for (size_t i = 0; i < c->given.len; i++)
        LZ_TRY(add_value(c, c->given.data[i], false, LZ_SCRIPT_VALUE_DEPTH));
    LZ_TRY(add_int(c, c->is_given));
    LZ_TRY(add_int(c, c->env->separate));
    return c->seg->whole ? add_sharing(c) : NULL;
}
