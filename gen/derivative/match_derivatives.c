/* Finds the derivative formula that serves each operator. */
#include "base/mem.h"
#include "gen/api/cpp.h"
#include "gen/derivative/foreach_derivatives.h"
#include "gen/derivative/forward_formulas.h"
#include "gen/derivative/load_derivatives.h"
#include <stdlib.h>

typedef struct matcher {
    lzg_derivatives *table;
    lz_arena *arena;
    lzg_diag *diag;
    lz_map functional, other; /* signature without defaults -> lzg_signed_infos * */
    lz_map bases;             /* base names that occur in either */
    lzg_wanted_fn *wanted;    /* NULL: all operators */
    const void *user;
} matcher;

/* ---- order ---- */

typedef struct named {
    lz_str name; /* C++ */
    const lzg_function *f;
    size_t index;
} named;

static int by_name(const void *a, const void *b)
{
    const named *x = a, *y = b;
    int c = lz_str_cmp(x->name, y->name);
    return c ? c : (x->index > y->index) - (x->index < y->index);
}

static lz_err *sort_functions(const matcher *m, named *out, size_t *n)
{
    const lzg_ops *ops = m->table->ops;
    *n = 0;
    for (size_t i = 0; i < ops->nfunctions; i++) {
        bool wanted = true;
        if (m->wanted)
            LZ_TRY(m->wanted(m->user, ops->functions[i], &wanted));
        if (!wanted)
            continue;
        named *to = &out[(*n)++];
        *to = (named){ .f = ops->functions[i], .index = i };
        LZ_TRY(lzg_cpp_name(m->arena, to->f->func, (lzg_cpp_form){ 0 }, &to->name));
    }
    if (*n)
        qsort(out, *n, sizeof *out, by_name);
    return NULL;
}

/* ---- finding what serves an operator ---- */

static const lzg_signature_options without_defaults = { .strip_default = true };

static lz_err *index_infos(matcher *m)
{
    const lz_map *infos = &m->table->infos;
    for (const lz_map_entry *e = lz_map_next(infos, NULL); e; e = lz_map_next(infos, e)) {
        const lzg_diff_infos *i = e->value;
        lzg_signed_infos *s;
        LZ_TRY(lz_arena_new(m->arena, &s, 1));
        s->infos = i;
        LZ_TRY(lzg_schema_signature(m->arena, i->func->func, without_defaults, &s->signature));
        lz_map *to = i->func->func->kind == LZG_FUNCTIONAL ? &m->functional : &m->other;
        LZ_TRY(lz_map_put(to, s->signature->text, s));
        LZ_TRY(lz_map_put(&m->bases, i->func->func->name.base, s));
    }
    return NULL;
}

/* A formula for the written self would see the value after the call in a functional form. */
static lz_err *refuse_saved_self(const lzg_function *f, const lzg_diff_infos *infos)
{
    for (size_t i = 0; i < infos->len; i++)
        for (size_t k = 0; k < infos->data[i].saved_inputs.len; k++)
            if (lz_str_find(infos->data[i].saved_inputs.data[k].name, LZ_STR("self")) != SIZE_MAX)
                return lz_err_at(LZ_ERR_MODEL, infos->data[i].written->loc,
                                 "the derivative of %.*s cannot serve the generated %.*s: it saves self",
                                 LZ_FMT(infos->func->func->name.text), LZ_FMT(f->func->name.text));
    return NULL;
}

static lz_err *by_signature(matcher *m, const lzg_function *f, const lzg_diff_infos **out)
{
    const lzg_schema *signature;
    if (!lz_map_find(&m->bases, f->func->name.base))
        return NULL;
    LZ_TRY(lzg_schema_signature(m->arena, f->func, without_defaults, &signature));
    const lzg_signed_infos *s = lzg_is_foreach(f) ? NULL : lz_map_get(&m->functional, signature->text);
    if (!s && lzg_function_has_tag(f, "generated")) {
        s = lz_map_get(&m->other, signature->text);
        if (s)
            LZ_TRY(refuse_saved_self(f, s->infos));
    }
    *out = s ? s->infos : NULL;
    return NULL;
}

static lz_err *by_reference(matcher *m, const lzg_function *f, const lzg_diff_infos **out, bool *exact)
{
    LZ_TRY(lzg_foreach_derive(m->arena, f, &m->functional, &m->other, out, exact));
    return *exact ? lz_map_put(&m->table->infos, f->func->text, (void *)*out) : NULL;
}

