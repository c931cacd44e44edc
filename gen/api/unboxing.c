#include "gen/api/unboxing.h"
#include "base/vec.h"
#include "gen/api/cpp.h"
#include "gen/text/fill.h"
#include <stdio.h>

typedef LZ_VEC(lz_str) lines;

/* What converts one value: statements, and before all statements of the call the vectors that an ArrayRef
 * refers to. A block's first line is indented by four, the others are where they were, behind a tab. */
typedef struct unboxer {
    lz_arena *arena;
    lzg_local local;
    lines declared;
} unboxer;

/* A converted value: the variable that holds it, and its type. */
typedef struct held {
    lz_str name;
    const lzg_ctype *type;
} held;

static lz_err *convert(unboxer *u, const lzg_type *t, lz_str name, bool writes, held *out, lines *code);

static lz_err *printed(lz_arena *a, const lzg_ctype *t, lz_str *out)
{
    lz_text text = { 0 };
    lzg_ctype_print_value(t, &text);
    lz_err *e = lz_text_save(&text, a, out);
    lz_text_deinit(&text);
    return e;
}

/* A line with the holes ${x} (the name), ${T} (its type), ${r} (a part's variable) and ${n}. */
typedef struct words {
    lz_str name, type, part;
    int32_t n;
} words;

static lz_err *put_line(unboxer *u, lines *code, const char *pattern, const words *w)
{
    char number[16];
    lz_text t = { 0 };
    lz_str line;
    snprintf(number, sizeof number, "%d", (int)w->n);
    const lzg_named_text fields[] = {
        { "x", w->name }, { "T", w->type }, { "r", w->part }, { "n", lz_str_of(number) }
    };
    lzg_fill_fields(&t, lz_str_of(pattern), fields, 4);
    lz_err *e = lz_text_save(&t, u->arena, &line);
    lz_text_deinit(&t);
    return e ? e : lz_vec_push(code, line);
}

static lz_err *put_all(unboxer *u, lines *code, const char *const *patterns, const words *w)
{
    for (; *patterns; patterns++)
        LZ_TRY(put_line(u, code, *patterns, w));
    return NULL;
}

/* The statements of a part, as the body of a block. */
static lz_err *put_block(unboxer *u, lines *code, const lines *body)
{
    for (size_t i = 0; i < body->len; i++) {
        lz_str line;
        LZ_TRY(lz_arena_printf(u->arena, &line, "%s%.*s", i ? "\t" : "    ", LZ_FMT(body->data[i])));
        LZ_TRY(lz_vec_push(code, line));
    }
    return NULL;
}

/* NOLINTBEGIN(misc-no-recursion): a type is not nested deeper than its parser allows */
static lz_err *convert_part(unboxer *u, const lzg_type *t, const char *suffix, words *w, held *part,
                            lines *body)
{
    lz_str name;
    LZ_TRY(lz_arena_printf(u->arena, &name, "%.*s%s", LZ_FMT(w->name), suffix));
    LZ_TRY(convert(u, t->elem, name, false, part, body));
    w->part = part->name;
    return NULL;
}

static lz_err *convert_optional(unboxer *u, const words *w, const lines *body, lines *code)
{
    static const char *const before[] = { "",
                                          "auto ${x}_opt = ${x}.toOptional<c10::IValue>();",
                                          "${T} ${x}_opt_out;",
                                          "if (${x}_opt.has_value()) {",
                                          "    const c10::IValue ${x}_opt_in = ${x}_opt.value();",
                                          NULL };
    static const char *const after[] = {
        "    ${x}_opt_out = ${T}(${r});", "} else {", "    ${x}_opt_out = ${T}();", "}", "        ", NULL
    };
    LZ_TRY(put_all(u, code, before, w));
    LZ_TRY(put_block(u, code, body));
    return put_all(u, code, after, w);
}

static lz_err *convert_bools(unboxer *u, const words *w, lines *code)
{
    static const char *const all[] = { "", "${T} ${x}_list_out = as_array<bool, ${n}>(${x}_list_in);",
                                       "            ", NULL };
    return put_all(u, code, all, w);
}

/* A list of optional elements is one of c10's. */
static lz_err *convert_optionals(unboxer *u, const words *w, const lines *body, lines *code)
{
    static const char *const before[] = { "", "${T} ${x}_list_out;",
                                          "for (c10::IValue ${x}_elem: ${x}_list_in) {", NULL };
    static const char *const after[] = { "    ${x}_list_out.push_back(${r});", "}", "            ", NULL };
    LZ_TRY(put_all(u, code, before, w));
    LZ_TRY(put_block(u, code, body));
    return put_all(u, code, after, w);
}

