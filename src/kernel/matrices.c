/* Factorisations and solvers, matrix by matrix: LAPACK where OpenBLAS is there, plain code elsewhere. Each
 * matrix is the work of one thread, so that no bit depends on their number. */
#include "base/mem.h"
#include "core/dtype.h"
#include "kernel/kernels.h"
#include "kernel/matrix_copy.h"
#include "kernel/matrix_job.h"
#include <assert.h>
#include <stddef.h>
#include <string.h>

/* What happens to an operand before the routine runs. */
typedef enum use {
    USE_READ,      /* used where it is, if it is stored column after column; else a copy */
    USE_READ_ROWS, /* also if it is stored row after row */
    USE_RESULT,    /* copied into result 0 */
    USE_LOWER,     /* the same, but only the lower triangle */
    USE_TRIANGLE,  /* one triangle, of a matrix and a result that are stored row after row; see cholesky */
    USE_COPY,      /* copied, and the routine writes over the copy */
    USE_COPY_ROWS, /* the same, row after row if it is stored so */
} use;

static const use uses[LZ_ROUTINES][LZ_ROUTINE_INS] = {
    [LZ_ROUTINE_CHOLESKY] = { USE_TRIANGLE },
    [LZ_ROUTINE_LU] = { USE_RESULT },
    [LZ_ROUTINE_SOLVE] = { USE_COPY_ROWS, USE_RESULT },
    [LZ_ROUTINE_LU_SOLVE] = { USE_READ, USE_READ, USE_RESULT },
    [LZ_ROUTINE_QR] = { USE_RESULT },
    [LZ_ROUTINE_REFLECTORS] = { USE_RESULT, USE_READ },
    [LZ_ROUTINE_REFLECT] = { USE_COPY, USE_READ, USE_RESULT },
    [LZ_ROUTINE_EIGH] = { USE_COPY },
    [LZ_ROUTINE_SVD] = { USE_COPY },
    [LZ_ROUTINE_LDL] = { USE_LOWER },
    [LZ_ROUTINE_LDL_SOLVE] = { USE_READ, USE_READ, USE_RESULT },
    [LZ_ROUTINE_TRIANGULAR_SOLVE] = { USE_READ_ROWS, USE_RESULT },
    [LZ_ROUTINE_PERMUTATION] = { USE_READ },
    [LZ_ROUTINE_SQUARE] = { USE_RESULT, USE_READ },
};

/* The memory of one thread, in bytes from its beginning. */
typedef struct places {
    size_t in[LZ_ROUTINE_INS], out[LZ_ROUTINE_OUTS], work, ints, size;
} places;

typedef struct batch {
    const lz_kernel_call *c;
    lz_routine_call call;
    const lz_routine_row *row;
    const lz_matrix_code *code;
    bool lapack, f64;
    bool widens; /* the code is for double, the matrices are of float */
    int n_in, n_out;
    int64_t n_work, n_ints;
    size_t at_out[LZ_ROUTINE_OUTS + 1]; /* bytes into the result */
    places places;
    char *room;
    int32_t *info; /* of all matrices; NULL: the routine has none */
} batch;

/* ---- memory ---- */

static bool is_real(lz_routine_kind k)
{
    return k == LZ_ROUTINE_MATRIX || k == LZ_ROUTINE_VECTOR;
}

static int64_t elements(const batch *b, const lz_routine_array *a)
{
    return lz_routine_size(&b->call, a->rows) * lz_routine_size(&b->call, a->cols);
}

static size_t take(places *p, size_t bytes)
{
    size_t at = p->size;
    p->size += (bytes + 63) / 64 * 64;
    return at;
}

/* Whether the routine computes result i where it ends up: not if matrices have to be transposed or rounded.
 */
static bool is_in_place(const batch *b, int i)
{
    lz_routine_kind k = b->row->out[i].kind;
    return !is_real(k)
           || (!b->widens && (k == LZ_ROUTINE_VECTOR || uses[b->call.routine][0] == USE_TRIANGLE));
}

static void lay_out(batch *b)
{
    places *p = &b->places;
    size_t number = b->f64 || b->widens ? sizeof(double) : sizeof(float);
    for (int i = 0; i < b->n_in; i++) {
        use how = uses[b->call.routine][i];
        if (how != USE_RESULT && how != USE_LOWER && how != USE_TRIANGLE)
            p->in[i] = take(p, (size_t)elements(b, &b->row->in[i]) * number);
    }
    for (int i = 0; i < b->n_out; i++)
        if (!is_in_place(b, i))
            p->out[i] = take(p, (size_t)elements(b, &b->row->out[i]) * number);
    p->work = take(p, (size_t)b->n_work * number);
    p->ints = take(p, (size_t)b->n_ints * sizeof(int32_t));
}

