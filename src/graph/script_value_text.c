/* Values as text: literals of the graph's text form, and TorchScript's str(). */
#include "base/number.h"
#include "graph/script_value.h"
#include <math.h>

/* The letter after the backslash, for characters that have one. */
static char escape_of(char c)
{
    static const char plain[] = "\\'\"\a\b\f\n\t\v", letters[] = "\\'\"abfntv"; /* PyTorch reads no \\r */
    const char *at = c ? strchr(plain, c) : NULL;
    return at ? letters[at - plain] : '\0';
}

void lz_script_value_repr_str(lz_str s, lz_text *out)
{
    lz_text_putc(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        char escape = escape_of((char)c);
        if (escape)
            lz_text_printf(out, "\\%c", escape);
        else if (c < ' ' || c > '~')
            lz_text_printf(out, "\\%03o", c);
        else
            lz_text_putc(out, (char)c);
    }
    lz_text_putc(out, '"');
}

static void put_exponent(lz_text *out, const char *digits, size_t n, int exponent)
{
    lz_text_putc(out, digits[0]);
    if (n > 1) {
        lz_text_putc(out, '.');
        lz_text_add(out, (lz_str){ digits + 1, n - 1 });
    }
    lz_text_printf(out, "e%c%02d", exponent < 0 ? '-' : '+', exponent < 0 ? -exponent : exponent);
}

/* Prints digits with a point after the first `before`; `before` may be 0, negative or n. */
static void put_plain(lz_text *out, const char *digits, size_t n, int before)
{
    size_t whole = before > 0 ? (size_t)before : 0, shown = whole < n ? whole : n;
    if (!whole)
        lz_text_putc(out, '0');
    lz_text_add(out, (lz_str){ digits, shown });
    lz_text_fill(out, '0', whole - shown);
    lz_text_putc(out, '.');
    if (before < 0)
        lz_text_fill(out, '0', (size_t)-before);
    lz_text_add(out, (lz_str){ digits + shown, n - shown });
}