/* Other lists are views of a vector. */
static lz_err *convert_elements(unboxer *u, const words *w, const held *part, const lines *body, lines *code)
{
    static const char *const before[] = { "", "for (c10::IValue ${x}_elem: ${x}_list_in) {", NULL };
    static const char *const after[] = { "    ${x}_vec.push_back(${r});", "}",
                                         "${T} ${x}_list_out(${x}_vec);", "            ", NULL };
    words elem = *w;
    LZ_TRY(printed(u->arena, part->type, &elem.type));
    LZ_TRY(put_line(u, &u->declared, "std::vector<${T}> ${x}_vec;", &elem));
    LZ_TRY(put_all(u, code, before, w));
    LZ_TRY(put_block(u, code, body));
    return put_all(u, code, after, w);
}

static lz_err *convert_list(unboxer *u, const lzg_type *t, words *w, const held *part, const lines *body,
                            lines *code)
{
    LZ_TRY(put_line(u, code, "const c10::List<c10::IValue> ${x}_list_in = ${x}.toList();", w));
    if (lzg_type_is(t->elem, LZG_TY_bool) && t->size > 0)
        return convert_bools(u, w, code);
    if (t->elem->kind == LZG_TYPE_OPTIONAL)
        return convert_optionals(u, w, body, code);
    return convert_elements(u, w, part, body, code);
}

static lz_err *convert_parts(unboxer *u, const lzg_type *t, words *w, held *out, lines *body, lines *code)
{
    bool optional = t->kind == LZG_TYPE_OPTIONAL;
    held part;
    w->n = t->size;
    LZ_TRY(convert_part(u, t, optional ? "_opt_in" : "_elem", w, &part, body));
    LZ_TRY(lz_arena_printf(u->arena, &out->name, "%.*s%s", LZ_FMT(w->name),
                           optional ? "_opt_out" : "_list_out"));
    return optional ? convert_optional(u, w, body, code) : convert_list(u, t, w, &part, body, code);
}

static lz_err *convert(unboxer *u, const lzg_type *t, lz_str name, bool writes, held *out, lines *code)
{
    lzg_cpp_rules r = { .local = u->local, .writes = writes };
    words w = { .name = name };
    lines body = { 0 };
    LZ_TRY(lzg_cpp_argumenttype(u->arena, t, r, &out->type));
    LZ_TRY(printed(u->arena, out->type, &w.type));
    if (t->kind == LZG_TYPE_OPTIONAL || t->kind == LZG_TYPE_LIST) {
        lz_err *e = convert_parts(u, t, &w, out, &body, code);
        lz_vec_deinit(&body);
        return e;
    }
    LZ_TRY(put_line(u, code, "${T} ${x}_base = ${x}.to<${T}>();", &w));
    return lz_arena_printf(u->arena, &out->name, "%.*s_base", LZ_FMT(name));
}
/* NOLINTEND(misc-no-recursion) */

/* ---- calls ---- */

static lz_err *put_peeks(lz_arena *a, const lzg_sig *sig, lines *all)
{
    for (size_t i = 0; i < sig->args.n; i++) {
        lz_str line;
        LZ_TRY(lz_arena_printf(a, &line, "c10::IValue %.*s = std::move(peek(stack, %zu, %zu));",
                               LZ_FMT(sig->args.at[i].name), i, sig->args.n));
        LZ_TRY(lz_vec_push(all, line));
    }
    return lz_vec_push(all, LZ_STR(""));
}

static lz_err *append(lines *to, const lines *from)
{
    for (size_t i = 0; i < from->len; i++)
        LZ_TRY(lz_vec_push(to, from->data[i]));
    return NULL;
}

static lz_err *unbox(unboxer *u, const lzg_sig *sig, lzg_binding *at, lines *one, lines *all)
{
    LZ_TRY(put_peeks(u->arena, sig, all));
    for (size_t i = 0; i < sig->args.n; i++) {
        const lzg_argument *arg = sig->args.at[i].argument;
        held h;
        one->len = u->declared.len = 0;
        LZ_TRY(convert(u, arg->type, arg->name, lzg_argument_writes(arg), &h, one));
        LZ_TRY(append(all, &u->declared));
        LZ_TRY(append(all, one));
        at[i] = sig->args.at[i];
        at[i].name = h.name;
    }
    return NULL;
}

lz_err *lzg_unboxing_arguments(lz_arena *a, const lzg_function *f, lz_text *code, lzg_bindings *out)
{
    unboxer u = { .arena = a, .local = lzg_local_of(f) };
    lines one = { 0 }, all = { 0 };
    lzg_sig sig;
    lzg_binding *at;
    LZ_TRY(lzg_cpp_signature(a, f, lzg_cpp_most_faithful(f->func), &sig));
    LZ_TRY(lz_arena_new(a, &at, sig.args.n));
    lz_err *e = unbox(&u, &sig, at, &one, &all);
    for (size_t i = 0; !e && i < all.len; i++) {
        lz_text_puts(code, i ? "\n\t" : "");
        lz_text_add(code, all.data[i]);
    }
    lz_vec_deinit(&u.declared);
    lz_vec_deinit(&one);
    lz_vec_deinit(&all);
    *out = (lzg_bindings){ at, sig.args.n };
    return e ? e : lz_text_check(code);
}
