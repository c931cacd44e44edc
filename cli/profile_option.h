/* profile_option.h - the option --profile[=FILE] of the commands that run something. */
#ifndef LZ_CLI_PROFILE_OPTION_H
#define LZ_CLI_PROFILE_OPTION_H

#include "base/err.h"
#include <stdbool.h>
#include <stdio.h>

typedef struct cli_profile {
    bool on;
    const char *file; /* NULL: the tables are printed */
} cli_profile;

/* Whether the argument is this option; then it is remembered. */
bool cli_profile_take(cli_profile *p, const char *arg);

LZ_MUST_USE lz_err *cli_profile_begin(const cli_profile *p); /* does nothing unless it is on */
/* Takes the error of what was profiled, and passes it on. The profile is shown either way. */
LZ_MUST_USE lz_err *cli_profile_end(const cli_profile *p, lz_err *e, FILE *out);

#endif
