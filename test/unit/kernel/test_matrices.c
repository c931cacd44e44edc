/* Routines on matrices: what must hold of their results, by LAPACK and by plain code, however the operands
 * lie in memory, and the same bits on any number of threads. */
#include "check.h"
#include "core/convert.h"
#include "core/dtype.h"
#include "core/matrix_routine.h"
#include "core/strided_array.h"
#include "kernel/blas.h"
#include "kernel/kernels.h"
#include <math.h>
#include <stdlib.h>

enum { BATCH = 3 };

/* How operands lie, and in which dtype. */
typedef struct way {
    lz_dtype dtype;
    bool by_columns, apart;
    int threads;
} way;

static uint64_t seed;

static double some(void)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (double)(int64_t)(seed >> 40) / (1 << 23) - 1;
}

/* ---- operands ---- */

/* [BATCH, rows, cols] of numbers in [-1, 1), and `diagonal` added to the diagonal. */
static lz_err *make(lz_array *a, way w, int64_t rows, int64_t cols, double diagonal)
{
    int64_t inner = w.by_columns ? rows : cols, outer = w.by_columns ? cols : rows,
            ld = inner + (w.apart ? 3 : 0);
    lz_array all = { 0 };
    LZ_TRY(lz_array_init_zero(&all, NULL, w.dtype, LZ_DIMS(BATCH, outer, ld)));
    lz_err *e = lz_array_init_view(a, all.buffer, w.dtype, LZ_DIMS(BATCH, rows, cols),
                                   LZ_DIMS(outer * ld, w.by_columns ? 1 : ld, w.by_columns ? ld : 1), 0);
    lz_array_deinit(&all);
    for (int64_t i = 0; !e && i < a->numel; i++)
        lz_array_set(a, i, lz_scalar_float(some() + (i / cols % rows == i % cols ? diagonal : 0)));
    return e;
}

static double at(const lz_array *a, int64_t b, int64_t i, int64_t j)
{
    return lz_element_get(a->dtype, lz_array_at(a, (int64_t[]){ b, i, j })).re;
}

static double number(const lz_array *a, int64_t b, int64_t i)
{
    lz_scalar v = lz_element_get(a->dtype, lz_array_at(a, (int64_t[]){ b, i }));
    return v.kind == LZ_SCALAR_FLOAT ? v.re : (double)v.i;
}

static void make_symmetric(lz_array *a)
{
    int64_t n = a->sizes.v[1];
    for (int64_t i = 0; i < a->numel; i++)
        lz_array_set(a, i,
                     lz_scalar_float(i / n % n < i % n ? at(a, i / n / n, i % n, i / n % n)
                                                       : at(a, i / n / n, i / n % n, i % n)));
}

/* ---- calls ---- */

static lz_strided strided(const lz_array *a)
{
    return (lz_strided){ a->buffer->data, a->dtype, a->sizes.n, a->sizes.v, a->strides.v };
}

/* Copies result i out of the buffer. */
static lz_err *take(const lz_routine_call *c, int i, lz_dtype real, const lz_buffer *from, lz_array *out)
{
    int64_t sizes[3], to_strides[3];
    int n = lz_routine_sizes(c, i, sizes);
    int64_t where[] = { (int64_t)lz_routine_offset(c, i, real) };
    LZ_TRY(lz_array_init(out, NULL, lz_routine_dtype(c, i, real), (lz_ints){ sizes, n }));
    for (int d = n, step = 1; d-- > 0; step *= (int)sizes[d])
        to_strides[d] = step;
    return lz_matrices_beside(&(lz_kernel_call){
        .in = { { from->data, real, n, sizes, to_strides } }, .out = strided(out), .params = where });
}

