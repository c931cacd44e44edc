#include "autograd/unpack.h"
#include "autograd/grad_table.h"

static lz_err *modified(const lz_tape_node *n, const lz_saved *x)
{
    lz_last_write w = lz_saved_last_write(x);
    const char *by = w.op ? w.op->name : "?";
    return lz_err_because(
        LZ_REASON_AUTOGRAD_MODIFIED,
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: saved by %s at %s:%d, written by %s at %s:%d (version %u, expected %u)",
        lz_tape_node_name(n), n->at.file ? n->at.file : "?", (int)n->at.line, by, w.at.file ? w.at.file : "?",
        (int)w.at.line, w.writes, x->writes);
}

/* Gives t the history e, which no other tensor shares. */
static lz_err *attach(lz_tensor *t, lz_tape_edge e)
{
    lz_grad_meta *m;
    if (!e.node)
        return NULL;
    lz_tensor_begin_history(t);
    LZ_TRY(lz_meta_create(t, &m));
    lz_tensor_attach(t, &m->base);
    lz_tape_node_retain(e.node);
    lz_meta_set_fn(m, e);
    return NULL;
}

lz_err *lz_unpack_item(const lz_tape_node *n, const lz_saved *x, const lz_tape_edge *from, lz_tensor **out)
{
    if (!lz_saved_is_current(x))
        return modified(n, x);
    LZ_TRY(lz_saved_tensor(x, out));
    return from ? attach(*out, *from) : NULL;
}

static lz_err *unpack_tensor(lz_recorder *r, lz_tape_node *n, uint32_t i, bool attached, lz_low_value *out)
{
    const lz_saved *x = &n->items[i];
    lz_tensor *t = NULL;
    *out = lz_low_value_none();
    if (!x->spec)
        return NULL;
    if (!x->storage)
        return lz_recorder_facts(r, (lz_dtype)x->spec->dtype, lz_spec_sizes(x->spec), out);
    const lz_tape_edge from = i < n->nin ? n->edges[i] : (lz_tape_edge){ n, i - n->nin };
    LZ_TRY(lz_unpack_item(n, x, attached ? &from : NULL, &t));
    return lz_recorder_add(r, t, out);
}

static lz_err *unpack_value(lz_recorder *r, lz_tape_node *n, const lz_value *v, uint32_t *item, bool attached,
                            lz_low_value *out)
{
    lz_low_value *list;
    if (v->kind == LZ_KIND_TENSOR)
        return unpack_tensor(r, n, (*item)++, attached, out);
    if (v->kind != LZ_KIND_TENSORS || v->tensors.n < 0)
        return lz_recorder_take(r, v, out);
    LZ_TRY(lz_low_list_new(&r->b, (size_t)v->tensors.n, &list));
    for (int64_t i = 0; i < v->tensors.n; i++)
        LZ_TRY(unpack_tensor(r, n, (*item)++, attached, &list[i]));
    *out = lz_low_value_list(list, (size_t)v->tensors.n);
    return NULL;
}

lz_err *lz_unpack_call(lz_recorder *r, lz_tape_node *n, bool attached, lz_low_value *args,
                       lz_low_value *results)
{
    uint32_t item = 0;
    for (uint32_t i = 0; i < n->nargs; i++)
        LZ_TRY(unpack_value(r, n, &n->values[i], &item, attached, &args[i]));
    for (uint32_t i = 0; i < n->nresults; i++) {
        bool has = lz_grad_table[n->op].results >> i & 1;
        LZ_TRY(unpack_value(r, n, &n->values[n->nargs + i], &item, attached && has, &results[i]));
    }
    return NULL;
}
