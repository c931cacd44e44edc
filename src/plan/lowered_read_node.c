/* Nodes of the DAG from their text. */
#include "core/dtype.h"
#include "core/scalar.h"
#include "core/shape.h"
#include "lower/lower_impl.h"
#include "plan/lowered_read.h"
#include <string.h>

/* ---- nodes that functions of the builder make ---- */

typedef lz_err *read_fn(lz_lowered_reader *r, lz_lowered_reading *at, const lz_low_node **out);

static lz_err *wrong_type(const lz_lowered_reader *r, const lz_ssa_node *n, const lz_type *found,
                          const char *expected)
{
    lz_text type = { 0 };
    lz_type_print(found, &type);
    lz_err *e = lz_text_check(&type);
    e = e ? e
          : lz_ssa_error(r->g, n, LZ_ERR_MODEL, "operand has type %.*s, expected %s",
                         LZ_FMT(lz_text_view(&type)), expected);
    lz_text_deinit(&type);
    return e;
}

/* The numbers where a part of an input begins: `bytes`, and the other operands. */
static lz_err *read_moves(lz_lowered_reader *r, const lz_ssa_node *n, lz_lowered_source *s)
{
    lz_ints bytes = { NULL, 0 };
    if (n->nin > 1)
        LZ_TRY(lz_lowered_read_ints(r, n, "bytes", &bytes));
    if (bytes.n != (int64_t)n->nin - 1 || bytes.n > LZ_LOWERED_MOVES)
        return lz_lowered_read_wrong(
            r, n, "attribute 'bytes': expected a number for each operand behind the first");
    for (uint32_t i = 1; i < n->nin; i++) {
        const lz_ssa_value *v = lz_ssa_in(n, i);
        if (v->node != r->g->block->param || v->type->kind != LZ_GRAPH_TYPE_INT)
            return lz_lowered_read_wrong(r, n, "a part of an input begins at parameters of type int");
        s->numbers[s->n_moves] = v->index;
        s->bytes[s->n_moves++] = bytes.v[i - 1];
    }
    return NULL;
}

static bool same_source(const lz_lowered_source *a, const lz_lowered_source *b)
{
    bool same = a->param == b->param && (a->param != LZ_NO_PARAM || a->value.box == b->value.box);
    same = same && a->n_moves == b->n_moves;
    for (uint32_t i = 0; same && i < a->n_moves; i++)
        same = a->numbers[i] == b->numbers[i] && a->bytes[i] == b->bytes[i];
    return same;
}

lz_err *lz_lowered_read_slot(lz_lowered_reader *r, const lz_ssa_node *n, bool number, int64_t *out)
{
    lz_lowered_value_reading *v;
    LZ_TRY(lz_lowered_read_value(r, n, 0, &v));
    if (v->kind != LZ_READ_SOURCE || n->nin < 1)
        return lz_lowered_read_wrong(r, n, "expected a parameter or constant as operand");
    lz_type_kind k = v->value->type->kind;
    if (number ? k != LZ_GRAPH_TYPE_INT && k != LZ_GRAPH_TYPE_FLOAT && k != LZ_GRAPH_TYPE_BOOL
               : k != LZ_GRAPH_TYPE_TENSOR)
        return wrong_type(r, n, v->value->type, number ? "a number" : "a tensor");
    lz_lowered_source s = { .param = LZ_NO_PARAM, .type = v->value->type };
    if (v->value->node == r->g->block->param)
        s.param = v->value->index;
    else
        lz_ssa_const(v->value, &s.value);
    if (number && s.param == LZ_NO_PARAM)
        return lz_lowered_read_wrong(r, n, "expected a parameter, found a constant");
    LZ_TRY(read_moves(r, n, &s));
    for (size_t i = 0; i < (number ? r->l->scalars.len : r->l->inputs.len); i++) {
        *out = (int64_t)i;
        if (same_source(number ? &r->l->scalars.data[i] : &r->l->inputs.data[i], &s))
            return NULL;
    }
    *out = (int64_t)(number ? r->l->scalars.len : r->l->inputs.len);
    return number ? lz_vec_push(&r->l->scalars, s) : lz_vec_push(&r->l->inputs, s);
}

