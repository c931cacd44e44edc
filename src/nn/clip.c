/* Clipping of gradients by norm and by value. */
#include "base/mem.h"
#include "nn/module.h"
#include <lazuli/optim.h>
#include <math.h>

/* The gradients of all parameters of m, and the parameters. The caller frees the list. */
static lz_err *list_grads(lz_module *m, lz_tensor ***out, lz_tensor ***owners, size_t *n)
{
    lz_named_tensors list = lz_module_params(m);
    *n = 0;
    *out = lz_mem_zalloc(2 * list.n + 1, sizeof **out);
    if (!*out)
        return lz_err_oom();
    *owners = *out + list.n;
    for (size_t i = 0; i < list.n; i++) {
        lz_tensor *g = lz_grad_of(list.v[i].tensor);
        if (g) {
            (*owners)[*n] = list.v[i].tensor;
            (*out)[(*n)++] = g;
        }
    }
    return NULL;
}

/* The norm of the gradients' norms. */
static lz_tensor *total_norm(lz_module *m, lz_tensor **grads, size_t n, double type, lz_tensor **norms)
{
    const lz_loc at = m->at;
    for (size_t i = 0; i < n; i++)
        norms[i] = lz_linalg_vector_norm(m->ctx, grads[i], .ord = LZ_S(type));
    lz_tensor *all = lz_stack(m->ctx, ((lz_tensors){ norms, (int64_t)n }));
    return lz_linalg_vector_norm(m->ctx, all, .ord = LZ_S(type));
}

static void scale(lz_module *m, lz_tensor **owners, lz_tensor **grads, size_t n, lz_tensor *norm,
                  double max_norm)
{
    const lz_loc at = m->at;
    lz_tensor *by = lz_mul_Scalar(m->ctx, lz_reciprocal(m->ctx, lz_add_Scalar(m->ctx, norm, 1e-6)), max_norm);
    by = lz_clamp_max(m->ctx, by, 1.0);
    for (size_t i = 0; i < n; i++)
        lz_set_grad(owners[i], lz_mul_Tensor(m->ctx, grads[i], by));
}

static lz_err *check_norm(double max_norm, double type)
{
    if (!(max_norm >= 0))
        return lz_errf(LZ_ERR_ARG, "lz_clip_grad_norm: max_norm must not be negative");
    return isnan(type) ? lz_errf(LZ_ERR_ARG, "lz_clip_grad_norm: norm_type must not be NaN") : NULL;
}

lz_tensor *lz_clip_grad_norm_at(lz_module *m, lz_loc at, double max_norm, const lz_clip_options *options)
{
    lz_tensor **grads = NULL, **owners = NULL, *norm = NULL;
    size_t n = 0;
    if (!m)
        return NULL;
    m->at = at;
    lz_err *e = check_norm(max_norm, options->norm_type);
    if (!e)
        e = list_grads(m, &grads, &owners, &n);
    lz_tensor **norms = e ? NULL : lz_mem_zalloc(n + 1, sizeof *norms);
    if (!e && !norms)
        e = lz_err_oom();
    LZ_NO_GRAD(m->ctx)
    {
        if (e) {
            norm = lz_refuse(m->ctx, at, e);
        } else if (n == 0) {
            norm = lz_zeros(m->ctx, ((lz_ints){ NULL, 0 }));
        } else {
            norm = total_norm(m, grads, n, options->norm_type, norms);
            if (!options->error_if_nonfinite || isfinite(lz_item(norm).re))
                scale(m, owners, grads, n, norm, max_norm);
            else
                norm = lz_fail(m->ctx, at, LZ_ERR_ARG, "lz_clip_grad_norm: the norm is not finite");
        }
    }
    lz_mem_free(norms);
    lz_mem_free(grads);
    return norm;
}

bool lz_clip_grad_value_at(lz_module *m, lz_loc at, double value)
{
    lz_tensor **grads = NULL, **owners = NULL;
    size_t n = 0;
    if (!m)
        return false;
    m->at = at;
    lz_err *e = value >= 0 ? list_grads(m, &grads, &owners, &n)
                           : lz_errf(LZ_ERR_ARG, "lz_clip_grad_value: the value must not be negative");
    if (!lz_nn_report(m->ctx, at, e))
        return false;
    lz_scope *s = lz_scope_push(m->ctx);
    LZ_NO_GRAD(m->ctx)
    {
        for (size_t i = 0; i < n; i++)
            lz_set_grad(owners[i], lz_clamp(m->ctx, grads[i], .min = LZ_S(-value), .max = LZ_S(value)));
    }
    lz_scope_pop(s);
    lz_mem_free(grads);
    return !lz_failed(m->ctx);
}
