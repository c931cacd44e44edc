#include "jit/fused_instr.h"
#include "base/mem.h"
#include <string.h>

typedef struct finder {
    const lz_kernel_ir *ir;
    const lz_tile_table *tiles;
    lz_fused_instr *out;
    uint16_t *uses;
} finder;

static const lz_kernel_node *node(const finder *f, uint32_t v)
{
    return &f->ir->nodes.data[v];
}

static bool floating(const lz_kernel_node *n)
{
    return n->type == LZ_KERNEL_F32 || n->type == LZ_KERNEL_F64;
}

/* May v be computed inside `user`, without a tile of its own? */
static bool hidden(const finder *f, const lz_kernel_node *user, uint32_t v)
{
    const lz_kernel_node *n = node(f, v);
    return f->uses[v] == 1 && n->level == user->level && n->stage == user->stage
           && n->level != LZ_LEVEL_UNIFORM && !f->out[v].fn && !f->out[v].inside;
}

/* A pattern's nodes; the first is the root. An operand is the number of a node, X (the one input) or K (a
 * constant). */
enum { X = -1, K = -2, PATTERN = 10 };

typedef struct pattern_node {
    uint8_t op;
    int8_t a, b;
    double k;
} pattern_node;

typedef struct pattern {
    lz_fused_instrs fused;
    pattern_node nodes[PATTERN];
} pattern;

static const pattern patterns[] = {
    /* x / (1 + exp(-sqrt(8/pi) (x + 0.044715 x x x))), as the operator writes it: equals the next two,
     * without cancellation */
    { LZ_FUSED_GELU,
      { { LZ_KERNEL_DIV, X, 1, 0 },
        { LZ_KERNEL_ADD, 2, K, 1 },
        { LZ_KERNEL_EXP, 3, 0, 0 },
        { LZ_KERNEL_MUL, X, 4, 0 },
        { LZ_KERNEL_SUB, 5, K, 1.5957691216057308 },
        { LZ_KERNEL_MUL, 6, K, -0.044715 * 1.5957691216057308 },
        { LZ_KERNEL_MUL, X, X, 0 } } },
    /* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x x x))), the cube multiplied from either side */
    { LZ_FUSED_GELU_TANH,
      { { LZ_KERNEL_MUL, 1, 2, 0 },
        { LZ_KERNEL_MUL, X, K, 0.5 },
        { LZ_KERNEL_ADD, 3, K, 1 },
        { LZ_KERNEL_TANH, 4, 0, 0 },
        { LZ_KERNEL_MUL, 5, K, 0.79788456080286541 },
        { LZ_KERNEL_ADD, X, 6, 0 },
        { LZ_KERNEL_MUL, 7, X, 0 },
        { LZ_KERNEL_MUL, 8, X, 0 },
        { LZ_KERNEL_MUL, X, K, 0.044715 } } },
    { LZ_FUSED_GELU_TANH_CUBE,
      { { LZ_KERNEL_MUL, 1, 2, 0 },
        { LZ_KERNEL_MUL, X, K, 0.5 },
        { LZ_KERNEL_ADD, 3, K, 1 },
        { LZ_KERNEL_TANH, 4, 0, 0 },
        { LZ_KERNEL_MUL, 5, K, 0.79788456080286541 },
        { LZ_KERNEL_ADD, X, 6, 0 },
        { LZ_KERNEL_MUL, 7, K, 0.044715 },
        { LZ_KERNEL_MUL, 8, X, 0 },
        { LZ_KERNEL_MUL, X, X, 0 } } },
    { LZ_FUSED_GELU_ERF, { { LZ_KERNEL_MUL, X, 1, 0 }, { LZ_KERNEL_NORMAL_CDF, X, 0, 0 } } },
    { LZ_FUSED_SILU,
      { { LZ_KERNEL_DIV, X, 1, 0 },
        { LZ_KERNEL_ADD, 2, K, 1 },
        { LZ_KERNEL_EXP, 3, 0, 0 },
        { LZ_KERNEL_NEG, X, 0, 0 } } },
    { LZ_FUSED_LOGISTIC,
      { { LZ_KERNEL_DIV, K, 1, 1 },
        { LZ_KERNEL_ADD, 2, K, 1 },
        { LZ_KERNEL_EXP, 3, 0, 0 },
        { LZ_KERNEL_NEG, X, 0, 0 } } },
    { LZ_FUSED_SILU_MUL, { { LZ_KERNEL_MUL, X, 1, 0 }, { LZ_KERNEL_SIGMOID, X, 0, 0 } } },
};

