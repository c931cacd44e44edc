#include "lazy/flat.h"

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
