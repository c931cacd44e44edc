/* lazuli gen torch-schema: a schema from the values of one call. */
#include "cli/cmd_gen.h"
#include "gen/torch/torch_options.h"
#include <stdio.h>

#define AT(name) offsetof(lzg_torch_schema_options, name)
static const lzg_option options[] = {
    { "--name", 'n', LZG_TEXT, true, AT(name), NULL, "NAME", "the operator's name", NULL },
    { "--inputs", 'i', LZG_LIST, false, AT(inputs), NULL, "NAME=VALUE",
      "arguments: tensor, symint, symbool, graph, object(CLASS), 3, 2.5, true, \"text\", [1, 2]", NULL },
    { "--outputs", 'o', LZG_LIST, false, AT(outputs), NULL, "VALUE", "results", NULL },
    { 0 },
};

static const lzg_command command = { "torch-schema", "prints a schema for the values of one call", options,
                                     sizeof(lzg_torch_schema_options), NULL };

static lz_err *print_schema(int argc, char **argv)
{
    enum { ROOM = 1 << 16 };
    static char schema[ROOM];
    lzg_torch_schema_options o = { 0 };
    lz_arena a;
    lz_arena_init(&a);
    lz_err *e = lzg_options_parse(&command, &a, argc, argv, &o);
    if (!e)
        e = lzg_torch_schema(&o, schema, sizeof schema);
    if (!e)
        puts(schema);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *print_help(void)
{
    lz_text t = { 0 };
    lzg_options_help(&command, &t);
    lz_err *e = gen_print(&t);
    lz_text_deinit(&t);
    return e;
}

int gen_torch_schema(int argc, char **argv)
{
    lz_err *e = gen_asks_help(argc, argv) ? print_help() : print_schema(argc, argv);
    return e ? gen_report(e) : CLI_OK;
}
