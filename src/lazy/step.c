/* Syncs as a program asks for them, and what it may ask about them. */
#include "base/log.h"
#include "lazy/closures.h"
#include "lazy/sync.h"

static bool told(lz_ctx *c, lz_err *e)
{
    bool ok = !e;
    if (e)
        lz_ctx_fail(c, lz_err_loc(e), NULL, e);
    return ok;
}

/* A context without a device can do nothing; lz_open has said why. */
static bool works(const lz_ctx *c)
{
    return c && c->syncer;
}

bool lz_mark_step(lz_ctx *c)
{
    if (!works(c))
        return false;
    lz_ctx_count(c, LZ_COUNT_MARK_STEP);
    lz_err *e = lz_ctx_sync(c, NULL, 0, LZ_CAUSE_STEP, (lz_loc){ 0 });
    if (c->syncer->closures)
        e = lz_err_first(e, lz_closures_run(c->syncer->closures));
    return told(c, e);
}

static lz_err *sync_these(lz_ctx *c, lz_tensor *const *t, size_t n)
{
    LZ_VEC(lz_alias *) cells = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < n; i++) {
        if (t[i] && t[i]->alias && t[i]->ctx != c)
            e = lz_errf(LZ_ERR_ARG, "a tensor belongs to another context");
        else if (t[i] && t[i]->alias)
            e = lz_vec_push(&cells, t[i]->alias);
    }
    if (!e)
        e = lz_ctx_sync(c, cells.data, cells.len, LZ_CAUSE_SYNC, (lz_loc){ 0 });
    lz_vec_deinit(&cells);
    return e;
}

bool lz_sync(lz_ctx *c, lz_tensor *const *t, size_t n)
{
    return works(c) && told(c, sync_these(c, t, n));
}

bool lz_wait(lz_ctx *c)
{
    if (!works(c))
        return false;
    lz_err *e = lz_sync_reap(c, true);
    if (c->syncer->closures)
        e = lz_err_first(e, lz_closures_wait(c->syncer->closures));
    return told(c, e);
}

static lz_err *add_closure(lz_ctx *c, lz_closure_fn *fn, void *user, bool async)
{
    if (!fn)
        return lz_errf(LZ_ERR_ARG, "no function to run");
    if (!c->syncer->closures)
        LZ_TRY(lz_closures_create(&c->syncer->closures));
    return lz_closures_add(c->syncer->closures, fn, user, async);
}

bool lz_add_step_closure(lz_ctx *c, lz_closure_fn *fn, void *user, bool async)
{
    return works(c) && told(c, add_closure(c, fn, user, async));
}

void lz_forbid(lz_ctx *c, unsigned events)
{
    if (c)
        c->forbidden = events;
}

const char *lz_explain(lz_ctx *c)
{
    if (!works(c) || !told(c, lz_sync_explain(c)) || !c->syncer->missed.why.len)
        return "";
    return c->syncer->missed.why.ptr;
}
