/* Nodes of the kernel as LLVM IR, each by its kind. */
#include "jit/emit.h"
#include <stddef.h>
#include <string.h>

lz_lvalue *lz_em_value(lz_em *e, uint32_t v)
{
    const lz_knode *n = &e->ir->nodes.data[v];
    if (n->op == LZ_N_CONST)
        return lz_em_const(e, n->type, n->bits);
    if (e->now[v])
        return e->now[v];
    return e->lanes == 1 ? e->scalar[v] : e->spread[v];
}

typedef lz_lvalue *node_fn(lz_em *e, const lz_knode *n, lz_lvalue **in);

static lz_lvalue *make_const(lz_em *e, const lz_knode *n, lz_lvalue **in)
{
    (void)in;
    return lz_em_const(e, n->type, n->bits);
}

/* As an i64 or a double in memory, whatever its type. */
static lz_lvalue *make_param(lz_em *e, const lz_knode *n, lz_lvalue **in)
{
    (void)in;
    bool floating = n->type == LZ_KF32 || n->type == LZ_KF64;
    lz_lvalue *params = lz_em_field(e, e->frame, e->ptr, offsetof(lz_cframe, params));
    size_t at = (size_t)n->attr * sizeof(lz_kscalar);
    lz_lvalue *x = lz_em_field(e, params, floating ? e->f64 : e->i64, at);
    return lz_em_cast(e, floating ? LZ_KF64 : LZ_KI64, n->type, x);
}

static lz_lvalue *make_cast(lz_em *e, const lz_knode *n, lz_lvalue **in)
{
    return lz_em_cast(e, e->ir->nodes.data[n->in[0]].type, n->type, in[0]);
}

static lz_lvalue *make_narrow(lz_em *e, const lz_knode *n, lz_lvalue **in)
{
    return lz_em_from_memory(e, n->attr, lz_em_to_memory(e, n->attr, in[0]));
}

static lz_lvalue *make_load(lz_em *e, const lz_knode *n, lz_lvalue **in)
{
    (void)in;
    return lz_em_read(e, n->attr, NULL, NULL, NULL);
}

static lz_lvalue *make_load_if(lz_em *e, const lz_knode *n, lz_lvalue **in)
{
    return lz_em_read(e, n->attr, NULL, in[0], in[1]);
}

/* The value that all lanes of a vector have; NULL: they may differ. */
static lz_lvalue *one_for_all(lz_em *e, uint32_t v)
{
    int lanes = e->lanes, level = e->v->columns ? LZ_LEVEL_UNIFORM : LZ_LEVEL_OUTER;
    if (lanes == 1 || e->p->level[v] > level)
        return NULL;
    e->lanes = 1;
    lz_lvalue *x = lz_em_value(e, v);
    e->lanes = lanes;
    return x;
}

static lz_lvalue *make_gather(lz_em *e, const lz_knode *n, lz_lvalue **in)
{
    lz_lvalue *index = one_for_all(e, n->in[0]);
    return index ? lz_em_read_moved(e, n->attr, index, NULL, NULL)
                 : lz_em_read(e, n->attr, in[0], NULL, NULL);
}

static lz_lvalue *make_gather_if(lz_em *e, const lz_knode *n, lz_lvalue **in)
{
    lz_lvalue *index = one_for_all(e, n->in[0]);
    return index ? lz_em_read_moved(e, n->attr, index, in[1], in[2])
                 : lz_em_read(e, n->attr, in[0], in[1], in[2]);
}

static lz_lvalue *make_affine(lz_em *e, const lz_knode *n, lz_lvalue **in)
{
    (void)in;
    return lz_em_affine(e, n->attr);
}

static void put_field(lz_em *e, lz_lvalue *x, size_t offset)
{
    e->l->BuildStore(e->b, x, lz_em_move(e, e->frame, lz_em_i64(e, (int64_t)offset)));
}

/* The first bad lane's index and size into the frame, and out. */
static void report_index(lz_em *e, const lz_knode *n, lz_lvalue **in, lz_lvalue *bad)
{
    lz_lvalue *index = in[0], *size = in[1];
    if (e->lanes > 1) {
        lz_ltype *t = e->l->IntTypeInContext(e->ctx, (unsigned)e->lanes);
        lz_lvalue *args[] = { e->l->BuildBitCast(e->b, bad, t, ""), e->l->ConstNull(e->i1) };
        lz_lvalue *lane = e->l->BuildZExt(e->b, lz_em_call(e, "llvm.cttz", 1, &t, 2, args), e->i32, "");
        index = e->l->BuildExtractElement(e->b, index, lane, "");
        size = e->l->BuildExtractElement(e->b, size, lane, "");
    }
    put_field(e, index, offsetof(lz_cframe, index));
    put_field(e, size, offsetof(lz_cframe, size));
    put_field(e, lz_em_i64(e, n->attr / 2), offsetof(lz_cframe, dim));
    e->l->BuildRet(e->b, lz_em_i32(e, LZ_CODE_INDEX));
}

