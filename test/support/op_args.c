#include "op_args.h"
#include "base/mem.h"
#include "core/convert.h"
#include "core/scalar.h"
#include "lower/op_lower.h"
#include "plan/op_nonzero.h"
#include <math.h>

enum { MOST_TENSORS = 48, MOST_SCALARS = 32, MOST_LIST = 4, MOST_OUTPUTS = 64, MOST_ELEMENTS = 20000 };

typedef struct call {
    lz_choose_fn *choose;
    void *user;
    lz_arena arena;
    lz_lower b;
    lz_array arrays[MOST_TENSORS];
    lz_run_input inputs[MOST_TENSORS];
    size_t n_arrays;
    lz_op_found found;
    lz_scalar scalars[MOST_SCALARS];
    int64_t n_scalars;
    bool statics; /* numbers are given as values */
    lz_low_value args[LZ_ARGS_MAX], results[LZ_ARGS_MAX];
} call;

static uint32_t pick(call *c, uint32_t n)
{
    return c->choose(c->user, n);
}

/* ---- tensors ---- */

static const lz_dtype dtypes[] = { LZ_F32,  LZ_F64, LZ_I64, LZ_BOOL, LZ_F16,
                                   LZ_BF16, LZ_I32, LZ_I16, LZ_I8,   LZ_U8 };

static lz_dtype any_dtype(call *c)
{
    return dtypes[pick(c, sizeof dtypes / sizeof *dtypes)];
}

static void any_shape(call *c, lz_shape *out)
{
    static const int64_t sizes[] = { 2, 3, 1, 2, 4, 0 };
    out->n = pick(c, 5);
    for (int64_t d = 0; d < out->n; d++)
        out->v[d] = sizes[pick(c, 6)];
}

static void fill(call *c, lz_array *a)
{
    size_t size = lz_dtype_size(a->dtype);
    for (int64_t i = 0; i < a->numel; i++) {
        int v = (int)pick(c, 8) - 2;
        lz_scalar s = lz_dtype_is_float(a->dtype) ? lz_scalar_float(v == -2 ? (double)NAN : v * 0.75)
                      : a->dtype == LZ_BOOL       ? lz_scalar_bool(v & 1)
                      : a->dtype == LZ_U8         ? lz_scalar_int(v & 3)
                                                  : lz_scalar_int(v);
        lz_element_set(a->dtype, s, (char *)a->buffer->data + (size_t)i * size);
    }
}

/* Most tensors of a call are alike. */
static lz_err *any_tensor(call *c, lz_low_value *out)
{
    lz_shape shape;
    lz_dtype d = c->n_arrays && pick(c, 8) ? c->arrays[0].dtype : any_dtype(c);
    const lz_low_node *n;
    any_shape(c, &shape);
    if (c->n_arrays == MOST_TENSORS)
        return lz_errf(LZ_ERR_LIMIT, "too many tensors");
    if (c->n_arrays && pick(c, 4))
        LZ_TRY(lz_shape_copy(lz_array_sizes(&c->arrays[0]), &shape));
    lz_array *a = &c->arrays[c->n_arrays];
    LZ_TRY(lz_array_init(a, NULL, d, lz_shape_ints(&shape)));
    c->inputs[c->n_arrays] = (lz_run_input){ .buffer = a->buffer };
    fill(c, a);
    LZ_TRY(lz_low_input(&c->b, (int64_t)c->n_arrays++, d, lz_array_sizes(a), lz_array_strides(a), 0, &n));
    *out = lz_low_value_tensor(n);
    return NULL;
}

/* ---- numbers and words ---- */

static int64_t any_int(call *c)
{
    static const int64_t odd[] = { -3, 5, 7, 33, -100, INT32_MAX, INT64_MAX, INT64_MIN };
    return pick(c, 12) ? (int64_t)pick(c, 5) - 1 : odd[pick(c, 8)];
}

