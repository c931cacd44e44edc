/* Peephole: replaces small patterns by a simpler form. Every rule keeps every bit of every result, including
 * NaNs and signed zeros. A rule looks through a mutable list or tensor only if nothing of its alias set is
 * ever written. Unused nodes are left to dce. Requires: any graph. Keeps: effects. */
#include "graph/effects.h"
#include "pass/alias_sets.h"
#include "pass/pass.h"

typedef struct peep {
    lz_graph *g;
    lz_alias_sets alias;
    lz_ssa_value *found; /* result of the last rule */
} peep;

/* Sets *out to a value that replaces the node's one output. Leaves *out unchanged if the rule does not
 * apply. */
typedef lz_err *rule_fn(peep *p, lz_ssa_node *n, lz_ssa_value **out);

static bool is_int(const lz_ssa_value *v, int64_t wanted)
{
    int64_t i;
    return lz_ssa_const_int(v, &i) && i == wanted;
}

/* Is v exactly this float? Distinguishes 0 and -0. */
static bool is_float(const lz_ssa_value *v, double wanted)
{
    lz_script_value c;
    return lz_ssa_const(v, &c) && lz_script_value_identical(c, lz_script_value_float(wanted));
}

static bool is_bool(const lz_ssa_value *v, bool wanted)
{
    lz_script_value c;
    return lz_ssa_const(v, &c) && c.kind == LZ_SCRIPT_VALUE_BOOL && c.b == wanted;
}

static bool is_type(const lz_ssa_value *v, lz_type_kind kind)
{
    return v->type->kind == kind;
}

static lz_err *constant(peep *p, lz_ssa_node *n, lz_script_value v, const lz_type *type, lz_ssa_value **out)
{
    lz_ssa_node *c;
    LZ_TRY(lz_ssa_constant_make(p->g, v, type, n->loc, &c));
    c->line = n->line;
    c->col = n->col;
    c->out[0]->mark = UINT32_MAX; /* in no alias set */
    lz_ssa_insert_before(c, n);
    *out = c->out[0];
    return NULL;
}

/* ---- numbers ---- */

/* x op neutral, for two ints or two floats. */
static lz_ssa_value *drop_neutral(const lz_ssa_node *n, int64_t whole, double real, bool either)
{
    lz_ssa_value *a = lz_ssa_in(n, 0), *b = lz_ssa_in(n, 1);
    bool ints = is_type(a, LZ_GRAPH_TYPE_INT) && is_type(b, LZ_GRAPH_TYPE_INT);
    bool floats = is_type(a, LZ_GRAPH_TYPE_FLOAT) && is_type(b, LZ_GRAPH_TYPE_FLOAT);
    if ((ints && is_int(b, whole)) || (floats && is_float(b, real)))
        return a;
    if (either && ((ints && is_int(a, whole)) || (floats && is_float(a, real))))
        return b;
    return NULL;
}

/* x + 0.0 differs from x for -0.0; x + -0.0 does not. */
static lz_err *rule_add(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    (void)p;
    *out = n->builtin && n->nin == 2 ? drop_neutral(n, 0, -0.0, true) : NULL;
    return NULL;
}

static lz_err *rule_sub(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    (void)p;
    *out = n->builtin && n->nin == 2 ? drop_neutral(n, 0, 0.0, false) : NULL;
    return NULL;
}

static lz_err *rule_mul(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    (void)p;
    *out = n->builtin && n->nin == 2 ? drop_neutral(n, 1, 1.0, true) : NULL;
    return NULL;
}

/* Dividing ints gives a float, so only floats qualify. */
static lz_err *rule_div(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    (void)p;
    *out =
        n->builtin && is_type(lz_ssa_in(n, 0), LZ_GRAPH_TYPE_FLOAT) ? drop_neutral(n, 1, 1.0, false) : NULL;
    return NULL;
}

static lz_err *rule_floordiv(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    (void)p;
    *out = n->builtin && is_type(lz_ssa_in(n, 0), LZ_GRAPH_TYPE_INT) ? drop_neutral(n, 1, 1.0, false) : NULL;
    return NULL;
}

/* min(x, x) */
static lz_err *rule_same(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    (void)p;
    if (n->builtin && n->nin == 2 && lz_ssa_in(n, 0) == lz_ssa_in(n, 1)
        && (is_type(lz_ssa_in(n, 0), LZ_GRAPH_TYPE_INT) || is_type(lz_ssa_in(n, 0), LZ_GRAPH_TYPE_FLOAT)))
        *out = lz_ssa_in(n, 0);
    return NULL;
}

