#include "lazy/flat.h"
#include "op/op_table.h"
#include <assert.h>

lz_flat_node lz_flat_read(const uint64_t *at)
{
    lz_flat_node n = lz_flat_head(at);
    assert(n.op < LZ_OP_COUNT);
    n.end = n.types;
    for (uint32_t i = 0; i < n.nout; i++)
        n.end = lz_flat_next_type(n.end);
    return n;
}

lz_data_type lz_flat_type(const lz_flat_node *n, uint32_t output)
{
    const uint64_t *t = n->types;
    assert(output < n->nout);
    for (uint32_t i = 0; i < output; i++)
        t = lz_flat_next_type(t);
    return lz_flat_type_at(t);
}
