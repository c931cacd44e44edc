/* Turns a kernel into an object file: the LLVM module, its two or three symbols, the target machine. */
#include "jit/emitter.h"
#include "base/env.h"
#include "base/foreign.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/memory_limit.h"
#include <stddef.h>
#include <string.h>

/* ---- targets ---- */

static lz_err *no_target(const char *name, const lz_target *const *all, int n)
{
    lz_text list = { 0 };
    for (int i = 0; i < n; i++)
        lz_text_printf(&list, "%s%s", i ? ", " : "", all[i]->name);
    lz_err *e = lz_text_check(&list);
    if (!e)
        e = lz_errf(LZ_ERR_ARG, "%s=%s: not one of %.*s", lz_env_vars[LZ_ENV_CPU].name, name,
                    LZ_FMT(lz_text_view(&list)));
    lz_text_deinit(&list);
    return e;
}

lz_err *lz_target_here(const lz_target **out)
{
    const lz_target *all[LZ_TARGETS_MOST];
    const char *name = lz_env_text(LZ_ENV_CPU);
    int n = lz_target_all(all);
    if (n == 0)
        return lz_errf(LZ_ERR_NOT_FOUND, "no machine code is made for this CPU");
    for (int i = n - 1; i >= 0; i--) {
        if (!name || strcmp(all[i]->name, name) == 0) {
            *out = all[i];
            return NULL;
        }
    }
    return no_target(name, all, n);
}

/* ---- target machines: creating one is a good part of compiling a small kernel, so they are reused ---- */

enum { MACHINES = 16 };

static struct {
    lz_lock lock;
    struct {
        const lz_target *t;
        lz_llvm_machine *m;
    } kept[MACHINES];
    int n;
} machines = { .lock = LZ_LOCK_INIT };

static lz_llvm_machine *kept_machine(const lz_target *t)
{
    lz_llvm_machine *m = NULL;
    lz_lock_take(&machines.lock);
    for (int i = machines.n; !m && i-- > 0;) {
        if (machines.kept[i].t == t) {
            m = machines.kept[i].m;
            machines.kept[i] = machines.kept[--machines.n];
        }
    }
    lz_lock_give(&machines.lock);
    return m;
}

static void keep_machine(const lz_llvm *l, const lz_target *t, lz_llvm_machine *m)
{
    lz_lock_take(&machines.lock);
    bool room = machines.n < MACHINES;
    if (room) {
        machines.kept[machines.n].t = t;
        machines.kept[machines.n++].m = m;
    }
    lz_lock_give(&machines.lock);
    if (!room)
        l->DisposeTargetMachine(m);
}

static lz_err *llvm_error(const lz_llvm *l, char *text)
{
    lz_err *e = lz_errf(LZ_ERR_UNSUPPORTED, "LLVM: %s", text ? text : "no reason given");
    if (text)
        l->DisposeMessage(text);
    return e;
}

/* LLVM's target registry is not thread-safe. */
lz_err *lz_target_start(const lz_target *t, const lz_llvm *l)
{
    lz_lock_take(&machines.lock);
    bool known = t->start(l);
    lz_lock_give(&machines.lock);
    return known ? NULL : lz_errf(LZ_ERR_NOT_FOUND, "this LLVM does not support %s", t->triple);
}

static lz_err *new_machine(const lz_llvm *l, const lz_target *t, lz_llvm_machine **out)
{
    lz_llvm_target *target = NULL;
    char *text = NULL;
    LZ_TRY(lz_target_start(t, l));
    if (l->GetTargetFromTriple(t->triple, &target, &text))
        return llvm_error(l, text);
    *out = l->CreateTargetMachine(target, t->triple, t->cpu, t->features, LZ_LLVM_LEVEL_DEFAULT,
                                  LZ_LLVM_RELOC_PIC, LZ_LLVM_MODEL_SMALL);
    return *out ? NULL : llvm_error(l, NULL);
}

