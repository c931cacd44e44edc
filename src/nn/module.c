#include "nn/module.h"
#include "base/mem.h"
#include "base/number.h"
#include <assert.h>

/* ---- errors ---- */

lz_tensor *lz_refuse(lz_ctx *c, lz_loc at, lz_err *e)
{
    return lz_fail_with(c, at, e);
}

bool lz_nn_report(lz_ctx *c, lz_loc at, lz_err *e)
{
    if (e)
        lz_refuse(c, at, e);
    return !e;
}

/* ---- trees ---- */

static lz_tensor *forward_inert(lz_module *m, lz_tensor *x)
{
    (void)x;
    return lz_fail(m->ctx, m->at, LZ_ERR_ARG, "the module is inert: a call that should have made it failed");
}

static const lz_module_class container = { "Module", NULL, NULL };
static const lz_module_class inert = { "inert", forward_inert, NULL };

lz_module *lz_module_create(lz_ctx *c)
{
    lz_tree *t = lz_mem_zalloc(1, sizeof *t);
    if (!t) {
        (void)lz_nn_report(c, (lz_loc){ 0 }, lz_err_oom());
        return NULL;
    }
    lz_arena_init(&t->arena);
    t->root =
        (lz_module){ .tree = t, .ctx = c, .path = "", .cls = &container, .dtype = LZ_F32, .training = true };
    t->inert = t->root;
    t->inert.cls = &inert;
    return &t->root;
}

lz_module *lz_module_after(const lz_module *top, lz_module *m)
{
    if (m->first)
        return m->first;
    while (m != top && !m->next)
        m = m->parent;
    return m == top ? NULL : m->next;
}

static void drop_slots(lz_module *m)
{
    for (lz_module_slot *s = m->slots; s; s = s->next)
        lz_release(s->tensor);
    m->slots = m->last_slot = NULL;
}

void lz_module_free(lz_module *root)
{
    if (!root)
        return;
    if (root->parent || root->cls == &inert) {
        lz_fail(root->ctx, (lz_loc){ 0 }, LZ_ERR_ARG, "lz_module_free: expected the root of a tree");
        return;
    }
    for (lz_module *m = root; m; m = lz_module_after(root, m)) {
        drop_slots(m);
        if (m->cls->drop)
            m->cls->drop(m->data);
    }
    lz_tree *t = root->tree;
    lz_arena_deinit(&t->arena);
    lz_mem_free(t);
}

lz_ctx *lz_module_ctx(const lz_module *m)
{
    return m ? m->ctx : NULL;
}

const char *lz_module_path(const lz_module *m)
{
    return m ? m->path : "";
}

bool lz_module_is_inert(const lz_module *m)
{
    return !m || m->cls == &inert;
}

void *lz_module_data(const lz_module *m)
{
    return m ? m->data : NULL;
}

/* ---- names ---- */

const char *lz_name_in(const lz_module *m, const char *path)
{
    size_t n = strlen(m->path);
    return path + (n ? n + 1 : 0);
}

static bool is_taken(const lz_module *m, const char *name)
{
    for (const lz_module *k = m->first; k; k = k->next)
        if (!strcmp(lz_name_in(m, k->path), name))
            return true;
    for (const lz_module_slot *s = m->slots; s; s = s->next)
        if (!strcmp(lz_name_in(m, s->path), name))
            return true;
    return false;
}

lz_err *lz_module_name(lz_module *m, const char *name, const char **out)
{
    char number[LZ_INT_CHARS + 1];
    lz_str path;
    if (!name) {
        number[lz_uint64_print(m->nchildren, number)] = '\0';
        name = number;
    }
    if (!*name || strchr(name, '.'))
        return lz_errf(LZ_ERR_ARG, "'%s': a name must not be empty and must not have dots", name);
    if (is_taken(m, name))
        return lz_errf(LZ_ERR_ARG, "'%s%s%s' exists already", m->path, *m->path ? "." : "", name);
    LZ_TRY(lz_arena_printf(&m->tree->arena, &path, "%s%s%s", m->path, *m->path ? "." : "", name));
    *out = path.ptr;
    return NULL;
}

lz_module *lz_module_find(lz_module *m, const char *path)
{
    for (lz_module *k = m; k; k = lz_module_after(m, k))
        if (k != m && !strcmp(lz_name_in(m, k->path), path))
            return k;
    return NULL;
}

lz_module *lz_module_child(const lz_module *m, size_t i)
{
    lz_module *k = m ? m->first : NULL;
    while (k && i-- > 0)
        k = k->next;
    return k;
}

/* ---- children ---- */

static lz_err *add_child(lz_module *parent, const char *name, const lz_module_class *cls, lz_module **out)
{
    lz_module *m;
    LZ_TRY(lz_arena_new(&parent->tree->arena, &m, 1));
    LZ_TRY(lz_module_name(parent, name, &m->path));
    m->tree = parent->tree;
    m->ctx = parent->ctx;
    m->parent = parent;
    m->cls = cls;
    m->dtype = parent->dtype;
    m->training = parent->training;
    if (parent->last)
        parent->last->next = m;
    else
        parent->first = m;
    parent->last = m;
    parent->nchildren++;
    parent->tree->changes++;
    *out = m;
    return NULL;
}

