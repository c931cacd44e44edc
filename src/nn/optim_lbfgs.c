/* LBFGS: directions from a history of gradients, with a line search or steps of fixed size. */
#include "nn/optim_lbfgs.h"
#include "base/number.h"
#include "nn/module.h"
#include <assert.h>
#include <math.h>

/* A step in progress. */
typedef struct descent {
    lz_optim *o;
    lz_ctx *c;
    lz_loc at;
    lz_closure *closure;
    void *user;
    lz_lbfgs *s;
    const lz_optim_options *options;
    lz_optim_group_data *g;
    int64_t evals, most_evals;
} descent;

/* A place on the line that a step follows. */
typedef struct place {
    double t, f, slope;
    lz_tensor *grad; /* one count */
} place;

/* ---- vectors over all parameters ---- */

static void set(lz_tensor **slot, lz_tensor *t)
{
    lz_retain(t);
    lz_release(*slot);
    *slot = t;
}

static double dot(const descent *r, lz_tensor *a, lz_tensor *b)
{
    const lz_loc at = r->at;
    return lz_item(lz_dot(r->c, a, b)).re;
}

static double largest(const descent *r, lz_tensor *a)
{
    const lz_loc at = r->at;
    return lz_item(lz_max(r->c, lz_abs(r->c, a))).re;
}

int64_t lz_lbfgs_width(const lz_optim *o)
{
    int64_t n = 0;
    for (size_t i = 0; o->groups && i < o->groups->n; i++)
        n += lz_tensor_numel(o->groups->params[i].p);
    return n;
}

static lz_err *gather_gradient(const descent *r, lz_tensor **out)
{
    const lz_loc at = r->at;
    lz_tensor **parts;
    lz_arena scratch;
    lz_arena_init(&scratch);
    lz_err *e = lz_arena_new(&scratch, &parts, r->g->n);
    for (size_t i = 0; !e && i < r->g->n; i++) {
        lz_tensor *p = r->g->params[i].p, *grad = lz_grad_of(p);
        parts[i] = lz_reshape(r->c, grad ? grad : lz_zeros_like(r->c, p), LZ_INTS(-1));
    }
    if (!e) {
        lz_tensor *flat = lz_cat(r->c, ((lz_tensors){ parts, (int64_t)r->g->n }));
        set(out, r->options->maximize ? lz_neg(r->c, flat) : flat);
    }
    lz_arena_deinit(&scratch);
    return e;
}

/* parameters += t * d */
static void move(const descent *r, double t, lz_tensor *d)
{
    const lz_loc at = r->at;
    int64_t from = 0;
    for (size_t i = 0; i < r->g->n; i++) {
        lz_tensor *p = r->g->params[i].p;
        int64_t n = lz_tensor_numel(p);
        lz_tensor *part = lz_view(r->c, lz_narrow(r->c, d, 0, from, n), lz_tensor_sizes(p));
        lz_add__Tensor(r->c, p, part, .alpha = LZ_S(t));
        from += n;
    }
}

/* Computes loss and gradient at the present parameters. The gradients of the parameters are removed. */
static lz_err *evaluate(descent *r, double *loss, lz_tensor **grad)
{
    const lz_loc at = r->at;
    lz_err *e = NULL;
    lz_optim_zero_grad(r->o);
    lz_scope *s = lz_scope_push(r->c);
    lz_tensor *f = r->closure(r->c, r->user);
    LZ_NO_GRAD(r->c)
    {
        e = gather_gradient(r, grad);
    }
    *loss = f ? lz_item(f).re * (r->options->maximize ? -1 : 1) : NAN;
    lz_scope_pop(s);
    lz_optim_zero_grad(r->o);
    if (!e && (!f || lz_failed(r->c)))
        e = lz_errf(LZ_ERR_ARG, "LBFGS: the closure gave no loss");
    return e;
}

/* ---- the line search ---- */

