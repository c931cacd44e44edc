/* kernel.h - the kernel IR: what is to be computed for each element of a loop nest.
 *
 * A kernel is a loop nest (outer dimensions, then the dimensions of the row) and a
 * set of hash-consed typed scalar values, rooted in stores. Only structure is in it:
 * extents, strides, offsets, pointers and scalars arrive when it runs, so one kernel
 * serves every shape. Its arithmetic is fixed to the last bit: the order of every
 * reduction depends on the extents alone, and an fma is where LZ_K_FMA is and nowhere
 * else; neither threads nor vector width nor tile size can be seen in a result.
 *
 * A value has a level. It is *uniform* (constants, parameters), *per outer index*
 * (loads that do not vary along the row, results of reductions), or *per element*.
 * What is computed from several levels has the highest. A reduction takes elements
 * and gives one value per outer index; so a kernel falls into stages, each a walk
 * over the row, made from the values themselves: whoever builds need not say.
 *
 *     lz_kb *b;                                     softmax over rows:
 *     LZ_TRY(lz_kb_create(LZ_K_ROWS, 1, 1, &b));
 *     lz_kv x = lz_kb_load(b, lz_kb_access(b, LZ_F32, LZ_K_ELEMENT));
 *     lz_kv e = lz_kb_op1(b, LZ_K_EXP, lz_kb_op2(b, LZ_K_SUB, x, lz_kb_reduce(b, LZ_K_RMAX, x)));
 *     lz_kv y = lz_kb_op2(b, LZ_K_DIV, e, lz_kb_reduce(b, LZ_K_RSUM, e));
 *     lz_kb_store(b, lz_kb_access(b, LZ_F32, LZ_K_ELEMENT), y);
 *     LZ_TRY(lz_kb_finish(b, &kernel));             takes b, also when it fails */
#ifndef LZ_JIT_KERNEL_H
#define LZ_JIT_KERNEL_H

#include "base/hash.h"
#include "base/pool.h"
#include "base/text.h"
#include "jit/kop.h"
#include <lazuli/value.h>

/* Bounds; beyond them lz_kb_finish says LZ_ERR_LIMIT and the group has to be cut. */
enum {
    LZ_KERNEL_DIMS = 64,      /* outer and row together */
    LZ_KERNEL_OPS = 4096,     /* values after folding and sharing */
    LZ_KERNEL_ACCESSES = 128, /* loads, stores, affine indices */
    LZ_KERNEL_PARAMS = 128,
    LZ_KERNEL_REDUCTIONS = 32, /* reductions and scans */
    LZ_KERNEL_LIVE = 128,      /* values that wait for a later use at the same time */
};

/* Which loop runs over vector lanes. The meaning is the same; the order in which a
 * reduction adds up is not (see reduce.h), so this belongs to the kernel.
 * ROWS: the row is walked in tiles; for reductions over long inner dimensions, and
 *     for kernels without any.
 * COLUMNS: the last outer dimension is walked in tiles, the row index outside of it:
 *     for reductions over an outer axis of memory, and over very short rows. */
typedef enum lz_kmode { LZ_K_ROWS, LZ_K_COLUMNS } lz_kmode;

/* How an access varies: along the row too, or only with the outer indices. */
typedef enum lz_kvary { LZ_K_OUTER, LZ_K_ELEMENT } lz_kvary;

/* The types values are computed in. Other dtypes exist in memory only: i8, u8 and i16
 * are computed as i32, f16 and bf16 as f32 (lz_ktype_of). */
typedef enum lz_ktype { LZ_KBOOL, LZ_KI32, LZ_KI64, LZ_KF32, LZ_KF64, LZ_KTYPES } lz_ktype;

lz_ktype lz_ktype_of(lz_dtype dtype); /* LZ_KTYPES for a dtype that kernels do not have */

typedef uint32_t lz_kv; /* a value of one builder */

typedef enum lz_kreduce {
    LZ_K_RSUM,
    LZ_K_RPROD,
    LZ_K_RMAX, /* NaN wins */
    LZ_K_RMIN,
    LZ_K_RAND, /* bool and integers: all */
    LZ_K_ROR,  /* bool and integers: any */
    LZ_K_RXOR,
    LZ_K_RARGMAX, /* i64: the index within the row of the first greatest; the first NaN wins */
    LZ_K_RARGMIN,
    LZ_K_REDUCES
} lz_kreduce;

typedef struct lz_kb lz_kb;
typedef struct lz_kernel lz_kernel;

/* A builder. Errors stick: calls after one do nothing, and lz_kb_finish returns it. */
LZ_MUST_USE lz_err *lz_kb_create(lz_kmode mode, int n_outer, int n_row, lz_kb **out);
void lz_kb_destroy(lz_kb *b); /* instead of lz_kb_finish */

/* Accesses and parameters are numbered from 0 in the order they are made; the same
 * numbers index lz_kernel_args. An access is for loads, or for one store. */
int lz_kb_access(lz_kb *b, lz_dtype dtype, lz_kvary vary);

lz_kv lz_kb_load(lz_kb *b, int access);
/* Reads only where `mask` holds; elsewhere the value is `fill`. */
lz_kv lz_kb_load_if(lz_kb *b, int access, lz_kv mask, lz_kv fill);
/* Reads `index` (i64) elements behind the place where lz_kb_load would. It is not
 * checked here: lz_kb_check first. */
lz_kv lz_kb_gather(lz_kb *b, int access, lz_kv index);
lz_kv lz_kb_gather_if(lz_kb *b, int access, lz_kv index, lz_kv mask, lz_kv fill);
/* i64: offset + strides * indices of an access, without memory: the index along a
 * dimension, the number of an element, ... dtype and base pointer are ignored. */
