/* The command `lazuli-gen`: what `lazuli gen` does, without the run time. */
#include "cli/cmd_gen.h"

int main(int argc, char **argv)
{
    return cli_main("lazuli-gen", gen_commands, argc, argv);
}
