#include "gen/formula/formula_cycle.h"
#include "base/vec.h"
#include <assert.h>

/* A call: an operator calls another one at a place of its formula. */
typedef struct edge {
    size_t to;
    lz_loc loc;
} edge;

typedef LZ_VEC(edge) edges;

typedef struct visit {
    size_t node, next; /* of its edges */
} visit;

typedef enum mark { NEW, OPEN, DONE } mark;

typedef struct walk {
    lzg_definitions *d;
    lzg_diag *diag;
    edges all;     /* those of operator i are all.data[first[i] .. first[i + 1]) */
    size_t *first; /* d->n + 1 */
    mark *marks;
    LZ_VEC(visit) path;
} walk;

static size_t index_of(const lzg_definitions *d, const lzg_function *f)
{
    size_t i = (size_t)(lzg_definition_of(d, f) - d->list);
    assert(i < d->n && d->list[i].function == f); /* every operator has a definition */
    return i;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static lz_err *add_calls(walk *w, const lzg_term *t)
{
    if (t->kind == LZG_TERM_CALL)
        LZ_TRY(lz_vec_push(&w->all, (edge){ index_of(w->d, t->function), t->loc }));
    for (size_t i = 0; i < t->nkids; i++)
        if (t->kids[i])
            LZ_TRY(add_calls(w, t->kids[i]));
    return NULL;
}

static lz_err *collect(walk *w)
{
    for (size_t i = 0; i < w->d->n; i++) {
        const lzg_definition *def = &w->d->list[i];
        w->first[i] = w->all.len;
        if (def->kind == LZG_DEF_FORMULA)
            LZ_TRY(add_calls(w, def->checked.root));
        else if (def->kind == LZG_DEF_DERIVED)
            LZ_TRY(lz_vec_push(&w->all, (edge){ index_of(w->d, def->from), def->function->func_loc }));
    }
    w->first[w->d->n] = w->all.len;
    return NULL;
}

static lz_str name_of(const walk *w, size_t node)
{
    return w->d->list[node].function->func->name.text;
}

/* The path from `back` on returns to it. */
static lz_err *report(walk *w, size_t back, lz_loc loc)
{
    lz_text names = { 0 };
    size_t from = 0;
    while (w->path.data[from].node != back)
        from++;
    for (size_t i = from; i < w->path.len; i++)
        lz_text_printf(&names, "%.*s -> ", LZ_FMT(name_of(w, w->path.data[i].node)));
    lz_text_add(&names, name_of(w, back));
    lz_err *e = lz_text_check(&names);
    if (!e)
        e = lz_err_at(LZ_ERR_MODEL, loc, "the formula leads back to itself: %.*s",
                      LZ_FMT(lz_text_view(&names)));
    lz_text_deinit(&names);
    const lzg_function *caller = w->d->list[w->path.data[w->path.len - 1].node].function;
    return lzg_diag_take(w->diag, e, loc, caller->written);
}

static lz_err *enter(walk *w, size_t node)
{
    w->marks[node] = OPEN;
    return lz_vec_push(&w->path, (visit){ node, w->first[node] });
}

static lz_err *walk_from(walk *w, size_t start)
{
    LZ_TRY(enter(w, start));
    while (w->path.len > 0) {
        visit *v = &w->path.data[w->path.len - 1];
        if (v->next == w->first[v->node + 1]) {
            w->marks[v->node] = DONE;
            w->path.len--;
            continue;
        }
        edge e = w->all.data[v->next++];
        if (w->marks[e.to] == OPEN)
            LZ_TRY(report(w, e.to, e.loc));
        else if (w->marks[e.to] == NEW)
            LZ_TRY(enter(w, e.to));
    }
    return NULL;
}

static lz_err *walk_all(walk *w)
{
    LZ_TRY(lz_arena_new(&w->d->arena, &w->first, w->d->n + 1));
    LZ_TRY(lz_arena_new(&w->d->arena, &w->marks, w->d->n));
    LZ_TRY(collect(w));
    for (size_t i = 0; i < w->d->n; i++)
        if (w->marks[i] == NEW)
            LZ_TRY(walk_from(w, i));
    return NULL;
}

lz_err *lzg_formula_cycles(lzg_definitions *d, lzg_diag *diag)
{
    walk w = { .d = d, .diag = diag };
    lz_err *e = walk_all(&w);
    lz_vec_deinit(&w.all);
    lz_vec_deinit(&w.path);
    return e;
}