/* The least value between two bounds of the cubic with these values and slopes. */
static double cubic(const place *a, const place *b, double low, double high)
{
    double d1 = a->slope + b->slope - 3 * (a->f - b->f) / (a->t - b->t),
           square = d1 * d1 - a->slope * b->slope;
    if (!(square >= 0))
        return (low + high) / 2;
    const place *near = a->t <= b->t ? a : b, *far = a->t <= b->t ? b : a;
    double d2 = sqrt(square);
    double at = far->t - (far->t - near->t) * ((far->slope + d2 - d1) / (far->slope - near->slope + 2 * d2));
    return fmin(fmax(at, low), high);
}

static void drop(place *p)
{
    lz_release(p->grad);
    *p = (place){ 0 };
}

static void copy(place *to, const place *from)
{
    lz_retain(from->grad);
    drop(to);
    *to = *from;
}

typedef struct line {
    descent *r;
    lz_tensor **origin; /* copies of the parameters */
    lz_tensor *d;
    place start;
    double longest; /* largest element of d */
    int64_t most, looked;
    place end[2]; /* a bracket */
    int low;      /* the end with the smaller value */
    bool done;    /* this end satisfies both conditions */
} line;

static lz_err *look(line *l, double t, place *out)
{
    descent *r = l->r;
    const lz_loc at = r->at;
    lz_err *e = NULL;
    place p = { .t = t };
    LZ_NO_GRAD(r->c)
    {
        move(r, t, l->d);
    }
    e = evaluate(r, &p.f, &p.grad);
    lz_scope *s = lz_scope_push(r->c);
    LZ_NO_GRAD(r->c)
    {
        p.slope = e ? NAN : dot(r, p.grad, l->d);
        for (size_t i = 0; i < r->g->n; i++)
            lz_copy_(r->c, r->g->params[i].p, l->origin[i]);
    }
    lz_scope_pop(s);
    copy(out, &p);
    drop(&p);
    r->evals++;
    return e;
}

static const double C1 = 1e-4, C2 = 0.9, LEAST_CHANGE = 1e-9;

static bool is_too_high(const line *l, const place *p)
{
    return p->f > l->start.f + C1 * p->t * l->start.slope;
}

static bool is_flat(const line *l, const place *p)
{
    return fabs(p->slope) <= -C2 * l->start.slope;
}

static void order_bracket(line *l)
{
    l->low = l->end[0].f <= l->end[1].f ? 0 : 1;
}

static void set_bracket(line *l, const place *a, const place *b)
{
    copy(&l->end[0], a);
    copy(&l->end[1], b);
    order_bracket(l);
}

/* Walks on until the conditions are met, or a bracket is around a place that meets them. */
static lz_err *find_bracket(line *l, place *before, place *now)
{
    for (; l->looked < l->most; l->looked++) {
        l->done = is_flat(l, now);
        if (is_too_high(l, now) || (l->looked > 1 && now->f >= before->f) || (!l->done && now->slope >= 0)) {
            l->done = false;
            set_bracket(l, before, now);
            return NULL;
        }
        if (l->done) {
            set_bracket(l, now, now);
            return NULL;
        }
        double t = cubic(before, now, now->t + 0.01 * (now->t - before->t), now->t * 10);
        copy(before, now);
        LZ_TRY(look(l, t, now));
    }
    set_bracket(l, &l->start, now);
    return NULL;
}

/* A trial between the ends of the bracket, not too close to an end twice in a row. */
static double choose(const line *l, bool *was_close)
{
    const place *a = &l->end[0], *b = &l->end[1];
    double least = fmin(a->t, b->t), most = fmax(a->t, b->t), margin = 0.1 * (most - least);
    double t = cubic(a, b, least, most);
    bool close = fmin(most - t, t - least) < margin, moved = close && (*was_close || t >= most || t <= least);
    *was_close = close && !moved;
    if (!moved)
        return t;
    return fabs(t - most) < fabs(t - least) ? most - margin : least + margin;
}

