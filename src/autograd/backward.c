#include "autograd/backward.h"
#include "autograd/engine.h"
#include "base/mem.h"
#include "core/dtype.h"
#include "op/op_table.h"

typedef struct backward_pass {
    lz_ctx *c;
    lz_loc at;
    size_t nroots, ninputs;
    lz_tape_edge *roots;
    lz_tensor **grads; /* borrowed, or owned by the scope */
    lz_capture *captures;
} backward_pass;

static bool belongs(const lz_ctx *c, const lz_tensor *t)
{
    return !lz_tensor_is_inert(t) && lz_tensor_ctx(t) == c;
}

static lz_err *ones_like(const backward_pass *g, const lz_tensor *t, lz_tensor **out)
{
    const lz_value in[] = { lz_value_ints(lz_tensor_sizes(t)),      lz_value_scalar(lz_scalar_int(1)),
                            lz_value_dtype(lz_tensor_dtype(t)),     lz_value_layout(LZ_LAYOUT_NONE),
                            lz_value_device((lz_device){ -1, -1 }), lz_value_none() };
    return lz_record_one(g->c, &lz_op_table[LZ_OP_full], g->at, in, out);
}

/* Casts the gradient to the dtype of t, as the pass does for the gradients of nodes. */
static lz_err *cast_like(const backward_pass *g, const lz_tensor *t, lz_tensor **grad)
{
    const lz_value in[] = { lz_value_tensor(*grad),
                            lz_value_dtype(lz_tensor_dtype(t)),
                            lz_value_layout(LZ_LAYOUT_NONE),
                            lz_value_device((lz_device){ -1, -1 }),
                            lz_value_none(),
                            lz_value_truth(false),
                            lz_value_memory_format(LZ_MEMORY_FORMAT_NONE) };
    if (lz_tensor_dtype(*grad) == lz_tensor_dtype(t))
        return NULL;
    return lz_record_one(g->c, &lz_op_table[LZ_OP__to_copy], g->at, in, grad);
}

static lz_err *check_root(const backward_pass *g, const lz_tensor *t)
{
    if (!belongs(g->c, t))
        return lz_err_because(
            LZ_REASON_CONTEXT,
            "the tensor that the backward pass starts from belongs to another context or is inert");
    if (!lz_grad_required(t))
        return lz_err_because(LZ_REASON_AUTOGRAD_BACKWARD,
                              "element %zu of tensors does not require grad and does not have a grad_fn",
                              g->nroots);
    return NULL;
}

static lz_err *add_root(backward_pass *g, lz_tensor *t, lz_tensor *grad)
{
    LZ_TRY(check_root(g, t));
    if (!grad && lz_tensor_numel(t) != 1)
        return lz_err_because(LZ_REASON_AUTOGRAD_BACKWARD,
                              "grad can be implicitly created only for scalar outputs");
    if (grad) {
        LZ_TRY(lz_engine_fits(g->c, "gradient", g->nroots, grad, lz_tensor_spec(t), false));
        LZ_TRY(cast_like(g, t, &grad));
    } else {
        LZ_TRY(ones_like(g, t, &grad));
    }
    g->grads[g->nroots] = grad;
    LZ_TRY(lz_edge_of(t, g->at, &g->roots[g->nroots]));
    g->nroots++;
    return NULL;
}

static lz_err *add_input(backward_pass *g, lz_tensor *t)
{
    if (!belongs(g->c, t))
        return lz_err_because(LZ_REASON_CONTEXT, "input %zu belongs to another context, or is inert",
                              g->ninputs);
    if (!lz_grad_required(t))
        return lz_errf(LZ_ERR_ARG, "One of the differentiated Tensors does not require grad");
    LZ_TRY(lz_edge_of(t, g->at, &g->captures[g->ninputs].edge));
    g->ninputs++;
    return NULL;
}

static lz_err *begin(backward_pass *g, size_t nroots, size_t ninputs)
{
    g->roots = lz_mem_zalloc(nroots + 1, sizeof *g->roots);
    g->grads = lz_mem_zalloc(nroots + 1, sizeof *g->grads);
    g->captures = lz_mem_zalloc(ninputs + 1, sizeof *g->captures);
    return g->roots && g->grads && g->captures ? NULL : lz_err_oom();
}

static void end(backward_pass *g)
{
    for (size_t i = 0; i < g->nroots; i++)
        lz_tape_node_release(g->roots[i].node);
    for (size_t i = 0; i < g->ninputs; i++) {
        lz_tape_node_release(g->captures[i].edge.node);
        lz_release(g->captures[i].grad);
    }
    lz_mem_free(g->roots);
    lz_mem_free(g->grads);
    lz_mem_free(g->captures);
}

