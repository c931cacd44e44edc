/* Nodes of the DAG from their text. */
#include "core/dtype.h"
#include "core/scalar.h"
#include "core/shape.h"
#include "lower/lower_impl.h"
#include "plan/lowered_read.h"
#include <string.h>

/* ---- nodes that functions of the builder make ---- */

typedef lz_err *read_fn(lz_lreader *r, lz_lreading *at, const lz_ln **out);

lz_err *lz_lread_slot(lz_lreader *r, const lz_ir_node *n, bool number, int64_t *out)
{
    lz_lvalue_read *v;
    LZ_TRY(lz_lread_value(r, n, 0, &v));
    if (v->kind != LZ_READ_SOURCE || n->nin < 1)
        return lz_lread_wrong(r, n, "a parameter or constant is needed");
    lz_type_kind k = v->value->type->kind;
    if (number ? k != LZ_TY_INT && k != LZ_TY_FLOAT && k != LZ_TY_BOOL : k != LZ_TY_TENSOR)
        return lz_lread_wrong(r, n, "what it takes is of another type");
    lz_lsource s = { .param = LZ_NO_PARAM, .type = v->value->type };
    if (v->value->node == r->g->block->param)
        s.param = v->value->index;
    else
        lz_ir_const(v->value, &s.value);
    if (number && s.param == LZ_NO_PARAM)
        return lz_lread_wrong(r, n, "a parameter is needed");
    for (size_t i = 0; i < (number ? r->l->scalars.len : r->l->inputs.len); i++) {
        const lz_lsource *x = number ? &r->l->scalars.data[i] : &r->l->inputs.data[i];
        *out = (int64_t)i;
        if (x->param == s.param && (s.param != LZ_NO_PARAM || x->value.box == s.value.box))
            return NULL;
    }
    *out = (int64_t)(number ? r->l->scalars.len : r->l->inputs.len);
    return number ? lz_vec_push(&r->l->scalars, s) : lz_vec_push(&r->l->inputs, s);
}

static lz_err *read_input(lz_lreader *r, lz_lreading *at, const lz_ln **out)
{
    int64_t slot, offset;
    const int64_t *strides;
    LZ_TRY(lz_lread_slot(r, at->n, false, &slot));
    LZ_TRY(lz_lread_int(r, at->n, "offset", &offset));
    LZ_TRY(lz_lread_exactly(r, at->n, "strides", at->p.sizes.n, &strides));
    return lz_low_input(r->b, slot, at->p.dtype, at->p.sizes, (lz_ints){ strides, at->p.sizes.n }, offset,
                        out);
}

static lz_err *read_scalar(lz_lreader *r, lz_lreading *at, const lz_ln **out)
{
    static const lz_dtype dtypes[LZ_TY_COUNT] = {
        [LZ_TY_INT] = LZ_I64, [LZ_TY_FLOAT] = LZ_F64, [LZ_TY_BOOL] = LZ_BOOL
    };
    int64_t slot = 0;
    LZ_TRY(lz_lread_slot(r, at->n, true, &slot));
    return lz_low_scalar(r->b, slot, dtypes[r->l->scalars.data[slot].type->kind], out);
}

static lz_err *read_const(lz_lreader *r, lz_lreading *at, const lz_ln **out)
{
    const lz_ir_attr *a = lz_ir_attr_find(at->n, "value");
    lz_gv v = a && !a->type ? a->value : lz_gv_none();
    bool real = lz_dtype_is_float(at->p.dtype);
    if (v.kind != LZ_GV_INT && v.kind != LZ_GV_FLOAT && v.kind != LZ_GV_BOOL)
        return lz_lread_wrong(r, at->n, "attribute 'value' must be a number");
    if (v.kind == LZ_GV_FLOAT && !real)
        return lz_lread_wrong(r, at->n, "a float is not of this dtype");
    lz_scalar s = v.kind == LZ_GV_FLOAT  ? lz_scalar_float(v.f)
                  : v.kind == LZ_GV_BOOL ? lz_scalar_bool(v.b)
                                         : lz_scalar_int(v.i);
    int64_t sized;
    LZ_TRY(lz_lread_int_or(r, at->n, "sized", 0, &sized));
    return lz_low_make_const(r->b, s, at->p.dtype, at->p.number, sized != 0, out);
}

static lz_err *read_iota(lz_lreader *r, lz_lreading *at, const lz_ln **out)
{
    int64_t offset;
    const int64_t *strides;
    LZ_TRY(lz_lread_int(r, at->n, "offset", &offset));
    LZ_TRY(lz_lread_exactly(r, at->n, "strides", at->p.sizes.n, &strides));
    return lz_low_iota(r->b, at->p.sizes, offset, (lz_ints){ strides, at->p.sizes.n }, out);
}

