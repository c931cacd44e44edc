/* Lowers a static graph. Requires a graph of constants, operators that write nothing, and lists between
 * them. Nodes are assigned to steps in their order. A value that one step computes and another reads gets
 * a place. */
#include "base/mem.h"
#include "core/shape.h"
#include "lower/arg.h"
#include "lower/op_lower.h"
#include "lower/views.h"
#include "plan/static_graph_impl.h"
#include <string.h>

enum { AT_THE_END = UINT32_MAX };

/* The facts about a value of the graph. */
typedef struct known {
    const lz_low_node *node;  /* for a tensor: its node in step `made` */
    const lz_low_value *list; /* for a list of tensors: the items in step `made` */
    uint32_t n;               /* items of the list */
    uint32_t made;            /* 1 + the step that node and list belong to */
    uint32_t last;            /* 1 + the last step that reads the value */
    uint32_t place;           /* 1 + the value's place; 0: it has none */
} known;

typedef struct maker {
    lz_static_graph *x;
    const lz_static_graph_input *in;
    lz_static_graph_options options;
    lz_static_graph_take_fn *take; /* NULL: makes plans */
    void *user;                    /* passed to `take` */
    lz_arena scratch;              /* freed when the graph is complete */
    known *values;                 /* by mark */
    uint32_t n_steps;
    uint32_t step;
    lz_arena arena; /* of the current step */
    lz_lower b;
    LZ_VEC(const lz_ssa_node *) nodes;
    LZ_VEC(const lz_low_node *) outputs;
} maker;

static lz_err *unsupported(const maker *m, const lz_ssa_node *n, const char *what)
{
    return lz_ssa_error(m->x->graph, n, LZ_ERR_UNSUPPORTED, "%s", what);
}

static known *known_of(const maker *m, const lz_ssa_value *v)
{
    return &m->values[v->mark];
}

/* ---- steps and uses ---- */

static lz_err *check_node(const maker *m, const lz_ssa_node *n)
{
    if (n->op && !(n->op->flags & LZ_OPF_MUTABLE))
        return NULL;
    if (lz_ssa_is(n, LZ_PRIM_CONSTANT) || lz_ssa_is(n, LZ_PRIM_LIST) || lz_ssa_is(n, LZ_PRIM_LIST_UNPACK))
        return NULL;
    return unsupported(m, n, "this node is not supported in a static graph");
}

/* Marks each node with its step. An unpacking of a list stays in the step that made the list. */
static lz_err *share_out(maker *m, uint32_t *values)
{
    lz_ssa_block *block = m->x->graph->block;
    size_t most = m->options.ops ? m->options.ops : LZ_STATIC_GRAPH_OPS, ops = 0;
    for (uint32_t i = 0; i < block->param->nout; i++)
        block->param->out[i]->mark = (*values)++;
    for (lz_ssa_node *n = lz_ssa_first(block); n != block->ret; n = n->next) {
        LZ_TRY(check_node(m, n));
        if (ops >= most && !lz_ssa_is(n, LZ_PRIM_LIST_UNPACK)) {
            ops = 0;
            m->n_steps++;
        }
        ops += n->op != NULL;
        n->mark = m->n_steps;
        for (uint32_t i = 0; i < n->nout; i++)
            n->out[i]->mark = (*values)++;
    }
    m->n_steps++;
    return NULL;
}

static void read_by(maker *m, const lz_ssa_node *n, uint32_t when)
{
    for (uint32_t i = 0; i < n->nin; i++) {
        known *k = known_of(m, lz_ssa_in(n, i));
        k->last = when > k->last ? when : k->last;
    }
}

/* Visits users before the nodes that they read. A list is read in the steps that read the list's users. */
static void find_last(maker *m)
{
    const lz_ssa_block *block = m->x->graph->block;
    read_by(m, block->ret, AT_THE_END);
    for (const lz_ssa_node *n = block->ret->prev; n != block->param; n = n->prev)
        read_by(m, n, lz_ssa_is(n, LZ_PRIM_LIST) ? known_of(m, n->out[0])->last : n->mark + 1);
}

/* ---- places ---- */

