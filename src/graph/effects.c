#include "graph/effects.h"
#include "op/op_table.h"

bool lz_ir_unknown(const lz_ir_node *n)
{
    return !n->op && !n->builtin && n->sym->prim == LZ_PRIM_NONE;
}

unsigned lz_ir_effects(const lz_ir_node *n)
{
    unsigned e = 0;
    if (lz_ir_unknown(n))
        return LZ_EFFECT_OTHER | LZ_EFFECT_WRITES | LZ_EFFECT_RANDOM;
    if (n->builtin) {
        e |= n->builtin->flags & LZ_BF_WRITES ? LZ_EFFECT_WRITES : 0;
        e |= n->builtin->flags & LZ_BF_EFFECT ? LZ_EFFECT_OTHER : 0;
    }
    if (n->op) {
        e |= n->op->flags & LZ_OPF_MUTABLE ? LZ_EFFECT_WRITES : 0;
        e |= n->op->tags & LZ_TAG_BIT(nondeterministic_seeded) ? LZ_EFFECT_RANDOM : 0;
    }
    return e;
}

bool lz_ir_writes_to(const lz_ir_node *n, uint32_t i)
{
    if (n->op)
        return i < n->op->nargs && n->op->args[i].write;
    if (n->builtin)
        return i == 0 && (n->builtin->flags & LZ_BF_WRITES);
    return lz_ir_unknown(n);
}

/* A new list shares nothing but its elements, a new tensor not even these. */
static bool shares_elements(const lz_type *out)
{
    bool list = out->kind == LZ_TY_LIST || out->kind == LZ_TY_DICT;
    return list && lz_type_is_mutable(out->elem[out->n - 1]);
}

bool lz_ir_may_alias(const lz_ir_node *n, uint32_t in, uint32_t out)
{
    const lz_type *from = lz_ir_in(n, in)->type, *to = n->out[out]->type;
    if (!lz_type_is_mutable(from) || !lz_type_is_mutable(to))
        return false;
    if (n->op)
        return in < n->op->nargs && (n->op->args[in].alias & n->op->returns[out].alias);
    if (n->builtin && (n->builtin->flags & LZ_BF_FRESH))
        return shares_elements(to);
    return true;
}

static bool use_only_reads(const lz_ir_use *u)
{
    const lz_ir_node *n = u->user;
    uint32_t i = (uint32_t)(u - n->in);
    if (!n->op && !n->builtin)
        return false;
    if (lz_ir_effects(n) & LZ_EFFECT_WRITES) /* it may be put into what is written */
        return n->op && !n->op->args[i].write && !n->op->args[i].alias;
    for (uint32_t out = 0; out < n->nout; out++)
        if (lz_ir_may_alias(n, i, out))
            return false;
    return true;
}

bool lz_ir_only_read(const lz_ir_value *v)
{
    bool ok = true;
    for (const lz_ir_use *u = v->uses; ok && u; u = u->next)
        ok = use_only_reads(u);
    return ok;
}
