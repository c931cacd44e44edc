#include "gen/api/types.h"

const lz_str lzg_redundant_memory_format = { "possibly redundant memory_format", 32 };

#define ROW(wrap, base) [wrap][base] = { .kind = (wrap), .elem = &lzg_ctypes[LZG_C_BASE][base] },
const lzg_ctype lzg_ctypes[LZG_C_ARRAY][LZG_CPP_COUNT] = {
#define X(id, text)                                                                                          \
    [LZG_C_BASE][LZG_CPP_##id] = { .kind = LZG_C_BASE, .name = { text, sizeof(text) - 1 } },                 \
    ROW(LZG_C_CONST_REF, LZG_CPP_##id) ROW(LZG_C_MUT_REF, LZG_CPP_##id) ROW(LZG_C_OPTIONAL, LZG_CPP_##id)    \
        ROW(LZG_C_LIST, LZG_CPP_##id) ROW(LZG_C_ARRAY_REF, LZG_CPP_##id) ROW(LZG_C_VECTOR, LZG_CPP_##id)     \
            ROW(LZG_C_VECTORIZED, LZG_CPP_##id)
    LZG_CPP_TYPES(X)
#undef X
};
#undef ROW

const lzg_ctype lzg_const_optionals[LZG_CPP_COUNT] = {
#define X(id, text)                                                                                          \
    [LZG_CPP_##id] = { .kind = LZG_C_CONST_REF, .elem = &lzg_ctypes[LZG_C_OPTIONAL][LZG_CPP_##id] },
    LZG_CPP_TYPES(X)
#undef X
};

static bool is_shared_base(const lzg_ctype *t)
{
    const lzg_ctype *bases = lzg_ctypes[LZG_C_BASE];
    return t->kind == LZG_C_BASE && t >= bases && t < bases + LZG_CPP_COUNT;
}

lz_err *lzg_ctype_wrap(lz_arena *a, lzg_ctype_kind wrap, const lzg_ctype *elem, const lzg_ctype **out)
{
    if (is_shared_base(elem)) {
        *out = &lzg_ctypes[wrap][elem - lzg_ctypes[LZG_C_BASE]];
        return NULL;
    }
    lzg_ctype *t;
    LZ_TRY(lz_arena_new(a, &t, 1));
    *t = (lzg_ctype){ .kind = wrap, .elem = elem };
    *out = t;
    return NULL;
}

lz_err *lzg_ctype_array(lz_arena *a, const lzg_ctype *elem, size_t size, const lzg_ctype **out)
{
    lzg_ctype *t;
    LZ_TRY(lz_arena_new(a, &t, 1));
    *t = (lzg_ctype){ .kind = LZG_C_ARRAY, .elem = elem, .n = size };
    *out = t;
    return NULL;
}

lz_err *lzg_ctype_tuple(lz_arena *a, const lzg_ctype *const *elems, size_t n, const lzg_ctype **out)
{
    lzg_ctype *t;
    LZ_TRY(lz_arena_new(a, &t, 1));
    *t = (lzg_ctype){ .kind = LZG_C_TUPLE, .elems = elems, .n = n };
    *out = t;
    return NULL;
}

/* NOLINTBEGIN(misc-no-recursion): a type is not nested deeper than its parser allows */
static lz_err *tuple_without_refs(lz_arena *a, const lzg_ctype *t, const lzg_ctype **out)
{
    const lzg_ctype **elems;
    LZ_TRY(lz_arena_new(a, &elems, t->n));
    for (size_t i = 0; i < t->n; i++)
        LZ_TRY(lzg_ctype_remove_const_ref(a, t->elems[i], &elems[i]));
    return lzg_ctype_tuple(a, elems, t->n, out);
}

lz_err *lzg_ctype_remove_const_ref(lz_arena *a, const lzg_ctype *t, const lzg_ctype **out)
{
    while (t->kind == LZG_C_CONST_REF || t->kind == LZG_C_MUT_REF)
        t = t->elem;
    *out = t;
    if (t->kind == LZG_C_BASE)
        return NULL;
    if (t->kind == LZG_C_TUPLE)
        return tuple_without_refs(a, t, out);
    const lzg_ctype *elem;
    LZ_TRY(lzg_ctype_remove_const_ref(a, t->elem, &elem));
    if (elem == t->elem)
        return NULL;
    return t->kind == LZG_C_ARRAY ? lzg_ctype_array(a, elem, t->n, out)
                                  : lzg_ctype_wrap(a, t->kind, elem, out);
}

static bool tuples_eq(const lzg_ctype *a, const lzg_ctype *b)
{
    bool eq = a->n == b->n;
    for (size_t i = 0; eq && i < a->n; i++)
        eq = lzg_ctype_eq(a->elems[i], b->elems[i]);
    return eq;
}

bool lzg_ctype_eq(const lzg_ctype *a, const lzg_ctype *b)
{
    while (a != b && a->kind == b->kind && a->n == b->n && a->elem && b->elem) {
        a = a->elem;
        b = b->elem;
    }
    if (a == b)
        return true;
    if (a->kind != b->kind || a->n != b->n)
        return false;
    return a->kind == LZG_C_BASE ? lz_str_eq(a->name, b->name) : tuples_eq(a, b);
}
/* NOLINTEND(misc-no-recursion) */

bool lzg_ctype_is(const lzg_ctype *t, lzg_cpp base)
{
    return lzg_ctype_eq(t, lzg_ctype_base(base));
}

static const struct {
    const char *open, *close;
} spelling[LZG_C_KIND_COUNT] = {
    [LZG_C_CONST_REF] = { "const ", " &" },
    [LZG_C_MUT_REF] = { "", " &" },
    [LZG_C_OPTIONAL] = { "::std::optional<", ">" },
    [LZG_C_LIST] = { "c10::List<", ">" },
    [LZG_C_ARRAY_REF] = { "at::ArrayRef<", ">" },
    [LZG_C_VECTOR] = { "::std::vector<", ">" },
    [LZG_C_VECTORIZED] = { "at::vec::Vectorized<", ">" },
    [LZG_C_ARRAY] = { "::std::array<", ">" },
    [LZG_C_TUPLE] = { "::std::tuple<", ">" },
};

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the type */
void lzg_ctype_print(const lzg_ctype *t, lz_text *out)
{
    if (t->kind == LZG_C_BASE) {
        lz_text_add(out, t->name);
        return;
    }
    lz_text_puts(out, spelling[t->kind].open);
    if (t->elem)
        lzg_ctype_print(t->elem, out);
    for (size_t i = 0; t->kind == LZG_C_TUPLE && i < t->n; i++) {
        if (i)
            lz_text_putc(out, ',');
        lzg_ctype_print(t->elems[i], out);
    }
    if (t->kind == LZG_C_ARRAY)
        lz_text_printf(out, ",%zu", t->n);
    lz_text_puts(out, spelling[t->kind].close);
}

void lzg_ctype_print_value(const lzg_ctype *t, lz_text *out)
{
    while (t->kind == LZG_C_CONST_REF || t->kind == LZG_C_MUT_REF)
        t = t->elem;
    lzg_ctype_print(t, out);
}

lz_err *lzg_refuse_type(const lzg_type *t, const char *why)
{
    lz_text text = { 0 };
    lzg_type_print(t, &text);
    lz_err *e = lz_text_check(&text);
    if (!e)
        e = lz_errf(LZ_ERR_UNSUPPORTED, "%s: %.*s", why, LZ_FMT(lz_text_view(&text)));
    lz_text_deinit(&text);
    return e;
}

bool lzg_nctype_eq(lzg_nctype a, lzg_nctype b)
{
    return lz_str_eq(a.name, b.name) && lzg_ctype_eq(a.type, b.type);
}

void lzg_binding_defn(const lzg_binding *b, lz_text *out)
{
    lzg_ctype_print(b->what.type, out);
    lz_text_putc(out, ' ');
    lz_text_add(out, b->name);
}

void lzg_binding_decl(const lzg_binding *b, lz_text *out)
{
    lzg_binding_defn(b, out);
    if (!b->deflt.ptr)
        return;
    lz_text_putc(out, '=');
    lz_text_add(out, b->deflt);
}

static void binding_type(const lzg_binding *b, lz_text *out)
{
    lzg_ctype_print(b->what.type, out);
}

static void binding_name(const lzg_binding *b, lz_text *out)
{
    lz_text_add(out, b->name);
}

static void print_all(lzg_bindings b, void (*one)(const lzg_binding *, lz_text *), lz_text *out)
{
    for (size_t i = 0; i < b.n; i++) {
        if (i)
            lz_text_add(out, LZ_STR(", "));
        one(&b.at[i], out);
    }
}

void lzg_bindings_decl(lzg_bindings b, lz_text *out)
{
    print_all(b, lzg_binding_decl, out);
}

void lzg_bindings_defn(lzg_bindings b, lz_text *out)
{
    print_all(b, lzg_binding_defn, out);
}

void lzg_bindings_types(lzg_bindings b, lz_text *out)
{
    print_all(b, binding_type, out);
}

void lzg_bindings_names(lzg_bindings b, lz_text *out)
{
    print_all(b, binding_name, out);
}

static void print_sig(const lzg_sig *s, lz_str name, void (*one)(const lzg_binding *, lz_text *),
                      lz_text *out)
{
    lzg_ctype_print(s->returns, out);
    lz_text_putc(out, ' ');
    lz_text_add(out, name);
    lz_text_putc(out, '(');
    print_all(s->args, one, out);
    lz_text_putc(out, ')');
}

void lzg_sig_decl(const lzg_sig *s, lz_text *out)
{
    print_sig(s, s->name, lzg_binding_decl, out);
}

void lzg_sig_defn(const lzg_sig *s, lz_text *out)
{
    print_sig(s, s->name, lzg_binding_defn, out);
}

void lzg_sig_type(const lzg_sig *s, lz_text *out)
{
    print_sig(s, LZ_STR(""), binding_type, out);
}

void lzg_sig_ptr_type(const lzg_sig *s, lz_text *out)
{
    print_sig(s, LZ_STR("(*)"), binding_type, out);
}

void lzg_sig_ptr_defn(const lzg_sig *s, lz_text *out)
{
    print_sig(s, LZ_STR("(*)"), lzg_binding_defn, out);
}
