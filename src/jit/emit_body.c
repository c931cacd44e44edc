/* Emits each kind of kernel node as LLVM IR. */
#include "jit/emitter.h"
#include <stddef.h>
#include <string.h>

lz_llvm_value *lz_emit_value(lz_emitter *e, uint32_t v)
{
    const lz_kernel_node *n = &e->ir->nodes.data[v];
    if (n->op == LZ_KERNEL_NODE_CONST)
        return lz_emit_const(e, n->type, n->bits);
    if (e->now[v])
        return e->now[v];
    return e->lanes == 1 ? e->scalar[v] : e->spread[v];
}

typedef lz_llvm_value *node_fn(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in);

static lz_llvm_value *make_const(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in)
{
    (void)in;
    return lz_emit_const(e, n->type, n->bits);
}

/* Parameters are an i64 or a double in memory, whatever the node's type. */
static lz_llvm_value *make_param(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in)
{
    (void)in;
    bool floating = n->type == LZ_KERNEL_F32 || n->type == LZ_KERNEL_F64;
    lz_llvm_value *params = lz_emit_field(e, e->frame, e->ptr, offsetof(lz_native_frame, params));
    size_t at = (size_t)n->attr * sizeof(lz_kernel_scalar);
    lz_llvm_value *x = lz_emit_field(e, params, floating ? e->f64 : e->i64, at);
    return lz_emit_cast(e, floating ? LZ_KERNEL_F64 : LZ_KERNEL_I64, n->type, x);
}

static lz_llvm_value *make_cast(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in)
{
    return lz_emit_cast(e, e->ir->nodes.data[n->in[0]].type, n->type, in[0]);
}

static lz_llvm_value *make_narrow(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in)
{
    return lz_emit_from_memory(e, n->attr, lz_emit_to_memory(e, n->attr, in[0]));
}

static lz_llvm_value *make_load(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in)
{
    (void)in;
    return lz_emit_read(e, n->attr, NULL, NULL, NULL);
}

static lz_llvm_value *make_load_if(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in)
{
    return lz_emit_read(e, n->attr, NULL, in[0], in[1]);
}

/* The scalar if all lanes of v have one value; NULL: they may differ. */
static lz_llvm_value *one_for_all(lz_emitter *e, uint32_t v)
{
    int lanes = e->lanes, level = e->v->columns ? LZ_LEVEL_UNIFORM : LZ_LEVEL_OUTER;
    if (lanes == 1 || e->p->level[v] > level)
        return NULL;
    e->lanes = 1;
    lz_llvm_value *x = lz_emit_value(e, v);
    e->lanes = lanes;
    return x;
}

static lz_llvm_value *make_gather(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in)
{
    lz_llvm_value *index = one_for_all(e, n->in[0]);
    return index ? lz_emit_read_moved(e, n->attr, index, NULL, NULL)
                 : lz_emit_read(e, n->attr, in[0], NULL, NULL);
}

static lz_llvm_value *make_gather_if(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in)
{
    lz_llvm_value *index = one_for_all(e, n->in[0]);
    return index ? lz_emit_read_moved(e, n->attr, index, in[1], in[2])
                 : lz_emit_read(e, n->attr, in[0], in[1], in[2]);
}

static lz_llvm_value *make_affine(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in)
{
    (void)in;
    return lz_emit_affine(e, n->attr);
}

static void put_field(lz_emitter *e, lz_llvm_value *x, size_t offset)
{
    e->l->BuildStore(e->b, x, lz_emit_move(e, e->frame, lz_emit_i64(e, (int64_t)offset)));
}

/* Stores the first bad lane's index and size in the frame and leaves the function. */
static void report_index(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in, lz_llvm_value *bad)
{
    lz_llvm_value *index = in[0], *size = in[1];
    if (e->lanes > 1) {
        lz_llvm_type *t = e->l->IntTypeInContext(e->ctx, (unsigned)e->lanes);
        lz_llvm_value *args[] = { e->l->BuildBitCast(e->b, bad, t, ""), e->l->ConstNull(e->i1) };
        lz_llvm_value *lane = e->l->BuildZExt(e->b, lz_emit_call(e, "llvm.cttz", 1, &t, 2, args), e->i32, "");
        index = e->l->BuildExtractElement(e->b, index, lane, "");
        size = e->l->BuildExtractElement(e->b, size, lane, "");
    }
    put_field(e, index, offsetof(lz_native_frame, index));
    put_field(e, size, offsetof(lz_native_frame, size));
    put_field(e, lz_emit_i64(e, n->attr / 2), offsetof(lz_native_frame, dim));
    e->l->BuildRet(e->b, lz_emit_i32(e, LZ_CODE_INDEX));
}

static lz_llvm_value *make_check(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in)
{
    lz_llvm_value *zero = lz_emit_int(e, e->i64, 0), *at = in[0];
    if (n->attr & 1) {
        lz_llvm_value *negative = e->l->BuildICmp(e->b, LZ_LLVM_SLT, at, zero, "");
        at = e->l->BuildSelect(e->b, negative, e->l->BuildAdd(e->b, at, in[1], ""), at, "");
    }
    lz_llvm_value *low = e->l->BuildICmp(e->b, LZ_LLVM_SLT, at, zero, "");
    lz_llvm_value *high = e->l->BuildICmp(e->b, LZ_LLVM_SGE, at, in[1], "");
    lz_llvm_value *bad = lz_emit_active(e, e->l->BuildOr(e->b, low, high, ""));
    lz_llvm_block *outside = lz_emit_block(e, "outside"), *inside = lz_emit_block(e, "inside");
    lz_emit_branch(e, lz_emit_any(e, bad), outside, inside);
    lz_emit_at(e, outside);
    report_index(e, n, in, bad);
    lz_emit_at(e, inside);
    return at;
}

