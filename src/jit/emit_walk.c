/* lz_walk: one row shared by threads. A call runs the given blocks of one walk and stores each block's
 * contribution to the totals. Code that needs a total adds these up in block order, as a single thread would.
 * Values cannot be kept between walks: another thread may have computed them. */
#include "jit/emitter.h"
#include <stddef.h>

enum { PLACE = 16 }; /* bytes of a block's value and its index */

static const lz_kernel_node *node(const lz_emitter *e, uint32_t v)
{
    return &e->ir->nodes.data[v];
}

/* Only for kernels without outer dimensions: with several rows, threads take whole rows. */
bool lz_emit_shares(const lz_kernel_ir *ir, const lz_native_variant *v)
{
    bool scans = false;
    for (size_t i = 0; i < ir->nodes.len; i++)
        scans = scans || ir->nodes.data[i].op == LZ_KERNEL_NODE_SCAN;
    return !v->columns && !scans && ir->n_outer == 0 && lz_emit_totals(ir) > 0;
}

int64_t lz_emit_totals(const lz_kernel_ir *ir)
{
    int64_t n = 0;
    for (size_t i = 0; i < ir->nodes.len; i++)
        n += ir->nodes.data[i].op == LZ_KERNEL_NODE_REDUCE;
    return n * PLACE;
}

/* Address of reduction v's total in block `index`. */
static lz_llvm_value *place(lz_emitter *e, uint32_t v, lz_llvm_value *index)
{
    int64_t before = 0;
    for (uint32_t i = 0; i < v; i++)
        before += node(e, i)->op == LZ_KERNEL_NODE_REDUCE;
    lz_llvm_value *totals = lz_emit_field(e, e->frame, e->ptr, offsetof(lz_native_frame, totals));
    lz_llvm_value *block = e->l->BuildMul(e->b, index, lz_emit_i64(e, lz_emit_totals(e->ir)), "");
    return lz_emit_move(e, lz_emit_move(e, totals, block), lz_emit_i64(e, before * PLACE));
}

static lz_llvm_value *index_place(lz_emitter *e, lz_llvm_value *p)
{
    return lz_emit_move(e, p, lz_emit_i64(e, PLACE / 2));
}

/* Adds up the blocks' totals in the spill area, in order, starting from the neutral element. */
static lz_llvm_value *add_up(lz_emitter *e, uint32_t v, lz_llvm_value *blocks)
{
    const lz_kernel_node *n = node(e, v);
    lz_llvm_value *zero = lz_emit_i64(e, 0), *sum = e->spill, *sum_at = index_place(e, sum);
    int type = lz_emit_total_type(e, n);
    lz_emit_put(e, n, type, lz_emit_neutral(e, n, type), sum, sum_at, zero);
    lz_emit_loop_state l = lz_emit_loop(e, zero, blocks, lz_emit_i64(e, 1));
    lz_llvm_value *p = place(e, v, l.i);
    lz_emit_state x = lz_emit_get(e, n, type, p, index_place(e, p), zero);
    x = lz_emit_merge(e, n, type, lz_emit_get(e, n, type, sum, sum_at, zero), x);
    lz_emit_put(e, n, type, x, sum, sum_at, zero);
    lz_emit_loop_end(e, &l);
    return lz_emit_result(e, n, lz_emit_get(e, n, type, sum, sum_at, zero));
}

static void save_blocks(lz_emitter *e, int walk, lz_llvm_value *index)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (!lz_emit_reduces_in(e, v, walk))
            continue;
        const lz_kernel_node *n = node(e, v);
        lz_emit_state s = lz_emit_row_fold(e, v);
        lz_llvm_value *p = place(e, v, index);
        lz_emit_put(e, n, lz_emit_total_type(e, n), s, p, index_place(e, p), lz_emit_i64(e, 0));
    }
}

static void do_blocks(lz_emitter *e, int walk)
{
    lz_llvm_value *begin = e->l->GetParam(e->fn, 2), *end = e->l->GetParam(e->fn, 3);
    lz_emit_row_spread(e, walk);
    lz_emit_loop_state l = lz_emit_loop(e, begin, end, lz_emit_i64(e, 1));
    lz_llvm_value *from = e->l->BuildMul(e->b, l.i, e->block, "");
    if (lz_emit_row_reduces(e, walk)) {
        lz_emit_row_block(e, walk, from);
        save_blocks(e, walk, l.i);
    } else {
        lz_llvm_value *to = lz_emit_least(e, e->l->BuildAdd(e->b, from, e->block, ""), e->n_row);
        lz_emit_row_stretch(e, walk, from, to);
    }
    lz_emit_loop_end(e, &l);
    lz_emit_drain(e);
    e->l->BuildRet(e->b, lz_emit_i32(e, LZ_CODE_FINE));
}

static lz_llvm_value *count_blocks(lz_emitter *e)
{
    lz_llvm_value *above =
        e->l->BuildAdd(e->b, e->n_row, e->l->BuildSub(e->b, e->block, lz_emit_i64(e, 1), ""), "");
    return e->l->BuildSDiv(e->b, above, e->block, "");
}

/* Every call computes again what precedes its walk. */
void lz_emit_walk(lz_emitter *e)
{
    lz_llvm_value *walk = e->l->GetParam(e->fn, 1);
    e->block = lz_emit_row_block_size(e);
    lz_llvm_value *blocks = count_blocks(e);
    lz_emit_row_start(e, NULL);
    for (int w = 0; w <= e->p->walks; w++) {
        for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
            if (lz_emit_reduces_in(e, v, w - 1))
                e->scalar[v] = add_up(e, v, blocks);
        }
        lz_emit_row_outer(e, w);
        if (w == e->p->walks)
            break;
        lz_llvm_block *here = lz_emit_block(e, "here"), *later = lz_emit_block(e, "later");
        lz_emit_branch(e, e->l->BuildICmp(e->b, LZ_LLVM_EQ, walk, lz_emit_i64(e, w), ""), here, later);
        lz_emit_at(e, here);
        do_blocks(e, w);
        lz_emit_at(e, later);
    }
    for (int w = 0; w <= e->p->walks; w++)
        lz_emit_row_stores(e, w);
}
