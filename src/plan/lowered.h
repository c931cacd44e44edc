/* lowered.h - lowered programs as graphs of lz:: nodes: read, written, improved.
 *
 * A lowered program is a DAG (lower.h), and after fusion groups and calls in the order
 * they run (fuse.h). Its graph says all there is: reading what was written and writing it
 * again gives the same text. docs/graph.md lists the nodes. */
#ifndef LZ_PLAN_LOWERED_H
#define LZ_PLAN_LOWERED_H

#include "graph/ir.h"
#include "lower/lower_impl.h"
#include "pass/pass.h"
#include "plan/plan_impl.h"

enum { LZ_SEED_PARAM = UINT32_MAX - 2, LZ_STREAM_PARAM, LZ_NO_PARAM };

/* What a slot of inputs or of run-time numbers is. */
typedef struct lz_lsource {
    uint32_t param; /* of the graph; LZ_NO_PARAM: the constant */
    lz_gv value;    /* borrowed from the graph */
    const lz_type *type;
} lz_lsource;

/* A result of the graph: a strided view. */
typedef struct lz_lresult {
    int32_t output; /* of the program; -1: of an input */
    int64_t slot;   /* that input */
    bool whole;     /* the output or input itself; the rest is not set */
    lz_dtype dtype;
    lz_ints sizes, strides;
    int64_t offset;
} lz_lresult;

/* The storage of an input gets an output. */
typedef struct lz_lwrite {
    int64_t slot;
    int32_t output;
} lz_lwrite;

/* Of a node that owns a buffer. */
typedef struct lz_lbuffer {
    const lz_ln *shares; /* whose memory it takes; an INPUT: if that is given away */
    bool placed;
    bool output; /* a buffer of its own; otherwise `where` bytes into the temporaries */
    int64_t bytes, where;
} lz_lbuffer;

typedef struct lz_lowered {
    const lz_graph *graph;              /* whose parameters and constants it is about; borrowed */
    lz_lower *dag;                      /* borrowed, and its arena */
    LZ_VEC(lz_loc) origins;             /* where in the program nodes come from */
    LZ_VEC(lz_lsource) inputs, scalars; /* by slot */
    LZ_VEC(const lz_ln *) outputs;
    LZ_VEC(lz_lresult) results;
    LZ_VEC(lz_lwrite) writes;
    bool is_fused; /* then there is */
    lz_fused fused;
    lz_lbuffer *buffers; /* by id; NULL: nothing is known of memory */
    bool placed;         /* memory is planned: */
    int64_t temporaries, peak, donated;
} lz_lowered;

void lz_lowered_deinit(lz_lowered *l);

/* Whether the graph has lz:: nodes; whether they are launches. */
bool lz_graph_is_lowered(const lz_graph *g);
bool lz_graph_is_fused(const lz_graph *g);

/* A graph of operators becomes one of lz:: nodes (lowered_make.c). */
LZ_MUST_USE lz_err *lz_graph_lower(lz_graph *g);

/* A graph of its own. */
LZ_MUST_USE lz_err *lz_lowered_write(const lz_lowered *l, lz_graph **out);
/* An empty DAG is filled; errors have places in the graph's text. */
LZ_MUST_USE lz_err *lz_lowered_read(lz_graph *g, lz_lower *dag, lz_lowered *out);

/* The plan that a fused program says: with the sharing that it has, and its memory. *buffer_of
 * (may be NULL): as lz_plan_lay gives it. */
LZ_MUST_USE lz_err *lz_lowered_plan(lz_lowered *l, lz_plan **out, uint32_t **buffer_of);

/* ---- lowered_node.c: nodes by name ---- */

const char *lz_lkind_name(lz_lkind kind); /* "lz::map" */
bool lz_lkind_find(lz_str name, lz_lkind *out);
const char *lz_reduce_name(lz_kreduce op);
bool lz_reduce_find(lz_str name, lz_kreduce *out);
/* Which rule of its kind a node that is to be made breaks; NULL: none. Those that the
 * builder's functions check are not looked at. */
const char *lz_low_check(const lz_low_proto *p);

/* ---- passes ---- */

lz_pass_fn lz_pass_lower, lz_pass_views, lz_pass_fuse, lz_pass_inplace, lz_pass_memory;

#endif
