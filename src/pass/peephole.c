/* Peephole: small patterns that have a simpler form. Every one keeps every bit of every
 * result, NaNs and signed zeros included; where a list or tensor that can change is looked
 * through, nothing of its set is ever written. What becomes unused is left to dce.
 * Requires: any graph. Keeps: effects. */
#include "graph/effects.h"
#include "pass/alias.h"
#include "pass/pass.h"

typedef struct peep {
    lz_graph *g;
    lz_alias alias;
    lz_ir_value *found; /* by the last rule */
} peep;

/* Sets *out to what stands for the node's one output; leaves it where nothing does. */
typedef lz_err *rule_fn(peep *p, lz_ir_node *n, lz_ir_value **out);

static bool is_int(const lz_ir_value *v, int64_t wanted)
{
    int64_t i;
    return lz_ir_const_int(v, &i) && i == wanted;
}

/* Exactly that float: a zero has its sign. */
static bool is_float(const lz_ir_value *v, double wanted)
{
    lz_gv c;
    return lz_ir_const(v, &c) && lz_gv_identical(c, lz_gv_float(wanted));
}

static bool is_bool(const lz_ir_value *v, bool wanted)
{
    lz_gv c;
    return lz_ir_const(v, &c) && c.kind == LZ_GV_BOOL && c.b == wanted;
}

static bool is_type(const lz_ir_value *v, lz_type_kind kind)
{
    return v->type->kind == kind;
}

static lz_err *constant(peep *p, lz_ir_node *n, lz_gv v, const lz_type *type, lz_ir_value **out)
{
    lz_ir_node *c;
    LZ_TRY(lz_ir_constant_make(p->g, v, type, n->loc, &c));
    c->line = n->line;
    c->col = n->col;
    c->out[0]->mark = UINT32_MAX; /* in no set */
    lz_ir_insert_before(c, n);
    *out = c->out[0];
    return NULL;
}

/* ---- numbers ---- */

/* x op neutral, for two ints or two floats. */
static lz_ir_value *drop_neutral(const lz_ir_node *n, int64_t whole, double real, bool either)
{
    lz_ir_value *a = lz_ir_in(n, 0), *b = lz_ir_in(n, 1);
    bool ints = is_type(a, LZ_TY_INT) && is_type(b, LZ_TY_INT);
    bool floats = is_type(a, LZ_TY_FLOAT) && is_type(b, LZ_TY_FLOAT);
    if ((ints && is_int(b, whole)) || (floats && is_float(b, real)))
        return a;
    if (either && ((ints && is_int(a, whole)) || (floats && is_float(a, real))))
        return b;
    return NULL;
}

/* x + 0.0 is not x for -0.0; x + -0.0 is. */
static lz_err *rule_add(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    (void)p;
    *out = n->builtin && n->nin == 2 ? drop_neutral(n, 0, -0.0, true) : NULL;
    return NULL;
}

static lz_err *rule_sub(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    (void)p;
    *out = n->builtin && n->nin == 2 ? drop_neutral(n, 0, 0.0, false) : NULL;
    return NULL;
}

static lz_err *rule_mul(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    (void)p;
    *out = n->builtin && n->nin == 2 ? drop_neutral(n, 1, 1.0, true) : NULL;
    return NULL;
}

/* An int divided is a float. */
static lz_err *rule_div(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    (void)p;
    *out = n->builtin && is_type(lz_ir_in(n, 0), LZ_TY_FLOAT) ? drop_neutral(n, 1, 1.0, false) : NULL;
    return NULL;
}

static lz_err *rule_floordiv(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    (void)p;
    *out = n->builtin && is_type(lz_ir_in(n, 0), LZ_TY_INT) ? drop_neutral(n, 1, 1.0, false) : NULL;
    return NULL;
}

/* min(x, x) */
static lz_err *rule_same(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    (void)p;
    if (n->builtin && n->nin == 2 && lz_ir_in(n, 0) == lz_ir_in(n, 1)
        && (is_type(lz_ir_in(n, 0), LZ_TY_INT) || is_type(lz_ir_in(n, 0), LZ_TY_FLOAT)))
        *out = lz_ir_in(n, 0);
    return NULL;
}

/* The number that v, never changed, was made from; NULL: none. */
static lz_ir_value *number_of(const peep *p, const lz_ir_value *v)
{
    bool made = lz_ir_named(v->node, "prim::NumToTensor") && !lz_alias_is_written(&p->alias, v);
    return made ? lz_ir_in(v->node, 0) : NULL;
}

