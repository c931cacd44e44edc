#include "script/graph_program.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "lower/layout.h"
#include "op/op_table.h"
#include "script/segment.h"

enum { LZ_SEGMENT_MOST = 4096 }; /* most operators of a segment */

typedef struct compiler {
    lz_script_program *p;
    LZ_VEC(lz_script_constant) constants;
    LZ_VEC(lz_segment *) segments;
    LZ_VEC(lz_ssa_block *) blocks; /* owners before the blocks in them, the graph's own block first */
    LZ_VEC(lz_script_block *) made;
} compiler;

/* ---- kinds ---- */

static lz_script_instr_kind kind_of(const lz_ssa_node *n)
{
    static const lz_script_instr_kind prims[LZ_PRIM_COUNT] = {
        [LZ_PRIM_NONE] = LZ_SCRIPT_INSTR_UNKNOWN,
        [LZ_PRIM_IF] = LZ_SCRIPT_INSTR_IF,
        [LZ_PRIM_LOOP] = LZ_SCRIPT_INSTR_LOOP,
        [LZ_PRIM_LIST] = LZ_SCRIPT_INSTR_LIST,
        [LZ_PRIM_LIST_UNPACK] = LZ_SCRIPT_INSTR_LIST_UNPACK,
        [LZ_PRIM_TUPLE] = LZ_SCRIPT_INSTR_TUPLE,
        [LZ_PRIM_TUPLE_UNPACK] = LZ_SCRIPT_INSTR_TUPLE_UNPACK,
        [LZ_PRIM_TUPLE_INDEX] = LZ_SCRIPT_INSTR_TUPLE_INDEX,
        [LZ_PRIM_TUPLE_SLICE] = LZ_SCRIPT_INSTR_TUPLE_SLICE,
        [LZ_PRIM_DICT] = LZ_SCRIPT_INSTR_DICT,
        [LZ_PRIM_UNINITIALIZED] = LZ_SCRIPT_INSTR_UNINITIALIZED,
        [LZ_PRIM_CAST] = LZ_SCRIPT_INSTR_SAME,
    };
    if (n->op)
        return LZ_SCRIPT_INSTR_OP;
    return n->builtin ? LZ_SCRIPT_INSTR_BUILTIN : prims[n->sym->prim];
}

/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_TYPE_DEPTH deep */
static bool holds_tensor(const lz_type *t)
{
    bool any = t->kind == LZ_GRAPH_TYPE_TENSOR;
    for (size_t i = 0; !any && i < t->n; i++)
        any = holds_tensor(t->elem[i]);
    return any;
}

/* Whether a key of segments (segment_key.c) can contain the value: numbers, strings, tensors, lists and
 * tuples of these. */
/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_TYPE_DEPTH deep */
static bool is_plain(const lz_type *t)
{
    bool plain = t->kind <= LZ_GRAPH_TYPE_DEVICE || t->kind == LZ_GRAPH_TYPE_LIST
                 || t->kind == LZ_GRAPH_TYPE_OPTIONAL || t->kind == LZ_GRAPH_TYPE_TUPLE;
    for (size_t i = 0; plain && i < t->n; i++)
        plain = is_plain(t->elem[i]);
    return plain;
}

static bool is_list(const lz_type *t)
{
    while (t->kind == LZ_GRAPH_TYPE_OPTIONAL)
        t = t->elem[0];
    return t->kind == LZ_GRAPH_TYPE_LIST || t->kind == LZ_GRAPH_TYPE_DICT;
}

/* Whether a built-in can run while a segment is functionalized: it reads only numbers and sizes, and its
 * result shares nothing with its arguments. */
static bool folds_builtin(const lz_ssa_node *n)
{
    const unsigned bad = LZ_BUILTIN_WRITES | LZ_BUILTIN_EFFECT | LZ_BUILTIN_READS_DATA | LZ_BUILTIN_RAISES;
    if (n->builtin->flags & bad)
        return false;
    for (uint32_t i = 0; i < n->nout; i++)
        if (holds_tensor(n->out[i]->type)
            || (is_list(n->out[i]->type) && !(n->builtin->flags & LZ_BUILTIN_FRESH)))
            return false;
    return true;
}

