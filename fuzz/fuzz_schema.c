/* Any text is a schema that prints back to itself and has signatures that do so too, or
 * is refused at a place inside it. */
#include "gen_fuzz.h"

static void prints_back(lz_arena *a, const lzg_schema *s)
{
    const lzg_schema *again;
    fine(lzg_schema_parse(a, s->text, (lz_loc){ "fuzz", 1, 1 }, &again));
    check(lz_str_eq(s->text, again->text) && s->kind == again->kind && s->nargs == again->nargs);
}

static void ask(lz_arena *a, const lzg_schema *s)
{
    const lzg_schema *sig;
    lz_str *aliased;
    const lzg_signature_options bare = { .strip_default = true };
    lz_err *e = lzg_schema_signature(a, s, bare, &sig);
    if (!e)
        prints_back(a, sig);
    lz_err_free(e);
    e = lzg_schema_view_signature(a, s, &sig);
    if (!e)
        prints_back(a, sig);
    lz_err_free(e);
    lz_err_free(lzg_schema_aliased_returns(s, a, &aliased));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lz_str text = { (const char *)data, size };
    lz_arena a = { 0 };
    const lzg_schema *s;
    lz_err *e = lzg_schema_parse(&a, text, (lz_loc){ "fuzz", 1, 1 }, &s);
    if (e) {
        check(lz_err_code(e) != LZ_ERR_MEMORY);
        check(lz_err_loc(e).col >= 1 && (size_t)lz_err_loc(e).col <= size + 1);
        lz_err_free(e);
    } else {
        check(lz_str_eq(s->text, text));
        prints_back(&a, s);
        ask(&a, s);
    }
    lz_arena_deinit(&a);
    return 0;
}
