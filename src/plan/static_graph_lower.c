/* Requires a graph of constants, operators that write nothing, and lists between them.
 * Nodes are shared out to steps in their order; what one step makes and another reads
 * gets a place. */
#include "base/mem.h"
#include "core/shape.h"
#include "lower/arg.h"
#include "lower/op_lower.h"
#include "lower/views.h"
#include "plan/static_graph_impl.h"
#include <string.h>

enum { AT_THE_END = UINT32_MAX };

/* What is known of a value of the graph. */
typedef struct known {
    const lz_ln *node; /* of a tensor, in step `made` */
    const lz_lv *list; /* of a list of tensors, in step `made` */
    uint32_t n;        /* of the list */
    uint32_t made;     /* 1 + the step that node and list belong to */
    uint32_t last;     /* 1 + the step that reads it last */
    uint32_t place;    /* 1 + where it is kept; 0: nowhere */
} known;

typedef struct maker {
    lz_straight *x;
    const lz_straight_input *in;
    lz_straight_options options;
    lz_arena scratch; /* for as long as it is made */
    known *values;    /* by mark */
    uint32_t n_steps;
    uint32_t step;
    lz_arena arena; /* of a step */
    lz_lower b;
    LZ_VEC(const lz_ir_node *) nodes;
    LZ_VEC(const lz_ln *) outputs;
} maker;

static lz_err *unsupported(const maker *m, const lz_ir_node *n, const char *what)
{
    return lz_ir_error(m->x->graph, n, LZ_ERR_UNSUPPORTED, "%s", what);
}

static known *known_of(const maker *m, const lz_ir_value *v)
{
    return &m->values[v->mark];
}

/* ---- who reads what, and when ---- */

static lz_err *check_node(const maker *m, const lz_ir_node *n)
{
    if (n->op && !(n->op->flags & LZ_OPF_MUTABLE))
        return NULL;
    if (lz_ir_is(n, LZ_PRIM_CONSTANT) || lz_ir_is(n, LZ_PRIM_LIST) || lz_ir_is(n, LZ_PRIM_LIST_UNPACK))
        return NULL;
    return unsupported(m, n, "no operator of a straight graph");
}