static lz_err *shrink_bracket(line *l, place *trial)
{
    bool was_close = false;
    for (; !l->done && l->looked < l->most; l->looked++) {
        place *low = &l->end[l->low], *high = &l->end[1 - l->low];
        if (fabs(high->t - low->t) * l->longest < LEAST_CHANGE)
            return NULL;
        LZ_TRY(look(l, choose(l, &was_close), trial));
        if (is_too_high(l, trial) || trial->f >= low->f) {
            copy(high, trial);
            order_bracket(l);
            continue;
        }
        l->done = is_flat(l, trial);
        if (!l->done && trial->slope * (high->t - low->t) >= 0)
            copy(high, low);
        copy(low, trial);
    }
    return NULL;
}

/* From *p, the origin, to a place that satisfies the strong Wolfe conditions, or the best one seen. */
static lz_err *search(line *l, double t, place *p)
{
    place before = { 0 }, now = { 0 };
    copy(&before, p);
    copy(&l->start, p);
    lz_err *e = look(l, t, &now);
    if (!e)
        e = find_bracket(l, &before, &now);
    if (!e)
        e = shrink_bracket(l, &now);
    if (!e)
        copy(p, &l->end[l->low]);
    drop(&l->start);
    drop(&before);
    drop(&now);
    drop(&l->end[0]);
    drop(&l->end[1]);
    return e;
}

static lz_err *search_line(descent *r, double t, lz_tensor *d, place *p)
{
    const lz_loc at = r->at;
    lz_arena scratch;
    line l = { .r = r, .d = d, .most = r->most_evals - r->evals };
    lz_arena_init(&scratch);
    lz_err *e = lz_arena_new(&scratch, &l.origin, r->g->n);
    if (!e)
        LZ_NO_GRAD(r->c)
        {
            l.longest = largest(r, d);
            for (size_t i = 0; i < r->g->n; i++)
                l.origin[i] = lz_clone(r->c, r->g->params[i].p);
        }
    if (!e)
        e = search(&l, t, p);
    lz_arena_deinit(&scratch);
    return e;
}

/* ---- directions ---- */

static void drop_pair(lz_lbfgs_pair *p)
{
    for (int i = 0; i < LZ_LBFGS_PAIR; i++)
        lz_release(p->v[i]);
}

/* Appends the last step to the history, if the function curves upwards along it. */
static lz_err *remember(descent *r, lz_tensor *grad)
{
    const lz_loc at = r->at;
    lz_lbfgs *s = r->s;
    size_t most = (size_t)r->options->history_size;
    lz_tensor *y = lz_sub_Tensor(r->c, grad, s->vector[LZ_LBFGS_GRADIENT]);
    lz_tensor *step = lz_mul_Scalar(r->c, s->vector[LZ_LBFGS_DIRECTION], s->number[LZ_LBFGS_T]);
    double product = dot(r, y, step);
    if (!(product > 1e-10))
        return NULL;
    s->number[LZ_LBFGS_SCALE] = product / dot(r, y, y);
    if (s->history.len > 0 && s->history.len >= most) {
        drop_pair(&s->history.data[0]);
        memmove(s->history.data, s->history.data + 1, --s->history.len * sizeof *s->history.data);
    }
    LZ_TRY(lz_vec_push(&s->history, (lz_lbfgs_pair){ .v = { y, step }, .ro = 1 / product }));
    lz_retain(y);
    lz_retain(step);
    return NULL;
}

/* The approximate inverse of the second derivatives, times the negative gradient: in two passes over the
 * history. Reading a product runs the sum before it, so each pass repeats one small graph. */
