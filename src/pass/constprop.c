/* Constant propagation: calls built-ins with constant arguments now, and turns lists of constants into
 * constants if PyTorch could read them. A call that fails stays in the graph and fails at run time. A list is
 * shared by all its holders, so it becomes a constant only if it is never written and all its uses only read
 * it. Requires: any graph. Keeps: effects. */
#include "base/vec.h"
#include "graph/effects.h"
#include "graph/script_value_type.h"
#include "pass/alias_sets.h"
#include "pass/pass.h"
#include <assert.h>
#include <math.h>

enum {
    MOST_ELEMENTS = 1024, /* of a list that becomes a constant */
    MOST_BYTES = 4096,    /* of a string */
    MOST_RESULTS = 4
};

typedef struct prop {
    lz_graph *g;
    lz_alias_sets alias;
    LZ_VEC(lz_script_value) in; /* borrowed from constants */
} prop;

/* ---- conditions ---- */

static bool is_small(lz_script_value v)
{
    switch (v.kind) {
    case LZ_SCRIPT_VALUE_STR:
        return v.str->len <= MOST_BYTES;
    case LZ_SCRIPT_VALUE_LIST:
    case LZ_SCRIPT_VALUE_TUPLE:
        return v.list->len <= MOST_ELEMENTS;
    case LZ_SCRIPT_VALUE_DICT:
        return lz_script_value_dict_count(v) <= MOST_ELEMENTS;
    default:
        return v.kind < LZ_SCRIPT_VALUE_BOXED || v.kind == LZ_SCRIPT_VALUE_DEVICE;
    }
}

/* Can PyTorch read this constant back unchanged? Its text form has no tuples, dicts, lists of bools or of
 * lists, and no nan, and it refuses subnormal floats. */
static bool is_literal_leaf(lz_script_value v)
{
    return v.kind != LZ_SCRIPT_VALUE_FLOAT || v.f == 0 || isnormal(v.f) || isinf(v.f);
}

static bool is_literal(lz_script_value v, const lz_type *type)
{
    bool ok = type->kind != LZ_GRAPH_TYPE_OPTIONAL && type->kind != LZ_GRAPH_TYPE_ANY && is_literal_leaf(v);
    if (v.kind != LZ_SCRIPT_VALUE_LIST)
        return ok
               && (v.kind < LZ_SCRIPT_VALUE_BOXED || v.kind == LZ_SCRIPT_VALUE_STR
                   || v.kind == LZ_SCRIPT_VALUE_DEVICE);
    for (size_t i = 0; ok && i < v.list->len; i++) {
        lz_script_value x = v.list->data[i];
        ok = (x.kind == LZ_SCRIPT_VALUE_INT || x.kind == LZ_SCRIPT_VALUE_FLOAT
              || x.kind == LZ_SCRIPT_VALUE_STR)
             && is_literal_leaf(x) && x.kind == v.list->data[0].kind;
    }
    return ok;
}

/* Collects the constant inputs; *out false if one is not a constant. Tensors are computed elsewhere. */
static lz_err *gather(prop *p, const lz_ssa_node *n, bool *out)
{
    *out = true;
    p->in.len = 0;
    for (uint32_t i = 0; *out && i < n->nin; i++) {
        lz_script_value v;
        *out = lz_ssa_const(lz_ssa_in(n, i), &v) && is_small(v);
        if (*out)
            LZ_TRY(lz_vec_push(&p->in, v));
    }
    return NULL;
}

/* A mutable result may become a constant only if no node writes it and all uses only read it. */
static bool may_be_constant(const prop *p, const lz_ssa_node *n)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < n->nout; i++) {
        const lz_ssa_value *v = n->out[i];
        ok = !lz_type_is_mutable(v->type) || (!lz_alias_sets_is_written(&p->alias, v) && lz_ssa_only_read(v));
        ok = ok && v->type->kind != LZ_GRAPH_TYPE_TENSOR;
    }
    return ok;
}

static bool is_foldable(const lz_ssa_node *n)
{
    const unsigned never = LZ_BUILTIN_WRITES | LZ_BUILTIN_EFFECT;
    if (n->builtin)
        return n->builtin->run && !(n->builtin->flags & never) && n->nout <= MOST_RESULTS;
    return lz_ssa_is(n, LZ_PRIM_LIST);
}

/* ---- evaluation ---- */

static lz_err *make_list(const prop *p, lz_script_value *out)
{
    LZ_TRY(lz_script_value_list_make(p->in.len, out));
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < p->in.len; i++)
        e = lz_script_value_push(*out, lz_script_value_retain(p->in.data[i]));
    if (e)
        lz_script_value_release(*out);
    return e;
}

static lz_err *compute(const prop *p, const lz_ssa_node *n, lz_script_value *out)
{
    return n->builtin ? n->builtin->run(p->in.data, p->in.len, out) : make_list(p, out);
}

/* Only errors that must surface are returned; after any other the node is left for run time. */
static lz_err *try_compute(const prop *p, const lz_ssa_node *n, lz_script_value *out, bool *done)
{
    lz_err *e = compute(p, n, out);
    *done = !e;
    if (!e || lz_err_must_surface(e))
        return e;
    lz_err_free(e);
    return NULL;
}

/* ---- insertion ---- */

/* Puts a constant before n for its output i; takes over v. */
static lz_err *put_constant(prop *p, lz_ssa_node *n, uint32_t i, lz_script_value v)
{
    lz_ssa_node *c;
    assert(lz_script_value_fits(v, n->out[i]->type));
    LZ_TRY(lz_ssa_constant_make(p->g, v, n->out[i]->type, n->loc, &c));
    c->line = n->line;
    c->col = n->col;
    c->out[0]->name = n->out[i]->name;
    c->out[0]->id = n->out[i]->id;
    c->out[0]->mark = n->out[i]->mark;
    lz_ssa_insert_before(c, n);
    lz_ssa_replace(n->out[i], c->out[0]);
    return NULL;
}

static lz_err *put_constants(prop *p, lz_ssa_node *n, const lz_script_value *v)
{
    bool ok = true;
    lz_err *e = NULL;
    for (uint32_t i = 0; ok && i < n->nout; i++)
        ok = is_small(v[i]) && is_literal(v[i], n->out[i]->type)
             && lz_script_value_fits(v[i], n->out[i]->type);
    for (uint32_t i = 0; i < n->nout; i++) {
        if (ok && !e)
            e = put_constant(p, n, i, v[i]);
        else
            lz_script_value_release(v[i]);
    }
    if (ok && !e)
        lz_ssa_erase(n);
    return e;
}

static lz_err *visit(prop *p, lz_ssa_node *n)
{
    lz_script_value v[MOST_RESULTS];
    bool ok;
    if (!n->next || !is_foldable(n) || !may_be_constant(p, n))
        return NULL;
    LZ_TRY(gather(p, n, &ok));
    if (ok)
        LZ_TRY(try_compute(p, n, v, &ok));
    return ok ? put_constants(p, n, v) : NULL;
}

lz_err *lz_pass_constprop(lz_graph *g)
{
    prop p = { .g = g };
    LZ_TRY(lz_alias_sets_init(&p.alias, g));
    lz_err *e = NULL;
    for (lz_ssa_node *n = lz_ssa_first(g->block), *next; !e && n; n = next) {
        next = lz_ssa_next(n);
        e = visit(&p, n);
    }
    lz_alias_sets_deinit(&p.alias);
    lz_vec_deinit(&p.in);
    return e;
}
