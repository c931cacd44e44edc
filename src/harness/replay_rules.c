/* Where PyTorch's choice is arbitrary, the meaning is compared. This is the whole list: all
 * other indices (of sort, max, argmax, cummax, median, mode, pooling, ...) are compared as
 * they are.
 *
 * ALONG: an index along a dimension that a selection found. Of equal elements any may be
 *     named, so the element it names has to be the one that PyTorch's names.
 * ALONG_DIFFERENT: likewise; of the several for a row no two are the same. */
#include "core/convert.h"
#include "harness/replay_impl.h"
#include <math.h>
#include <string.h>

typedef enum rule { EXACT, ALONG, ALONG_DIFFERENT } rule;

static const struct {
    const char *op; /* the name before the dot */
    size_t output;
    rule rule;
} rules[] = {
    { "topk", 1, ALONG_DIFFERENT },
    { "kthvalue", 1, ALONG },
    { "nanmedian", 1, ALONG },
};

static rule rule_of(const lz_rule_case *c)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strlen(rules[i].op) == c->op->base && !memcmp(rules[i].op, c->op->name, c->op->base)
            && rules[i].output == c->output)
            return rules[i].rule;
    return EXACT;
}

static bool same_element(const lz_array *x, int64_t a, int64_t b)
{
    lz_scalar p = lz_array_get(x, a), q = lz_array_get(x, b);
    if (p.kind == LZ_SCALAR_FLOAT)
        return p.re == q.re || (isnan(p.re) && isnan(q.re));
    return p.i == q.i;
}

/* ---- along a dimension ---- */

/* The dimension that the call names; -1: it counts all elements. */
static int64_t dim_of(const lz_rule_case *c, int64_t ndim)
{
    for (int i = 0; i < c->op->nargs; i++) {
        if (strcmp(c->op->args[i].name, "dim") != 0 || c->args[i].kind != LZ_LV_NUMBER)
            continue;
        int64_t d = c->args[i].number.i;
        return d < 0 ? d + ndim : d;
    }
    return -1;
}

/* The place of index element i in x, with `at` along dim; the index has x's dimensions, or
 * misses the one. */
static int64_t place(const lz_array *x, const lz_array *index, int64_t i, int64_t dim, int64_t at)
{
    int64_t v[LZ_MAX_DIMS] = { 0 }, number = 0;
    bool missing = index->sizes.n < x->sizes.n;
    lz_array_index_of(index, i, v);
    for (int64_t d = 0; d < x->sizes.n; d++) {
        int64_t k = missing && d > dim ? d - 1 : d;
        number = number * x->sizes.v[d] + (d == dim ? at : v[k]);
    }
    return number;
}

static bool along(const lz_rule_case *c, const lz_array *got, const lz_array *want, lz_text *why)
{
    const lz_array *x = c->arrays[0];
    int64_t dim = x ? dim_of(c, x->sizes.n) : 0, size = !x           ? 0
                                                        : dim < 0    ? x->numel
                                                        : x->sizes.n ? x->sizes.v[dim]
                                                                     : 1;
    for (int64_t i = 0; x && i < got->numel; i++) {
        int64_t a = lz_array_get(got, i).i, b = lz_array_get(want, i).i;
        bool inside = a >= 0 && a < size;
        bool flat = dim < 0 || x->sizes.n == 0;
        if (!inside
            || !same_element(x, flat ? a : place(x, got, i, dim, a), flat ? b : place(x, want, i, dim, b))) {
            lz_text_printf(why, "index %lld is %lld, which does not name what %lld names", (long long)i,
                           (long long)a, (long long)b);
            return false;
        }
    }
    return x != NULL;
}

/* No index twice along the dimension. */
static bool different(const lz_rule_case *c, const lz_array *got, lz_text *why)
{
    int64_t n = got->sizes.n, dim = n ? dim_of(c, n) : 0, v[LZ_MAX_DIMS];
    dim = dim < 0 ? n - 1 : dim;
    for (int64_t i = 0; n && i < got->numel; i++) {
        int64_t here = lz_array_get(got, i).i;
        lz_array_index_of(got, i, v);
        for (int64_t k = v[dim]; k-- > 0;) {
            v[dim] = k;
            if (lz_element_get(got->dtype, lz_array_at(got, v)).i == here) {
                lz_text_printf(why, "index %lld occurs twice", (long long)here);
                return false;
            }
        }
    }
    return true;
}

/* ---- all ---- */

bool lz_replay_equal(const lz_rule_case *c, const lz_array *got, const lz_array *want, lz_text *why)
{
    lz_tolerance t = lz_tolerance_of(want->dtype);
    rule r = c ? rule_of(c) : EXACT;
    bool comparable = got->dtype == want->dtype && lz_shape_eq(lz_array_sizes(got), lz_array_sizes(want));
    if (r == EXACT || !comparable)
        return lz_array_equal(got, want, &t, NULL, why);
    return along(c, got, want, why) && (r != ALONG_DIFFERENT || different(c, got, why));
}
