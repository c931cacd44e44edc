/* torch_commands.h - all commands of `lazuli gen torch...`. */
#ifndef LZG_TORCH_COMMANDS_H
#define LZG_TORCH_COMMANDS_H

#include "gen/torch/torch_options.h"

/* A row for each command; to add one, add a line here and define lzg_command_NAME beside the code that it
 * runs. The functions in lazuli/gen.h run the same rows. */
#define LZG_TORCH_COMMANDS(X)                                                                                \
    X(torch)                                                                                                 \
    X(torch_autograd)                                                                                        \
    X(torch_lazy)                                                                                            \
    X(torch_view_meta) X(torch_unboxing) X(torch_static_runtime) X(torch_upgraders) X(torch_backend_stubs)

#define X(name) extern const lzg_command lzg_command_##name;
LZG_TORCH_COMMANDS(X)
#undef X

extern const lzg_command *const lzg_torch_commands[]; /* NULL-terminated */

/* The command of that name ("torch-lazy"), or NULL. */
const lzg_command *lzg_torch_command(const char *name);

#endif
