/* Parameters and buffers of modules. */
#include "nn/module.h"
#include <assert.h>

/* ---- one parameter or buffer ---- */

static lz_err *check_tensor(const lz_module *m, const char *name, const lz_tensor *t)
{
    if (!t || lz_tensor_is_inert(t))
        return lz_errf(LZ_ERR_ARG, "'%s' has no tensor", name);
    if (lz_tensor_ctx(t) != m->ctx)
        return lz_err_because(LZ_REASON_CONTEXT, "the tensor of '%s' belongs to another context: lz_share it",
                              name);
    return NULL;
}

static lz_err *begin(lz_module_slot_kind kind, const char *name, lz_tensor *t)
{
    if (kind == LZ_SLOT_PARAM && !lz_set_requires_grad(t, true))
        return lz_errf(LZ_ERR_ARG, "'%s' cannot be a parameter: it cannot require a gradient", name);
    return NULL;
}

lz_err *lz_module_slot_add(lz_module *m, const char *name, lz_module_slot_kind kind, lz_tensor *t,
                           lz_module_slot **out)
{
    lz_module_slot *s;
    LZ_TRY(check_tensor(m, name, t));
    LZ_TRY(lz_arena_new(&m->tree->arena, &s, 1));
    LZ_TRY(lz_module_name(m, name, &s->path));
    LZ_TRY(begin(kind, name, t));
    s->kind = kind;
    s->tensor = lz_retain(t);
    if (m->last_slot)
        m->last_slot->next = s;
    else
        m->slots = s;
    m->last_slot = s;
    m->tree->changes++;
    if (out)
        *out = s;
    return NULL;
}

static bool same_sizes(const lz_tensor *a, const lz_tensor *b)
{
    lz_ints x = lz_tensor_sizes(a), y = lz_tensor_sizes(b);
    return x.n == y.n && (x.n == 0 || !memcmp(x.v, y.v, (size_t)x.n * sizeof *x.v));
}

lz_err *lz_module_slot_set(lz_module *m, lz_module_slot *slot, lz_tensor *t)
{
    assert(slot->path && slot->tensor);
    LZ_TRY(check_tensor(m, slot->path, t));
    if (!same_sizes(slot->tensor, t) || lz_tensor_dtype(slot->tensor) != lz_tensor_dtype(t))
        return lz_err_because(LZ_REASON_SHAPE, "size mismatch: the sizes or dtype of '%s' differ",
                              slot->path);
    LZ_TRY(begin(slot->kind, slot->path, t));
    lz_retain(t);
    lz_release(slot->tensor);
    slot->tensor = t;
    m->tree->changes++;
    return NULL;
}

lz_module_slot *lz_module_slot_find(lz_module *m, const char *name)
{
    for (lz_module *k = m; k; k = lz_module_after(m, k))
        for (lz_module_slot *s = k->slots; s; s = s->next)
            if (!strcmp(lz_name_in(m, s->path), name))
                return s;
    return NULL;
}

/* ---- the public interface ---- */

static lz_tensor *add(lz_module *m, const char *name, lz_module_slot_kind kind, lz_tensor *t)
{
    if (lz_module_is_inert(m))
        return t;
    lz_err *e = name ? lz_module_slot_add(m, name, kind, t, NULL)
                     : lz_errf(LZ_ERR_ARG, "a parameter or buffer needs a name");
    return e ? lz_refuse(m->ctx, m->at, lz_err_wrap(e, "%s '%s'", m->cls->name, m->path)) : t;
}

lz_tensor *lz_module_add_param(lz_module *m, const char *name, lz_tensor *t)
{
    return add(m, name, LZ_SLOT_PARAM, t);
}

lz_tensor *lz_module_add_buffer(lz_module *m, const char *name, lz_tensor *t, bool saved)
{
    return add(m, name, saved ? LZ_SLOT_BUFFER : LZ_SLOT_UNSAVED, t);
}

bool lz_module_set(lz_module *m, const char *name, lz_tensor *t)
{
    if (lz_module_is_inert(m))
        return false;
    lz_module_slot *s = lz_module_slot_find(m, name);
    return lz_nn_report(m->ctx, m->at,
                        s ? lz_module_slot_set(m, s, t)
                          : lz_errf(LZ_ERR_NOT_FOUND, "there is no parameter or buffer '%s'", name));
}

lz_tensor *lz_module_get(lz_module *m, const char *name)
{
    return m ? lz_module_slot_tensor(lz_module_slot_find(m, name)) : NULL;
}

/* ---- lists ---- */

static bool is_listed(const lz_module_slot_list *list, const lz_tensor *t)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].tensor == t)
            return true;
    return false;
}

static size_t count_slots(lz_module *m)
{
    size_t n = 0;
    for (lz_module *k = m; k; k = lz_module_after(m, k))
        for (lz_module_slot *s = k->slots; s; s = s->next)
            n++;
    return n;
}

static lz_err *fill(lz_module *m, bool buffers, lz_module_slot_list *list)
{
    size_t n = count_slots(m);
    if (n > list->cap) {
        LZ_TRY(lz_arena_new(&m->tree->arena, &list->v, n));
        list->cap = n;
    }
    list->n = 0;
    for (lz_module *k = m; k; k = lz_module_after(m, k))
        for (lz_module_slot *s = k->slots; s; s = s->next)
            if ((s->kind != LZ_SLOT_PARAM) == buffers && !is_listed(list, s->tensor))
                list->v[list->n++] = (lz_named_tensor){ lz_name_in(m, s->path), s->tensor };
    list->made = m->tree->changes;
    return NULL;
}

static lz_named_tensors get_list(lz_module *m, bool buffers)
{
    if (!m)
        return (lz_named_tensors){ 0 };
    lz_module_slot_list *list = &m->lists[buffers];
    if (list->made != m->tree->changes && !lz_nn_report(m->ctx, m->at, fill(m, buffers, list)))
        return (lz_named_tensors){ 0 };
    return (lz_named_tensors){ list->v, list->n };
}

lz_named_tensors lz_module_params(lz_module *m)
{
    return get_list(m, false);
}

lz_named_tensors lz_module_buffers(lz_module *m)
{
    return get_list(m, true);
}

lz_tensor *lz_module_param(lz_module *m, size_t i, const char **name)
{
    lz_named_tensors list = lz_module_params(m);
    if (i >= list.n)
        return NULL;
    if (name)
        *name = list.v[i].name;
    return list.v[i].tensor;
}

int64_t lz_module_numel(lz_module *m)
{
    int64_t n = 0;
    lz_named_tensors list = lz_module_params(m);
    for (size_t i = 0; i < list.n; i++)
        n += lz_tensor_numel(list.v[i].tensor);
    return n;
}
