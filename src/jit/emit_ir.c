/* LLVM IR in small pieces, in the shape that the emitter is in. */
#include "jit/emit.h"
#include <string.h>

lz_lvalue *lz_em_i64(lz_em *e, int64_t v)
{
    return e->l->ConstInt(e->i64, (unsigned long long)v, 1);
}

lz_lvalue *lz_em_i32(lz_em *e, int64_t v)
{
    return e->l->ConstInt(e->i32, (unsigned long long)v, 1);
}

lz_ltype *lz_em_shape(lz_em *e, lz_ltype *t)
{
    return e->lanes == 1 ? t : e->l->VectorType(t, (unsigned)e->lanes);
}

lz_ltype *lz_em_ktype(lz_em *e, int ktype)
{
    lz_ltype *const types[LZ_KTYPES] = { e->i1, e->i32, e->i64, e->f32, e->f64 };
    return types[ktype];
}

lz_ltype *lz_em_memory(lz_em *e, int dtype)
{
    lz_ltype *const types[LZ_DTYPE_SLOTS] = {
        [LZ_BOOL] = e->i8, [LZ_U8] = e->i8,   [LZ_I8] = e->i8,    [LZ_I16] = e->i16, [LZ_I32] = e->i32,
        [LZ_I64] = e->i64, [LZ_F16] = e->i16, [LZ_BF16] = e->i16, [LZ_F32] = e->f32, [LZ_F64] = e->f64,
    };
    return types[dtype];
}

static lz_lvalue *repeat(lz_em *e, lz_lvalue *c)
{
    lz_lvalue *all[LZ_EM_LANES];
    for (int i = 0; i < e->lanes; i++)
        all[i] = c;
    return e->lanes == 1 ? c : e->l->ConstVector(all, (unsigned)e->lanes);
}

lz_lvalue *lz_em_splat(lz_em *e, lz_lvalue *x)
{
    if (e->lanes == 1)
        return x;
    lz_lvalue *none = e->l->GetPoison(lz_em_shape(e, e->l->TypeOf(x)));
    lz_lvalue *one = e->l->BuildInsertElement(e->b, none, x, lz_em_i32(e, 0), "");
    return e->l->BuildShuffleVector(e->b, one, none, e->l->ConstNull(lz_em_shape(e, e->i32)), "");
}

lz_lvalue *lz_em_const(lz_em *e, int ktype, int64_t bits)
{
    float f;
    double d;
    memcpy(&f, &bits, sizeof f);
    memcpy(&d, &bits, sizeof d);
    if (ktype == LZ_KF32)
        return repeat(e, e->l->ConstReal(e->f32, (double)f));
    if (ktype == LZ_KF64)
        return repeat(e, e->l->ConstReal(e->f64, d));
    return repeat(e, e->l->ConstInt(lz_em_ktype(e, ktype), (unsigned long long)bits, 0));
}

lz_lvalue *lz_em_int(lz_em *e, lz_ltype *t, int64_t v)
{
    return repeat(e, e->l->ConstInt(t, (unsigned long long)v, 1));
}

lz_lvalue *lz_em_iota(lz_em *e, lz_ltype *t)
{
    lz_lvalue *all[LZ_EM_LANES];
    for (int i = 0; i < e->lanes; i++)
        all[i] = e->l->ConstInt(t, (unsigned long long)i, 0);
    return e->lanes == 1 ? all[0] : e->l->ConstVector(all, (unsigned)e->lanes);
}

lz_lvalue *lz_em_move(lz_em *e, lz_lvalue *p, lz_lvalue *bytes)
{
    return e->l->BuildGEP2(e->b, e->i8, p, &bytes, 1, "");
}

lz_lvalue *lz_em_load(lz_em *e, lz_ltype *t, lz_lvalue *p, unsigned align)
{
    lz_lvalue *x = e->l->BuildLoad2(e->b, t, p, "");
    e->l->SetAlignment(x, align);
    return x;
}

void lz_em_store(lz_em *e, lz_lvalue *x, lz_lvalue *p, unsigned align)
{
    e->l->SetAlignment(e->l->BuildStore(e->b, x, p), align);
}

lz_lvalue *lz_em_call(lz_em *e, const char *name, int n_types, lz_ltype **types, int n, lz_lvalue **args)
{
    unsigned id = e->l->LookupIntrinsicID(name, strlen(name));
    lz_lvalue *fn = e->l->GetIntrinsicDeclaration(e->mod, id, types, (size_t)n_types);
    lz_ltype *t = e->l->IntrinsicGetType(e->ctx, id, types, (size_t)n_types);
    return e->l->BuildCall2(e->b, t, fn, args, (unsigned)n, "");
}

