/* For machines with an instruction for LZ_K_SCALE. What is too great for exp then comes out
 * as infinite by itself: no bound is needed there. */
#define LZ_EXPAND_SCALE(bits, v, t) lz_kb_op2(kb_, LZ_K_SCALE, v, SUB(t, C##bits(MAGIC##bits)))
#define NO_MORE32(x, c)             (x)
#define NO_LESS32(x, c)             (x)
#define LZ_EXPANSIONS               lz_expansions_scale
#include "jit/expand_impl.h"