static lz_err *copy_ints(lz_arena *a, lz_ints from, lz_ints *out)
{
    int64_t *copy = NULL;
    if (from.v)
        LZ_TRY(lz_arena_new(a, &copy, (size_t)from.n + 1));
    if (from.v && from.n)
        memcpy(copy, from.v, (size_t)from.n * sizeof *copy);
    *out = (lz_ints){ copy, from.n };
    return NULL;
}

static lz_err *add_place(maker *m, lz_dtype d, lz_ints sizes, uint32_t last)
{
    lz_static_place p = { .dtype = d, .last = last, .is_output = last == AT_THE_END };
    LZ_TRY(copy_ints(&m->x->arena, sizes, &p.sizes));
    return lz_vec_push(&m->x->places, p);
}

static lz_err *add_inputs(maker *m)
{
    const lz_ssa_node *param = m->x->graph->block->param;
    m->x->n_inputs = param->nout;
    for (uint32_t i = 0; i < param->nout; i++) {
        known *k = known_of(m, param->out[i]);
        bool number = m->in[i].number != LZ_SCALAR_NONE;
        lz_ints sizes = number ? (lz_ints){ NULL, 0 } : m->in[i].sizes;
        LZ_TRY(add_place(m, m->in[i].dtype, sizes, k->last));
        LZ_TRY(copy_ints(&m->x->arena, m->in[i].strides, &m->x->places.data[i].strides));
        m->x->places.data[i].is_number = number;
        k->place = number ? 0 : i + 1;
    }
    return NULL;
}

/* Adds a place that is a part of another place, beginning at a run-time number: see lz_lower_move_fn. */
static lz_err *add_moved(lz_lower *b, int64_t slot, int64_t number, int64_t bytes, int64_t *out)
{
    maker *m = b->user;
    lz_static_place p = {
        .is_moved = true, .base = (uint32_t)slot, .number = (uint32_t)number, .bytes = bytes
    };
    *out = (int64_t)m->x->places.len;
    return lz_vec_push(&m->x->places, p);
}

/* ---- arguments ---- */

static lz_err *tensor_of(maker *m, const lz_ssa_value *v, lz_low_value *out)
{
    known *k = known_of(m, v);
    if (k->made != m->step + 1) {
        if (!k->place)
            return lz_errf(LZ_ERR_UNSUPPORTED, "expected a tensor, found None");
        const lz_static_place *p = &m->x->places.data[k->place - 1];
        int64_t dense[LZ_MAX_DIMS];
        lz_row_major(p->sizes, dense);
        lz_ints strides = p->strides.v ? p->strides : (lz_ints){ dense, p->sizes.n };
        LZ_TRY(lz_low_input(&m->b, k->place - 1, p->dtype, p->sizes, strides, 0, &k->node));
        k->made = m->step + 1;
    }
    if (!k->node)
        return lz_errf(LZ_ERR_UNSUPPORTED, "expected a tensor, found None");
    *out = lz_low_value_tensor(k->node);
    return NULL;
}

static lz_err *no_tensor(void *user, lz_script_value v, lz_low_value *out)
{
    (void)user, (void)v, (void)out;
    return lz_errf(LZ_ERR_UNSUPPORTED, "a constant that is a tensor is not supported");
}

/* Only the kind of the number matters. */
static lz_script_value number_like(lz_scalar_kind kind)
{
    return kind == LZ_SCALAR_FLOAT  ? lz_script_value_float(0)
           : kind == LZ_SCALAR_BOOL ? lz_script_value_bool(0)
                                    : lz_script_value_int(0);
}

static lz_err *one_arg(maker *m, lz_kind kind, const lz_ssa_value *v, lz_low_value *out)
{
    lz_arg_source source = { .b = &m->b, .tensor = no_tensor };
    lz_script_value constant;
    if (lz_ssa_const(v, &constant))
        return lz_arg_one(&source, kind, constant, LZ_KNOWN_NOW, out);
    if (v->node == m->x->graph->block->param && m->in[v->index].number != LZ_SCALAR_NONE)
        return lz_arg_one(&source, kind, number_like(m->in[v->index].number), v->index, out);
    return tensor_of(m, v, out);
}

