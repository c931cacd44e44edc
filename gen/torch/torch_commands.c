#include "gen/torch/torch_commands.h"

const lzg_command *const lzg_torch_commands[] = {
#define X(name) &lzg_command_##name,
    LZG_TORCH_COMMANDS(X)
#undef X
        NULL
};

const lzg_command *lzg_torch_command(const char *name)
{
    const lzg_command *const *c = lzg_torch_commands;
    while (*c && strcmp((*c)->name, name) != 0)
        c++;
    return *c;
}
