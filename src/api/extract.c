/* Compiled graphs that are called like functions. */
#include "api/graph_call.h"
#include "base/mem.h"
#include "lazy/record.h"
#include "ts/ts_backend.h"
#include <string.h>

/* Where the value of an output comes from, and its view of that value. */
typedef struct output {
    bool is_there; /* for `back`: the function wrote to the input */
    bool is_input; /* an input that the function does not write to, or a view of one */
    size_t from;   /* the number of that input, or of the result */
    const lz_spec *base, *spec;
    int64_t offset;
} output;

/* What a graph of fixed memory keeps from run to run. A handle that only the graph holds is filled again.
 * There are two for each result, because the result of one run may be an input of the next. */
typedef struct fixed {
    lz_workspace space;
    lz_data **room;    /* see run_compiled */
    lz_data **kept[2]; /* by result; NULL: none yet */
    bool *which;       /* by result: of the two, the one that the latest run filled */
    bool running;
} fixed;

struct lz_compiled {
    lz_ctx *ctx;
    lz_executable *executable;
    size_t nleaves, nin, nout;
    lz_data **constant; /* by leaf: its data, one count; NULL: the leaf is an input */
    size_t *input;      /* by leaf: the number of the input */
    output *out;        /* by output */
    output *back;       /* by input: what is copied back */
    lz_scalar *numbers;
    lz_graph_call_types types;
    fixed *fixed; /* NULL: each run takes its memory anew */
    lz_arena arena;
};

static size_t count_results(const lz_compiled *x)
{
    return x->executable ? x->executable->nroots : 0;
}

static void free_fixed(lz_compiled *x)
{
    fixed *f = x->fixed;
    if (!f)
        return;
    for (size_t i = 0; i < 2 * count_results(x); i++)
        lz_data_release(f->kept[i % 2][i / 2]);
    lz_workspace_deinit(&f->space);
    lz_buffer_pool_release(f->space.memory);
    x->fixed = NULL;
}

void lz_compiled_free(lz_compiled *x)
{
    if (!x)
        return;
    for (size_t i = 0; x->constant && i < x->nleaves; i++)
        lz_data_release(x->constant[i]);
    free_fixed(x);
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
    LZ_TRY(lz_graph_call_check(c, &t, 1));
    if (!lz_graph_call_is_plain(t))
        return lz_errf(LZ_ERR_UNSUPPORTED, "input %zu is a view: pass a clone", i);
    *id = t->storage->origin;
    if (t->storage->value.node && *id)
        return NULL;
    LZ_TRY(lz_graph_call_data(c, t, &d));
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
    lz_graph_call_numbers(w, x->numbers);
    return NULL;
}

