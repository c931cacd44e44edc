#include "core/array_print.h"
#include "base/number.h"
#include "core/convert.h"
#include <float.h>
#include <math.h>

enum { PRECISION_MOST = 100, INDENT = sizeof "tensor(" - 1 };

/* Prints the sign, inf and nan; true if nothing else is to be printed. */
static bool put_special(lz_text *out, double v)
{
    if (isnan(v))
        lz_text_puts(out, "nan");
    else if (signbit(v))
        lz_text_putc(out, '-');
    if (isinf(v))
        lz_text_puts(out, "inf");
    return !isfinite(v);
}

/* Prints `count` digits from position `from` on; positions outside 0..n-1 are zeros. */
static void put_digits(lz_text *out, const char *digits, size_t n, int from, int count)
{
    for (int i = from; i < from + count; i++)
        lz_text_putc(out, (char)(i >= 0 && (size_t)i < n ? digits[i] : '0'));
}

void lz_text_fixed(lz_text *out, double v, int places)
{
    char digits[LZ_DOUBLE_DIGITS];
    int point = 0;
    if (put_special(out, v))
        return;
    size_t n = v == 0 ? 0 : lz_double_digits_fixed(v, places, digits, &point);
    point = n ? point : 0;
    if (point <= 0)
        lz_text_putc(out, '0');
    else
        put_digits(out, digits, n, 0, point);
    if (places > 0)
        lz_text_putc(out, '.');
    put_digits(out, digits, n, point, places);
}

void lz_text_exponent(lz_text *out, double v, int places)
{
    char digits[LZ_DOUBLE_DIGITS];
    int point = 1;
    if (put_special(out, v))
        return;
    size_t n = v == 0 ? 0 : lz_double_digits_exact(v, places + 1, digits, &point);
    put_digits(out, digits, n, 0, 1);
    if (places > 0)
        lz_text_putc(out, '.');
    put_digits(out, digits, n, 1, places);
    lz_text_printf(out, "e%c%02d", point < 1 ? '-' : '+', point < 1 ? 1 - point : point - 1);
}

/* How all elements are written, or all their real or imaginary parts. */
typedef struct format {
    bool floats, whole, scientific;
    int precision;
    size_t width;
} format;

typedef struct printer {
    const lz_array *a;
    lz_print_options o;
    bool summarize;
    int64_t shown[LZ_MAX_DIMS]; /* number of shown elements in each dimension */
    format re, im;              /* im: imaginary parts of complex elements */
    lz_text *out, scratch;
    bool failed; /* an earlier text in scratch ran out of memory */
} printer;

/* Clears scratch; remembers whether an earlier text in it failed. */
static lz_text *scratch(printer *p)
{
    p->failed = p->failed || p->scratch.failed;
    lz_text_clear(&p->scratch);
    return &p->scratch;
}

static bool has_gap(const printer *p, int64_t d)
{
    return p->summarize && p->a->sizes.v[d] > 2 * p->o.edge_items;
}

/* The index of the i-th shown element of dimension d. */
static int64_t place(const printer *p, int64_t d, int64_t i)
{
    return i < p->o.edge_items ? i : p->a->sizes.v[d] - p->shown[d] + i;
}

static lz_err *choose_shown(printer *p)
{
    int64_t total = 1;
    for (int64_t d = 0; d < p->a->sizes.n; d++) {
        p->shown[d] = has_gap(p, d) ? 2 * p->o.edge_items : p->a->sizes.v[d];
        if (__builtin_mul_overflow(total, p->shown[d], &total) || total > LZ_PRINT_MOST)
            return lz_errf(LZ_ERR_LIMIT, "more than %d elements to print", LZ_PRINT_MOST);
    }
    return NULL;
}

static lz_scalar element(const printer *p, const int64_t *at)
{
    int64_t index[LZ_MAX_DIMS];
    for (int64_t d = 0; d < p->a->sizes.n; d++)
        index[d] = place(p, d, at[d]);
    return lz_element_get(p->a->dtype, lz_array_at(p->a, index));
}

/* Moves to the next shown element; false after the last. */
static bool next(const printer *p, int64_t *at)
{
    for (int64_t d = p->a->sizes.n - 1; d >= 0; d--) {
        if (++at[d] < p->shown[d])
            return true;
        at[d] = 0;
    }
    return false;
}

static void put_value(lz_text *out, const format *f, lz_scalar v, double part)
{
    if (v.kind == LZ_SCALAR_BOOL)
        lz_text_puts(out, v.i ? "True" : "False");
    else if (!f->floats)
        lz_text_int(out, v.i);
    else if (f->scientific)
        lz_text_exponent(out, part, f->precision);
    else
        lz_text_fixed(out, part, f->whole ? 0 : f->precision);
    if (f->floats && !f->scientific && f->whole && isfinite(part))
        lz_text_putc(out, '.');
}

