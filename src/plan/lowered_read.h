/* lowered_read.h - what the files that read lowered programs share.
 *
 * Values of the graph are marked with what they have been read as. Every node is checked, so
 * that whatever is accepted can be planned; errors are at the node's place in the text. */
#ifndef LZ_PLAN_LOWERED_READ_H
#define LZ_PLAN_LOWERED_READ_H

#include "plan/lowered.h"

/* What a value of the graph is here. */
typedef enum lz_lread_kind {
    LZ_READ_NODE,   /* of the DAG; an input or a buffer of launches */
    LZ_READ_VIEW,   /* node: only its dtype and sizes; of base */
    LZ_READ_ITEM,   /* of the group being read */
    LZ_READ_SOURCE, /* a parameter or a constant */
} lz_lread_kind;

typedef struct lz_lvalue_read {
    lz_lread_kind kind;
    const lz_ir_value *value;
    const lz_ln *node;
    uint32_t item, step;
    uint32_t base; /* of a view: 1 + that value */
    int64_t offset;
    const int64_t *strides;
} lz_lvalue_read;

typedef struct lz_lread_buffer {
    const lz_ln *node;
    lz_lbuffer memory;
} lz_lread_buffer;

typedef struct lz_lreader {
    lz_graph *g;
    lz_lowered *l;
    lz_lower *b;
    LZ_VEC(lz_lvalue_read) values; /* by the mark of a value, from 1 */
    LZ_VEC(lz_lread_buffer) buffers;
    LZ_VEC(uint32_t) aliases; /* views that stand for their buffer with other sizes */
    lz_group *group;          /* being read */
    bool memory;              /* lz::memory has been seen */
} lz_lreader;

typedef struct lz_lreading {
    const lz_ir_node *n;
    lz_low_proto p; /* in: of operands that are nodes or items */
} lz_lreading;

/* ---- lowered_attr.c: attributes and types ---- */

LZ_ERROR lz_err *lz_lread_wrong(const lz_lreader *r, const lz_ir_node *n, const char *what);
LZ_MUST_USE lz_err *lz_lread_int(const lz_lreader *r, const lz_ir_node *n, const char *name, int64_t *out);
LZ_MUST_USE lz_err *lz_lread_int_or(const lz_lreader *r, const lz_ir_node *n, const char *name,
                                    int64_t absent, int64_t *out);
LZ_MUST_USE lz_err *lz_lread_str(const lz_lreader *r, const lz_ir_node *n, const char *name, lz_str *out);
LZ_MUST_USE lz_err *lz_lread_ints(const lz_lreader *r, const lz_ir_node *n, const char *name,
                                  lz_ints *out); /* any number of them */
LZ_MUST_USE lz_err *lz_lread_exactly(const lz_lreader *r, const lz_ir_node *n, const char *name,
                                     int64_t count, const int64_t **out);
/* rows < 0: any number of them, told in *rows. */
LZ_MUST_USE lz_err *lz_lread_rows(const lz_lreader *r, const lz_ir_node *n, const char *name, int64_t *rows,
                                  int64_t width, int64_t **out);
/* Ascending numbers below 64. */
LZ_MUST_USE lz_err *lz_lread_bits(const lz_lreader *r, const lz_ir_node *n, const char *name, uint64_t *out);
/* The complete type of the only output. */
LZ_MUST_USE lz_err *lz_lread_type(const lz_lreader *r, const lz_ir_node *n, lz_dtype *dtype, lz_ints *sizes);

LZ_MUST_USE lz_err *lz_lread_know(lz_lreader *r, lz_ir_value *v, lz_lvalue_read what);
LZ_MUST_USE lz_err *lz_lread_value(const lz_lreader *r, const lz_ir_node *n, uint32_t i,
                                   lz_lvalue_read **out); /* of input i; borrowed until the next is known */

/* ---- lowered_read_node.c ---- */

/* The slot of a parameter or constant, the first operand; new ones are added. */
LZ_MUST_USE lz_err *lz_lread_slot(lz_lreader *r, const lz_ir_node *n, bool number, int64_t *out);
/* Something with a dtype and sizes that is like no other. */
LZ_MUST_USE lz_err *lz_lread_shape(lz_lreader *r, lz_dtype d, lz_ints sizes, const lz_ln **out);
/* A node of the DAG, or what an item of the group computes. */
LZ_MUST_USE lz_err *lz_lread_node(lz_lreader *r, const lz_ir_node *n, lz_lkind kind, const lz_ln **out);
LZ_MUST_USE lz_err *lz_lread_call(lz_lreader *r, lz_lreading *at, const lz_ln **out);

/* ---- lowered_read_launch.c ---- */

/* An input or buffer, or a view that shows all of a buffer in order. */
LZ_MUST_USE lz_err *lz_lread_memory(lz_lreader *r, const lz_ir_node *n, uint32_t i, const lz_ln **out);
LZ_MUST_USE lz_err *lz_lread_group(lz_lreader *r, lz_ir_node *n);
LZ_MUST_USE lz_err *lz_lread_run(lz_lreader *r, lz_ir_node *n);

#endif
