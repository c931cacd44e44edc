/* Plans what the emitter computes where: levels in this variant, the walk of each element value, which values
 * are kept between walks, and the scratch memory. */
#include "jit/emitter.h"
#include "jit/program.h"
#include <string.h>

enum {
    KEEP_COST = 8, /* number of operations above which reading a value back is cheaper, approximately */
    CONE_MOST = 64,
    STRIP_BYTES = 160 << 10, /* of a strip's arrays: half of a small L2 cache */
    STRIP_MOST = 4096,       /* columns: long contiguous reads, which suit the hardware prefetcher */
};

static const lz_kernel_node *node(const lz_emit_plan *p, uint32_t v)
{
    return &p->ir->nodes.data[v];
}

static bool is_access(const lz_kernel_node *n)
{
    return n->op >= LZ_KERNEL_NODE_LOAD && n->op <= LZ_KERNEL_NODE_AFFINE;
}

static uint8_t level_of(const lz_emit_plan *p, const lz_native_variant *v, const lz_kernel_node *n)
{
    if (v->columns)
        return n->level;
    if (n->op == LZ_KERNEL_NODE_REDUCE)
        return LZ_LEVEL_OUTER;
    if (n->op == LZ_KERNEL_NODE_SCAN)
        return LZ_LEVEL_ELEMENT;
    uint8_t level = LZ_LEVEL_UNIFORM;
    if (is_access(n))
        level = v->run[n->attr] == LZ_RUN_SAME ? LZ_LEVEL_OUTER : LZ_LEVEL_ELEMENT;
    int inputs = lz_kernel_node_operands(n);
    for (int i = 0; i < inputs; i++)
        level = p->level[n->in[i]] > level ? p->level[n->in[i]] : level;
    return level;
}

/* In rows mode the caller may have swapped row and outer dimensions if nothing is reduced. */
bool lz_emit_plan_stores_row(const lz_emit_plan *p, const lz_native_variant *v, const lz_kernel_store *s)
{
    bool varies = p->ir->access.data[s->access].vary == LZ_KERNEL_ELEMENT;
    return varies || (!v->columns && v->run[s->access] != LZ_RUN_SAME);
}

static int count_walks(const lz_emit_plan *p, const lz_native_variant *v)
{
    int walks = 0;
    for (uint32_t i = 0; i < p->ir->nodes.len; i++) {
        if (node(p, i)->op == LZ_KERNEL_NODE_REDUCE && node(p, i)->stage > walks)
            walks = node(p, i)->stage;
    }
    for (size_t i = 0; i < p->ir->stores.len; i++) {
        const lz_kernel_store *s = &p->ir->stores.data[i];
        int after = node(p, s->value)->stage + 1;
        if (lz_emit_plan_stores_row(p, v, s) && after > walks)
            walks = after;
    }
    return walks;
}

static bool read_back(const lz_emit_plan *p, uint32_t v, int walk)
{
    return p->keep[v] && p->made[v] < walk;
}

static void find_needs(lz_emit_plan *p, const lz_native_variant *v, int walk)
{
    bool *need = p->need[walk];
    size_t count = p->ir->nodes.len;
    memset(need, 0, count * sizeof *need);
    for (size_t i = 0; i < p->ir->stores.len; i++) {
        const lz_kernel_store *s = &p->ir->stores.data[i];
        if (lz_emit_plan_stores_row(p, v, s) && node(p, s->value)->stage == walk)
            need[s->value] = true;
    }
    for (size_t i = count; i-- > 0;) {
        const lz_kernel_node *n = node(p, (uint32_t)i);
        bool root = n->op == LZ_KERNEL_NODE_REDUCE && n->stage == walk + 1;
        bool here = need[i] && p->level[i] == LZ_LEVEL_ELEMENT && !read_back(p, (uint32_t)i, walk);
        int inputs = root || here ? lz_kernel_node_operands(n) : 0;
        for (int k = 0; k < inputs; k++)
            need[n->in[k]] = true;
    }
}

static int weight(const lz_emit_plan *p, const lz_native_variant *v, const lz_kernel_node *n)
{
    static const uint8_t weights[LZ_KERNEL_NODE_COUNT] = {
        [LZ_KERNEL_DIV] = 4,        [LZ_KERNEL_SQRT] = 4,         [LZ_KERNEL_NODE_CONST] = 1,
        [LZ_KERNEL_NODE_PARAM] = 1, [LZ_KERNEL_NODE_GATHER] = 8,  [LZ_KERNEL_NODE_GATHER_IF] = 8,
        [LZ_KERNEL_NODE_CHECK] = 3, [LZ_KERNEL_NODE_PHILOX] = 32, [LZ_KERNEL_NODE_SCAN] = 64,
    };
    (void)p;
    if (n->op == LZ_KERNEL_NODE_LOAD || n->op == LZ_KERNEL_NODE_AFFINE)
        return v->run[n->attr] <= LZ_RUN_BACK || n->op == LZ_KERNEL_NODE_AFFINE ? 0 : 4;
    return weights[n->op] ? weights[n->op] : n->op < LZ_KERNEL_OP_COUNT && n->op >= LZ_KERNEL_GCD ? 16 : 1;
}

