/* gen_torch.h - torchgen's main program: which files there are, and what is in them.
 *
 * The settings below follow from the options and the operators. Files are printed by jobs, one or a few
 * files each (gen_headers.c, gen_sources.c). */
#ifndef LZG_GEN_TORCH_H
#define LZG_GEN_TORCH_H

#include "gen/torch/native_aot.h"
#include "gen/torch/roots.h"
#include "gen/torch/torch_run.h"

typedef struct lzg_keys { /* some dispatch keys, in order */
    lzg_dispatch_key at[LZG_KEY_COUNT];
    size_t n;
} lzg_keys;

bool lzg_keys_has(const lzg_keys *k, lzg_dispatch_key key);

typedef struct lzg_torch_settings lzg_torch_settings;
struct lzg_torch_settings {
    const lzg_torch_options *o;
    lzg_run *run;
    const lzg_selector *selector;
    const lzg_selector *schema_selector; /* whose schemas are registered */
    lzg_keys keys;                       /* that get a registration */
    lzg_keys functions_keys;             /* that get direct functions: at::cpu::add */
    lzg_keys aoti_keys;                  /* LZG_KEY_NONE: through the dispatcher */
    lzg_roots roots;
    lzg_aot aot;
    const lzg_backend_index **static_dispatch;
    size_t nstatic_dispatch;
    lzg_files *core, *cpu, *cpu_vec, *cuda, *xpu, *ops, *aoti, *headeronly; /* xpu: or NULL */
};

/* A file from the template of its name. fill is not called in a dry run. */
typedef struct lzg_torch_file {
    const char *name;
    size_t files;    /* offset of its folder in the settings */
    uint32_t weight; /* of the job */
    lz_err *(*fill)(lzg_job *j, const lzg_torch_settings *s, lzg_env *env);
} lzg_torch_file;

/* Adds a job for each row; the last row has no name. */
LZ_MUST_USE lz_err *lzg_torch_plan(lzg_torch_settings *s, const lzg_torch_file *rows);

/* The folder of a key's files. */
lzg_files *lzg_torch_files(const lzg_torch_settings *s, lzg_dispatch_key key);

#endif
