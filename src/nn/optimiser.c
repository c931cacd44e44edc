/* Optimisers: parameter groups, steps, learning rates. */
#include "base/mem.h"
#include "base/str.h"
#include "nn/module.h"
#include "nn/optim_lbfgs.h"
#include <assert.h>
#include <math.h>

/* ---- making ---- */

lz_optim *lz_optim_create(lz_ctx *c, lz_optim_kind kind)
{
    if (!lz_optim_rule_of(kind)) {
        lz_fail(c, (lz_loc){ 0 }, LZ_ERR_ARG, "lz_optim_create: unknown optimiser");
        return NULL;
    }
    lz_optim *o = lz_mem_zalloc(1, sizeof *o);
    if (!o) {
        lz_fail(c, (lz_loc){ 0 }, LZ_ERR_MEMORY, "");
        return NULL;
    }
    lz_arena_init(&o->arena);
    o->ctx = c;
    o->rule = lz_optim_rule_of(kind);
    o->lbfgs = o->rule->by_closure ? lz_mem_zalloc(1, sizeof *o->lbfgs) : NULL;
    if (!o->rule->by_closure || o->lbfgs)
        return o;
    lz_mem_free(o);
    lz_fail(c, (lz_loc){ 0 }, LZ_ERR_MEMORY, "");
    return NULL;
}

void lz_optim_free(lz_optim *o)
{
    if (!o)
        return;
    for (lz_optim_group_data *g = o->groups; g; g = g->next)
        for (size_t i = 0; i < g->n; i++) {
            lz_release(g->params[i].p);
            for (int k = 0; k < LZ_OPTIM_STATES; k++)
                lz_release(g->params[i].state[k]);
        }
    if (o->lbfgs)
        lz_lbfgs_clear(o->lbfgs);
    lz_mem_free(o->lbfgs);
    lz_arena_deinit(&o->arena);
    lz_mem_free(o);
}

lz_optim_options lz_optim_defaults(lz_optim_kind kind)
{
    const lz_optim_rule *r = lz_optim_rule_of(kind);
    return r ? r->defaults : (lz_optim_options){ 0 };
}

/* ---- groups ---- */

/* Options that may be negative. */
static bool may_be_negative(int option)
{
    return option == LZ_OPTION_DAMPENING || option == LZ_OPTION_BETA2_DECAY || option == LZ_OPTION_NS_A
           || option == LZ_OPTION_NS_B || option == LZ_OPTION_NS_C;
}

static lz_err *check_options(const lz_optim *o, const lz_optim_options *options)
{
    for (int i = 0; i < LZ_OPTIONS; i++) {
        double v = lz_option_get(options, i);
        bool is_known = o->rule->options >> i & 1;
        if (!is_known && v != 0)
            return lz_errf(LZ_ERR_ARG, "%s has no %s", o->rule->name, lz_option_name(i));
        if (!(v >= 0) && (!may_be_negative(i) || v != v))
            return lz_errf(LZ_ERR_ARG, "%s: invalid %s", o->rule->name, lz_option_name(i));
    }
    if (options->betas[0] >= 1 || options->betas[1] >= 1)
        return lz_errf(LZ_ERR_ARG, "%s: betas must be below 1", o->rule->name);
    if ((o->rule->options & LZ_HAS(BETA2_DECAY)) && (options->beta2_decay > 0 || options->d < 1))
        return lz_errf(LZ_ERR_ARG, "%s: beta2_decay must be at most 0, and d at least 1", o->rule->name);
    if ((o->rule->options & LZ_HAS(ETA_MINUS)) && !(options->etas[0] < 1 && options->etas[1] > 1))
        return lz_errf(LZ_ERR_ARG, "%s: etas must be below and above 1", o->rule->name);
    if ((o->rule->options & LZ_HAS(NS_STEPS)) && options->ns_steps >= 100)
        return lz_errf(LZ_ERR_ARG, "%s: ns_steps must be below 100", o->rule->name);
    if (options->match_rms_adamw && options->spectral_unclamped)
        return lz_errf(LZ_ERR_ARG, "%s: match_rms_adamw and spectral_unclamped exclude each other",
                       o->rule->name);
    if (o->rule->by_closure && (options->max_iter < 1 || options->max_iter > 1e9 || options->max_eval > 1e9))
        return lz_errf(LZ_ERR_ARG, "%s: max_iter must be at least 1, max_iter and max_eval at most 1e9",
                       o->rule->name);
    if (options->history_size > 1 << 20)
        return lz_errf(LZ_ERR_ARG, "%s: history_size must be at most 2^20", o->rule->name);
    if (options->nesterov && (o->rule->options & LZ_HAS(DAMPENING))
        && (options->momentum <= 0 || options->dampening != 0))
        return lz_errf(LZ_ERR_ARG, "Nesterov momentum requires a momentum and zero dampening");
    return NULL;
}

