#include "ts/ts_computation.h"
#include "base/cpu.h"
#include "base/lock.h"
#include "base/mem.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "core/strides.h"
#include "jit/codes.h"
#include "pass/pass.h"
#include "script/xtensor.h"
#include "ts/ts_device.h"
#include <string.h>

enum {
    STAMP = 0x7453636f,
    FEW = 32 /* arguments that lie on the stack */
};

/* ---- compiling ---- */

static lz_err *keep_inputs(lz_ts_computation *c, const lz_lowering *l)
{
    const lz_parameter *p;
    const lz_ir_node *param = c->graph.graph->block->param;
    c->n_inputs = lz_lowering_parameters(l, &p);
    c->inputs = lz_mem_zalloc(c->n_inputs + 1, sizeof *c->inputs);
    if (!c->inputs)
        return lz_err_oom();
    for (size_t i = 0; i < c->n_inputs; i++) {
        c->inputs[i] = (lz_straight_input){ .number = p[i].scalar, .dtype = p[i].type.dtype };
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

/* What only elements or values tell is left to the executor. */
static lz_err *make_ready(lz_ts_computation *c)
{
    lz_err *e = lz_straight_create(c->graph.graph, c->inputs, NULL, &c->straight);
    lz_code code = lz_err_code(e);
    if (code != LZ_ERR_UNSUPPORTED && code != LZ_ERR_INTERNAL)
        return e;
    lz_err_free(e);
    return lz_executor_create(c->graph.graph, &c->executor);
}

/* A graph that the executor runs makes its plans later: they are not known yet. */
static void measure(lz_ts_computation *c)
{
    lz_plan_bytes plans = { 0 };
    c->bytes[LZ_TS_GRAPH] = c->graph.graph->arena.total;
    c->bytes[LZ_TS_STEPS] = sizeof *c + c->n_inputs * sizeof *c->inputs;
    if (c->straight)
        c->bytes[LZ_TS_STEPS] += lz_straight_measure(c->straight, &plans);
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
    lz_straight_destroy(c->straight);
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
    lz_err_free(e);
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

/* ---- running straight ---- */

static lz_err *wrong_argument(const lz_ts_data *d, const lz_straight_input *in, size_t i)
{
    char got[LZ_SHAPE_CHARS], want[LZ_SHAPE_CHARS];
    if (!d)
        return lz_errf(LZ_ERR_ARG, "argument %zu is not there, and the graph was compiled for one", i);
    return lz_errf(LZ_ERR_ARG, "argument %zu is %s%s, and the graph was compiled for %s%s", i,
                   lz_dtype_get(d->dtype)->script, lz_shape_print((lz_ints){ d->sizes, d->ndim }, got),
                   lz_dtype_get(in->dtype)->script, lz_shape_print(in->sizes, want));
}

/* A dead input may be written to if its buffer is nobody else's, which the run looks at. */
static lz_err *take_argument(const lz_ts_computation *c, const lz_execution *x, size_t i,
                             lz_straight_arg *out)
{
    const lz_argument *a = &x->arguments[i];
    const lz_straight_input *in = &c->inputs[i];
    const lz_ts_data *d = a->data;
    *out = (lz_straight_arg){ .number = a->number };
    if (in->number != LZ_SCALAR_NONE)
        return a->number.kind == in->number
                   ? NULL
                   : lz_errf(LZ_ERR_ARG, "argument %zu is a number of another kind", i);
    if (!d || d->dtype != in->dtype || !lz_shape_eq((lz_ints){ d->sizes, d->ndim }, in->sizes))
        return wrong_argument(d, in, i);
    lz_err *e = lz_ts_device_reads(x->device, d->device);
    if (e)
        return lz_err_wrap(e, "argument %zu", i);
    out->buffer = d->buffer;
    out->donate = a->donated;
    out->constant = true; /* data of tensors are never written to otherwise */
    return NULL;
}

static void drop_results(const lz_ts_computation *c, const lz_execution *x)
{
    for (size_t i = 0; i < c->n_outputs; i++) {
        lz_ts_data_destroy(x->results[i]);
        x->results[i] = NULL;
    }
}

/* Made before the run, without their buffers: once donated inputs have been written to, nothing
 * may fail. */
static lz_err *make_results(const lz_ts_computation *c, const lz_execution *x)
{
    lz_err *e = NULL;
    for (size_t i = 0; i < c->n_outputs; i++)
        x->results[i] = NULL;
    for (size_t i = 0; !e && i < c->n_outputs; i++) {
        lz_straight_output o = lz_straight_output_get(c->straight, i);
        lz_ts_data *d = NULL;
        e = lz_ts_data_create(NULL, (lz_data_type){ o.dtype, o.sizes }, x->device, &d);
        x->results[i] = d;
    }
    if (e)
        drop_results(c, x);
    return e;
}

static void name_failed(const lz_ts_computation *c, const lz_ir_node *failed, size_t *place)
{
    for (size_t i = 0; failed && i < c->graph.n; i++)
        if (c->graph.made[i] == failed)
            *place = i;
}

/* Of several operators in one kernel any may have failed: run one by one, the right one fails
 * again. A graph that failed has not touched its inputs. */
static const lz_ir_node *find_failed(const lz_ts_computation *c, const lz_straight_run_args *first,
                                     lz_buffer **buffers)
{
    const lz_ir_node *failed = *first->failed;
    lz_straight_run_args run = *first;
    lz_straight *x;
    lz_err *e = lz_straight_create(c->graph.graph, c->inputs, &(lz_straight_options){ .separate = true }, &x);
    if (e) {
        lz_err_free(e);
        return failed;
    }
    run.failed = &failed;
    run.planned = NULL;
    e = lz_straight_run(x, &run, buffers);
    for (size_t i = 0; !e && i < c->n_outputs; i++)
        lz_buffer_release(buffers[i]);
    lz_err_free(e);
    lz_straight_destroy(x);
    return failed;
}

static lz_err *run_straight(const lz_ts_computation *c, const lz_ts_env *env, const lz_execution *x,
                            lz_straight_arg *args, lz_buffer **buffers, lz_ts_figures *figures)
{
    const lz_ir_node *failed = NULL;
    lz_straight_run_args run = { .in = args,
                                 .memory = env->memory,
                                 .threads = env->threads,
                                 .failed = &failed,
                                 .planned = &figures->planned };
    for (size_t i = 0; i < c->n_inputs; i++)
        LZ_TRY(take_argument(c, x, i, &args[i]));
    LZ_TRY(make_results(c, x));
    lz_err *e = lz_straight_run(c->straight, &run, buffers);
    for (size_t i = 0; e && i < c->n_inputs; i++)
        args[i].donate = false;
    if (e && x->failed && lz_err_code(e) != LZ_ERR_MEMORY)
        name_failed(c, find_failed(c, &run, buffers), x->failed);
    if (e)
        drop_results(c, x);
    for (size_t i = 0; !e && i < c->n_outputs; i++)
        ((lz_ts_data *)x->results[i])->buffer = buffers[i];
    return e;
}

static lz_err *execute_straight(const lz_ts_computation *c, const lz_ts_env *env, const lz_execution *x,
                                lz_ts_figures *figures)
{
    lz_straight_arg few[FEW];
    lz_buffer *few_buffers[FEW];
    if (c->n_inputs <= FEW && c->n_outputs <= FEW)
        return run_straight(c, env, x, few, few_buffers, figures);
    lz_straight_arg *args =
        lz_mem_alloc(c->n_inputs * sizeof *args + c->n_outputs * sizeof(lz_buffer *) + sizeof *args);
    if (!args)
        return lz_err_oom();
    lz_err *e = run_straight(c, env, x, args, (lz_buffer **)(args + c->n_inputs), figures);
    lz_mem_free(args);
    return e;
}

/* ---- running by the executor ---- */

static lz_err *take_value(const lz_argument *a, lz_scalar_kind number, lz_backend_device device, lz_gv *out)
{
    const lz_ts_data *d = a->data;
    lz_shape dense;
    lz_xstorage *storage;
    if (number != LZ_SCALAR_NONE) {
        *out = number == LZ_SCALAR_FLOAT  ? lz_gv_float(a->number.re)
               : number == LZ_SCALAR_BOOL ? lz_gv_bool(a->number.i != 0)
                                          : lz_gv_int(a->number.i);
        return NULL;
    }
    LZ_TRY(lz_ts_device_reads(device, d->device));
    lz_ints sizes = { d->sizes, d->ndim };
    LZ_TRY(lz_strides_contiguous(sizes, &dense));
    LZ_TRY(lz_xstorage_create(lz_buffer_retain(d->buffer), &storage));
    lz_err *e = lz_xtensor_view(storage, d->dtype, sizes, lz_shape_ints(&dense), 0, out);
    lz_xstorage_release(storage);
    return e;
}

static lz_err *wrap_value(lz_gv v, lz_buffer_pool *memory, lz_backend_device device, void **out)
{
    lz_array a, dense;
    lz_ts_data *d;
    LZ_TRY(lz_gv_read(v, &a));
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

static lz_err *run_values(lz_ts_computation *c, const lz_ts_env *env, const lz_execution *x, lz_gv *in,
                          lz_gv *out)
{
    lz_exec_env exec = { .threads = env->threads, .memory = env->memory };
    for (size_t i = 0; i < c->n_inputs; i++)
        LZ_TRY(take_value(&x->arguments[i], c->inputs[i].number, x->device, &in[i]));
    LZ_TRY(lz_executor_run(c->executor, in, c->n_inputs, &exec, out));
    for (size_t i = 0; i < c->n_outputs; i++)
        LZ_TRY(wrap_value(out[i], env->memory, x->device, &x->results[i]));
    return NULL;
}

static lz_err *execute_values(lz_ts_computation *c, const lz_ts_env *env, const lz_execution *x)
{
    lz_gv *in = lz_mem_zalloc(c->n_inputs + c->n_outputs + 1, sizeof *in);
    if (!in)
        return lz_err_oom();
    for (size_t i = 0; i < c->n_outputs; i++)
        x->results[i] = NULL;
    lz_err *e = run_values(c, env, x, in, in + c->n_inputs);
    for (size_t i = 0; i < c->n_inputs + c->n_outputs; i++)
        lz_gv_release(in[i]);
    for (size_t i = 0; e && i < c->n_outputs; i++) {
        lz_ts_data_destroy(x->results[i]);
        x->results[i] = NULL;
    }
    lz_mem_free(in);
    return e;
}

lz_err *lz_ts_execute(lz_ts_computation *c, const lz_ts_env *env, const lz_execution *x, lz_ts_figures *out)
{
    *out = (lz_ts_figures){ .launches = c->straight ? lz_straight_launches(c->straight) : 0 };
    if (c->stamp != STAMP)
        return lz_errf(LZ_ERR_ARG, "this computation is not one of the TorchScript backend");
    if (x->n != c->n_inputs || x->n_results != c->n_outputs)
        return lz_errf(LZ_ERR_ARG, "the graph takes %zu arguments and gives %zu results, not %zu and %zu",
                       c->n_inputs, c->n_outputs, x->n, x->n_results);
    bool busy = !atomic_exchange(&c->ran, true) && lz_pool_threads(env->threads) >= lz_cpu_count();
    if (busy)
        lz_codes_pause();
    lz_err *e = c->straight ? execute_straight(c, env, x, out) : execute_values(c, env, x);
    if (busy)
        lz_codes_resume();
    return e;
}
