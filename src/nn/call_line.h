/* call_line.h - which line of the program the operators of this folder belong to.
 *
 * The macros of lazuli/ops.h take the line from LZ_HERE. Inside the library that is the line of the program's
 * call: the function that calls an operator has it in a parameter or variable `at`. */
#ifndef LZ_NN_CALL_LINE_H
#define LZ_NN_CALL_LINE_H

#include <lazuli/ops.h>

#undef LZ_HERE
#define LZ_HERE at

#endif
