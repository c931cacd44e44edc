/* ir.h - the graph: typed values in SSA form, made by nodes in blocks.
 *
 * The graph's arena owns everything; erased nodes are only unlinked. Each value has a list of its uses, so
 * replacing and erasing take time linear in the uses. A block begins with a node that makes its parameters
 * and ends with a node that takes its results; both are ordinary nodes, and are never erased. No code walks a
 * graph by recursion. */
#ifndef LZ_GRAPH_IR_H
#define LZ_GRAPH_IR_H

#include "graph/builtins.h"
#include "graph/graph_type.h"
#include "graph/script_value.h"
#include <lazuli/graph.h>
#include <lazuli/schema.h>

typedef struct lz_ssa_value lz_ssa_value;
typedef struct lz_ssa_node lz_ssa_node;
typedef struct lz_ssa_block lz_ssa_block;
typedef struct lz_ssa_use lz_ssa_use;

enum { LZ_BLOCK_DEPTH = 128 }; /* most levels of nested blocks */

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
    LZ_PRIM_CAST, /* prim::unchecked_cast: asserts a narrower type */
    LZ_PRIM_COUNT
} lz_prim;

/* The name of a node, stored once per graph, and what the name may refer to. */
typedef struct lz_ssa_symbol {
    lz_str name; /* "aten::add" */
    lz_prim prim;
    const lz_builtin *const *builtins;
    const lz_op_row *const *ops;
    size_t nbuiltins, nops;
} lz_ssa_symbol;

struct lz_ssa_use {
    lz_ssa_value *value;
    lz_ssa_node *user;
    lz_ssa_use *prev, *next; /* other uses of the value */
};

struct lz_ssa_value {
    const lz_type *type;
    lz_ssa_node *node; /* the node that makes it */
    lz_ssa_use *uses;
    lz_str name;    /* "x.1"; empty: the id is its name */
    uint32_t index; /* index among the node's outputs */
    uint32_t nuses;
    uint32_t id;   /* unique among values without a name */
    uint32_t mark; /* scratch for passes; undefined in between */
};

typedef struct lz_ssa_attr lz_ssa_attr;
struct lz_ssa_attr {
    lz_str name;
    const lz_type *type; /* set if the attribute is a type; NULL: it is a value */
    lz_script_value value;
    lz_ssa_attr *next; /* list of the graph's attributes, whose values are reference-counted */
};

struct lz_ssa_node {
    lz_ssa_node *prev, *next; /* in the block */
    lz_ssa_block *block;      /* NULL: in no block */
    const lz_ssa_symbol *sym;
    const lz_op_row *op;       /* an operator, or */
    const lz_builtin *builtin; /* a built-in; both NULL: a lz_prim, or unknown */
    lz_ssa_use *in;
    lz_ssa_value **out;
    lz_ssa_block **blocks;
    lz_ssa_attr **attrs;
    uint32_t nin, nout, nblocks, nattrs;
    lz_loc loc;         /* in the user's program */
    uint32_t line, col; /* in the graph's text, from 1; 0: not from text */
    uint32_t recorded;  /* 1 + the index of the recorded node that it was lowered from; 0: none */
    uint32_t mark;
};

struct lz_ssa_block {
    lz_ssa_node *param, *ret; /* first and last node */
    lz_ssa_node *owner;       /* NULL: the graph's own block */
    uint32_t index;           /* among the owner's blocks */
};

/* The operators for name lookup: rows, and their numbers sorted by name. */
typedef struct lz_ssa_ops {
    const lz_op_row *rows;
    const uint16_t *by_name;
    size_t n; /* length of both; number 0 is no operator */
} lz_ssa_ops;

/* The library's operators. */
const lz_ssa_ops *lz_ssa_operators(void);

struct lz_graph {
    atomic_uint count;
    lz_arena arena;
    lz_type_table types;
    lz_map symbols;
    const lz_ssa_ops *ops; /* borrowed; NULL: only built-ins */
    lz_ssa_block *block;
    const char *file; /* where the text came from; NULL: unknown */
    uint32_t next_id;
    lz_ssa_attr *attrs; /* all attributes ever made */
    lz_text text;       /* the last text printed */
};

/* ---- creation ---- */

LZ_MUST_USE lz_err *lz_graph_create(const lz_ssa_ops *ops, lz_graph **out);

/* Finds or creates; "aten::add". */
LZ_MUST_USE lz_err *lz_ssa_symbol_get(lz_graph *g, lz_str name, const lz_ssa_symbol **out);

/* The parts of a new node; the arrays are copied. */
typedef struct lz_ssa_spec {
    const lz_ssa_symbol *sym;
    lz_ssa_value *const *in;
    const lz_type *const *types; /* of the outputs */
    uint32_t nin, nout, nblocks;
    lz_loc loc;
} lz_ssa_spec;

/* The node is in no block yet; its blocks are empty and return nothing. */
LZ_MUST_USE lz_err *lz_ssa_node_make(lz_graph *g, const lz_ssa_spec *spec, lz_ssa_node **out);
/* A constant; takes over the value, even on failure. */
LZ_MUST_USE lz_err *lz_ssa_constant_make(lz_graph *g, lz_script_value value, const lz_type *type, lz_loc loc,
                                         lz_ssa_node **out);

