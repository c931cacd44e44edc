/* kernel_set.h - the live kernels by structure. At most one kernel of a structure exists, so code made for it
 * serves all plans. The set owns nothing: a kernel leaves the set when its last owner releases it. */
#ifndef LZ_JIT_KERNEL_SET_H
#define LZ_JIT_KERNEL_SET_H

#include "jit/kernel_ir.h"

/* The kernel of that structure, retained; NULL: none. Reads only mode, loops, ir and hash of `like`. */
lz_kernel *lz_kernel_set_find(const lz_kernel *like);
/* Takes the caller's reference to a finished kernel, even on failure, and returns a reference to the kernel
 * in the set: this one, or an equal one that another thread added first. */
LZ_MUST_USE lz_err *lz_kernel_set_add(lz_kernel *k, lz_kernel **out);

#endif