/* As C++ prints a double with 17 digits, but always with a point or an exponent. */
void lz_script_value_repr_float(double v, lz_text *out)
{
    char digits[LZ_DOUBLE_DIGITS];
    int exp10 = 1;
    if (isnan(v) || isinf(v)) {
        lz_text_puts(out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    size_t n = v == 0 ? 0 : lz_double_digits_exact(v, LZ_SHORT_DIGITS, digits, &exp10);
    lz_text_puts(out, signbit(v) ? "-" : "");
    if (n && (exp10 - 1 < -4 || exp10 - 1 >= LZ_SHORT_DIGITS))
        put_exponent(out, digits, n, exp10 - 1);
    else if (n)
        put_plain(out, digits, n, exp10);
    else
        lz_text_puts(out, "0.");
}

/* In an array a float may look like an int: the dtype distinguishes them. */
static void put_element(lz_scalar v, lz_text *out)
{
    bool whole = v.kind != LZ_SCALAR_FLOAT || (v.re == trunc(v.re) && fabs(v.re) < 0x1p53);
    if (v.kind == LZ_SCALAR_COMPLEX) {
        lz_text_double(out, v.re);
        lz_text_puts(out, v.im < 0 || (v.im == 0 && signbit(v.im)) ? "" : "+");
        lz_text_double(out, v.im);
        lz_text_putc(out, 'j');
    } else if (v.kind == LZ_SCALAR_FLOAT && !whole) {
        lz_text_double(out, v.re);
    } else if (v.kind == LZ_SCALAR_FLOAT) {
        lz_text_puts(out, v.re == 0 && signbit(v.re) ? "-" : "");
        lz_text_int(out, (int64_t)v.re);
    } else {
        lz_text_int(out, v.i);
    }
}

static void put_array(const lz_array *a, lz_text *out)
{
    if (!a->buffer) {
        lz_text_puts(out, "<Tensor>");
        return;
    }
    lz_text_putc(out, '{');
    for (int64_t i = 0; i < a->numel; i++) {
        lz_text_puts(out, i ? ", " : "");
        put_element(lz_array_get(a, i), out);
    }
    lz_text_putc(out, '}');
}

typedef struct writer {
    lz_text *out;
    bool bare; /* strings without quotes */
    int depth;
} writer;

static lz_err *put(writer *w, lz_script_value v);

/* NOLINTNEXTLINE(misc-no-recursion): LZ_SCRIPT_VALUE_DEPTH deep at most */
static lz_err *put_items(writer *w, const lz_script_value_list *l)
{
    for (size_t i = 0; i < l->len; i++) {
        lz_text_puts(w->out, i ? ", " : "");
        LZ_TRY(put(w, l->data[i]));
    }
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_SCRIPT_VALUE_DEPTH deep at most */
static lz_err *put_list(writer *w, lz_script_value v)
{
    lz_text_putc(w->out, '[');
    LZ_TRY(put_items(w, v.list));
    lz_text_putc(w->out, ']');
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_SCRIPT_VALUE_DEPTH deep at most */
static lz_err *put_tuple(writer *w, lz_script_value v)
{
    lz_text_putc(w->out, '(');
    LZ_TRY(put_items(w, v.list));
    lz_text_puts(w->out, v.list->len == 1 ? ",)" : ")");
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_SCRIPT_VALUE_DEPTH deep at most */
static lz_err *put_dict(writer *w, lz_script_value v)
{
    const lz_map *m = &v.dict->map;
    bool first = true;
    lz_text_putc(w->out, '{');
    for (lz_map_entry *e = lz_map_next(m, NULL); e; e = lz_map_next(m, e), first = false) {
        const lz_script_value_pair *p = e->value;
        lz_text_puts(w->out, first ? "" : ", ");
        LZ_TRY(put(w, p->key));
        lz_text_puts(w->out, ": ");
        LZ_TRY(put(w, p->value));
    }
    lz_text_putc(w->out, '}');
    return NULL;
}

static lz_err *put_leaf(writer *w, lz_script_value v)
{
    switch (v.kind) {
    case LZ_SCRIPT_VALUE_BOOL:
        lz_text_puts(w->out, v.b ? "True" : "False");
        break;
    case LZ_SCRIPT_VALUE_INT:
        lz_text_int(w->out, v.i);
        break;
    case LZ_SCRIPT_VALUE_FLOAT:
        lz_script_value_repr_float(w->bare && v.f == 0 ? 0 : v.f, w->out); /* str(-0.0) has no sign */
        break;
    case LZ_SCRIPT_VALUE_ARRAY:
        put_array(&v.array->array, w->out);
        break;
    case LZ_SCRIPT_VALUE_STR:
    case LZ_SCRIPT_VALUE_DEVICE:
        if (w->bare)
            lz_text_add(w->out, lz_script_value_text(v));
        else
            lz_script_value_repr_str(lz_script_value_text(v), w->out);
        break;
    default:
        lz_text_puts(w->out, v.kind == LZ_SCRIPT_VALUE_NONE     ? "None"
                             : v.kind == LZ_SCRIPT_VALUE_TENSOR ? "<Tensor>"
                                                                : "<Object>");
    }
    return NULL;
}

typedef lz_err *put_fn(writer *w, lz_script_value v);

/* NOLINTNEXTLINE(misc-no-recursion): LZ_SCRIPT_VALUE_DEPTH deep at most */
static lz_err *put(writer *w, lz_script_value v)
{
    static put_fn *const fns[LZ_SCRIPT_VALUE_KINDS] = {
        [LZ_SCRIPT_VALUE_LIST] = put_list,
        [LZ_SCRIPT_VALUE_TUPLE] = put_tuple,
        [LZ_SCRIPT_VALUE_DICT] = put_dict,
    };
    if (!fns[v.kind])
        return put_leaf(w, v);
    if (w->depth == LZ_SCRIPT_VALUE_DEPTH)
        return lz_errf(LZ_ERR_LIMIT, "a value is nested more than %d deep", LZ_SCRIPT_VALUE_DEPTH);
    w->depth++;
    lz_err *e = fns[v.kind](w, v);
    w->depth--;
    return e;
}

lz_err *lz_script_value_repr(lz_script_value v, lz_text *out)
{
    writer w = { .out = out };
    return put(&w, v);
}

lz_err *lz_script_value_show(lz_script_value v, lz_text *out)
{
    writer w = { .out = out, .bare = true };
    return put(&w, v);
}
