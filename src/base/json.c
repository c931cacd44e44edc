#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/utf8.h"
#include "base/vec.h"
#include <math.h>
#include <stdio.h>

enum { SEARCHED_IN_ORDER = 32 }; /* objects up to this size have no sorted index */

typedef struct member_key {
    lz_str text;
    int32_t line, col;
} member_key;

/* An open container: its kind and location, and where its parts begin in the stacks. */
typedef struct frame {
    lz_json head;
    size_t values, keys;
} frame;

/* The parsed parts of the open containers, innermost last. */
struct lz_json_scratch {
    LZ_VEC(lz_json) values;
    LZ_VEC(member_key) keys;
    LZ_VEC(frame) frames;
};

/* The text is copied into the arena and parsed there: strings are decoded in place. A NUL follows the text;
 * no rule accepts it, so reading *at needs no check for the end. */
typedef struct reader {
    char *at, *end, *line_start;
    int32_t line;
    const char *file;
    lz_arena *arena;
    lz_json_scratch *s;
} reader;

typedef lz_err *value_reader(reader *r, bool *more);

static lz_loc place(const reader *r, const char *at)
{
    return (lz_loc){ .file = r->file, .line = r->line, .col = (int32_t)(at - r->line_start) + 1 };
}

LZ_MUST_USE
static lz_err *unexpected(const reader *r, const char *wanted)
{
    char found[24];
    unsigned char c = (unsigned char)*r->at;
    snprintf(found, sizeof found, c > ' ' && c < 0x7f ? "'%c'" : "byte 0x%02x", c);
    return lz_err_at(LZ_ERR_SYNTAX, place(r, r->at), "expected %s, found %s", wanted,
                     r->at == r->end ? "the end" : found);
}

static void skip_space(reader *r)
{
    for (;; r->at++) {
        if (*r->at == '\n') {
            r->line++;
            r->line_start = r->at + 1;
        } else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r')
            return;
    }
}

LZ_MUST_USE
static lz_err *push(reader *r, lz_json v, bool *more)
{
    *more = false;
    return lz_vec_push(&r->s->values, v);
}

/* Characters that a string contains unescaped: ASCII without controls, quote and backslash. */
static const bool plain[256] = { [' '] = true, ['!'] = true, ['#' ... '['] = true, [']' ... 0x7f] = true };

static const char escapes[256] = {
    ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The value of the 4 hexadecimal digits at `at`; -1 if they are not. */
static int32_t hex4(const char *at)
{
    int32_t v = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i], lower = (char)(c | 0x20);
        if (!is_digit(c) && (lower < 'a' || lower > 'f'))
            return -1;
        v = v * 16 + (is_digit(c) ? c - '0' : lower - 'a' + 10);
    }
    return v;
}

/* \uXXXX, or \uXXXX\uXXXX if the first is a high surrogate. */
LZ_MUST_USE
static lz_err *read_code_point(reader *r, char **to)
{
    int32_t code = hex4(r->at + 2);
    size_t len = 6;
    if (code >= 0xd800 && code <= 0xdbff && r->at[6] == '\\' && r->at[7] == 'u') {
        int32_t low = hex4(r->at + 8);
        if (low >= 0xdc00 && low <= 0xdfff) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            len = 12;
        }
    }
    if (code < 0)
        return lz_err_at(LZ_ERR_SYNTAX, place(r, r->at), "expected four hexadecimal digits after \\u");
    if (code >= 0xd800 && code <= 0xdfff)
        return lz_err_at(LZ_ERR_SYNTAX, place(r, r->at),
                         "expected a pair of surrogates, found a lone \\u%.4s", r->at + 2);
    *to += lz_utf8_encode((uint32_t)code, *to);
    r->at += len;
    return NULL;
}

LZ_MUST_USE
static lz_err *read_escape(reader *r, char **to)
{
    char c = escapes[(unsigned char)r->at[1]];
    if (r->at[1] == 'u')
        return read_code_point(r, to);
    if (c) {
        *(*to)++ = c;
        r->at += 2;
        return NULL;
    }
    r->at++;
    return unexpected(r, "an escape (one of \"\\/bfnrtu)");
}

LZ_MUST_USE
static lz_err *read_wide(reader *r, char **to)
{
    uint32_t code;
    size_t n = lz_utf8_decode((lz_str){ r->at, (size_t)(r->end - r->at) }, &code);
    if (n == 0)
        return unexpected(r, "UTF-8 in a string");
    memmove(*to, r->at, n);
    *to += n;
    r->at += n;
    return NULL;
}

