/* What the emitter computes where: levels as the variant has them, the walk of each
 * element value, which values are kept between walks, and the scratch memory. */
#include "jit/emit.h"
#include "jit/program.h"
#include <string.h>

enum {
    KEEP_COST = 8, /* about the operations after which reading a value back is the cheaper way */
    CONE_MOST = 64,
    STRIP_BYTES = 160 << 10, /* of a strip's arrays: half of a small L2 */
    STRIP_MOST = 4096,       /* columns: rows are read in long pieces, of which prefetching is fond */
};

static const lz_knode *node(const lz_eplan *p, uint32_t v)
{
    return &p->ir->nodes.data[v];
}

static bool is_access(const lz_knode *n)
{
    return n->op >= LZ_N_LOAD && n->op <= LZ_N_AFFINE;
}

static uint8_t level_of(const lz_eplan *p, const lz_variant *v, const lz_knode *n)
{
    if (v->columns)
        return n->level;
    if (n->op == LZ_N_REDUCE)
        return LZ_LEVEL_OUTER;
    if (n->op == LZ_N_SCAN)
        return LZ_LEVEL_ELEMENT;
    uint8_t level = LZ_LEVEL_UNIFORM;
    if (is_access(n))
        level = v->run[n->attr] == LZ_RUN_SAME ? LZ_LEVEL_OUTER : LZ_LEVEL_ELEMENT;
    int inputs = lz_knode_operands(n);
    for (int i = 0; i < inputs; i++)
        level = p->level[n->in[i]] > level ? p->level[n->in[i]] : level;
    return level;
}

/* With rows: the caller may have turned row and outer round where nothing is reduced. */
bool lz_eplan_stores_row(const lz_eplan *p, const lz_variant *v, const lz_kstore *s)
{
    bool varies = p->ir->access.data[s->access].vary == LZ_K_ELEMENT;
    return varies || (!v->columns && v->run[s->access] != LZ_RUN_SAME);
}

static int count_walks(const lz_eplan *p, const lz_variant *v)
{
    int walks = 0;
    for (uint32_t i = 0; i < p->ir->nodes.len; i++) {
        if (node(p, i)->op == LZ_N_REDUCE && node(p, i)->stage > walks)
            walks = node(p, i)->stage;
    }
    for (size_t i = 0; i < p->ir->stores.len; i++) {
        const lz_kstore *s = &p->ir->stores.data[i];
        int after = node(p, s->value)->stage + 1;
        if (lz_eplan_stores_row(p, v, s) && after > walks)
            walks = after;
    }
    return walks;
}

static bool read_back(const lz_eplan *p, uint32_t v, int walk)
{
    return p->keep[v] && p->made[v] < walk;
}

static void find_needs(lz_eplan *p, const lz_variant *v, int walk)
{
    bool *need = p->need[walk];
    size_t count = p->ir->nodes.len;
    memset(need, 0, count * sizeof *need);
    for (size_t i = 0; i < p->ir->stores.len; i++) {
        const lz_kstore *s = &p->ir->stores.data[i];
        if (lz_eplan_stores_row(p, v, s) && node(p, s->value)->stage == walk)
            need[s->value] = true;
    }
    for (size_t i = count; i-- > 0;) {
        const lz_knode *n = node(p, (uint32_t)i);
        bool root = n->op == LZ_N_REDUCE && n->stage == walk + 1;
        bool here = need[i] && p->level[i] == LZ_LEVEL_ELEMENT && !read_back(p, (uint32_t)i, walk);
        int inputs = root || here ? lz_knode_operands(n) : 0;
        for (int k = 0; k < inputs; k++)
            need[n->in[k]] = true;
    }
}

static int weight(const lz_eplan *p, const lz_variant *v, const lz_knode *n)
{
    static const uint8_t weights[LZ_N_COUNT] = {
        [LZ_K_DIV] = 4,       [LZ_K_SQRT] = 4,  [LZ_N_CONST] = 1,   [LZ_N_PARAM] = 1, [LZ_N_GATHER] = 8,
        [LZ_N_GATHER_IF] = 8, [LZ_N_CHECK] = 3, [LZ_N_PHILOX] = 32, [LZ_N_SCAN] = 64,
    };
    (void)p;
    if (n->op == LZ_N_LOAD || n->op == LZ_N_AFFINE)
        return v->run[n->attr] <= LZ_RUN_BACK || n->op == LZ_N_AFFINE ? 0 : 4;
    return weights[n->op] ? weights[n->op] : n->op < LZ_KOP_COUNT && n->op >= LZ_K_GCD ? 16 : 1;
}

