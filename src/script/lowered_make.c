/* The pass "lower". Requires a straight-line graph of operators, and of built-ins that read only numbers
 * and sizes. Parameters are tensors of known dtype and sizes, or numbers that are only used as Scalars of
 * operators. Keeps what the graph computes. The graph is functionalized and lowered by the functions that
 * make static graphs of lazy steps and segments, with tensors without elements.
 *
 * A graph that writes nothing, and whose tensors all have dtype and sizes but no strides, is the text of a
 * lazy step: a static graph already. It is lowered as it is, so its numbers may be used as the step uses
 * them, and its results are row-major. */
#include "base/mem.h"
#include "core/dtype.h"
#include "core/strides.h"
#include "lower/views.h"
#include "plan/lowered.h"
#include "script/inst.h"
#include "script/segment_impl.h"

typedef struct maker {
    lz_graph *g;
    lz_script_program *p;
    lz_script_value *slots;
    lz_lowered l;
    const lz_script_instr *tail; /* the instructions after the segment */
    const lz_script_instr *end;
    LZ_VEC(const lz_ssa_value *) tensors; /* tensor inputs of the segment, in order */
    lz_segment_call *call;
    const lz_functional *func; /* the functionalized segment; NULL: no segment */
    const lz_static_graph_lowering *lowering;
    lz_graph *made;
} maker;

/* ---- parameters ---- */

static lz_err *incomplete(const maker *m, const lz_ssa_value *v, const char *what)
{
    lz_text t = { 0 };
    lz_ssa_print_name(v, &t);
    lz_text_puts(&t, " : ");
    lz_type_print(v->type, &t);
    lz_err *e = lz_text_check(&t);
    e = e ? e : lz_ssa_error(m->g, v->node, LZ_ERR_ARG, "%.*s: %s", LZ_FMT(lz_text_view(&t)), what);
    lz_text_deinit(&t);
    return e;
}

/* A tensor without elements. */
static lz_err *make_tensor(lz_dtype d, lz_ints sizes, lz_ints strides, lz_script_value *out)
{
    lz_buffer *buffer;
    lz_storage *storage;
    lz_spec *spec;
    LZ_TRY(lz_spec_create(d, sizes, strides, &spec));
    size_t n = spec->extent > 0 ? (size_t)spec->extent : 1;
    lz_err *e = lz_buffer_wrap(NULL, n * lz_dtype_size(d), true, NULL, NULL, &buffer);
    if (!e)
        e = lz_storage_create(buffer, &storage);
    if (!e) {
        e = lz_script_tensor_view(storage, spec, 0, out);
        lz_storage_release(storage);
    }
    lz_mem_free(spec);
    return e;
}

static lz_err *tensor_param(const maker *m, const lz_ssa_value *v, lz_script_value *out)
{
    const lz_tensor_facts *t = v->type->tensor;
    lz_shape dense;
    if (!t || t->dtype == LZ_DTYPE_NONE)
        return incomplete(m, v, "expected a type with a dtype, as in Float(2, 3)");
    if (t->rank < 0)
        return incomplete(m, v, "expected a type with sizes, as in Float(2, 3)");
    lz_ints sizes = { t->sizes, t->rank }, strides = { t->strides, t->rank };
    for (int i = 0; i < t->rank; i++) {
        if (t->sizes[i] < 0)
            return incomplete(m, v, "expected a type with all sizes, as in Float(2, 3)");
        if (t->strides && t->strides[i] < 0)
            return incomplete(m, v, "expected strides that are not negative");
    }
    LZ_TRY(lz_shape_check(sizes));
    LZ_TRY(lz_strides_contiguous(sizes, &dense));
    return make_tensor(t->dtype, sizes, t->strides ? strides : lz_shape_ints(&dense), out);
}

static lz_err *make_param(const maker *m, const lz_ssa_value *v, lz_script_value *out)
{
    lz_type_kind k = v->type->kind;
    if (k == LZ_GRAPH_TYPE_TENSOR)
        return tensor_param(m, v, out);
    *out = k == LZ_GRAPH_TYPE_FLOAT  ? lz_script_value_float(0)
           : k == LZ_GRAPH_TYPE_BOOL ? lz_script_value_bool(false)
           : k == LZ_GRAPH_TYPE_INT  ? lz_script_value_int(0)
                                     : lz_script_value_none();
    return NULL;
}

