#include "script/inst.h"
#include "base/vec.h"
#include "graph/script_value_type.h"
#include "op/op_find.h"

enum { FEW = 16 };

typedef lz_err *run_fn(const lz_script_instr *i, lz_script_value *slots);

static lz_script_value in(const lz_script_instr *i, const lz_script_value *slots, uint32_t k)
{
    return slots[i->in[k]];
}

/* ---- built-ins ---- */

static lz_err *call_builtin(const lz_script_instr *i, lz_script_value *slots, lz_script_value *args,
                            lz_script_value *results)
{
    for (uint32_t k = 0; k < i->nin; k++)
        args[k] = in(i, slots, k);
    for (uint32_t k = 0; k < i->nout; k++)
        results[k] = lz_script_value_none();
    LZ_TRY(i->node->builtin->run(args, i->nin, results));
    for (uint32_t k = 0; k < i->nout; k++)
        lz_script_value_set(&slots[i->out[k]], results[k]);
    return NULL;
}

static lz_err *run_builtin(const lz_script_instr *i, lz_script_value *slots)
{
    lz_script_value few[2 * FEW];
    LZ_VEC(lz_script_value) many = { 0 };
    if (i->nin <= FEW && i->nout <= FEW)
        return call_builtin(i, slots, few, few + FEW);
    LZ_TRY(lz_vec_reserve(&many, i->nin + i->nout));
    lz_err *e = call_builtin(i, slots, many.data, many.data + i->nin);
    lz_vec_deinit(&many);
    return e;
}

/* ---- lists, tuples, dicts ---- */

static lz_err *make_list(const lz_script_instr *i, lz_script_value *slots)
{
    lz_script_value list;
    lz_err *e = NULL;
    LZ_TRY(lz_script_value_list_make(i->nin, &list));
    for (uint32_t k = 0; !e && k < i->nin; k++)
        e = lz_script_value_push(list, lz_script_value_retain(in(i, slots, k)));
    if (e)
        lz_script_value_release(list);
    else
        lz_script_value_set(&slots[i->out[0]], list);
    return e;
}

static lz_err *make_tuple(const lz_script_instr *i, lz_script_value *slots)
{
    lz_script_value tuple;
    LZ_VEC(lz_script_value) items = { 0 };
    LZ_TRY(lz_vec_reserve(&items, i->nin + 1));
    for (uint32_t k = 0; k < i->nin; k++)
        items.data[k] = lz_script_value_retain(in(i, slots, k));
    lz_err *e = lz_script_value_tuple(items.data, i->nin, &tuple);
    lz_vec_deinit(&items);
    if (!e)
        lz_script_value_set(&slots[i->out[0]], tuple);
    return e;
}

static lz_err *unpack(const lz_script_instr *i, lz_script_value *slots)
{
    lz_script_value v = in(i, slots, 0);
    if ((v.kind != LZ_SCRIPT_VALUE_LIST && v.kind != LZ_SCRIPT_VALUE_TUPLE) || v.list->len != i->nout)
        return lz_errf(LZ_ERR_ARG, "Expected %u elements in a list but found %zu", i->nout,
                       v.kind == LZ_SCRIPT_VALUE_LIST || v.kind == LZ_SCRIPT_VALUE_TUPLE ? v.list->len : 0);
    for (uint32_t k = 0; k < i->nout; k++)
        lz_script_value_set(&slots[i->out[k]], lz_script_value_retain(v.list->data[k]));
    return NULL;
}

static lz_err *tuple_index(const lz_script_instr *i, lz_script_value *slots)
{
    lz_script_value v = in(i, slots, 0), at = in(i, slots, 1);
    int64_t n = v.kind == LZ_SCRIPT_VALUE_TUPLE ? (int64_t)v.list->len : 0, k = at.i < 0 ? at.i + n : at.i;
    if (at.kind != LZ_SCRIPT_VALUE_INT || k < 0 || k >= n)
        return lz_err_because(LZ_REASON_INDEX, "Tuple index out of range");
    lz_script_value_set(&slots[i->out[0]], lz_script_value_retain(v.list->data[k]));
    return NULL;
}

