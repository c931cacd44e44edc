/* Steps of recurrent cells with vectors of any machine. */
#include "kernel/recurrent.h"
#include <math.h>
#include <string.h>
#define LZ_CELL_TABLE lz_cell_base
#include "kernel/recurrent_steps.h"