/* ---- the module ---- */

static void make_types(lz_emitter *e)
{
    e->i1 = e->l->IntTypeInContext(e->ctx, 1);
    e->i8 = e->l->IntTypeInContext(e->ctx, 8);
    e->i16 = e->l->IntTypeInContext(e->ctx, 16);
    e->i32 = e->l->IntTypeInContext(e->ctx, 32);
    e->i64 = e->l->IntTypeInContext(e->ctx, 64);
    e->f32 = e->l->FloatTypeInContext(e->ctx);
    e->f64 = e->l->DoubleTypeInContext(e->ctx);
    e->ptr = e->l->PointerTypeInContext(e->ctx, 0);
}

static void load_accesses(lz_emitter *e)
{
    lz_llvm_value *all = lz_emit_field(e, e->frame, e->ptr, offsetof(lz_native_frame, access));
    e->piece_shift = NULL; /* belongs to another function */
    for (size_t i = 0; i < e->ir->access.len; i++) {
        const lz_kernel_use *u = &e->ir->access.data[i];
        lz_emit_access *a = &e->access[i];
        size_t at = i * sizeof(lz_native_access);
        if (!u->loads && !u->stores && !u->affine)
            continue;
        a->base = lz_emit_field(e, all, u->affine ? e->i64 : e->ptr, at + offsetof(lz_native_access, base));
        a->step = lz_emit_field(e, all, e->i64, at + offsetof(lz_native_access, step));
        a->across = lz_emit_field(e, all, e->i64, at + offsetof(lz_native_access, across));
        if (e->v->run[i] == LZ_RUN_TABLE)
            a->table = lz_emit_field(e, all, e->ptr, at + offsetof(lz_native_access, table));
        if (e->v->run[i] == LZ_RUN_PIECES)
            a->pieces = lz_emit_field(e, all, e->ptr, at + offsetof(lz_native_access, pieces));
        if (e->v->run[i] == LZ_RUN_PIECES && !e->piece_shift)
            e->piece_shift = lz_emit_field(e, e->frame, e->i64, offsetof(lz_native_frame, piece_shift));
        if (e->v->across_table)
            a->across_table = lz_emit_field(e, all, e->ptr, at + offsetof(lz_native_access, across_table));
    }
}

static void load_frame(lz_emitter *e)
{
    e->spill = e->l->BuildArrayAlloca(e->b, e->i8, lz_emit_i64(e, LZ_EMIT_SPILL), "spill");
    e->l->SetAlignment(e->spill, 64);
    e->frame = e->l->GetParam(e->fn, 0);
    e->n_outer = lz_emit_field(e, e->frame, e->i64, offsetof(lz_native_frame, n_outer));
    e->n_row = lz_emit_field(e, e->frame, e->i64, offsetof(lz_native_frame, n_row));
    e->tiles = lz_emit_field(e, e->frame, e->ptr, offsetof(lz_native_frame, tiles));
    e->scratch = lz_emit_field(e, e->frame, e->ptr, offsetof(lz_native_frame, scratch));
    lz_llvm_value *up = e->l->BuildAdd(e->b, e->n_row, lz_emit_i64(e, 63), "");
    e->row_room = e->l->BuildAnd(e->b, up, lz_emit_i64(e, -64), "");
    load_accesses(e);
}

static void make_uniform(lz_emitter *e)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (e->p->level[v] == LZ_LEVEL_UNIFORM)
            e->scalar[v] = lz_emit_node(e, v);
    }
}

static void add_attribute(lz_emitter *e, const char *name)
{
    unsigned kind = e->l->GetEnumAttributeKindForName(name, strlen(name));
    e->l->AddAttributeAtIndex(e->fn, (unsigned)LZ_LLVM_AT_FUNCTION,
                              e->l->CreateEnumAttribute(e->ctx, kind, 0));
}

