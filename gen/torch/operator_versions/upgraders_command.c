/* torch-upgraders */
#include "gen/torch/operator_versions/gen_mobile_upgraders.h"
#include "gen/torch/torch_commands.h"
#include "gen/torch/torch_run.h"
#include <stddef.h>

#define AT(name) offsetof(lzg_torch_upgraders_options, name)
static const lzg_option options[] = {
    { "--bytecode", 0, LZG_TEXT, true, AT(bytecode), NULL, "FILE", "upgraders and versions, as JSON or YAML",
      NULL },
    { "--install-dir", 0, LZG_TEXT, true, AT(install_dir), NULL, "DIR", "where upgrader_mobile.cpp goes",
      NULL },
    { 0 },
};

typedef struct settings {
    const lzg_torch_upgraders_options *o;
    lzg_files *files;
} settings;

static lz_err *put_file(lzg_job *j, const settings *s, lz_text *out)
{
    const lzg_yaml *root;
    const lzg_lists *lists;
    lzg_upgraders all;
    LZ_TRY(lzg_lists_load(&j->arena, NULL, &lists));
    LZ_TRY(lzg_run_yaml(j->run, &j->arena, s->o->bytecode, &root));
    LZ_TRY(lzg_upgraders_read(&j->arena, lists, root, &j->diag, &all));
    return lzg_put_upgrader_mobile(&j->arena, &all, out);
}

static lz_err *write_file(lzg_job *j, const void *arg)
{
    const settings *s = arg;
    lz_text t = { 0 };
    lz_err *e = put_file(j, s, &t);
    if (!e)
        e = lzg_files_take(s->files, "upgrader_mobile.cpp", &t);
    lz_text_deinit(&t);
    return e;
}

static lz_err *plan(lzg_run *r, const void *o)
{
    settings *s;
    LZ_TRY(lz_arena_new(&r->arena, &s, 1));
    s->o = o;
    LZ_TRY(lzg_run_folder(r, s->o->install_dir, &s->files));
    return lzg_run_add(r, 1, write_file, s);
}

static lz_err *run(const void *o, lzg_torch_report *out);

const lzg_command lzg_command_torch_upgraders = { "torch-upgraders",
                                                  "writes the upgraders of old programs as C++", options,
                                                  sizeof(lzg_torch_upgraders_options), run };

static lz_err *run(const void *o, lzg_torch_report *out)
{
    const lzg_run_options r = { .command = &lzg_command_torch_upgraders, .options = o, .generator = "" };
    return lzg_run_command(&r, plan, out);
}

lz_err *lzg_torch_upgraders(const lzg_torch_upgraders_options *o, lzg_torch_report *out)
{
    return run(o, out);
}
