#include "plan/static_graph.h"
#include "base/mem.h"
#include "plan/packed_weights.h"
#include "plan/static_graph_impl.h"
#include <assert.h>
#include <string.h>

void lz_straight_destroy(lz_straight *x)
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

size_t lz_straight_outputs(const lz_straight *x)
{
    return x->n_outputs;
}

lz_straight_output lz_straight_output_get(const lz_straight *x, size_t i)
{
    const lz_splace *p = &x->places.data[x->outputs[i]];
    return (lz_straight_output){ .dtype = p->dtype, .sizes = p->sizes };
}

size_t lz_straight_plans(const lz_straight *x)
{
    return x->steps.len;
}

size_t lz_straight_launches(const lz_straight *x)
{
    return x->launches;
}

size_t lz_straight_measure(const lz_straight *x, lz_plan_bytes *plans)
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
    const lz_straight *x;
    const lz_straight_run_args *args;
    lz_run_input *inputs; /* by place; a count of those that are no inputs of the graph */
    lz_scalar *scalars;   /* by input */
    lz_buffer **made;     /* of one step */
    size_t copies;        /* bytes of turned weights that earlier steps have made */
} runner;

static void take_inputs(runner *r)
{
    const lz_straight *x = r->x;
    for (size_t i = 0; i < x->n_inputs; i++) {
        const lz_straight_arg *a = &r->args->in[i];
        r->inputs[i].buffer = a->buffer;
        r->inputs[i].constant = a->constant;
        r->scalars[i] = a->number;
        if (x->places.data[i].is_position)
            r->scalars[i].i *= LZ_STRAIGHT_DRAWS;
    }
}

/* Parts of places, from where they begin in this run. */
static void move_inputs(runner *r, const lz_sstep *s)
{
    for (uint32_t i = s->first_moved; i < s->first_out; i++) {
        const lz_splace *p = &r->x->places.data[i];
        assert(p->is_moved);
        r->inputs[i] = r->inputs[p->base];
        r->inputs[i].donate = false;
        r->inputs[i].offset += (size_t)p->bytes * (size_t)r->scalars[p->number].i; /* the plan checks it */
    }
}

/* They borrow their buffers; and what they show must not be computed over while they are read. */
static void forget_moved(runner *r, const lz_sstep *s)
{
    for (uint32_t i = s->first_moved; i < s->first_out; i++)
        r->inputs[i] = (lz_run_input){ 0 };
}

static void keep_moved(runner *r, const lz_sstep *s)
{
    for (uint32_t i = s->first_moved; i < s->first_out; i++)
        if (r->x->places.data[i].is_read)
            r->inputs[r->x->places.data[i].base].donate = false;
}

/* What nobody reads after this step may be computed over; inputs of the graph in the last one
 * only, for they have to be there should a later one fail. */
static void donate(runner *r, const lz_sstep *s)
{
    for (size_t i = 0; i < s->n_last; i++) {
        uint32_t at = s->last[i];
        lz_run_input *in = &r->inputs[at];
        bool last = s == &r->x->steps.data[r->x->steps.len - 1];
        in->keep = at < r->x->n_inputs;
        bool given = !in->keep || (r->args->in[at].donate && last);
        in->donate = given && lz_buffer_is_exclusive(in->buffer);
    }
}

static void drop(runner *r, const lz_sstep *s)
{
    for (size_t i = 0; i < s->n_last; i++) {
        lz_run_input *in = &r->inputs[s->last[i]];
        if (s->last[i] >= r->x->n_inputs)
            lz_buffer_release(in->buffer);
        *in = (lz_run_input){ 0 };
    }
}

/* What earlier steps have made and is still there comes to what this one takes. */
static void plan_ahead(runner *r, const lz_sstep *s)
{
    size_t bytes = lz_plan_will_take(s->plan, r->inputs) + r->copies;
    r->copies += lz_turned_will_take(s->plan, r->inputs);
    for (size_t i = r->x->n_inputs; i < s->first_moved; i++)
        bytes += r->inputs[i].buffer ? lz_buffer_capacity(r->inputs[i].buffer->size) : 0;
    *r->args->planned = bytes > *r->args->planned ? bytes : *r->args->planned;
}

static const lz_ir_node *node_of(const void *user, uint32_t origin)
{
    const lz_sstep *s = user;
    return origin < s->n_nodes ? s->nodes[origin] : NULL;
}

static lz_err *run_step(runner *r, const lz_sstep *s)
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
    const lz_straight *x = r->x;
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

lz_err *lz_straight_run(const lz_straight *x, const lz_straight_run_args *args, lz_buffer **out)
{
    enum { FEW = 1024 };
    _Alignas(LZ_MEM_ALIGN) char few[FEW];
    runner r = { .x = x, .args = args };
    size_t places = x->places.len + 1, scalars = x->n_inputs + 1, made = x->most_out + 1;
    size_t bytes = places * sizeof *r.inputs + scalars * sizeof *r.scalars + made * sizeof(lz_buffer *);
    char *room = bytes <= FEW ? few : lz_mem_alloc(bytes);
    if (!room)
        return lz_err_oom();
    r.inputs = (void *)room;
    r.scalars = (void *)(r.inputs + places);
    r.made = (void *)(r.scalars + scalars);
    memset(r.inputs, 0, places * sizeof *r.inputs);
    lz_err *e = run(&r, out);
    if (room != few)
        lz_mem_free(room);
    return e;
}
