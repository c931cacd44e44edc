#include "core/matrix_routine.h"
#include "base/str.h"
#include "core/dtype.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define MATRIX(r, c)                                                                                         \
    {                                                                                                        \
        LZ_ROUTINE_MATRIX, r, c                                                                              \
    }
#define VECTOR(r)                                                                                            \
    {                                                                                                        \
        LZ_ROUTINE_VECTOR, r, '1'                                                                            \
    }
#define INTS(r)                                                                                              \
    {                                                                                                        \
        LZ_ROUTINE_INTS, r, '1'                                                                              \
    }
#define INFO                                                                                                 \
    {                                                                                                        \
        LZ_ROUTINE_INFO, '1', '1'                                                                            \
    }

static const lz_routine_row rows[LZ_ROUTINES] = {
    [LZ_ROUTINE_CHOLESKY] = { "cholesky", { MATRIX('n', 'n') }, { MATRIX('n', 'n'), INFO } },
    [LZ_ROUTINE_LU] = { "lu", { MATRIX('m', 'n') }, { MATRIX('m', 'n'), INTS('k'), INFO } },
    [LZ_ROUTINE_SOLVE] = { "solve", { MATRIX('n', 'n'), MATRIX('n', 'c') }, { MATRIX('r', 'c'), INFO } },
    [LZ_ROUTINE_LU_SOLVE] = { "lu_solve",
                              { MATRIX('n', 'n'), INTS('n'), MATRIX('n', 'c') },
                              { MATRIX('r', 'c') } },
    [LZ_ROUTINE_QR] = { "qr", { MATRIX('m', 'n') }, { MATRIX('m', 'n'), VECTOR('k') } },
    [LZ_ROUTINE_REFLECTORS] = { "reflectors", { MATRIX('m', 'n'), VECTOR('r') }, { MATRIX('m', 'n') } },
    [LZ_ROUTINE_REFLECT] = { "reflect",
                             { MATRIX('m', 'n'), VECTOR('n'), MATRIX('r', 'c') },
                             { MATRIX('r', 'c') } },
    [LZ_ROUTINE_EIGH] = { "eigh", { MATRIX('n', 'n') }, { VECTOR('n'), MATRIX('n', 'w'), INFO } },
    [LZ_ROUTINE_SVD] = { "svd",
                         { MATRIX('m', 'n') },
                         { VECTOR('k'), MATRIX('m', 'u'), MATRIX('v', 'n'), INFO } },
    [LZ_ROUTINE_LDL] = { "ldl", { MATRIX('n', 'n') }, { MATRIX('n', 'n'), INTS('n'), INFO } },
    [LZ_ROUTINE_LDL_SOLVE] = { "ldl_solve",
                               { MATRIX('n', 'n'), INTS('n'), MATRIX('n', 'c') },
                               { MATRIX('r', 'c') } },
    [LZ_ROUTINE_TRIANGULAR_SOLVE] = { "triangular_solve",
                                      { MATRIX('n', 'n'), MATRIX('r', 'c') },
                                      { MATRIX('r', 'c') } },
    [LZ_ROUTINE_PERMUTATION] = { "permutation", { INTS('m') }, { INTS('a') } },
    [LZ_ROUTINE_SQUARE] = { "square", { MATRIX('n', 'n'), INTS('1') }, { MATRIX('n', 'n') } },
};

const lz_routine_row *lz_routine_get(lz_routine r)
{
    return &rows[r];
}

int lz_routine_ins(const lz_routine_row *row)
{
    int n = 0;
    while (n < LZ_ROUTINE_INS && row->in[n].kind != LZ_ROUTINE_NO_ARRAY)
        n++;
    return n;
}

/* ---- functions whose errors are reported ---- */

typedef enum reason {
    NOT_POSITIVE,
    NO_INVERSE,
    NO_SOLUTION,
    ZERO_PIVOT,
    NO_LDL,
    NO_EIGENVALUES,
    NO_SINGULAR_VALUES
} reason;

