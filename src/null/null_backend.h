/* null_backend.h - the backend that does nothing, as a table. */
#ifndef LZ_NULL_NULL_BACKEND_H
#define LZ_NULL_NULL_BACKEND_H

#include <lazuli/backend.h>

/* The function that a shared object exports as lazuli_backend. */
const lz_backend *lz_null_backend(uint32_t host_abi);

#endif