static bool folds(const lz_ssa_node *n)
{
    switch (kind_of(n)) {
    case LZ_SCRIPT_INSTR_OP:
        break;
    case LZ_SCRIPT_INSTR_BUILTIN:
        if (!folds_builtin(n))
            return false;
        break;
    case LZ_SCRIPT_INSTR_LIST:
    case LZ_SCRIPT_INSTR_LIST_UNPACK:
    case LZ_SCRIPT_INSTR_TUPLE:
    case LZ_SCRIPT_INSTR_TUPLE_UNPACK:
    case LZ_SCRIPT_INSTR_TUPLE_INDEX:
        break;
    default:
        return false;
    }
    for (uint32_t i = 0; i < n->nin; i++)
        if (!is_plain(lz_ssa_in(n, i)->type))
            return false;
    return true;
}

/* Whether a result of the operator is a number: it is known only after the segment has run. */
static bool ends_segment(const lz_ssa_node *n)
{
    for (uint32_t i = 0; n->op && i < n->nout; i++)
        if (!holds_tensor(n->out[i]->type))
            return true;
    return false;
}

/* ---- slots and places ---- */

static void number_values(lz_ssa_node *n, uint32_t *next)
{
    for (uint32_t i = 0; i < n->nout; i++)
        n->out[i]->mark = (*next)++;
}

