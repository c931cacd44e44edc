#include "script/inst.h"
#include "base/vec.h"
#include "graph/gvalue_type.h"

enum { FEW = 16 };

typedef lz_err *run_fn(const lz_inst *i, lz_gv *slots);

static lz_gv in(const lz_inst *i, const lz_gv *slots, uint32_t k)
{
    return slots[i->in[k]];
}

/* ---- built-ins ---- */

static lz_err *call_builtin(const lz_inst *i, lz_gv *slots, lz_gv *args, lz_gv *results)
{
    for (uint32_t k = 0; k < i->nin; k++)
        args[k] = in(i, slots, k);
    for (uint32_t k = 0; k < i->nout; k++)
        results[k] = lz_gv_none();
    LZ_TRY(i->node->builtin->run(args, i->nin, results));
    for (uint32_t k = 0; k < i->nout; k++)
        lz_gv_set(&slots[i->out[k]], results[k]);
    return NULL;
}

static lz_err *run_builtin(const lz_inst *i, lz_gv *slots)
{
    lz_gv few[2 * FEW];
    LZ_VEC(lz_gv) many = { 0 };
    if (i->nin <= FEW && i->nout <= FEW)
        return call_builtin(i, slots, few, few + FEW);
    LZ_TRY(lz_vec_reserve(&many, i->nin + i->nout));
    lz_err *e = call_builtin(i, slots, many.data, many.data + i->nin);
    lz_vec_deinit(&many);
    return e;
}

/* ---- lists, tuples, dicts ---- */

static lz_err *make_list(const lz_inst *i, lz_gv *slots)
{
    lz_gv list;
    lz_err *e = NULL;
    LZ_TRY(lz_gv_list_make(i->nin, &list));
    for (uint32_t k = 0; !e && k < i->nin; k++)
        e = lz_gv_push(list, lz_gv_retain(in(i, slots, k)));
    if (e)
        lz_gv_release(list);
    else
        lz_gv_set(&slots[i->out[0]], list);
    return e;
}

static lz_err *make_tuple(const lz_inst *i, lz_gv *slots)
{
    lz_gv tuple;
    LZ_VEC(lz_gv) items = { 0 };
    LZ_TRY(lz_vec_reserve(&items, i->nin + 1));
    for (uint32_t k = 0; k < i->nin; k++)
        items.data[k] = lz_gv_retain(in(i, slots, k));
    lz_err *e = lz_gv_tuple(items.data, i->nin, &tuple);
    lz_vec_deinit(&items);
    if (!e)
        lz_gv_set(&slots[i->out[0]], tuple);
    return e;
}

static lz_err *unpack(const lz_inst *i, lz_gv *slots)
{
    lz_gv v = in(i, slots, 0);
    if ((v.kind != LZ_GV_LIST && v.kind != LZ_GV_TUPLE) || v.list->len != i->nout)
        return lz_errf(LZ_ERR_ARG, "Expected %u elements in a list but found %zu", i->nout,
                       v.kind == LZ_GV_LIST || v.kind == LZ_GV_TUPLE ? v.list->len : 0);
    for (uint32_t k = 0; k < i->nout; k++)
        lz_gv_set(&slots[i->out[k]], lz_gv_retain(v.list->data[k]));
    return NULL;
}

static lz_err *tuple_index(const lz_inst *i, lz_gv *slots)
{
    lz_gv v = in(i, slots, 0), at = in(i, slots, 1);
    int64_t n = v.kind == LZ_GV_TUPLE ? (int64_t)v.list->len : 0, k = at.i < 0 ? at.i + n : at.i;
    if (at.kind != LZ_GV_INT || k < 0 || k >= n)
        return lz_errf(LZ_ERR_ARG, "Tuple index out of range");
    lz_gv_set(&slots[i->out[0]], lz_gv_retain(v.list->data[k]));
    return NULL;
}

static int64_t slice_bound(const lz_ir_node *n, const char *name, int64_t otherwise)
{
    const lz_ir_attr *a = lz_ir_attr_find(n, name);
    return a && a->value.kind == LZ_GV_INT ? a->value.i : otherwise;
}

static lz_err *tuple_slice(const lz_inst *i, lz_gv *slots)
{
    lz_gv v = in(i, slots, 0), out;
    int64_t n = v.kind == LZ_GV_TUPLE ? (int64_t)v.list->len : 0;
    int64_t from = slice_bound(i->node, "beg", 0), to = slice_bound(i->node, "end", n);
    from = from < 0 ? 0 : from > n ? n : from;
    to = to < from ? from : to > n ? n : to;
    for (int64_t k = from; k < to; k++)
        lz_gv_retain(v.list->data[k]);
    LZ_TRY(lz_gv_tuple(n ? v.list->data + from : NULL, (size_t)(to - from), &out));
    lz_gv_set(&slots[i->out[0]], out);
    return NULL;
}

static lz_err *make_dict(const lz_inst *i, lz_gv *slots)
{
    lz_gv dict;
    lz_err *e = NULL;
    LZ_TRY(lz_gv_dict_make(&dict));
    for (uint32_t k = 0; !e && k + 1 < i->nin; k += 2)
        e = lz_gv_dict_put(dict, lz_gv_retain(in(i, slots, k)), lz_gv_retain(in(i, slots, k + 1)));
    if (e)
        lz_gv_release(dict);
    else
        lz_gv_set(&slots[i->out[0]], dict);
    return e;
}

/* ---- the rest ---- */

static lz_err *uninitialized(const lz_inst *i, lz_gv *slots)
{
    lz_gv v;
    LZ_TRY(lz_gv_default(i->node->out[0]->type, &v));
    lz_gv_set(&slots[i->out[0]], v);
    return NULL;
}

static lz_err *same(const lz_inst *i, lz_gv *slots)
{
    lz_gv v = in(i, slots, 0);
    if (!lz_gv_fits(v, i->node->out[0]->type))
        return lz_errf(LZ_ERR_ARG, "the value is not of the type that it is cast to");
    lz_gv_set(&slots[i->out[0]], lz_gv_retain(v));
    return NULL;
}

static lz_err *unknown(const lz_inst *i, lz_gv *slots)
{
    (void)slots;
    return lz_errf(LZ_ERR_UNSUPPORTED, "nobody knows what %.*s does", LZ_FMT(i->node->sym->name));
}

static run_fn *const runners[LZ_INST_KINDS] = {
    [LZ_INST_BUILTIN] = run_builtin,
    [LZ_INST_LIST] = make_list,
    [LZ_INST_LIST_UNPACK] = unpack,
    [LZ_INST_TUPLE] = make_tuple,
    [LZ_INST_TUPLE_UNPACK] = unpack,
    [LZ_INST_TUPLE_INDEX] = tuple_index,
    [LZ_INST_TUPLE_SLICE] = tuple_slice,
    [LZ_INST_DICT] = make_dict,
    [LZ_INST_UNINITIALIZED] = uninitialized,
    [LZ_INST_SAME] = same,
    [LZ_INST_UNKNOWN] = unknown,
};

lz_err *lz_inst_run(const lz_inst *i, lz_gv *slots)
{
    return runners[i->kind](i, slots);
}