static lz_err *read_input(lz_lowered_reader *r, lz_lowered_reading *at, const lz_low_node **out)
{
    int64_t slot, offset;
    const int64_t *strides;
    LZ_TRY(lz_lowered_read_slot(r, at->n, false, &slot));
    LZ_TRY(lz_lowered_read_int(r, at->n, "offset", &offset));
    LZ_TRY(lz_lowered_read_exactly(r, at->n, "strides", at->p.sizes.n, &strides));
    return lz_low_input(r->b, slot, at->p.dtype, at->p.sizes, (lz_ints){ strides, at->p.sizes.n }, offset,
                        out);
}

static lz_err *read_scalar(lz_lowered_reader *r, lz_lowered_reading *at, const lz_low_node **out)
{
    static const lz_dtype dtypes[LZ_GRAPH_TYPE_COUNT] = {
        [LZ_GRAPH_TYPE_INT] = LZ_I64, [LZ_GRAPH_TYPE_FLOAT] = LZ_F64, [LZ_GRAPH_TYPE_BOOL] = LZ_BOOL
    };
    int64_t slot = 0;
    LZ_TRY(lz_lowered_read_slot(r, at->n, true, &slot));
    return lz_low_scalar(r->b, slot, dtypes[r->l->scalars.data[slot].type->kind], out);
}

static lz_err *read_const(lz_lowered_reader *r, lz_lowered_reading *at, const lz_low_node **out)
{
    const lz_ssa_attr *a = lz_ssa_attr_find(at->n, "value");
    lz_script_value v = a && !a->type ? a->value : lz_script_value_none();
    bool real = lz_dtype_is_float(at->p.dtype);
    if (v.kind != LZ_SCRIPT_VALUE_INT && v.kind != LZ_SCRIPT_VALUE_FLOAT && v.kind != LZ_SCRIPT_VALUE_BOOL)
        return lz_lowered_read_wrong(r, at->n, "attribute 'value': expected a number");
    if (v.kind == LZ_SCRIPT_VALUE_FLOAT && !real)
        return lz_lowered_read_wrong(r, at->n, "attribute 'value': expected an integer, found a float");
    lz_scalar s = v.kind == LZ_SCRIPT_VALUE_FLOAT  ? lz_scalar_float(v.f)
                  : v.kind == LZ_SCRIPT_VALUE_BOOL ? lz_scalar_bool(v.b)
                                                   : lz_scalar_int(v.i);
    int64_t sized;
    LZ_TRY(lz_lowered_read_int_or(r, at->n, "sized", 0, &sized));
    return lz_low_make_const(r->b, s, at->p.dtype, at->p.number, sized != 0, out);
}

static lz_err *read_iota(lz_lowered_reader *r, lz_lowered_reading *at, const lz_low_node **out)
{
    int64_t offset;
    const int64_t *strides;
    LZ_TRY(lz_lowered_read_int(r, at->n, "offset", &offset));
    LZ_TRY(lz_lowered_read_exactly(r, at->n, "strides", at->p.sizes.n, &strides));
    return lz_low_iota(r->b, at->p.sizes, offset, (lz_ints){ strides, at->p.sizes.n }, out);
}

static const char *script_name(const lz_low_node *x)
{
    return lz_dtype_get((lz_dtype)x->dtype)->script;
}

/* Operand i of a scalar operation: of the given dtype, and of the sizes of operand 1. */
static lz_err *check_operand(lz_lowered_reader *r, lz_lowered_reading *at, lz_kernel_op op, int i,
                             lz_dtype expected)
{
    const lz_low_node *x = at->p.in[i], *first = at->p.in[0];
    char sizes[2][LZ_SHAPE_CHARS];
    if (x->dtype != (int8_t)expected)
        return lz_ssa_error(r->g, at->n, LZ_ERR_MODEL, "%s: operand %d is a tensor of %s, not of %s",
                            lz_kernel_op_text(op), i + 1, script_name(x), lz_dtype_get(expected)->script);
    if (lz_shape_eq(lz_low_node_sizes(x), lz_low_node_sizes(first)))
        return NULL;
    return lz_ssa_error(r->g, at->n, LZ_ERR_MODEL, "%s: operand %d has the sizes %s, operand 1 has %s",
                        lz_kernel_op_text(op), i + 1, lz_shape_print(lz_low_node_sizes(x), sizes[0]),
                        lz_shape_print(lz_low_node_sizes(first), sizes[1]));
}

