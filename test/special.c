/* special FILE: special functions against references with twice the digits. FILE is written by
 * torch/special_refs.py, which says what a line is. Prints the greatest error of each function in f32 and
 * f64, in units in the last place; the status is 1 if one is above its limit. */
#include "base/gzip.h"
#include "base/mem.h"
#include "base/str.h"
#include <lazuli/lazuli.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 1024, WIDTHS = 2, COLUMNS = 5 };

typedef struct points {
    int n, tensors;
    double at[POINTS][COLUMNS]; /* arguments, then high and low part of the value, and the size that errors
                                   count by */
    double x[2][POINTS];
    float x32[2][POINTS];
} points;

typedef struct function {
    char name[64];
    int64_t number; /* before the tensor; or -1 */
    double limit[WIDTHS], worst[WIDTHS], where[WIDTHS][2];
    points points[WIDTHS]; /* f32, f64 */
} function;

static double unit(double size, bool wide)
{
    int exponent = 0;
    if (size == 0)
        return wide ? 0x1p-1074 : 0x1p-149;
    frexp(size, &exponent);
    int least = wide ? -1074 : -149, last = exponent - 1 - (wide ? 52 : 23);
    return ldexp(1, last > least ? last : least);
}

static void judge(function *f, int wide, int i, double got)
{
    const points *p = &f->points[wide];
    const double *due = p->at[i] + p->tensors;
    double error = fabs((got - due[0]) - due[1]) / unit(due[2], wide);
    if (error <= f->worst[wide])
        return;
    f->worst[wide] = isnan(error) ? INFINITY : error;
    for (int k = 0; k < p->tensors; k++)
        f->where[wide][k] = p->at[i][k];
}

static lz_value tensor(lz_ctx *c, const points *p, int wide, int k)
{
    const void *data = wide ? (const void *)p->x[k] : (const void *)p->x32[k];
    return lz_value_tensor(lz_from_memory(c, wide ? LZ_F64 : LZ_F32, LZ_DIMS(p->n), data));
}

/* All points of one width in one call. */
static bool compute(lz_ctx *c, function *f, int wide)
{
    static double y[POINTS];
    static float y32[POINTS];
    points *p = &f->points[wide];
    lz_value in[2] = { { 0 } };
    size_t n = 0;
    if (p->n == 0)
        return true;
    lz_scope *s = lz_scope_push(c);
    if (f->number >= 0)
        in[n++] = LZ_V(f->number);
    for (int k = 0; k < p->tensors; k++)
        in[n++] = tensor(c, p, wide, k);
    lz_value out = lz_call_first(c, LZ_HERE, f->name, in, n);
    bool read = wide ? lz_read(out.tensor, y, (size_t)p->n * sizeof *y)
                     : lz_read(out.tensor, y32, (size_t)p->n * sizeof *y32);
    for (int i = 0; read && i < p->n; i++)
        judge(f, wide, i, wide ? y[i] : (double)y32[i]);
    lz_scope_pop(s);
    return read;
}

static void print_worst(const function *f, int wide)
{
    printf(" %.2f at %.9g", f->worst[wide], f->where[wide][0]);
    if (f->points[wide].tensors == 2)
        printf(" %.9g", f->where[wide][1]);
    printf(f->worst[wide] > f->limit[wide] ? ": TOO MUCH |" : " |");
}

/* How many of its errors are too great. */
static int finish(lz_ctx *c, function *f)
{
    if (!f->name[0])
        return 0;
    if (!compute(c, f, 0) || !compute(c, f, 1)) {
        printf("%s: %s\n", f->name, lz_message(c));
        return 1;
    }
    printf("| %s", f->name);
    if (f->number >= 0)
        printf(" %lld", (long long)f->number);
    printf(" |");
    print_worst(f, 0);
    print_worst(f, 1);
    printf("\n");
    return (f->worst[0] > f->limit[0]) + (f->worst[1] > f->limit[1]);
}

/* "= NAME KIND LIMIT32 LIMIT64", KIND being 1, 2, or n and a number. */
static void begin(function *f, const char *line)
{
    char kind[8] = "";
    int used = 0;
    memset(f, 0, sizeof *f);
    f->number = -1;
    sscanf(line, "= %63s %7s%n", f->name, kind, &used);
    if (kind[0] == 'n')
        f->number = strtoll(line + used, (char **)&line, 10), used = 0;
    f->points[0].tensors = f->points[1].tensors = kind[0] == '2' ? 2 : 1;
    sscanf(line + used, "%lf %lf", &f->limit[0], &f->limit[1]);
}

static void add(function *f, const char *line)
{
    char *rest;
    int wide = strtol(line, &rest, 10) == 64;
    points *p = &f->points[wide];
    if (p->n == POINTS)
        return;
    for (int k = 0; k < p->tensors + 3; k++)
        p->at[p->n][k] = strtod(rest, &rest);
    for (int k = 0; k < p->tensors; k++) {
        p->x[k][p->n] = p->at[p->n][k];
        p->x32[k][p->n] = (float)p->at[p->n][k];
    }
    p->n++;
}

static int check(lz_ctx *c, char *text)
{
    function *f = lz_mem_zalloc(1, sizeof *f);
    int bad = 0, functions = 0;
    if (!f)
        return 1;
    printf("| Function | f32, ulp | f64, ulp |\n|---|---|---|\n");
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (*line != '=') {
            add(f, line);
            continue;
        }
        bad += finish(c, f);
        begin(f, line);
        functions++;
    }
    bad += finish(c, f);
    printf("%d functions, %d errors too great\n", functions, bad);
    lz_mem_free(f);
    return bad || !functions ? 1 : 0;
}

int main(int argc, char **argv)
{
    char *text = NULL;
    size_t len;
    lz_err *e =
        argc == 2 ? lz_gzip_read(argv[1], 64 << 20, &len, &text) : lz_errf(LZ_ERR_ARG, "usage: special FILE");
    lz_ctx *c = e ? NULL : lz_open(NULL);
    int status = 1;
    if (e)
        fprintf(stderr, "%s\n", lz_err_text(e));
    else if (c)
        status = check(c, text);
    lz_err_free(e);
    lz_close(c);
    lz_mem_free(text);
    return status;
}
