/* gen_autograd_functions.h - the autograd nodes in C++: Functions.h and Functions.cpp, and their properties
 * in Python: python_functions. */
#ifndef LZG_GEN_AUTOGRAD_FUNCTIONS_H
#define LZG_GEN_AUTOGRAD_FUNCTIONS_H

#include "gen/derivative/load_derivatives.h"
#include "gen/text/snippet.h"

/* A node: the info of one operator and key that differentiates something. */
LZ_MUST_USE
lz_err *lzg_node_declaration(lzg_snippets *s, const lzg_ops *ops, const lzg_diff_info *info, lz_str *out);
LZ_MUST_USE
lz_err *lzg_node_definition(lzg_snippets *s, const lzg_diff_info *info, lz_str *out);

/* In the order in which nodes keep them. */
LZ_MUST_USE
lz_err *lzg_saved_sorted(lz_arena *a, lzg_saved_list list, lzg_saved_list *out);

/* Its properties and their getters, and the statements that add its class to a module. */
LZ_MUST_USE
lz_err *lzg_node_properties(lzg_snippets *s, const lzg_diff_info *info, lz_str *out);
LZ_MUST_USE
lz_err *lzg_node_class(lzg_snippets *s, const lzg_diff_info *info, lz_str *out);

/* The nodes, in the order of the file of derivatives; *out has room for all of them. */
LZ_MUST_USE
lz_err *lzg_nodes(lz_arena *a, const lzg_derivatives *t, const lzg_diff_info *const **out, size_t *n);

#endif