static bool is_known(const lz_optim *o, const lz_named_tensor *p)
{
    for (const lz_optim_group_data *g = o->groups; g; g = g->next)
        for (size_t i = 0; i < g->n; i++)
            if (g->params[i].p == p->tensor || !strcmp(g->params[i].name, p->name))
                return true;
    return false;
}

static lz_err *check_params(const lz_optim *o, lz_named_tensors list)
{
    for (size_t i = 0; i < list.n; i++) {
        const lz_named_tensor *p = &list.v[i];
        if (!p->tensor || lz_tensor_is_inert(p->tensor))
            return lz_errf(LZ_ERR_ARG, "%s: '%s' has no tensor", o->rule->name, p->name);
        if (lz_tensor_ctx(p->tensor) != o->ctx)
            return lz_err_because(LZ_REASON_CONTEXT, "%s: '%s' belongs to another context", o->rule->name,
                                  p->name);
        const char *why = o->rule->refuses ? o->rule->refuses(p->tensor) : NULL;
        if (why)
            return lz_errf(LZ_ERR_ARG, "%s: '%s' has another number of dimensions", why, p->name);
        if (!lz_is_leaf(p->tensor))
            return lz_errf(LZ_ERR_ARG, "%s: '%s' is not a leaf", o->rule->name, p->name);
        if (is_known(o, p))
            return lz_errf(LZ_ERR_ARG, "%s: '%s' is in a group already", o->rule->name, p->name);
        for (size_t k = 0; k < i; k++)
            if (list.v[k].tensor == p->tensor || !strcmp(list.v[k].name, p->name))
                return lz_errf(LZ_ERR_ARG, "%s: '%s' is listed twice", o->rule->name, p->name);
    }
    return NULL;
}

static lz_err *add_group(lz_optim *o, lz_named_tensors list, const lz_optim_options *options)
{
    lz_optim_group_data *g;
    LZ_TRY(check_options(o, options));
    if (o->rule->by_closure && o->groups)
        return lz_errf(LZ_ERR_ARG, "%s doesn't support per-parameter options (parameter groups)",
                       o->rule->name);
    LZ_TRY(check_params(o, list));
    LZ_TRY(lz_arena_new(&o->arena, &g, 1));
    LZ_TRY(lz_arena_new(&o->arena, &g->params, list.n));
    for (size_t i = 0; i < list.n; i++) {
        lz_str name;
        LZ_TRY(lz_arena_copy(&o->arena, lz_str_of(list.v[i].name), &name));
        g->params[i] = (lz_optim_param){ .name = name.ptr, .p = list.v[i].tensor };
    }
    g->o = *options;
    g->n = list.n;
    for (size_t i = 0; i < g->n; i++)
        lz_retain(g->params[i].p);
    if (o->last)
        o->last->next = g;
    else
        o->groups = g;
    o->last = g;
    o->ngroups++;
    return NULL;
}

bool lz_optim_add_group(lz_optim *o, lz_named_tensors params, const lz_optim_options *options)
{
    return o
           && lz_nn_report(o->ctx, (lz_loc){ 0 },
                           add_group(o, params, options ? options : &o->rule->defaults));
}

/* The parameters of m, with their names from the root. */
static lz_err *add_params(lz_optim *o, lz_module *m, const lz_optim_options *options)
{
    lz_named_tensors list = lz_module_params(m);
    size_t skip = strlen(m->path);
    lz_named_tensor *v = lz_mem_zalloc(list.n + 1, sizeof *v);
    if (!v)
        return lz_err_oom();
    for (size_t i = 0; i < list.n; i++)
        v[i] = (lz_named_tensor){ list.v[i].name - (skip ? skip + 1 : 0), list.v[i].tensor };
    lz_err *e = add_group(o, (lz_named_tensors){ v, list.n }, options);
    lz_mem_free(v);
    return e;
}

