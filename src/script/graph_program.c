#include "script/graph_program.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "script/segment.h"

enum { LZ_SEGMENT_MOST = 4096 }; /* operators of a segment */

typedef struct compiler {
    lz_gprogram *p;
    LZ_VEC(lz_pconstant) constants;
    LZ_VEC(lz_segment *) segments;
    LZ_VEC(lz_ir_block *) blocks; /* in the order of their owners; the graph's own first */
    LZ_VEC(lz_pblock *) made;
} compiler;

/* ---- kinds ---- */

static lz_ikind kind_of(const lz_ir_node *n)
{
    static const lz_ikind prims[LZ_PRIM_COUNT] = {
        [LZ_PRIM_NONE] = LZ_INST_UNKNOWN,
        [LZ_PRIM_IF] = LZ_INST_IF,
        [LZ_PRIM_LOOP] = LZ_INST_LOOP,
        [LZ_PRIM_LIST] = LZ_INST_LIST,
        [LZ_PRIM_LIST_UNPACK] = LZ_INST_LIST_UNPACK,
        [LZ_PRIM_TUPLE] = LZ_INST_TUPLE,
        [LZ_PRIM_TUPLE_UNPACK] = LZ_INST_TUPLE_UNPACK,
        [LZ_PRIM_TUPLE_INDEX] = LZ_INST_TUPLE_INDEX,
        [LZ_PRIM_TUPLE_SLICE] = LZ_INST_TUPLE_SLICE,
        [LZ_PRIM_DICT] = LZ_INST_DICT,
        [LZ_PRIM_UNINITIALIZED] = LZ_INST_UNINITIALIZED,
        [LZ_PRIM_CAST] = LZ_INST_SAME,
    };
    if (n->op)
        return LZ_INST_OP;
    return n->builtin ? LZ_INST_BUILTIN : prims[n->sym->prim];
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static bool holds_tensor(const lz_type *t)
{
    bool any = t->kind == LZ_TY_TENSOR;
    for (size_t i = 0; !any && i < t->n; i++)
        any = holds_tensor(t->elem[i]);
    return any;
}

/* A value that a plan's key can name: numbers, strings, tensors, lists and tuples of them. */
/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static bool is_plain(const lz_type *t)
{
    bool plain = t->kind <= LZ_TY_DEVICE || t->kind == LZ_TY_LIST || t->kind == LZ_TY_OPTIONAL
                 || t->kind == LZ_TY_TUPLE;
    for (size_t i = 0; plain && i < t->n; i++)
        plain = is_plain(t->elem[i]);
    return plain;
}

static bool is_list(const lz_type *t)
{
    while (t->kind == LZ_TY_OPTIONAL)
        t = t->elem[0];
    return t->kind == LZ_TY_LIST || t->kind == LZ_TY_DICT;
}

/* A built-in that can be asked while a segment is lowered: it only looks at numbers and
 * at sizes, and what it gives is no part of what it took. */
static bool folds_builtin(const lz_ir_node *n)
{
    const unsigned bad = LZ_BF_WRITES | LZ_BF_EFFECT | LZ_BF_READS_DATA | LZ_BF_RAISES;
    if (n->builtin->flags & bad)
        return false;
    for (uint32_t i = 0; i < n->nout; i++)
        if (holds_tensor(n->out[i]->type) || (is_list(n->out[i]->type) && !(n->builtin->flags & LZ_BF_FRESH)))
            return false;
    return true;
}

static bool folds(const lz_ir_node *n)
{
    switch (kind_of(n)) {
    case LZ_INST_OP:
        break;
    case LZ_INST_BUILTIN:
        if (!folds_builtin(n))
            return false;
        break;
    case LZ_INST_LIST:
    case LZ_INST_LIST_UNPACK:
    case LZ_INST_TUPLE:
    case LZ_INST_TUPLE_UNPACK:
    case LZ_INST_TUPLE_INDEX:
        break;
    default:
        return false;
    }
    for (uint32_t i = 0; i < n->nin; i++)
        if (!is_plain(lz_ir_in(n, i)->type))
            return false;
    return true;
}

/* Its results are numbers: they are known when the segment has run. */
static bool ends_segment(const lz_ir_node *n)
{
    for (uint32_t i = 0; n->op && i < n->nout; i++)
        if (!holds_tensor(n->out[i]->type))
            return true;
    return false;
}

/* ---- slots and places ---- */

static void number_values(lz_ir_node *n, uint32_t *next)
{
    for (uint32_t i = 0; i < n->nout; i++)
        n->out[i]->mark = (*next)++;
}

/* Values get slots, nodes their place in the block. */
static lz_err *number(compiler *c, lz_graph *g)
{
    uint32_t next = 0;
    LZ_TRY(lz_vec_push(&c->blocks, g->block));
    for (size_t b = 0; b < c->blocks.len; b++) {
        lz_ir_block *block = c->blocks.data[b];
        uint32_t place = 0;
        number_values(block->param, &next);
        for (lz_ir_node *n = lz_ir_first(block); n != block->ret; n = n->next) {
            number_values(n, &next);
            n->mark = place++;
            for (uint32_t k = 0; k < n->nblocks; k++)
                LZ_TRY(lz_vec_push(&c->blocks, n->blocks[k]));
        }
        block->ret->mark = place;
        block->param->mark = (uint32_t)b;
    }
    c->p->n_slots = next;
    return NULL;
}

/* The place in v's block after which nobody uses v; `end` if a result of the block is v. */
static uint32_t last_use(const lz_ir_value *v, const lz_ir_block *block)
{
    uint32_t last = v->node == block->param ? 0 : v->node->mark;
    for (const lz_ir_use *u = v->uses; u; u = u->next) {
        const lz_ir_node *n = u->user;
        while (n->block != block)
            n = n->block->owner;
        last = n->mark > last ? n->mark : last;
    }
    return last;
}

/* ---- instructions ---- */

static lz_err *input_slots(compiler *c, const lz_ir_node *n, const uint32_t **out)
{
    uint32_t *slots;
    LZ_TRY(lz_arena_new(&c->p->arena, &slots, n->nin + 1));
    for (uint32_t i = 0; i < n->nin; i++)
        slots[i] = lz_ir_in(n, i)->mark;
    *out = slots;
    return NULL;
}

static lz_err *output_slots(compiler *c, const lz_ir_node *n, const uint32_t **out)
{
    uint32_t *slots;
    LZ_TRY(lz_arena_new(&c->p->arena, &slots, n->nout + 1));
    for (uint32_t i = 0; i < n->nout; i++)
        slots[i] = n->out[i]->mark;
    *out = slots;
    return NULL;
}

static lz_err *compile_node(compiler *c, const lz_ir_node *n, lz_inst *out)
{
    *out = (lz_inst){ .kind = kind_of(n), .nin = n->nin, .nout = n->nout, .node = n };
    LZ_TRY(input_slots(c, n, &out->in));
    LZ_TRY(output_slots(c, n, &out->out));
    for (uint32_t k = 0; k < n->nblocks && k < 2; k++)
        out->blocks[k] = c->made.data[n->blocks[k]->param->mark];
    return NULL;
}

/* ---- segments ---- */

typedef struct span {
    lz_ir_node *first, *last;
    lz_ir_node *end; /* where looking for more ended */
    uint32_t nodes, ops;
    bool closed;
} span;

static bool is_constant(const lz_ir_node *n)
{
    return lz_ir_is(n, LZ_PRIM_CONSTANT);
}

/* The longest segment that begins at n; nodes behind its last operator are left out. */
static span find_span(lz_ir_node *n, const lz_ir_block *block)
{
    span s = { .first = n };
    uint32_t nodes = 0;
    for (; n != block->ret && s.ops < LZ_SEGMENT_MOST && !s.closed; n = n->next) {
        if (is_constant(n))
            continue;
        if (!folds(n))
            break;
        nodes++;
        if (n->op) {
            s.ops++;
            s.last = n;
            s.nodes = nodes;
            s.closed = ends_segment(n);
        }
    }
    s.end = n;
    return s;
}

static bool is_inside(const lz_ir_node *n, const lz_ir_block *block, const span *s)
{
    return n->block == block && n->mark >= s->first->mark && n->mark <= s->last->mark && !is_constant(n);
}

/* A number that an operator takes as a Scalar, a float or a Tensor. */
static bool is_scalar_use(const lz_ir_node *n, uint32_t i)
{
    if (!n->op || i >= n->op->nargs)
        return false;
    lz_kind k = (lz_kind)n->op->args[i].type->kind;
    return k == LZ_KIND_SCALAR || k == LZ_KIND_FLOAT || k == LZ_KIND_TENSOR;
}

static bool is_number(const lz_type *t)
{
    return t->kind == LZ_TY_INT || t->kind == LZ_TY_FLOAT || t->kind == LZ_TY_BOOL || t->kind == LZ_TY_SCALAR;
}

enum { NO_INPUT = UINT32_MAX };

typedef struct local {
    compiler *c;
    const lz_ir_block *block;
    const span *span;
    lz_segment *seg;
    lz_map numbers;            /* value pointer -> 1 + local slot */
    LZ_VEC(uint32_t) input_of; /* local slot -> input, or NO_INPUT */
    LZ_VEC(lz_seg_input) inputs;
    LZ_VEC(lz_pconstant) constants;
} local;

static lz_str key_of(lz_ir_value *const *v)
{
    return (lz_str){ (const char *)v, sizeof *v };
}

static lz_err *add_local(local *l, lz_ir_value *v, uint32_t *out)
{
    lz_ir_value **key;
    *out = l->seg->n_local++;
    LZ_TRY(lz_vec_push(&l->input_of, NO_INPUT));
    LZ_TRY(lz_arena_new(&l->c->p->arena, &key, 1));
    *key = v;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number, never followed */
    return lz_map_put(&l->numbers, key_of(key), (void *)(uintptr_t)(*out + 1));
}

static uint32_t find_local(const local *l, lz_ir_value *v)
{
    uintptr_t at = (uintptr_t)lz_map_get(&l->numbers, key_of(&v));
    return at ? (uint32_t)at - 1 : UINT32_MAX;
}

static lz_err *add_input(local *l, lz_ir_value *v, uint32_t *out)
{
    lz_gv constant;
    LZ_TRY(add_local(l, v, out));
    if (lz_ir_const(v, &constant) && constant.kind != LZ_GV_ARRAY)
        return lz_vec_push(&l->constants, (lz_pconstant){ *out, constant });
    l->input_of.data[*out] = (uint32_t)l->inputs.len;
    return lz_vec_push(&l->inputs, (lz_seg_input){ v->mark, *out, is_number(v->type) });
}

/* The local slot of input i of a node of the segment. A number stays one that is told at
 * run time as long as all its uses in the segment are as a Scalar. */
static lz_err *take_input(local *l, const lz_ir_node *n, uint32_t i, uint32_t *out)
{
    lz_ir_value *v = lz_ir_in(n, i);
    *out = find_local(l, v);
    if (*out == UINT32_MAX)
        LZ_TRY(add_input(l, v, out));
    uint32_t input = l->input_of.data[*out];
    if (input != NO_INPUT && !is_scalar_use(n, i))
        l->inputs.data[input].run_time = false;
    return NULL;
}

static lz_err *segment_inst(local *l, const lz_ir_node *n, lz_inst *out)
{
    uint32_t *in, *to;
    *out = (lz_inst){ .kind = kind_of(n), .nin = n->nin, .nout = n->nout, .node = n };
    LZ_TRY(lz_arena_new(&l->c->p->arena, &in, n->nin + 1));
    LZ_TRY(lz_arena_new(&l->c->p->arena, &to, n->nout + 1));
    for (uint32_t i = 0; i < n->nin; i++)
        LZ_TRY(take_input(l, n, i, &in[i]));
    for (uint32_t i = 0; i < n->nout; i++)
        LZ_TRY(add_local(l, n->out[i], &to[i]));
    out->in = in;
    out->out = to;
    l->seg->writes = l->seg->writes || (n->op && n->op->flags & LZ_OPF_MUTABLE);
    return NULL;
}

static bool is_used_outside(const local *l, const lz_ir_value *v)
{
    for (const lz_ir_use *u = v->uses; u; u = u->next)
        if (!is_inside(u->user, l->block, l->span))
            return true;
    return false;
}

static lz_err *find_outputs(local *l)
{
    LZ_VEC(lz_seg_output) outputs = { 0 };
    lz_err *e = NULL;
    for (const lz_ir_node *n = l->span->first; !e && n != l->span->last->next; n = n->next)
        for (uint32_t i = 0; !e && !is_constant(n) && i < n->nout; i++)
            if (is_used_outside(l, n->out[i]))
                e = lz_vec_push(&outputs, (lz_seg_output){ n->out[i]->mark, find_local(l, n->out[i]) });
    if (!e)
        e = lz_arena_new(&l->c->p->arena, &l->seg->outputs, outputs.len + 1);
    for (size_t i = 0; !e && i < outputs.len; i++)
        l->seg->outputs[i] = outputs.data[i];
    l->seg->n_outputs = (uint32_t)outputs.len;
    lz_vec_deinit(&outputs);
    return e;
}

static lz_err *fill_segment(local *l)
{
    lz_segment *s = l->seg;
    LZ_TRY(lz_arena_new(&l->c->p->arena, &s->insts, l->span->nodes));
    for (const lz_ir_node *n = l->span->first; n != l->span->last->next; n = n->next)
        if (!is_constant(n))
            LZ_TRY(segment_inst(l, n, &s->insts[s->n++]));
    LZ_TRY(find_outputs(l));
    LZ_TRY(lz_arena_new(&l->c->p->arena, &s->inputs, l->inputs.len + 1));
    LZ_TRY(lz_arena_new(&l->c->p->arena, &s->constants, l->constants.len + 1));
    for (size_t i = 0; i < l->inputs.len; i++)
        s->inputs[i] = l->inputs.data[i];
    for (size_t i = 0; i < l->constants.len; i++)
        s->constants[i] = l->constants.data[i];
    s->n_inputs = (uint32_t)l->inputs.len;
    s->n_constants = (uint32_t)l->constants.len;
    return NULL;
}

static lz_err *compile_segment(compiler *c, const lz_ir_block *block, const span *s, lz_segment **out)
{
    local l = { .c = c, .block = block, .span = s };
    LZ_TRY(lz_arena_new(&c->p->arena, &l.seg, 1));
    lz_lock_init(&l.seg->lock);
    lz_err *e = lz_vec_push(&c->segments, l.seg);
    if (e)
        lz_lock_deinit(&l.seg->lock);
    if (!e)
        e = fill_segment(&l);
    lz_map_deinit(&l.numbers);
    lz_vec_deinit(&l.input_of);
    lz_vec_deinit(&l.inputs);
    lz_vec_deinit(&l.constants);
    *out = l.seg;
    return e;
}

/* ---- blocks ---- */

static lz_err *add_constants(compiler *c, const lz_ir_block *block)
{
    for (const lz_ir_node *n = lz_ir_first(block); n != block->ret; n = n->next) {
        lz_gv v;
        if (!is_constant(n))
            continue;
        lz_ir_const(n->out[0], &v);
        LZ_TRY(lz_vec_push(&c->constants, (lz_pconstant){ n->out[0]->mark, v }));
    }
    return NULL;
}

/* Which instruction each place of a block belongs to. */
static lz_err *compile_insts(compiler *c, const lz_ir_block *block, lz_pblock *out, uint32_t *inst_of)
{
    uint32_t plain = 0; /* up to this place there are no operators */
    for (lz_ir_node *n = lz_ir_first(block); n != block->ret; n = n->next) {
        inst_of[n->mark] = out->n;
        if (is_constant(n))
            continue;
        lz_inst *inst = &out->insts[out->n++];
        span s = { 0 };
        if (n->mark >= plain && folds(n)) {
            s = find_span(n, block);
            plain = s.ops ? plain : s.end->mark;
        }
        if (!s.ops) {
            LZ_TRY(compile_node(c, n, inst));
            continue;
        }
        *inst = (lz_inst){ .kind = LZ_INST_SEGMENT, .node = n };
        LZ_TRY(compile_segment(c, block, &s, &inst->segment));
        for (; n != s.last; n = n->next)
            inst_of[n->mark] = out->n - 1;
        inst_of[n->mark] = out->n - 1;
    }
    inst_of[block->ret->mark] = out->n;
    return NULL;
}

typedef void value_fn(void *user, const lz_ir_value *v);

/* Values that the block's own nodes make, constants aside. */
static void each_value(const lz_ir_block *block, value_fn *fn, void *user)
{
    for (const lz_ir_node *n = block->param; n != block->ret; n = n->next)
        for (uint32_t i = 0; !is_constant(n) && i < n->nout; i++)
            fn(user, n->out[i]);
}

typedef struct lives {
    const lz_ir_block *block;
    lz_pblock *made;
    const uint32_t *inst_of;
    uint32_t **dead; /* of each instruction, as it is filled */
} lives;

static void count_dead(void *user, const lz_ir_value *v)
{
    lives *l = user;
    uint32_t inst = l->inst_of[last_use(v, l->block)];
    if (inst < l->made->n)
        l->made->insts[inst].ndead++;
}

static void list_dead(void *user, const lz_ir_value *v)
{
    lives *l = user;
    uint32_t inst = l->inst_of[last_use(v, l->block)];
    if (inst < l->made->n)
        *l->dead[inst]++ = v->mark;
}

static lz_err *find_dead(compiler *c, const lz_ir_block *block, lz_pblock *made, const uint32_t *inst_of)
{
    lives l = { .block = block, .made = made, .inst_of = inst_of };
    each_value(block, count_dead, &l);
    LZ_TRY(lz_arena_new(&c->p->arena, &l.dead, made->n + 1));
    for (uint32_t i = 0; i < made->n; i++) {
        LZ_TRY(lz_arena_new(&c->p->arena, &l.dead[i], made->insts[i].ndead + 1));
        made->insts[i].dead = l.dead[i];
    }
    each_value(block, list_dead, &l);
    return NULL;
}

static lz_err *compile_block(compiler *c, const lz_ir_block *block, lz_pblock *out)
{
    uint32_t *inst_of;
    bool *own;
    LZ_TRY(lz_arena_new(&c->p->arena, &out->insts, block->ret->mark + 1));
    LZ_TRY(lz_arena_new(&c->p->arena, &inst_of, block->ret->mark + 1));
    LZ_TRY(lz_arena_new(&c->p->arena, &own, block->ret->nin + 1));
    LZ_TRY(output_slots(c, block->param, &out->params));
    LZ_TRY(input_slots(c, block->ret, &out->rets));
    out->nparams = block->param->nout;
    out->nrets = block->ret->nin;
    for (uint32_t i = 0; i < out->nrets; i++) {
        const lz_ir_node *maker = lz_ir_in(block->ret, i)->node;
        own[i] = maker->block == block && !is_constant(maker);
    }
    out->own_ret = own;
    LZ_TRY(add_constants(c, block));
    LZ_TRY(compile_insts(c, block, out, inst_of));
    return find_dead(c, block, out, inst_of);
}

/* ---- programs ---- */

static lz_err *compile(compiler *c, lz_graph *g)
{
    LZ_TRY(number(c, g));
    for (size_t i = 0; i < c->blocks.len; i++) {
        lz_pblock *b;
        LZ_TRY(lz_arena_new(&c->p->arena, &b, 1));
        LZ_TRY(lz_vec_push(&c->made, b));
    }
    for (size_t i = 0; i < c->blocks.len; i++)
        LZ_TRY(compile_block(c, c->blocks.data[i], c->made.data[i]));
    c->p->main = c->made.data[0];
    return NULL;
}

static lz_err *keep_lists(compiler *c)
{
    lz_gprogram *p = c->p;
    LZ_TRY(lz_arena_new(&p->arena, &p->constants, c->constants.len + 1));
    for (size_t i = 0; i < c->constants.len; i++) {
        p->constants[i] = c->constants.data[i];
        lz_gv_retain(p->constants[i].value);
    }
    p->n_constants = c->constants.len;
    return NULL;
}

/* Segments have locks: they are given up with the program, whatever went wrong. */
static lz_err *keep_segments(compiler *c)
{
    lz_gprogram *p = c->p;
    lz_err *e = lz_arena_new(&p->arena, &p->segments, c->segments.len + 1);
    for (size_t i = 0; i < c->segments.len; i++)
        if (e)
            lz_segment_deinit(c->segments.data[i]);
        else
            p->segments[p->n_segments++] = c->segments.data[i];
    return e;
}

lz_err *lz_gprogram_create(lz_graph *g, lz_gprogram **out)
{
    lz_gprogram *p = lz_mem_zalloc(1, sizeof *p);
    if (!p)
        return lz_err_oom();
    compiler c = { .p = p };
    lz_arena_init(&p->arena);
    p->graph = lz_graph_retain(g);
    lz_err *e = compile(&c, g);
    e = lz_err_first(e, keep_segments(&c));
    if (!e)
        e = keep_lists(&c);
    lz_vec_deinit(&c.constants);
    lz_vec_deinit(&c.segments);
    lz_vec_deinit(&c.blocks);
    lz_vec_deinit(&c.made);
    if (e)
        lz_gprogram_destroy(p);
    else
        *out = p;
    return e;
}

void lz_gprogram_destroy(lz_gprogram *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_segments; i++)
        lz_segment_deinit(p->segments[i]);
    for (size_t i = 0; i < p->n_constants; i++)
        lz_gv_release(p->constants[i].value);
    lz_graph_release(p->graph);
    lz_arena_deinit(&p->arena);
    lz_mem_free(p);
}

lz_err *lz_gprogram_error(const lz_gprogram *p, const lz_ir_node *n, lz_err *e)
{
    if (!e || lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_err *named = lz_ir_error(p->graph, n, lz_err_code(e), "%s", lz_err_text(e));
    lz_err_free(e);
    return named;
}