static lz_err *list_arg(maker *m, lz_kind element, const lz_ssa_value *v, lz_low_value *out)
{
    const known *k = known_of(m, v);
    const lz_ssa_node *n = v->node;
    lz_low_value *items;
    if (!lz_ssa_is(n, LZ_PRIM_LIST)) {
        *out = lz_low_value_list(k->list, k->n);
        return k->made == m->step + 1 ? NULL : lz_errf(LZ_ERR_UNSUPPORTED, "expected a list, found None");
    }
    LZ_TRY(lz_low_list_new(&m->b, n->nin, &items));
    for (uint32_t i = 0; i < n->nin; i++)
        LZ_TRY(one_arg(m, element, lz_ssa_in(n, i), &items[i]));
    *out = lz_low_value_list(items, n->nin);
    return NULL;
}

static lz_err *find_arg(maker *m, const lz_type_row *type, const lz_ssa_value *v, lz_low_value *out)
{
    lz_kind element = lz_arg_element((lz_kind)type->kind);
    lz_arg_source source = { .b = &m->b, .tensor = no_tensor };
    lz_script_value constant;
    if (!element)
        return one_arg(m, (lz_kind)type->kind, v, out);
    if (lz_ssa_const(v, &constant))
        return lz_arg_of_script_value(&source, type, constant, LZ_KNOWN_NOW, out);
    return list_arg(m, element, v, out);
}

static lz_err *find_args(maker *m, const lz_ssa_node *n, lz_low_value *args)
{
    for (uint32_t i = 0; i < n->op->nargs; i++) {
        const lz_arg_row *arg = &n->op->args[i];
        lz_err *e = i < n->nin           ? find_arg(m, arg->type, lz_ssa_in(n, i), &args[i])
                    : arg->default_value ? lz_arg_of_value(&m->b, arg->default_value, &args[i])
                                         : lz_errf(LZ_ERR_ARG, "required argument is missing");
        if (e)
            return lz_err_wrap(e, "argument '%s'", arg->name);
    }
    return NULL;
}

/* ---- nodes ---- */

/* Sets the seed and the position of a random operator: both are inputs of the graph. */
static lz_err *set_random(maker *m, const lz_ssa_node *n)
{
    const lz_ssa_attr *a = n->nattrs ? lz_ssa_attr_find(n, LZ_STATIC_GRAPH_RANDOM) : NULL;
    m->b.next_stream = a ? 0 : m->x->draws;
    if (!a && m->options.seed) {
        LZ_TRY(lz_low_scalar(&m->b, m->options.seed - 1, LZ_I64, &m->b.seed));
        return lz_low_scalar(&m->b, m->options.seed, LZ_I64, &m->b.stream);
    }
    if (!a)
        return NULL;
    int64_t seed = a->value.kind == LZ_SCRIPT_VALUE_INT ? a->value.i : -1;
    if (seed < 0 || (size_t)seed + 1 >= m->x->n_inputs || !m->x->places.data[seed].is_number
        || !m->x->places.data[seed + 1].is_number)
        return lz_errf(LZ_ERR_MODEL, "%s: expected two inputs that are numbers, seed and position",
                       LZ_STATIC_GRAPH_RANDOM);
    m->x->places.data[seed + 1].is_position = true;
    LZ_TRY(lz_low_scalar(&m->b, seed, LZ_I64, &m->b.seed));
    return lz_low_scalar(&m->b, seed + 1, LZ_I64, &m->b.stream);
}

/* Counts the draws of a random operator without a position. Dropout in evaluation draws nothing. */
static lz_err *count_draws(maker *m)
{
    if (m->b.next_stream == m->x->draws)
        return NULL;
    m->x->draws = m->b.next_stream;
    return m->options.seed ? NULL
                           : lz_errf(LZ_ERR_UNSUPPORTED,
                                     "a random operator without a position is not supported without a seed");
}

static lz_err *keep_result(maker *m, const lz_ssa_value *v, const lz_low_value *result)
{
    known *k = known_of(m, v);
    k->made = m->step + 1;
    if (result->kind == LZ_LOW_VALUE_TENSOR || (result->kind == LZ_LOW_VALUE_NUMBER && result->node))
        k->node = result->node;
    else if (result->kind == LZ_LOW_VALUE_LIST) {
        k->list = result->list.items;
        k->n = (uint32_t)result->list.n;
    } else if (result->kind != LZ_LOW_VALUE_NONE)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a result is a constant number");
    return NULL;
}

