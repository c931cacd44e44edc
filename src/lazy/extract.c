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
        e = lz_sync_collect(c, cells.data, cells.len, LZ_SYNC_THESE);
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

static lz_asked *find_asked(const lz_syncer *s, lz_hash key)
{
    for (size_t i = 0; i < s->asked.len; i++)
        if (lz_hash_eq(s->asked.data[i].key, key))
            return &s->asked.data[i];
    return NULL;
}

/* The same question again has another answer: other numbers, other tensors. */
static lz_err *place_for_answer(lz_syncer *s, lz_hash key, lz_asked **out)
{
    *out = find_asked(s, key);
    if (!*out && s->asked.len == LZ_MOST_ASKED)
        *out = &s->asked.data[s->oldest_asked++ % LZ_MOST_ASKED];
    if (!*out) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a push that succeeds has made room */
        LZ_TRY(lz_vec_push(&s->asked, (lz_asked){ 0 }));
        *out = &s->asked.data[s->asked.len - 1];
    }
    (*out)->numbers.len = (*out)->result_of.len = 0;
    (*out)->key = (lz_hash){ 0 }; /* until all of it is known */
    return NULL;
}

static lz_err *ask(lz_ctx *c, lz_tensor *const *t, size_t n, lz_hash *key)
{
    lz_syncer *s = c->syncer;
    lz_asked *q;
    LZ_TRY(walk_pending(c, t, n));
    LZ_TRY(place_for_answer(s, s->walk.flat.hash, &q));
    LZ_TRY(lz_vec_reserve(&q->numbers, s->walk.nnumbers));
    LZ_TRY(lz_vec_reserve(&q->result_of, n));
    q->numbers.len = s->walk.nnumbers;
    collect_numbers(&s->walk, q->numbers.data);
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lz_vec_push(&q->result_of, result_of(s, t[i]->alias)));
    *key = q->key = s->walk.flat.hash;
    return NULL;
}