static const struct {
    const char *name;
    reason why;
} apis[] = {
    { "", NO_LDL },
    { "linalg.cholesky", NOT_POSITIVE },
    { "linalg.cholesky_ex", NOT_POSITIVE },
    { "linalg.inv", NO_INVERSE },
    { "linalg.inv_ex", NO_INVERSE },
    { "inv", NO_INVERSE },
    { "torch.linalg.solve", NO_SOLUTION },
    { "torch.linalg.solve_ex", NO_SOLUTION },
    { "torch.linalg.lu_factor", ZERO_PIVOT },
    { "torch.linalg.lu_factor_ex", ZERO_PIVOT },
    { "torch.linalg.ldl_factor", NO_LDL },
    { "torch.linalg.ldl_factor_ex", NO_LDL },
    { "linalg.eigh", NO_EIGENVALUES },
    { "linalg.svd", NO_SINGULAR_VALUES },
};

enum { APIS = sizeof apis / sizeof *apis };

int64_t lz_routine_api(lz_str name)
{
    for (int64_t i = 0; i < APIS; i++)
        if (lz_str_is(name, apis[i].name))
            return i;
    return -1;
}

/* ---- sizes ---- */

int64_t lz_routine_size(const lz_routine_call *c, char letter)
{
    int64_t k = c->m < c->n ? c->m : c->n, how = c->flags[0];
    switch (letter) {
    case 'm':
        return c->m;
    case 'n':
        return c->n;
    case 'k':
        return k;
    case 'r':
        return c->r;
    case 'c':
        return c->c;
    case 'a':
        return how;
    case 'u':
        return how == 0 ? 0 : how == 1 ? k : c->m;
    case 'v':
        return how == 0 ? 0 : how == 1 ? k : c->n;
    case 'w':
        return c->flags[1] ? c->n : 0;
    default:
        return 1;
    }
}

static bool operand_fits(const lz_routine_call *c, const lz_routine_array *a, lz_ints sizes)
{
    bool matrix = a->kind == LZ_ROUTINE_MATRIX;
    return sizes.n == (matrix ? 3 : 2) && sizes.v[0] == c->batch && sizes.v[1] == lz_routine_size(c, a->rows)
           && (!matrix || sizes.v[2] == lz_routine_size(c, a->cols));
}

/* The sizes that have no letters of their own. */
static bool fits_together(const lz_routine_call *c)
{
    switch (c->routine) {
    case LZ_ROUTINE_REFLECTORS:
        return c->m >= c->n && c->r <= c->n;
    case LZ_ROUTINE_REFLECT:
        return c->n <= c->m && c->m == (c->flags[0] ? c->r : c->c);
    case LZ_ROUTINE_TRIANGULAR_SOLVE:
        return c->n == (c->flags[1] ? c->r : c->c);
    case LZ_ROUTINE_PERMUTATION:
        return c->m <= c->flags[0];
    case LZ_ROUTINE_SVD:
        return c->flags[0] >= 0 && c->flags[0] <= 2;
    default:
        return true;
    }
}

/* LAPACK counts in int, and all results together are one buffer. */
static bool fits_memory(const lz_routine_call *c)
{
    int64_t total = 0, bytes;
    if (c->m > INT_MAX || c->n > INT_MAX || c->r > INT_MAX || c->c > INT_MAX)
        return false;
    for (int i = 0; i < LZ_ROUTINE_OUTS && rows[c->routine].out[i].kind != LZ_ROUTINE_NO_ARRAY; i++) {
        const lz_routine_array *a = &rows[c->routine].out[i];
        if (__builtin_mul_overflow(lz_routine_size(c, a->rows), lz_routine_size(c, a->cols), &bytes)
            || __builtin_mul_overflow(bytes, c->batch, &bytes) || __builtin_mul_overflow(bytes, 8, &bytes)
            || __builtin_add_overflow(total, bytes, &total) || __builtin_add_overflow(total, 64, &total))
            return false;
    }
    return true;
}

