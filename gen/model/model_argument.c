/* Arguments, returns and alias annotations of schemas: parsed, printed, compared. */
#include "gen/model/model_impl.h"

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

/* One letter, or letters joined by '|', into out; 0: there are none. */
static size_t letters(lz_str *rest, char *out)
{
    size_t n = 0;
    lz_str s = *rest;
    while (s.len && is_letter(s.ptr[0])) {
        out[n++] = s.ptr[0];
        s = lz_str_sub(s, 1, s.len);
        if (s.len < 2 || s.ptr[0] != '|' || !is_letter(s.ptr[1]))
            break;
        s = lz_str_sub(s, 1, s.len);
    }
    out[n] = '\0';
    *rest = s;
    return n;
}

static bool skip(lz_str *rest, lz_str what)
{
    bool found = lz_str_starts(*rest, what);
    if (found)
        *rest = lz_str_sub(*rest, what.len, rest->len);
    return found;
}

static lz_err *after_set(const lzg_src *src, lz_str *rest, const char **out)
{
    char *set;
    LZ_TRY(lz_arena_new(src->arena, &set, rest->len + 1));
    *out = set;
    if (skip(rest, LZ_STR("*")))
        set[0] = '*';
    else if (letters(rest, set) == 0)
        return lzg_src_syntax(src, *rest, "'*' or alias letters belong behind '->'");
    return NULL;
}

lz_err *lzg_src_annotation(const lzg_src *src, lz_str piece, const lzg_annotation **out)
{
    lz_str rest = piece;
    lzg_annotation *n;
    char *set;
    LZ_TRY(lz_arena_new(src->arena, &set, piece.len + 1));
    LZ_TRY(lz_arena_new(src->arena, &n, 1));
    size_t before = letters(&rest, set);
    if (before == 0)
        return lzg_src_syntax(src, piece, "an alias annotation starts with a letter a-z");
    if (before > 2)
        return lzg_src_syntax(src, piece, "alias set of more than two letters");
    memcpy(n->set, set, before);
    n->after = "";
    n->write = skip(&rest, LZ_STR("!"));
    if (skip(&rest, LZ_STR(" -> ")))
        LZ_TRY(after_set(src, &rest, &n->after));
    if (rest.len)
        return lzg_src_syntax(src, rest, "unexpected '%.*s' in an alias annotation", LZ_FMT(rest));
    if (n->write && before > 1)
        return lzg_src_model(src, piece, "a written alias set has one letter");
    if (before > 1 && n->after[0] && n->after[1])
        return lzg_src_model(src, piece, "alias sets before and after cannot both have several letters");
    *out = n;
    return NULL;
}

lz_err *lzg_annotation_parse(lz_arena *a, lz_str text, lz_loc loc, const lzg_annotation **out)
{
    lzg_src src;
    LZ_TRY(lzg_src_init(&src, a, text, loc));
    return lzg_src_annotation(&src, src.text, out);
}

static void print_set(const char *set, lz_text *out)
{
    for (size_t i = 0; set[i]; i++) {
        if (i)
            lz_text_putc(out, '|');
        lz_text_putc(out, set[i]);
    }
}

void lzg_annotation_print(const lzg_annotation *n, lz_text *out)
{
    print_set(n->set, out);
    if (n->write)
        lz_text_putc(out, '!');
    if (n->after[0]) {
        lz_text_puts(out, " -> ");
        print_set(n->after, out);
    }
}

bool lzg_annotation_eq(const lzg_annotation *a, const lzg_annotation *b)
{
    if (!a || !b || a == b)
        return a == b;
    return a->write == b->write && strcmp(a->set, b->set) == 0 && strcmp(a->after, b->after) == 0;
}

/* "Tensor(a!)[]" is the type Tensor[] with an annotation. */
static lz_err *annotated(const lzg_src *src, lz_str piece, lz_str tail, const lzg_type **type)
{
    static const lzg_type tensor = { .kind = LZG_TYPE_BASE, .base = LZG_TY_Tensor, .size = -1 };
    static const lzg_type optional = { .kind = LZG_TYPE_OPTIONAL, .elem = &tensor, .size = -1 };
    static const lzg_type list = { .kind = LZG_TYPE_LIST, .elem = &tensor, .size = -1 };
    *type = tail.len == 0 ? &tensor : lz_str_is(tail, "?") ? &optional : lz_str_is(tail, "[]") ? &list : NULL;
    if (!*type)
        return lzg_src_syntax(src, tail, "'%.*s': only Tensor, Tensor? and Tensor[] take an annotation",
                              LZ_FMT(piece));
    return NULL;
}

