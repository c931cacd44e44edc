/* cmd_gen.h - shared by the commands of `lazuli gen`: arguments, and a run over operator files. */
#ifndef LZ_CLI_CMD_GEN_H
#define LZ_CLI_CMD_GEN_H

#include "base/vec.h"
#include "cli/command.h"
#include "gen/model/left_out.h"
#include "gen/model/model.h"

typedef LZ_VEC(const char *) gen_paths; /* a NULL follows the last one; len does not count it */

typedef struct gen_args {
    gen_paths names;  /* words that are no options */
    gen_paths native; /* operator files */
    gen_paths headers;
    gen_paths select, uses; /* selections; C files whose operators are selected too */
    const char *tags, *lists, *autograd, *what, *target, *out, *depfile, *backend, *derivatives, *left_out;
    uint32_t shards;
    bool own, consumers, dry_run;
} gen_args;

/* The commands; the last row has no name. */
extern const cli_command gen_commands[];

/* Runs a command with its arguments. */
typedef int gen_fn(const gen_args *a);

/* Reads argv. Refuses options that the command does not have, and fewer than `least` or more than `most`
 * names. Then runs fn. --help lists the command's options. */
int gen_main(int argc, char **argv, size_t least, size_t most, gen_fn *fn);

/* The contents of operator files. */
typedef struct gen_input {
    lzg_ops ops;
    struct lzg_definitions *definitions; /* with --own; else NULL */
    struct lzg_diffs *diffs;             /* with --own and --derivatives; else NULL */
    lzg_left_out left_out;               /* empty without --left-out */
    lzg_diag diag;
} gen_input;

/* Mistakes in the files are added to diag. Call deinit also after a failure. */
LZ_MUST_USE lz_err *gen_input_load(gen_input *in, const gen_args *a, const char *const *files);
void gen_input_deinit(gen_input *in);

/* Loads the files. If they are correct, calls fn. Prints all findings as FILE:LINE:COL: reason. */
typedef lz_err *gen_input_fn(const gen_args *a, gen_input *in);
int gen_with_input(const gen_args *a, const gen_paths *files, gen_input_fn *fn);

/* Makes an emitter from the files and calls fn, unless names or the backend's file are wrong. */
struct lzg_emit;
typedef lz_err *gen_emit_fn(const gen_args *a, gen_input *in, struct lzg_emit *e);
LZ_MUST_USE lz_err *gen_with_emit(const gen_args *a, gen_input *in, const char *folder, gen_emit_fn *fn);

bool gen_asks_help(int argc, char **argv); /* --help or -h */
void gen_make_room(void);                  /* prepares the heap for a run */

int gen_report(lz_err *e);                 /* prints the error, frees it, and returns an exit status */
int gen_print_findings(const lzg_diag *d); /* CLI_FAILED if there are findings */

/* Writes a whole text to standard output. */
LZ_MUST_USE lz_err *gen_print(const lz_text *t);

cli_run_fn gen_check, gen_dump, gen_why, gen_emit, gen_reference, gen_diff, gen_torch, gen_torch_schema;

#endif