static lz_scalar any_scalar(call *c)
{
    static const double odd[] = { 0, 0.5, -1.5, 2, 1e30, -0.0, (double)INFINITY, (double)NAN };
    switch (pick(c, 4)) {
    case 0:
        return lz_scalar_int(any_int(c));
    case 1:
        return lz_scalar_bool(pick(c, 2));
    default:
        return lz_scalar_float(odd[pick(c, 8)]);
    }
}

static lz_err *any_number(call *c, lz_kind kind, lz_low_value *out)
{
    lz_scalar s = kind == LZ_KIND_INT    ? lz_scalar_int(any_int(c))
                  : kind == LZ_KIND_BOOL ? lz_scalar_bool(pick(c, 2))
                                         : any_scalar(c);
    if (kind == LZ_KIND_FLOAT && s.kind != LZ_SCALAR_FLOAT)
        s = lz_scalar_float((double)s.i);
    *out = lz_low_value_number(s);
    if ((kind != LZ_KIND_SCALAR && kind != LZ_KIND_FLOAT) || c->statics || c->n_scalars == MOST_SCALARS)
        return NULL;
    c->scalars[c->n_scalars] = s;
    return lz_low_scalar(&c->b, c->n_scalars++, lz_low_value_number_dtype(out), &out->node);
}

static lz_low_value any_word(call *c)
{
    static const char *const words[] = { "none",  "tanh",    "sum", "mean",  "prod", "amax", "amin",
                                         "floor", "reflect", "add", "trunc", "left", "??" };
    return lz_low_value_str(lz_str_of(words[pick(c, sizeof words / sizeof *words)]));
}

static lz_err *any_value(call *c, const lz_type_row *type, lz_low_value *out);

static lz_err *any_list(call *c, lz_kind element, const lz_type_row *type, lz_low_value *out)
{
    lz_type_row one = { .kind = (uint8_t)element, .size = -1, .text = "" };
    size_t n =
        type->size > 0 && type->size <= MOST_LIST && pick(c, 8) ? (size_t)type->size : pick(c, MOST_LIST);
    lz_low_value *items;
    LZ_TRY(lz_low_list_new(&c->b, n, &items));
    if (type->flags & LZ_TYPE_NULLABLE)
        one.flags = LZ_TYPE_OPTIONAL;
    for (size_t i = 0; i < n; i++)
        LZ_TRY(any_value(c, &one, &items[i]));
    *out = lz_low_value_list(items, n);
    return NULL;
}

static const lz_kind elements[LZ_KIND_COUNT] = {
    [LZ_KIND_INTS] = LZ_KIND_INT,       [LZ_KIND_FLOATS] = LZ_KIND_FLOAT, [LZ_KIND_BOOLS] = LZ_KIND_BOOL,
    [LZ_KIND_SCALARS] = LZ_KIND_SCALAR, [LZ_KIND_STRS] = LZ_KIND_STR,     [LZ_KIND_TENSORS] = LZ_KIND_TENSOR
};

static lz_err *any_value(call *c, const lz_type_row *type, lz_low_value *out)
{
    *out = lz_low_value_none();
    if (!pick(c, type->flags & LZ_TYPE_OPTIONAL ? 3 : 200))
        return NULL;
    if (elements[type->kind])
        return any_list(c, elements[type->kind], type, out);
    switch ((lz_kind)type->kind) {
    case LZ_KIND_TENSOR:
        return any_tensor(c, out);
    case LZ_KIND_INT:
    case LZ_KIND_FLOAT:
    case LZ_KIND_BOOL:
    case LZ_KIND_SCALAR:
        return any_number(c, (lz_kind)type->kind, out);
    case LZ_KIND_STR:
        *out = any_word(c);
        return NULL;
    case LZ_KIND_DTYPE:
        *out = lz_low_value_dtype(any_dtype(c));
        return NULL;
    default:
        return NULL;
    }
}

/* ---- running ---- */

