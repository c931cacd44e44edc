#include "ts/ts_computation.h"
#include "base/cpu.h"
#include "base/lock.h"
#include "base/mem.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "core/strides.h"
#include "jit/codes.h"
#include "pass/pass.h"
#include "script/script_tensor.h"
#include "ts/ts_device.h"
#include <assert.h>
#include <string.h>

enum {
    STAMP = 0x7453636f,
    FEW = 32 /* arguments that fit on the stack */
};

/* ---- compiling ---- */

static lz_err *keep_inputs(lz_ts_computation *c, const lz_lowering *l)
{
    const lz_parameter *p;
    const lz_ssa_node *param = c->graph.graph->block->param;
    c->n_inputs = lz_lowering_parameters(l, &p);
    c->inputs = lz_mem_zalloc(c->n_inputs + 1, sizeof *c->inputs);
    if (!c->inputs)
        return lz_err_oom();
    for (size_t i = 0; i < c->n_inputs; i++) {
        c->inputs[i] = (lz_static_graph_input){ .number = p[i].scalar, .dtype = p[i].type.dtype };
        assert((p[i].scalar == LZ_SCALAR_NONE) == (param->out[i]->type->kind == LZ_GRAPH_TYPE_TENSOR));
        if (p[i].scalar == LZ_SCALAR_NONE)
            c->inputs[i].sizes = (lz_ints){ param->out[i]->type->tensor->sizes, p[i].type.sizes.n };
    }
    return NULL;
}

static lz_err *improve(lz_graph *g)
{
    static lz_pass_fn *const passes[] = { lz_pass_peephole, lz_pass_cse, lz_pass_dce };
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        LZ_TRY(passes[i](g));
    return NULL;
}

/* Makes a static graph. Graphs that depend on elements or values are run by the executor. */
static lz_err *make_ready(lz_ts_computation *c)
{
    lz_err *e = lz_static_graph_create(c->graph.graph, c->inputs, NULL, &c->static_graph);
    lz_code code = lz_err_code(e);
    if (code != LZ_ERR_UNSUPPORTED && code != LZ_ERR_NEEDS_VALUE)
        return e;
    lz_err_free(e);
    return lz_executor_create(c->graph.graph, &c->executor);
}

/* Plans that the executor will make are not counted: they do not exist yet. */
static void measure(lz_ts_computation *c)
{
    lz_plan_bytes plans = { 0 };
    c->bytes[LZ_TS_GRAPH] = c->graph.graph->arena.total;
    c->bytes[LZ_TS_STEPS] = sizeof *c + c->n_inputs * sizeof *c->inputs;
    if (c->static_graph)
        c->bytes[LZ_TS_STEPS] += lz_static_graph_measure(c->static_graph, &plans);
    c->bytes[LZ_TS_LAUNCHES] = plans.launches;
    c->bytes[LZ_TS_ARGUMENTS] = plans.arguments;
    c->bytes[LZ_TS_KERNELS] = plans.kernels;
}

static lz_err *compile(lz_ts_computation *c, lz_lowering *l)
{
    const lz_output *results;
    c->n_outputs = lz_lowering_results(l, &results);
    LZ_TRY(lz_ts_lower(l, &c->graph));
    LZ_TRY(keep_inputs(c, l));
    LZ_TRY(improve(c->graph.graph));
    LZ_TRY(make_ready(c));
    measure(c);
    return NULL;
}

lz_err *lz_ts_compile(lz_lowering *l, lz_ts_computation **out)
{
    lz_ts_computation *c = lz_mem_zalloc(1, sizeof *c);
    if (!c)
        return lz_err_oom();
    c->stamp = STAMP;
    lz_lock_init(&c->lock);
    lz_err *e = compile(c, l);
    if (e)
        lz_ts_computation_destroy(c);
    else
        *out = c;
    return e;
}

