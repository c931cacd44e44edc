/* Built-ins between tensors and other values: metadata, the one element as a number, numbers as a tensor.
 * Tensors made here are LZ_SCRIPT_VALUE_ARRAY. */
#include "core/strides.h"
#include "graph/builtins.h"
#include "graph/builtins_util.h"
#include <math.h>

/* ---- metadata ---- */

static lz_err *int_list(lz_ints v, lz_script_value *out)
{
    LZ_TRY(lz_script_value_list_make((size_t)v.n, out));
    lz_err *e = NULL;
    for (int64_t i = 0; !e && i < v.n; i++)
        e = lz_script_value_push(*out, lz_script_value_int(v.v[i]));
    if (e)
        lz_script_value_release(*out);
    return e;
}

static lz_err *one_of(lz_ints v, int64_t dim, lz_script_value *out)
{
    int64_t at;
    if (v.n == 0)
        return lz_errf(LZ_ERR_ARG, "IndexError: dimension specified as %lld but tensor has no dimensions",
                       (long long)dim);
    LZ_TRY(lz_wrap_dim(dim, v.n, &at));
    *out = lz_script_value_int(v.v[at]);
    return NULL;
}

static lz_err *sizes(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return int_list(lz_script_value_sizes(*in), out);
}

static lz_err *size_of(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return one_of(lz_script_value_sizes(in[0]), in[1].i, out);
}

static lz_err *strides(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return int_list(lz_script_value_strides(*in), out);
}

static lz_err *stride_of(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return one_of(lz_script_value_strides(in[0]), in[1].i, out);
}

static lz_err *rank(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_int(lz_script_value_sizes(*in).n);
    return NULL;
}

static lz_err *length(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_ints s = lz_script_value_sizes(*in);
    (void)nin;
    if (s.n == 0)
        return lz_errf(LZ_ERR_ARG, "TypeError: len() of a 0-d tensor");
    *out = lz_script_value_int(s.v[0]);
    return NULL;
}

static lz_err *numel(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    int64_t n;
    (void)nin;
    LZ_TRY(lz_shape_numel(lz_script_value_sizes(*in), &n));
    *out = lz_script_value_int(n);
    return NULL;
}

static lz_err *dtype(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_int(lz_script_value_dtype(*in));
    return NULL;
}

static lz_err *element_size(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_int((int64_t)lz_dtype_size(lz_script_value_dtype(*in)));
    return NULL;
}

static lz_err *layout(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)in;
    (void)nin;
    *out = lz_script_value_int(LZ_STRIDED);
    return NULL;
}

static lz_err *device(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return lz_script_value_device(lz_script_value_device_of(*in), out);
}

static lz_err *requires_grad(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_bool(lz_script_value_requires_grad(*in));
    return NULL;
}

static lz_err *is_cuda(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_bool(lz_str_starts(lz_script_value_device_of(*in), LZ_STR("cuda")));
    return NULL;
}

static lz_err *is_contiguous(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_bool(
        lz_strides_are_contiguous(lz_script_value_sizes(*in), lz_script_value_strides(*in)));
    return NULL;
}

static lz_err *bytes(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    LZ_TRY(numel(in, nin, out));
    out->i *= (int64_t)lz_dtype_size(lz_script_value_dtype(*in));
    return NULL;
}

static lz_err *is_cpu(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_bool(lz_str_starts(lz_script_value_device_of(*in), LZ_STR("cpu")));
    return NULL;
}

static lz_err *never(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)in;
    (void)nin;
    *out = lz_script_value_bool(false);
    return NULL;
}

static lz_err *always(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)in;
    (void)nin;
    *out = lz_script_value_bool(true);
    return NULL;
}

static lz_err *itself(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_retain(*in);
    return NULL;
}

static lz_err *is_floating_point(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_bool(lz_dtype_is_float(lz_script_value_dtype(*in)));
    return NULL;
}

static lz_err *is_complex(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_bool(lz_dtype_is_complex(lz_script_value_dtype(*in)));
    return NULL;
}

/* ---- the element ---- */

static lz_script_value of_scalar(lz_scalar s)
{
    if (s.kind == LZ_SCALAR_BOOL)
        return lz_script_value_bool(s.i != 0);
    return s.kind == LZ_SCALAR_INT ? lz_script_value_int(s.i) : lz_script_value_float(s.re);
}

