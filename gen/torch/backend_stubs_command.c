/* torch-backend-stubs: the class of an external backend's kernels, and their registrations. */
#include "gen/torch/backend_files.h"
#include "gen/torch/torch_commands.h"
#include <stddef.h>

#define AT(name) offsetof(lzg_torch_backend_stubs_options, name)
static const lzg_option options[] = {
    { "--source-path", 0, LZG_TEXT, false, AT(source_path), "aten/src/ATen", "DIR",
      "the folder with native/ and templates/", NULL },
    { "--source-yaml", 's', LZG_TEXT, true, AT(source_yaml), NULL, "FILE", "the backend's file", NULL },
    { "--output-dir", 'o', LZG_TEXT, true, AT(output_dir), NULL, "DIR",
      "where files go; files include each other by this name", NULL },
    { "--impl-path", 0, LZG_TEXT, false, AT(impl_path), NULL, "FILE",
      "a source that must define every kernel", NULL },
    { "--dry-run", 0, LZG_FLAG, false, AT(dry_run), NULL, NULL, "writes nothing", NULL },
    { 0 },
};

/* ---- the plan ---- */

static void close_backend(void *b)
{
    lzg_backend_deinit(b);
}

static lz_err *load_backend(lzg_run *r, const char *path, lzg_backend **out)
{
    const lzg_yaml *doc;
    LZ_TRY(lz_arena_new(&r->arena, out, 1));
    lzg_backend_init(*out);
    LZ_TRY(lzg_run_keep(r, *out, close_backend));
    LZ_TRY(lzg_run_yaml(r, &r->arena, path, &doc));
    LZ_TRY(lzg_backend_read(*out, &r->ops, doc, &r->diag));
    return lzg_diag_error(&r->diag);
}

static lz_err *check_kernels(lzg_run *r, const lzg_backend *b, const char *path)
{
    lz_str text;
    if (!path)
        return NULL;
    LZ_TRY(lzg_run_read(r, &r->arena, path, &text));
    LZ_TRY(lzg_backend_check_kernels(b, &r->ops, path, text, &r->diag));
    return lzg_diag_error(&r->diag);
}

static lz_err *write_header(lzg_job *j, const void *arg)
{
    return lzg_backend_header_file(j, arg);
}

static lz_err *write_registrations(lzg_job *j, const void *arg)
{
    const lzg_backend_files *f = arg;
    LZ_TRY(lzg_backend_registration_file(j, f, &f->backend->index));
    return f->backend->autograd_key == LZG_KEY_NONE
               ? NULL
               : lzg_backend_registration_file(j, f, &f->backend->autograd_index);
}

/* A backend without operators has no files yet. */
static lz_err *plan(lzg_run *r, const void *what)
{
    const lzg_torch_backend_stubs_options *o = what;
    lzg_backend_files *f;
    lzg_backend *b;
    LZ_TRY(load_backend(r, o->source_yaml, &b));
    if (b->key == LZG_KEY_NONE)
        return NULL;
    LZ_TRY(check_kernels(r, b, o->impl_path));
    LZ_TRY(lz_arena_new(&r->arena, &f, 1));
    *f = (lzg_backend_files){ .backend = b,
                              .grouped = r->ops.grouped,
                              .ngrouped = r->ops.ngrouped,
                              .output_dir = o->output_dir,
                              .name = "",
                              .eager = true };
    LZ_TRY(lzg_run_folder(r, o->output_dir, &f->files));
    LZ_TRY(lzg_run_add(r, 1, write_header, f));
    return lzg_run_add(r, 2, write_registrations, f);
}

/* ---- the command ---- */

static lz_err *run(const void *o, lzg_torch_report *out);

const lzg_command lzg_command_torch_backend_stubs = { "torch-backend-stubs",
                                                      "writes registrations of a backend's kernels", options,
                                                      sizeof(lzg_torch_backend_stubs_options), run };

static lz_err *run(const void *o, lzg_torch_report *out)
{
    const lzg_torch_backend_stubs_options *s = o;
    const lzg_run_options r = { .command = &lzg_command_torch_backend_stubs,
                                .options = o,
                                .generator = "torchgen/gen_backend_stubs.py",
                                .dry_run = s->dry_run };
    return lzg_run_source(&r, s->source_path, plan, out);
}

lz_err *lzg_torch_backend_stubs(const lzg_torch_backend_stubs_options *o, lzg_torch_report *out)
{
    lzg_torch_backend_stubs_options all = *o;
    LZ_TRY(lzg_options_complete(&lzg_command_torch_backend_stubs, &all));
    return run(&all, out);
}
