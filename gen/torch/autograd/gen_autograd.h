/* gen_autograd.h - `lazuli gen torch-autograd`: which files there are.
 *
 * Three subsets: libtorch (nodes, kernels, factories), pybindings (bindings of operators and nodes), python
 * (annotated signatures). A selection concerns the kernels that are called in training, and the nodes of
 * foreach operators. */
#ifndef LZG_GEN_AUTOGRAD_H
#define LZG_GEN_AUTOGRAD_H

#include "gen/derivative/load_derivatives.h"
#include "gen/text/snippet.h"
#include "gen/torch/torch_run.h"

typedef struct lzg_autograd_settings {
    const lzg_torch_autograd_options *o;
    lzg_run *run;
    lzg_files *files;
    const lzg_derivatives *table;      /* NULL in a run that needs none */
    const lzg_diff_info *const *nodes; /* of the file alone: without those derived for foreach operators */
    size_t nnodes;
} lzg_autograd_settings;

/* An environment in which `generated_comment` names the template; deinit in any case. */
LZ_MUST_USE lz_err *lzg_autograd_env(lzg_job *j, lzg_env *env, const char *template_name);

/* Each adds its jobs. */
LZ_MUST_USE lz_err *lzg_plan_autograd_kernels(const lzg_autograd_settings *s);
LZ_MUST_USE lz_err *lzg_plan_view_funcs(const lzg_autograd_settings *s);
LZ_MUST_USE lz_err *lzg_plan_autograd_nodes(const lzg_autograd_settings *s);
LZ_MUST_USE lz_err *lzg_plan_node_bindings(const lzg_autograd_settings *s);
LZ_MUST_USE lz_err *lzg_plan_variable_factories(const lzg_autograd_settings *s);
LZ_MUST_USE lz_err *lzg_plan_python_bindings(const lzg_autograd_settings *s);
LZ_MUST_USE lz_err *lzg_plan_annotated_fn_args(const lzg_autograd_settings *s);

#endif
