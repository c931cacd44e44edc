/* Small pieces of LLVM IR in the emitter's current shape. */
#include "jit/emitter.h"
#include <string.h>

lz_llvm_value *lz_emit_i64(lz_emitter *e, int64_t v)
{
    return e->l->ConstInt(e->i64, (unsigned long long)v, 1);
}

lz_llvm_value *lz_emit_i32(lz_emitter *e, int64_t v)
{
    return e->l->ConstInt(e->i32, (unsigned long long)v, 1);
}

lz_llvm_type *lz_emit_shape(lz_emitter *e, lz_llvm_type *t)
{
    return e->lanes == 1 ? t : e->l->VectorType(t, (unsigned)e->lanes);
}

lz_llvm_type *lz_emit_ktype(lz_emitter *e, int ktype)
{
    lz_llvm_type *const types[LZ_KERNEL_TYPES] = { e->i1, e->i32, e->i64, e->f32, e->f64 };
    return types[ktype];
}

lz_llvm_type *lz_emit_memory(lz_emitter *e, int dtype)
{
    lz_llvm_type *const types[LZ_DTYPE_SLOTS] = {
        [LZ_BOOL] = e->i8, [LZ_U8] = e->i8,   [LZ_I8] = e->i8,    [LZ_I16] = e->i16, [LZ_I32] = e->i32,
        [LZ_I64] = e->i64, [LZ_F16] = e->i16, [LZ_BF16] = e->i16, [LZ_F32] = e->f32, [LZ_F64] = e->f64,
    };
    return types[dtype];
}

static lz_llvm_value *repeat(lz_emitter *e, lz_llvm_value *c)
{
    lz_llvm_value *all[LZ_EMIT_LANES];
    for (int i = 0; i < e->lanes; i++)
        all[i] = c;
    return e->lanes == 1 ? c : e->l->ConstVector(all, (unsigned)e->lanes);
}

lz_llvm_value *lz_emit_splat(lz_emitter *e, lz_llvm_value *x)
{
    if (e->lanes == 1)
        return x;
    lz_llvm_value *none = e->l->GetPoison(lz_emit_shape(e, e->l->TypeOf(x)));
    lz_llvm_value *one = e->l->BuildInsertElement(e->b, none, x, lz_emit_i32(e, 0), "");
    return e->l->BuildShuffleVector(e->b, one, none, e->l->ConstNull(lz_emit_shape(e, e->i32)), "");
}

lz_llvm_value *lz_emit_const(lz_emitter *e, int ktype, int64_t bits)
{
    float f;
    double d;
    memcpy(&f, &bits, sizeof f);
    memcpy(&d, &bits, sizeof d);
    if (ktype == LZ_KERNEL_F32)
        return repeat(e, e->l->ConstReal(e->f32, (double)f));
    if (ktype == LZ_KERNEL_F64)
        return repeat(e, e->l->ConstReal(e->f64, d));
    return repeat(e, e->l->ConstInt(lz_emit_ktype(e, ktype), (unsigned long long)bits, 0));
}

lz_llvm_value *lz_emit_int(lz_emitter *e, lz_llvm_type *t, int64_t v)
{
    return repeat(e, e->l->ConstInt(t, (unsigned long long)v, 1));
}

lz_llvm_value *lz_emit_iota(lz_emitter *e, lz_llvm_type *t)
{
    lz_llvm_value *all[LZ_EMIT_LANES];
    for (int i = 0; i < e->lanes; i++)
        all[i] = e->l->ConstInt(t, (unsigned long long)i, 0);
    return e->lanes == 1 ? all[0] : e->l->ConstVector(all, (unsigned)e->lanes);
}

lz_llvm_value *lz_emit_move(lz_emitter *e, lz_llvm_value *p, lz_llvm_value *bytes)
{
    return e->l->BuildGEP2(e->b, e->i8, p, &bytes, 1, "");
}

lz_llvm_value *lz_emit_load(lz_emitter *e, lz_llvm_type *t, lz_llvm_value *p, unsigned align)
{
    lz_llvm_value *x = e->l->BuildLoad2(e->b, t, p, "");
    e->l->SetAlignment(x, align);
    return x;
}

void lz_emit_store(lz_emitter *e, lz_llvm_value *x, lz_llvm_value *p, unsigned align)
{
    e->l->SetAlignment(e->l->BuildStore(e->b, x, p), align);
}

lz_llvm_value *lz_emit_call(lz_emitter *e, const char *name, int n_types, lz_llvm_type **types, int n,
                            lz_llvm_value **args)
{
    unsigned id = e->l->LookupIntrinsicID(name, strlen(name));
    lz_llvm_value *fn = e->l->GetIntrinsicDeclaration(e->mod, id, types, (size_t)n_types);
    lz_llvm_type *t = e->l->IntrinsicGetType(e->ctx, id, types, (size_t)n_types);
    return e->l->BuildCall2(e->b, t, fn, args, (unsigned)n, "");
}

