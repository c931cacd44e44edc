/* Syncs that the program requests, and what it can ask about them. */
#include "base/log.h"
#include "base/mem.h"
#include "lazy/closures.h"
#include "lazy/debug.h"
#include "lazy/lazy_tensor.h"
#include "lazy/sync.h"

/* Without a device nothing works; lz_open has reported the reason. */
static bool works(const lz_ctx *c)
{
    return c && c->syncer;
}

static bool mark_step(lz_ctx *c, lz_loc at)
{
    lz_ctx_count(c, LZ_COUNT_MARK_STEP);
    lz_err *e = lz_ctx_sync(c, NULL, 0, LZ_CAUSE_STEP, at);
    c->callbacks++;
    if (c->syncer->closures)
        e = lz_err_first(e, lz_closures_run(c->syncer->closures));
    c->callbacks--;
    return lz_ctx_report(c, at, e);
}

bool lz_mark_step_at(lz_ctx *c, lz_loc at)
{
    if (!works(c) || !lz_ctx_enter(c, at))
        return false;
    bool ok = mark_step(c, at);
    lz_ctx_leave(c);
    return ok;
}

bool(lz_mark_step)(lz_ctx *c)
{
    return lz_mark_step_at(c, (lz_loc){ 0 });
}

static lz_err *sync_cells(lz_ctx *c, lz_loc at, lz_tensor *const *t, size_t n, lz_lazy_storage **cells)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (!t[i] || !t[i]->storage)
            continue;
        if (t[i]->ctx != c)
            return lz_err_because(LZ_REASON_CONTEXT, "a tensor belongs to another context");
        cells[used++] = t[i]->storage;
    }
    return lz_ctx_sync(c, cells, used, LZ_CAUSE_SYNC, at);
}

static lz_err *sync_these(lz_ctx *c, lz_loc at, lz_tensor *const *t, size_t n)
{
    enum { FEW = 16 };
    lz_lazy_storage *few[FEW], **cells = n <= FEW ? few : lz_mem_zalloc(n, sizeof *cells);
    if (!cells)
        return lz_err_oom();
    lz_err *e = sync_cells(c, at, t, n, cells);
    if (cells != few)
        lz_mem_free(cells);
    return e;
}

bool lz_sync_at(lz_ctx *c, lz_loc at, lz_tensor *const *t, size_t n)
{
    if (!works(c) || !lz_ctx_enter(c, at))
        return false;
    bool ok = lz_ctx_report(c, at, sync_these(c, at, t, n));
    lz_ctx_leave(c);
    return ok;
}

bool(lz_sync)(lz_ctx *c, lz_tensor *const *t, size_t n)
{
    return lz_sync_at(c, (lz_loc){ 0 }, t, n);
}

bool lz_wait_at(lz_ctx *c, lz_loc at)
{
    if (!works(c))
        return false;
    lz_err *e = lz_ctx_finish(c);
    if (c->syncer->closures)
        e = lz_err_first(e, lz_closures_wait(c->syncer->closures));
    return lz_ctx_report(c, at, e);
}

bool(lz_wait)(lz_ctx *c)
{
    return lz_wait_at(c, (lz_loc){ 0 });
}

static lz_err *add_closure(lz_ctx *c, lz_closure_fn *fn, void *user, bool async)
{
    if (!fn)
        return lz_errf(LZ_ERR_ARG, "the closure is NULL");
    if (!c->syncer->closures)
        LZ_TRY(lz_closures_create((size_t)c->shared->most_closures, &c->syncer->closures));
    return lz_closures_add(c->syncer->closures, fn, user, async);
}

bool lz_add_step_closure(lz_ctx *c, lz_closure_fn *fn, void *user, bool async)
{
    return works(c) && lz_ctx_report(c, (lz_loc){ 0 }, add_closure(c, fn, user, async));
}

void lz_forbid(lz_ctx *c, unsigned events)
{
    if (c)
        c->forbidden = events;
}

/* The reason why the last graph was compiled, then the warnings of slowdowns. */
static lz_err *explain(lz_syncer *s)
{
    lz_text *out = &s->explained;
    lz_text_clear(out);
    if (s->missed.why.len)
        lz_text_puts(out, s->missed.why.ptr);
    for (int i = 0; i < LZ_SLOWDOWNS; i++)
        if (s->watch.warnings[i].len)
            lz_text_printf(out, "%sWarning: %s", out->len ? "\n" : "", s->watch.warnings[i].ptr);
    lz_text_putc(out, '\0');
    return lz_text_check(out);
}

const char *lz_explain(lz_ctx *c)
{
    if (!works(c))
        return "";
    lz_err *e = lz_sync_explain(c);
    if (!e)
        e = explain(c->syncer);
    return lz_ctx_report(c, (lz_loc){ 0 }, e) ? c->syncer->explained.ptr : "";
}
