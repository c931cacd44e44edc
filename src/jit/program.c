#include "jit/program.h"
#include "base/mem.h"
#include "jit/fused_instr.h"
#include "jit/reduce.h"
#include <assert.h>
#include <string.h>

enum { SIZES = 4 }; /* 1, 4 and 8 bytes, by size / 3 */

typedef struct maker {
    const lz_kernel_ir *ir;
    lz_program *p;
    uint16_t *reg;         /* register of each node in the current block; 0: none */
    uint16_t *fixed;       /* register of uniform and outer nodes, in all blocks */
    bool *need;            /* element nodes of this walk */
    uint32_t *last;        /* per register: the position of its last read */
    uint32_t *first;       /* per register: the position of its write */
    uint32_t *whole;       /* per register: last position in element code that reads more than one element */
    size_t room;           /* most instructions; also most registers, up to LZ_REGISTERS */
    lz_fused_instr *fused; /* per node */
    lz_arena *work;
    uint16_t walk;
    bool element; /* is element code being generated? */
    bool failed;
} maker;

static const lz_kernel_node *node(const maker *m, uint32_t v)
{
    assert(v < m->ir->nodes.len);
    return &m->ir->nodes.data[v];
}

static lz_err *too_large(void)
{
    return lz_errf(LZ_ERR_LIMIT, "a kernel that needs more than %d tiles or %d bytes", LZ_REGISTERS,
                   LZ_SCRATCH);
}

static uint16_t new_register(maker *m, int type)
{
    lz_program *p = m->p;
    if (p->n_registers >= LZ_REGISTERS) {
        m->failed = true;
        return 0;
    }
    size_t size = lz_kernel_type_size((lz_kernel_type)type);
    p->registers[p->n_registers] = (lz_register){ .size = (uint8_t)size, .type = (uint8_t)type };
    m->first[p->n_registers] = (uint32_t)p->n_code;
    m->last[p->n_registers] = (uint32_t)p->n_code;
    return (uint16_t)p->n_registers++;
}

static bool divides(int op, int type)
{
    bool integer = type == LZ_KERNEL_I32 || type == LZ_KERNEL_I64;
    return integer
           && (op == LZ_KERNEL_IDIV || op == LZ_KERNEL_IDIV_FLOOR || op == LZ_KERNEL_FMOD
               || op == LZ_KERNEL_REMAINDER);
}

/* still: the instruction reads only the register's first element, the only one that outer code computes. */
static uint16_t operand(maker *m, uint32_t v, bool still)
{
    uint16_t r = m->fixed[v] ? m->fixed[v] : m->reg[v];
    assert(m->failed || (r && r < m->p->n_registers)); /* operands come before users */
    uint32_t now = (uint32_t)m->p->n_code;
    m->last[r] = m->last[r] > now ? m->last[r] : now;
    m->whole[r] = m->element && !still ? now : m->whole[r];
    m->p->registers[r].last = (uint16_t)now;
    return r;
}

static const uint8_t kind_of[LZ_KERNEL_NODE_COUNT] = {
    [LZ_KERNEL_NODE_CONST] = LZ_INSTR_CONST,   [LZ_KERNEL_NODE_PARAM] = LZ_INSTR_PARAM,
    [LZ_KERNEL_NODE_LOAD] = LZ_INSTR_LOAD,     [LZ_KERNEL_NODE_LOAD_IF] = LZ_INSTR_LOAD_IF,
    [LZ_KERNEL_NODE_GATHER] = LZ_INSTR_GATHER, [LZ_KERNEL_NODE_GATHER_IF] = LZ_INSTR_GATHER_IF,
    [LZ_KERNEL_NODE_AFFINE] = LZ_INSTR_AFFINE, [LZ_KERNEL_NODE_CHECK] = LZ_INSTR_CHECK,
    [LZ_KERNEL_NODE_REDUCE] = LZ_INSTR_REDUCE, [LZ_KERNEL_NODE_SCAN] = LZ_INSTR_SCAN,
};

