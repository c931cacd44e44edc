/* kernel.h - the kernel IR: what to compute for each element of a loop nest.
 *
 * A kernel is a loop nest (outer dimensions, then the dimensions of the row) and a set of hash-consed typed
 * scalar values, rooted in stores. It holds structure only: extents, strides, offsets, pointers and scalars
 * are arguments of a run, so one kernel serves every shape. Its arithmetic is fixed to the last bit: the
 * order of every reduction depends on the extents alone, and an fma is where LZ_KERNEL_FMA is and nowhere
 * else. Results do not depend on threads, vector width or tile size.
 *
 * A value has a level. It is *uniform* (constants, parameters), *per outer index* (loads that do not vary
 * along the row, results of reductions), or *per element*. A value computed from several levels has the
 * highest of these levels. A reduction takes elements and gives one value per outer index. So a kernel
 * divides into stages, each a walk over the row; they are derived from the values, the builder's caller does
 * not state them.
 *
 * Softmax over rows:
 *     lz_kernel_builder *b;
 *     LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 1, 1, &b));
 *     lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
 *     lz_kernel_value most = lz_kernel_build_reduce(b, LZ_KERNEL_RMAX, x);
 *     lz_kernel_value d = lz_kernel_build_op2(b, LZ_KERNEL_SUB, x, most);
 *     lz_kernel_value e = lz_kernel_build_op1(b, LZ_KERNEL_EXP, d);
 *     lz_kernel_value sum = lz_kernel_build_reduce(b, LZ_KERNEL_RSUM, e);
 *     lz_kernel_value y = lz_kernel_build_op2(b, LZ_KERNEL_DIV, e, sum);
 *     lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT), y);
 *     LZ_TRY(lz_kernel_builder_finish(b, &kernel));             takes b, even on failure */
#ifndef LZ_JIT_KERNEL_H
#define LZ_JIT_KERNEL_H

#include "base/hash.h"
#include "base/pool.h"
#include "base/text.h"
#include "jit/kop.h"
#include <lazuli/value.h>

/* Limits; beyond them lz_kernel_builder_finish returns LZ_ERR_LIMIT and the caller must split the group. */
enum {
    LZ_KERNEL_DIMS = 64,      /* outer and row together */
    LZ_KERNEL_OPS = 4096,     /* values after folding and sharing */
    LZ_KERNEL_ACCESSES = 128, /* loads, stores, affine indices */
    LZ_KERNEL_PARAMS = 128,
    LZ_KERNEL_REDUCTIONS = 32, /* reductions and scans */
    LZ_KERNEL_LIVE = 128,      /* values alive at the same time */
};

/* Which loop runs over vector lanes. The meaning is the same, but the order in which a reduction adds up
 * differs (see reduce.h), so the mode belongs to the kernel.
 * ROWS: tiles go along the row; for reductions over long inner dimensions, and
 *     for kernels without any.
 * COLUMNS: tiles go along the last outer dimension, the row index is an outer loop:
 *     for reductions over an outer axis of memory, and over very short rows. */
typedef enum lz_kernel_mode { LZ_KERNEL_ROWS, LZ_KERNEL_COLUMNS } lz_kernel_mode;

/* How an access varies: along the row too, or only with the outer indices. */
typedef enum lz_kernel_vary { LZ_KERNEL_OUTER, LZ_KERNEL_ELEMENT } lz_kernel_vary;

/* The computing types. Other dtypes exist in memory only: i8, u8 and i16 are computed as i32, f16 and bf16 as
 * f32 (lz_kernel_type_of). */
typedef enum lz_kernel_type {
    LZ_KERNEL_BOOL,
    LZ_KERNEL_I32,
    LZ_KERNEL_I64,
    LZ_KERNEL_F32,
    LZ_KERNEL_F64,
    LZ_KERNEL_TYPES
} lz_kernel_type;

lz_kernel_type lz_kernel_type_of(lz_dtype dtype); /* LZ_KERNEL_TYPES: kernels do not support the dtype */

typedef uint32_t lz_kernel_value; /* a value of one builder */