static lz_err *direction(const descent *r, lz_tensor *grad, lz_tensor **out)
{
    const lz_loc at = r->at;
    const lz_lbfgs *s = r->s;
    lz_arena scratch;
    double *share;
    lz_arena_init(&scratch);
    lz_err *e = lz_arena_new(&scratch, &share, s->history.len);
    lz_tensor *d = lz_neg(r->c, grad);
    for (size_t i = s->history.len; !e && i-- > 0;) {
        const lz_lbfgs_pair *p = &s->history.data[i];
        share[i] = dot(r, p->v[LZ_LBFGS_STEP], d) * p->ro;
        d = lz_add_Tensor(r->c, d, p->v[LZ_LBFGS_CHANGE], .alpha = LZ_S(-share[i]));
    }
    d = lz_mul_Scalar(r->c, d, s->number[LZ_LBFGS_SCALE]);
    for (size_t i = 0; !e && i < s->history.len; i++) {
        const lz_lbfgs_pair *p = &s->history.data[i];
        double back = dot(r, p->v[LZ_LBFGS_CHANGE], d) * p->ro;
        d = lz_add_Tensor(r->c, d, p->v[LZ_LBFGS_STEP], .alpha = LZ_S(share[i] - back));
    }
    if (!e)
        set(out, d);
    lz_arena_deinit(&scratch);
    return e;
}

static lz_err *next_direction(descent *r, lz_tensor *grad)
{
    lz_lbfgs *s = r->s;
    if (++s->number[LZ_LBFGS_ITERATIONS] == 1) {
        lz_lbfgs kept = *s;
        *s = (lz_lbfgs){ .number = { [LZ_LBFGS_ITERATIONS] = 1,
                                     [LZ_LBFGS_EVALS] = kept.number[LZ_LBFGS_EVALS],
                                     [LZ_LBFGS_SCALE] = 1 } };
        lz_lbfgs_clear(&kept);
    } else {
        LZ_TRY(remember(r, grad));
    }
    LZ_TRY(direction(r, grad, &s->vector[LZ_LBFGS_DIRECTION]));
    set(&s->vector[LZ_LBFGS_GRADIENT], grad);
    return NULL;
}

/* ---- iterations ---- */

/* The first guess of the length of a step. */
static double first_length(const descent *r, lz_tensor *grad)
{
    const lz_loc at = r->at;
    double lr = r->options->lr;
    if (r->s->number[LZ_LBFGS_ITERATIONS] > 1)
        return lr;
    return fmin(1, 1 / lz_item(lz_sum(r->c, lz_abs(r->c, grad))).re) * lr;
}

/* Moves to *p, from where it is. last: the loss afterwards is not wanted. */
static lz_err *go(descent *r, bool last, place *p)
{
    lz_err *e = NULL;
    double *t = &r->s->number[LZ_LBFGS_T];
    lz_tensor *d = r->s->vector[LZ_LBFGS_DIRECTION];
    int64_t before = r->evals;
    if (r->options->strong_wolfe) {
        LZ_TRY(search_line(r, *t, d, p));
        *t = p->t;
    }
    LZ_NO_GRAD(r->c)
    {
        move(r, *t, d);
    }
    if (!r->options->strong_wolfe && !last) {
        e = evaluate(r, &p->f, &p->grad);
        r->evals++;
    }
    r->s->number[LZ_LBFGS_EVALS] += (double)(r->evals - before);
    return e;
}

/* One iteration; *more: whether another one is wanted. */
static lz_err *iterate(descent *r, bool last, place *p, bool *more)
{
    lz_lbfgs *s = r->s;
    double before = p->f;
    lz_err *e = NULL;
    *more = false;
    LZ_NO_GRAD(r->c)
    {
        e = next_direction(r, p->grad);
        s->number[LZ_LBFGS_LOSS] = p->f;
        if (!e) {
            s->number[LZ_LBFGS_T] = first_length(r, p->grad);
            p->slope = dot(r, p->grad, s->vector[LZ_LBFGS_DIRECTION]);
        }
    }
    if (e || p->slope > -r->options->tolerance_change)
        return e;
    p->t = 0;
    LZ_TRY(go(r, last, p));
    if (last || r->evals >= r->most_evals)
        return NULL;
    LZ_NO_GRAD(r->c)
    {
        double longest = largest(r, s->vector[LZ_LBFGS_DIRECTION]) * fabs(s->number[LZ_LBFGS_T]);
        *more = largest(r, p->grad) > r->options->tolerance_grad && longest > r->options->tolerance_change
                && !(fabs(p->f - before) < r->options->tolerance_change) && !lz_failed(r->c);
    }
    return NULL;
}

