/* lazuli gen why */
#include "base/dir.h"
#include "base/mem.h"
#include "cli/cmd_gen.h"
#include "gen/report/why.h"

/* The targets write to memory only. */
static lz_err *explain(const gen_args *a, const lzg_ops *ops, lzg_emit *emit, lzg_diag *d, lz_text *out)
{
    char *derivatives = NULL, *deprecated = NULL;
    const lzg_function *f;
    lz_err *e = lzg_why_find(ops, lz_str_of(a->names.data[0]), &f);
    if (!e && a->autograd)
        e = lz_path_join(a->autograd, "derivatives.yaml", &derivatives);
    if (!e && a->autograd)
        e = lz_path_join(a->autograd, "deprecated.yaml", &deprecated);
    if (!e)
        e = lzg_emit_targets(emit, LZ_STR("all"));
    const lzg_why_inputs in = { .derivatives = derivatives, .deprecated = deprecated, .emit = emit };
    if (!e)
        e = lzg_why(ops, f, &in, d, out);
    lz_mem_free(derivatives);
    lz_mem_free(deprecated);
    return e;
}

static lz_err *print_why(const gen_args *a, gen_input *in, lzg_emit *emit)
{
    lz_text out = { 0 };
    emit->keep = true;
    lz_err *e = explain(a, &in->ops, emit, &in->diag, &out);
    if (!e)
        e = gen_print(&out);
    lz_text_deinit(&out);
    return e;
}

static lz_err *why(const gen_args *a, gen_input *in)
{
    return gen_with_emit(a, in, "", print_why);
}

static int run_why(const gen_args *a)
{
    return gen_with_input(a, &a->native, why);
}

int gen_why(int argc, char **argv)
{
    return gen_main(argc, argv, 1, 1, run_why);
}
