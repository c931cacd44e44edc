#include "autograd/function.h"
#include "autograd/engine.h"
#include "autograd/unpack.h"
#include "base/mem.h"
#include "core/dtype.h"

enum { MOST = 64 }; /* inputs; results */

/* ---- life ---- */

static void forget_saving(lz_function_call *call)
{
    for (size_t i = 0; i < call->saving.len; i++)
        lz_release(call->saving.data[i]);
    lz_vec_deinit(&call->saving);
}

bool lz_function_free_saved_values(lz_function_call *call)
{
    bool any = false;
    for (size_t i = 0; i < call->nsaved; i++) {
        any = any || call->saved[i].item.storage;
        lz_saved_drop(&call->saved[i].item);
    }
    return any;
}

void lz_function_free(lz_function_call *call)
{
    forget_saving(call);
    lz_function_free_saved_values(call);
    if (call->f.drop)
        call->f.drop(call->user);
    lz_mem_free(call->saved);
    lz_mem_free(call);
}

/* ---- forward ---- */

static bool usable(const lz_ctx *c, const lz_tensor *t)
{
    return !lz_tensor_is_inert(t) && lz_tensor_ctx(t) == c;
}

/* Results that share a storage with an input, or are views, become copies: their old history must not be
 * used. */
static lz_err *settle(const lz_function_call *call, lz_tensors in, lz_tensor **out, size_t nout)
{
    for (size_t i = 0; i < nout; i++) {
        bool shared = false;
        if (!usable(call->ctx, out[i]))
            return lz_errf(LZ_ERR_ARG, "%s: forward returned no result %zu, or one of another context",
                           call->f.name, i);
        for (int64_t k = 0; k < in.n; k++)
            shared = shared || lz_is_alias_of(out[i], in.v[k]);
        if (shared || lz_tensor_slot(out[i])->creation & LZ_CREATED_VIEW)
            LZ_TRY(lz_tensor_snapshot(out[i], &out[i]));
    }
    return NULL;
}

static bool wants(const lz_tensor *t)
{
    return lz_grad_required(t);
}

static lz_err *make_node(lz_function_call *call, lz_loc at, lz_tensors in, lz_tensor *const *out, size_t nout,
                         lz_tape_node **node)
{
    size_t n = (size_t)in.n;
    lz_tape *tape = lz_ctx_tape(call->ctx);
    lz_tape_node *x;
    LZ_TRY(lz_tape_node_alloc(tape, LZ_TAPE_NODE_FUNCTION,
                              n * sizeof *x->edges + (n + nout) * sizeof *x->items + 64, &x));
    *node = x;
    x->fn = NULL;
    x->at = at;
    x->items = (lz_saved *)(void *)(x + 1);
    x->edges = (lz_tape_edge *)(void *)(x->items + n + nout);
    for (size_t i = 0; i < n + nout; i++)
        lz_saved_init(&x->items[i], i < n ? in.v[i] : out[i - n], false);
    x->nout = (uint32_t)nout;
    for (x->nin = 0; x->nin < n; x->nin++) {
        lz_tensor *t = in.v[x->nin];
        x->edges[x->nin] = (lz_tape_edge){ NULL, 0 };
        if (!wants(t))
            continue;
        LZ_TRY(lz_edge_of(t, at, &x->edges[x->nin]));
        x->wanted |= UINT64_C(1) << x->nin;
    }
    x->seq = ++tape->seq; /* after the nodes of leaves, which lz_edge_of may have made */
    return NULL;
}

/* Moves the saved tensors to call->saved, and finds out which are inputs or results. */
static lz_err *keep(lz_function_call *call, lz_tensors in, lz_tensor *const *out, size_t nout)
{
    size_t n = call->saving.len;
    call->saved = lz_mem_zalloc(n + 1, sizeof *call->saved);
    if (!call->saved)
        return lz_err_oom();
    for (; call->nsaved < n; call->nsaved++) {
        lz_tensor *t = call->saving.data[call->nsaved];
        lz_function_item *x = &call->saved[call->nsaved];
        x->origin = -1;
        for (int64_t i = 0; i < in.n; i++)
            x->origin = in.v[i] == t ? (int)i : x->origin;
        for (size_t i = 0; i < nout; i++)
            x->origin = out[i] == t ? (int)(in.n + (int64_t)i) : x->origin;
        lz_saved_init(&x->item, t, true);
    }
    forget_saving(call);
    return NULL;
}

static lz_err *write_down(lz_function_call *call, lz_loc at, lz_tensors in, lz_tensor *const *out,
                          size_t nout, lz_tape_node **node)
{
    LZ_TRY(make_node(call, at, in, out, nout, node));
    LZ_TRY(keep(call, in, out, nout));
    for (size_t i = 0; i < nout; i++)
        if (!(call->fixed >> i & 1) && lz_dtype_is_float(lz_tensor_dtype(out[i])))
            LZ_TRY(lz_history_set(out[i], (lz_tape_edge){ lz_tape_node_retain(*node), (uint32_t)i }));
    return NULL;
}

static lz_err *check(const lz_function_call *call, lz_tensors in, size_t nout)
{
    if (!call->f.forward || !call->f.backward || !call->f.name || in.n < 0 || in.n > MOST || nout > MOST)
        return lz_errf(LZ_ERR_ARG,
                       "a function needs a name, forward, backward, and at most %d inputs and results", MOST);
    for (int64_t i = 0; i < in.n; i++)
        if (!usable(call->ctx, in.v[i]))
            return lz_err_because(LZ_REASON_CONTEXT,
                                  "input %lld of %s belongs to another context or is inert", (long long)i,
                                  call->f.name);
    return NULL;
}

