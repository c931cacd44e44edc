/* flat.h - a graph as words: what the cache compares, and all that a compilation needs.
 *
 * Two graphs are equal exactly if their words are equal. Nodes come in post-order; their index in it is
 * called their place, and operands are named by place. The words contain neither the values of run-time
 * numbers nor the identity of data, only which operands are the same data. They contain no pointers and
 * depend on no context. */
#ifndef LZ_LAZY_FLAT_H
#define LZ_LAZY_FLAT_H

#include "base/hash.h"
#include "core/value_kind.h"
#include "lazy/node.h"

/* words[0]: type and index of the device, number of nodes; words[1]: data, roots;
 * words[2]: hash of the operators that must not run on the device. Then nodes, then roots. */
enum { LZ_FLAT_HEAD = 3 };

typedef struct lz_flat {
    const uint64_t *words;
    size_t n;
    lz_hash hash;
} lz_flat;

static inline uint32_t lz_flat_nodes(const uint64_t *w)
{
    return (uint32_t)w[0];
}
static inline lz_device lz_flat_device(const uint64_t *w)
{
    return (lz_device){ (int16_t)(w[0] >> 48), (int16_t)(w[0] >> 32) };
}
/* words[0] of the same graph on another device. */
static inline uint64_t lz_flat_on_device(uint64_t word, lz_device d)
{
    return (uint32_t)word | (uint64_t)(uint16_t)d.type << 48 | (uint64_t)(uint16_t)d.index << 32;
}
static inline uint32_t lz_flat_leaves(const uint64_t *w)
{
    return (uint32_t)(w[1] >> 32);
}
static inline uint32_t lz_flat_roots(const uint64_t *w)
{
    return (uint32_t)w[1];
}

/* An output is named by the place of its node and its index; 0 stands for an absent operand. */
static inline uint64_t lz_flat_ref(uint32_t place, uint32_t output)
{
    return ((uint64_t)place << 16 | output) + 1;
}
static inline uint32_t lz_flat_ref_place(uint64_t ref)
{
    return (uint32_t)((ref - 1) >> 16);
}
static inline uint32_t lz_flat_ref_output(uint64_t ref)
{
    return (uint16_t)(ref - 1);
}

/* A node as it lies in the words. */
typedef struct lz_flat_node {
    uint32_t op; /* 0: data */
    uint16_t nin, nout, nargs, nnumbers;
    uint32_t nfixed;
    const uint64_t *in;    /* refs */
    const uint64_t *args;  /* lz_slot */
    const uint64_t *fixed; /* as pack.h writes them */
    const uint64_t *types; /* for each output: dtype << 32 | ndim, then the sizes */
    const uint64_t *end;   /* the next node, or the first root */
} lz_flat_node;

/* Reads all members but `end`, which follows the types of all outputs. */
static inline lz_flat_node lz_flat_head(const uint64_t *at)
{
    lz_flat_node n = { .op = (uint32_t)(at[0] >> 48),
                       .nin = (uint16_t)(at[0] >> 32),
                       .nout = (uint16_t)(at[0] >> 16),
                       .nargs = (uint16_t)at[0],
                       .nnumbers = (uint16_t)(at[1] >> 32),
                       .nfixed = (uint32_t)at[1] };
    n.in = at + 2;
    n.args = n.in + n.nin;
    n.fixed = n.args + n.nargs;
    n.types = n.fixed + n.nfixed;
    return n;
}
lz_flat_node lz_flat_read(const uint64_t *at);
static inline const uint64_t *lz_flat_first(const uint64_t *words)
{
    return words + LZ_FLAT_HEAD;
}
static inline lz_slot lz_flat_slot(const lz_flat_node *n, size_t i)
{
    lz_slot s;
    memcpy(&s, &n->args[i], sizeof s);
    return s;
}
/* Reads a type (lz_flat_node.types); and where the next type begins. */
static inline lz_data_type lz_flat_type_at(const uint64_t *type)
{
    return (lz_data_type){ (lz_dtype)(*type >> 32), { (const int64_t *)(type + 1), (uint32_t)*type } };
}
static inline const uint64_t *lz_flat_next_type(const uint64_t *type)
{
    return type + 1 + (uint32_t)*type;
}
/* The type of an output; its sizes point into the words. Takes time linear in `output`. */
lz_data_type lz_flat_type(const lz_flat_node *n, uint32_t output);

#endif
