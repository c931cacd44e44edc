/* registry.h - the backends of the process.
 *
 * A backend's table is copied and completed with defaults when it is registered; from then
 * on its copy never changes or moves. All of this may be called from any thread. */
#ifndef LZ_LAZY_REGISTRY_H
#define LZ_LAZY_REGISTRY_H

#include "base/err.h"
#include <lazuli/backend.h>

enum { LZ_BACKEND_TYPES = 32, LZ_BACKEND_DEVICES = 64 }; /* backends; devices of one, at most */

/* The type of its virtual devices; -1: it is not registered. */
int16_t lz_backend_type(const lz_backend *b);
/* The hardware behind a virtual device; index -1: the default device. */
LZ_MUST_USE lz_err *lz_backend_real_device(const lz_backend *b, lz_device d, lz_backend_device *out);
/* d with its index filled in: the device of default type and ordinal. LZ_ERR_NOT_FOUND if there is
 * none such. */
LZ_MUST_USE lz_err *lz_backend_device_of(lz_device d, lz_device *out);
/* Its first device of that type of hardware; its first at all, where it has none such. */
LZ_MUST_USE lz_err *lz_backend_device_like(const lz_backend *b, int8_t type, lz_device *out,
                                           lz_backend_device *real);
/* Whether graphs for such devices take offsets of views as run-time numbers. */
bool lz_backend_takes_offsets(int16_t type);
/* Waits for all its devices; the first error that any of them has to tell. */
LZ_MUST_USE lz_err *lz_backend_synchronize(const lz_backend *b);
/* Where the operators run that a backend cannot: "cpu". NULL: nobody can. */
const lz_backend *lz_backend_fallback(void);
/* The one that was registered first, "cpu" before all; NULL: there is none. */
const lz_backend *lz_backend_first(void);

/* Loads each path of a list with colons between; a file that is already loaded is left alone. */
LZ_MUST_USE lz_err *lz_backend_load_all(const char *paths);

/* Registers those that come with the library and are not there yet. */
LZ_MUST_USE lz_err *lz_backends_built_in(void);
/* Their tables, ending with NULL: filled in above (src/api/backends.c). */
extern const lz_backend *(*const lz_builtin_backends[])(uint32_t host_abi);

/* For tests: as if it had never been registered. Nothing of it may be in use. */
void lz_backend_forget(int16_t type);

#endif