/* Syncs parameters and buffers, so that their initialisation is not part of the first step. */
static lz_err *settle(lz_module *m, lz_loc at)
{
    lz_named_tensors lists[2] = { lz_module_params(m), lz_module_buffers(m) };
    size_t n = 0;
    lz_tensor **v = lz_mem_zalloc(lists[0].n + lists[1].n + 1, sizeof *v);
    if (!v)
        return lz_err_oom();
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < lists[k].n; i++)
            v[n++] = lists[k].v[i].tensor;
    bool ok = n == 0 || lz_sync(m->ctx, v, n);
    lz_mem_free(v);
    return ok ? NULL : lz_errf(LZ_ERR_ARG, "the parameters could not be computed");
}

static lz_err *add_module(lz_optim *o, lz_loc at, lz_module *m, const lz_optim_options *options)
{
    LZ_TRY(add_params(o, m, options));
    return settle(m, at);
}

bool lz_optim_add_module(lz_optim *o, lz_module *m, const lz_optim_options *options)
{
    return o && !lz_module_is_inert(m)
           && lz_nn_report(o->ctx, m->at, add_module(o, m->at, m, options ? options : &o->rule->defaults));
}

lz_optim *lz_optim_of_at(lz_optim_kind kind, lz_loc at, lz_module *m, const lz_optim_options *options)
{
    lz_optim *o = lz_module_is_inert(m) ? NULL : lz_optim_create(m->ctx, kind);
    if (!o)
        return NULL;
    if (lz_nn_report(m->ctx, at, add_module(o, at, m, options)))
        return o;
    lz_optim_free(o);
    return NULL;
}

/* ---- options ---- */

size_t lz_optim_group_count(const lz_optim *o)
{
    return o ? o->ngroups : 0;
}

lz_optim_options *lz_optim_group(lz_optim *o, size_t i)
{
    lz_optim_group_data *g = o ? o->groups : NULL;
    while (g && i-- > 0)
        g = g->next;
    return g ? &g->o : NULL;
}

void lz_optim_set_lr(lz_optim *o, double lr)
{
    for (lz_optim_group_data *g = o ? o->groups : NULL; g; g = g->next)
        g->o.lr = lr;
}

double lz_optim_lr(const lz_optim *o)
{
    return o && o->groups ? o->groups->o.lr : 0;
}

/* ---- steps ---- */

lz_ints lz_optim_state_sizes(const lz_optim_rule *r, const lz_tensor *p, int state, int64_t *room)
{
    return r->sizes ? (lz_ints){ room, r->sizes(p, state, room) } : lz_tensor_sizes(p);
}

/* False: the value has to be written by an operator, which is a graph of its own. */
static bool fill(void *elements, lz_dtype d, size_t n, double v)
{
    for (size_t i = 0; d == LZ_F32 && i < n; i++)
        ((float *)elements)[i] = (float)v;
    for (size_t i = 0; d == LZ_F64 && i < n; i++)
        ((double *)elements)[i] = v;
    return v == 0 || d == LZ_F32 || d == LZ_F64;
}

lz_err *lz_optim_held(lz_ctx *c, lz_loc at, const lz_tensor *p, lz_ints sizes, double v, lz_tensor **out)
{
    enum { WIDEST = 16 };
    size_t n = 1;
    for (int64_t d = 0; d < sizes.n; d++)
        n *= (size_t)sizes.v[d];
    lz_dtype d = lz_tensor_dtype(p);
    void *elements = lz_mem_zalloc(n + 1, WIDEST);
    if (!elements)
        return lz_err_oom();
    bool filled = fill(elements, d, n, v);
    lz_tensor *t = lz_from_memory(c, d, sizes, elements);
    lz_mem_free(elements);
    if (!filled)
        lz_init_constant(c, t, v);
    if (lz_tensor_is_inert(t) || (!filled && !lz_sync(c, &t, 1)))
        return lz_errf(LZ_ERR_ARG, "the state of the optimiser could not be made");
    *out = lz_retain(t);
    return NULL;
}

