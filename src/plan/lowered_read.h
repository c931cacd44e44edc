/* lowered_read.h - what the files that read lowered programs share.
 *
 * A mark on each value of the graph says what the value was read as. Every node is checked, so
 * that every accepted graph can be planned; errors have the node's location in the text. */
#ifndef LZ_PLAN_LOWERED_READ_H
#define LZ_PLAN_LOWERED_READ_H

#include "plan/lowered.h"

/* The form in which a value of the graph was read. */
typedef enum lz_lowered_read_kind {
    LZ_READ_NODE,   /* of the DAG; an input or a buffer of launches */
    LZ_READ_VIEW,   /* node: only its dtype and sizes; of base */
    LZ_READ_ITEM,   /* of the group being read */
    LZ_READ_SOURCE, /* a parameter or a constant */
} lz_lowered_read_kind;

typedef struct lz_lowered_value_reading {
    lz_lowered_read_kind kind;
    const lz_ssa_value *value;
    const lz_low_node *node;
    uint32_t item, step;
    uint32_t base; /* of a view: 1 + that value */
    int64_t offset;
    const int64_t *strides;
} lz_lowered_value_reading;

typedef struct lz_lowered_read_buffer {
    const lz_low_node *node;
    lz_lowered_buffer memory;
} lz_lowered_read_buffer;

typedef struct lz_lowered_reader {
    lz_graph *g;
    lz_lowered *l;
    lz_lower *b;
    LZ_VEC(lz_lowered_value_reading) values; /* by the mark of a value, from 1 */
    LZ_VEC(lz_lowered_read_buffer) buffers;
    LZ_VEC(uint32_t) aliases; /* views that stand for their buffer with other sizes */
    lz_group *group;          /* being read */
    bool memory;              /* lz::memory has been seen */
} lz_lowered_reader;

typedef struct lz_lowered_reading {
    const lz_ssa_node *n;
    lz_low_proto p; /* in: of operands that are nodes or items */
} lz_lowered_reading;

/* ---- lowered_attr.c: attributes and types ---- */

LZ_ERROR lz_err *lz_lowered_read_wrong(const lz_lowered_reader *r, const lz_ssa_node *n, const char *what);
LZ_MUST_USE lz_err *lz_lowered_read_int(const lz_lowered_reader *r, const lz_ssa_node *n, const char *name,
                                        int64_t *out);
LZ_MUST_USE lz_err *lz_lowered_read_int_or(const lz_lowered_reader *r, const lz_ssa_node *n, const char *name,
                                           int64_t absent, int64_t *out);
LZ_MUST_USE lz_err *lz_lowered_read_str(const lz_lowered_reader *r, const lz_ssa_node *n, const char *name,
                                        lz_str *out);
LZ_MUST_USE lz_err *lz_lowered_read_ints(const lz_lowered_reader *r, const lz_ssa_node *n, const char *name,
                                         lz_ints *out); /* any number of them */
LZ_MUST_USE lz_err *lz_lowered_read_exactly(const lz_lowered_reader *r, const lz_ssa_node *n,
                                            const char *name, int64_t count, const int64_t **out);
/* *rows < 0 on entry: any number of rows, and *rows is set to it. */
LZ_MUST_USE lz_err *lz_lowered_read_rows(const lz_lowered_reader *r, const lz_ssa_node *n, const char *name,
                                         int64_t *rows, int64_t width, int64_t **out);
/* Ascending numbers below 64. */
LZ_MUST_USE lz_err *lz_lowered_read_bits(const lz_lowered_reader *r, const lz_ssa_node *n, const char *name,
                                         uint64_t *out);
/* The complete type of the only output. */
LZ_MUST_USE lz_err *lz_lowered_read_type(const lz_lowered_reader *r, const lz_ssa_node *n, lz_dtype *dtype,
                                         lz_ints *sizes);

LZ_MUST_USE lz_err *lz_lowered_read_know(lz_lowered_reader *r, lz_ssa_value *v,
                                         lz_lowered_value_reading what);
LZ_MUST_USE lz_err *
lz_lowered_read_value(const lz_lowered_reader *r, const lz_ssa_node *n, uint32_t i,
                      lz_lowered_value_reading **out); /* of input i; borrowed until the next is known */

/* ---- lowered_read_node.c ---- */

/* The slot of a parameter or constant, the first operand; new ones are added. */
LZ_MUST_USE lz_err *lz_lowered_read_slot(lz_lowered_reader *r, const lz_ssa_node *n, bool number,
                                         int64_t *out);
/* A node with a dtype and sizes that is equal to no other node. */
LZ_MUST_USE lz_err *lz_lowered_read_shape(lz_lowered_reader *r, lz_dtype d, lz_ints sizes,
                                          const lz_low_node **out);
/* A node of the DAG, or what an item of the group computes. */
LZ_MUST_USE lz_err *lz_lowered_read_node(lz_lowered_reader *r, const lz_ssa_node *n, lz_low_kind kind,
                                         const lz_low_node **out);
LZ_MUST_USE lz_err *lz_lowered_read_call(lz_lowered_reader *r, lz_lowered_reading *at,
                                         const lz_low_node **out);

/* ---- lowered_read_launch.c ---- */

/* An input or buffer, or a view that shows all of a buffer in order. */
LZ_MUST_USE lz_err *lz_lowered_read_memory(lz_lowered_reader *r, const lz_ssa_node *n, uint32_t i,
                                           const lz_low_node **out);
LZ_MUST_USE lz_err *lz_lowered_read_group(lz_lowered_reader *r, lz_ssa_node *n);
LZ_MUST_USE lz_err *lz_lowered_read_run(lz_lowered_reader *r, lz_ssa_node *n);

#endif
