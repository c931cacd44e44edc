#include "graph/graph_type.h"

static const lz_type leaves[LZ_GRAPH_TYPE_LEAVES] = {
    [LZ_GRAPH_TYPE_TENSOR] = { .kind = LZ_GRAPH_TYPE_TENSOR, .depth = 1 },
    [LZ_GRAPH_TYPE_INT] = { .kind = LZ_GRAPH_TYPE_INT, .depth = 1 },
    [LZ_GRAPH_TYPE_FLOAT] = { .kind = LZ_GRAPH_TYPE_FLOAT, .depth = 1 },
    [LZ_GRAPH_TYPE_COMPLEX] = { .kind = LZ_GRAPH_TYPE_COMPLEX, .depth = 1 },
    [LZ_GRAPH_TYPE_BOOL] = { .kind = LZ_GRAPH_TYPE_BOOL, .depth = 1 },
    [LZ_GRAPH_TYPE_STR] = { .kind = LZ_GRAPH_TYPE_STR, .depth = 1 },
    [LZ_GRAPH_TYPE_NONE] = { .kind = LZ_GRAPH_TYPE_NONE, .depth = 1 },
    [LZ_GRAPH_TYPE_SCALAR] = { .kind = LZ_GRAPH_TYPE_SCALAR, .depth = 1 },
    [LZ_GRAPH_TYPE_DEVICE] = { .kind = LZ_GRAPH_TYPE_DEVICE, .depth = 1 },
    [LZ_GRAPH_TYPE_GENERATOR] = { .kind = LZ_GRAPH_TYPE_GENERATOR, .depth = 1 },
    [LZ_GRAPH_TYPE_STREAM] = { .kind = LZ_GRAPH_TYPE_STREAM, .depth = 1 },
    [LZ_GRAPH_TYPE_STORAGE] = { .kind = LZ_GRAPH_TYPE_STORAGE, .depth = 1 },
    [LZ_GRAPH_TYPE_ANY] = { .kind = LZ_GRAPH_TYPE_ANY, .depth = 1 },
};

static const char *const leaf_names[LZ_GRAPH_TYPE_LEAVES] = {
    [LZ_GRAPH_TYPE_TENSOR] = "Tensor", [LZ_GRAPH_TYPE_INT] = "int",
    [LZ_GRAPH_TYPE_FLOAT] = "float",   [LZ_GRAPH_TYPE_COMPLEX] = "complex",
    [LZ_GRAPH_TYPE_BOOL] = "bool",     [LZ_GRAPH_TYPE_STR] = "str",
    [LZ_GRAPH_TYPE_NONE] = "NoneType", [LZ_GRAPH_TYPE_SCALAR] = "Scalar",
    [LZ_GRAPH_TYPE_DEVICE] = "Device", [LZ_GRAPH_TYPE_GENERATOR] = "Generator",
    [LZ_GRAPH_TYPE_STREAM] = "Stream", [LZ_GRAPH_TYPE_STORAGE] = "Storage",
    [LZ_GRAPH_TYPE_ANY] = "Any",
};

/* Aliases that TorchScript reads but never prints; all but None are ints. */
static const struct {
    const char *name;
    lz_type_kind kind;
} second_names[] = {
    { "None", LZ_GRAPH_TYPE_NONE },      { "Layout", LZ_GRAPH_TYPE_INT },
    { "ScalarType", LZ_GRAPH_TYPE_INT }, { "MemoryFormat", LZ_GRAPH_TYPE_INT },
    { "QScheme", LZ_GRAPH_TYPE_INT },    { "SymInt", LZ_GRAPH_TYPE_INT },
};

