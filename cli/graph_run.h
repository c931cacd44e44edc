/* graph_run.h - the part of `lazuli graph` that runs the graph. */
#ifndef LZ_CLI_GRAPH_RUN_H
#define LZ_CLI_GRAPH_RUN_H

#include "base/vec.h"
#include "cli/profile_option.h"
#include <lazuli/run.h>

typedef struct cli_run {
    LZ_VEC(const char *) inputs;  /* each is a .npy file or a literal */
    LZ_VEC(const char *) outputs; /* files; none: results are printed */
    lz_runner_options options;
    bool stats;
    cli_profile profile;
} cli_run;

LZ_MUST_USE lz_err *cli_run_graph(const cli_run *r, const lz_graph *g);

#endif
