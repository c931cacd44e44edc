/* node.h - recorded operators: nodes that never change, counted by their context.
 *
 * A node has its operator, the outputs it is computed from, the fixed arguments, the
 * values of its run-time numbers, dtypes and sizes of its outputs, its source line, and a
 * hash of the graph below it. The hash does not cover run-time numbers, the identity of data
 * and source lines. Only the context's thread changes counts; a device's thread may read
 * everything else while the node lives. Freeing a node releases its operands without
 * recursion. */
#ifndef LZ_LAZY_NODE_H
#define LZ_LAZY_NODE_H

#include "base/hash.h"
#include "base/hash_table.h"
#include "core/spec.h"
#include <lazuli/backend.h>
#include <string.h>

/* An argument as it is stored: 8 bytes each, by the schema. A random operator has one more
 * behind those of the schema, LZ_ARG_RANDOM. */
typedef struct lz_slot {
    uint8_t kind; /* lz_arg_kind */
    uint8_t scalar;
    uint16_t n;     /* TENSORS: how many */
    uint32_t first; /* operand, number, or word of `fixed` where the value is */
} lz_slot;

struct lz_node {
    uint64_t born; /* serial number, above those of the operands, never 0; first: see lz_node_is_recorded */
    lz_hash hash;
    const lz_op_row *op; /* NULL: data */
    union {
        lz_data *data;         /* one count */
        const uint64_t *fixed; /* words of fixed arguments, as pack.h writes them */
    };
    lz_hash_link link; /* in the hash-consing table; in the list of nodes to free */
    lz_loc at;
    const char *scope; /* interned; NULL: none */
    uint32_t refs;
    uint32_t mark;                        /* free for a walk: the context's current walk number */
    uint32_t index;                       /* in that walk */
    uint32_t size;                        /* bytes of the node */
    uint16_t nargs, nout, nin, op_number; /* op_number: place of op in lz_op_table, 0 for data */
    uint32_t nfixed;                      /* words */
    uint16_t nnumbers;
    uint32_t depth : 31; /* operators on the longest way to data */
    bool passed : 1;     /* a sync computed the node and did not keep its value: the next sync keeps it */
    uint32_t found_by;   /* hash for the hash-consing table: structure and operands */
    const lz_slot *args;
    const lz_output *in; /* they lie behind the node, the run-time numbers behind them */
    uint64_t form; /* lz_node_form.number; nodes of one form differ only in operands, numbers and place; 0: of
                      data */
    const lz_spec *const *specs; /* of the outputs; only dtype and sizes are valid */
};

/* Backends see two kinds of nodes through the same functions: recorded nodes, and nodes of a subgraph
 * (lz_subgraph_node). Both begin with `born`, which is 0 for nodes of a subgraph. */
static inline bool lz_node_is_recorded(const lz_node *n)
{
    return *(const uint64_t *)(const void *)n != 0;
}

/* Copies n words of 8 bytes and returns the end of the copy. n is small: a call of memcpy would cost more,
 * and the barrier keeps the compiler from making it one. */
static inline uint64_t *lz_copy_words(uint64_t *to, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(&to[i], (const char *)from + i * sizeof *to, sizeof *to);
        __asm__ volatile("" : : : "memory");
    }
    return to + n;
}

/* n->in of an operator, without reading n: a walk waits for memory most of its time. */
static inline const lz_output *lz_node_in(const lz_node *n)
{
    return (const lz_output *)(const void *)(n + 1);
}

/* Values of the run-time numbers. */
static inline const lz_scalar *lz_node_scalars(const lz_node *n)
{
    return (const lz_scalar *)(const void *)(lz_node_in(n) + n->nin);
}

/* ---- making and releasing ---- */

typedef struct lz_nodes lz_nodes; /* memory, hash-consing table and trie of a context */

LZ_MUST_USE lz_err *lz_nodes_create(lz_nodes **out);
void lz_nodes_destroy(lz_nodes *t);
/* Live nodes and their bytes: the first member of lz_nodes, because every recorded call reads it. */
typedef struct lz_nodes_used {
    size_t live, bytes;
} lz_nodes_used;
static inline size_t lz_nodes_live(const lz_nodes *t)
{
    return ((const lz_nodes_used *)t)->live;
}
static inline size_t lz_nodes_bytes(const lz_nodes *t)
{
    return ((const lz_nodes_used *)t)->bytes;
}
void lz_nodes_trim(lz_nodes *t);           /* frees memory without nodes */
uint64_t lz_nodes_born(const lz_nodes *t); /* the serial number of the latest node */

/* Takes over one count of the data. */
LZ_MUST_USE lz_err *lz_node_data(lz_nodes *t, lz_data *d, const lz_spec *s, lz_loc at, lz_node **out);
/* args: the values of all arguments, in the order of the schema. Only kinds and list lengths of tensor
 * arguments are read; the operands are `in`, in the order of the arguments (an absent operand of a list: node
 * NULL). Operands get one more count each. */
LZ_MUST_USE lz_err *lz_node_op_create(lz_nodes *t, const lz_op_row *op, const lz_value *args,
                                      const lz_output *in, size_t nin, const lz_spec *const *specs,
                                      size_t nout, lz_loc at, lz_node **out);

/* The part of a node that does not depend on operands and place. Slots, specs and fixed words lie behind one
 * another, as in a node, with room for one more word at the end. */
typedef struct lz_node_form {
    lz_hash hash;
    const lz_op_row *op;
    const lz_slot *slots;
    const lz_spec *const *specs;
    const uint64_t *fixed;
    uint16_t nslots, nout, nin, op_number;
    uint32_t nfixed;
    uint16_t nnumbers;
    uint32_t size;   /* bytes of a node, a multiple of 16 */
    uint64_t number; /* no two forms of the process have the same */
} lz_node_form;

/* Words that slots, specs and fixed words of the form take. */
static inline size_t lz_node_form_words(const lz_node_form *f)
{
    return (size_t)f->nslots + f->nout + f->nfixed + 1;
}
/* Copies the three parts to memory of lz_node_form_words words, which the form uses from then on. */
void lz_node_form_join(lz_node_form *f, void *words);
/* Sets hash, size, op_number and number of a form whose parts are joined. */
void lz_node_form_finish(lz_node_form *f);
/* Finds an equal node or makes one; *out is one count of the caller. Numbers are copied. */
LZ_MUST_USE lz_err *lz_node_make(lz_nodes *t, const lz_node_form *f, const lz_output *in,
                                 const lz_scalar *numbers, lz_loc at, const char *scope, lz_node **out);

static inline lz_node *lz_node_retain(lz_node *n)
{
    n->refs++;
    return n;
}
void lz_node_free(lz_nodes *t, lz_node *n);                 /* requires that n has lost its last count */
static inline void lz_node_release(lz_nodes *t, lz_node *n) /* NULL does nothing */
{
    if (n && --n->refs == 0)
        lz_node_free(t, n);
}

#endif
