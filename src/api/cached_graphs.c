/* Graphs of the cache: their hashes, inputs and numbers, and running one with other inputs. */
#include "api/graph_call.h"
#include "base/mem.h"

static lz_hash_query *find_asked(const lz_syncer *s, lz_hash key)
{
    for (size_t i = 0; i < s->asked.len; i++)
        if (lz_hash_eq(s->asked.data[i].key, key))
            return &s->asked.data[i];
    return NULL;
}

/* A repeated query replaces its answer, because numbers and tensors may have changed. */
static lz_err *place_for_answer(lz_syncer *s, lz_hash key, lz_hash_query **out)
{
    *out = find_asked(s, key);
    if (!*out && s->asked.len == LZ_HASH_QUERIES)
        *out = &s->asked.data[s->oldest_asked++ % LZ_HASH_QUERIES];
    if (!*out) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a push that succeeds has made room */
        LZ_TRY(lz_vec_push(&s->asked, (lz_hash_query){ 0 }));
        *out = &s->asked.data[s->asked.len - 1];
    }
    (*out)->numbers.len = (*out)->result_of.len = 0;
    (*out)->key = (lz_hash){ 0 }; /* no hash until the answer is complete */
    return NULL;
}

static lz_err *ask(lz_ctx *c, lz_tensor *const *t, size_t n, lz_hash *key)
{
    lz_syncer *s = c->syncer;
    lz_hash_query *q;
    LZ_TRY(lz_graph_call_walk(c, t, n));
    LZ_TRY(place_for_answer(s, s->walk.flat.hash, &q));
    LZ_TRY(lz_vec_reserve(&q->numbers, s->walk.nnumbers));
    LZ_TRY(lz_vec_reserve(&q->result_of, n));
    q->numbers.len = s->walk.nnumbers;
    lz_graph_call_numbers(&s->walk, q->numbers.data);
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lz_vec_push(&q->result_of, lz_graph_call_result(s, t[i]->storage)));
    *key = q->key = s->walk.flat.hash;
    return NULL;
}

bool lz_graph_hash(lz_ctx *c, lz_tensor *const *t, size_t n, lz_graph_key *out)
{
    lz_hash h = { 0 };
    lz_err *e = c->syncer ? ask(c, t, n, &h) : lz_errf(LZ_ERR_NOT_FOUND, "the context has no device");
    *out = (lz_graph_key){ h.lo, h.hi };
    return lz_ctx_report(c, (lz_loc){ 0 }, e);
}

/* ---- inputs and numbers ---- */

static lz_err *tensor_of(lz_ctx *c, lz_data *d, lz_tensor **out)
{
    const lz_spec *s;
    lz_err *e = lz_spec_get(c->specs, d->type.dtype, d->type.sizes, (lz_ints){ NULL, 0 }, &s);
    if (e) {
        lz_data_release(d);
        return e;
    }
    return lz_tensor_of_data(c, s, d->device, d, out);
}

static lz_err *inputs(lz_ctx *c, lz_tensor *const *t, size_t nt, lz_tensor **out, size_t *n)
{
    LZ_TRY(lz_graph_call_walk(c, t, nt));
    const lz_walk *w = &c->syncer->walk;
    size_t room = *n;
    *n = w->leaves.len;
    for (size_t i = 0; i < w->leaves.len && i < room; i++)
        LZ_TRY(tensor_of(c, lz_data_retain(w->leaves.data[i]), &out[i]));
    return NULL;
}

/* *n: the room in `out`, then the number of inputs. */
bool lz_graph_inputs(lz_ctx *c, lz_tensor *const *t, size_t nt, lz_tensor **out, size_t *n)
{
    return lz_ctx_report(c, (lz_loc){ 0 }, inputs(c, t, nt, out, n));
}

static lz_err *numbers(lz_ctx *c, lz_tensor *const *t, size_t nt, lz_scalar *out, size_t *n)
{
    LZ_TRY(lz_graph_call_walk(c, t, nt));
    const lz_walk *w = &c->syncer->walk;
    size_t room = *n;
    *n = w->nnumbers;
    if (*n <= room)
        lz_graph_call_numbers(w, out);
    return NULL;
}

