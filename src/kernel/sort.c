/* Sorting, the first k elements, and the element of a rank, along rows. */
#include "base/mem.h"
#include "kernel/keys.h"
#include "kernel/radix.h"
#include "kernel/strided_walk.h"
#include <assert.h>
#include <string.h>

/* The operation on the rows of x; rows are along its last dimension. */
typedef struct rows rows;
typedef lz_err *row_fn(const rows *r, const void *x, int64_t step, uint64_t *room, int64_t *out);

struct rows {
    const lz_kernel_call *c;
    lz_keys_fn *keys;
    row_fn *one;
    int64_t n, k; /* elements and results of a row */
    int64_t rank;
    bool descending;
    lz_pool *inside; /* shares the work of one row; NULL: threads take whole rows */
    size_t size;     /* bytes of room for one thread */
    char *room;
};

static lz_err *each_row(void *user, int64_t begin, int64_t end, int worker)
{
    const rows *r = user;
    const lz_strided *x = &r->c->in[0];
    int64_t outer = x->ndim ? x->ndim - 1 : 0, step = x->ndim ? x->strides[outer] : 0;
    uint64_t *room = (uint64_t *)(r->room + r->size * (size_t)worker);
    for (int64_t row = begin; row < end; row++)
        LZ_TRY(r->one(r, lz_strided_at(x, lz_strided_offset(x, outer, row)), step, room,
                      (int64_t *)r->c->out.data + row * r->k));
    return NULL;
}

static rows rows_of(const lz_kernel_call *c, bool descending)
{
    const lz_strided *x = &c->in[0];
    return (rows){ .c = c,
                   .keys = lz_keys_of(x->dtype),
                   .n = x->ndim ? x->sizes[x->ndim - 1] : 1,
                   .k = c->out.ndim ? c->out.sizes[c->out.ndim - 1] : 1,
                   .descending = descending };
}

static int threads_of(const lz_kernel_call *c)
{
    return c->pool ? lz_pool_threads(c->pool) : 1;
}

/* room: 8-byte words of scratch for one row. */
static lz_err *run_rows(rows *r, size_t room)
{
    int64_t count = lz_strided_count(&r->c->in[0], r->c->in[0].ndim ? r->c->in[0].ndim - 1 : 0);
    size_t threads = r->inside ? 1 : (size_t)threads_of(r->c), size;
    if (count == 0 || r->n == 0 || r->k == 0)
        return NULL;
    if (!r->keys)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s numbers have no order", lz_dtype_get(r->c->in[0].dtype)->name);
    r->size = (room * sizeof(uint64_t) + 63) / 64 * 64;
    if (!lz_size_mul(threads, r->size, &size))
        return lz_err_oom();
    r->room = lz_temporary_take(size, LZ_MEM_ALIGN);
    if (!r->room)
        return lz_err_oom();
    lz_err *e =
        r->inside ? each_row(r, 0, count, 0) : lz_pool_for(r->c->pool, count, 1 + 4096 / r->n, each_row, r);
    lz_temporary_give(r->room);
    return e;
}

/* ---- all elements ---- */

static lz_err *sort_row(const rows *r, const void *x, int64_t step, uint64_t *room, int64_t *out)
{
    r->keys(x, step, r->n, r->descending, room);
    return lz_order_by_keys(room, r->n, room + r->n, r->inside, out);
}

/* Sorts all elements and returns the first k. */
static lz_err *sort_some(const rows *r, const void *x, int64_t step, uint64_t *room, int64_t *out)
{
    int64_t *all = (int64_t *)room + r->n;
    r->keys(x, step, r->n, r->descending, room);
    LZ_TRY(lz_order_by_keys(room, r->n, room + 2 * r->n, r->inside, all));
    memcpy(out, all, (size_t)r->k * sizeof *out);
    return NULL;
}

/* All threads together sort one row after the other if there are few and long rows. */
static lz_err *sort_all(rows *r)
{
    enum { LONG = 1 << 16 };
    int64_t total = lz_strided_count(&r->c->in[0], r->c->in[0].ndim);
    if (r->n >= LONG && total / r->n < (int64_t)2 * threads_of(r->c))
        r->inside = r->c->pool;
    r->one = r->k == r->n ? sort_row : sort_some;
    return run_rows(r, (size_t)r->n * 2 + lz_order_room(r->n, r->inside) / sizeof(uint64_t));
}

