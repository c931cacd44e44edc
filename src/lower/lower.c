#include "base/mem.h"
#include "core/scalar.h"
#include "lower/lower_impl.h"
#include <string.h>

void lz_low_init(lz_lower *b, lz_arena *arena)
{
    *b = (lz_lower){ .arena = arena, .default_float = LZ_F32, .expected = { NULL, -1 } };
}

void lz_low_deinit(lz_lower *b)
{
    lz_mem_free(b->nodes);
    lz_mem_free(b->table);
    *b = (lz_lower){ 0 };
}

/* ---- interning ---- */

static uint64_t hash_of(const lz_low_proto *p)
{
    uint64_t head[] = { p->kind, (uint64_t)p->dtype, p->number, p->op, p->nin, (uint64_t)p->sizes.n };
    lz_hash h = lz_hash_bytes(head, sizeof head);
    h = lz_hash_add(h, lz_hash64(p->sizes.v, (size_t)p->sizes.n * sizeof *p->sizes.v));
    if (p->attr_size)
        h = lz_hash_add(h, lz_hash64(p->attr, p->attr_size));
    for (size_t i = 0; i < p->nin; i++)
        h = lz_hash_add(h, p->in[i]->id);
    return h.lo;
}

/* By field, not by hash alone: a wrong merge is a wrong answer. */
static bool same(const lz_ln *n, const lz_low_proto *p)
{
    bool eq = n->kind == p->kind && n->dtype == (int8_t)p->dtype && n->number == p->number && n->op == p->op
              && n->nin == p->nin && n->ndim == p->sizes.n && n->attr_size == p->attr_size
              && (!n->ndim || !memcmp(n->sizes, p->sizes.v, n->ndim * sizeof *n->sizes))
              && (!n->attr_size || !memcmp(n->attr, p->attr, n->attr_size));
    for (size_t i = 0; eq && i < p->nin; i++)
        eq = n->in[i] == p->in[i];
    return eq;
}

static lz_err *grow_nodes(lz_lower *b)
{
    if (b->n_nodes < b->nodes_cap)
        return NULL;
    size_t cap = b->nodes_cap ? b->nodes_cap * 2 : 64;
    const lz_ln **p = lz_mem_resize((void *)b->nodes, cap * sizeof *p);
    if (!p)
        return lz_err_oom();
    b->nodes = p;
    b->nodes_cap = cap;
    return NULL;
}

static void place(const lz_ln **table, size_t cap, const lz_ln *n)
{
    size_t at = n->hash & (cap - 1);
    while (table[at])
        at = (at + 1) & (cap - 1);
    table[at] = n;
}

static lz_err *grow_table(lz_lower *b)
{
    if (b->table_used * 2 < b->table_cap)
        return NULL;
    size_t cap = b->table_cap ? b->table_cap * 2 : 128;
    const lz_ln **p = lz_mem_zalloc(cap, sizeof *p);
    if (!p)
        return lz_err_oom();
    for (size_t i = 0; i < b->table_cap; i++)
        if (b->table[i])
            place(p, cap, b->table[i]);
    lz_mem_free((void *)b->table);
    b->table = p;
    b->table_cap = cap;
    return NULL;
}

static const lz_ln *find(const lz_lower *b, const lz_low_proto *p, uint64_t hash)
{
    for (size_t at = hash & (b->table_cap - 1); b->table[at]; at = (at + 1) & (b->table_cap - 1))
        if (b->table[at]->hash == hash && same(b->table[at], p))
            return b->table[at];
    return NULL;
}

/* Most nodes have the sizes of their first input. */
static lz_err *keep_sizes(lz_lower *b, const lz_low_proto *p, const int64_t **out)
{
    if (p->nin && p->in[0]->ndim == p->sizes.n
        && !memcmp(p->in[0]->sizes, p->sizes.v, (size_t)p->sizes.n * sizeof *p->sizes.v)) {
        *out = p->in[0]->sizes;
        return NULL;
    }
    int64_t *sizes;
    LZ_TRY(lz_arena_new(b->arena, &sizes, (size_t)p->sizes.n + 1));
    if (p->sizes.n)
        memcpy(sizes, p->sizes.v, (size_t)p->sizes.n * sizeof *sizes);
    *out = sizes;
    return NULL;
}

