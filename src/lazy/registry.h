/* registry.h - the backends of the process.
 *
 * A backend's table is copied and completed with defaults when it is registered; from then
 * on its copy never changes or moves. All of this may be called from any thread. */
#ifndef LZ_LAZY_REGISTRY_H
#define LZ_LAZY_REGISTRY_H

#include "base/err.h"
#include <lazuli/backend.h>

enum { LZ_BACKEND_TYPES = 32, LZ_BACKEND_DEVICES = 64 }; /* at most: backends; devices of one backend */

/* The type of the backend's virtual devices; -1: not registered. */
int16_t lz_backend_type(const lz_backend *b);
/* The hardware behind a virtual device; index -1: the default device. */
LZ_MUST_USE lz_err *lz_backend_real_device(const lz_backend *b, lz_device d, lz_backend_device *out);
/* Fills in the index of d: the device of default type and ordinal. LZ_ERR_NOT_FOUND if the backend does not
 * have it. */
LZ_MUST_USE lz_err *lz_backend_device_of(lz_device d, lz_device *out);
/* The backend's first device of this hardware type. LZ_ERR_NOT_FOUND: the backend has none. */
LZ_MUST_USE lz_err *lz_backend_device_typed(const lz_backend *b, int8_t type, lz_device *out);
/* The backend's first device of this hardware type, or its first device. */
LZ_MUST_USE lz_err *lz_backend_device_like(const lz_backend *b, int8_t type, lz_device *out,
                                           lz_backend_device *real);
/* Whether graphs for devices of this type take offsets of views as run-time numbers. */
bool lz_backend_takes_offsets(int16_t type);
/* Waits for all devices of the backend; returns the first error. */
LZ_MUST_USE lz_err *lz_backend_synchronize(const lz_backend *b);
/* The backend that runs operators which other backends do not support: "cpu". NULL: not registered. */
const lz_backend *lz_backend_fallback(void);
/* The backend that was registered first; "cpu" comes first. NULL: none. */
const lz_backend *lz_backend_first(void);

/* Loads each path of a list separated by colons; skips files that are loaded already. */
LZ_MUST_USE lz_err *lz_backend_load_all(const char *paths);

/* Registers the built-in backends that are not registered yet. */
LZ_MUST_USE lz_err *lz_backends_built_in(void);
/* The tables of the built-in backends, ending with NULL; defined in src/api/backends.c. */
extern const lz_backend *(*const lz_builtin_backends[])(uint32_t host_abi);

/* For tests: removes the backend. Requires that nothing of the backend is in use. */
void lz_backend_forget(int16_t type);

#endif
