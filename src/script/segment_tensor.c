/* Tensors of such a stretch while it is lowered. */
#include "base/mem.h"
#include "core/strides.h"
#include "script/segment_impl.h"
#include <string.h>

static const lz_stensor *of(const lz_gv_tensor *t)
{
    return (const lz_stensor *)t;
}

static void drop(lz_gv_tensor *t)
{
    lz_mem_free(t);
}

static lz_ints sizes(const lz_gv_tensor *t)
{
    return (lz_ints){ of(t)->sizes, of(t)->ndim };
}

static lz_ints strides(const lz_gv_tensor *t)
{
    return (lz_ints){ of(t)->strides, of(t)->ndim };
}

static lz_dtype dtype(const lz_gv_tensor *t)
{
    return of(t)->dtype;
}

static lz_str device(const lz_gv_tensor *t)
{
    (void)t;
    return LZ_STR("cpu");
}

static bool requires_grad(const lz_gv_tensor *t)
{
    (void)t;
    return false;
}

static lz_err *not_yet(void)
{
    return lz_errf(LZ_ERR_INTERNAL, "a tensor's elements are asked for while they are not computed yet");
}

static lz_err *item(lz_gv_tensor *t, lz_scalar *out)
{
    (void)t, (void)out;
    return not_yet();
}

static lz_err *read(lz_gv_tensor *t, lz_array *out)
{
    (void)t, (void)out;
    return not_yet();
}

static const lz_tensor_class class = { .drop = drop,
                                       .sizes = sizes,
                                       .strides = strides,
                                       .dtype = dtype,
                                       .device = device,
                                       .requires_grad = requires_grad,
                                       .item = item,
                                       .read = read };

bool lz_gv_is_stensor(lz_gv v)
{
    return v.kind == LZ_GV_TENSOR && v.tensor->cls == &class;
}

lz_err *lz_stensor_create(lz_cell *cell, lz_dtype d, lz_ints size, lz_ints stride, int64_t offset, lz_gv *out)
{
    size_t n = (size_t)size.n;
    lz_stensor *t = lz_mem_zalloc(1, sizeof *t + 2 * n * sizeof *t->sizes);
    if (!t)
        return lz_err_oom();
    t->cell = cell;
    t->self = -1;
    t->dtype = d;
    t->ndim = size.n;
    t->offset = offset;
    t->strides = t->sizes + n;
    if (n) {
        memcpy(t->sizes, size.v, n * sizeof *t->sizes);
        memcpy(t->strides, stride.v, n * sizeof *t->sizes);
    }
    *out = lz_gv_tensor_init(&t->head, LZ_GV_TENSOR, &class);
    return NULL;
}
