/* torch-static-runtime */
#include "base/file.h"
#include "gen/torch/static_runtime/gen_static_runtime_ops.h"
#include "gen/torch/torch_commands.h"
#include "gen/torch/torch_run.h"
#include <stddef.h>

#define AT(name) offsetof(lzg_torch_static_runtime_options, name)
static const lzg_option options[] = {
    { "--source-path", 's', LZG_TEXT, false, AT(source_path), "caffe2/aten/src/ATen", "DIR",
      "the folder with native/", NULL },
    { "--generated-ops-cpp-path", 'p', LZG_TEXT, false, AT(generated_ops_cpp_path),
      "caffe2/torch/csrc/jit/runtime/static/generated_ops.cpp", "FILE", "where the functors go", NULL },
    { "--generated-ops-test-cpp-path", 't', LZG_TEXT, false, AT(generated_ops_test_cpp_path),
      "caffe2/benchmarks/static_runtime/test_generated_ops.cc", "FILE", "where their tests go", NULL },
    { 0 },
};

/* A file on its own: the folder has no other files of the run. */
typedef struct target {
    lzg_files *files;
    const char *name;
    bool tests;
} target;

static lz_err *write_target(lzg_job *j, const void *arg)
{
    const target *t = arg;
    lzg_functors f;
    lz_text text = { 0 };
    LZ_TRY(lzg_static_runtime_functors(&j->arena, &j->run->ops, &f));
    lz_err *e = t->tests ? lzg_put_functor_tests(&j->run->ops, &f, &text) : lzg_put_functors(&f, &text);
    if (!e)
        e = lzg_files_take(t->files, t->name, &text);
    lz_text_deinit(&text);
    return e;
}

static lz_err *plan_target(lzg_run *r, const char *path, bool tests)
{
    lz_str folder = lz_file_folder(path), copy;
    target *t;
    LZ_TRY(lz_arena_new(&r->arena, &t, 1));
    LZ_TRY(lz_arena_copy(&r->arena, folder.len ? folder : LZ_STR("."), &copy));
    *t = (target){ .name = path + folder.len, .tests = tests };
    LZ_TRY(lzg_run_folder(r, copy.ptr, &t->files));
    return lzg_run_add(r, 1, write_target, t);
}

static lz_err *plan(lzg_run *r, const void *o)
{
    const lzg_torch_static_runtime_options *s = o;
    LZ_TRY(plan_target(r, s->generated_ops_cpp_path, false));
    return plan_target(r, s->generated_ops_test_cpp_path, true);
}

static lz_err *run(const void *o, lzg_torch_report *out);

const lzg_command lzg_command_torch_static_runtime = { "torch-static-runtime",
                                                       "writes functors of the static runtime", options,
                                                       sizeof(lzg_torch_static_runtime_options), run };

static lz_err *run(const void *o, lzg_torch_report *out)
{
    const lzg_torch_static_runtime_options *s = o;
    const lzg_run_options r = { .command = &lzg_command_torch_static_runtime, .options = o, .generator = "" };
    return lzg_run_source(&r, s->source_path, plan, out);
}

lz_err *lzg_torch_static_runtime(const lzg_torch_static_runtime_options *o, lzg_torch_report *out)
{
    lzg_torch_static_runtime_options all = *o;
    LZ_TRY(lzg_options_complete(&lzg_command_torch_static_runtime, &all));
    return run(&all, out);
}