static lz_err *fill_slots(maker *m)
{
    const lz_ssa_node *param = m->g->block->param;
    for (uint32_t i = 0; i < param->nout; i++)
        LZ_TRY(make_param(m, param->out[i], &m->slots[m->p->main->params[i]]));
    for (size_t i = 0; i < m->p->n_constants; i++) {
        lz_script_value *slot = &m->slots[m->p->constants[i].slot];
        lz_script_value_set(slot, lz_script_value_retain(m->p->constants[i].value));
        if (slot->kind == LZ_SCRIPT_VALUE_ARRAY)
            LZ_TRY(lz_script_value_adopt(slot));
    }
    return NULL;
}

/* ---- values in slots ---- */

static const lz_ssa_value *value_of_slot(const maker *m, uint32_t slot)
{
    for (const lz_ssa_node *n = m->g->block->param; n; n = n->next)
        for (uint32_t i = 0; i < n->nout; i++)
            if (n->out[i]->mark == slot)
                return n->out[i];
    return NULL;
}

static lz_lowered_source source_of(const lz_ssa_value *v)
{
    lz_lowered_source s = { .param = LZ_NO_PARAM, .type = v->type };
    if (!lz_ssa_const(v, &s.value))
        s.param = v->index;
    return s;
}

/* Checks that each input of the segment is a parameter or a constant. */
static lz_err *check_sources(maker *m, lz_segment_call *c)
{
    bool statics = atomic_load(&c->seg->statics);
    for (uint32_t i = 0; i < c->seg->n_inputs; i++) {
        const lz_segment_input *in = &c->seg->inputs[i];
        const lz_ssa_value *v = value_of_slot(m, in->slot);
        lz_script_value g = c->slots[in->slot];
        bool plain = v && (v->node == m->g->block->param || lz_ssa_is(v->node, LZ_PRIM_CONSTANT));
        if (!plain)
            return lz_ssa_error(m->g, v ? v->node : m->g->block->param, LZ_ERR_UNSUPPORTED,
                                "a segment needs a value that is computed before it");
        if (v->node == m->g->block->param && !lz_script_value_is_tensor(g) && !(in->run_time && !statics))
            return incomplete(m, v, "the value of this parameter is needed: make it a constant");
        if (lz_script_value_is_tensor(g))
            LZ_TRY(lz_vec_push(&m->tensors, v));
    }
    return NULL;
}

/* Maps the inputs of the static graph (tensors and numbers) to parameters and constants. */
static lz_err *find_sources(maker *m)
{
    for (size_t i = 0; i < m->func->sources.len; i++) {
        lz_functionalize_source s = m->func->sources.data[i];
        lz_lowered_source none = { .param = LZ_NO_PARAM }, of = none;
        if (s.kind == LZ_FUNCTIONALIZE_TENSOR)
            of = source_of(m->tensors.data[s.index]);
        else if (s.kind == LZ_FUNCTIONALIZE_NUMBER)
            of = source_of(value_of_slot(m, m->call->seg->inputs[s.index].slot));
        else
            of.param = s.kind == LZ_FUNCTIONALIZE_SEED ? LZ_SEED_PARAM : LZ_STREAM_PARAM;
        LZ_TRY(lz_vec_push(&m->l.inputs, s.kind == LZ_FUNCTIONALIZE_TENSOR ? of : none));
        LZ_TRY(lz_vec_push(&m->l.scalars, s.kind == LZ_FUNCTIONALIZE_TENSOR ? none : of));
    }
    return NULL;
}

static int64_t slot_of_tensor(const maker *m, uint32_t tensor)
{
    for (size_t i = 0; i < m->func->sources.len; i++) {
        lz_functionalize_source s = m->func->sources.data[i];
        if (s.kind == LZ_FUNCTIONALIZE_TENSOR && s.index == tensor)
            return (int64_t)i;
    }
    return -1;
}

/* ---- results ---- */

