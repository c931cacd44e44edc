/* Runs a static graph of a segment: its arguments, and its results. */
#include "base/mem.h"
#include "core/dtype.h"
#include "script/segment_impl.h"

/* ---- arguments ---- */

static lz_scalar scalar_of(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_FLOAT  ? lz_scalar_float(v.f)
           : v.kind == LZ_SCRIPT_VALUE_BOOL ? lz_scalar_bool(v.b)
                                            : lz_scalar_int(v.kind == LZ_SCRIPT_VALUE_INT ? v.i : 0);
}

static size_t offset_of(const lz_segment_call *c, const lz_script_tensor *t)
{
    return c->seg->whole ? 0 : (size_t)t->offset * lz_dtype_size((lz_dtype)t->spec->dtype);
}

static lz_static_graph_arg arg_of(const lz_segment_call *c, lz_functionalize_source s)
{
    lz_static_graph_arg a = { 0 };
    if (s.kind == LZ_FUNCTIONALIZE_TENSOR) {
        const lz_script_tensor *t = c->tensors.data[s.index];
        a.buffer = t->storage->buffer;
        a.offset = offset_of(c, t);
    } else {
        a.number = s.kind == LZ_FUNCTIONALIZE_SEED     ? lz_scalar_int((int64_t)c->env->seed)
                   : s.kind == LZ_FUNCTIONALIZE_STREAM ? lz_scalar_int((int64_t)c->env->stream)
                                                       : scalar_of(c->locals[c->seg->inputs[s.index].local]);
    }
    return a;
}

/* Whether only a slot that is not read again and this call hold the tensor. Its memory may then be
 * overwritten, even if the run fails. */
static bool is_dying(const lz_segment_call *c, const lz_script_tensor *t)
{
    bool dies = false;
    if (atomic_load(&t->head.box.count) != 2 || atomic_load(&t->storage->count) != 1
        || !lz_buffer_is_exclusive(t->storage->buffer) || t->offset != 0 || c->from > 0)
        return false;
    for (uint32_t i = 0; !dies && i < c->ndying; i++)
        dies = lz_is_script_tensor(c->slots[c->dying[i]]) && lz_script_tensor_of(c->slots[c->dying[i]]) == t;
    return dies;
}

/* Whether the segment writes to the tensor's storage and no other storage holds the buffer: then the graph
 * may write in place. A run that fails leaves the elements unchanged. */
static bool is_written(const lz_segment_call *c, const lz_functional *f, uint32_t tensor)
{
    bool written = false;
    for (size_t i = 0; !written && i < f->writes.len; i++)
        written = c->tensors.data[f->writes.data[i].tensor]->storage == c->tensors.data[tensor]->storage;
    return written && lz_buffer_is_exclusive(c->tensors.data[tensor]->storage->buffer);
}

static void find_args(const lz_segment_call *c, const lz_functional *f, lz_static_graph_arg *out)
{
    for (size_t i = 0; i < f->inputs.len; i++) {
        lz_functionalize_source s = f->sources.data[i];
        out[i] = arg_of(c, s);
        if (s.kind != LZ_FUNCTIONALIZE_TENSOR)
            continue;
        out[i].spare = !f->kept[s.index] && is_dying(c, c->tensors.data[s.index]);
        out[i].donate = out[i].spare || is_written(c, f, s.index);
    }
}

/* ---- results ---- */

typedef struct results {
    lz_segment_call *c;
    const lz_functional *f;
    const lz_static_graph *graph;
    lz_buffer **buffers;     /* by output of the graph */
    lz_storage **storages;   /* by output of the graph; NULL: not created yet */
    lz_script_value *made;   /* by described tensor; counted */
    lz_script_value *values; /* by result; counted */
    lz_spec **views;         /* new specs for f->views */
} results;

/* The storage of a described tensor. *offset: where the described storage begins in it. */
static lz_err *storage_of(results *r, const lz_described_storage *s, lz_storage **out, int64_t *offset)
{
    *offset = 0;
    if (s->input >= 0) { /* also if the input is written: its storage then gets the new buffer */
        const lz_script_tensor *t = r->c->tensors.data[s->input];
        *out = t->storage;
        *offset = r->c->seg->whole ? 0 : t->offset;
        return NULL;
    }
    int64_t input = lz_static_graph_output_get(r->graph, (size_t)s->output).input;
    if (input >= 0 && !r->c->seg->whole)
        *offset = r->c->tensors.data[r->f->sources.data[input].index]->offset;
    if (!r->storages[s->output])
        LZ_TRY(lz_storage_create(lz_buffer_retain(r->buffers[s->output]), &r->storages[s->output]));
    *out = r->storages[s->output];
    return NULL;
}

static lz_err *read_number(results *r, const lz_described *t, lz_script_value *out)
{
    lz_array a;
    LZ_TRY(lz_array_init_view(&a, r->buffers[lz_storage_of(t)->output], (lz_dtype)t->spec->dtype,
                              lz_spec_sizes(t->spec), lz_spec_strides(t->spec), 0));
    lz_scalar s = lz_array_get(&a, 0);
    lz_array_deinit(&a);
    *out = s.kind == LZ_SCALAR_FLOAT  ? lz_script_value_float(s.re)
           : s.kind == LZ_SCALAR_BOOL ? lz_script_value_bool(s.i != 0)
                                      : lz_script_value_int(s.i);
    return NULL;
}

static lz_err *make_tensor(results *r, const lz_described *t)
{
    lz_storage *storage;
    int64_t offset;
    if (r->made[t->number].kind != LZ_SCRIPT_VALUE_NONE)
        return NULL;
    if (t->is_number)
        return read_number(r, t, &r->made[t->number]);
    LZ_TRY(storage_of(r, lz_storage_of(t), &storage, &offset));
    return lz_script_tensor_view(storage, t->spec, t->x.offset + offset, &r->made[t->number]);
}