static lz_err *make(lz_lower *b, const lz_low_proto *p, uint64_t hash, const lz_ln **out)
{
    size_t nin = b->shape_only ? 0 : p->nin, attr_size = b->shape_only ? 0 : p->attr_size;
    lz_ln *n = lz_arena_zalloc(b->arena, sizeof *n + nin * sizeof *n->in);
    void *attr = NULL;
    if (!n)
        return lz_err_oom();
    LZ_TRY(keep_sizes(b, p, &n->sizes));
    LZ_TRY(lz_shape_numel(p->sizes, &n->numel));
    if (attr_size) {
        attr = lz_arena_zalloc(b->arena, attr_size);
        if (!attr)
            return lz_err_oom();
        memcpy(attr, p->attr, attr_size);
    }
    n->kind = (uint8_t)p->kind;
    n->ndim = (uint8_t)p->sizes.n;
    n->dtype = (int8_t)p->dtype;
    n->number = p->number;
    n->op = p->op;
    n->nin = (uint16_t)nin;
    n->origin = b->origin;
    n->hash = hash;
    n->attr = attr;
    n->attr_size = (uint32_t)attr_size;
    for (size_t i = 0; i < nin; i++)
        n->in[i] = p->in[i];
    *out = n;
    return NULL;
}

lz_err *lz_low_intern(lz_lower *b, const lz_low_proto *p, const lz_ln **out)
{
    lz_ln *n = NULL;
    if (p->sizes.n > LZ_MAX_DIMS)
        return lz_errf(LZ_ERR_LIMIT, "a tensor has at most %d dimensions, not %lld", LZ_MAX_DIMS,
                       (long long)p->sizes.n);
    if (b->shape_only)
        return make(b, p, 0, out);
    LZ_TRY(grow_table(b));
    LZ_TRY(grow_nodes(b));
    uint64_t hash = hash_of(p);
    *out = find(b, p, hash);
    if (*out)
        return NULL;
    LZ_TRY(make(b, p, hash, (const lz_ln **)&n));
    n->id = b->n_nodes;
    b->nodes[b->n_nodes++] = n;
    place(b->table, b->table_cap, n);
    b->table_used++;
    *out = n;
    return NULL;
}

/* ---- leaves ---- */

lz_err *lz_low_input(lz_lower *b, int64_t slot, lz_dtype d, lz_ints sizes, lz_ints strides, int64_t offset,
                     const lz_ln **out)
{
    int64_t attr[2 + LZ_MAX_DIMS] = { slot, offset };
    LZ_TRY(lz_shape_check(sizes));
    for (int64_t i = 0; i < sizes.n; i++)
        attr[2 + i] = sizes.v[i] == 1 ? 0 : strides.v[i];
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_L_INPUT,
                                          .dtype = d,
                                          .sizes = sizes,
                                          .attr = attr,
                                          .attr_size = (2 + (size_t)sizes.n) * sizeof *attr },
                         out);
}

lz_err *lz_low_again(lz_lower *b, const lz_ln *n, const lz_ln *const *in, lz_ints sizes, const lz_ln **out)
{
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = (lz_lkind)n->kind,
                                          .dtype = (lz_dtype)n->dtype,
                                          .number = n->number,
                                          .op = n->op,
                                          .nin = n->nin,
                                          .in = in,
                                          .sizes = sizes,
                                          .attr = n->attr,
                                          .attr_size = n->attr_size },
                         out);
}

lz_err *lz_low_scalar(lz_lower *b, int64_t slot, lz_dtype d, const lz_ln **out)
{
    lz_lscalar attr = { slot };
    return lz_low_intern(
        b,
        &(lz_low_proto){
            .kind = LZ_L_SCALAR, .dtype = d, .number = true, .attr = &attr, .attr_size = sizeof attr },
        out);
}

lz_err *lz_low_make_const(lz_lower *b, lz_scalar v, lz_dtype d, bool number, bool sized, const lz_ln **out)
{
    lz_scalar attr;
    memset(&attr, 0, sizeof attr); /* padding is compared too */
    attr.kind = v.kind;
    attr.i = v.i;
    attr.re = v.re;
    attr.im = v.im;
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_L_CONST,
                                          .dtype = d,
                                          .number = number,
                                          .op = sized,
                                          .attr = &attr,
                                          .attr_size = sizeof attr },
                         out);
}

lz_err *lz_low_const(lz_lower *b, lz_scalar v, lz_dtype d, const lz_ln **out)
{
    char room[16];
    lz_element_set(d, v, room); /* as an element holds it */
    return lz_low_make_const(b, lz_element_get(d, room), d, false, false, out);
}

lz_err *lz_low_iota(lz_lower *b, lz_ints sizes, int64_t offset, lz_ints strides, const lz_ln **out)
{
    int64_t attr[1 + LZ_MAX_DIMS] = { offset };
    LZ_TRY(lz_shape_check(sizes));
    for (int64_t i = 0; i < sizes.n; i++)
        attr[1 + i] = sizes.v[i] == 1 ? 0 : strides.v[i];
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_L_IOTA,
                                          .dtype = LZ_I64,
                                          .sizes = sizes,
                                          .attr = attr,
                                          .attr_size = (1 + (size_t)sizes.n) * sizeof *attr },
                         out);
}
