#include "op/boxed.h"
#include <assert.h>
#include <string.h>

/* As schemas write them. */
static const char *const kind_names[LZ_KIND_COUNT] = {
    [LZ_KIND_NONE] = "None",
    [LZ_KIND_TENSOR] = "Tensor",
    [LZ_KIND_GENERATOR] = "Generator",
    [LZ_KIND_STORAGE] = "Storage",
    [LZ_KIND_STREAM] = "Stream",
    [LZ_KIND_OBJECT] = "object",
    [LZ_KIND_INT] = "int",
    [LZ_KIND_FLOAT] = "float",
    [LZ_KIND_BOOL] = "bool",
    [LZ_KIND_SCALAR] = "Scalar",
    [LZ_KIND_STR] = "str",
    [LZ_KIND_DTYPE] = "ScalarType",
    [LZ_KIND_LAYOUT] = "Layout",
    [LZ_KIND_MEMORY_FORMAT] = "MemoryFormat",
    [LZ_KIND_QSCHEME] = "QScheme",
    [LZ_KIND_DEVICE] = "Device",
    [LZ_KIND_INTS] = "int[]",
    [LZ_KIND_FLOATS] = "float[]",
    [LZ_KIND_BOOLS] = "bool[]",
    [LZ_KIND_SCALARS] = "Scalar[]",
    [LZ_KIND_STRS] = "str[]",
    [LZ_KIND_TENSORS] = "Tensor[]",
};

const char *lz_kind_name(lz_kind kind)
{
    return (unsigned)kind < LZ_KIND_COUNT ? kind_names[kind] : "an unknown kind of value";
}

/* ---- absent values ---- */

/* The value of each kind that means "absent". Integers, floats and booleans stay none. */
static const lz_value absent[LZ_KIND_COUNT] = {
    [LZ_KIND_TENSOR] = { .kind = LZ_KIND_TENSOR, .tensor = NULL },
    [LZ_KIND_GENERATOR] = { .kind = LZ_KIND_GENERATOR, .generator = NULL },
    [LZ_KIND_STORAGE] = { .kind = LZ_KIND_STORAGE, .storage = NULL },
    [LZ_KIND_STREAM] = { .kind = LZ_KIND_STREAM, .stream = NULL },
    [LZ_KIND_OBJECT] = { .kind = LZ_KIND_OBJECT, .object = NULL },
    [LZ_KIND_SCALAR] = { .kind = LZ_KIND_SCALAR, .scalar = { LZ_SCALAR_NONE, 0, 0, 0 } },
    [LZ_KIND_STR] = { .kind = LZ_KIND_STR, .str = NULL },
    [LZ_KIND_DTYPE] = { .kind = LZ_KIND_DTYPE, .dtype = LZ_DTYPE_NONE },
    [LZ_KIND_LAYOUT] = { .kind = LZ_KIND_LAYOUT, .layout = LZ_LAYOUT_NONE },
    [LZ_KIND_MEMORY_FORMAT] = { .kind = LZ_KIND_MEMORY_FORMAT, .memory_format = LZ_MEMORY_FORMAT_NONE },
    [LZ_KIND_QSCHEME] = { .kind = LZ_KIND_QSCHEME, .qscheme = LZ_QSCHEME_NONE },
    [LZ_KIND_DEVICE] = { .kind = LZ_KIND_DEVICE, .device = { -1, -1 } },
    [LZ_KIND_INTS] = { .kind = LZ_KIND_INTS, .ints = { NULL, -1 } },
    [LZ_KIND_FLOATS] = { .kind = LZ_KIND_FLOATS, .floats = { NULL, -1 } },
    [LZ_KIND_BOOLS] = { .kind = LZ_KIND_BOOLS, .bools = { NULL, -1 } },
    [LZ_KIND_SCALARS] = { .kind = LZ_KIND_SCALARS, .scalars = { NULL, -1 } },
    [LZ_KIND_STRS] = { .kind = LZ_KIND_STRS, .strs = { NULL, -1 } },
    [LZ_KIND_TENSORS] = { .kind = LZ_KIND_TENSORS, .tensors = { NULL, -1 } },
};

/* ---- conversions; a value that does not fit is unchanged ---- */

static bool int_to_float(lz_value *v)
{
    *v = lz_value_real((double)v->integer);
    return true;
}

static bool int_to_scalar(lz_value *v)
{
    *v = lz_value_scalar(lz_scalar_int(v->integer));
    return true;
}

static bool float_to_scalar(lz_value *v)
{
    *v = lz_value_scalar(lz_scalar_float(v->real));
    return true;
}

static bool bool_to_scalar(lz_value *v)
{
    *v = lz_value_scalar(lz_scalar_bool(v->truth));
    return true;
}

static bool scalar_to_int(lz_value *v)
{
    bool fits = v->scalar.kind == LZ_SCALAR_INT;
    *v = fits ? lz_value_integer(v->scalar.i) : *v;
    return fits;
}

static bool scalar_to_float(lz_value *v)
{
    lz_scalar s = v->scalar;
    bool fits = s.kind == LZ_SCALAR_INT || s.kind == LZ_SCALAR_FLOAT;
    *v = fits ? lz_value_real(s.kind == LZ_SCALAR_INT ? (double)s.i : s.re) : *v;
    return fits;
}

