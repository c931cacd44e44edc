#include "gen/torch/functionalization/redispatch.h"
#include "gen/api/translate.h"

lz_err *lzg_redispatch_make(lz_arena *a, const lzg_schema *s, lz_str variable, lzg_redispatch *out)
{
    lz_str *aliased, *names, *fresh;
    *out = (lzg_redispatch){ 0 };
    LZ_TRY(lzg_schema_aliased_returns(s, a, &aliased));
    LZ_TRY(lz_arena_new(a, &names, s->nreturns));
    LZ_TRY(lz_arena_new(a, &fresh, s->nreturns));
    for (size_t i = 0; i < s->nreturns; i++) {
        lz_str *name = &fresh[out->nfresh];
        if (aliased[i].len)
            names[out->naliased++] = aliased[i];
        else if (out->nfresh++, s->nreturns == 1)
            *name = variable;
        else
            LZ_TRY(lz_arena_printf(a, name, "std::get<%zu>(%.*s)", i, LZ_FMT(variable)));
    }
    out->aliased = names;
    out->fresh = fresh;
    return NULL;
}

static void begin_return(const lzg_ctype *type, size_t n, lz_text *out)
{
    lz_text_puts(out, n ? "return " : "");
    if (n > 1) {
        lzg_ctype_print(type, out);
        lz_text_putc(out, '(');
    }
}

static void end_return(size_t n, lz_text *out)
{
    lz_text_puts(out, n > 1 ? ");" : n ? ";" : "");
}

lz_err *lzg_put_return(const lzg_ctype *type, const lzg_redispatch *r, lz_text *out)
{
    size_t n = r->naliased + r->nfresh;
    begin_return(type, n, out);
    lzg_exprs_print(r->aliased, r->naliased, out);
    lz_text_puts(out, r->naliased && r->nfresh ? ", " : "");
    lzg_exprs_print(r->fresh, r->nfresh, out);
    end_return(n, out);
    return lz_text_check(out);
}

lz_err *lzg_put_return_of(const lzg_ctype *type, const lz_str *names, size_t n, lz_text *out)
{
    begin_return(type, n, out);
    lzg_exprs_print(names, n, out);
    end_return(n, out);
    return lz_text_check(out);
}
