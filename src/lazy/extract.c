/* Compiled graphs as such: their hashes, running one with other inputs, and calling one like a
 * function. */
#include "base/mem.h"
#include "lazy/sync.h"
#include <string.h>

static bool told(lz_ctx *c, lz_err *e)
{
    bool ok = !e;
    if (e)
        lz_ctx_fail(c, lz_err_loc(e), NULL, e);
    return ok;
}

static lz_err *check(const lz_ctx *c, lz_tensor *const *t, size_t n)
{
    if (!c->syncer)
        return lz_errf(LZ_ERR_NOT_FOUND, "the context has no device");
    for (size_t i = 0; i < n; i++)
        if (!t[i] || !t[i]->alias || t[i]->ctx != c)
            return lz_errf(LZ_ERR_ARG, "tensor %zu is none of this context", i);
    return NULL;
}

/* The graph that a sync of these would look up, walked. Tensors that are held need no graph. */
static lz_err *walk_pending(lz_ctx *c, lz_tensor *const *t, size_t n)
{
    lz_syncer *s = c->syncer;
    LZ_TRY(check(c, t, n));
    LZ_VEC(lz_alias *) cells = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < n; i++)
        e = lz_vec_push(&cells, t[i]->alias);
    if (!e)
        e = lz_sync_collect(c, cells.data, cells.len, false);
    lz_vec_deinit(&cells);
    if (!e && s->rest.len)
        e = lz_errf(LZ_ERR_ARG, "Expected all tensors to be on the same device");
    if (!e)
        e = lz_sync_walk(c);
    return e;
}

static void collect_numbers(const lz_walk *w, lz_scalar *to)
{
    for (size_t i = 0; i < w->nodes.len; i++)
        for (uint32_t k = 0; k < w->nodes.data[i]->nnumbers; k++)
            *to++ = w->nodes.data[i]->numbers[k];
}

/* Which result of the graph a tensor is; UINT32_MAX: it is held, and none. */
static uint32_t result_of(const lz_syncer *s, const lz_alias *a)
{
    for (size_t i = 0; i < s->roots.len; i++)
        if (s->roots.data[i].cell == a)
            return s->result_of.data[i];
    return UINT32_MAX;
}

static lz_err *ask(lz_ctx *c, lz_tensor *const *t, size_t n)
{
    lz_syncer *s = c->syncer;
    lz_asked *q = &s->asked;
    q->numbers.len = q->result_of.len = 0;
    q->key = (lz_hash){ 0 };
    LZ_TRY(walk_pending(c, t, n));
    LZ_TRY(lz_vec_reserve(&q->numbers, s->walk.nnumbers));
    LZ_TRY(lz_vec_reserve(&q->result_of, n));
    q->numbers.len = s->walk.nnumbers;
    collect_numbers(&s->walk, q->numbers.data);
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lz_vec_push(&q->result_of, result_of(s, t[i]->alias)));
    q->key = s->walk.flat.hash;
    return NULL;
}

bool lz_graph_hash(lz_ctx *c, lz_tensor *const *t, size_t n, lz_graph_key *out)
{
    lz_err *e = c->syncer ? ask(c, t, n) : lz_errf(LZ_ERR_NOT_FOUND, "the context has no device");
    lz_hash h = { 0 };
    if (!e)
        h = c->syncer->asked.key;
    *out = (lz_graph_key){ h.lo, h.hi };
    return told(c, e);
}

/* ---- tensors of data ---- */

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
    LZ_TRY(walk_pending(c, t, nt));
    const lz_walk *w = &c->syncer->walk;
    size_t room = *n;
    *n = w->leaves.len;
    for (size_t i = 0; i < w->leaves.len && i < room; i++)
        LZ_TRY(tensor_of(c, lz_data_retain(w->leaves.data[i]), &out[i]));
    return NULL;
}

/* *n is the room in `out` before, and how many there are after. */
bool lz_graph_inputs(lz_ctx *c, lz_tensor *const *t, size_t nt, lz_tensor **out, size_t *n)
{
    return told(c, inputs(c, t, nt, out, n));
}

/* ---- running ---- */

/* What a call of a compiled graph needs: what it was compiled from, numbers, and leaves. */
typedef struct call {
    lz_recipe *recipe;
    const uint64_t *words;
    const lz_scalar *numbers; /* NULL: it takes none */
    lz_data **leaves;         /* borrowed */
} call;

static lz_err *make_result(const lz_places *p, lz_device d, uint32_t i, lz_job *j)
{
    const lz_backend *b = lz_backend_of(d.type);
    lz_flat_node x = lz_flat_read(p->at[lz_flat_ref_place(p->roots[i])]);
    lz_data_type t = lz_flat_type(&x, lz_flat_ref_output(p->roots[i]));
    LZ_TRY(lz_data_create(b, d, t, &j->results[i]));
    return b->create_data_placeholder(b->self, j->results[i]->real, &t, &j->payloads[i]);
}

