#include "kernel/dnnl.h"
#include "base/dl.h"
#include "base/foreign.h"
#include "base/memory_limit.h"
#include "base/text.h"
#include <stddef.h>
#include <stdio.h>

#define REQUIRED(name, member)                                                                               \
    {                                                                                                        \
        "dnnl_" name, true, offsetof(lz_dnnl, member)                                                        \
    }

static const lz_dl_symbol symbols[] = {
    REQUIRED("version", version),
    REQUIRED("sgemm", sgemm),
    REQUIRED("engine_create", engine_create),
    REQUIRED("stream_create", stream_create),
    REQUIRED("stream_destroy", stream_destroy),
    REQUIRED("memory_desc_init_by_strides", md_strides),
    REQUIRED("memory_desc_init_by_tag", md_tag),
    REQUIRED("memory_desc_get_size", md_size),
    REQUIRED("memory_desc_equal", md_equal),
    REQUIRED("dilated_convolution_forward_desc_init", conv_forward),
    REQUIRED("dilated_convolution_backward_data_desc_init", conv_data),
    REQUIRED("dilated_convolution_backward_weights_desc_init", conv_weights),
    REQUIRED("reorder_primitive_desc_create", reorder),
    REQUIRED("primitive_attr_create", attr_create),
    REQUIRED("primitive_attr_destroy", attr_destroy),
    REQUIRED("primitive_attr_set_scratchpad_mode", attr_scratchpad),
    REQUIRED("primitive_desc_create", pd_create),
    REQUIRED("primitive_desc_destroy", pd_destroy),
    REQUIRED("primitive_desc_query_md", pd_md),
    REQUIRED("primitive_create", create),
    REQUIRED("primitive_destroy", destroy),
    REQUIRED("primitive_execute", execute),
    REQUIRED("memory_create", memory_create),
    REQUIRED("memory_destroy", memory_destroy),
    { "omp_get_max_threads", false, offsetof(lz_dnnl, omp_most) },
    { "omp_set_num_threads", false, offsetof(lz_dnnl, omp_set) },
};

enum { OPENMP = 2, SEQUENTIAL = 1 }; /* values of the build's CPU runtime */

static lz_dnnl lib;

static lz_err *check(void)
{
    const lz_dnnl_version *v = lib.version();
    if (v->major != 2)
        return lz_errf(LZ_ERR_NOT_FOUND, "%s has version %d.%d.%d, expected 2.x", lib.file, v->major,
                       v->minor, v->patch);
    bool openmp = (v->cpu_runtime & OPENMP) && lib.omp_most && lib.omp_set;
    if (v->cpu_runtime != SEQUENTIAL && !openmp)
        return lz_errf(LZ_ERR_NOT_FOUND, "%s: its thread pool cannot be disabled", lib.file);
    if (lib.engine_create(&lib.engine, LZ_DNNL_CPU, 0))
        return lz_errf(LZ_ERR_NOT_FOUND, "%s has no engine for the CPU", lib.file);
    return NULL;
}

static lz_err *load(void)
{
    static const char *const names[] = { "libdnnl.so.2", NULL };
    static lz_dl *dl; /* stays open until the process ends */
    LZ_TRY(lz_dl_open_lasting(names, &dl));
    snprintf(lib.file, sizeof lib.file, "%s", lz_dl_path(dl));
    lz_err *e = lz_dl_load(dl, symbols, sizeof symbols / sizeof *symbols, &lib);
    e = e ? e : check();
    if (e)
        lz_dl_close(dl);
    return e;
}

lz_err *lz_dnnl_get(const lz_dnnl **out)
{
    static lz_dl_choice choice = LZ_DL_CHOICE("oneDNN", load, (size_t)192 << 20); /* loading maps 45 MiB */
    *out = &lib;
    return lz_dl_have(&choice);
}

/* A product or convolution takes about 10 MiB on each thread that takes part. */
bool lz_dnnl_has_room(void)
{
    static lz_memory_limit_need need = { .what = "oneDNN", .bytes = (size_t)128 << 20 };
    return lz_memory_limit_allows(&need);
}

int lz_dnnl_enter(const lz_dnnl *d)
{
    if (!lz_foreign_enter())
        return -1;
    int before = d->omp_most ? d->omp_most() : 1;
    if (before != 1)
        d->omp_set(1);
    return before;
}

void lz_dnnl_leave(const lz_dnnl *d, int before)
{
    if (before != 1)
        d->omp_set(before);
    lz_foreign_leave();
}
