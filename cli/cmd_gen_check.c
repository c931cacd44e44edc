/* lazuli gen check */
#include "base/dir.h"
#include "base/mem.h"
#include "cli/cmd_gen.h"
#include "gen/derivative/load_derivatives.h"
#include "gen/formula/formula_diff.h"
#include "gen/torch/consumers.h"
#include "gen/torch/gen_python_functions.h"
#include <stdio.h>

typedef lz_err *check_fn(const lzg_ops *ops, lzg_diag *d);

static lz_err *ask_consumers(const lzg_ops *ops, lzg_diag *d)
{
    static check_fn *const consumers[] = { lzg_check_cpp,           lzg_check_native, lzg_check_register,
                                           lzg_check_functionalize, lzg_check_ufunc,  lzg_check_python };
    for (size_t i = 0; i < sizeof consumers / sizeof *consumers; i++)
        LZ_TRY(consumers[i](ops, d));
    return NULL;
}

static lz_err *check_derivatives(const lzg_ops *ops, const lzg_yaml *tree, lzg_diag *d)
{
    lzg_derivatives *t = NULL;
    lz_err *e = lzg_derivatives_load(ops, tree, d, &t);
    lzg_derivatives_free(t);
    return e;
}

/* Checks a file of the --autograd folder. A file that is not YAML is one more finding. */
static lz_err *check_file(const gen_args *a, gen_input *in, const char *name,
                          lz_err *(*check)(const lzg_ops *ops, const lzg_yaml *tree, lzg_diag *d))
{
    const lzg_yaml *tree;
    char *path;
    LZ_TRY(lz_path_join(a->autograd, name, &path));
    lz_err *e = lzg_yaml_load(&in->ops.arena, path, &tree);
    lz_code code = lz_err_code(e);
    if (code == LZ_OK)
        e = check(&in->ops, tree, &in->diag);
    else if (code != LZ_ERR_IO && code != LZ_ERR_NOT_FOUND)
        e = lzg_diag_take(&in->diag, e, (lz_loc){ .file = path }, LZ_STR(""));
    lz_mem_free(path);
    return e;
}

/* Prints how many operators have derivatives, and which kind. */
static void print_diffs(const lzg_diffs *d)
{
    size_t n[LZG_DIFF_KINDS] = { 0 };
    for (size_t i = 0; i < d->n; i++)
        n[d->list[i].kind]++;
    printf("%zu have derivatives, %zu are differentiated through their parts, %zu are not differentiable\n",
           n[LZG_DIFF_OWN], n[LZG_DIFF_PARTS], n[LZG_DIFF_NOT]);
}

static lz_err *check(const gen_args *a, gen_input *in)
{
    const lzg_ops *ops = &in->ops;
    if (a->consumers)
        LZ_TRY(ask_consumers(ops, &in->diag));
    if (a->autograd) {
        LZ_TRY(check_file(a, in, "derivatives.yaml", check_derivatives));
        LZ_TRY(check_file(a, in, "deprecated.yaml", lzg_check_deprecated));
    }
    if (!lzg_diag_any(&in->diag))
        printf("%zu operators, %zu of them generated; %zu groups, %zu view groups\n", ops->nfunctions,
               ops->nfunctions - ops->nexplicit, ops->ngroups, ops->nview_groups);
    if (!lzg_diag_any(&in->diag) && in->diffs)
        print_diffs(in->diffs);
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
