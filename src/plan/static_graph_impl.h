/* static_graph_impl.h - what the files of static graphs share. */
#ifndef LZ_PLAN_STATIC_GRAPH_IMPL_H
#define LZ_PLAN_STATIC_GRAPH_IMPL_H

#include "base/vec.h"
#include "plan/plan.h"
#include "plan/static_graph.h"

/* A value that is kept from one step to another: first the inputs of the graph, then outputs of steps. */
typedef struct lz_static_place {
    lz_dtype dtype;
    lz_ints sizes;
    lz_ints strides;  /* v NULL: row-major */
    uint32_t shows;   /* 1 + the place whose buffer this place uses, unchanged; 0: it has its own buffer */
    uint32_t last;    /* 1 + the last step that reads the place; 0: no step does */
    bool is_output;   /* of the graph */
    bool is_number;   /* an input that is a number, not a tensor */
    bool is_position; /* an input that is the position of a random operator */
    /* A part of another place that begins at a run-time number, for one step: */
    bool is_moved;
    bool is_read;    /* some launch reads it */
    uint32_t base;   /* the place of which this is a part */
    uint32_t number; /* the input that is the run-time number */
    int64_t bytes;   /* the offset in bytes is this times the number */
} lz_static_place;

/* A plan: its input slots are places, its numbers inputs of the graph, its outputs the
 * places from first_out on. */
typedef struct lz_static_step {
    lz_plan *plan;
    const lz_ssa_node *const *nodes; /* by origin */
    const uint32_t *last;            /* places that no later step reads */
    size_t n_nodes, n_last, n_out;
    uint32_t first_moved; /* places from here to first_out are parts of other places */
    uint32_t first_out;
} lz_static_step;

struct lz_static_graph {
    lz_graph *graph; /* one count */
    lz_arena arena;
    LZ_VEC(lz_static_place) places;
    LZ_VEC(lz_static_step) steps;
    uint32_t *outputs; /* places */
    size_t n_inputs, n_outputs;
    size_t most_out; /* of a step */
    size_t launches; /* of all steps */
    uint64_t draws;  /* draws of random operators without a position */
};

#endif
