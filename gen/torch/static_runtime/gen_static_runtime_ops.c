#include "gen/torch/static_runtime/gen_static_runtime_ops.h"

typedef struct collector {
    lz_arena *arena;
    lzg_functor_case *cases;
    lzg_functor *functors;
    size_t ncases, nfunctors;
} collector;

/* A case of the last functor, if that has the same base name; else of a new one. */
static void add(collector *c, lzg_functor_case one)
{
    const lzg_functor new = { .name = one.op->func->name.base,
                              .view = !one.out,
                              .cases = &c->cases[c->ncases] };
    size_t last = c->nfunctors - 1;
    if (!c->nfunctors || c->functors[last].view != new.view || !lz_str_eq(c->functors[last].name, new.name)) {
        last = c->nfunctors++;
        c->functors[last] = new;
    }
    c->cases[c->ncases++] = one;
    c->functors[last].ncases++;
}

static lz_err *add_groups(collector *c, const lzg_ops *ops)
{
    for (size_t i = 0; i < ops->ngroups; i++) {
        lzg_functor_case one;
        if (lzg_functor_judge_group(ops, &ops->groups[i]) != LZG_FUNCTOR_FITS)
            continue;
        LZ_TRY(lzg_functor_of_group(c->arena, &ops->groups[i], &one));
        add(c, one);
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
        add(c, one);
    }
    return NULL;
}

lz_err *lzg_static_runtime_functors(lz_arena *a, const lzg_ops *ops, lzg_functors *out)
{
    collector c = { .arena = a };
    size_t room = ops->ngroups + ops->nview_groups;
    *out = (lzg_functors){ 0 };
    LZ_TRY(lz_arena_new(a, &c.functors, room));
    LZ_TRY(lz_arena_new(a, &c.cases, room));
    LZ_TRY(add_groups(&c, ops));
    out->groups = c.ncases;
    LZ_TRY(add_views(&c, ops));
    out->views = c.ncases - out->groups;
    out->data = c.functors;
    out->len = c.nfunctors;
    return NULL;
}
