/* graph_file.h - graphs in files, for the commands that read them. */
#ifndef LZ_CLI_GRAPH_FILE_H
#define LZ_CLI_GRAPH_FILE_H

#include <lazuli/graph.h>

/* "-" is standard input. */
LZ_MUST_USE lz_err *cli_graph_read(const char *file, lz_graph **out);

#endif