/* What lz_low_make_map takes for granted: operands of one dtype (but for a select's condition) and one shape.
 */
static lz_err *check_operands(lz_lowered_reader *r, lz_lowered_reading *at, lz_kernel_op op)
{
    int n = lz_kernel_op_operands(op), first = lz_kernel_op_result(op) == LZ_KERNEL_REDUCE_LAST;
    if (at->p.nin != (size_t)n)
        return lz_ssa_error(r->g, at->n, LZ_ERR_MODEL, "%s takes %d operands, not %zu", lz_kernel_op_text(op),
                            n, at->p.nin);
    for (int i = 0; i < n; i++) {
        lz_dtype expected = i < first ? LZ_BOOL : (lz_dtype)at->p.in[first]->dtype;
        LZ_TRY(check_operand(r, at, op, i, expected));
    }
    return NULL;
}

static lz_err *read_map(lz_lowered_reader *r, lz_lowered_reading *at, const lz_low_node **out)
{
    lz_str name;
    lz_kernel_op op;
    LZ_TRY(lz_lowered_read_str(r, at->n, "op", &name));
    if (!lz_kernel_op_find(name, &op))
        return lz_lowered_read_wrong(r, at->n, "attribute 'op' names no scalar operation");
    LZ_TRY(check_operands(r, at, op));
    return lz_ssa_locate(r->g, at->n, lz_low_make_map(r->b, op, at->p.in, at->p.number, out));
}

/* ---- nodes that are made from their parts ---- */

static lz_err *make(lz_lowered_reader *r, lz_lowered_reading *at, const void *attr, size_t size,
                    const lz_low_node **out)
{
    at->p.attr = attr;
    at->p.attr_size = size;
    const char *why = lz_low_check(&at->p);
    return why ? lz_lowered_read_wrong(r, at->n, why) : lz_low_intern(r->b, &at->p, out);
}

static lz_err *read_plain(lz_lowered_reader *r, lz_lowered_reading *at, const lz_low_node **out)
{
    return make(r, at, NULL, 0, out);
}

static lz_err *read_philox(lz_lowered_reader *r, lz_lowered_reading *at, const lz_low_node **out)
{
    int64_t word;
    LZ_TRY(lz_lowered_read_int(r, at->n, "word", &word));
    at->p.op = word >= 0 && word < 4 ? (uint16_t)word : UINT16_MAX;
    return make(r, at, NULL, 0, out);
}

static lz_err *read_check(lz_lowered_reader *r, lz_lowered_reading *at, const lz_low_node **out)
{
    lz_low_check_attr *a;
    lz_str rule = LZ_STR("");
    if (lz_ssa_attr_find(at->n, "rule"))
        LZ_TRY(lz_lowered_read_str(r, at->n, "rule", &rule));
    LZ_TRY(lz_low_new_check(r->b, rule, &a));
    LZ_TRY(lz_lowered_read_int(r, at->n, "size", &a->size));
    LZ_TRY(lz_lowered_read_int(r, at->n, "dim", &a->dim));
    LZ_TRY(lz_lowered_read_int(r, at->n, "wrap", &a->wrap));
    return make(r, at, a, sizeof *a + rule.len + 1, out);
}

static lz_err *read_index(lz_lowered_reader *r, lz_lowered_reading *at, const lz_low_node **out)
{
    int64_t rows = at->p.nin ? at->p.in[0]->ndim : 0, cols = at->p.sizes.n, *map;
    const int64_t *offset;
    uint64_t bounded = 0;
    LZ_TRY(lz_lowered_read_exactly(r, at->n, "offset", rows, &offset));
    LZ_TRY(lz_lowered_read_rows(r, at->n, "map", &rows, cols, &map));
    if (lz_ssa_attr_find(at->n, "bounded"))
        LZ_TRY(lz_lowered_read_bits(r, at->n, "bounded", &bounded));
    size_t size = sizeof(lz_low_index_attr) + (size_t)(rows * (cols + 1)) * sizeof *map;
    lz_low_index_attr *a = lz_arena_zalloc(r->b->arena, size);
    if (!a)
        return lz_err_oom();
    a->bounded = bounded;
    memcpy(a->v, offset, (size_t)rows * sizeof *map);
    memcpy(a->v + rows, map, (size_t)(rows * cols) * sizeof *map);
    for (int64_t c = 0; c < cols; c++)
        for (int64_t k = 0; at->p.sizes.v[c] == 1 && k < rows; k++)
            a->v[rows + k * cols + c] = 0;
    return make(r, at, a, size, out);
}