bool lz_routine_read(const int64_t *params, const lz_ints *in, int n, lz_routine_call *out)
{
    if (params[0] < 0 || params[0] >= LZ_ROUTINES || params[1] < 0 || params[1] >= INT64_C(2) * APIS || n < 1)
        return false;
    const lz_routine_row *row = &rows[params[0]];
    lz_ints first = in[0], last = in[n - 1];
    if (n != lz_routine_ins(row) || first.n < 2 || last.n < 2)
        return false;
    *out = (lz_routine_call){ .routine = (lz_routine)params[0],
                              .check = params[1],
                              .batch = first.v[0],
                              .m = first.v[1],
                              .n = first.n > 2 ? first.v[2] : 1,
                              .r = last.v[1],
                              .c = last.n > 2 ? last.v[2] : 1 };
    memcpy(out->flags, params + 2, sizeof out->flags);
    for (int i = 0; i < n; i++)
        if (!operand_fits(out, &row->in[i], in[i]))
            return false;
    return fits_together(out) && fits_memory(out);
}

int lz_routine_sizes(const lz_routine_call *c, int i, int64_t sizes[3])
{
    const lz_routine_array *a = &rows[c->routine].out[i];
    sizes[0] = c->batch;
    sizes[1] = lz_routine_size(c, a->rows);
    sizes[2] = lz_routine_size(c, a->cols);
    return a->kind == LZ_ROUTINE_MATRIX ? 3 : a->kind == LZ_ROUTINE_INFO ? 1 : 2;
}

lz_dtype lz_routine_dtype(const lz_routine_call *c, int i, lz_dtype real)
{
    lz_routine_kind k = rows[c->routine].out[i].kind;
    return k == LZ_ROUTINE_INTS || k == LZ_ROUTINE_INFO ? LZ_I32 : real;
}

size_t lz_routine_offset(const lz_routine_call *c, int i, lz_dtype real)
{
    size_t at = 0;
    for (int k = 0; k < i && k < LZ_ROUTINE_OUTS && rows[c->routine].out[k].kind != LZ_ROUTINE_NO_ARRAY;
         k++) {
        int64_t s[3];
        lz_routine_sizes(c, k, s);
        size_t bytes = (size_t)(s[0] * s[1] * s[2]) * lz_dtype_size(lz_routine_dtype(c, k, real));
        at += (bytes + 63) / 64 * 64;
    }
    return at;
}

/* ---- errors ---- */

static lz_err *failed(const char *name, const char *element, reason why, long long info)
{
    if (info < 0 && why == NO_SINGULAR_VALUES)
        return lz_errf(
            LZ_ERR_ARG,
            "%s: %sThe algorithm failed to converge because the input matrix contained non-finite values.",
            name, element);
    switch (why) {
    case NOT_POSITIVE:
        return lz_errf(
            LZ_ERR_ARG,
            "%s: %sThe factorization could not be completed because the input is not positive-definite (the "
            "leading minor of order %lld is not positive-definite).",
            name, element, info);
    case NO_INVERSE:
        return lz_errf(
            LZ_ERR_ARG,
            "%s: %sThe diagonal element %lld is zero, the inversion could not be completed because the "
            "input matrix is singular.",
            name, element, info);
    case NO_SOLUTION:
        return lz_errf(LZ_ERR_ARG, "%s: %sThe solver failed because the input matrix is singular.", name,
                       element);
    case ZERO_PIVOT:
        return lz_errf(
            LZ_ERR_ARG,
            "%s: %sU[%lld,%lld] is zero and using it on lu_solve would result in a division by zero. If "
            "you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)",
            name, element, info, info);
    case NO_EIGENVALUES:
    case NO_SINGULAR_VALUES:
        return lz_errf(
            LZ_ERR_ARG,
            "%s: %sThe algorithm failed to converge because the input matrix is ill-conditioned or has too "
            "many repeated %s (error code: %lld).",
            name, element, why == NO_EIGENVALUES ? "eigenvalues" : "singular values", info);
    default:
        return lz_errf(LZ_ERR_ARG, "%s: %sD[%lld,%lld] is zero: the matrix is singular", name, element, info,
                       info);
    }
}

lz_err *lz_routine_failed(int64_t check, int64_t element, int64_t info)
{
    char where[48] = "";
    if (check % 2)
        snprintf(where, sizeof where, "(Batch element %lld): ", (long long)element);
    return failed(apis[check / 2].name, where, apis[check / 2].why, (long long)info);
}
