/* script_value_handle.h - values of a graph that are counted: those of lazuli/run.h.
 *
 * The contents of a handle never change. lz_script_value_for_run copies tensors, lists and dicts
 * for a run. */
#ifndef LZ_SCRIPT_SCRIPT_VALUE_HANDLE_H
#define LZ_SCRIPT_SCRIPT_VALUE_HANDLE_H

#include "graph/script_value_type.h"
#include <lazuli/run.h>

/* Takes v over, also when it fails. */
LZ_MUST_USE lz_err *lz_gvalue_create_from(lz_script_value v, lz_gvalue **out);

/* A value of the type, which a run may change as it likes. Tensors look at the same memory,
 * which the run will not write to. */
LZ_MUST_USE lz_err *lz_script_value_for_run(const lz_gvalue *v, const lz_type *type, lz_script_value *out);

#endif