static lz_err *reduce_op(lz_lowered_reader *r, lz_lowered_reading *at)
{
    lz_str name;
    lz_kernel_reduction op;
    LZ_TRY(lz_lowered_read_str(r, at->n, "op", &name));
    if (!lz_reduce_find(name, &op))
        return lz_lowered_read_wrong(r, at->n, "attribute 'op' names no reduction");
    at->p.op = (uint16_t)op;
    return NULL;
}

static lz_err *read_reduce(lz_lowered_reader *r, lz_lowered_reading *at, const lz_low_node **out)
{
    lz_low_reduce_attr a;
    LZ_TRY(reduce_op(r, at));
    LZ_TRY(lz_lowered_read_bits(r, at->n, "dims", &a.dims));
    if (!at->p.nin && !r->group)
        return lz_lowered_read_wrong(r, at->n, "expected one tensor");
    return make(r, at, &a, sizeof a, out);
}

static lz_err *read_dim(lz_lowered_reader *r, lz_lowered_reading *at, const lz_low_node **out)
{
    lz_low_dim_attr a;
    if (at->p.kind == LZ_LOW_SCAN)
        LZ_TRY(reduce_op(r, at));
    LZ_TRY(lz_lowered_read_int(r, at->n, "dim", &a.dim));
    return make(r, at, &a, sizeof a, out);
}

static lz_err *read_update(lz_lowered_reader *r, lz_lowered_reading *at, const lz_low_node **out)
{
    int64_t attr[2 + LZ_MAX_DIMS], n = at->p.nin >= 2 ? at->p.in[1]->ndim : 0;
    bool starts = at->p.nin == 3;
    const int64_t *strides;
    LZ_TRY(lz_lowered_read_int(r, at->n, "offset", &attr[0]));
    LZ_TRY(lz_lowered_read_exactly(r, at->n, "strides", n, &strides));
    for (int64_t d = 0; d < n; d++)
        attr[1 + d] = at->p.in[1]->sizes[d] == 1 ? 0 : strides[d];
    if (starts)
        LZ_TRY(lz_lowered_read_int(r, at->n, "step", &attr[1 + n]));
    return make(r, at, attr, (size_t)(1 + n + starts) * sizeof *attr, out);
}

lz_err *lz_lowered_read_call(lz_lowered_reader *r, lz_lowered_reading *at, const lz_low_node **out)
{
    lz_str name;
    lz_ints params = { 0 };
    LZ_TRY(lz_lowered_read_str(r, at->n, "op", &name));
    lz_low_call_op op = lz_call_find(name);
    if (op == LZ_CALLS)
        return lz_lowered_read_wrong(r, at->n, "attribute 'op' names no kernel");
    at->p.op = (uint16_t)op;
    if (lz_ssa_attr_find(at->n, "params"))
        LZ_TRY(lz_lowered_read_ints(r, at->n, "params", &params));
    if (op == LZ_CALL_SCATTER && params.n != 5)
        return lz_lowered_read_wrong(r, at->n, "attribute 'params': expected five numbers");
    return make(r, at, params.v, (size_t)params.n * sizeof *params.v, out);
}

static read_fn *const readers[LZ_LOW_KINDS] = {
    [LZ_LOW_INPUT] = read_input,   [LZ_LOW_SCALAR] = read_scalar,
    [LZ_LOW_CONST] = read_const,   [LZ_LOW_IOTA] = read_iota,
    [LZ_LOW_MAP] = read_map,       [LZ_LOW_CAST] = read_plain,
    [LZ_LOW_PHILOX] = read_philox, [LZ_LOW_CHECK] = read_check,
    [LZ_LOW_INDEX] = read_index,   [LZ_LOW_RESHAPE] = read_plain,
    [LZ_LOW_REDUCE] = read_reduce, [LZ_LOW_SCAN] = read_dim,
    [LZ_LOW_GATHER] = read_dim,    [LZ_LOW_CAT] = read_dim,
    [LZ_LOW_UPDATE] = read_update, [LZ_LOW_CALL] = lz_lowered_read_call,
};