static lz_err *run(descent *r, double *loss)
{
    const lz_loc at = r->at;
    place p = { 0 };
    bool more = true;
    int64_t most = (int64_t)r->options->max_iter;
    lz_err *e = evaluate(r, &p.f, &p.grad);
    *loss = r->options->maximize ? -p.f : p.f;
    r->evals = 1;
    r->s->number[LZ_LBFGS_EVALS]++;
    if (!e)
        LZ_NO_GRAD(r->c)
        {
            more = largest(r, p.grad) > r->options->tolerance_grad;
        }
    for (int64_t i = 1; !e && more && i <= most; i++) {
        lz_scope *s = lz_scope_push(r->c);
        e = iterate(r, i == most, &p, &more);
        lz_scope_pop(s);
    }
    drop(&p);
    return e;
}

lz_err *lz_lbfgs_step(lz_optim *o, lz_loc at, lz_closure *closure, void *user, double *loss)
{
    assert(o->lbfgs);
    lz_optim_group_data *g = o->groups;
    descent r = { .o = o, .c = o->ctx, .at = at, .closure = closure, .user = user, .s = o->lbfgs, .g = g };
    if (!g || g->next)
        return lz_errf(LZ_ERR_ARG, "LBFGS needs exactly one group of parameters, got %d", (int)o->ngroups);
    r.options = &g->o;
    r.most_evals = g->o.max_eval > 0 ? (int64_t)g->o.max_eval : (int64_t)g->o.max_iter * 5 / 4;
    if (g->n > 0)
        return run(&r, loss);
    lz_scope *s = lz_scope_push(o->ctx);
    lz_tensor *f = closure(o->ctx, user);
    *loss = f ? lz_item(f).re : NAN;
    lz_scope_pop(s);
    return NULL;
}

/* ---- state ---- */

void lz_lbfgs_clear(lz_lbfgs *s)
{
    for (int i = 0; i < LZ_LBFGS_VECTORS; i++)
        lz_release(s->vector[i]);
    for (size_t i = 0; i < s->history.len; i++)
        drop_pair(&s->history.data[i]);
    lz_vec_deinit(&s->history);
    *s = (lz_lbfgs){ 0 };
}

static const char *const numbers[] = { "n_iter", "func_evals", "t", "H_diag", "prev_loss" };
static const char *const vectors[] = { "d", "prev_flat_grad" };
static const char *const pairs[] = { "old_dirs", "old_stps", "ro" };

static lz_err *put_number(const lz_optim *o, const char *prefix, const char *name, double v, lz_state *out)
{
    const lz_loc at = { 0 };
    return lz_state_put(out, prefix, name, "", lz_from_memory(o->ctx, LZ_F64, ((lz_ints){ NULL, 0 }), &v));
}

static lz_err *name_part(lz_text *name, const char *part, int64_t i)
{
    lz_text_clear(name);
    lz_text_printf(name, "lbfgs.%s", part);
    if (i >= 0)
        lz_text_printf(name, ".%lld", (long long)i);
    lz_text_putc(name, 0);
    return lz_text_check(name);
}

lz_err *lz_lbfgs_save(const lz_optim *o, const char *prefix, lz_text *name, lz_state *out)
{
    const lz_lbfgs *s = o->lbfgs;
    for (int i = 0; i < LZ_LBFGS_NUMBERS && s->number[LZ_LBFGS_EVALS] > 0; i++) {
        LZ_TRY(name_part(name, numbers[i], -1));
        LZ_TRY(put_number(o, prefix, name->ptr, s->number[i], out));
    }
    for (int i = 0; i < LZ_LBFGS_VECTORS && s->vector[i]; i++) {
        LZ_TRY(name_part(name, vectors[i], -1));
        LZ_TRY(lz_state_put(out, prefix, name->ptr, "", s->vector[i]));
    }
    for (size_t i = 0; i < s->history.len; i++) {
        const lz_lbfgs_pair *p = &s->history.data[i];
        for (int k = 0; k < LZ_LBFGS_PAIR; k++) {
            LZ_TRY(name_part(name, pairs[k], (int64_t)i));
            LZ_TRY(lz_state_put(out, prefix, name->ptr, "", p->v[k]));
        }
        LZ_TRY(name_part(name, pairs[LZ_LBFGS_PAIR], (int64_t)i));
        LZ_TRY(put_number(o, prefix, name->ptr, p->ro, out));
    }
    return NULL;
}

