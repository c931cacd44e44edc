/* Finds kernels that can run on parts of a matrix product while the product is computed: bias, activation,
 * residual, or sums over its rows then need no second pass through memory. Requires launches in their
 * order, and which buffers share memory (pass "inplace"). Keeps what the launches compute. */
#include "plan/plan_impl.h"
#include <string.h>

/* The first loop of the kernel runs over the rows of the product, or over all its elements. */
static bool goes_by_rows(const lz_plan_launch *tail, int64_t rows, int64_t cols)
{
    int loops = tail->n_outer + tail->n_row;
    lz_kernel_granularity grain = lz_kernel_grain(tail->kernel);
    if (loops == 1 && grain == LZ_KERNEL_BY_ELEMENT && tail->extents[0] == rows * cols)
        return true;
    return loops > 0 && tail->extents[0] == rows
           && (grain == LZ_KERNEL_BY_ELEMENT || (grain == LZ_KERNEL_BY_OUTER && tail->n_outer > 0));
}

static int64_t rows_of(const lz_plan_launch *call)
{
    return call->call->args.out.sizes[0] * call->call->args.out.sizes[1];
}

/* The loops walk all elements in row-major order. */
static bool walks_as_one(const lz_plan_launch *tail, const lz_plan_access *a, int64_t numel)
{
    int64_t s = 1;
    for (int l = tail->n_outer + tail->n_row; l-- > 0; s *= tail->extents[l])
        if (tail->extents[l] != 1 && a->strides[l] != s)
            return false;
    return a->offset == 0 && s == numel;
}

/* Whether two buffers may share memory. Donated inputs may. */
static bool may_meet(const lz_plan *p, uint32_t a, uint32_t b)
{
    while (a != b && p->buffers[a].shares != LZ_NO_BUFFER)
        a = p->buffers[a].shares;
    for (uint32_t i = b;; i = p->buffers[i].shares) {
        if (i == a)
            return true;
        if (p->buffers[i].shares == LZ_NO_BUFFER)
            return false;
    }
}

/* Whether the tail writes memory that the product still reads. */
static bool spoils(const lz_plan *p, const lz_plan_launch *call, const lz_plan_launch *tail)
{
    for (size_t i = 0; i < tail->n_access; i++)
        for (size_t k = 0; tail->access[i].store && k < call->call->n_in; k++)
            if (may_meet(p, tail->access[i].buffer, call->call->in[k].buffer))
                return true;
    return false;
}

/* Whether the tail reads the product only at the elements that its loops have reached. */
static bool follows(const lz_plan *p, const lz_plan_launch *call, const lz_plan_launch *tail)
{
    int64_t rows = rows_of(call), cols = call->call->args.out.sizes[2];
    size_t reads = 0;
    if (tail->copy || !goes_by_rows(tail, rows, cols))
        return false;
    for (size_t i = 0; i < tail->n_access; i++) {
        const lz_plan_access *a = &tail->access[i];
        if (a->buffer == LZ_NO_BUFFER || a->store || a->buffer != call->call->out.buffer)
            continue;
        if (!walks_as_one(tail, a, rows * cols))
            return false;
        reads++;
    }
    return reads > 0 && call->call->out.offset == 0 && !spoils(p, call, tail);
}

void lz_plan_find_tails(lz_plan *p)
{
    for (size_t i = 0; i < p->n_launches; i++)
        p->launches[i].tail = false;
    for (size_t i = 0; i + 1 < p->n_launches; i++) {
        lz_plan_launch *call = &p->launches[i];
        const lz_plan_launch *next = &p->launches[i + 1];
        call->tail = call->call && call->call->fn == lz_matmul && next->kernel && follows(p, call, next);
    }
}

void lz_plan_cut_tail(const lz_plan_launch *call, const lz_plan_launch *tail, int64_t begin, int64_t end,
                      int64_t *extents, lz_kernel_access *access)
{
    int64_t each = tail->extents[0] / rows_of(call); /* steps of the first loop per row */
    memcpy(extents, tail->extents, (size_t)(tail->n_outer + tail->n_row) * sizeof *extents);
    extents[0] = (end - begin) * each;
    for (size_t i = 0; i < tail->n_access; i++)
        access[i].offset += begin * each * access[i].strides[0];
}