/* Cost of computing an element value again, up to KEEP_COST. */
static int cone_cost(const lz_emit_plan *p, const lz_native_variant *v, uint32_t root, int walk)
{
    uint32_t seen[CONE_MOST] = { root };
    int cost = 0, count = 1;
    for (int at = 0; at < count && cost < KEEP_COST; at++) {
        const lz_kernel_node *n = node(p, seen[at]);
        cost += weight(p, v, n);
        for (int k = lz_kernel_node_operands(n); k-- > 0;) {
            bool inside = p->level[n->in[k]] == LZ_LEVEL_ELEMENT && !read_back(p, n->in[k], walk);
            for (int i = 0; inside && i < count; i++)
                inside = seen[i] != n->in[k];
            if (inside && count < CONE_MOST)
                seen[count++] = n->in[k];
        }
    }
    return cost;
}

/* Marks the values that earlier walks computed and this walk reads. */
static void mark_frontier(const lz_emit_plan *p, const lz_native_variant *v, int walk, const uint8_t *first,
                          bool *out)
{
    memset(out, 0, p->ir->nodes.len * sizeof *out);
    for (uint32_t i = 0; i < p->ir->nodes.len; i++) {
        const lz_kernel_node *n = node(p, i);
        bool root = n->op == LZ_KERNEL_NODE_REDUCE && n->stage == walk + 1;
        bool fresh = p->need[walk][i] && p->level[i] == LZ_LEVEL_ELEMENT && first[i] == walk;
        int inputs = root || fresh ? lz_kernel_node_operands(n) : 0;
        for (int k = 0; k < inputs; k++)
            out[n->in[k]] = true;
    }
    for (size_t i = 0; i < p->ir->stores.len; i++) {
        const lz_kernel_store *s = &p->ir->stores.data[i];
        if (lz_emit_plan_stores_row(p, v, s) && node(p, s->value)->stage == walk)
            out[s->value] = true;
    }
}

static void keep_value(lz_emit_plan *p, uint32_t v, uint8_t made)
{
    p->row += (int64_t)lz_kernel_type_size((lz_kernel_type)node(p, v)->type);
    p->keep[v] = (int32_t)p->row;
    p->made[v] = made;
}

static void find_first(const lz_emit_plan *p, uint8_t *first)
{
    for (uint32_t v = 0; v < p->ir->nodes.len; v++) {
        first[v] = UINT8_MAX;
        for (int w = p->walks; w-- > 0;)
            first[v] = p->need[w][v] ? (uint8_t)w : first[v];
    }
}

static lz_err *keep_values(lz_emit_plan *p, const lz_native_variant *v)
{
    uint8_t *first;
    bool *frontier;
    LZ_TRY(lz_arena_new(&p->arena, &first, p->ir->nodes.len + 1));
    LZ_TRY(lz_arena_new(&p->arena, &frontier, p->ir->nodes.len + 1));
    find_first(p, first);
    for (int w = 1; w < p->walks; w++) {
        mark_frontier(p, v, w, first, frontier);
        for (uint32_t i = 0; i < p->ir->nodes.len; i++) {
            if (frontier[i] && p->level[i] == LZ_LEVEL_ELEMENT && first[i] < w && !p->keep[i]
                && cone_cost(p, v, i, w) >= KEEP_COST)
                keep_value(p, i, first[i]);
        }
        find_needs(p, v, w);
    }
    return NULL;
}

int lz_emit_plan_operations(const lz_emit_plan *p, int walk)
{
    int n = 0;
    for (uint32_t v = 0; v < p->ir->nodes.len; v++)
        n += p->need[walk][v] && p->level[v] == LZ_LEVEL_ELEMENT && node(p, v)->op != LZ_KERNEL_NODE_CONST;
    return n;
}

/* Does the kernel only reduce elements from memory, each needed once, so that loop overhead is a good part of
 * its time? Longer steps make a sum 4 to 7 % faster, but the first walk of a softmax 6 % slower. */