/* Int(x) of an int, and Int(NumToTensor(x)) of one. */
static lz_err *rule_convert(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    lz_ir_value *v = number_of(p, lz_ir_in(n, 0));
    v = v ? v : lz_ir_in(n, 0);
    bool same = v->type->kind == n->out[0]->type->kind;
    bool number = is_type(v, LZ_TY_INT) || is_type(v, LZ_TY_FLOAT) || is_type(v, LZ_TY_BOOL);
    if (n->builtin && n->nin == 1 && same && number)
        *out = v;
    return NULL;
}

/* The element of a tensor made of one number is that number. */
static lz_err *rule_item(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    const lz_ir_node *from = n->nin ? lz_ir_in(n, 0)->node : NULL;
    (void)p;
    if (n->builtin && from && lz_ir_named(from, "prim::NumToTensor")
        && !is_type(lz_ir_in(from, 0), LZ_TY_BOOL))
        *out = lz_ir_in(from, 0);
    return NULL;
}

/* ---- truth ---- */

static lz_err *rule_not(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    const lz_ir_node *inner = lz_ir_in(n, 0)->node;
    (void)p;
    if (lz_ir_named(inner, "aten::__not__"))
        *out = lz_ir_in(inner, 0);
    return NULL;
}

static lz_ir_value *drop_bool(const lz_ir_node *n, bool neutral)
{
    lz_ir_value *a = lz_ir_in(n, 0), *b = lz_ir_in(n, 1);
    if (!n->builtin || n->nin != 2 || !is_type(a, LZ_TY_BOOL) || !is_type(b, LZ_TY_BOOL))
        return NULL;
    if (a == b || is_bool(b, neutral) || is_bool(a, !neutral))
        return a;
    return is_bool(a, neutral) || is_bool(b, !neutral) ? b : NULL;
}

static lz_err *rule_and(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    (void)p;
    *out = drop_bool(n, true);
    return NULL;
}

static lz_err *rule_or(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    (void)p;
    *out = drop_bool(n, false);
    return NULL;
}

/* What the types tell of x is None: 1 it is, 0 it is not, -1 nothing. */
static int is_none(const lz_type *a, const lz_type *b)
{
    const lz_type *other = a->kind == LZ_TY_NONE ? b : a;
    bool one = a->kind == LZ_TY_NONE || b->kind == LZ_TY_NONE;
    if (!one || other->kind == LZ_TY_OPTIONAL || other->kind == LZ_TY_ANY || other->kind == LZ_TY_UNION)
        return -1;
    return other->kind == LZ_TY_NONE;
}

static lz_err *known_is(peep *p, lz_ir_node *n, bool negated, lz_ir_value **out)
{
    int none = is_none(lz_ir_in(n, 0)->type, lz_ir_in(n, 1)->type);
    return none < 0 ? NULL : constant(p, n, lz_gv_bool((none != 0) != negated), n->out[0]->type, out);
}

static lz_err *rule_is(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    return known_is(p, n, false, out);
}

static lz_err *rule_is_not(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    return known_is(p, n, true, out);
}

/* ---- types ---- */

static lz_err *rule_cast(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    (void)p;
    if (lz_ir_in(n, 0)->type == n->out[0]->type)
        *out = lz_ir_in(n, 0);
    return NULL;
}

/* Of something that cannot be None. */
static lz_err *rule_unwrap(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    const lz_type *t = lz_ir_in(n, 0)->type;
    (void)p;
    if (t->kind != LZ_TY_OPTIONAL && t->kind != LZ_TY_NONE && t->kind != LZ_TY_ANY && t->kind != LZ_TY_UNION
        && lz_type_fits(t, n->out[0]->type))
        *out = lz_ir_in(n, 0);
    return NULL;
}

/* ---- lists and tuples ---- */

/* The node that puts a list together, if nothing happens to the list ever after. */
static const lz_ir_node *list_of(const peep *p, const lz_ir_value *v)
{
    return lz_ir_is(v->node, LZ_PRIM_LIST) && !lz_alias_is_written(&p->alias, v) ? v->node : NULL;
}

static lz_err *rule_len(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    const lz_ir_node *list = list_of(p, lz_ir_in(n, 0));
    return list ? constant(p, n, lz_gv_int(list->nin), n->out[0]->type, out) : NULL;
}

static lz_err *rule_getitem(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    const lz_ir_node *list = list_of(p, lz_ir_in(n, 0));
    int64_t i;
    if (!list || n->nin != 2 || !lz_ir_const_int(lz_ir_in(n, 1), &i))
        return NULL;
    i += i < 0 ? list->nin : 0;
    if (i >= 0 && i < list->nin)
        *out = lz_ir_in(list, (uint32_t)i);
    return NULL;
}

