#include "api/graph_call.h"
#include "base/mem.h"
#include "lazy/record.h"
#include <string.h>

lz_err *lz_graph_call_check(const lz_ctx *c, lz_tensor *const *t, size_t n)
{
    if (!c->syncer)
        return lz_errf(LZ_ERR_NOT_FOUND, "the context has no device");
    for (size_t i = 0; i < n; i++)
        if (!t[i] || !t[i]->storage || t[i]->ctx != c)
            return lz_errf(LZ_ERR_ARG, "tensor %zu does not belong to this context", i);
    return NULL;
}

lz_err *lz_graph_call_walk(lz_ctx *c, lz_tensor *const *t, size_t n)
{
    lz_syncer *s = c->syncer;
    LZ_TRY(lz_graph_call_check(c, t, n));
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

void lz_graph_call_numbers(const lz_walk *w, lz_scalar *to)
{
    for (size_t i = 0; i < w->numbered.len; i++)
        for (uint32_t k = 0; k < w->numbered.data[i]->nnumbers; k++)
            *to++ = lz_node_scalars(w->numbered.data[i])[k];
}

uint32_t lz_graph_call_result(const lz_syncer *s, const lz_lazy_storage *a)
{
    for (size_t i = 0; i < s->roots.len; i++)
        if (s->roots.data[i].cell == a)
            return s->result_of.data[i];
    return UINT32_MAX;
}

bool lz_graph_call_is_plain(const lz_tensor *t)
{
    return lz_tensor_is_base(t) && t->spec->contiguous;
}

lz_err *lz_graph_call_data(lz_ctx *c, lz_tensor *t, lz_data **out)
{
    LZ_TRY(lz_graph_call_check(c, &t, 1));
    if (!lz_graph_call_is_plain(t)) {
        const lz_value args[] = { lz_value_tensor(t), lz_value_memory_format(LZ_CONTIGUOUS) };
        LZ_TRY(lz_record_one(c, &lz_op_table[LZ_OP_clone], c->at, args, &t));
    }
    lz_lazy_storage *a = t->storage;
    LZ_TRY(lz_ctx_sync(c, &a, 1, LZ_CAUSE_READ, (lz_loc){ 0 }));
    *out = a->data;
    return NULL;
}

/* ---- types ---- */

lz_err *lz_graph_call_types_find(lz_arena *a, const uint64_t *words, lz_graph_call_types *out)
{
    lz_graph_index p;
    uint32_t nroots = lz_flat_roots(words);
    LZ_TRY(lz_graph_index_init(a, words, &p));
    LZ_TRY(lz_arena_new(a, &out->leaves, lz_flat_leaves(words)));
    LZ_TRY(lz_arena_new(a, &out->results, nroots));
    for (uint32_t i = 0; i < p.n; i++) {
        lz_flat_node n = lz_flat_read(p.at[i]);
        if (!n.op)
            out->leaves[p.first_slot[i]] = lz_flat_type(&n, 0);
    }
    for (uint32_t i = 0; i < nroots; i++) {
        lz_flat_node n = lz_flat_read(p.at[lz_flat_ref_place(p.roots[i])]);
        out->results[i] = lz_flat_type(&n, lz_flat_ref_output(p.roots[i]));
    }
    return NULL;
}

lz_err *lz_graph_call_check_leaf(const lz_graph_call_types *types, size_t leaf, size_t input, lz_data_type t)
{
    lz_data_type want = types->leaves[leaf];
    bool same = want.dtype == t.dtype && want.sizes.n == t.sizes.n
                && (t.sizes.n == 0 || memcmp(want.sizes.v, t.sizes.v, (size_t)t.sizes.n * 8) == 0);
    return same ? NULL
                : lz_err_because(LZ_REASON_DTYPE,
                                 "the dtype or the sizes of input %zu differ from those of the graph", input);
}

/* ---- running ---- */

static lz_err *make_result(const lz_graph_call *x, lz_data *earlier, uint32_t i, lz_job *j)
{
    lz_device d = lz_flat_device(x->words);
    const lz_backend *b = lz_backend_of(d.type);
    const lz_data_type *t = &x->types.results[i];
    if (earlier) {
        j->results[i] = lz_data_retain(earlier);
        return NULL;
    }
    LZ_TRY(lz_data_create(b, d, *t, &j->results[i]));
    return b->create_data_placeholder(b->self, j->results[i]->real, t, &j->payloads[i]);
}

static void take_arguments(lz_job *j, const lz_graph_call *x)
{
    for (uint32_t i = 0; i < j->nleaves; i++) {
        j->args[i] = (lz_argument){ 0 };
        j->leaves[i] = lz_data_retain(x->leaves[i]);
    }
    for (uint32_t i = j->nleaves; i < j->nargs; i++)
        j->args[i] = (lz_argument){ .number = x->numbers[i - j->nleaves] };
}

/* Nothing can fail any more. An earlier result becomes the placeholder of the new one. */
static lz_err *run_job(lz_job *j, lz_data **out)
{
    for (uint32_t i = 0; i < j->nresults; i++) {
        if (out[i])
            j->payloads[i] = lz_data_renew(out[i]);
        else
            out[i] = lz_data_retain(j->results[i]);
    }
    lz_job_run(j);
    lz_err *e = j->error;
    j->error = NULL;
    return e;
}

lz_err *lz_graph_call_run(lz_ctx *c, const lz_graph_call *x, lz_data **out)
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
    take_arguments(j, x);
    lz_err *e = NULL;
    for (uint32_t i = 0; !e && i < n.results; i++)
        e = make_result(x, out[i], i, j);
    if (e)
        lz_job_drop(j);
    else
        e = run_job(j, out);
    lz_job_release(j);
    return e;
}
