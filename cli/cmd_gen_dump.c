/* lazuli gen dump */
#include "base/dir.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/cmd_gen.h"
#include "gen/report/dump_derivatives.h"
#include "gen/report/dump_full.h"
#include "gen/report/dump_model.h"
#include "gen/report/dump_python.h"
#include "gen/report/dump_stats.h"

/* Paths of the files in the --autograd folder; NULL without the option. */
typedef struct dump_inputs {
    const gen_args *args;
    char *derivatives, *deprecated;
} dump_inputs;

typedef lz_err *dump_fn(const lzg_ops *ops, const dump_inputs *in, lz_text *out);

static lz_err *dump_model(const lzg_ops *ops, const dump_inputs *in, lz_text *out)
{
    (void)in;
    return lzg_dump_full(ops, out);
}

static lz_err *dump_groups(const lzg_ops *ops, const dump_inputs *in, lz_text *out)
{
    (void)in;
    return lzg_dump_groups(ops, out);
}

static lz_err *dump_derivatives(const lzg_ops *ops, const dump_inputs *in, lz_text *out)
{
    if (!in->derivatives)
        return lz_errf(LZ_ERR_ARG, "derivatives are in a folder: --autograd DIR");
    return lzg_dump_derivatives(ops, in->derivatives, out);
}

static lz_err *dump_python(const lzg_ops *ops, const dump_inputs *in, lz_text *out)
{
    return lzg_dump_python(ops, in->deprecated, out);
}

static lz_err *dump_stats(const lzg_ops *ops, const dump_inputs *in, lz_text *out)
{
    lzg_stats_inputs stats = { .derivatives = in->derivatives, .deprecated = in->deprecated };
    for (size_t i = 0; i < in->args->native.len; i++) {
        lz_file_info info;
        LZ_TRY(lz_file_stat(in->args->native.data[i], &info));
        stats.native_bytes += info.size;
    }
    return lzg_dump_stats(ops, &stats, out);
}

static const struct {
    const char *name;
    dump_fn *dump;
} dumps[] = {
    { "model", dump_model },   { "groups", dump_groups }, { "derivatives", dump_derivatives },
    { "python", dump_python }, { "stats", dump_stats },   { 0 },
};

static dump_fn *dump_find(const char *name)
{
    size_t i = 0;
    while (dumps[i].name && !lz_str_is(lz_str_of(name), dumps[i].name))
        i++;
    return dumps[i].dump;
}

static lz_err *dump(const gen_args *a, gen_input *loaded)
{
    dump_inputs in = { .args = a };
    lz_text out = { 0 };
    lz_err *e = NULL;
    if (a->autograd)
        e = lz_path_join(a->autograd, "derivatives.yaml", &in.derivatives);
    if (!e && a->autograd)
        e = lz_path_join(a->autograd, "deprecated.yaml", &in.deprecated);
    if (!e)
        e = dump_find(a->what)(&loaded->ops, &in, &out);
    if (!e)
        e = gen_print(&out);
    lz_mem_free(in.derivatives);
    lz_mem_free(in.deprecated);
    lz_text_deinit(&out);
    return e;
}

static int run_dump(const gen_args *a)
{
    if (!a->what || !dump_find(a->what))
        return cli_misuse("dump needs --what with model, groups, derivatives, python or stats");
    return gen_with_input(a, &a->native, dump);
}

int gen_dump(int argc, char **argv)
{
    return gen_main(argc, argv, 0, 0, run_dump);
}
