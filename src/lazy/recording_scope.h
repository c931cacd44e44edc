/* recording_scope.h - recording in a scope of one's own, without knowing what a scope is made of.
 *
 *     LZ_TRY(lz_scope_begin(c, &s));
 *     lz_err *e = ...;              // what is recorded here belongs to s
 *     if (!e)
 *         e = lz_scope_give(s, t);  // t is a result: it belongs to the scope around s
 *     lz_scope_pop(s);              // everything else is released
 */
#ifndef LZ_LAZY_RECORDING_SCOPE_H
#define LZ_LAZY_RECORDING_SCOPE_H

#include "base/err.h"
#include <lazuli/tensor.h>

LZ_MUST_USE lz_err *lz_scope_begin(lz_ctx *c, lz_scope **out);

/* Memory that lives as long as the scope, the scope around it, or the innermost scope of the context; NULL:
 * out of memory. */
void *lz_scope_alloc(lz_scope *s, size_t size);
void *lz_scope_alloc_outer(const lz_scope *s, size_t size);
void *lz_ctx_scope_alloc(lz_ctx *c, size_t size);

/* One more count of the tensor, which belongs to the scope. */
LZ_MUST_USE lz_err *lz_scope_share(lz_scope *s, lz_tensor *t);
/* t moves to the scope around s, if it was made in s; else that scope gets one more count of t. */
LZ_MUST_USE lz_err *lz_scope_give(const lz_scope *s, lz_tensor *t);
/* Moves t to the scope around s, if it was made in s; otherwise does nothing. */
void lz_scope_give_own(const lz_scope *s, lz_tensor *t);

#endif
