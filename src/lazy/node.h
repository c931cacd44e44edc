/* node.h - recorded operators: nodes that never change, counted by their context.
 *
 * A node knows its operator, the outputs it is computed from, the fixed arguments, the
 * values of its run-time numbers, what its outputs look like, where it was recorded, and
 * a hash of all that makes the graph: not of run-time numbers, not of the identity of
 * data, not of places. Counts belong to the thread of the context; everything else may be
 * read by the thread of a device while the node lives. Letting a node go lets go what
 * only it held, without recursion. */
#ifndef LZ_LAZY_NODE_H
#define LZ_LAZY_NODE_H

#include "base/hash.h"
#include "lazy/spec.h"
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
    lz_hash hash;
    const lz_op_row *op; /* NULL: data */
    union {
        lz_data *data;         /* one count */
        const uint64_t *fixed; /* words of fixed arguments, as pack.h writes them */
    };
    lz_node *chain; /* next of the same bucket */
    lz_loc at;
    const char *scope; /* interned; NULL: none */
    uint64_t born;     /* its number: above those of its operands */
    uint32_t refs;
    uint32_t mark;                        /* free for a walk: the context's current walk number */
    uint32_t index;                       /* in that walk */
    uint32_t size;                        /* bytes of all of it */
    uint16_t nargs, nout, nin, op_number; /* op_number: place of op in lz_op_table, 0 for data */
    uint32_t nfixed;                      /* words */
    uint16_t nnumbers;
    uint32_t depth : 31; /* operators on the longest way to data */
    bool passed : 1;     /* a sync computed it and did not keep it: the next one keeps it */
    uint32_t bucket;     /* hash of what it is found by: structure and operands */
    const lz_slot *args;
    const lz_output *in;
    lz_scalar *numbers;
    const lz_spec *const *specs; /* of outputs: only dtype and sizes mean something */
};

/* n words of 8 bytes to where `to` points; the end of them. They are few: a call of memcpy would cost more,
 * and the barrier keeps the compiler from making it one. */
static inline uint64_t *lz_copy_words(uint64_t *to, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(&to[i], (const char *)from + i * sizeof *to, sizeof *to);
        __asm__ volatile("" : : : "memory");
    }
    return to + n;
}

/* ---- what the recorder makes ---- */

typedef struct lz_nodes lz_nodes; /* memory, hash-consing table and trie of a context */

LZ_MUST_USE lz_err *lz_nodes_create(lz_nodes **out);
void lz_nodes_destroy(lz_nodes *t);
/* Nodes and bytes that are there now: the first member of lz_nodes, since every recorded call asks. */
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
void lz_nodes_trim(lz_nodes *t);           /* frees memory that no node is in */
uint64_t lz_nodes_born(const lz_nodes *t); /* the number of the latest */

/* Takes over one count of the data. */
LZ_MUST_USE lz_err *lz_node_data(lz_nodes *t, lz_data *d, const lz_spec *s, lz_loc at, lz_node **out);
/* args: of the schema, in its order; tensors among them are given by `in` in that order
 * (an absent one in a list: node NULL), of the values only kinds and counts matter. Operands
 * get one more count each. */
LZ_MUST_USE lz_err *lz_node_op_create(lz_nodes *t, const lz_op_row *op, const lz_value *args,
                                      const lz_output *in, size_t nin, const lz_spec *const *specs,
                                      size_t nout, lz_loc at, lz_node **out);

/* A node without operands and place: what all nodes of one kind have in common. Slots, specs and fixed words
 * lie behind one another, as they do in a node, with room for one more word behind them. */
typedef struct lz_node_form {
    lz_hash hash;
    const lz_op_row *op;
    const lz_slot *slots;
    const lz_spec *const *specs;
    const uint64_t *fixed;
    uint16_t nslots, nout, nin, op_number;
    uint32_t nfixed;
    uint16_t nnumbers;
    uint32_t size; /* bytes of a node, a multiple of 16 */
} lz_node_form;

/* Words that slots, specs and fixed words of the form take. */
static inline size_t lz_node_form_words(const lz_node_form *f)
{
    return (size_t)f->nslots + f->nout + f->nfixed + 1;
}
/* Copies the three parts, wherever they are, to memory of lz_node_form_words words: the form's from now on.
 */
void lz_node_form_join(lz_node_form *f, void *words);
/* Sets hash, size and op_number of a form whose parts are joined. */
void lz_node_form_finish(lz_node_form *f);
/* Finds or makes; *out is one count of the caller. Numbers are copied. */
LZ_MUST_USE lz_err *lz_node_make(lz_nodes *t, const lz_node_form *f, const lz_output *in,
                                 const lz_scalar *numbers, lz_loc at, const char *scope, lz_node **out);

static inline lz_node *lz_node_retain(lz_node *n)
{
    n->refs++;
    return n;
}
void lz_node_free(lz_nodes *t, lz_node *n);                 /* its last count has gone */
static inline void lz_node_release(lz_nodes *t, lz_node *n) /* NULL does nothing */
{
    if (n && --n->refs == 0)
        lz_node_free(t, n);
}

#endif
