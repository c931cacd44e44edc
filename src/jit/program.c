#include "jit/program.h"
#include "base/mem.h"
#include "jit/super.h"
#include <string.h>

enum { SIZES = 4 }; /* 1, 4 and 8 bytes, by size / 3 */

typedef struct maker {
    const lz_kir *ir;
    lz_program *p;
    uint16_t *reg;   /* of each node in the block being made, 0: none */
    uint16_t *fixed; /* of uniform and outer nodes: for good */
    bool *need;      /* element nodes of this walk */
    uint32_t *last;  /* per register: the position after which nobody reads it */
    uint32_t *first; /* where it is written */
    uint32_t *whole; /* the last position in element code that reads more than its first element */
    size_t room;     /* instructions; as many registers, but at most LZ_REGISTERS */
    lz_super *super; /* per node */
    lz_arena *work;
    uint16_t walk;
    bool element; /* is element code being made? */
    bool failed;
} maker;

static const lz_knode *node(const maker *m, uint32_t v)
{
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
    size_t size = lz_ktype_size((lz_ktype)type);
    p->registers[p->n_registers] = (lz_register){ .size = (uint8_t)size, .type = (uint8_t)type };
    m->first[p->n_registers] = (uint32_t)p->n_code;
    m->last[p->n_registers] = (uint32_t)p->n_code;
    return (uint16_t)p->n_registers++;
}

static bool divides(int op, int type)
{
    bool integer = type == LZ_KI32 || type == LZ_KI64;
    return integer && (op == LZ_K_IDIV || op == LZ_K_IDIV_FLOOR || op == LZ_K_FMOD || op == LZ_K_REMAINDER);
}

/* still: the instruction reads the first element alone, where outer code has made no other. */
static uint16_t operand(maker *m, uint32_t v, bool still)
{
    uint16_t r = m->fixed[v] ? m->fixed[v] : m->reg[v];
    uint32_t now = (uint32_t)m->p->n_code;
    m->last[r] = m->last[r] > now ? m->last[r] : now;
    m->whole[r] = m->element && !still ? now : m->whole[r];
    m->p->registers[r].last = (uint16_t)now;
    return r;
}

static const uint8_t kind_of[LZ_N_COUNT] = {
    [LZ_N_CONST] = LZ_I_CONST,     [LZ_N_PARAM] = LZ_I_PARAM,   [LZ_N_LOAD] = LZ_I_LOAD,
    [LZ_N_LOAD_IF] = LZ_I_LOAD_IF, [LZ_N_GATHER] = LZ_I_GATHER, [LZ_N_GATHER_IF] = LZ_I_GATHER_IF,
    [LZ_N_AFFINE] = LZ_I_AFFINE,   [LZ_N_CHECK] = LZ_I_CHECK,   [LZ_N_REDUCE] = LZ_I_REDUCE,
    [LZ_N_SCAN] = LZ_I_SCAN,
};

static lz_tile_fn *function(const maker *m, const lz_knode *n)
{
    int count = lz_knode_operands(n);
    return lz_tile_of(m->p->tiles, n, count ? node(m, n->in[count - 1])->type : 0);
}

/* A reduction or scan gets a state in its walk. */
static void add_state(maker *m, lz_instr *i, const lz_knode *n)
{
    lz_program *p = m->p;
    uint16_t k = p->n_states[m->walk]++;
    i->attr = k;
    i->reduce = (uint16_t)n->attr;
    p->states[m->walk][k] = (lz_state){
        .kind = (uint8_t)n->attr, .type = node(m, n->in[0])->type, .scan = n->op == LZ_N_SCAN, .out = i->out
    };
    p->reduces = p->reduces || n->op == LZ_N_REDUCE;
    p->scans = p->scans || n->op == LZ_N_SCAN;
}

static void emit(maker *m, uint32_t v, uint16_t *place)
{
    const lz_knode *n = node(m, v);
    lz_program *p = m->p;
    lz_instr i = {
        .fn = function(m, n), .kind = kind_of[n->op], .type = n->type, .attr = n->attr, .bits = n->bits
    };
    if (n->op < LZ_KOP_COUNT && divides(n->op, n->type))
        i.kind = LZ_I_DIVIDE;
    if (n->op >= LZ_N_LOAD && n->op <= LZ_N_AFFINE)
        i.access = (int16_t)n->attr;
    const lz_super *s = &m->super[v];
    bool as_super = s->fn || s->form;
    int count = as_super ? s->n : lz_knode_operands(n);
    i.form = s->form;
    i.still = m->element && n->op == LZ_N_GATHER && node(m, n->in[0])->level == LZ_LEVEL_OUTER;
    for (int k = 0; k < count; k++)
        i.in[k] = operand(m, as_super ? s->in[k] : n->in[k], i.still);
    i.fn = s->fn ? s->fn : i.fn;
    i.out = place[v] = new_register(m, n->type);
    if (n->op == LZ_N_REDUCE || n->op == LZ_N_SCAN) {
        i.type = node(m, n->in[0])->type;
        add_state(m, &i, n);
    }
    p->code[p->n_code++] = i;
}