/* Of computing an element value again, up to a bound. */
static int cone_cost(const lz_eplan *p, const lz_variant *v, uint32_t root, int walk)
{
    uint32_t seen[CONE_MOST] = { root };
    int cost = 0, count = 1;
    for (int at = 0; at < count && cost < KEEP_COST; at++) {
        const lz_knode *n = node(p, seen[at]);
        cost += weight(p, v, n);
        for (int k = lz_knode_operands(n); k-- > 0;) {
            bool inside = p->level[n->in[k]] == LZ_LEVEL_ELEMENT && !read_back(p, n->in[k], walk);
            for (int i = 0; inside && i < count; i++)
                inside = seen[i] != n->in[k];
            if (inside && count < CONE_MOST)
                seen[count++] = n->in[k];
        }
    }
    return cost;
}

/* The values that this walk takes from what earlier ones computed. */
static void mark_frontier(const lz_eplan *p, const lz_variant *v, int walk, const uint8_t *first, bool *out)
{
    memset(out, 0, p->ir->nodes.len * sizeof *out);
    for (uint32_t i = 0; i < p->ir->nodes.len; i++) {
        const lz_knode *n = node(p, i);
        bool root = n->op == LZ_N_REDUCE && n->stage == walk + 1;
        bool fresh = p->need[walk][i] && p->level[i] == LZ_LEVEL_ELEMENT && first[i] == walk;
        int inputs = root || fresh ? lz_knode_operands(n) : 0;
        for (int k = 0; k < inputs; k++)
            out[n->in[k]] = true;
    }
    for (size_t i = 0; i < p->ir->stores.len; i++) {
        const lz_kstore *s = &p->ir->stores.data[i];
        if (lz_eplan_stores_row(p, v, s) && node(p, s->value)->stage == walk)
            out[s->value] = true;
    }
}

static void keep_value(lz_eplan *p, uint32_t v, uint8_t made)
{
    p->row += (int64_t)lz_ktype_size((lz_ktype)node(p, v)->type);
    p->keep[v] = (int32_t)p->row;
    p->made[v] = made;
}

static void find_first(const lz_eplan *p, uint8_t *first)
{
    for (uint32_t v = 0; v < p->ir->nodes.len; v++) {
        first[v] = UINT8_MAX;
        for (int w = p->walks; w-- > 0;)
            first[v] = p->need[w][v] ? (uint8_t)w : first[v];
    }
}

static lz_err *keep_values(lz_eplan *p, const lz_variant *v)
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

int lz_eplan_operations(const lz_eplan *p, int walk)
{
    int n = 0;
    for (uint32_t v = 0; v < p->ir->nodes.len; v++)
        n += p->need[walk][v] && p->level[v] == LZ_LEVEL_ELEMENT && node(p, v)->op != LZ_N_CONST;
    return n;
}

/* Does it reduce elements that come from memory and are needed once, so that the loop itself is a good
 * part of what is done? A sum gains 4 to 7 % by longer steps, where the first walk of a softmax loses 6. */
static bool only_reads(const lz_eplan *p)
{
    enum { READ = 2 };
    bool reduces = false;
    for (uint32_t v = 0; v < p->ir->nodes.len; v++)
        reduces = reduces || node(p, v)->op == LZ_N_REDUCE;
    return reduces && p->walks == 1 && lz_eplan_operations(p, 0) <= READ;
}

/* To find a vector's piece takes longer than to read it: the fewer vectors, the better. */
static bool has_pieces(const lz_eplan *p, const lz_variant *v)
{
    bool has = false;
    for (size_t a = 0; a < p->ir->access.len; a++)
        has = has || v->run[a] == LZ_RUN_PIECES;
    return has;
}

/* Half as many lanes where every element takes 8 bytes. */
static int choose_lanes(const lz_eplan *p, const lz_variant *variant, const lz_target *t)
{
    bool wide = false, narrow = false;
    int lanes = p->only_reads && !has_pieces(p, variant) ? t->reads : t->lanes;
    for (uint32_t v = 0; v < p->ir->nodes.len; v++) {
        if (p->level[v] == LZ_LEVEL_UNIFORM)
            continue;
        size_t size = lz_ktype_size((lz_ktype)node(p, v)->type);
        wide = wide || size == 8;
        narrow = narrow || size == 4;
    }
    return wide && !narrow ? lanes / 2 : lanes;
}

