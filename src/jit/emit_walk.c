/* lz_walk: one row shared by threads. Each call does the blocks it is given of one walk
 * and leaves what each block adds to the totals; whoever needs a total adds these up, in
 * their order, as one thread would have done. Values cannot be kept between walks: another
 * thread may have made them. */
#include "jit/emit.h"
#include <stddef.h>

enum { PLACE = 16 }; /* bytes of a block's value and its index */

static const lz_knode *node(const lz_em *e, uint32_t v)
{
    return &e->ir->nodes.data[v];
}

/* Where there are several rows they are shared whole. */
bool lz_em_shares(const lz_kir *ir, const lz_variant *v)
{
    bool scans = false;
    for (size_t i = 0; i < ir->nodes.len; i++)
        scans = scans || ir->nodes.data[i].op == LZ_N_SCAN;
    return !v->columns && !scans && ir->n_outer == 0 && lz_em_totals(ir) > 0;
}

int64_t lz_em_totals(const lz_kir *ir)
{
    int64_t n = 0;
    for (size_t i = 0; i < ir->nodes.len; i++)
        n += ir->nodes.data[i].op == LZ_N_REDUCE;
    return n * PLACE;
}

/* Of reduction v, block `index`. */
static lz_lvalue *place(lz_em *e, uint32_t v, lz_lvalue *index)
{
    int64_t before = 0;
    for (uint32_t i = 0; i < v; i++)
        before += node(e, i)->op == LZ_N_REDUCE;
    lz_lvalue *totals = lz_em_field(e, e->frame, e->ptr, offsetof(lz_cframe, totals));
    lz_lvalue *block = e->l->BuildMul(e->b, index, lz_em_i64(e, lz_em_totals(e->ir)), "");
    return lz_em_move(e, lz_em_move(e, totals, block), lz_em_i64(e, before * PLACE));
}

static lz_lvalue *index_place(lz_em *e, lz_lvalue *p)
{
    return lz_em_move(e, p, lz_em_i64(e, PLACE / 2));
}

/* In the spill area, one after the other, from the neutral element on. */
static lz_lvalue *add_up(lz_em *e, uint32_t v, lz_lvalue *blocks)
{
    const lz_knode *n = node(e, v);
    lz_lvalue *zero = lz_em_i64(e, 0), *sum = e->spill, *sum_at = index_place(e, sum);
    int type = lz_em_total_type(e, n);
    lz_em_put(e, n, type, lz_em_neutral(e, n, type), sum, sum_at, zero);
    lz_eloop l = lz_em_loop(e, zero, blocks, lz_em_i64(e, 1));
    lz_lvalue *p = place(e, v, l.i);
    lz_ebest x = lz_em_get(e, n, type, p, index_place(e, p), zero);
    x = lz_em_merge(e, n, type, lz_em_get(e, n, type, sum, sum_at, zero), x);
    lz_em_put(e, n, type, x, sum, sum_at, zero);
    lz_em_loop_end(e, &l);
    return lz_em_result(e, n, lz_em_get(e, n, type, sum, sum_at, zero));
}

static void save_blocks(lz_em *e, int walk, lz_lvalue *index)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (!lz_em_reduces_in(e, v, walk))
            continue;
        const lz_knode *n = node(e, v);
        lz_ebest s = lz_em_row_fold(e, v);
        lz_lvalue *p = place(e, v, index);
        lz_em_put(e, n, lz_em_total_type(e, n), s, p, index_place(e, p), lz_em_i64(e, 0));
    }
}

static void do_blocks(lz_em *e, int walk)
{
    lz_lvalue *begin = e->l->GetParam(e->fn, 2), *end = e->l->GetParam(e->fn, 3);
    lz_em_row_spread(e, walk);
    lz_eloop l = lz_em_loop(e, begin, end, lz_em_i64(e, 1));
    lz_lvalue *from = e->l->BuildMul(e->b, l.i, e->block, "");
    if (lz_em_row_reduces(e, walk)) {
        lz_em_row_block(e, walk, from);
        save_blocks(e, walk, l.i);
    } else {
        lz_lvalue *to = lz_em_least(e, e->l->BuildAdd(e->b, from, e->block, ""), e->n_row);
        lz_em_row_stretch(e, walk, from, to);
    }
    lz_em_loop_end(e, &l);
    lz_em_drain(e);
    e->l->BuildRet(e->b, lz_em_i32(e, LZ_CODE_FINE));
}

static lz_lvalue *count_blocks(lz_em *e)
{
    lz_lvalue *above =
        e->l->BuildAdd(e->b, e->n_row, e->l->BuildSub(e->b, e->block, lz_em_i64(e, 1), ""), "");
    return e->l->BuildSDiv(e->b, above, e->block, "");
}

/* What comes before a walk is computed again by every call. */
void lz_em_walk(lz_em *e)
{
    lz_lvalue *walk = e->l->GetParam(e->fn, 1);
    e->block = lz_em_row_block_size(e);
    lz_lvalue *blocks = count_blocks(e);
    lz_em_row_start(e, NULL);
    for (int w = 0; w <= e->p->walks; w++) {
        for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
            if (lz_em_reduces_in(e, v, w - 1))
                e->scalar[v] = add_up(e, v, blocks);
        }
        lz_em_row_outer(e, w);
        if (w == e->p->walks)
            break;
        lz_lblock *here = lz_em_block(e, "here"), *later = lz_em_block(e, "later");
        lz_em_branch(e, e->l->BuildICmp(e->b, LZ_L_EQ, walk, lz_em_i64(e, w), ""), here, later);
        lz_em_at(e, here);
        do_blocks(e, w);
        lz_em_at(e, later);
    }
    for (int w = 0; w <= e->p->walks; w++)
        lz_em_row_stores(e, w);
}
