#include "lazy/flat.h"
#include "op/op_table.h"
#include <string.h>

static size_t words_of(const lz_node *n)
{
    size_t all = 2 + (size_t)n->nin + n->nargs + n->nfixed;
    for (uint32_t i = 0; i < n->nout; i++)
        all += 1 + (size_t)n->specs[i]->ndim;
    return all;
}

lz_err *lz_flat_add(lz_words *w, const lz_node *n)
{
    size_t room = words_of(n);
    if (w->cap - w->len < room)
        LZ_TRY(lz_vec_reserve(w, room));
    uint64_t *to = w->data + w->len;
    uint64_t op = n->op ? (uint64_t)(n->op - lz_op_table) : 0;
    *to++ = op << 48 | (uint64_t)n->nin << 32 | (uint64_t)n->nout << 16 | n->nargs;
    *to++ = (uint64_t)n->nnumbers << 32 | (n->op ? n->nfixed : 0);
    for (uint32_t i = 0; i < n->nin; i++)
        *to++ = n->in[i].node ? lz_flat_ref(n->in[i].node->index, n->in[i].index) : 0;
    to = lz_copy_words(to, n->args, n->nargs);
    if (n->op)
        to = lz_copy_words(to, n->fixed, n->nfixed);
    for (uint32_t i = 0; i < n->nout; i++) {
        const lz_spec *s = n->specs[i];
        *to++ = (uint64_t)(uint8_t)s->dtype << 32 | (uint16_t)s->ndim;
        to = lz_copy_words(to, s->sizes, (size_t)s->ndim);
    }
    w->len += room;
    return NULL;
}

static size_t ndim_of(uint64_t type)
{
    return (uint32_t)type;
}

lz_flat_node lz_flat_read(const uint64_t *at)
{
    lz_flat_node n = { .op = (uint32_t)(at[0] >> 48),
                       .nin = (uint16_t)(at[0] >> 32),
                       .nout = (uint16_t)(at[0] >> 16),
                       .nargs = (uint16_t)at[0],
                       .nnumbers = (uint16_t)(at[1] >> 32),
                       .nfixed = (uint32_t)at[1] };
    n.in = at + 2;
    n.args = n.in + n.nin;
    n.fixed = n.args + n.nargs;
    n.types = n.end = n.fixed + n.nfixed;
    for (uint32_t i = 0; i < n.nout; i++)
        n.end += 1 + ndim_of(*n.end);
    return n;
}

lz_data_type lz_flat_type(const lz_flat_node *n, uint32_t output)
{
    const uint64_t *t = n->types;
    for (uint32_t i = 0; i < output; i++)
        t += 1 + ndim_of(*t);
    return (lz_data_type){ (lz_dtype)(*t >> 32), { (const int64_t *)(t + 1), (int64_t)ndim_of(*t) } };
}