static lz_err *apply(lz_function_call *call, lz_tensors in, lz_tensor **out, size_t nout, bool *kept)
{
    lz_ctx *c = call->ctx;
    lz_grad_mode was = lz_get_grad_mode(c);
    bool any = false;
    LZ_TRY(check(call, in, nout));
    for (int64_t i = 0; i < in.n; i++)
        any = any || (was == LZ_GRAD_ON && wants(in.v[i]));
    lz_set_grad_mode(c, was == LZ_GRAD_ON ? LZ_GRAD_OFF : was);
    lz_ctx_begin_callback(c);
    lz_err *e = lz_err_wrap(call->f.forward(call, in, out), "forward of %s", call->f.name);
    lz_ctx_end_callback(c);
    e = lz_err_first(lz_ctx_take_error(c), e);
    if (!e)
        e = settle(call, in, out, nout);
    lz_set_grad_mode(c, was);
    if (e || !any)
        return e;
    lz_tape_node *node = NULL;
    e = write_down(call, lz_ctx_line(c), in, out, nout, &node);
    if (!e) {
        node->fn = call;
        call->node = node;
        *kept = true;
    }
    lz_tape_node_release(node);
    return e;
}

bool lz_function_apply(lz_ctx *c, const lz_function *f, void *user, lz_tensors in, lz_tensor **out,
                       size_t nout)
{
    lz_tape *tape;
    bool kept = false;
    lz_function_call *call = NULL;
    for (size_t i = 0; i < nout; i++)
        out[i] = lz_ctx_inert(c);
    lz_err *e = f ? lz_tape_of(c, &tape) : lz_errf(LZ_ERR_ARG, "expected a function, found NULL");
    if (!e) {
        call = lz_mem_zalloc(1, sizeof *call);
        e = call ? NULL : lz_err_oom();
    }
    if (!e) {
        *call = (lz_function_call){ .f = *f, .user = user, .ctx = c };
        e = apply(call, in, out, nout, &kept);
    }
    if (call && !kept)
        lz_function_free(call);
    if (!call && f && f->drop)
        f->drop(user);
    if (e)
        for (size_t i = 0; i < nout; i++)
            out[i] = lz_ctx_inert(c);
    return lz_ctx_report(c, (lz_loc){ 0 }, e);
}

/* ---- backward ---- */

/* backward may run a backward pass through the same call, so that the members are restored. */
static lz_err *call_back(lz_function_call *call, lz_tensors grads, uint64_t needs, bool create,
                         lz_tensor **out)
{
    uint64_t needed = call->needs;
    bool was_attached = call->attached;
    call->needs = needs;
    call->attached = create;
    lz_ctx_begin_callback(call->ctx);
    lz_err *e = call->f.backward(call, grads, out);
    lz_ctx_end_callback(call->ctx);
    call->needs = needed;
    call->attached = was_attached;
    return e;
}

lz_err *lz_function_back(lz_tape_node *n, lz_tensor *const *grads, uint64_t needs, bool create,
                         lz_tensor **out)
{
    lz_function_call *call = n->fn;
    lz_ctx *c = call->ctx;
    for (uint32_t i = 0; i < n->nin; i++)
        out[i] = NULL;
    LZ_TRY(lz_err_wrap(call_back(call, (lz_tensors){ grads, n->nout }, needs, create, out), "backward of %s",
                       call->f.name));
    LZ_TRY(lz_ctx_take_error(c));
    for (uint32_t i = 0; i < n->nin; i++)
        if (out[i])
            LZ_TRY(lz_err_wrap(lz_engine_fits(c, "gradient", i, out[i], n->items[i].spec, true), "%s",
                               call->f.name));
    return NULL;
}

/* ---- functions for callbacks ---- */

lz_ctx *lz_function_ctx(lz_function_call *call)
{
    return call->ctx;
}

void *lz_function_user(lz_function_call *call)
{
    return call->user;
}

bool lz_function_save(lz_function_call *call, lz_tensor *t)
{
    lz_err *e = NULL;
    if (call->node || !usable(call->ctx, t))
        e = lz_errf(LZ_ERR_ARG, "%s: lz_function_save works in forward only, for tensors of its context",
                    call->f.name);
    if (!e)
        e = lz_vec_push(&call->saving, t);
    if (!e)
        lz_retain(t);
    return lz_ctx_report(call->ctx, (lz_loc){ 0 }, e);
}

lz_tensor *lz_function_saved(lz_function_call *call, size_t i)
{
    lz_tensor *t = lz_ctx_inert(call->ctx);
    lz_tape_edge from = { NULL, 0 };
    if (!call->node || i >= call->nsaved) {
        lz_ctx_fail(
            call->ctx, (lz_loc){ 0 },
            lz_errf(LZ_ERR_ARG, "%s: no tensor %zu was saved, or forward has not returned", call->f.name, i));
        return t;
    }
    const lz_function_item *x = &call->saved[i];
    uint32_t nin = call->node->nin;
    if (x->origin >= 0)
        from = (uint32_t)x->origin < nin ? call->node->edges[x->origin]
                                         : (lz_tape_edge){ call->node, (uint32_t)x->origin - nin };
    lz_err *e = x->item.storage ? lz_unpack_item(call->node, &x->item, call->attached ? &from : NULL, &t)
                                : lz_engine_values_were_freed(call->node);
    return lz_ctx_report(call->ctx, (lz_loc){ 0 }, e) ? t : lz_ctx_inert(call->ctx);
}

bool lz_function_needs(const lz_function_call *call, size_t input)
{
    return input < MOST && call->needs >> input & 1;
}

bool lz_function_no_grad(lz_function_call *call, size_t output)
{
    if (output >= MOST)
        return false;
    call->fixed |= UINT64_C(1) << output;
    return true;
}
