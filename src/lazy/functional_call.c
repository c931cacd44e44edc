#include "lazy/functional_call.h"
#include "base/mem.h"
#include "lazy/lazy_tensor.h"
#include "lazy/record.h"
#include "lazy/record_impl.h"
#include "lower/write_rules.h"
#include <inttypes.h>

/* ---- arguments of the functional operator ---- */

static lz_value argument(const lz_op_row *op, const lz_value *in, const lz_writes *writes, uint32_t i)
{
    const lz_arg_row *a = &lz_write_functional(op)->args[i];
    uint32_t source = lz_write_source(op, i);
    bool passed = source != LZ_NO_ARGUMENT && lz_functional_is_passed(&in[source]);
    if (!passed && writes->n && lz_write_takes_dtype(op, i))
        return lz_value_dtype((lz_dtype)writes->v[0].t->spec->dtype);
    return source != LZ_NO_ARGUMENT ? in[source] : a->default_value ? *a->default_value : lz_value_none();
}

const lz_value *lz_functional_args(const lz_op_row *op, const lz_value *in, const lz_writes *writes,
                                   lz_value *own)
{
    bool own_dtype = writes->n && lz_layout_of(op)->memory & LZ_MEMORY_OWN_DTYPE;
    if (lz_write_same_arguments(op) && !own_dtype)
        return in;
    for (uint32_t i = 0; i < lz_write_functional(op)->nargs; i++)
        own[i] = argument(op, in, writes, i);
    return own;
}

/* ---- the written tensors ---- */

static uint32_t count_written(const lz_functional_row *row, const lz_value *in)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < row->nwrites; k++) {
        const lz_value *v = &in[row->writes[k].argument];
        n += v->kind == LZ_KIND_TENSORS && v->tensors.n > 0 ? (uint32_t)v->tensors.n : 1;
    }
    return n;
}

static lz_err *reserve(lz_writes *list, uint32_t n)
{
    list->n = 0;
    list->v = list->few;
    if (n <= sizeof list->few / sizeof *list->few)
        return NULL;
    list->v = lz_mem_alloc(n * sizeof *list->v);
    return list->v ? NULL : lz_err_oom();
}

void lz_writes_deinit(lz_writes *list)
{
    if (list->v != list->few)
        lz_mem_free(list->v);
    list->v = NULL;
    list->n = 0;
}

static lz_err *add(const lz_ctx *c, lz_writes *list, lz_written x, bool *ok)
{
    bool usable = true;
    LZ_TRY(lz_record_check(c, x.t, &usable));
    *ok = *ok && usable;
    list->v[list->n++] = x;
    return NULL;
}

static lz_err *add_list(const lz_ctx *c, lz_writes *list, const char *name, const lz_value *v,
                        uint32_t result, bool *ok)
{
    for (int64_t i = 0; i < v->tensors.n; i++) {
        lz_written x = { v->tensors.v[i], result, (uint32_t)i, (uint32_t)v->tensors.n };
        if (!x.t)
            return lz_errf(LZ_ERR_ARG, "argument '%s' must be a list of tensors, item %" PRIi64 " is none",
                           name, i);
        LZ_TRY(add(c, list, x, ok));
    }
    return NULL;
}

lz_err *lz_writes_find(const lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_writes *out, bool *ok)
{
    const lz_functional_row *row = lz_functional_of(op);
    LZ_TRY(reserve(out, count_written(row, in)));
    for (uint32_t k = 0; k < row->nwrites; k++) {
        const lz_arg_row *a = &op->args[row->writes[k].argument];
        const lz_value *v = &in[row->writes[k].argument];
        uint32_t result = row->writes[k].result;
        if (a->type->kind == LZ_KIND_TENSORS) {
            if (v->kind != LZ_KIND_TENSORS || v->tensors.n < 0)
                return lz_errf(LZ_ERR_ARG, "argument '%s' must be a list of tensors, not none", a->name);
            LZ_TRY(lz_call_check_lists(op, in));
            LZ_TRY(add_list(c, out, a->name, v, result, ok));
        } else if (v->kind == LZ_KIND_TENSOR && v->tensor) {
            LZ_TRY(add(c, out, (lz_written){ .t = v->tensor, .result = result }, ok));
        } else if (!(a->type->flags & LZ_TYPE_OPTIONAL)) {
            return lz_errf(LZ_ERR_ARG, "argument '%s' must be a tensor, not none", a->name);
        }
    }
    return NULL;
}

