#include "script/xtensor.h"
#include "base/mem.h"
#include <string.h>

/* ---- storages ---- */

lz_err *lz_xstorage_create(lz_buffer *buffer, lz_xstorage **out)
{
    lz_xstorage *s = lz_mem_zalloc(1, sizeof *s);
    if (!s) {
        lz_buffer_release(buffer);
        return lz_err_oom();
    }
    atomic_init(&s->count, 1);
    s->buffer = buffer;
    *out = s;
    return NULL;
}

lz_xstorage *lz_xstorage_retain(lz_xstorage *s)
{
    atomic_fetch_add_explicit(&s->count, 1, memory_order_relaxed);
    return s;
}

void lz_xstorage_release(lz_xstorage *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->count, 1, memory_order_acq_rel) != 1)
        return;
    lz_buffer_release(s->buffer);
    lz_mem_free(s);
}

/* ---- what a graph may ask ---- */

static const lz_xtensor *of(const lz_gv_tensor *t)
{
    return (const lz_xtensor *)t;
}

static void drop(lz_gv_tensor *t)
{
    lz_xstorage_release(of(t)->storage);
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

static lz_err *read(lz_gv_tensor *t, lz_array *out)
{
    const lz_xtensor *x = of(t);
    return lz_array_init_view(out, x->storage->buffer, x->dtype, sizes(t), strides(t), x->offset);
}

static lz_err *item(lz_gv_tensor *t, lz_scalar *out)
{
    lz_array a;
    if (of(t)->numel != 1)
        return lz_errf(LZ_ERR_ARG, "a Tensor with %lld elements cannot be converted to Scalar",
                       (long long)of(t)->numel);
    LZ_TRY(read(t, &a));
    *out = lz_array_get(&a, 0);
    lz_array_deinit(&a);
    return NULL;
}

static const lz_tensor_class class = { .drop = drop,
                                       .sizes = sizes,
                                       .strides = strides,
                                       .dtype = dtype,
                                       .device = device,
                                       .requires_grad = requires_grad,
                                       .item = item,
                                       .read = read };

bool lz_gv_is_xtensor(lz_gv v)
{
    return v.kind == LZ_GV_TENSOR && v.tensor->cls == &class;
}

/* ---- making ---- */

lz_err *lz_xtensor_view(lz_xstorage *s, lz_dtype d, lz_ints size, lz_ints stride, int64_t offset, lz_gv *out)
{
    int64_t numel;
    LZ_TRY(lz_shape_numel(size, &numel));
    lz_xtensor *t = lz_mem_zalloc(1, sizeof *t + 2 * (size_t)size.n * sizeof *t->sizes);
    if (!t)
        return lz_err_oom();
    t->storage = lz_xstorage_retain(s);
    t->dtype = d;
    t->ndim = size.n;
    t->numel = numel;
    t->offset = offset;
    t->strides = t->sizes + size.n;
    if (size.n) {
        memcpy(t->sizes, size.v, (size_t)size.n * sizeof *t->sizes);
        memcpy(t->strides, stride.v, (size_t)size.n * sizeof *t->sizes);
    }
    *out = lz_gv_tensor_init(&t->head, LZ_GV_TENSOR, &class);
    return NULL;
}

lz_err *lz_xtensor_of_array(const lz_array *a, lz_gv *out)
{
    lz_xstorage *s = NULL;
    if (!a->buffer)
        return lz_errf(LZ_ERR_ARG, "the elements of a tensor constant are not in the graph's text");
    LZ_TRY(lz_xstorage_create(lz_buffer_retain(a->buffer), &s));
    lz_err *e = lz_xtensor_view(s, a->dtype, lz_array_sizes(a), lz_array_strides(a), a->offset, out);
    lz_xstorage_release(s);
    return e;
}

/* ---- adopting ---- */

static lz_err *adopt_one(lz_gv *v)
{
    lz_gv t = lz_gv_none();
    if (v->kind != LZ_GV_ARRAY)
        return NULL;
    LZ_TRY(lz_xtensor_of_array(&v->array->array, &t));
    lz_gv_set(v, t);
    return NULL;
}

/* Values within values are few and nested at most LZ_GV_DEPTH deep where they may hold
 * tensors; deeper ones stay as they are. */
/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static lz_err *adopt(lz_gv *v, int depth)
{
    if ((v->kind == LZ_GV_LIST || v->kind == LZ_GV_TUPLE) && depth > 0) {
        for (size_t i = 0; i < v->list->len; i++)
            LZ_TRY(adopt(&v->list->data[i], depth - 1));
        return NULL;
    }
    if (v->kind == LZ_GV_DICT && depth > 0) {
        for (lz_map_entry *e = lz_map_next(&v->dict->map, NULL); e; e = lz_map_next(&v->dict->map, e))
            LZ_TRY(adopt(&((lz_gv_pair *)e->value)->value, depth - 1));
        return NULL;
    }
    return adopt_one(v);
}

lz_err *lz_gv_adopt(lz_gv *v)
{
    return adopt(v, LZ_GV_DEPTH);
}