static bool only_looks(const lz_op_row *op)
{
    for (uint32_t i = 0; i < op->nreturns; i++)
        if (op->returns[i].argument != LZ_NO_ARGUMENT && !op->returns[i].write)
            return true;
    return false;
}

/* The sizes that the graph states for the node's only result. */
static lz_ints sizes_of(const lz_ssa_node *n)
{
    const lz_type *t = n->nout == 1 ? n->out[0]->type : NULL;
    const lz_tensor_facts *f = t && t->kind == LZ_GRAPH_TYPE_TENSOR ? t->tensor : NULL;
    bool stated = f && f->rank >= 0 && (f->sizes || !f->rank);
    for (int d = 0; stated && d < f->rank; d++)
        stated = f->sizes[d] >= 0;
    return stated ? (lz_ints){ f->sizes, f->rank } : (lz_ints){ NULL, -1 };
}

static lz_err *lower_op(maker *m, const lz_ssa_node *n)
{
    lz_low_value args[LZ_ARGS_MAX], results[LZ_ARGS_MAX];
    size_t count;
    LZ_TRY(find_args(m, n, args));
    LZ_TRY(set_random(m, n));
    m->b.expected = sizes_of(n);
    if (only_looks(n->op))
        LZ_TRY(lz_op_lower_as_is(&m->b, n->op, args, results, &count));
    else
        LZ_TRY(lz_op_lower(&m->b, n->op, args, results, &count));
    if (!lz_ssa_attr_find(n, LZ_STATIC_GRAPH_RANDOM))
        LZ_TRY(count_draws(m));
    for (uint32_t i = 0; i < n->nout && i < count; i++)
        LZ_TRY(keep_result(m, n->out[i], &results[i]));
    return NULL;
}

static lz_err *unpack(maker *m, const lz_ssa_node *n)
{
    lz_low_value list;
    LZ_TRY(list_arg(m, LZ_KIND_TENSOR, lz_ssa_in(n, 0), &list));
    if (list.list.n != n->nout)
        return lz_errf(LZ_ERR_ARG, "expected a list of %u items, found %zu", n->nout, list.list.n);
    for (uint32_t i = 0; i < n->nout; i++)
        LZ_TRY(keep_result(m, n->out[i], &list.list.items[i]));
    return NULL;
}

static lz_err *lower_node(maker *m, const lz_ssa_node *n)
{
    lz_err *e = NULL;
    m->b.origin = (uint32_t)m->nodes.len;
    LZ_TRY(lz_vec_push(&m->nodes, n));
    if (n->op)
        e = lower_op(m, n);
    else if (lz_ssa_is(n, LZ_PRIM_LIST_UNPACK))
        e = unpack(m, n);
    return lz_ssa_locate(m->x->graph, n, e);
}

/* ---- steps ---- */

/* Whether n is a whole input in row-major order, and not a view of one. */
static bool is_plain(const maker *m, const lz_low_node *n)
{
    const lz_low_input_attr *in = n->attr;
    int64_t dense[LZ_MAX_DIMS];
    bool plain = in->offset == 0 && !m->x->places.data[in->slot].is_moved;
    lz_row_major(lz_low_node_sizes(n), dense);
    for (int64_t d = 0; plain && d < n->ndim; d++)
        plain = n->sizes[d] == 1 || in->strides[d] == dense[d];
    return plain;
}

/* Gives a value a place if a later step reads it. A value that is an input already has a place. */
static lz_err *keep_value(maker *m, lz_ssa_value *v)
{
    known *k = known_of(m, v);
    if (k->last <= m->step + 1 || k->made != m->step + 1 || !k->node)
        return NULL;
    if (k->node->kind == LZ_LOW_INPUT && is_plain(m, k->node)) {
        uint32_t slot = (uint32_t)((const lz_low_input_attr *)k->node->attr)->slot;
        lz_static_place *p = &m->x->places.data[slot];
        if (lz_shape_eq(p->sizes, lz_low_node_sizes(k->node))) {
            k->place = slot + 1;
            p->last = k->last > p->last ? k->last : p->last;
            p->is_output = p->is_output || k->last == AT_THE_END;
            return NULL;
        }
    }
    if (k->node->kind == LZ_LOW_INPUT)
        LZ_TRY(lz_low_copy(&m->b, k->node, &k->node));
    k->place = (uint32_t)m->x->places.len + 1;
    LZ_TRY(lz_vec_push(&m->outputs, k->node));
    return add_place(m, (lz_dtype)k->node->dtype, lz_low_node_sizes(k->node), k->last);
}

