#include "gen/formula/formula_term.h"

const char *lzg_prim_name(lzg_prim prim)
{
    static const char *const names[LZG_PRIM_COUNT] = {
#define X(NAME, name, ...) [LZG_PRIM_##NAME] = #name,
        LZG_SCALAR_FUNCTIONS(X) LZG_BUILTINS(X)
#undef X
#define X(NAME, of, name, ...) [LZG_PRIM_##NAME] = "." #name,
            LZG_ATTRIBUTES(X)
#undef X
                [LZG_PRIM_INDEX] = "index",
        [LZG_PRIM_SLICE] = "slice",
        [LZG_PRIM_IS_NONE] = "is_none",
    };
    return names[prim];
}

static void print_text(lz_str text, lz_text *out)
{
    lz_text_putc(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"' || text.ptr[i] == '\\')
            lz_text_putc(out, '\\');
        lz_text_putc(out, text.ptr[i]);
    }
    lz_text_putc(out, '"');
}

static void print_leaf(const lzg_term *t, lz_text *out)
{
    switch (t->kind) {
    case LZG_TERM_INT:
        lz_text_int(out, t->integer);
        break;
    case LZG_TERM_FLOAT:
        lz_text_double(out, t->real);
        break;
    case LZG_TERM_STR:
        print_text(t->text, out);
        break;
    case LZG_TERM_BOOL:
        lz_text_puts(out, t->truth ? "True" : "False");
        break;
    case LZG_TERM_NONE:
        lz_text_puts(out, "None");
        break;
    case LZG_TERM_VAR:
        lz_text_printf(out, "$%d", (int)t->integer);
        break;
    default:
        lz_text_add(out, t->text);
        break;
    }
}

static void print_head(const lzg_term *t, lz_text *out)
{
    static const char *const names[LZG_TERM_COUNT] = {
        [LZG_TERM_COND] = "cond", [LZG_TERM_TUPLE] = "tuple", [LZG_TERM_GET] = "get",
        [LZG_TERM_LIST] = "list", [LZG_TERM_MAP] = "map",     [LZG_TERM_FOLD] = "fold",
        [LZG_TERM_LOOP] = "loop", [LZG_TERM_LET] = "let",     [LZG_TERM_CHECK] = "check",
    };
    if (t->kind == LZG_TERM_CALL)
        lz_text_add(out, t->function->func->name.text);
    else if (t->kind == LZG_TERM_OP)
        lz_text_puts(out, lzg_op_spelling(t->op));
    else if (t->kind == LZG_TERM_PRIM)
        lz_text_puts(out, lzg_prim_name(t->prim));
    else if (t->kind == LZG_TERM_CONVERT)
        lzg_fty_print(t->type, out);
    else
        lz_text_puts(out, names[t->kind]);
    if (t->kind == LZG_TERM_GET || t->kind == LZG_TERM_LOOP)
        lz_text_printf(out, " %d", (int)t->integer);
    for (size_t i = 0; i < t->nslots; i++)
        lz_text_printf(out, " $%u", t->slots[i]);
}

/* NOLINTNEXTLINE(misc-no-recursion): terms are hardly higher than LZG_FORMULA_DEPTH */
void lzg_term_print(const lzg_term *t, lz_text *out)
{
    if (t->kind <= LZG_TERM_VAR) {
        print_leaf(t, out);
        return;
    }
    lz_text_putc(out, '(');
    print_head(t, out);
    for (size_t i = 0; i < t->nkids; i++) {
        lz_text_putc(out, ' ');
        if (t->kids[i])
            lzg_term_print(t->kids[i], out);
        else
            lz_text_putc(out, '-');
    }
    lz_text_putc(out, ')');
}
