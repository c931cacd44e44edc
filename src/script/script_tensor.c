#include "script/script_tensor.h"
#include "base/mem.h"
#include <assert.h>

/* ---- functions of lz_script_value_tensor ---- */

static const lz_script_tensor *of(const lz_script_value_tensor *t)
{
    return (const lz_script_tensor *)t;
}

static void drop(lz_script_value_tensor *t)
{
    lz_storage_release(of(t)->storage);
    lz_mem_free(of(t)->spec);
    lz_mem_free(t);
}

static lz_ints sizes(const lz_script_value_tensor *t)
{
    return lz_spec_sizes(of(t)->spec);
}

static lz_ints strides(const lz_script_value_tensor *t)
{
    return lz_spec_strides(of(t)->spec);
}

static lz_dtype dtype(const lz_script_value_tensor *t)
{
    return (lz_dtype)of(t)->spec->dtype;
}

static lz_str device(const lz_script_value_tensor *t)
{
    (void)t;
    return LZ_STR("cpu");
}

static bool requires_grad(const lz_script_value_tensor *t)
{
    (void)t;
    return false;
}

static lz_err *not_yet(void)
{
    return lz_errf(LZ_ERR_INTERNAL, "the elements of a tensor are read before they are computed");
}

static lz_err *read(lz_script_value_tensor *t, lz_array *out)
{
    const lz_script_tensor *x = of(t);
    if (!x->storage->buffer)
        return not_yet();
    return lz_array_init_view(out, x->storage->buffer, dtype(t), sizes(t), strides(t), x->offset);
}

static lz_err *item(lz_script_value_tensor *t, lz_scalar *out)
{
    lz_array a;
    if (of(t)->spec->numel != 1)
        return lz_errf(LZ_ERR_ARG, "a Tensor with %lld elements cannot be converted to Scalar",
                       (long long)of(t)->spec->numel);
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

bool lz_is_script_tensor(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_TENSOR && v.tensor->cls == &class;
}

/* ---- creating ---- */

lz_err *lz_script_tensor_extend(size_t size, lz_storage *s, const lz_spec *spec, int64_t offset,
                                lz_script_value *out)
{
    assert(size >= sizeof(lz_script_tensor) && offset >= 0);
    lz_script_tensor *t = lz_mem_zalloc(1, size);
    if (!t)
        return lz_err_oom();
    lz_err *e = lz_spec_create((lz_dtype)spec->dtype, lz_spec_sizes(spec), lz_spec_strides(spec), &t->spec);
    if (e) {
        lz_mem_free(t);
        return e;
    }
    t->storage = lz_storage_retain(s);
    t->offset = offset;
    *out = lz_script_value_tensor_init(&t->head, LZ_SCRIPT_VALUE_TENSOR, &class);
    return NULL;
}

lz_err *lz_script_tensor_view(lz_storage *s, const lz_spec *spec, int64_t offset, lz_script_value *out)
{
    return lz_script_tensor_extend(sizeof(lz_script_tensor), s, spec, offset, out);
}

void lz_script_tensor_set_view(lz_script_tensor *t, lz_spec *spec, int64_t offset)
{
    assert(spec && spec != t->spec && offset >= 0);
    lz_mem_free(t->spec);
    t->spec = spec;
    t->offset = offset;
}

/* Takes over one count of the buffer. */
static lz_err *make(lz_buffer *buffer, lz_dtype d, lz_ints sizes, lz_ints strides, int64_t offset,
                    lz_script_value *out)
{
    lz_storage *s;
    lz_spec *spec;
    LZ_TRY(lz_storage_create(buffer, &s));
    lz_err *e = lz_spec_create(d, sizes, strides, &spec);
    if (!e) {
        e = lz_script_tensor_view(s, spec, offset, out);
        lz_mem_free(spec);
    }
    lz_storage_release(s);
    return e;
}

lz_err *lz_script_tensor_of_array(const lz_array *a, lz_script_value *out)
{
    if (!a->buffer)
        return lz_errf(LZ_ERR_ARG, "the elements of a tensor constant are not in the graph's text");
    return make(lz_buffer_retain(a->buffer), a->dtype, lz_array_sizes(a), lz_array_strides(a), a->offset,
                out);
}

lz_err *lz_script_tensor_of_buffer(lz_buffer *buffer, lz_dtype d, lz_ints sizes, lz_script_value *out)
{
    return make(buffer, d, sizes, (lz_ints){ NULL, 0 }, 0, out);
}

/* ---- adopting ---- */

static lz_err *adopt_one(lz_script_value *v)
{
    lz_script_value t = lz_script_value_none();
    if (v->kind != LZ_SCRIPT_VALUE_ARRAY)
        return NULL;
    LZ_TRY(lz_script_tensor_of_array(&v->array->array, &t));
    lz_script_value_set(v, t);
    return NULL;
}

/* Adopts arrays within lists, tuples and dicts up to LZ_SCRIPT_VALUE_DEPTH deep. Values that may contain
 * tensors are not deeper; deeper values stay unchanged. */
/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_SCRIPT_VALUE_DEPTH deep */
static lz_err *adopt(lz_script_value *v, int depth)
{
    if ((v->kind == LZ_SCRIPT_VALUE_LIST || v->kind == LZ_SCRIPT_VALUE_TUPLE) && depth > 0) {
        for (size_t i = 0; i < v->list->len; i++)
            LZ_TRY(adopt(&v->list->data[i], depth - 1));
        return NULL;
    }
    if (v->kind == LZ_SCRIPT_VALUE_DICT && depth > 0) {
        for (lz_map_entry *e = lz_map_next(&v->dict->map, NULL); e; e = lz_map_next(&v->dict->map, e))
            LZ_TRY(adopt(&((lz_script_value_pair *)e->value)->value, depth - 1));
        return NULL;
    }
    return adopt_one(v);
}

lz_err *lz_script_value_adopt(lz_script_value *v)
{
    return adopt(v, LZ_SCRIPT_VALUE_DEPTH);
}
