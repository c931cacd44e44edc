/* Saving and loading states of optimisers and training runs. */
#include "base/map.h"
#include "base/number.h"
#include "base/text.h"
#include "base/vec.h"
#include "nn/module.h"
#include "nn/nn_state.h"
#include "nn/optim_lbfgs.h"

/* ---- saving ---- */

static lz_err *put_number(lz_state *s, const char *prefix, const char *name, const char *end, lz_ctx *c,
                          double v)
{
    const lz_loc at = { 0 };
    return lz_state_put(s, prefix, name, end, lz_from_memory(c, LZ_F64, ((lz_ints){ NULL, 0 }), &v));
}

static lz_err *save_param(lz_optim *o, const lz_optim_param *p, const char *prefix, lz_text *end,
                          lz_state *out)
{
    const lz_loc at = { 0 };
    if (p->steps == 0)
        return NULL;
    LZ_TRY(lz_state_put(out, prefix, p->name, ".step",
                        lz_from_memory(o->ctx, LZ_I64, ((lz_ints){ NULL, 0 }), &p->steps)));
    for (int k = 0; k < LZ_OPTIM_STATE_NUMBERS && o->rule->numbers[k]; k++) {
        lz_text_clear(end);
        lz_text_printf(end, ".%s", o->rule->numbers[k]);
        lz_text_putc(end, 0);
        LZ_TRY(lz_text_check(end));
        LZ_TRY(lz_state_put(out, prefix, p->name, end->ptr,
                            lz_from_memory(o->ctx, LZ_F64, ((lz_ints){ NULL, 0 }), &p->number[k])));
    }
    for (int k = 0; k < LZ_OPTIM_STATES; k++)
        if (p->state[k]) {
            lz_text_clear(end);
            lz_text_printf(end, ".%s", o->rule->states[k]);
            lz_text_putc(end, 0);
            LZ_TRY(lz_text_check(end));
            LZ_TRY(lz_state_put(out, prefix, p->name, end->ptr, p->state[k]));
        }
    return NULL;
}

/* "group.0.lr" */
static lz_err *save_options(lz_optim *o, const lz_optim_options *options, size_t group, const char *prefix,
                            lz_text *name, lz_state *out)
{
    for (int i = 0; i < LZ_OPTIONS; i++)
        if (o->rule->options >> i & 1) {
            lz_text_clear(name);
            lz_text_printf(name, "group.%zu.", group);
            lz_text_putc(name, 0);
            LZ_TRY(lz_text_check(name));
            LZ_TRY(put_number(out, prefix, name->ptr, lz_option_name(i), o->ctx, lz_option_get(options, i)));
        }
    return NULL;
}

static lz_err *save(lz_optim *o, const char *prefix, lz_text *name, lz_state *out)
{
    size_t n = 0;
    for (lz_optim_group_data *g = o->groups; g; g = g->next) {
        LZ_TRY(save_options(o, &g->o, n++, prefix, name, out));
        for (size_t i = 0; i < g->n; i++)
            LZ_TRY(save_param(o, &g->params[i], prefix, name, out));
    }
    return o->lbfgs ? lz_lbfgs_save(o, prefix, name, out) : NULL;
}

bool lz_optim_state(lz_optim *o, const char *prefix, lz_state *out)
{
    const lz_loc at = { 0 };
    lz_text name = { 0 };
    if (!o || !out)
        return false;
    lz_scope *s = lz_scope_push(o->ctx);
    lz_err *e = save(o, prefix, &name, out);
    lz_scope_pop(s);
    lz_text_deinit(&name);
    return lz_nn_report(o->ctx, (lz_loc){ 0 }, e);
}

/* ---- loading ---- */

/* A name of the file, and what it belongs to. */
typedef struct place {
    lz_optim_group_data *group;
    lz_optim_param *param; /* NULL: an option of the group */
    int which; /* number of the state or option; -1: the number of steps; below: -2 - number of a number */
} place;

static bool find_option(lz_optim *o, lz_str name, place *out)
{
    bool more = true;
    int64_t n;
    lz_str number = lz_str_cut(&name, LZ_STR("."), &more);
    if (!more || !lz_int64_parse(number, &n))
        return false;
    out->group = o->groups;
    while (out->group && n-- > 0)
        out->group = out->group->next;
    out->param = NULL;
    for (int i = 0; out->group && i < LZ_OPTIONS; i++)
        if (o->rule->options >> i & 1 && lz_str_is(name, lz_option_name(i))) {
            out->which = i;
            return true;
        }
    return false;
}

static bool find_part(const lz_optim *o, lz_str end, int *out)
{
    *out = -1;
    if (lz_str_is(end, "step"))
        return true;
    for (int k = 0; k < LZ_OPTIM_STATE_NUMBERS; k++)
        if (o->rule->numbers[k] && lz_str_is(end, o->rule->numbers[k])) {
            *out = -2 - k;
            return true;
        }
    for (int k = 0; k < LZ_OPTIM_STATES; k++)
        if (o->rule->states[k] && lz_str_is(end, o->rule->states[k])) {
            *out = k;
            return true;
        }
    return false;
}

