/* graph_equal.h - compares graphs. */
#ifndef LZ_TEST_GRAPH_EQUAL_H
#define LZ_TEST_GRAPH_EQUAL_H

#include "graph/ir.h"

/* Are two graphs equal except for names and locations? Changes their marks. */
bool graph_equal(lz_graph *a, lz_graph *b);

#endif