/* Removes the last child and all modules below it. */
static void take_back(lz_module *m)
{
    lz_module *parent = m->parent, *before = NULL;
    for (lz_module *k = m; k; k = lz_module_after(m, k))
        drop_slots(k);
    for (lz_module *k = parent->first; k != m; k = k->next)
        before = k;
    if (before)
        before->next = NULL;
    else
        parent->first = NULL;
    parent->last = before;
    parent->nchildren--;
    parent->tree->changes++;
}

static lz_err *build_layer(lz_module *m, const lz_layer *layer, const void *options, size_t size)
{
    const lz_loc at = m->at;
    LZ_TRY(lz_arena_array(&m->tree->arena, 1, size ? size : 1, &m->data));
    if (size)
        memcpy(m->data, options, size);
    if (!layer->build)
        return NULL;
    lz_err *e = NULL;
    lz_scope *s = lz_scope_push(m->ctx);
    LZ_NO_GRAD(m->ctx)
    {
        e = layer->build(m);
    }
    lz_scope_pop(s);
    return e;
}

lz_module *lz_layer_make(lz_module *parent, lz_loc at, const char *name, const lz_layer *layer,
                         const void *options, size_t size)
{
    assert(layer->cls.name && (options || !size));
    if (lz_module_is_inert(parent))
        return parent;
    lz_module *m = NULL;
    lz_err *e = add_child(parent, name, &layer->cls, &m);
    if (!e) {
        m->at = at;
        e = lz_err_wrap(build_layer(m, layer, options, size), "%s '%s'", layer->cls.name, m->path);
        if (e)
            take_back(m);
    }
    parent->lacks_layer |= e != NULL;
    return lz_nn_report(parent->ctx, at, e) ? m : &parent->tree->inert;
}

lz_module *lz_nn_module_at(lz_module *parent, lz_loc at, const char *name)
{
    static const lz_layer layer = { { "Module", NULL, NULL }, NULL };
    return lz_layer_make(parent, at, name, &layer, NULL, 0);
}

lz_module *lz_nn_custom_at(lz_module *parent, lz_loc at, const char *name, const lz_module_class *cls,
                           void *data)
{
    lz_module *m = NULL;
    lz_err *e = NULL;
    if (!lz_module_is_inert(parent))
        e = cls ? add_child(parent, name, cls, &m) : lz_errf(LZ_ERR_ARG, "lz_nn_custom needs a class");
    if (m) {
        m->at = at;
        m->data = data;
        return m;
    }
    if (cls && cls->drop)
        cls->drop(data);
    if (!e)
        return parent;
    parent->lacks_layer = true;
    (void)lz_nn_report(parent->ctx, at, e);
    return &parent->tree->inert;
}

lz_err *lz_module_keep_ints(lz_module *m, lz_ints *list)
{
    int64_t *copy;
    if (list->n <= 0)
        return NULL;
    LZ_TRY(lz_arena_new(&m->tree->arena, &copy, (size_t)list->n));
    memcpy(copy, list->v, (size_t)list->n * sizeof *copy);
    list->v = copy;
    return NULL;
}

lz_err *lz_layer_spread(lz_ints each, int64_t all, int64_t ndim, int64_t least, const char *what,
                        int64_t *out)
{
    if (each.n > 0 && each.n != ndim)
        return lz_errf(LZ_ERR_ARG, "%s: got %d numbers for %d dimensions", what, (int)each.n, (int)ndim);
    for (int64_t i = 0; i < ndim; i++) {
        out[i] = each.n > 0 ? each.v[i] : all;
        if (out[i] < least)
            return lz_errf(LZ_ERR_ARG, "%s must be at least %d", what, (int)least);
    }
    return NULL;
}

/* ---- calls ---- */

lz_tensor *lz_forward_at(lz_module *m, lz_loc at, lz_tensor *x)
{
    if (!m)
        return NULL;
    m->at = at;
    if (m->cls->forward && !m->lacks_layer)
        return m->cls->forward(m, x);
    return lz_refuse(m->ctx, at,
                     lz_errf(LZ_ERR_ARG, "lz_forward: %s'%s' %s", m->cls->forward ? "a layer of " : "",
                             m->path, m->cls->forward ? "could not be made" : "only holds other modules"));
}

void lz_module_set_dtype(lz_module *m, lz_dtype d)
{
    for (lz_module *k = m; k; k = lz_module_after(m, k))
        k->dtype = d;
}

void lz_train(lz_module *m, bool on)
{
    for (lz_module *k = m; k; k = lz_module_after(m, k))
        k->training = on;
}

bool lz_is_training(const lz_module *m)
{
    return m && m->training;
}

bool lz_module_set_requires_grad(lz_module *m, bool on)
{
    bool ok = true;
    for (lz_module *k = m; k; k = lz_module_after(m, k))
        for (lz_module_slot *s = k->slots; s; s = s->next)
            if (s->kind == LZ_SLOT_PARAM)
                ok = lz_set_requires_grad(s->tensor, on) && ok;
    return ok;
}