static lz_err *type_and_annotation(const lzg_src *src, lz_str piece, const lzg_type **type,
                                   const lzg_annotation **annotation)
{
    lz_str open = LZ_STR("Tensor(");
    size_t close = lz_str_starts(piece, open) ? lz_str_rfind(piece, LZ_STR(")")) : SIZE_MAX;
    *annotation = NULL;
    if (close == SIZE_MAX)
        return lzg_src_type(src, piece, type);
    LZ_TRY(annotated(src, piece, lz_str_sub(piece, close + 1, piece.len), type));
    return lzg_src_annotation(src, lz_str_sub(piece, open.len, close), annotation);
}

lz_err *lzg_src_argument(const lzg_src *src, lz_str piece, lzg_argument *out)
{
    lz_str left = piece;
    *out = (lzg_argument){ 0 };
    size_t eq = lz_str_find_char(piece, '=');
    if (eq != SIZE_MAX) {
        left = lz_str_sub(piece, 0, eq);
        out->deflt = lz_str_sub(piece, eq + 1, piece.len);
        if (out->deflt.len == 0)
            return lzg_src_syntax(src, out->deflt, "empty default");
        if (lz_str_find_char(out->deflt, '=') != SIZE_MAX)
            return lzg_src_syntax(src, out->deflt, "a second '=' in an argument");
    }
    size_t space = lz_str_rfind(left, LZ_STR(" "));
    if (space == SIZE_MAX)
        return lzg_src_syntax(src, piece, "argument '%.*s' is not a type, a space and a name", LZ_FMT(piece));
    out->name = lz_str_sub(left, space + 1, left.len);
    return type_and_annotation(src, lz_str_sub(left, 0, space), &out->type, &out->annotation);
}

lz_err *lzg_src_return(const lzg_src *src, lz_str piece, lzg_return *out)
{
    *out = (lzg_return){ 0 };
    lz_str left = piece;
    size_t space = lz_str_rfind(piece, LZ_STR(" "));
    if (space != SIZE_MAX) {
        left = lz_str_sub(piece, 0, space);
        out->name = lz_str_sub(piece, space + 1, piece.len);
    }
    return type_and_annotation(src, left, &out->type, &out->annotation);
}

lz_err *lzg_argument_parse(lz_arena *a, lz_str text, lz_loc loc, lzg_argument *out)
{
    lzg_src src;
    LZ_TRY(lzg_src_init(&src, a, text, loc));
    return lzg_src_argument(&src, src.text, out);
}

static void print_type(const lzg_type *type, const lzg_annotation *annotation, lz_text *out)
{
    if (!annotation) {
        lzg_type_print(type, out);
        return;
    }
    lz_text_puts(out, "Tensor(");
    lzg_annotation_print(annotation, out);
    lz_text_puts(out, type->kind == LZG_TYPE_BASE ? ")" : type->kind == LZG_TYPE_OPTIONAL ? ")?" : ")[]");
}

void lzg_argument_print(const lzg_argument *arg, lz_text *out)
{
    print_type(arg->type, arg->annotation, out);
    lz_text_putc(out, ' ');
    lz_text_add(out, arg->name);
    if (arg->deflt.ptr) {
        lz_text_putc(out, '=');
        lz_text_add(out, arg->deflt);
    }
}

void lzg_return_print(const lzg_return *r, lz_text *out)
{
    print_type(r->type, r->annotation, out);
    if (r->name.ptr) {
        lz_text_putc(out, ' ');
        lz_text_add(out, r->name);
    }
}

bool lzg_argument_eq(const lzg_argument *a, const lzg_argument *b)
{
    return lz_str_eq(a->name, b->name) && lz_str_eq(a->deflt, b->deflt)
           && (a->deflt.ptr == NULL) == (b->deflt.ptr == NULL) && lzg_type_eq(a->type, b->type)
           && lzg_annotation_eq(a->annotation, b->annotation);
}

bool lzg_argument_writes(const lzg_argument *arg)
{
    return arg->annotation && arg->annotation->write;
}

bool lzg_return_writes(const lzg_return *r)
{
    return r->annotation && r->annotation->write;
}