static bool find_place(lz_optim *o, lz_str name, place *out)
{
    static const char groups[] = "group.";
    size_t dot = lz_str_rfind(name, LZ_STR("."));
    if (dot == SIZE_MAX)
        return false;
    lz_str param = lz_str_sub(name, 0, dot), end = lz_str_sub(name, dot + 1, name.len);
    for (lz_optim_group_data *g = o->groups; g; g = g->next)
        for (size_t i = 0; i < g->n; i++)
            if (lz_str_is(param, g->params[i].name) && find_part(o, end, &out->which)) {
                out->group = g;
                out->param = &g->params[i];
                return true;
            }
    return lz_str_starts(name, lz_str_of(groups))
           && find_option(o, lz_str_sub(name, sizeof groups - 1, name.len), out);
}

static const double MOST_STEPS = 9007199254740992; /* all integers up to this one are doubles */

static lz_err *read_number(const char *name, lz_tensor *t, double *out)
{
    const lz_loc at = { 0 };
    if (lz_tensor_numel(t) != 1)
        return lz_err_because(LZ_REASON_SHAPE, "size mismatch: '%s' must be one number", name);
    lz_scalar v = lz_item(t);
    *out = v.kind == LZ_SCALAR_FLOAT ? v.re : (double)v.i;
    return v.kind == LZ_SCALAR_NONE ? lz_errf(LZ_ERR_ARG, "'%s' cannot be read", name) : NULL;
}

/* The changes of a load, collected after everything was found to fit. */
typedef struct loading {
    LZ_VEC(lz_tensor *) to;
    LZ_VEC(lz_tensor *) from;
    bool for_good; /* false: only checks */
} loading;

static lz_err *load_state(lz_optim *o, const place *p, const char *name, lz_tensor *t, loading *l)
{
    int64_t room[LZ_OPTIM_DIMS];
    lz_tensor **state = &p->param->state[p->which], *made = NULL;
    lz_ints sizes = lz_optim_state_sizes(o->rule, p->param->p, p->which, room);
    if (!*state)
        LZ_TRY(lz_optim_held(o->ctx, (lz_loc){ 0 }, p->param->p, sizes, 0, &made));
    lz_err *e = lz_check_sizes(name, *state ? *state : made, t);
    if (!e && l->for_good && made) {
        *state = made;
        made = NULL;
    }
    lz_release(made);
    if (e || !l->for_good)
        return e;
    LZ_TRY(lz_vec_push(&l->to, *state));
    return lz_vec_push(&l->from, t);
}

/* A vector over all parameters, or a number; neither is there before. */
static lz_err *load_lbfgs(lz_optim *o, lz_str rest, const char *name, lz_tensor *t, loading *l)
{
    bool found;
    double v = 0;
    lz_lbfgs_place p;
    int64_t width = lz_lbfgs_width(o);
    LZ_TRY(lz_lbfgs_find(o, rest, l->for_good, &found, &p));
    if (!found)
        return lz_errf(LZ_ERR_NOT_FOUND, "the state does not fit %s: unexpected '%s'", o->rule->name, name);
    if (!p.is_tensor) {
        LZ_TRY(read_number(name, t, &v));
        if (p.number)
            *p.number = v;
        return NULL;
    }
    if (lz_tensor_ndim(t) != 1 || lz_tensor_numel(t) != width)
        return lz_err_because(LZ_REASON_SHAPE, "size mismatch: '%s' must have %lld elements", name,
                              (long long)width);
    if (!p.tensor)
        return NULL;
    lz_release(*p.tensor);
    *p.tensor = NULL;
    LZ_TRY(lz_optim_held(o->ctx, (lz_loc){ 0 }, t, LZ_INTS(width), 0, p.tensor));
    LZ_TRY(lz_vec_push(&l->to, *p.tensor));
    return lz_vec_push(&l->from, t);
}

static lz_err *load_one(lz_optim *o, const char *name, lz_tensor *t, loading *l)
{
    static const char lbfgs[] = "lbfgs.";
    place p;
    double v = 0;
    if (o->lbfgs && !strncmp(name, lbfgs, sizeof lbfgs - 1))
        return load_lbfgs(o, lz_str_of(name + sizeof lbfgs - 1), name, t, l);
    if (!find_place(o, lz_str_of(name), &p))
        return lz_errf(LZ_ERR_NOT_FOUND, "the state does not fit %s: unexpected '%s'", o->rule->name, name);
    if (p.param && p.which >= 0)
        return load_state(o, &p, name, t, l);
    LZ_TRY(read_number(name, t, &v));
    if (p.param && p.which < -1) {
        if (l->for_good)
            p.param->number[-2 - p.which] = v;
        return NULL;
    }
    if (p.param && !(v >= 0 && v < MOST_STEPS))
        return lz_errf(LZ_ERR_ARG, "'%s' is not a valid number of steps", name);
    if (l->for_good && p.param)
        p.param->steps = (int64_t)v;
    else if (l->for_good)
        lz_option_set(&p.group->o, p.which, v);
    return NULL;
}