static bool has_index(const lz_knode *n)
{
    return n->attr == LZ_K_RARGMAX || n->attr == LZ_K_RARGMIN;
}

static int64_t up(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static int64_t state_size(const lz_kir *ir, const lz_knode *n)
{
    return (int64_t)lz_ktype_size((lz_ktype)ir->nodes.data[n->in[0]].type);
}

static int64_t total_size(const lz_kir *ir, const lz_knode *n)
{
    lz_ktype type = (lz_ktype)ir->nodes.data[n->in[0]].type;
    return (int64_t)lz_ktype_size(lz_kreduce_total((lz_kreduce)n->attr, type));
}

lz_estate_room lz_estate_row_room(const lz_kir *ir, const lz_knode *n)
{
    int64_t lanes = n->op == LZ_N_SCAN ? 0 : LZ_ROW_LANES;
    lz_estate_room r = { .block = up(lanes * state_size(ir, n)) };
    r.total = r.block + (lanes ? up(LZ_ROW_SUMS * total_size(ir, n)) : 0);
    r.indices = r.total + 64;
    r.bytes = r.indices + (has_index(n) ? up((int64_t)(LZ_ROW_LANES + LZ_ROW_SUMS) * 8) + 64 : 0);
    return r;
}

static void place_states(lz_eplan *p)
{
    for (uint32_t v = 0; v < p->ir->nodes.len; v++) {
        const lz_knode *n = node(p, v);
        if (n->op != LZ_N_REDUCE && n->op != LZ_N_SCAN)
            continue;
        p->state[v] = p->scratch;
        p->scratch += lz_estate_row_room(p->ir, n).bytes;
    }
}

/* Is an outer value read by elements, or by outer code of another stage? */
static bool read_elsewhere(const lz_eplan *p, uint32_t v)
{
    bool is = false;
    for (int w = 0; !is && w < p->walks; w++)
        is = p->need[w][v];
    for (uint32_t u = v + 1; !is && u < p->ir->nodes.len; u++) {
        const lz_knode *n = node(p, u);
        int inputs = n->op != LZ_N_REDUCE && p->level[u] == LZ_LEVEL_OUTER ? lz_knode_operands(n) : 0;
        for (int k = 0; k < inputs; k++)
            is = is || (n->in[k] == v && n->stage != node(p, v)->stage);
    }
    return is;
}

/* Bytes per column of a state or an outer value. */
static int64_t column_bytes(const lz_eplan *p, uint32_t v)
{
    const lz_knode *n = node(p, v);
    if (n->op == LZ_N_REDUCE || n->op == LZ_N_SCAN) {
        int64_t index = has_index(n) ? 8 : 0, lane = state_size(p->ir, n) + index,
                total = total_size(p->ir, n) + index;
        return n->op == LZ_N_SCAN ? lane : LZ_COLUMN_LANES * lane + (int64_t)2 * LZ_COLUMN_SUMS * total;
    }
    bool kept = p->level[v] == LZ_LEVEL_OUTER && read_elsewhere(p, v);
    return kept ? (int64_t)lz_ktype_size((lz_ktype)n->type) : 0;
}

static lz_err *place_columns(lz_eplan *p)
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

static lz_err *check_accesses(const lz_kir *ir)
{
    for (size_t i = 0; i < ir->access.len; i++) {
        const lz_kuse *u = &ir->access.data[i];
        if (u->affine && (u->loads || u->stores))
            return lz_errf(LZ_ERR_UNSUPPORTED, "access %zu is memory and an index", i);
    }
    return NULL;
}

static lz_err *make_plan(lz_eplan *p, const lz_variant *v, const lz_target *t, bool keeps)
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

lz_err *lz_eplan_init(lz_eplan *p, const lz_kir *ir, const lz_variant *v, const lz_target *t, bool keeps)
{
    *p = (lz_eplan){ .ir = ir };
    lz_arena_init(&p->arena);
    lz_err *e = make_plan(p, v, t, keeps);
    if (e)
        lz_eplan_deinit(p);
    return e;
}

void lz_eplan_deinit(lz_eplan *p)
{
    lz_arena_deinit(&p->arena);
}