/* The elements that decide how floats are written: those that are neither 0 nor special. */
typedef struct range {
    double min, max;
    bool whole;
} range;

static void widen_range(range *r, double v)
{
    if (!isfinite(v) || v == 0)
        return;
    r->min = fmin(r->min, fabs(v));
    r->max = fmax(r->max, fabs(v));
    r->whole = r->whole && v == ceil(v);
}

static format choose_format(const printer *p, const range *r)
{
    format f = { .floats = true, .whole = r->whole, .precision = p->o.precision, .width = 1 };
    if (r->max == 0)
        return f;
    f.scientific = r->max / r->min > 1000 || r->max > 1e8 || (!r->whole && r->min < 1e-4);
    return f;
}

static void widen_format(printer *p, format *f, lz_scalar v, double part)
{
    if (f->floats && (!isfinite(part) || part == 0))
        return;
    put_value(scratch(p), f, v, part);
    f->width = p->scratch.len > f->width ? p->scratch.len : f->width;
}

static void force_scientific(const printer *p, format *f, const range *r)
{
    if (f->floats && r->max > 0 && p->o.scientific != LZ_SCIENTIFIC_AUTO)
        f->scientific = p->o.scientific == LZ_SCIENTIFIC_ALWAYS;
}

/* Widths are those of the automatically chosen format, even if the options force another: PyTorch does the
 * same. */
static void measure(printer *p)
{
    int64_t at[LZ_MAX_DIMS] = { 0 };
    range re = { DBL_MAX, 0, true }, im = re;
    do {
        lz_scalar v = element(p, at);
        widen_range(&re, v.re);
        widen_range(&im, v.im);
    } while (next(p, at));
    bool floats = lz_dtype_is_float(p->a->dtype) || lz_dtype_is_complex(p->a->dtype);
    p->re = floats ? choose_format(p, &re) : (format){ .width = 1 };
    p->im = choose_format(p, &im);
    do {
        lz_scalar v = element(p, at);
        widen_format(p, &p->re, v, v.re);
        widen_format(p, &p->im, v, v.im);
    } while (next(p, at));
    force_scientific(p, &p->re, &re);
    force_scientific(p, &p->im, &im);
}

static void put_padded(printer *p, const format *f, lz_scalar v, double part)
{
    put_value(scratch(p), f, v, part);
    if (p->scratch.len < f->width)
        lz_text_fill(p->out, ' ', f->width - p->scratch.len);
    lz_text_add(p->out, lz_text_view(&p->scratch));
}

/* The imaginary part is not padded, and always has a sign. */
static void put_imaginary(printer *p, lz_scalar v)
{
    put_value(scratch(p), &p->im, v, v.im);
    if (p->scratch.len && p->scratch.ptr[0] != '-')
        lz_text_putc(p->out, '+');
    lz_text_add(p->out, lz_text_view(&p->scratch));
    lz_text_putc(p->out, 'j');
}

static void put_element(printer *p, const int64_t *at)
{
    lz_scalar v = element(p, at);
    put_padded(p, &p->re, v, v.re);
    if (v.kind == LZ_SCALAR_COMPLEX)
        put_imaginary(p, v);
}

static int64_t per_line(const printer *p, int64_t indent)
{
    int64_t width = (int64_t)p->re.width + 2;
    width += lz_dtype_is_complex(p->a->dtype) ? (int64_t)p->im.width + 1 : 0;
    int64_t n = (p->o.line_width - indent) / width;
    return n > 1 ? n : 1;
}

/* Prints the separator before item i of a row. */
static void part_items(printer *p, int64_t i, int64_t in_line, int64_t indent)
{
    if (i == 0)
        return;
    lz_text_puts(p->out, i % in_line ? ", " : ",\n");
    if (i % in_line == 0)
        lz_text_fill(p->out, ' ', (size_t)indent + 1);
}

/* Prints one row, the last dimension; at[last] is 0 before and after. */
static void put_row(printer *p, int64_t *at)
{
    int64_t last = p->a->sizes.n - 1, indent = INDENT + last, in_line = per_line(p, indent), item = 0;
    bool gap = has_gap(p, last);
    lz_text_putc(p->out, '[');
    for (int64_t i = 0; i < p->shown[last]; i++) {
        if (gap && i == p->o.edge_items) {
            part_items(p, item++, in_line, indent);
            lz_text_puts(p->out, " ...");
        }
        part_items(p, item++, in_line, indent);
        at[last] = i;
        put_element(p, at);
    }
    at[last] = 0;
    lz_text_putc(p->out, ']');
}

static void part_rows(printer *p, int64_t d)
{
    lz_text_putc(p->out, ',');
    lz_text_fill(p->out, '\n', (size_t)(p->a->sizes.n - 1 - d));
    lz_text_fill(p->out, ' ', (size_t)(INDENT + d + 1));
}