static lz_err *make_results(lz_job *j, const uint64_t *words)
{
    lz_arena a;
    lz_places p;
    lz_arena_init(&a);
    lz_err *e = lz_places_init(&a, words, &p);
    for (uint32_t i = 0; !e && i < j->nresults; i++)
        e = make_result(&p, lz_flat_device(words), i, j);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *run_call(lz_ctx *c, const call *x, lz_data **out)
{
    lz_job *j;
    lz_job_sizes n = { .nodes = lz_flat_nodes(x->words),
                       .leaves = lz_flat_leaves(x->words),
                       .numbers = x->recipe->nnumbers,
                       .results = lz_flat_roots(x->words) };
    LZ_TRY(lz_job_create(c->shared, x->recipe, n, &j));
    j->forced = c->syncer->forced;
    j->threads = c->options.threads;
    memset(j->locs, 0, n.nodes * sizeof *j->locs);
    for (uint32_t i = 0; i < n.leaves; i++) {
        j->args[i] = (lz_argument){ 0 };
        j->leaves[i] = lz_data_retain(x->leaves[i]);
    }
    for (uint32_t i = 0; i < n.numbers; i++)
        j->args[n.leaves + i] = (lz_argument){ .number = x->numbers[i] };
    lz_err *e = make_results(j, x->words);
    for (uint32_t i = 0; !e && i < n.results; i++)
        out[i] = lz_data_retain(j->results[i]);
    if (e) {
        lz_job_drop(j);
    } else {
        lz_job_run(j);
        e = j->error;
        j->error = NULL;
    }
    lz_job_release(j);
    return e;
}

/* Input i has the type of leaf i of the graph. */
static lz_err *check_input(const lz_places *p, size_t leaf, lz_data_type t)
{
    for (uint32_t i = 0; i < p->n; i++) {
        lz_flat_node n = lz_flat_read(p->at[i]);
        if (n.op || p->first_slot[i] != leaf)
            continue;
        lz_data_type want = lz_flat_type(&n, 0);
        bool same = want.dtype == t.dtype && want.sizes.n == t.sizes.n
                    && (t.sizes.n == 0 || memcmp(want.sizes.v, t.sizes.v, (size_t)t.sizes.n * 8) == 0);
        return same ? NULL : lz_errf(LZ_ERR_ARG, "input %zu has another dtype or other sizes", leaf);
    }
    return lz_errf(LZ_ERR_ARG, "the graph has no input %zu", leaf);
}

/* The data of a tensor that is held, or becomes so: as it looks, not as it is stored. */
static lz_err *data_of(lz_ctx *c, lz_tensor *t, lz_data **out)
{
    LZ_TRY(check(c, &t, 1));
    lz_alias *a = t->alias;
    if (!lz_tensor_is_base(t) || !a->spec->contiguous)
        return lz_errf(LZ_ERR_UNSUPPORTED, "an input that is a view: clone it");
    LZ_TRY(lz_ctx_sync(c, &a, 1, LZ_CAUSE_READ, (lz_loc){ 0 }));
    *out = a->data;
    return NULL;
}

/* Results in the order of `which`, or as they are (NULL). */
static lz_err *run_and_give(lz_ctx *c, const call *x, const uint32_t *which, lz_tensor **out, size_t nout)
{
    size_t n = lz_flat_roots(x->words);
    lz_data **data = lz_mem_zalloc(n + 1, sizeof *data);
    if (!data)
        return lz_err_oom();
    lz_err *e = run_call(c, x, data);
    for (size_t i = 0; !e && i < nout; i++)
        e = tensor_of(c, lz_data_retain(data[which ? which[i] : i]), &out[i]);
    for (size_t i = 0; i < n; i++)
        lz_data_release(data[i]);
    lz_mem_free(data);
    return e;
}

/* Numbers and the order of results are known of the graph that was asked about last. */
static lz_err *check_call(const lz_recipe *r, const lz_asked *q, size_t n, size_t nout)
{
    if (r->nnumbers && !q)
        return lz_errf(LZ_ERR_UNSUPPORTED,
                       "the graph takes %u numbers besides tensors: ask for its hash again", r->nnumbers);
    size_t gives = q ? q->result_of.len : r->nroots;
    if (n != r->nleaves || nout != gives)
        return lz_errf(LZ_ERR_ARG, "the graph takes %u tensors and gives %zu, not %zu and %zu", r->nleaves,
                       gives, n, nout);
    for (size_t i = 0; q && i < nout; i++)
        if (q->result_of.data[i] == UINT32_MAX)
            return lz_errf(LZ_ERR_ARG, "output %zu was no result of the graph: it was held", i);
    return NULL;
}

static lz_err *gather_leaves(lz_ctx *c, lz_arena *a, const lz_words *words, lz_tensor *const *in, size_t n,
                             lz_data ***out)
{
    lz_places p;
    LZ_TRY(lz_places_init(a, words->data, &p));
    LZ_TRY(lz_arena_new(a, out, n));
    for (size_t i = 0; i < n; i++) {
        LZ_TRY(data_of(c, in[i], &(*out)[i]));
        LZ_TRY(check_input(&p, i, (*out)[i]->type));
    }
    return NULL;
}

static lz_err *cached(lz_ctx *c, lz_hash key, const lz_words *words, lz_recipe *r, lz_tensor *const *in,
                      size_t n, lz_tensor **out, size_t nout)
{
    lz_arena a;
    const lz_asked *q = lz_hash_eq(c->syncer->asked.key, key) ? &c->syncer->asked : NULL;
    call x = { .recipe = r, .words = words->data, .numbers = q ? q->numbers.data : NULL };
    LZ_TRY(check_call(r, q, n, nout));
    lz_arena_init(&a);
    lz_err *e = gather_leaves(c, &a, words, in, n, &x.leaves);
    if (!e)
        e = run_and_give(c, &x, q ? q->result_of.data : NULL, out, nout);
    lz_arena_deinit(&a);
    return e;
}

bool lz_run_cached(lz_ctx *c, lz_graph_key key, lz_tensor *const *in, size_t n, lz_tensor **out, size_t nout)
{
    lz_words words = { 0 };
    lz_err *e = check(c, NULL, 0);
    lz_hash hash = { key.lo, key.hi };
    lz_recipe *r = e ? NULL : lz_cache_peek_hash(c->shared->cache, hash, &words);
    if (!e)
        e = r ? cached(c, hash, &words, r, in, n, out, nout)
              : lz_errf(LZ_ERR_NOT_FOUND, "no compiled graph has this hash; it may have been evicted");
    for (size_t i = 0; e && i < nout; i++)
        out[i] = c->inert;
    lz_recipe_release(r);
    lz_vec_deinit(&words);
    return told(c, e);
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

/* ---- as a function ---- */

struct lz_compiled {
    lz_ctx *ctx;
    lz_recipe *recipe;
    size_t nleaves, nin, nout;
    lz_data **constant; /* by leaf: what it stays; one count. NULL: it is an input */
    size_t *input;      /* by leaf: which input it is */
    bool *used;         /* by input: the graph reads it */
    size_t *result;     /* by output: which result; or input, if it is one */
    bool *is_input;     /* by output */
    lz_scalar *numbers;
    lz_arena arena;
};

void lz_compiled_free(lz_compiled *x)
{
    if (!x)
        return;
    for (size_t i = 0; x->constant && i < x->nleaves; i++)
        lz_data_release(x->constant[i]);
    lz_recipe_release(x->recipe);
    lz_arena_deinit(&x->arena);
    lz_mem_free(x);
}

static size_t find_data(lz_data *const *v, size_t n, const lz_data *d)
{
    size_t i = 0;
    while (i < n && v[i] != d)
        i++;
    return i;
}

static lz_err *name_leaves(lz_compiled *x, const lz_walk *w, lz_data *const *in)
{
    x->nleaves = w->leaves.len;
    LZ_TRY(lz_arena_new(&x->arena, &x->constant, x->nleaves));
    LZ_TRY(lz_arena_new(&x->arena, &x->input, x->nleaves));
    LZ_TRY(lz_arena_new(&x->arena, &x->numbers, w->nnumbers));
    for (size_t i = 0; i < x->nleaves; i++) {
        x->input[i] = find_data(in, x->nin, w->leaves.data[i]);
        if (x->input[i] == x->nin)
            x->constant[i] = lz_data_retain(w->leaves.data[i]);
    }
    collect_numbers(w, x->numbers);
    return NULL;
}

/* An output is a result of the graph, or an input or constant that it leaves alone. */
static lz_err *name_outputs(lz_compiled *x, const lz_syncer *s, lz_tensor *const *out, lz_data *const *in)
{
    LZ_TRY(lz_arena_new(&x->arena, &x->result, x->nout));
    LZ_TRY(lz_arena_new(&x->arena, &x->is_input, x->nout));
    for (size_t i = 0; i < x->nout; i++) {
        const lz_alias *a = out[i]->alias;
        size_t k = 0;
        if (!a->value.node) {
            x->is_input[i] = true;
            x->result[i] = find_data(in, x->nin, a->data);
            if (x->result[i] == x->nin)
                return lz_errf(LZ_ERR_UNSUPPORTED, "output %zu depends on no input", i);
            continue;
        }
        while (k < s->roots.len && s->roots.data[k].cell != a)
            k++;
        x->result[i] = s->result_of.data[k];
    }
    return NULL;
}

static lz_err *fill(lz_compiled *x, lz_tensor *const *in, lz_tensor *const *out)
{
    lz_ctx *c = x->ctx;
    lz_data **data;
    LZ_TRY(check(c, in, x->nin));
    LZ_TRY(lz_arena_new(&x->arena, &data, x->nin));
    for (size_t i = 0; i < x->nin; i++)
        LZ_TRY(data_of(c, in[i], &data[i]));
    LZ_TRY(check(c, out, x->nout));
    for (size_t i = 0; i < x->nout; i++)
        if (!lz_tensor_is_base(out[i]))
            return lz_errf(LZ_ERR_UNSUPPORTED, "output %zu is a view: clone it", i);
    LZ_TRY(walk_pending(c, out, x->nout));
    if (c->syncer->roots.len) {
        LZ_TRY(lz_sync_recipe(c, (lz_loc){ 0 }, &x->recipe));
        if (!x->recipe->nstages)
            return lz_errf(LZ_ERR_UNSUPPORTED, "the graph cannot be compiled");
        if (x->recipe->nfallbacks)
            return lz_errf(
                LZ_ERR_UNSUPPORTED,
                "Fail to extract the compiled graph because of fallback: %zu operators run on the CPU",
                x->recipe->nfallbacks);
    }
    LZ_TRY(name_leaves(x, &c->syncer->walk, data));
    return name_outputs(x, c->syncer, out, data);
}

lz_compiled *lz_extract(lz_ctx *c, lz_tensor *const *in, size_t n, lz_tensor *const *out, size_t nout)
{
    lz_compiled *x = lz_mem_zalloc(1, sizeof *x);
    lz_err *e = NULL;
    if (x) {
        lz_arena_init(&x->arena);
        x->ctx = c;
        x->nin = n;
        x->nout = nout;
        e = fill(x, in, out);
    }
    if (x && !e)
        return x;
    told(c, x ? e : lz_err_oom());
    lz_compiled_free(x);
    return NULL;
}

static lz_err *run_results(lz_compiled *x, lz_data *const *in, lz_data **results)
{
    lz_arena a;
    lz_places p;
    lz_data **leaves;
    if (!x->recipe)
        return NULL;
    lz_arena_init(&a);
    lz_err *e = lz_places_init(&a, x->recipe->words, &p);
    if (!e)
        e = lz_arena_new(&a, &leaves, x->nleaves);
    for (size_t i = 0; !e && i < x->nleaves; i++) {
        leaves[i] = x->constant[i] ? x->constant[i] : in[x->input[i]];
        e = check_input(&p, i, leaves[i]->type);
    }
    call y = { .recipe = x->recipe, .words = x->recipe->words, .numbers = x->numbers };
    y.leaves = e ? NULL : leaves;
    if (!e)
        e = run_call(x->ctx, &y, results);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *run_compiled(lz_compiled *x, lz_tensor *const *in, lz_tensor **out)
{
    size_t nresults = x->recipe ? x->recipe->nroots : 0;
    lz_data **data = lz_mem_zalloc(x->nin + nresults + 1, sizeof *data), **results = data + x->nin;
    lz_err *e = data ? NULL : lz_err_oom();
    for (size_t i = 0; !e && i < x->nin; i++)
        e = data_of(x->ctx, in[i], &data[i]);
    if (!e)
        e = run_results(x, data, results);
    for (size_t i = 0; !e && i < x->nout; i++) {
        lz_data *d = (x->is_input[i] ? data : results)[x->result[i]];
        e = tensor_of(x->ctx, lz_data_retain(d), &out[i]);
    }
    for (size_t i = 0; data && i < nresults; i++)
        lz_data_release(results[i]);
    lz_mem_free(data);
    return e;
}

bool lz_compiled_run(lz_compiled *x, lz_tensor *const *in, size_t n, lz_tensor **out, size_t nout)
{
    for (size_t i = 0; !x && i < nout; i++)
        out[i] = NULL;
    if (!x)
        return false;
    lz_err *e = n == x->nin && nout == x->nout
                    ? run_compiled(x, in, out)
                    : lz_errf(LZ_ERR_ARG, "it takes %zu tensors and gives %zu, not %zu and %zu", x->nin,
                              x->nout, n, nout);
    for (size_t i = 0; e && i < nout; i++)
        out[i] = x->ctx->inert;
    return told(x->ctx, e);
}