typedef enum lz_kernel_reduction {
    LZ_KERNEL_RSUM,
    LZ_KERNEL_RPROD,
    LZ_KERNEL_RMAX, /* NaN wins */
    LZ_KERNEL_RMIN,
    LZ_KERNEL_RAND, /* bool and integers: all */
    LZ_KERNEL_ROR,  /* bool and integers: any */
    LZ_KERNEL_RXOR,
    LZ_KERNEL_RARGMAX, /* i64: index within the row of the first greatest element; the first NaN wins */
    LZ_KERNEL_RARGMIN,
    LZ_KERNEL_REDUCES
} lz_kernel_reduction;

typedef struct lz_kernel_builder lz_kernel_builder;
typedef struct lz_kernel lz_kernel;

/* A builder. Errors are sticky: later calls do nothing, and lz_kernel_builder_finish returns the first error.
 */
LZ_MUST_USE lz_err *lz_kernel_builder_create(lz_kernel_mode mode, int n_outer, int n_row,
                                             lz_kernel_builder **out);
void lz_kernel_builder_destroy(lz_kernel_builder *b); /* instead of lz_kernel_builder_finish */

/* Accesses and parameters are numbered from 0 in the order of creation; the numbers index lz_kernel_args. An
 * access serves loads, or one store. */
int lz_kernel_build_access(lz_kernel_builder *b, lz_dtype dtype, lz_kernel_vary vary);

lz_kernel_value lz_kernel_build_load(lz_kernel_builder *b, int access);
/* Reads only where `mask` holds; elsewhere the value is `fill`. */
lz_kernel_value lz_kernel_build_load_if(lz_kernel_builder *b, int access, lz_kernel_value mask,
                                        lz_kernel_value fill);
/* Reads `index` (i64) elements beyond the address that lz_kernel_build_load would read. The index is not
 * checked here: use lz_kernel_build_check first. */
lz_kernel_value lz_kernel_build_gather(lz_kernel_builder *b, int access, lz_kernel_value index);
lz_kernel_value lz_kernel_build_gather_if(lz_kernel_builder *b, int access, lz_kernel_value index,
                                          lz_kernel_value mask, lz_kernel_value fill);
/* i64: offset + strides * indices of an access, without memory: for example the index along a dimension or
 * the number of an element. dtype and base pointer are ignored. */
lz_kernel_value lz_kernel_build_affine(lz_kernel_builder *b, int access);
/* Checks that an i64 index is in 0..size-1 (size i64); otherwise the run fails with "index I is out of bounds
 * for dimension D with size N". wrap: negative indices count from the end. */
lz_kernel_value lz_kernel_build_check(lz_kernel_builder *b, lz_kernel_value index, lz_kernel_value size,
                                      int dim, bool wrap);
/* Like lz_kernel_build_check without wrap, for values that are no index: fails with rules[rule] of
 * lz_kernel_args. */
lz_kernel_value lz_kernel_build_require(lz_kernel_builder *b, lz_kernel_value x, lz_kernel_value size,
                                        int rule);

lz_kernel_value lz_kernel_build_param(lz_kernel_builder *b, lz_kernel_type type);
lz_kernel_value lz_kernel_build_const_f(lz_kernel_builder *b, lz_kernel_type type,
                                        double v); /* rounded to the type */
lz_kernel_value lz_kernel_build_const_i(lz_kernel_builder *b, lz_kernel_type type, int64_t v);

/* Scalar operations; kop.h defines each. Operands have equal types (kop.h names the exceptions). A cast to a
 * narrow dtype gives a value of the computing type, rounded or wrapped to the dtype: use it where an operator
 * on f16 or i8 ends. */
lz_kernel_value lz_kernel_build_op1(lz_kernel_builder *b, lz_kernel_op op, lz_kernel_value x);
lz_kernel_value lz_kernel_build_op2(lz_kernel_builder *b, lz_kernel_op op, lz_kernel_value x,
                                    lz_kernel_value y);
lz_kernel_value lz_kernel_build_op3(lz_kernel_builder *b, lz_kernel_op op, lz_kernel_value x,
                                    lz_kernel_value y, lz_kernel_value z);
lz_kernel_value lz_kernel_build_cast(lz_kernel_builder *b, lz_kernel_value x, lz_dtype to);
/* One 32-bit word (0..3) of Philox-4x32-10 as i64, 0 <= w < 2^32. The key is `seed`; the counter has `index`
 * in its low half and `stream` in its high half. All are i64. */
