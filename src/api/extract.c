/* Compiled graphs: their hashes, running one with other inputs, calling one like a function. */
#include "base/mem.h"
#include "lazy/lazy_tensor.h"
#include "lazy/record.h"
#include "lazy/sync.h"
#include <string.h>

static lz_err *check(const lz_ctx *c, lz_tensor *const *t, size_t n)
{
    if (!c->syncer)
        return lz_errf(LZ_ERR_NOT_FOUND, "the context has no device");
    for (size_t i = 0; i < n; i++)
        if (!t[i] || !t[i]->storage || t[i]->ctx != c)
            return lz_errf(LZ_ERR_ARG, "tensor %zu does not belong to this context", i);
    return NULL;
}

/* Walks the graph that a sync of these tensors would look up. Tensors that are held need no graph. */
static lz_err *walk_pending(lz_ctx *c, lz_tensor *const *t, size_t n)
{
    lz_syncer *s = c->syncer;
    LZ_TRY(check(c, t, n));
    LZ_VEC(lz_lazy_storage *) cells = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < n; i++)
        e = lz_vec_push(&cells, t[i]->storage);
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
    for (size_t i = 0; i < w->numbered.len; i++)
        for (uint32_t k = 0; k < w->numbered.data[i]->nnumbers; k++)
            *to++ = lz_node_scalars(w->numbered.data[i])[k];
}

/* The number of the storage's result; UINT32_MAX: the storage is held, so it is no result of the graph. */
static uint32_t result_of(const lz_syncer *s, const lz_lazy_storage *a)
{
    for (size_t i = 0; i < s->roots.len; i++)
        if (s->roots.data[i].cell == a)
            return s->result_of.data[i];
    return UINT32_MAX;
}

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
    LZ_TRY(walk_pending(c, t, n));
    LZ_TRY(place_for_answer(s, s->walk.flat.hash, &q));
    LZ_TRY(lz_vec_reserve(&q->numbers, s->walk.nnumbers));
    LZ_TRY(lz_vec_reserve(&q->result_of, n));
    q->numbers.len = s->walk.nnumbers;
    collect_numbers(&s->walk, q->numbers.data);
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lz_vec_push(&q->result_of, result_of(s, t[i]->storage)));
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

/* *n: the room in `out`, then the number of inputs. */
bool lz_graph_inputs(lz_ctx *c, lz_tensor *const *t, size_t nt, lz_tensor **out, size_t *n)
{
    return lz_ctx_report(c, (lz_loc){ 0 }, inputs(c, t, nt, out, n));
}

static lz_err *numbers(lz_ctx *c, lz_tensor *const *t, size_t nt, lz_scalar *out, size_t *n)
{
    LZ_TRY(walk_pending(c, t, nt));
    const lz_walk *w = &c->syncer->walk;
    size_t room = *n;
    *n = w->nnumbers;
    if (*n <= room)
        collect_numbers(w, out);
    return NULL;
}

bool lz_graph_numbers(lz_ctx *c, lz_tensor *const *t, size_t nt, lz_scalar *out, size_t *n)
{
    return lz_ctx_report(c, (lz_loc){ 0 }, numbers(c, t, nt, out, n));
}

/* ---- running ---- */

/* A call of a compiled graph. */
typedef struct call {
    lz_executable *executable;
    const uint64_t *words;
    const lz_scalar *numbers; /* NULL: the graph takes none */
    lz_data **leaves;         /* borrowed */
} call;

static lz_err *make_result(const lz_graph_index *p, lz_device d, uint32_t i, lz_job *j)
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
    lz_graph_index p;
    lz_arena_init(&a);
    lz_err *e = lz_graph_index_init(&a, words, &p);
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
                       .numbers = x->executable->nnumbers,
                       .results = lz_flat_roots(x->words) };
    LZ_TRY(lz_job_create(c->shared, x->executable, n, &j));
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

/* Checks that input i has the type of leaf i. */
static lz_err *check_input(const lz_graph_index *p, size_t leaf, lz_data_type t)
{
    for (uint32_t i = 0; i < p->n; i++) {
        lz_flat_node n = lz_flat_read(p->at[i]);
        if (n.op || p->first_slot[i] != leaf)
            continue;
        lz_data_type want = lz_flat_type(&n, 0);
        bool same = want.dtype == t.dtype && want.sizes.n == t.sizes.n
                    && (t.sizes.n == 0 || memcmp(want.sizes.v, t.sizes.v, (size_t)t.sizes.n * 8) == 0);
        return same ? NULL
                    : lz_err_because(LZ_REASON_DTYPE,
                                     "the dtype or the sizes of input %zu differ from those of the graph",
                                     leaf);
    }
    return lz_errf(LZ_ERR_ARG, "the graph has no input %zu", leaf);
}