void lz_ts_computation_destroy(lz_ts_computation *c)
{
    if (!c)
        return;
    lz_static_graph_destroy(c->static_graph);
    lz_executor_destroy(c->executor);
    lz_ts_graph_deinit(&c->graph);
    lz_mem_free(c->inputs);
    lz_mem_free(c->text);
    lz_lock_deinit(&c->lock);
    lz_mem_free(c);
}

static char *print(lz_graph *g)
{
    lz_text t = { 0 };
    lz_err *e = lz_graph_write(g, LZ_PRINT_PLACES, &t);
    lz_text_putc(&t, '\0');
    char *copy = e || t.failed ? NULL : lz_mem_alloc(t.len);
    if (copy)
        memcpy(copy, t.ptr, t.len);
    lz_err_drop(e);
    lz_text_deinit(&t);
    return copy;
}

const char *lz_ts_computation_text(lz_ts_computation *c)
{
    lz_lock_take(&c->lock);
    if (!c->text)
        c->text = print(c->graph.graph);
    const char *text = c->text ? c->text : "";
    lz_lock_give(&c->lock);
    return text;
}

/* ---- running a static graph ---- */

static lz_err *wrong_argument(const lz_ts_data *d, const lz_static_graph_input *in, size_t i)
{
    char got[LZ_SHAPE_CHARS], want[LZ_SHAPE_CHARS];
    if (!d)
        return lz_errf(LZ_ERR_ARG, "argument %zu is NULL, but the graph was compiled for a tensor", i);
    return lz_errf(LZ_ERR_ARG, "argument %zu is %s%s, but the graph was compiled for %s%s", i,
                   lz_dtype_get(d->dtype)->script, lz_shape_print((lz_ints){ d->sizes, d->ndim }, got),
                   lz_dtype_get(in->dtype)->script, lz_shape_print(in->sizes, want));
}

/* A donated input may be overwritten. The run checks that its buffer has no other owner. */
static lz_err *take_argument(const lz_ts_computation *c, const lz_execution *x, size_t i,
                             lz_static_graph_arg *out)
{
    const lz_argument *a = &x->arguments[i];
    const lz_static_graph_input *in = &c->inputs[i];
    const lz_ts_data *d = a->data;
    *out = (lz_static_graph_arg){ .number = a->number };
    if (in->number != LZ_SCALAR_NONE)
        return a->number.kind == in->number
                   ? NULL
                   : lz_errf(LZ_ERR_ARG,
                             "argument %zu is a number of another kind than the graph was compiled for", i);
    if (!d || d->dtype != in->dtype || !lz_shape_eq((lz_ints){ d->sizes, d->ndim }, in->sizes))
        return wrong_argument(d, in, i);
    lz_err *e = lz_ts_device_reads(x->device, d->device);
    if (e)
        return lz_err_wrap(e, "argument %zu", i);
    out->buffer = d->buffer;
    out->donate = a->donated;
    out->constant = true; /* without a donation, data of tensors are never overwritten */
    return NULL;
}

static void drop_results(const lz_ts_computation *c, const lz_execution *x)
{
    for (size_t i = 0; i < c->n_outputs; i++) {
        lz_ts_data_destroy(x->results[i]);
        x->results[i] = NULL;
    }
}

/* Makes the results before the run, without buffers: after donated inputs have been overwritten, nothing may
 * fail. */
static lz_err *make_results(const lz_ts_computation *c, const lz_execution *x, bool again)
{
    lz_err *e = NULL;
    for (size_t i = 0; !again && i < c->n_outputs; i++)
        x->results[i] = NULL;
    for (size_t i = 0; !e && i < c->n_outputs; i++) {
        lz_static_graph_output o = lz_static_graph_output_get(c->static_graph, i);
        lz_ts_data *d = x->results[i];
        if (!d)
            e = lz_ts_data_create(NULL, (lz_data_type){ o.dtype, o.sizes }, x->device, &d);
        x->results[i] = d;
    }
    if (e)
        drop_results(c, x);
    return e;
}