static bool scalar_to_bool(lz_value *v)
{
    bool fits = v->scalar.kind == LZ_SCALAR_BOOL;
    *v = fits ? lz_value_truth(v->scalar.i != 0) : *v;
    return fits;
}

static const struct {
    lz_kind from, to;
    bool (*convert)(lz_value *v);
} conversions[] = {
    { LZ_KIND_INT, LZ_KIND_FLOAT, int_to_float },       { LZ_KIND_INT, LZ_KIND_SCALAR, int_to_scalar },
    { LZ_KIND_FLOAT, LZ_KIND_SCALAR, float_to_scalar }, { LZ_KIND_BOOL, LZ_KIND_SCALAR, bool_to_scalar },
    { LZ_KIND_SCALAR, LZ_KIND_INT, scalar_to_int },     { LZ_KIND_SCALAR, LZ_KIND_FLOAT, scalar_to_float },
    { LZ_KIND_SCALAR, LZ_KIND_BOOL, scalar_to_bool },
};

static bool convert(lz_value *v, lz_kind to)
{
    if (v->kind == to)
        return true;
    for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++)
        if (conversions[i].from == v->kind && conversions[i].to == to)
            return conversions[i].convert(v);
    return false;
}

/* ---- lists of one value ---- */

static const struct {
    lz_kind list, element;
    size_t size;
} lists[] = {
    { LZ_KIND_INTS, LZ_KIND_INT, sizeof(int64_t) },
    { LZ_KIND_FLOATS, LZ_KIND_FLOAT, sizeof(double) },
    { LZ_KIND_BOOLS, LZ_KIND_BOOL, sizeof(bool) },
    { LZ_KIND_SCALARS, LZ_KIND_SCALAR, sizeof(lz_scalar) },
};

static bool repeat(lz_value *v, lz_kind list, lz_kind element, size_t size, size_t count, lz_bound *b)
{
    size_t need = (count * size + sizeof *b->room - 1) / sizeof *b->room;
    if (!convert(v, element) || need > LZ_BOUND_ROOM - b->used)
        return false;
    char *room = (char *)&b->room[b->used];
    b->used += need;
    for (size_t i = 0; i < count; i++)
        memcpy(room + i * size, (const char *)v + offsetof(lz_value, tensor),
               size); /* every list member of lz_value starts at this offset */
    *v = (lz_value){ .kind = list, .ints = { (const int64_t *)(const void *)room, (int64_t)count } };
    return true;
}

static bool to_list(lz_value *v, const lz_type_row *type, lz_bound *b)
{
    for (size_t i = 0; type->size > 0 && i < sizeof lists / sizeof *lists; i++)
        if (lists[i].list == (lz_kind)type->kind)
            return repeat(v, lists[i].list, lists[i].element, lists[i].size, (size_t)type->size, b);
    return false;
}

/* ---- binding ---- */

static bool has_null(const lz_value *v, const lz_type_row *type)
{
    if (v->kind == LZ_KIND_TENSOR)
        return !v->tensor;
    if (v->kind != LZ_KIND_TENSORS || (type->flags & LZ_TYPE_NULLABLE))
        return false;
    for (int64_t i = 0; i < v->tensors.n; i++)
        if (!v->tensors.v[i])
            return true;
    return false;
}

static lz_err *refuse(const lz_op_row *op, lz_loc at, const lz_arg_row *arg, const char *what)
{
    return lz_err_at(LZ_ERR_ARG, at, "%s: argument '%s' of type %s %s", op->name, arg->name, arg->type->text,
                     what);
}

static lz_err *mismatch(const lz_op_row *op, lz_loc at, const lz_arg_row *arg, lz_kind given)
{
    return lz_err_at(LZ_ERR_ARG, at, "%s: argument '%s': expected %s, found %s", op->name, arg->name,
                     arg->type->text, lz_kind_name(given));
}

static lz_err *bind(const lz_op_row *op, lz_loc at, size_t i, const lz_value *given, lz_bound *b)
{
    const lz_arg_row *arg = &op->args[i];
    bool optional = arg->type->flags & LZ_TYPE_OPTIONAL;
    bool missing = !given || (given->kind == LZ_KIND_NONE && !optional);
    if (missing && !arg->default_value)
        return refuse(op, at, arg, "is missing");
    given = missing ? arg->default_value : given;
    lz_value v = *given;
    if (v.kind == LZ_KIND_NONE)
        v = absent[arg->type->kind];
    else if (!convert(&v, (lz_kind)arg->type->kind) && !to_list(&v, arg->type, b))
        return mismatch(op, at, arg, given->kind);
    else if (!optional && has_null(&v, arg->type))
        return refuse(op, at, arg, "is NULL");
    b->in[i] = v;
    return NULL;
}

lz_err *lz_boxed_bind(const lz_op_row *op, lz_loc at, const lz_value *in, size_t n, lz_bound *out)
{
    assert(op->nargs <= LZ_ARGS_MAX);
    out->used = 0;
    if (n > op->nargs)
        return lz_err_at(LZ_ERR_ARG, at, "%s: expected at most %d argument%s, found %zu", op->name, op->nargs,
                         op->nargs == 1 ? "" : "s", n);
    for (size_t i = 0; i < op->nargs; i++)
        LZ_TRY(bind(op, at, i, i < n ? &in[i] : NULL, out));
    assert(out->used <= LZ_BOUND_ROOM);
    return NULL;
}
