/* Statements, names and temporaries of a generated lowering function. */
#include "gen/emit/c_name.h"
#include "gen/emit/c_text.h"
#include "gen/emit/emit_lower.h"

/* ---- statements ---- */

static bool is_operator(lz_str s)
{
    return lz_str_starts(s, LZ_STR("&& ")) || lz_str_starts(s, LZ_STR("|| "))
           || lz_str_starts(s, LZ_STR("? ")) || lz_str_starts(s, LZ_STR(": "));
}

/* The end of a line of at most `room` characters: after the last ", " or before the last " && ", " ||
 * ", " ? ", " : " outside of strings; the end of the text if there is none. */
static size_t break_at(lz_str s, size_t room)
{
    size_t best = 0;
    bool quoted = false;
    for (size_t i = 0; i + 1 < s.len && (i < room || !best); i++) {
        quoted = quoted != (s.ptr[i] == '"' && (!i || s.ptr[i - 1] != '\\'));
        if (quoted || s.ptr[i + 1] != ' ' || !i)
            continue;
        if (s.ptr[i] == ',' || is_operator(lz_str_sub(s, i + 2, s.len)))
            best = i + 2;
    }
    return best ? best : s.len;
}

static void put_lines(lzg_lower *f)
{
    lz_str rest = lz_text_view(&f->line);
    size_t indent = 4 * (size_t)f->indent;
    while (rest.len) {
        size_t room = LZG_C_COLUMNS - indent;
        size_t n = rest.len <= room ? rest.len : break_at(rest, room);
        lz_text_fill(&f->body, ' ', indent);
        lz_text_add(&f->body, lz_str_trim(lz_str_sub(rest, 0, n)));
        lz_text_putc(&f->body, '\n');
        rest = lz_str_sub(rest, n, rest.len);
        indent = 4 * (size_t)f->indent + 8;
    }
    f->body.failed = f->body.failed || f->line.failed;
    lz_text_clear(&f->line);
}

void lzg_stmt(lzg_lower *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    lz_text_vprintf(&f->line, fmt, ap);
    va_end(ap);
    put_lines(f);
}

lz_err *lzg_open(lzg_lower *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    lz_text_vprintf(&f->line, fmt, ap);
    va_end(ap);
    lz_text_puts(&f->line, " {");
    put_lines(f);
    f->indent++;
    return lz_vec_push(&f->scopes, f->names.len);
}

void lzg_leave_block(lzg_lower *f)
{
    f->indent--;
    f->names.len = f->scopes.data[--f->scopes.len];
}

void lzg_close(lzg_lower *f, const char *rest)
{
    lzg_leave_block(f);
    lzg_stmt(f, "}%s", rest);
}

/* ---- names ---- */

static bool is_free(const lzg_lower *f, lz_str name)
{
    static const char *const own[] = { "b", "t", "x", "in", "fault", "results" };
    bool taken = lzg_c_name_taken(name);
    for (size_t i = 0; i < f->names.len; i++)
        taken = taken || lz_str_eq(f->names.data[i], name);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        taken = taken || lz_str_is(name, own[i]);
    return !taken;
}

lz_err *lzg_name_new(lzg_lower *f, lz_str wish, lz_str *out)
{
    *out = wish;
    for (int i = 1; !is_free(f, *out); i++)
        LZ_TRY(i == 1 ? lz_arena_printf(&f->arena, out, "%.*s_", LZ_FMT(wish))
                      : lz_arena_printf(&f->arena, out, "%.*s_%d", LZ_FMT(wish), i));
    return lz_vec_push(&f->names, *out);
}

lz_err *lzg_name_count(lzg_lower *f, const char *stem, lz_str *out)
{
    do
        LZ_TRY(lz_arena_printf(&f->arena, out, "%s%d", stem, ++f->ncounted));
    while (!is_free(f, *out));
    return lz_vec_push(&f->names, *out);
}

/* ---- expressions ---- */

const char *lzg_rep_type(lzg_rep rep)
{
    static const char *const types[LZG_REP_COUNT] = { "lz_low_value", "int64_t", "bool", "lz_dtype" };
    return types[rep];
}

lz_err *lzg_expr_make(lzg_lower *f, lzg_rep rep, int binds, lzg_c_expr *out, const char *fmt, ...)
{
    va_list ap;
    lz_text text = { 0 };
    va_start(ap, fmt);
    lz_text_vprintf(&text, fmt, ap);
    va_end(ap);
    *out = (lzg_c_expr){ .rep = rep, .binds = (uint8_t)binds, .bits = LZG_BITS_ANY };
    lz_err *e = lz_text_save(&text, &f->arena, &out->text);
    lz_text_deinit(&text);
    return e;
}

lz_err *lzg_temp(lzg_lower *f, lzg_c_expr *out)
{
    LZ_TRY(lzg_expr_make(f, LZG_REP_VALUE, LZG_BINDS_PRIMARY, out, "t[%d]", f->ntemps++));
    out->place = true;
    return NULL;
}

lz_err *lzg_operand(lzg_lower *f, const lzg_c_expr *e, int binds, lz_str *out)
{
    *out = e->text;
    if (e->binds >= binds)
        return NULL;
    return lz_arena_printf(&f->arena, out, "(%.*s)", LZ_FMT(e->text));
}