/* Finds the source of an output: a result of the graph, or an input that the function does not write to. */
static lz_err *name_output(const lz_compiled *x, const lz_tensor *t, const int64_t *ids, const char *what,
                           size_t i, output *out)
{
    const lz_lazy_storage *a = t->storage;
    *out = (output){ .is_there = true, .base = a->spec, .spec = t->spec, .offset = t->offset };
    if (a->value.node) {
        out->from = lz_graph_call_result(x->ctx->syncer, a);
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
    return lz_graph_call_types_find(&x->arena, x->executable->words, &x->types);
}

static lz_err *fill(lz_compiled *x, lz_tensor *const *in, lz_tensor *const *out)
{
    lz_ctx *c = x->ctx;
    int64_t *ids;
    const lz_tensor **all;
    LZ_TRY(lz_graph_call_check(c, in, x->nin));
    LZ_TRY(lz_graph_call_check(c, out, x->nout));
    LZ_TRY(lz_arena_new(&x->arena, &ids, x->nin));
    LZ_TRY(lz_arena_new(&x->arena, &all, x->nin + x->nout));
    for (size_t i = 0; i < x->nin; i++) {
        LZ_TRY(find_input(c, in[i], i, &ids[i]));
        all[i] = in[i];
    }
    for (size_t i = 0; i < x->nout; i++)
        all[x->nin + i] = out[i];
    LZ_TRY(lz_graph_call_walk(c, (lz_tensor *const *)all, x->nin + x->nout));
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

/* ---- fixed memory ---- */

static lz_err *check_fixable(const lz_compiled *x)
{
    const lz_stage *s = x->executable ? x->executable->stages : NULL;
    for (size_t i = 0; i < x->nin; i++)
        if (x->back[i].is_there)
            return lz_errf(LZ_ERR_UNSUPPORTED,
                           "the memory of the graph cannot be fixed: the graph writes to input %zu", i);
    if (!s)
        return NULL;
    if (!lz_ts_is_backend(s->backend))
        return lz_errf(LZ_ERR_UNSUPPORTED,
                       "the memory of the graph cannot be fixed: backend %s decides on it", s->backend->name);
    if (x->executable->nstages > 1 || !lz_ts_static_graph(s->computation))
        return lz_errf(LZ_ERR_UNSUPPORTED,
                       "the memory of the graph cannot be fixed: sizes depend on the elements of tensors");
    return NULL;
}

/* The number of handles that a run needs room for. */
static size_t room_of(const lz_compiled *x)
{
    return x->nin + count_results(x) + x->nleaves + 1;
}

static lz_err *fix(lz_compiled *x)
{
    fixed *f;
    size_t n = count_results(x);
    LZ_TRY(check_fixable(x));
    LZ_TRY(lz_arena_new(&x->arena, &f, 1));
    LZ_TRY(lz_arena_new(&x->arena, &f->room, room_of(x)));
    LZ_TRY(lz_arena_new(&x->arena, &f->kept[0], n));
    LZ_TRY(lz_arena_new(&x->arena, &f->kept[1], n));
    LZ_TRY(lz_arena_new(&x->arena, &f->which, n));
    LZ_TRY(lz_buffer_pool_create(SIZE_MAX, &f->space.memory));
    x->fixed = f;
    return NULL;
}

bool lz_compiled_fix(lz_compiled *x)
{
    return x && (x->fixed || lz_ctx_report(x->ctx, (lz_loc){ 0 }, fix(x)));
}

static bool is_free(const lz_data *d)
{
    return d && lz_data_is_sole(d) && lz_data_state_of(d) == LZ_DATA_FULL;
}

/* Results that somebody else still holds stay as they are: the run then gets a new handle. */
static void offer_kept(const lz_compiled *x, lz_data **results)
{
    fixed *f = x->fixed;
    for (size_t i = 0; i < count_results(x); i++) {
        bool k = is_free(f->kept[f->which[i]][i]) ? f->which[i] : !f->which[i];
        lz_data **at = &f->kept[k][i];
        if (!is_free(*at)) {
            lz_data_release(*at);
            *at = NULL;
        }
        results[i] = *at;
        *at = NULL;
        f->which[i] = k;
    }
}

static void keep_results(const lz_compiled *x, lz_data *const *results)
{
    for (size_t i = 0; i < count_results(x); i++)
        x->fixed->kept[x->fixed->which[i]][i] = lz_data_retain(results[i]);
}

static lz_err *run_fixed(const lz_compiled *x, const lz_graph_call *call, lz_data **results)
{
    offer_kept(x, results);
    lz_workspace_enter(&x->fixed->space);
    lz_err *e = lz_graph_call_run(x->ctx, call, results);
    lz_workspace_leave(&x->fixed->space);
    if (!e)
        keep_results(x, results);
    return e;
}

/* ---- running ---- */

static lz_err *run_results(lz_compiled *x, lz_data *const *in, lz_data **results, lz_data **leaves)
{
    if (!x->executable)
        return NULL;
    for (size_t i = 0; i < x->nleaves; i++) {
        leaves[i] = x->constant[i];
        if (leaves[i])
            continue;
        leaves[i] = in[x->input[i]];
        LZ_TRY(lz_graph_call_check_leaf(&x->types, i, x->input[i], leaves[i]->type));
    }
    lz_graph_call y = { .executable = x->executable,
                        .words = x->executable->words,
                        .types = x->types,
                        .numbers = x->numbers,
                        .leaves = leaves };
    return x->fixed ? run_fixed(x, &y, results) : lz_graph_call_run(x->ctx, &y, results);
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

/* data: the data of the inputs, then the results, then the leaves; all NULL. */
static lz_err *run_with_room(lz_compiled *x, lz_tensor *const *in, lz_tensor **out, lz_data **data)
{
    size_t n = count_results(x);
    lz_data **results = data + x->nin;
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < x->nin; i++)
        e = lz_graph_call_data(x->ctx, in[i], &data[i]);
    if (!e)
        e = run_results(x, data, results, results + n);
    for (size_t i = 0; !e && i < x->nout; i++)
        e = give_output(x->ctx, &x->out[i], (x->out[i].is_input ? data : results)[x->out[i].from], &out[i]);
    if (!e)
        e = copy_back(x, in, data);
    for (size_t i = 0; i < n; i++)
        lz_data_release(results[i]);
    return e;
}

static lz_err *run_compiled(lz_compiled *x, lz_tensor *const *in, lz_tensor **out)
{
    fixed *f = x->fixed;
    if (f && f->running)
        return lz_errf(LZ_ERR_BUSY, "a graph of fixed memory is called while it runs");
    lz_data **data = f ? f->room : lz_mem_alloc(room_of(x) * sizeof *data);
    if (!data)
        return lz_err_oom();
    memset(data, 0, room_of(x) * sizeof *data);
    if (f)
        f->running = true;
    lz_err *e = run_with_room(x, in, out, data);
    if (f)
        f->running = false;
    else
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
