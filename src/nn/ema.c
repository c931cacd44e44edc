/* Moving averages of parameters. */
#include "base/mem.h"
#include "nn/module.h"
#include "nn/nn_state.h"
#include <lazuli/optim.h>
#include <string.h>

typedef struct average {
    lz_module_slot *slot; /* the averaged parameter or buffer */
    lz_tensor *value;
} average;

struct lz_ema {
    lz_module *m;
    double decay;
    size_t n;
    average v[];
};

/* ---- life ---- */

static bool is_averaged(const lz_module_slot *s, bool buffers)
{
    lz_dtype d = lz_tensor_dtype(s->tensor);
    bool floating = d == LZ_F16 || d == LZ_BF16 || d == LZ_F32 || d == LZ_F64;
    return floating && (s->kind == LZ_SLOT_PARAM || (buffers && s->kind == LZ_SLOT_BUFFER));
}

static size_t count_slots(lz_module *m, bool buffers)
{
    size_t n = 0;
    for (lz_module *k = m; k; k = lz_module_after(m, k))
        for (lz_module_slot *s = k->slots; s; s = s->next)
            n += is_averaged(s, buffers);
    return n;
}

/* A copy that outlives the scope. */
static lz_tensor *copy_of(lz_module *m, lz_tensor *t)
{
    const lz_loc at = m->at;
    lz_tensor *copy = NULL;
    lz_scope *s = lz_scope_push(m->ctx);
    LZ_NO_GRAD(m->ctx)
    {
        copy = lz_retain(lz_clone(m->ctx, t));
    }
    lz_scope_pop(s);
    return copy;
}

lz_ema *lz_ema_create_at(lz_loc at, lz_module *m, const lz_ema_options *options)
{
    if (!m)
        return NULL;
    m->at = at;
    if (!(options->decay >= 0 && options->decay <= 1)) {
        lz_refuse(m->ctx, at, lz_errf(LZ_ERR_ARG, "lz_ema_create: decay must be between 0 and 1"));
        return NULL;
    }
    size_t n = count_slots(m, options->buffers);
    lz_ema *e = lz_mem_zalloc(1, sizeof *e + n * sizeof *e->v);
    if (!lz_nn_report(m->ctx, at, e ? NULL : lz_err_oom()))
        return NULL;
    e->m = m;
    e->decay = options->decay;
    for (lz_module *k = m; k; k = lz_module_after(m, k))
        for (lz_module_slot *s = k->slots; s; s = s->next)
            if (is_averaged(s, options->buffers))
                e->v[e->n++] = (average){ s, copy_of(m, s->tensor) };
    return e;
}

void lz_ema_free(lz_ema *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->n; i++)
        lz_release(e->v[i].value);
    lz_mem_free(e);
}

/* ---- updates ---- */

bool lz_ema_update_at(lz_ema *e, lz_loc at)
{
    if (!e)
        return false;
    lz_module *m = e->m;
    m->at = at;
    lz_scope *s = lz_scope_push(m->ctx);
    LZ_NO_GRAD(m->ctx)
    {
        for (size_t i = 0; i < e->n; i++)
            lz_lerp__Scalar(m->ctx, e->v[i].value, e->v[i].slot->tensor, 1 - e->decay);
    }
    lz_scope_pop(s);
    return !lz_failed(m->ctx);
}

bool(lz_ema_update)(lz_ema *e)
{
    return lz_ema_update_at(e, (lz_loc){ 0 });
}

bool lz_ema_swap_at(lz_ema *e, lz_loc at)
{
    if (!e)
        return false;
    lz_module *m = e->m;
    m->at = at;
    lz_scope *s = lz_scope_push(m->ctx);
    LZ_NO_GRAD(m->ctx)
    {
        for (size_t i = 0; i < e->n; i++) {
            lz_tensor *was = lz_clone(m->ctx, e->v[i].slot->tensor);
            lz_copy_(m->ctx, e->v[i].slot->tensor, e->v[i].value);
            lz_copy_(m->ctx, e->v[i].value, was);
        }
    }
    lz_scope_pop(s);
    return !lz_failed(m->ctx);
}

bool(lz_ema_swap)(lz_ema *e)
{
    return lz_ema_swap_at(e, (lz_loc){ 0 });
}

/* ---- state ---- */

lz_tensor *lz_ema_get(const lz_ema *e, const char *name)
{
    for (size_t i = 0; e && i < e->n; i++)
        if (!strcmp(lz_name_in(e->m, e->v[i].slot->path), name))
            return e->v[i].value;
    return NULL;
}

bool lz_ema_state(lz_ema *e, const char *prefix, lz_state *out)
{
    lz_err *failure = NULL;
    if (!e || !out)
        return false;
    for (size_t i = 0; !failure && i < e->n; i++)
        failure = lz_state_put(out, prefix, lz_name_in(e->m, e->v[i].slot->path), "", e->v[i].value);
    return lz_nn_report(e->m->ctx, (lz_loc){ 0 }, failure);
}

/* The saved tensor of average i. */
static lz_err *find_saved(const lz_ema *e, size_t i, const char *prefix, lz_named_tensors from,
                          lz_tensor **out)
{
    const char *name = lz_name_in(e->m, e->v[i].slot->path);
    size_t skip = strlen(prefix);
    for (size_t k = 0; k < from.n; k++)
        if (!strncmp(from.v[k].name, prefix, skip) && !strcmp(from.v[k].name + skip, name)) {
            *out = from.v[k].tensor;
            return lz_check_sizes(name, e->v[i].value, *out);
        }
    return lz_errf(LZ_ERR_NOT_FOUND, "the state does not fit: missing '%s%s'", prefix, name);
}

static lz_err *load_all(lz_ema *e, const char *prefix, lz_named_tensors from, lz_tensor **to,
                        lz_tensor **found)
{
    for (size_t i = 0; i < e->n; i++) {
        to[i] = e->v[i].value;
        LZ_TRY(find_saved(e, i, prefix, from, &found[i]));
    }
    return lz_copy_all(e->m->ctx, to, found, e->n);
}

bool lz_ema_load_state(lz_ema *e, const char *prefix, lz_named_tensors from)
{
    if (!e)
        return false;
    lz_tensor **lists = lz_mem_zalloc(2 * e->n + 1, sizeof *lists);
    lz_err *failure = lists ? load_all(e, prefix, from, lists, lists + e->n) : lz_err_oom();
    lz_mem_free(lists);
    return lz_nn_report(e->m->ctx, (lz_loc){ 0 }, failure);
}
