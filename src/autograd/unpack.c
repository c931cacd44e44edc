#include "autograd/unpack.h"
#include "autograd/grad_table.h"

static lz_err *modified(const lz_gnode *n, const lz_gitem *x)
{
    const lz_alias *a = x->alias;
    const char *by = a->written_by ? a->written_by->name : "?";
    return lz_errf(LZ_ERR_ARG,
                   "one of the variables needed for gradient computation has been modified by an inplace "
                   "operation: saved by %s at %s:%d, written by %s at %s:%d (version %u, expected %u)",
                   lz_gnode_name(n), n->at.file ? n->at.file : "?", (int)n->at.line, by,
                   a->written_at.file ? a->written_at.file : "?", (int)a->written_at.line, a->writes,
                   x->writes);
}

/* It is the only one of its family, so nothing else has to do with its history. */
static lz_err *attach(lz_tensor *t, lz_gedge e)
{
    if (!e.node)
        return NULL;
    t->family = ++t->ctx->families;
    LZ_TRY(lz_meta_create(t->ctx, t->family, &t->meta));
    t->meta->t = t;
    lz_gnode_retain(e.node);
    lz_meta_set_fn(t->meta, e);
    return NULL;
}

lz_err *lz_unpack_item(const lz_gnode *n, const lz_gitem *x, const lz_gedge *from, lz_tensor **out)
{
    if (x->writes != x->alias->writes)
        return modified(n, x);
    LZ_TRY(lz_tensor_create(x->alias, x->spec, x->offset, out));
    return from ? attach(*out, *from) : NULL;
}

static lz_err *unpack_tensor(lz_recorder *r, lz_gnode *n, uint32_t i, bool attached, lz_lv *out)
{
    const lz_gitem *x = &n->items[i];
    lz_tensor *t = NULL;
    *out = lz_lv_none();
    if (!x->spec)
        return NULL;
    if (!x->alias)
        return lz_recorder_facts(r, (lz_dtype)x->spec->dtype, lz_spec_sizes(x->spec), out);
    const lz_gedge from = i < n->nin ? n->edges[i] : (lz_gedge){ n, i - n->nin };
    LZ_TRY(lz_unpack_item(n, x, attached ? &from : NULL, &t));
    return lz_recorder_add(r, t, out);
}

static lz_err *unpack_value(lz_recorder *r, lz_gnode *n, const lz_value *v, uint32_t *item, bool attached,
                            lz_lv *out)
{
    lz_lv *list;
    if (v->kind == LZ_KIND_TENSOR)
        return unpack_tensor(r, n, (*item)++, attached, out);
    if (v->kind != LZ_KIND_TENSORS || v->tensors.n < 0)
        return lz_recorder_take(r, v, out);
    LZ_TRY(lz_low_list_new(&r->b, (size_t)v->tensors.n, &list));
    for (int64_t i = 0; i < v->tensors.n; i++)
        LZ_TRY(unpack_tensor(r, n, (*item)++, attached, &list[i]));
    *out = lz_lv_list(list, (size_t)v->tensors.n);
    return NULL;
}

lz_err *lz_unpack_call(lz_recorder *r, lz_gnode *n, bool attached, lz_lv *args, lz_lv *results)
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
