/* The pass "lower". Requires a straight-line graph of operators, and of what looks at
 * numbers and sizes, whose parameters are tensors of known dtype and sizes or numbers that
 * are only Scalars of operators; keeps what it computes. It lowers as the executor does,
 * for tensors without elements. */
#include "base/mem.h"
#include "core/dtype.h"
#include "core/strides.h"
#include "plan/lowered.h"
#include "script/segment_impl.h"

typedef struct maker {
    lz_graph *g;
    lz_gprogram *p;
    lz_gv *slots;
    lz_lowered l;
    const lz_inst *tail; /* instructions behind the segment */
    const lz_inst *end;
    lz_graph *made;
} maker;

/* ---- parameters ---- */

static lz_err *incomplete(const maker *m, const lz_ir_value *v, const char *what)
{
    lz_text t = { 0 };
    lz_ir_print_name(v, &t);
    lz_text_puts(&t, " : ");
    lz_type_print(v->type, &t);
    lz_err *e = lz_text_check(&t);
    e = e ? e : lz_ir_error(m->g, v->node, LZ_ERR_ARG, "%.*s: %s", LZ_FMT(lz_text_view(&t)), what);
    lz_text_deinit(&t);
    return e;
}

/* A tensor that is only spoken of. */
static lz_err *make_tensor(lz_dtype d, lz_ints sizes, lz_ints strides, lz_gv *out)
{
    lz_buffer *buffer;
    lz_xstorage *storage;
    int64_t last = 1;
    for (int64_t i = 0; i < sizes.n; i++)
        last += sizes.v[i] > 0 ? (sizes.v[i] - 1) * strides.v[i] : 0;
    LZ_TRY(lz_buffer_wrap(NULL, (size_t)last * lz_dtype_size(d), true, NULL, NULL, &buffer));
    LZ_TRY(lz_xstorage_create(buffer, &storage));
    lz_err *e = lz_xtensor_view(storage, d, sizes, strides, 0, out);
    lz_xstorage_release(storage);
    return e;
}

static lz_err *tensor_param(const maker *m, const lz_ir_value *v, lz_gv *out)
{
    const lz_tensor_facts *t = v->type->tensor;
    lz_shape dense;
    if (!t || t->dtype == LZ_DTYPE_NONE)
        return incomplete(m, v, "its dtype is not known, as in Float(2, 3)");
    if (t->rank < 0)
        return incomplete(m, v, "its sizes are not known, as in Float(2, 3)");
    lz_ints sizes = { t->sizes, t->rank }, strides = { t->strides, t->rank };
    for (int i = 0; i < t->rank; i++) {
        if (t->sizes[i] < 0)
            return incomplete(m, v, "one of its sizes is not known");
        if (t->strides && t->strides[i] < 0)
            return incomplete(m, v, "a stride is negative");
    }
    LZ_TRY(lz_shape_check(sizes));
    LZ_TRY(lz_strides_contiguous(sizes, &dense));
    return make_tensor(t->dtype, sizes, t->strides ? strides : lz_shape_ints(&dense), out);
}

static lz_err *make_param(const maker *m, const lz_ir_value *v, lz_gv *out)
{
    lz_type_kind k = v->type->kind;
    if (k == LZ_TY_TENSOR)
        return tensor_param(m, v, out);
    *out = k == LZ_TY_FLOAT  ? lz_gv_float(0)
           : k == LZ_TY_BOOL ? lz_gv_bool(false)
           : k == LZ_TY_INT  ? lz_gv_int(0)
                             : lz_gv_none();
    return NULL;
}

static lz_err *fill_slots(maker *m)
{
    const lz_ir_node *param = m->g->block->param;
    for (uint32_t i = 0; i < param->nout; i++)
        LZ_TRY(make_param(m, param->out[i], &m->slots[m->p->main->params[i]]));
    for (size_t i = 0; i < m->p->n_constants; i++) {
        lz_gv *slot = &m->slots[m->p->constants[i].slot];
        lz_gv_set(slot, lz_gv_retain(m->p->constants[i].value));
        if (slot->kind == LZ_GV_ARRAY)
            LZ_TRY(lz_gv_adopt(slot));
    }
    return NULL;
}

/* ---- what the slots of the segment are ---- */

static const lz_ir_value *value_of_slot(const maker *m, uint32_t slot)
{
    for (const lz_ir_node *n = m->g->block->param; n; n = n->next)
        for (uint32_t i = 0; i < n->nout; i++)
            if (n->out[i]->mark == slot)
                return n->out[i];
    return NULL;
}

