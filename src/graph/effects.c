#include "graph/effects.h"
#include "op/functional_table.h"
#include "op/op_table.h"

bool lz_ssa_unknown(const lz_ssa_node *n)
{
    return !n->op && !n->builtin && n->sym->prim == LZ_PRIM_NONE;
}

/* Whether a constant is known to be false or None. */
static bool is_off(const lz_ssa_value *v)
{
    lz_script_value c;
    return lz_ssa_const(v, &c)
           && (c.kind == LZ_SCRIPT_VALUE_NONE || (c.kind == LZ_SCRIPT_VALUE_BOOL && !c.b));
}

/* A batch norm writes its running statistics, unless it is known that it does not train, or has none. */
static bool writes_statistic(const lz_ssa_node *n, uint32_t i)
{
    const lz_functional_row *s = lz_functional_table[n->op - lz_op_table].statistics;
    bool written = false;
    for (uint32_t k = 0; s && k < s->nwrites; k++)
        written = written || s->writes[k].argument == i;
    return written && i < n->nin && s->when < n->nin && !is_off(lz_ssa_in(n, i))
           && !is_off(lz_ssa_in(n, s->when));
}

static bool has_statistics(const lz_op_row *op)
{
    return lz_op_layout[op - lz_op_table].memory & LZ_MEMORY_STATISTICS;
}

static bool writes_statistics(const lz_ssa_node *n)
{
    bool any = false;
    for (uint32_t i = 0; has_statistics(n->op) && i < n->nin; i++)
        any = any || writes_statistic(n, i);
    return any;
}

unsigned lz_ssa_effects(const lz_ssa_node *n)
{
    unsigned e = 0;
    if (lz_ssa_unknown(n))
        return LZ_EFFECT_OTHER | LZ_EFFECT_WRITES | LZ_EFFECT_RANDOM;
    if (n->builtin) {
        e |= n->builtin->flags & LZ_BUILTIN_WRITES ? LZ_EFFECT_WRITES : 0;
        e |= n->builtin->flags & LZ_BUILTIN_EFFECT ? LZ_EFFECT_OTHER : 0;
    }
    if (n->op) {
        e |= n->op->flags & LZ_OPF_MUTABLE || writes_statistics(n) ? LZ_EFFECT_WRITES : 0;
        e |= n->op->tags & LZ_TAG_BIT(nondeterministic_seeded) ? LZ_EFFECT_RANDOM : 0;
    }
    return e;
}

bool lz_ssa_writes_to(const lz_ssa_node *n, uint32_t i)
{
    if (n->op)
        return i < n->op->nargs
               && (n->op->args[i].write || (has_statistics(n->op) && writes_statistic(n, i)));
    if (n->builtin)
        return i == 0 && (n->builtin->flags & LZ_BUILTIN_WRITES);
    return lz_ssa_unknown(n);
}

/* A fresh list or dict may still hold elements of the arguments; a fresh tensor shares nothing. */
static bool shares_elements(const lz_type *out)
{
    bool list = out->kind == LZ_GRAPH_TYPE_LIST || out->kind == LZ_GRAPH_TYPE_DICT;
    return list && lz_type_is_mutable(out->elem[out->n - 1]);
}

bool lz_ssa_may_alias(const lz_ssa_node *n, uint32_t in, uint32_t out)
{
    const lz_type *from = lz_ssa_in(n, in)->type, *to = n->out[out]->type;
    if (!lz_type_is_mutable(from) || !lz_type_is_mutable(to))
        return false;
    if (n->op)
        return in < n->op->nargs && (n->op->args[in].alias & n->op->returns[out].alias);
    if (n->builtin && (n->builtin->flags & LZ_BUILTIN_FRESH))
        return shares_elements(to);
    return true;
}

static bool use_only_reads(const lz_ssa_use *u)
{
    const lz_ssa_node *n = u->user;
    uint32_t i = (uint32_t)(u - n->in);
    if (!n->op && !n->builtin)
        return false;
    if (lz_ssa_effects(n) & LZ_EFFECT_WRITES) /* the value may be put into what is written */
        return n->op && !lz_ssa_writes_to(n, i) && !n->op->args[i].alias;
    for (uint32_t out = 0; out < n->nout; out++)
        if (lz_ssa_may_alias(n, i, out))
            return false;
    return true;
}

bool lz_ssa_only_read(const lz_ssa_value *v)
{
    bool ok = true;
    for (const lz_ssa_use *u = v->uses; ok && u; u = u->next)
        ok = use_only_reads(u);
    return ok;
}
