/* Says which libraries multiply matrices. */
#include "kernel/blas.h"
#include <lazuli/run.h>
#include <stdio.h>

const char *lz_matrix_library(size_t i, char *about, size_t room)
{
    lz_text t = { 0 };
    if (i >= LZ_BLASES)
        return NULL;
    lz_blas_describe((lz_blas)i, &t);
    lz_err *e = lz_text_check(&t);
    snprintf(about, room, "%.*s", LZ_FMT(e ? lz_str_of(lz_err_text(e)) : lz_text_view(&t)));
    lz_err_free(e);
    lz_text_deinit(&t);
    return lz_blas_name((lz_blas)i);
}
