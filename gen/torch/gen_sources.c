#include "gen/torch/gen_sources.h"
#include "gen/emit/c_text.h"
#include "gen/torch/c_shim_files.h"
#include "gen/torch/functionalization/gen_functionalization_files.h"
#include "gen/torch/gen_operators.h"
#include "gen/torch/gen_register_files.h"
#include "gen/torch/gen_registration.h"
#include "gen/torch/gen_static_dispatch.h"
#include <stddef.h>

/* ---- Operators.cpp ---- */

enum { OPERATORS_SHARDS = 5 };

static lz_err *put_definition(lzg_job *j, const lzg_torch_settings *s, const lzg_function *f, lzg_shards *out)
{
    lzg_shards_item(out, f->func->name.base);
    lzg_fill(lzg_shards_text(out, 0), "#include <ATen/ops/$.h>", f->func->name.base);
    LZ_TRY(lzg_shards_end(out, 0));
    LZ_TRY(lzg_put_operator_definition(&j->scratch, s, f, lzg_shards_text(out, 1)));
    return lzg_shards_end(out, 1);
}

static lz_err *put_definitions(lzg_job *j, const lzg_torch_settings *s, lzg_shards *out)
{
    const lzg_ops *ops = &j->run->ops;
    for (size_t i = 0; i < ops->nfunctions && !j->run->dry_run; i++) {
        lz_arena_mark mark = lz_arena_save(&j->scratch);
        LZ_TRY(lzg_job_take(j, put_definition(j, s, ops->functions[i], out), ops->functions[i]));
        lz_arena_rewind(&j->scratch, mark);
    }
    return NULL;
}

static lz_err *write_operators(lzg_job *j, const lzg_torch_settings *s, lzg_shards *shards, lzg_env *base)
{
    lzg_texts *headers;
    LZ_TRY(lzg_job_texts(j, &headers));
    LZ_TRY(lzg_static_dispatch_headers(s, headers));
    LZ_TRY(lzg_env_texts(base, "static_dispatch_extra_headers", headers));
    LZ_TRY(put_definitions(j, s, shards));
    return lzg_job_sharded(j, s->cpu, "Operators.cpp", "Operators.cpp", base, shards);
}

static lz_err *operators(lzg_job *j, const void *arg)
{
    lzg_shards shards;
    lzg_env base;
    lzg_env_init(&base, &j->arena);
    lz_err *e = lzg_shards_begin(&shards, OPERATORS_SHARDS, "operator_headers", "definitions", NULL);
    if (!e)
        e = write_operators(j, arg, &shards, &base);
    lzg_shards_deinit(&shards);
    lzg_env_deinit(&base);
    return e;
}

/* ---- files without values ---- */

static lz_err *fill_nothing(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    (void)j;
    (void)s;
    (void)env;
    return NULL;
}

/* ---- stubs of native AOT ---- */

static lz_err *fill_aot_stubs(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    lzg_texts *items;
    LZ_TRY(lzg_job_texts(j, &items));
    for (size_t i = 0; i < s->aot.n; i++) {
        lzg_put_aot_stub_definition(&s->aot.at[i], &items->text);
        LZ_TRY(lzg_texts_end(items));
    }
    return lzg_env_texts(env, "native_aot_stub_definitions", items);
}

#define FOLDER(name) offsetof(lzg_torch_settings, name)
static const lzg_torch_file fixed[] = {
    { "Functions.cpp", FOLDER(cpu), 1, fill_nothing },
    { "TensorMethods.cpp", FOLDER(core), 1, fill_nothing },
    { "NativeAotStubs.cpp", FOLDER(cpu), 1, fill_aot_stubs },
    { 0 },
};

lz_err *lzg_plan_sources(lzg_torch_settings *s)
{
    LZ_TRY(lzg_run_add(s->run, 50, operators, s));
    LZ_TRY(lzg_plan_registration(s));
    LZ_TRY(lzg_plan_c_shims(s));
    LZ_TRY(lzg_plan_register_dispatch_key(s));
    LZ_TRY(lzg_plan_functionalization(s));
    return lzg_torch_plan(s, fixed);
}