static lz_llvm_value *low_half(lz_emitter *e, lz_llvm_value *x)
{
    return e->l->BuildAnd(e->b, x, lz_emit_int(e, e->i64, 0xffffffff), "");
}

static lz_llvm_value *high_half(lz_emitter *e, lz_llvm_value *x)
{
    return e->l->BuildLShr(e->b, x, lz_emit_int(e, e->i64, 32), "");
}

static lz_llvm_value *xor3(lz_emitter *e, lz_llvm_value *x, lz_llvm_value *y, lz_llvm_value *z)
{
    return e->l->BuildXor(e->b, e->l->BuildXor(e->b, x, y, ""), z, "");
}

/* One round of Philox-4x32 (tile_impl.h), on 32-bit words in i64. Only the low halves of the keys count. */
static void philox_round(lz_emitter *e, lz_llvm_value *c[4], lz_llvm_value *key[2])
{
    static const int64_t factors[2] = { 0xD2511F53, 0xCD9E8D57 }, steps[2] = { 0x9E3779B9, 0xBB67AE85 };
    lz_llvm_value *p = e->l->BuildMul(e->b, c[0], lz_emit_int(e, e->i64, factors[0]), "");
    lz_llvm_value *q = e->l->BuildMul(e->b, c[2], lz_emit_int(e, e->i64, factors[1]), "");
    c[0] = low_half(e, xor3(e, high_half(e, q), c[1], key[0]));
    c[1] = low_half(e, q);
    c[2] = low_half(e, xor3(e, high_half(e, p), c[3], key[1]));
    c[3] = low_half(e, p);
    for (int i = 0; i < 2; i++)
        key[i] = e->l->BuildAdd(e->b, key[i], lz_emit_int(e, e->i64, steps[i]), "");
}

/* Computes the four words of equal operands together and remembers them: no LLVM pass would merge them
 * later. */
static lz_llvm_value *make_philox(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in)
{
    enum { ROUNDS = 10 };
    lz_emit_philox *last = &e->philox;
    lz_llvm_block *here = e->l->GetInsertBlock(e->b);
    if (here == last->block && !memcmp(in, last->in, sizeof last->in))
        return last->words[n->attr];
    lz_llvm_value *key[2] = { in[0], high_half(e, in[0]) };
    lz_llvm_value *c[4] = { low_half(e, in[2]), high_half(e, in[2]), low_half(e, in[1]),
                            high_half(e, in[1]) };
    for (int i = 0; i < ROUNDS; i++)
        philox_round(e, c, key);
    memcpy(last->in, in, sizeof last->in);
    memcpy(last->words, c, sizeof last->words);
    last->block = here;
    return c[n->attr];
}

/* Takes the short computation if it is valid in all active lanes, else calls the tile function. */
static lz_llvm_value *make_rare(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in)
{
    uint8_t type = e->ir->nodes.data[n->in[0]].type;
    lz_llvm_value *far = lz_emit_active(e, e->l->BuildNot(e->b, in[2], ""));
    lz_llvm_block *here = e->l->GetInsertBlock(e->b), *call = lz_emit_block(e, "rare"),
                  *met = lz_emit_block(e, "met");
    lz_emit_branch(e, lz_emit_any(e, far), call, met);
    lz_emit_at(e, call);
    lz_llvm_value *x = lz_emit_tile(e, lz_emit_op_offset(n->attr, type), n->type, 1, in, &type);
    lz_emit_go(e, met);
    lz_emit_at(e, met);
    return lz_emit_phi(e, in[1], here, x, call);
}

static node_fn *const nodes[LZ_KERNEL_NODE_COUNT] = {
    [LZ_KERNEL_NODE_CONST] = make_const,   [LZ_KERNEL_NODE_PARAM] = make_param,
    [LZ_KERNEL_NODE_CAST] = make_cast,     [LZ_KERNEL_NODE_NARROW] = make_narrow,
    [LZ_KERNEL_NODE_LOAD] = make_load,     [LZ_KERNEL_NODE_LOAD_IF] = make_load_if,
    [LZ_KERNEL_NODE_GATHER] = make_gather, [LZ_KERNEL_NODE_GATHER_IF] = make_gather_if,
    [LZ_KERNEL_NODE_AFFINE] = make_affine, [LZ_KERNEL_NODE_CHECK] = make_check,
    [LZ_KERNEL_NODE_PHILOX] = make_philox, [LZ_KERNEL_NODE_RARE] = make_rare,
};

lz_llvm_value *lz_emit_node(lz_emitter *e, uint32_t v)
{
    const lz_kernel_node *n = &e->ir->nodes.data[v];
    lz_llvm_value *in[3] = { NULL };
    int inputs = lz_kernel_node_operands(n);
    for (int i = 0; i < inputs; i++)
        in[i] = lz_emit_value(e, n->in[i]);
    return nodes[n->op] ? nodes[n->op](e, n, in) : lz_emit_op(e, n, in);
}
