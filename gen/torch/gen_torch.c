#include "gen/torch/gen_torch.h"
#include "base/dir.h"
#include "base/file.h"
#include "base/mem.h"
#include "gen/torch/dest/native_functions.h"
#include "gen/torch/gen_declarations_yaml.h"
#include "gen/torch/gen_headers.h"
#include "gen/torch/gen_sources.h"
#include "gen/torch/torch_commands.h"

#define AT(name) offsetof(lzg_torch_options, name)
static const char *const file_kinds[] = { "headers", "sources", "declarations_yaml", NULL };
static const lzg_option options[] = {
    { "--source-path", 's', LZG_TEXT, false, AT(source_path), "aten/src/ATen", "DIR",
      "the folder with native/ and templates/", NULL },
    { "--output-dependencies", 'o', LZG_TEXT, false, AT(output_dependencies), NULL, "FILE",
      "writes the names of the other files into this one and its neighbours", NULL },
    { "--dry-run", 0, LZG_FLAG, false, AT(dry_run), NULL, NULL, "writes only the names", NULL },
    { "--per-operator-headers", 0, LZG_FLAG, false, AT(per_operator_headers), NULL, NULL,
      "a header for each operator", NULL },
    { "--install-dir", 'd', LZG_TEXT, false, AT(install_dir), "build/aten/src/ATen", "DIR", "where files go",
      NULL },
    { "--aoti-install-dir", 0, LZG_TEXT, false, AT(aoti_install_dir),
      "torch/csrc/inductor/aoti_torch/generated", "DIR", "where C shims go", NULL },
    { "--headeronly-install-dir", 0, LZG_TEXT, false, AT(headeronly_install_dir), NULL, "DIR",
      "where enum_tag.h goes; by default core/ of --install-dir", NULL },
    { "--native-aot-ops-dir", 0, LZG_TEXT, false, AT(native_aot_ops_dir), NULL, "DIR",
      "a folder of OP/aot.py; by default torch/_native/ops of the checkout; '' for none", NULL },
    { "--rocm", 0, LZG_FLAG, false, AT(rocm), NULL, NULL, "CUDA means HIP", NULL },
    { "--mps", 0, LZG_FLAG, false, AT(mps), NULL, NULL, "with the keys of MPS", NULL },
    { "--xpu", 0, LZG_FLAG, false, AT(xpu), NULL, NULL, "with the keys of XPU", NULL },
    { "--mtia", 0, LZG_FLAG, false, AT(mtia), NULL, NULL, "with the key MTIA", NULL },
    { "--op-registration-whitelist", 0, LZG_LIST, false, AT(op_registration_whitelist), NULL, "OP",
      "registers only these operators, with all overloads", NULL },
    { "--op-selection-yaml-path", 0, LZG_TEXT, false, AT(op_selection_yaml_path), NULL, "FILE",
      "registers only the operators of a selection", NULL },
    { "--backend-whitelist", 0, LZG_LIST, false, AT(backend_whitelist), NULL, "KEY",
      "only these dispatch keys, and the composite ones", NULL },
    { "--static-dispatch-backend", 0, LZG_LIST, false, AT(static_dispatch_backend), NULL, "KEY",
      "calls go to the kernels of these keys, not through the dispatcher", NULL },
    { "--skip-dispatcher-op-registration", 0, LZG_FLAG, false, AT(skip_dispatcher_op_registration), NULL,
      NULL, "registers nothing", NULL },
    { "--force-schema-registration", 0, LZG_FLAG, false, AT(force_schema_registration), NULL, NULL,
      "registers the schemas of all operators", NULL },
    { "--generate", 0, LZG_LIST, false, AT(generate), NULL, "KIND", "only some kinds of files", file_kinds },
    { "--update-aoti-c-shim", 0, LZG_FLAG, false, AT(update_aoti_c_shim), NULL, NULL,
      "writes the headers of C shims, which otherwise may not change", NULL },
    { "--extend-aoti-c-shim", 0, LZG_FLAG, false, AT(extend_aoti_c_shim), NULL, NULL,
      "for operators outside of the tree: composite kernels get no C shims", NULL },
    { 0 },
};

static lz_err *plan(lzg_run *r, const void *o);
static lz_err *run(const void *o, lzg_torch_report *out);

const lzg_command lzg_command_torch = { "torch", "writes torchgen's files for ATen", options,
                                        sizeof(lzg_torch_options), run };

/* ---- keys ---- */

/* Those that get a registration, in this order. */
static const char *const all_keys[] = {
    "CPU",
    "SparseCPU",
    "SparseCsrCPU",
    "MkldnnCPU",
    "CUDA",
    "MPS",
    "XPU",
    "SparseXPU",
    "SparseCsrXPU",
    "SparseCUDA",
    "SparseCsrCUDA",
    "SparseMPS",
    "SparseCsrMPS",
    "QuantizedCPU",
    "QuantizedCUDA",
    "CompositeImplicitAutograd",
    "CompositeImplicitAutogradNestedTensor",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "NestedTensorCPU",
    "NestedTensorCUDA",
    "NestedTensorXPU",
    "NestedTensorHPU",
    "Meta",
    "SparseMeta",
    "SparseCsrMeta",
    "QuantizedMeta",
    "NestedTensorMeta",
    "ZeroTensor",
    "MTIA",
    NULL,
};