lz_tensor *lz_written_value(const lz_written *w, const lz_value *results, size_t n)
{
    const lz_value *v = w->result < n ? &results[w->result] : NULL;
    if (v && v->kind == LZ_KIND_TENSORS)
        return w->of && w->item < (uint64_t)v->tensors.n ? v->tensors.v[w->item] : NULL;
    return v && v->kind == LZ_KIND_TENSOR && !w->of ? v->tensor : NULL;
}

void lz_functional_call_deinit(lz_functional_call *f)
{
    lz_writes_deinit(&f->writes);
}

/* ---- lists whose items are written one after the other ---- */

/* The storages of written lists, by address: which item uses a storage. */
typedef struct storages {
    const lz_lazy_storage **of; /* NULL: free */
    uint32_t *item, mask;
} storages;

static uint32_t place_of(const storages *s, const lz_lazy_storage *x)
{
    uint32_t i = (uint32_t)((uintptr_t)x >> 4) & s->mask;
    while (s->of[i] && s->of[i] != x)
        i = (i + 1) & s->mask;
    return i;
}

/* Whether another item than `item` has written elements of that storage, as far as the first finding goes. */
static bool is_anothers(const storages *s, const lz_tensor *t, uint32_t item)
{
    uint32_t i = place_of(s, t->storage);
    return s->of[i] && s->item[i] != item;
}

/* Whether the storage of a written item is also used by another item. */
static bool shares_storages(storages *s, const lz_op_row *op, const lz_value *in, const lz_writes *writes)
{
    bool found = false;
    for (uint32_t i = 0; i < writes->n; i++) {
        const lz_written *x = &writes->v[i];
        uint32_t k = place_of(s, x->t->storage);
        found = found || (s->of[k] && s->item[k] != x->item);
        s->of[k] = x->t->storage;
        s->item[k] = x->item;
    }
    for (uint32_t i = 0; i < op->nargs; i++)
        for (int64_t k = 0; in[i].kind == LZ_KIND_TENSORS && !found && k < in[i].tensors.n; k++)
            found = in[i].tensors.v[k]->storage && is_anothers(s, in[i].tensors.v[k], (uint32_t)k);
    return found;
}

/* Whether item i of a written list is seen by another item of the call: its new value is an operand there. */
static bool meets_another(const lz_op_row *op, const lz_value *in, const lz_written *x)
{
    bool found = false;
    for (uint32_t i = 0; i < op->nargs; i++)
        for (int64_t k = 0; in[i].kind == LZ_KIND_TENSORS && !found && k < in[i].tensors.n; k++) {
            const lz_tensor *y = in[i].tensors.v[k];
            found = k != x->item && y->storage == x->t->storage && lz_tensors_overlap(x->t, y);
        }
    return found;
}

lz_err *lz_record_is_by_items(const lz_op_row *op, const lz_value *in, const lz_writes *writes, bool *found)
{
    storages s = { .mask = 15 };
    *found = false;
    if (op->kind != LZ_SCHEMA_INPLACE || !(lz_layout_of(op)->memory & LZ_MEMORY_ITEMS) || writes->n < 2)
        return NULL;
    while (s.mask < 2 * writes->n)
        s.mask = 2 * s.mask + 1;
    s.of = lz_mem_zalloc(s.mask + 1, sizeof *s.of);
    s.item = lz_mem_zalloc(s.mask + 1, sizeof *s.item);
    bool shared = s.of && s.item && shares_storages(&s, op, in, writes);
    for (uint32_t i = 0; shared && !*found && i < writes->n; i++)
        *found = writes->v[i].of > 1 && meets_another(op, in, &writes->v[i]);
    bool failed = !s.of || !s.item;
    lz_mem_free(s.of);
    lz_mem_free(s.item);
    return failed ? lz_err_oom() : NULL;
}

/* The arguments of a call for item i: lists of one item. */
static void slice(const lz_op_row *op, const lz_value *in, int64_t n, int64_t i, lz_value *out)
{
    for (uint32_t k = 0; k < op->nargs; k++) {
        out[k] = in[k];
        if (in[k].kind == LZ_KIND_TENSORS && in[k].tensors.n == n)
            out[k].tensors = (lz_tensors){ in[k].tensors.v + i, 1 };
        if (in[k].kind == LZ_KIND_SCALARS && in[k].scalars.n == n)
            out[k].scalars = (lz_scalars){ in[k].scalars.v + i, 1 };
    }
}

lz_err *lz_record_by_items(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, uint32_t n)
{
    lz_value one[LZ_ARGS_MAX], none[LZ_ARGS_MAX];
    for (uint32_t i = 0; i < n; i++) {
        slice(op, in, n, i, one);
        LZ_TRY(lz_record_part(c, op, at, one, none));
    }
    return NULL;
}
