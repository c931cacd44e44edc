/* Constant propagation: built-ins whose arguments are constants are called now, and lists
 * of constants become constants, if PyTorch could read them. What fails stays and fails when it is run. A
 * list is shared by all who hold it, so it becomes a constant only if it is never written
 * and all its uses only look at it. Requires: any graph. Keeps: effects. */
#include "base/vec.h"
#include "graph/effects.h"
#include "graph/gvalue_type.h"
#include "pass/alias.h"
#include "pass/pass.h"
#include <math.h>

enum {
    MOST_ELEMENTS = 1024, /* of a list that becomes a constant */
    MOST_BYTES = 4096,    /* of a string */
    MOST_RESULTS = 4
};

typedef struct prop {
    lz_graph *g;
    lz_alias alias;
    LZ_VEC(lz_gv) in; /* borrowed from constants */
} prop;

/* ---- what can be computed ---- */

static bool is_small(lz_gv v)
{
    switch (v.kind) {
    case LZ_GV_STR:
        return v.str->len <= MOST_BYTES;
    case LZ_GV_LIST:
    case LZ_GV_TUPLE:
        return v.list->len <= MOST_ELEMENTS;
    case LZ_GV_DICT:
        return lz_gv_dict_count(v) <= MOST_ELEMENTS;
    default:
        return v.kind < LZ_GV_BOXED || v.kind == LZ_GV_DEVICE;
    }
}

/* Whether PyTorch reads such a constant again, and as the same: it has no words for tuples, dicts, lists of
 * bools or of lists, and none for nan, and refuses floats below the normal ones. */
static bool is_literal_leaf(lz_gv v)
{
    return v.kind != LZ_GV_FLOAT || v.f == 0 || isnormal(v.f) || isinf(v.f);
}

static bool is_literal(lz_gv v, const lz_type *type)
{
    bool ok = type->kind != LZ_TY_OPTIONAL && type->kind != LZ_TY_ANY && is_literal_leaf(v);
    if (v.kind != LZ_GV_LIST)
        return ok && (v.kind < LZ_GV_BOXED || v.kind == LZ_GV_STR || v.kind == LZ_GV_DEVICE);
    for (size_t i = 0; ok && i < v.list->len; i++) {
        lz_gv x = v.list->data[i];
        ok = (x.kind == LZ_GV_INT || x.kind == LZ_GV_FLOAT || x.kind == LZ_GV_STR) && is_literal_leaf(x)
             && x.kind == v.list->data[0].kind;
    }
    return ok;
}

/* Tensors are computed elsewhere. */
static lz_err *gather(prop *p, const lz_ir_node *n, bool *out)
{
    *out = true;
    p->in.len = 0;
    for (uint32_t i = 0; *out && i < n->nin; i++) {
        lz_gv v;
        *out = lz_ir_const(lz_ir_in(n, i), &v) && is_small(v);
        if (*out)
            LZ_TRY(lz_vec_push(&p->in, v));
    }
    return NULL;
}

/* Results that can change must be seen by nobody who could tell. */
static bool may_be_constant(const prop *p, const lz_ir_node *n)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < n->nout; i++) {
        const lz_ir_value *v = n->out[i];
        ok = !lz_type_is_mutable(v->type) || (!lz_alias_is_written(&p->alias, v) && lz_ir_only_read(v));
        ok = ok && v->type->kind != LZ_TY_TENSOR;
    }
    return ok;
}

static bool is_foldable(const lz_ir_node *n)
{
    const unsigned never = LZ_BF_WRITES | LZ_BF_EFFECT;
    if (n->builtin)
        return n->builtin->run && !(n->builtin->flags & never) && n->nout <= MOST_RESULTS;
    return lz_ir_is(n, LZ_PRIM_LIST);
}

/* ---- computing ---- */

static lz_err *make_list(const prop *p, lz_gv *out)
{
    LZ_TRY(lz_gv_list_make(p->in.len, out));
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < p->in.len; i++)
        e = lz_gv_push(*out, lz_gv_retain(p->in.data[i]));
    if (e)
        lz_gv_release(*out);
    return e;
}

static lz_err *compute(const prop *p, const lz_ir_node *n, lz_gv *out)
{
    return n->builtin ? n->builtin->run(p->in.data, p->in.len, out) : make_list(p, out);
}

/* Only running out of memory is an error now. */
static lz_err *try_compute(const prop *p, const lz_ir_node *n, lz_gv *out, bool *done)
{
    lz_err *e = compute(p, n, out);
    *done = !e;
    if (!e || lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_err_free(e);
    return NULL;
}

/* ---- putting constants in ---- */

/* A constant before n for its output i; takes v over. */
static lz_err *put_constant(prop *p, lz_ir_node *n, uint32_t i, lz_gv v)
{
    lz_ir_node *c;
    LZ_TRY(lz_ir_constant_make(p->g, v, n->out[i]->type, n->loc, &c));
    c->line = n->line;
    c->col = n->col;
    c->out[0]->name = n->out[i]->name;
    c->out[0]->id = n->out[i]->id;
    c->out[0]->mark = n->out[i]->mark;
    lz_ir_insert_before(c, n);
    lz_ir_replace(n->out[i], c->out[0]);
    return NULL;
}

static lz_err *put_constants(prop *p, lz_ir_node *n, const lz_gv *v)
{
    bool ok = true;
    lz_err *e = NULL;
    for (uint32_t i = 0; ok && i < n->nout; i++)
        ok = is_small(v[i]) && is_literal(v[i], n->out[i]->type) && lz_gv_fits(v[i], n->out[i]->type);
    for (uint32_t i = 0; i < n->nout; i++) {
        if (ok && !e)
            e = put_constant(p, n, i, v[i]);
        else
            lz_gv_release(v[i]);
    }
    if (ok && !e)
        lz_ir_erase(n);
    return e;
}

static lz_err *visit(prop *p, lz_ir_node *n)
{
    lz_gv v[MOST_RESULTS];
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
    LZ_TRY(lz_alias_init(&p.alias, g));
    lz_err *e = NULL;
    for (lz_ir_node *n = lz_ir_first(g->block), *next; !e && n; n = next) {
        next = lz_ir_next(n);
        e = visit(&p, n);
    }
    lz_alias_deinit(&p.alias);
    lz_vec_deinit(&p.in);
    return e;
}