static const char *const always_functions[] = { "CPU",
                                                "CUDA",
                                                "CompositeImplicitAutograd",
                                                "CompositeImplicitAutogradNestedTensor",
                                                "CompositeExplicitAutograd",
                                                "CompositeExplicitAutogradNonFunctional",
                                                "Meta",
                                                "MTIA",
                                                NULL };

/* Keys that are left out unless an option asks for their device. */
static const char *const mps_keys[] = { "MPS", "SparseMPS", "SparseCsrMPS", NULL };
static const char *const xpu_keys[] = { "XPU", "SparseXPU", "SparseCsrXPU", "NestedTensorXPU", NULL };
static const char *const mtia_keys[] = { "MTIA", NULL };
enum { OPTIONAL_KEYS = 8 };

bool lzg_keys_has(const lzg_keys *k, lzg_dispatch_key key)
{
    for (size_t i = 0; i < k->n; i++)
        if (k->at[i] == key)
            return true;
    return false;
}

static void add_key(lzg_keys *k, lzg_dispatch_key key)
{
    if (!lzg_keys_has(k, key))
        k->at[k->n++] = key;
}

static void add_keys(lzg_keys *k, const char *const *names)
{
    for (; *names; names++)
        add_key(k, lzg_dispatch_key_find(lz_str_of(*names)));
}

