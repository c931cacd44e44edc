/* Nodes that are neither operators nor built-ins: their names, and their rules for inputs, outputs and
 * blocks. */
#include "graph/ir.h"
#include "graph/script_value_type.h"

typedef const char *check_fn(const lz_ssa_node *n); /* returns the broken rule; NULL: none */

static lz_type_kind kind_of(const lz_ssa_value *v)
{
    return v->type->kind;
}

static bool all_fit(const lz_ssa_node *from, uint32_t first, const lz_type *wanted)
{
    bool ok = true;
    for (uint32_t i = first; ok && i < from->nin; i++)
        ok = lz_type_fits(lz_ssa_in(from, i)->type, wanted);
    return ok;
}

static const char *check_constant(const lz_ssa_node *n)
{
    lz_script_value v;
    if (n->nin || n->nout != 1 || n->nblocks)
        return "a constant has one output and nothing else";
    lz_ssa_const(n->out[0], &v);
    if (n->nattrs > 1 || (n->nattrs && n->attrs[0]->type))
        return "a constant has at most one attribute, its value";
    if (n->nattrs && !lz_str_is(n->attrs[0]->name, "value"))
        return "the attribute of a constant is called value";
    return lz_script_value_fits(v, n->out[0]->type) ? NULL : "the value of a constant is of its type";
}

static const char *check_if(const lz_ssa_node *n)
{
    if (n->nin != 1 || kind_of(lz_ssa_in(n, 0)) != LZ_GRAPH_TYPE_BOOL)
        return "prim::If takes a bool";
    if (n->nblocks != 2 || n->blocks[0]->param->nout || n->blocks[1]->param->nout)
        return "prim::If has two blocks, without parameters";
    for (uint32_t b = 0; b < 2; b++) {
        const lz_ssa_node *ret = n->blocks[b]->ret;
        bool ok = ret->nin == n->nout;
        for (uint32_t i = 0; ok && i < n->nout; i++)
            ok = lz_type_fits(lz_ssa_in(ret, i)->type, n->out[i]->type);
        if (!ok)
            return "each block of prim::If gives what the node gives";
    }
    return NULL;
}

/* prim::Loop(trips, condition, carried...) with block(i, carried...) -> (condition, carried...) */
static const char *check_loop(const lz_ssa_node *n)
{
    if (n->nin < 2 || kind_of(lz_ssa_in(n, 0)) != LZ_GRAPH_TYPE_INT
        || kind_of(lz_ssa_in(n, 1)) != LZ_GRAPH_TYPE_BOOL)
        return "prim::Loop takes an int and a bool, then what it carries";
    if (n->nblocks != 1)
        return "prim::Loop has one block";
    const lz_ssa_node *param = n->blocks[0]->param, *ret = n->blocks[0]->ret;
    uint32_t carried = n->nin - 2;
    if (param->nout != carried + 1 || kind_of(param->out[0]) != LZ_GRAPH_TYPE_INT)
        return "the block of prim::Loop takes the iteration, an int, then what is carried";
    if (ret->nin != carried + 1 || kind_of(lz_ssa_in(ret, 0)) != LZ_GRAPH_TYPE_BOOL)
        return "the block of prim::Loop gives the next condition, a bool, then what is carried";
    bool ok = n->nout == carried;
    for (uint32_t i = 0; ok && i < carried; i++)
        ok = lz_type_fits(lz_ssa_in(n, i + 2)->type, param->out[i + 1]->type)
             && lz_type_fits(lz_ssa_in(ret, i + 1)->type, param->out[i + 1]->type)
             && lz_type_fits(param->out[i + 1]->type, n->out[i]->type);
    return ok ? NULL : "prim::Loop carries the same types in, around and out";
}

static const char *check_list(const lz_ssa_node *n)
{
    if (n->nout != 1 || kind_of(n->out[0]) != LZ_GRAPH_TYPE_LIST)
        return "prim::ListConstruct gives one list";
    return all_fit(n, 0, n->out[0]->type->elem[0]) ? NULL : "the elements of a list are of its type";
}

static const char *check_list_unpack(const lz_ssa_node *n)
{
    if (n->nin != 1 || kind_of(lz_ssa_in(n, 0)) != LZ_GRAPH_TYPE_LIST)
        return "prim::ListUnpack takes one list";
    for (uint32_t i = 0; i < n->nout; i++)
        if (!lz_type_fits(lz_ssa_in(n, 0)->type->elem[0], n->out[i]->type))
            return "prim::ListUnpack gives elements of the list's type";
    return NULL;
}

static const char *check_tuple(const lz_ssa_node *n)
{
    if (n->nout != 1 || kind_of(n->out[0]) != LZ_GRAPH_TYPE_TUPLE)
        return "prim::TupleConstruct gives one tuple";
    const lz_type *t = n->out[0]->type;
    bool ok = t->n == n->nin;
    for (uint32_t i = 0; ok && i < n->nin; i++)
        ok = lz_type_fits(lz_ssa_in(n, i)->type, t->elem[i]);
    return ok ? NULL : "the elements of a tuple are of its types";
}