static lz_err *run(backward_pass *g, bool retain, bool create)
{
    const lz_backward_run x = { .at = g->at,
                                .roots = g->roots,
                                .grads = g->grads,
                                .nroots = g->nroots,
                                .captures = g->captures,
                                .ncaptures = g->ninputs,
                                .retain = retain,
                                .create = create };
    return lz_engine_run(g->c, &x);
}

/* Whether a capture of the same edge follows: an input that is listed twice gets its gradient once. */
static bool is_repeated(const lz_capture *x)
{
    const lz_capture *y = x->next;
    while (y && y->edge.index != x->edge.index)
        y = y->next;
    return y != NULL;
}

static lz_err *accumulate_all(backward_pass *g, lz_tensors inputs, bool create)
{
    for (int64_t i = 0; i < inputs.n; i++) {
        lz_grad_meta *m;
        LZ_TRY(lz_meta_of(inputs.v[i], &m));
        if (g->captures[i].grad && !is_repeated(&g->captures[i]))
            LZ_TRY(lz_engine_accumulate(m, g->captures[i].grad, create, g->at));
    }
    return NULL;
}

static lz_err *backward(backward_pass *g, lz_tensor *root, const lz_backward_args *a)
{
    LZ_TRY(begin(g, 1, a->inputs.n > 0 ? (size_t)a->inputs.n : 0));
    LZ_TRY(add_root(g, root, a->gradient));
    for (int64_t i = 0; i < a->inputs.n; i++)
        LZ_TRY(add_input(g, a->inputs.v[i]));
    LZ_TRY(run(g, a->retain_graph, a->create_graph));
    return accumulate_all(g, a->inputs, a->create_graph);
}

lz_err *lz_backward_leaves(lz_ctx *c, lz_loc at, lz_tensor *root, const lz_backward_args *args)
{
    backward_pass g = { .c = c, .at = at };
    lz_scope *s;
    LZ_TRY(lz_scope_begin(c, &s));
    lz_err *e = backward(&g, root, args);
    end(&g);
    lz_scope_pop(s);
    return e;
}

/* Moves the results out of the scope. */
static lz_err *give(const backward_pass *g, const lz_scope *s, const lz_grad_args *a, lz_tensor **out)
{
    for (size_t i = 0; i < g->ninputs; i++) {
        out[i] = NULL;
        if (!g->captures[i].grad && !a->allow_unused)
            return lz_errf(LZ_ERR_ARG, "One of the differentiated Tensors appears to not have been used in "
                                       "the graph. Set allow_unused=True if this is the desired behavior.");
        if (!g->captures[i].grad)
            continue;
        out[i] = g->captures[i].grad;
        if (!a->create_graph)
            LZ_TRY(lz_tensor_snapshot(out[i], &out[i]));
        LZ_TRY(lz_scope_give(s, out[i]));
    }
    return NULL;
}

static lz_err *gradients(backward_pass *g, lz_tensors outputs, lz_tensors inputs, const lz_grad_args *a)
{
    if (inputs.n < 1 || outputs.n < 1)
        return lz_errf(LZ_ERR_ARG, "expected at least one output and at least one input");
    if (a->gradients.n > 0 && a->gradients.n != outputs.n)
        return lz_errf(LZ_ERR_ARG, "expected one gradient for each of %lld outputs, found %lld",
                       (long long)outputs.n, (long long)a->gradients.n);
    LZ_TRY(begin(g, (size_t)outputs.n, (size_t)inputs.n));
    for (int64_t i = 0; i < outputs.n; i++)
        LZ_TRY(add_root(g, outputs.v[i], a->gradients.n > 0 ? a->gradients.v[i] : NULL));
    for (int64_t i = 0; i < inputs.n; i++)
        LZ_TRY(add_input(g, inputs.v[i]));
    return run(g, a->retain_graph, a->create_graph);
}

lz_err *lz_backward_inputs(lz_ctx *c, lz_loc at, lz_tensors outputs, lz_tensors inputs, lz_tensor **out,
                           const lz_grad_args *args)
{
    backward_pass g = { .c = c, .at = at };
    lz_scope *s;
    lz_err *e = lz_scope_begin(c, &s);
    if (!e) {
        e = gradients(&g, outputs, inputs, args);
        if (!e)
            e = give(&g, s, args, out);
        end(&g);
        lz_scope_pop(s);
    }
    for (int64_t i = 0; e && i < inputs.n; i++)
        out[i] = NULL;
    return e;
}
