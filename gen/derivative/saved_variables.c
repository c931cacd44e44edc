#include "gen/derivative/saved_variables.h"
#include "base/text.h"
#include "base/vec.h"
#include "gen/text/identifiers.h"

bool lzg_names_have(lzg_names names, lz_str name)
{
    for (size_t i = 0; i < names.len; i++)
        if (lz_str_eq(names.data[i], name))
            return true;
    return false;
}

lz_loc lzg_formula_at(const lzg_yaml *written, lz_str text)
{
    size_t at = lzg_ident_find(written->text, text);
    if (at == SIZE_MAX)
        at = lzg_find(written->text, text, 0);
    return lzg_yaml_at(written, at == SIZE_MAX ? 0 : at);
}

/* In patterns: ? is any one character, # an optional minus and word characters, @ an
 * optional minus and digits. In suffix: # is what # matched, a minus spelled out. In
 * expr: % is the name. */
typedef struct rule {
    const char *before, *after; /* around the name */
    const char *suffix, *type;
    const char *expr;   /* NULL: the matched text */
    const char *result; /* the replacement of the match, after the name; NULL: the suffix */
    bool own;           /* only in the formula of that tensor alone */
} rule;

#define OPT_SIZES "::std::optional<c10::SymIntArrayRef>"
#define VEC(T)    "::std::vector<" T ">"

static const rule rules[] = {
    { "", "?sym_sizes()", "_sym_sizes", "c10::SymIntArrayRef", NULL, NULL, false },
    { "", "->sym_sizes()", "_sym_sizes_opt", OPT_SIZES,
      "%.has_value() ? std::optional<c10::SymIntArrayRef>(%->sym_sizes()) : std::nullopt", NULL, false },
    { "", "?sym_blocksize()", "_self_sym_blocksize_opt", OPT_SIZES, "at::sparse_csr::getSymIntBlockSize(%)",
      NULL, false },
    { "", "?options()", "_options", "at::TensorOptions", NULL, NULL, false },
    { "zeros_like(", ")", "_info", "torch::autograd::generated::TypeAndSize", "%", "_info.zeros()", false },
    { "", "?sym_size(#)", "_sym_argsize_#", "c10::SymInt", NULL, NULL, false },
    { "", "?numel()", "_numel", "int64_t", NULL, NULL, false },
    { "", "?sym_numel()", "_sym_numel", "c10::SymInt", NULL, NULL, false },
    { "to_args_sizes(", ")", "_args_sizes", VEC(VEC("int64_t")), NULL, NULL, false },
    { "to_args_sizes_symint(", ")", "_args_sizes_symint", VEC(VEC("c10::SymInt")), NULL, NULL, false },
    { "to_args_scalartypes(", ")", "_args_scalartypes", VEC("at::ScalarType"), NULL, NULL, false },
    { "TensorGeometry(", ")", "_geometry", "at::TensorGeometry", NULL, NULL, false },
    { "", "?scalar_type()", "_scalar_type", "at::ScalarType", NULL, NULL, false },
    { "", "?dim()", "_dim", "int64_t", NULL, NULL, false },
    { "", "?sym_strides()", "_sym_strides", "c10::SymIntArrayRef", "strides_or_error(%, \"%\")", NULL, true },
    { "", "?layout()", "_layout", "at::Layout", NULL, NULL, false },
    { "", "?is_conj()", "_conjugate", "bool", NULL, NULL, false },
};

/* Calls that would fix a size at tracing time. */
static const struct {
    const char *pattern, *instead;
} refused[] = {
    { ".sizes()", "sym_sizes()" },    { "->sizes()", "sym_sizes()" },    { ".size(@)", "sym_size(int)" },
    { "->size(@)", "sym_size(int)" }, { ".strides()", "sym_strides()" }, { "->strides()", "sym_strides()" },
};

static size_t any_char(lz_str s, size_t at)
{
    if (at == s.len || s.ptr[at] == '\n')
        return 0;
    size_t n = 1;
    while (at + n < s.len && ((unsigned char)s.ptr[at + n] & 0xc0) == 0x80)
        n++;
    return n;
}

/* Length of the text that a pattern's special character matches; 0: no match. */
static size_t special(char kind, lz_str s, size_t at)
{
    if (kind == '?')
        return any_char(s, at);
    size_t minus = at < s.len && s.ptr[at] == '-';
    size_t n = kind == '#' ? lzg_word_run(s, at + minus) : lzg_digit_run(s, at + minus);
    return n ? minus + n : 0;
}

/* The end of a match of the pattern at `at`, or SIZE_MAX; *hole: the text that # matched. */
static size_t match(const char *pattern, lz_str s, size_t at, lz_str *hole)
{
    for (; *pattern; pattern++) {
        bool literal = *pattern != '?' && *pattern != '#' && *pattern != '@';
        size_t n = literal ? at < s.len && s.ptr[at] == *pattern : special(*pattern, s, at);
        if (n == 0)
            return SIZE_MAX;
        if (!literal && *pattern != '?')
            *hole = lz_str_sub(s, at, at + n);
        at += n;
    }
    return at;
}

static lz_err *refuse_fixed_sizes(lz_str formula, const lzg_yaml *written)
{
    lz_str hole;
    for (size_t at = 0; at < formula.len; at++)
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
            if (formula.ptr[at] == refused[i].pattern[0]
                && match(refused[i].pattern, formula, at, &hole) != SIZE_MAX)
                return lz_err_at(LZ_ERR_MODEL, lzg_yaml_at(written, at),
                                 "a derivative formula may not ask for a fixed size; use %s",
                                 refused[i].instead);
    return NULL;
}

typedef struct work {
    lz_arena *arena;
    lzg_names vars;
    const lzg_yaml *written;
    lz_str formula;
    lz_text text; /* the formula being built */
    LZ_VEC(lzg_saved) saved;
} work;