static lz_err *read_map(lz_lreader *r, lz_lreading *at, const lz_ln **out)
{
    lz_str name;
    lz_kop op;
    LZ_TRY(lz_lread_str(r, at->n, "op", &name));
    if (!lz_kop_find(name, &op))
        return lz_lread_wrong(r, at->n, "there is no such scalar operation");
    if (at->p.nin != (size_t)lz_kop_operands(op))
        return lz_ir_error(r->g, at->n, LZ_ERR_MODEL, "%s takes %d operands", lz_kop_text(op),
                           lz_kop_operands(op));
    lz_err *e = lz_low_make_map(r->b, op, at->p.in, at->p.number, out);
    if (!e || lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_err *placed = lz_lread_wrong(r, at->n, lz_err_text(e));
    lz_err_free(e);
    return placed;
}

/* ---- nodes that are made as they are ---- */

static lz_err *make(lz_lreader *r, lz_lreading *at, const void *attr, size_t size, const lz_ln **out)
{
    at->p.attr = attr;
    at->p.attr_size = size;
    const char *why = lz_low_check(&at->p);
    return why ? lz_lread_wrong(r, at->n, why) : lz_low_intern(r->b, &at->p, out);
}

static lz_err *read_plain(lz_lreader *r, lz_lreading *at, const lz_ln **out)
{
    return make(r, at, NULL, 0, out);
}

static lz_err *read_philox(lz_lreader *r, lz_lreading *at, const lz_ln **out)
{
    int64_t word;
    LZ_TRY(lz_lread_int(r, at->n, "word", &word));
    at->p.op = word >= 0 && word < 4 ? (uint16_t)word : UINT16_MAX;
    return make(r, at, NULL, 0, out);
}

static lz_err *read_check(lz_lreader *r, lz_lreading *at, const lz_ln **out)
{
    lz_lcheck *a;
    lz_str rule = LZ_STR("");
    if (lz_ir_attr_find(at->n, "rule"))
        LZ_TRY(lz_lread_str(r, at->n, "rule", &rule));
    LZ_TRY(lz_low_new_check(r->b, rule, &a));
    LZ_TRY(lz_lread_int(r, at->n, "size", &a->size));
    LZ_TRY(lz_lread_int(r, at->n, "dim", &a->dim));
    LZ_TRY(lz_lread_int(r, at->n, "wrap", &a->wrap));
    return make(r, at, a, sizeof *a + rule.len + 1, out);
}

static lz_err *read_index(lz_lreader *r, lz_lreading *at, const lz_ln **out)
{
    int64_t rows = at->p.nin ? at->p.in[0]->ndim : 0, cols = at->p.sizes.n, *map;
    const int64_t *offset;
    uint64_t bounded = 0;
    LZ_TRY(lz_lread_exactly(r, at->n, "offset", rows, &offset));
    LZ_TRY(lz_lread_rows(r, at->n, "map", &rows, cols, &map));
    if (lz_ir_attr_find(at->n, "bounded"))
        LZ_TRY(lz_lread_bits(r, at->n, "bounded", &bounded));
    size_t size = sizeof(lz_lindex) + (size_t)(rows * (cols + 1)) * sizeof *map;
    lz_lindex *a = lz_arena_zalloc(r->b->arena, size);
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

static lz_err *reduce_op(lz_lreader *r, lz_lreading *at)
{
    lz_str name;
    lz_kreduce op;
    LZ_TRY(lz_lread_str(r, at->n, "op", &name));
    if (!lz_reduce_find(name, &op))
        return lz_lread_wrong(r, at->n, "there is no such reduction");
    at->p.op = (uint16_t)op;
    return NULL;
}

static lz_err *read_reduce(lz_lreader *r, lz_lreading *at, const lz_ln **out)
{
    lz_lreduce a;
    LZ_TRY(reduce_op(r, at));
    LZ_TRY(lz_lread_bits(r, at->n, "dims", &a.dims));
    if (!at->p.nin && !r->group)
        return lz_lread_wrong(r, at->n, "a reduction takes one tensor");
    return make(r, at, &a, sizeof a, out);
}

static lz_err *read_dim(lz_lreader *r, lz_lreading *at, const lz_ln **out)
{
    lz_ldim a;
    if (at->p.kind == LZ_L_SCAN)
        LZ_TRY(reduce_op(r, at));
    LZ_TRY(lz_lread_int(r, at->n, "dim", &a.dim));
    return make(r, at, &a, sizeof a, out);
}

static lz_err *read_update(lz_lreader *r, lz_lreading *at, const lz_ln **out)
{
    int64_t attr[1 + LZ_MAX_DIMS], n = at->p.nin == 2 ? at->p.in[1]->ndim : 0;
    const int64_t *strides;
    LZ_TRY(lz_lread_int(r, at->n, "offset", &attr[0]));
    LZ_TRY(lz_lread_exactly(r, at->n, "strides", n, &strides));
    for (int64_t d = 0; d < n; d++)
        attr[1 + d] = at->p.in[1]->sizes[d] == 1 ? 0 : strides[d];
    return make(r, at, attr, (size_t)(1 + n) * sizeof *attr, out);
}

lz_err *lz_lread_call(lz_lreader *r, lz_lreading *at, const lz_ln **out)
{
    lz_str name;
    lz_ints params = { 0 };
    LZ_TRY(lz_lread_str(r, at->n, "op", &name));
    lz_lcall_op op = lz_call_find(name);
    if (op == LZ_CALLS)
        return lz_lread_wrong(r, at->n, "there is no such kernel");
    at->p.op = (uint16_t)op;
    if (lz_ir_attr_find(at->n, "params"))
        LZ_TRY(lz_lread_ints(r, at->n, "params", &params));
    if (op == LZ_CALL_SCATTER && params.n != 5)
        return lz_lread_wrong(r, at->n, "scatter has five parameters");
    return make(r, at, params.v, (size_t)params.n * sizeof *params.v, out);
}

static read_fn *const readers[LZ_L_KINDS] = {
    [LZ_L_INPUT] = read_input,   [LZ_L_SCALAR] = read_scalar, [LZ_L_CONST] = read_const,
    [LZ_L_IOTA] = read_iota,     [LZ_L_MAP] = read_map,       [LZ_L_CAST] = read_plain,
    [LZ_L_PHILOX] = read_philox, [LZ_L_CHECK] = read_check,   [LZ_L_INDEX] = read_index,
    [LZ_L_RESHAPE] = read_plain, [LZ_L_REDUCE] = read_reduce, [LZ_L_SCAN] = read_dim,
    [LZ_L_GATHER] = read_dim,    [LZ_L_CAT] = read_dim,       [LZ_L_UPDATE] = read_update,
    [LZ_L_CALL] = lz_lread_call,
};

static bool takes_source(lz_lkind kind)
{
    return kind == LZ_L_INPUT || kind == LZ_L_SCALAR;
}

static bool is_leaf(lz_lkind kind)
{
    return kind <= LZ_L_IOTA;
}

lz_err *lz_lread_shape(lz_lreader *r, lz_dtype d, lz_ints sizes, const lz_ln **out)
{
    lz_lscalar number = { (int64_t)r->b->n_nodes };
    return lz_low_intern(
        r->b,
        &(lz_low_proto){
            .kind = LZ_L_BUFFER, .dtype = d, .sizes = sizes, .attr = &number, .attr_size = sizeof number },
        out);
}

/* The operands, from the first on: nodes of the DAG, or items of the group. */
static lz_err *operands(lz_lreader *r, lz_lreading *at, lz_lread_kind kind)
{
    const lz_ln **in;
    uint32_t n = takes_source(at->p.kind) ? 0 : at->n->nin;
    LZ_TRY(lz_arena_new(r->b->arena, &in, n + 1));
    for (uint32_t i = 0; i < n; i++) {
        lz_lvalue_read *v;
        LZ_TRY(lz_lread_value(r, at->n, i, &v));
        bool data = kind == LZ_READ_ITEM && at->p.kind == LZ_L_GATHER && i == 0; /* lies in memory */
        if (data ? v->kind != LZ_READ_NODE && v->kind != LZ_READ_VIEW
                 : v->kind != kind || (kind == LZ_READ_ITEM && v->step != r->l->fused.steps.len))
            return lz_ir_error(r->g, at->n, LZ_ERR_MODEL, "operand %u is not one that can stand here", i + 1);
        in[i] = v->node;
        if (data) /* seen through the item's view, as large as the item but along dim */
            LZ_TRY(lz_lread_shape(r, (lz_dtype)v->node->dtype, at->p.sizes, &in[i]));
    }
    if (n > UINT16_MAX)
        return lz_ir_error(r->g, at->n, LZ_ERR_LIMIT, "more than %d operands", UINT16_MAX);
    at->p.in = in;
    at->p.nin = n;
    return NULL;
}

lz_err *lz_lread_node(lz_lreader *r, const lz_ir_node *n, lz_lkind kind, const lz_ln **out)
{
    lz_lreading at = { .n = n, .p = { .kind = kind } };
    int64_t number;
    if (n->nblocks || kind == LZ_L_BUFFER)
        return lz_lread_wrong(r, n, "this cannot stand here");
    LZ_TRY(lz_lread_type(r, n, &at.p.dtype, &at.p.sizes));
    LZ_TRY(lz_lread_int_or(r, n, "number", 0, &number));
    at.p.number = number != 0 && kind != LZ_L_SCALAR;
    LZ_TRY(operands(r, &at, r->group ? LZ_READ_ITEM : LZ_READ_NODE));
    if (is_leaf(kind) && n->nin != (takes_source(kind) ? 1 : 0))
        return lz_lread_wrong(r, n, "it takes another number of operands");
    LZ_TRY(readers[kind](r, &at, out));
    if ((*out)->dtype != (int8_t)at.p.dtype || !lz_shape_eq(lz_ln_sizes(*out), at.p.sizes))
        return lz_lread_wrong(r, n, "dtype or sizes are not those of the result");
    return NULL;
}