static bool takes_source(lz_low_kind kind)
{
    return kind == LZ_LOW_INPUT || kind == LZ_LOW_SCALAR;
}

static bool is_leaf(lz_low_kind kind)
{
    return kind <= LZ_LOW_IOTA;
}

lz_err *lz_lowered_read_shape(lz_lowered_reader *r, lz_dtype d, lz_ints sizes, const lz_low_node **out)
{
    lz_low_scalar_attr number = { (int64_t)r->b->n_nodes };
    return lz_low_intern(
        r->b,
        &(lz_low_proto){
            .kind = LZ_LOW_BUFFER, .dtype = d, .sizes = sizes, .attr = &number, .attr_size = sizeof number },
        out);
}

static const char *const reading_names[] = {
    [LZ_READ_NODE] = "a node of the graph",
    [LZ_READ_VIEW] = "a view",
    [LZ_READ_ITEM] = "an item of a group",
    [LZ_READ_SOURCE] = "a parameter or constant",
};

/* Sets the operands of the new node: nodes of the DAG, or items of the group. */
static lz_err *operands(lz_lowered_reader *r, lz_lowered_reading *at, lz_lowered_read_kind kind)
{
    const lz_low_node **in;
    uint32_t n = takes_source(at->p.kind) ? 0 : at->n->nin;
    LZ_TRY(lz_arena_new(r->b->arena, &in, n + 1));
    for (uint32_t i = 0; i < n; i++) {
        lz_lowered_value_reading *v;
        LZ_TRY(lz_lowered_read_value(r, at->n, i, &v));
        bool data = kind == LZ_READ_ITEM && at->p.kind == LZ_LOW_GATHER
                    && i == 0; /* read from memory, not computed by an item */
        if (data ? v->kind != LZ_READ_NODE && v->kind != LZ_READ_VIEW
                 : v->kind != kind || (kind == LZ_READ_ITEM && v->step != r->l->fused.steps.len))
            return lz_ssa_error(r->g, at->n, LZ_ERR_MODEL, "operand %u: expected %s, found %s", i + 1,
                                data                   ? "an input, a buffer or a view"
                                : kind == LZ_READ_ITEM ? "an item of this group"
                                                       : reading_names[kind],
                                reading_names[v->kind]);
        in[i] = v->node;
        if (data) /* the operand as the item sees it: with the item's sizes except along dim */
            LZ_TRY(lz_lowered_read_shape(r, (lz_dtype)v->node->dtype, at->p.sizes, &in[i]));
    }
    if (n > UINT16_MAX)
        return lz_ssa_error(r->g, at->n, LZ_ERR_LIMIT, "expected at most %d operands", UINT16_MAX);
    at->p.in = in;
    at->p.nin = n;
    return NULL;
}

lz_err *lz_lowered_read_node(lz_lowered_reader *r, const lz_ssa_node *n, lz_low_kind kind,
                             const lz_low_node **out)
{
    lz_lowered_reading at = { .n = n, .p = { .kind = kind } };
    int64_t number;
    if (n->nblocks || kind == LZ_LOW_BUFFER)
        return lz_lowered_read_wrong(r, n, "this node cannot stand here");
    LZ_TRY(lz_lowered_read_type(r, n, &at.p.dtype, &at.p.sizes));
    LZ_TRY(lz_lowered_read_int_or(r, n, "number", 0, &number));
    at.p.number = number != 0 && kind != LZ_LOW_SCALAR;
    LZ_TRY(operands(r, &at, r->group ? LZ_READ_ITEM : LZ_READ_NODE));
    if (is_leaf(kind) && kind != LZ_LOW_INPUT && n->nin != (takes_source(kind) ? 1 : 0))
        return lz_lowered_read_wrong(r, n, "wrong number of operands");
    LZ_TRY(readers[kind](r, &at, out));
    if ((*out)->dtype != (int8_t)at.p.dtype || !lz_shape_eq(lz_low_node_sizes(*out), at.p.sizes))
        return lz_lowered_read_wrong(r, n, "dtype or sizes are not those of the result");
    return NULL;
}