/* Gives the buffers of an earlier run's results back before the run, so that it can use them again. */
static void empty_results(const lz_ts_computation *c, const lz_execution *x)
{
    for (size_t i = 0; i < c->n_outputs; i++) {
        lz_ts_data *d = x->results[i];
        if (!d)
            continue;
        lz_buffer_release(d->buffer);
        d->buffer = NULL;
    }
}

static void name_failed(const lz_ts_computation *c, const lz_ssa_node *failed, size_t *place)
{
    for (size_t i = 0; failed && i < c->graph.n; i++)
        if (c->graph.made[i] == failed)
            *place = i;
}

/* A kernel of several operators does not say which operator failed. Runs the operators one by one, so that
 * the failing one fails again. A graph that failed has not changed its inputs. */
static lz_err *run_separately(const lz_ts_computation *c, const lz_static_graph_run_args *run,
                              lz_buffer **buffers)
{
    lz_static_graph *x;
    LZ_TRY(lz_static_graph_create(c->graph.graph, c->inputs, &(lz_static_graph_options){ .separate = true },
                                  &x));
    lz_err *e = lz_static_graph_run(x, run, buffers);
    for (size_t i = 0; !e && i < c->n_outputs; i++)
        lz_buffer_release(buffers[i]);
    lz_static_graph_destroy(x);
    return e;
}

/* Names the operator that failed in x->failed. Takes `why` and returns it, or the search's own error if that
 * must surface. */
static lz_err *find_failed(const lz_ts_computation *c, const lz_static_graph_run_args *first,
                           lz_buffer **buffers, lz_err *why, size_t *place)
{
    const lz_ssa_node *failed = *first->failed;
    lz_static_graph_run_args run = *first;
    run.failed = &failed;
    run.planned = NULL;
    lz_err *e = run_separately(c, &run, buffers);
    name_failed(c, failed, place);
    return lz_err_must_surface(e) ? lz_err_first(e, why) : lz_err_first(why, e);
}

static lz_err *run_static(const lz_ts_computation *c, const lz_ts_env *env, const lz_execution *x,
                          lz_static_graph_arg *args, lz_buffer **buffers, lz_ts_figures *figures)
{
    const lz_ssa_node *failed = NULL;
    lz_static_graph_run_args run = { .in = args,
                                     .memory = env->memory,
                                     .threads = env->threads,
                                     .failed = &failed,
                                     .planned = &figures->planned };
    for (size_t i = 0; i < c->n_inputs; i++)
        LZ_TRY(take_argument(c, x, i, &args[i]));
    LZ_TRY(make_results(c, x, env->again));
    empty_results(c, x);
    lz_err *e = lz_static_graph_run(c->static_graph, &run, buffers);
    for (size_t i = 0; e && i < c->n_inputs; i++)
        args[i].donate = false;
    if (e && x->failed && lz_err_code(e) != LZ_ERR_MEMORY)
        e = find_failed(c, &run, buffers, e, x->failed);
    if (e)
        drop_results(c, x);
    for (size_t i = 0; !e && i < c->n_outputs; i++) {
        lz_ts_data *d = x->results[i];
        assert(!d->buffer && buffers[i]->size >= (size_t)d->numel * lz_dtype_size(d->dtype));
        d->buffer = buffers[i];
    }
    return e;
}

static lz_err *execute_static(const lz_ts_computation *c, const lz_ts_env *env, const lz_execution *x,
                              lz_ts_figures *figures)
{
    lz_static_graph_arg few[FEW];
    lz_buffer *few_buffers[FEW];
    if (c->n_inputs <= FEW && c->n_outputs <= FEW)
        return run_static(c, env, x, few, few_buffers, figures);
    lz_static_graph_arg *args =
        lz_temporary_zeroed(1, c->n_inputs * sizeof *args + c->n_outputs * sizeof(lz_buffer *));
    if (!args)
        return lz_err_oom();
    lz_err *e = run_static(c, env, x, args, (lz_buffer **)(args + c->n_inputs), figures);
    lz_temporary_give(args);
    return e;
}

/* ---- running by the executor ---- */