static void open_function(lz_emitter *e, const char *name, int n_params)
{
    lz_llvm_type *takes[] = { e->ptr, e->i64, e->i64, e->i64 };
    e->fn = e->l->AddFunction(e->mod, name, e->l->FunctionType(e->i32, takes, (unsigned)n_params, 0));
    add_attribute(e, "nounwind");
    lz_emit_at(e, lz_emit_block(e, "entry"));
    e->divided = lz_emit_block(e, "divided");
    e->lanes = 1;
    load_frame(e);
}

static void close_function(lz_emitter *e)
{
    e->l->BuildRet(e->b, lz_emit_i32(e, LZ_CODE_FINE));
    lz_emit_at(e, e->divided);
    e->l->BuildRet(e->b, lz_emit_i32(e, LZ_CODE_DIVIDED));
}

static void make_code(lz_emitter *e)
{
    open_function(e, "lz_code", 1);
    lz_llvm_block *work = lz_emit_block(e, "work"), *done = lz_emit_block(e, "done");
    lz_emit_branch(e, e->l->BuildICmp(e->b, LZ_LLVM_SGT, e->n_outer, lz_emit_i64(e, 0), ""), work, done);
    lz_emit_at(e, work);
    make_uniform(e);
    (e->v->columns ? lz_emit_columns : lz_emit_rows)(e);
    lz_emit_go(e, done);
    lz_emit_at(e, done);
    lz_emit_drain(e);
    close_function(e);
}

static void make_walk(lz_emitter *e)
{
    open_function(e, "lz_walk", 4);
    make_uniform(e);
    lz_emit_walk(e);
    close_function(e);
}

static void make_needs(lz_emitter *e, bool shared)
{
    const int64_t needs[] = { e->p->scratch + e->p->row * 64, e->p->row, e->p->strip,
                              shared ? lz_emit_totals(e->ir) : 0 };
    lz_llvm_value *fields[4];
    for (int i = 0; i < 4; i++)
        fields[i] = lz_emit_i64(e, needs[i]);
    lz_llvm_value *all = e->l->ConstStructInContext(e->ctx, fields, 4, 0);
    lz_llvm_value *global = e->l->AddGlobal(e->mod, e->l->TypeOf(all), "lz_needs");
    e->l->SetInitializer(global, all);
    e->l->SetGlobalConstant(global, 1);
    e->l->SetAlignment(global, 8);
}

_Static_assert(sizeof(lz_native_needs) == 4 * sizeof(int64_t), "make_needs writes these");

static lz_err *to_object(lz_emitter *e, lz_llvm_machine *m, lz_text *object)
{
    char *text = NULL;
    lz_llvm_buffer *buffer = NULL;
#ifdef LZ_EMIT_VERIFY
    if (e->l->VerifyModule(e->mod, 2, &text)) {
        lz_err *wrong = lz_errf(LZ_ERR_INTERNAL, "LLVM rejects a generated module: %s", text);
        e->l->DisposeMessage(text);
        return wrong;
    }
    e->l->DisposeMessage(text);
    text = NULL;
#endif
    if (e->l->TargetMachineEmitToMemoryBuffer(m, e->mod, LZ_LLVM_OBJECT, &text, &buffer))
        return llvm_error(e->l, text);
    lz_text_add(object, (lz_str){ e->l->GetBufferStart(buffer), e->l->GetBufferSize(buffer) });
    e->l->DisposeMemoryBuffer(buffer);
    return lz_text_check(object);
}

static void make_module(lz_emitter *e, lz_llvm_machine *m, const lz_emit_plan *shared)
{
    lz_llvm_layout *layout = e->l->CreateTargetDataLayout(m);
    e->ctx = e->l->ContextCreate();
    e->mod = e->l->ModuleCreateWithNameInContext("kernel", e->ctx);
    e->b = e->l->CreateBuilderInContext(e->ctx);
    e->l->SetTarget(e->mod, e->t->triple);
    e->l->SetModuleDataLayout(e->mod, layout);
    e->l->DisposeTargetData(layout);
    make_types(e);
    make_code(e);
    make_needs(e, shared != NULL);
    if (shared) {
        e->p = shared;
        make_walk(e);
    }
}