/* A VALUE, as the text of an lz_low_value. */
static lz_err *value_text(lzg_lower *f, const lzg_c_expr *e, lz_str *out)
{
    *out = e->text;
    return e->pointer ? lz_arena_printf(&f->arena, out, "*%.*s", LZ_FMT(e->text)) : NULL;
}

/* A VALUE, as the text of a pointer to one. */
static lz_err *pointer_text(lzg_lower *f, const lzg_c_expr *e, lz_str *out)
{
    *out = e->text;
    if (e->pointer)
        return NULL;
    return lz_arena_printf(&f->arena, out, e->place ? "&%.*s" : "LZ_ARGS(%.*s)", LZ_FMT(e->text));
}

lz_err *lzg_declare(lzg_lower *f, lz_str name, lzg_c_expr *e)
{
    lz_str text = e->text;
    if (e->rep == LZG_REP_VALUE)
        LZ_TRY(value_text(f, e, &text));
    lzg_stmt(f, "%s %.*s = %.*s;", lzg_rep_type(e->rep), LZ_FMT(name), LZ_FMT(text));
    if (e->risky)
        lzg_stmt(f, "LZ_TRY(lz_calc_check(fault));");
    f->faults = f->faults || e->risky;
    *e = (lzg_c_expr){ .rep = e->rep, .text = name, .binds = LZG_BINDS_PRIMARY, .bits = e->bits };
    e->place = e->rep == LZG_REP_VALUE;
    return NULL;
}

lz_err *lzg_settle(lzg_lower *f, lzg_c_expr *e)
{
    static const char *const stems[LZG_REP_COUNT] = { "v", "n", "c", "d" };
    lz_str name;
    if (!e->risky)
        return NULL;
    LZ_TRY(lzg_name_count(f, stems[e->rep], &name));
    return lzg_declare(f, name, e);
}

lz_err *lzg_get_known(lzg_lower *f, lz_str pointer, lz_str name, lzg_rep rep)
{
    static const char *const getters[LZG_REP_COUNT] = { NULL, "lz_low_value_get_int", "lz_low_value_get_bool",
                                                        "lz_calc_get_dtype" };
    lzg_stmt(f, "%s %.*s;", lzg_rep_type(rep), LZ_FMT(name));
    lzg_stmt(f, "LZ_TRY(%s(%.*s, &%.*s));", getters[rep], LZ_FMT(pointer), LZ_FMT(name));
    return NULL;
}

static lz_err *unpack(lzg_lower *f, lzg_c_expr *e, lzg_rep rep)
{
    static const char *const stems[LZG_REP_COUNT] = { NULL, "n", "c", "d" };
    lz_str name, from;
    LZ_TRY(pointer_text(f, e, &from));
    LZ_TRY(lzg_name_count(f, stems[rep], &name));
    LZ_TRY(lzg_get_known(f, from, name, rep));
    *e = (lzg_c_expr){ .rep = rep, .text = name, .binds = LZG_BINDS_PRIMARY, .bits = LZG_BITS_ANY };
    return NULL;
}

bool lzg_is_literal(const lzg_c_expr *e)
{
    for (size_t i = 0; i < e->text.len; i++)
        if (!(e->text.ptr[i] == '-' && i == 0) && (e->text.ptr[i] < '0' || e->text.ptr[i] > '9'))
            return false;
    return e->text.len > 0;
}

static lz_err *pack(lzg_lower *f, lzg_c_expr *e)
{
    static const char *const makers[LZG_REP_COUNT] = { NULL, "lz_low_value_int", "lz_low_value_bool",
                                                       "lz_low_value_dtype" };
    LZ_TRY(lzg_settle(f, e));
    if (e->rep == LZG_REP_INT && !lzg_is_literal(e))
        return lzg_expr_make(f, LZG_REP_VALUE, LZG_BINDS_PRIMARY, e,
                             "lz_low_value_sized(lz_scalar_int(%.*s))", LZ_FMT(e->text));
    return lzg_expr_make(f, LZG_REP_VALUE, LZG_BINDS_PRIMARY, e, "%s(%.*s)", makers[e->rep], LZ_FMT(e->text));
}

lz_err *lzg_as(lzg_lower *f, lzg_c_expr *e, lzg_rep rep)
{
    if (e->rep == rep)
        return NULL;
    if (e->rep != LZG_REP_VALUE)
        LZ_TRY(pack(f, e));
    return rep == LZG_REP_VALUE ? NULL : unpack(f, e, rep);
}

lz_err *lzg_by_value(lzg_lower *f, lzg_c_expr *e, lz_str *out)
{
    LZ_TRY(lzg_as(f, e, LZG_REP_VALUE));
    return value_text(f, e, out);
}

lz_err *lzg_by_pointer(lzg_lower *f, lzg_c_expr *e, lz_str *out)
{
    LZ_TRY(lzg_as(f, e, LZG_REP_VALUE));
    return pointer_text(f, e, out);
}

lz_err *lzg_store(lzg_lower *f, const lzg_c_place *to, lzg_c_expr *e)
{
    lz_str text;
    LZ_TRY(lzg_as(f, e, to->rep));
    LZ_TRY(lzg_settle(f, e));
    text = e->text;
    if (e->rep == LZG_REP_VALUE)
        LZ_TRY(lzg_by_value(f, e, &text));
    if (!lz_str_eq(text, to->text))
        lzg_stmt(f, "%.*s = %.*s;", LZ_FMT(to->text), LZ_FMT(text));
    return NULL;
}