static lz_err *keep_values(maker *m, const lz_ssa_node *first, const lz_ssa_node *end)
{
    for (const lz_ssa_node *n = first; n != end; n = n->next)
        for (uint32_t i = 0; i < n->nout; i++)
            LZ_TRY(keep_value(m, n->out[i]));
    return NULL;
}

/* A step that reads a part also reads the place that contains the part. */
static lz_err *mark_read(maker *m, const lz_static_step *s)
{
    bool *read;
    if (s->first_moved == s->first_out)
        return NULL;
    LZ_TRY(lz_arena_new(&m->arena, &read, m->x->places.len));
    lz_plan_find_read(s->plan, read);
    for (uint32_t i = s->first_out; i-- > s->first_moved;) {
        lz_static_place *p = &m->x->places.data[i];
        p->is_read = read[i];
        read[p->base] |= read[i];
    }
    return NULL;
}

static lz_err *find_outputs(maker *m)
{
    const lz_ssa_node *ret = m->x->graph->block->ret;
    m->x->n_outputs = 0;
    LZ_TRY(lz_arena_new(&m->x->arena, &m->x->outputs, ret->nin + 1));
    for (uint32_t i = 0; i < ret->nin; i++) {
        const known *k = known_of(m, lz_ssa_in(ret, i));
        if (!k->place)
            return unsupported(m, ret, "an output is no tensor");
        m->x->outputs[m->x->n_outputs++] = k->place - 1;
    }
    return NULL;
}

/* For a graph of one step. Its outputs have the last places, after the inputs and the parts. */
static lz_err *give_lowering(maker *m)
{
    size_t first = m->x->places.len - m->outputs.len;
    lz_static_graph_part *parts;
    LZ_TRY(find_outputs(m));
    LZ_TRY(lz_arena_new(&m->arena, &parts, first - m->x->n_inputs + 1));
    for (size_t i = m->x->n_inputs; i < first; i++) {
        const lz_static_place *p = &m->x->places.data[i];
        parts[i - m->x->n_inputs] = (lz_static_graph_part){ p->base, p->number, p->bytes };
    }
    for (size_t i = 0; i < m->x->n_outputs; i++)
        if (m->x->outputs[i] >= first)
            m->x->outputs[i] += (uint32_t)(m->x->n_inputs - first);
    lz_static_graph_lowering l = { .dag = &m->b,
                                   .parts = parts,
                                   .n_parts = first - m->x->n_inputs,
                                   .outputs = m->outputs.data,
                                   .n = m->outputs.len,
                                   .results = m->x->outputs,
                                   .nodes = m->nodes.data,
                                   .n_nodes = m->nodes.len };
    return m->take(m->user, &l);
}

static lz_err *end_step(maker *m, lz_static_step *s)
{
    lz_plan_options options = { .separate = m->options.separate };
    const lz_ssa_node **nodes;
    LZ_TRY(lz_arena_new(&m->x->arena, &nodes, m->nodes.len + 1));
    for (size_t i = 0; i < m->nodes.len; i++)
        nodes[i] = m->nodes.data[i];
    s->nodes = nodes;
    s->n_nodes = m->nodes.len;
    s->n_out = m->outputs.len;
    m->x->most_out = s->n_out > m->x->most_out ? s->n_out : m->x->most_out;
    if (m->take)
        return give_lowering(m);
    LZ_TRY(lz_vec_reserve(&m->x->steps, 1));
    LZ_TRY(lz_plan_create(&m->b, m->outputs.data, m->outputs.len, &options, &s->plan));
    m->x->launches += lz_plan_launches(s->plan);
    for (size_t i = 0; i < s->n_out; i++)
        m->x->places.data[s->first_out + i].shows =
            (uint32_t)(lz_plan_output_get(s->plan, i)->slot + 1); /* -1: none */
    LZ_TRY(lz_vec_push(&m->x->steps, *s));
    return mark_read(m, s);
}