static lz_tile_fn *function(const maker *m, const lz_kernel_node *n)
{
    int count = lz_kernel_node_operands(n);
    return lz_tile_of(m->p->tiles, n, count ? node(m, n->in[count - 1])->type : 0);
}

/* Gives a reduction or scan a state in its walk. */
static void add_state(maker *m, lz_instr *i, const lz_kernel_node *n)
{
    lz_program *p = m->p;
    assert(m->walk < p->walks);
    uint16_t k = p->n_states[m->walk]++;
    i->attr = k;
    i->reduce = (uint16_t)n->attr;
    p->states[m->walk][k] = (lz_reduce_state){ .kind = (uint8_t)n->attr,
                                               .type = node(m, n->in[0])->type,
                                               .scan = n->op == LZ_KERNEL_NODE_SCAN,
                                               .out = i->out };
    p->reduces = p->reduces || n->op == LZ_KERNEL_NODE_REDUCE;
    p->scans = p->scans || n->op == LZ_KERNEL_NODE_SCAN;
}

static void emit(maker *m, uint32_t v, uint16_t *place)
{
    const lz_kernel_node *n = node(m, v);
    lz_program *p = m->p;
    lz_instr i = {
        .fn = function(m, n), .kind = kind_of[n->op], .type = n->type, .attr = n->attr, .bits = n->bits
    };
    if (n->op < LZ_KERNEL_OP_COUNT && divides(n->op, n->type))
        i.kind = LZ_INSTR_DIVIDE;
    if (n->op >= LZ_KERNEL_NODE_LOAD && n->op <= LZ_KERNEL_NODE_AFFINE)
        i.access = (int16_t)n->attr;
    const lz_fused_instr *s = &m->fused[v];
    bool is_fused = s->fn || s->form;
    int count = is_fused ? s->n : lz_kernel_node_operands(n);
    i.form = s->form;
    if (s->form == LZ_FORM_DTYPE) {
        i.access = (int16_t)node(m, s->in[0])->attr;
        p->sums_memory = true;
    }
    i.still = m->element && n->op == LZ_KERNEL_NODE_GATHER && node(m, n->in[0])->level == LZ_LEVEL_OUTER;
    for (int k = 0; k < count; k++)
        i.in[k] = operand(m, is_fused ? s->in[k] : n->in[k], i.still);
    i.fn = s->fn ? s->fn : i.fn;
    i.out = place[v] = new_register(m, n->type);
    if (n->op == LZ_KERNEL_NODE_REDUCE || n->op == LZ_KERNEL_NODE_SCAN) {
        i.type = node(m, n->in[0])->type;
        add_state(m, &i, n);
    }
    p->code[p->n_code++] = i;
}

static void emit_store(maker *m, const lz_kernel_store *s)
{
    lz_program *p = m->p;
    const lz_kernel_node *n = node(m, s->value);
    lz_instr i = { .kind = LZ_INSTR_STORE, .type = n->type, .access = (int16_t)s->access };
    i.in[0] = operand(m, s->value, false);
    p->code[p->n_code++] = i;
}

static bool per_element(const maker *m, const lz_kernel_store *s)
{
    return m->ir->access.data[s->access].vary == LZ_KERNEL_ELEMENT;
}

static void make_uniform(maker *m)
{
    m->p->uniform.begin = 0;
    for (uint32_t v = 0; v < m->ir->nodes.len; v++) {
        if (node(m, v)->level == LZ_LEVEL_UNIFORM)
            emit(m, v, m->fixed);
    }
    m->p->uniform.end = (uint16_t)m->p->n_code;
}

static void make_outer(maker *m, int stage)
{
    lz_block *b = &m->p->outer[stage];
    b->begin = (uint16_t)m->p->n_code;
    for (uint32_t v = 0; v < m->ir->nodes.len; v++) {
        const lz_kernel_node *n = node(m, v);
        if (n->level == LZ_LEVEL_OUTER && n->stage == stage && n->op != LZ_KERNEL_NODE_REDUCE
            && !m->fused[v].inside)
            emit(m, v, m->fixed);
    }
    for (size_t i = 0; i < m->ir->stores.len; i++) {
        const lz_kernel_store *s = &m->ir->stores.data[i];
        if (!per_element(m, s) && node(m, s->value)->stage == stage)
            emit_store(m, s);
    }
    b->end = (uint16_t)m->p->n_code;
}

