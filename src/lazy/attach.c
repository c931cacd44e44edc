/* The parts of lz_open and lz_close that concern the runtime: options, device, builder, registration. */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/memory_limit.h"
#include "lazy/closures.h"
#include "lazy/ir_builder.h"
#include "lazy/registry.h"
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
    LZ_TRY(lz_executable_check_forced(list));
    s->forced = lz_mem_alloc(n);
    if (!s->forced)
        return lz_err_oom();
    memcpy(s->forced, list, n);
    s->forced_hash = lz_hash64(list, n);
    return NULL;
}

static lz_err *check_options(const lz_options *o)
{
    if (o->threads < 0 || o->threads > LZ_MOST_THREADS)
        return lz_errf(LZ_ERR_ARG,
                       "a context has 1 to %d threads, or 0 for as many as there are cores; not %d",
                       LZ_MOST_THREADS, o->threads);
    if (o->cpu_devices < 0 || o->cpu_devices > LZ_BACKEND_DEVICES)
        return lz_errf(LZ_ERR_ARG, "\"cpu\" has 1 to %d devices, or 0 for as many as it has; not %d",
                       LZ_BACKEND_DEVICES, o->cpu_devices);
    return NULL;
}

/* A builder of a backend may leave entries NULL; the library's own functions fill them. */
static void complete_builder(lz_ctx *c)
{
    typedef void any_fn(void);
    const lz_ir_builder *brought = c->backend->get_ir_builder(c->backend->self);
    lz_ir_builder *whole = &c->syncer->builder;
    if (!brought || brought == &lz_own_ir_builder)
        return;
    size_t n = brought->struct_size < sizeof *whole ? brought->struct_size : sizeof *whole;
    memcpy(whole, brought, n);
    for (size_t at = sizeof whole->struct_size; at < sizeof *whole; at += sizeof(any_fn *)) {
        any_fn *f;
        memcpy(&f, (char *)whole + at, sizeof f);
        if (!f)
            memcpy((char *)whole + at, (const char *)&lz_own_ir_builder + at, sizeof f);
    }
    c->builder = whole;
}

static lz_err *attach(lz_ctx *c)
{
    lz_memory_limit_check();
    LZ_TRY(check_options(&c->options));
    LZ_TRY(lz_runtime_retain(&c->shared));
    if (c->options.cpu_devices)
        LZ_TRY(lz_backend_set_device_count("cpu", (size_t)c->options.cpu_devices));
    LZ_TRY(lz_runtime_device(c->options.device, c->options.ts_cuda, &c->device, &c->backend));
    c->syncer = lz_mem_zalloc(1, sizeof *c->syncer);
    if (!c->syncer)
        return lz_err_oom();
    LZ_TRY(lz_replicas_parse(c->options.replicas, c->device, &c->syncer->replicas));
    complete_builder(c);
    c->moves_views = lz_backend_takes_offsets(c->device.type);
    lz_ctx_uses(c, c->device);
    LZ_TRY(keep_forced(c->syncer, forced_of(c)));
    LZ_TRY(lz_runtime_count(c->shared, &c->syncer->counted));
    c->counts = c->syncer->counted->n;
    if (c->options.cache_size)
        lz_cache_set_limit(c->shared->cache, c->options.cache_size);
    if (c->options.cache_bytes)
        lz_cache_set_bytes(c->shared->cache, c->options.cache_bytes);
    return NULL;
}

lz_err *lz_ctx_attach(lz_ctx *c)
{
    lz_err *e = attach(c);
    if (e)
        lz_ctx_detach(c);
    return e;
}

lz_err *lz_ctx_finish(lz_ctx *c)
{
    lz_err *e = lz_sync_reap(c, true);
    for (uint32_t left = c->syncer->used; left; left &= left - 1) {
        const lz_backend *b = lz_backend_of((int16_t)__builtin_ctz(left));
        if (b)
            e = lz_err_first(e, lz_backend_synchronize(b));
    }
    return e;
}

static void free_syncer(lz_ctx *c)
{
    lz_syncer *s = c->syncer;
    lz_err *e = lz_ctx_finish(c);
    if (e)
        lz_logf(LZ_LOG_ERROR, "lz_close: asynchronous work failed: %s", lz_err_text(e));
    lz_err_free(e);
    lz_closures_destroy(s->closures);
    if (s->counted)
        lz_runtime_uncount(c->shared, s->counted);
    lz_walk_deinit(&s->walk);
    for (size_t i = 0; i < LZ_SYNC_GUESSES; i++)
        lz_walk_guess_deinit(&s->guesses[i]);
    lz_vec_deinit(&s->roots);
    lz_vec_deinit(&s->rest);
    lz_vec_deinit(&s->outputs);
    lz_vec_deinit(&s->result_of);
    lz_vec_deinit(&s->order);
    lz_vec_deinit(&s->missed.words);
    lz_vec_deinit(&s->missed.locs);
    lz_text_deinit(&s->missed.why);
    lz_text_deinit(&s->explained);
    lz_watch_deinit(&s->watch);
    for (size_t i = 0; i < s->asked.len; i++) {
        lz_vec_deinit(&s->asked.data[i].numbers);
        lz_vec_deinit(&s->asked.data[i].result_of);
    }
    lz_vec_deinit(&s->asked);
    lz_mem_free(s->forced);
    lz_mem_free(s);
}

void lz_ctx_detach(lz_ctx *c)
{
    if (c->syncer)
        free_syncer(c);
    lz_runtime_release(c->shared);
    c->builder = NULL;
    c->syncer = NULL;
    c->shared = NULL;
    c->counts = NULL;
}

lz_err *lz_ctx_upload(lz_ctx *c, const lz_backend *b, lz_device d, const lz_host_tensor *t, lz_data **out)
{
    uint64_t start = lz_clock_ns();
    lz_err *e = lz_data_upload(b, d, t, out);
    lz_ctx_uses(c, d);
    lz_ctx_count(c, LZ_COUNT_UPLOADED);
    if (c->shared)
        lz_series_add_since(c->shared->to_data, start);
    return e;
}
