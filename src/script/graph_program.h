/* graph_program.h - a graph prepared to run: blocks of instructions over numbered slots.
 *
 * A sequence of operators, together with the instructions on numbers and sizes between them,
 * is one instruction, a segment. All other instructions run one by one. A program borrows the
 * graph's nodes: it holds a count of the graph, which must not change. */
#ifndef LZ_SCRIPT_GRAPH_PROGRAM_H
#define LZ_SCRIPT_GRAPH_PROGRAM_H

#include "graph/ir.h"

typedef struct lz_script_block lz_script_block;
typedef struct lz_segment lz_segment;

typedef enum lz_script_instr_kind {
    LZ_SCRIPT_INSTR_OP,      /* an operator; only within segments */
    LZ_SCRIPT_INSTR_BUILTIN, /* of numbers, strings, lists, ... */
    LZ_SCRIPT_INSTR_LIST,
    LZ_SCRIPT_INSTR_LIST_UNPACK,
    LZ_SCRIPT_INSTR_TUPLE,
    LZ_SCRIPT_INSTR_TUPLE_UNPACK,
    LZ_SCRIPT_INSTR_TUPLE_INDEX,
    LZ_SCRIPT_INSTR_TUPLE_SLICE,
    LZ_SCRIPT_INSTR_DICT,
    LZ_SCRIPT_INSTR_UNINITIALIZED,
    LZ_SCRIPT_INSTR_SAME, /* prim::unchecked_cast */
    LZ_SCRIPT_INSTR_IF,
    LZ_SCRIPT_INSTR_LOOP,
    LZ_SCRIPT_INSTR_SEGMENT,
    LZ_SCRIPT_INSTR_UNKNOWN, /* fails when it runs */
    LZ_SCRIPT_INSTR_KINDS
} lz_script_instr_kind;

typedef struct lz_script_instr {
    lz_script_instr_kind kind;
    uint32_t nin, nout, ndead;
    const uint32_t *in, *out; /* slots; within a segment: locals */
    const uint32_t *dead;     /* slots that no later instruction reads */
    const lz_ssa_node *node;  /* of a segment: its first node */
    lz_script_block *blocks[2];
    lz_segment *segment;
} lz_script_instr;

struct lz_script_block {
    lz_script_instr *insts;
    uint32_t n, nparams, nrets;
    const uint32_t *params, *rets;
    const bool *own_ret; /* by result: the slot belongs to this block */
};

typedef struct lz_script_constant {
    uint32_t slot;
    lz_script_value value; /* counted */
} lz_script_constant;

typedef struct lz_script_program {
    lz_arena arena;
    lz_graph *graph;
    lz_script_block *main;
    uint32_t n_slots;
    lz_script_constant *constants;
    size_t n_constants;
    lz_segment **segments;
    size_t n_segments;
} lz_script_program;

LZ_MUST_USE lz_err *lz_script_program_create(lz_graph *g, lz_script_program **out);
void lz_script_program_destroy(lz_script_program *p);

/* Adds the node's operator and location to an error. Takes e; NULL stays NULL. */
LZ_MUST_USE lz_err *lz_script_program_error(const lz_script_program *p, const lz_ssa_node *n, lz_err *e);

#endif
