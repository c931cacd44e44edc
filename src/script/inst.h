/* inst.h - running one instruction that is neither control flow nor a segment. */
#ifndef LZ_SCRIPT_INST_H
#define LZ_SCRIPT_INST_H

#include "script/graph_program.h"

/* Reads its inputs from slots, sets its outputs there. */
LZ_MUST_USE lz_err *lz_inst_run(const lz_inst *i, lz_gv *slots);

#endif
