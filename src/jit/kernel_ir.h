/* kernel_ir.h - the inside of a kernel: nodes in an array, operands before users.
 *
 * A finished kernel is canonical: it has only nodes that stores need, numbered in the order of a depth-first
 * walk from the first store on. So equal kernels are equal arrays. */
#ifndef LZ_JIT_KERNEL_IR_H
#define LZ_JIT_KERNEL_IR_H

#include "base/arena.h"
#include "base/hash_table.h"
#include "base/vec.h"
#include "jit/kernel.h"
#include <stdatomic.h>

/* Node kinds: the scalar operations of kop.h, and these. */
enum {
    LZ_KERNEL_NODE_CONST = LZ_KERNEL_OP_COUNT, /* bits */
    LZ_KERNEL_NODE_PARAM,                      /* attr: number */
    LZ_KERNEL_NODE_CAST,                       /* to the node's type */
    LZ_KERNEL_NODE_NARROW,                     /* attr: dtype */
    LZ_KERNEL_NODE_LOAD,                       /* attr: access, as in the next four kinds */
    LZ_KERNEL_NODE_LOAD_IF,                    /* mask, fill */
    LZ_KERNEL_NODE_GATHER,                     /* index */
    LZ_KERNEL_NODE_GATHER_IF,                  /* index, mask, fill */
    LZ_KERNEL_NODE_AFFINE,
    LZ_KERNEL_NODE_CHECK,  /* index, size; attr: dim * 2 + wrap */
    LZ_KERNEL_NODE_PHILOX, /* seed, stream, index; attr: word */
    LZ_KERNEL_NODE_REDUCE, /* attr: lz_kernel_reduction, as in the next */
    LZ_KERNEL_NODE_SCAN,
    LZ_KERNEL_NODE_RARE, /* x, near, is_near; attr: operation. The operation applied to x. Equals `near` where
                          * `is_near` holds, which is almost everywhere: see lz_kernel_expand_hot */
    LZ_KERNEL_NODE_COUNT
};

typedef enum lz_kernel_level { LZ_LEVEL_UNIFORM, LZ_LEVEL_OUTER, LZ_LEVEL_ELEMENT } lz_kernel_level;

typedef struct lz_kernel_node {
    uint8_t op, type, level, stage; /* stage: walks over the row that must be complete before the node */
    int32_t attr;                   /* LZ_KERNEL_NODE_CHECK: 2 * dim + wrap, or -2 * (1 + rule) */
    uint32_t in[3];
    int64_t bits; /* of a constant, in the low bytes; else 0 */
    lz_hash hash; /* of the node and everything below it */
} lz_kernel_node;

typedef struct lz_kernel_use { /* how an access is used */
    uint8_t dtype;
    uint8_t vary;
    uint8_t loads, stores, affine; /* flags */
} lz_kernel_use;

typedef struct lz_kernel_store {
    int32_t access;
    uint32_t value;
} lz_kernel_store;

typedef LZ_VEC(lz_kernel_node) lz_kernel_nodes;

/* The structure, common to builder and kernel. */
typedef struct lz_kernel_ir {
    uint8_t mode;
    int n_outer, n_row;
    lz_kernel_nodes nodes;
    LZ_VEC(lz_kernel_use) access;
    LZ_VEC(uint8_t) params; /* types */
    LZ_VEC(lz_kernel_store) stores;
} lz_kernel_ir;

int lz_kernel_node_operands(const lz_kernel_node *n);
/* "load", "const", ..., or the operation's text. */
const char *lz_kernel_node_text(const lz_kernel_node *n);
size_t lz_kernel_type_size(lz_kernel_type t);
/* The type in which a reduction of elements of type t adds up its chunks (reduce.h): f64 for a sum of f32. */
lz_kernel_type lz_kernel_reduction_total(lz_kernel_reduction kind, lz_kernel_type t);
const char *lz_kernel_type_text(lz_kernel_type t);

typedef struct lz_program lz_program;

struct lz_kernel {
    atomic_int count;
    lz_kernel_ir ir;
    lz_hash hash;
    lz_program *program;                    /* NULL in a copy that only serves comparison */
    _Atomic(struct lz_kernel_code *) codes; /* owned by codes.c */
    lz_hash_link link;                      /* this and the next: owned by kernel_set.c */
    bool listed;
};

/* Creates an equivalent kernel with every function written out in primitive operations; results are equal bit
 * for bit. Only tests call it, to judge engines by an evaluation that needs no functions. It is here because
 * it writes the functions out with the expansions of lz_kernel_expand_hot, which is what the tests judge. */
LZ_MUST_USE lz_err *lz_kernel_expand(const lz_kernel *k, lz_kernel **out);

/* Like lz_kernel_expand, for a compiler: frequent functions are written out, others remain operations, to be
 * called. Functions with a rare and long case (sin, cos) become LZ_KERNEL_NODE_RARE: code takes `near` for a
 * whole vector if `is_near` holds in all its lanes, else it calls tiles->op[attr][type] on x, whose results
 * are right in every lane. scale: the machine has an instruction for LZ_KERNEL_SCALE, so the expansion may
 * use it. */
LZ_MUST_USE lz_err *lz_kernel_expand_hot(const lz_kernel *k, bool scale, lz_kernel **out);

/* For builders (build.c, expand.c): adds a node, or returns an equal one that exists. */
lz_kernel_value lz_kernel_build_node(lz_kernel_builder *b, lz_kernel_node n);
lz_kernel_value lz_kernel_builder_fail(lz_kernel_builder *b, lz_err *e);
const lz_kernel_node *lz_kernel_builder_at(const lz_kernel_builder *b, lz_kernel_value x);
lz_kernel_ir *lz_kernel_builder_ir(lz_kernel_builder *b);
/* Finds a simpler value equal to n bit for bit; false if there is none (simplify.c). */
bool lz_kernel_build_simplify(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out);

#endif