/* Moves to the next row and prints the brackets in between; false after the last. */
static bool next_row(printer *p, int64_t *at)
{
    int64_t inner = p->a->sizes.n - 2, d = inner;
    while (d >= 0 && at[d] + 1 == p->shown[d])
        at[d--] = 0;
    if (d < 0)
        return false;
    at[d]++;
    lz_text_fill(p->out, ']', (size_t)(inner - d));
    part_rows(p, d);
    if (has_gap(p, d) && at[d] == p->o.edge_items) {
        lz_text_puts(p->out, "...");
        part_rows(p, d);
    }
    lz_text_fill(p->out, '[', (size_t)(inner - d));
    return true;
}

static void put_elements(printer *p)
{
    int64_t at[LZ_MAX_DIMS] = { 0 }, rank = p->a->sizes.n;
    if (rank == 0) {
        put_element(p, at);
        return;
    }
    lz_text_fill(p->out, '[', (size_t)rank - 1);
    do
        put_row(p, at);
    while (next_row(p, at));
    lz_text_fill(p->out, ']', (size_t)rank - 1);
}

static lz_err *put_contents(printer *p)
{
    p->summarize = p->a->numel > p->o.threshold;
    if (p->a->numel == 0)
        lz_text_puts(p->out, "[]");
    else if (p->summarize && p->o.edge_items == 0 && p->a->sizes.n > 0)
        lz_text_puts(p->out, "[...]");
    else {
        LZ_TRY(choose_shown(p));
        measure(p);
        put_elements(p);
    }
    return NULL;
}

/* Prints ", text" on the same line, or on a new line if it would be too long. */
static void put_suffix(printer *p, size_t *line, lz_str text)
{
    if (*line + text.len + 2 > (size_t)p->o.line_width) {
        lz_text_puts(p->out, ",\n");
        lz_text_fill(p->out, ' ', INDENT);
        *line = INDENT + text.len;
    } else {
        lz_text_puts(p->out, ", ");
        *line += text.len + 2;
    }
    lz_text_add(p->out, text);
}

/* An empty array does not show its dtype, so any dtype but the default float is named. */
static bool names_dtype(const printer *p)
{
    lz_dtype d = p->a->dtype, f = p->o.default_float;
    if (d == f)
        return false;
    return p->a->numel == 0 || (d != LZ_I64 && d != LZ_BOOL && d != (f == LZ_F64 ? LZ_C128 : LZ_C64));
}

static void put_sizes(const printer *p, lz_text *out)
{
    const lz_shape *s = &p->a->sizes;
    lz_text_puts(out, "size=(");
    for (int64_t d = 0; d < s->n; d++)
        lz_text_printf(out, "%s%lld", d ? ", " : "", (long long)s->v[d]);
    lz_text_puts(out, s->n == 1 ? ",)" : ")");
}

static void put_suffixes(printer *p, size_t start)
{
    lz_str all = lz_str_sub(lz_text_view(p->out), start, p->out->len);
    size_t newline = lz_str_rfind(all, LZ_STR("\n"));
    size_t line = newline == SIZE_MAX ? all.len + 2 : all.len - newline + 1;
    if (p->o.device) {
        lz_text_printf(scratch(p), "device='%s'", p->o.device);
        put_suffix(p, &line, lz_text_view(&p->scratch));
    }
    if (p->a->numel == 0 && p->a->sizes.n != 1) {
        put_sizes(p, scratch(p));
        put_suffix(p, &line, lz_text_view(&p->scratch));
    }
    if (names_dtype(p)) {
        lz_text_printf(scratch(p), "dtype=torch.%s", lz_dtype_get(p->a->dtype)->name);
        put_suffix(p, &line, lz_text_view(&p->scratch));
    }
    if (p->o.note)
        put_suffix(p, &line, lz_str_of(p->o.note));
}

static lz_err *check_options(const lz_print_options *o)
{
    if (o->precision < 0 || o->precision > PRECISION_MOST || o->edge_items < 0
        || o->edge_items > LZ_PRINT_MOST || o->line_width < 0)
        return lz_errf(LZ_ERR_ARG, "printing with precision %d, %lld edge items, lines of %d: out of range",
                       o->precision, (long long)o->edge_items, o->line_width);
    return NULL;
}

lz_err *lz_array_print(const lz_array *a, const lz_print_options *options, lz_text *out)
{
    printer p = { .a = a, .o = options ? *options : LZ_PRINT_DEFAULTS, .out = out };
    size_t start = out->len;
    LZ_TRY(check_options(&p.o));
    lz_text_puts(out, "tensor(");
    lz_err *e = put_contents(&p);
    if (!e) {
        put_suffixes(&p, start);
        lz_text_putc(out, ')');
        e = p.failed || p.scratch.failed ? lz_err_oom() : lz_text_check(out);
    }
    lz_text_deinit(&p.scratch);
    return e;
}
