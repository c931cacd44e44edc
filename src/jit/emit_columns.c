/* Vectors along the outer dimension: a strip of columns, rows outside. */
#include "jit/emit.h"

void lz_em_columns(lz_em *e)
{
    (void)e;
}