lz_err *lz_sort_indices(const lz_kernel_call *c)
{
    assert(c->in[0].ndim >= 1 && c->out.dtype == LZ_I64);
    rows r = rows_of(c, c->params[0] != 0);
    return sort_all(&r);
}

/* ---- the first k ---- */

enum { BLOCK = 256 };

/* Candidates in the order of their indices. Once k elements have been offered, they include the first k so
 * far. */
typedef struct candidates {
    uint64_t *keys, *room;
    int64_t *index;
    int64_t n, most, k;
    uint64_t limit; /* keys above it are no candidates */
    bool closed;    /* no further candidate is possible */
} candidates;

/* Keeps the first k. Of equal keys the first ones stay. */
static void prune(candidates *s)
{
    int64_t less, kept = 0;
    memcpy(s->room, s->keys, (size_t)s->n * sizeof *s->keys);
    uint64_t last = lz_keys_select(s->room, s->n, s->k - 1, &less);
    int64_t equal = s->k - less;
    for (int64_t i = 0; i < s->n; i++) {
        bool same = s->keys[i] == last && equal > 0;
        equal -= same;
        s->keys[kept] = s->keys[i];
        s->index[kept] = s->index[i];
        kept += same || s->keys[i] < last;
    }
    s->n = kept;
    s->limit = last - 1; /* an equal key with a greater index loses */
    s->closed = last == 0;
}

static void offer(candidates *s, const uint64_t *keys, int64_t n, int64_t first)
{
    for (int64_t i = 0; i < n && !s->closed; i++) {
        if (keys[i] > s->limit)
            continue;
        s->keys[s->n] = keys[i];
        s->index[s->n++] = first + i;
        if (s->n == s->most)
            prune(s);
    }
}

/* Fewer candidates give an early limit that rejects most elements; but each time the list is full, the best k
 * must be selected. */
static int64_t most_candidates(int64_t k)
{
    enum { LEAST = 64 };
    int64_t most = k < BLOCK / 2 ? 4 * k : k < BLOCK ? (int64_t)2 * BLOCK : 2 * k;
    return most < LEAST ? LEAST : most;
}

static lz_err *topk_row(const rows *r, const void *x, int64_t step, uint64_t *room, int64_t *out)
{
    int64_t most = most_candidates(r->k);
    size_t size = lz_dtype_size(r->c->in[0].dtype);
    candidates s = { .keys = room + BLOCK,
                     .room = room + BLOCK + most,
                     .index = (int64_t *)room + BLOCK + 2 * most,
                     .most = most,
                     .k = r->k,
                     .limit = UINT64_MAX };
    for (int64_t i = 0; i < r->n && !s.closed; i += BLOCK) {
        int64_t n = r->n - i < BLOCK ? r->n - i : BLOCK;
        r->keys((const char *)x + (int64_t)size * i * step, step, n, r->descending, room);
        offer(&s, room, n, i);
    }
    prune(&s);
    LZ_TRY(lz_order_by_keys(s.keys, s.n, room + BLOCK + 3 * most, NULL, out));
    for (int64_t i = 0; i < r->k; i++)
        out[i] = s.index[out[i]];
    return NULL;
}

/* The results are always sorted, whatever the parameter says. */
lz_err *lz_topk_indices(const lz_kernel_call *c)
{
    rows r = rows_of(c, c->params[1] != 0);
    assert(c->out.dtype == LZ_I64 && r.k >= 0 && r.k <= r.n);
    if (r.k > r.n / 4)
        return sort_all(&r);
    r.one = topk_row;
    return run_rows(&r,
                    (size_t)(BLOCK + 3 * most_candidates(r.k)) + lz_order_room(r.k, NULL) / sizeof(uint64_t));
}

/* ---- one rank ---- */

static lz_err *rank_row(const rows *r, const void *x, int64_t step, uint64_t *room, int64_t *out)
{
    int64_t less;
    r->keys(x, step, r->n, false, room);
    memcpy(room + r->n, room, (size_t)r->n * sizeof *room);
    uint64_t key = lz_keys_select(room + r->n, r->n, r->rank, &less);
    for (int64_t i = 0, left = r->rank - less; i < r->n; i++)
        if (room[i] == key && left-- == 0) {
            *out = i;
            break;
        }
    return NULL;
}

lz_err *lz_rank_index(const lz_kernel_call *c)
{
    rows r = rows_of(c, false);
    assert(c->params[0] >= 0 && (c->params[0] < r.n || r.n == 0));
    r.rank = c->params[0];
    r.one = rank_row;
    return run_rows(&r, (size_t)r.n * 2);
}
