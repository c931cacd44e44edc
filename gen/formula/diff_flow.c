#include "gen/formula/diff_flow.h"

enum { PARTS = 16 };

/* The arguments that get gradients from a value, or from each part of a tuple. */
typedef struct flow {
    uint64_t of[PARTS];
} flow;

typedef struct walker {
    lzg_diffs *d;
    flow *slots;
} walker;

static lz_err *settle(lzg_diffs *d, lzg_diff *x);

static void unite(flow *to, const flow *from)
{
    for (size_t i = 0; i < PARTS; i++)
        to->of[i] |= from->of[i];
}

/* NOLINTBEGIN(misc-no-recursion): as deep as formulas are, which lead not back to themselves */

static lz_err *walk(walker *w, const lzg_term *t, flow *out);

static lz_err *walk_kids(walker *w, const lzg_term *t, size_t from, size_t to, flow *out)
{
    for (size_t i = from; i < to; i++) {
        flow kid = { 0 };
        if (t->kids[i])
            LZ_TRY(walk(w, t->kids[i], &kid));
        unite(out, &kid);
    }
    return NULL;
}

static lz_err *walk_call(walker *w, const lzg_term *t, flow *out)
{
    lzg_diff *callee = (lzg_diff *)lzg_diff_of(w->d, t->function);
    uint64_t all = 0;
    LZ_TRY(settle(w->d, callee));
    for (size_t i = 0; i < t->nkids; i++) {
        flow kid = { 0 };
        if (callee->args >> i & 1)
            LZ_TRY(walk(w, t->kids[i], &kid));
        all |= kid.of[0];
    }
    for (size_t i = 0; i < PARTS; i++)
        out->of[i] = callee->results >> i & 1 ? all : 0;
    return NULL;
}

static lz_err *walk_let(walker *w, const lzg_term *t, flow *out)
{
    flow value = { 0 };
    LZ_TRY(walk(w, t->kids[0], &value));
    for (size_t i = 0; i < t->nslots; i++)
        w->slots[t->slots[i]] = t->nslots == 1 ? value : (flow){ { value.of[i] } };
    return walk(w, t->kids[1], out);
}

static lz_err *walk_map(walker *w, const lzg_term *t, flow *out)
{
    LZ_TRY(walk(w, t->kids[1], &w->slots[t->slots[0]]));
    return walk(w, t->kids[0], out);
}

/* Repeats until nothing is added: at most as many iterations as there are names. */
static lz_err *walk_fold(walker *w, const lzg_term *t, flow *out)
{
    size_t n = t->nslots - 1;
    flow list = { 0 };
    LZ_TRY(walk(w, t->kids[n], &list));
    w->slots[t->slots[n]] = list;
    for (size_t i = 0; i < n; i++) {
        w->slots[t->slots[i]] = (flow){ 0 };
        LZ_TRY(walk(w, t->kids[i], &w->slots[t->slots[i]]));
    }
    for (size_t turn = 0; turn < n; turn++)
        for (size_t i = 0; i < n; i++) {
            flow next = { 0 };
            LZ_TRY(walk(w, t->kids[n + 1 + i], &next));
            unite(&w->slots[t->slots[i]], &next);
        }
    for (size_t i = 0; i < n; i++)
        out->of[i] = w->slots[t->slots[i]].of[0];
    return NULL;
}

/* Functions whose result depends on the elements of their arguments. */
static bool passes_on(lzg_prim p)
{
    return p == LZG_PRIM_CAST || p == LZG_PRIM_POLY || p == LZG_PRIM_INDEX || p == LZG_PRIM_SLICE;
}

static lz_err *walk_tuple(walker *w, const lzg_term *t, flow *out)
{
    for (size_t i = 0; i < t->nkids && i < PARTS; i++) {
        flow kid = { 0 };
        LZ_TRY(walk(w, t->kids[i], &kid));
        out->of[i] = kid.of[0];
    }
    return NULL;
}

