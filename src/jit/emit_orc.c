/* Objects that the small loader refuses: LLVM's own loader has them all. */
#include "base/foreign.h"
#include "jit/emit.h"

static lz_err *orc_error(const lz_llvm *l, lz_lerror *e)
{
    char *text = l->GetErrorMessage(e);
    lz_err *err = lz_errf(LZ_ERR_UNSUPPORTED, "LLVM: %s", text);
    l->DisposeErrorMessage(text);
    return err;
}

static lz_err *look_up(const lz_llvm *l, lz_ljit *jit, const char *name, uint64_t *out)
{
    lz_lerror *e = l->OrcLLJITLookup(jit, out, name);
    return e ? orc_error(l, e) : NULL;
}

static lz_err *add_object(const lz_llvm *l, lz_ljit *jit, const void *object, size_t size, lz_ccode *out)
{
    uint64_t code = 0, needs = 0, walk = 0;
    lz_lbuffer *b = l->CreateMemoryBufferWithMemoryRangeCopy(object, size, "kernel");
    lz_lerror *e = l->OrcLLJITAddObjectFile(jit, l->OrcLLJITGetMainJITDylib(jit), b);
    if (e)
        return orc_error(l, e);
    LZ_TRY(look_up(l, jit, "lz_code", &code));
    LZ_TRY(look_up(l, jit, "lz_needs", &needs));
    e = l->OrcLLJITLookup(jit, &walk, "lz_walk");
    if (e) /* not every object has it */
        lz_err_free(orc_error(l, e));
    /* NOLINTBEGIN(performance-no-int-to-ptr): LLVM gives addresses as numbers */
    out->run = (lz_code_fn *)(uintptr_t)code;
    out->walk = e ? NULL : (lz_code_walk *)(uintptr_t)walk;
    out->needs = *(const lz_cneeds *)(uintptr_t)needs;
    /* NOLINTEND(performance-no-int-to-ptr) */
    return NULL;
}

static lz_err *load_orc(const void *object, size_t size, lz_ccode *out)
{
    const lz_llvm *l;
    const lz_target *t;
    lz_ljit *jit = NULL;
    LZ_TRY(lz_llvm_get(&l));
    LZ_TRY(lz_target_here(&t));
    LZ_TRY(lz_target_start(t, l));
    if (!l->OrcCreateLLJIT || !l->CreateMemoryBufferWithMemoryRangeCopy)
        return lz_errf(LZ_ERR_NOT_FOUND, "this LLVM has no loader");
    lz_lerror *e = l->OrcCreateLLJIT(&jit, NULL);
    if (e)
        return orc_error(l, e);
    *out = (lz_ccode){ .memory = jit };
    lz_err *err = add_object(l, jit, object, size, out);
    if (err)
        lz_code_unload_orc(out);
    return err;
}

lz_err *lz_code_load_orc(const void *object, size_t size, lz_ccode *out)
{
    if (!lz_foreign_enter())
        return lz_foreign_ended("LLVM");
    lz_err *e = load_orc(object, size, out);
    lz_foreign_leave();
    return e;
}

/* What is there when the process exits goes with it. */
void lz_code_unload_orc(lz_ccode *c)
{
    if (!lz_foreign_enter())
        return;
    const lz_llvm *l;
    lz_err *e = lz_llvm_get(&l);
    lz_lerror *le = !e && c->memory ? l->OrcDisposeLLJIT(c->memory) : NULL;
    if (le)
        lz_err_free(orc_error(l, le));
    lz_err_free(e);
    lz_foreign_leave();
    *c = (lz_ccode){ 0 };
}
