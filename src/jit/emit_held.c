/* Rows: keeps all lanes of a walk's reductions, and the sums of the block, in registers. The lanes of one
 * reduction are a few vectors, its pieces. `held` lists the pieces of the first reduction, then those of the
 * next. */
#include "jit/emitter.h"
#include "jit/program.h"

static const lz_kernel_node *node(const lz_emitter *e, uint32_t v)
{
    return &e->ir->nodes.data[v];
}

static int pieces(const lz_emitter *e)
{
    return LZ_ROW_LANES / e->p->vec;
}

int lz_emit_held(const lz_emitter *e, int walk)
{
    int held = 0, most = lz_emit_row_does_little(e, walk) ? e->t->held : e->t->held_beside;
    bool fits = true;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        bool reduces = lz_emit_reduces_in(e, v, walk);
        held += reduces ? pieces(e) : 0;
        fits = fits && !(reduces && lz_emit_has_index(node(e, v)));
    }
    return fits && held <= most ? held : 0;
}

/* ---- loops with values carried from one step to the next ---- */

lz_emit_handover lz_emit_hand_on(lz_emitter *e, lz_llvm_value *from, lz_llvm_value *to, lz_llvm_value *step,
                                 lz_llvm_value **x, int n)
{
    lz_emit_handover h = { .enter = e->l->GetInsertBlock(e->b), .x = x, .n = n };
    h.loop = lz_emit_loop(e, from, to, step);
    for (int i = 0; i < n; i++) {
        h.before[i] = x[i];
        h.phi[i] = e->l->BuildPhi(e->b, e->l->TypeOf(x[i]), "");
        e->l->AddIncoming(h.phi[i], &x[i], &h.enter, 1);
        x[i] = h.phi[i];
    }
    return h;
}

void lz_emit_hand_on_end(lz_emitter *e, lz_emit_handover *h)
{
    lz_llvm_block *last = e->l->GetInsertBlock(e->b);
    for (int i = 0; i < h->n; i++)
        e->l->AddIncoming(h->phi[i], &h->x[i], &last, 1);
    lz_emit_loop_end(e, &h->loop);
    for (int i = 0; i < h->n; i++)
        h->x[i] = lz_emit_phi(e, h->before[i], h->enter, h->x[i], last);
}

/* ---- a chunk ---- */

/* Processes one vector: the first piece of each reduction accumulates it and moves to the end. */
static void turn(lz_emitter *e, int walk, lz_llvm_value *to, lz_llvm_value **held, int n)
{
    lz_llvm_value *first[LZ_EMIT_HELD] = { NULL };
    int each = pieces(e);
    for (int i = 0; i < n; i += each)
        first[i / each] = held[i];
    e->lanes = e->p->vec;
    e->mask = to ? lz_emit_mask(e, to) : NULL;
    e->held = first;
    lz_emit_row_body(e, walk);
    e->held = NULL;
    e->mask = e->at = NULL;
    e->lanes = 1;
    for (int i = 0; i < n; i += each) {
        for (int k = 0; k + 1 < each; k++)
            held[i + k] = held[i + k + 1];
        held[i + each - 1] = first[i / each];
    }
}

/* Processes the vectors of [from, end), a multiple of LZ_ROW_LANES elements. to: elements from `to` on are
 * masked off. NULL: no mask; then one step of the loop may process as many vectors as there are pieces, so
 * that the pieces need no moves. This pays for a plain sum, and if there are many pieces. */
static void turn_loop(lz_emitter *e, int walk, lz_llvm_value *from, lz_llvm_value *end, lz_llvm_value *to,
                      lz_llvm_value **held, int n)
{
    enum { MANY = 8 };
    bool still = !to && (e->p->only_reads || pieces(e) >= MANY);
    int64_t steps = still ? pieces(e) : 1;
    lz_emit_handover h = lz_emit_hand_on(e, from, end, lz_emit_i64(e, steps * e->p->vec), held, n);
    for (int64_t i = 0; i < steps; i++) {
        e->at = e->l->BuildAdd(e->b, h.loop.i, lz_emit_i64(e, i * e->p->vec), "");
        turn(e, walk, to, held, n);
    }
    lz_emit_hand_on_end(e, &h);
}

/* The rest, shorter than LZ_ROW_LANES, without masks: spills the lanes to memory, where single elements find
 * their lanes. */
static void rest(lz_emitter *e, int walk, lz_llvm_value *from, lz_llvm_value *to, lz_llvm_value **held, int n)
{
    lz_llvm_block *some = lz_emit_block(e, "some"), *done = lz_emit_block(e, "done");
    lz_llvm_block *before = e->l->GetInsertBlock(e->b);
    lz_llvm_value *after[LZ_EMIT_HELD];
    lz_emit_branch(e, e->l->BuildICmp(e->b, LZ_LLVM_SLT, from, to, ""), some, done);
    lz_emit_at(e, some);
    lz_emit_row_put_lanes(e, walk, held);
    lz_emit_row_stretch(e, walk, from, to);
    lz_emit_row_get_lanes(e, walk, after);
    lz_llvm_block *last = e->l->GetInsertBlock(e->b);
    lz_emit_go(e, done);
    lz_emit_at(e, done);
    for (int i = 0; i < n; i++)
        held[i] = lz_emit_phi(e, held[i], before, after[i], last);
}

