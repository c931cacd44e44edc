/* Gradients: the bodies of lazuli/autograd.h that ask the tape about tensors and start backward passes. */
#include "autograd/backward.h"
#include "autograd/engine.h"
#include "op/op_table.h"

/* ---- tensors that require gradients ---- */

bool lz_set_requires_grad(lz_tensor *t, bool on)
{
    return !lz_tensor_is_inert(t) && lz_ctx_report(lz_tensor_ctx(t), (lz_loc){ 0 }, lz_grad_require(t, on));
}

bool lz_requires_grad(const lz_tensor *t)
{
    return !lz_tensor_is_inert(t) && lz_grad_required(t);
}

static lz_grad_meta *meta_of(const lz_tensor *t)
{
    return lz_tensor_is_inert(t) ? NULL : lz_meta_at(t);
}

lz_tensor *lz_grad_of(const lz_tensor *t)
{
    const lz_grad_meta *m = meta_of(t);
    return m ? m->grad : NULL;
}

static lz_err *set_grad(lz_tensor *t, lz_tensor *grad)
{
    lz_ctx *c = lz_tensor_ctx(t);
    lz_tape *tape;
    lz_grad_meta *m;
    if (!grad && !meta_of(t))
        return NULL;
    if (grad)
        LZ_TRY(lz_engine_fits(c, "gradient", 0, grad, lz_tensor_spec(t), true));
    LZ_TRY(lz_tape_of(c, &tape));
    LZ_TRY(lz_meta_of(t, &m));
    lz_retain(grad);
    lz_release(m->grad);
    m->grad = grad;
    return NULL;
}

bool lz_set_grad(lz_tensor *t, lz_tensor *grad)
{
    return !lz_tensor_is_inert(t) && lz_ctx_report(lz_tensor_ctx(t), (lz_loc){ 0 }, set_grad(t, grad));
}

static const lz_tape_node *fn_of(const lz_tensor *t)
{
    const lz_grad_meta *m = meta_of(t);
    return m ? m->fn.node : NULL;
}

const char *lz_grad_fn(const lz_tensor *t)
{
    const lz_tape_node *n = fn_of(t);
    return n ? lz_tape_node_name(n) : NULL;
}

lz_loc lz_grad_fn_place(const lz_tensor *t)
{
    const lz_tape_node *n = fn_of(t);
    return n ? n->at : (lz_loc){ 0 };
}

lz_tensor *lz_detached(lz_ctx *c, lz_tensor *t)
{
    const lz_value in = lz_value_tensor(t);
    lz_value out = lz_value_tensor(NULL);
    if (lz_tensor_is_inert(t))
        return lz_ctx_inert(c);
    lz_record(c, &lz_op_table[LZ_OP_detach], (lz_loc){ 0 }, &in, &out);
    return out.tensor;
}

/* ---- backward passes: a context that has an error starts none ---- */

bool lz_backward_at(lz_ctx *c, lz_loc at, lz_tensor *root, const lz_backward_args *args)
{
    static const lz_backward_args plain = { 0 };
    return !lz_failed(c) && lz_ctx_report(c, at, lz_backward_leaves(c, at, root, args ? args : &plain));
}

bool lz_grad_at(lz_ctx *c, lz_loc at, lz_tensors outputs, lz_tensors inputs, lz_tensor **out,
                const lz_grad_args *args)
{
    static const lz_grad_args plain = { 0 };
    if (!lz_failed(c))
        return lz_ctx_report(c, at, lz_backward_inputs(c, at, outputs, inputs, out, args ? args : &plain));
    for (int64_t i = 0; i < inputs.n; i++)
        out[i] = NULL;
    return false;
}