static lz_err *real_tensor(results *r, const lz_described *t, lz_script_value *out)
{
    if (t->self >= 0) {
        *out = lz_script_value_retain((lz_script_value){ .kind = LZ_SCRIPT_VALUE_TENSOR,
                                                         .tensor = &r->c->tensors.data[t->self]->head });
        return NULL;
    }
    LZ_TRY(make_tensor(r, t));
    *out = lz_script_value_retain(r->made[t->number]);
    return NULL;
}

/* Replaces described tensors by real ones. Lists are copied, because the receiver may change them. */
/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_SCRIPT_VALUE_DEPTH deep */
static lz_err *instantiate(void *user, lz_script_value described, int depth, lz_script_value *out)
{
    *out = lz_script_value_none();
    if (lz_script_value_is_described(described))
        return real_tensor(user, lz_described_of(described), out);
    if ((described.kind == LZ_SCRIPT_VALUE_LIST || described.kind == LZ_SCRIPT_VALUE_TUPLE) && depth > 0)
        return lz_script_value_map_items(described, instantiate, user, depth - 1, out);
    *out = lz_script_value_retain(described);
    return NULL;
}

/* Allocates everything that give_results needs, so that a failure changes nothing. */
static lz_err *make_results(results *r)
{
    for (size_t i = 0; i < r->f->results.len; i++)
        LZ_TRY(instantiate(r, r->f->results.data[i].value, LZ_SCRIPT_VALUE_DEPTH, &r->values[i]));
    for (size_t i = 0; i < r->f->views.len; i++) {
        const lz_spec *s = r->f->views.data[i].spec;
        LZ_TRY(lz_spec_create((lz_dtype)s->dtype, lz_spec_sizes(s), lz_spec_strides(s), &r->views[i]));
    }
    return NULL;
}

static void give_results(results *r)
{
    for (size_t i = 0; i < r->f->writes.len; i++) {
        lz_functionalize_write w = r->f->writes.data[i];
        lz_storage_write(r->c->tensors.data[w.tensor]->storage, lz_buffer_retain(r->buffers[w.output]));
    }
    for (size_t i = 0; i < r->f->views.len; i++) {
        lz_functionalize_view l = r->f->views.data[i];
        lz_script_tensor_set_view(r->c->tensors.data[l.tensor], r->views[i], l.offset);
        r->views[i] = NULL;
    }
    for (size_t i = 0; i < r->f->results.len; i++) {
        lz_script_value_set(&r->c->locals[r->f->results.data[i].local], r->values[i]);
        r->values[i] = lz_script_value_none();
    }
}

/* Adds a run to the statistics. Its peak is the memory held before it plus what the graph was predicted to
 * take. */
static void count_run(const lz_segment_call *c, const lz_static_graph *graph, size_t planned, size_t asked)
{
    lz_script_env *env = c->env;
    size_t peak = (asked > env->held ? asked - env->held : 0) + planned;
    env->peak = peak > env->peak ? peak : env->peak;
    env->launches += lz_static_graph_launches(graph);
}

static lz_err *run_graph(results *r, const lz_static_graph_arg *in)
{
    lz_segment_call *c = r->c;
    const lz_ssa_node *failed = NULL;
    size_t planned = 0, asked = c->env->memory ? lz_buffer_pool_stats(c->env->memory).asked : 0;
    lz_static_graph_run_args args = {
        .in = in, .memory = c->env->memory, .threads = c->env->threads, .failed = &failed, .planned = &planned
    };
    lz_err *e = lz_static_graph_run(r->graph, &args, r->buffers);
    count_run(c, r->graph, planned, asked);
    if (e && failed && failed->recorded)
        c->at = &c->seg->insts[failed->recorded - 1];
    if (!e)
        e = make_results(r);
    if (!e)
        give_results(r);
    return e;
}

static lz_err *with_room(results *r, lz_arena *a)
{
    size_t n = lz_static_graph_outputs(r->graph);
    lz_static_graph_arg *in;
    LZ_TRY(lz_arena_new(a, &in, r->f->inputs.len + 1));
    LZ_TRY(lz_arena_new(a, &r->buffers, n + 1));
    LZ_TRY(lz_arena_new(a, &r->storages, n + 1));
    LZ_TRY(lz_arena_new(a, &r->made, r->f->n_described + 1));
    LZ_TRY(lz_arena_new(a, &r->values, r->f->results.len + 1));
    LZ_TRY(lz_arena_new(a, &r->views, r->f->views.len + 1));
    find_args(r->c, r->f, in);
    lz_err *e = run_graph(r, in);
    for (size_t i = 0; i < n; i++) {
        lz_buffer_release(r->buffers[i]);
        lz_storage_release(r->storages[i]);
    }
    for (uint32_t i = 0; i < r->f->n_described; i++)
        lz_script_value_release(r->made[i]);
    for (size_t i = 0; i < r->f->results.len; i++)
        lz_script_value_release(r->values[i]);
    for (size_t i = 0; i < r->f->views.len; i++)
        lz_mem_free(r->views[i]);
    return e;
}

lz_err *lz_segment_run_entry(lz_segment_call *c, const lz_segment_entry *e)
{
    results r = { .c = c, .f = &e->made, .graph = e->graph };
    lz_arena a;
    lz_arena_init(&a);
    lz_err *err = with_room(&r, &a);
    lz_arena_deinit(&a);
    if (!err)
        c->env->stream += lz_static_graph_draws(e->graph);
    return err;
}
