/* ir.h - the graph: typed values, made once by nodes that stand in blocks.
 *
 * Everything belongs to the graph's arena and goes with it; what is erased is only taken
 * out. Each value knows its uses, so replacing and erasing cost as much as there are
 * uses. A block begins with a node that makes its parameters and ends with one that
 * takes its results; both are nodes like others, and are never erased. Nothing here or
 * above walks a graph by recursion. */
#ifndef LZ_GRAPH_IR_H
#define LZ_GRAPH_IR_H

#include "graph/builtins.h"
#include "graph/graph_type.h"
#include "graph/gvalue.h"
#include <lazuli/graph.h>
#include <lazuli/schema.h>

typedef struct lz_ir_value lz_ir_value;
typedef struct lz_ir_node lz_ir_node;
typedef struct lz_ir_block lz_ir_block;
typedef struct lz_ir_use lz_ir_use;

enum { LZ_BLOCK_DEPTH = 128 }; /* blocks within blocks, at most */

/* Nodes that are neither operators nor built-ins. */
typedef enum lz_prim {
    LZ_PRIM_NONE,
    LZ_PRIM_PARAM,  /* makes a block's parameters */
    LZ_PRIM_RETURN, /* takes a block's results */
    LZ_PRIM_CONSTANT,
    LZ_PRIM_IF,
    LZ_PRIM_LOOP,
    LZ_PRIM_LIST,
    LZ_PRIM_LIST_UNPACK,
    LZ_PRIM_TUPLE,
    LZ_PRIM_TUPLE_UNPACK,
    LZ_PRIM_TUPLE_INDEX,
    LZ_PRIM_TUPLE_SLICE,
    LZ_PRIM_DICT,
    LZ_PRIM_UNINITIALIZED,
    LZ_PRIM_CAST, /* prim::unchecked_cast: the type is known better than the value says */
    LZ_PRIM_COUNT
} lz_prim;

/* What a node is called, once a graph; and whom it may mean. */
typedef struct lz_ir_symbol {
    lz_str name; /* "aten::add" */
    lz_prim prim;
    const lz_builtin *const *builtins;
    const lz_op_row *const *ops;
    size_t nbuiltins, nops;
} lz_ir_symbol;

struct lz_ir_use {
    lz_ir_value *value;
    lz_ir_node *user;
    lz_ir_use *prev, *next; /* other uses of the value */
};

struct lz_ir_value {
    const lz_type *type;
    lz_ir_node *node; /* that makes it */
    lz_ir_use *uses;
    lz_str name;    /* "x.1"; empty: it is called by its id */
    uint32_t index; /* among the node's outputs */
    uint32_t nuses;
    uint32_t id;   /* no two values without a name have the same */
    uint32_t mark; /* for whoever walks the graph; anything in between */
};

typedef struct lz_ir_attr lz_ir_attr;
struct lz_ir_attr {
    lz_str name;
    const lz_type *type; /* the attribute is a type; NULL: it is a value */
    lz_gv value;
    lz_ir_attr *next; /* of the graph's: values are counted */
};

struct lz_ir_node {
    lz_ir_node *prev, *next; /* in the block */
    lz_ir_block *block;      /* NULL: not in one */
    const lz_ir_symbol *sym;
    const lz_op_row *op;       /* an operator, or */
    const lz_builtin *builtin; /* a built-in; both NULL: a lz_prim, or not known */
    lz_ir_use *in;
    lz_ir_value **out;
    lz_ir_block **blocks;
    lz_ir_attr **attrs;
    uint32_t nin, nout, nblocks, nattrs;
    lz_loc loc;         /* in the user's program */
    uint32_t line, col; /* in the graph's text, from 1; 0: built otherwise */
    uint32_t recorded;  /* 1 + the index of the recorded node that it was lowered from; 0: none */
    uint32_t mark;
};

struct lz_ir_block {
    lz_ir_node *param, *ret; /* the first and the last node */
    lz_ir_node *owner;       /* NULL: the graph's own block */
    uint32_t index;          /* among the owner's blocks */
};

