#include "lazy/ctx.h"
#include "base/mem.h"
#include "lazy/debug.h"
#include <string.h>

enum { DEFAULT_SEED = 101, DEFAULT_NODES = 4 << 20 };

/* ---- life ---- */

static lz_options complete(const lz_options *o)
{
    lz_options out = o ? *o : (lz_options){ 0 };
    out.seed = out.seed ? out.seed : DEFAULT_SEED;
    out.trim_nodes = out.trim_nodes ? out.trim_nodes : DEFAULT_NODES;
    out.trim_bytes = out.trim_bytes ? out.trim_bytes : (size_t)4 << 30;
    return out;
}

static lz_err *create_parts(lz_ctx *c)
{
    LZ_TRY(lz_specs_create(&c->specs));
    LZ_TRY(lz_nodes_create(&c->nodes));
    LZ_TRY(lz_infer_create(c->specs, &c->infer));
    LZ_TRY(lz_views_create(c->specs, c->nodes, &c->views));
    LZ_TRY(lz_scope_begin(c, &c->scope));
    c->inert = lz_mem_zalloc(1, sizeof *c->inert);
    if (!c->inert)
        return lz_err_oom();
    c->inert->count = 1;
    c->inert->ctx = c;
    for (size_t i = 0; i < LZ_INERTS; i++)
        c->inerts[i] = c->inert;
    return NULL;
}

static void destroy_parts(lz_ctx *c)
{
    lz_views_destroy(c->views);
    lz_infer_destroy(c->infer);
    lz_nodes_destroy(c->nodes);
    lz_specs_destroy(c->specs);
    lz_slab_deinit(&c->aliases);
    lz_call_deinit(&c->call);
    lz_vec_deinit(&c->operands);
    lz_vec_deinit(&c->operand_specs);
    lz_arena_deinit(&c->names);
    lz_text_deinit(&c->printed);
    lz_buffer_pool_release(c->host_memory);
    lz_pool_destroy(c->host_threads);
    lz_err_free(c->error);
    c->error = NULL;
}

/* What a program may still point to. */
static void free_ctx(lz_ctx *c)
{
    lz_slab_deinit(&c->tensors);
    lz_mem_free(c->inert);
    lz_mem_free(c->debug);
    lz_mem_free(c);
}

/* Whoever still holds a tensor holds nothing from now on. */
static void destroy_tensors(lz_ctx *c)
{
    while (c->live) {
        lz_alias *a = c->live;
        a->refs++;
        while (a->views)
            lz_tensor_destroy(a->views);
        lz_alias_release(a);
    }
    while (c->scope)
        lz_scope_end(c);
}

static lz_err *seed_backend(const lz_ctx *c)
{
    return c->backend ? c->backend->set_rng_seed(c->backend->self, c->seed) : NULL;
}

lz_ctx *lz_open(const lz_options *options)
{
    lz_ctx *c = lz_mem_zalloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->options = complete(options);
    c->seed = c->options.seed;
    lz_err *debug = lz_debug_create(&c->debug);
    lz_slab_init(&c->tensors, lz_debug_tensor_size(c));
    lz_slab_init(&c->aliases, sizeof(lz_alias));
    lz_call_init(&c->call);
    lz_arena_init(&c->names);
    lz_err *e = create_parts(c);
    if (e) {
        lz_err_free(e);
        lz_err_free(debug);
        if (c->scope)
            lz_scope_end(c);
        destroy_parts(c);
        free_ctx(c);
        return NULL;
    }
    e = lz_err_first(debug, lz_ctx_attach(c));
    if (!e && options && options->seed)
        e = seed_backend(c);
    if (e)
        lz_ctx_fail(c, (lz_loc){ 0 }, NULL, e);
    return c;
}

void lz_close(lz_ctx *c)
{
    if (!c || !lz_ctx_enter(c, (lz_loc){ 0 }))
        return;
    if (c->callbacks) {
        lz_ctx_fail(c, (lz_loc){ 0 }, NULL,
                    lz_errf(LZ_ERR_ARG, "lz_close: a hook, function or closure of the context is running"));
        lz_ctx_leave(c);
        return;
    }
    if (c->tape)
        c->tape_hooks->close(c);
    if (c->debug)
        lz_debug_leaks(c);
    destroy_tensors(c);
    if (c->tape)
        c->tape_hooks->free(c);
    lz_ctx_detach(c);
    destroy_parts(c);
    if (!lz_debug_keep(c))
        free_ctx(c);
}

/* ---- errors ---- */

/* What messages say, in PyTorch's words and in ours: the first that fits. */
typedef struct wording {
    const char *part;
    lz_reason reason;
} wording;

