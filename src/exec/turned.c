#include "exec/turned.h"
#include "core/array.h"
#include "core/dtype.h"
#include <pthread.h>
#include <string.h>

/* Up to so many rows the copy is read where it lies. Measured, f32, microseconds a product without and
 * with it:   rows   256 x 256      784 x 512      1024 x 1024
 *               1   8.9   3.3      60    20
 *               8   16.0  9.9
 *              16   24.9  18.9     159   115      501   309
 *              24   33.9  27.9     254   184      667   466
 *              32   43.1  42.8     321   305      845   778 */
enum { ROWS_MOST = 24, SIDE_LEAST = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what was made of all buffers */

/* ---- in a plan ---- */

/* One matrix whose columns lie along k. */
static bool lies_along_k(const lz_strided *y)
{
    return y->sizes[0] == 1 && y->strides[1] == 1 && y->strides[2] >= y->sizes[1];
}

static bool is_given_away(const lz_plan *p, uint32_t buffer)
{
    bool is = false;
    for (size_t i = 0; i < p->n_buffers; i++)
        is = is || p->buffers[i].shares == buffer;
    return is;
}

static bool can_turn(const lz_plan *p, const lz_plaunch *l)
{
    if (l->call != lz_matmul || !lz_matmul_is_own(&l->args))
        return false;
    const lz_strided *x = &l->args.in[0], *y = &l->args.in[1];
    uint32_t b = l->call_in[1].buffer;
    return (y->dtype == LZ_F32 || y->dtype == LZ_F64) && lies_along_k(y) && x->sizes[1] <= ROWS_MOST
           && y->sizes[1] >= SIDE_LEAST && y->sizes[2] >= SIDE_LEAST && p->buffers[b].kind == LZ_PB_INPUT
           && !is_given_away(p, b);
}

static bool same_matrix(const lz_plaunch *a, const lz_plaunch *b)
{
    const lz_strided *x = &a->args.in[1], *y = &b->args.in[1];
    return a->call_in[1].buffer == b->call_in[1].buffer && a->call_in[1].offset == b->call_in[1].offset
           && x->dtype == y->dtype && x->sizes[1] == y->sizes[1] && x->sizes[2] == y->sizes[2]
           && x->strides[2] == y->strides[2];
}

void lz_plan_find_turned(lz_plan *p)
{
    for (size_t i = 0; i < p->n_launches; i++) {
        lz_plaunch *l = &p->launches[i];
        l->turned = can_turn(p, l) ? LZ_TURNED_FIRST : LZ_TURNED_NOT;
        p->turns = p->turns || l->turned;
        for (size_t k = 0; k < i && l->turned == LZ_TURNED_FIRST; k++)
            if (p->launches[k].turned && same_matrix(&p->launches[k], l))
                l->turned = LZ_TURNED_AGAIN;
    }
}

/* ---- in a run ---- */

typedef struct matrix {
    lz_buffer *buffer;
    int64_t offset, k, n, row; /* offset, row: in elements */
    lz_dtype dtype;
} matrix;

/* Which it is; false: somebody may write to its memory, or it lies between elements. */
static bool matrix_of(const lz_plan *p, const lz_plaunch *l, const lz_run_input *inputs, matrix *m)
{
    const lz_run_input *in = &inputs[p->buffers[l->call_in[1].buffer].where];
    const lz_strided *y = &l->args.in[1];
    size_t size = lz_dtype_size(y->dtype);
    *m = (matrix){ .buffer = in->buffer,
                   .offset = (int64_t)(in->offset / size) + l->call_in[1].offset,
                   .k = y->sizes[1],
                   .n = y->sizes[2],
                   .row = y->strides[2],
                   .dtype = y->dtype };
    return in->constant && in->offset % size == 0;
}

static bool describes(const lz_buffer_made *made, const matrix *m)
{
    const int64_t how[] = { m->offset, m->k, m->n, m->row, m->dtype };
    return memcmp(made->how, how, sizeof how) == 0;
}

/* Wanted before, and not made yet. Under the lock. */
static bool is_due(const matrix *m)
{
    return describes(&m->buffer->made, m) && !m->buffer->made.memory;
}

size_t lz_turned_will_take(const lz_plan *p, const lz_run_input *inputs)
{
    size_t bytes = 0;
    matrix m;
    if (!p->turns)
        return 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < p->n_launches; i++)
        if (p->launches[i].turned == LZ_TURNED_FIRST && matrix_of(p, &p->launches[i], inputs, &m)
            && is_due(&m))
            bytes += lz_buffer_capacity((size_t)(m.k * m.n) * lz_dtype_size(m.dtype));
    pthread_mutex_unlock(&lock);
    return bytes;
}

static lz_err *transpose(const matrix *m, lz_buffer_pool *memory, lz_buffer **out)
{
    const int64_t sizes[] = { m->k, m->n }, strides[] = { 1, m->row };
    lz_array from, to;
    LZ_TRY(lz_array_init_view(&from, m->buffer, m->dtype, (lz_ints){ sizes, 2 }, (lz_ints){ strides, 2 },
                              m->offset));
    lz_err *e = lz_array_init_clone(&to, memory, &from, m->dtype);
    lz_array_deinit(&from);
    if (e)
        return e;
    *out = lz_buffer_retain(to.buffer);
    lz_array_deinit(&to);
    return NULL;
}

/* A matrix that is asked for anew is only remembered. */
static void want(const matrix *m, lz_buffer_pool *memory)
{
    const int64_t how[] = { m->offset, m->k, m->n, m->row, m->dtype };
    if (is_due(m))
        lz_err_free(transpose(m, memory, &m->buffer->made.memory));
    if (describes(&m->buffer->made, m))
        return;
    lz_buffer_forget(m->buffer);
    memcpy(m->buffer->made.how, how, sizeof how);
}

void lz_turned_make(const lz_plan *p, const lz_run_args *args)
{
    matrix m;
    for (size_t i = 0; p->turns && i < p->n_launches; i++) {
        const lz_plaunch *l = &p->launches[i];
        if (l->turned != LZ_TURNED_FIRST || !matrix_of(p, l, args->inputs, &m))
            continue;
        pthread_mutex_lock(&lock);
        want(&m, args->memory);
        pthread_mutex_unlock(&lock);
    }
}

lz_buffer *lz_turned_find(const lz_plan *p, const lz_plaunch *l, const lz_run_input *inputs)
{
    matrix m;
    if (!l->turned || !matrix_of(p, l, inputs, &m))
        return NULL;
    pthread_mutex_lock(&lock);
    lz_buffer *made = describes(&m.buffer->made, &m) ? m.buffer->made.memory : NULL;
    made = made ? lz_buffer_retain(made) : NULL;
    pthread_mutex_unlock(&lock);
    return made;
}