static bool is_plain(const lz_tensor *t)
{
    return lz_tensor_is_base(t) && t->spec->contiguous;
}

/* Syncs t. The data has the elements as t shows them, not as the storage holds them. */
static lz_err *data_of(lz_ctx *c, lz_tensor *t, lz_data **out)
{
    LZ_TRY(check(c, &t, 1));
    if (!is_plain(t)) {
        const lz_value args[] = { lz_value_tensor(t), lz_value_memory_format(LZ_CONTIGUOUS) };
        LZ_TRY(lz_record_one(c, &lz_op_table[LZ_OP_clone], c->at, args, &t));
    }
    lz_lazy_storage *a = t->storage;
    LZ_TRY(lz_ctx_sync(c, &a, 1, LZ_CAUSE_READ, (lz_loc){ 0 }));
    *out = a->data;
    return NULL;
}

/* Gives the results in the order of `which`; NULL: in the graph's order. */
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

static lz_err *gather_leaves(lz_ctx *c, lz_arena *a, const lz_words *words, lz_tensor *const *in, size_t n,
                             lz_data ***out)
{
    lz_graph_index p;
    LZ_TRY(lz_graph_index_init(a, words->data, &p));
    LZ_TRY(lz_arena_new(a, out, n));
    for (size_t i = 0; i < n; i++) {
        LZ_TRY(data_of(c, in[i], &(*out)[i]));
        LZ_TRY(check_input(&p, i, (*out)[i]->type));
    }
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

static lz_err *cached(lz_ctx *c, lz_hash key, const lz_words *words, lz_executable *r,
                      const request *asked_for)
{
    lz_arena a;
    const lz_hash_query *q = find_asked(c->syncer, key);
    call x = { .executable = r, .words = words->data, .numbers = q ? q->numbers.data : NULL };
    LZ_TRY(check_call(r, q, asked_for->numbered, asked_for->n, asked_for->nout));
    if (asked_for->numbered) {
        LZ_TRY(check_numbers(words, r, asked_for->numbers, asked_for->nnumbers));
        x.numbers = asked_for->numbers;
    }
    lz_arena_init(&a);
    lz_err *e = gather_leaves(c, &a, words, asked_for->in, asked_for->n, &x.leaves);
    if (!e)
        e = run_and_give(c, &x, q ? q->result_of.data : NULL, asked_for->out, asked_for->nout);
    lz_arena_deinit(&a);
    return e;
}

static bool run_cached(lz_ctx *c, lz_graph_key key, const request *q)
{
    lz_words words = { 0 };
    lz_err *e = check(c, NULL, 0);
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

/* ---- compiled functions ---- */

/* Where the value of an output comes from, and its view of that value. */
typedef struct output {
    bool is_there; /* for `back`: the function wrote to the input */
    bool is_input; /* an input that the function does not write to, or a view of one */
    size_t from;   /* the number of that input, or of the result */
    const lz_spec *base, *spec;
    int64_t offset;
} output;

struct lz_compiled {
    lz_ctx *ctx;
    lz_executable *executable;
    size_t nleaves, nin, nout;
    lz_data **constant; /* by leaf: its data, one count; NULL: the leaf is an input */
    size_t *input;      /* by leaf: the number of the input */
    output *out;        /* by output */
    output *back;       /* by input: what is copied back */
    lz_scalar *numbers;
    lz_arena arena;
};

void lz_compiled_free(lz_compiled *x)
{
    if (!x)
        return;
    for (size_t i = 0; x->constant && i < x->nleaves; i++)
        lz_data_release(x->constant[i]);
    lz_executable_release(x->executable);
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

/* The id of the data that an input held when the function began. An input that the function wrote to is
 * pending; its storage has the id. */
static lz_err *find_input(lz_ctx *c, lz_tensor *t, size_t i, int64_t *id)
{
    lz_data *d;
    LZ_TRY(check(c, &t, 1));
    if (!is_plain(t))
        return lz_errf(LZ_ERR_UNSUPPORTED, "input %zu is a view: pass a clone", i);
    *id = t->storage->origin;
    if (t->storage->value.node && *id)
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

/* Finds the source of an output: a result of the graph, or an input that the function does not write to. */
static lz_err *name_output(const lz_compiled *x, const lz_tensor *t, const int64_t *ids, const char *what,
                           size_t i, output *out)
{
    const lz_lazy_storage *a = t->storage;
    *out = (output){ .is_there = true, .base = a->spec, .spec = t->spec, .offset = t->offset };
    if (a->value.node) {
        out->from = result_of(x->ctx->syncer, a);
        return NULL;
    }
    out->is_input = true;
    out->from = find_id(ids, x->nin, a->data->id);
    if (out->from == x->nin)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s %zu does not depend on an input", what, i);
    return NULL;
}

static lz_err *name_results(lz_compiled *x, lz_tensor *const *in, lz_tensor *const *out, const int64_t *ids)
{
    LZ_TRY(lz_arena_new(&x->arena, &x->out, x->nout));
    LZ_TRY(lz_arena_new(&x->arena, &x->back, x->nin));
    for (size_t i = 0; i < x->nin; i++)
        if (in[i]->storage->value.node || in[i]->storage->data->id != ids[i])
            LZ_TRY(name_output(x, in[i], ids, "the value written to input", i, &x->back[i]));
    for (size_t i = 0; i < x->nout; i++)
        LZ_TRY(name_output(x, out[i], ids, "output", i, &x->out[i]));
    return NULL;
}

static lz_err *compile(lz_compiled *x)
{
    lz_ctx *c = x->ctx;
    if (!c->syncer->roots.len)
        return NULL;
    LZ_TRY(lz_sync_executable(c, (lz_loc){ 0 }, &x->executable));
    if (!x->executable->nstages)
        return lz_errf(LZ_ERR_UNSUPPORTED, "the graph cannot be compiled");
    if (x->executable->nfallbacks)
        return lz_errf(LZ_ERR_UNSUPPORTED,
                       "Fail to extract the compiled graph because of fallback: %zu operators run on the CPU",
                       x->executable->nfallbacks);
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
    lz_ctx_fail(c, (lz_loc){ 0 }, x ? e : lz_err_oom());
    lz_compiled_free(x);
    return NULL;
}

static lz_err *run_results(lz_compiled *x, lz_data *const *in, lz_data **results)
{
    lz_arena a;
    lz_graph_index p;
    lz_data **leaves;
    if (!x->executable)
        return NULL;
    lz_arena_init(&a);
    lz_err *e = lz_graph_index_init(&a, x->executable->words, &p);
    if (!e)
        e = lz_arena_new(&a, &leaves, x->nleaves);
    for (size_t i = 0; !e && i < x->nleaves; i++) {
        leaves[i] = x->constant[i] ? x->constant[i] : in[x->input[i]];
        e = check_input(&p, i, leaves[i]->type);
    }
    call y = { .executable = x->executable, .words = x->executable->words, .numbers = x->numbers };
    y.leaves = e ? NULL : leaves;
    if (!e)
        e = run_call(x->ctx, &y, results);
    lz_arena_deinit(&a);
    return e;
}

/* Makes the tensor with the strides that the output had when the graph was extracted. */
static lz_err *give_output(lz_ctx *c, const output *o, lz_data *d, lz_tensor **out)
{
    LZ_TRY(lz_tensor_of_data(c, o->base, d->device, lz_data_retain(d), out));
    if (o->spec != o->base || o->offset)
        lz_tensor_look(*out, (*out)->storage, o->spec, o->offset);
    return NULL;
}

/* Copies what the function wrote to its inputs to the inputs of this call, like copy_. */
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
        LZ_TRY(lz_record_one(c, &lz_op_table[LZ_OP_copy_], c->at, args, &t));
    }
    return NULL;
}

static lz_err *run_compiled(lz_compiled *x, lz_tensor *const *in, lz_tensor **out)
{
    size_t nresults = x->executable ? x->executable->nroots : 0;
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
                    : lz_errf(LZ_ERR_ARG, "expected %zu inputs and %zu outputs, got %zu and %zu", x->nin,
                              x->nout, n, nout);
    for (size_t i = 0; e && i < nout; i++)
        out[i] = x->ctx->inert;
    return lz_ctx_report(x->ctx, (lz_loc){ 0 }, e);
}