/* The operators that names are looked up in: rows, and their numbers sorted by name. */
typedef struct lz_ir_ops {
    const lz_op_row *rows;
    const uint16_t *by_name;
    size_t n; /* of both; number 0 is no operator */
} lz_ir_ops;

/* Those of the library. */
const lz_ir_ops *lz_ir_operators(void);

struct lz_graph {
    atomic_uint count;
    lz_arena arena;
    lz_type_table types;
    lz_map symbols;
    const lz_ir_ops *ops; /* borrowed; NULL: only built-ins are known */
    lz_ir_block *block;
    const char *file; /* where the text came from; NULL: unknown */
    uint32_t next_id;
    lz_ir_attr *attrs; /* all there ever were */
    lz_text text;      /* the last one printed */
};

/* ---- making ---- */

LZ_MUST_USE lz_err *lz_graph_create(const lz_ir_ops *ops, lz_graph **out);

/* Finds or makes; "aten::add". */
LZ_MUST_USE lz_err *lz_ir_symbol_get(lz_graph *g, lz_str name, const lz_ir_symbol **out);

/* What a node is to be made of; the arrays are copied. */
typedef struct lz_ir_spec {
    const lz_ir_symbol *sym;
    lz_ir_value *const *in;
    const lz_type *const *types; /* of the outputs */
    uint32_t nin, nout, nblocks;
    lz_loc loc;
} lz_ir_spec;

/* In no block yet; its blocks are empty and return nothing. */
LZ_MUST_USE lz_err *lz_ir_node_make(lz_graph *g, const lz_ir_spec *spec, lz_ir_node **out);
/* A constant, typed by the caller; takes the value over, also when it fails. */
LZ_MUST_USE lz_err *lz_ir_constant_make(lz_graph *g, lz_gv value, const lz_type *type, lz_loc loc,
                                        lz_ir_node **out);
/* By a name, with types of outputs from the schema; added to the end of a block. */
LZ_MUST_USE lz_err *lz_ir_call(lz_graph *g, lz_ir_block *block, const char *name, lz_ir_value *const *in,
                               uint32_t nin, lz_ir_node **out);

LZ_MUST_USE lz_err *lz_ir_block_add(lz_graph *g, lz_ir_node *owner, lz_ir_block **out);
LZ_MUST_USE lz_err *lz_ir_param_add(lz_graph *g, lz_ir_block *b, const lz_type *type, lz_ir_value **out);
LZ_MUST_USE lz_err *lz_ir_output_add(lz_graph *g, lz_ir_node *n, const lz_type *type, lz_ir_value **out);
LZ_MUST_USE lz_err *lz_ir_input_add(lz_graph *g, lz_ir_node *n, lz_ir_value *v); /* of a block: its ret */
/* Takes the value over, also when it fails; type instead of a value: pass none. */
LZ_MUST_USE lz_err *lz_ir_attr_add(lz_graph *g, lz_ir_node *n, lz_str name, const lz_type *type, lz_gv value);
LZ_MUST_USE lz_err *lz_ir_name_set(lz_graph *g, lz_ir_value *v, lz_str name); /* must be unique */

void lz_ir_insert_before(lz_ir_node *n, lz_ir_node *at); /* at: not a block's first */
void lz_ir_append(lz_ir_node *n, lz_ir_block *b);

/* ---- looking ---- */

static inline lz_ir_node *lz_ir_first(const lz_ir_block *b) /* b->ret if it is empty */
{
    return b->param->next;
}

static inline lz_ir_value *lz_ir_in(const lz_ir_node *n, uint32_t i)
{
    return n->in[i].value;
}

static inline bool lz_ir_is(const lz_ir_node *n, lz_prim prim)
{
    return n->sym->prim == prim;
}

bool lz_ir_named(const lz_ir_node *n, const char *name);
const lz_ir_attr *lz_ir_attr_find(const lz_ir_node *n, const char *name); /* NULL: none */

