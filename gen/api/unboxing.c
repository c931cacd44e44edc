#include "gen/api/unboxing.h"
#include "gen/api/cpp.h"

/* Vectors used by an ArrayRef must outlive the block that fills them: they are declared before the
 * block, in `ahead`. */
typedef struct unboxer {
    lz_arena *arena;
    lzg_local local;
    lz_text ahead, code;
    size_t indent;
} unboxer;

/* A converted value: the variable that holds it, and its type. */
typedef struct held {
    lz_str name;
    const lzg_ctype *type;
} held;

static lz_err *convert(unboxer *u, const lzg_type *t, lz_str name, bool writes, held *out);

/* Starts a line; $ in the text is the name, % the type. */
static void line(unboxer *u, const char *text, lz_str name, const lzg_ctype *type)
{
    lz_text_fill(&u->code, ' ', 4 * u->indent);
    for (; *text; text++)
        if (*text == '$')
            lz_text_add(&u->code, name);
        else if (*text == '%')
            lzg_ctype_print_value(type, &u->code);
        else
            lz_text_putc(&u->code, *text);
    lz_text_putc(&u->code, '\n');
}

static lz_err *suffixed(unboxer *u, lz_str name, const char *suffix, lz_str *out)
{
    return lz_arena_printf(u->arena, out, "%.*s%s", LZ_FMT(name), suffix);
}

/* NOLINTBEGIN(misc-no-recursion): a type is not nested deeper than its parser allows */
static lz_err *convert_optional(unboxer *u, const lzg_type *t, lz_str name, held *out)
{
    lz_str in;
    held inner;
    LZ_TRY(suffixed(u, name, "_opt_in", &in));
    LZ_TRY(suffixed(u, name, "_opt_out", &out->name));
    line(u, "auto $_opt = $.toOptional<c10::IValue>();", name, out->type);
    line(u, "% $_opt_out;", name, out->type);
    line(u, "if ($_opt.has_value()) {", name, out->type);
    u->indent++;
    line(u, "const c10::IValue $_opt_in = $_opt.value();", name, out->type);
    LZ_TRY(convert(u, t->elem, in, false, &inner));
    lz_text_fill(&u->code, ' ', 4 * u->indent);
    lz_text_printf(&u->code, "%.*s = ", LZ_FMT(out->name));
    lzg_ctype_print_value(out->type, &u->code);
    lz_text_printf(&u->code, "(%.*s);\n", LZ_FMT(inner.name));
    u->indent--;
    line(u, "} else {", name, out->type);
    line(u, "    $_opt_out = %();", name, out->type);
    line(u, "}", name, out->type);
    return NULL;
}

/* Fills `into`, a container with push_back, from the elements of the list. */
static lz_err *fill_list(unboxer *u, const lzg_type *t, lz_str name, const lzg_ctype *type, const char *into,
                         held *elem)
{
    lz_str each;
    LZ_TRY(suffixed(u, name, "_elem", &each));
    line(u, "for (c10::IValue $_elem : $_list_in) {", name, type);
    u->indent++;
    LZ_TRY(convert(u, t->elem, each, false, elem));
    lz_text_fill(&u->code, ' ', 4 * u->indent);
    lz_text_printf(&u->code, "%.*s%s.push_back(%.*s);\n", LZ_FMT(name), into, LZ_FMT(elem->name));
    u->indent--;
    line(u, "}", name, type);
    return NULL;
}

static lz_err *convert_list(unboxer *u, const lzg_type *t, lz_str name, held *out)
{
    held elem;
    LZ_TRY(suffixed(u, name, "_list_out", &out->name));
    line(u, "const c10::List<c10::IValue> $_list_in = $.toList();", name, out->type);
    if (lzg_type_is(t->elem, LZG_TY_bool)) {
        lz_text_fill(&u->code, ' ', 4 * u->indent);
        lzg_ctype_print_value(out->type, &u->code);
        lz_text_printf(&u->code, " %.*s = as_array<bool, %d>(%.*s_list_in);\n", LZ_FMT(out->name),
                       (int)t->size, LZ_FMT(name));
        return NULL;
    }
    if (t->elem->kind == LZG_TYPE_OPTIONAL) {
        line(u, "% $_list_out;", name, out->type);
        return fill_list(u, t, name, out->type, "_list_out", &elem);
    }
    LZ_TRY(fill_list(u, t, name, out->type, "_vec", &elem));
    lz_text_puts(&u->ahead, "std::vector<");
    lzg_ctype_print_value(elem.type, &u->ahead);
    lz_text_printf(&u->ahead, "> %.*s_vec;\n", LZ_FMT(name));
    line(u, "% $_list_out($_vec);", name, out->type);
    return NULL;
}

static lz_err *convert(unboxer *u, const lzg_type *t, lz_str name, bool writes, held *out)
{
    lzg_cpp_rules r = { .local = u->local, .writes = writes };
    LZ_TRY(lzg_cpp_argumenttype(u->arena, t, r, &out->type));
    if (t->kind == LZG_TYPE_OPTIONAL)
        return convert_optional(u, t, name, out);
    if (t->kind == LZG_TYPE_LIST)
        return convert_list(u, t, name, out);
    line(u, "% $_base = $.to<%>();", name, out->type);
    return suffixed(u, name, "_base", &out->name);
}
/* NOLINTEND(misc-no-recursion) */

static lz_err *unbox(unboxer *u, const lzg_sig *sig, lzg_binding *at, lz_text *code)
{
    for (size_t i = 0; i < sig->args.n; i++)
        lz_text_printf(code, "c10::IValue %.*s = std::move(peek(stack, %zu, %zu));\n",
                       LZ_FMT(sig->args.at[i].name), i, sig->args.n);
    for (size_t i = 0; i < sig->args.n; i++) {
        const lzg_argument *arg = sig->args.at[i].argument;
        held h;
        LZ_TRY(convert(u, arg->type, arg->name, lzg_argument_writes(arg), &h));
        at[i] = sig->args.at[i];
        at[i].name = h.name;
        lz_text_add(code, lz_text_view(&u->ahead));
        lz_text_add(code, lz_text_view(&u->code));
        LZ_TRY(lz_text_check(&u->ahead));
        LZ_TRY(lz_text_check(&u->code));
        lz_text_clear(&u->ahead);
        lz_text_clear(&u->code);
    }
    return lz_text_check(code);
}

lz_err *lzg_unboxing_arguments(lz_arena *a, const lzg_function *f, lz_text *code, lzg_bindings *out)
{
    unboxer u = { .arena = a, .local = lzg_local_of(f) };
    lzg_sig sig;
    lzg_binding *at;
    LZ_TRY(lzg_cpp_signature(a, f, lzg_cpp_most_faithful(f->func), &sig));
    LZ_TRY(lz_arena_new(a, &at, sig.args.n));
    lz_err *e = unbox(&u, &sig, at, code);
    lz_text_deinit(&u.ahead);
    lz_text_deinit(&u.code);
    *out = (lzg_bindings){ at, sig.args.n };
    return e;
}
