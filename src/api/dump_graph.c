/* lz_dump and lz_latest_graph: graphs as text. */
#include "lazy/lazy_tensor.h"
#include "lazy/save_graph.h"

static lz_err *walk_tensors(lz_ctx *c, lz_tensor *const *t, size_t n, bool with_data)
{
    lz_syncer *s = c->syncer;
    s->outputs.len = 0;
    for (size_t i = 0; i < n; i++) {
        lz_output v;
        if (!t[i] || !t[i]->storage || t[i]->ctx != c)
            return lz_errf(LZ_ERR_ARG, "tensor %zu does not belong to this context", i);
        LZ_TRY(lz_tensor_value(t[i], &v));
        s->device = t[i]->storage->device;
        if (with_data || v.node->op)
            LZ_TRY(lz_vec_push(&s->outputs, v));
    }
    return lz_walk_run(&s->walk, s->outputs.data, s->outputs.len, s->device, s->forced_hash);
}

static lz_err *compiled(lz_ctx *c, lz_executable **out)
{
    const lz_walk *w = &c->syncer->walk;
    *out = lz_cache_peek(c->shared->cache, &w->flat);
    if (*out)
        return NULL;
    lz_compile_request o = { .words = w->flat.words,
                             .origins = { w->locs.data, NULL },
                             .forced = c->syncer->forced };
    return lz_executable_compile(&o, out);
}

static lz_err *dump(lz_ctx *c, lz_tensor *const *t, size_t n, lz_dump_form form, lz_text *out)
{
    lz_executable *r = NULL;
    if ((unsigned)form > LZ_DUMP_BACKEND)
        return lz_errf(LZ_ERR_ARG, "expected an lz_dump_form, got %d", (int)form);
    LZ_TRY(walk_tensors(c, t, n, form != LZ_DUMP_BACKEND));
    if (form == LZ_DUMP_BACKEND && !c->syncer->walk.results.len)
        return NULL;
    if (form == LZ_DUMP_BACKEND)
        LZ_TRY(compiled(c, &r));
    lz_err *e = lz_walk_text(&c->syncer->walk, r, form, out);
    lz_executable_release(r);
    return e;
}

lz_err *lz_dump(lz_ctx *c, lz_tensor *const *t, size_t n, lz_dump_form form, char **out)
{
    lz_text text = { 0 };
    lz_err *e =
        c->syncer ? dump(c, t, n, form, &text) : lz_errf(LZ_ERR_NOT_FOUND, "the context has no device");
    if (!e)
        e = lz_text_take(&text, out);
    lz_text_deinit(&text);
    return e;
}

static lz_err *put_latest(lz_ctx *c, lz_text *out)
{
    lz_hash key = c->syncer->latest;
    lz_executable *r;
    if (lz_hash_eq(key, (lz_hash){ 0 }))
        return NULL;
    LZ_TRY(lz_cache_peek_hash(c->shared->cache, key, NULL, &r));
    lz_err *e =
        r ? lz_walk_text(&c->syncer->walk, r, LZ_DUMP_BACKEND, out)
          : lz_errf(LZ_ERR_NOT_FOUND, "the graph that ran last is not in the cache of compiled graphs");
    lz_executable_release(r);
    return e;
}

lz_err *lz_latest_graph(lz_ctx *c, char **out)
{
    lz_text text = { 0 };
    lz_err *e = c->syncer ? put_latest(c, &text) : lz_errf(LZ_ERR_NOT_FOUND, "the context has no device");
    if (!e)
        e = lz_text_take(&text, out);
    lz_text_deinit(&text);
    return e;
}