static lz_err *run(const lz_kernel_call *call, lz_pool *pool, const lz_routine_call *c, lz_dtype real,
                   lz_array *out)
{
    lz_kernel_call with = *call;
    lz_buffer *buffer;
    int64_t sizes[3];
    LZ_TRY(lz_buffer_create(NULL, lz_routine_offset(c, LZ_ROUTINE_OUTS, real), &buffer));
    memset(buffer->data, 0x7f, buffer->size);
    with.out = (lz_strided){ buffer->data, lz_routine_dtype(c, 0, real), lz_routine_sizes(c, 0, sizes), sizes,
                             NULL };
    with.pool = pool;
    lz_err *e = lz_matrices(&with);
    for (int i = 0; !e && i < LZ_ROUTINE_OUTS && lz_routine_get(c->routine)->out[i].kind; i++)
        e = take(c, i, real, buffer, &out[i]);
    lz_buffer_release(buffer);
    return e;
}

/* in: arrays, ending with NULL. The results are those of the plain loop, and of the pool: the caller deinits
 * them. */
static lz_err *call(lz_routine r, const int64_t *flags, const lz_array *const *in, int threads,
                    lz_array out[LZ_ROUTINE_OUTS])
{
    int64_t params[LZ_ROUTINE_PARAMS] = { r, 0, flags[0], flags[1], flags[2] };
    lz_kernel_call k = { .params = params };
    lz_ints sizes[LZ_ROUTINE_INS];
    lz_routine_call c;
    lz_pool *pool = NULL;
    int n = 0;
    for (; n < LZ_ROUTINE_INS && in[n]; n++) {
        k.in[n] = strided(in[n]);
        sizes[n] = (lz_ints){ in[n]->sizes.v, in[n]->sizes.n };
    }
    assert_true(lz_routine_read(params, sizes, n, &c));
    if (threads > 1)
        LZ_TRY(lz_pool_create(threads, &pool));
    lz_err *e = run(&k, pool, &c, in[0]->dtype == LZ_F32 ? LZ_F32 : LZ_F64, out);
    lz_pool_destroy(pool);
    return e;
}

static void drop(lz_array *a, int n)
{
    for (int i = 0; i < n; i++)
        lz_array_deinit(&a[i]);
}

/* ---- laws ---- */

static double bound(const lz_array *a)
{
    return a->dtype == LZ_F32 ? 2e-4 : 1e-11;
}

static void expect(double got, double want, const lz_array *a)
{
    assert_true(fabs(got - want) <= bound(a) * (1 + fabs(want)));
}

static double sum(const lz_array *x, const lz_array *y, int64_t b, int64_t i, int64_t j, bool x_turned,
                  bool y_turned)
{
    double s = 0;
    for (int64_t k = 0, n = x->sizes.v[x_turned ? 1 : 2]; k < n; k++)
        s += (x_turned ? at(x, b, k, i) : at(x, b, i, k)) * (y_turned ? at(y, b, j, k) : at(y, b, k, j));
    return s;
}

#define EACH(b, i, j, rows, cols)                                                                            \
    for (int64_t b = 0; b < BATCH; b++)                                                                      \
        for (int64_t i = 0; i < (rows); i++)                                                                 \
            for (int64_t j = 0; j < (cols); j++)

static lz_err *check_cholesky(way w, int64_t n)
{
    lz_array a = { 0 }, out[LZ_ROUTINE_OUTS] = { 0 };
    lz_err *e = make(&a, w, n, n, 4 + (double)n);
    for (int64_t upper = 0; !e && upper < 2; upper++) {
        make_symmetric(&a);
        e = call(LZ_ROUTINE_CHOLESKY, (int64_t[]){ upper, 0, 0 }, (const lz_array *[]){ &a, NULL }, w.threads,
                 out);
        if (!e)
            EACH(b, i, j, n, n)
        expect(sum(&out[0], &out[0], b, i, j, upper, !upper), at(&a, b, i, j), &a);
        if (!e)
            EACH(b, i, j, n, n)
        assert_true((upper ? i > j : i < j) ? at(&out[0], b, i, j) == 0 : true);
        drop(out, LZ_ROUTINE_OUTS);
    }
    lz_array_deinit(&a);
    return e;
}