static int64_t slice_bound(const lz_ssa_node *n, const char *name, int64_t otherwise)
{
    const lz_ssa_attr *a = lz_ssa_attr_find(n, name);
    return a && a->value.kind == LZ_SCRIPT_VALUE_INT ? a->value.i : otherwise;
}

static lz_err *tuple_slice(const lz_script_instr *i, lz_script_value *slots)
{
    lz_script_value v = in(i, slots, 0), out;
    int64_t n = v.kind == LZ_SCRIPT_VALUE_TUPLE ? (int64_t)v.list->len : 0;
    int64_t from = slice_bound(i->node, "beg", 0), to = slice_bound(i->node, "end", n);
    from = from < 0 ? 0 : from > n ? n : from;
    to = to < from ? from : to > n ? n : to;
    for (int64_t k = from; k < to; k++)
        lz_script_value_retain(v.list->data[k]);
    LZ_TRY(lz_script_value_tuple(n ? v.list->data + from : NULL, (size_t)(to - from), &out));
    lz_script_value_set(&slots[i->out[0]], out);
    return NULL;
}

static lz_err *make_dict(const lz_script_instr *i, lz_script_value *slots)
{
    lz_script_value dict;
    lz_err *e = NULL;
    LZ_TRY(lz_script_value_dict_make(&dict));
    for (uint32_t k = 0; !e && k + 1 < i->nin; k += 2)
        e = lz_script_value_dict_put(dict, lz_script_value_retain(in(i, slots, k)),
                                     lz_script_value_retain(in(i, slots, k + 1)));
    if (e)
        lz_script_value_release(dict);
    else
        lz_script_value_set(&slots[i->out[0]], dict);
    return e;
}

/* ---- casts and unknown nodes ---- */

static lz_err *uninitialized(const lz_script_instr *i, lz_script_value *slots)
{
    lz_script_value v;
    LZ_TRY(lz_script_value_default(i->node->out[0]->type, &v));
    lz_script_value_set(&slots[i->out[0]], v);
    return NULL;
}

static lz_err *same(const lz_script_instr *i, lz_script_value *slots)
{
    lz_script_value v = in(i, slots, 0);
    if (!lz_script_value_fits(v, i->node->out[0]->type))
        return lz_errf(LZ_ERR_ARG, "the value does not have the type of the cast");
    lz_script_value_set(&slots[i->out[0]], lz_script_value_retain(v));
    return NULL;
}

static lz_err *unknown(const lz_script_instr *i, lz_script_value *slots)
{
    (void)slots;
    return lz_op_unknown(LZ_ERR_UNSUPPORTED, i->node->sym->name);
}

static run_fn *const runners[LZ_SCRIPT_INSTR_KINDS] = {
    [LZ_SCRIPT_INSTR_BUILTIN] = run_builtin,
    [LZ_SCRIPT_INSTR_LIST] = make_list,
    [LZ_SCRIPT_INSTR_LIST_UNPACK] = unpack,
    [LZ_SCRIPT_INSTR_TUPLE] = make_tuple,
    [LZ_SCRIPT_INSTR_TUPLE_UNPACK] = unpack,
    [LZ_SCRIPT_INSTR_TUPLE_INDEX] = tuple_index,
    [LZ_SCRIPT_INSTR_TUPLE_SLICE] = tuple_slice,
    [LZ_SCRIPT_INSTR_DICT] = make_dict,
    [LZ_SCRIPT_INSTR_UNINITIALIZED] = uninitialized,
    [LZ_SCRIPT_INSTR_SAME] = same,
    [LZ_SCRIPT_INSTR_UNKNOWN] = unknown,
};

lz_err *lz_script_instr_run(const lz_script_instr *i, lz_script_value *slots)
{
    return runners[i->kind](i, slots);
}
