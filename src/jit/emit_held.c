/* Rows: all lanes of a walk's reductions in registers, and the sums of the block with them. A reduction
 * has its lanes as a few vectors, its pieces; what is held are the pieces of one after those of the
 * other. */
#include "jit/emit.h"
#include "jit/program.h"

static const lz_knode *node(const lz_em *e, uint32_t v)
{
    return &e->ir->nodes.data[v];
}

static int pieces(const lz_em *e)
{
    return LZ_ROW_LANES / e->p->vec;
}

int lz_em_held(const lz_em *e, int walk)
{
    int held = 0, most = lz_em_row_does_little(e, walk) ? e->t->held : e->t->held_beside;
    bool fits = true;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        bool reduces = lz_em_reduces_in(e, v, walk);
        held += reduces ? pieces(e) : 0;
        fits = fits && !(reduces && lz_em_has_index(node(e, v)));
    }
    return fits && held <= most ? held : 0;
}

/* ---- loops that hand values from one step to the next ---- */

lz_ehanding lz_em_hand_on(lz_em *e, lz_lvalue *from, lz_lvalue *to, lz_lvalue *step, lz_lvalue **x, int n)
{
    lz_ehanding h = { .enter = e->l->GetInsertBlock(e->b), .x = x, .n = n };
    h.loop = lz_em_loop(e, from, to, step);
    for (int i = 0; i < n; i++) {
        h.before[i] = x[i];
        h.phi[i] = e->l->BuildPhi(e->b, e->l->TypeOf(x[i]), "");
        e->l->AddIncoming(h.phi[i], &x[i], &h.enter, 1);
        x[i] = h.phi[i];
    }
    return h;
}

void lz_em_hand_on_end(lz_em *e, lz_ehanding *h)
{
    lz_lblock *last = e->l->GetInsertBlock(e->b);
    for (int i = 0; i < h->n; i++)
        e->l->AddIncoming(h->phi[i], &h->x[i], &last, 1);
    lz_em_loop_end(e, &h->loop);
    for (int i = 0; i < h->n; i++)
        h->x[i] = lz_em_phi(e, h->before[i], h->enter, h->x[i], last);
}

/* ---- a chunk ---- */

/* One vector: the first piece of each reduction takes it and becomes the last. */
static void turn(lz_em *e, int walk, lz_lvalue *to, lz_lvalue **held, int n)
{
    lz_lvalue *first[LZ_EM_HELD] = { NULL };
    int each = pieces(e);
    for (int i = 0; i < n; i += each)
        first[i / each] = held[i];
    e->lanes = e->p->vec;
    e->mask = to ? lz_em_mask(e, to) : NULL;
    e->held = first;
    lz_em_row_body(e, walk);
    e->held = NULL;
    e->mask = e->at = NULL;
    e->lanes = 1;
    for (int i = 0; i < n; i += each) {
        for (int k = 0; k + 1 < each; k++)
            held[i + k] = held[i + k + 1];
        held[i + each - 1] = first[i / each];
    }
}

/* Vectors from `from` to `end`, whole turns. to: the elements from there on do not count; NULL: all
 * do, and a step of the loop may be as many vectors as there are pieces, which then stay where
 * they are: for a sum, and where there are many to move. */
static void turn_loop(lz_em *e, int walk, lz_lvalue *from, lz_lvalue *end, lz_lvalue *to, lz_lvalue **held,
                      int n)
{
    enum { MANY = 8 };
    bool still = !to && (e->p->only_reads || pieces(e) >= MANY);
    int64_t steps = still ? pieces(e) : 1;
    lz_ehanding h = lz_em_hand_on(e, from, end, lz_em_i64(e, steps * e->p->vec), held, n);
    for (int64_t i = 0; i < steps; i++) {
        e->at = e->l->BuildAdd(e->b, h.loop.i, lz_em_i64(e, i * e->p->vec), "");
        turn(e, walk, to, held, n);
    }
    lz_em_hand_on_end(e, &h);
}

/* Less than a turn, without masks: single elements find their lanes in memory. */
static void rest(lz_em *e, int walk, lz_lvalue *from, lz_lvalue *to, lz_lvalue **held, int n)
{
    lz_lblock *some = lz_em_block(e, "some"), *done = lz_em_block(e, "done");
    lz_lblock *before = e->l->GetInsertBlock(e->b);
    lz_lvalue *after[LZ_EM_HELD];
    lz_em_branch(e, e->l->BuildICmp(e->b, LZ_L_SLT, from, to, ""), some, done);
    lz_em_at(e, some);
    lz_em_row_put_lanes(e, walk, held);
    lz_em_row_stretch(e, walk, from, to);
    lz_em_row_get_lanes(e, walk, after);
    lz_lblock *last = e->l->GetInsertBlock(e->b);
    lz_em_go(e, done);
    lz_em_at(e, done);
    for (int i = 0; i < n; i++)
        held[i] = lz_em_phi(e, held[i], before, after[i], last);
}

