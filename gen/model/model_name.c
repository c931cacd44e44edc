/* Operator names: base name, overload, in-place and dunder forms. */
#include "gen/model/model_impl.h"

/* __iXXX__ is in place for these (PEP 203), and for nothing else. */
static const char *const augmented[] = {
    "add", "sub", "mul", "div", "mod", "pow", "lshift", "rshift", "and", "xor", "or",
};

static bool is_augmented(lz_str s)
{
    for (size_t i = 0; i < sizeof augmented / sizeof *augmented; i++)
        if (lz_str_is(s, augmented[i]))
            return true;
    return false;
}

/* Two underscores on both sides and none between them. */
static bool is_dunder(lz_str s)
{
    lz_str u = LZ_STR("__");
    return s.len > 4 && lz_str_starts(s, u) && lz_str_ends(s, u)
           && lz_str_find_char(lz_str_sub(s, 2, s.len - 2), '_') == SIZE_MAX;
}

static lz_err *parse_dunder(const lzg_src *src, lz_str s, lzg_op_name *out)
{
    out->dunder = true;
    out->base = lz_str_sub(s, 2, s.len - 2);
    if (out->base.ptr[0] != 'i')
        return NULL;
    out->base = lz_str_sub(out->base, 1, out->base.len);
    out->inplace = is_augmented(out->base);
    if (!out->inplace)
        return lzg_src_syntax(src, s, "'%.*s' starts with i but is no augmented assignment", LZ_FMT(s));
    return NULL;
}

static lz_err *parse_plain(const lzg_src *src, lz_str s, lzg_op_name *out)
{
    lz_str functional = LZ_STR("_functional");
    out->inplace = s.ptr[s.len - 1] == '_';
    out->base = lz_str_sub(s, 0, s.len - out->inplace);
    out->functional_overload = lz_str_ends(out->base, functional);
    if (out->functional_overload)
        out->base.len -= functional.len;
    if (out->functional_overload && out->inplace)
        return lzg_src_syntax(src, s, "'%.*s' is both _functional and in place", LZ_FMT(s));
    return NULL;
}

static lz_err *parse_base(const lzg_src *src, lz_str s, lzg_op_name *out)
{
    if (s.len == 0)
        return lzg_src_syntax(src, s, "operator without a name");
    if (lz_str_ends(s, LZ_STR("_out")))
        return lzg_src_syntax(src, s, "the suffix _out is reserved: name an out overload instead");
    size_t colons = lz_str_rfind(s, LZ_STR("::"));
    if (colons == 0)
        return lzg_src_syntax(src, s, "empty namespace");
    if (colons != SIZE_MAX) {
        out->ns = lz_str_sub(s, 0, colons);
        s = lz_str_sub(s, colons + 2, s.len);
    }
    if (s.len == 0)
        return lzg_src_syntax(src, s, "namespace without an operator name");
    return is_dunder(s) ? parse_dunder(src, s, out) : parse_plain(src, s, out);
}

/* The text with '_' in place of the dot. */
static lz_err *set_unambiguous(lz_arena *a, lzg_op_name *name)
{
    name->unambiguous = name->text;
    if (name->overload.len == 0)
        return NULL;
    char *p = lz_arena_zalloc(a, name->text.len + 1);
    if (!p)
        return lz_err_oom();
    memcpy(p, name->text.ptr, name->text.len);
    p[name->printed_base.len] = '_';
    name->unambiguous.ptr = p;
    return NULL;
}

lz_err *lzg_src_op_name(const lzg_src *src, lz_str piece, lzg_op_name *out)
{
    size_t dot = lz_str_find_char(piece, '.');
    *out = (lzg_op_name){ .text = piece, .printed_base = lz_str_sub(piece, 0, dot) };
    out->overload = dot == SIZE_MAX ? LZ_STR("") : lz_str_sub(piece, dot + 1, piece.len);
    if (dot != SIZE_MAX && out->overload.len == 0)
        return lzg_src_syntax(src, lz_str_sub(piece, dot, piece.len), "empty overload name");
    LZ_TRY(parse_base(src, out->printed_base, out));
    return set_unambiguous(src->arena, out);
}

lz_err *lzg_op_name_parse(lz_arena *a, lz_str text, lz_loc loc, lzg_op_name *out)
{
    lzg_src src;
    LZ_TRY(lzg_src_init(&src, a, text, loc));
    return lzg_src_op_name(&src, src.text, out);
}

static void print_base(const lzg_op_name *name, lz_text *out)
{
    if (name->ns.len) {
        lz_text_add(out, name->ns);
        lz_text_puts(out, "::");
    }
    if (name->dunder)
        lz_text_puts(out, name->inplace ? "__i" : "__");
    lz_text_add(out, name->base);
    if (name->dunder)
        lz_text_puts(out, "__");
    else if (name->inplace || name->functional_overload)
        lz_text_puts(out, name->inplace ? "_" : "_functional");
}

lz_err *lzg_op_name_finish(lz_arena *a, lzg_op_name *name)
{
    lz_text t = { 0 };
    print_base(name, &t);
    size_t base = t.len;
    if (name->overload.len) {
        lz_text_putc(&t, '.');
        lz_text_add(&t, name->overload);
    }
    lz_err *e = lz_text_save(&t, a, &name->text);
    lz_text_deinit(&t);
    if (e)
        return e;
    name->printed_base = lz_str_sub(name->text, 0, base);
    return set_unambiguous(a, name);
}
