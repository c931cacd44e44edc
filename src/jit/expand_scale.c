/* Expansions for machines with an instruction for LZ_KERNEL_SCALE. There an overflowing exp becomes infinite
 * by itself, so no bound is needed. */
#define LZ_EXPAND_SCALE(bits, v, t) lz_kernel_build_op2(kb_, LZ_KERNEL_SCALE, v, SUB(t, C##bits(MAGIC##bits)))
#define NO_MORE32(x, c)             (x)
#define NO_LESS32(x, c)             (x)
#define LZ_EXPANSIONS               lz_expansions_scale
#include "jit/expand_impl.h"
