/* cmd_gen.h - what the commands behind `lazuli gen` share: their arguments, and a run
 * over loaded operator files. */
#ifndef LZ_CLI_CMD_GEN_H
#define LZ_CLI_CMD_GEN_H

#include "base/vec.h"
#include "cli/command.h"
#include "gen/model.h"

typedef LZ_VEC(const char *) gen_paths; /* ended by a NULL that len does not count */

typedef struct gen_args {
    gen_paths names;  /* whatever is no option */
    gen_paths native; /* operator files */
    gen_paths headers;
    const char *tags, *lists, *autograd, *what, *target, *out, *depfile, *backend, *derivatives;
    uint32_t shards;
    bool own, consumers, dry_run;
} gen_args;

/* The commands, up to one without a name. */
extern const cli_command gen_commands[];

/* What a command does with its arguments. */
typedef int gen_fn(const gen_args *a);

/* Reads argv, refuses options that the command does not have and other than `least` to
 * `most` names, then runs fn. --help lists the command's options. */
int gen_main(int argc, char **argv, size_t least, size_t most, gen_fn *fn);

/* Operator files as they were read. */
typedef struct gen_input {
    lzg_ops ops;
    struct lzg_definitions *definitions; /* with --own, else NULL */
    struct lzg_diffs *diffs;             /* with --derivatives besides, else NULL */
    lzg_diag diag;
} gen_input;

/* What is wrong goes into diag; deinit is due in any case. */
LZ_MUST_USE lz_err *gen_input_load(gen_input *in, const gen_args *a, const char *const *files);
void gen_input_deinit(gen_input *in);

/* Loads the files and hands them to fn unless something is wrong with them; fn's findings
 * and those of the files are printed, FILE:LINE:COL: reason. */
typedef lz_err *gen_input_fn(const gen_args *a, gen_input *in);
int gen_with_input(const gen_args *a, const gen_paths *files, gen_input_fn *fn);

/* Hands fn what emits code for them, unless something is wrong with names or the backend's
 * file. */
struct lzg_emit;
typedef lz_err *gen_emit_fn(const gen_args *a, gen_input *in, struct lzg_emit *e);
LZ_MUST_USE lz_err *gen_with_emit(const gen_args *a, gen_input *in, const char *folder, gen_emit_fn *fn);

int gen_report(lz_err *e);                 /* status for an error, after saying it; takes e */
int gen_print_findings(const lzg_diag *d); /* CLI_FAILED if there are any */

/* All of a text at once, to standard output. */
LZ_MUST_USE lz_err *gen_print(const lz_text *t);

cli_run_fn gen_check, gen_dump, gen_why, gen_emit, gen_diff;

#endif
