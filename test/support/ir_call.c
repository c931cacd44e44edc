#include "ir_call.h"

lz_err *ir_call(lz_graph *g, lz_ssa_block *block, const char *name, lz_ssa_value *const *in, uint32_t nin,
                lz_ssa_node **out)
{
    lz_ssa_spec spec = { .in = in, .nin = nin };
    lz_ssa_node *n;
    LZ_TRY(lz_ssa_symbol_get(g, lz_str_of(name), &spec.sym));
    LZ_TRY(lz_ssa_node_make(g, &spec, &n));
    lz_ssa_append(n, block);
    *out = n;
    return lz_ssa_resolve(g, n);
}
