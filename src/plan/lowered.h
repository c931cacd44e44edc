/* lowered.h - lowered programs as graphs of lz:: nodes: read, written, improved.
 *
 * A lowered program is a DAG (lower.h), and after fusion a list of groups and calls in the order
 * they run (fuse.h). The graph holds the complete program: writing it, reading it and writing it
 * again gives the same text. docs/graph.md lists the nodes. */
#ifndef LZ_PLAN_LOWERED_H
#define LZ_PLAN_LOWERED_H

#include "graph/ir.h"
#include "lower/lower_impl.h"
#include "pass/pass.h"
#include "plan/plan_impl.h"

enum { LZ_SEED_PARAM = UINT32_MAX - 2, LZ_STREAM_PARAM, LZ_NO_PARAM };

enum { LZ_LOWERED_MOVES = 8 };

/* The source of a slot of inputs or of run-time numbers: a parameter or a constant of the graph. An input may
 * be a part of its source that begins at run-time numbers: the sum of bytes[i] times parameter numbers[i]. */
typedef struct lz_lowered_source {
    uint32_t param;        /* of the graph; LZ_NO_PARAM: the constant */
    lz_script_value value; /* borrowed from the graph */
    const lz_type *type;
    uint32_t n_moves;
    uint32_t numbers[LZ_LOWERED_MOVES];
    int64_t bytes[LZ_LOWERED_MOVES];
} lz_lowered_source;

/* A result of the graph: a strided view. */
typedef struct lz_lowered_result {
    int32_t output; /* of the program; -1: of an input */
    int64_t slot;   /* that input */
    bool whole;     /* the output or input itself; the rest is not set */
    lz_dtype dtype;
    lz_ints sizes, strides;
    int64_t offset;
} lz_lowered_result;

/* An output that is written back to the storage of an input. */
typedef struct lz_lowered_write_back {
    int64_t slot;
    int32_t output;
} lz_lowered_write_back;

/* The memory of a node that owns a buffer. */
typedef struct lz_lowered_buffer {
    const lz_low_node *shares; /* the node whose memory this buffer uses; an INPUT: only if it is donated */
    bool placed;
    bool output; /* a buffer of its own; otherwise `where` bytes into the temporaries */
    int64_t bytes, where;
} lz_lowered_buffer;

typedef struct lz_lowered {
    const lz_graph *graph;                     /* the graph of the parameters and constants; borrowed */
    lz_lower *dag;                             /* borrowed, and its arena */
    LZ_VEC(lz_loc) origins;                    /* source locations of the nodes */
    LZ_VEC(lz_lowered_source) inputs, scalars; /* by slot */
    LZ_VEC(const lz_low_node *) outputs;
    LZ_VEC(lz_lowered_result) results;
    LZ_VEC(lz_lowered_write_back) writes;
    bool is_fused; /* the graph has groups and calls; then `fused` is valid */
    lz_fused fused;
    lz_lowered_buffer *buffers; /* by id; NULL: buffers are not planned */
    bool placed;                /* memory is planned: */
    int64_t temporaries, peak, donated;
} lz_lowered;

void lz_lowered_deinit(lz_lowered *l);

/* Whether the graph has lz:: nodes; whether they are launches. */
bool lz_graph_is_lowered(const lz_graph *g);
bool lz_graph_is_fused(const lz_graph *g);

/* Turns a graph of operators into a graph of lz:: nodes (lowered_make.c). */
LZ_MUST_USE lz_err *lz_graph_lower(lz_graph *g);

/* Writes the program as a new graph. */
LZ_MUST_USE lz_err *lz_lowered_write(const lz_lowered *l, lz_graph **out);
/* Fills an empty DAG; errors have a location in the graph's text. */
LZ_MUST_USE lz_err *lz_lowered_read(lz_graph *g, lz_lower *dag, lz_lowered *out);

/* The plan of a fused program, with the sharing and the memory that the program states. *buffer_of
 * (may be NULL): as in lz_plan_lay. */
LZ_MUST_USE lz_err *lz_lowered_plan(lz_lowered *l, lz_plan **out, uint32_t **buffer_of);

/* ---- lowered_node.c: nodes by name ---- */

const char *lz_low_kind_name(lz_low_kind kind); /* "lz::map" */
bool lz_low_kind_find(lz_str name, lz_low_kind *out);
const char *lz_reduce_name(lz_kernel_reduction op);
bool lz_reduce_find(lz_str name, lz_kernel_reduction *out);
/* The rule of its kind that a new node breaks; NULL: none. Rules that the builder's functions check are not
 * checked here. */
const char *lz_low_check(const lz_low_proto *p);

/* ---- passes ---- */

lz_pass_fn lz_pass_lower, lz_pass_views, lz_pass_fuse, lz_pass_inplace, lz_pass_memory;

#endif
