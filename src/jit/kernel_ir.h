/* kernel_ir.h - the inside of a kernel: nodes in an array, operands before users.
 *
 * A finished kernel is canonical: only what stores need, numbered in the order in
 * which a walk from the first store on meets it. So equal kernels are equal arrays. */
#ifndef LZ_JIT_KERNEL_IR_H
#define LZ_JIT_KERNEL_IR_H

#include "base/arena.h"
#include "base/vec.h"
#include "jit/kernel.h"
#include <stdatomic.h>

/* Node kinds: the scalar operations of kop.h, and these. */
enum {
    LZ_N_CONST = LZ_KOP_COUNT, /* bits */
    LZ_N_PARAM,                /* attr: number */
    LZ_N_CAST,                 /* to the node's type */
    LZ_N_NARROW,               /* attr: dtype */
    LZ_N_LOAD,                 /* attr: access, as in the next four */
    LZ_N_LOAD_IF,              /* mask, fill */
    LZ_N_GATHER,               /* index */
    LZ_N_GATHER_IF,            /* index, mask, fill */
    LZ_N_AFFINE,
    LZ_N_CHECK,  /* index, size; attr: dim * 2 + wrap */
    LZ_N_PHILOX, /* seed, stream, index; attr: word */
    LZ_N_REDUCE, /* attr: kind, as in the next */
    LZ_N_SCAN,
    LZ_N_RARE, /* x, near, is_near; attr: operation. It is that operation of x; which is `near` where
                  `is_near` holds, as it nearly always does: see lz_kernel_expand_hot */
    LZ_N_COUNT
};

typedef enum lz_klevel { LZ_LEVEL_UNIFORM, LZ_LEVEL_OUTER, LZ_LEVEL_ELEMENT } lz_klevel;

typedef struct lz_knode {
    uint8_t op, type, level, stage; /* stage: walks over the row that must be over before it can be made */
    int32_t attr;                   /* LZ_N_CHECK: 2 * dim + wrap, or -2 * (1 + rule) */
    uint32_t in[3];
    int64_t bits; /* of a constant, in the low bytes; else 0 */
    lz_hash hash; /* of the DAG below */
} lz_knode;

typedef struct lz_kuse { /* what an access is and does */
    uint8_t dtype;
    uint8_t vary;
    uint8_t loads, stores, affine; /* is it used so? */
} lz_kuse;

typedef struct lz_kstore {
    int32_t access;
    uint32_t value;
} lz_kstore;

typedef LZ_VEC(lz_knode) lz_knodes;

/* The structure: shared by builder and kernel. */
typedef struct lz_kir {
    uint8_t mode;
    int n_outer, n_row;
    lz_knodes nodes;
    LZ_VEC(lz_kuse) access;
    LZ_VEC(uint8_t) params; /* types */
    LZ_VEC(lz_kstore) stores;
} lz_kir;

int lz_knode_operands(const lz_knode *n);
/* "load", "const", ... or the operation's text */
const char *lz_knode_text(const lz_knode *n);
size_t lz_ktype_size(lz_ktype t);
/* The type in which a reduction of elements of type t adds up its chunks (reduce.h): a sum of f32 does in
 * f64. */
lz_ktype lz_kreduce_total(lz_kreduce kind, lz_ktype t);
const char *lz_ktype_text(lz_ktype t);

typedef struct lz_program lz_program;

struct lz_kernel {
    atomic_int count;
    lz_kir ir;
    lz_hash hash;
    lz_program *program;              /* NULL in what is only kept to be compared */
    _Atomic(struct lz_kcode *) codes; /* of codes.c */
    lz_kernel *chain;                 /* of kernel_set.c, as the next */
    bool listed;
};

/* The same kernel with every function written out in primitive operations, as an
 * engine that has no functions needs it. Same results to the last bit. */
LZ_MUST_USE lz_err *lz_kernel_expand(const lz_kernel *k, lz_kernel **out);

/* The same, as a compiler wants it: the frequent functions are written out, others stay
 * operations, to be called. Functions with a rare case that is long (sin, cos) become
 * LZ_N_RARE: code takes `near` for a whole vector if `is_near` holds in all its lanes, and
 * else calls tiles->op[attr][type] on x, whose results are right in every lane.
 * scale: the machine has an instruction for LZ_K_SCALE, which then is made. */
LZ_MUST_USE lz_err *lz_kernel_expand_hot(const lz_kernel *k, bool scale, lz_kernel **out);

/* Within builders (build.c, expand.c): one node, shared if there is one like it. */
lz_kv lz_kb_node(lz_kb *b, lz_knode n);
lz_kv lz_kb_fail(lz_kb *b, lz_err *e);
const lz_knode *lz_kb_at(const lz_kb *b, lz_kv x);
lz_kir *lz_kb_ir(lz_kb *b);
/* A simpler value equal to n to the last bit, if there is one (simplify.c). */
bool lz_kb_simplify(lz_kb *b, const lz_knode *n, lz_kv *out);

#endif
