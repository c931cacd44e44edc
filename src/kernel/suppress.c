/* Non-maximum suppression: of boxes in the order of their scores, a box is kept unless a kept one before it
 * covers too much of it. */
#include "base/mem.h"
#include "kernel/strided_walk.h"
#include <assert.h>
#include <string.h>

#define T       float
#define NAME(x) x##_f32
#include "kernel/suppress_boxes.h"
#undef T
#undef NAME
#define T       double
#define NAME(x) x##_f64
#include "kernel/suppress_boxes.h"
#undef T
#undef NAME

lz_err *lz_suppress(const lz_kernel_call *c)
{
    const lz_strided *boxes = &c->in[0];
    assert(boxes->ndim == 2 && boxes->sizes[1] == 4 && c->out.dtype == LZ_BOOL);
    int64_t n = boxes->sizes[0];
    void *room = lz_temporary_take((size_t)n * 5 * sizeof(double), LZ_MEM_ALIGN);
    if (!room)
        return lz_err_oom();
    memset(c->out.data, 1, (size_t)n);
    double most = *(const double *)c->in[1].data;
    if (boxes->dtype == LZ_F32)
        suppress_f32(boxes, most, room, c->out.data);
    else
        suppress_f64(boxes, most, room, c->out.data);
    lz_temporary_give(room);
    return NULL;
}
