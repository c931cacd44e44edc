#include "gen/api/meta.h"

lz_err *lzg_meta_name(lz_arena *a, const lzg_group *g, lz_str *out)
{
    lz_text t = { 0 };
    lz_str name = g->functional->func->name.text;
    for (size_t i = 0; i < name.len; i++)
        lz_text_putc(&t, name.ptr[i] == '.' ? '_' : name.ptr[i]);
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}
