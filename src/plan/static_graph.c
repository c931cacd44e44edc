#include "plan/static_graph.h"
#include "base/mem.h"
#include "plan/packed_weights.h"
#include "plan/static_graph_impl.h"
#include <assert.h>
#include <string.h>

void lz_static_graph_destroy(lz_static_graph *x)
{
    if (!x)
        return;
    for (size_t i = 0; i < x->steps.len; i++)
        lz_plan_destroy(x->steps.data[i].plan);
    lz_vec_deinit(&x->steps);
    lz_vec_deinit(&x->places);
    lz_graph_release(x->graph);
    lz_arena_deinit(&x->arena);
    lz_mem_free(x);
}

size_t lz_static_graph_outputs(const lz_static_graph *x)
{
    return x->n_outputs;
}

lz_static_graph_output lz_static_graph_output_get(const lz_static_graph *x, size_t i)
{
    uint32_t at = x->outputs[i];
    const lz_static_place *p = &x->places.data[at];
    while (x->places.data[at].shows)
        at = x->places.data[at].shows - 1;
    return (lz_static_graph_output){ .dtype = p->dtype,
                                     .sizes = p->sizes,
                                     .input = at < x->n_inputs ? (int64_t)at : -1 };
}

size_t lz_static_graph_launches(const lz_static_graph *x)
{
    return x->launches;
}

uint64_t lz_static_graph_draws(const lz_static_graph *x)
{
    return x->draws;
}

size_t lz_static_graph_measure(const lz_static_graph *x, lz_plan_bytes *plans)
{
    *plans = (lz_plan_bytes){ 0 };
    for (size_t i = 0; i < x->steps.len; i++) {
        lz_plan_bytes b = lz_plan_measure(x->steps.data[i].plan);
        plans->launches += b.launches;
        plans->arguments += b.arguments;
        plans->kernels += b.kernels;
    }
    return sizeof *x + x->arena.total + x->places.cap * sizeof *x->places.data
           + x->steps.cap * sizeof *x->steps.data;
}

/* ---- running ---- */

typedef struct runner {
    const lz_static_graph *x;
    const lz_static_graph_run_args *args;
    lz_run_input *inputs; /* by place; one count for each place that is no input of the graph */
    lz_scalar *scalars;   /* by input */
    lz_buffer **made;     /* outputs of the current step */
    size_t copies;        /* bytes of packed weights that earlier steps have made */
} runner;

static void take_inputs(runner *r)
{
    const lz_static_graph *x = r->x;
    for (size_t i = 0; i < x->n_inputs; i++) {
        const lz_static_graph_arg *a = &r->args->in[i];
        r->inputs[i].buffer = a->buffer;
        r->inputs[i].offset = a->offset;
        r->inputs[i].constant = a->constant;
        r->scalars[i] = a->number;
        if (x->places.data[i].is_position)
            r->scalars[i].i *= LZ_STATIC_GRAPH_DRAWS;
    }
}

/* Sets the inputs that are parts of other places: their offsets depend on run-time numbers. */
static void move_inputs(runner *r, const lz_static_step *s)
{
    for (uint32_t i = s->first_moved; i < s->first_out; i++) {
        const lz_static_place *p = &r->x->places.data[i];
        assert(p->is_moved);
        r->inputs[i] = r->inputs[p->base];
        r->inputs[i].donate = false;
        r->inputs[i].offset +=
            (size_t)p->bytes * (size_t)r->scalars[p->number].i; /* the plan checks the bounds */
    }
}

/* Moved inputs borrow their buffers. */
static void forget_moved(runner *r, const lz_static_step *s)
{
    for (uint32_t i = s->first_moved; i < s->first_out; i++)
        r->inputs[i] = (lz_run_input){ 0 };
}

/* A place must not be overwritten by a launch that reads a part of the place. */
static void keep_moved(runner *r, const lz_static_step *s)
{
    for (uint32_t i = s->first_moved; i < s->first_out; i++)
        if (r->x->places.data[i].is_read)
            r->inputs[r->x->places.data[i].base].donate = false;
}

/* Memory that no later step reads may be overwritten. Inputs of the graph may be overwritten only in the
 * last step, because a later step might fail. */