static lz_err *emit_planned(lz_emitter *e, const lz_emit_plan *shared, lz_text *object)
{
    size_t nodes = e->ir->nodes.len + 1;
    lz_llvm_value **values = lz_mem_zalloc(3 * nodes, sizeof *values);
    if (!values)
        return lz_err_oom();
    e->now = values;
    e->scalar = values + nodes;
    e->spread = values + 2 * nodes;
    lz_llvm_machine *m = kept_machine(e->t);
    lz_err *err = m ? NULL : new_machine(e->l, e->t, &m);
    if (!err) {
        make_module(e, m, shared);
        err = to_object(e, m, object);
        e->l->DisposeBuilder(e->b);
        e->l->DisposeModule(e->mod);
        e->l->ContextDispose(e->ctx);
        keep_machine(e->l, e->t, m);
    }
    lz_mem_free(values);
    return err;
}

static lz_err *emit_plans(const lz_emit_plan *p, const lz_emit_plan *shared, const lz_native_variant *v,
                          const lz_target *t, const lz_llvm *l, lz_text *object)
{
    lz_emitter *e = lz_mem_zalloc(1, sizeof *e);
    if (!e)
        return lz_err_oom();
    e->l = l;
    e->t = t;
    e->ir = p->ir;
    e->v = v;
    e->p = p;
    lz_err *err = emit_planned(e, shared, object);
    lz_mem_free(e);
    return err;
}

static lz_err *emit_ir(const lz_kernel_ir *ir, const lz_native_variant *v, const lz_target *t,
                       const lz_llvm *l, lz_text *object)
{
    lz_emit_plan plan, other;
    bool shares = lz_emit_shares(ir, v);
    LZ_TRY(lz_emit_plan_init(&plan, ir, v, t, true));
    lz_err *e = shares ? lz_emit_plan_init(&other, ir, v, t, false) : NULL;
    if (!e) {
        e = emit_plans(&plan, shares ? &other : NULL, v, t, l, object);
        if (shares)
            lz_emit_plan_deinit(&other);
    }
    lz_emit_plan_deinit(&plan);
    return e;
}

/* Tries with the frequent functions written out inline; if that is too large, they become calls. */
static lz_err *emit_kernel(const lz_kernel *k, const lz_native_variant *v, const lz_target *t,
                           lz_text *object)
{
    const lz_llvm *l;
    const lz_target *target = t;
    lz_kernel *whole = NULL;
    LZ_TRY(lz_llvm_get(&l));
    lz_err *e = t ? NULL : lz_target_here(&target);
    if (e)
        return e;
    e = lz_kernel_expand_hot(k, target->scale != NULL, &whole);
    if (e && lz_err_code(e) == LZ_ERR_LIMIT) {
        lz_err_free(e);
        e = NULL;
    }
    if (!e)
        e = emit_ir(whole ? &whole->ir : &k->ir, v, target, l, object);
    lz_kernel_release(whole);
    return e;
}

/* A kernel takes a few MiB; on a thread that has not allocated before, 64 MiB more. */
static bool has_room(void)
{
    static lz_memory_limit_need need = { .what = "compiling kernels", .bytes = (size_t)256 << 20 };
    lz_memory_limit_check();
    return lz_memory_limit_allows(&need);
}

lz_err *lz_emit_kernel(const lz_kernel *k, const lz_native_variant *v, const lz_target *t, lz_text *object)
{
    if (!has_room())
        return lz_errf(LZ_ERR_MEMORY, "too little memory is left to compile a kernel");
    if (!lz_foreign_enter())
        return lz_foreign_ended("LLVM");
    lz_err *e = emit_kernel(k, v, t, object);
    lz_foreign_leave();
    return e;
}