static char *result_of(const batch *b, int i, int64_t element)
{
    size_t size = is_real(b->row->out[i].kind) && b->f64 ? sizeof(double) : sizeof(float);
    return (char *)b->c->out.data + b->at_out[i] + (size_t)(element * elements(b, &b->row->out[i])) * size;
}

/* ---- operands ---- */

static lz_matrix_from matrix_of(const batch *b, int i, int64_t element)
{
    const lz_strided *x = &b->c->in[i];
    int64_t offset = element * x->strides[0] * (int64_t)lz_dtype_size(x->dtype);
    const char *data = x->data; /* NULL: matrices without elements */
    return (lz_matrix_from){ .data = data ? data + offset : NULL,
                             .f64 = b->f64,
                             .rows = x->sizes[1],
                             .cols = x->ndim > 2 ? x->sizes[2] : 1,
                             .row_stride = x->strides[1],
                             .col_stride = x->ndim > 2 ? x->strides[2] : x->sizes[1] };
}

static void *read_ints(const batch *b, const lz_matrix_from *m, void *to)
{
    const int32_t *from = m->data;
    (void)b;
    assert(from || m->rows == 0);
    for (int64_t i = 0; i < m->rows; i++)
        ((int32_t *)to)[i] = from[i * m->row_stride];
    return to;
}

/* The rows of a matrix are the columns of the transposed one. */
static lz_matrix_from transposed(const lz_matrix_from *m)
{
    lz_matrix_from t = *m;
    t.rows = m->cols;
    t.cols = m->rows;
    t.row_stride = m->col_stride;
    t.col_stride = m->row_stride;
    return t;
}

static void *read_operand(const batch *b, int i, const lz_matrix_from *m, char *room, bool *by_rows)
{
    use how = uses[b->call.routine][i];
    char *to = room + b->places.in[i];
    bool dense = (m->row_stride == 1 || m->rows == 1) && (m->col_stride == m->rows || m->cols == 1);
    bool rows = (m->col_stride == 1 || m->cols == 1) && (m->row_stride == m->cols || m->rows == 1);
    if (b->row->in[i].kind == LZ_ROUTINE_INTS)
        return read_ints(b, m, to);
    *by_rows = (how == USE_READ_ROWS || how == USE_COPY_ROWS) && !b->widens && !dense && rows;
    if (!b->widens && how != USE_COPY && how != USE_COPY_ROWS && (dense || *by_rows))
        return (void *)m->data;
    lz_matrix_from turned = transposed(m);
    lz_matrix_copy(*by_rows ? &turned : m, LZ_MATRIX_ALL, b->f64 || b->widens, to);
    return to;
}

static void fetch(const batch *b, int64_t element, char *room, lz_matrix_job *j)
{
    bool doubles = b->f64 || b->widens;
    for (int i = 0; i < b->n_in; i++) {
        lz_matrix_from m = matrix_of(b, i, element), rows = transposed(&m);
        use how = uses[b->call.routine][i];
        bool by_rows = false;
        if (how == USE_TRIANGLE)
            lz_matrix_copy(&rows, b->call.flags[0] ? LZ_MATRIX_LOWER : LZ_MATRIX_UPPER, doubles, j->out[0]);
        else if (how == USE_RESULT || how == USE_LOWER)
            lz_matrix_copy(&m, how == USE_LOWER ? LZ_MATRIX_LOWER : LZ_MATRIX_ALL, doubles, j->out[0]);
        else
            j->in[i] = read_operand(b, i, &m, room, &by_rows);
        j->by_rows |= by_rows;
    }
}

/* ---- one matrix ---- */

/* Results are stored row after row. */
static void put(const batch *b, int i, int64_t element, void *from)
{
    const lz_routine_array *a = &b->row->out[i];
    int64_t rows = lz_routine_size(&b->call, a->rows), cols = lz_routine_size(&b->call, a->cols);
    char *to = result_of(b, i, element);
    bool turn = a->kind == LZ_ROUTINE_MATRIX && uses[b->call.routine][0] != USE_TRIANGLE;
    if (b->widens)
        lz_matrix_narrow(from, rows * cols, turn ? from : (float *)(void *)to);
    if (turn)
        lz_matrix_copy(&(lz_matrix_from){ .data = from,
                                          .f64 = b->f64,
                                          .rows = cols,
                                          .cols = rows,
                                          .row_stride = rows,
                                          .col_stride = 1 },
                       LZ_MATRIX_ALL, b->f64, to);
}