typedef struct match {
    const pattern_node *p;
    uint32_t at[PATTERN], x;
    int n; /* nodes bound; at[0] is the root */
    bool has_x;
} match;

static bool constant(const lz_kernel_node *n, double k)
{
    float f = (float)k;
    int64_t bits = 0;
    memcpy(&bits, n->type == LZ_KERNEL_F32 ? (const void *)&f : &k,
           lz_kernel_type_size((lz_kernel_type)n->type));
    return n->op == LZ_KERNEL_NODE_CONST && n->bits == bits;
}

static bool fits(const finder *f, match *m, int at, uint32_t v);

/* Matches one operand of a pattern's node. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a pattern */
static bool fits_operand(const finder *f, match *m, int8_t want, double k, uint32_t v)
{
    if (want == K)
        return constant(node(f, v), k);
    if (want != X)
        return hidden(f, node(f, m->at[0]), v) && fits(f, m, want, v);
    bool fresh = !m->has_x;
    m->x = fresh ? v : m->x;
    m->has_x = true;
    return m->x == v;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as a pattern */
static bool fits(const finder *f, match *m, int at, uint32_t v)
{
    const lz_kernel_node *n = node(f, v);
    const pattern_node *p = &m->p[at];
    if (n->op != p->op)
        return false;
    m->at[m->n++] = v;
    int count = lz_kernel_node_operands(n);
    if (count == 1)
        return fits_operand(f, m, p->a, p->k, n->in[0]);
    match before = *m;
    if (fits_operand(f, m, p->a, p->k, n->in[0]) && fits_operand(f, m, p->b, p->k, n->in[1]))
        return true;
    *m = before;
    bool turns = n->op == LZ_KERNEL_ADD || n->op == LZ_KERNEL_MUL;
    return turns && fits_operand(f, m, p->a, p->k, n->in[1]) && fits_operand(f, m, p->b, p->k, n->in[0]);
}

static bool find_pattern(finder *f, uint32_t v)
{
    const lz_kernel_node *n = node(f, v);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        match m = { .p = patterns[i].nodes, .at = { v } };
        lz_tile_fn *fn = f->tiles->fused[patterns[i].fused][n->type == LZ_KERNEL_F64];
        if (!fn || !fits(f, &m, 0, v))
            continue;
        f->out[v] = (lz_fused_instr){ .fn = fn, .in = { m.x }, .n = 1 };
        for (int k = 1; k < m.n; k++)
            f->out[m.at[k]].inside = true;
        return true;
    }
    return false;
}

static bool take(finder *f, uint32_t v, uint32_t inner, lz_tile_fn *fn, const uint32_t in[4], int n)
{
    if (!fn)
        return false;
    f->out[v] = (lz_fused_instr){ .fn = fn, .n = (uint8_t)n };
    memcpy(f->out[v].in, in, sizeof f->out[v].in);
    f->out[inner].inside = true;
    return true;
}

/* select(x op y, z, w) */
static bool find_choice(finder *f, uint32_t v)
{
    const lz_kernel_node *n = node(f, v);
    if (n->op != LZ_KERNEL_SELECT || !hidden(f, n, n->in[0]))
        return false;
    const lz_kernel_node *c = node(f, n->in[0]);
    if (c->op < LZ_KERNEL_EQ || c->op > LZ_KERNEL_LE || node(f, c->in[0])->type != n->type || !floating(n))
        return false;
    lz_tile_fn *fn = f->tiles->choose[c->op - LZ_KERNEL_EQ][n->type == LZ_KERNEL_F64];
    return take(f, v, n->in[0], fn, (const uint32_t[4]){ c->in[0], c->in[1], n->in[1], n->in[2] }, 4);
}