/* at: the opening quote. The closing quote becomes the NUL if nothing was escaped. */
LZ_MUST_USE
static lz_err *read_text(reader *r, lz_str *out)
{
    char *start = ++r->at, *to = start;
    for (;;) {
        char *run = r->at;
        while (plain[(unsigned char)*r->at])
            r->at++;
        if (to != run)
            memmove(to, run, (size_t)(r->at - run));
        to += r->at - run;
        if (*r->at == '"')
            break;
        if (*r->at == '\\')
            LZ_TRY(read_escape(r, &to));
        else if (*r->at & 0x80)
            LZ_TRY(read_wide(r, &to));
        else
            return unexpected(r, r->at == r->end ? "'\"' to end the string"
                                                 : "an escape for a control character in a string");
    }
    r->at++;
    *to = '\0';
    *out = (lz_str){ start, (size_t)(to - start) };
    return NULL;
}

static lz_err *read_string(reader *r, bool *more)
{
    lz_json v = { .loc = place(r, r->at), .kind = LZ_JSON_STRING };
    LZ_TRY(read_text(r, &v.str));
    return push(r, v, more);
}

LZ_MUST_USE
static lz_err *skip_digits(reader *r)
{
    if (!is_digit(*r->at))
        return unexpected(r, "a digit");
    while (is_digit(*r->at))
        r->at++;
    return NULL;
}

/* Moves past the number. JSON's grammar is narrower than lz_double_parse's. */
LZ_MUST_USE
static lz_err *skip_number(reader *r, bool *whole)
{
    r->at += *r->at == '-';
    if (*r->at == '0' && is_digit(r->at[1])) {
        r->at++;
        return unexpected(r, "no digit after a leading 0");
    }
    LZ_TRY(skip_digits(r));
    *whole = *r->at != '.' && (*r->at | 0x20) != 'e';
    if (*r->at == '.') {
        r->at++;
        LZ_TRY(skip_digits(r));
    }
    if ((*r->at | 0x20) == 'e') {
        r->at++;
        r->at += *r->at == '+' || *r->at == '-';
        LZ_TRY(skip_digits(r));
    }
    return NULL;
}

/* Fast path for integers of up to 18 digits. NULL if this is not one. */
static char *read_small(char *at, int64_t *out)
{
    bool minus = *at == '-';
    char *start = at += minus;
    int64_t v = 0;
    while (is_digit(*at) && at - start < 18)
        v = v * 10 + (*at++ - '0');
    *out = minus ? -v : v;
    bool other = at == start || (*start == '0' && at - start > 1) || is_digit(*at) || *at == '.';
    return other || (*at | 0x20) == 'e' ? NULL : at;
}

static lz_err *read_number(reader *r, bool *more)
{
    lz_json v = { .loc = place(r, r->at), .kind = LZ_JSON_INT };
    char *small_end = read_small(r->at, &v.i);
    if (small_end) {
        r->at = small_end;
        return push(r, v, more);
    }
    lz_str text = { r->at, 0 };
    bool whole = false;
    LZ_TRY(skip_number(r, &whole));
    text.len = (size_t)(r->at - text.ptr);
    if (!whole) {
        v.kind = LZ_JSON_DOUBLE;
        lz_double_parse(text, &v.d);
        if (!isfinite(v.d))
            return lz_err_at(LZ_ERR_LIMIT, v.loc, "number beyond the range of doubles");
    } else if (!lz_int64_parse(text, &v.i)) {
        v.kind = LZ_JSON_UINT;
        if (!lz_uint64_parse(text, &v.u))
            return lz_err_at(LZ_ERR_LIMIT, v.loc, "integer does not fit in 64 bits");
    }
    return push(r, v, more);
}

LZ_MUST_USE
static lz_err *read_word(reader *r, const char *word, lz_json v, bool *more)
{
    v.loc = place(r, r->at);
    size_t n = strlen(word);
    if (strncmp(r->at, word, n) != 0)
        return unexpected(r, "a value");
    r->at += n;
    return push(r, v, more);
}

static lz_err *read_true(reader *r, bool *more)
{
    return read_word(r, "true", (lz_json){ .kind = LZ_JSON_BOOL, .b = true }, more);
}

static lz_err *read_false(reader *r, bool *more)
{
    return read_word(r, "false", (lz_json){ .kind = LZ_JSON_BOOL }, more);
}

static lz_err *read_null(reader *r, bool *more)
{
    return read_word(r, "null", (lz_json){ .kind = LZ_JSON_NULL }, more);
}

LZ_MUST_USE
static lz_err *read_key(reader *r)
{
    skip_space(r);
    lz_loc loc = place(r, r->at);
    member_key k = { .line = loc.line, .col = loc.col };
    if (*r->at != '"')
        return unexpected(r, "a key in quotes");
    LZ_TRY(read_text(r, &k.text));
    skip_space(r);
    if (*r->at != ':')
        return unexpected(r, "':' after the key");
    r->at++;
    return lz_vec_push(&r->s->keys, k);
}