/* Marks the element nodes that the roots of this walk need. Goes backwards: users come after operands. */
static void find_needs(maker *m, int walk)
{
    size_t count = m->ir->nodes.len;
    memset(m->need, 0, count * sizeof *m->need);
    for (size_t i = 0; i < m->ir->stores.len; i++) {
        const lz_kernel_store *s = &m->ir->stores.data[i];
        if (per_element(m, s) && node(m, s->value)->stage == walk)
            m->need[s->value] = true;
    }
    for (size_t v = count; v-- > 0;) {
        const lz_kernel_node *n = node(m, (uint32_t)v);
        bool root = n->op == LZ_KERNEL_NODE_REDUCE && n->stage == walk + 1;
        if (!root && !(m->need[v] && n->level == LZ_LEVEL_ELEMENT))
            continue;
        const lz_fused_instr *s = &m->fused[v];
        int inputs = s->form ? s->n : lz_kernel_node_operands(n);
        for (int k = 0; k < inputs; k++)
            m->need[s->form ? s->in[k] : n->in[k]] = true;
    }
}

static void make_element(maker *m, int walk)
{
    lz_block *b = &m->p->element[walk];
    b->begin = (uint16_t)m->p->n_code;
    m->walk = (uint16_t)walk;
    m->element = true;
    find_needs(m, walk);
    memset(m->reg, 0, m->ir->nodes.len * sizeof *m->reg);
    for (uint32_t v = 0; v < m->ir->nodes.len; v++) {
        const lz_kernel_node *n = node(m, v);
        if (n->level == LZ_LEVEL_ELEMENT && m->need[v] && !m->fused[v].inside)
            emit(m, v, m->reg);
        else if (n->op == LZ_KERNEL_NODE_REDUCE && n->stage == walk + 1)
            emit(m, v, m->fixed);
    }
    for (size_t i = 0; i < m->ir->stores.len; i++) {
        const lz_kernel_store *s = &m->ir->stores.data[i];
        if (per_element(m, s) && node(m, s->value)->stage == walk)
            emit_store(m, s);
    }
    b->end = (uint16_t)m->p->n_code;
    m->element = false;
}

static int count_walks(const lz_kernel_ir *ir)
{
    int walks = 0;
    for (size_t v = 0; v < ir->nodes.len; v++) {
        const lz_kernel_node *n = &ir->nodes.data[v];
        if (n->op == LZ_KERNEL_NODE_REDUCE && n->stage > walks)
            walks = n->stage;
    }
    for (size_t i = 0; i < ir->stores.len; i++) {
        const lz_kernel_store *s = &ir->stores.data[i];
        int after = ir->nodes.data[s->value].stage + 1;
        if (ir->access.data[s->access].vary == LZ_KERNEL_ELEMENT && after > walks)
            walks = after;
    }
    return walks;
}

/* Registers that are used in a later block stay alive until the end of the loop that uses them. */
static void stretch(maker *m)
{
    lz_program *p = m->p;
    for (size_t r = 1; r < p->n_registers; r++) {
        if (m->first[r] < p->uniform.end && m->last[r] >= p->uniform.end)
            m->last[r] = (uint32_t)p->n_code;
    }
    for (int w = 0; w < p->walks; w++) {
        lz_block b = p->element[w];
        for (size_t r = 1; r < p->n_registers; r++) {
            if (m->first[r] < b.begin && m->last[r] >= b.begin && m->last[r] < b.end)
                m->last[r] = b.end;
        }
        for (int k = 0; k < p->n_states[w]; k++) {
            uint16_t out = p->states[w][k].out;
            if (!p->states[w][k].scan) {
                m->first[out] = b.begin;
                m->last[out] = m->last[out] < b.end ? b.end : m->last[out];
            }
        }
    }
}

