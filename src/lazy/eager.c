#include "lazy/eager.h"
#include "base/mem.h"
#include "core/convert.h"
#include "lazy/call_values.h"
#include "lazy/lazy_tensor.h"
#include "lower/layout.h"
#include "lower/op_lower.h"
#include "lower/views.h"
#include "plan/op_nonzero.h"

typedef struct running {
    lz_ctx *c;
    lz_lower b;
    lz_arena arena;
    LZ_VEC(lz_array) fetched;      /* operands, then arrays that nonzero has found */
    LZ_VEC(lz_run_input) inputs;   /* of fetched, in the same order */
    LZ_VEC(const lz_spec *) specs; /* of the operands */
    lz_op_found found;
    lz_low_value args[LZ_ARGS_MAX], results[LZ_ARGS_MAX];
    size_t n;
} running;

/* ---- what goes in ---- */

/* Takes over the array, also on failure. */
static lz_err *add_input(running *r, lz_array *a)
{
    lz_run_input in = { .buffer = a->buffer, .offset = (size_t)a->offset * lz_dtype_size(a->dtype) };
    lz_err *e = lz_vec_push(&r->fetched, *a);
    if (e)
        lz_array_deinit(a);
    return e ? e : lz_vec_push(&r->inputs, in);
}

static lz_err *fetch(running *r, lz_tensor *t)
{
    lz_array a = { 0 };
    const lz_spec *s = NULL;
    if (t) {
        LZ_TRY(lz_tensor_fetch(t, r->c->at, &a));
        lz_err *e = lz_spec_get(r->c->specs, a.dtype, lz_array_sizes(&a), lz_array_strides(&a), &s);
        if (e) {
            lz_array_deinit(&a);
            return e;
        }
    }
    LZ_TRY(add_input(r, &a));
    return lz_vec_push(&r->specs, s);
}

static lz_run_args run_args(const running *r)
{
    return (lz_run_args){ .inputs = r->inputs.data,
                          .scalars = r->c->call.numbers,
                          .memory = r->c->host_memory,
                          .threads = r->c->host_threads };
}

static lz_err *add_found(void *user, lz_array *a, int64_t *slot)
{
    running *r = user;
    *slot = (int64_t)r->inputs.len;
    return add_input(r, a);
}

static lz_err *nonzero(void *user, lz_lower *b, const lz_low_node *x, const lz_low_node **out)
{
    running *r = user;
    lz_run_args args = run_args(r);
    return lz_op_nonzero(b, x, &args, &r->found, out);
}

/* ---- what comes out ---- */

static void drop(void *owner)
{
    lz_buffer_release(owner);
}

/* The backend may keep the result's memory instead of a copy. */
static lz_err *upload(running *r, const lz_low_node *n, lz_buffer *data, lz_tensor **out)
{
    lz_ctx *c = r->c;
    lz_data *d;
    const lz_spec *s;
    lz_dtype dtype = (lz_dtype)n->dtype;
    lz_shape strides, dense;
    lz_op_call call = { c->call.op, r->args, c->operand_specs.data, 0 };
    LZ_TRY(lz_layout_fresh(&call, dtype, lz_low_node_sizes(n), &strides));
    LZ_TRY(lz_strides_contiguous(lz_low_node_sizes(n), &dense));
    LZ_TRY(lz_spec_get(c->specs, dtype, lz_low_node_sizes(n), lz_shape_ints(&strides), &s));
    lz_host_tensor h = {
        { dtype, lz_low_node_sizes(n) }, lz_shape_ints(&dense), data->data, drop, lz_buffer_retain(data)
    };
    lz_err *e = lz_ctx_upload(c, c->backend, c->device, &h, &d);
    if (e) {
        lz_buffer_release(data);
        return e;
    }
    return lz_tensor_of_data(c, s, c->device, d, out);
}

static lz_err *compute(running *r, const lz_low_node *n, lz_buffer **out)
{
    lz_plan *p;
    lz_run_args args = run_args(r);
    LZ_TRY(lz_op_use_known(&r->b, &r->found, n, &n));
    LZ_TRY(lz_low_copy(&r->b, n, &n));
    LZ_TRY(lz_plan_create(&r->b, &n, 1, NULL, &p));
    lz_err *e = lz_plan_run(p, &args, out);
    lz_plan_destroy(p);
    return e;
}

static lz_err *tensor_result(running *r, const lz_low_value *v, lz_tensor **out)
{
    lz_buffer *data;
    LZ_TRY(compute(r, v->node, &data));
    lz_err *e = upload(r, v->node, data, out);
    lz_buffer_release(data);
    return e;
}

static lz_err *number_result(running *r, const lz_low_value *v, lz_value *out)
{
    lz_buffer *data;
    *out = lz_value_scalar(v->number);
    if (!v->node)
        return NULL;
    LZ_TRY(compute(r, v->node, &data));
    out->scalar = lz_element_get((lz_dtype)v->node->dtype, data->data);
    lz_buffer_release(data);
    return NULL;
}

static lz_err *give_results(running *r, lz_value *out)
{
    for (size_t i = 0; i < r->n; i++) {
        out[i] = lz_value_none();
        if (r->results[i].kind == LZ_LOW_VALUE_NUMBER)
            LZ_TRY(number_result(r, &r->results[i], &out[i]));
        if (r->results[i].kind == LZ_LOW_VALUE_LIST)
            return lz_errf(LZ_ERR_UNSUPPORTED,
                           "%s: a result is a list of tensors whose sizes depend on elements",
                           r->c->call.op->name);
        if (r->results[i].kind != LZ_LOW_VALUE_TENSOR)
            continue;
        out[i] = lz_value_tensor(NULL);
        LZ_TRY(tensor_result(r, &r->results[i], &out[i].tensor));
    }
    return NULL;
}

static lz_err *run_call(running *r, lz_value *out)
{
    const lz_call *call = &r->c->call;
    for (size_t i = 0; i < call->tensors.len; i++)
        LZ_TRY(fetch(r, call->tensors.data[i]));
    LZ_TRY(lz_call_low_values(&r->b, call, r->specs.data, r->args));
    LZ_TRY(lz_op_lower(&r->b, call->op, r->args, r->results, &r->n));
    return give_results(r, out);
}

static lz_err *open_host(lz_ctx *c)
{
    static const size_t keep = (size_t)256 << 20;
    if (!c->host_memory)
        LZ_TRY(lz_buffer_pool_create(keep, &c->host_memory));
    return c->host_threads ? NULL : lz_pool_create(c->options.threads, &c->host_threads);
}

lz_err *lz_eager_call(lz_ctx *c, lz_value *results, size_t *n)
{
    LZ_TRY(open_host(c));
    running *r = lz_mem_zalloc(1, sizeof *r);
    if (!r)
        return lz_err_oom();
    r->c = c;
    r->found = (lz_op_found){ .add_input = add_found, .user = r };
    lz_arena_init(&r->arena);
    lz_low_init(&r->b, &r->arena);
    r->b.nonzero = nonzero;
    r->b.user = r;
    lz_err *e = run_call(r, results);
    *n = r->n;
    for (size_t i = 0; i < r->fetched.len; i++)
        lz_array_deinit(&r->fetched.data[i]);
    lz_vec_deinit(&r->fetched);
    lz_vec_deinit(&r->inputs);
    lz_vec_deinit(&r->specs);
    lz_op_found_deinit(&r->found);
    lz_low_deinit(&r->b);
    lz_arena_deinit(&r->arena);
    lz_mem_free(r);
    return e;
}
