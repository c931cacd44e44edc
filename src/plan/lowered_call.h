/* lowered_call.h - the rules of calls of kernels in lowered programs. */
#ifndef LZ_PLAN_LOWERED_CALL_H
#define LZ_PLAN_LOWERED_CALL_H

#include "plan/lowered.h"

/* The rule of its kernel that a call breaks; NULL: none. Kernels assume all of these rules. */
const char *lz_low_check_call(const lz_low_proto *p);

/* The bytes that a call writes: its elements, and what its kernel puts behind these. */
size_t lz_low_buffer_bytes(const lz_low_node *n);

#endif
