#include "plan/packed_weights.h"
#include "base/lock.h"
#include "core/dtype.h"
#include "core/strided_array.h"
#include <string.h>

/* With more rows than ROWS_MOST a copy does not pay. Measured, f32, microseconds per product without and
 * with a copy:
 *   rows   256 x 256      784 x 512      1024 x 1024
 *      1   8.9   3.3      60    20
 *      8   16.0  9.9
 *     16   24.9  18.9     159   115      501   309
 *     24   33.9  27.9     254   184      667   466
 *     32   43.1  42.8     321   305      845   778 */
enum { ROWS_MOST = 24, SIDE_LEAST = 16 };

static lz_lock lock = LZ_LOCK_INIT; /* protects lz_buffer.made of all buffers */

/* ---- planning ---- */

/* A single matrix whose elements are contiguous along k. */
static bool lies_along_k(const lz_strided *y)
{
    return y->sizes[0] == 1 && y->strides[1] == 1 && y->strides[2] >= y->sizes[1];
}

static bool can_pack(const lz_plan *p, const lz_plan_launch *l)
{
    if (!l->call || l->call->fn != lz_matmul || !lz_matmul_is_own(&l->call->args))
        return false;
    const lz_strided *x = &l->call->args.in[0], *y = &l->call->args.in[1];
    uint32_t b = l->call->in[1].buffer;
    return (y->dtype == LZ_F32 || y->dtype == LZ_F64) && lies_along_k(y) && x->sizes[1] <= ROWS_MOST
           && y->sizes[1] >= SIDE_LEAST && y->sizes[2] >= SIDE_LEAST
           && p->buffers[b].kind == LZ_PLAN_BUFFER_INPUT && !p->buffers[b].given;
}

static bool same_matrix(const lz_plan_launch *a, const lz_plan_launch *b)
{
    const lz_strided *x = &a->call->args.in[1], *y = &b->call->args.in[1];
    return a->call->in[1].offset == b->call->in[1].offset && x->dtype == y->dtype
           && x->sizes[1] == y->sizes[1] && x->sizes[2] == y->sizes[2] && x->strides[2] == y->strides[2];
}

/* A buffer has at most one copy: of the matrix that the first product uses. */
static lz_packed_weights packed_of(lz_plan *p, uint32_t launch)
{
    const lz_plan_launch *l = &p->launches[launch];
    if (!can_pack(p, l))
        return LZ_PACKED_NOT;
    lz_plan_buffer *b = &p->buffers[l->call->in[1].buffer];
    if (b->packed)
        return same_matrix(&p->launches[b->packed - 1], l) ? LZ_PACKED_AGAIN : LZ_PACKED_NOT;
    b->packed = launch + 1;
    return LZ_PACKED_FIRST;
}

void lz_plan_find_packed_weights(lz_plan *p)
{
    for (size_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].shares != LZ_NO_BUFFER)
            p->buffers[p->buffers[i].shares].given = true;
    for (uint32_t i = 0; i < p->n_launches; i++) {
        lz_plan_call *call = p->launches[i].call;
        if (!call)
            continue;
        call->packed = packed_of(p, i);
        p->packs_weights = p->packs_weights || call->packed;
    }
}

/* ---- running ---- */

enum { OFFSET, K, N, ROW, DTYPE }; /* OFFSET, ROW: in elements */

typedef struct matrix {
    lz_buffer *buffer;
    int64_t how[5];
} matrix;

/* *m: the second operand of the product in this run. False: its elements may change, or they are not
 * aligned. */
static bool matrix_of(const lz_plan *p, const lz_plan_launch *l, const lz_run_input *inputs, matrix *m)
{
    const lz_run_input *in = &inputs[p->buffers[l->call->in[1].buffer].where];
    const lz_strided *y = &l->call->args.in[1];
    size_t size = lz_dtype_size(y->dtype);
    *m = (matrix){ .buffer = in->buffer,
                   .how = { [OFFSET] = (int64_t)(in->offset / size) + l->call->in[1].offset,
                            [K] = y->sizes[1],
                            [N] = y->sizes[2],
                            [ROW] = y->strides[2],
                            [DTYPE] = y->dtype } };
    return in->constant && in->offset % size == 0;
}

static bool describes(const lz_buffer_made *made, const matrix *m)
{
    return memcmp(made->how, m->how, sizeof m->how) == 0;
}

/* Whether an earlier run has asked for a copy of this matrix, and the copy has not been made. Requires the
 * lock. */
static bool should_pack(const matrix *m)
{
    return describes(&m->buffer->made, m) && !m->buffer->made.memory;
}

/* Whether a copy is made for this product. */
static bool is_first(const lz_plan_launch *l)
{
    return l->call && l->call->packed == LZ_PACKED_FIRST;
}

size_t lz_packed_weights_will_take(const lz_plan *p, const lz_run_input *inputs)
{
    size_t bytes = 0;
    matrix m;
    if (!p->packs_weights)
        return 0;
    lz_lock_take(&lock);
    for (size_t i = 0; i < p->n_launches; i++)
        if (is_first(&p->launches[i]) && matrix_of(p, &p->launches[i], inputs, &m) && should_pack(&m))
            bytes +=
                lz_buffer_capacity((size_t)(m.how[K] * m.how[N]) * lz_dtype_size((lz_dtype)m.how[DTYPE]));
    lz_lock_give(&lock);
    return bytes;
}

static lz_err *transpose(const matrix *m, lz_buffer_pool *memory, lz_buffer **out)
{
    const int64_t sizes[] = { m->how[K], m->how[N] }, strides[] = { 1, m->how[ROW] };
    lz_dtype d = (lz_dtype)m->how[DTYPE];
    lz_array from, to;
    LZ_TRY(lz_array_init_view(&from, m->buffer, d, (lz_ints){ sizes, 2 }, (lz_ints){ strides, 2 },
                              m->how[OFFSET]));
    lz_err *e = lz_array_init_clone(&to, memory, &from, d);
    lz_array_deinit(&from);
    if (e)
        return e;
    *out = lz_buffer_retain(to.buffer);
    lz_array_deinit(&to);
    return NULL;
}

/* The first request for a matrix is only recorded. The next one makes the copy. */
static void want(const matrix *m, lz_buffer_pool *memory)
{
    if (should_pack(m))
        lz_err_drop(transpose(m, memory, &m->buffer->made.memory));
    if (describes(&m->buffer->made, m))
        return;
    lz_buffer_forget(m->buffer);
    memcpy(m->buffer->made.how, m->how, sizeof m->how);
}

void lz_packed_weights_make(const lz_plan *p, const lz_run_args *args)
{
    matrix m;
    for (size_t i = 0; p->packs_weights && i < p->n_launches; i++) {
        const lz_plan_launch *l = &p->launches[i];
        if (!is_first(l) || !matrix_of(p, l, args->inputs, &m))
            continue;
        lz_lock_take(&lock);
        want(&m, args->memory);
        lz_lock_give(&lock);
    }
}

lz_buffer *lz_packed_weights_find(const lz_plan *p, const lz_plan_launch *l, const lz_run_input *inputs)
{
    matrix m;
    if (!l->call->packed || !matrix_of(p, l, inputs, &m))
        return NULL;
    lz_lock_take(&lock);
    lz_buffer *made = describes(&m.buffer->made, &m) ? m.buffer->made.memory : NULL;
    made = made ? lz_buffer_retain(made) : NULL;
    lz_lock_give(&lock);
    return made;
}