static lz_err *add_found(void *user, lz_array *a, int64_t *slot)
{
    call *c = user;
    if (c->n_arrays == MOST_TENSORS) {
        lz_array_deinit(a);
        return lz_errf(LZ_ERR_LIMIT, "too many tensors");
    }
    c->inputs[c->n_arrays] = (lz_run_input){ .buffer = a->buffer };
    c->arrays[c->n_arrays] = *a;
    *slot = (int64_t)c->n_arrays++;
    return NULL;
}

static lz_err *nonzero(void *user, lz_lower *b, const lz_low_node *x, const lz_low_node **out)
{
    call *c = user;
    lz_run_args args = { .inputs = c->inputs, .scalars = c->scalars };
    return lz_op_nonzero(b, x, &args, &c->found, out);
}

static void take_output(const lz_low_value *v, const lz_low_node **outputs, size_t *n)
{
    if (v->node && *n < MOST_OUTPUTS && v->node->numel <= MOST_ELEMENTS)
        outputs[(*n)++] = v->node;
}

/* Nothing large is computed, not even on the way. */
static bool is_small(const lz_lower *b)
{
    for (uint32_t i = 0; i < b->n_nodes; i++)
        if (b->nodes[i]->numel > MOST_ELEMENTS)
            return false;
    return true;
}

static lz_err *run(call *c, size_t n_results)
{
    const lz_low_node *outputs[MOST_OUTPUTS];
    lz_buffer *buffers[MOST_OUTPUTS] = { NULL };
    lz_run_args args = { .inputs = c->inputs, .scalars = c->scalars };
    size_t n = 0;
    lz_plan *p;
    for (size_t i = 0; i < n_results; i++)
        if (c->results[i].kind == LZ_LOW_VALUE_LIST)
            for (size_t k = 0; k < c->results[i].list.n; k++)
                take_output(&c->results[i].list.items[k], outputs, &n);
        else
            take_output(&c->results[i], outputs, &n);
    if (!is_small(&c->b))
        return NULL;
    LZ_TRY(lz_plan_create(&c->b, outputs, n, NULL, &p));
    lz_err *e = lz_plan_run(p, &args, buffers);
    for (size_t i = 0; i < lz_plan_outputs(p); i++)
        lz_buffer_release(buffers[i]);
    lz_plan_destroy(p);
    return e;
}

static lz_err *attempt(call *c, const lz_op_row *op)
{
    size_t n = 0;
    for (uint32_t i = 0; i < op->nargs; i++)
        LZ_TRY(any_value(c, op->args[i].type, &c->args[i]));
    LZ_TRY(lz_op_lower(&c->b, op, c->args, c->results, &n));
    return run(c, n);
}

static lz_err *call_once(const lz_op_row *op, lz_choose_fn *choose, void *user, bool statics)
{
    call *c = lz_mem_zalloc(1, sizeof *c);
    if (!c)
        return lz_err_oom();
    c->choose = choose;
    c->user = user;
    c->statics = statics;
    lz_arena_init(&c->arena);
    lz_low_init(&c->b, &c->arena);
    c->b.nonzero = nonzero;
    c->b.user = c;
    c->found = (lz_op_found){ .add_input = add_found, .user = c };
    lz_err *e = attempt(c, op);
    lz_op_found_deinit(&c->found);
    lz_low_deinit(&c->b);
    for (size_t i = 0; i < c->n_arrays; i++)
        lz_array_deinit(&c->arrays[i]);
    lz_arena_deinit(&c->arena);
    lz_mem_free(c);
    return e;
}

/* ---- ---- */

lz_err *lz_op_args_call(const lz_op_row *op, lz_choose_fn *choose, void *user, bool *ran)
{
    lz_err *e = call_once(op, choose, user, false);
    if (lz_err_code(e) == LZ_ERR_NEEDS_VALUE) {
        lz_err_free(e);
        e = call_once(op, choose, user, true);
    }
    *ran = !e;
    lz_code code = lz_err_code(e);
    if (code == LZ_ERR_ARG || code == LZ_ERR_LIMIT || code == LZ_ERR_UNSUPPORTED || code == LZ_ERR_MEMORY) {
        lz_err_free(e);
        return NULL;
    }
    return e;
}
