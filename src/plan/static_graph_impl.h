/* straight_impl.h - what the files of straight graphs share. */
#ifndef LZ_PLAN_STATIC_GRAPH_IMPL_H
#define LZ_PLAN_STATIC_GRAPH_IMPL_H

#include "base/vec.h"
#include "plan/plan.h"
#include "plan/static_graph.h"

/* Where a tensor is kept from one step to another: the inputs of the graph first. */
typedef struct lz_splace {
    lz_dtype dtype;
    lz_ints sizes;
    uint32_t last;    /* 1 + the step that reads it last; 0: none does */
    bool is_output;   /* of the graph */
    bool is_number;   /* an input that is none */
    bool is_position; /* such a number: where random numbers begin */
    /* A part of another place that begins at a run-time number, for one step: */
    bool is_moved;
    bool is_read;    /* some launch reads it */
    uint32_t base;   /* that place */
    uint32_t number; /* the input that is the number */
    int64_t bytes;   /* to one of its steps */
} lz_splace;

/* A plan: its input slots are places, its numbers inputs of the graph, its outputs the
 * places from first_out on. */
typedef struct lz_sstep {
    lz_plan *plan;
    const lz_ir_node *const *nodes; /* by origin */
    const uint32_t *last;           /* places that nobody reads afterwards */
    size_t n_nodes, n_last, n_out;
    uint32_t first_moved; /* places from here to first_out are moved ones */
    uint32_t first_out;
} lz_sstep;

struct lz_straight {
    lz_graph *graph; /* one count */
    lz_arena arena;
    LZ_VEC(lz_splace) places;
    LZ_VEC(lz_sstep) steps;
    uint32_t *outputs; /* places */
    size_t n_inputs, n_outputs;
    size_t most_out; /* of a step */
    size_t launches; /* of all steps */
};

#endif