/* Multiples of LZ_ROW_LANES elements: as many at once as are contiguous, then one that may cross a piece's
 * end. */
static void turn_lines(lz_emitter *e, int walk, lz_llvm_value *from, lz_llvm_value *to, lz_llvm_value **held,
                       int n)
{
    lz_emit_line_range line;
    lz_llvm_value *turn_size = lz_emit_i64(e, LZ_ROW_LANES);
    lz_emit_handover h = lz_emit_hand_on(e, from, to, turn_size, held, n);
    lz_llvm_value *at = h.loop.i, *length = lz_emit_down_to(e, lz_emit_line_length(e, at, to), LZ_ROW_LANES);
    lz_llvm_value *end = e->l->BuildAdd(e->b, at, length, "");
    lz_emit_line_begin(e, at, &line);
    turn_loop(e, walk, at, end, NULL, held, n);
    lz_emit_line_end(e, &line);
    turn_loop(e, walk, end, lz_emit_least(e, e->l->BuildAdd(e->b, end, turn_size, ""), to), NULL, held, n);
    h.loop.step = e->l->BuildAdd(e->b, length, turn_size, "");
    lz_emit_hand_on_end(e, &h);
}

/* Elements [from, to). With masks, the last vectors may have no active lane. */
static void turns(lz_emitter *e, int walk, lz_llvm_value *from, lz_llvm_value *to, lz_llvm_value **held,
                  int n)
{
    lz_llvm_value *up = e->l->BuildAdd(e->b, to, lz_emit_i64(e, LZ_ROW_LANES - 1), "");
    bool pieces = lz_emit_has_pieces(e);
    if (!e->t->masked || pieces || lz_emit_row_does_little(e, walk)) {
        lz_llvm_value *whole = lz_emit_down_to(e, to, LZ_ROW_LANES);
        if (pieces)
            turn_lines(e, walk, from, whole, held, n);
        else
            turn_loop(e, walk, from, whole, NULL, held, n);
        from = whole;
    }
    if (e->t->masked)
        turn_loop(e, walk, from, lz_emit_down_to(e, up, LZ_ROW_LANES), to, held, n);
    else
        rest(e, walk, from, to, held, n);
}

/* ---- a block ---- */

static int sum_pieces(const lz_emitter *e)
{
    return LZ_ROW_SUMS / e->p->vec;
}

static int count_reductions(const lz_emitter *e, int walk)
{
    int n = 0;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++)
        n += lz_emit_reduces_in(e, v, walk);
    return n;
}

typedef int type_fn(const lz_emitter *e, const lz_kernel_node *n);

/* Sets `each` vectors per reduction to the neutral element. */
static void neutral(lz_emitter *e, int walk, type_fn *type, int each, lz_llvm_value **held)
{
    e->lanes = e->p->vec;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        for (int i = 0; lz_emit_reduces_in(e, v, walk) && i < each; i++)
            *held++ = lz_emit_neutral(e, node(e, v), type(e, node(e, v))).x;
    }
    e->lanes = 1;
}

/* Folds a chunk's lanes of one reduction into the sums of its block. */
static void fold_one(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **sums,
                     lz_llvm_value *const *chunk)
{
    lz_emit_state s[LZ_EMIT_HELD];
    for (int i = 0; i < pieces(e); i++)
        s[i] = (lz_emit_state){ chunk[i], NULL };
    lz_emit_halve(e, n, lz_emit_state_type(e, n), s, pieces(e), sum_pieces(e));
    for (int i = 0; i < sum_pieces(e); i++) {
        lz_emit_state sum = { sums[i], NULL };
        sums[i] = lz_emit_merge(e, n, lz_emit_total_type(e, n), sum, lz_emit_widen(e, n, s[i])).x;
    }
}

static void fold(lz_emitter *e, int walk, lz_llvm_value **sums, lz_llvm_value *const *chunk)
{
    e->lanes = e->p->vec;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (!lz_emit_reduces_in(e, v, walk))
            continue;
        fold_one(e, node(e, v), sums, chunk);
        sums += sum_pieces(e);
        chunk += pieces(e);
    }
    e->lanes = 1;
}

void lz_emit_held_block(lz_emitter *e, int walk, lz_llvm_value *from, lz_llvm_value *end)
{
    lz_llvm_value *size = lz_emit_i64(e, LZ_ROW_CHUNK), *chunk[LZ_EMIT_HELD];
    int n = lz_emit_held(e, walk);
    neutral(e, walk, lz_emit_total_type, sum_pieces(e), e->sums);
    lz_emit_handover h =
        lz_emit_hand_on(e, from, end, size, e->sums, count_reductions(e, walk) * sum_pieces(e));
    neutral(e, walk, lz_emit_state_type, pieces(e), chunk);
    turns(e, walk, h.loop.i, lz_emit_least(e, e->l->BuildAdd(e->b, h.loop.i, size, ""), end), chunk, n);
    fold(e, walk, e->sums, chunk);
    lz_emit_hand_on_end(e, &h);
}

lz_llvm_value **lz_emit_held_sums(lz_emitter *e, uint32_t reduction)
{
    lz_llvm_value **sums = e->sums;
    for (uint32_t v = 0; v < reduction; v++)
        sums += lz_emit_reduces_in(e, v, node(e, reduction)->stage - 1) ? sum_pieces(e) : 0;
    return sums;
}
