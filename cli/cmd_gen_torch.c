/* lazuli gen torch...: the files that torchgen writes. */
#include "base/mem.h"
#include "cli/cmd_gen.h"
#include "gen/torch/torch_commands.h"
#include <stdio.h>

static int run(const lzg_command *c, void *options)
{
    lzg_torch_report report;
    lz_err *e = c->run(options, &report);
    if (lz_err_code(e) != LZ_ERR_MODEL)
        return cli_report(e);
    return gen_report(e);
}

static int parse_and_run(const lzg_command *c, lz_arena *a, int argc, char **argv)
{
    void *options;
    lz_err *e = lz_arena_array(a, 1, c->size, &options);
    if (!e)
        e = lzg_options_parse(c, a, argc, argv, options);
    return e ? gen_report(e) : run(c, options);
}

static int print_help(const lzg_command *c)
{
    lz_text t = { 0 };
    lzg_options_help(c, &t);
    lz_err *e = gen_print(&t);
    lz_text_deinit(&t);
    return cli_report(e);
}

int gen_torch(int argc, char **argv)
{
    const lzg_command *c = lzg_torch_command(argv[0]);
    if (gen_asks_help(argc, argv))
        return print_help(c);
    gen_make_room();
    lz_arena a;
    lz_arena_init(&a);
    int status = parse_and_run(c, &a, argc, argv);
    lz_arena_deinit(&a);
    return status;
}