static bool only_reads(const lz_emit_plan *p)
{
    enum { READ = 2 };
    bool reduces = false;
    for (uint32_t v = 0; v < p->ir->nodes.len; v++)
        reduces = reduces || node(p, v)->op == LZ_KERNEL_NODE_REDUCE;
    return reduces && p->walks == 1 && lz_emit_plan_operations(p, 0) <= READ;
}

/* Finding a vector's piece takes longer than reading it, so fewer, wider vectors are better. */
static bool has_pieces(const lz_emit_plan *p, const lz_native_variant *v)
{
    bool has = false;
    for (size_t a = 0; a < p->ir->access.len; a++)
        has = has || v->run[a] == LZ_RUN_PIECES;
    return has;
}

/* Is it part of a copy, or of the address that a gather reads? */
static bool moves(const lz_kernel_node *n)
{
    bool address = n->type == LZ_KERNEL_I64 && (n->op == LZ_KERNEL_ADD || n->op == LZ_KERNEL_MUL);
    return n->op == LZ_KERNEL_NODE_LOAD || n->op == LZ_KERNEL_NODE_GATHER || address;
}

/* Does the kernel only copy elements to places that do not follow each other? A scatter takes longer than as
 * many stores of single elements: columns of two elements take two thirds of the time. */
static bool copies_apart(const lz_emit_plan *p, const lz_native_variant *v)
{
    bool copies = !v->columns && p->walks == 1 && !has_pieces(p, v), apart = false;
    for (uint32_t i = 0; copies && i < p->ir->nodes.len; i++)
        copies = p->level[i] != LZ_LEVEL_ELEMENT || moves(node(p, i));
    for (size_t i = 0; copies && i < p->ir->stores.len; i++) {
        const lz_kernel_store *s = &p->ir->stores.data[i];
        int run = v->run[s->access];
        copies = lz_emit_plan_stores_row(p, v, s);
        apart = apart || run == LZ_RUN_TABLE || run == LZ_RUN_STEP;
    }
    return copies && apart;
}

/* Half as many lanes if every element has 8 bytes. */
static int choose_lanes(const lz_emit_plan *p, const lz_native_variant *variant, const lz_target *t)
{
    if (copies_apart(p, variant))
        return 1;
    bool wide = false, narrow = false;
    int lanes = p->only_reads && !has_pieces(p, variant) ? t->reads : t->lanes;
    for (uint32_t v = 0; v < p->ir->nodes.len; v++) {
        if (p->level[v] == LZ_LEVEL_UNIFORM)
            continue;
        size_t size = lz_kernel_type_size((lz_kernel_type)node(p, v)->type);
        wide = wide || size == 8;
        narrow = narrow || size == 4;
    }
    return wide && !narrow ? lanes / 2 : lanes;
}

static bool has_index(const lz_kernel_node *n)
{
    return n->attr == LZ_KERNEL_RARGMAX || n->attr == LZ_KERNEL_RARGMIN;
}