lz_kv lz_kb_affine(lz_kb *b, int access);
/* An i64 index below `size` (i64), else the run fails with "index I is out of bounds
 * for dimension D with size N". wrap: negative ones count from the end. */
lz_kv lz_kb_check(lz_kb *b, lz_kv index, lz_kv size, int dim, bool wrap);
/* The same without wrap, for what is no index: it fails with rules[rule] of lz_kernel_args. */
lz_kv lz_kb_require(lz_kb *b, lz_kv x, lz_kv size, int rule);

lz_kv lz_kb_param(lz_kb *b, lz_ktype type);
lz_kv lz_kb_const_f(lz_kb *b, lz_ktype type, double v); /* rounded to the type */
lz_kv lz_kb_const_i(lz_kb *b, lz_ktype type, int64_t v);

/* Scalar operations; kop.h says what each means. Operands have equal types (kop.h
 * names the exceptions). A cast to a narrow dtype gives the computing type, with the
 * value rounded or wrapped to the dtype: the boundary of an operator on f16 or i8. */
lz_kv lz_kb_op1(lz_kb *b, lz_kop op, lz_kv x);
lz_kv lz_kb_op2(lz_kb *b, lz_kop op, lz_kv x, lz_kv y);
lz_kv lz_kb_op3(lz_kb *b, lz_kop op, lz_kv x, lz_kv y, lz_kv z);
lz_kv lz_kb_cast(lz_kb *b, lz_kv x, lz_dtype to);
/* One 32-bit word (0..3) of Philox-4x32-10 as i64, 0 <= w < 2^32. Key: seed; counter:
 * index in the low, stream in the high half. All are i64. */
lz_kv lz_kb_philox(lz_kb *b, int word, lz_kv seed, lz_kv stream, lz_kv index);

lz_kv lz_kb_reduce(lz_kb *b, lz_kreduce kind, lz_kv x);
/* Inclusive, along the row, strictly one after the other. ARGMAX, ARGMIN: the index of
 * the last greatest so far, as cummax has it. */
lz_kv lz_kb_scan(lz_kb *b, lz_kreduce kind, lz_kv x);

/* x has lz_ktype_of the dtype; stored rounded to nearest even, integers wrapped. A
 * store that varies along the row may take a value of a lower level. */
void lz_kb_store(lz_kb *b, int access, lz_kv x);

lz_ktype lz_kb_type(const lz_kb *b, lz_kv x);
bool lz_kb_varies(const lz_kb *b, lz_kv x); /* per element */
int lz_kb_count(const lz_kb *b);            /* values so far */

/* Always takes b. The kernel is immutable and counted. */
LZ_MUST_USE lz_err *lz_kb_finish(lz_kb *b, lz_kernel **out);
lz_kernel *lz_kernel_retain(lz_kernel *k);
void lz_kernel_release(lz_kernel *k); /* NULL is fine */
/* The memory of the kernel, without machine code, divided by those who hold it now. */
size_t lz_kernel_share(const lz_kernel *k);

/* Of the structure: equal kernels do the same with the same arguments. */
lz_hash lz_kernel_hash(const lz_kernel *k);
bool lz_kernel_equal(const lz_kernel *a, const lz_kernel *b);
void lz_kernel_print(const lz_kernel *k, lz_text *out);
/* The first 8 hexadecimal digits of the hash: profiles and perf name kernels by them. */
enum { LZ_KERNEL_TAG = 9 };
void lz_kernel_tag(const lz_kernel *k, char out[LZ_KERNEL_TAG]);

/* May the store write where the load reads, offsets and strides being equal? Not if
 * the load is read again in a later stage, or by a store besides this one. Several stores
 * may do so, each for a load of its own. */
bool lz_kernel_in_place(const lz_kernel *k, int load, int store);

/* What may be run by itself, results being the same: any part of the loops, any indices of the outer
 * loops, or nothing less than all. Of kernels that can fail, or gather, it is all. */
typedef enum lz_kgrain { LZ_K_BY_ELEMENT, LZ_K_BY_OUTER, LZ_K_WHOLE } lz_kgrain;
lz_kgrain lz_kernel_grain(const lz_kernel *k);

typedef struct lz_kaccess {
    void *base;             /* of stores and loads; ignored for lz_kb_affine */
    int64_t offset;         /* in elements */
    const int64_t *strides; /* in elements, outer dimensions first, then row; the row's are 0 where
                               it does not vary along the row */
} lz_kaccess;

typedef union lz_kscalar {
    double f;  /* f32 (rounded), f64 */
    int64_t i; /* bool, i32 (wrapped), i64 */
} lz_kscalar;

typedef struct lz_kernel_args {
    const int64_t *extents; /* outer dimensions first, then row; 0 is fine */
    const lz_kaccess *access;
    const lz_kscalar *params;
    const char *const *rules; /* messages of lz_kb_require */
    bool *compiled;           /* set to whether machine code ran; may be NULL */
} lz_kernel_args;

/* Runs it; everything is borrowed for the call. Stores must not overlap each other, nor
 * a load except as lz_kernel_in_place allows. pool NULL: this thread alone. An index out
 * of range or an integer divided by zero is LZ_ERR_ARG; stores are then unspecified. Nothing
 * else goes wrong: whatever is written in place relies on it, also when memory is out. */
LZ_MUST_USE lz_err *lz_kernel_run(const lz_kernel *k, const lz_kernel_args *args, lz_pool *pool);

#endif