/* Checks that the state has a learning rate for each group. */
static lz_err *find_groups(const lz_optim *o, const char *prefix, lz_named_tensors from)
{
    lz_err *e = NULL;
    lz_text name = { 0 };
    for (size_t i = 0; i < o->ngroups && !e; i++) {
        lz_text_clear(&name);
        lz_text_printf(&name, "%sgroup.%zu.lr", prefix, i);
        lz_text_putc(&name, 0);
        e = lz_text_check(&name);
        if (!e && !lz_find_tensor(from, name.ptr))
            e = lz_errf(LZ_ERR_NOT_FOUND, "the state does not fit %s: missing '%s'", o->rule->name, name.ptr);
    }
    lz_text_deinit(&name);
    return e;
}

static lz_err *load_all(lz_optim *o, const char *prefix, lz_named_tensors from, loading *l)
{
    size_t skip = strlen(prefix);
    for (size_t i = 0; i < from.n; i++)
        if (!strncmp(from.v[i].name, prefix, skip))
            LZ_TRY(load_one(o, from.v[i].name + skip, from.v[i].tensor, l));
    return NULL;
}

static lz_err *check(lz_optim *o, const char *prefix, lz_named_tensors from)
{
    LZ_TRY(find_groups(o, prefix, from));
    if (o->lbfgs)
        LZ_TRY(lz_lbfgs_check(o, prefix, from));
    return load_all(o, prefix, from, &(loading){ .for_good = false });
}

static lz_err *load(lz_optim *o, const char *prefix, lz_named_tensors from, loading *l)
{
    LZ_TRY(check(o, prefix, from));
    if (o->lbfgs)
        lz_lbfgs_clear(o->lbfgs);
    LZ_TRY(load_all(o, prefix, from, l));
    return lz_copy_all(o->ctx, l->to.data, l->from.data, l->to.len);
}

bool lz_optim_load_state(lz_optim *o, const char *prefix, lz_named_tensors from)
{
    loading l = { .for_good = true };
    if (!o)
        return false;
    lz_err *e = load(o, prefix, from, &l);
    lz_vec_deinit(&l.to);
    lz_vec_deinit(&l.from);
    return lz_nn_report(o->ctx, (lz_loc){ 0 }, e);
}

/* ---- training runs ---- */

#define MODEL "model."
#define OPTIM "optim."

lz_state *lz_run_state(lz_module *m, lz_optim *o)
{
    lz_state *s = m ? lz_state_create(m->ctx) : NULL;
    if (s && lz_module_state(m, MODEL, s) && (!o || lz_optim_state(o, OPTIM, s)))
        return s;
    lz_state_free(s);
    return NULL;
}

bool lz_run_load_state(lz_module *m, lz_optim *o, lz_named_tensors from)
{
    return (!o || lz_nn_report(o->ctx, (lz_loc){ 0 }, check(o, OPTIM, from)))
           && lz_module_load_state(m, MODEL, from, false) && (!o || lz_optim_load_state(o, OPTIM, from));
}

static bool add_random(lz_ctx *c, lz_state *s)
{
    const lz_loc at = { 0 };
    lz_random_state r = lz_get_random_state(c);
    int64_t v[2] = { (int64_t)r.seed, (int64_t)r.position };
    lz_scope *scope = lz_scope_push(c);
    bool ok = lz_state_add(s, "random", lz_from_memory(c, LZ_I64, LZ_INTS(2), v));
    lz_scope_pop(scope);
    return ok;
}

lz_state *lz_training_state(lz_module *m, lz_optim *o)
{
    lz_state *s = lz_run_state(m, o);
    if (s && add_random(m->ctx, s))
        return s;
    lz_state_free(s);
    return NULL;
}

bool lz_training_load_state(lz_module *m, lz_optim *o, lz_named_tensors from)
{
    const lz_loc at = { 0 };
    int64_t v[2];
    lz_tensor *random = lz_find_tensor(from, "random");
    if (!m)
        return false;
    if (!random || lz_tensor_dtype(random) != LZ_I64 || lz_tensor_numel(random) != 2)
        return lz_nn_report(m->ctx, (lz_loc){ 0 }, lz_errf(LZ_ERR_NOT_FOUND, "the state has no 'random'"));
    if (!lz_read(random, v, sizeof v) || !lz_run_load_state(m, o, from))
        return false;
    lz_set_random_state(m->ctx, (lz_random_state){ (uint64_t)v[0], (uint64_t)v[1] });
    return true;
}