static int64_t up(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static int64_t state_size(const lz_kernel_ir *ir, const lz_kernel_node *n)
{
    return (int64_t)lz_kernel_type_size((lz_kernel_type)ir->nodes.data[n->in[0]].type);
}

static int64_t total_size(const lz_kernel_ir *ir, const lz_kernel_node *n)
{
    lz_kernel_type type = (lz_kernel_type)ir->nodes.data[n->in[0]].type;
    return (int64_t)lz_kernel_type_size(lz_kernel_reduction_total((lz_kernel_reduction)n->attr, type));
}

lz_emit_state_room lz_estate_row_room(const lz_kernel_ir *ir, const lz_kernel_node *n)
{
    int64_t lanes = n->op == LZ_KERNEL_NODE_SCAN ? 0 : LZ_ROW_LANES;
    lz_emit_state_room r = { .block = up(lanes * state_size(ir, n)) };
    r.total = r.block + (lanes ? up(LZ_ROW_SUMS * total_size(ir, n)) : 0);
    r.indices = r.total + 64;
    r.bytes = r.indices + (has_index(n) ? up((int64_t)(LZ_ROW_LANES + LZ_ROW_SUMS) * 8) + 64 : 0);
    return r;
}

static void place_states(lz_emit_plan *p)
{
    for (uint32_t v = 0; v < p->ir->nodes.len; v++) {
        const lz_kernel_node *n = node(p, v);
        if (n->op != LZ_KERNEL_NODE_REDUCE && n->op != LZ_KERNEL_NODE_SCAN)
            continue;
        p->state[v] = p->scratch;
        p->scratch += lz_estate_row_room(p->ir, n).bytes;
    }
}

/* Is an outer value read by elements, or by outer code of another stage? */
static bool read_elsewhere(const lz_emit_plan *p, uint32_t v)
{
    bool is = false;
    for (int w = 0; !is && w < p->walks; w++)
        is = p->need[w][v];
    for (uint32_t u = v + 1; !is && u < p->ir->nodes.len; u++) {
        const lz_kernel_node *n = node(p, u);
        int inputs =
            n->op != LZ_KERNEL_NODE_REDUCE && p->level[u] == LZ_LEVEL_OUTER ? lz_kernel_node_operands(n) : 0;
        for (int k = 0; k < inputs; k++)
            is = is || (n->in[k] == v && n->stage != node(p, v)->stage);
    }
    return is;
}

/* Bytes per column of a state or of a stored outer value. */
static int64_t column_bytes(const lz_emit_plan *p, uint32_t v)
{
    const lz_kernel_node *n = node(p, v);
    if (n->op == LZ_KERNEL_NODE_REDUCE || n->op == LZ_KERNEL_NODE_SCAN) {
        int64_t index = has_index(n) ? 8 : 0, lane = state_size(p->ir, n) + index,
                total = total_size(p->ir, n) + index;
        return n->op == LZ_KERNEL_NODE_SCAN ? lane
                                            : LZ_COLUMN_LANES * lane + (int64_t)2 * LZ_COLUMN_SUMS * total;
    }
    bool kept = p->level[v] == LZ_LEVEL_OUTER && read_elsewhere(p, v);
    return kept ? (int64_t)lz_kernel_type_size((lz_kernel_type)n->type) : 0;
}

static lz_err *place_columns(lz_emit_plan *p)
{
    int64_t bytes = 0;
    for (uint32_t v = 0; v < p->ir->nodes.len; v++)
        bytes += column_bytes(p, v);
    int64_t strip = bytes ? STRIP_BYTES / bytes / 64 * 64 : STRIP_MOST;
    p->strip = strip > STRIP_MOST ? STRIP_MOST : strip < 64 ? 64 : strip;
    for (uint32_t v = 0; v < p->ir->nodes.len; v++) {
        int64_t each = column_bytes(p, v);
        p->state[v] = p->scratch;
        p->array[v] = each ? p->scratch : -1;
        p->scratch += each * p->strip;
    }
    return NULL;
}

static lz_err *check_accesses(const lz_kernel_ir *ir)
{
    for (size_t i = 0; i < ir->access.len; i++) {
        const lz_kernel_use *u = &ir->access.data[i];
        if (u->affine && (u->loads || u->stores))
            return lz_errf(LZ_ERR_UNSUPPORTED, "access %zu is memory and an index", i);
    }
    return NULL;
}

static lz_err *make_plan(lz_emit_plan *p, const lz_native_variant *v, const lz_target *t, bool keeps)
{
    size_t nodes = p->ir->nodes.len + 1;
    LZ_TRY(check_accesses(p->ir));
    LZ_TRY(lz_arena_new(&p->arena, &p->level, nodes));
    LZ_TRY(lz_arena_new(&p->arena, &p->keep, nodes));
    LZ_TRY(lz_arena_new(&p->arena, &p->made, nodes));
    LZ_TRY(lz_arena_new(&p->arena, &p->state, nodes));
    LZ_TRY(lz_arena_new(&p->arena, &p->array, nodes));
    for (uint32_t i = 0; i < p->ir->nodes.len; i++)
        p->level[i] = level_of(p, v, node(p, i));
    p->walks = count_walks(p, v);
    LZ_TRY(lz_arena_new(&p->arena, &p->need, (size_t)p->walks + 1));
    for (int w = 0; w < p->walks; w++) {
        LZ_TRY(lz_arena_new(&p->arena, &p->need[w], nodes));
        find_needs(p, v, w);
    }
    p->only_reads = !v->columns && only_reads(p);
    p->vec = choose_lanes(p, v, t);
    if (v->columns)
        return place_columns(p);
    place_states(p);
    return keeps ? keep_values(p, v) : NULL;
}

lz_err *lz_emit_plan_init(lz_emit_plan *p, const lz_kernel_ir *ir, const lz_native_variant *v,
                          const lz_target *t, bool keeps)
{
    *p = (lz_emit_plan){ .ir = ir };
    lz_arena_init(&p->arena);
    lz_err *e = make_plan(p, v, t, keeps);
    if (e)
        lz_emit_plan_deinit(p);
    return e;
}

void lz_emit_plan_deinit(lz_emit_plan *p)
{
    lz_arena_deinit(&p->arena);
}
