/* The backends that are built in. */
#include "lazy/registry.h"
#include "ts/ts_backend.h"

const lz_backend *(*const lz_builtin_backends[])(uint32_t host_abi) = { lz_ts_backend, NULL };
