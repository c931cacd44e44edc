/* ref.h - the kernel as the slow evaluator has it: what the fast one is compared with.
 *
 * Values stand in the order they were made, operands first, only those that a store
 * needs. A value's stage is the walk over the row in which it can be had first; what
 * a reduction takes in one walk, it gives in the next. */
#ifndef LZ_JIT_REF_H
#define LZ_JIT_REF_H

#include "jit/kernel.h"

typedef enum ref_kind {
    REF_CONST,
    REF_PARAM,  /* attr: its number */
    REF_LOAD,   /* attr: access; operands: none, or mask and fill */
    REF_GATHER, /* attr: access; operands: index, or index, mask and fill */
    REF_AFFINE, /* attr: access */
    REF_CHECK,  /* attr: dimension; more: wrap */
    REF_OP,     /* attr: lz_kop */
    REF_CAST,   /* attr: lz_dtype */
    REF_PHILOX, /* attr: word */
    REF_REDUCE, /* attr: lz_kreduce; more: its number among the reductions and scans */
    REF_SCAN,
    REF_KINDS
} ref_kind;

typedef enum ref_level { REF_UNIFORM, REF_OUTER, REF_ELEMENT } ref_level;

/* Without padding: values are hashed and compared as bytes. */
typedef struct ref_value {
    uint8_t kind, type, level, n; /* n: operands */
    uint32_t stage;
    int32_t attr, more;
    uint32_t in[4];
    lz_kscalar c; /* of a constant */
} ref_value;

typedef enum ref_use { REF_UNUSED, REF_READ, REF_WRITE } ref_use;

typedef struct ref_access {
    int32_t dtype, vary, use;
    uint32_t stored; /* REF_WRITE: the value */
} ref_access;

struct lz_kernel {
    _Atomic int64_t count;
    lz_hash hash;
    lz_kmode mode;
    int n_outer, n_row, n_values, n_accesses, n_params, n_reductions;
    uint32_t last; /* the stage in which stores are made */
    ref_value *values;
    ref_access *accesses;
    int32_t *params; /* lz_ktype */
};

#endif