bool lz_graph_numbers(lz_ctx *c, lz_tensor *const *t, size_t nt, lz_scalar *out, size_t *n)
{
    return lz_ctx_report(c, (lz_loc){ 0 }, numbers(c, t, nt, out, n));
}

/* ---- running ---- */

/* Gives the results in the order of `which`; NULL: in the graph's order. */
static lz_err *run_and_give(lz_ctx *c, const lz_graph_call *x, const uint32_t *which, lz_tensor **out,
                            size_t nout)
{
    size_t n = lz_flat_roots(x->words);
    lz_data **data = lz_mem_zalloc(n + 1, sizeof *data);
    if (!data)
        return lz_err_oom();
    lz_err *e = lz_graph_call_run(c, x, data);
    for (size_t i = 0; !e && i < nout; i++)
        e = tensor_of(c, lz_data_retain(data[which ? which[i] : i]), &out[i]);
    for (size_t i = 0; i < n; i++)
        lz_data_release(data[i]);
    lz_mem_free(data);
    return e;
}

/* Checks the kinds of a node's numbers. */
static lz_err *check_kinds(const lz_flat_node *x, const lz_scalar *v, uint32_t first)
{
    static const char *const names[] = { [LZ_SCALAR_NONE] = "none",
                                         [LZ_SCALAR_BOOL] = "bool",
                                         [LZ_SCALAR_INT] = "int",
                                         [LZ_SCALAR_FLOAT] = "float",
                                         [LZ_SCALAR_COMPLEX] = "complex" };
    for (uint32_t i = 0; i < x->nargs; i++) {
        lz_slot s;
        memcpy(&s, &x->args[i], sizeof s);
        uint32_t count = s.kind == LZ_ARG_SCALAR ? 1 : s.kind == LZ_ARG_RANDOM ? 2 : 0;
        lz_scalar_kind want = count == 2 ? LZ_SCALAR_INT : (lz_scalar_kind)s.scalar;
        for (uint32_t k = 0; k < count; k++)
            if (v[s.first + k].kind != want)
                return lz_errf(LZ_ERR_ARG, "expected number %u of the graph as %s, got %s",
                               first + s.first + k, names[want], names[v[s.first + k].kind]);
    }
    return NULL;
}

static lz_err *check_numbers(const lz_words *words, const lz_executable *r, const lz_scalar *v, size_t n)
{
    lz_arena a;
    lz_graph_index p;
    if (n != r->nnumbers)
        return lz_errf(LZ_ERR_ARG, "the graph takes %u numbers, got %zu", r->nnumbers, n);
    lz_arena_init(&a);
    lz_err *e = lz_graph_index_init(&a, words->data, &p);
    for (uint32_t i = 0; !e && i < p.n; i++) {
        lz_flat_node x = lz_flat_read(p.at[i]);
        if (x.nnumbers)
            e = check_kinds(&x, v + p.first_number[i], p.first_number[i]);
    }
    lz_arena_deinit(&a);
    return e;
}

/* A call without numbers needs a graph without numbers, or a query of this context that has recorded them. */
static lz_err *check_call(const lz_executable *r, const lz_hash_query *q, bool numbered, size_t n,
                          size_t nout)
{
    if (r->nnumbers && !q && !numbered)
        return lz_errf(
            LZ_ERR_UNSUPPORTED,
            "the graph takes %u numbers besides tensors: call lz_graph_hash in this context first, or "
            "pass the numbers to lz_run_cached_with",
            r->nnumbers);
    size_t gives = q ? q->result_of.len : r->nroots;
    if (n != r->nleaves || nout != gives)
        return lz_errf(LZ_ERR_ARG, "expected %u inputs and %zu outputs, got %zu and %zu", r->nleaves, gives,
                       n, nout);
    for (size_t i = 0; q && i < nout; i++)
        if (q->result_of.data[i] == UINT32_MAX)
            return lz_errf(LZ_ERR_ARG, "output %zu is not a result of the graph: the tensor was held", i);
    return NULL;
}