static lz_lsource source_of(const lz_ir_value *v)
{
    lz_lsource s = { .param = LZ_NO_PARAM, .type = v->type };
    if (!lz_ir_const(v, &s.value))
        s.param = v->index;
    return s;
}

/* Slots of numbers are by input of the segment; the first two are there for random numbers. */
static lz_err *find_sources(maker *m, lz_seg_call *c)
{
    LZ_TRY(lz_vec_push(&m->l.scalars, (lz_lsource){ .param = LZ_SEED_PARAM }));
    LZ_TRY(lz_vec_push(&m->l.scalars, (lz_lsource){ .param = LZ_STREAM_PARAM }));
    for (uint32_t i = 0; i < c->seg->n_inputs; i++) {
        const lz_seg_input *in = &c->seg->inputs[i];
        const lz_ir_value *v = value_of_slot(m, in->slot);
        lz_gv g = c->slots[in->slot];
        bool plain = v && (v->node == m->g->block->param || lz_ir_is(v->node, LZ_PRIM_CONSTANT));
        if (!plain)
            return lz_ir_error(m->g, v ? v->node : m->g->block->param, LZ_ERR_UNSUPPORTED,
                               "its value is needed first");
        if (v->node == m->g->block->param && !lz_gv_is_tensor(g) && !(in->run_time && !c->statics))
            return incomplete(m, v, "its value is needed: make it a constant");
        LZ_TRY(lz_vec_push(&m->l.scalars, source_of(v)));
        if (!lz_gv_is_tensor(g))
            continue;
        LZ_TRY(lz_vec_push(&c->tensors, lz_xtensor_of(g)));
        LZ_TRY(lz_vec_push(&m->l.inputs, source_of(v)));
    }
    return NULL;
}

/* ---- results ---- */

/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static lz_err *add_result(maker *m, const lz_ir_value *v, lz_gv g, int depth)
{
    lz_lresult r = { .output = -1 };
    if ((g.kind == LZ_GV_LIST || g.kind == LZ_GV_TUPLE) && depth > 0) {
        for (size_t i = 0; i < g.list->len; i++)
            LZ_TRY(add_result(m, v, g.list->data[i], depth - 1));
        return NULL;
    }
    if (lz_gv_is_xtensor(g)) { /* a parameter or constant that no operator has seen */
        lz_lsource s = source_of(v);
        r.whole = true;
        r.slot = (int64_t)m->l.inputs.len;
        LZ_TRY(lz_vec_push(&m->l.inputs, s));
        return lz_vec_push(&m->l.results, r);
    }
    if (!lz_gv_is_stensor(g))
        return incomplete(m, v, "a result is no tensor");
    const lz_stensor *t = lz_stensor_of(g);
    int64_t dense[LZ_MAX_DIMS];
    r.output = t->cell->output;
    r.slot = t->cell->input;
    r.dtype = t->dtype;
    r.sizes = (lz_ints){ t->sizes, t->ndim };
    r.strides = (lz_ints){ t->strides, t->ndim };
    r.offset = t->offset;
    lz_row_major(r.sizes, dense);
    const lz_ln *out = r.output < 0 ? NULL : m->l.outputs.data[r.output];
    r.whole = out ? r.offset == 0 && lz_shape_eq(lz_ln_sizes(out), r.sizes) : t->self >= 0;
    for (int64_t d = 0; out && r.whole && d < t->ndim; d++)
        r.whole = t->sizes[d] == 1 || t->strides[d] == dense[d];
    return lz_vec_push(&m->l.results, r);
}

static lz_err *run_tail(maker *m)
{
    for (const lz_inst *i = m->tail; i < m->end; i++)
        LZ_TRY(lz_gprogram_error(m->p, i->node, lz_inst_run(i, m->slots)));
    for (uint32_t i = 0; i < m->p->main->nrets; i++)
        LZ_TRY(add_result(m, lz_ir_in(m->g->block->ret, i), m->slots[m->p->main->rets[i]], LZ_GV_DEPTH));
    return NULL;
}

/* Seed and stream are parameters only of what draws numbers. */
static void drop_unused(maker *m, const lz_lower *dag)
{
    bool used[2] = { false, false };
    for (uint32_t i = 0; i < dag->n_nodes; i++)
        for (int k = 0; k < dag->nodes[i]->nin; k++) {
            const lz_ln *x = dag->nodes[i]->in[k];
            if (x->kind == LZ_L_SCALAR && ((const lz_lscalar *)x->attr)->slot < LZ_SEG_NUMBERS)
                used[((const lz_lscalar *)x->attr)->slot] = true;
        }
    for (size_t i = 0; i < 2 && i < m->l.scalars.len; i++)
        m->l.scalars.data[i].param = used[i] ? m->l.scalars.data[i].param : LZ_NO_PARAM;
}