static const wording wordings[] = {
    { "leaf Variable that requires grad", LZ_REASON_AUTOGRAD_LEAF },
    { "is a view and ", LZ_REASON_AUTOGRAD_VIEW },
    { "A view was created in", LZ_REASON_AUTOGRAD_VIEW },
    { "modified by an inplace operation", LZ_REASON_AUTOGRAD_MODIFIED },
    { "created only for scalar outputs", LZ_REASON_AUTOGRAD_BACKWARD },
    { "does not require grad and does not have a grad_fn", LZ_REASON_AUTOGRAD_BACKWARD },
    { "backward through the graph a second time", LZ_REASON_AUTOGRAD_BACKWARD },
    { "out of bounds for storage", LZ_REASON_STORAGE },
    { "elements before the storage", LZ_REASON_STORAGE },
    { "view size is not compatible", LZ_REASON_VIEW },
    { "more than one element of the written-to tensor", LZ_REASON_EXPANDED },
    { "some elements of the input tensor and the written-to", LZ_REASON_OVERLAP },
    { "belongs to another context", LZ_REASON_CONTEXT },
    { "must match the size of tensor", LZ_REASON_SHAPE },
    { "is invalid for input of size", LZ_REASON_SHAPE },
    { "don't multiply up to the size", LZ_REASON_SHAPE },
    { "shape mismatch", LZ_REASON_SHAPE },
    { "Mismatch in shape", LZ_REASON_SHAPE },
    { "Sizes of tensors must match", LZ_REASON_SHAPE },
    { "expects each tensor to be equal size", LZ_REASON_SHAPE },
    { "must match the existing size", LZ_REASON_SHAPE },
    { "must be greater or equal to the number of dimensions", LZ_REASON_SHAPE },
    { "to sum exactly to", LZ_REASON_SHAPE },
    { "doesn't match the broadcast shape", LZ_REASON_SHAPE },
    { "shapes cannot be multiplied", LZ_REASON_SHAPE },
    { "size mismatch", LZ_REASON_SHAPE },
    { "does not match the shape of the indexed", LZ_REASON_SHAPE },
    { "can't be cast to the desired output type", LZ_REASON_DTYPE },
    { "used as indices must be", LZ_REASON_DTYPE },
    { "boolean", LZ_REASON_DTYPE },
    { "dtype", LZ_REASON_DTYPE },
    { "out of range", LZ_REASON_INDEX },
    { "out of bounds", LZ_REASON_INDEX },
    { "exceeds dimension size", LZ_REASON_INDEX },
    { "maximum size for tensor at dimension", LZ_REASON_INDEX },
    { "too many indices", LZ_REASON_INDEX },
};

static lz_reason find_reason(const lz_err *e)
{
    lz_str text = lz_str_of(lz_err_text(e));
    for (size_t i = 0; i < sizeof wordings / sizeof *wordings; i++)
        if (lz_str_find(text, lz_str_of(wordings[i].part)) != SIZE_MAX)
            return wordings[i].reason;
    return lz_err_code(e) == LZ_ERR_ARG ? LZ_REASON_ARGUMENT : LZ_REASON_OTHER;
}

void lz_ctx_fail(lz_ctx *c, lz_loc at, const lz_op_row *op, lz_err *e)
{
    if (!e || c->error) {
        lz_err_free(e);
        return;
    }
    c->reason = lz_err_code(e) == LZ_ERR_MEMORY ? LZ_REASON_OTHER : find_reason(e);
    at = at.file ? at : lz_err_loc(e);
    lz_text where = { 0 };
    if (at.file)
        lz_text_printf(&where, " (%s:%d)", at.file, (int)at.line);
    c->error = lz_err_at(lz_err_code(e), at, "%s%s%s%s%s%.*s", op ? op->ns : "", op ? "::" : "",
                         op ? op->name : "", op ? ": " : "", lz_err_text(e), LZ_FMT(lz_text_view(&where)));
    lz_text_deinit(&where);
    lz_err_free(e);
}

bool lz_ctx_told(lz_ctx *c, lz_loc at, lz_err *e)
{
    if (e)
        lz_ctx_fail(c, lz_err_loc(e).file ? lz_err_loc(e) : at, NULL, e);
    return !e;
}

bool lz_failed(const lz_ctx *c)
{
    return c->error != NULL;
}

lz_code lz_code_of(const lz_ctx *c)
{
    return lz_err_code(c->error);
}

const char *lz_message(const lz_ctx *c)
{
    return c->error ? lz_err_text(c->error) : "";
}

lz_loc lz_place(const lz_ctx *c)
{
    return lz_err_loc(c->error);
}

void lz_clear(lz_ctx *c)
{
    lz_err_free(c->error);
    c->error = NULL;
    c->reason = LZ_REASON_NONE;
}

lz_tensor *lz_fail(lz_ctx *c, lz_loc at, lz_code code, const char *text)
{
    lz_ctx_fail(c, at, NULL, code == LZ_ERR_MEMORY ? lz_err_oom() : lz_errf(code, "%s", text));
    return c->inert;
}

lz_reason lz_reason_of(const lz_ctx *c)
{
    return c->reason;
}

const char *lz_reason_name(lz_reason r)
{
    static const char *const names[] = {
#define X(name, text) [LZ_REASON_##name] = text,
        LZ_REASONS(X)
#undef X
    };
    return (unsigned)r < LZ_REASON_COUNT ? names[r] : "";
}

void lz_manual_seed(lz_ctx *c, uint64_t seed)
{
    lz_set_random_state(c, (lz_random_state){ seed, 0 });
}

lz_random_state lz_get_random_state(const lz_ctx *c)
{
    return (lz_random_state){ c->seed, c->next_random };
}

void lz_set_random_state(lz_ctx *c, lz_random_state s)
{
    c->seed = s.seed;
    c->next_random = s.position;
    lz_ctx_fail(c, (lz_loc){ 0 }, NULL, seed_backend(c));
}