static lz_lvalue *make_check(lz_em *e, const lz_knode *n, lz_lvalue **in)
{
    lz_lvalue *zero = lz_em_int(e, e->i64, 0), *at = in[0];
    if (n->attr & 1) {
        lz_lvalue *negative = e->l->BuildICmp(e->b, LZ_L_SLT, at, zero, "");
        at = e->l->BuildSelect(e->b, negative, e->l->BuildAdd(e->b, at, in[1], ""), at, "");
    }
    lz_lvalue *low = e->l->BuildICmp(e->b, LZ_L_SLT, at, zero, "");
    lz_lvalue *high = e->l->BuildICmp(e->b, LZ_L_SGE, at, in[1], "");
    lz_lvalue *bad = lz_em_active(e, e->l->BuildOr(e->b, low, high, ""));
    lz_lblock *outside = lz_em_block(e, "outside"), *inside = lz_em_block(e, "inside");
    lz_em_branch(e, lz_em_any(e, bad), outside, inside);
    lz_em_at(e, outside);
    report_index(e, n, in, bad);
    lz_em_at(e, inside);
    return at;
}

static lz_lvalue *low_half(lz_em *e, lz_lvalue *x)
{
    return e->l->BuildAnd(e->b, x, lz_em_int(e, e->i64, 0xffffffff), "");
}

static lz_lvalue *high_half(lz_em *e, lz_lvalue *x)
{
    return e->l->BuildLShr(e->b, x, lz_em_int(e, e->i64, 32), "");
}

static lz_lvalue *xor3(lz_em *e, lz_lvalue *x, lz_lvalue *y, lz_lvalue *z)
{
    return e->l->BuildXor(e->b, e->l->BuildXor(e->b, x, y, ""), z, "");
}

/* One round of Philox-4x32 (tile_impl.h), on words of 32 bits in i64. Only the low halves of keys count. */
static void philox_round(lz_em *e, lz_lvalue *c[4], lz_lvalue *key[2])
{
    static const int64_t factors[2] = { 0xD2511F53, 0xCD9E8D57 }, steps[2] = { 0x9E3779B9, 0xBB67AE85 };
    lz_lvalue *p = e->l->BuildMul(e->b, c[0], lz_em_int(e, e->i64, factors[0]), "");
    lz_lvalue *q = e->l->BuildMul(e->b, c[2], lz_em_int(e, e->i64, factors[1]), "");
    c[0] = low_half(e, xor3(e, high_half(e, q), c[1], key[0]));
    c[1] = low_half(e, q);
    c[2] = low_half(e, xor3(e, high_half(e, p), c[3], key[1]));
    c[3] = low_half(e, p);
    for (int i = 0; i < 2; i++)
        key[i] = e->l->BuildAdd(e->b, key[i], lz_em_int(e, e->i64, steps[i]), "");
}

/* Words of the same operands are made together: no pass would find that out later. */
static lz_lvalue *make_philox(lz_em *e, const lz_knode *n, lz_lvalue **in)
{
    enum { ROUNDS = 10 };
    lz_ephilox *last = &e->philox;
    lz_lblock *here = e->l->GetInsertBlock(e->b);
    if (here == last->block && !memcmp(in, last->in, sizeof last->in))
        return last->words[n->attr];
    lz_lvalue *key[2] = { in[0], high_half(e, in[0]) };
    lz_lvalue *c[4] = { low_half(e, in[2]), high_half(e, in[2]), low_half(e, in[1]), high_half(e, in[1]) };
    for (int i = 0; i < ROUNDS; i++)
        philox_round(e, c, key);
    memcpy(last->in, in, sizeof last->in);
    memcpy(last->words, c, sizeof last->words);
    last->block = here;
    return c[n->attr];
}

/* The short way if it is right for all lanes that count. */
static lz_lvalue *make_rare(lz_em *e, const lz_knode *n, lz_lvalue **in)
{
    uint8_t type = e->ir->nodes.data[n->in[0]].type;
    lz_lvalue *far = lz_em_active(e, e->l->BuildNot(e->b, in[2], ""));
    lz_lblock *here = e->l->GetInsertBlock(e->b), *call = lz_em_block(e, "rare"),
              *met = lz_em_block(e, "met");
    lz_em_branch(e, lz_em_any(e, far), call, met);
    lz_em_at(e, call);
    lz_lvalue *x = lz_em_tile(e, lz_em_op_offset(n->attr, type), n->type, 1, in, &type);
    lz_em_go(e, met);
    lz_em_at(e, met);
    return lz_em_phi(e, in[1], here, x, call);
}

static node_fn *const nodes[LZ_N_COUNT] = {
    [LZ_N_CONST] = make_const,   [LZ_N_PARAM] = make_param,         [LZ_N_CAST] = make_cast,
    [LZ_N_NARROW] = make_narrow, [LZ_N_LOAD] = make_load,           [LZ_N_LOAD_IF] = make_load_if,
    [LZ_N_GATHER] = make_gather, [LZ_N_GATHER_IF] = make_gather_if, [LZ_N_AFFINE] = make_affine,
    [LZ_N_CHECK] = make_check,   [LZ_N_PHILOX] = make_philox,       [LZ_N_RARE] = make_rare,
};

lz_lvalue *lz_em_node(lz_em *e, uint32_t v)
{
    const lz_knode *n = &e->ir->nodes.data[v];
    lz_lvalue *in[3] = { NULL };
    int inputs = lz_knode_operands(n);
    for (int i = 0; i < inputs; i++)
        in[i] = lz_em_value(e, n->in[i]);
    return nodes[n->op] ? nodes[n->op](e, n, in) : lz_em_op(e, n, in);
}
