/* derivative.h - which operators are differentiable, and how.
 *
 * One lzg_diff_info (torchgen's DifferentiabilityInfo) per operator schema and
 * autograd key; lzg_differentiable pairs every operator with the infos that serve
 * it, be they its own, those of its functional form, or derived ones. Formulas are
 * C++ expressions and stay text. All of it is immutable and owned by the
 * lzg_derivatives (load_derivatives.h) that holds it. */
#ifndef LZG_API_DERIVATIVE_H
#define LZG_API_DERIVATIVE_H

#include "gen/api/types.h"
#include "gen/derivative/saved_variables.h"
#include "gen/model/model.h"

/* A backward formula. */
typedef struct lzg_derivative {
    lz_str formula;  /* with saved variables put in */
    lz_str original; /* as written; of a derived one, the formula it came from */
    lzg_names vars;  /* the arguments that it differentiates */
    lzg_saved_list saved_inputs, saved_outputs;
    lzg_names named_gradients; /* those that it uses */
    const lzg_yaml *written;
} lzg_derivative;

/* A forward formula. */
typedef struct lzg_forward {
    lz_str formula;
    lzg_names vars; /* the outputs that it gives tangents for */
    const lzg_type *const *types;
    size_t ntypes;
    lzg_names tangents, primals; /* the inputs whose tangent or primal it needs */
    bool original_self;          /* needs self as it was before an in-place call */
    bool reuses_outplace;        /* taken from the functional form */
    const lzg_yaml *written;
} lzg_forward;

typedef struct lzg_forwards {
    const lzg_forward *data;
    size_t len;
} lzg_forwards;

typedef struct lzg_diff_info {
    lz_str key;               /* Default, AutogradNestedTensor, Autograd<backend> */
    lz_str name;              /* base name as written in the entry */
    const lzg_function *func; /* the operator that the formulas speak of */
    lz_str node;              /* class name of the autograd node; ptr NULL: nothing to compute */
    const lzg_derivative *derivatives;
    size_t nderivatives;
    lzg_forwards forward;
    lzg_saved_list saved_inputs, saved_outputs; /* of all formulas, each once */
    lzg_names named_gradients;                  /* those on offer, as indexed in grads */
    lzg_names used_named_gradients;             /* sorted */
    const lzg_binding *args;                    /* those with derivatives, in order of the signature */
    size_t nargs;
    lzg_names non_differentiable;
    const lzg_yaml *output_differentiability; /* the list as written, or NULL */
    bool conditional;                         /* it is one condition, not booleans */
    const lzg_yaml *written;                  /* the formulas */
} lzg_diff_info;

/* The infos of one schema, one per key, in order of appearance. */
typedef struct lzg_diff_infos {
    const lzg_function *func;
    const lzg_diff_info *data;
    size_t len;
} lzg_diff_infos;

typedef struct lzg_differentiable {
    const lzg_function *func;
    const lzg_diff_infos *infos; /* NULL: none */
    const lzg_forwards *forward; /* one per info; for in-place operators rewritten */
} lzg_differentiable;

const lzg_diff_info *lzg_diff_infos_get(const lzg_diff_infos *infos, lz_str key); /* or NULL */
bool lzg_diff_infos_any(const lzg_diff_infos *infos);                             /* any differentiates */
bool lzg_diff_uses(const lzg_diff_info *info, lz_str ident);                      /* in a backward formula */

/* The names of f's outputs that carry gradients; info may be NULL. */
LZ_MUST_USE
lz_err *lzg_differentiable_outputs(lz_arena *a, const lzg_function *f, const lzg_diff_info *info,
                                   lzg_names *out);

/* add -> AddBackward, conv2d_forward -> Conv2DBackward */
LZ_MUST_USE
lz_err *lzg_node_prefix(lz_arena *a, lz_str name, lz_str *out);

/* The same derivatives under the name of a view's copying form. */
LZ_MUST_USE
lz_err *lzg_diff_info_view_copy(lz_arena *a, const lzg_diff_info *info, const lzg_view_group *g,
                                lzg_diff_info *out);

/* Fills in what the formulas save between them. */
LZ_MUST_USE
lz_err *lzg_diff_info_unite_saved(lz_arena *a, lzg_diff_info *info);

/* Whether Python takes a YAML value as true: null, false, 0 and empty values are false. */
bool lzg_yaml_truthy(const lzg_yaml *y);

#endif