static lz_err *lower_step(maker *m, const lz_ssa_node *first, const lz_ssa_node **end)
{
    lz_static_step s = { .first_moved = (uint32_t)m->x->places.len };
    const lz_ssa_node *n = first, *ret = m->x->graph->block->ret;
    m->nodes.len = m->outputs.len = 0;
    for (; n != ret && n->mark == m->step; n = n->next)
        if (!lz_ssa_is(n, LZ_PRIM_CONSTANT) && !lz_ssa_is(n, LZ_PRIM_LIST))
            LZ_TRY(lower_node(m, n));
    *end = n;
    s.first_out = (uint32_t)m->x->places.len;
    LZ_TRY(keep_values(m, first, n));
    return end_step(m, &s);
}

static lz_err *lower_steps(maker *m)
{
    const lz_ssa_node *at = lz_ssa_first(m->x->graph->block);
    lz_err *e = NULL;
    for (m->step = 0; !e && m->step < m->n_steps; m->step++) {
        lz_arena_init(&m->arena);
        lz_low_init(&m->b, &m->arena);
        m->b.move = add_moved;
        m->b.user = m;
        e = lower_step(m, at, &at);
        lz_low_deinit(&m->b);
        lz_arena_deinit(&m->arena);
    }
    return e;
}

/* ---- lifetimes of places ---- */

static bool ends(const lz_static_place *p, size_t steps)
{
    return p->last > 0 && p->last <= steps && !p->is_output && !p->is_number;
}

static lz_err *find_ends(lz_static_graph *x)
{
    uint32_t **lists;
    size_t steps = x->steps.len;
    LZ_TRY(lz_arena_new(&x->arena, &lists, steps + 1));
    for (size_t i = 0; i < x->places.len; i++)
        if (ends(&x->places.data[i], steps))
            x->steps.data[x->places.data[i].last - 1].n_last++;
    for (size_t i = 0; i < steps; i++) {
        LZ_TRY(lz_arena_new(&x->arena, &lists[i], x->steps.data[i].n_last + 1));
        x->steps.data[i].last = lists[i];
    }
    for (uint32_t i = 0; i < x->places.len; i++)
        if (ends(&x->places.data[i], steps))
            *lists[x->places.data[i].last - 1]++ = i;
    return NULL;
}

/* ---- the whole graph ---- */

static lz_err *make(maker *m)
{
    uint32_t values = 0;
    LZ_TRY(share_out(m, &values));
    LZ_TRY(lz_arena_new(&m->scratch, &m->values, values + 1));
    find_last(m);
    LZ_TRY(add_inputs(m));
    LZ_TRY(lower_steps(m));
    if (m->take)
        return NULL;
    LZ_TRY(find_ends(m->x));
    return find_outputs(m);
}

static lz_err *create(maker *m, lz_graph *g)
{
    lz_arena_init(&m->x->arena);
    lz_arena_init(&m->scratch);
    m->x->graph = lz_graph_retain(g);
    lz_err *e = make(m);
    lz_vec_deinit(&m->nodes);
    lz_vec_deinit(&m->outputs);
    lz_arena_deinit(&m->scratch);
    return e;
}

lz_err *lz_static_graph_create(lz_graph *g, const lz_static_graph_input *in,
                               const lz_static_graph_options *options, lz_static_graph **out)
{
    lz_static_graph *x = lz_mem_zalloc(1, sizeof *x);
    if (!x)
        return lz_err_oom();
    maker m = { .x = x, .in = in, .options = options ? *options : (lz_static_graph_options){ 0 } };
    lz_err *e = create(&m, g);
    if (e)
        lz_static_graph_destroy(x);
    else
        *out = x;
    return e;
}

lz_err *lz_static_graph_lower(lz_graph *g, const lz_static_graph_input *in,
                              const lz_static_graph_options *options, lz_static_graph_take_fn *take,
                              void *user)
{
    lz_static_graph *x = lz_mem_zalloc(1, sizeof *x);
    if (!x)
        return lz_err_oom();
    maker m = { .x = x, .in = in, .options = *options, .take = take, .user = user };
    m.options.ops = SIZE_MAX;
    lz_err *e = create(&m, g);
    lz_static_graph_destroy(x);
    return e;
}