static int by_key(const lz_json_member *m, uint32_t a, uint32_t b)
{
    int c = lz_str_cmp(m[a].key, m[b].key);
    return c ? c : (a > b) - (a < b);
}

static void sift_down(const lz_json_member *m, uint32_t *order, uint32_t at, uint32_t n)
{
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && by_key(m, order[child], order[child + 1]) < 0;
        if (by_key(m, order[at], order[child]) >= 0)
            return;
        uint32_t t = order[at];
        order[at] = order[child];
        order[child] = t;
    }
}

/* Heap sort: no input makes it slow, and it needs no memory. */
static void sort_keys(const lz_json_member *m, uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n / 2; i-- > 0;)
        sift_down(m, order, i, n);
    for (uint32_t i = n; i-- > 1;) {
        uint32_t t = order[0];
        order[0] = order[i];
        order[i] = t;
        sift_down(m, order, 0, i);
    }
}

/* Different keys of equal length mostly differ in the last byte. */
static bool same_key(const lz_json_member *a, const lz_json_member *b)
{
    size_t n = a->key.len;
    return n == b->key.len && (n == 0 || a->key.ptr[n - 1] == b->key.ptr[n - 1]) && lz_str_eq(a->key, b->key);
}

/* The first member whose key occurred before, or len. */
static uint32_t find_twin(const lz_json *v)
{
    uint32_t twin = v->len;
    for (uint32_t i = 1; v->order && i < v->len; i++) {
        uint32_t a = v->order[i - 1], b = v->order[i];
        if (b < twin && same_key(&v->members[a], &v->members[b]))
            twin = b;
    }
    for (uint32_t i = 1; !v->order && i < twin; i++)
        for (uint32_t j = 0; j < i; j++)
            if (same_key(&v->members[j], &v->members[i]))
                twin = i;
    return twin;
}

LZ_MUST_USE
static lz_err *build_object(reader *r, const frame *f, lz_json *v)
{
    lz_json_member *m;
    uint32_t *order;
    LZ_TRY(lz_arena_new(r->arena, &m, v->len));
    const member_key *k = r->s->keys.data + f->keys;
    for (uint32_t i = 0; i < v->len; i++)
        m[i] = (lz_json_member){ k[i].text, k[i].line, k[i].col, r->s->values.data[f->values + i] };
    v->members = m;
    if (v->len > SEARCHED_IN_ORDER) {
        LZ_TRY(lz_arena_new(r->arena, &order, v->len));
        sort_keys(m, order, v->len);
        v->order = order;
    }
    uint32_t twin = find_twin(v);
    if (twin == v->len)
        return NULL;
    lz_loc loc = { r->file, m[twin].line, m[twin].col };
    return lz_err_at(LZ_ERR_SYNTAX, loc, "the key \"%.*s\" is there already", LZ_FMT(m[twin].key));
}

LZ_MUST_USE
static lz_err *build_array(reader *r, const frame *f, lz_json *v)
{
    lz_json *items;
    LZ_TRY(lz_arena_new(r->arena, &items, v->len));
    memcpy(items, r->s->values.data + f->values, v->len * sizeof *items);
    v->items = items;
    return NULL;
}

/* Closes the innermost container, which becomes a value of the next one. */
LZ_MUST_USE
static lz_err *close_container(reader *r, bool *more)
{
    lz_json_scratch *s = r->s;
    frame f = s->frames.data[--s->frames.len];
    lz_json v = f.head;
    v.len = (uint32_t)(s->values.len - f.values);
    if (v.len)
        LZ_TRY(v.kind == LZ_JSON_OBJECT ? build_object(r, &f, &v) : build_array(r, &f, &v));
    s->values.len = f.values;
    s->keys.len = f.keys;
    r->at++;
    return push(r, v, more);
}

LZ_MUST_USE
static lz_err *open_container(reader *r, lz_json_kind kind)
{
    lz_json_scratch *s = r->s;
    frame f = { { .loc = place(r, r->at), .kind = kind }, s->values.len, s->keys.len };
    if (s->frames.len == LZ_JSON_DEPTH)
        return lz_err_at(LZ_ERR_LIMIT, f.head.loc, "nested more than %d deep", LZ_JSON_DEPTH);
    LZ_TRY(lz_vec_push(&s->frames, f));
    r->at++;
    skip_space(r);
    return NULL;
}

static lz_err *read_array(reader *r, bool *more)
{
    LZ_TRY(open_container(r, LZ_JSON_ARRAY));
    return *r->at == ']' ? close_container(r, more) : NULL;
}

static lz_err *read_object(reader *r, bool *more)
{
    LZ_TRY(open_container(r, LZ_JSON_OBJECT));
    return *r->at == '}' ? close_container(r, more) : read_key(r);
}

static value_reader *const readers[256] = {
    ['"'] = read_string, ['-'] = read_number, ['0' ... '9'] = read_number, ['['] = read_array,
    ['{'] = read_object, ['t'] = read_true,   ['f'] = read_false,          ['n'] = read_null,
};

