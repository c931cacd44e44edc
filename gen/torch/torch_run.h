/* torch_run.h - one run of a `gen torch...` command: operators, templates, output folders, jobs.
 *
 *     static lz_err *plan(lzg_run *r, const void *options)
 *     {
 *         lzg_files *out;
 *         LZ_TRY(lzg_run_folder(r, "build", &out));             // a "file manager"
 *         return lzg_run_add(r, 10, write_functions_h, out);    // a job
 *     }
 *     static lz_err *run(const void *options, lzg_torch_report *out)
 *     {
 *         const lzg_run_options o = { .command = &lzg_command_torch, .options = options, ... };
 *         return lzg_run_command(&o, plan, out);
 *     }
 *
 * lzg_run_command reads the operator files; calls plan, which adds jobs; runs the jobs on all threads, the
 * heaviest first; and then, if nothing was refused anywhere, writes the files that differ from the disk. A
 * refusal writes nothing. What a run read and wrote is remembered (torch_record.h); a run that would read the
 * same and finds all its files as it left them does nothing.
 *
 * So that this is true, a plan and its jobs read files only with the functions below.
 *
 * Emitters are functions named for what they print, one .c/.h pair for each module of torchgen:
 *
 *     lz_err *lzg_put_redispatch_function(lz_arena *a, const lzg_function *f, lz_text *out);
 *
 * They append to a lz_text; the arena is for what they need meanwhile, and the caller rewinds it. Lines with
 * holes are written with lzg_fill (gen/emit/c_text.h), whole files with templates. */
#ifndef LZG_TORCH_RUN_H
#define LZG_TORCH_RUN_H

#include "gen/model/model.h"
#include "gen/text/file_manager.h"
#include "gen/torch/selective_build/selector.h"
#include "gen/torch/torch_options.h"

typedef struct lzg_run lzg_run;
typedef struct lzg_job lzg_job;

typedef struct lzg_run_options {
    const lzg_command *command; /* which run this is, together with its options */
    const void *options;
    const char *native, *tags;      /* operator file and tags; NULL: none */
    const char *templates;          /* their folder; NULL: none */
    const char *generator;          /* the script that files name: "torchgen/gen.py" */
    const char *const *ignore_keys; /* dispatch keys that the operator file may have; NULL: none */
    bool dry_run;                   /* adds files by name only; nothing is computed or written */
} lzg_run_options;

typedef lz_err *lzg_plan_fn(lzg_run *r, const void *options);

/* Every mistake found is in the error's text, with its place. */
LZ_MUST_USE lz_err *lzg_run_command(const lzg_run_options *o, lzg_plan_fn *plan, lzg_torch_report *out);
/* The same with the operators and templates of a folder ATen: native/native_functions.yaml, native/tags.yaml,
 * templates/. */
LZ_MUST_USE lz_err *lzg_run_source(const lzg_run_options *o, const char *source, lzg_plan_fn *plan,
                                   lzg_torch_report *out);

/* ---- for a plan and for jobs ---- */

struct lzg_run {
    lzg_ops ops;    /* read-only in jobs */
    lz_arena arena; /* for plans, not for jobs; until the end of the run */
    lzg_diag diag;
    lz_pool *pool;
    bool dry_run;
    /* private */
    lzg_run_options o;
    struct lzg_record *record; /* NULL: nothing is remembered */
    LZ_VEC(lzg_files *) folders;
    LZ_VEC(lzg_job *) jobs;
    LZ_VEC(lzg_selector *) selectors;
    LZ_VEC(struct lzg_output_list) lists;
    LZ_VEC(struct lzg_kept) kept;
    lz_map templates;
    lz_lock lock; /* of record, templates */
};

/* A path below --source-path and the like, in the run's arena. */
LZ_MUST_USE lz_err *lzg_run_path(lzg_run *r, const char *folder, const char *name, const char **out);

/* The whole text of a file, in the arena; LZ_ERR_NOT_FOUND names the path. */
LZ_MUST_USE lz_err *lzg_run_read(lzg_run *r, lz_arena *a, const char *path, lz_str *out);
/* A YAML file as a tree. Its mistakes are in the error. */
LZ_MUST_USE lz_err *lzg_run_yaml(lzg_run *r, lz_arena *a, const char *path, const lzg_yaml **out);
/* Makes the run depend on a file that something else reads (the selection of a selective build), or on the
 * list of names in a folder. Both may be missing. */
