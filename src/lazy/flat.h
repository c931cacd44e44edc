/* flat.h - a graph as words: what the cache compares, and all that a compilation needs.
 *
 * Two graphs are the same exactly if their words are. Nodes come in post-order; an operand is
 * named by its place. Neither the values of run-time numbers nor the identity of data is in
 * it, only which operands are the same data. Words hold no pointers and depend on no context. */
#ifndef LZ_LAZY_FLAT_H
#define LZ_LAZY_FLAT_H

#include "base/hash.h"
#include "base/vec.h"
#include "lazy/node.h"

typedef LZ_VEC(uint64_t) lz_words;

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

lz_flat_node lz_flat_read(const uint64_t *at);
static inline const uint64_t *lz_flat_first(const uint64_t *words)
{
    return words + LZ_FLAT_HEAD;
}
/* The type of an output; sizes lie in the words. */
lz_data_type lz_flat_type(const lz_flat_node *n, uint32_t output);

#endif