static lz_llvm_value *mask_bits(lz_emitter *e, lz_llvm_value *mask, lz_llvm_type **t)
{
    *t = e->l->IntTypeInContext(e->ctx, (unsigned)e->lanes);
    return e->lanes == 1 ? mask : e->l->BuildBitCast(e->b, mask, *t, "");
}

lz_llvm_value *lz_emit_any(lz_emitter *e, lz_llvm_value *mask)
{
    lz_llvm_type *t;
    lz_llvm_value *bits = mask_bits(e, mask, &t);
    return e->l->BuildICmp(e->b, LZ_LLVM_NE, bits, e->l->ConstNull(t), "");
}

lz_llvm_value *lz_emit_all(lz_emitter *e, lz_llvm_value *mask)
{
    lz_llvm_type *t;
    lz_llvm_value *bits = mask_bits(e, mask, &t);
    return e->l->BuildICmp(e->b, LZ_LLVM_EQ, bits, e->l->ConstAllOnes(t), "");
}

lz_llvm_value *lz_emit_active(lz_emitter *e, lz_llvm_value *mask)
{
    if (!mask || !e->mask)
        return mask ? mask : e->mask;
    return e->l->BuildAnd(e->b, mask, e->mask, "");
}

lz_llvm_value *lz_emit_mask(lz_emitter *e, lz_llvm_value *to)
{
    lz_llvm_value *left = lz_emit_least(e, e->l->BuildSub(e->b, to, e->at, ""), lz_emit_i64(e, e->lanes));
    left = lz_emit_splat(e, e->l->BuildTrunc(e->b, left, e->i32, ""));
    return e->l->BuildICmp(e->b, LZ_LLVM_SLT, lz_emit_iota(e, e->i32), left, "");
}

lz_llvm_block *lz_emit_block(lz_emitter *e, const char *name)
{
    return e->l->AppendBasicBlockInContext(e->ctx, e->fn, name);
}

void lz_emit_go(lz_emitter *e, lz_llvm_block *b)
{
    e->l->BuildBr(e->b, b);
}

void lz_emit_branch(lz_emitter *e, lz_llvm_value *c, lz_llvm_block *yes, lz_llvm_block *no)
{
    e->l->BuildCondBr(e->b, c, yes, no);
}

void lz_emit_at(lz_emitter *e, lz_llvm_block *b)
{
    e->l->PositionBuilderAtEnd(e->b, b);
}

lz_llvm_value *lz_emit_phi(lz_emitter *e, lz_llvm_value *x, lz_llvm_block *from_x, lz_llvm_value *y,
                           lz_llvm_block *from_y)
{
    lz_llvm_value *phi = e->l->BuildPhi(e->b, e->l->TypeOf(x), ""), *values[] = { x, y };
    lz_llvm_block *blocks[] = { from_x, from_y };
    e->l->AddIncoming(phi, values, blocks, 2);
    return phi;
}

lz_llvm_value *lz_emit_field(lz_emitter *e, lz_llvm_value *p, lz_llvm_type *t, size_t offset)
{
    return e->l->BuildLoad2(e->b, t, lz_emit_move(e, p, lz_emit_i64(e, (int64_t)offset)), "");
}

lz_llvm_value *lz_emit_least(lz_emitter *e, lz_llvm_value *x, lz_llvm_value *y)
{
    return e->l->BuildSelect(e->b, e->l->BuildICmp(e->b, LZ_LLVM_SLT, x, y, ""), x, y, "");
}

lz_llvm_value *lz_emit_down_to(lz_emitter *e, lz_llvm_value *x, int64_t multiple)
{
    return e->l->BuildAnd(e->b, x, lz_emit_i64(e, -multiple), "");
}

static void enter_loop(lz_emitter *e, lz_emit_loop_state *l, lz_llvm_value *from, lz_llvm_block *before)
{
    lz_emit_at(e, l->body);
    l->i = e->l->BuildPhi(e->b, e->i64, "");
    e->l->AddIncoming(l->i, &from, &before, 1);
}

lz_emit_loop_state lz_emit_loop(lz_emitter *e, lz_llvm_value *from, lz_llvm_value *to, lz_llvm_value *step)
{
    lz_llvm_block *before = e->l->GetInsertBlock(e->b);
    lz_emit_loop_state l = {
        .body = lz_emit_block(e, "body"), .exit = lz_emit_block(e, "exit"), .to = to, .step = step
    };
    lz_emit_branch(e, e->l->BuildICmp(e->b, LZ_LLVM_SLT, from, to, ""), l.body, l.exit);
    enter_loop(e, &l, from, before);
    return l;
}

void lz_emit_loop_end(lz_emitter *e, lz_emit_loop_state *l)
{
    lz_llvm_value *next = e->l->BuildAdd(e->b, l->i, l->step, "");
    lz_llvm_block *here = e->l->GetInsertBlock(e->b);
    e->l->AddIncoming(l->i, &next, &here, 1);
    lz_emit_branch(e, e->l->BuildICmp(e->b, LZ_LLVM_SLT, next, l->to, ""), l->body, l->exit);
    lz_emit_at(e, l->exit);
}