/* Whole turns, as many at once as lie side by side, then the one that may not. */
static void turn_lines(lz_em *e, int walk, lz_lvalue *from, lz_lvalue *to, lz_lvalue **held, int n)
{
    lz_eline line;
    lz_lvalue *turn_size = lz_em_i64(e, LZ_ROW_LANES);
    lz_ehanding h = lz_em_hand_on(e, from, to, turn_size, held, n);
    lz_lvalue *at = h.loop.i, *length = lz_em_down_to(e, lz_em_line_length(e, at, to), LZ_ROW_LANES);
    lz_lvalue *end = e->l->BuildAdd(e->b, at, length, "");
    lz_em_line_begin(e, at, &line);
    turn_loop(e, walk, at, end, NULL, held, n);
    lz_em_line_end(e, &line);
    turn_loop(e, walk, end, lz_em_least(e, e->l->BuildAdd(e->b, end, turn_size, ""), to), NULL, held, n);
    h.loop.step = e->l->BuildAdd(e->b, length, turn_size, "");
    lz_em_hand_on_end(e, &h);
}

/* Elements [from, to). Under a mask the last vectors may have no lane that counts. */
static void turns(lz_em *e, int walk, lz_lvalue *from, lz_lvalue *to, lz_lvalue **held, int n)
{
    lz_lvalue *up = e->l->BuildAdd(e->b, to, lz_em_i64(e, LZ_ROW_LANES - 1), "");
    bool pieces = lz_em_has_pieces(e);
    if (!e->t->masked || pieces || lz_em_row_does_little(e, walk)) {
        lz_lvalue *whole = lz_em_down_to(e, to, LZ_ROW_LANES);
        if (pieces)
            turn_lines(e, walk, from, whole, held, n);
        else
            turn_loop(e, walk, from, whole, NULL, held, n);
        from = whole;
    }
    if (e->t->masked)
        turn_loop(e, walk, from, lz_em_down_to(e, up, LZ_ROW_LANES), to, held, n);
    else
        rest(e, walk, from, to, held, n);
}

/* ---- a block ---- */

static int sum_pieces(const lz_em *e)
{
    return LZ_ROW_SUMS / e->p->vec;
}

static int count_reductions(const lz_em *e, int walk)
{
    int n = 0;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++)
        n += lz_em_reduces_in(e, v, walk);
    return n;
}

typedef int type_fn(const lz_em *e, const lz_knode *n);

/* `each` vectors for each reduction. */
static void neutral(lz_em *e, int walk, type_fn *type, int each, lz_lvalue **held)
{
    e->lanes = e->p->vec;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        for (int i = 0; lz_em_reduces_in(e, v, walk) && i < each; i++)
            *held++ = lz_em_neutral(e, node(e, v), type(e, node(e, v))).x;
    }
    e->lanes = 1;
}

/* A chunk's lanes of one reduction to the sums of its block. */
static void fold_one(lz_em *e, const lz_knode *n, lz_lvalue **sums, lz_lvalue *const *chunk)
{
    lz_ebest s[LZ_EM_HELD];
    for (int i = 0; i < pieces(e); i++)
        s[i] = (lz_ebest){ chunk[i], NULL };
    lz_em_halve(e, n, lz_em_state_type(e, n), s, pieces(e), sum_pieces(e));
    for (int i = 0; i < sum_pieces(e); i++) {
        lz_ebest sum = { sums[i], NULL };
        sums[i] = lz_em_merge(e, n, lz_em_total_type(e, n), sum, lz_em_widen(e, n, s[i])).x;
    }
}

static void fold(lz_em *e, int walk, lz_lvalue **sums, lz_lvalue *const *chunk)
{
    e->lanes = e->p->vec;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (!lz_em_reduces_in(e, v, walk))
            continue;
        fold_one(e, node(e, v), sums, chunk);
        sums += sum_pieces(e);
        chunk += pieces(e);
    }
    e->lanes = 1;
}

void lz_em_held_block(lz_em *e, int walk, lz_lvalue *from, lz_lvalue *end)
{
    lz_lvalue *size = lz_em_i64(e, LZ_ROW_CHUNK), *chunk[LZ_EM_HELD];
    int n = lz_em_held(e, walk);
    neutral(e, walk, lz_em_total_type, sum_pieces(e), e->sums);
    lz_ehanding h = lz_em_hand_on(e, from, end, size, e->sums, count_reductions(e, walk) * sum_pieces(e));
    neutral(e, walk, lz_em_state_type, pieces(e), chunk);
    turns(e, walk, h.loop.i, lz_em_least(e, e->l->BuildAdd(e->b, h.loop.i, size, ""), end), chunk, n);
    fold(e, walk, e->sums, chunk);
    lz_em_hand_on_end(e, &h);
}

lz_lvalue **lz_em_held_sums(lz_em *e, uint32_t reduction)
{
    lz_lvalue **sums = e->sums;
    for (uint32_t v = 0; v < reduction; v++)
        sums += lz_em_reduces_in(e, v, node(e, reduction)->stage - 1) ? sum_pieces(e) : 0;
    return sums;
}
