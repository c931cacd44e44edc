/* The public interface of gradients. */
#include "autograd/engine.h"
#include "base/mem.h"
#include "core/dtype.h"

static bool told(lz_ctx *c, lz_loc at, lz_err *e)
{
    bool ok = !e;
    if (e)
        lz_ctx_fail(c, at, NULL, e);
    return ok;
}

static bool usable(const lz_tensor *t)
{
    return t && t->alias;
}

/* ---- tensors that require gradients ---- */

static lz_err *set_requires(lz_tensor *t, bool on)
{
    lz_tape *tape;
    lz_grad_meta *m;
    if (on && !lz_dtype_is_float((lz_dtype)t->spec->dtype))
        return lz_errf(LZ_ERR_ARG, "only Tensors of floating point dtype can require gradients");
    if (!on && !lz_is_leaf(t))
        return lz_errf(LZ_ERR_ARG, "you can only change requires_grad flags of leaf variables. If you want "
                                   "to use a computed variable in a subgraph that doesn't require "
                                   "differentiation use lz_detached.");
    if (on && t->made & LZ_MADE_INFERENCE && t->ctx->grad_mode != LZ_GRAD_INFERENCE)
        return lz_errf(LZ_ERR_ARG, "Setting requires_grad=True on inference tensor outside InferenceMode is "
                                   "not allowed.");
    if (!on && !t->meta)
        return NULL;
    LZ_TRY(lz_tape_of(t->ctx, &tape));
    LZ_TRY(lz_meta_of(t, &m));
    m->requires = on && !m->fn.node;
    return NULL;
}

bool lz_set_requires_grad(lz_tensor *t, bool on)
{
    return usable(t) && told(t->ctx, (lz_loc){ 0 }, set_requires(t, on));
}

bool lz_requires_grad(const lz_tensor *t)
{
    return usable(t) && lz_grad_required(t);
}

lz_tensor *lz_grad_of(const lz_tensor *t)
{
    return usable(t) && t->meta ? t->meta->grad : NULL;
}

static lz_err *set_grad(lz_tensor *t, lz_tensor *grad)
{
    lz_tape *tape;
    lz_grad_meta *m;
    if (!grad && !t->meta)
        return NULL;
    if (grad)
        LZ_TRY(lz_engine_fits(t->ctx, "gradient", 0, grad, t->spec, true));
    LZ_TRY(lz_tape_of(t->ctx, &tape));
    LZ_TRY(lz_meta_of(t, &m));
    lz_retain(grad);
    lz_release(m->grad);
    m->grad = grad;
    return NULL;
}

bool lz_set_grad(lz_tensor *t, lz_tensor *grad)
{
    return usable(t) && told(t->ctx, (lz_loc){ 0 }, set_grad(t, grad));
}

static const lz_gnode *fn_of(const lz_tensor *t)
{
    return usable(t) && t->meta ? t->meta->fn.node : NULL;
}

const char *lz_grad_fn(const lz_tensor *t)
{
    const lz_gnode *n = fn_of(t);
    return n ? lz_gnode_name(n) : NULL;
}

lz_loc lz_grad_fn_place(const lz_tensor *t)
{
    const lz_gnode *n = fn_of(t);
    return n ? n->at : (lz_loc){ 0 };
}

lz_tensor *lz_detached(lz_ctx *c, lz_tensor *t)
{
    const lz_value in = lz_value_tensor(t);
    lz_value out = lz_value_tensor(NULL);
    if (!usable(t))
        return c->inert;
    lz_record(c, &lz_op_table[LZ_OP_detach], (lz_loc){ 0 }, &in, &out);
    return out.tensor;
}

/* ---- modes ---- */

lz_grad_mode lz_set_grad_mode(lz_ctx *c, lz_grad_mode mode)
{
    lz_grad_mode was = (lz_grad_mode)c->grad_mode;
    if ((unsigned)mode > LZ_GRAD_INFERENCE)
        lz_ctx_fail(c, (lz_loc){ 0 }, NULL, lz_errf(LZ_ERR_ARG, "there is no grad mode %d", (int)mode));
    else
        c->grad_mode = (uint8_t)mode;
    return was;
}

lz_grad_mode lz_get_grad_mode(const lz_ctx *c)
{
    return (lz_grad_mode)c->grad_mode;
}

/* ---- going back ---- */