static lz_err *element(lz_script_value v, lz_scalar *out)
{
    LZ_TRY(lz_script_value_item(v, out));
    if (out->kind == LZ_SCALAR_COMPLEX)
        return lz_errf(LZ_ERR_UNSUPPORTED, "complex numbers are supported in tensors only");
    return NULL;
}

static lz_err *item(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_scalar s;
    (void)nin;
    LZ_TRY(element(*in, &s));
    *out = of_scalar(s);
    return NULL;
}

static lz_err *to_int(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    const double two_to_63 = 9223372036854775808.0;
    lz_scalar s;
    (void)nin;
    LZ_TRY(element(*in, &s));
    if (s.kind == LZ_SCALAR_FLOAT && (isnan(s.re) || s.re < -two_to_63 || s.re >= two_to_63))
        return lz_errf(LZ_ERR_LIMIT, "value cannot be converted to type int64_t without overflow");
    *out = lz_script_value_int(s.kind == LZ_SCALAR_FLOAT ? (int64_t)s.re : s.i);
    return NULL;
}

static lz_err *to_float(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_scalar s;
    (void)nin;
    LZ_TRY(element(*in, &s));
    *out = lz_script_value_float(s.kind == LZ_SCALAR_FLOAT ? s.re : (double)s.i);
    return NULL;
}

static lz_err *to_bool(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_scalar s;
    (void)nin;
    LZ_TRY(element(*in, &s));
    *out = lz_script_value_bool(s.kind == LZ_SCALAR_FLOAT ? s.re != 0 : s.i != 0);
    return NULL;
}

/* ---- all elements ---- */

/* The elements from *at on, as nested lists for the dimensions from `dim` on. */
/* NOLINTNEXTLINE(misc-no-recursion): LZ_MAX_DIMS deep at most */
static lz_err *nest(const lz_array *a, int64_t dim, int64_t *at, lz_script_value *out)
{
    lz_ints size = lz_array_sizes(a);
    lz_script_value v;
    lz_err *e = NULL;
    if (dim == size.n) {
        *out = of_scalar(lz_array_get(a, (*at)++));
        return NULL;
    }
    LZ_TRY(lz_script_value_list_make((size_t)size.v[dim], out));
    for (int64_t i = 0; !e && i < size.v[dim]; i++) {
        e = nest(a, dim + 1, at, &v);
        e = e ? e : lz_script_value_push(*out, v);
    }
    if (e)
        lz_script_value_release(*out);
    return e;
}

/* The scalar kinds that the third argument of prim::tolist selects. */
static const lz_scalar_kind listed[] = { LZ_SCALAR_INT, LZ_SCALAR_FLOAT, LZ_SCALAR_BOOL };

static lz_err *to_list(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_array a;
    lz_dtype d = lz_script_value_dtype(in[0]);
    lz_scalar_kind kind = d == LZ_BOOL             ? LZ_SCALAR_BOOL
                          : lz_dtype_is_float(d)   ? LZ_SCALAR_FLOAT
                          : lz_dtype_is_complex(d) ? LZ_SCALAR_COMPLEX
                                                   : LZ_SCALAR_INT;
    int64_t at = 0;
    (void)nin;
    if (in[1].i != lz_script_value_sizes(in[0]).n)
        return lz_errf(
            LZ_ERR_ARG,
            "Output annotation list dimension and runtime tensor dimension must match for tolist()");
    if (in[2].i < 0 || in[2].i > 2 || listed[in[2].i] != kind)
        return lz_errf(
            LZ_ERR_ARG,
            "Output annotation element type and runtime tensor element type must match for tolist()");
    LZ_TRY(lz_script_value_read(in[0], &a));
    lz_err *e = nest(&a, 0, &at, out);
    lz_array_deinit(&a);
    return e;
}

/* ---- sizes ---- */

static lz_err *copy_sizes(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_err *e = NULL;
    (void)nin;
    LZ_TRY(lz_script_value_list_make(in->list->len, out));
    for (size_t i = 0; !e && i < in->list->len; i++)
        e = lz_script_value_push(*out, in->list->data[i]);
    if (e)
        lz_script_value_release(*out);
    return e;
}

static lz_err *shape_of(lz_script_value list, lz_shape *out)
{
    *out = (lz_shape){ .n = (int64_t)list.list->len };
    if (out->n > LZ_MAX_DIMS)
        return lz_errf(LZ_ERR_LIMIT, "a tensor has at most %d dimensions", LZ_MAX_DIMS);
    for (int64_t i = 0; i < out->n; i++)
        out->v[i] = list.list->data[i].i;
    return NULL;
}

