/* code_cache.h - compiled kernels that outlive the process.
 *
 * A key is all that an object depends on, written out; an entry is taken only if its own key
 * has the same bytes. Of all processes that want one object at a time, one makes it. The cache
 * is a convenience: whatever is wrong with it, objects are made and nothing fails. */
#ifndef LZ_JIT_CODE_CACHE_H
#define LZ_JIT_CODE_CACHE_H

#include "jit/cache_folder.h"
#include "jit/code.h"

/* Appends the key of a kernel's object: kernel, variant, what it is made for, and the version of
 * what makes it. target: all that the object depends on outside of this library, such as
 * "x86_64 avx512f ... llvm 19.1.7". Different things have different keys. */
void lz_kernel_key(const lz_kernel *k, const lz_variant *v, const char *target, lz_text *out);

typedef struct lz_object {
    lz_str bytes; /* aligned to 16 */
    bool made;    /* just now, by the caller's function */
    char *memory;
} lz_object;

void lz_object_deinit(lz_object *o); /* { 0 } is fine */

typedef lz_err *lz_object_fn(void *user, lz_text *out);

/* The object from the cache, or from `make`. Fails only if that does, or if memory is out. */
LZ_MUST_USE lz_err *lz_code_cache_get(lz_str key, lz_object_fn *make, void *user, lz_object *out);

/* The object from the cache only: out->memory is NULL if it is not there. */
LZ_MUST_USE lz_err *lz_code_cache_find(lz_str key, lz_object *out);

/* For an object that turned out to be of no use after all. */
void lz_code_cache_drop(lz_str key);

#endif
