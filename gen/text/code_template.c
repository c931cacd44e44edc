#include "gen/text/code_template.h"
#include <assert.h>

/* ---- environments ---- */

void lzg_env_init(lzg_env *env, lz_arena *arena)
{
    *env = (lzg_env){ .arena = arena };
}

void lzg_env_deinit(lzg_env *env)
{
    lz_map_deinit(&env->values);
    *env = (lzg_env){ 0 };
}

static lz_err *value_of(lzg_env *env, lz_str name, bool is_list, lzg_value **out)
{
    *out = lz_map_get(&env->values, name);
    if (*out)
        return (*out)->is_list == is_list || !is_list
                   ? NULL
                   : lz_errf(LZ_ERR_ARG, "'%.*s' is a text, not a list", LZ_FMT(name));
    LZ_TRY(lz_arena_new(env->arena, out, 1));
    (*out)->is_list = is_list;
    return lz_map_put(&env->values, name, *out);
}

static lz_err *append(lzg_env *env, lzg_value *v, lz_str text)
{
    lzg_item *item;
    LZ_TRY(lz_arena_new(env->arena, &item, 1));
    item->text = text;
    if (v->last)
        v->last->next = item;
    else
        v->first = item;
    v->last = item;
    return NULL;
}

static lz_err *set_text(lzg_env *env, lz_str name, lz_str text)
{
    lzg_value *v;
    LZ_TRY(value_of(env, name, false, &v));
    *v = (lzg_value){ 0 };
    return append(env, v, text);
}

lz_err *lzg_env_text(lzg_env *env, const char *name, lz_str text)
{
    return set_text(env, lz_str_of(name), text);
}

lz_err *lzg_env_list(lzg_env *env, const char *name)
{
    lzg_value *v;
    return value_of(env, lz_str_of(name), true, &v);
}

static lz_err *add_item(lzg_env *env, lz_str name, lz_str text)
{
    lzg_value *v;
    LZ_TRY(value_of(env, name, true, &v));
    return append(env, v, text);
}

lz_err *lzg_env_add(lzg_env *env, const char *name, lz_str item)
{
    return add_item(env, lz_str_of(name), item);
}

lz_err *lzg_env_texts(lzg_env *env, const char *name, const lzg_texts *items)
{
    LZ_TRY(lzg_env_list(env, name));
    for (size_t i = 0; i < lzg_texts_count(items); i++)
        LZ_TRY(add_item(env, lz_str_of(name), lzg_texts_item(items, i)));
    return NULL;
}

const lzg_value *lzg_env_get(const lzg_env *env, lz_str name)
{
    return lz_map_get(&env->values, name);
}

static lz_err *merge_value(lzg_env *env, lz_str name, const lzg_value *from)
{
    lzg_value *v;
    if (!from->is_list)
        return set_text(env, name, from->first->text);
    LZ_TRY(value_of(env, name, true, &v));
    for (const lzg_item *i = from->first; i; i = i->next)
        LZ_TRY(append(env, v, i->text));
    return NULL;
}

lz_err *lzg_env_merge(lzg_env *env, const lzg_env *from)
{
    for (lz_map_entry *e = lz_map_next(&from->values, NULL); e; e = lz_map_next(&from->values, e))
        LZ_TRY(merge_value(env, e->key, e->value));
    return NULL;
}

/* ---- lines ---- */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

/* The length of the line end at i: 0 for none. The ends are those of Python's
 * str.splitlines: also \v, \f, the separators and the three Unicode line ends. */
