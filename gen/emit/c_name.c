#include "gen/emit/c_name.h"
#include "base/file.h"
#include "base/mem.h"
#include "gen/text/utils.h"
#include <stdlib.h>

/* Keywords of C and C++, macros of their standard headers and of GNU C, and the names in every
 * generated declaration: c, at, args. Sorted by bytes. */
/* clang-format off */
#define W(word) { "" word, sizeof(word) - 1 }
static const lz_str taken[] = {
    W("EOF"), W("FILE"), W("I"), W("NULL"), W("alignas"), W("alignof"), W("and"), W("and_eq"), W("args"),
    W("asm"), W("assert"), W("at"), W("auto"), W("bitand"), W("bitor"), W("bool"), W("break"), W("c"),
    W("case"), W("catch"), W("char"), W("char16_t"), W("char32_t"), W("char8_t"), W("class"), W("co_await"),
    W("co_return"), W("co_yield"), W("compl"), W("complex"), W("concept"), W("const"), W("const_cast"),
    W("consteval"), W("constexpr"), W("constinit"), W("continue"), W("decltype"), W("default"), W("delete"),
    W("do"), W("double"), W("dynamic_cast"), W("else"), W("enum"), W("errno"), W("explicit"), W("export"),
    W("extern"), W("false"), W("float"), W("for"), W("friend"), W("goto"), W("if"), W("imaginary"),
    W("inline"), W("int"), W("int64_t"), W("linux"), W("long"), W("mutable"), W("namespace"), W("new"),
    W("noexcept"), W("not"), W("not_eq"), W("nullptr"), W("operator"), W("or"), W("or_eq"), W("private"),
    W("protected"), W("public"), W("register"), W("reinterpret_cast"), W("requires"), W("restrict"),
    W("return"), W("short"), W("signed"), W("sizeof"), W("static"), W("static_assert"), W("static_cast"),
    W("stderr"), W("stdin"), W("stdout"), W("struct"), W("switch"), W("template"), W("this"),
    W("thread_local"), W("throw"), W("true"), W("try"), W("typedef"), W("typeid"), W("typename"),
    W("typeof"), W("union"), W("unix"), W("unsigned"), W("using"), W("virtual"), W("void"), W("volatile"),
    W("wchar_t"), W("while"), W("xor"), W("xor_eq"),
};
/* clang-format on */

static int by_name(const void *key, const void *item)
{
    return lz_str_cmp(*(const lz_str *)key, *(const lz_str *)item);
}

/* Names that are reserved for the compiler. */
static bool reserved(lz_str name)
{
    return name.len > 1 && name.ptr[0] == '_'
           && (name.ptr[1] == '_' || (name.ptr[1] >= 'A' && name.ptr[1] <= 'Z'));
}

bool lzg_c_name_taken(lz_str name)
{
    return lz_str_starts(name, LZ_STR("lz_")) || lz_str_starts(name, LZ_STR("LZ_")) || reserved(name)
           || bsearch(&name, taken, sizeof taken / sizeof *taken, sizeof *taken, by_name);
}

lz_err *lzg_c_name_of(lz_arena *a, lz_str name, lz_str *out)
{
    *out = name;
    if (!lzg_is_identifier(name))
        return lz_errf(LZ_ERR_UNSUPPORTED, "'%.*s' is no identifier in C", LZ_FMT(name));
    return lzg_c_name_taken(name) ? lz_arena_printf(a, out, "%.*s_", LZ_FMT(name)) : NULL;
}

/* ---- names in headers ---- */

/* Length of the comment or literal that s starts with, or 0. */
static size_t skipped(lz_str s)
{
    if (lz_str_starts(s, LZ_STR("/*"))) {
        size_t end = lz_str_find(lz_str_sub(s, 2, s.len), LZ_STR("*/"));
        return end == SIZE_MAX ? s.len : end + 4;
    }
    if (lz_str_starts(s, LZ_STR("//"))) {
        size_t end = lz_str_find_char(s, '\n');
        return end == SIZE_MAX ? s.len : end;
    }
    if (s.ptr[0] != '"' && s.ptr[0] != '\'')
        return 0;
    size_t i = 1;
    while (i < s.len && s.ptr[i] != s.ptr[0] && s.ptr[i] != '\n')
        i += s.ptr[i] == '\\' ? 2 : 1;
    return i + 1 < s.len ? i + 1 : s.len;
}

static size_t word_length(lz_str s)
{
    size_t n = 0;
    while (n < s.len && lzg_is_word(s.ptr[n]))
        n++;
    return n;
}

static lz_err *collect(lz_str rest, lz_str prefix, lz_map *names)
{
    static char there;
    while (rest.len) {
        size_t n = skipped(rest), word = n ? 0 : word_length(rest);
        if (word > prefix.len && lz_str_starts(rest, prefix))
            LZ_TRY(lz_map_put(names, lz_str_sub(rest, prefix.len, word), &there));
        n = n ? n : word ? word : 1;
        rest = lz_str_sub(rest, n, rest.len);
    }
    return NULL;
}

lz_err *lzg_c_names_read(lz_arena *a, const char *path, lz_str prefix, lz_map *names)
{
    enum { MOST = 16 << 20 };
    char *text;
    size_t len;
    lz_str kept;
    LZ_TRY(lz_file_read(path, MOST, &len, &text));
    lz_err *e = lz_arena_copy(a, (lz_str){ text, len }, &kept);
    lz_mem_free(text);
    return e ? e : collect(kept, prefix, names);
}
