/* inst.h - running one instruction that is neither control flow nor a segment. */
#ifndef LZ_SCRIPT_INST_H
#define LZ_SCRIPT_INST_H

#include "script/graph_program.h"

/* Reads the instruction's inputs from slots, and writes its outputs to slots. */
LZ_MUST_USE lz_err *lz_script_instr_run(const lz_script_instr *i, lz_script_value *slots);

#endif
