/* lazuli gen diff */
#include "cli/cmd_gen.h"
#include "gen/report/diff.h"
#include <stdio.h>

static lz_err *load(gen_input *in, const gen_args *a, const char *path)
{
    const char *const files[] = { path, NULL };
    return gen_input_load(in, a, files);
}

static lz_err *compare(const lzg_ops *old, const lzg_ops *now, lzg_diff_counts *counts)
{
    lz_text out = { 0 };
    lz_err *e = lzg_diff(old, now, &out, counts);
    lz_text_printf(&out, "%zu added, %zu removed, %zu changed\n", counts->added, counts->removed,
                   counts->changed);
    if (!e)
        e = gen_print(&out);
    lz_text_deinit(&out);
    return e;
}

static int run_diff(const gen_args *a)
{
    gen_input old, now;
    lzg_diff_counts counts = { 0 };
    lz_err *e = load(&old, a, a->names.data[0]);
    e = lz_err_first(e, load(&now, a, a->names.data[1]));
    bool wrong = gen_print_findings(&old.diag) != CLI_OK;
    wrong = gen_print_findings(&now.diag) != CLI_OK || wrong;
    if (!e && !wrong)
        e = compare(&old.ops, &now.ops, &counts);
    gen_input_deinit(&old);
    gen_input_deinit(&now);
    if (e)
        return gen_report(e);
    return wrong || counts.added || counts.removed || counts.changed ? CLI_FAILED : CLI_OK;
}

int gen_diff(int argc, char **argv)
{
    return gen_main(argc, argv, 2, 2, run_diff);
}