/* Free places of one size: offsets in the scratch, per element. */
typedef struct places {
    uint32_t *free;
    size_t count;
} places;

/* Lists of registers by the position of their first write, and of their last read. */
typedef struct lifetimes {
    uint16_t *begin, *end, *next_begin, *next_end; /* linked lists; 0 ends one */
} lifetimes;

static lz_err *make_lifetimes(const maker *m, lz_arena *work, lifetimes *c)
{
    const lz_program *p = m->p;
    LZ_TRY(lz_arena_new(work, &c->begin, p->n_code + 1));
    LZ_TRY(lz_arena_new(work, &c->end, p->n_code + 1));
    LZ_TRY(lz_arena_new(work, &c->next_begin, p->n_registers));
    LZ_TRY(lz_arena_new(work, &c->next_end, p->n_registers));
    for (size_t r = p->n_registers - 1; r > 0; r--) {
        uint32_t first = m->first[r], last = m->last[r];
        c->next_begin[r] = c->begin[first];
        c->begin[first] = (uint16_t)r;
        if (last <= first) /* never read */
            continue;
        c->next_end[r] = c->end[last];
        c->end[last] = (uint16_t)r;
    }
    return NULL;
}

static void give_place(lz_program *p, places *by_size, uint16_t r)
{
    assert(r && r < p->n_registers);
    places *s = &by_size[p->registers[r].size / 3];
    if (s->count) {
        p->registers[r].at = s->free[--s->count];
        return;
    }
    p->registers[r].at = p->units;
    assert(p->registers[r].size);
    p->units += p->registers[r].size;
}

static void take_places(const lz_program *p, const lifetimes *c, places *by_size, uint32_t now)
{
    for (uint16_t r = c->end[now]; r; r = c->next_end[r]) {
        places *s = &by_size[p->registers[r].size / 3];
        s->free[s->count++] = p->registers[r].at;
    }
}

/* Assigns places in the order of the code. A tile function may write to its operand, so the place of an
 * operand that dies there is free for the result. Other instructions get a place before their operands
 * release theirs. */
static lz_err *place_registers(maker *m)
{
    lz_program *p = m->p;
    places by_size[SIZES] = { { 0 } };
    lifetimes c = { 0 };
    for (int i = 0; i < SIZES; i++)
        LZ_TRY(lz_arena_new(m->work, &by_size[i].free, p->n_registers));
    LZ_TRY(make_lifetimes(m, m->work, &c));
    for (uint32_t now = 0; now < p->n_code; now++) {
        bool early = p->code[now].kind == LZ_INSTR_FN;
        if (early)
            take_places(p, &c, by_size, now);
        for (uint16_t r = c.begin[now]; r; r = c.next_begin[r])
            give_place(p, by_size, r);
        if (!early)
            take_places(p, &c, by_size, now);
    }
    return NULL;
}

static bool is_index(int kind)
{
    return kind == LZ_KERNEL_RARGMAX || kind == LZ_KERNEL_RARGMIN;
}

/* Rows: lanes, sums, total; columns: lanes, sums and total for each element of a tile. A scan has one value.
 * Indices follow all values. */
static void place_states(lz_program *p)
{
    for (int w = 0; w < p->walks; w++) {
        uint32_t rows = 0, columns = 0;
        for (int k = 0; k < p->n_states[w]; k++) {
            lz_reduce_state *s = &p->states[w][k];
            uint32_t index = is_index(s->kind) ? 8 : 0,
                     size = (uint32_t)lz_kernel_type_size((lz_kernel_type)s->type) + index;
            lz_kernel_type total_type =
                lz_kernel_reduction_total((lz_kernel_reduction)s->kind, (lz_kernel_type)s->type);
            uint32_t total = (uint32_t)lz_kernel_type_size(total_type) + index;
            s->total = (uint8_t)total_type;
            s->size = (uint8_t)(size - index);
            s->total_size = (uint8_t)(total - index);
            s->rows = rows;
            s->columns = columns;
            rows += LZ_ROW_LANES * size + 2 * LZ_ROW_SUMS * total;
            columns += s->scan ? size : LZ_COLUMN_LANES * size + 2 * LZ_COLUMN_SUMS * total;
        }
        p->fresh_bytes[w] = rows;
        p->state_rows = rows > p->state_rows ? rows : p->state_rows;
        p->state_columns = columns > p->state_columns ? columns : p->state_columns;
    }
}