LZ_MUST_USE lz_err *lzg_run_depend(lzg_run *r, const char *path);
/* The template of that name below the templates' folder. Belongs to the run. */
LZ_MUST_USE lz_err *lzg_run_template(lzg_run *r, const char *name, const lzg_template **out);

/* The operators of a selective build: all, or those of a selection's file, or those of a list of names with
 * all their overloads, as root operators that are not trained. Belongs to the run. */
LZ_MUST_USE lz_err *lzg_run_selection(lzg_run *r, const char *path, const char *const *names,
                                      const lzg_selector **out);

/* A file manager for a folder, written at the end. Several may have the same folder, but no name twice. */
LZ_MUST_USE lz_err *lzg_run_folder(lzg_run *r, const char *folder, lzg_files **out);

/* A file gets the list of files' outputs, for CMake; also in a dry run. Its path is `path` with the prefix
 * before the file's name, and the list is named so, without a suffix. */
LZ_MUST_USE lz_err *lzg_run_list(lzg_run *r, const lzg_files *files, const char *prefix, const char *path);

/* Something that jobs use: `destroy` is called with it at the end of the run. Also after an error it belongs
 * to the run. */
LZ_MUST_USE lz_err *lzg_run_keep(lzg_run *r, void *what, void (*destroy)(void *what));

/* The index of a key; without a kernel for that key anywhere, an empty one whose key is Undefined, as in
 * torchgen. Its kernels are found with lzg_index_kernel_of. */
const lzg_backend_index *lzg_run_index(const lzg_run *r, lzg_dispatch_key key);
const lzg_backend_metadata *lzg_index_kernel_of(const lzg_backend_index *index, const lzg_function *f);
/* The kernel of the group's primary operator: out, or functional where the index says so. */
const lzg_backend_metadata *lzg_index_kernel_of_group(const lzg_backend_index *index, const lzg_group *g);
const lzg_function *lzg_index_primary(const lzg_backend_index *index, const lzg_group *g);

/* ---- jobs ---- */

typedef lz_err *lzg_job_fn(lzg_job *j, const void *arg);

struct lzg_job {
    lzg_run *run;
    lz_arena arena;   /* until the end of the job */
    lz_arena scratch; /* rewound after each item by lzg_job_each */
    lzg_diag diag;    /* mistakes of operators; added to the run's in the order of the jobs */
    /* private */
    lzg_job_fn *fn;
    const void *arg;
    uint32_t weight;
    LZ_VEC(lzg_texts *) texts;
};

/* weight: about how many milliseconds the job takes; heavy jobs start first. arg must live until the end. */
LZ_MUST_USE lz_err *lzg_run_add(lzg_run *r, uint32_t weight, lzg_job_fn *fn, const void *arg);

/* Takes an error that concerns f: recorded at its place, and the job goes on. Only a memory error is
 * returned. NULL is fine. */
LZ_MUST_USE lz_err *lzg_job_take(lzg_job *j, lz_err *e, const lzg_function *f);

/* An empty list that lives until the end of the job. */
LZ_MUST_USE lz_err *lzg_job_texts(lzg_job *j, lzg_texts **out);

/* Appends put's text for each operator to the list, an item each; nothing where put appends nothing. A
 * mistake is recorded at its operator. user is passed on. */
typedef lz_err *lzg_put_fn(lz_arena *a, const void *user, const lzg_function *f, lz_text *out);
LZ_MUST_USE lz_err *lzg_job_each(lzg_job *j, const lzg_function *const *f, size_t n, lzg_put_fn *put,
                                 const void *user, lzg_texts *out);

/* Adds NAME to the files, made from the template. In a dry run env may lack values. */
LZ_MUST_USE lz_err *lzg_job_template(lzg_job *j, lzg_files *files, const char *name,
                                     const char *template_name, const lzg_env *env);
/* A list in env: put's text for every operator. */
LZ_MUST_USE lz_err *lzg_job_list(lzg_job *j, const char *list, lzg_put_fn *put, const void *user,
                                 lzg_env *env);
LZ_MUST_USE lz_err *lzg_job_sharded(lzg_job *j, lzg_files *files, const char *name, const char *template_name,
                                    const lzg_env *base, const lzg_shards *s);

#endif