/* P L U by the order of rows that the pivots lead to, and a solution. */
static lz_err *check_lu(way w, int64_t m, int64_t n)
{
    lz_array a = { 0 }, y = { 0 }, out[LZ_ROUTINE_OUTS] = { 0 }, order[LZ_ROUTINE_OUTS] = { 0 },
             x[LZ_ROUTINE_OUTS] = { 0 };
    int64_t k = m < n ? m : n, none[3] = { 0 };
    lz_err *e = make(&a, w, m, n, 0);
    e = e ? e : make(&y, w, n, 2, 0);
    e = e ? e : call(LZ_ROUTINE_LU, none, (const lz_array *[]){ &a, NULL }, w.threads, out);
    e = e ? e
          : call(LZ_ROUTINE_PERMUTATION, (int64_t[]){ m, 0, 0 }, (const lz_array *[]){ &out[1], NULL },
                 w.threads, order);
    if (!e)
        EACH(b, i, j, m, n)
        {
            double s = 0;
            for (int64_t q = 0; q < k && q <= i && q <= j; q++)
                s += (q == i ? 1 : at(&out[0], b, i, q)) * at(&out[0], b, q, j);
            expect(s, at(&a, b, (int64_t)number(&order[0], b, i), j), &a);
        }
    for (int64_t turned = 0; !e && m == n && turned < 2; turned++) {
        e = call(LZ_ROUTINE_LU_SOLVE, (int64_t[]){ turned, 0, 0 },
                 (const lz_array *[]){ &out[0], &out[1], &y }, w.threads, x);
        if (!e)
            EACH(b, i, j, n, 2)
        assert_true(fabs(sum(&a, &x[0], b, i, j, turned, false) - at(&y, b, i, j)) < 1e3 * bound(&a));
        drop(x, LZ_ROUTINE_OUTS);
    }
    drop(out, LZ_ROUTINE_OUTS);
    drop(order, LZ_ROUTINE_OUTS);
    lz_array_deinit(&a);
    lz_array_deinit(&y);
    return e;
}

/* The columns of Q are orthogonal, Q R is the matrix, and reflectors applied to the unit matrix are Q. */
static lz_err *check_qr(way w, int64_t m, int64_t n)
{
    lz_array a = { 0 }, out[LZ_ROUTINE_OUTS] = { 0 }, q[LZ_ROUTINE_OUTS] = { 0 }, qa[LZ_ROUTINE_OUTS] = { 0 };
    int64_t none[3] = { 0 };
    lz_err *e = make(&a, w, m, n, 0);
    e = e ? e : call(LZ_ROUTINE_QR, none, (const lz_array *[]){ &a, NULL }, w.threads, out);
    e = e ? e
          : call(LZ_ROUTINE_REFLECTORS, none, (const lz_array *[]){ &out[0], &out[1], NULL }, w.threads, q);
    e = e ? e
          : call(LZ_ROUTINE_REFLECT, (int64_t[]){ 1, 1, 0 }, (const lz_array *[]){ &out[0], &out[1], &a },
                 w.threads, qa);
    if (!e)
        EACH(b, i, j, n, n)
        {
            expect(sum(&q[0], &q[0], b, i, j, true, false), i == j, &a);
            expect(at(&qa[0], b, i, j), i <= j ? at(&out[0], b, i, j) : 0, &a); /* Q' a = R */
            expect(sum(&q[0], &a, b, i, j, true, false), at(&qa[0], b, i, j), &a);
        }
    drop(out, LZ_ROUTINE_OUTS);
    drop(q, LZ_ROUTINE_OUTS);
    drop(qa, LZ_ROUTINE_OUTS);
    lz_array_deinit(&a);
    return e;
}

static lz_err *check_eigh(way w, int64_t n)
{
    lz_array a = { 0 }, out[LZ_ROUTINE_OUTS] = { 0 };
    lz_err *e = make(&a, w, n, n, 0);
    if (!e)
        make_symmetric(&a);
    e = e ? e
          : call(LZ_ROUTINE_EIGH, (int64_t[]){ 1, 1, 0 }, (const lz_array *[]){ &a, NULL }, w.threads, out);
    if (!e)
        EACH(b, i, j, n, n)
        {
            expect(sum(&out[1], &out[1], b, i, j, true, false), i == j, &a);
            assert_true(
                fabs(sum(&a, &out[1], b, i, j, false, false) - number(&out[0], b, j) * at(&out[1], b, i, j))
                <= bound(&a) * (double)n);
            assert_true(j == 0 || number(&out[0], b, j - 1) <= number(&out[0], b, j));
        }
    drop(out, LZ_ROUTINE_OUTS);
    lz_array_deinit(&a);
    return e;
}

