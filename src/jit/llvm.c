#include "jit/llvm.h"
#include "base/dl.h"
#include "base/env.h"
#include "base/foreign.h"
#include <pthread.h>
#include <stddef.h>

enum { OLDEST = 16, NEWEST_TRIED = 21 };

static const lz_dl_symbol symbols[] = {
#define X(result, name, parameters) { "LLVM" #name, true, offsetof(lz_llvm, name) },
    LZ_LLVM_FUNCTIONS(X)
#undef X
#define X(result, name, parameters) { "LLVM" #name, false, offsetof(lz_llvm, name) },
        LZ_LLVM_OPTIONAL(X)
#undef X
};

static const char *const usual[] = { "libLLVM.so.19.1",
                                     "libLLVM-19.so",
                                     "libLLVM.so.21.1",
                                     "libLLVM-21.so",
                                     "libLLVM.so.20.1",
                                     "libLLVM-20.so",
                                     "libLLVM.so.18.1",
                                     "libLLVM-18.so",
                                     "libLLVM-17.so",
                                     "libLLVM-17.so.1",
                                     "libLLVM-16.so",
                                     "libLLVM-16.so.1",
                                     NULL };

static lz_llvm library;

static lz_err *check_version(lz_llvm *l)
{
    l->GetVersion(&l->major, &l->minor, &l->patch);
    return l->major >= OLDEST ? NULL
                              : lz_errf(LZ_ERR_NOT_FOUND, "LLVM %u.%u is too old; %d or newer is needed",
                                        l->major, l->minor, (int)OLDEST);
}

/* Disables loop strength reduction. It takes half of the compile time of a kernel with reductions (6.4 ms
 * become 3.2, 10.6 become 5.6; pointwise 2.4 become 1.8), and the code is no faster with it: x86 has base +
 * index addressing. LLVM offers only this process-wide option. An LLVM that does not know an option ends the
 * process, hence the version bound. */
static void set_options(const lz_llvm *l)
{
    static const char *const options[] = { "lazuli", "-disable-lsr" };
    if (l->ParseCommandLineOptions && l->major <= NEWEST_TRIED)
        l->ParseCommandLineOptions(2, options, "");
}

static lz_err *load(void)
{
    const char *path = lz_env_text(LZ_ENV_LLVM);
    const char *const chosen[] = { path, NULL };
    lz_dl *dl = NULL;
    LZ_TRY(lz_dl_open_lasting(path ? chosen : usual, &dl));
    lz_err *e = lz_dl_load(dl, symbols, sizeof symbols / sizeof *symbols, &library);
    e = e ? e : check_version(&library);
    if (e) {
        lz_dl_close(dl);
        return e;
    }
    library.dl = dl;
    lz_foreign_loaded();
    if (lz_foreign_has_ended()) /* while it was being loaded */
        return lz_foreign_ended("LLVM");
    set_options(&library);
    return NULL;
}

lz_err *lz_llvm_get(const lz_llvm **out)
{
    /* Loading LLVM maps 180 MiB; the first kernel takes 10 more. */
    static lz_dl_choice choice = LZ_DL_CHOICE("LLVM", load, (size_t)448 << 20);
    *out = &library;
    return lz_dl_have(&choice);
}