static void donate(runner *r, const lz_static_step *s)
{
    for (size_t i = 0; i < s->n_last; i++) {
        uint32_t at = s->last[i];
        lz_run_input *in = &r->inputs[at];
        bool last = s == &r->x->steps.data[r->x->steps.len - 1];
        bool is_input = at < r->x->n_inputs;
        in->keep = is_input && !r->args->in[at].spare;
        bool given = !is_input || (r->args->in[at].donate && last);
        in->donate = given && lz_buffer_is_exclusive(in->buffer);
    }
}

static void drop(runner *r, const lz_static_step *s)
{
    for (size_t i = 0; i < s->n_last; i++) {
        lz_run_input *in = &r->inputs[s->last[i]];
        if (s->last[i] >= r->x->n_inputs)
            lz_buffer_release(in->buffer);
        *in = (lz_run_input){ 0 };
    }
}

/* The peak of a step includes the results of earlier steps that still exist. */
static void plan_ahead(runner *r, const lz_static_step *s)
{
    size_t bytes = lz_plan_will_take(s->plan, r->inputs) + r->copies;
    r->copies += lz_packed_weights_will_take(s->plan, r->inputs);
    for (size_t i = r->x->n_inputs; i < s->first_moved; i++)
        bytes += r->inputs[i].buffer ? lz_buffer_capacity(r->inputs[i].buffer->size) : 0;
    *r->args->planned = bytes > *r->args->planned ? bytes : *r->args->planned;
}

static const lz_ssa_node *node_of(const void *user, uint32_t origin)
{
    const lz_static_step *s = user;
    return origin < s->n_nodes ? s->nodes[origin] : NULL;
}

static lz_err *run_step(runner *r, const lz_static_step *s)
{
    uint32_t failed = UINT32_MAX;
    lz_plan_names names = { .node = node_of, .user = s, .file = r->x->graph->file };
    lz_run_args args = { .inputs = r->inputs,
                         .scalars = r->scalars,
                         .memory = r->args->memory,
                         .threads = r->args->threads,
                         .failed = &failed,
                         .names = &names };
    donate(r, s);
    keep_moved(r, s);
    move_inputs(r, s);
    if (r->args->planned)
        plan_ahead(r, s);
    lz_err *e = lz_plan_run(s->plan, &args, r->made);
    forget_moved(r, s);
    if (e && failed < s->n_nodes && r->args->failed)
        *r->args->failed = s->nodes[failed];
    LZ_TRY(e);
    drop(r, s);
    for (size_t i = 0; i < s->n_out; i++)
        r->inputs[s->first_out + i].buffer = r->made[i];
    return NULL;
}

static void release_rest(runner *r)
{
    for (size_t i = r->x->n_inputs; i < r->x->places.len; i++)
        lz_buffer_release(r->inputs[i].buffer);
}

static lz_err *run(runner *r, lz_buffer **out)
{
    const lz_static_graph *x = r->x;
    lz_err *e = NULL;
    take_inputs(r);
    if (r->args->planned)
        *r->args->planned = 0;
    for (size_t i = 0; !e && i < x->steps.len; i++)
        e = run_step(r, &x->steps.data[i]);
    for (size_t i = 0; !e && i < x->n_outputs; i++)
        out[i] = lz_buffer_retain(r->inputs[x->outputs[i]].buffer);
    release_rest(r);
    return e;
}

lz_err *lz_static_graph_run(const lz_static_graph *x, const lz_static_graph_run_args *args, lz_buffer **out)
{
    enum { FEW = 1024 };
    _Alignas(LZ_MEM_ALIGN) char few[FEW];
    runner r = { .x = x, .args = args };
    size_t places = x->places.len + 1, scalars = x->n_inputs + 1, made = x->most_out + 1;
    size_t bytes = places * sizeof *r.inputs + scalars * sizeof *r.scalars + made * sizeof(lz_buffer *);
    char *room = bytes <= FEW ? few : lz_temporary_take(bytes, LZ_MEM_ALIGN);
    if (!room)
        return lz_err_oom();
    r.inputs = (void *)room;
    r.scalars = (void *)(r.inputs + places);
    r.made = (void *)(r.scalars + scalars);
    memset(r.inputs, 0, places * sizeof *r.inputs);
    lz_err *e = run(&r, out);
    if (room != few)
        lz_temporary_give(room);
    return e;
}