/* Whether v is made by a prim::Constant; its value is borrowed. */
bool lz_ir_const(const lz_ir_value *v, lz_gv *out);
bool lz_ir_const_int(const lz_ir_value *v, int64_t *out);

/* The node after n in the order of the text: into its blocks, through them, and on. A
 * block's ret is part of it, its param is not; NULL after the ret of the graph. Start
 * with lz_ir_first(g->block). */
lz_ir_node *lz_ir_next(const lz_ir_node *n);
/* The same, without going into n's blocks. */
lz_ir_node *lz_ir_skip(const lz_ir_node *n);

uint32_t lz_ir_depth(const lz_ir_block *b); /* 0: the graph's own */
/* Whether block b is `outer` or within it. */
bool lz_ir_within(const lz_ir_block *b, const lz_ir_block *outer);

/* ---- changing ---- */

void lz_ir_input_set(lz_ir_node *n, uint32_t i, lz_ir_value *v);
void lz_ir_input_remove(lz_ir_node *n, uint32_t i);
void lz_ir_output_remove(lz_ir_node *n, uint32_t i);    /* uses that are left must go too */
void lz_ir_replace(lz_ir_value *old, lz_ir_value *now); /* in all uses */
/* Takes a node out, with its blocks; uses of its outputs that are left must go too. */
void lz_ir_erase(lz_ir_node *n);
/* The nodes of a block go before `at`, which is outside of it; its results are left in
 * its ret for the caller to use. */
void lz_ir_splice(lz_ir_block *b, lz_ir_node *at);

/* Each becomes the other; counts stay. What pointed to blocks, nodes or values of one
 * finds them in the other. */
void lz_graph_swap(lz_graph *a, lz_graph *b);
/* A graph of its own, equal to g. */
LZ_MUST_USE lz_err *lz_graph_clone(const lz_graph *g, lz_graph **out);
/* Whether two graphs differ in nothing but names and places. */
bool lz_graph_equal(lz_graph *a, lz_graph *b);

/* ---- meaning ---- */

/* Finds the operator or built-in that the node calls, by the types of its inputs; fills in
 * the types of outputs that have none (NULL), checks the others, and makes outputs if there
 * are none at all. Does nothing for a lz_prim or an unknown name, whose outputs without a
 * type become tensors. The error says what there is to choose from. */
LZ_MUST_USE lz_err *lz_ir_resolve(lz_graph *g, lz_ir_node *n);

/* Whether inputs and outputs are still such that the node may call what it calls. */
bool lz_ir_matches(const lz_ir_node *n);

lz_prim lz_prim_find(lz_str name);
const char *lz_prim_name(lz_prim p);
/* Which rule for its kind of node is broken; NULL: none. */
const char *lz_prim_check(const lz_ir_node *n);

/* ---- text ---- */

typedef struct lz_parse_options {
    const char *name;     /* of the text, for errors; may be NULL */
    const lz_ir_ops *ops; /* may be NULL */
} lz_parse_options;

LZ_MUST_USE lz_err *lz_graph_read(lz_str text, const lz_parse_options *o, lz_graph **out);

enum { LZ_PRINT_PLACES = 1 }; /* "# file:line:column" */
LZ_MUST_USE lz_err *lz_graph_write(const lz_graph *g, unsigned flags, lz_text *out);
LZ_MUST_USE lz_err *lz_graph_dot(const lz_graph *g, lz_text *out);
/* One line, without what is in its blocks; as good as can be if something in it is broken. */
void lz_ir_print_node(const lz_ir_node *n, lz_text *out);
void lz_ir_print_name(const lz_ir_value *v, lz_text *out); /* "%x.1" */
/* "what: node (file.py:3:8)", at the node's place in the graph's text if it has one. */
LZ_ERROR lz_err *lz_ir_error(const lz_graph *g, const lz_ir_node *n, lz_code code, const char *fmt, ...)
    LZ_PRINTF(4, 5);

#endif