static bool has_name(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

static bool wants_mps(const lzg_torch_options *o)
{
    return o->mps || o->update_aoti_c_shim;
}

static bool wants_xpu(const lzg_torch_options *o)
{
    return o->xpu || o->update_aoti_c_shim;
}

/* *out: NULL-terminated, room for OPTIONAL_KEYS + 1. */
static void ignored_keys(const lzg_torch_options *o, const char **out)
{
    const char *const *groups[] = { wants_mps(o) ? NULL : mps_keys, wants_xpu(o) ? NULL : xpu_keys,
                                    o->mtia ? NULL : mtia_keys };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (const char *const *name = groups[i]; name && *name; name++)
            *out++ = *name;
    *out = NULL;
}

static bool listed(const lzg_torch_options *o, const char *name)
{
    bool all = !o->backend_whitelist || !*o->backend_whitelist;
    return all || lz_str_starts(lz_str_of(name), LZ_STR("Composite")) || has_name(o->backend_whitelist, name);
}

static void set_keys(lzg_torch_settings *s)
{
    const char *ignored[OPTIONAL_KEYS + 1];
    ignored_keys(s->o, ignored);
    for (const char *const *name = all_keys; *name; name++)
        if (!has_name(ignored, *name) && listed(s->o, *name))
            add_key(&s->keys, lzg_dispatch_key_find(lz_str_of(*name)));
    add_keys(&s->functions_keys, always_functions);
    add_keys(&s->aoti_keys, (const char *const[]){ "CPU", "CUDA", NULL });
    s->aoti_keys.at[s->aoti_keys.n++] = LZG_KEY_NONE;
    if (wants_mps(s->o)) {
        add_keys(&s->functions_keys, mps_keys);
        add_keys(&s->aoti_keys, (const char *const[]){ "MPS", NULL });
    }
    if (wants_xpu(s->o)) {
        add_keys(&s->functions_keys, (const char *const[]){ "XPU", NULL });
        add_keys(&s->aoti_keys, (const char *const[]){ "XPU", NULL });
    }
}

static lz_err *set_static_dispatch(lzg_torch_settings *s)
{
    const char *const *names = s->o->static_dispatch_backend;
    size_t n = 0;
    while (names && names[n])
        n++;
    LZ_TRY(lz_arena_new(&s->run->arena, &s->static_dispatch, n));
    for (size_t i = 0; i < n; i++) {
        lzg_dispatch_key key = lzg_dispatch_key_find(lz_str_of(names[i]));
        if (key == LZG_KEY_NONE)
            return lz_errf(LZ_ERR_UNSUPPORTED, "--static-dispatch-backend: unknown dispatch key %s",
                           names[i]);
        s->static_dispatch[s->nstatic_dispatch++] = lzg_run_index(s->run, key);
        add_key(&s->functions_keys, key);
    }
    return NULL;
}

/* ---- the selection ---- */

static lz_err *set_selectors(lzg_torch_settings *s)
{
    const lzg_torch_options *o = s->o;
    LZ_TRY(lzg_run_selection(s->run, o->op_selection_yaml_path, o->op_registration_whitelist, &s->selector));
    s->schema_selector = s->selector;
    return o->force_schema_registration ? lzg_run_selection(s->run, NULL, NULL, &s->schema_selector) : NULL;
}

/* ---- native AOT ---- */

static lz_err *set_aot(lzg_torch_settings *s)
{
    const char *folder = s->o->native_aot_ops_dir;
    if (!folder)
        LZ_TRY(lzg_run_path(s->run, s->o->source_path, "../../../torch/_native/ops", &folder));
    return lzg_aot_load(s->run, folder, &s->aot);
}

/* ---- folders ---- */

lzg_files *lzg_torch_files(const lzg_torch_settings *s, lzg_dispatch_key key)
{
    if (lzg_dispatch_key_is_cuda(key))
        return s->cuda;
    return s->xpu && lzg_dispatch_key_is_xpu(key) ? s->xpu : s->cpu;
}

static lz_err *set_folders(lzg_torch_settings *s)
{
    const lzg_torch_options *o = s->o;
    const char *core, *ops;
    LZ_TRY(lzg_run_path(s->run, o->install_dir, "core", &core));
    LZ_TRY(lzg_run_path(s->run, o->install_dir, "ops", &ops));
    LZ_TRY(lzg_run_folder(s->run, core, &s->core));
    LZ_TRY(lzg_run_folder(s->run, o->install_dir, &s->cpu));
    LZ_TRY(lzg_run_folder(s->run, o->install_dir, &s->cpu_vec));
    LZ_TRY(lzg_run_folder(s->run, o->install_dir, &s->cuda));
    LZ_TRY(lzg_run_folder(s->run, ops, &s->ops));
    LZ_TRY(lzg_run_folder(s->run, o->aoti_install_dir, &s->aoti));
    LZ_TRY(
        lzg_run_folder(s->run, o->headeronly_install_dir ? o->headeronly_install_dir : core, &s->headeronly));
    return o->xpu ? lzg_run_folder(s->run, o->install_dir, &s->xpu) : NULL;
}

/* ---- files ---- */

typedef struct file_job {
    const lzg_torch_settings *s;
    const lzg_torch_file *row;
} file_job;

static lz_err *write_file(lzg_job *j, const void *arg)
{
    const file_job *job = arg;
    const lzg_torch_file *row = job->row;
    lzg_files *files = *(lzg_files *const *)((const char *)job->s + row->files);
    lzg_env env;
    lzg_env_init(&env, &j->arena);
    lz_err *e = j->run->dry_run ? NULL : row->fill(j, job->s, &env);
    if (!e)
        e = lzg_job_template(j, files, row->name, row->name, &env);
    lzg_env_deinit(&env);
    return e;
}

lz_err *lzg_torch_plan(lzg_torch_settings *s, const lzg_torch_file *rows)
{
    for (; rows->name; rows++) {
        file_job *job;
        LZ_TRY(lz_arena_new(&s->run->arena, &job, 1));
        *job = (file_job){ s, rows };
        LZ_TRY(lzg_run_add(s->run, rows->weight, write_file, job));
    }
    return NULL;
}

/* ---- lists of files ---- */

static lz_err *list_files(lzg_torch_settings *s)
{
    const char *path = s->o->output_dependencies;
    if (!path)
        return NULL;
    LZ_TRY(lzg_run_list(s->run, s->cpu, "", path));
    LZ_TRY(lzg_run_list(s->run, s->cpu_vec, "cpu_vec_", path));
    LZ_TRY(lzg_run_list(s->run, s->core, "core_", path));
    LZ_TRY(lzg_run_list(s->run, s->ops, "ops_", path));
    LZ_TRY(lzg_run_list(s->run, s->cuda, "cuda_", path));
    return s->xpu ? lzg_run_list(s->run, s->xpu, "xpu_", path) : NULL;
}

/* ---- the run ---- */

static bool generates(const lzg_torch_options *o, const char *kind)
{
    return !o->generate || has_name(o->generate, kind);
}

static lz_err *plan(lzg_run *r, const void *o)
{
    lzg_torch_settings *s;
    LZ_TRY(lz_arena_new(&r->arena, &s, 1));
    s->o = o;
    s->run = r;
    set_keys(s);
    LZ_TRY(set_selectors(s));
    LZ_TRY(lzg_check_cpu_dll_kernels(&r->ops));
    LZ_TRY(lzg_roots_make(&r->arena, &r->ops, &s->roots));
    LZ_TRY(set_aot(s));
    LZ_TRY(set_folders(s));
    LZ_TRY(set_static_dispatch(s));
    if (generates(s->o, "sources"))
        LZ_TRY(lzg_plan_sources(s));
    if (generates(s->o, "headers"))
        LZ_TRY(lzg_plan_headers(s));
    if (generates(s->o, "declarations_yaml"))
        LZ_TRY(lzg_plan_declarations(s));
    return list_files(s);
}

static lz_err *run(const void *o, lzg_torch_report *out)
{
    const lzg_torch_options *t = o;
    const char *ignored[OPTIONAL_KEYS + 1];
    ignored_keys(t, ignored);
    const lzg_run_options r = { .command = &lzg_command_torch,
                                .options = o,
                                .generator = "torchgen/gen.py",
                                .ignore_keys = ignored,
                                .dry_run = t->dry_run };
    return lzg_run_source(&r, t->source_path, plan, out);
}

lz_err *lzg_torch(const lzg_torch_options *o, lzg_torch_report *out)
{
    lzg_torch_options all = *o;
    LZ_TRY(lzg_options_complete(&lzg_command_torch, &all));
    return run(&all, out);
}
