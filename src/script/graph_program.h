/* graph_program.h - a graph made ready to run: blocks of instructions over numbered slots.
 *
 * Runs of operators, together with what only looks at numbers and sizes between them,
 * are one instruction each, a segment. Everything else is run one by one. A program
 * borrows the graph's nodes: it holds a count of the graph, which must not be changed. */
#ifndef LZ_SCRIPT_GRAPH_PROGRAM_H
#define LZ_SCRIPT_GRAPH_PROGRAM_H

#include "graph/ir.h"

typedef struct lz_pblock lz_pblock;
typedef struct lz_segment lz_segment;

typedef enum lz_ikind {
    LZ_INST_OP,      /* an operator; only within segments */
    LZ_INST_BUILTIN, /* of numbers, strings, lists, ... */
    LZ_INST_LIST,
    LZ_INST_LIST_UNPACK,
    LZ_INST_TUPLE,
    LZ_INST_TUPLE_UNPACK,
    LZ_INST_TUPLE_INDEX,
    LZ_INST_TUPLE_SLICE,
    LZ_INST_DICT,
    LZ_INST_UNINITIALIZED,
    LZ_INST_SAME, /* prim::unchecked_cast */
    LZ_INST_IF,
    LZ_INST_LOOP,
    LZ_INST_SEGMENT,
    LZ_INST_UNKNOWN, /* fails */
    LZ_INST_KINDS
} lz_ikind;

typedef struct lz_inst {
    lz_ikind kind;
    uint32_t nin, nout, ndead;
    const uint32_t *in, *out; /* slots; within a segment its own */
    const uint32_t *dead;     /* slots that nobody reads after this */
    const lz_ir_node *node;   /* of a segment its first */
    lz_pblock *blocks[2];
    lz_segment *segment;
} lz_inst;

struct lz_pblock {
    lz_inst *insts;
    uint32_t n, nparams, nrets;
    const uint32_t *params, *rets;
    const bool *own_ret; /* the slot belongs to this block */
};

typedef struct lz_pconstant {
    uint32_t slot;
    lz_gv value; /* counted */
} lz_pconstant;

typedef struct lz_gprogram {
    lz_arena arena;
    lz_graph *graph;
    lz_pblock *main;
    uint32_t n_slots;
    lz_pconstant *constants;
    size_t n_constants;
    lz_segment **segments;
    size_t n_segments;
} lz_gprogram;

LZ_MUST_USE lz_err *lz_gprogram_create(lz_graph *g, lz_gprogram **out);
void lz_gprogram_destroy(lz_gprogram *p);

/* An error of a node: what it is, where it stands. Takes e; NULL stays NULL. */
LZ_MUST_USE lz_err *lz_gprogram_error(const lz_gprogram *p, const lz_ir_node *n, lz_err *e);

#endif