/* Adds a result that is a view of an output, or of an input that is not written. */
static lz_err *described_result(maker *m, const lz_described *t)
{
    const lz_described_storage *s = lz_storage_of(t);
    lz_lowered_result r = { .output = -1,
                            .dtype = (lz_dtype)t->spec->dtype,
                            .sizes = lz_spec_sizes(t->spec),
                            .strides = lz_spec_strides(t->spec),
                            .offset = t->x.offset };
    size_t n = m->func->inputs.len;
    uint32_t made = s->output < 0 ? 0 : m->lowering->results[s->output];
    if (s->output < 0)
        r.slot = slot_of_tensor(m, (uint32_t)s->input);
    else if (made < n)
        r.slot = made;
    else
        r.output = (int32_t)(made - n);
    if (r.output >= 0)
        r.whole = r.offset == 0 && lz_strides_are_contiguous(r.sizes, r.strides)
                  && lz_shape_eq(lz_low_node_sizes(m->l.outputs.data[r.output]), r.sizes);
    else if (t->self >= 0)
        r.whole = r.offset == 0
                  && lz_shape_eq(r.strides, lz_spec_strides(m->call->tensors.data[t->self]->spec))
                  && lz_shape_eq(r.sizes, lz_spec_sizes(m->call->tensors.data[t->self]->spec));
    return lz_vec_push(&m->l.results, r);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_SCRIPT_VALUE_DEPTH deep */
static lz_err *add_result(maker *m, const lz_ssa_value *v, lz_script_value g, int depth)
{
    lz_lowered_result r = { .output = -1 };
    if ((g.kind == LZ_SCRIPT_VALUE_LIST || g.kind == LZ_SCRIPT_VALUE_TUPLE) && depth > 0) {
        for (size_t i = 0; i < g.list->len; i++)
            LZ_TRY(add_result(m, v, g.list->data[i], depth - 1));
        return NULL;
    }
    if (lz_script_value_is_described(g))
        return described_result(m, lz_described_of(g));
    if (!lz_is_script_tensor(g))
        return incomplete(m, v, "expected only tensors as results");
    r.whole = true; /* a parameter or constant that no operator uses */
    r.slot = (int64_t)m->l.inputs.len;
    LZ_TRY(lz_vec_push(&m->l.inputs, source_of(v)));
    return lz_vec_push(&m->l.results, r);
}

static lz_err *run_tail(maker *m)
{
    for (const lz_script_instr *i = m->tail; i < m->end; i++)
        LZ_TRY(lz_script_program_error(m->p, i->node, lz_script_instr_run(i, m->slots)));
    for (uint32_t i = 0; i < m->p->main->nrets; i++)
        LZ_TRY(add_result(m, lz_ssa_in(m->g->block->ret, i), m->slots[m->p->main->rets[i]],
                          LZ_SCRIPT_VALUE_DEPTH));
    return NULL;
}

static lz_err *finish(maker *m, lz_lower *dag)
{
    m->l.graph = m->g;
    m->l.dag = dag;
    LZ_TRY(run_tail(m));
    return lz_lowered_write(&m->l, &m->made);
}

/* Writes an output back to the storage of a tensor. If the new contents are an unchanged input, writes a
 * copy of that input. */
static lz_err *add_write(maker *m, const lz_static_graph_lowering *l, lz_functionalize_write w)
{
    size_t n = m->func->inputs.len;
    int64_t dense[LZ_MAX_DIMS];
    int32_t output = (int32_t)(l->results[w.output] - (uint32_t)n);
    if (l->results[w.output] < n) {
        const lz_static_graph_input *in = &m->func->inputs.data[l->results[w.output]];
        const lz_low_node *node;
        lz_row_major(in->sizes, dense);
        LZ_TRY(lz_low_input(l->dag, l->results[w.output], in->dtype, in->sizes,
                            (lz_ints){ dense, in->sizes.n }, 0, &node));
        LZ_TRY(lz_low_copy(l->dag, node, &node));
        output = (int32_t)m->l.outputs.len;
        LZ_TRY(lz_vec_push(&m->l.outputs, node));
    }
    return lz_vec_push(&m->l.writes, (lz_lowered_write_back){ slot_of_tensor(m, w.tensor), output });
}

static lz_err *take(void *user, const lz_static_graph_lowering *l)
{
    maker *m = user;
    const lz_segment *s = m->call->seg;
    m->lowering = l;
    LZ_TRY(find_sources(m));
    for (size_t i = 0; i < l->n; i++)
        LZ_TRY(lz_vec_push(&m->l.outputs, l->outputs[i]));
    for (size_t i = 0; i < m->func->writes.len; i++)
        LZ_TRY(add_write(m, l, m->func->writes.data[i]));
    for (size_t i = 0; i < l->n_nodes; i++)
        LZ_TRY(lz_vec_push(&m->l.origins, l->nodes[i]->loc));
    for (size_t i = 0; i < m->func->results.len; i++)
        for (uint32_t k = 0; k < s->n_outputs; k++)
            if (s->outputs[k].local == m->func->results.data[i].local)
                lz_script_value_set(&m->slots[s->outputs[k].slot],
                                    lz_script_value_retain(m->func->results.data[i].value));
    return finish(m, l->dag);
}

/* ---- the segment ---- */

static lz_err *lower_functional(maker *m, lz_segment_call *c, lz_functional *made)
{
    lz_functionalize_input what = lz_segment_what(c);
    lz_err *e = lz_functionalize(&what, made);
    if (e)
        c->at = made->at;
    LZ_TRY(e);
    if (made->end < c->seg->n) {
        c->at = &c->seg->insts[made->end];
        return lz_errf(LZ_ERR_UNSUPPORTED, "the sizes of the result depend on elements");
    }
    m->func = made;
    lz_static_graph_options options = { .seed = made->seed };
    return lz_static_graph_lower(made->graph, made->inputs.data, &options, take, m);
}

static lz_err *lower_segment(maker *m, lz_segment *s)
{
    lz_script_env env = { 0 };
    lz_segment_call c = { .program = m->p, .seg = s, .slots = m->slots, .env = &env };
    lz_functional made = { 0 };
    /* cppcheck-suppress autoVariables; NULL again before this returns */
    m->call = &c;
    lz_err *e = check_sources(m, &c);
    if (!e)
        e = lz_segment_begin(&c);
    if (!e)
        e = lz_segment_key(&c);
    if (!e)
        e = lower_functional(m, &c, &made);
    if (e && c.at)
        e = lz_script_program_error(m->p, c.at->node, e);
    lz_segment_end(&c);
    lz_functional_deinit(&made);
    m->call = NULL;
    return e;
}

/* Writes a lowered graph for a graph without operators. */
static lz_err *lower_nothing(maker *m)
{
    lz_arena arena;
    lz_lower dag;
    lz_arena_init(&arena);
    lz_low_init(&dag, &arena);
    lz_err *e = finish(m, &dag);
    m->l.dag = NULL;
    lz_low_deinit(&dag);
    lz_arena_deinit(&arena);
    return e;
}

static lz_err *lower_main(maker *m)
{
    const lz_script_block *b = m->p->main;
    LZ_TRY(fill_slots(m));
    for (uint32_t i = 0; i < b->n; i++) {
        const lz_script_instr *x = &b->insts[i];
        if (x->kind == LZ_SCRIPT_INSTR_IF || x->kind == LZ_SCRIPT_INSTR_LOOP)
            return lz_ssa_error(m->g, x->node, LZ_ERR_UNSUPPORTED,
                                "a graph with prim::If or prim::Loop cannot be lowered as a whole");
        if (x->kind == LZ_SCRIPT_INSTR_SEGMENT && m->tail)
            return lz_ssa_error(
                m->g, x->node, LZ_ERR_UNSUPPORTED,
                "a value is read in the middle of the graph; the part before it cannot be lowered");
        if (x->kind == LZ_SCRIPT_INSTR_SEGMENT)
            m->tail = x + 1;
        m->end = x + 1;
    }
    if (m->tail && m->tail - 1 > b->insts) /* computes the numbers and lists that the segment reads */
        for (const lz_script_instr *x = b->insts; x < m->tail - 1; x++)
            LZ_TRY(lz_script_program_error(m->p, x->node, lz_script_instr_run(x, m->slots)));
    if (m->tail)
        return lower_segment(m, (m->tail - 1)->segment);
    m->tail = b->insts;
    return lower_nothing(m);
}

/* ---- static graphs ---- */

static bool is_complete(const lz_type *type)
{
    const lz_tensor_facts *t = type->tensor;
    bool complete =
        type->kind != LZ_GRAPH_TYPE_TENSOR || (t && t->dtype != LZ_DTYPE_NONE && t->rank >= 0 && !t->strides);
    for (int i = 0; complete && type->kind == LZ_GRAPH_TYPE_TENSOR && i < t->rank; i++)
        complete = t->sizes[i] >= 0;
    return complete;
}

static bool is_static_node(const lz_ssa_node *n)
{
    bool is = lz_ssa_is(n, LZ_PRIM_CONSTANT) || lz_ssa_is(n, LZ_PRIM_LIST)
              || (n->op && n->op->kind == LZ_SCHEMA_FUNCTIONAL);
    for (uint32_t i = 0; is && i < n->nout; i++)
        is = is_complete(n->out[i]->type);
    return is;
}

static bool is_static(const lz_graph *g)
{
    const lz_ssa_node *param = g->block->param, *n = lz_ssa_first(g->block);
    bool any = false;
    for (uint32_t i = 0; i < param->nout; i++) {
        lz_type_kind k = param->out[i]->type->kind;
        bool number = k == LZ_GRAPH_TYPE_INT || k == LZ_GRAPH_TYPE_FLOAT || k == LZ_GRAPH_TYPE_BOOL;
        if (!number && !(k == LZ_GRAPH_TYPE_TENSOR && is_complete(param->out[i]->type)))
            return false;
    }
    for (; n->next; n = n->next) {
        if (!is_static_node(n))
            return false;
        any = any || n->op;
    }
    return any;
}

/* The source of an input slot behind the graph's inputs. */
static lz_err *add_part(maker *m, const lz_static_graph_part *p)
{
    lz_lowered_source s = m->l.inputs.data[p->of];
    if (s.n_moves == LZ_LOWERED_MOVES)
        return lz_errf(LZ_ERR_LIMIT, "a part of an input begins at more than %d numbers", LZ_LOWERED_MOVES);
    s.numbers[s.n_moves] = p->number;
    s.bytes[s.n_moves++] = p->bytes;
    LZ_TRY(lz_vec_push(&m->l.inputs, s));
    return lz_vec_push(&m->l.scalars, (lz_lowered_source){ .param = LZ_NO_PARAM });
}

static lz_err *take_static(void *user, const lz_static_graph_lowering *l)
{
    maker *m = user;
    const lz_ssa_node *param = m->g->block->param;
    for (uint32_t i = 0; i < param->nout; i++) {
        lz_lowered_source none = { .param = LZ_NO_PARAM }, of = source_of(param->out[i]);
        bool tensor = param->out[i]->type->kind == LZ_GRAPH_TYPE_TENSOR;
        LZ_TRY(lz_vec_push(&m->l.inputs, tensor ? of : none));
        LZ_TRY(lz_vec_push(&m->l.scalars, tensor ? none : of));
    }
    for (size_t i = 0; i < l->n_parts; i++)
        LZ_TRY(add_part(m, &l->parts[i]));
    for (size_t i = 0; i < l->n; i++)
        LZ_TRY(lz_vec_push(&m->l.outputs, l->outputs[i]));
    for (size_t i = 0; i < l->n_nodes; i++)
        LZ_TRY(lz_vec_push(&m->l.origins, l->nodes[i]->loc));
    for (uint32_t i = 0; i < m->g->block->ret->nin; i++) {
        bool input = l->results[i] < param->nout;
        lz_lowered_result r = { .output = input ? -1 : (int32_t)(l->results[i] - param->nout),
                                .slot = l->results[i],
                                .whole = true };
        LZ_TRY(lz_vec_push(&m->l.results, r));
    }
    m->l.graph = m->g;
    m->l.dag = l->dag;
    return lz_lowered_write(&m->l, &m->made);
}

static lz_err *lower_static(maker *m)
{
    const lz_ssa_node *param = m->g->block->param;
    lz_static_graph_options options = { 0 };
    lz_static_graph_input *in = lz_mem_zalloc(param->nout + 1, sizeof *in);
    if (!in)
        return lz_err_oom();
    for (uint32_t i = 0; i < param->nout; i++) {
        const lz_type *type = param->out[i]->type;
        in[i].number = type->kind == LZ_GRAPH_TYPE_INT     ? LZ_SCALAR_INT
                       : type->kind == LZ_GRAPH_TYPE_FLOAT ? LZ_SCALAR_FLOAT
                       : type->kind == LZ_GRAPH_TYPE_BOOL  ? LZ_SCALAR_BOOL
                                                           : LZ_SCALAR_NONE;
        if (in[i].number == LZ_SCALAR_NONE) {
            in[i].dtype = type->tensor->dtype;
            in[i].sizes = (lz_ints){ type->tensor->sizes, type->tensor->rank };
        }
    }
    lz_err *e = lz_static_graph_lower(m->g, in, &options, take_static, m);
    lz_mem_free(in);
    return e;
}

static lz_err *lower_script(maker *m)
{
    LZ_TRY(lz_script_program_create(m->g, &m->p));
    m->slots = lz_mem_zalloc(m->p->n_slots + 1, sizeof *m->slots);
    lz_err *e = m->slots ? lower_main(m) : lz_err_oom();
    for (uint32_t i = 0; m->slots && i < m->p->n_slots; i++)
        lz_script_value_release(m->slots[i]);
    lz_mem_free(m->slots);
    lz_script_program_destroy(m->p);
    return e;
}

/* As our backend: if sizes depend on elements, or a number's value is needed, the graph is run as a script.
 */
static lz_err *lower(maker *m)
{
    if (!is_static(m->g))
        return lower_script(m);
    lz_err *e = lower_static(m);
    if (m->l.dag || (lz_err_code(e) != LZ_ERR_UNSUPPORTED && lz_err_code(e) != LZ_ERR_NEEDS_VALUE))
        return e;
    lz_err_free(e);
    return lower_script(m);
}

lz_err *lz_graph_lower(lz_graph *g)
{
    maker m = { .g = g };
    lz_err *e = lower(&m);
    lz_lowered_deinit(&m.l);
    lz_vec_deinit(&m.tensors);
    if (!e)
        lz_graph_swap(g, m.made);
    lz_graph_release(m.made);
    return e;
}