/* Gives each value a slot, and each node its place in the block. */
static lz_err *number(compiler *c, lz_graph *g)
{
    uint32_t next = 0;
    LZ_TRY(lz_vec_push(&c->blocks, g->block));
    for (size_t b = 0; b < c->blocks.len; b++) {
        lz_ssa_block *block = c->blocks.data[b];
        uint32_t place = 0;
        number_values(block->param, &next);
        for (lz_ssa_node *n = lz_ssa_first(block); n != block->ret; n = n->next) {
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

/* The place in v's block of the last node that uses v. If the block returns v, the place of the return
 * node. */
static uint32_t last_use(const lz_ssa_value *v, const lz_ssa_block *block)
{
    uint32_t last = v->node == block->param ? 0 : v->node->mark;
    for (const lz_ssa_use *u = v->uses; u; u = u->next) {
        const lz_ssa_node *n = u->user;
        while (n->block != block)
            n = n->block->owner;
        last = n->mark > last ? n->mark : last;
    }
    return last;
}

/* ---- instructions ---- */

static lz_err *input_slots(compiler *c, const lz_ssa_node *n, const uint32_t **out)
{
    uint32_t *slots;
    LZ_TRY(lz_arena_new(&c->p->arena, &slots, n->nin + 1));
    for (uint32_t i = 0; i < n->nin; i++)
        slots[i] = lz_ssa_in(n, i)->mark;
    *out = slots;
    return NULL;
}

static lz_err *output_slots(compiler *c, const lz_ssa_node *n, const uint32_t **out)
{
    uint32_t *slots;
    LZ_TRY(lz_arena_new(&c->p->arena, &slots, n->nout + 1));
    for (uint32_t i = 0; i < n->nout; i++)
        slots[i] = n->out[i]->mark;
    *out = slots;
    return NULL;
}

static lz_err *compile_node(compiler *c, const lz_ssa_node *n, lz_script_instr *out)
{
    *out = (lz_script_instr){ .kind = kind_of(n), .nin = n->nin, .nout = n->nout, .node = n };
    LZ_TRY(input_slots(c, n, &out->in));
    LZ_TRY(output_slots(c, n, &out->out));
    for (uint32_t k = 0; k < n->nblocks && k < 2; k++)
        out->blocks[k] = c->made.data[n->blocks[k]->param->mark];
    return NULL;
}

/* ---- segments ---- */

typedef struct span {
    lz_ssa_node *first, *last;
    lz_ssa_node *end; /* the node at which the search stopped */
    uint32_t nodes, ops;
    bool closed;
} span;

static bool is_constant(const lz_ssa_node *n)
{
    return lz_ssa_is(n, LZ_PRIM_CONSTANT);
}

/* The longest segment that begins at n. It ends with an operator: later nodes are left out. */
static span find_span(lz_ssa_node *n, const lz_ssa_block *block)
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

static bool is_inside(const lz_ssa_node *n, const lz_ssa_block *block, const span *s)
{
    return n->block == block && n->mark >= s->first->mark && n->mark <= s->last->mark && !is_constant(n);
}

/* Whether an operator takes input i as a Scalar, a float or a Tensor: then a number there may be passed at
 * run time. */
static bool is_scalar_use(const lz_ssa_node *n, uint32_t i)
{
    if (!n->op || i >= n->op->nargs)
        return false;
    lz_kind k = (lz_kind)n->op->args[i].type->kind;
    return k == LZ_KIND_SCALAR || k == LZ_KIND_FLOAT || k == LZ_KIND_TENSOR;
}

static bool is_number(const lz_type *t)
{
    return t->kind == LZ_GRAPH_TYPE_INT || t->kind == LZ_GRAPH_TYPE_FLOAT || t->kind == LZ_GRAPH_TYPE_BOOL
           || t->kind == LZ_GRAPH_TYPE_SCALAR;
}

enum { NO_INPUT = UINT32_MAX };

typedef struct local {
    compiler *c;
    const lz_ssa_block *block;
    const span *span;
    lz_segment *seg;
    lz_map numbers;            /* value pointer -> 1 + local number */
    LZ_VEC(uint32_t) input_of; /* local -> input, or NO_INPUT */
    LZ_VEC(lz_segment_input) inputs;
    LZ_VEC(lz_script_constant) constants;
} local;

static lz_str key_of(lz_ssa_value *const *v)
{
    return (lz_str){ (const char *)v, sizeof *v };
}

static lz_err *add_local(local *l, lz_ssa_value *v, uint32_t *out)
{
    lz_ssa_value **key;
    *out = l->seg->n_local++;
    LZ_TRY(lz_vec_push(&l->input_of, NO_INPUT));
    LZ_TRY(lz_arena_new(&l->c->p->arena, &key, 1));
    *key = v;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number, never followed */
    return lz_map_put(&l->numbers, key_of(key), (void *)(uintptr_t)(*out + 1));
}

static uint32_t find_local(const local *l, lz_ssa_value *v)
{
    uintptr_t at = (uintptr_t)lz_map_get(&l->numbers, key_of(&v));
    return at ? (uint32_t)at - 1 : UINT32_MAX;
}

static lz_err *add_input(local *l, lz_ssa_value *v, uint32_t *out)
{
    lz_script_value constant;
    LZ_TRY(add_local(l, v, out));
    if (lz_ssa_const(v, &constant) && constant.kind != LZ_SCRIPT_VALUE_ARRAY)
        return lz_vec_push(&l->constants, (lz_script_constant){ *out, constant });
    l->input_of.data[*out] = (uint32_t)l->inputs.len;
    return lz_vec_push(&l->inputs, (lz_segment_input){ v->mark, *out, is_number(v->type) });
}

/* The local of input i of a node of the segment. A number is passed at run time only if all its uses in
 * the segment are as a Scalar. */
static lz_err *take_input(local *l, const lz_ssa_node *n, uint32_t i, uint32_t *out)
{
    lz_ssa_value *v = lz_ssa_in(n, i);
    *out = find_local(l, v);
    if (*out == UINT32_MAX)
        LZ_TRY(add_input(l, v, out));
    uint32_t input = l->input_of.data[*out];
    if (input != NO_INPUT && !is_scalar_use(n, i))
        l->inputs.data[input].run_time = false;
    return NULL;
}

/* Whether the operator writes, or reads elements of a storage that its argument does not show. */
static bool needs_storages(const lz_op_row *op)
{
    return op->flags & LZ_OPF_MUTABLE
           || lz_layout_of(op)->memory & (LZ_MEMORY_STORAGE | LZ_MEMORY_STATISTICS);
}

static lz_err *segment_inst(local *l, const lz_ssa_node *n, lz_script_instr *out)
{
    uint32_t *in, *to;
    *out = (lz_script_instr){ .kind = kind_of(n), .nin = n->nin, .nout = n->nout, .node = n };
    LZ_TRY(lz_arena_new(&l->c->p->arena, &in, n->nin + 1));
    LZ_TRY(lz_arena_new(&l->c->p->arena, &to, n->nout + 1));
    for (uint32_t i = 0; i < n->nin; i++)
        LZ_TRY(take_input(l, n, i, &in[i]));
    for (uint32_t i = 0; i < n->nout; i++)
        LZ_TRY(add_local(l, n->out[i], &to[i]));
    out->in = in;
    out->out = to;
    l->seg->whole = l->seg->whole || (n->op && needs_storages(n->op));
    return NULL;
}

static bool is_used_outside(const local *l, const lz_ssa_value *v)
{
    for (const lz_ssa_use *u = v->uses; u; u = u->next)
        if (!is_inside(u->user, l->block, l->span))
            return true;
    return false;
}

static lz_err *find_outputs(local *l)
{
    LZ_VEC(lz_segment_output) outputs = { 0 };
    lz_err *e = NULL;
    for (const lz_ssa_node *n = l->span->first; !e && n != l->span->last->next; n = n->next)
        for (uint32_t i = 0; !e && !is_constant(n) && i < n->nout; i++)
            if (is_used_outside(l, n->out[i]))
                e = lz_vec_push(&outputs, (lz_segment_output){ n->out[i]->mark, find_local(l, n->out[i]) });
    if (!e)
        e = lz_arena_new(&l->c->p->arena, &l->seg->outputs, outputs.len + 1);
    for (size_t i = 0; !e && i < outputs.len; i++)
        l->seg->outputs[i] = outputs.data[i];
    l->seg->n_outputs = (uint32_t)outputs.len;
    lz_vec_deinit(&outputs);
    return e;
}

/* Finds for each local the instruction that makes it and the last one that reads it. */
static lz_err *find_lives(local *l)
{
    lz_segment *s = l->seg;
    lz_arena *a = &l->c->p->arena;
    LZ_TRY(lz_arena_new(a, &s->first, s->n_local + 1));
    LZ_TRY(lz_arena_new(a, &s->last, s->n_local + 1));
    LZ_TRY(lz_arena_new(a, &s->is_constant, s->n_local + 1));
    for (uint32_t i = 0; i < s->n; i++) {
        for (uint32_t k = 0; k < s->insts[i].nin; k++)
            s->last[s->insts[i].in[k]] = i;
        for (uint32_t k = 0; k < s->insts[i].nout; k++)
            s->first[s->insts[i].out[k]] = i + 1;
    }
    for (uint32_t i = 0; i < s->n_outputs; i++)
        s->last[s->outputs[i].local] = s->n;
    for (uint32_t i = 0; i < s->n_constants; i++)
        s->is_constant[s->constants[i].slot] = true;
    return NULL;
}

static lz_err *fill_segment(local *l)
{
    lz_segment *s = l->seg;
    LZ_TRY(lz_arena_new(&l->c->p->arena, &s->insts, l->span->nodes));
    for (const lz_ssa_node *n = l->span->first; n != l->span->last->next; n = n->next)
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
    return find_lives(l);
}

static lz_err *compile_segment(compiler *c, const lz_ssa_block *block, const span *s, lz_segment **out)
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

static lz_err *add_constants(compiler *c, const lz_ssa_block *block)
{
    for (const lz_ssa_node *n = lz_ssa_first(block); n != block->ret; n = n->next) {
        lz_script_value v;
        if (!is_constant(n))
            continue;
        lz_ssa_const(n->out[0], &v);
        LZ_TRY(lz_vec_push(&c->constants, (lz_script_constant){ n->out[0]->mark, v }));
    }
    return NULL;
}

/* Compiles the block. inst_of: by place, the index of the instruction that the node became part of. */
static lz_err *compile_insts(compiler *c, const lz_ssa_block *block, lz_script_block *out, uint32_t *inst_of)
{
    uint32_t plain = 0; /* nodes before this place start no segment: no operator follows */
    for (lz_ssa_node *n = lz_ssa_first(block); n != block->ret; n = n->next) {
        inst_of[n->mark] = out->n;
        if (is_constant(n))
            continue;
        lz_script_instr *inst = &out->insts[out->n++];
        span s = { 0 };
        if (n->mark >= plain && folds(n)) {
            s = find_span(n, block);
            plain = s.ops ? plain : s.end->mark;
        }
        if (!s.ops) {
            LZ_TRY(compile_node(c, n, inst));
            continue;
        }
        *inst = (lz_script_instr){ .kind = LZ_SCRIPT_INSTR_SEGMENT, .node = n };
        LZ_TRY(compile_segment(c, block, &s, &inst->segment));
        for (; n != s.last; n = n->next)
            inst_of[n->mark] = out->n - 1;
        inst_of[n->mark] = out->n - 1;
    }
    inst_of[block->ret->mark] = out->n;
    return NULL;
}

typedef void value_fn(void *user, const lz_ssa_value *v);

/* Calls fn for each value that the block's own nodes make, except constants. */
static void each_value(const lz_ssa_block *block, value_fn *fn, void *user)
{
    for (const lz_ssa_node *n = block->param; n != block->ret; n = n->next)
        for (uint32_t i = 0; !is_constant(n) && i < n->nout; i++)
            fn(user, n->out[i]);
}

typedef struct lives {
    const lz_ssa_block *block;
    lz_script_block *made;
    const uint32_t *inst_of;
    uint32_t **dead; /* by instruction: where the next dead slot is written */
} lives;

static void count_dead(void *user, const lz_ssa_value *v)
{
    lives *l = user;
    uint32_t inst = l->inst_of[last_use(v, l->block)];
    if (inst < l->made->n)
        l->made->insts[inst].ndead++;
}

static void list_dead(void *user, const lz_ssa_value *v)
{
    lives *l = user;
    uint32_t inst = l->inst_of[last_use(v, l->block)];
    if (inst < l->made->n)
        *l->dead[inst]++ = v->mark;
}

static lz_err *find_dead(compiler *c, const lz_ssa_block *block, lz_script_block *made,
                         const uint32_t *inst_of)
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

static lz_err *compile_block(compiler *c, const lz_ssa_block *block, lz_script_block *out)
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
        const lz_ssa_node *maker = lz_ssa_in(block->ret, i)->node;
        own[i] = maker->block == block && !is_constant(maker);
    }
    out->own_ret = own;
    LZ_TRY(add_constants(c, block));
    LZ_TRY(compile_insts(c, block, out, inst_of));
    return find_dead(c, block, out, inst_of);
}

/* ---- the whole program ---- */

static lz_err *compile(compiler *c, lz_graph *g)
{
    LZ_TRY(number(c, g));
    for (size_t i = 0; i < c->blocks.len; i++) {
        lz_script_block *b;
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
    lz_script_program *p = c->p;
    LZ_TRY(lz_arena_new(&p->arena, &p->constants, c->constants.len + 1));
    for (size_t i = 0; i < c->constants.len; i++) {
        p->constants[i] = c->constants.data[i];
        lz_script_value_retain(p->constants[i].value);
    }
    p->n_constants = c->constants.len;
    return NULL;
}

/* Moves the segments to the program. They have locks, so the program must destroy them, also after an
 * error. */
static lz_err *keep_segments(compiler *c)
{
    lz_script_program *p = c->p;
    lz_err *e = lz_arena_new(&p->arena, &p->segments, c->segments.len + 1);
    for (size_t i = 0; i < c->segments.len; i++)
        if (e)
            lz_segment_deinit(c->segments.data[i]);
        else
            p->segments[p->n_segments++] = c->segments.data[i];
    return e;
}

lz_err *lz_script_program_create(lz_graph *g, lz_script_program **out)
{
    lz_script_program *p = lz_mem_zalloc(1, sizeof *p);
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
        lz_script_program_destroy(p);
    else
        *out = p;
    return e;
}

void lz_script_program_destroy(lz_script_program *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_segments; i++)
        lz_segment_deinit(p->segments[i]);
    for (size_t i = 0; i < p->n_constants; i++)
        lz_script_value_release(p->constants[i].value);
    lz_graph_release(p->graph);
    lz_arena_deinit(&p->arena);
    lz_mem_free(p);
}

lz_err *lz_script_program_error(const lz_script_program *p, const lz_ssa_node *n, lz_err *e)
{
    return lz_ssa_locate(p->graph, n, e);
}