lz_kernel_value lz_kernel_build_philox(lz_kernel_builder *b, int word, lz_kernel_value seed,
                                       lz_kernel_value stream, lz_kernel_value index);

lz_kernel_value lz_kernel_build_reduce(lz_kernel_builder *b, lz_kernel_reduction kind, lz_kernel_value x);
/* Inclusive, along the row, strictly in order. ARGMAX, ARGMIN: the index of the last greatest (least) element
 * so far, as in cummax. */
lz_kernel_value lz_kernel_build_scan(lz_kernel_builder *b, lz_kernel_reduction kind, lz_kernel_value x);

/* x must have the type lz_kernel_type_of(dtype). Floats are rounded to nearest even, integers wrap. A store
 * that varies along the row may take a value of a lower level. */
void lz_kernel_build_store(lz_kernel_builder *b, int access, lz_kernel_value x);

lz_kernel_type lz_kernel_build_type(const lz_kernel_builder *b, lz_kernel_value x);
bool lz_kernel_build_varies(const lz_kernel_builder *b, lz_kernel_value x); /* is x per element? */
int lz_kernel_build_count(const lz_kernel_builder *b);                      /* values so far */

/* Takes b, even on failure. The kernel is immutable and reference-counted. */
LZ_MUST_USE lz_err *lz_kernel_builder_finish(lz_kernel_builder *b, lz_kernel **out);
lz_kernel *lz_kernel_retain(lz_kernel *k);
void lz_kernel_release(lz_kernel *k); /* NULL is allowed */
/* Bytes of the kernel, without machine code, divided by the number of current owners. */
size_t lz_kernel_share(const lz_kernel *k);

/* Are the structures equal? Equal kernels compute equal results from equal arguments. */
bool lz_kernel_equal(const lz_kernel *a, const lz_kernel *b);
void lz_kernel_print(const lz_kernel *k, lz_text *out);
/* The first 8 hexadecimal digits of the hash, which name the kernel in profiles and in perf. */
enum { LZ_KERNEL_TAG = 9 };
void lz_kernel_tag(const lz_kernel *k, char out[LZ_KERNEL_TAG]);

/* May the store write to the memory that the load reads, if offsets and strides are equal? Not if a later
 * stage reads the load again, or another store uses its value. Several stores may be in place, each with a
 * load of its own. */
bool lz_kernel_in_place(const lz_kernel *k, int load, int store);

/* Which parts of a run may run separately with equal results: any part of the loops, any range of outer
 * indices, or only the whole. Kernels that can fail or gather are LZ_KERNEL_WHOLE. */
typedef enum lz_kernel_granularity {
    LZ_KERNEL_BY_ELEMENT,
    LZ_KERNEL_BY_OUTER,
    LZ_KERNEL_WHOLE
} lz_kernel_granularity;
lz_kernel_granularity lz_kernel_grain(const lz_kernel *k);

typedef struct lz_kernel_access {
    void *base;             /* for stores and loads; ignored for lz_kernel_build_affine */
    int64_t offset;         /* in elements */
    const int64_t *strides; /* in elements, outer dimensions first, then row; must be 0 along the row for
                             * LZ_KERNEL_OUTER */
} lz_kernel_access;

typedef union lz_kernel_scalar {
    double f;  /* f32 (rounded), f64 */
    int64_t i; /* bool, i32 (wrapped), i64 */
} lz_kernel_scalar;

typedef struct lz_kernel_args {
    const int64_t *extents; /* outer dimensions first, then row; 0 is allowed */
    const lz_kernel_access *access;
    const lz_kernel_scalar *params;
    const char *const *rules; /* messages of lz_kernel_build_require */
    bool *compiled;           /* if not NULL, set to whether machine code ran */
} lz_kernel_args;

/* Runs the kernel; borrows all arguments for the call. Stores must not overlap each other, nor a load except
 * as lz_kernel_in_place allows. pool NULL: only this thread. LZ_ERR_ARG: an index is out of range or an
 * integer is divided by zero; stores are then unspecified. No other error occurs, even if memory runs out:
 * callers that write in place rely on it. */
LZ_MUST_USE lz_err *lz_kernel_run(const lz_kernel *k, const lz_kernel_args *args, lz_pool *pool);

#endif
