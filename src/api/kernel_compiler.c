/* Says which LLVM compiles kernels. */
#include "jit/codes.h"
#include "jit/emitter.h"
#include <lazuli/run.h>
#include <stdio.h>

static lz_err *describe(lz_text *out)
{
    lz_jit_mode mode;
    const lz_target *t;
    const lz_llvm *l;
    LZ_TRY(lz_jit_mode_get(&mode));
    lz_text_printf(out, "%s; ", lz_jit_mode_text(mode));
    LZ_TRY(lz_target_here(&t));
    LZ_TRY(lz_llvm_get(&l));
    lz_text_printf(out, "%s by LLVM %u.%u.%u", t->name, l->major, l->minor, l->patch);
    return lz_text_check(out);
}

void lz_kernel_compiler(char *about, size_t room)
{
    lz_text t = { 0 };
    lz_err *e = describe(&t);
    if (e)
        lz_text_puts(&t, lz_err_text(e));
    snprintf(about, room, "%.*s", LZ_FMT(lz_text_view(&t)));
    lz_err_free(e);
    lz_text_deinit(&t);
}