static lz_err *walk_get(walker *w, const lzg_term *t, flow *out)
{
    flow tuple = { 0 };
    LZ_TRY(walk(w, t->kids[0], &tuple));
    out->of[0] = t->integer < PARTS ? tuple.of[t->integer] : 0;
    return NULL;
}

static lz_err *walk(walker *w, const lzg_term *t, flow *out)
{
    switch (t->kind) {
    case LZG_TERM_VAR:
        *out = w->slots[t->integer];
        return NULL;
    case LZG_TERM_CALL:
        return walk_call(w, t, out);
    case LZG_TERM_LET:
        return walk_let(w, t, out);
    case LZG_TERM_CHECK:
        return walk(w, t->kids[1], out);
    case LZG_TERM_COND:
        return walk_kids(w, t, 1, 3, out);
    case LZG_TERM_TUPLE:
        return walk_tuple(w, t, out);
    case LZG_TERM_GET:
        return walk_get(w, t, out);
    case LZG_TERM_MAP:
        return walk_map(w, t, out);
    case LZG_TERM_FOLD:
        return walk_fold(w, t, out);
    case LZG_TERM_PRIM:
        return passes_on(t->prim) ? walk(w, t->kids[0], out) : NULL;
    case LZG_TERM_OP:
    case LZG_TERM_LIST:
    case LZG_TERM_CONVERT:
        return walk_kids(w, t, 0, t->nkids, out);
    default:
        return NULL;
    }
}

/* ---- operators ---- */

static lz_err *walk_formula(lzg_diffs *d, const lzg_definition *def, lzg_diff *x)
{
    walker w = { .d = d };
    const lzg_schema *s = def->function->func;
    flow results = { 0 };
    LZ_TRY(lz_arena_new(&d->arena, &w.slots, def->checked.nslots + 1));
    for (size_t i = 0; i < def->checked.ngiven; i++)
        if (lzg_type_is_tensor_like(s->args[i].type))
            w.slots[i].of[0] = UINT64_C(1) << i;
    LZ_TRY(walk(&w, def->checked.root, &results));
    for (size_t i = 0; i < s->nreturns && i < PARTS; i++) {
        x->args |= results.of[i];
        x->results |= (uint64_t)(results.of[i] != 0) << i;
    }
    x->kind = x->results ? LZG_DIFF_PARTS : LZG_DIFF_NOT;
    return NULL;
}

static bool has_tensors(const lzg_schema *s)
{
    bool in = false, out = false;
    for (size_t i = 0; i < s->first[LZG_OUT]; i++)
        in = in || lzg_type_is_tensor_like(s->args[i].type);
    for (size_t i = 0; i < s->nreturns; i++)
        out = out || lzg_type_is_tensor_like(s->returns[i].type);
    return in && out;
}

/* An operator that takes its definition from another operator is differentiated like that operator. */
static lz_err *settle_derived(lzg_diffs *d, const lzg_definition *def, lzg_diff *x)
{
    lzg_diff *from = (lzg_diff *)lzg_diff_of(d, def->from);
    const lzg_function *f = x->function;
    LZ_TRY(settle(d, from));
    *x = *from;
    x->function = f;
    x->like = from->like;
    return NULL;
}

static lz_err *settle(lzg_diffs *d, lzg_diff *x)
{
    const lzg_definition *def = lzg_definition_of(d->definitions, x->function);
    if (x->like)
        return NULL;
    x->like = x;
    if (!has_tensors(x->function->func) || !def)
        return NULL;
    if (def->kind == LZG_DEF_DERIVED)
        return settle_derived(d, def, x);
    if (def->kind == LZG_DEF_FORMULA)
        return walk_formula(d, def, x);
    x->kind = LZG_DIFF_MISSING;
    return NULL;
}

/* NOLINTEND(misc-no-recursion) */

lz_err *lzg_diff_flow(lzg_diffs *d)
{
    for (size_t i = 0; i < d->n; i++)
        LZ_TRY(settle(d, &d->list[i]));
    return NULL;
}
