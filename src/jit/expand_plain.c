/* Expansions of functions for targets without an instruction that multiplies by a power of two. */
#define LZ_EXPAND_SCALE(bits, v, t) scale##bits(kb_, v, t)
#define NO_MORE32(x, c)             SEL(GT(x, c), c, x)
#define NO_LESS32(x, c)             SEL(LT(x, c), c, x)
#define LZ_EXPANSIONS               lz_expansions_plain
#include "jit/expand_impl.h"