static lz_err *broadcast_sizes(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_shape a, b, both;
    (void)nin;
    LZ_TRY(shape_of(in[0], &a));
    LZ_TRY(shape_of(in[1], &b));
    LZ_TRY(lz_shape_broadcast((lz_ints[]){ lz_shape_ints(&a), lz_shape_ints(&b) }, 2, &both));
    return int_list(lz_shape_ints(&both), out);
}

/* ---- numbers as tensors ---- */

static lz_scalar scalar_of(lz_script_value v)
{
    if (v.kind == LZ_SCRIPT_VALUE_BOOL)
        return lz_scalar_bool(v.b);
    return v.kind == LZ_SCRIPT_VALUE_INT ? lz_scalar_int(v.i) : lz_scalar_float(v.f);
}

/* The default dtype of a tensor of numbers like v. */
static lz_dtype natural_dtype(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_BOOL ? LZ_BOOL : v.kind == LZ_SCRIPT_VALUE_INT ? LZ_I64 : LZ_F32;
}

/* The lengths of nested lists, and the first number in them. */
static lz_err *measure(lz_script_value data, int64_t lengths[LZ_MAX_DIMS], lz_ints *out,
                       lz_script_value *first)
{
    int64_t n = 0;
    for (; data.kind == LZ_SCRIPT_VALUE_LIST;
         data = data.list->len ? data.list->data[0] : lz_script_value_float(0)) {
        if (n == LZ_MAX_DIMS)
            return lz_errf(LZ_ERR_LIMIT, "a tensor has at most %d dimensions", LZ_MAX_DIMS);
        lengths[n++] = (int64_t)data.list->len;
    }
    *out = (lz_ints){ lengths, n };
    *first = data;
    return NULL;
}

/* The element at a row-major position; an error if the lists are ragged. */
static lz_err *pick(lz_script_value data, lz_ints lengths, int64_t position, lz_script_value *out)
{
    int64_t below = 1;
    for (int64_t i = 0; i < lengths.n; i++)
        below *= lengths.v[i];
    for (int64_t i = 0; i < lengths.n; i++) {
        if (data.kind != LZ_SCRIPT_VALUE_LIST || (int64_t)data.list->len != lengths.v[i])
            return lz_errf(LZ_ERR_ARG, "ValueError: expected sequence of length %lld at dim %lld",
                           (long long)lengths.v[i], (long long)i);
        below /= lengths.v[i];
        data = data.list->data[position / below];
        position %= below;
    }
    *out = data;
    return data.kind == LZ_SCRIPT_VALUE_BOOL || data.kind == LZ_SCRIPT_VALUE_INT
                   || data.kind == LZ_SCRIPT_VALUE_FLOAT
               ? NULL
               : lz_errf(LZ_ERR_ARG, "ValueError: expected numbers");
}

static lz_err *fill(const lz_array *a, lz_script_value data)
{
    for (int64_t i = 0; i < a->numel; i++) {
        lz_script_value v;
        LZ_TRY(pick(data, lz_array_sizes(a), i, &v));
        lz_array_set(a, i, scalar_of(v));
    }
    return NULL;
}

static lz_err *make_tensor(lz_script_value data, lz_script_value asked, lz_script_value *out)
{
    int64_t lengths[LZ_MAX_DIMS];
    lz_ints shape;
    lz_script_value first;
    LZ_TRY(measure(data, lengths, &shape, &first));
    lz_dtype d = asked.kind == LZ_SCRIPT_VALUE_INT ? (lz_dtype)asked.i : natural_dtype(first);
    if (lz_dtype_size(d) == 0)
        return lz_err_because(LZ_REASON_DTYPE, "there is no dtype %lld", (long long)asked.i);
    LZ_TRY(lz_script_value_array_make(d, shape, false, out));
    lz_err *e = fill(&out->array->array, data);
    if (e)
        lz_script_value_release(*out);
    return e;
}

static lz_err *tensor(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return make_tensor(in[0], in[1], out);
}

static lz_err *number_to_tensor(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_script_value d = in->kind == LZ_SCRIPT_VALUE_FLOAT
                            ? lz_script_value_int(LZ_F64)
                            : lz_script_value_none(); /* keeps the number's precision */
    (void)nin;
    return make_tensor(*in, d, out);
}

/* ---- the table ---- */

enum { META = LZ_BUILTIN_READS_META, DATA = LZ_BUILTIN_READS_DATA };

