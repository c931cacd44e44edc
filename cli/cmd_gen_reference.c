/* lazuli gen reference */
#include "cli/cmd_gen.h"
#include "gen/report/reference.h"

static lz_err *print_page(const gen_args *a, gen_input *in)
{
    const lzg_reference r = {
        .ops = &in->ops, .definitions = in->definitions, .diffs = in->diffs, .left_out = &in->left_out
    };
    lz_text out = { 0 };
    (void)a;
    lz_err *e = lzg_reference_print(&r, &out);
    if (!e)
        e = gen_print(&out);
    lz_text_deinit(&out);
    return e;
}

static int run_reference(const gen_args *a)
{
    if (!a->own)
        return cli_misuse("reference prints definitions: give --own, and files that have definitions");
    return gen_with_input(a, &a->native, print_page);
}

int gen_reference(int argc, char **argv)
{
    return gen_main(argc, argv, 0, 0, run_reference);
}
