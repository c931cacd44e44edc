#include "kernel/nonzero.h"
#include "base/mem.h"
#include "core/shape.h"
#include <assert.h>

enum { PART = 1 << 15 };

static int64_t parts_of(const lz_nonzero *z)
{
    return (z->numel + PART - 1) / PART;
}

static int64_t part_end(const lz_nonzero *z, int64_t part)
{
    return (part + 1) * PART < z->numel ? (part + 1) * PART : z->numel;
}

/* ---- counting ---- */

static lz_err *count_parts(void *user, int64_t begin, int64_t end, int worker)
{
    const lz_nonzero *z = user;
    (void)worker;
    for (int64_t p = begin; p < end; p++) {
        uint32_t found = 0;
        for (int64_t i = p * PART, last = part_end(z, p); i < last; i++)
            found += z->x[i] != 0;
        z->first[p + 1] = found;
    }
    return NULL;
}

lz_err *lz_nonzero_init(lz_nonzero *z, const void *x, lz_ints sizes, lz_pool *pool)
{
    *z = (lz_nonzero){ .x = x, .sizes = sizes, .numel = 1, .pool = pool };
    for (int64_t d = 0; d < sizes.n; d++)
        z->numel *= sizes.v[d];
    z->first = lz_mem_zalloc((size_t)parts_of(z) + 1, sizeof *z->first);
    if (!z->first)
        return lz_err_oom();
    lz_err *e = lz_pool_for(pool, parts_of(z), 1, count_parts, z);
    for (int64_t p = 0; p < parts_of(z); p++)
        z->first[p + 1] += z->first[p];
    assert(e || (z->first[parts_of(z)] >= 0 && z->first[parts_of(z)] <= z->numel));
    if (e)
        lz_nonzero_deinit(z);
    return e;
}

void lz_nonzero_deinit(lz_nonzero *z)
{
    lz_mem_free(z->first);
    z->first = NULL;
}

int64_t lz_nonzero_count(const lz_nonzero *z)
{
    return z->first[parts_of(z)];
}

/* ---- listing ---- */

/* Lists elements [i, end) of x; the first has position `from` in its row. Each index begins with the row's
 * index `outer`. Every element writes its index where the next true element's belongs, so no branch depends
 * on the data; nothing is written from `last` on. */
static int64_t *list_run(const lz_nonzero *z, int64_t i, int64_t end, int64_t from, const int64_t *outer,
                         int64_t *out, const int64_t *last)
{
    int64_t n = z->sizes.n;
    for (; i < end && out < last; i++, from++) {
        for (int64_t d = 0; d + 1 < n; d++)
            out[d] = outer[d];
        out[n - 1] = from;
        out += z->x[i] ? n : 0;
    }
    return out;
}

/* For one dimension. */
static void list_vector(const lz_nonzero *z, int64_t i, int64_t *out, const int64_t *last)
{
    for (; out < last; i++) {
        *out = i;
        out += z->x[i] != 0;
    }
}

static void list_part(const lz_nonzero *z, int64_t part, int64_t *out)
{
    int64_t outer[LZ_MAX_DIMS], n = z->sizes.n, inner = z->sizes.v[n - 1], end = part_end(z, part);
    const int64_t *last = out + z->first[part + 1] * n;
    out += z->first[part] * n;
    if (n == 1) {
        list_vector(z, part * PART, out, last);
        return;
    }
    for (int64_t i = part * PART, run; out < last; i += run) {
        int64_t row = i / inner, from = i - row * inner;
        run = inner - from < end - i ? inner - from : end - i;
        for (int64_t d = n - 1; d-- > 0; row /= z->sizes.v[d])
            outer[d] = row % z->sizes.v[d];
        out = list_run(z, i, i + run, from, outer, out, last);
    }
}

typedef struct listing {
    const lz_nonzero *z;
    int64_t *out;
} listing;

static lz_err *list_parts(void *user, int64_t begin, int64_t end, int worker)
{
    const listing *l = user;
    (void)worker;
    for (int64_t p = begin; p < end; p++)
        list_part(l->z, p, l->out);
    return NULL;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): written by list_part */
lz_err *lz_nonzero_list(const lz_nonzero *z, int64_t *out)
{
    listing l = { z, out };
    return z->sizes.n ? lz_pool_for(z->pool, parts_of(z), 1, list_parts, &l) : NULL;
}
