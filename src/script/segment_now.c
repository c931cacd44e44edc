/* Runs one operator whose sizes depend on elements. The sizes are found by running the nodes that they
 * depend on. */
#include "base/mem.h"
#include "core/dtype.h"
#include "lower/arg.h"
#include "lower/op_lower.h"
#include "lower/write_rules.h"
#include "plan/op_nonzero.h"
#include "script/segment_impl.h"

typedef struct running {
    lz_segment_call *c;
    const lz_script_instr *inst;
    lz_lower b;
    LZ_VEC(lz_run_input) inputs;
    LZ_VEC(lz_buffer *) buffers_found; /* of sizes found so far and what was computed for them; counted */
    lz_op_found found;
    LZ_VEC(const lz_low_node *) outputs;
    lz_scalar numbers[2]; /* the seed, and the number of earlier draws */
    lz_low_value args[LZ_ARGS_MAX], results[LZ_ARGS_MAX];
    size_t n;
    lz_buffer **buffers; /* buffers of the outputs */
    size_t next;         /* the next one of `buffers` */
} running;

static lz_run_args run_args(const running *r)
{
    return (lz_run_args){ .inputs = r->inputs.data,
                          .scalars = r->numbers,
                          .memory = r->c->env->memory,
                          .threads = r->c->env->threads };
}

/* ---- arguments ---- */

static lz_err *tensor_value(void *user, lz_script_value v, lz_low_value *out)
{
    running *r = user;
    const lz_low_node *n;
    if (!lz_is_script_tensor(v))
        return lz_errf(LZ_ERR_ARG, "expected a tensor");
    const lz_script_tensor *t = lz_script_tensor_of(v);
    const lz_spec *s = t->spec;
    lz_run_input in = { .buffer = t->storage->buffer };
    LZ_TRY(lz_low_input(&r->b, (int64_t)r->inputs.len, (lz_dtype)s->dtype, lz_spec_sizes(s),
                        lz_spec_strides(s), t->offset, &n));
    *out = lz_low_value_tensor(n);
    return lz_vec_push(&r->inputs, in);
}

/* Argument i of the operator, or of the functional one of an operator that writes. */
static lz_err *find_arg(running *r, uint32_t i, const lz_arg_row *a, lz_low_value *out)
{
    uint32_t from = lz_write_source(r->inst->node->op, i);
    lz_arg_source source = { .b = &r->b, .tensor = tensor_value, .user = r };
    if (from < r->inst->nin)
        return lz_arg_of_script_value(&source, a->type, r->c->locals[r->inst->in[from]], LZ_KNOWN_NOW, out);
    *out = lz_low_value_none();
    return a->default_value ? lz_arg_of_value(&r->b, a->default_value, out) : NULL;
}

static lz_err *add_found(void *user, lz_array *a, int64_t *slot)
{
    running *r = user;
    *slot = (int64_t)r->inputs.len;
    lz_err *e = lz_vec_push(&r->buffers_found, a->buffer);
    if (!e) {
        lz_buffer_retain(a->buffer);
        e = lz_vec_push(&r->inputs, (lz_run_input){ .buffer = a->buffer });
    }
    lz_array_deinit(a);
    return e;
}

static lz_err *nonzero(void *user, lz_lower *b, const lz_low_node *x, const lz_low_node **out)
{
    running *r = user;
    lz_run_args args = run_args(r);
    return lz_op_nonzero(b, x, &args, &r->found, out);
}

/* ---- results ---- */

/* NOLINTNEXTLINE(misc-no-recursion): at most a list of tensors */
static lz_err *find_outputs(running *r, const lz_low_value *v)
{
    const lz_low_node *n = v->node;
    for (size_t i = 0; v->kind == LZ_LOW_VALUE_LIST && i < v->list.n; i++)
        LZ_TRY(find_outputs(r, &v->list.items[i]));
    if (v->kind != LZ_LOW_VALUE_TENSOR && (v->kind != LZ_LOW_VALUE_NUMBER || !n))
        return NULL;
    LZ_TRY(lz_op_use_known(&r->b, &r->found, n, &n));
    LZ_TRY(lz_low_copy(&r->b, n, &n));
    return lz_vec_push(&r->outputs, n);
}

static lz_script_value number_of_scalar(lz_scalar s)
{
    return s.kind == LZ_SCALAR_FLOAT  ? lz_script_value_float(s.re)
           : s.kind == LZ_SCALAR_BOOL ? lz_script_value_bool(s.i != 0)
                                      : lz_script_value_int(s.i);
}