static const char *check_tuple_unpack(const lz_ssa_node *n)
{
    if (n->nin != 1 || kind_of(lz_ssa_in(n, 0)) != LZ_GRAPH_TYPE_TUPLE)
        return "prim::TupleUnpack takes one tuple";
    const lz_type *t = lz_ssa_in(n, 0)->type;
    bool ok = t->n == n->nout;
    for (uint32_t i = 0; ok && i < n->nout; i++)
        ok = lz_type_fits(t->elem[i], n->out[i]->type);
    return ok ? NULL : "prim::TupleUnpack gives the elements of the tuple";
}

static const char *check_tuple_index(const lz_ssa_node *n)
{
    bool ok = n->nin == 2 && n->nout == 1 && kind_of(lz_ssa_in(n, 0)) == LZ_GRAPH_TYPE_TUPLE
              && kind_of(lz_ssa_in(n, 1)) == LZ_GRAPH_TYPE_INT;
    return ok ? NULL : "prim::TupleIndex takes a tuple and an int and gives one element";
}

static const char *check_tuple_slice(const lz_ssa_node *n)
{
    bool ok = n->nin == 1 && n->nout == 1 && kind_of(lz_ssa_in(n, 0)) == LZ_GRAPH_TYPE_TUPLE
              && kind_of(n->out[0]) == LZ_GRAPH_TYPE_TUPLE;
    return ok ? NULL : "prim::TupleSlice takes a tuple and gives a tuple";
}

static const char *check_dict(const lz_ssa_node *n)
{
    if (n->nout != 1 || kind_of(n->out[0]) != LZ_GRAPH_TYPE_DICT || n->nin % 2)
        return "prim::DictConstruct takes keys and values in turn and gives one dict";
    bool ok = true;
    for (uint32_t i = 0; ok && i < n->nin; i++)
        ok = lz_type_fits(lz_ssa_in(n, i)->type, n->out[0]->type->elem[i % 2]);
    return ok ? NULL : "keys and values of a dict are of its types";
}

static const char *check_uninitialized(const lz_ssa_node *n)
{
    return n->nin == 0 && n->nout == 1 ? NULL : "prim::Uninitialized has one output and no input";
}

static const char *check_cast(const lz_ssa_node *n)
{
    return n->nin == 1 && n->nout == 1 ? NULL : "prim::unchecked_cast takes one value and gives it";
}

static const char *check_nothing(const lz_ssa_node *n)
{
    (void)n;
    return NULL;
}

static const struct {
    const char *name;
    check_fn *check;
} prims[LZ_PRIM_COUNT] = {
    [LZ_PRIM_NONE] = { "", check_nothing },
    [LZ_PRIM_PARAM] = { "prim::Param", check_nothing },
    [LZ_PRIM_RETURN] = { "prim::Return", check_nothing },
    [LZ_PRIM_CONSTANT] = { "prim::Constant", check_constant },
    [LZ_PRIM_IF] = { "prim::If", check_if },
    [LZ_PRIM_LOOP] = { "prim::Loop", check_loop },
    [LZ_PRIM_LIST] = { "prim::ListConstruct", check_list },
    [LZ_PRIM_LIST_UNPACK] = { "prim::ListUnpack", check_list_unpack },
    [LZ_PRIM_TUPLE] = { "prim::TupleConstruct", check_tuple },
    [LZ_PRIM_TUPLE_UNPACK] = { "prim::TupleUnpack", check_tuple_unpack },
    [LZ_PRIM_TUPLE_INDEX] = { "prim::TupleIndex", check_tuple_index },
    [LZ_PRIM_TUPLE_SLICE] = { "prim::TupleSlice", check_tuple_slice },
    [LZ_PRIM_DICT] = { "prim::DictConstruct", check_dict },
    [LZ_PRIM_UNINITIALIZED] = { "prim::Uninitialized", check_uninitialized },
    [LZ_PRIM_CAST] = { "prim::unchecked_cast", check_cast },
};

lz_prim lz_prim_find(lz_str name)
{
    for (int i = LZ_PRIM_NONE + 1; i < LZ_PRIM_COUNT; i++)
        if (lz_str_is(name, prims[i].name))
            return (lz_prim)i;
    return LZ_PRIM_NONE;
}

const char *lz_prim_name(lz_prim p)
{
    return prims[p].name;
}

const char *lz_prim_check(const lz_ssa_node *n)
{
    bool blocks = lz_ssa_is(n, LZ_PRIM_IF) || lz_ssa_is(n, LZ_PRIM_LOOP);
    bool known = n->sym->prim != LZ_PRIM_NONE || n->op || n->builtin;
    if (known && n->nblocks && !blocks)
        return "only prim::If and prim::Loop have blocks";
    return prims[n->sym->prim].check(n);
}