static lz_err *rule_tuple_index(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    const lz_ir_node *tuple = lz_ir_in(n, 0)->node;
    int64_t i;
    (void)p;
    if (!lz_ir_is(tuple, LZ_PRIM_TUPLE) || !lz_ir_const_int(lz_ir_in(n, 1), &i))
        return NULL;
    i += i < 0 ? tuple->nin : 0;
    if (i >= 0 && i < tuple->nin)
        *out = lz_ir_in(tuple, (uint32_t)i);
    return NULL;
}

/* ---- tensors ---- */

/* t(t(x)): the same view as x, unless x is itself turned in between. */
static lz_err *rule_t(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    const lz_ir_node *inner = lz_ir_in(n, 0)->node;
    if (n->op && inner->op == n->op && !lz_alias_is_written(&p->alias, n->out[0]))
        *out = lz_ir_in(inner, 0);
    return NULL;
}

static bool same_ints(const lz_ir_value *a, const lz_ir_value *b)
{
    int64_t i, j;
    return a == b || (lz_ir_const_int(a, &i) && lz_ir_const_int(b, &j) && i == j);
}

static lz_err *rule_transpose(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    const lz_ir_node *inner = lz_ir_in(n, 0)->node;
    if (lz_alias_is_written(&p->alias, n->out[0]))
        return NULL;
    if (!n->op || inner->op != n->op || n->nin != 3 || inner->nin != 3 || !is_type(lz_ir_in(n, 1), LZ_TY_INT)
        || !is_type(lz_ir_in(n, 2), LZ_TY_INT))
        return NULL;
    const lz_ir_value *a = lz_ir_in(n, 1), *b = lz_ir_in(n, 2), *c = lz_ir_in(inner, 1),
                      *d = lz_ir_in(inner, 2);
    if ((same_ints(a, c) && same_ints(b, d)) || (same_ints(a, d) && same_ints(b, c)))
        *out = lz_ir_in(inner, 0);
    return NULL;
}

/* expand_as(x, x) */
static lz_err *rule_expand_as(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    if (n->op && n->nin == 2 && lz_ir_in(n, 0) == lz_ir_in(n, 1)
        && !lz_alias_is_written(&p->alias, n->out[0]))
        *out = lz_ir_in(n, 0);
    return NULL;
}

/* f(f(x)) = f(x): here two tensors become one, so neither may change, and one at most may
 * go where it could. */
static lz_err *rule_idempotent(peep *p, lz_ir_node *n, lz_ir_value **out)
{
    lz_ir_value *v = lz_ir_in(n, 0);
    if (n->op && n->nin == 1 && v->node->op == n->op && !lz_alias_is_written(&p->alias, v)
        && !lz_alias_is_written(&p->alias, n->out[0]) && (lz_ir_only_read(v) || lz_ir_only_read(n->out[0])))
        *out = v;
    return NULL;
}

static const struct {
    const char *name;
    rule_fn *rule;
} rules[] = {
    { "aten::Bool", rule_convert },
    { "aten::Float", rule_convert },
    { "aten::FloatImplicit", rule_convert },
    { "aten::Int", rule_convert },
    { "aten::IntImplicit", rule_convert },
    { "aten::ScalarImplicit", rule_item },
    { "aten::__and__", rule_and },
    { "aten::__getitem__", rule_getitem },
    { "aten::__is__", rule_is },
    { "aten::__isnot__", rule_is_not },
    { "aten::__not__", rule_not },
    { "aten::__or__", rule_or },
    { "aten::_unwrap_optional", rule_unwrap },
    { "aten::abs", rule_idempotent },
    { "aten::add", rule_add },
    { "aten::ceil", rule_idempotent },
    { "aten::div", rule_div },
    { "aten::expand_as", rule_expand_as },
    { "aten::floor", rule_idempotent },
    { "aten::floordiv", rule_floordiv },
    { "aten::item", rule_item },
    { "aten::len", rule_len },
    { "aten::mul", rule_mul },
    { "aten::relu", rule_idempotent },
    { "aten::sub", rule_sub },
    { "aten::t", rule_t },
    { "aten::transpose", rule_transpose },
    { "aten::trunc", rule_idempotent },
    { "prim::TupleIndex", rule_tuple_index },
    { "prim::max", rule_same },
    { "prim::min", rule_same },
    { "prim::unchecked_cast", rule_cast },
    { "prim::unchecked_unwrap_optional", rule_unwrap },
};

/* ---- nodes with several outputs, and with blocks ---- */