/* The tile function for second(first(x, y), z). swapped: z is the first operand of `second`. */
static lz_tile_fn *pair(const finder *f, int first, int second, bool swapped)
{
    static const uint8_t firsts[LZ_KERNEL_NODE_COUNT] = { [LZ_KERNEL_ADD] = 1,
                                                          [LZ_KERNEL_SUB] = 2,
                                                          [LZ_KERNEL_MUL] = 3,
                                                          [LZ_KERNEL_MAX] = 4,
                                                          [LZ_KERNEL_MIN] = 5 };
    static const uint8_t seconds[LZ_KERNEL_NODE_COUNT][2] = {
        [LZ_KERNEL_ADD] = { 1, 1 }, [LZ_KERNEL_SUB] = { 2, 3 },  [LZ_KERNEL_MUL] = { 4, 4 },
        [LZ_KERNEL_DIV] = { 5, 6 }, [LZ_KERNEL_MAX] = { 7, 0 },  [LZ_KERNEL_MIN] = { 8, 0 },
        [LZ_KERNEL_ABS] = { 9, 0 }, [LZ_KERNEL_NEG] = { 10, 0 },
    };
    int a = firsts[first], b = seconds[second][swapped];
    return a && b ? f->tiles->pair[a - 1][b - 1] : NULL;
}

static bool find_pair(finder *f, uint32_t v)
{
    const lz_kernel_node *n = node(f, v);
    int count = lz_kernel_node_operands(n);
    if (n->type != LZ_KERNEL_F32 || count > 2)
        return false;
    for (int side = 0; side < count; side++) {
        const lz_kernel_node *x = node(f, n->in[side]);
        if (x->type != LZ_KERNEL_F32 || lz_kernel_node_operands(x) != 2 || !hidden(f, n, n->in[side]))
            continue;
        uint32_t in[4] = { x->in[0], x->in[1], count == 2 ? n->in[!side] : x->in[0], 0 };
        if (take(f, v, n->in[side], pair(f, x->op, n->op, side), in, count + 1))
            return true;
    }
    return false;
}

/* An operation of f64 on one value that is f32 and one that is not. */
static bool find_wide(finder *f, uint32_t v)
{
    static const lz_tile_wide of[LZ_KERNEL_NODE_COUNT][2] = { [LZ_KERNEL_ADD] = { LZ_WIDE_ADD, LZ_WIDE_ADD },
                                                              [LZ_KERNEL_SUB] = { LZ_WIDE_SUB, LZ_WIDE_BUS },
                                                              [LZ_KERNEL_MUL] = { LZ_WIDE_MUL,
                                                                                  LZ_WIDE_MUL } };
    const lz_kernel_node *n = node(f, v);
    bool one_of = n->op == LZ_KERNEL_ADD || n->op == LZ_KERNEL_SUB || n->op == LZ_KERNEL_MUL;
    if (n->type != LZ_KERNEL_F64 || !one_of)
        return false;
    for (int side = 0; side < 2; side++) {
        const lz_kernel_node *x = node(f, n->in[side]);
        bool alone = f->uses[n->in[side]] == 1 && x->level == n->level && !f->out[n->in[side]].inside;
        if (!alone || x->op != LZ_KERNEL_NODE_CAST || node(f, x->in[0])->type != LZ_KERNEL_F32)
            continue;
        const uint32_t in[4] = { x->in[0], n->in[!side], 0, 0 };
        if (take(f, v, n->in[side], f->tiles->wide[of[n->op][side]], in, 2))
            return true;
    }
    return false;
}

static void count_uses(finder *f)
{
    for (size_t v = 0; v < f->ir->nodes.len; v++) {
        const lz_kernel_node *n = node(f, (uint32_t)v);
        int count = lz_kernel_node_operands(n);
        for (int k = 0; k < count; k++)
            f->uses[n->in[k]]++;
    }
    for (size_t i = 0; i < f->ir->stores.len; i++)
        f->uses[f->ir->stores.data[i].value]++;
}

static bool casts(const finder *f, const lz_kernel_node *n)
{
    int from = lz_kernel_node_operands(n) == 1 ? node(f, n->in[0])->type : -1;
    return n->op == LZ_KERNEL_NODE_CAST
           && ((from == LZ_KERNEL_I32 && n->type == LZ_KERNEL_I64)
               || (from == LZ_KERNEL_F32 && n->type == LZ_KERNEL_F64));
}