typedef struct going {
    lz_ctx *c;
    lz_loc at;
    size_t nroots, ninputs;
    lz_gedge *roots;
    lz_tensor **grads; /* borrowed, or the scope's */
    lz_capture *captures;
} going;

static lz_err *ones_like(going *g, lz_tensor *t, lz_tensor **out)
{
    const lz_value in[] = { lz_value_ints(lz_tensor_sizes(t)),      lz_value_scalar(lz_scalar_int(1)),
                            lz_value_dtype(lz_tensor_dtype(t)),     lz_value_layout(LZ_LAYOUT_NONE),
                            lz_value_device((lz_device){ -1, -1 }), lz_value_none() };
    lz_value made;
    lz_record(g->c, &lz_op_table[LZ_OP_full], g->at, in, &made);
    *out = made.tensor;
    return made.tensor->alias ? NULL : lz_errf(lz_code_of(g->c), "%s", lz_message(g->c));
}

/* A gradient of another dtype is cast, as it is on the way. */
static lz_err *cast_like(const going *g, const lz_tensor *t, lz_tensor **grad)
{
    const lz_value in[] = { lz_value_tensor(*grad),
                            lz_value_dtype(lz_tensor_dtype(t)),
                            lz_value_layout(LZ_LAYOUT_NONE),
                            lz_value_device((lz_device){ -1, -1 }),
                            lz_value_none(),
                            lz_value_truth(false),
                            lz_value_memory_format(LZ_MEMORY_FORMAT_NONE) };
    lz_value made;
    if (lz_tensor_dtype(*grad) == lz_tensor_dtype(t))
        return NULL;
    lz_record(g->c, &lz_op_table[LZ_OP__to_copy], g->at, in, &made);
    *grad = made.tensor;
    return made.tensor->alias ? NULL : lz_errf(lz_code_of(g->c), "%s", lz_message(g->c));
}

static lz_err *check_root(const going *g, const lz_tensor *t)
{
    if (!usable(t) || t->ctx != g->c)
        return lz_errf(LZ_ERR_ARG, "a tensor to go back from belongs to another context, or is inert");
    if (!lz_grad_required(t))
        return lz_errf(LZ_ERR_ARG, "element %zu of tensors does not require grad and does not have a grad_fn",
                       g->nroots);
    return NULL;
}

static lz_err *add_root(going *g, lz_tensor *t, lz_tensor *grad)
{
    LZ_TRY(check_root(g, t));
    if (!grad && lz_tensor_numel(t) != 1)
        return lz_errf(LZ_ERR_ARG, "grad can be implicitly created only for scalar outputs");
    if (grad) {
        LZ_TRY(lz_engine_fits(g->c, "gradient", g->nroots, grad, t->spec, false));
        LZ_TRY(cast_like(g, t, &grad));
    } else {
        LZ_TRY(ones_like(g, t, &grad));
    }
    g->grads[g->nroots] = grad;
    LZ_TRY(lz_edge_of(t, g->at, &g->roots[g->nroots]));
    g->nroots++;
    return NULL;
}

static lz_err *add_input(going *g, lz_tensor *t)
{
    if (!usable(t) || t->ctx != g->c)
        return lz_errf(LZ_ERR_ARG, "input %zu belongs to another context, or is inert", g->ninputs);
    if (!lz_grad_required(t))
        return lz_errf(LZ_ERR_ARG, "One of the differentiated Tensors does not require grad");
    LZ_TRY(lz_edge_of(t, g->at, &g->captures[g->ninputs].edge));
    g->ninputs++;
    return NULL;
}

static lz_err *begin(going *g, size_t nroots, size_t ninputs)
{
    g->roots = lz_mem_zalloc(nroots + 1, sizeof *g->roots);
    g->grads = lz_mem_zalloc(nroots + 1, sizeof *g->grads);
    g->captures = lz_mem_zalloc(ninputs + 1, sizeof *g->captures);
    return g->roots && g->grads && g->captures ? NULL : lz_err_oom();
}

static void end(going *g)
{
    for (size_t i = 0; i < g->nroots; i++)
        lz_gnode_release(g->roots[i].node);
    for (size_t i = 0; i < g->ninputs; i++) {
        lz_gnode_release(g->captures[i].edge.node);
        lz_release(g->captures[i].grad);
    }
    lz_mem_free(g->roots);
    lz_mem_free(g->grads);
    lz_mem_free(g->captures);
}

