/* What lz_open and lz_close leave to the runtime. */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/env.h"
#include "base/mem.h"
#include "lazy/closures.h"
#include "lazy/ir.h"
#include "lazy/sync.h"
#include <string.h>

static const char *forced_of(const lz_ctx *c)
{
    static const lz_env_id names[] = { LZ_ENV_FORCE_FALLBACK, LZ_ENV_LTC_FORCE_FALLBACK };
    const char *list = c->options.force_fallback;
    for (size_t i = 0; !list && i < sizeof names / sizeof *names; i++)
        list = lz_env_text(names[i]);
    return list && *list ? list : NULL;
}

static lz_err *keep_forced(lz_syncer *s, const char *list)
{
    size_t n = list ? strlen(list) + 1 : 0;
    if (!n)
        return NULL;
    LZ_TRY(lz_recipe_check_forced(list));
    s->forced = lz_mem_alloc(n);
    if (!s->forced)
        return lz_err_oom();
    memcpy(s->forced, list, n);
    s->fence = lz_hash64(list, n);
    return NULL;
}

static lz_err *check_options(const lz_options *o)
{
    if (o->threads >= 0 && o->threads <= LZ_MOST_THREADS)
        return NULL;
    return lz_errf(LZ_ERR_ARG, "a context has 1 to %d threads, or 0 for as many as there are cores; not %d",
                   LZ_MOST_THREADS, o->threads);
}

static lz_err *attach(lz_ctx *c)
{
    LZ_TRY(check_options(&c->options));
    LZ_TRY(lz_runtime_retain(&c->shared));
    LZ_TRY(lz_runtime_device(c->options.device, &c->device, &c->backend));
    const lz_ir_builder *builder = c->backend->get_ir_builder(c->backend->self);
    c->builder = builder == &lz_own_ir_builder ? NULL : builder;
    c->syncer = lz_mem_zalloc(1, sizeof *c->syncer);
    if (!c->syncer)
        return lz_err_oom();
    LZ_TRY(keep_forced(c->syncer, forced_of(c)));
    LZ_TRY(lz_runtime_count(c->shared, &c->syncer->counted));
    c->counts = c->syncer->counted->n;
    if (c->options.cache_size)
        lz_cache_set_limit(c->shared->cache, c->options.cache_size);
    return NULL;
}

lz_err *lz_ctx_attach(lz_ctx *c)
{
    lz_err *e = attach(c);
    if (e)
        lz_ctx_detach(c);
    return e;
}

static void free_syncer(lz_ctx *c)
{
    lz_syncer *s = c->syncer;
    lz_err_free(lz_sync_reap(c, true));
    lz_closures_destroy(s->closures);
    if (s->counted)
        lz_runtime_uncount(c->shared, s->counted);
    lz_walk_deinit(&s->walk);
    lz_vec_deinit(&s->roots);
    lz_vec_deinit(&s->rest);
    lz_vec_deinit(&s->outputs);
    lz_vec_deinit(&s->result_of);
    lz_vec_deinit(&s->order);
    lz_vec_deinit(&s->missed.words);
    lz_vec_deinit(&s->missed.locs);
    lz_text_deinit(&s->missed.why);
    lz_vec_deinit(&s->asked.numbers);
    lz_vec_deinit(&s->asked.result_of);
    lz_mem_free(s->forced);
    lz_mem_free(s);
}

void lz_ctx_detach(lz_ctx *c)
{
    if (c->syncer)
        free_syncer(c);
    lz_runtime_release(c->shared);
    c->syncer = NULL;
    c->shared = NULL;
    c->counts = NULL;
}

lz_err *lz_ctx_upload(lz_ctx *c, const lz_backend *b, lz_device d, const lz_host_tensor *t, lz_data **out)
{
    uint64_t start = lz_clock_ns();
    lz_err *e = lz_data_upload(b, d, t, out);
    lz_ctx_count(c, LZ_COUNT_DATA_MISS);
    if (c->shared)
        lz_series_add_since(c->shared->to_data, start);
    return e;
}