static lz_err *check_svd(way w, int64_t m, int64_t n, int64_t all)
{
    lz_array a = { 0 }, out[LZ_ROUTINE_OUTS] = { 0 };
    int64_t k = m < n ? m : n;
    lz_err *e = make(&a, w, m, n, 0);
    e = e ? e
          : call(LZ_ROUTINE_SVD, (int64_t[]){ all ? 2 : 1, 0, 0 }, (const lz_array *[]){ &a, NULL },
                 w.threads, out);
    if (!e)
        EACH(b, i, j, m, n)
        {
            double s = 0;
            for (int64_t q = 0; q < k; q++)
                s += at(&out[1], b, i, q) * number(&out[0], b, q) * at(&out[2], b, q, j);
            expect(s, at(&a, b, i, j), &a);
        }
    if (!e)
        EACH(b, i, j, all ? m : k, all ? m : k)
    expect(sum(&out[1], &out[1], b, i, j, true, false), i == j, &a);
    if (!e)
        EACH(b, i, j, all ? n : k, all ? n : k)
    expect(sum(&out[2], &out[2], b, i, j, false, true), i == j, &a);
    drop(out, LZ_ROUTINE_OUTS);
    lz_array_deinit(&a);
    return e;
}

static lz_err *check_ldl(way w, int64_t n)
{
    lz_array a = { 0 }, y = { 0 }, out[LZ_ROUTINE_OUTS] = { 0 }, x[LZ_ROUTINE_OUTS] = { 0 };
    int64_t none[3] = { 0 };
    lz_err *e = make(&a, w, n, n, 0);
    if (!e)
        make_symmetric(&a);
    e = e ? e : make(&y, w, n, 2, 0);
    e = e ? e : call(LZ_ROUTINE_LDL, none, (const lz_array *[]){ &a, NULL }, w.threads, out);
    e = e ? e : call(LZ_ROUTINE_LDL_SOLVE, none, (const lz_array *[]){ &out[0], &out[1], &y }, w.threads, x);
    if (!e)
        EACH(b, i, j, n, 2)
    assert_true(fabs(sum(&a, &x[0], b, i, j, false, false) - at(&y, b, i, j)) < 1e3 * bound(&a));
    drop(out, LZ_ROUTINE_OUTS);
    drop(x, LZ_ROUTINE_OUTS);
    lz_array_deinit(&a);
    lz_array_deinit(&y);
    return e;
}

static double triangle(const lz_array *a, int64_t b, int64_t i, int64_t j, const int64_t *how)
{
    return i == j && how[2] ? 1 : (how[0] ? i <= j : i >= j) ? at(a, b, i, j) : 0;
}

static lz_err *check_triangular(way w, int64_t n)
{
    lz_array a = { 0 }, y = { 0 }, x[LZ_ROUTINE_OUTS] = { 0 };
    lz_err *e = make(&a, w, n, n, 3);
    for (int bits = 0; !e && bits < 8; bits++) {
        int64_t how[3] = { bits & 1, bits >> 1 & 1, bits >> 2 }, rows = how[1] ? n : 2, cols = how[1] ? 2 : n;
        e = make(&y, w, rows, cols, 0);
        e = e ? e
              : call(LZ_ROUTINE_TRIANGULAR_SOLVE, how, (const lz_array *[]){ &a, &y, NULL }, w.threads, x);
        if (!e)
            EACH(b, i, j, rows, cols)
            {
                double s = 0, size = 0;
                for (int64_t k = 0; k < n; k++) {
                    double term = how[1] ? triangle(&a, b, i, k, how) * at(&x[0], b, k, j)
                                         : at(&x[0], b, i, k) * triangle(&a, b, k, j, how);
                    s += term;
                    size += fabs(term);
                }
                assert_true(fabs(s - at(&y, b, i, j)) <= bound(&a) * (1 + size));
            }
        drop(x, LZ_ROUTINE_OUTS);
        lz_array_deinit(&y);
    }
    lz_array_deinit(&a);
    return e;
}

