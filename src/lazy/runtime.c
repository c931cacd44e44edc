#include "lazy/runtime.h"
#include "base/env.h"
#include "base/foreign.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/profiler.h"
#include "core/device.h"
#include "jit/codes.h"
#include "lazy/ctx.h"
#include "lazy/registry.h"
#include "op/op_find.h"
#include <stdio.h>
#include <string.h>

/* One runtime per process; it lives while it is retained. */
static struct {
    lz_lock lock;
    lz_runtime *runtime;
    size_t count;
} process = { .lock = LZ_LOCK_INIT };

enum { DEFAULT_CACHE = 1024, DEFAULT_CACHE_BYTES = 256 << 20, DEFAULT_CLOSURES = 100 };

static lz_err *name_series(lz_runtime *r)
{
    const struct {
        lz_str name;
        lz_unit unit;
        lz_series **to;
    } all[] = {
        { LZ_STR("Record"), LZ_UNIT_TIME, &r->record },
        { LZ_STR("Lower"), LZ_UNIT_TIME, &r->lower },
        { LZ_STR("Compile"), LZ_UNIT_TIME, &r->compile },
        { LZ_STR("Execute"), LZ_UNIT_TIME, &r->execute },
        { LZ_STR("Sync"), LZ_UNIT_TIME, &r->sync },
        { LZ_STR("TensorsGraphSize"), LZ_UNIT_PLAIN, &r->graph_size },
        { LZ_STR("DeviceLockWait"), LZ_UNIT_TIME, &r->lock_wait },
        { LZ_STR("IrValueTensorToDataHandle"), LZ_UNIT_TIME, &r->to_data },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        LZ_TRY(lz_metrics_series(r->metrics, all[i].name, all[i].unit, all[i].to));
    return NULL;
}

static void forget_warnings(lz_runtime *r)
{
    for (int i = 0; i < LZ_WARNINGS; i++) {
        lz_mem_free(r->warnings[i]);
        r->warnings[i] = NULL;
    }
}

static void destroy(lz_runtime *r)
{
    while (r->threads) {
        lz_device_thread *t = r->threads;
        r->threads = t->next;
        lz_queue_wait(t->queue);
        lz_queue_destroy(t->queue);
        lz_mem_free(t);
    }
    lz_cache_destroy(r->cache);
    if (r->holds_codes)
        lz_native_codes_close(r->metrics);
    if (r->metrics)
        lz_metrics_destroy(r->metrics);
    forget_warnings(r);
    lz_mem_free(r->closed);
    lz_mem_free(r->save_file);
    lz_arena_deinit(&r->names);
    lz_lock_deinit(&r->names_lock);
    lz_lock_deinit(&r->lock);
    lz_mem_free(r);
}

void lz_runtime_inject(lz_runtime *r, const char *op)
{
    lz_str name = lz_str_of(op);
    if (lz_str_starts(name, LZ_STR("aten::")))
        name = lz_str_sub(name, 6, name.len);
    snprintf(r->inject, sizeof r->inject, "%.*s", LZ_FMT(name));
}

static lz_err *choose_injected(lz_runtime *r)
{
    const char *text = lz_env_text(LZ_ENV_INJECT_FAILURE);
    lz_runtime_inject(r, text);
    if (!text || lz_op_find(lz_str_of(r->inject)))
        return NULL;
    return lz_errf(LZ_ERR_ARG, "%s=%s: expected an operator with its overload, as in mul.Tensor",
                   lz_env_vars[LZ_ENV_INJECT_FAILURE].name, text);
}

/* Each option has our name and the original's; ours wins. */
static lz_err *choose_file(lz_runtime *r)
{
    static const char *const forms[] = { "text", "dot", "backend", NULL };
    const char *ours = lz_env_text(LZ_ENV_SAVE_TENSORS_FILE);
    const char *path = ours ? ours : lz_env_text(LZ_ENV_LTC_SAVE_TENSORS_FILE);
    LZ_TRY(lz_env_word(LZ_ENV_LTC_SAVE_TENSORS_FMT, forms, &r->save_form));
    LZ_TRY(lz_env_word(LZ_ENV_SAVE_TENSORS_FMT, forms, &r->save_form));
    size_t n = path ? strlen(path) + 1 : 0;
    if (!n)
        return NULL;
    r->save_file = lz_mem_alloc(n);
    if (!r->save_file)
        return lz_err_oom();
    memcpy(r->save_file, path, n);
    return NULL;
}

static lz_err *choose_closures(lz_runtime *r)
{
    r->most_closures = DEFAULT_CLOSURES;
    LZ_TRY(lz_env_int(LZ_ENV_LTC_MAX_ASYNC_QUEUE, 1, INT32_MAX, &r->most_closures));
    return lz_env_int(LZ_ENV_MAX_ASYNC_QUEUE, 1, INT32_MAX, &r->most_closures);
}

/* At most once per process, and only if the log takes warnings. */
static void report_ignored_variables(void)
{
    static atomic_bool warned;
    lz_str stray;
    if (!lz_log_on(LZ_LOG_WARN) || atomic_exchange(&warned, true))
        return;
    for (const lz_env_var *v = lz_env_no_effect; v->name; v++)
        if (lz_env_is_set(v))
            lz_logf(LZ_LOG_WARN, "%s is set, and has no effect: %s", v->name, v->meaning);
    for (size_t i = 0; (stray = lz_env_stray(i)).len; i++)
        lz_logf(LZ_LOG_WARN, "%.*s is set, and means nothing", LZ_FMT(stray));
}

static lz_err *fill(lz_runtime *r)
{
    report_ignored_variables();
    LZ_TRY(lz_profile_from_env());
    LZ_TRY(choose_file(r));
    LZ_TRY(choose_injected(r));
    r->closed = lz_mem_zalloc(LZ_COUNTS, sizeof *r->closed);
    if (!r->closed)
        return lz_err_oom();
    LZ_TRY(choose_closures(r));
    uint64_t bytes = DEFAULT_CACHE_BYTES;
    LZ_TRY(lz_env_bytes(LZ_ENV_GRAPHS_SIZE, &bytes));
    LZ_TRY(lz_cache_create(DEFAULT_CACHE, bytes, &r->cache));
    LZ_TRY(lz_metrics_create(0, &r->metrics));
    LZ_TRY(name_series(r));
    LZ_TRY(lz_native_codes_open(r->metrics));
    r->holds_codes = true;
    return lz_backends_ready();
}

static lz_err *create(lz_runtime **out)
{
    lz_runtime *r = lz_mem_zalloc(1, sizeof *r);
    if (!r)
        return lz_err_oom();
    lz_lock_init(&r->lock);
    lz_lock_init(&r->names_lock);
    lz_err *e = fill(r);
    if (e) {
        destroy(r);
        return e;
    }
    *out = r;
    return NULL;
}

lz_err *lz_runtime_retain(lz_runtime **out)
{
    lz_foreign_watch();
    lz_lock_take(&process.lock);
    lz_err *e = process.count ? NULL : create(&process.runtime);
    process.count += !e;
    if (!e)
        *out = process.runtime;
    lz_lock_give(&process.lock);
    return e;
}

lz_runtime *lz_runtime_if_there(void)
{
    lz_lock_take(&process.lock);
    lz_runtime *r = process.count ? process.runtime : NULL;
    process.count += r != NULL;
    lz_lock_give(&process.lock);
    return r;
}

void lz_runtime_release(lz_runtime *r)
{
    if (!r)
        return;
    lz_lock_take(&process.lock);
    if (--process.count == 0) {
        process.runtime = NULL;
        destroy(r);
    }
    lz_lock_give(&process.lock);
}

/* ---- devices ---- */

enum { TYPE_CUDA = 1 }; /* of lz_backend_device */

static lz_err *choose_device(lz_device d, bool ts_cuda, lz_device *out)
{
    const lz_backend *cpu = lz_backend_fallback();
    if (ts_cuda && cpu && d.index < 0 && d.type == lz_backend_type(cpu))
        return lz_backend_device_typed(cpu, TYPE_CUDA, out);
    return lz_backend_device_of(d, out);
}

lz_err *lz_runtime_device(const char *name, bool ts_cuda, lz_device *out, const lz_backend **backend)
{
    const lz_backend *first = lz_backend_first();
    lz_device d = { first ? lz_backend_type(first) : 0, -1 };
    if (!name)
        name = lz_env_text(LZ_ENV_DEVICE);
    if (name)
        LZ_TRY(lz_device_parse(lz_str_of(name), &d));
    LZ_TRY(choose_device(d, ts_cuda, out));
    *backend = lz_backend_of(out->type);
    return NULL;
}

static lz_err *start_thread(lz_runtime *r, lz_device d, lz_device_thread **out)
{
    lz_device_thread *t = lz_mem_zalloc(1, sizeof *t);
    if (!t)
        return lz_err_oom();
    lz_err *e = lz_queue_create(1, &t->queue);
    if (e) {
        lz_mem_free(t);
        return e;
    }
    t->device = d;
    t->next = r->threads;
    *out = r->threads = t;
    return NULL;
}

lz_err *lz_runtime_queue(lz_runtime *r, lz_device d, lz_queue **out)
{
    lz_lock_take(&r->lock);
    lz_err *e = NULL;
    lz_device_thread *t = r->threads;
    while (t && !lz_device_eq(t->device, d))
        t = t->next;
    if (!t)
        e = start_thread(r, d, &t);
    if (!e)
        *out = t->queue;
    lz_lock_give(&r->lock);
    return e;
}

/* ---- counters ---- */

lz_err *lz_runtime_count(lz_runtime *r, lz_counted **out)
{
    lz_counted *c = lz_mem_zalloc(1, sizeof *c + LZ_COUNTS * sizeof *c->n);
    if (!c)
        return lz_err_oom();
    lz_lock_take(&r->lock);
    c->next = r->counted;
    if (c->next)
        c->next->prev = c;
    r->counted = c;
    lz_lock_give(&r->lock);
    *out = c;
    return NULL;
}

void lz_runtime_uncount(lz_runtime *r, lz_counted *c)
{
    lz_lock_take(&r->lock);
    *(c->prev ? &c->prev->next : &r->counted) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    for (size_t i = 0; i < LZ_COUNTS; i++)
        r->closed[i] += (int64_t)atomic_load_explicit(&c->n[i], memory_order_relaxed);
    lz_lock_give(&r->lock);
    lz_mem_free(c);
}

void lz_runtime_counters(lz_runtime *r, int64_t *out)
{
    lz_lock_take(&r->lock);
    for (size_t i = 0; i < LZ_COUNTS; i++)
        out[i] = r->closed[i];
    for (lz_counted *c = r->counted; c; c = c->next)
        for (size_t i = 0; i < LZ_COUNTS; i++)
            out[i] += (int64_t)atomic_load_explicit(&c->n[i], memory_order_relaxed);
    lz_lock_give(&r->lock);
}

void lz_runtime_clear(lz_runtime *r)
{
    lz_lock_take(&r->lock);
    for (size_t i = 0; i < LZ_COUNTS; i++)
        r->closed[i] = 0;
    for (lz_counted *c = r->counted; c; c = c->next)
        for (size_t i = 0; i < LZ_COUNTS; i++)
            atomic_store_explicit(&c->n[i], 0, memory_order_relaxed);
    forget_warnings(r);
    lz_lock_give(&r->lock);
}

void lz_runtime_warn(lz_runtime *r, int kind, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = lz_mem_alloc(n);
    if (!copy)
        return;
    memcpy(copy, text, n);
    lz_lock_take(&r->lock);
    lz_mem_free(r->warnings[kind]);
    r->warnings[kind] = copy;
    lz_lock_give(&r->lock);
}

void lz_runtime_put_warnings(lz_runtime *r, lz_text *out)
{
    lz_lock_take(&r->lock);
    for (int i = 0; i < LZ_WARNINGS; i++)
        if (r->warnings[i])
            lz_text_printf(out, "Warning: %s\n", r->warnings[i]);
    lz_lock_give(&r->lock);
}
