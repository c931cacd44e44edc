/* gvalue_handle.h - values of a graph that are counted: those of lazuli/run.h.
 *
 * What is in one never changes: tensors in it are read, and copied on their way into a
 * run (lz_gv_for_run), lists and dicts too. */
#ifndef LZ_SCRIPT_GVALUE_HANDLE_H
#define LZ_SCRIPT_GVALUE_HANDLE_H

#include "graph/gvalue_type.h"
#include <lazuli/run.h>

/* Takes v over, also when it fails. */
LZ_MUST_USE lz_err *lz_gvalue_create_from(lz_gv v, lz_gvalue **out);

/* A value of the type, which a run may change as it likes. Tensors look at the same memory,
 * which the run will not write to. */
LZ_MUST_USE lz_err *lz_gv_for_run(const lz_gvalue *v, const lz_type *type, lz_gv *out);

#endif
