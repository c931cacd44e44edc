/* flat_text.h - flat graphs and their parts as text, for people. */
#ifndef LZ_LAZY_FLAT_TEXT_H
#define LZ_LAZY_FLAT_TEXT_H

#include "base/text.h"
#include "lazy/subgraph.h"

void lz_put_type(lz_text *out, lz_data_type t); /* "Float[3,4]" */
void lz_put_loc(lz_text *out, lz_loc at);       /* "model.c:12"; "an unknown line" */

/* "aten::add", "lazy_tensors::device_data"; `full` with the overload. */
void lz_put_op(lz_text *out, const lz_flat_node *n, bool full);
/* Argument i of the schema as it is in the graph: a value, "%3", "a float", ... */
void lz_put_arg(lz_text *out, const lz_flat_node *n, uint32_t i);
const char *lz_arg_name(const lz_flat_node *n, uint32_t i);

/* IR { ... }; nodes, by place: for source lines and scopes. */
void lz_flat_text(lz_text *out, const lz_graph_index *p, lz_node *const *nodes);
/* digraph G { ... } */
void lz_flat_dot(lz_text *out, const lz_graph_index *p, lz_node *const *nodes);

#endif