/* The arguments of lz_run_cached. */
typedef struct request {
    lz_tensor *const *in;
    size_t n;
    bool numbered;
    const lz_scalar *numbers;
    size_t nnumbers;
    lz_tensor **out;
    size_t nout;
} request;

static lz_err *gather_leaves(lz_ctx *c, lz_arena *a, lz_graph_call *x, const request *q)
{
    LZ_TRY(lz_graph_call_types_find(a, x->words, &x->types));
    LZ_TRY(lz_arena_new(a, &x->leaves, q->n));
    for (size_t i = 0; i < q->n; i++) {
        LZ_TRY(lz_graph_call_data(c, q->in[i], &x->leaves[i]));
        LZ_TRY(lz_graph_call_check_leaf(&x->types, i, i, x->leaves[i]->type));
    }
    return NULL;
}

static lz_err *cached(lz_ctx *c, lz_hash key, const lz_words *words, lz_executable *r,
                      const request *asked_for)
{
    lz_arena a;
    const lz_hash_query *q = find_asked(c->syncer, key);
    lz_graph_call x = { .executable = r, .words = words->data, .numbers = q ? q->numbers.data : NULL };
    LZ_TRY(check_call(r, q, asked_for->numbered, asked_for->n, asked_for->nout));
    if (asked_for->numbered) {
        LZ_TRY(check_numbers(words, r, asked_for->numbers, asked_for->nnumbers));
        x.numbers = asked_for->numbers;
    }
    lz_arena_init(&a);
    lz_err *e = gather_leaves(c, &a, &x, asked_for);
    if (!e)
        e = run_and_give(c, &x, q ? q->result_of.data : NULL, asked_for->out, asked_for->nout);
    lz_arena_deinit(&a);
    return e;
}

static bool run_cached(lz_ctx *c, lz_graph_key key, const request *q)
{
    lz_words words = { 0 };
    lz_err *e = lz_graph_call_check(c, NULL, 0);
    lz_hash hash = { key.lo, key.hi };
    lz_executable *r = NULL;
    if (!e)
        e = lz_cache_peek_hash(c->shared->cache, hash, &words, &r);
    if (!e)
        e = r ? cached(c, hash, &words, r, q)
              : lz_errf(LZ_ERR_NOT_FOUND, "no compiled graph has this hash; it may have been evicted");
    for (size_t i = 0; e && i < q->nout; i++)
        q->out[i] = c->inert;
    lz_executable_release(r);
    lz_vec_deinit(&words);
    return lz_ctx_report(c, (lz_loc){ 0 }, e);
}

bool lz_run_cached(lz_ctx *c, lz_graph_key key, lz_tensor *const *in, size_t n, lz_tensor **out, size_t nout)
{
    return run_cached(c, key, &(request){ .in = in, .n = n, .out = out, .nout = nout });
}

bool lz_run_cached_with(lz_ctx *c, lz_graph_key key, lz_tensor *const *in, size_t n, const lz_scalar *numbers,
                        size_t nnumbers, lz_tensor **out, size_t nout)
{
    return run_cached(c, key,
                      &(request){ .in = in,
                                  .n = n,
                                  .numbered = true,
                                  .numbers = numbers,
                                  .nnumbers = nnumbers,
                                  .out = out,
                                  .nout = nout });
}

void lz_cache_clear(lz_ctx *c)
{
    if (c->syncer)
        lz_cache_drop(c->shared->cache);
}

bool lz_cache_remove(lz_ctx *c, lz_graph_key key)
{
    return c->syncer && lz_cache_drop_hash(c->shared->cache, (lz_hash){ key.lo, key.hi });
}

size_t lz_cache_count(lz_ctx *c)
{
    return c->syncer ? lz_cache_size(c->shared->cache) : 0;
}