static lz_err *give_computed(running *r, const lz_low_value *v, lz_script_value *out)
{
    lz_buffer *buffer = r->buffers[r->next];
    const lz_low_node *n = r->outputs.data[r->next++];
    LZ_TRY(
        lz_script_tensor_of_buffer(lz_buffer_retain(buffer), (lz_dtype)n->dtype, lz_low_node_sizes(n), out));
    if (v->kind == LZ_LOW_VALUE_TENSOR)
        return NULL;
    lz_scalar s;
    lz_err *e = lz_script_value_item(*out, &s);
    lz_script_value_release(*out);
    *out = e ? lz_script_value_none() : number_of_scalar(s);
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most a list of tensors */
static lz_err *give(running *r, const lz_low_value *v, lz_script_value *out)
{
    lz_err *e = NULL;
    lz_script_value item, list;
    *out = lz_script_value_none();
    if (v->kind == LZ_LOW_VALUE_NUMBER && !v->node) {
        *out = number_of_scalar(v->number);
        return NULL;
    }
    if (v->kind == LZ_LOW_VALUE_DTYPE)
        *out = lz_script_value_int(v->dtype);
    if (v->kind == LZ_LOW_VALUE_TENSOR || v->kind == LZ_LOW_VALUE_NUMBER)
        return give_computed(r, v, out);
    if (v->kind != LZ_LOW_VALUE_LIST)
        return NULL;
    LZ_TRY(lz_script_value_list_make(v->list.n, &list));
    for (size_t i = 0; !e && i < v->list.n; i++) {
        e = give(r, &v->list.items[i], &item);
        e = e ? e : lz_script_value_push(list, item);
    }
    if (e)
        lz_script_value_release(list);
    else
        *out = list;
    return e;
}

static lz_err *give_all(running *r)
{
    for (size_t i = 0; i < r->n; i++) {
        lz_script_value v;
        LZ_TRY(give(r, &r->results[i], &v));
        lz_err *e = lz_vec_push(&r->c->given, v);
        if (e)
            lz_script_value_release(v);
        LZ_TRY(e);
    }
    return NULL;
}

/* ---- the whole run ---- */

static lz_err *compute(running *r)
{
    lz_plan *p;
    lz_run_args args = run_args(r);
    lz_plan_options options = { .separate = r->c->env->separate };
    for (size_t i = 0; i < r->n; i++)
        LZ_TRY(find_outputs(r, &r->results[i]));
    LZ_TRY(lz_arena_new(r->b.arena, &r->buffers, r->outputs.len + 1));
    LZ_TRY(lz_plan_create(&r->b, r->outputs.data, r->outputs.len, &options, &p));
    lz_err *e = lz_plan_run(p, &args, r->buffers);
    r->c->env->launches += lz_plan_launches(p);
    lz_plan_destroy(p);
    if (!e)
        e = give_all(r);
    for (size_t i = 0; i < r->outputs.len; i++)
        lz_buffer_release(r->buffers[i]);
    return e;
}

static lz_err *run(running *r)
{
    const lz_op_row *op = r->inst->node->op;
    if (op->flags & LZ_OPF_MUTABLE)
        op = lz_write_functional(op);
    if (!op)
        return lz_errf(LZ_ERR_UNSUPPORTED, "the operator has no result that could be written");
    if (op->flags & LZ_OPF_VIEW)
        return lz_errf(LZ_ERR_UNSUPPORTED,
                       "%s::%s: a view whose place depends on elements is not supported in a graph", op->ns,
                       op->name);
    for (uint32_t i = 0; i < op->nargs; i++)
        LZ_TRY(find_arg(r, i, &op->args[i], &r->args[i]));
    LZ_TRY(lz_low_scalar(&r->b, 0, LZ_I64, &r->b.seed));
    LZ_TRY(lz_low_scalar(&r->b, 1, LZ_I64, &r->b.stream));
    LZ_TRY(lz_op_lower(&r->b, op, r->args, r->results, &r->n));
    r->n = r->n < op->nreturns ? r->n : op->nreturns;
    LZ_TRY(compute(r));
    r->c->env->stream += r->b.next_stream;
    return NULL;
}

lz_err *lz_segment_run_now(lz_segment_call *c)
{
    running r = { .c = c, .inst = &c->seg->insts[c->from] };
    lz_arena arena;
    r.numbers[0] = lz_scalar_int((int64_t)c->env->seed);
    r.numbers[1] = lz_scalar_int((int64_t)c->env->stream);
    lz_arena_init(&arena);
    lz_low_init(&r.b, &arena);
    r.b.nonzero = nonzero;
    r.found = (lz_op_found){ .add_input = add_found, .user = &r };
    r.b.user = &r;
    c->is_given = true;
    lz_err *e = run(&r);
    if (e)
        c->at = r.inst;
    for (size_t i = 0; i < r.buffers_found.len; i++)
        lz_buffer_release(r.buffers_found.data[i]);
    lz_vec_deinit(&r.buffers_found);
    lz_op_found_deinit(&r.found);
    lz_vec_deinit(&r.inputs);
    lz_vec_deinit(&r.outputs);
    lz_low_deinit(&r.b);
    lz_arena_deinit(&arena);
    return e;
}
