/* kernel_set.h - the kernels that are alive, by structure: there is never a second one of a
 * structure that has been seen, so what was made for one serves all who ask for it. The set
 * has no count of its own: a kernel leaves it with its last owner. */
#ifndef LZ_JIT_KERNEL_SET_H
#define LZ_JIT_KERNEL_SET_H

#include "jit/kernel_ir.h"

/* The kernel of that structure, retained; NULL: there is none. Only mode, loops, ir and hash
 * of `like` are looked at. */
lz_kernel *lz_kernel_set_find(const lz_kernel *like);
/* Takes the caller's count of a finished kernel and gives one of the kernel that stays: this
 * one, or one that another thread was quicker with. */
lz_kernel *lz_kernel_set_add(lz_kernel *k);

#endif
