/* profile_option.h - the option --profile[=FILE] of commands that run something. */
#ifndef LZ_CLI_PROFILE_OPTION_H
#define LZ_CLI_PROFILE_OPTION_H

#include "base/err.h"
#include <stdbool.h>
#include <stdio.h>

typedef struct cli_profile {
    bool on;
    const char *file; /* NULL: the tables are printed */
} cli_profile;

/* If the argument is --profile[=FILE], stores it and returns true. */
bool cli_profile_take(cli_profile *p, const char *arg);

LZ_MUST_USE lz_err *cli_profile_begin(const cli_profile *p); /* does nothing without the option */
/* Ends the profile and prints it, also after an error. Returns e, or the first error of its own. */
LZ_MUST_USE lz_err *cli_profile_end(const cli_profile *p, lz_err *e, FILE *out);

#endif
