#include "base/mem.h"
#include "core/scalar.h"
#include "lower/lower_impl.h"
#include <assert.h>
#include <string.h>

void lz_low_init(lz_lower *b, lz_arena *arena)
{
    *b = (lz_lower){ .arena = arena, .default_float = LZ_F32, .expected = { NULL, -1 } };
}

void lz_low_deinit(lz_lower *b)
{
    lz_mem_free(b->nodes);
    lz_hash_table_deinit(&b->table);
    *b = (lz_lower){ 0 };
}

/* ---- interning ---- */

/* Attributes are mostly whole words: long attributes are hashed by XXH3. */
static uint64_t hash_of_attr(uint64_t h, const void *attr, size_t size)
{
    enum { FEW = 8 };
    const unsigned char *at = attr;
    if (size % sizeof h || size > FEW * sizeof h)
        return lz_hash_word64(h, lz_hash64(attr, size));
    for (size_t i = 0; i < size; i += sizeof h) {
        uint64_t word;
        memcpy(&word, at + i, sizeof word);
        h = lz_hash_word64(h, word);
    }
    return h;
}

static uint64_t hash_of(const lz_low_proto *p)
{
    uint64_t h = lz_hash_word64(p->kind, (uint64_t)(uint8_t)p->dtype | (uint64_t)p->number << 8
                                             | (uint64_t)p->op << 16 | (uint64_t)p->nin << 32);
    for (int64_t i = 0; i < p->sizes.n; i++)
        h = lz_hash_word64(h, (uint64_t)p->sizes.v[i]);
    h = hash_of_attr(h, p->attr, p->attr_size);
    for (size_t i = 0; i < p->nin; i++)
        h = lz_hash_word64(h, p->in[i]->id);
    return h;
}

static uint64_t hash_of_node(const void *item)
{
    return ((const lz_low_node *)item)->hash;
}

static const lz_hash_kind nodes = { offsetof(lz_low_node, link), hash_of_node };

typedef struct wanted {
    const lz_low_proto *proto;
    uint64_t hash;
} wanted;

/* By field, not by hash alone: a wrong merge is a wrong answer. */
static bool same(const void *item, const void *key)
{
    const lz_low_node *n = item;
    const wanted *w = key;
    const lz_low_proto *p = w->proto;
    bool eq = n->hash == w->hash && n->kind == p->kind && n->dtype == (int8_t)p->dtype
              && n->number == p->number && n->op == p->op && n->nin == p->nin && n->ndim == p->sizes.n
              && n->attr_size == p->attr_size
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
    const lz_low_node **p = lz_mem_resize((void *)b->nodes, cap * sizeof *p);
    if (!p)
        return lz_err_oom();
    b->nodes = p;
    b->nodes_cap = cap;
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

static lz_err *make(lz_lower *b, const lz_low_proto *p, uint64_t hash, const lz_low_node **out)
{
    assert(p->kind < LZ_LOW_KINDS && p->nin <= UINT16_MAX && p->sizes.n >= 0);
    size_t nin = b->shape_only ? 0 : p->nin, attr_size = b->shape_only ? 0 : p->attr_size;
    lz_low_node *n = lz_arena_zalloc(b->arena, sizeof *n + nin * sizeof *n->in);
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

lz_err *lz_low_intern(lz_lower *b, const lz_low_proto *p, const lz_low_node **out)
{
    lz_low_node *n = NULL;
    if (p->sizes.n > LZ_MAX_DIMS)
        return lz_errf(LZ_ERR_LIMIT, "a tensor has at most %d dimensions, not %lld", LZ_MAX_DIMS,
                       (long long)p->sizes.n);
    if (b->shape_only)
        return make(b, p, 0, out);
    for (size_t i = 0; i < p->nin; i++) /* operands must be earlier nodes of this builder */
        assert(p->in[i]->id < b->n_nodes && b->nodes[p->in[i]->id] == p->in[i]);
    LZ_TRY(lz_hash_table_reserve(&b->table, &nodes));
    LZ_TRY(grow_nodes(b));
    uint64_t hash = hash_of(p);
    *out = lz_hash_table_find(&b->table, &nodes, hash, same, &(wanted){ p, hash });
    if (*out)
        return NULL;
    LZ_TRY(make(b, p, hash, (const lz_low_node **)&n));
    assert(b->n_nodes < b->nodes_cap);
    n->id = b->n_nodes;
    b->nodes[b->n_nodes++] = n;
    lz_hash_table_add(&b->table, &nodes, hash, n);
    *out = n;
    return NULL;
}

/* ---- leaves ---- */

lz_err *lz_low_input(lz_lower *b, int64_t slot, lz_dtype d, lz_ints sizes, lz_ints strides, int64_t offset,
                     const lz_low_node **out)
{
    int64_t attr[2 + LZ_MAX_DIMS] = { slot, offset };
    assert(slot >= 0 && strides.n == sizes.n);
    LZ_TRY(lz_shape_check(sizes));
    for (int64_t i = 0; i < sizes.n; i++)
        attr[2 + i] = sizes.v[i] == 1 ? 0 : strides.v[i];
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_INPUT,
                                          .dtype = d,
                                          .sizes = sizes,
                                          .attr = attr,
                                          .attr_size = (2 + (size_t)sizes.n) * sizeof *attr },
                         out);
}

lz_err *lz_low_again(lz_lower *b, const lz_low_node *n, const lz_low_node *const *in, lz_ints sizes,
                     const lz_low_node **out)
{
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = (lz_low_kind)n->kind,
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

lz_err *lz_low_scalar(lz_lower *b, int64_t slot, lz_dtype d, const lz_low_node **out)
{
    lz_low_scalar_attr attr = { slot };
    assert(slot >= 0 && (d == LZ_BOOL || d == LZ_I64 || d == LZ_F64));
    return lz_low_intern(
        b,
        &(lz_low_proto){
            .kind = LZ_LOW_SCALAR, .dtype = d, .number = true, .attr = &attr, .attr_size = sizeof attr },
        out);
}

lz_err *lz_low_make_const(lz_lower *b, lz_scalar v, lz_dtype d, bool number, bool sized,
                          const lz_low_node **out)
{
    lz_scalar attr;
    memset(&attr, 0, sizeof attr); /* padding takes part in comparisons */
    attr.kind = v.kind;
    attr.i = v.i;
    attr.re = v.re;
    attr.im = v.im;
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_CONST,
                                          .dtype = d,
                                          .number = number,
                                          .op = sized,
                                          .attr = &attr,
                                          .attr_size = sizeof attr },
                         out);
}

lz_err *lz_low_const(lz_lower *b, lz_scalar v, lz_dtype d, const lz_low_node **out)
{
    char room[16];
    lz_element_set(d, v, room); /* the value as an element of the dtype holds it */
    return lz_low_make_const(b, lz_element_get(d, room), d, false, false, out);
}

lz_err *lz_low_iota(lz_lower *b, lz_ints sizes, int64_t offset, lz_ints strides, const lz_low_node **out)
{
    int64_t attr[1 + LZ_MAX_DIMS] = { offset };
    LZ_TRY(lz_shape_check(sizes));
    for (int64_t i = 0; i < sizes.n; i++)
        attr[1 + i] = sizes.v[i] == 1 ? 0 : strides.v[i];
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_IOTA,
                                          .dtype = LZ_I64,
                                          .sizes = sizes,
                                          .attr = attr,
                                          .attr_size = (1 + (size_t)sizes.n) * sizeof *attr },
                         out);
}
