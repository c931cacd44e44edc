/* Which parameters of a graph may become which of its results. */
#include "base/mem.h"
#include "lazy/lowering.h"
#include <stdlib.h>

typedef struct item {
    lz_data_type type;
    uint32_t at;
} item;

static int by_type(const item *a, const item *b)
{
    if (a->type.dtype != b->type.dtype)
        return a->type.dtype < b->type.dtype ? -1 : 1;
    if (a->type.sizes.n != b->type.sizes.n)
        return a->type.sizes.n < b->type.sizes.n ? -1 : 1;
    for (int64_t i = 0; i < a->type.sizes.n; i++)
        if (a->type.sizes.v[i] != b->type.sizes.v[i])
            return a->type.sizes.v[i] < b->type.sizes.v[i] ? -1 : 1;
    return 0;
}

static int by_type_and_place(const void *pa, const void *pb)
{
    const item *a = pa, *b = pb;
    int order = by_type(a, b);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

/* Both lists are sorted: the next of each that have the same type are a pair. */
static lz_err *pair_sorted(lz_lowering *l, const item *results, size_t nr, const item *parameters, size_t np)
{
    for (size_t i = 0, k = 0; i < nr && k < np;) {
        int order = by_type(&results[i], &parameters[k]);
        if (order == 0)
            LZ_TRY(lz_lowering_set_up_alias(
                l, (lz_alias_pair){ .output = results[i].at, .parameter = parameters[k].at }));
        i += order <= 0;
        k += order >= 0;
    }
    return NULL;
}

lz_err *lz_lowering_pair_up(lz_lowering *l, const bool *dying)
{
    size_t nr = l->results.len, np = 0;
    item *results = lz_mem_zalloc(nr + l->parameters.len + 1, sizeof *results);
    if (!results)
        return lz_err_oom();
    item *parameters = results + nr;
    for (uint32_t i = 0; i < nr; i++)
        results[i] = (item){ lz_node_type(l->results.data[i].node, l->results.data[i].index), i };
    for (uint32_t i = 0; i < l->parameters.len; i++)
        if (dying[i])
            parameters[np++] = (item){ l->parameters.data[i].type, i };
    qsort(results, nr, sizeof *results, by_type_and_place);
    qsort(parameters, np, sizeof *parameters, by_type_and_place);
    lz_err *e = pair_sorted(l, results, nr, parameters, np);
    lz_mem_free(results);
    return e;
}