LZ_MUST_USE lz_err *lz_ssa_block_add(lz_graph *g, lz_ssa_node *owner, lz_ssa_block **out);
LZ_MUST_USE lz_err *lz_ssa_param_add(lz_graph *g, lz_ssa_block *b, const lz_type *type, lz_ssa_value **out);
LZ_MUST_USE lz_err *lz_ssa_output_add(lz_graph *g, lz_ssa_node *n, const lz_type *type, lz_ssa_value **out);
LZ_MUST_USE lz_err *lz_ssa_input_add(lz_graph *g, lz_ssa_node *n, lz_ssa_value *v); /* for a block: its ret */
/* Takes over the value, even on failure. For a type attribute pass none as the value. */
LZ_MUST_USE lz_err *lz_ssa_attr_add(lz_graph *g, lz_ssa_node *n, lz_str name, const lz_type *type,
                                    lz_script_value value);
LZ_MUST_USE lz_err *lz_ssa_name_set(lz_graph *g, lz_ssa_value *v, lz_str name); /* must be unique */

void lz_ssa_insert_before(lz_ssa_node *n, lz_ssa_node *at); /* at must not be a block's first node */
void lz_ssa_append(lz_ssa_node *n, lz_ssa_block *b);

/* ---- reading ---- */

static inline lz_ssa_node *lz_ssa_first(const lz_ssa_block *b) /* b->ret if the block is empty */
{
    return b->param->next;
}

static inline lz_ssa_value *lz_ssa_in(const lz_ssa_node *n, uint32_t i)
{
    return n->in[i].value;
}

static inline bool lz_ssa_is(const lz_ssa_node *n, lz_prim prim)
{
    return n->sym->prim == prim;
}

bool lz_ssa_named(const lz_ssa_node *n, const char *name);
const lz_ssa_attr *lz_ssa_attr_find(const lz_ssa_node *n, const char *name); /* NULL: none */

/* Is v made by a prim::Constant? *out is borrowed. */
bool lz_ssa_const(const lz_ssa_value *v, lz_script_value *out);
bool lz_ssa_const_int(const lz_ssa_value *v, int64_t *out);

/* The node after n in the order of the text: into its blocks, through them, and on. A block's ret is visited,
 * its param is not; NULL after the ret of the graph. Start with lz_ssa_first(g->block). */
lz_ssa_node *lz_ssa_next(const lz_ssa_node *n);
/* Like lz_ssa_next, but skips n's blocks. */
lz_ssa_node *lz_ssa_skip(const lz_ssa_node *n);

uint32_t lz_ssa_depth(const lz_ssa_block *b); /* 0: the graph's own block */
/* Is block b `outer` or within it? */
bool lz_ssa_within(const lz_ssa_block *b, const lz_ssa_block *outer);

/* ---- changes ---- */

void lz_ssa_input_remove(lz_ssa_node *n, uint32_t i);
void lz_ssa_output_remove(lz_ssa_node *n, uint32_t i);     /* the caller must remove remaining uses */
void lz_ssa_replace(lz_ssa_value *old, lz_ssa_value *now); /* in all uses */
/* Unlinks a node and its blocks; the caller must remove remaining uses of its outputs. */
void lz_ssa_erase(lz_ssa_node *n);
/* Moves the nodes of a block before `at`, which is outside the block. The results stay in the block's ret for
 * the caller. */
void lz_ssa_splice(lz_ssa_block *b, lz_ssa_node *at);

/* Swaps the contents of two graphs; reference counts stay. Pointers to blocks, nodes or values of one remain
 * valid and then belong to the other. */
void lz_graph_swap(lz_graph *a, lz_graph *b);
/* An independent copy of g. */
LZ_MUST_USE lz_err *lz_graph_clone(const lz_graph *g, lz_graph **out);

/* ---- meaning ---- */

/* Finds the operator or built-in that the node calls, by the types of its inputs. Fills in missing (NULL)
 * output types, checks the others, and creates the outputs if there are none at all. For a lz_prim or an
 * unknown name only sets missing output types to Tensor. The error lists the candidates. */
LZ_MUST_USE lz_err *lz_ssa_resolve(lz_graph *g, lz_ssa_node *n);

/* Do inputs and outputs still match what the node calls? */
bool lz_ssa_matches(const lz_ssa_node *n);

lz_prim lz_prim_find(lz_str name);
const char *lz_prim_name(lz_prim p);
/* The rule for its kind that the node breaks; NULL: none. */
const char *lz_prim_check(const lz_ssa_node *n);

/* ---- text ---- */

typedef struct lz_parse_options {
    const char *name;      /* name of the text, for errors; may be NULL */
    const lz_ssa_ops *ops; /* may be NULL */
} lz_parse_options;

LZ_MUST_USE lz_err *lz_graph_read(lz_str text, const lz_parse_options *o, lz_graph **out);

enum { LZ_PRINT_PLACES = 1 }; /* "# file:line:column" */
LZ_MUST_USE lz_err *lz_graph_write(const lz_graph *g, unsigned flags, lz_text *out);
LZ_MUST_USE lz_err *lz_graph_dot(const lz_graph *g, lz_text *out);
/* One line, without the contents of its blocks; best effort if the node is malformed. */
void lz_ssa_print_node(const lz_ssa_node *n, lz_text *out);
void lz_ssa_print_name(const lz_ssa_value *v, lz_text *out); /* "%x.1" */
/* "what", and on a second line "in node # file.py:3:8". Located at the node's position in the graph's text if
 * it has one. */
LZ_ERROR lz_err *lz_ssa_error(const lz_graph *g, const lz_ssa_node *n, lz_code code, const char *fmt, ...)
    LZ_PRINTF(4, 5);
/* Like lz_ssa_error, for an error without a location: keeps its code and reason. NULL and LZ_ERR_MEMORY are
 * returned unchanged. */
LZ_MUST_USE lz_err *lz_ssa_locate(const lz_graph *g, const lz_ssa_node *n, lz_err *e);

#endif