static lz_err *make_fresh(lz_program *p)
{
    for (int w = 0; p->mode == LZ_KERNEL_ROWS && w < p->walks; w++) {
        LZ_TRY(lz_arena_new(&p->arena, &p->fresh[w], p->fresh_bytes[w]));
        lz_reduce_fresh(p, w, p->fresh[w]);
    }
    return NULL;
}

static size_t dtype_size(int dtype)
{
    static const uint8_t sizes[LZ_DTYPE_SLOTS] = {
        [LZ_BOOL] = 1, [LZ_U8] = 1,  [LZ_I8] = 1,   [LZ_I16] = 2, [LZ_I32] = 4,
        [LZ_I64] = 8,  [LZ_F16] = 2, [LZ_BF16] = 2, [LZ_F32] = 4, [LZ_F64] = 8
    };
    return sizes[dtype];
}

static bool in_place_load(const lz_program *p, const lz_instr *i)
{
    int dtype = p->access[i->access].dtype;
    return i->kind == LZ_INSTR_LOAD
           && dtype_size(dtype) == lz_kernel_type_size(lz_kernel_type_of((lz_dtype)dtype));
}

/* Memory that tiles stream through. Affine accesses have none; accesses that do not vary along rows touch
 * little. */
static bool is_stream(const lz_program *p, const lz_kernel_use *u)
{
    return (u->loads || u->stores) && (u->vary == LZ_KERNEL_ELEMENT || p->mode == LZ_KERNEL_COLUMNS);
}

static void count_hot(lz_program *p)
{
    p->hot = p->units;
    for (size_t i = 0; i < p->n_access; i++)
        p->hot += is_stream(p, &p->access[i]) ? (uint32_t)dtype_size(p->access[i].dtype) : 0;
    for (size_t i = 0; i < p->n_code; i++) {
        if (in_place_load(p, &p->code[i]) && p->hot > p->registers[p->code[i].out].size)
            p->hot -= p->registers[p->code[i].out].size;
    }
}

/* Registers whose first element must be broadcast over the tile before others read it. */
static lz_err *list_splats(const maker *m, lz_block from, uint32_t behind, uint16_t **out)
{
    lz_program *p = m->p;
    size_t n = 0;
    LZ_TRY(lz_arena_new(&p->arena, out, (size_t)(from.end - from.begin) + 1));
    for (uint16_t i = from.begin; i < from.end; i++) {
        uint16_t r = p->code[i].out;
        if (r && m->last[r] >= behind)
            (*out)[n++] = r;
    }
    return NULL;
}

/* Outer values of block k, and reductions that end before it, that elements read. */
static lz_err *list_outer(const maker *m, int k, uint16_t **out)
{
    lz_program *p = m->p;
    lz_block b = p->outer[k];
    size_t n = 0, most = (size_t)(b.end - b.begin) + (k ? p->n_states[k - 1] : 0) + 1;
    LZ_TRY(lz_arena_new(&p->arena, out, most));
    for (int j = 0; k && j < p->n_states[k - 1]; j++) {
        uint16_t r = p->states[k - 1][j].out;
        if (!p->states[k - 1][j].scan && m->whole[r] >= b.end)
            (*out)[n++] = r;
    }
    for (uint16_t i = b.begin; i < b.end; i++) {
        uint16_t r = p->code[i].out;
        if (r && m->whole[r] >= b.end)
            (*out)[n++] = r;
    }
    return NULL;
}

static size_t registers_of(const maker *m)
{
    return m->room + 1 < LZ_REGISTERS ? m->room + 1 : LZ_REGISTERS;
}