bool lz_graph_hash(lz_ctx *c, lz_tensor *const *t, size_t n, lz_graph_key *out)
{
    lz_hash h = { 0 };
    lz_err *e = c->syncer ? ask(c, t, n, &h) : lz_errf(LZ_ERR_NOT_FOUND, "the context has no device");
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

static bool is_plain(const lz_tensor *t)
{
    return lz_tensor_is_base(t) && t->spec->contiguous;
}

/* The data of a tensor that is held, or becomes so: as it looks, not as it is stored. */
static lz_err *data_of(lz_ctx *c, lz_tensor *t, lz_data **out)
{
    LZ_TRY(check(c, &t, 1));
    if (!is_plain(t)) {
        const lz_value args[] = { lz_value_tensor(t), lz_value_memory_format(LZ_CONTIGUOUS) };
        lz_value copy;
        lz_record(c, &lz_op_table[LZ_OP_clone], c->at, args, &copy);
        t = copy.tensor;
        LZ_TRY(check(c, &t, 1));
    }
    lz_alias *a = t->alias;
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

/* Numbers and the order of results are known of graphs that were asked about. */
static lz_err *check_call(const lz_recipe *r, const lz_asked *q, size_t n, size_t nout)
{
    if (r->nnumbers && !q)
        return lz_errf(LZ_ERR_UNSUPPORTED,
                       "the graph takes %u numbers besides tensors: ask this context for its hash first",
                       r->nnumbers);
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
    const lz_asked *q = find_asked(c->syncer, key);
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

/* A tensor as it was when the graph was extracted. */
typedef struct output {
    bool is_there; /* of what is copied back: the input was written */
    bool is_input; /* it is an input that the graph leaves alone, or a view of one */
    size_t from;   /* that input, or the result of the graph */
    const lz_spec *base, *spec;
    int64_t offset;
} output;

struct lz_compiled {
    lz_ctx *ctx;
    lz_recipe *recipe;
    size_t nleaves, nin, nout;
    lz_data **constant; /* by leaf: what it stays; one count. NULL: it is an input */
    size_t *input;      /* by leaf: which input it is */
    output *out;        /* by output */
    output *back;       /* by input: what is copied back to it */
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

static size_t find_id(const int64_t *ids, size_t n, int64_t id)
{
    size_t i = 0;
    while (i < n && ids[i] != id)
        i++;
    return i;
}

/* What an input held when the function began. An input that the function wrote to is pending, and
 * knows what it held before. */
static lz_err *find_input(lz_ctx *c, lz_tensor *t, size_t i, int64_t *id)
{
    lz_data *d;
    LZ_TRY(check(c, &t, 1));
    if (!is_plain(t))
        return lz_errf(LZ_ERR_UNSUPPORTED, "input %zu is a view: clone it", i);
    *id = t->alias->origin;
    if (t->alias->value.node && *id)
        return NULL;
    LZ_TRY(data_of(c, t, &d));
    *id = d->id;
    return NULL;
}

static lz_err *name_leaves(lz_compiled *x, const lz_walk *w, const int64_t *ids)
{
    x->nleaves = w->leaves.len;
    LZ_TRY(lz_arena_new(&x->arena, &x->constant, x->nleaves));
    LZ_TRY(lz_arena_new(&x->arena, &x->input, x->nleaves));
    LZ_TRY(lz_arena_new(&x->arena, &x->numbers, w->nnumbers));
    for (size_t i = 0; i < x->nleaves; i++) {
        x->input[i] = find_id(ids, x->nin, w->leaves.data[i]->id);
        if (x->input[i] == x->nin)
            x->constant[i] = lz_data_retain(w->leaves.data[i]);
    }
    collect_numbers(w, x->numbers);
    return NULL;
}

/* An output is a result of the graph, or an input that it leaves alone, or a view of these. */
static lz_err *name_output(const lz_compiled *x, const lz_tensor *t, const int64_t *ids, const char *what,
                           size_t i, output *out)
{
    const lz_alias *a = t->alias;
    *out = (output){ .is_there = true, .base = a->spec, .spec = t->spec, .offset = t->offset };
    if (a->value.node) {
        out->from = result_of(x->ctx->syncer, a);
        return NULL;
    }
    out->is_input = true;
    out->from = find_id(ids, x->nin, a->data->id);
    if (out->from == x->nin)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s %zu depends on no input", what, i);
    return NULL;
}

static lz_err *name_results(lz_compiled *x, lz_tensor *const *in, lz_tensor *const *out, const int64_t *ids)
{
    LZ_TRY(lz_arena_new(&x->arena, &x->out, x->nout));
    LZ_TRY(lz_arena_new(&x->arena, &x->back, x->nin));
    for (size_t i = 0; i < x->nin; i++)
        if (in[i]->alias->value.node || in[i]->alias->data->id != ids[i])
            LZ_TRY(name_output(x, in[i], ids, "what is written to input", i, &x->back[i]));
    for (size_t i = 0; i < x->nout; i++)
        LZ_TRY(name_output(x, out[i], ids, "output", i, &x->out[i]));
    return NULL;
}

static lz_err *compile(lz_compiled *x)
{
    lz_ctx *c = x->ctx;
    if (!c->syncer->roots.len)
        return NULL;
    LZ_TRY(lz_sync_recipe(c, (lz_loc){ 0 }, &x->recipe));
    if (!x->recipe->nstages)
        return lz_errf(LZ_ERR_UNSUPPORTED, "the graph cannot be compiled");
    if (x->recipe->nfallbacks)
        return lz_errf(LZ_ERR_UNSUPPORTED,
                       "Fail to extract the compiled graph because of fallback: %zu operators run on the CPU",
                       x->recipe->nfallbacks);
    return NULL;
}

static lz_err *fill(lz_compiled *x, lz_tensor *const *in, lz_tensor *const *out)
{
    lz_ctx *c = x->ctx;
    int64_t *ids;
    const lz_tensor **all;
    LZ_TRY(check(c, in, x->nin));
    LZ_TRY(check(c, out, x->nout));
    LZ_TRY(lz_arena_new(&x->arena, &ids, x->nin));
    LZ_TRY(lz_arena_new(&x->arena, &all, x->nin + x->nout));
    for (size_t i = 0; i < x->nin; i++) {
        LZ_TRY(find_input(c, in[i], i, &ids[i]));
        all[i] = in[i];
    }
    for (size_t i = 0; i < x->nout; i++)
        all[x->nin + i] = out[i];
    LZ_TRY(walk_pending(c, (lz_tensor *const *)all, x->nin + x->nout));
    LZ_TRY(compile(x));
    LZ_TRY(name_leaves(x, &c->syncer->walk, ids));
    return name_results(x, in, out, ids);
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

/* With the strides that the output had when the graph was extracted. */
static lz_err *give_output(lz_ctx *c, const output *o, lz_data *d, lz_tensor **out)
{
    LZ_TRY(lz_tensor_of_data(c, o->base, d->device, lz_data_retain(d), out));
    if (o->spec != o->base || o->offset)
        lz_tensor_look(*out, (*out)->alias, o->spec, o->offset);
    return NULL;
}

/* What the function wrote to its inputs goes to those of this call, as copy_ does it. */
static lz_err *copy_back(const lz_compiled *x, lz_tensor *const *in, lz_data *const *data)
{
    lz_ctx *c = x->ctx;
    for (size_t i = 0; i < x->nin; i++) {
        lz_tensor *t;
        const output *o = &x->back[i];
        if (!o->is_there)
            continue;
        LZ_TRY(give_output(c, o, data[o->is_input ? o->from : x->nin + o->from], &t));
        const lz_value args[] = { lz_value_tensor(in[i]), lz_value_tensor(t), lz_value_truth(false) };
        lz_value out;
        lz_record(c, &lz_op_table[LZ_OP_copy_], c->at, args, &out);
    }
    return NULL;
}

static lz_err *run_compiled(lz_compiled *x, lz_tensor *const *in, lz_tensor **out)
{
    size_t nresults = x->recipe ? x->recipe->nroots : 0;
    lz_data **data = lz_mem_zalloc(x->nin + nresults + 1, sizeof *data);
    if (!data)
        return lz_err_oom();
    lz_data **results = data + x->nin;
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < x->nin; i++)
        e = data_of(x->ctx, in[i], &data[i]);
    if (!e)
        e = run_results(x, data, results);
    for (size_t i = 0; !e && i < x->nout; i++)
        e = give_output(x->ctx, &x->out[i], (x->out[i].is_input ? data : results)[x->out[i].from], &out[i]);
    if (!e)
        e = copy_back(x, in, data);
    for (size_t i = 0; i < nresults; i++)
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
    return told(x->ctx, e) && !lz_failed(x->ctx); /* copying back tells its errors itself */
}