static void emit_store(maker *m, const lz_kstore *s)
{
    lz_program *p = m->p;
    const lz_knode *n = node(m, s->value);
    lz_instr i = { .kind = LZ_I_STORE, .type = n->type, .access = (int16_t)s->access };
    i.in[0] = operand(m, s->value, false);
    p->code[p->n_code++] = i;
}

static bool per_element(const maker *m, const lz_kstore *s)
{
    return m->ir->access.data[s->access].vary == LZ_K_ELEMENT;
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
        const lz_knode *n = node(m, v);
        if (n->level == LZ_LEVEL_OUTER && n->stage == stage && n->op != LZ_N_REDUCE && !m->super[v].inside)
            emit(m, v, m->fixed);
    }
    for (size_t i = 0; i < m->ir->stores.len; i++) {
        const lz_kstore *s = &m->ir->stores.data[i];
        if (!per_element(m, s) && node(m, s->value)->stage == stage)
            emit_store(m, s);
    }
    b->end = (uint16_t)m->p->n_code;
}

/* Element nodes that the roots of this walk need; users come after operands. */
static void find_needs(maker *m, int walk)
{
    size_t count = m->ir->nodes.len;
    memset(m->need, 0, count * sizeof *m->need);
    for (size_t i = 0; i < m->ir->stores.len; i++) {
        const lz_kstore *s = &m->ir->stores.data[i];
        if (per_element(m, s) && node(m, s->value)->stage == walk)
            m->need[s->value] = true;
    }
    for (size_t v = count; v-- > 0;) {
        const lz_knode *n = node(m, (uint32_t)v);
        bool root = n->op == LZ_N_REDUCE && n->stage == walk + 1;
        if (!root && !(m->need[v] && n->level == LZ_LEVEL_ELEMENT))
            continue;
        const lz_super *s = &m->super[v];
        int inputs = s->form ? s->n : lz_knode_operands(n);
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
        const lz_knode *n = node(m, v);
        if (n->level == LZ_LEVEL_ELEMENT && m->need[v] && !m->super[v].inside)
            emit(m, v, m->reg);
        else if (n->op == LZ_N_REDUCE && n->stage == walk + 1)
            emit(m, v, m->fixed);
    }
    for (size_t i = 0; i < m->ir->stores.len; i++) {
        const lz_kstore *s = &m->ir->stores.data[i];
        if (per_element(m, s) && node(m, s->value)->stage == walk)
            emit_store(m, s);
    }
    b->end = (uint16_t)m->p->n_code;
    m->element = false;
}

static int count_walks(const lz_kir *ir)
{
    int walks = 0;
    for (size_t v = 0; v < ir->nodes.len; v++) {
        const lz_knode *n = &ir->nodes.data[v];
        if (n->op == LZ_N_REDUCE && n->stage > walks)
            walks = n->stage;
    }
    for (size_t i = 0; i < ir->stores.len; i++) {
        const lz_kstore *s = &ir->stores.data[i];
        int after = ir->nodes.data[s->value].stage + 1;
        if (ir->access.data[s->access].vary == LZ_K_ELEMENT && after > walks)
            walks = after;
    }
    return walks;
}

/* Registers of longer life than their block stretch over the loops they are used in. */
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

/* Free places by size: where in the scratch, per element. */
typedef struct places {
    uint32_t *free;
    size_t count;
} places;

/* Registers by the position where they are first written, or last read. */
typedef struct calendar {
    uint16_t *begin, *end, *next_begin, *next_end; /* 0 ends */
} calendar;

static lz_err *make_calendar(const maker *m, lz_arena *work, calendar *c)
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
        if (last <= first) /* nobody reads it */
            continue;
        c->next_end[r] = c->end[last];
        c->end[last] = (uint16_t)r;
    }
    return NULL;
}

static void give_place(lz_program *p, places *by_size, uint16_t r)
{
    places *s = &by_size[p->registers[r].size / 3];
    if (s->count) {
        p->registers[r].at = s->free[--s->count];
        return;
    }
    p->registers[r].at = p->units;
    p->units += p->registers[r].size;
}

static void take_places(const lz_program *p, const calendar *c, places *by_size, uint32_t now)
{
    for (uint16_t r = c->end[now]; r; r = c->next_end[r]) {
        places *s = &by_size[p->registers[r].size / 3];
        s->free[s->count++] = p->registers[r].at;
    }
}

/* In order of the code. A tile function may write where it reads, so what dies in it is
 * free for its result; other instructions get a place before their operands lose theirs. */
