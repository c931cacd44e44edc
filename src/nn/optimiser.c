/* Optimisers: parameter groups, steps, learning rates. */
#include "base/mem.h"
#include "base/str.h"
#include "nn/module.h"
#include "nn/optim.h"

/* ---- making ---- */

lz_optim *lz_optim_create(lz_ctx *c, lz_optim_kind kind)
{
    if ((unsigned)kind >= LZ_OPTIM_KINDS) {
        lz_fail(c, (lz_loc){ 0 }, LZ_ERR_ARG, "lz_optim_create: there is no such optimiser");
        return NULL;
    }
    lz_optim *o = lz_mem_zalloc(1, sizeof *o);
    if (!o) {
        lz_fail(c, (lz_loc){ 0 }, LZ_ERR_MEMORY, "");
        return NULL;
    }
    lz_arena_init(&o->arena);
    o->ctx = c;
    o->rule = &lz_optim_rules[kind];
    return o;
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
    lz_arena_deinit(&o->arena);
    lz_mem_free(o);
}

lz_optim_options lz_optim_defaults(lz_optim_kind kind)
{
    return (unsigned)kind < LZ_OPTIM_KINDS ? lz_optim_rules[kind].defaults : (lz_optim_options){ 0 };
}

/* ---- groups ---- */

static lz_err *check_options(const lz_optim *o, const lz_optim_options *options)
{
    for (int i = 0; i < LZ_OPTIONS; i++) {
        double v = lz_option_get(options, i);
        bool is_known = o->rule->options >> i & 1;
        if (!is_known && v != 0)
            return lz_errf(LZ_ERR_ARG, "%s has no %s", o->rule->name, lz_option_name(i));
        if (!(v >= 0) && (i != LZ_OPTION_DAMPENING || v != v))
            return lz_errf(LZ_ERR_ARG, "%s: invalid %s", o->rule->name, lz_option_name(i));
    }
    if (options->betas[0] >= 1 || options->betas[1] >= 1)
        return lz_errf(LZ_ERR_ARG, "%s: betas must be below 1", o->rule->name);
    if (options->nesterov && (options->momentum <= 0 || options->dampening != 0))
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
            return lz_errf(LZ_ERR_ARG, "%s: '%s' belongs to another context", o->rule->name, p->name);
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
    return o && lz_told(o->ctx, (lz_loc){ 0 }, add_group(o, params, options ? options : &o->rule->defaults));
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

/* What was recorded to make parameters and buffers is run, and no part of the first step. */
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
    return ok ? NULL : lz_errf(LZ_ERR_ARG, "parameters cannot be computed");
}

static lz_err *add_module(lz_optim *o, lz_loc at, lz_module *m, const lz_optim_options *options)
{
    LZ_TRY(add_params(o, m, options));
    return settle(m, at);
}

bool lz_optim_add_module(lz_optim *o, lz_module *m, const lz_optim_options *options)
{
    return o && !lz_module_is_inert(m)
           && lz_told(o->ctx, m->at, add_module(o, m->at, m, options ? options : &o->rule->defaults));
}

lz_optim *lz_optim_of_at(lz_optim_kind kind, lz_loc at, lz_module *m, const lz_optim_options *options)
{
    lz_optim *o = lz_module_is_inert(m) ? NULL : lz_optim_create(m->ctx, kind);
    if (!o)
        return NULL;
    if (lz_told(m->ctx, at, add_module(o, at, m, options)))
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

lz_err *lz_optim_held(lz_ctx *c, lz_loc at, const lz_tensor *p, double v, lz_tensor **out)
{
    enum { WIDEST = 16 };
    void *zeros = lz_mem_zalloc((size_t)lz_tensor_numel(p) + 1, WIDEST);
    if (!zeros)
        return lz_err_oom();
    lz_tensor *t = lz_from_memory(c, lz_tensor_dtype(p), lz_tensor_sizes(p), zeros);
    lz_mem_free(zeros);
    if (v != 0)
        lz_init_constant(c, t, v);
    if (lz_tensor_is_inert(t) || (v != 0 && !lz_sync(c, &t, 1)))
        return lz_errf(LZ_ERR_ARG, "the state of an optimiser cannot be made");
    *out = lz_retain(t);
    return NULL;
}

static lz_err *need_states(const lz_optim *o, lz_loc at, const lz_optim_options *options, lz_optim_param *s)
{
    s->is_new = false;
    for (int k = 0; k < LZ_OPTIM_STATES; k++)
        if (!s->state[k] && o->rule->states[k] && o->rule->needs(options, k)) {
            double v = o->rule->begin ? o->rule->begin(options, k) : 0;
            LZ_TRY(lz_optim_held(o->ctx, at, s->p, v, &s->state[k]));
            s->is_new = true;
        }
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
        o->rule->update(o->ctx, at, &g->o, s, grad);
    }
    return NULL;
}

static lz_err *step(lz_optim *o, lz_loc at)
{
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
    return lz_told(o->ctx, at, e) && !lz_failed(o->ctx);
}

void lz_optim_zero_grad(lz_optim *o)
{
    for (lz_optim_group_data *g = o ? o->groups : NULL; g; g = g->next)
        for (size_t i = 0; i < g->n; i++)
            lz_set_grad(g->params[i].p, NULL);
}