static lz_err *finish(maker *m, lz_lower *dag)
{
    m->l.graph = m->g;
    m->l.dag = dag;
    drop_unused(m, dag);
    LZ_TRY(run_tail(m));
    return lz_lowered_write(&m->l, &m->made);
}

static lz_err *take(lz_seg_call *c, lz_seg_entry *e, lz_lower *dag, const lz_ln *const *outputs, size_t n)
{
    maker *m = c->user;
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lz_vec_push(&m->l.outputs, outputs[i]));
    for (uint32_t i = 0; i < e->n_writes; i++)
        LZ_TRY(lz_vec_push(&m->l.writes, (lz_lwrite){ e->writes[i].tensor, (int32_t)e->writes[i].output }));
    for (uint32_t i = 0; i < c->seg->n; i++)
        LZ_TRY(lz_vec_push(&m->l.origins, c->seg->insts[i].node->loc));
    for (uint32_t i = 0; i < c->seg->n_outputs; i++)
        lz_gv_set(&m->slots[c->seg->outputs[i].slot], lz_gv_retain(e->patterns[i]));
    return finish(m, dag);
}

/* ---- the segment ---- */

static lz_err *lower_segment(maker *m, lz_segment *s)
{
    lz_exec_env env = { 0 };
    lz_seg_call c = { .program = m->p, .seg = s, .slots = m->slots, .env = &env, .take = take, .user = m };
    lz_seg_entry e = { 0 };
    lz_arena_init(&e.arena);
    lz_err *err = find_sources(m, &c);
    if (!err)
        err = lz_segment_lower(&c, &e);
    if (err && c.at)
        err = lz_gprogram_error(m->p, c.at->node, err);
    for (uint32_t i = 0; i < m->p->n_slots; i++) /* stensors look at cells of the entry */
        if (lz_gv_is_stensor(m->slots[i]))
            lz_gv_set(&m->slots[i], lz_gv_none());
    for (uint32_t i = 0; i < e.n_patterns; i++)
        lz_gv_release(e.patterns[i]);
    lz_arena_deinit(&e.arena);
    lz_vec_deinit(&c.tensors);
    return err;
}

/* No operators at all. */
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
    const lz_pblock *b = m->p->main;
    LZ_TRY(fill_slots(m));
    for (uint32_t i = 0; i < b->n; i++) {
        const lz_inst *x = &b->insts[i];
        if (x->kind == LZ_INST_IF || x->kind == LZ_INST_LOOP)
            return lz_ir_error(m->g, x->node, LZ_ERR_UNSUPPORTED,
                               "only straight-line graphs can be lowered as a whole");
        if (x->kind == LZ_INST_SEGMENT && m->tail)
            return lz_ir_error(m->g, x->node, LZ_ERR_UNSUPPORTED,
                               "what comes before must have run: a value is read in between");
        if (x->kind == LZ_INST_SEGMENT)
            m->tail = x + 1;
        m->end = x + 1;
    }
    if (m->tail && m->tail - 1 > b->insts) /* numbers and lists that the segment takes */
        for (const lz_inst *x = b->insts; x < m->tail - 1; x++)
            LZ_TRY(lz_gprogram_error(m->p, x->node, lz_inst_run(x, m->slots)));
    if (m->tail)
        return lower_segment(m, (m->tail - 1)->segment);
    m->tail = b->insts;
    return lower_nothing(m);
}

static lz_err *lower(maker *m)
{
    LZ_TRY(lz_gprogram_create(m->g, &m->p));
    m->slots = lz_mem_zalloc(m->p->n_slots + 1, sizeof *m->slots);
    lz_err *e = m->slots ? lower_main(m) : lz_err_oom();
    for (uint32_t i = 0; m->slots && i < m->p->n_slots; i++)
        lz_gv_release(m->slots[i]);
    lz_mem_free(m->slots);
    lz_gprogram_destroy(m->p);
    return e;
}

lz_err *lz_graph_lower(lz_graph *g)
{
    maker m = { .g = g };
    lz_err *e = lower(&m);
    lz_lowered_deinit(&m.l);
    if (!e)
        lz_graph_swap(g, m.made);
    lz_graph_release(m.made);
    return e;
}
