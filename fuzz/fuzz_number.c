/* A text reads as strtod reads it, and eight bytes taken for a double print as printf
 * prints them and read back as themselves. */
#include "base/decimal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static bool same(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* strtod also takes white space in front, hexadecimal digits and nan(...). */
static bool only_strtod(const char *text)
{
    return strpbrk(text, " \t\n\v\f\rxX(");
}

static void check_text(const char *text, size_t size)
{
    double v;
    char *end;
    double want = strtod(text, &end);
    if (lz_double_parse((lz_str){ text, size }, &v))
        check(strlen(text) == size && !*end && same(v, want));
    else
        check(*end || end == text || strlen(text) < size || only_strtod(text));
}

/* "-d.ddde+XX" has these digits, zeros at the end cut off. */
static void check_exact(double v, int count)
{
    char text[900], digits[LZ_DOUBLE_DIGITS];
    int exp10;
    size_t n = lz_double_digits_exact(v, count, digits, &exp10), i = 0;
    snprintf(text, sizeof text, "%.*e", count - 1, v);
    const char *p = text + (*text == '-');
    for (; *p != 'e'; p++)
        if (*p != '.')
            check(*p == (i < n ? digits[i] : '0') && ++i);
    check(i >= n && atoi(p + 1) == exp10 - 1);
}

static void check_fixed(double v, int places)
{
    char text[1300], digits[LZ_DOUBLE_DIGITS];
    int exp10;
    size_t n = lz_double_digits_fixed(v, places, digits, &exp10);
    snprintf(text, sizeof text, "%.*f", places, fabs(v));
    int before = (int)strcspn(text, ".");
    for (int i = 0, at = exp10 - before; text[i]; i++) {
        if (text[i] == '.')
            continue;
        check(text[i] == (at >= 0 && (size_t)at < n ? digits[at] : '0') || n == 0);
        check(n > 0 || text[i] == '0');
        at++;
    }
}

static void check_short(double v)
{
    char text[LZ_DOUBLE_CHARS + 1], digits[LZ_SHORT_DIGITS];
    double back;
    size_t n = lz_double_print(v, text);
    check(n <= LZ_DOUBLE_CHARS);
    text[n] = '\0';
    check(lz_double_parse((lz_str){ text, n }, &back) && same(back, v) && same(strtod(text, NULL), v));
    if (!isfinite(v) || v == 0)
        return;
    int exp10;
    n = lz_double_digits_short(v, digits, &exp10);
    /* printf with one digit less does not read back */
    snprintf(text, sizeof text, "%.*e", n > 1 ? (int)n - 2 : 0, v);
    check(n == 1 || strtod(text, NULL) != v);
    check(digits[0] != '0' && digits[n - 1] != '0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    double v;
    check(text != NULL);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    check_text(text, size);
    free(text);
    if (size < sizeof v)
        return 0;
    memcpy(&v, data, sizeof v);
    check_short(v);
    if (isfinite(v) && v != 0) {
        check_exact(v, 1 + data[0] % 40 + data[1] % 4 * 200);
        check_fixed(v, data[2] % 40 + data[3] % 4 * 200);
    }
    return 0;
}