/* Is x the cast of a load that nothing else uses, of a dtype whose memory a sum can read itself? */
static bool casts_memory(const finder *f, uint32_t x)
{
    uint32_t v = node(f, x)->in[0];
    const lz_kernel_node *load = node(f, v);
    return load->op == LZ_KERNEL_NODE_LOAD && load->level == LZ_LEVEL_ELEMENT && f->uses[x] == 1
           && f->uses[v] == 1 && node(f, x)->type == LZ_KERNEL_I64
           && f->tiles->widen_dtype[f->ir->access.data[load->attr].dtype];
}

/* Finds a reduction along rows that can compute its operand itself. A walk that needs the operand for
 * something else computes it too. */
static void find_form(finder *f, uint32_t v)
{
    const lz_kernel_node *n = node(f, v);
    if (n->op != LZ_KERNEL_NODE_REDUCE || f->ir->mode != LZ_KERNEL_ROWS)
        return;
    const lz_kernel_node *x = node(f, n->in[0]);
    if (x->level != LZ_LEVEL_ELEMENT)
        return;
    if (casts(f, x) && f->tiles->widen[n->attr][x->type]) {
        bool memory = n->attr == LZ_KERNEL_RSUM && casts_memory(f, n->in[0]);
        f->out[v] =
            (lz_fused_instr){ .form = memory ? LZ_FORM_DTYPE : LZ_FORM_WIDEN, .in = { x->in[0] }, .n = 1 };
        f->uses[n->in[0]]--; /* the reduction reads what is cast */
        f->uses[x->in[0]]++;
    }
    bool products = n->attr == LZ_KERNEL_RSUM && x->op == LZ_KERNEL_MUL && f->tiles->products[x->type];
    if (products && f->uses[n->in[0]] == 1) {
        f->out[v] = (lz_fused_instr){ .form = LZ_FORM_PRODUCTS, .in = { x->in[0], x->in[1] }, .n = 2 };
        f->out[n->in[0]].inside = true; /* so that no fused instruction hides the factors in it */
    }
}

/* lo <= x < hi of i64: the mask of a padded access */
static void find_range(finder *f, uint32_t v)
{
    const lz_kernel_node *n = node(f, v);
    if (n->op != LZ_KERNEL_AND || n->type != LZ_KERNEL_BOOL || n->level == LZ_LEVEL_UNIFORM)
        return;
    for (int side = 0; side < 2; side++) {
        uint32_t low = n->in[side], high = n->in[!side];
        const lz_kernel_node *l = node(f, low), *h = node(f, high);
        if (l->op != LZ_KERNEL_LE || h->op != LZ_KERNEL_LT || l->in[1] != h->in[0] || !hidden(f, n, low)
            || !hidden(f, n, high) || node(f, h->in[0])->type != LZ_KERNEL_I64)
            continue;
        f->out[v] =
            (lz_fused_instr){ .fn = f->tiles->within, .in = { h->in[0], l->in[0], h->in[1] }, .n = 3 };
        f->out[low].inside = f->out[high].inside = true;
        return;
    }
}

/* Long patterns first, so that no pair takes a part of one. Within a kind, users before operands. */
lz_err *lz_fused_instr_find(const lz_kernel_ir *ir, const lz_tile_table *tiles, lz_fused_instr *out)
{
    static bool (*const kinds[])(finder * f, uint32_t v) = { find_pattern, find_choice, find_pair,
                                                             find_wide };
    finder f = { .ir = ir, .tiles = tiles, .out = out };
    f.uses = lz_mem_zalloc(ir->nodes.len + 1, sizeof *f.uses);
    if (!f.uses)
        return lz_err_oom();
    count_uses(&f);
    for (uint32_t v = 0; v < ir->nodes.len; v++) {
        find_form(&f, v);
        find_range(&f, v);
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (size_t v = ir->nodes.len; v-- > 0;) {
            const lz_kernel_node *n = node(&f, (uint32_t)v);
            bool free_ = !out[v].fn && !out[v].inside && n->level != LZ_LEVEL_UNIFORM;
            if (free_ && n->op < LZ_KERNEL_OP_COUNT && floating(n))
                kinds[k](&f, (uint32_t)v);
        }
    }
    lz_mem_free(f.uses);
    return NULL;
}
