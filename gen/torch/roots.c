#include "gen/torch/roots.h"

static lz_err *root_of(lzg_roots *roots, lz_map *by_name, lz_str name, lzg_root **out)
{
    *out = lz_map_get(by_name, name);
    if (*out)
        return NULL;
    *out = &roots->at[roots->n++];
    (*out)->name = name;
    return lz_map_put(by_name, name, *out);
}

/* Counts first, then takes room, then fills. */
static lz_err *fill_roots(lz_arena *a, const lzg_ops *ops, lzg_roots *roots, lz_map *by_name)
{
    lzg_root *root;
    for (size_t i = 0; i < ops->nfunctions; i++) {
        LZ_TRY(root_of(roots, by_name, ops->functions[i]->func->name.base, &root));
        root->n++;
    }
    for (size_t i = 0; i < ops->ngrouped; i++) {
        LZ_TRY(root_of(roots, by_name, ops->grouped[i].f->func->name.base, &root));
        root->ngrouped++;
    }
    for (size_t i = 0; i < roots->n; i++) {
        LZ_TRY(lz_arena_new(a, &roots->at[i].f, roots->at[i].n));
        LZ_TRY(lz_arena_new(a, &roots->at[i].grouped, roots->at[i].ngrouped));
        roots->at[i].n = roots->at[i].ngrouped = 0;
    }
    for (size_t i = 0; i < ops->nfunctions; i++) {
        root = lz_map_get(by_name, ops->functions[i]->func->name.base);
        root->f[root->n++] = ops->functions[i];
    }
    for (size_t i = 0; i < ops->ngrouped; i++) {
        root = lz_map_get(by_name, ops->grouped[i].f->func->name.base);
        root->grouped[root->ngrouped++] = ops->grouped[i];
    }
    return NULL;
}

lz_err *lzg_roots_make(lz_arena *a, const lzg_ops *ops, lzg_roots *out)
{
    lz_map by_name = { 0 };
    *out = (lzg_roots){ 0 };
    LZ_TRY(lz_arena_new(a, &out->at, ops->nfunctions));
    lz_err *e = fill_roots(a, ops, out, &by_name);
    lz_map_deinit(&by_name);
    return e;
}