static lz_err *run(going *g, bool retain, bool create)
{
    const lz_going x = { .at = g->at,
                         .roots = g->roots,
                         .grads = g->grads,
                         .nroots = g->nroots,
                         .captures = g->captures,
                         .ncaptures = g->ninputs,
                         .retain = retain,
                         .create = create };
    return lz_engine_run(g->c, &x);
}

/* An input that was named before. */
static bool is_repeated(const lz_capture *x)
{
    const lz_capture *y = x->next;
    while (y && y->edge.index != x->edge.index)
        y = y->next;
    return y != NULL;
}

static lz_err *leave_all(going *g, lz_tensors inputs, bool create)
{
    for (int64_t i = 0; i < inputs.n; i++) {
        lz_grad_meta *m;
        LZ_TRY(lz_meta_of(inputs.v[i], &m));
        if (g->captures[i].grad && !is_repeated(&g->captures[i]))
            LZ_TRY(lz_engine_leave(m, g->captures[i].grad, create, g->at));
    }
    return NULL;
}

static lz_err *backward(going *g, lz_tensor *root, const lz_backward_args *a)
{
    LZ_TRY(begin(g, 1, a->inputs.n > 0 ? (size_t)a->inputs.n : 0));
    LZ_TRY(add_root(g, root, a->gradient));
    for (int64_t i = 0; i < a->inputs.n; i++)
        LZ_TRY(add_input(g, a->inputs.v[i]));
    LZ_TRY(run(g, a->retain_graph, a->create_graph));
    return leave_all(g, a->inputs, a->create_graph);
}

bool lz_backward_at(lz_ctx *c, lz_loc at, lz_tensor *root, const lz_backward_args *args)
{
    going g = { .c = c, .at = at };
    lz_scope *s;
    lz_err *e = lz_scope_begin(c, &s);
    if (!e) {
        e = backward(&g, root, args ? args : &(const lz_backward_args){ 0 });
        end(&g);
        lz_scope_pop(s);
    }
    return told(c, at, e);
}

static lz_err *give(going *g, const lz_grad_args *a, lz_tensor **out)
{
    for (size_t i = 0; i < g->ninputs; i++) {
        out[i] = NULL;
        if (!g->captures[i].grad && !a->allow_unused)
            return lz_errf(LZ_ERR_ARG, "One of the differentiated Tensors appears to not have been used in "
                                       "the graph. Set allow_unused=True if this is the desired behavior.");
        if (!g->captures[i].grad)
            continue;
        if (a->create_graph) {
            out[i] = g->captures[i].grad;
            LZ_TRY(lz_scope_share(g->c->scope, out[i]));
        } else {
            LZ_TRY(lz_snapshot(g->captures[i].grad, &out[i]));
        }
    }
    return NULL;
}

static lz_err *gradients(going *g, lz_tensors outputs, lz_tensors inputs, const lz_grad_args *a)
{
    if (inputs.n < 1 || outputs.n < 1)
        return lz_errf(LZ_ERR_ARG, "gradients are of at least one output, for at least one input");
    if (a->gradients.n > 0 && a->gradients.n != outputs.n)
        return lz_errf(LZ_ERR_ARG, "one gradient for each output is due");
    LZ_TRY(begin(g, (size_t)outputs.n, (size_t)inputs.n));
    for (int64_t i = 0; i < outputs.n; i++)
        LZ_TRY(add_root(g, outputs.v[i], a->gradients.n > 0 ? a->gradients.v[i] : NULL));
    for (int64_t i = 0; i < inputs.n; i++)
        LZ_TRY(add_input(g, inputs.v[i]));
    return run(g, a->retain_graph, a->create_graph);
}

bool lz_grad_at(lz_ctx *c, lz_loc at, lz_tensors outputs, lz_tensors inputs, lz_tensor **out,
                const lz_grad_args *args)
{
    going g = { .c = c, .at = at };
    const lz_grad_args *a = args ? args : &(const lz_grad_args){ 0 };
    lz_scope *s, *outer = c->scope;
    lz_err *e = lz_scope_begin(c, &s);
    if (!e) {
        e = gradients(&g, outputs, inputs, a);
        c->scope = outer;
        if (!e)
            e = give(&g, a, out);
        c->scope = s;
        end(&g);
        lz_scope_pop(s);
    }
    for (int64_t i = 0; e && i < inputs.n; i++)
        out[i] = NULL;
    return told(c, at, e);
}