static lz_err *take_value(const lz_argument *a, lz_scalar_kind number, lz_backend_device device,
                          lz_script_value *out)
{
    const lz_ts_data *d = a->data;
    if (number != LZ_SCALAR_NONE) {
        *out = number == LZ_SCALAR_FLOAT  ? lz_script_value_float(a->number.re)
               : number == LZ_SCALAR_BOOL ? lz_script_value_bool(a->number.i != 0)
                                          : lz_script_value_int(a->number.i);
        return NULL;
    }
    LZ_TRY(lz_ts_device_reads(device, d->device));
    return lz_script_tensor_of_buffer(lz_buffer_retain(d->buffer), d->dtype, (lz_ints){ d->sizes, d->ndim },
                                      out);
}

static lz_err *wrap_value(lz_script_value v, lz_buffer_pool *memory, lz_backend_device device, void **out)
{
    lz_array a, dense;
    lz_ts_data *d;
    LZ_TRY(lz_script_value_read(v, &a));
    lz_err *e = lz_array_init_clone(&dense, memory, &a, a.dtype);
    lz_array_deinit(&a);
    LZ_TRY(e);
    e = lz_ts_data_create(lz_buffer_retain(dense.buffer),
                          (lz_data_type){ dense.dtype, lz_array_sizes(&dense) }, device, &d);
    lz_array_deinit(&dense);
    if (!e)
        *out = d;
    return e;
}

static lz_err *run_values(lz_ts_computation *c, const lz_ts_env *env, const lz_execution *x,
                          lz_script_value *in, lz_script_value *out)
{
    lz_script_env exec = { .threads = env->threads, .memory = env->memory };
    for (size_t i = 0; i < c->n_inputs; i++)
        LZ_TRY(take_value(&x->arguments[i], c->inputs[i].number, x->device, &in[i]));
    LZ_TRY(lz_executor_run(c->executor, in, c->n_inputs, &exec, out));
    for (size_t i = 0; i < c->n_outputs; i++)
        LZ_TRY(wrap_value(out[i], env->memory, x->device, &x->results[i]));
    return NULL;
}

static lz_err *execute_values(lz_ts_computation *c, const lz_ts_env *env, const lz_execution *x)
{
    lz_script_value *in = lz_mem_zalloc(c->n_inputs + c->n_outputs + 1, sizeof *in);
    if (!in)
        return lz_err_oom();
    for (size_t i = 0; i < c->n_outputs; i++)
        x->results[i] = NULL;
    lz_err *e = run_values(c, env, x, in, in + c->n_inputs);
    for (size_t i = 0; i < c->n_inputs + c->n_outputs; i++)
        lz_script_value_release(in[i]);
    for (size_t i = 0; e && i < c->n_outputs; i++) {
        lz_ts_data_destroy(x->results[i]);
        x->results[i] = NULL;
    }
    lz_mem_free(in);
    return e;
}

lz_err *lz_ts_execute(lz_ts_computation *c, const lz_ts_env *env, const lz_execution *x, lz_ts_figures *out)
{
    *out = (lz_ts_figures){ .launches = c->static_graph ? lz_static_graph_launches(c->static_graph) : 0 };
    if (c->stamp != STAMP)
        return lz_errf(LZ_ERR_ARG, "the computation belongs to another backend");
    if (x->n != c->n_inputs || x->n_results != c->n_outputs)
        return lz_errf(LZ_ERR_ARG, "expected %zu arguments and %zu results, got %zu and %zu", c->n_inputs,
                       c->n_outputs, x->n, x->n_results);
    bool busy = !atomic_exchange(&c->ran, true) && lz_pool_threads(env->threads) >= lz_cpu_count();
    if (busy)
        lz_native_codes_pause();
    if (env->again && !c->static_graph)
        drop_results(c, x);
    lz_err *e = c->static_graph ? execute_static(c, env, x, out) : execute_values(c, env, x);
    if (busy)
        lz_native_codes_resume();
    return e;
}