/* The number that v was made from, if v is never written; else NULL. */
static lz_ssa_value *number_of(const peep *p, const lz_ssa_value *v)
{
    bool made = lz_ssa_named(v->node, "prim::NumToTensor") && !lz_alias_sets_is_written(&p->alias, v);
    return made ? lz_ssa_in(v->node, 0) : NULL;
}

/* Int(x) of an int, and Int(NumToTensor(x)) of an int. */
static lz_err *rule_convert(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    lz_ssa_value *v = number_of(p, lz_ssa_in(n, 0));
    v = v ? v : lz_ssa_in(n, 0);
    bool same = v->type->kind == n->out[0]->type->kind;
    bool number =
        is_type(v, LZ_GRAPH_TYPE_INT) || is_type(v, LZ_GRAPH_TYPE_FLOAT) || is_type(v, LZ_GRAPH_TYPE_BOOL);
    if (n->builtin && n->nin == 1 && same && number)
        *out = v;
    return NULL;
}

/* The element of a tensor made from one number is that number. */
static lz_err *rule_item(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    const lz_ssa_node *from = n->nin ? lz_ssa_in(n, 0)->node : NULL;
    (void)p;
    if (n->builtin && from && lz_ssa_named(from, "prim::NumToTensor")
        && !is_type(lz_ssa_in(from, 0), LZ_GRAPH_TYPE_BOOL))
        *out = lz_ssa_in(from, 0);
    return NULL;
}

/* ---- truth ---- */

static lz_err *rule_not(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    const lz_ssa_node *inner = lz_ssa_in(n, 0)->node;
    (void)p;
    if (lz_ssa_named(inner, "aten::__not__"))
        *out = lz_ssa_in(inner, 0);
    return NULL;
}

static lz_ssa_value *drop_bool(const lz_ssa_node *n, bool neutral)
{
    lz_ssa_value *a = lz_ssa_in(n, 0), *b = lz_ssa_in(n, 1);
    if (!n->builtin || n->nin != 2 || !is_type(a, LZ_GRAPH_TYPE_BOOL) || !is_type(b, LZ_GRAPH_TYPE_BOOL))
        return NULL;
    if (a == b || is_bool(b, neutral) || is_bool(a, !neutral))
        return a;
    return is_bool(a, neutral) || is_bool(b, !neutral) ? b : NULL;
}

static lz_err *rule_and(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    (void)p;
    *out = drop_bool(n, true);
    return NULL;
}

static lz_err *rule_or(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    (void)p;
    *out = drop_bool(n, false);
    return NULL;
}

/* Decides "x is None" from the types: 1 true, 0 false, -1 unknown. */
static int is_none(const lz_type *a, const lz_type *b)
{
    const lz_type *other = a->kind == LZ_GRAPH_TYPE_NONE ? b : a;
    bool one = a->kind == LZ_GRAPH_TYPE_NONE || b->kind == LZ_GRAPH_TYPE_NONE;
    if (!one || other->kind == LZ_GRAPH_TYPE_OPTIONAL || other->kind == LZ_GRAPH_TYPE_ANY
        || other->kind == LZ_GRAPH_TYPE_UNION)
        return -1;
    return other->kind == LZ_GRAPH_TYPE_NONE;
}

static lz_err *known_is(peep *p, lz_ssa_node *n, bool negated, lz_ssa_value **out)
{
    int none = is_none(lz_ssa_in(n, 0)->type, lz_ssa_in(n, 1)->type);
    return none < 0 ? NULL
                    : constant(p, n, lz_script_value_bool((none != 0) != negated), n->out[0]->type, out);
}

static lz_err *rule_is(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    return known_is(p, n, false, out);
}

static lz_err *rule_is_not(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    return known_is(p, n, true, out);
}

/* ---- types ---- */

static lz_err *rule_cast(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    (void)p;
    if (lz_ssa_in(n, 0)->type == n->out[0]->type)
        *out = lz_ssa_in(n, 0);
    return NULL;
}

/* Unwrapping a value that cannot be None. */
static lz_err *rule_unwrap(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    const lz_type *t = lz_ssa_in(n, 0)->type;
    (void)p;
    if (t->kind != LZ_GRAPH_TYPE_OPTIONAL && t->kind != LZ_GRAPH_TYPE_NONE && t->kind != LZ_GRAPH_TYPE_ANY
        && t->kind != LZ_GRAPH_TYPE_UNION && lz_type_fits(t, n->out[0]->type))
        *out = lz_ssa_in(n, 0);
    return NULL;
}

/* ---- lists and tuples ---- */

