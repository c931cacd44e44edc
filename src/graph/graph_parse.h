/* graph_parse.h - parts of the parser: types and literals. */
#ifndef LZ_GRAPH_GRAPH_PARSE_H
#define LZ_GRAPH_GRAPH_PARSE_H

#include "graph/graph_lex.h"
#include "graph/graph_type.h"
#include "graph/script_value.h"

/* Reads a type at the current token. */
LZ_MUST_USE lz_err *lz_parse_type(lz_lexer *l, lz_type_table *t, const lz_type **out);

/* Reads what may follow "value=": a number, a string, a list, ...; the caller owns it. Numbers in braces give
 * an array of int64, float64 or complex128. If there is a type instead, sets *type and *out to None. On
 * failure there is nothing to release. */
LZ_MUST_USE lz_err *lz_parse_literal(lz_lexer *l, lz_type_table *t, lz_script_value *out,
                                     const lz_type **type);

#endif
