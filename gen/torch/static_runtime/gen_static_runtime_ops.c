#include "gen/torch/static_runtime/gen_static_runtime_ops.h"
#include <stdlib.h>

/* A case with the place of its functor. */
typedef struct found {
    lzg_functor_case c;
    size_t functor, index;
} found;

typedef struct collector {
    lz_arena *arena;
    lz_map names;          /* base name -> lzg_functor * in functors */
    lzg_functor *functors; /* room for a functor each */
    found *found;
    size_t nfunctors, nfound;
} collector;

static lz_err *add(collector *c, lzg_functor_case one)
{
    lz_str name = one.op->func->name.base;
    bool view = !one.out;
    lzg_functor *f = lz_map_get(&c->names, name);
    if (!f) {
        f = &c->functors[c->nfunctors++];
        *f = (lzg_functor){ .name = name, .view = view };
        LZ_TRY(lz_map_put(&c->names, name, f));
    }
    if (f->view != view)
        return lz_err_at(LZ_ERR_MODEL, one.op->func_loc, "aten::%.*s is a functor of a group already",
                         LZ_FMT(name));
    c->found[c->nfound] = (found){ one, (size_t)(f - c->functors), c->nfound };
    c->nfound++;
    f->ncases++;
    return NULL;
}

static lz_err *add_groups(collector *c, const lzg_ops *ops)
{
    for (size_t i = 0; i < ops->ngroups; i++) {
        lzg_functor_case one;
        if (lzg_functor_judge_group(ops, &ops->groups[i]) != LZG_FUNCTOR_FITS)
            continue;
        LZ_TRY(lzg_functor_of_group(c->arena, &ops->groups[i], &one));
        LZ_TRY(add(c, one));
    }
    return NULL;
}

static lz_err *add_views(collector *c, const lzg_ops *ops)
{
    for (size_t i = 0; i < ops->nview_groups; i++) {
        lzg_functor_case one;
        if (lzg_functor_judge_view(ops, &ops->view_groups[i]) != LZG_FUNCTOR_FITS)
            continue;
        LZ_TRY(lzg_functor_of_view(c->arena, &ops->view_groups[i], &one));
        LZ_TRY(add(c, one));
    }
    return NULL;
}

static int by_functor(const void *a, const void *b)
{
    const found *x = a, *y = b;
    if (x->functor != y->functor)
        return x->functor < y->functor ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Cases of one functor side by side. */
static lz_err *share_out(collector *c)
{
    lzg_functor_case *cases;
    LZ_TRY(lz_arena_new(c->arena, &cases, c->nfound));
    if (c->nfound)
        qsort(c->found, c->nfound, sizeof *c->found, by_functor);
    for (size_t i = 0; i < c->nfound; i++)
        cases[i] = c->found[i].c;
    for (size_t i = 0, next = 0; i < c->nfunctors; next += c->functors[i++].ncases)
        c->functors[i].cases = cases + next;
    return NULL;
}

static lz_err *collect(collector *c, const lzg_ops *ops, lzg_functors *out)
{
    size_t room = ops->ngroups + ops->nview_groups;
    LZ_TRY(lz_arena_new(c->arena, &c->functors, room));
    LZ_TRY(lz_arena_new(c->arena, &c->found, room));
    LZ_TRY(add_groups(c, ops));
    out->groups = c->nfound;
    LZ_TRY(add_views(c, ops));
    out->views = c->nfound - out->groups;
    LZ_TRY(share_out(c));
    out->data = c->functors;
    out->len = c->nfunctors;
    return NULL;
}

lz_err *lzg_static_runtime_functors(lz_arena *a, const lzg_ops *ops, lzg_functors *out)
{
    collector c = { .arena = a };
    *out = (lzg_functors){ 0 };
    lz_err *e = collect(&c, ops, out);
    lz_map_deinit(&c.names);
    return e;
}