static lz_err *check_square(way w, int64_t n)
{
    lz_array a = { 0 }, times = { 0 }, out[LZ_ROUTINE_OUTS] = { 0 };
    lz_err *e = make(&a, w, n, n, 0);
    e = e ? e : lz_array_init_zero(&times, NULL, LZ_I32, LZ_DIMS(BATCH, 1));
    for (int64_t b = 0; !e && b < 2; b++)
        lz_array_set(&times, b, lz_scalar_int(b));
    e = e ? e
          : call(LZ_ROUTINE_SQUARE, (int64_t[]){ 0, 0, 0 }, (const lz_array *[]){ &a, &times, NULL },
                 w.threads, out);
    if (!e)
        EACH(b, i, j, n, n)
    expect(at(&out[0], b, i, j), b == 1 ? sum(&a, &a, b, i, j, false, false) : at(&a, b, i, j), &a);
    drop(out, LZ_ROUTINE_OUTS);
    lz_array_deinit(&a);
    lz_array_deinit(&times);
    return e;
}

static lz_err *check_all(way w, int64_t n)
{
    seed = 7;
    LZ_TRY(check_cholesky(w, n));
    LZ_TRY(check_lu(w, n, n));
    LZ_TRY(check_lu(w, n + 2, n));
    LZ_TRY(check_lu(w, n, n + 3));
    LZ_TRY(check_qr(w, n + 2, n));
    LZ_TRY(check_eigh(w, n));
    LZ_TRY(check_svd(w, n, n + 2, 0));
    LZ_TRY(check_svd(w, n + 3, n, 1));
    LZ_TRY(check_ldl(w, n));
    LZ_TRY(check_triangular(w, n));
    return check_square(w, n);
}

/* ---- tests ---- */

static void use_plain_code(bool plain)
{
    if (plain)
        setenv("LAZULI_BLAS", "own", 1);
    else
        unsetenv("LAZULI_BLAS");
}

static void test_laws(void **state)
{
    static const int64_t sizes[] = { 1, 2, 4, 5, 12, 33 };
    (void)state;
    for (int i = 0; i < 16; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            way w = { i & 1 ? LZ_F32 : LZ_F64, i & 2, i & 4, 1 + i % 3 };
            use_plain_code(i & 8);
            assert_null(check_all(w, sizes[s]));
        }
    use_plain_code(false);
}

static lz_err *test_memory(void)
{
    way w = { LZ_F32, false, true, 1 };
    use_plain_code(true);
    lz_err *e = check_all(w, 3);
    use_plain_code(false);
    return e;
}

static lz_err *threads_change_nothing(lz_dtype d, lz_routine r, const int64_t *flags)
{
    lz_array a = { 0 }, out[2][LZ_ROUTINE_OUTS] = { 0 };
    lz_err *e = make(&a, (way){ .dtype = d }, 40, 40, 50);
    if (!e)
        make_symmetric(&a);
    for (int i = 0; !e && i < 2; i++)
        e = call(r, flags, (const lz_array *[]){ &a, NULL }, 1 + 2 * i, out[i]);
    for (int i = 0; !e && i < LZ_ROUTINE_OUTS && lz_routine_get(r)->out[i].kind; i++)
        assert_memory_equal(out[0][i].buffer->data, out[1][i].buffer->data,
                            (size_t)out[0][i].numel * lz_dtype_size(out[0][i].dtype));
    drop(out[0], LZ_ROUTINE_OUTS);
    drop(out[1], LZ_ROUTINE_OUTS);
    lz_array_deinit(&a);
    return e;
}