static lz_err *reserve(maker *m, size_t reductions)
{
    lz_program *p = m->p;
    const lz_kernel_ir *ir = m->ir;
    size_t walks = (size_t)p->walks, nodes = ir->nodes.len;
    m->room = nodes * (walks + 1) + ir->stores.len;
    if (m->room >= UINT16_MAX)
        return too_large();
    LZ_TRY(lz_arena_new(&p->arena, &p->code, m->room + 1));
    LZ_TRY(lz_arena_new(&p->arena, &p->registers, registers_of(m)));
    LZ_TRY(lz_arena_new(&p->arena, &p->outer, walks + 1));
    LZ_TRY(lz_arena_new(&p->arena, &p->element, walks + 1));
    LZ_TRY(lz_arena_new(&p->arena, &p->splat_outer, walks + 1));
    LZ_TRY(lz_arena_new(&p->arena, &p->states, walks + 1));
    LZ_TRY(lz_arena_new(&p->arena, &p->n_states, walks + 1));
    LZ_TRY(lz_arena_new(&p->arena, &p->fresh, walks + 1));
    LZ_TRY(lz_arena_new(&p->arena, &p->fresh_bytes, walks + 1));
    for (size_t w = 0; w < walks; w++)
        LZ_TRY(lz_arena_new(&p->arena, &p->states[w], reductions + 1));
    LZ_TRY(lz_arena_new(&p->arena, &p->access, ir->access.len + 1));
    LZ_TRY(lz_arena_new(&p->arena, &p->params, ir->params.len + 1));
    for (size_t i = 0; i < ir->access.len; i++)
        p->access[i] = ir->access.data[i];
    for (size_t i = 0; i < ir->params.len; i++)
        p->params[i] = ir->params.data[i];
    for (size_t i = 0; i < ir->stores.len; i++)
        p->outer_stores = p->outer_stores || !per_element(m, &ir->stores.data[i]);
    p->n_access = ir->access.len;
    p->n_params = ir->params.len;
    return NULL;
}

static lz_err *count_reductions(const lz_kernel_ir *ir, size_t *out)
{
    size_t n = 0;
    for (size_t v = 0; v < ir->nodes.len; v++)
        n += ir->nodes.data[v].op == LZ_KERNEL_NODE_REDUCE || ir->nodes.data[v].op == LZ_KERNEL_NODE_SCAN;
    *out = n;
    return n > LZ_KERNEL_REDUCTIONS
               ? lz_errf(LZ_ERR_LIMIT, "a kernel of %zu reductions; at most %d", n, LZ_KERNEL_REDUCTIONS)
               : NULL;
}

static lz_err *compile(maker *m)
{
    lz_program *p = m->p;
    p->n_registers = 1; /* 0 means none */
    make_uniform(m);
    for (int w = 0; w < p->walks; w++) {
        make_outer(m, w);
        make_element(m, w);
    }
    make_outer(m, p->walks);
    if (m->failed)
        return too_large();
    stretch(m);
    LZ_TRY(place_registers(m));
    place_states(p);
    LZ_TRY(make_fresh(p));
    count_hot(p);
    LZ_TRY(list_splats(m, p->uniform, p->uniform.end, &p->splat_uniform));
    for (int k = 0; k <= p->walks; k++)
        LZ_TRY(list_outer(m, k, &p->splat_outer[k]));
    uint32_t states =
        p->state_rows > p->state_columns * LZ_TILE_LEAST ? p->state_rows : p->state_columns * LZ_TILE_LEAST;
    return p->units * LZ_TILE_LEAST + states + 64 > LZ_SCRATCH ? too_large() : NULL;
}

