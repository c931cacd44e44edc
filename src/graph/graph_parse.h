/* graph_parse.h - parts of the reader: types and literals. */
#ifndef LZ_GRAPH_GRAPH_PARSE_H
#define LZ_GRAPH_GRAPH_PARSE_H

#include "graph/graph_lex.h"
#include "graph/graph_type.h"
#include "graph/gvalue.h"

/* Reads a type at the current token. */
LZ_MUST_USE lz_err *lz_parse_type(lz_lexer *l, lz_type_table *t, const lz_type **out);

/* Reads what may stand behind "value=": a number, a string, a list, ...; the caller owns it.
 * Braces with numbers give an array of int64 or float64, or of complex128. A type instead
 * gives *type, and None. On failure there is nothing to release. */
LZ_MUST_USE lz_err *lz_parse_literal(lz_lexer *l, lz_type_table *t, lz_gv *out, const lz_type **type);

#endif