static void test_threads_change_nothing(void **state)
{
    static const lz_routine routines[] = { LZ_ROUTINE_CHOLESKY, LZ_ROUTINE_LU,  LZ_ROUTINE_QR,
                                           LZ_ROUTINE_EIGH,     LZ_ROUTINE_SVD, LZ_ROUTINE_LDL };
    (void)state;
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
        for (int d = 0; d < 4; d++) {
            use_plain_code(d & 2);
            assert_null(threads_change_nothing(d & 1 ? LZ_F32 : LZ_F64, routines[i], (int64_t[]){ 1, 1, 0 }));
        }
    use_plain_code(false);
}

/* Of a matrix that a routine cannot treat, `info` says where it stopped; the message is PyTorch's. */
static lz_err *test_failures(void)
{
    lz_array a = { 0 }, out[LZ_ROUTINE_OUTS] = { 0 };
    for (int plain = 0; plain < 2; plain++) {
        use_plain_code(plain);
        lz_err *e = make(&a, (way){ .dtype = LZ_F64 }, 3, 3, 9);
        for (int64_t i = 9; !e && i < 18; i++) /* the second matrix */
            lz_array_set(&a, i, lz_scalar_float(i == 9 ? 1 : i == 13 ? -1 : 0));
        e = e ? e : call(LZ_ROUTINE_CHOLESKY, (int64_t[3]){ 0 }, (const lz_array *[]){ &a, NULL }, 1, out);
        use_plain_code(false);
        lz_array_deinit(&a);
        int64_t info = e ? 0 : ((const int32_t *)out[1].buffer->data)[1];
        drop(out, LZ_ROUTINE_OUTS);
        LZ_TRY(e);
        assert_int_equal(info, 2);
    }
    lz_err *e = lz_routine_failed(2 * lz_routine_api(LZ_STR("linalg.inv")) + 1, 1, 2);
    if (lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    assert_string_equal(lz_err_text(e),
                        "linalg.inv: (Batch element 1): The diagonal element 2 is zero, the inversion could "
                        "not be completed because the input matrix is singular.");
    lz_err_free(e);
    return NULL;
}

static void test_sizes_are_checked(void **state)
{
    int64_t params[LZ_ROUTINE_PARAMS] = { LZ_ROUTINE_CHOLESKY }, rect[] = { 2, 3, 4 }, square[] = { 2, 3, 3 },
            pair[] = { 2, 3 };
    lz_ints in[LZ_ROUTINE_INS] = { { rect, 3 }, { pair, 2 } };
    lz_routine_call c;
    (void)state;
    assert_false(lz_routine_read(params, in, 1, &c));
    in[0].v = square;
    assert_true(lz_routine_read(params, in, 1, &c));
    assert_false(lz_routine_read(params, in, 2, &c));
    params[0] = LZ_ROUTINES;
    assert_false(lz_routine_read(params, in, 1, &c));
    params[0] = LZ_ROUTINE_SVD;
    params[2] = 3;
    assert_false(lz_routine_read(params, in, 1, &c));
    params[0] = LZ_ROUTINE_REFLECTORS;
    assert_true(lz_routine_read(params, in, 2, &c));
    pair[1] = 4;
    assert_false(lz_routine_read(params, in, 2, &c));
    /* the vectors of this matrix would have more bytes than there are */
    int64_t tall[] = { 8, INT32_MAX, 1 };
    params[0] = LZ_ROUTINE_SVD;
    params[2] = 2;
    in[0].v = tall;
    assert_false(lz_routine_read(params, in, 1, &c));
    params[2] = 1;
    assert_true(lz_routine_read(params, in, 1, &c));
    tall[1]++;
    assert_false(lz_routine_read(params, in, 1, &c));
    assert_int_equal(lz_routine_api(LZ_STR("linalg.nothing")), -1);
    assert_int_equal(lz_routine_api(LZ_STR("")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_laws), LZ_TEST(test_memory),
                                        LZ_TEST(test_failures), cmocka_unit_test(test_threads_change_nothing),
                                        cmocka_unit_test(test_sizes_are_checked) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