/* The node that builds the list, if the list is never written. */
static const lz_ssa_node *list_of(const peep *p, const lz_ssa_value *v)
{
    return lz_ssa_is(v->node, LZ_PRIM_LIST) && !lz_alias_sets_is_written(&p->alias, v) ? v->node : NULL;
}

static lz_err *rule_len(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    const lz_ssa_node *list = list_of(p, lz_ssa_in(n, 0));
    return list ? constant(p, n, lz_script_value_int(list->nin), n->out[0]->type, out) : NULL;
}

static lz_err *rule_getitem(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    const lz_ssa_node *list = list_of(p, lz_ssa_in(n, 0));
    int64_t i;
    if (!list || n->nin != 2 || !lz_ssa_const_int(lz_ssa_in(n, 1), &i))
        return NULL;
    i += i < 0 ? list->nin : 0;
    if (i >= 0 && i < list->nin)
        *out = lz_ssa_in(list, (uint32_t)i);
    return NULL;
}

static lz_err *rule_tuple_index(peep *p, lz_ssa_node *n, lz_ssa_value **out)
{
    const lz_ssa_node *tuple = lz_ssa_in(n, 0)->node;
    int64_t i;
    (void)p;
    if (!lz_ssa_is(tuple, LZ_PRIM_TUPLE) || !lz_ssa_const_int(lz_ssa_in(n, 1), &i))
        return NULL;
    i += i < 0 ? tuple->nin : 0;
    if (i >= 0 && i < tuple->nin)
        *out = lz_ssa_in(tuple, (uint32_t)i);
    return NULL;
}

/* ---- tensors ---- */

static bool same_ints(const lz_ssa_value *a, const lz_ssa_value *b)
{
    int64_t i, j;
    return a == b || (lz_ssa_const_int(a, &i) && lz_ssa_const_int(b, &j) && i == j);
}

/* Do both calls of one operator have equal arguments besides the tensor? */
static bool same_rest(const lz_ssa_node *a, const lz_ssa_node *b)
{
    bool same = a->nin == b->nin, swapped = same && a->nin == 3 && a->op->flags & LZ_OPF_SYMMETRIC;
    for (uint32_t i = 1; same && i < a->nin; i++)
        same = same_ints(lz_ssa_in(a, i), lz_ssa_in(b, i));
    return same
           || (swapped && same_ints(lz_ssa_in(a, 1), lz_ssa_in(b, 2))
               && same_ints(lz_ssa_in(a, 2), lz_ssa_in(b, 1)));
}

/* f(f(x, a), a), a view, is x, unless the view is written, possibly because x is transposed in place. */
static lz_ssa_value *undo_involution(const peep *p, const lz_ssa_node *n, const lz_ssa_node *inner)
{
    bool same = inner->op == n->op && same_rest(n, inner);
    return same && !lz_alias_sets_is_written(&p->alias, n->out[0]) ? lz_ssa_in(inner, 0) : NULL;
}

/* f(x, x), a view, is x. f(f(x)) is f(x): there two tensors become one, so neither may be written, and at
 * most one may have uses that do more than read it. */
static lz_ssa_value *drop_idempotent(const peep *p, const lz_ssa_node *n, const lz_ssa_node *inner)
{
    lz_ssa_value *v = lz_ssa_in(n, 0);
    if (lz_alias_sets_is_written(&p->alias, n->out[0]))
        return NULL;
    if (n->nin == 2)
        return v == lz_ssa_in(n, 1) ? v : NULL;
    bool reads = lz_ssa_only_read(v) || lz_ssa_only_read(n->out[0]);
    return inner->op == n->op && reads && !lz_alias_sets_is_written(&p->alias, v) ? v : NULL;
}

/* Operators whose entries state a law. */
static void apply_laws(peep *p, const lz_ssa_node *n)
{
    const lz_ssa_node *inner = lz_ssa_in(n, 0)->node;
    if (n->op->flags & LZ_OPF_INVOLUTION)
        p->found = undo_involution(p, n, inner);
    else if (n->op->flags & LZ_OPF_IDEMPOTENT)
        p->found = drop_idempotent(p, n, inner);
}

/* Built-in functions of TorchScript, which have no entries. Their names may be those of operators, too. */
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
    { "aten::add", rule_add },
    { "aten::div", rule_div },
    { "aten::floordiv", rule_floordiv },
    { "aten::item", rule_item },
    { "aten::len", rule_len },
    { "aten::mul", rule_mul },
    { "aten::sub", rule_sub },
    { "prim::TupleIndex", rule_tuple_index },
    { "prim::max", rule_same },
    { "prim::min", rule_same },
    { "prim::unchecked_cast", rule_cast },
    { "prim::unchecked_unwrap_optional", rule_unwrap },
};

