/* code_cache.h - a cache of compiled kernels that outlives the process.
 *
 * A key spells out everything that an object depends on. An entry is used only if its stored key equals
 * the wanted key byte for byte. If several processes want one object at a time, one process
 * compiles it. If the cache does not work, objects are compiled and nothing fails. */
#ifndef LZ_JIT_CODE_CACHE_H
#define LZ_JIT_CODE_CACHE_H

#include "jit/cache_folder.h"
#include "jit/code.h"

/* Appends the key of a kernel's object: kernel, variant, target, and the version of the emitter. target:
 * everything outside this library that the object depends on, such as "x86_64 avx512f ... llvm 19.1.7".
 * Different objects have different keys. */
void lz_kernel_key(const lz_kernel *k, const lz_native_variant *v, const char *target, lz_text *out);

typedef struct lz_native_object {
    lz_str bytes; /* aligned to 16 */
    bool made;    /* by the caller's function in this call */
    char *memory;
} lz_native_object;

void lz_native_object_deinit(lz_native_object *o); /* { 0 } is allowed */

typedef lz_err *lz_native_object_fn(void *user, lz_text *out);

/* Takes the object from the cache, or from `make`. Fails only if `make` fails or memory runs out. */
LZ_MUST_USE lz_err *lz_native_cache_get(lz_str key, lz_native_object_fn *make, void *user,
                                        lz_native_object *out);

/* Takes the object from the cache only; out->memory is NULL if it is not there. */
LZ_MUST_USE lz_err *lz_native_cache_find(lz_str key, lz_native_object *out);

/* Removes an object that turned out to be unusable. */
void lz_native_cache_drop(lz_str key);

#endif