static void unpack(const peep *p, lz_ir_node *n)
{
    const lz_ir_value *v = lz_ir_in(n, 0);
    const lz_ir_node *from = lz_ir_is(n, LZ_PRIM_LIST_UNPACK) ? list_of(p, v) : v->node;
    bool ok = from && (lz_ir_is(from, LZ_PRIM_LIST) || lz_ir_is(from, LZ_PRIM_TUPLE)) && from->nin == n->nout;
    for (uint32_t i = 0; ok && i < n->nout; i++)
        lz_ir_replace(n->out[i], lz_ir_in(from, i));
}

/* The block stays with its results, and is taken out with the node by the caller. */
static void inline_block(lz_ir_node *n, lz_ir_block *b, uint32_t first)
{
    lz_ir_splice(b, n);
    for (uint32_t i = 0; i < n->nout; i++)
        lz_ir_replace(n->out[i], lz_ir_in(b->ret, i + first));
}

/* Outputs that are the same whichever way is taken. */
static void merge_branches(const lz_ir_node *n)
{
    for (uint32_t i = 0; i < n->nout; i++) {
        lz_ir_value *a = lz_ir_in(n->blocks[0]->ret, i), *b = lz_ir_in(n->blocks[1]->ret, i);
        if (a == b && lz_ir_within(n->block, a->node->block))
            lz_ir_replace(n->out[i], a);
    }
}

static bool fold_if(lz_ir_node *n)
{
    bool yes = is_bool(lz_ir_in(n, 0), true), no = is_bool(lz_ir_in(n, 0), false);
    if (!yes && !no) {
        merge_branches(n);
        return false;
    }
    inline_block(n, n->blocks[no], 0);
    return true;
}

/* A loop that does not run, or runs once. */
static lz_err *fold_loop(peep *p, lz_ir_node *n, bool *gone)
{
    lz_ir_block *b = n->blocks[0];
    int64_t trips;
    bool counted = lz_ir_const_int(lz_ir_in(n, 0), &trips);
    bool never = (counted && trips <= 0) || is_bool(lz_ir_in(n, 1), false);
    bool once = counted && trips == 1 && is_bool(lz_ir_in(n, 1), true);
    lz_ir_value *zero;
    *gone = never || once;
    for (uint32_t i = 0; never && i < n->nout; i++)
        lz_ir_replace(n->out[i], lz_ir_in(n, i + 2));
    if (never || !once)
        return NULL;
    LZ_TRY(constant(p, n, lz_gv_int(0), lz_type_leaf(LZ_TY_INT), &zero));
    lz_ir_replace(b->param->out[0], zero);
    for (uint32_t i = 0; i < n->nout; i++)
        lz_ir_replace(b->param->out[i + 1], lz_ir_in(n, i + 2));
    inline_block(n, b, 1);
    return NULL;
}

/* ---- the walk ---- */

static rule_fn *rule_for(lz_str name)
{
    size_t lo = 0, hi = sizeof rules / sizeof *rules;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = lz_str_cmp(lz_str_of(rules[mid].name), name);
        if (c == 0)
            return rules[mid].rule;
        lo = c < 0 ? mid + 1 : lo;
        hi = c < 0 ? hi : mid;
    }
    return NULL;
}

static lz_err *simplify(peep *p, lz_ir_node *n)
{
    rule_fn *rule = n->nout == 1 && n->nin ? rule_for(n->sym->name) : NULL;
    p->found = NULL;
    if (rule)
        LZ_TRY(rule(p, n, &p->found));
    if (p->found && lz_type_fits(p->found->type, n->out[0]->type))
        lz_ir_replace(n->out[0], p->found);
    return NULL;
}

/* *next is where to go on: into what a node was replaced by. */
static lz_err *visit(peep *p, lz_ir_node *n, lz_ir_node **next)
{
    bool gone = false;
    if (lz_ir_is(n, LZ_PRIM_LIST_UNPACK) || lz_ir_is(n, LZ_PRIM_TUPLE_UNPACK)) {
        unpack(p, n);
    } else if (lz_ir_is(n, LZ_PRIM_IF) || lz_ir_is(n, LZ_PRIM_LOOP)) {
        lz_ir_node *before = n->prev;
        if (lz_ir_is(n, LZ_PRIM_IF))
            gone = fold_if(n);
        else
            LZ_TRY(fold_loop(p, n, &gone));
        if (gone) {
            lz_ir_erase(n);
            *next = before->next;
        }
    } else if (n->next) {
        return simplify(p, n);
    }
    return NULL;
}

lz_err *lz_pass_peephole(lz_graph *g)
{
    peep p = { .g = g };
    LZ_TRY(lz_alias_init(&p.alias, g));
    lz_err *e = NULL;
    for (lz_ir_node *n = lz_ir_first(g->block), *next; !e && n; n = next) {
        next = lz_ir_next(n);
        e = visit(&p, n, &next);
    }
    lz_alias_deinit(&p.alias);
    return e;
}
