/* lazuli gen check */
#include "cli/cmd_gen.h"
#include "gen/consumers.h"
#include <stdio.h>

typedef lz_err *check_fn(const lzg_ops *ops, lzg_diag *d);

static lz_err *ask_consumers(const lzg_ops *ops, lzg_diag *d)
{
    static check_fn *const consumers[] = { lzg_check_cpp, lzg_check_native, lzg_check_register,
                                           lzg_check_functionalize, lzg_check_ufunc };
    for (size_t i = 0; i < sizeof consumers / sizeof *consumers; i++)
        LZ_TRY(consumers[i](ops, d));
    return NULL;
}

static lz_err *check(const gen_args *a, gen_input *in)
{
    const lzg_ops *ops = &in->ops;
    if (a->consumers)
        LZ_TRY(ask_consumers(ops, &in->diag));
    if (!lzg_diag_any(&in->diag))
        printf("%zu operators, %zu of them generated; %zu groups, %zu view groups\n", ops->nfunctions,
               ops->nfunctions - ops->nexplicit, ops->ngroups, ops->nview_groups);
    return NULL;
}

static int run_check(const gen_args *a)
{
    return gen_with_input(a, &a->names, check);
}

int gen_check(int argc, char **argv)
{
    return gen_main(argc, argv, 1, SIZE_MAX, run_check);
}
