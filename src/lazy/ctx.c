#include "lazy/ctx.h"
#include "base/mem.h"
#include "lazy/debug.h"
#include "lazy/lazy_scope.h"
#include "lazy/lazy_tensor.h"
#include <lazuli/autograd.h>
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
    lz_slab_deinit(&c->storages);
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

/* Frees what the program may still point to: the context and its tensors. */
static void free_ctx(lz_ctx *c)
{
    lz_slab_deinit(&c->tensors);
    lz_mem_free(c->inert);
    lz_mem_free(c->debug);
    lz_mem_free(c);
}

/* Pointers of the program to tensors are dangling from here on. */
static void destroy_tensors(lz_ctx *c)
{
    while (c->live) {
        lz_lazy_storage *a = c->live;
        a->refs++;
        while (a->views)
            lz_tensor_destroy(a->views);
        lz_lazy_storage_release(a);
    }
    while (c->scope)
        lz_scope_end(c);
}

static lz_err *seed_backend(const lz_ctx *c)
{
    return c->backend ? c->backend->set_rng_seed(c->backend->self, c->random.state.seed) : NULL;
}

lz_ctx *lz_open(const lz_options *options)
{
    lz_ctx *c = lz_mem_zalloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->options = complete(options);
    c->random = (lz_generator){ c, { c->options.seed, 0 } };
    c->drawing = &c->random;
    lz_err *debug = lz_debug_create(&c->debug);
    lz_slab_init(&c->tensors, lz_debug_tensor_size(c));
    lz_slab_init(&c->storages, sizeof(lz_lazy_storage));
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
        lz_ctx_fail(c, (lz_loc){ 0 }, e);
    return c;
}

void lz_close(lz_ctx *c)
{
    if (!c || !lz_ctx_enter(c, (lz_loc){ 0 }))
        return;
    if (c->callbacks) {
        lz_ctx_fail(c, (lz_loc){ 0 },
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

void lz_ctx_fail(lz_ctx *c, lz_loc at, lz_err *e)
{
    if (!e || c->error) {
        lz_err_free(e);
        return;
    }
    at = at.file ? at : lz_err_loc(e);
    lz_text where = { 0 };
    if (at.file)
        lz_text_printf(&where, " (%s:%d)", at.file, (int)at.line);
    if (lz_str_ends(lz_str_of(lz_err_text(e)), lz_text_view(&where))) /* the text names the place already */
        lz_text_clear(&where);
    c->error = lz_err_reword(e, at, "%s%.*s", lz_err_text(e), LZ_FMT(lz_text_view(&where)));
    lz_text_deinit(&where);
}

bool lz_ctx_report(lz_ctx *c, lz_loc at, lz_err *e)
{
    if (e)
        lz_ctx_fail(c, lz_err_loc(e).file ? lz_err_loc(e) : at, e);
    return !e;
}

lz_err *lz_ctx_take_error(lz_ctx *c)
{
    lz_err *e = c->error;
    c->error = NULL;
    return e;
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
}

lz_tensor *lz_fail(lz_ctx *c, lz_loc at, lz_code code, const char *text)
{
    lz_ctx_fail(c, at, code == LZ_ERR_MEMORY ? lz_err_oom() : lz_errf(code, "%s", text));
    return c->inert;
}

lz_tensor *lz_fail_with(lz_ctx *c, lz_loc at, lz_err *e)
{
    lz_ctx_fail(c, at, e);
    return c->inert;
}

lz_reason lz_reason_of(const lz_ctx *c)
{
    return lz_err_reason(c->error);
}

/* ---- settings ---- */

lz_grad_mode lz_set_grad_mode(lz_ctx *c, lz_grad_mode mode)
{
    lz_grad_mode was = (lz_grad_mode)c->grad_mode;
    if ((unsigned)mode > LZ_GRAD_INFERENCE)
        lz_ctx_fail(c, (lz_loc){ 0 }, lz_errf(LZ_ERR_ARG, "expected an lz_grad_mode, got %d", (int)mode));
    else
        c->grad_mode = (uint8_t)mode;
    return was;
}

lz_grad_mode lz_get_grad_mode(const lz_ctx *c)
{
    return (lz_grad_mode)c->grad_mode;
}

/* ---- random numbers ---- */

void lz_manual_seed(lz_ctx *c, uint64_t seed)
{
    lz_set_random_state(c, (lz_random_state){ seed, 0 });
}

lz_random_state lz_get_random_state(const lz_ctx *c)
{
    return c->random.state;
}

void lz_set_random_state(lz_ctx *c, lz_random_state s)
{
    c->random.state = s;
    lz_ctx_fail(c, (lz_loc){ 0 }, seed_backend(c));
}

lz_generator *lz_generator_create_at(lz_ctx *c, lz_loc at, uint64_t seed)
{
    lz_generator *g = lz_mem_zalloc(1, sizeof *g);
    if (!g)
        lz_ctx_fail(c, at, lz_err_oom());
    else
        *g = (lz_generator){ c, { seed, 0 } };
    return g;
}

void lz_generator_free(lz_generator *g)
{
    if (g && g != &g->ctx->random)
        lz_mem_free(g);
}

lz_random_state lz_generator_get_state(const lz_generator *g)
{
    return g ? g->state : (lz_random_state){ 0, 0 };
}

void lz_generator_set_state(lz_generator *g, lz_random_state s)
{
    if (g)
        g->state = s;
}

lz_generator *lz_default_generator(lz_ctx *c)
{
    return &c->random;
}

lz_err *lz_ctx_draw(lz_ctx *c, lz_call *call, lz_generator **g)
{
    lz_generator *named = lz_call_generator(call);
    if (named && named->ctx != c)
        return lz_err_because(LZ_REASON_CONTEXT, "the generator belongs to another context");
    *g = named ? named : c->drawing;
    lz_call_add_random(call, (*g)->state.seed, (*g)->state.position);
    return NULL;
}