static const lz_builtin rows[] = {
    { "aten::Bool", "Tensor", "T", "b", to_bool, DATA },
    { "aten::Float", "Tensor", "T", "f", to_float, DATA },
    { "aten::FloatImplicit", "", "T", "f", to_float, DATA },
    { "aten::Int", "Tensor", "T", "i", to_int, DATA },
    { "aten::IntImplicit", "", "T", "i", to_int, DATA },
    { "aten::ScalarImplicit", "", "T", "S", item, DATA },
    { "aten::Size", "", "[i", "[i", copy_sizes, LZ_BUILTIN_FRESH },
    { "aten::_get_tracing_state", "", "", "b", never, 0 },
    { "aten::_infer_size", "", "[i[i", "[i", broadcast_sizes, LZ_BUILTIN_FRESH },
    { "aten::_is_tracing", "", "", "b", never, 0 },
    { "aten::as_tensor", "float", "f?i?D", "T", tensor, LZ_BUILTIN_FRESH },
    { "aten::as_tensor", "int", "i?i?D", "T", tensor, LZ_BUILTIN_FRESH },
    { "aten::as_tensor", "bool", "b?i?D", "T", tensor, LZ_BUILTIN_FRESH },
    { "aten::as_tensor", "list", "[0?i?D", "T", tensor, LZ_BUILTIN_FRESH },
    { "aten::broadcast_shapes", "", "[i[i", "[i", broadcast_sizes, LZ_BUILTIN_FRESH },
    { "aten::cpu", "", "T", "T", itself, 0 },
    { "aten::dim", "", "T", "i", rank, META },
    { "aten::element_size", "", "T", "i", element_size, META },
    { "aten::is_complex", "", "T", "b", is_complex, META },
    { "aten::is_contiguous", "", "T", "b", is_contiguous, META },
    { "aten::is_floating_point", "", "T", "b", is_floating_point, META },
    { "aten::is_scripting", "", "", "b", always, 0 },
    { "aten::item", "", "T", "S", item, DATA },
    { "aten::len", "Tensor", "T", "i", length, META },
    { "aten::ndimension", "", "T", "i", rank, META },
    { "aten::numel", "", "T", "i", numel, META },
    { "aten::size", "", "T", "[i", sizes, META | LZ_BUILTIN_FRESH },
    { "aten::size", "int", "Ti", "i", size_of, META },
    { "aten::stride", "", "T", "[i", strides, META | LZ_BUILTIN_FRESH },
    { "aten::stride", "int", "Ti", "i", stride_of, META },
    { "aten::tensor", "float", "f?i?Db", "T", tensor, LZ_BUILTIN_FRESH },
    { "aten::tensor", "int", "i?i?Db", "T", tensor, LZ_BUILTIN_FRESH },
    { "aten::tensor", "bool", "b?i?Db", "T", tensor, LZ_BUILTIN_FRESH },
    { "aten::tensor", "Scalar", "S?i?Db", "T", tensor, LZ_BUILTIN_FRESH },
    { "aten::tensor", "", "[0?i?Db", "T", tensor, LZ_BUILTIN_FRESH },
    { "prim::NumToTensor", "Scalar", "S", "T", number_to_tensor, LZ_BUILTIN_FRESH },
    { "prim::NumToTensor", "bool", "b", "T", number_to_tensor, LZ_BUILTIN_FRESH },
    { "prim::data", "", "T", "T", itself, 0 },
    { "prim::device", "", "T", "D", device, META },
    { "prim::dtype", "", "T", "i", dtype, META },
    { "prim::is_cpu", "", "T", "b", is_cpu, META },
    { "prim::is_cuda", "", "T", "b", is_cuda, META },
    { "prim::is_mkldnn", "", "T", "b", never, META },
    { "prim::is_mps", "", "T", "b", never, META },
    { "prim::is_nested", "", "T", "b", never, META },
    { "prim::is_quantized", "", "T", "b", never, META },
    { "prim::is_sparse", "", "T", "b", never, META },
    { "prim::is_xla", "", "T", "b", never, META },
    { "prim::itemsize", "", "T", "i", element_size, META },
    { "prim::layout", "", "T", "i", layout, META },
    { "prim::nbytes", "", "T", "i", bytes, META },
    { "prim::requires_grad", "", "T", "b", requires_grad, META },
    { "prim::shape", "", "T", "[i", sizes, META | LZ_BUILTIN_FRESH },
    { "prim::tolist", "", "Tii", "A", to_list, DATA | LZ_BUILTIN_FRESH },
};

const lz_builtin_table lz_builtins_tensor = LZ_BUILTIN_TABLE(rows);