static lz_err *need_states(const lz_optim *o, lz_loc at, const lz_optim_options *options, lz_optim_param *s)
{
    int64_t room[LZ_OPTIM_DIMS];
    const lz_optim_rule *r = o->rule;
    s->is_new = false;
    for (int k = 0; k < LZ_OPTIM_STATES; k++)
        if (!s->state[k] && r->states[k] && r->needs(options, s->p, k)) {
            double v = r->begin ? r->begin(options, k) : 0;
            LZ_TRY(lz_optim_held(o->ctx, at, s->p, lz_optim_state_sizes(r, s->p, k, room), v, &s->state[k]));
            s->is_new = true;
        }
    for (int k = 0; k < LZ_OPTIM_STATE_NUMBERS && s->steps == 0; k++)
        s->number[k] = r->numbers[k] ? r->number(options, k) : 0;
    return NULL;
}

static lz_err *step_group(lz_optim *o, lz_optim_group_data *g, lz_loc at)
{
    for (size_t i = 0; i < g->n; i++) {
        lz_optim_param *s = &g->params[i];
        lz_tensor *grad = lz_grad_of(s->p);
        if (!grad)
            continue;
        LZ_TRY(need_states(o, at, &g->o, s));
        s->steps++;
        assert(s->steps > 0 && grad); /* rules divide by what grows with the steps */
        o->rule->update(o->ctx, at, &g->o, s, grad);
    }
    return NULL;
}

static lz_err *step(lz_optim *o, lz_loc at)
{
    if (o->rule->by_closure)
        return lz_errf(LZ_ERR_ARG, "%s computes the loss several times in one step: call lz_optim_step_with",
                       o->rule->name);
    for (lz_optim_group_data *g = o->groups; g; g = g->next)
        LZ_TRY(check_options(o, &g->o));
    for (lz_optim_group_data *g = o->groups; g; g = g->next)
        LZ_TRY(step_group(o, g, at));
    return NULL;
}

bool lz_optim_step_at(lz_optim *o, lz_loc at)
{
    lz_err *e = NULL;
    if (!o)
        return false;
    lz_scope *s = lz_scope_push(o->ctx);
    LZ_NO_GRAD(o->ctx)
    {
        e = step(o, at);
    }
    lz_scope_pop(s);
    lz_optim_zero_grad(o);
    return lz_nn_report(o->ctx, at, e) && !lz_failed(o->ctx);
}

/* The loss is read after the update is recorded: both are one graph. */
static lz_err *step_once(lz_optim *o, lz_loc at, lz_closure *closure, void *user, double *loss)
{
    lz_scope *s = lz_scope_push(o->ctx);
    lz_optim_zero_grad(o);
    lz_tensor *f = closure(o->ctx, user);
    bool ok = f && lz_optim_step_at(o, at);
    *loss = ok ? lz_item(f).re : (double)NAN;
    lz_scope_pop(s);
    return ok ? NULL : lz_errf(LZ_ERR_ARG, "%s: the closure gave no loss", o->rule->name);
}

static lz_err *step_by_closure(lz_optim *o, lz_loc at, lz_closure *closure, void *user, double *loss)
{
    for (lz_optim_group_data *g = o->groups; g; g = g->next)
        LZ_TRY(check_options(o, &g->o));
    return lz_lbfgs_step(o, at, closure, user, loss);
}

bool lz_optim_step_with_at(lz_optim *o, lz_loc at, lz_closure *closure, void *user, double *loss)
{
    double f = (double)NAN;
    if (!o || lz_failed(o->ctx))
        return false;
    lz_err *e = !closure ? lz_errf(LZ_ERR_ARG, "lz_optim_step_with: the closure must not be NULL")
                : o->rule->by_closure ? step_by_closure(o, at, closure, user, &f)
                                      : step_once(o, at, closure, user, &f);
    if (loss)
        *loss = f;
    return lz_nn_report(o->ctx, at, e) && !lz_failed(o->ctx);
}

void lz_optim_zero_grad(lz_optim *o)
{
    for (lz_optim_group_data *g = o ? o->groups : NULL; g; g = g->next)
        for (size_t i = 0; i < g->n; i++)
            lz_set_grad(g->params[i].p, NULL);
}