/* Fills every `mark` of a template. */
static lz_err *fill(lz_arena *a, const char *template, char mark, lz_str with, lz_str *out)
{
    lz_str what = { &mark, 1 };
    return lzg_replace_all(a, lz_str_of(template), what, with, out);
}

static lz_err *check_own(const work *w, const rule *r, lz_str name)
{
    if (!r->own || (w->vars.len == 1 && lz_str_eq(w->vars.data[0], name)))
        return NULL;
    return lz_err_at(LZ_ERR_MODEL, lzg_formula_at(w->written, name),
                     "a formula for several arguments cannot use the strides of '%.*s'", LZ_FMT(name));
}

/* Saves the value that a rule matched, and puts its replacement into the text. */
static lz_err *save(work *w, const rule *r, lz_str name, lz_str matched, lz_str hole)
{
    LZ_TRY(check_own(w, r, name));
    lzg_saved s = { .type = lz_str_of(r->type), .expr = matched };
    lz_str suffix, spelled;
    LZ_TRY(lzg_replace_all(w->arena, hole, LZ_STR("-"), LZ_STR("minus_"), &spelled));
    LZ_TRY(fill(w->arena, r->suffix, '#', spelled, &suffix));
    LZ_TRY(lz_arena_printf(w->arena, &s.name, "%.*s%.*s", LZ_FMT(name), LZ_FMT(suffix)));
    if (r->expr)
        LZ_TRY(fill(w->arena, r->expr, '%', name, &s.expr));
    lz_text_add(&w->text, r->result ? name : s.name);
    lz_text_puts(&w->text, r->result ? r->result : "");
    return lz_vec_push(&w->saved, s);
}

/* The next place at or after `from` of the name with `before` in front, or SIZE_MAX. */
static size_t next_name(lz_str s, size_t from, lz_str before, lz_str name)
{
    size_t at = lzg_find(s, name, from + before.len);
    while (at != SIZE_MAX && !lz_str_ends(lz_str_sub(s, from, at), before))
        at = lzg_find(s, name, at + 1);
    return at;
}

/* Applies one rule wherever it matches, from left to right. */
static lz_err *apply(work *w, const rule *r, lz_str name)
{
    lz_str s = w->formula, before = lz_str_of(r->before), hole = { 0 };
    size_t done = 0, from = 0, at;
    while ((at = next_name(s, from, before, name)) != SIZE_MAX) {
        size_t end = match(r->after, s, at + name.len, &hole);
        from = end == SIZE_MAX ? at - before.len + 1 : end;
        if (end == SIZE_MAX)
            continue;
        lz_text_add(&w->text, lz_str_sub(s, done, at - before.len));
        LZ_TRY(save(w, r, name, lz_str_sub(s, at - before.len, end), hole));
        done = end;
    }
    if (done == 0)
        return NULL;
    lz_text_add(&w->text, lz_str_sub(s, done, s.len));
    return lz_text_save(&w->text, w->arena, &w->formula);
}

/* A saved optional string is a std::string by the time the formula runs. */
static lz_err *view_string(work *w, const lzg_named_type *n)
{
    if (!lz_str_is(n->type, "::std::optional<c10::string_view>"))
        return NULL;
    lz_str view;
    LZ_TRY(fill(w->arena, "%.has_value() ? std::optional<std::string_view>(%.value()) : std::nullopt", '%',
                n->name, &view));
    return lzg_word_replace(w->arena, w->formula, n->name, view, &w->formula);
}

static lz_err *treat(work *w, const lzg_named_type *n)
{
    if (lzg_find(w->formula, n->name, 0) == SIZE_MAX)
        return NULL;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        LZ_TRY(apply(w, &rules[i], n->name));
    LZ_TRY(view_string(w, n));
    if (!lzg_ident_used(w->formula, n->name))
        return NULL;
    return lz_vec_push(&w->saved, (lzg_saved){ .name = n->name, .type = n->type, .expr = n->name });
}

static lz_err *keep(lz_arena *a, const lzg_saved *data, size_t len, lzg_saved_list *out)
{
    lzg_saved *copy;
    LZ_TRY(lz_arena_new(a, &copy, len));
    if (len)
        memcpy(copy, data, len * sizeof *copy);
    *out = (lzg_saved_list){ copy, len };
    return NULL;
}

static lz_err *treat_all(work *w, const lzg_named_type *names, size_t n)
{
    LZ_TRY(refuse_fixed_sizes(w->formula, w->written));
    for (size_t i = 0; i < n; i++)
        LZ_TRY(treat(w, &names[i]));
    return NULL;
}

lz_err *lzg_saved_variables(lz_arena *a, const lzg_named_type *names, size_t n, lzg_names vars,
                            const lzg_yaml *written, lz_str *formula, lzg_saved_list *out)
{
    work w = { .arena = a, .vars = vars, .written = written, .formula = *formula };
    lz_err *e = treat_all(&w, names, n);
    if (!e)
        e = keep(a, w.saved.data, w.saved.len, out);
    *formula = w.formula;
    lz_text_deinit(&w.text);
    lz_vec_deinit(&w.saved);
    return e;
}

lz_err *lzg_saved_unique(lz_arena *a, lzg_saved_list list, lzg_saved_list *out)
{
    lzg_saved *kept;
    size_t n = 0;
    LZ_TRY(lz_arena_new(a, &kept, list.len));
    for (size_t i = 0; i < list.len; i++) {
        size_t j = 0;
        while (j < n && !lz_str_eq(kept[j].name, list.data[i].name))
            j++;
        if (j == n)
            kept[n++] = list.data[i];
    }
    *out = (lzg_saved_list){ kept, n };
    return NULL;
}