LZ_MUST_USE
static lz_err *read_value(reader *r, bool *more)
{
    skip_space(r);
    value_reader *read = readers[(unsigned char)*r->at];
    return read ? read(r, more) : unexpected(r, "a value");
}

LZ_MUST_USE
static lz_err *after_value(reader *r, bool *more)
{
    bool object = r->s->frames.data[r->s->frames.len - 1].head.kind == LZ_JSON_OBJECT;
    skip_space(r);
    if (*r->at == (object ? '}' : ']'))
        return close_container(r, more);
    if (*r->at != ',')
        return unexpected(r, object ? "',' or '}'" : "',' or ']'");
    r->at++;
    *more = true;
    return object ? read_key(r) : NULL;
}

/* more: a value must follow; otherwise one has just ended. */
LZ_MUST_USE
static lz_err *read_document(reader *r)
{
    for (bool more = true; more || r->s->frames.len;)
        LZ_TRY(more ? read_value(r, &more) : after_value(r, &more));
    skip_space(r);
    return r->at == r->end ? NULL : unexpected(r, "the end");
}

LZ_MUST_USE
static lz_err *parse_from(lz_arena *a, lz_json_scratch *s, const char *file, int32_t line, lz_str text,
                          const lz_json **out)
{
    lz_str copy, name = { 0 };
    lz_json *root;
    if (text.len >= INT32_MAX)
        return lz_err_at(LZ_ERR_LIMIT, (lz_loc){ .file = file }, "a JSON text of 2 GiB or more");
    if (file)
        LZ_TRY(lz_arena_copy(a, lz_str_of(file), &name));
    LZ_TRY(lz_arena_new(a, &root, 1));
    LZ_TRY(lz_arena_copy(a, text, &copy));
    char *at = (char *)copy.ptr; /* private until the tree is returned */
    reader r = { at, at + copy.len, at, line, name.ptr, a, s };
    s->values.len = s->keys.len = s->frames.len = 0;
    LZ_TRY(read_document(&r));
    *root = s->values.data[0];
    *out = root;
    return NULL;
}

static void free_scratch(lz_json_scratch *s)
{
    lz_vec_deinit(&s->values);
    lz_vec_deinit(&s->keys);
    lz_vec_deinit(&s->frames);
}

static lz_err *parse_or_rewind(lz_arena *a, lz_json_scratch *s, const char *file, int32_t line, lz_str text,
                               const lz_json **out)
{
    lz_arena_mark mark = lz_arena_save(a);
    lz_err *e = parse_from(a, s, file, line, text, out);
    if (e)
        lz_arena_rewind(a, mark);
    return e;
}

lz_err *lz_json_parse(lz_arena *a, const char *file, lz_str text, const lz_json **out)
{
    lz_json_scratch s = { 0 };
    lz_err *e = parse_or_rewind(a, &s, file, 1, text, out);
    free_scratch(&s);
    return e;
}

void lz_json_lines_init(lz_json_lines *l, const char *file, lz_str text)
{
    *l = (lz_json_lines){ .file = file, .rest = text, .line = 1 };
}

void lz_json_lines_deinit(lz_json_lines *l)
{
    if (l->scratch)
        free_scratch(l->scratch);
    lz_mem_free(l->scratch);
    l->scratch = NULL;
}

lz_err *lz_json_lines_next(lz_json_lines *l, lz_arena *a, const lz_json **out)
{
    *out = NULL;
    l->scratch = l->scratch ? l->scratch : lz_mem_zalloc(1, sizeof *l->scratch);
    if (!l->scratch)
        return lz_err_oom();
    while (l->rest.len) {
        size_t end = lz_str_find_char(l->rest, '\n');
        lz_str line = lz_str_sub(l->rest, 0, end);
        l->rest = lz_str_sub(l->rest, end == SIZE_MAX ? end : end + 1, l->rest.len);
        l->line++;
        if (lz_str_trim(line).len)
            return parse_or_rewind(a, l->scratch, l->file, l->line - 1, line, out);
    }
    return NULL;
}

lz_err *lz_json_lines_each(const char *file, lz_str text, lz_json_line_fn *fn, void *user)
{
    lz_json_lines lines;
    lz_arena arena;
    const lz_json *v = NULL;
    lz_err *e;
    lz_arena_init(&arena);
    lz_json_lines_init(&lines, file, text);
    do {
        lz_arena_mark mark = lz_arena_save(&arena);
        e = lz_json_lines_next(&lines, &arena, &v);
        if (!e && v)
            e = fn(user, v, &arena);
        lz_arena_rewind(&arena, mark);
    } while (!e && v);
    lz_json_lines_deinit(&lines);
    lz_arena_deinit(&arena);
    return e;
}
