/* The runners of lazuli/run.h. */
#include "base/hash.h"
#include "base/mem.h"
#include "base/profiler.h"
#include "base/vec.h"
#include "script/executor.h"
#include "script/script_value_handle.h"

enum { LZ_RUNNER_KEEP = 64 << 20 }; /* bytes of free buffers that a runner keeps */

struct lz_runner {
    atomic_size_t count;
    atomic_ullong runs;
    lz_runner_options options;
    lz_graph *graph;
    lz_executor *executor;
    lz_pool *threads;
    lz_buffer_pool *memory;
    lz_arena arena;
    lz_port *inputs, *outputs;
};

/* ---- creating ---- */

static lz_err *describe(lz_runner *r, const lz_ssa_value *v, lz_port *out)
{
    lz_text t = { 0 };
    lz_ssa_print_name(v, &t);
    lz_err *e = lz_text_save(&t, &r->arena, &out->name);
    if (!e) {
        lz_type_print(v->type, &t);
        e = lz_text_save(&t, &r->arena, &out->type);
    }
    lz_text_deinit(&t);
    return e;
}

static lz_err *describe_ports(lz_runner *r)
{
    const lz_ssa_node *param = r->graph->block->param, *ret = r->graph->block->ret;
    LZ_TRY(lz_arena_new(&r->arena, &r->inputs, param->nout + 1));
    LZ_TRY(lz_arena_new(&r->arena, &r->outputs, ret->nin + 1));
    for (uint32_t i = 0; i < param->nout; i++)
        LZ_TRY(describe(r, param->out[i], &r->inputs[i]));
    for (uint32_t i = 0; i < ret->nin; i++)
        LZ_TRY(describe(r, lz_ssa_in(ret, i), &r->outputs[i]));
    return NULL;
}

static lz_err *set_up(lz_runner *r, const lz_graph *g)
{
    LZ_TRY(lz_profile_from_env());
    LZ_TRY(lz_graph_clone(g, &r->graph));
    LZ_TRY(describe_ports(r));
    LZ_TRY(lz_executor_create(r->graph, &r->executor));
    LZ_TRY(lz_pool_create(r->options.threads, &r->threads));
    return lz_buffer_pool_create(LZ_RUNNER_KEEP, &r->memory);
}

lz_err *lz_runner_create(const lz_graph *g, const lz_runner_options *options, lz_runner **out)
{
    lz_runner *r = lz_mem_zalloc(1, sizeof *r);
    if (!r)
        return lz_err_oom();
    atomic_init(&r->count, 1);
    lz_arena_init(&r->arena);
    if (options)
        r->options = *options;
    lz_err *e = set_up(r, g);
    if (e)
        lz_runner_release(r);
    else
        *out = r;
    return e;
}

lz_runner *lz_runner_retain(lz_runner *r)
{
    atomic_fetch_add_explicit(&r->count, 1, memory_order_relaxed);
    return r;
}

void lz_runner_release(lz_runner *r)
{
    if (!r || atomic_fetch_sub_explicit(&r->count, 1, memory_order_acq_rel) != 1)
        return;
    lz_executor_destroy(r->executor);
    lz_graph_release(r->graph);
    if (r->threads)
        lz_pool_destroy(r->threads);
    lz_buffer_pool_release(r->memory);
    lz_arena_deinit(&r->arena);
    lz_mem_free(r);
}

/* ---- queries ---- */

size_t lz_runner_inputs(const lz_runner *r)
{
    return lz_executor_inputs(r->executor);
}

size_t lz_runner_outputs(const lz_runner *r)
{
    return lz_executor_outputs(r->executor);
}

lz_port lz_runner_input(const lz_runner *r, size_t i)
{
    return i < lz_runner_inputs(r) ? r->inputs[i] : (lz_port){ 0 };
}

lz_port lz_runner_output(const lz_runner *r, size_t i)
{
    return i < lz_runner_outputs(r) ? r->outputs[i] : (lz_port){ 0 };
}

/* ---- running ---- */

typedef struct call {
    lz_runner *r;
    lz_script_env env;
    LZ_VEC(lz_script_value) in, out;
} call;

static lz_err *take_inputs(call *c, lz_gvalue *const *inputs, size_t n)
{
    lz_runner *r = c->r;
    if (n != lz_runner_inputs(r))
        return lz_errf(LZ_ERR_ARG, "the graph takes %zu inputs, found %zu", lz_runner_inputs(r), n);
    LZ_TRY(lz_vec_reserve(&c->in, n + 1));
    LZ_TRY(lz_vec_reserve(&c->out, lz_runner_outputs(r) + 1));
    for (size_t i = 0; i < n; i++) {
        lz_err *e = inputs[i] ? lz_script_value_for_run(inputs[i], r->graph->block->param->out[i]->type,
                                                        &c->in.data[c->in.len])
                              : lz_errf(LZ_ERR_ARG, "expected a value, found NULL");
        if (e)
            return lz_err_wrap(e, "input %zu, %.*s : %.*s", i, LZ_FMT(r->inputs[i].name),
                               LZ_FMT(r->inputs[i].type));
        c->in.len++;
    }
    return NULL;
}

/* Wraps each value in a handle. Takes over all values, also on failure. */
static lz_err *give_outputs(call *c, lz_gvalue **outputs)
{
    size_t n = lz_runner_outputs(c->r), made = 0;
    lz_err *e = NULL;
    for (size_t i = 0; i < n; i++) {
        if (e)
            lz_script_value_release(c->out.data[i]);
        else
            e = lz_gvalue_create_from(c->out.data[i], &outputs[i]);
        made += !e;
    }
    for (size_t i = 0; e && i < made; i++)
        lz_gvalue_release(outputs[i]);
    return e;
}

/* The first run uses the seed itself. */
static uint64_t seed_of(lz_runner *r)
{
    uint64_t parts[] = { r->options.seed, atomic_fetch_add(&r->runs, 1) };
    return parts[1] ? lz_hash64(parts, sizeof parts) : parts[0];
}

static void fill_stats(const call *c, lz_run_stats *out)
{
    size_t peak = lz_buffer_pool_stats(c->r->memory).asked_peak;
    *out = (lz_run_stats){ .launches = c->env.launches,
                           .predicted_peak = c->env.peak,
                           .real_peak = peak > c->env.held ? peak - c->env.held : 0,
                           .plans = lz_executor_plans(c->r->executor) };
}

lz_err *lz_runner_run(lz_runner *r, lz_gvalue *const *inputs, size_t n, lz_gvalue **outputs,
                      lz_run_stats *stats)
{
    call c = { .r = r,
               .env = { .threads = r->threads,
                        .memory = r->memory,
                        .seed = seed_of(r),
                        .separate = r->options.separate } };
    lz_buffer_pool_reset_peak(r->memory);
    c.env.held = lz_buffer_pool_stats(r->memory).asked;
    lz_err *e = take_inputs(&c, inputs, n);
    lz_span span = lz_span_begin();
    if (!e)
        e = lz_executor_run(r->executor, c.in.data, c.in.len, &c.env, c.out.data);
    lz_span_end(&span, &(lz_span_note){ .phase = LZ_PHASE_RUN });
    if (!e)
        e = give_outputs(&c, outputs);
    for (size_t i = 0; i < c.in.len; i++)
        lz_script_value_release(c.in.data[i]);
    lz_vec_deinit(&c.in);
    lz_vec_deinit(&c.out);
    if (stats)
        fill_stats(&c, stats);
    return e;
}
