/* Types of schemas, and the position in the text that is being read. */
#include "gen/model/model_impl.h"
#include <stdarg.h>

enum { DEPTH_MAX = 100 }; /* suffixes of one type: a walk over a type may recurse */

static const lz_str names[LZG_TY_COUNT] = {
#define X(name) { #name, sizeof #name - 1 },
    LZG_BASE_TYPES(X)
#undef X
};

static const lzg_type base_types[LZG_TY_COUNT] = {
#define X(name) { .kind = LZG_TYPE_BASE, .base = LZG_TY_##name, .size = -1 },
    LZG_BASE_TYPES(X)
#undef X
};

static const lz_str class_prefix = { "__torch__.torch.classes.", 24 };

lz_err *lzg_src_init(lzg_src *src, lz_arena *a, lz_str text, lz_loc loc)
{
    *src = (lzg_src){ .arena = a, .loc = loc };
    return lz_arena_copy(a, text, &src->text);
}

static lz_loc place(const lzg_src *src, lz_str piece)
{
    lz_loc loc = src->loc;
    uintptr_t start = (uintptr_t)src->text.ptr, at = (uintptr_t)piece.ptr;
    if (loc.col && at >= start && at - start <= src->text.len)
        loc.col += (int32_t)(at - start);
    return loc;
}

lz_err *lzg_src_syntax(const lzg_src *src, lz_str piece, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    lz_err *e = lz_err_vat(LZ_ERR_SYNTAX, place(src, piece), fmt, ap);
    va_end(ap);
    return e;
}

lz_err *lzg_src_model(const lzg_src *src, lz_str piece, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    lz_err *e = lz_err_vat(LZ_ERR_MODEL, place(src, piece), fmt, ap);
    va_end(ap);
    return e;
}

lz_err *lzg_concat(lz_arena *a, lz_str first, lz_str second, lz_str *out)
{
    char *p = lz_arena_zalloc(a, first.len + second.len + 1);
    if (!p)
        return lz_err_oom();
    if (first.len)
        memcpy(p, first.ptr, first.len);
    if (second.len)
        memcpy(p + first.len, second.ptr, second.len);
    *out = (lz_str){ p, first.len + second.len };
    return NULL;
}

size_t lzg_count(lz_str s, char c)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += s.ptr[i] == c;
    return n;
}

lz_str lzg_cut_item(lz_str *rest, bool *more)
{
    lz_str whole = *rest;
    size_t at = 0;
    while (at + 1 < whole.len && !(whole.ptr[at] == ',' && whole.ptr[at + 1] == ' '))
        at++;
    *more = at + 1 < whole.len;
    at = *more ? at : whole.len;
    *rest = lz_str_sub(whole, at + 2, whole.len);
    return lz_str_sub(whole, 0, at);
}