/* ---- nodes with several outputs, and with blocks ---- */

static void unpack(const peep *p, lz_ssa_node *n)
{
    const lz_ssa_value *v = lz_ssa_in(n, 0);
    const lz_ssa_node *from = lz_ssa_is(n, LZ_PRIM_LIST_UNPACK) ? list_of(p, v) : v->node;
    bool ok =
        from && (lz_ssa_is(from, LZ_PRIM_LIST) || lz_ssa_is(from, LZ_PRIM_TUPLE)) && from->nin == n->nout;
    for (uint32_t i = 0; ok && i < n->nout; i++)
        lz_ssa_replace(n->out[i], lz_ssa_in(from, i));
}

/* The block keeps its results; the caller removes the block with the node. */
static void inline_block(lz_ssa_node *n, lz_ssa_block *b, uint32_t first)
{
    lz_ssa_splice(b, n);
    for (uint32_t i = 0; i < n->nout; i++)
        lz_ssa_replace(n->out[i], lz_ssa_in(b->ret, i + first));
}

/* Replaces outputs that are equal in both branches. */
static void merge_branches(const lz_ssa_node *n)
{
    for (uint32_t i = 0; i < n->nout; i++) {
        lz_ssa_value *a = lz_ssa_in(n->blocks[0]->ret, i), *b = lz_ssa_in(n->blocks[1]->ret, i);
        if (a == b && lz_ssa_within(n->block, a->node->block))
            lz_ssa_replace(n->out[i], a);
    }
}

static bool fold_if(lz_ssa_node *n)
{
    bool yes = is_bool(lz_ssa_in(n, 0), true), no = is_bool(lz_ssa_in(n, 0), false);
    if (!yes && !no) {
        merge_branches(n);
        return false;
    }
    inline_block(n, n->blocks[no], 0);
    return true;
}

/* A loop that never runs, or runs once. */
static lz_err *fold_loop(peep *p, lz_ssa_node *n, bool *gone)
{
    lz_ssa_block *b = n->blocks[0];
    int64_t trips;
    bool counted = lz_ssa_const_int(lz_ssa_in(n, 0), &trips);
    bool never = (counted && trips <= 0) || is_bool(lz_ssa_in(n, 1), false);
    bool once = counted && trips == 1 && is_bool(lz_ssa_in(n, 1), true);
    lz_ssa_value *zero;
    *gone = never || once;
    for (uint32_t i = 0; never && i < n->nout; i++)
        lz_ssa_replace(n->out[i], lz_ssa_in(n, i + 2));
    if (never || !once)
        return NULL;
    LZ_TRY(constant(p, n, lz_script_value_int(0), lz_type_leaf(LZ_GRAPH_TYPE_INT), &zero));
    lz_ssa_replace(b->param->out[0], zero);
    for (uint32_t i = 0; i < n->nout; i++)
        lz_ssa_replace(b->param->out[i + 1], lz_ssa_in(n, i + 2));
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

static lz_err *simplify(peep *p, lz_ssa_node *n)
{
    bool one = n->nout == 1 && n->nin;
    rule_fn *rule = one && !n->op ? rule_for(n->sym->name) : NULL;
    p->found = NULL;
    if (rule)
        LZ_TRY(rule(p, n, &p->found));
    else if (one && n->op)
        apply_laws(p, n);
    if (p->found && lz_type_fits(p->found->type, n->out[0]->type))
        lz_ssa_replace(n->out[0], p->found);
    return NULL;
}

/* *next: the node to continue with, inside what replaced n. */
static lz_err *visit(peep *p, lz_ssa_node *n, lz_ssa_node **next)
{
    bool gone = false;
    if (lz_ssa_is(n, LZ_PRIM_LIST_UNPACK) || lz_ssa_is(n, LZ_PRIM_TUPLE_UNPACK)) {
        unpack(p, n);
    } else if (lz_ssa_is(n, LZ_PRIM_IF) || lz_ssa_is(n, LZ_PRIM_LOOP)) {
        lz_ssa_node *before = n->prev;
        if (lz_ssa_is(n, LZ_PRIM_IF))
            gone = fold_if(n);
        else
            LZ_TRY(fold_loop(p, n, &gone));
        if (gone) {
            lz_ssa_erase(n);
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
    LZ_TRY(lz_alias_sets_init(&p.alias, g));
    lz_err *e = NULL;
    for (lz_ssa_node *n = lz_ssa_first(g->block), *next; !e && n; n = next) {
        next = lz_ssa_next(n);
        e = visit(&p, n, &next);
    }
    lz_alias_sets_deinit(&p.alias);
    return e;
}