static void run_one(const batch *b, int64_t element, char *room)
{
    lz_matrix_job j = { .call = &b->call,
                        .f64 = b->f64 || b->widens,
                        .work = room + b->places.work,
                        .room = b->n_work,
                        .ints = (int32_t *)(room + b->places.ints) };
    for (int i = 0; i < b->n_out; i++)
        j.out[i] = is_in_place(b, i) ? result_of(b, i, element) : room + b->places.out[i];
    fetch(b, element, room, &j);
    b->code->run(&j);
    for (int i = 0; i < b->n_out; i++)
        if (!is_in_place(b, i))
            put(b, i, element, j.out[i]);
    if (b->info)
        b->info[element] = j.info;
}

static lz_err *run_some(void *user, int64_t begin, int64_t end, int worker)
{
    const batch *b = user;
    for (int64_t i = begin; i < end; i++)
        run_one(b, i, b->room + b->places.size * (size_t)worker);
    return NULL;
}

/* ---- all matrices ---- */

/* Matrices for one piece of work: enough that handing it out costs little. */
static int64_t grain(const batch *b)
{
    enum { WORTH = 1 << 15 };
    int64_t n = b->call.n > b->call.m ? b->call.n : b->call.m, each = n * n * n + 1;
    return each > WORTH ? 1 : WORTH / each + 1;
}

static lz_err *report(const batch *b)
{
    for (int64_t i = 0; b->info && b->call.check && i < b->call.batch; i++)
        if (b->info[i])
            return lz_routine_failed(b->call.check, i, b->info[i]);
    return NULL;
}

static lz_err *run_all(batch *b)
{
    size_t threads = b->c->pool ? (size_t)lz_pool_threads(b->c->pool) : 1, size;
    lay_out(b);
    if (!lz_size_mul(threads, b->places.size, &size))
        return lz_err_oom();
    b->room = lz_temporary_take(size + 64, 64);
    if (!b->room)
        return lz_err_oom();
    lz_err *e = lz_pool_for(b->c->pool, b->call.batch, grain(b), run_some, b);
    lz_temporary_give(b->room);
    return e ? e : report(b);
}

static void prepare(batch *b)
{
    const lz_strided *first = &b->c->in[0];
    lz_dtype real = b->c->out.dtype == LZ_I32 ? LZ_F64 : b->c->out.dtype;
    b->f64 = real == LZ_F64;
    b->row = lz_routine_get(b->call.routine);
    b->n_in = lz_routine_ins(b->row);
    (void)first;
    while (b->n_out < LZ_ROUTINE_OUTS && b->row->out[b->n_out].kind != LZ_ROUTINE_NO_ARRAY)
        b->n_out++;
    for (int i = 0; i <= b->n_out; i++)
        b->at_out[i] = lz_routine_offset(&b->call, i, real);
    if (b->row->out[b->n_out - 1].kind == LZ_ROUTINE_INFO)
        b->info = (int32_t *)((char *)b->c->out.data + b->at_out[b->n_out - 1]);
    b->code = b->lapack ? lz_lapack_code(b->call.routine) : lz_matrix_plain(b->call.routine);
    b->widens = !b->lapack && !b->f64;
    if (b->code->room)
        b->code->room(&b->call, b->f64, &b->n_work, &b->n_ints);
}

lz_err *lz_matrices(const lz_kernel_call *c)
{
    batch b = { .c = c };
    lz_ints sizes[LZ_CALL_INPUTS];
    int n = 0;
    for (; n < LZ_CALL_INPUTS && c->in[n].sizes; n++)
        sizes[n] = (lz_ints){ c->in[n].sizes, c->in[n].ndim };
    bool good = lz_routine_read(c->params, sizes, n, &b.call);
    assert(good);
    (void)good;
    b.lapack = lz_lapack_code(b.call.routine)->run && lz_lapack_has() && lz_lapack_enter();
    if (b.lapack && c->by)
        *c->by = "openblas";
    prepare(&b);
    lz_err *e = run_all(&b);
    if (b.lapack)
        lz_lapack_leave();
    return e;
}

/* Results that lie behind the first one. The plan gives the address of the whole buffer. */
lz_err *lz_matrices_beside(const lz_kernel_call *c)
{
    size_t bytes = lz_dtype_size(c->out.dtype);
    for (int64_t d = 0; d < c->out.ndim; d++)
        bytes *= (size_t)c->out.sizes[d];
    memcpy(c->out.data, (const char *)c->in[0].data + c->params[0], bytes);
    return NULL;
}
