/* torch_options.h - the command lines of `lazuli gen torch...`, as tables.
 *
 * A command is a row in torch_commands.c: its name, its table of options, the size of the struct that the
 * options fill in, and the function that runs it. The same table parses the command line, prints the help,
 * and tells two runs apart (torch_record.h). Members of the struct:
 *
 *     LZG_TEXT   const char *             the value, else the default, else NULL
 *     LZG_FLAG   bool                     true if given
 *     LZG_LIST   const char *const *      NULL: not given; else the values, none or more, then NULL
 *
 * Words are read as Python's argparse reads them: `--name value`, `--name=value`, `-n value`, `-nvalue`,
 * an unambiguous beginning of a long name, a list up to the next word that begins with '-'; the last of
 * several counts. '-' and '_' are the same in a name. */
#ifndef LZG_TORCH_OPTIONS_H
#define LZG_TORCH_OPTIONS_H

#include "base/arena.h"
#include "base/text.h"
#include <lazuli/gen.h>

typedef enum lzg_option_kind { LZG_TEXT, LZG_FLAG, LZG_LIST } lzg_option_kind;

typedef struct lzg_option {
    const char *name; /* "--install-dir" */
    char letter;      /* 'd', or '\0' */
    lzg_option_kind kind;
    bool required;
    size_t member;              /* its offset in the struct */
    const char *deflt;          /* of a LZG_TEXT; NULL: none */
    const char *value;          /* what the help calls the value */
    const char *help;           /* a line */
    const char *const *choices; /* the only values allowed, NULL-terminated; NULL: any */
} lzg_option;

typedef struct lzg_command {
    const char *name;          /* "torch" */
    const char *help;          /* a line */
    const lzg_option *options; /* ends with a name of NULL */
    size_t size;               /* of the struct */
    lz_err *(*run)(const void *options, lzg_torch_report *out);
} lzg_command;

/* Fills in the struct, which must be zeroed; lists come from the arena, texts are borrowed. LZ_ERR_ARG for
 * a wrong use. argv[0] is skipped. */
LZ_MUST_USE lz_err *lzg_options_parse(const lzg_command *c, lz_arena *a, int argc, char **argv, void *out);

/* Sets every text that is NULL to its default. LZ_ERR_ARG for a required text that is missing, and for a
 * value that is none of an option's choices. */
LZ_MUST_USE lz_err *lzg_options_complete(const lzg_command *c, void *options);

void lzg_options_help(const lzg_command *c, lz_text *out);

/* The command and all values as one text; equal if and only if they are equal. */
void lzg_options_print(const lzg_command *c, const void *options, lz_text *out);

#endif