static lz_err *place_registers(maker *m)
{
    lz_program *p = m->p;
    places by_size[SIZES] = { { 0 } };
    calendar c = { 0 };
    for (int i = 0; i < SIZES; i++)
        LZ_TRY(lz_arena_new(m->work, &by_size[i].free, p->n_registers));
    LZ_TRY(make_calendar(m, m->work, &c));
    for (uint32_t now = 0; now < p->n_code; now++) {
        bool early = p->code[now].kind == LZ_I_FN;
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
    return kind == LZ_K_RARGMAX || kind == LZ_K_RARGMIN;
}

/* Rows: lanes, sums, total; columns: the same for each element of a tile. A scan
 * has one value. Indices lie behind the values. */
static void place_states(lz_program *p)
{
    for (int w = 0; w < p->walks; w++) {
        uint32_t rows = 0, columns = 0;
        for (int k = 0; k < p->n_states[w]; k++) {
            lz_state *s = &p->states[w][k];
            uint32_t index = is_index(s->kind) ? 8 : 0,
                     size = (uint32_t)lz_ktype_size((lz_ktype)s->type) + index;
            lz_ktype total_type = lz_kreduce_total((lz_kreduce)s->kind, (lz_ktype)s->type);
            uint32_t total = (uint32_t)lz_ktype_size(total_type) + index;
            s->total = (uint8_t)total_type;
            s->size = (uint8_t)(size - index);
            s->total_size = (uint8_t)(total - index);
            s->rows = rows;
            s->columns = columns;
            rows += LZ_ROW_LANES * size + 2 * LZ_ROW_SUMS * total;
            columns += s->scan ? size : LZ_COLUMN_LANES * size + 2 * LZ_COLUMN_SUMS * total;
        }
        p->state_rows = rows > p->state_rows ? rows : p->state_rows;
        p->state_columns = columns > p->state_columns ? columns : p->state_columns;
    }
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
    return i->kind == LZ_I_LOAD && dtype_size(dtype) == lz_ktype_size(lz_ktype_of((lz_dtype)dtype));
}

/* Memory that tiles go through: what is affine alone has none, and of what stands still along rows there is
 * little. */
static bool is_stream(const lz_program *p, const lz_kuse *u)
{
    return (u->loads || u->stores) && (u->vary == LZ_K_ELEMENT || p->mode == LZ_K_COLUMNS);
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

/* Registers whose first element must be spread over the tile before others read it. */
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

/* Outer values of block k, and reductions that end before it, which elements read. */
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
    const lz_kir *ir = m->ir;
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

static lz_err *count_reductions(const lz_kir *ir, size_t *out)
{
    size_t n = 0;
    for (size_t v = 0; v < ir->nodes.len; v++)
        n += ir->nodes.data[v].op == LZ_N_REDUCE || ir->nodes.data[v].op == LZ_N_SCAN;
    *out = n;
    return n > LZ_KERNEL_REDUCTIONS
               ? lz_errf(LZ_ERR_LIMIT, "a kernel of %zu reductions; at most %d", n, LZ_KERNEL_REDUCTIONS)
               : NULL;
}

static lz_err *compile(maker *m)
{
    lz_program *p = m->p;
    p->n_registers = 1; /* 0 stands for none */
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
    count_hot(p);
    LZ_TRY(list_splats(m, p->uniform, p->uniform.end, &p->splat_uniform));
    for (int k = 0; k <= p->walks; k++)
        LZ_TRY(list_outer(m, k, &p->splat_outer[k]));
    uint32_t states =
        p->state_rows > p->state_columns * LZ_TILE_LEAST ? p->state_rows : p->state_columns * LZ_TILE_LEAST;
    return p->units * LZ_TILE_LEAST + states + 64 > LZ_SCRATCH ? too_large() : NULL;
}

static lz_err *make_program(const lz_kir *ir, lz_program *p)
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
    e = e ? e : lz_arena_new(&work, &m.super, nodes);
    e = e ? e : lz_super_find(ir, p->tiles, m.super);
    e = e ? e : compile(&m);
    lz_arena_deinit(&work);
    return e;
}

lz_err *lz_program_create(const lz_kir *ir, const lz_tile_table *tiles, lz_program **out)
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

/* The walk in which it stores, -1 if it does not, walks if per outer index. */
static bool reads(const lz_program *p, lz_block b, int load)
{
    bool does = false;
    for (uint16_t i = b.begin; i < b.end; i++)
        does = does
               || (p->code[i].kind >= LZ_I_LOAD && p->code[i].kind <= LZ_I_GATHER_IF
                   && p->code[i].access == load);
    return does;
}

static bool stores(const lz_program *p, lz_block b, int store)
{
    bool does = false;
    for (uint16_t i = b.begin; i < b.end; i++)
        does = does || (p->code[i].kind == LZ_I_STORE && p->code[i].access == store);
    return does;
}

static bool gathers(const lz_program *p, int load)
{
    bool does = false;
    for (size_t i = 0; i < p->n_code; i++)
        does = does
               || ((p->code[i].kind == LZ_I_GATHER || p->code[i].kind == LZ_I_GATHER_IF)
                   && p->code[i].access == load);
    return does;
}

/* Does something behind the store read what was loaded? A load need not be a copy. */
static bool reads_behind(const lz_program *p, int load, int store)
{
    size_t stored = 0;
    while (stored < p->n_code && (p->code[stored].kind != LZ_I_STORE || p->code[stored].access != store))
        stored++;
    bool does = false;
    for (size_t i = 0; i < p->n_code; i++)
        does = does
               || (p->code[i].kind >= LZ_I_LOAD && p->code[i].kind <= LZ_I_GATHER_IF
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