static size_t line_end(lz_str s, size_t i)
{
    static const char *const wide[] = { "\r\n", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9" };
    for (size_t k = 0; k < sizeof wide / sizeof *wide; k++)
        if (lz_str_starts(lz_str_sub(s, i, s.len), lz_str_of(wide[k])))
            return strlen(wide[k]);
    return (s.ptr[i] >= '\n' && s.ptr[i] <= '\r') || (s.ptr[i] >= 0x1c && s.ptr[i] <= 0x1e);
}

/* Whether one of these ends but \n may be in the text. The texts have megabytes, so eight bytes are looked at
 * at once: a bit for each that is above 0x7f or below 0x20. */
static bool may_have_rare_ends(lz_str s)
{
    static const uint64_t ones = 0x0101010101010101, high = 0x8080808080808080;
    size_t i = 0;
    for (; i + sizeof(uint64_t) <= s.len; i += sizeof(uint64_t)) {
        uint64_t w;
        memcpy(&w, s.ptr + i, sizeof w);
        uint64_t newline = w ^ ones * '\n';
        newline = ~(((newline & ~high) + ~high) | newline) & high; /* exactly the bytes that are \n */
        uint64_t low = ~(((w & ~high) + ones * 0x60) | w) & high;  /* exactly those below 0x20 */
        if ((low & ~newline) | (w & high))
            return true;
    }
    for (; i < s.len; i++)
        if ((unsigned char)(s.ptr[i] - ' ') >= 0x60 && s.ptr[i] != '\n')
            return true;
    return false;
}

/* Cuts the first line off *rest. */
static lz_str next_line(lz_str *rest, bool rare)
{
    size_t i = 0, end = 0;
    if (!rare) {
        const char *newline = memchr(rest->ptr, '\n', rest->len);
        i = newline ? (size_t)(newline - rest->ptr) : rest->len;
        end = newline != NULL;
    }
    while (rare && i < rest->len && (end = line_end(*rest, i)) == 0)
        i++;
    lz_str line = { rest->ptr, i };
    *rest = (lz_str){ rest->ptr + i + end, rest->len - i - end };
    return line;
}

static lz_str cut_right(lz_str s)
{
    while (s.len && is_blank(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

/* Empty lines wait until one comes that is not. */
static void put_item_lines(lz_str rest, lz_str indent, size_t *newlines, lz_text *out)
{
    bool rare = may_have_rare_ends(rest);
    while (rest.len) {
        lz_str line = cut_right(next_line(&rest, rare));
        if (line.len) {
            lz_text_fill(out, '\n', *newlines);
            lz_text_add(out, indent);
            lz_text_add(out, line);
            *newlines = 0;
        }
        ++*newlines;
    }
}

static void put_lines(const lzg_value *v, lz_str indent, lz_text *out)
{
    size_t newlines = 0;
    for (const lzg_item *i = v->first; i; i = i->next)
        put_item_lines(i->text, indent, &newlines, out);
}

static void put_inline(const lzg_value *v, bool before, bool after, lz_text *out)
{
    if (before && v->is_list && v->first)
        lz_text_puts(out, ", ");
    for (const lzg_item *i = v->first; i; i = i->next) {
        lz_text_add(out, i->text);
        lz_text_puts(out, i->next ? ", " : "");
    }
    if (after && v->is_list && v->first)
        lz_text_puts(out, ", ");
}

/* ---- holes ---- */

/* Every character beyond ASCII counts: better a name that is missing than a wrong one. */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static size_t name_end(lz_str s, size_t i)
{
    if (i >= s.len || !is_letter(s.ptr[i]))
        return i;
    while (i < s.len && (is_letter(s.ptr[i]) || (s.ptr[i] >= '0' && s.ptr[i] <= '9')))
        i++;
    return i;
}

typedef struct hole {
    lz_str name;
    bool before, after;
    bool own_lines; /* only blanks stand before it in its line */
    size_t end;     /* behind it */
} hole;

static char at(lz_str s, size_t i)
{
    return i < s.len ? s.ptr[i] : '\0';
}

/* The hole whose '$' stands at i; false if it is just a '$'. */
static bool read_hole(lz_str s, size_t i, hole *out)
{
    bool braces = at(s, ++i) == '{';
    *out = (hole){ 0 };
    i += braces;
    if (braces && at(s, i) == ',') {
        out->before = true;
        i++;
    }
    size_t end = name_end(s, i);
    out->name = lz_str_sub(s, i, end);
    out->after = braces && at(s, end) == ',';
    out->end = end + out->after + braces;
    return out->name.len && (!braces || at(s, out->end - 1) == '}');
}

static lz_err *missing(const lzg_template *t, size_t at_byte, lz_str name)
{
    lz_loc loc = { t->path ? t->path : t->file, 1, 1 };
    for (size_t i = 0; i < at_byte; i++) {
        loc.line += t->text.ptr[i] == '\n';
        loc.col = t->text.ptr[i] == '\n' ? 1 : loc.col + 1;
    }
    return lz_err_at(LZ_ERR_NOT_FOUND, loc, "the template's '%.*s' has no value", LZ_FMT(name));
}

/* Where the blanks that end at i begin, if they begin their line; else i + 1. */
static size_t indent_start(lz_str s, size_t from, size_t i)
{
    size_t k = i;
    while (k > from && is_blank(s.ptr[k - 1]) && s.ptr[k - 1] != '\n')
        k--;
    return k == 0 || s.ptr[k - 1] == '\n' ? k : i + 1;
}

/* About as much as a template that uses every value once will have, so that memory is taken once. */
static size_t size_of_values(const lzg_env *env)
{
    size_t size = 0;
    for (lz_map_entry *e = lz_map_next(&env->values, NULL); e; e = lz_map_next(&env->values, e))
        for (const lzg_item *i = ((const lzg_value *)e->value)->first; i; i = i->next)
            size += i->text.len + 1;
    return size;
}

typedef bool put_hole(const void *values, const hole *h, lz_str indent, lz_text *out);

/* Copies the text and fills its holes; *missing: the first one that `put` has no value for, or SIZE_MAX. */
static void fill_holes(lz_str s, put_hole *put, const void *values, lz_text *out, size_t *missing)
{
    size_t done = 0;
    const char *dollar;
    *missing = SIZE_MAX;
    for (size_t i = 0; i < s.len && (dollar = memchr(s.ptr + i, '$', s.len - i)); i++) {
        hole h;
        i = (size_t)(dollar - s.ptr);
        if (!read_hole(s, i, &h))
            continue;
        size_t start = indent_start(s, done, i);
        h.own_lines = start <= i;
        lz_text_add(out, lz_str_sub(s, done, h.own_lines ? start : i));
        if (!put(values, &h, lz_str_sub(s, start, i), out)) {
            *missing = i;
            return;
        }
        done = h.end;
        i = h.end - 1;
    }
    lz_text_add(out, lz_str_sub(s, done, s.len));
}

/* What env lacks comes from the defaults. */
typedef struct env_pair {
    const lzg_env *env, *defaults;
} env_pair;

static bool put_from_env(const void *values, const hole *h, lz_str indent, lz_text *out)
{
    const env_pair *envs = values;
    const lzg_value *v = lzg_env_get(envs->env, h->name);
    if (!v)
        v = lzg_env_get(envs->defaults, h->name);
    if (v && h->own_lines)
        put_lines(v, indent, out);
    else if (v)
        put_inline(v, h->before, h->after, out);
    return v != NULL;
}

lz_err *lzg_template_expand(const lzg_template *t, const lzg_env *env, lz_text *out)
{
    return lzg_template_expand_with(t, env, env, out);
}

lz_err *lzg_template_expand_with(const lzg_template *t, const lzg_env *env, const lzg_env *defaults,
                                 lz_text *out)
{
    size_t unknown;
    lz_text_reserve(out, t->text.len + size_of_values(env));
    fill_holes(t->text, put_from_env, &(env_pair){ env, defaults }, out, &unknown);
    if (unknown == SIZE_MAX)
        return lz_text_check(out);
    hole h;
    read_hole(t->text, unknown, &h);
    return missing(t, unknown, h.name);
}

/* ---- patterns ---- */

typedef struct part_list {
    const lzg_named_text *at;
    size_t n;
} part_list;

static const lzg_named_text *part_find(const part_list *parts, lz_str name)
{
    for (size_t i = 0; i < parts->n; i++)
        if (!strncmp(parts->at[i].name, name.ptr, name.len) && !parts->at[i].name[name.len])
            return &parts->at[i];
    return NULL;
}

static bool put_part(const void *values, const hole *h, lz_str indent, lz_text *out)
{
    const lzg_named_text *part = part_find(values, h->name);
    size_t newlines = 0;
    if (!part)
        return false;
    if (h->own_lines) {
        put_item_lines(part->value, indent, &newlines, out);
        return true;
    }
    lz_text_puts(out, h->before && part->value.len ? ", " : "");
    lz_text_add(out, part->value);
    lz_text_puts(out, h->after && part->value.len ? ", " : "");
    return true;
}

void lzg_expand_with(lz_text *out, lz_str pattern, const lzg_named_text *fields, size_t n)
{
    size_t unknown;
    fill_holes(pattern, put_part, &(part_list){ fields, n }, out, &unknown);
    assert(unknown == SIZE_MAX);
    (void)unknown;
}