const char *lzg_base_ty_name(lzg_base_ty base)
{
    return names[base].ptr;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_class_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

static lz_err *parse_class(const lzg_src *src, lz_str t, const lzg_type **out)
{
    lz_str name = lz_str_sub(t, class_prefix.len, t.len);
    for (size_t i = 0; i < name.len; i++)
        if (!is_class_char(name.ptr[i]))
            return lzg_src_syntax(src, lz_str_sub(name, i, name.len), "'%c' in the name of a custom class",
                                  name.ptr[i]);
    if (name.len == 0)
        return lzg_src_syntax(src, name, "custom class without a name");
    lzg_type *type;
    LZ_TRY(lz_arena_new(src->arena, &type, 1));
    *type = (lzg_type){ .kind = LZG_TYPE_CLASS, .size = -1, .class_name = name };
    *out = type;
    return NULL;
}

static lz_err *parse_core(const lzg_src *src, lz_str t, const lzg_type **out)
{
    if (lz_str_starts(t, class_prefix))
        return parse_class(src, t, out);
    for (int i = 0; i < LZG_TY_COUNT; i++)
        if (lz_str_eq(t, names[i])) {
            *out = &base_types[i];
            return NULL;
        }
    return lzg_src_syntax(src, t, "unknown type '%.*s'", LZ_FMT(t));
}

/* Where the last suffix of t begins ("?", "[]" or "[N]" behind something), else t.len. */
static size_t suffix_start(lz_str t)
{
    if (t.len > 1 && t.ptr[t.len - 1] == '?')
        return t.len - 1;
    if (t.len < 3 || t.ptr[t.len - 1] != ']')
        return t.len;
    size_t i = t.len - 1;
    while (i > 0 && is_digit(t.ptr[i - 1]))
        i--;
    return i > 1 && t.ptr[i - 1] == '[' ? i - 1 : t.len;
}

static lz_err *list_size(const lzg_src *src, lz_str digits, int32_t *out)
{
    int64_t size = 0;
    if (digits.len && digits.ptr[0] == '0')
        return lzg_src_syntax(src, digits, "list size with a leading zero");
    for (size_t i = 0; i < digits.len && size <= INT32_MAX; i++)
        size = size * 10 + (digits.ptr[i] - '0');
    if (size > INT32_MAX)
        return lzg_src_syntax(src, digits, "list size out of range");
    *out = digits.len ? (int32_t)size : -1;
    return NULL;
}

/* Wraps *out in the suffix that starts rest, and moves rest behind it. */
static lz_err *wrap(const lzg_src *src, lz_str *rest, const lzg_type **out)
{
    bool optional = rest->ptr[0] == '?';
    size_t end = optional ? 1 : lz_str_find_char(*rest, ']') + 1;
    lzg_type *type;
    LZ_TRY(lz_arena_new(src->arena, &type, 1));
    *type = (lzg_type){ .kind = optional ? LZG_TYPE_OPTIONAL : LZG_TYPE_LIST, .elem = *out, .size = -1 };
    if (!optional)
        LZ_TRY(list_size(src, lz_str_sub(*rest, 1, end - 1), &type->size));
    *rest = lz_str_sub(*rest, end, rest->len);
    *out = type;
    return NULL;
}

lz_err *lzg_src_type(const lzg_src *src, lz_str t, const lzg_type **out)
{
    lz_str core = t;
    int depth = 0;
    for (size_t at; (at = suffix_start(core)) < core.len; depth++)
        core.len = at;
    if (depth > DEPTH_MAX)
        return lzg_src_syntax(src, t, "type with more than %d suffixes", DEPTH_MAX);
    LZ_TRY(parse_core(src, core, out));
    lz_str rest = lz_str_sub(t, core.len, t.len);
    while (rest.len)
        LZ_TRY(wrap(src, &rest, out));
    return NULL;
}

lz_err *lzg_type_parse(lz_arena *a, lz_str text, lz_loc loc, const lzg_type **out)
{
    lzg_src src;
    LZ_TRY(lzg_src_init(&src, a, text, loc));
    return lzg_src_type(&src, src.text, out);
}

static void print_suffix(const lzg_type *t, lz_text *out)
{
    if (t->kind == LZG_TYPE_OPTIONAL) {
        lz_text_putc(out, '?');
        return;
    }
    lz_text_putc(out, '[');
    if (t->size >= 0)
        lz_text_int(out, t->size);
    lz_text_putc(out, ']');
}

static const lzg_type *elem_at(const lzg_type *t, size_t depth)
{
    while (depth--)
        t = t->elem;
    return t;
}

/* The core comes first and the outermost suffix last. */
void lzg_type_print(const lzg_type *t, lz_text *out)
{
    size_t depth = 0;
    const lzg_type *core = t;
    for (; core->elem; depth++)
        core = core->elem;
    if (core->kind == LZG_TYPE_CLASS)
        lz_text_add(out, class_prefix);
    lz_text_add(out, core->kind == LZG_TYPE_CLASS ? core->class_name : names[core->base]);
    while (depth--)
        print_suffix(elem_at(t, depth), out);
}

bool lzg_type_eq(const lzg_type *a, const lzg_type *b)
{
    while (a != b) {
        if (a->kind != b->kind || a->size != b->size)
            return false;
        if (a->kind == LZG_TYPE_BASE)
            return a->base == b->base;
        if (a->kind == LZG_TYPE_CLASS)
            return lz_str_eq(a->class_name, b->class_name);
        a = a->elem;
        b = b->elem;
    }
    return true;
}

bool lzg_type_is(const lzg_type *t, lzg_base_ty base)
{
    return t->kind == LZG_TYPE_BASE && t->base == base;
}

bool lzg_type_is_base_like(const lzg_type *t, lzg_base_ty base)
{
    while (t->elem)
        t = t->elem;
    return lzg_type_is(t, base);
}

bool lzg_type_is_tensor_like(const lzg_type *t)
{
    return lzg_type_is_base_like(t, LZG_TY_Tensor);
}

bool lzg_type_is_symint_like(const lzg_type *t)
{
    return lzg_type_is_base_like(t, LZG_TY_SymInt);
}

bool lzg_type_is_generator_like(const lzg_type *t)
{
    return lzg_type_is_base_like(t, LZG_TY_Generator);
}

bool lzg_type_is_nullable(const lzg_type *t)
{
    while (t->kind == LZG_TYPE_LIST)
        t = t->elem;
    return t->kind == LZG_TYPE_OPTIONAL;
}

const lzg_type *lzg_type_is_list_like(const lzg_type *t)
{
    while (t->kind == LZG_TYPE_OPTIONAL)
        t = t->elem;
    return t->kind == LZG_TYPE_LIST ? t : NULL;
}