static const struct {
    const char *name;
    lz_dtype dtype;
} dtype_names[] = {
    { "Byte", LZ_U8 },         { "Char", LZ_I8 },          { "Short", LZ_I16 },          { "Int", LZ_I32 },
    { "Long", LZ_I64 },        { "Half", LZ_F16 },         { "Float", LZ_F32 },          { "Double", LZ_F64 },
    { "ComplexHalf", LZ_C32 }, { "ComplexFloat", LZ_C64 }, { "ComplexDouble", LZ_C128 }, { "Bool", LZ_BOOL },
    { "BFloat16", LZ_BF16 },
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

const lz_type *lz_type_leaf(lz_type_kind kind)
{
    return &leaves[kind];
}

const lz_type *lz_type_leaf_by_name(lz_str name)
{
    for (size_t i = 0; i < LZ_GRAPH_TYPE_LEAVES; i++)
        if (lz_str_is(name, leaf_names[i]))
            return &leaves[i];
    for (size_t i = 0; i < COUNT(second_names); i++)
        if (lz_str_is(name, second_names[i].name))
            return &leaves[second_names[i].kind];
    return NULL;
}

lz_dtype lz_type_dtype_by_name(lz_str name)
{
    for (size_t i = 0; i < COUNT(dtype_names); i++)
        if (lz_str_is(name, dtype_names[i].name))
            return dtype_names[i].dtype;
    return LZ_DTYPE_NONE;
}

const char *lz_type_dtype_name(lz_dtype dtype)
{
    for (size_t i = 0; i < COUNT(dtype_names); i++)
        if (dtype_names[i].dtype == dtype)
            return dtype_names[i].name;
    return NULL;
}

/* ---- text ---- */

static void put_ints(lz_text *out, const int64_t *v, int n)
{
    for (int i = 0; i < n; i++) {
        lz_text_puts(out, i ? ", " : "");
        if (v[i] == LZ_TYPE_UNKNOWN)
            lz_text_putc(out, '*');
        else
            lz_text_int(out, v[i]);
    }
}

static void put_fact(lz_text *out, size_t start, const char *key)
{
    lz_text_puts(out, out->len == start ? "" : ", ");
    lz_text_puts(out, key);
}

static void print_tensor(const lz_tensor_facts *f, lz_text *out)
{
    const char *dtype = lz_type_dtype_name(f->dtype);
    lz_text_puts(out, dtype ? dtype : "Tensor");
    lz_text_puts(out, dtype && f->rank < 0 ? "Tensor" : "");
    if (f->rank < 0 && f->requires_grad < 0 && !f->device.len)
        return;
    lz_text_putc(out, '(');
    size_t start = out->len;
    put_ints(out, f->sizes, f->rank);
    if (f->strides) {
        put_fact(out, start, "strides=[");
        put_ints(out, f->strides, f->rank);
        lz_text_putc(out, ']');
    }
    if (f->requires_grad >= 0) {
        put_fact(out, start, "requires_grad=");
        lz_text_int(out, f->requires_grad);
    }
    if (f->device.len) {
        put_fact(out, start, "device=");
        lz_text_add(out, f->device);
    }
    lz_text_putc(out, ')');
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static void print_elements(const lz_type *t, lz_text *out)
{
    for (size_t i = 0; i < t->n; i++) {
        lz_text_puts(out, i ? ", " : "");
        if (t->names)
            lz_text_printf(out, "%.*s : ", LZ_FMT(t->names[i]));
        lz_type_print(t->elem[i], out);
    }
}

/* Printed before and after the elements. */
static const char *const brackets[LZ_GRAPH_TYPE_COUNT][2] = {
    [LZ_GRAPH_TYPE_LIST] = { "", "[]" },         [LZ_GRAPH_TYPE_OPTIONAL] = { "", "?" },
    [LZ_GRAPH_TYPE_FUTURE] = { "Future[", "]" }, [LZ_GRAPH_TYPE_DICT] = { "Dict(", ")" },
    [LZ_GRAPH_TYPE_TUPLE] = { "(", ")" },        [LZ_GRAPH_TYPE_UNION] = { "Union[", "]" },
};

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
void lz_type_print(const lz_type *t, lz_text *out)
{
    if (t->tensor) {
        print_tensor(t->tensor, out);
    } else if (t->kind < LZ_GRAPH_TYPE_LEAVES) {
        lz_text_puts(out, leaf_names[t->kind]);
    } else if (t->kind == LZ_GRAPH_TYPE_CLASS) {
        lz_text_add(out, t->names[0]);
    } else {
        lz_text_puts(out, t->kind == LZ_GRAPH_TYPE_TUPLE && t->names ? "NamedTuple" : "");
        lz_text_puts(out, brackets[t->kind][0]);
        print_elements(t, out);
        lz_text_puts(out, brackets[t->kind][1]);
    }
}

/* ---- the table ---- */

void lz_type_table_init(lz_type_table *t, lz_arena *arena)
{
    *t = (lz_type_table){ .arena = arena };
}

void lz_type_table_deinit(lz_type_table *t)
{
    lz_map_deinit(&t->by_text);
    lz_text_deinit(&t->text);
}

static lz_err *copy_ints(lz_arena *a, const int64_t *v, int n, const int64_t **out)
{
    int64_t *copy;
    *out = NULL;
    if (!v)
        return NULL;
    LZ_TRY(lz_arena_new(a, &copy, (size_t)n + 1));
    memcpy(copy, v, (size_t)n * sizeof *v);
    *out = copy;
    return NULL;
}

static lz_err *copy_tensor(lz_arena *a, const lz_tensor_facts *f, const lz_tensor_facts **out)
{
    lz_tensor_facts *copy;
    LZ_TRY(lz_arena_new(a, &copy, 1));
    *copy = *f;
    LZ_TRY(copy_ints(a, f->rank < 0 ? NULL : f->sizes, f->rank, &copy->sizes));
    LZ_TRY(copy_ints(a, f->strides, f->rank, &copy->strides));
    *out = copy;
    return f->device.len ? lz_arena_copy(a, f->device, &copy->device) : NULL;
}

static lz_err *copy_names(lz_arena *a, const lz_str *names, size_t n, const lz_str **out)
{
    lz_str *copy;
    LZ_TRY(lz_arena_new(a, &copy, n + 1));
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lz_arena_copy(a, names[i], &copy[i]));
    *out = copy;
    return NULL;
}

static lz_err *copy_elements(lz_arena *a, const lz_type *const *elem, size_t n, const lz_type *const **out)
{
    const lz_type **copy;
    LZ_TRY(lz_arena_new(a, &copy, n + 1));
    if (n)
        memcpy(copy, elem, n * sizeof(lz_type *));
    *out = copy;
    return NULL;
}

/* Copies a type that was built on the stack, with everything it points to. */
static lz_err *add(lz_type_table *t, const lz_type *made, const lz_type **out)
{
    lz_type *type;
    lz_str text;
    LZ_TRY(lz_arena_new(t->arena, &type, 1));
    *type = *made;
    if (made->tensor)
        LZ_TRY(copy_tensor(t->arena, made->tensor, &type->tensor));
    if (made->names)
        LZ_TRY(
            copy_names(t->arena, made->names, made->kind == LZ_GRAPH_TYPE_CLASS ? 1 : made->n, &type->names));
    LZ_TRY(copy_elements(t->arena, made->elem, made->n, &type->elem));
    LZ_TRY(lz_text_save(&t->text, t->arena, &text));
    *out = type;
    return lz_map_put(&t->by_text, text, type);
}

static lz_err *intern(lz_type_table *t, lz_type *made, const lz_type **out)
{
    uint32_t deepest = 0;
    for (size_t i = 0; i < made->n; i++)
        deepest = deepest < made->elem[i]->depth ? made->elem[i]->depth : deepest;
    made->depth = deepest + 1;
    if (made->depth > LZ_TYPE_DEPTH || made->n > LZ_TYPE_ELEMENTS)
        return lz_errf(LZ_ERR_LIMIT, "a type is nested at most %d deep and has at most %d elements",
                       LZ_TYPE_DEPTH, LZ_TYPE_ELEMENTS);
    lz_text_clear(&t->text);
    lz_type_print(made, &t->text);
    LZ_TRY(lz_text_check(&t->text));
    *out = lz_map_get(&t->by_text, lz_text_view(&t->text));
    return *out ? NULL : add(t, made, out);
}

lz_err *lz_type_compound(lz_type_table *t, lz_type_kind kind, const lz_type *const *elem, const lz_str *names,
                         size_t n, const lz_type **out)
{
    lz_type made = { .kind = kind, .n = n, .elem = elem, .names = n ? names : NULL };
    return intern(t, &made, out);
}

lz_err *lz_type_list(lz_type_table *t, const lz_type *elem, const lz_type **out)
{
    return lz_type_compound(t, LZ_GRAPH_TYPE_LIST, &elem, NULL, 1, out);
}

lz_err *lz_type_optional(lz_type_table *t, const lz_type *elem, const lz_type **out)
{
    *out = elem;
    if (elem->kind == LZ_GRAPH_TYPE_OPTIONAL || elem->kind == LZ_GRAPH_TYPE_NONE
        || elem->kind == LZ_GRAPH_TYPE_ANY)
        return NULL;
    return lz_type_compound(t, LZ_GRAPH_TYPE_OPTIONAL, &elem, NULL, 1, out);
}

lz_err *lz_type_dict(lz_type_table *t, const lz_type *key, const lz_type *value, const lz_type **out)
{
    const lz_type *elem[] = { key, value };
    return lz_type_compound(t, LZ_GRAPH_TYPE_DICT, elem, NULL, 2, out);
}

lz_err *lz_type_class(lz_type_table *t, lz_str name, const lz_type **out)
{
    lz_type made = { .kind = LZ_GRAPH_TYPE_CLASS, .names = &name };
    return intern(t, &made, out);
}

lz_err *lz_type_tensor(lz_type_table *t, const lz_tensor_facts *facts, const lz_type **out)
{
    lz_tensor_facts f = *facts;
    if (f.rank > LZ_TYPE_SIZES)
        return lz_errf(LZ_ERR_LIMIT, "a tensor has at most %d dimensions", LZ_TYPE_SIZES);
    if (f.rank <= 0)
        f.strides = NULL;
    if (f.rank == 0 && !lz_type_dtype_name(f.dtype) && (f.requires_grad >= 0 || f.device.len))
        f.rank = -1; /* "Tensor(device=cpu)" cannot express both */
    lz_type made = { .kind = LZ_GRAPH_TYPE_TENSOR, .tensor = &f };
    *out = &leaves[LZ_GRAPH_TYPE_TENSOR];
    if (f.rank < 0 && !lz_type_dtype_name(f.dtype) && f.requires_grad < 0 && !f.device.len)
        return NULL;
    return intern(t, &made, out);
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
lz_err *lz_type_copy(lz_type_table *t, const lz_type *type, const lz_type **out)
{
    const lz_type **elem;
    *out = type;
    if (type->kind < LZ_GRAPH_TYPE_LEAVES && !type->tensor)
        return NULL;
    if (type->tensor)
        return lz_type_tensor(t, type->tensor, out);
    if (type->kind == LZ_GRAPH_TYPE_CLASS)
        return lz_type_class(t, type->names[0], out);
    LZ_TRY(lz_arena_new(t->arena, &elem, type->n + 1));
    for (size_t i = 0; i < type->n; i++)
        LZ_TRY(lz_type_copy(t, type->elem[i], &elem[i]));
    return lz_type_compound(t, type->kind, elem, type->names, type->n, out);
}

/* ---- relations ---- */

static bool same_ints(const int64_t *a, const int64_t *b, int n)
{
    return !a == !b && (!a || n <= 0 || !memcmp(a, b, (size_t)n * sizeof *a));
}

static bool same_facts(const lz_tensor_facts *a, const lz_tensor_facts *b)
{
    if (!a || !b)
        return a == b;
    return a->dtype == b->dtype && a->rank == b->rank && a->requires_grad == b->requires_grad
           && lz_str_eq(a->device, b->device) && same_ints(a->sizes, b->sizes, a->rank)
           && same_ints(a->strides, b->strides, a->rank);
}

static bool same_names(const lz_type *a, const lz_type *b)
{
    size_t n = a->kind == LZ_GRAPH_TYPE_CLASS ? 1 : a->n;
    bool eq = !a->names == !b->names;
    for (size_t i = 0; eq && a->names && i < n; i++)
        eq = lz_str_eq(a->names[i], b->names[i]);
    return eq;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
bool lz_type_equal(const lz_type *a, const lz_type *b)
{
    bool eq = a == b
              || (a->kind == b->kind && a->n == b->n && same_names(a, b) && same_facts(a->tensor, b->tensor));
    for (size_t i = 0; eq && a != b && i < a->n; i++)
        eq = lz_type_equal(a->elem[i], b->elem[i]);
    return eq;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static bool same(const lz_type *a, const lz_type *b)
{
    bool eq = a == b || (a->kind == b->kind && a->n == b->n);
    if (eq && a != b && a->kind == LZ_GRAPH_TYPE_CLASS)
        eq = lz_str_eq(a->names[0], b->names[0]);
    for (size_t i = 0; eq && a != b && i < a->n; i++)
        eq = same(a->elem[i], b->elem[i]);
    return eq;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static bool all_fit(const lz_type *is, const lz_type *wanted)
{
    bool fit = is->n == wanted->n && (!wanted->names || is->names);
    for (size_t i = 0; fit && i < is->n; i++)
        fit = lz_type_fits(is->elem[i], wanted->elem[i]);
    for (size_t i = 0; fit && wanted->names && i < is->n; i++)
        fit = lz_str_eq(is->names[i], wanted->names[i]);
    return fit;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static bool fits_one_of(const lz_type *is, const lz_type *wanted)
{
    bool fit = false;
    for (size_t i = 0; !fit && i < wanted->n; i++)
        fit = lz_type_fits(is, wanted->elem[i]);
    return fit;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
bool lz_type_fits(const lz_type *is, const lz_type *wanted)
{
    if (is == wanted || wanted->kind == LZ_GRAPH_TYPE_ANY)
        return true;
    if (is->kind == LZ_GRAPH_TYPE_UNION) {
        bool fit = is->n > 0;
        for (size_t i = 0; fit && i < is->n; i++)
            fit = lz_type_fits(is->elem[i], wanted);
        return fit;
    }
    if (wanted->kind == LZ_GRAPH_TYPE_UNION)
        return fits_one_of(is, wanted);
    if (wanted->kind == LZ_GRAPH_TYPE_OPTIONAL)
        return is->kind == LZ_GRAPH_TYPE_NONE
               || lz_type_fits(is->kind == LZ_GRAPH_TYPE_OPTIONAL ? is->elem[0] : is, wanted->elem[0]);
    if (wanted->kind == LZ_GRAPH_TYPE_SCALAR)
        return is->kind == LZ_GRAPH_TYPE_SCALAR || is->kind == LZ_GRAPH_TYPE_INT
               || is->kind == LZ_GRAPH_TYPE_FLOAT || is->kind == LZ_GRAPH_TYPE_COMPLEX;
    if (wanted->kind == LZ_GRAPH_TYPE_TUPLE && is->kind == LZ_GRAPH_TYPE_TUPLE)
        return all_fit(is, wanted);
    return same(is, wanted);
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
bool lz_type_is_mutable(const lz_type *t)
{
    switch (t->kind) {
    case LZ_GRAPH_TYPE_OPTIONAL:
    case LZ_GRAPH_TYPE_TUPLE:
    case LZ_GRAPH_TYPE_UNION:
        for (size_t i = 0; i < t->n; i++)
            if (lz_type_is_mutable(t->elem[i]))
                return true;
        return false;
    case LZ_GRAPH_TYPE_TENSOR:
    case LZ_GRAPH_TYPE_GENERATOR:
    case LZ_GRAPH_TYPE_STORAGE:
    case LZ_GRAPH_TYPE_ANY:
        return true;
    default:
        return t->kind >= LZ_GRAPH_TYPE_LEAVES;
    }
}