/* ---- loading ---- */

static bool has(const char *prefix, const lz_text *name, lz_named_tensors from)
{
    size_t n = strlen(prefix);
    for (size_t i = 0; i < from.n; i++)
        if (!strncmp(from.v[i].name, prefix, n) && !strcmp(from.v[i].name + n, name->ptr))
            return true;
    return false;
}

static lz_err *count_parts(const char *prefix, lz_named_tensors from, const char *part, int64_t *out)
{
    lz_text name = { 0 };
    lz_err *e = NULL;
    for (*out = 0; !(e = name_part(&name, part, *out)) && has(prefix, &name, from); ++*out)
        ;
    lz_text_deinit(&name);
    return e;
}

lz_err *lz_lbfgs_check(const lz_optim *o, const char *prefix, lz_named_tensors from)
{
    lz_text name = { 0 };
    lz_err *e = NULL;
    int64_t count[LZ_LBFGS_PAIR + 1];
    int found = 0;
    for (int i = 0; !e && i < LZ_LBFGS_NUMBERS; i++) {
        e = name_part(&name, numbers[i], -1);
        found += !e && has(prefix, &name, from);
    }
    lz_text_deinit(&name);
    for (int k = 0; !e && k <= LZ_LBFGS_PAIR; k++)
        e = count_parts(prefix, from, pairs[k], &count[k]);
    if (!e && ((found != 0 && found != LZ_LBFGS_NUMBERS) || count[0] != count[1] || count[0] != count[2]))
        e = lz_errf(LZ_ERR_NOT_FOUND, "the state does not fit %s: parts of 'lbfgs' are missing",
                    o->rule->name);
    return e;
}

static int find_name(lz_str name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (lz_str_is(name, names[i]))
            return i;
    return -1;
}

/* The pair with this number, for which there is room. */
static lz_err *pair_at(lz_lbfgs *s, size_t i, lz_lbfgs_pair **out)
{
    while (s->history.len <= i)
        LZ_TRY(lz_vec_push(&s->history, (lz_lbfgs_pair){ 0 }));
    *out = &s->history.data[i];
    return NULL;
}

lz_err *lz_lbfgs_find(lz_optim *o, lz_str name, bool for_good, bool *found, lz_lbfgs_place *out)
{
    bool more = true;
    int64_t number = -1;
    lz_lbfgs *s = o->lbfgs;
    lz_lbfgs_pair *pair = NULL;
    lz_str part = lz_str_cut(&name, LZ_STR("."), &more);
    int i = find_name(part, numbers, LZ_LBFGS_NUMBERS), v = find_name(part, vectors, LZ_LBFGS_VECTORS);
    int k = find_name(part, pairs, LZ_LBFGS_PAIR + 1);
    bool counted = more && k >= 0 && lz_int64_parse(name, &number) && number >= 0 && number < 1 << 20;
    *found = counted || (!more && (i >= 0 || v >= 0));
    *out = (lz_lbfgs_place){ .is_tensor = v >= 0 || (k >= 0 && k < LZ_LBFGS_PAIR) };
    if (!*found || !for_good)
        return NULL;
    if (counted)
        LZ_TRY(pair_at(s, (size_t)number, &pair));
    if (out->is_tensor)
        out->tensor = pair ? &pair->v[k] : &s->vector[v];
    else
        out->number = pair ? &pair->ro : &s->number[i];
    return NULL;
}