/* Nodes are marked with their step; what takes a list apart stays with who made it. */
static lz_err *share_out(maker *m, uint32_t *values)
{
    lz_ir_block *block = m->x->graph->block;
    size_t most = m->options.ops ? m->options.ops : LZ_STRAIGHT_OPS, ops = 0;
    for (uint32_t i = 0; i < block->param->nout; i++)
        block->param->out[i]->mark = (*values)++;
    for (lz_ir_node *n = lz_ir_first(block); n != block->ret; n = n->next) {
        LZ_TRY(check_node(m, n));
        if (ops >= most && !lz_ir_is(n, LZ_PRIM_LIST_UNPACK)) {
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

static void read_by(maker *m, const lz_ir_node *n, uint32_t when)
{
    for (uint32_t i = 0; i < n->nin; i++) {
        known *k = known_of(m, lz_ir_in(n, i));
        k->last = when > k->last ? when : k->last;
    }
}

/* Users come before what they use; a list is read when its users are. */
static void find_last(maker *m)
{
    const lz_ir_block *block = m->x->graph->block;
    read_by(m, block->ret, AT_THE_END);
    for (const lz_ir_node *n = block->ret->prev; n != block->param; n = n->prev)
        read_by(m, n, lz_ir_is(n, LZ_PRIM_LIST) ? known_of(m, n->out[0])->last : n->mark + 1);
}

/* ---- places ---- */

static lz_err *add_place(maker *m, lz_dtype d, lz_ints sizes, uint32_t last)
{
    lz_splace p = { .dtype = d, .last = last, .is_output = last == AT_THE_END };
    int64_t *copy;
    LZ_TRY(lz_arena_new(&m->x->arena, &copy, (size_t)sizes.n + 1));
    if (sizes.n)
        memcpy(copy, sizes.v, (size_t)sizes.n * sizeof *copy);
    p.sizes = (lz_ints){ copy, sizes.n };
    return lz_vec_push(&m->x->places, p);
}

static lz_err *add_inputs(maker *m)
{
    const lz_ir_node *param = m->x->graph->block->param;
    m->x->n_inputs = param->nout;
    for (uint32_t i = 0; i < param->nout; i++) {
        known *k = known_of(m, param->out[i]);
        bool number = m->in[i].number != LZ_SCALAR_NONE;
        lz_ints sizes = number ? (lz_ints){ NULL, 0 } : m->in[i].sizes;
        LZ_TRY(add_place(m, m->in[i].dtype, sizes, k->last));
        m->x->places.data[i].is_number = number;
        k->place = number ? 0 : i + 1;
    }
    return NULL;
}

/* A place that is a part of another one, from a run-time number on: see lz_lower_move_fn. */
static lz_err *add_moved(lz_lower *b, int64_t slot, int64_t number, int64_t bytes, int64_t *out)
{
    maker *m = b->user;
    lz_splace p = { .is_moved = true, .base = (uint32_t)slot, .number = (uint32_t)number, .bytes = bytes };
    *out = (int64_t)m->x->places.len;
    return lz_vec_push(&m->x->places, p);
}

/* ---- arguments ---- */

static lz_err *tensor_of(maker *m, const lz_ir_value *v, lz_lv *out)
{
    known *k = known_of(m, v);
    if (k->made != m->step + 1) {
        if (!k->place)
            return lz_errf(LZ_ERR_UNSUPPORTED, "a tensor that is not there");
        const lz_splace *p = &m->x->places.data[k->place - 1];
        int64_t strides[LZ_MAX_DIMS];
        lz_row_major(p->sizes, strides);
        LZ_TRY(lz_low_input(&m->b, k->place - 1, p->dtype, p->sizes, (lz_ints){ strides, p->sizes.n }, 0,
                            &k->node));
        k->made = m->step + 1;
    }
    if (!k->node)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a result that is not there");
    *out = lz_lv_tensor(k->node);
    return NULL;
}

static lz_err *no_tensor(void *user, lz_gv v, lz_lv *out)
{
    (void)user, (void)v, (void)out;
    return lz_errf(LZ_ERR_UNSUPPORTED, "a tensor among the constants");
}

/* Only its kind counts. */
static lz_gv number_like(lz_scalar_kind kind)
{
    return kind == LZ_SCALAR_FLOAT ? lz_gv_float(0) : kind == LZ_SCALAR_BOOL ? lz_gv_bool(0) : lz_gv_int(0);
}

static lz_err *one_arg(maker *m, lz_kind kind, const lz_ir_value *v, lz_lv *out)
{
    lz_arg_source source = { .b = &m->b, .tensor = no_tensor };
    lz_gv constant;
    if (lz_ir_const(v, &constant))
        return lz_arg_one(&source, kind, constant, LZ_KNOWN_NOW, out);
    if (v->node == m->x->graph->block->param && m->in[v->index].number != LZ_SCALAR_NONE)
        return lz_arg_one(&source, kind, number_like(m->in[v->index].number), v->index, out);
    return tensor_of(m, v, out);
}

static lz_err *list_arg(maker *m, lz_kind element, const lz_ir_value *v, lz_lv *out)
{
    const known *k = known_of(m, v);
    const lz_ir_node *n = v->node;
    lz_lv *items;
    if (!lz_ir_is(n, LZ_PRIM_LIST)) {
        *out = lz_lv_list(k->list, k->n);
        return k->made == m->step + 1 ? NULL : lz_errf(LZ_ERR_UNSUPPORTED, "a list that is not there");
    }
    LZ_TRY(lz_low_list_new(&m->b, n->nin, &items));
    for (uint32_t i = 0; i < n->nin; i++)
        LZ_TRY(one_arg(m, element, lz_ir_in(n, i), &items[i]));
    *out = lz_lv_list(items, n->nin);
    return NULL;
}

static lz_err *find_arg(maker *m, const lz_type_row *type, const lz_ir_value *v, lz_lv *out)
{
    lz_kind element = lz_arg_element((lz_kind)type->kind);
    lz_arg_source source = { .b = &m->b, .tensor = no_tensor };
    lz_gv constant;
    if (!element)
        return one_arg(m, (lz_kind)type->kind, v, out);
    if (lz_ir_const(v, &constant))
        return lz_arg_of_gv(&source, type, constant, LZ_KNOWN_NOW, out);
    return list_arg(m, element, v, out);
}

static lz_err *find_args(maker *m, const lz_ir_node *n, lz_lv *args)
{
    for (uint32_t i = 0; i < n->op->nargs; i++) {
        const lz_arg_row *arg = &n->op->args[i];
        lz_err *e = i < n->nin           ? find_arg(m, arg->type, lz_ir_in(n, i), &args[i])
                    : arg->default_value ? lz_arg_of_value(&m->b, arg->default_value, &args[i])
                                         : lz_errf(LZ_ERR_ARG, "it is missing");
        if (e)
            return lz_err_wrap(e, "argument '%s'", arg->name);
    }
    return NULL;
}

/* ---- nodes ---- */

/* Seed and position are inputs of the graph. */
static lz_err *set_random(maker *m, const lz_ir_node *n)
{
    const lz_ir_attr *a = n->nattrs ? lz_ir_attr_find(n, LZ_STRAIGHT_RANDOM) : NULL;
    m->b.next_stream = 0;
    if (!a)
        return NULL;
    int64_t seed = a->value.kind == LZ_GV_INT ? a->value.i : -1;
    if (seed < 0 || (size_t)seed + 1 >= m->x->n_inputs || !m->x->places.data[seed].is_number
        || !m->x->places.data[seed + 1].is_number)
        return lz_errf(LZ_ERR_MODEL, "%s: no such numbers", LZ_STRAIGHT_RANDOM);
    m->x->places.data[seed + 1].is_position = true;
    LZ_TRY(lz_low_scalar(&m->b, seed, LZ_I64, &m->b.seed));
    return lz_low_scalar(&m->b, seed + 1, LZ_I64, &m->b.stream);
}

static lz_err *keep_result(maker *m, const lz_ir_value *v, const lz_lv *result)
{
    known *k = known_of(m, v);
    k->made = m->step + 1;
    if (result->kind == LZ_LV_TENSOR)
        k->node = result->node;
    else if (result->kind == LZ_LV_LIST) {
        k->list = result->list.items;
        k->n = (uint32_t)result->list.n;
    } else if (result->kind != LZ_LV_NONE)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a result that is a number");
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
static lz_ints sizes_of(const lz_ir_node *n)
{
    const lz_type *t = n->nout == 1 ? n->out[0]->type : NULL;
    const lz_tensor_facts *f = t && t->kind == LZ_TY_TENSOR ? t->tensor : NULL;
    bool stated = f && f->rank >= 0 && (f->sizes || !f->rank);
    for (int d = 0; stated && d < f->rank; d++)
        stated = f->sizes[d] >= 0;
    return stated ? (lz_ints){ f->sizes, f->rank } : (lz_ints){ NULL, -1 };
}

static lz_err *lower_op(maker *m, const lz_ir_node *n)
{
    lz_lv args[LZ_ARGS_MAX], results[LZ_ARGS_MAX];
    size_t count;
    LZ_TRY(find_args(m, n, args));
    LZ_TRY(set_random(m, n));
    m->b.expected = sizes_of(n);
    if (only_looks(n->op))
        LZ_TRY(lz_op_lower_as_is(&m->b, n->op, args, results, &count));
    else
        LZ_TRY(lz_op_lower(&m->b, n->op, args, results, &count));
    if (m->b.next_stream && !lz_ir_attr_find(n, LZ_STRAIGHT_RANDOM)) /* dropout in evaluation draws nothing */
        return lz_errf(LZ_ERR_UNSUPPORTED, "a random operator without a position");
    for (uint32_t i = 0; i < n->nout && i < count; i++)
        LZ_TRY(keep_result(m, n->out[i], &results[i]));
    return NULL;
}

static lz_err *unpack(maker *m, const lz_ir_node *n)
{
    lz_lv list;
    LZ_TRY(list_arg(m, LZ_KIND_TENSOR, lz_ir_in(n, 0), &list));
    if (list.list.n != n->nout)
        return lz_errf(LZ_ERR_ARG, "a list of %zu was expected to have %u", list.list.n, n->nout);
    for (uint32_t i = 0; i < n->nout; i++)
        LZ_TRY(keep_result(m, n->out[i], &list.list.items[i]));
    return NULL;
}

static lz_err *lower_node(maker *m, const lz_ir_node *n)
{
    lz_err *e = NULL;
    m->b.origin = (uint32_t)m->nodes.len;
    LZ_TRY(lz_vec_push(&m->nodes, n));
    if (n->op)
        e = lower_op(m, n);
    else if (lz_ir_is(n, LZ_PRIM_LIST_UNPACK))
        e = unpack(m, n);
    if (!e || lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_err *named = lz_ir_error(m->x->graph, n, lz_err_code(e), "%s", lz_err_text(e));
    lz_err_free(e);
    return named;
}

/* ---- steps ---- */

/* An input as it lies in memory, and not some view of it. */
static bool is_plain(const maker *m, const lz_ln *n)
{
    const lz_linput *in = n->attr;
    int64_t dense[LZ_MAX_DIMS];
    bool plain = in->offset == 0 && !m->x->places.data[in->slot].is_moved;
    lz_row_major(lz_ln_sizes(n), dense);
    for (int64_t d = 0; plain && d < n->ndim; d++)
        plain = n->sizes[d] == 1 || in->strides[d] == dense[d];
    return plain;
}

/* What others read gets a place; what only is an input already has one. */
static lz_err *keep_value(maker *m, lz_ir_value *v)
{
    known *k = known_of(m, v);
    if (k->last <= m->step + 1 || k->made != m->step + 1 || !k->node)
        return NULL;
    if (k->node->kind == LZ_L_INPUT && is_plain(m, k->node)) {
        uint32_t slot = (uint32_t)((const lz_linput *)k->node->attr)->slot;
        lz_splace *p = &m->x->places.data[slot];
        if (lz_shape_eq(p->sizes, lz_ln_sizes(k->node))) {
            k->place = slot + 1;
            p->last = k->last > p->last ? k->last : p->last;
            p->is_output = p->is_output || k->last == AT_THE_END;
            return NULL;
        }
    }
    if (k->node->kind == LZ_L_INPUT)
        LZ_TRY(lz_low_copy(&m->b, k->node, &k->node));
    k->place = (uint32_t)m->x->places.len + 1;
    LZ_TRY(lz_vec_push(&m->outputs, k->node));
    return add_place(m, (lz_dtype)k->node->dtype, lz_ln_sizes(k->node), k->last);
}

static lz_err *keep_values(maker *m, const lz_ir_node *first, const lz_ir_node *end)
{
    for (const lz_ir_node *n = first; n != end; n = n->next)
        for (uint32_t i = 0; i < n->nout; i++)
            LZ_TRY(keep_value(m, n->out[i]));
    return NULL;
}

/* Who reads a part of a part reads that part. */
static lz_err *mark_read(maker *m, const lz_sstep *s)
{
    bool *read;
    if (s->first_moved == s->first_out)
        return NULL;
    LZ_TRY(lz_arena_new(&m->arena, &read, m->x->places.len));
    lz_plan_find_read(s->plan, read);
    for (uint32_t i = s->first_out; i-- > s->first_moved;) {
        lz_splace *p = &m->x->places.data[i];
        p->is_read = read[i];
        read[p->base] |= read[i];
    }
    return NULL;
}

static lz_err *end_step(maker *m, lz_sstep *s)
{
    lz_plan_options options = { .separate = m->options.separate };
    const lz_ir_node **nodes;
    LZ_TRY(lz_arena_new(&m->x->arena, &nodes, m->nodes.len + 1));
    for (size_t i = 0; i < m->nodes.len; i++)
        nodes[i] = m->nodes.data[i];
    s->nodes = nodes;
    s->n_nodes = m->nodes.len;
    s->n_out = m->outputs.len;
    m->x->most_out = s->n_out > m->x->most_out ? s->n_out : m->x->most_out;
    LZ_TRY(lz_vec_reserve(&m->x->steps, 1));
    LZ_TRY(lz_plan_create(&m->b, m->outputs.data, m->outputs.len, &options, &s->plan));
    m->x->launches += lz_plan_launches(s->plan);
    LZ_TRY(lz_vec_push(&m->x->steps, *s));
    return mark_read(m, s);
}

static lz_err *lower_step(maker *m, const lz_ir_node *first, const lz_ir_node **end)
{
    lz_sstep s = { .first_moved = (uint32_t)m->x->places.len };
    const lz_ir_node *n = first, *ret = m->x->graph->block->ret;
    m->nodes.len = m->outputs.len = 0;
    for (; n != ret && n->mark == m->step; n = n->next)
        if (!lz_ir_is(n, LZ_PRIM_CONSTANT) && !lz_ir_is(n, LZ_PRIM_LIST))
            LZ_TRY(lower_node(m, n));
    *end = n;
    s.first_out = (uint32_t)m->x->places.len;
    LZ_TRY(keep_values(m, first, n));
    return end_step(m, &s);
}

static lz_err *lower_steps(maker *m)
{
    const lz_ir_node *at = lz_ir_first(m->x->graph->block);
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

/* ---- the ends of places ---- */

static bool ends(const lz_splace *p, size_t steps)
{
    return p->last > 0 && p->last <= steps && !p->is_output && !p->is_number;
}

static lz_err *find_ends(lz_straight *x)
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

static lz_err *find_outputs(maker *m)
{
    const lz_ir_node *ret = m->x->graph->block->ret;
    LZ_TRY(lz_arena_new(&m->x->arena, &m->x->outputs, ret->nin + 1));
    for (uint32_t i = 0; i < ret->nin; i++) {
        const known *k = known_of(m, lz_ir_in(ret, i));
        if (!k->place)
            return unsupported(m, ret, "an output that is no tensor");
        m->x->outputs[m->x->n_outputs++] = k->place - 1;
    }
    return NULL;
}

/* ---- all of it ---- */

static lz_err *make(maker *m)
{
    uint32_t values = 0;
    LZ_TRY(share_out(m, &values));
    LZ_TRY(lz_arena_new(&m->scratch, &m->values, values + 1));
    find_last(m);
    LZ_TRY(add_inputs(m));
    LZ_TRY(lower_steps(m));
    LZ_TRY(find_ends(m->x));
    return find_outputs(m);
}

lz_err *lz_straight_create(lz_graph *g, const lz_straight_input *in, const lz_straight_options *options,
                           lz_straight **out)
{
    lz_straight *x = lz_mem_zalloc(1, sizeof *x);
    if (!x)
        return lz_err_oom();
    maker m = { .x = x, .in = in, .options = options ? *options : (lz_straight_options){ 0 } };
    lz_arena_init(&x->arena);
    lz_arena_init(&m.scratch);
    x->graph = lz_graph_retain(g);
    lz_err *e = make(&m);
    lz_vec_deinit(&m.nodes);
    lz_vec_deinit(&m.outputs);
    lz_arena_deinit(&m.scratch);
    if (e)
        lz_straight_destroy(x);
    else
        *out = x;
    return e;
}
