#include "gen/torch/grouped.h"

size_t lzg_group_members(const lzg_group *g, const lzg_function *out[LZG_GROUP_MEMBERS])
{
    const lzg_function *const all[] = { g->functional, g->out, g->inplace, g->mutable };
    size_t n = 0;
    for (size_t i = 0; i < LZG_GROUP_MEMBERS; i++)
        if (all[i])
            out[n++] = all[i];
    return n;
}

size_t lzg_grouped_members(const lzg_grouped *g, const lzg_function *out[LZG_GROUP_MEMBERS])
{
    if (g->group)
        return lzg_group_members(g->group, out);
    out[0] = g->f;
    return 1;
}