static lz_err *make_program(const lz_kernel_ir *ir, lz_program *p)
{
    lz_arena work;
    maker m = { .ir = ir, .p = p, .work = &work };
    size_t reductions;
    LZ_TRY(count_reductions(ir, &reductions));
    LZ_TRY(reserve(&m, reductions));
    lz_arena_init(&work);
    size_t nodes = ir->nodes.len + 1;
    lz_err *e = lz_arena_new(&work, &m.reg, nodes);
    e = e ? e : lz_arena_new(&work, &m.fixed, nodes);
    e = e ? e : lz_arena_new(&work, &m.need, nodes);
    e = e ? e : lz_arena_new(&work, &m.last, registers_of(&m));
    e = e ? e : lz_arena_new(&work, &m.first, registers_of(&m));
    e = e ? e : lz_arena_new(&work, &m.whole, registers_of(&m));
    e = e ? e : lz_arena_new(&work, &m.fused, nodes);
    e = e ? e : lz_fused_instr_find(ir, p->tiles, m.fused);
    e = e ? e : compile(&m);
    lz_arena_deinit(&work);
    return e;
}

lz_err *lz_program_create(const lz_kernel_ir *ir, const lz_tile_table *tiles, lz_program **out)
{
    lz_program *p = lz_mem_zalloc(1, sizeof *p);
    if (!p)
        return lz_err_oom();
    lz_arena_init(&p->arena);
    p->tiles = tiles;
    p->mode = ir->mode;
    p->n_outer = ir->n_outer;
    p->n_row = ir->n_row;
    p->walks = count_walks(ir);
    lz_err *e = make_program(ir, p);
    if (e)
        lz_program_destroy(p);
    else
        *out = p;
    return e;
}

void lz_program_destroy(lz_program *p)
{
    if (!p)
        return;
    lz_arena_deinit(&p->arena);
    lz_mem_free(p);
}

static bool reads(const lz_program *p, lz_block b, int load)
{
    bool does = false;
    for (uint16_t i = b.begin; i < b.end; i++)
        does = does
               || (p->code[i].kind >= LZ_INSTR_LOAD && p->code[i].kind <= LZ_INSTR_GATHER_IF
                   && p->code[i].access == load);
    return does;
}

static bool stores(const lz_program *p, lz_block b, int store)
{
    bool does = false;
    for (uint16_t i = b.begin; i < b.end; i++)
        does = does || (p->code[i].kind == LZ_INSTR_STORE && p->code[i].access == store);
    return does;
}

static bool gathers(const lz_program *p, int load)
{
    bool does = false;
    for (size_t i = 0; i < p->n_code; i++)
        does = does
               || ((p->code[i].kind == LZ_INSTR_GATHER || p->code[i].kind == LZ_INSTR_GATHER_IF)
                   && p->code[i].access == load);
    return does;
}

/* Is the loaded value used after the store? A direct load is no copy: its register is the memory that the
 * store overwrites. */
static bool reads_behind(const lz_program *p, int load, int store)
{
    size_t stored = 0;
    while (stored < p->n_code && (p->code[stored].kind != LZ_INSTR_STORE || p->code[stored].access != store))
        stored++;
    bool does = false;
    for (size_t i = 0; i < p->n_code; i++)
        does = does
               || (p->code[i].kind >= LZ_INSTR_LOAD && p->code[i].kind <= LZ_INSTR_GATHER_IF
                   && p->code[i].access == load && p->registers[p->code[i].out].last > stored);
    return does;
}

bool lz_program_in_place(const lz_program *p, int load, int store)
{
    bool stored = false;
    for (int w = 0; w <= p->walks; w++) {
        if (stored && (reads(p, p->outer[w], load) || (w < p->walks && reads(p, p->element[w], load))))
            return false;
        stored = stored || stores(p, p->outer[w], store);
        if (stored && w < p->walks && reads(p, p->element[w], load))
            return false;
        stored = stored || (w < p->walks && stores(p, p->element[w], store));
    }
    return stored && !gathers(p, load) && !reads_behind(p, load, store)
           && p->access[load].vary == p->access[store].vary
           && dtype_size(p->access[load].dtype) == dtype_size(p->access[store].dtype);
}

bool lz_program_checks(const lz_program *p)
{
    bool does = false;
    for (size_t k = 0; k < p->n_code; k++)
        does = does || p->code[k].kind == LZ_INSTR_CHECK;
    return does;
}