static lz_lvalue *mask_bits(lz_em *e, lz_lvalue *mask, lz_ltype **t)
{
    *t = e->l->IntTypeInContext(e->ctx, (unsigned)e->lanes);
    return e->lanes == 1 ? mask : e->l->BuildBitCast(e->b, mask, *t, "");
}

lz_lvalue *lz_em_any(lz_em *e, lz_lvalue *mask)
{
    lz_ltype *t;
    lz_lvalue *bits = mask_bits(e, mask, &t);
    return e->l->BuildICmp(e->b, LZ_L_NE, bits, e->l->ConstNull(t), "");
}

lz_lvalue *lz_em_all(lz_em *e, lz_lvalue *mask)
{
    lz_ltype *t;
    lz_lvalue *bits = mask_bits(e, mask, &t);
    return e->l->BuildICmp(e->b, LZ_L_EQ, bits, e->l->ConstAllOnes(t), "");
}

lz_lvalue *lz_em_active(lz_em *e, lz_lvalue *mask)
{
    if (!mask || !e->mask)
        return mask ? mask : e->mask;
    return e->l->BuildAnd(e->b, mask, e->mask, "");
}

lz_lvalue *lz_em_mask(lz_em *e, lz_lvalue *to)
{
    lz_lvalue *left = lz_em_least(e, e->l->BuildSub(e->b, to, e->at, ""), lz_em_i64(e, e->lanes));
    left = lz_em_splat(e, e->l->BuildTrunc(e->b, left, e->i32, ""));
    return e->l->BuildICmp(e->b, LZ_L_SLT, lz_em_iota(e, e->i32), left, "");
}

lz_lblock *lz_em_block(lz_em *e, const char *name)
{
    return e->l->AppendBasicBlockInContext(e->ctx, e->fn, name);
}

void lz_em_go(lz_em *e, lz_lblock *b)
{
    e->l->BuildBr(e->b, b);
}

void lz_em_branch(lz_em *e, lz_lvalue *c, lz_lblock *yes, lz_lblock *no)
{
    e->l->BuildCondBr(e->b, c, yes, no);
}

void lz_em_at(lz_em *e, lz_lblock *b)
{
    e->l->PositionBuilderAtEnd(e->b, b);
}

lz_lvalue *lz_em_phi(lz_em *e, lz_lvalue *x, lz_lblock *from_x, lz_lvalue *y, lz_lblock *from_y)
{
    lz_lvalue *phi = e->l->BuildPhi(e->b, e->l->TypeOf(x), ""), *values[] = { x, y };
    lz_lblock *blocks[] = { from_x, from_y };
    e->l->AddIncoming(phi, values, blocks, 2);
    return phi;
}

lz_lvalue *lz_em_field(lz_em *e, lz_lvalue *p, lz_ltype *t, size_t offset)
{
    return e->l->BuildLoad2(e->b, t, lz_em_move(e, p, lz_em_i64(e, (int64_t)offset)), "");
}

lz_lvalue *lz_em_least(lz_em *e, lz_lvalue *x, lz_lvalue *y)
{
    return e->l->BuildSelect(e->b, e->l->BuildICmp(e->b, LZ_L_SLT, x, y, ""), x, y, "");
}

lz_lvalue *lz_em_down_to(lz_em *e, lz_lvalue *x, int64_t multiple)
{
    return e->l->BuildAnd(e->b, x, lz_em_i64(e, -multiple), "");
}

static void enter_loop(lz_em *e, lz_eloop *l, lz_lvalue *from, lz_lblock *before)
{
    lz_em_at(e, l->body);
    l->i = e->l->BuildPhi(e->b, e->i64, "");
    e->l->AddIncoming(l->i, &from, &before, 1);
}

lz_eloop lz_em_loop(lz_em *e, lz_lvalue *from, lz_lvalue *to, lz_lvalue *step)
{
    lz_lblock *before = e->l->GetInsertBlock(e->b);
    lz_eloop l = { .body = lz_em_block(e, "body"), .exit = lz_em_block(e, "exit"), .to = to, .step = step };
    lz_em_branch(e, e->l->BuildICmp(e->b, LZ_L_SLT, from, to, ""), l.body, l.exit);
    enter_loop(e, &l, from, before);
    return l;
}

void lz_em_loop_end(lz_em *e, lz_eloop *l)
{
    lz_lvalue *next = e->l->BuildAdd(e->b, l->i, l->step, "");
    lz_lblock *here = e->l->GetInsertBlock(e->b);
    e->l->AddIncoming(l->i, &next, &here, 1);
    lz_em_branch(e, e->l->BuildICmp(e->b, LZ_L_SLT, next, l->to, ""), l->body, l->exit);
    lz_em_at(e, l->exit);
}
