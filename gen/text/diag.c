#include "gen/text/diag.h"

void lzg_diag_init(lzg_diag *d)
{
    *d = (lzg_diag){ .limit = LZG_DIAG_LIMIT };
}

void lzg_diag_deinit(lzg_diag *d)
{
    lz_vec_deinit(&d->found);
    lz_arena_deinit(&d->arena);
    *d = (lzg_diag){ 0 };
}

bool lzg_diag_any(const lzg_diag *d)
{
    return d->found.len > 0 || d->dropped > 0;
}

static lz_err *record(lzg_diag *d, const lz_err *e, lz_loc at, lz_str context)
{
    lzg_finding f = { .code = lz_err_code(e), .loc = lz_err_loc(e).file ? lz_err_loc(e) : at };
    lz_str file;
    LZ_TRY(lz_arena_copy(&d->arena, lz_str_of(lz_err_text(e)), &f.reason));
    LZ_TRY(lz_arena_copy(&d->arena, context, &f.context));
    LZ_TRY(lz_arena_copy(&d->arena, lz_str_of(f.loc.file), &file));
    f.loc.file = file.ptr;
    return lz_vec_push(&d->found, f);
}

lz_err *lzg_diag_take(lzg_diag *d, lz_err *e, lz_loc at, lz_str context)
{
    if (!e || lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_err *failed = NULL;
    if (d->found.len >= d->limit)
        d->dropped++;
    else
        failed = record(d, e, at, context);
    lz_err_free(e);
    return failed;
}

static bool has(const lzg_diag *d, const lzg_finding *f)
{
    for (size_t i = 0; i < d->found.len; i++) {
        const lzg_finding *g = &d->found.data[i];
        if (g->loc.line == f->loc.line && g->loc.col == f->loc.col && lz_str_eq(g->reason, f->reason)
            && lz_str_eq(g->context, f->context))
            return true;
    }
    return false;
}

lz_err *lzg_diag_merge(lzg_diag *d, const lzg_diag *from)
{
    for (size_t i = 0; i < from->found.len; i++) {
        const lzg_finding *f = &from->found.data[i];
        if (!has(d, f))
            LZ_TRY(
                lzg_diag_take(d, lz_err_at(f->code, f->loc, "%.*s", LZ_FMT(f->reason)), f->loc, f->context));
    }
    d->dropped += from->dropped;
    return NULL;
}

void lzg_diag_print(const lzg_diag *d, lz_text *out)
{
    for (size_t i = 0; i < d->found.len; i++) {
        const lzg_finding *f = &d->found.data[i];
        if (f->loc.line)
            lz_text_printf(out, "%s:%d:%d: ", f->loc.file, f->loc.line, f->loc.col);
        else if (f->loc.file && *f->loc.file)
            lz_text_printf(out, "%s: ", f->loc.file);
        lz_text_printf(out, "%.*s\n", LZ_FMT(f->reason));
        if (f->context.len)
            lz_text_printf(out, "    %.*s\n", LZ_FMT(f->context));
    }
    if (d->dropped)
        lz_text_printf(out, "and %zu more\n", d->dropped);
}

lz_err *lzg_diag_error(const lzg_diag *d)
{
    if (!lzg_diag_any(d))
        return NULL;
    lz_text t = { 0 };
    lzg_diag_print(d, &t);
    lz_err *e = lz_text_check(&t);
    lz_loc at = d->found.len ? d->found.data[0].loc : (lz_loc){ 0 };
    if (!e)
        e = lz_err_at(LZ_ERR_MODEL, at, "%.*s", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}