/* An operator with a formula is differentiated through it; the reference of any other foreach operator says
 * how it is. */
static bool has_reference(const lzg_function *f)
{
    return lzg_is_foreach(f) && !f->formula && !f->form_of;
}

static lz_err *find(matcher *m, const lzg_function *f, const lzg_diff_infos **out, bool *exact)
{
    *exact = false;
    *out = NULL;
    if (f->func->kind == LZG_OUT_KIND && lzg_function_has_tag(f, "generated"))
        return NULL;
    const lz_map_entry *own = lz_map_find(&m->table->infos, f->func->text);
    if (own) {
        *exact = true;
        *out = own->value;
        return NULL;
    }
    LZ_TRY(by_signature(m, f, out));
    return *out || !has_reference(f) ? NULL : by_reference(m, f, out, exact);
}

/* ---- what it comes to ---- */

static lz_err *refuse_strides_of_self(const lzg_function *f, const lzg_derivative *d)
{
    if (!lzg_names_have(d->vars, LZ_STR("self")))
        return NULL;
    for (size_t i = 0; i < d->saved_inputs.len; i++)
        if (lz_str_find(d->saved_inputs.data[i].expr, LZ_STR("strides_or_error")) != SIZE_MAX)
            return lz_err_at(LZ_ERR_MODEL, lzg_formula_at(d->written, LZ_STR("sym_strides")),
                             "the formula asks for the strides of self, which the in-place %.*s overwrites",
                             LZ_FMT(f->func->name.text));
    return NULL;
}

static lz_err *check_in_place(const lzg_function *f, const lzg_diff_infos *infos)
{
    for (size_t i = 0; i < infos->len; i++)
        for (size_t k = 0; k < infos->data[i].nderivatives; k++)
            LZ_TRY(refuse_strides_of_self(f, &infos->data[i].derivatives[k]));
    return NULL;
}

static lz_err *match(matcher *m, const lzg_function *f, lzg_differentiable *out)
{
    const lzg_diff_infos *infos;
    lzg_forwards *forward;
    bool exact, in_place = f->func->kind == LZG_INPLACE;
    out->func = f;
    LZ_TRY(find(m, f, &infos, &exact));
    if (!infos || !infos->len)
        return NULL;
    if (in_place)
        LZ_TRY(check_in_place(f, infos));
    LZ_TRY(lz_arena_new(m->arena, &forward, infos->len));
    for (size_t i = 0; i < infos->len; i++) {
        forward[i] = infos->data[i].forward;
        if (in_place && forward[i].len)
            LZ_TRY(lzg_forward_in_place(m->arena, f, &infos->data[i], exact, &forward[i]));
    }
    out->infos = infos;
    out->forward = forward;
    return NULL;
}

static lz_err *match_all(matcher *m, named *sorted)
{
    size_t n;
    lzg_differentiable *functions;
    LZ_TRY(lz_arena_new(m->arena, &functions, m->table->ops->nfunctions));
    LZ_TRY(sort_functions(m, sorted, &n));
    LZ_TRY(index_infos(m));
    for (size_t i = 0; i < n; i++) {
        const lzg_function *f = sorted[i].f;
        LZ_TRY(lzg_diag_take(m->diag, match(m, f, &functions[i]), f->func_loc, f->func->text));
    }
    m->table->functions = functions;
    m->table->nfunctions = n;
    return NULL;
}

lz_err *lzg_derivatives_match(lzg_derivatives *t, lzg_diag *d)
{
    return lzg_derivatives_match_wanted(t, NULL, NULL, d);
}

lz_err *lzg_derivatives_match_wanted(lzg_derivatives *t, lzg_wanted_fn *wanted, const void *user, lzg_diag *d)
{
    matcher m = { .table = t, .arena = &t->arena, .diag = d, .wanted = wanted, .user = user };
    named *sorted = lz_mem_zalloc(t->ops->nfunctions + 1, sizeof *sorted);
    lz_err *e = sorted ? match_all(&m, sorted) : lz_err_oom();
    lz_map_deinit(&m.functional);
    lz_map_deinit(&m.other);
    lz_map_deinit(&m.bases);
    lz_mem_free(sorted);
    return e;
}
