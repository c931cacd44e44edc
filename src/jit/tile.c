#include "jit/tile.h"

int lz_tile_all(const lz_tile_table *out[3])
{
    int n = 0;
    out[n++] = &lz_tile_base;
#if defined(__x86_64__)
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
                  && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx2)
        out[n++] = &lz_tile_avx2;
    if (avx512)
        out[n++] = &lz_tile_avx512;
#endif
    return n;
}

const lz_tile_table *lz_tile(void)
{
    const lz_tile_table *all[3];
    int n = lz_tile_all(all);
    return all[n - 1];
}

lz_tile_fn *lz_tile_of(const lz_tile_table *t, const lz_kernel_node *n, int last)
{
    if (n->op < LZ_KERNEL_OP_COUNT)
        return t->op[n->op][last];
    if (n->op == LZ_KERNEL_NODE_CAST)
        return t->cast[last][n->type];
    lz_tile_fn *fn = NULL;
    if (n->op == LZ_KERNEL_NODE_NARROW)
        fn = t->narrow[n->attr];
    if (n->op == LZ_KERNEL_NODE_PHILOX)
        fn = t->philox[n->attr];
    if (n->op == LZ_KERNEL_NODE_RARE)
        fn = t->op[n->attr][n->type];
    return fn;
}
