/* A lowered program from its graph. Values are marked with what they have been read as;
 * every node is checked, so that whatever is accepted can be planned. */
#include "core/dtype.h"
#include "core/scalar.h"
#include "core/shape.h"
#include "exec/lowered.h"
#include <string.h>

/* What a value of the graph is here. */
typedef enum read_kind {
    READ_NODE,   /* of the DAG; an input or a buffer of launches */
    READ_VIEW,   /* node: only its dtype and sizes; of base */
    READ_ITEM,   /* of the group being read */
    READ_SOURCE, /* a parameter or a constant */
} read_kind;

typedef struct read_value {
    read_kind kind;
    const lz_ir_value *value;
    const lz_ln *node;
    uint32_t item, step;
    uint32_t base; /* of a view: 1 + that value */
    int64_t offset;
    const int64_t *strides;
} read_value;

typedef struct read_buffer {
    const lz_ln *node;
    lz_lbuffer memory;
} read_buffer;

typedef struct reader {
    lz_graph *g;
    lz_lowered *l;
    lz_lower *b;
    LZ_VEC(read_value) values; /* by the mark of a value, from 1 */
    LZ_VEC(read_buffer) buffers;
    LZ_VEC(uint32_t) aliases; /* views that stand for their buffer with other sizes */
    lz_group *group;          /* being read */
    bool memory;              /* lz::memory has been seen */
} reader;

static lz_err *wrong(const reader *r, const lz_ir_node *n, const char *what)
{
    return lz_ir_error(r->g, n, LZ_ERR_MODEL, "%s", what);
}

/* ---- attributes ---- */

static lz_err *find(const reader *r, const lz_ir_node *n, const char *name, lz_gv_kind kind, lz_gv *out)
{
    const lz_ir_attr *a = lz_ir_attr_find(n, name);
    if (!a || a->type || a->value.kind != kind)
        return lz_ir_error(r->g, n, LZ_ERR_MODEL, "attribute '%s' is missing or of another kind", name);
    *out = a->value;
    return NULL;
}

static lz_err *get_int(const reader *r, const lz_ir_node *n, const char *name, int64_t *out)
{
    lz_gv v;
    LZ_TRY(find(r, n, name, LZ_GV_INT, &v));
    *out = v.i;
    return NULL;
}

static lz_err *get_int_or(const reader *r, const lz_ir_node *n, const char *name, int64_t absent,
                          int64_t *out)
{
    *out = absent;
    return lz_ir_attr_find(n, name) ? get_int(r, n, name, out) : NULL;
}

static lz_err *get_str(const reader *r, const lz_ir_node *n, const char *name, lz_str *out)
{
    lz_gv v;
    LZ_TRY(find(r, n, name, LZ_GV_STR, &v));
    *out = lz_gv_text(v);
    return NULL;
}

static lz_err *ints_of(const reader *r, const lz_ir_node *n, const char *name, lz_gv v, int64_t *out)
{
    for (size_t i = 0; i < v.list->len; i++) {
        if (v.list->data[i].kind != LZ_GV_INT)
            return lz_ir_error(r->g, n, LZ_ERR_MODEL, "attribute '%s' has something that is no int", name);
        out[i] = v.list->data[i].i;
    }
    return NULL;
}

/* Of any length; up to LZ_MAX_DIMS where that is the most there can be. */
static lz_err *get_ints(const reader *r, const lz_ir_node *n, const char *name, lz_ints *out)
{
    lz_gv v;
    int64_t *list;
    LZ_TRY(find(r, n, name, LZ_GV_LIST, &v));
    LZ_TRY(lz_arena_new(r->b->arena, &list, v.list->len + 1));
    *out = (lz_ints){ list, (int64_t)v.list->len };
    return ints_of(r, n, name, v, list);
}

static lz_err *get_exactly(const reader *r, const lz_ir_node *n, const char *name, int64_t count,
                           const int64_t **out)
{
    lz_ints v;
    LZ_TRY(get_ints(r, n, name, &v));
    *out = v.v;
    if (v.n == count)
        return NULL;
    return lz_ir_error(r->g, n, LZ_ERR_MODEL, "attribute '%s' has %lld numbers, not %lld", name,
                       (long long)v.n, (long long)count);
}

/* rows < 0: any number of them, told in *rows. */
static lz_err *get_rows(const reader *r, const lz_ir_node *n, const char *name, int64_t *rows, int64_t width,
                        int64_t **out)
{
    lz_gv v;
    LZ_TRY(find(r, n, name, LZ_GV_LIST, &v));
    if (*rows >= 0 && (int64_t)v.list->len != *rows)
        return lz_ir_error(r->g, n, LZ_ERR_MODEL, "attribute '%s' has %zu rows, not %lld", name, v.list->len,
                           (long long)*rows);
    *rows = (int64_t)v.list->len;
    LZ_TRY(lz_arena_new(r->b->arena, out, (size_t)(*rows * width) + 1));
    for (int64_t i = 0; i < *rows; i++) {
        lz_gv row = v.list->data[i];
        if (row.kind != LZ_GV_LIST || (int64_t)row.list->len != width)
            return lz_ir_error(r->g, n, LZ_ERR_MODEL, "a row of attribute '%s' has not %lld numbers", name,
                               (long long)width);
        LZ_TRY(ints_of(r, n, name, row, *out + i * width));
    }
    return NULL;
}

static lz_err *get_bits(const reader *r, const lz_ir_node *n, const char *name, uint64_t *out)
{
    lz_ints v;
    *out = 0;
    LZ_TRY(get_ints(r, n, name, &v));
    for (int64_t i = 0; i < v.n; i++) {
        if (v.v[i] < 0 || v.v[i] >= 64 || (i && v.v[i] <= v.v[i - 1]))
            return lz_ir_error(r->g, n, LZ_ERR_MODEL, "attribute '%s' must be ascending and below 64", name);
        *out |= UINT64_C(1) << v.v[i];
    }
    return NULL;
}

/* ---- values ---- */

static lz_err *know(reader *r, lz_ir_value *v, read_value what)
{
    what.value = v;
    LZ_TRY(lz_vec_push(&r->values, what));
    v->mark = (uint32_t)r->values.len;
    return NULL;
}

static lz_err *value_of(const reader *r, const lz_ir_node *n, uint32_t i, read_value **out)
{
    uint32_t mark = i < n->nin ? lz_ir_in(n, i)->mark : 0;
    *out = mark && mark <= r->values.len ? &r->values.data[mark - 1] : NULL;
    if (*out && (*out)->value == lz_ir_in(n, i))
        return NULL;
    return lz_ir_error(r->g, n, LZ_ERR_MODEL, "operand %u is missing or nothing that is lowered", i + 1);
}

/* The complete type of the only output. */
static lz_err *type_of(const reader *r, const lz_ir_node *n, lz_dtype *dtype, lz_ints *sizes)
{
    const lz_tensor_facts *t =
        n->nout == 1 && n->out[0]->type->kind == LZ_TY_TENSOR ? n->out[0]->type->tensor : NULL;
    bool ok = t && t->dtype != LZ_DTYPE_NONE && t->rank >= 0;
    for (int i = 0; ok && i < t->rank; i++)
        ok = t->sizes[i] >= 0;
    if (!ok)
        return wrong(r, n, "one output is needed, with dtype and sizes in its type");
    *dtype = t->dtype;
    *sizes = (lz_ints){ t->sizes, t->rank };
    if (lz_ktype_of(*dtype) == LZ_KTYPES)
        return lz_ir_error(r->g, n, LZ_ERR_UNSUPPORTED, "no kernel computes this dtype");
    lz_err *e = lz_shape_check(*sizes);
    if (!e)
        return NULL;
    lz_err *placed = wrong(r, n, lz_err_text(e));
    lz_err_free(e);
    return placed;
}

/* ---- nodes that functions of the builder make ---- */

typedef struct reading {
    const lz_ir_node *n;
    lz_low_proto p; /* in: of operands that are nodes or items */
    int64_t attr[3];
} reading;

typedef lz_err *read_fn(reader *r, reading *at, const lz_ln **out);

/* The slot of a source; new ones are added. */
static lz_err *source_slot(reader *r, const lz_ir_node *n, bool number, int64_t *out)
{
    read_value *v;
    LZ_TRY(value_of(r, n, 0, &v));
    if (v->kind != READ_SOURCE || n->nin < 1)
        return wrong(r, n, "a parameter or constant is needed");
    lz_type_kind k = v->value->type->kind;
    if (number ? k != LZ_TY_INT && k != LZ_TY_FLOAT && k != LZ_TY_BOOL : k != LZ_TY_TENSOR)
        return wrong(r, n, "what it takes is of another type");
    lz_lsource s = { .param = LZ_NO_PARAM, .type = v->value->type };
    if (v->value->node == r->g->block->param)
        s.param = v->value->index;
    else
        lz_ir_const(v->value, &s.value);
    if (number && s.param == LZ_NO_PARAM)
        return wrong(r, n, "a parameter is needed");
    for (size_t i = 0; i < (number ? r->l->scalars.len : r->l->inputs.len); i++) {
        const lz_lsource *x = number ? &r->l->scalars.data[i] : &r->l->inputs.data[i];
        *out = (int64_t)i;
        if (x->param == s.param && (s.param != LZ_NO_PARAM || x->value.box == s.value.box))
            return NULL;
    }
    *out = (int64_t)(number ? r->l->scalars.len : r->l->inputs.len);
    return number ? lz_vec_push(&r->l->scalars, s) : lz_vec_push(&r->l->inputs, s);
}

static lz_err *read_input(reader *r, reading *at, const lz_ln **out)
{
    int64_t slot, offset;
    const int64_t *strides;
    LZ_TRY(source_slot(r, at->n, false, &slot));
    LZ_TRY(get_int(r, at->n, "offset", &offset));
    LZ_TRY(get_exactly(r, at->n, "strides", at->p.sizes.n, &strides));
    return lz_low_input(r->b, slot, at->p.dtype, at->p.sizes, (lz_ints){ strides, at->p.sizes.n }, offset,
                        out);
}

static lz_err *read_scalar(reader *r, reading *at, const lz_ln **out)
{
    static const lz_dtype dtypes[LZ_TY_COUNT] = {
        [LZ_TY_INT] = LZ_I64, [LZ_TY_FLOAT] = LZ_F64, [LZ_TY_BOOL] = LZ_BOOL
    };
    int64_t slot;
    LZ_TRY(source_slot(r, at->n, true, &slot));
    return lz_low_scalar(r->b, slot, dtypes[r->l->scalars.data[slot].type->kind], out);
}

static lz_err *read_const(reader *r, reading *at, const lz_ln **out)
{
    const lz_ir_attr *a = lz_ir_attr_find(at->n, "value");
    lz_gv v = a && !a->type ? a->value : lz_gv_none();
    bool real = lz_dtype_is_float(at->p.dtype);
    if (v.kind != LZ_GV_INT && v.kind != LZ_GV_FLOAT && v.kind != LZ_GV_BOOL)
        return wrong(r, at->n, "attribute 'value' must be a number");
    if (v.kind == LZ_GV_FLOAT && !real)
        return wrong(r, at->n, "a float is not of this dtype");
    lz_scalar s = v.kind == LZ_GV_FLOAT  ? lz_scalar_float(v.f)
                  : v.kind == LZ_GV_BOOL ? lz_scalar_bool(v.b)
                                         : lz_scalar_int(v.i);
    return lz_low_make_const(r->b, s, at->p.dtype, at->p.number, out);
}

static lz_err *read_iota(reader *r, reading *at, const lz_ln **out)
{
    int64_t offset;
    const int64_t *strides;
    LZ_TRY(get_int(r, at->n, "offset", &offset));
    LZ_TRY(get_exactly(r, at->n, "strides", at->p.sizes.n, &strides));
    return lz_low_iota(r->b, at->p.sizes, offset, (lz_ints){ strides, at->p.sizes.n }, out);
}

static lz_err *read_map(reader *r, reading *at, const lz_ln **out)
{
    lz_str name;
    lz_kop op;
    LZ_TRY(get_str(r, at->n, "op", &name));
    if (!lz_kop_find(name, &op))
        return wrong(r, at->n, "there is no such scalar operation");
    if (at->p.nin != (size_t)lz_kop_operands(op))
        return lz_ir_error(r->g, at->n, LZ_ERR_MODEL, "%s takes %d operands", lz_kop_text(op),
                           lz_kop_operands(op));
    lz_err *e = lz_low_make_map(r->b, op, at->p.in, at->p.number, out);
    if (!e || lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_err *placed = wrong(r, at->n, lz_err_text(e));
    lz_err_free(e);
    return placed;
}

/* ---- nodes that are made as they are ---- */

static lz_err *make(reader *r, reading *at, const void *attr, size_t size, const lz_ln **out)
{
    at->p.attr = attr;
    at->p.attr_size = size;
    const char *why = lz_low_check(&at->p);
    return why ? wrong(r, at->n, why) : lz_low_intern(r->b, &at->p, out);
}

static lz_err *read_plain(reader *r, reading *at, const lz_ln **out)
{
    return make(r, at, NULL, 0, out);
}

static lz_err *read_philox(reader *r, reading *at, const lz_ln **out)
{
    int64_t word;
    LZ_TRY(get_int(r, at->n, "word", &word));
    at->p.op = word >= 0 && word < 4 ? (uint16_t)word : UINT16_MAX;
    return make(r, at, NULL, 0, out);
}

static lz_err *read_check(reader *r, reading *at, const lz_ln **out)
{
    lz_lcheck a;
    LZ_TRY(get_int(r, at->n, "size", &a.size));
    LZ_TRY(get_int(r, at->n, "dim", &a.dim));
    LZ_TRY(get_int(r, at->n, "wrap", &a.wrap));
    return make(r, at, &a, sizeof a, out);
}

static lz_err *read_index(reader *r, reading *at, const lz_ln **out)
{
    int64_t rows = at->p.nin ? at->p.in[0]->ndim : 0, cols = at->p.sizes.n, *map;
    const int64_t *offset;
    uint64_t bounded = 0;
    LZ_TRY(get_exactly(r, at->n, "offset", rows, &offset));
    LZ_TRY(get_rows(r, at->n, "map", &rows, cols, &map));
    if (lz_ir_attr_find(at->n, "bounded"))
        LZ_TRY(get_bits(r, at->n, "bounded", &bounded));
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

static lz_err *reduce_op(reader *r, reading *at)
{
    lz_str name;
    lz_kreduce op;
    LZ_TRY(get_str(r, at->n, "op", &name));
    if (!lz_reduce_find(name, &op))
        return wrong(r, at->n, "there is no such reduction");
    at->p.op = (uint16_t)op;
    return NULL;
}

static lz_err *read_reduce(reader *r, reading *at, const lz_ln **out)
{
    lz_lreduce a;
    LZ_TRY(reduce_op(r, at));
    LZ_TRY(get_bits(r, at->n, "dims", &a.dims));
    if (!at->p.nin && !r->group)
        return wrong(r, at->n, "a reduction takes one tensor");
    return make(r, at, &a, sizeof a, out);
}

static lz_err *read_dim(reader *r, reading *at, const lz_ln **out)
{
    lz_ldim a;
    if (at->p.kind == LZ_L_SCAN)
        LZ_TRY(reduce_op(r, at));
    LZ_TRY(get_int(r, at->n, "dim", &a.dim));
    return make(r, at, &a, sizeof a, out);
}

static lz_err *read_update(reader *r, reading *at, const lz_ln **out)
{
    int64_t attr[1 + LZ_MAX_DIMS], n = at->p.nin == 2 ? at->p.in[1]->ndim : 0;
    const int64_t *strides;
    LZ_TRY(get_int(r, at->n, "offset", &attr[0]));
    LZ_TRY(get_exactly(r, at->n, "strides", n, &strides));
    for (int64_t d = 0; d < n; d++)
        attr[1 + d] = at->p.in[1]->sizes[d] == 1 ? 0 : strides[d];
    return make(r, at, attr, (size_t)(1 + n) * sizeof *attr, out);
}

static lz_err *read_call(reader *r, reading *at, const lz_ln **out)
{
    lz_str name;
    lz_ints params = { 0 };
    LZ_TRY(get_str(r, at->n, "op", &name));
    lz_lcall_op op = lz_call_find(name);
    if (op == LZ_CALLS)
        return wrong(r, at->n, "there is no such kernel");
    at->p.op = (uint16_t)op;
    if (lz_ir_attr_find(at->n, "params"))
        LZ_TRY(get_ints(r, at->n, "params", &params));
    return make(r, at, params.v, (size_t)params.n * sizeof *params.v, out);
}

static read_fn *const readers[LZ_L_KINDS] = {
    [LZ_L_INPUT] = read_input,   [LZ_L_SCALAR] = read_scalar, [LZ_L_CONST] = read_const,
    [LZ_L_IOTA] = read_iota,     [LZ_L_MAP] = read_map,       [LZ_L_CAST] = read_plain,
    [LZ_L_PHILOX] = read_philox, [LZ_L_CHECK] = read_check,   [LZ_L_INDEX] = read_index,
    [LZ_L_RESHAPE] = read_plain, [LZ_L_REDUCE] = read_reduce, [LZ_L_SCAN] = read_dim,
    [LZ_L_GATHER] = read_dim,    [LZ_L_CAT] = read_dim,       [LZ_L_UPDATE] = read_update,
    [LZ_L_CALL] = read_call,
};

static bool takes_source(lz_lkind kind)
{
    return kind == LZ_L_INPUT || kind == LZ_L_SCALAR;
}

static bool is_leaf(lz_lkind kind)
{
    return kind <= LZ_L_IOTA;
}

/* Something with a dtype and sizes that is like no other. */
static lz_err *new_shape(reader *r, lz_dtype d, lz_ints sizes, const lz_ln **out)
{
    lz_lscalar number = { (int64_t)r->b->n_nodes };
    return lz_low_intern(
        r->b,
        &(lz_low_proto){
            .kind = LZ_L_BUFFER, .dtype = d, .sizes = sizes, .attr = &number, .attr_size = sizeof number },
        out);
}

/* The operands, from the first on: nodes of the DAG, or items of the group. */
static lz_err *operands(reader *r, reading *at, read_kind kind)
{
    const lz_ln **in;
    uint32_t n = takes_source(at->p.kind) ? 0 : at->n->nin;
    LZ_TRY(lz_arena_new(r->b->arena, &in, n + 1));
    for (uint32_t i = 0; i < n; i++) {
        read_value *v;
        LZ_TRY(value_of(r, at->n, i, &v));
        bool data = kind == READ_ITEM && at->p.kind == LZ_L_GATHER && i == 0; /* lies in memory */
        if (data ? v->kind != READ_NODE && v->kind != READ_VIEW
                 : v->kind != kind || (kind == READ_ITEM && v->step != r->l->fused.steps.len))
            return lz_ir_error(r->g, at->n, LZ_ERR_MODEL, "operand %u is not one that can stand here", i + 1);
        in[i] = v->node;
        if (data) /* seen through the item's view, as large as the item but along dim */
            LZ_TRY(new_shape(r, (lz_dtype)v->node->dtype, at->p.sizes, &in[i]));
    }
    if (n > UINT16_MAX)
        return lz_ir_error(r->g, at->n, LZ_ERR_LIMIT, "more than %d operands", UINT16_MAX);
    at->p.in = in;
    at->p.nin = n;
    return NULL;
}

static lz_err *read_node(reader *r, const lz_ir_node *n, lz_lkind kind, const lz_ln **out)
{
    reading at = { .n = n, .p = { .kind = kind } };
    int64_t number;
    if (n->nblocks || kind == LZ_L_BUFFER)
        return wrong(r, n, "this cannot stand here");
    LZ_TRY(type_of(r, n, &at.p.dtype, &at.p.sizes));
    LZ_TRY(get_int_or(r, n, "number", 0, &number));
    at.p.number = number != 0 && kind != LZ_L_SCALAR;
    LZ_TRY(operands(r, &at, r->group ? READ_ITEM : READ_NODE));
    if (is_leaf(kind) && n->nin != (takes_source(kind) ? 1 : 0))
        return wrong(r, n, "it takes another number of operands");
    LZ_TRY(readers[kind](r, &at, out));
    if ((*out)->dtype != (int8_t)at.p.dtype || !lz_shape_eq(lz_ln_sizes(*out), at.p.sizes))
        return wrong(r, n, "dtype or sizes are not those of the result");
    return NULL;
}

/* ---- items of groups ---- */

static lz_err *get_place(reader *r, const lz_ir_node *n, const lz_ln *x, uint32_t mask, int64_t **rows)
{
    int64_t count = x->ndim, width = lz_group_width(r->group);
    if (lz_ir_attr_find(n, "at"))
        LZ_TRY(get_rows(r, n, "at", &count, width, rows));
    else {
        LZ_TRY(lz_group_rows(r->group, count, rows));
        for (int64_t d = 0; d < count && d < r->group->n_loops; d++)
            (*rows)[d * width + 1 + d] = 1;
        if (!lz_rows_plain(r->group, *rows, count))
            return wrong(r, n, "attribute 'at' is missing: dimensions are not loops");
    }
    for (int64_t d = 0; !mask && d < count; d++)
        if (!lz_row_within(r->group, *rows + d * lz_group_width(r->group), x->sizes[d]))
            return wrong(r, n, "its place leaves the tensor");
    return NULL;
}

static lz_err *get_mask(reader *r, const lz_ir_node *n, int64_t v, uint32_t *out)
{
    if (v < 0 || (uint64_t)v >= r->group->masks.len)
        return wrong(r, n, "there is no such mask");
    *out = (uint32_t)v;
    return NULL;
}

/* A view stands for its buffer if it shows all of it in order. */
static lz_err *memory_node(reader *r, const lz_ir_node *n, uint32_t i, const lz_ln **out)
{
    read_value *v;
    int64_t dense[LZ_MAX_DIMS];
    LZ_TRY(value_of(r, n, i, &v));
    *out = v->node;
    if (v->kind == READ_NODE && (v->node->kind == LZ_L_INPUT || v->node->kind == LZ_L_BUFFER))
        return NULL;
    bool same = v->kind == READ_VIEW && v->offset == 0 && v->base;
    const lz_ln *base = same ? r->values.data[v->base - 1].node : NULL;
    same =
        same && base->kind == LZ_L_BUFFER && base->numel == v->node->numel && base->dtype == v->node->dtype;
    if (same)
        lz_row_major(lz_ln_sizes(v->node), dense);
    for (int64_t d = 0; same && d < v->node->ndim; d++)
        same = v->node->sizes[d] == 1 || v->strides[d] == dense[d];
    return same ? lz_vec_push(&r->aliases, lz_ir_in(n, i)->mark)
                : lz_ir_error(r->g, n, LZ_ERR_MODEL, "operand %u is no input or buffer, nor all of one",
                              i + 1);
}

static lz_err *read_load(reader *r, const lz_ir_node *n, lz_gitem *it)
{
    lz_dtype d;
    lz_ints sizes;
    LZ_TRY(type_of(r, n, &d, &sizes));
    LZ_TRY(memory_node(r, n, 0, &it->node));
    if (it->node->dtype != (int8_t)d || !lz_shape_eq(lz_ln_sizes(it->node), sizes) || n->nin != 1)
        return wrong(r, n, "a load has the dtype and sizes of what it loads from");
    it->load = true;
    r->group->n_loads++;
    return lz_dense_view(r->b->arena, it->node, &it->view);
}

static lz_err *gather_view(reader *r, const lz_ir_node *n, lz_gitem *it)
{
    const int64_t *strides;
    LZ_TRY(memory_node(r, n, 0, &it->view.base));
    LZ_TRY(get_int(r, n, "offset", &it->view.offset));
    LZ_TRY(get_exactly(r, n, "strides", it->node->ndim, &strides));
    it->view.strides = (int64_t *)strides;
    r->group->n_loads++;
    return NULL;
}

static lz_err *read_computed(reader *r, const lz_ir_node *n, lz_lkind kind, lz_gitem *it)
{
    uint32_t first = kind == LZ_L_GATHER || kind == LZ_L_SCALAR ? 1 : 0;
    bool fuses = kind != LZ_L_INPUT && kind != LZ_L_UPDATE && kind != LZ_L_CALL;
    if (!fuses || n->nin - first > LZ_ITEM_INPUTS || n->nin < first)
        return wrong(r, n, "a group cannot compute this");
    LZ_TRY(read_node(r, n, kind, &it->node));
    for (uint32_t i = first; i < n->nin; i++)
        it->in[it->nin++] = r->values.data[lz_ir_in(n, i)->mark - 1].item;
    return kind == LZ_L_GATHER ? gather_view(r, n, it) : NULL;
}

static lz_err *read_masks(reader *r, const lz_ir_node *n, lz_gitem *it)
{
    const int64_t *masks;
    for (int i = 0; i < it->nin; i++)
        it->in_mask[i] = it->mask;
    if (!lz_ir_attr_find(n, "masks"))
        return NULL;
    LZ_TRY(get_exactly(r, n, "masks", it->nin, &masks));
    for (int i = 0; i < it->nin; i++)
        LZ_TRY(get_mask(r, n, masks[i], &it->in_mask[i]));
    return NULL;
}

static lz_err *read_item(reader *r, lz_ir_node *n)
{
    lz_gitem it = { 0 };
    lz_lkind kind;
    int64_t mask;
    uint32_t item;
    bool load = lz_ir_named(n, "lz::load");
    if (!load && !lz_lkind_find(n->sym->name, &kind))
        return wrong(r, n, "this cannot stand in a group");
    if (r->group->items.len >= LZ_GROUP_ITEMS || r->group->n_loads >= LZ_GROUP_LOADS)
        return lz_ir_error(r->g, n, LZ_ERR_LIMIT, "a group has at most %d items and %d loads", LZ_GROUP_ITEMS,
                           LZ_GROUP_LOADS);
    LZ_TRY(get_int_or(r, n, "mask", 0, &mask));
    LZ_TRY(get_mask(r, n, mask, &it.mask));
    LZ_TRY(load ? read_load(r, n, &it) : read_computed(r, n, kind, &it));
    LZ_TRY(get_place(r, n, it.node, it.mask, &it.rows));
    LZ_TRY(read_masks(r, n, &it));
    LZ_TRY(lz_group_push(r->group, &it, &item));
    return know(
        r, n->out[0],
        (read_value){ READ_ITEM, .node = it.node, .item = item, .step = (uint32_t)r->l->fused.steps.len });
}

static lz_err *read_store(reader *r, const lz_ir_node *n)
{
    read_value *v;
    lz_gstore s = { 0 };
    const int64_t *row;
    LZ_TRY(value_of(r, n, 0, &v));
    if (v->kind != READ_ITEM || v->step != r->l->fused.steps.len || n->nin != 2 || n->nout || n->nblocks)
        return wrong(r, n, "a store takes an item of the group and a buffer");
    s.item = v->item;
    LZ_TRY(memory_node(r, n, 1, &s.target));
    LZ_TRY(get_exactly(r, n, "at", lz_group_width(r->group), &row));
    s.row = (int64_t *)row;
    if (s.target->kind == LZ_L_INPUT || s.target->dtype != r->group->items.data[s.item].node->dtype)
        return wrong(r, n, "a store goes to a buffer of the same dtype");
    if (!lz_row_within(r->group, row, s.target->numel))
        return wrong(r, n, "its place leaves the buffer");
    if (r->group->stores.len >= LZ_GROUP_STORES)
        return lz_ir_error(r->g, n, LZ_ERR_LIMIT, "a group has at most %d stores", LZ_GROUP_STORES);
    return lz_vec_push(&r->group->stores, s);
}

/* ---- groups ---- */

static lz_err *read_loops(reader *r, const lz_ir_node *n, lz_group *g)
{
    lz_ints loops;
    int64_t columns;
    LZ_TRY(get_ints(r, n, "loops", &loops));
    if (loops.n > LZ_GROUP_LOOPS)
        return lz_ir_error(r->g, n, LZ_ERR_LIMIT, "a group has at most %d loops", LZ_GROUP_LOOPS);
    for (int64_t i = 0; i < loops.n; i++) {
        if (loops.v[i] < 0)
            return wrong(r, n, "a loop has no fewer than 0 steps");
        g->extents[g->n_loops++] = loops.v[i];
    }
    lz_err *e = lz_shape_check(loops);
    lz_err_free(e);
    if (e)
        return wrong(r, n, "the loops have too many steps");
    g->row_known = lz_ir_attr_find(n, "row") != NULL;
    if (g->row_known)
        LZ_TRY(get_bits(r, n, "row", &g->row));
    if (g->row >> g->n_loops)
        return wrong(r, n, "a loop of the row is not there");
    LZ_TRY(get_int_or(r, n, "columns", 0, &columns));
    g->columns = columns != 0;
    return NULL;
}

static lz_err *read_group_masks(reader *r, const lz_ir_node *n, lz_group *g)
{
    int64_t rows = -1, width = lz_group_width(g), *v;
    if (!lz_ir_attr_find(n, "masks"))
        return NULL;
    LZ_TRY(get_rows(r, n, "masks", &rows, 2 + width, &v));
    if (rows >= LZ_GROUP_MASKS)
        return lz_ir_error(r->g, n, LZ_ERR_LIMIT, "a group has at most %d masks", LZ_GROUP_MASKS - 1);
    for (int64_t i = 0; i < rows; i++, v += 2 + width) {
        lz_gmask m = { .size = v[1], .row = v + 2 };
        LZ_TRY(get_mask(r, n, v[0], &m.parent));
        lz_mask_sides(g, &m);
        if (!m.low && !m.high)
            return wrong(r, n, "a mask that always holds");
        LZ_TRY(lz_vec_push(&g->masks, m));
    }
    return NULL;
}

static lz_err *read_items(reader *r, const lz_ir_node *n)
{
    LZ_TRY(read_loops(r, n, r->group));
    LZ_TRY(read_group_masks(r, n, r->group));
    for (lz_ir_node *x = lz_ir_first(n->blocks[0]); x != n->blocks[0]->ret; x = x->next) {
        LZ_TRY(lz_vec_push(&r->l->origins, x->loc));
        r->b->origin = (uint32_t)r->l->origins.len - 1;
        LZ_TRY(lz_ir_named(x, "lz::store") ? read_store(r, x) : read_item(r, x));
    }
    return r->group->stores.len ? NULL : wrong(r, n, "a group stores something");
}

static lz_err *read_group(reader *r, lz_ir_node *n)
{
    lz_group *g;
    uint32_t origin = r->b->origin;
    if (n->nblocks != 1 || n->blocks[0]->param->nout || n->blocks[0]->ret->nin || n->nin || n->nout)
        return wrong(r, n, "a group has one block, and neither operands nor results");
    LZ_TRY(lz_arena_new(r->b->arena, &g, 1));
    lz_err *e = lz_group_init(g, r->b->arena);
    r->group = g;
    e = e ? e : read_items(r, n);
    r->group = NULL;
    e = e ? e : lz_vec_push(&r->l->fused.order, (uint32_t)r->l->fused.steps.len);
    e = e ? e
          : lz_vec_push(&r->l->fused.steps, (lz_step){ .group = g, .origin = origin, .after = LZ_NO_STEP });
    if (e)
        lz_group_deinit(g);
    return e;
}

/* ---- calls ---- */

/* What a call reads: a view, or all of an input or buffer. */
static lz_err *call_view(reader *r, const lz_ir_node *n, uint32_t i, const lz_ln **shape, lz_gview *out)
{
    read_value *v;
    LZ_TRY(value_of(r, n, i, &v));
    *shape = v->node;
    if (v->kind == READ_NODE && (v->node->kind == LZ_L_INPUT || v->node->kind == LZ_L_BUFFER))
        return lz_dense_view(r->b->arena, v->node, out);
    if (v->kind != READ_VIEW || !v->base || r->values.data[v->base - 1].kind != READ_NODE)
        return lz_ir_error(r->g, n, LZ_ERR_MODEL, "operand %u is no view of an input or buffer", i + 1);
    *out = (lz_gview){ r->values.data[v->base - 1].node, v->offset, (int64_t *)v->strides };
    return NULL;
}

static lz_err *read_run(reader *r, lz_ir_node *n)
{
    const lz_ln *in[LZ_CALL_INPUTS], *target, *node;
    reading at = { .n = n, .p = { .kind = LZ_L_CALL, .in = in } };
    lz_gcall *c;
    LZ_TRY(lz_arena_new(r->b->arena, &c, 1));
    if (n->nin < 1 || n->nin > LZ_CALL_INPUTS + 1 || n->nout || n->nblocks)
        return wrong(r, n, "a kernel takes one to four views and a buffer, and gives nothing");
    for (; at.p.nin < n->nin - 1; at.p.nin++)
        LZ_TRY(call_view(r, n, (uint32_t)at.p.nin, &in[at.p.nin], &c->in[at.p.nin]));
    LZ_TRY(memory_node(r, n, n->nin - 1, &target));
    if (target->kind == LZ_L_INPUT)
        return wrong(r, n, "a kernel writes to a buffer");
    at.p.dtype = (lz_dtype)target->dtype;
    at.p.sizes = lz_ln_sizes(target);
    LZ_TRY(read_call(r, &at, &node));
    c->node = node;
    c->target = target;
    LZ_TRY(lz_vec_push(&r->l->fused.order, (uint32_t)r->l->fused.steps.len));
    return lz_vec_push(&r->l->fused.steps,
                       (lz_step){ .call = c, .origin = r->b->origin, .after = LZ_NO_STEP });
}

/* ---- buffers and views ---- */

static lz_err *read_placed(reader *r, const lz_ir_node *n, lz_lbuffer *m)
{
    lz_str kind;
    if (!lz_ir_attr_find(n, "kind"))
        return NULL;
    LZ_TRY(get_str(r, n, "kind", &kind));
    m->output = lz_str_is(kind, "output");
    if (!m->output && !lz_str_is(kind, "temporary"))
        return wrong(r, n, "a buffer is a temporary or an output");
    m->placed = true;
    LZ_TRY(get_int(r, n, "bytes", &m->bytes));
    return m->output ? NULL : get_int(r, n, "where", &m->where);
}

static lz_err *read_buffer_node(reader *r, lz_ir_node *n)
{
    lz_dtype d;
    lz_ints sizes;
    read_buffer made = { 0 };
    read_value *v = NULL;
    LZ_TRY(type_of(r, n, &d, &sizes));
    LZ_TRY(new_shape(r, d, sizes, &made.node));
    if (n->nin)
        LZ_TRY(value_of(r, n, 0, &v));
    bool memory = v && v->kind == READ_NODE && (v->node->kind == LZ_L_INPUT || v->node->kind == LZ_L_BUFFER);
    if (n->nin > 1 || n->nblocks || (v && (!memory || v->node->dtype != made.node->dtype)))
        return wrong(r, n, "a buffer takes the memory of one input or buffer of the same dtype, or of none");
    if (v && v->node->kind == LZ_L_BUFFER && v->node->numel != made.node->numel)
        return wrong(r, n, "a buffer takes the memory of one of the same size");
    made.memory.shares = v ? v->node : NULL;
    LZ_TRY(read_placed(r, n, &made.memory));
    LZ_TRY(lz_vec_push(&r->buffers, made));
    return know(r, n->out[0], (read_value){ READ_NODE, .node = made.node });
}

static lz_err *read_view(reader *r, lz_ir_node *n)
{
    lz_dtype d;
    lz_ints sizes;
    read_value *v, made = { .kind = READ_VIEW };
    LZ_TRY(type_of(r, n, &d, &sizes));
    LZ_TRY(value_of(r, n, 0, &v));
    if (n->nin != 1 || n->nblocks || (v->kind != READ_NODE && v->kind != READ_SOURCE)
        || (v->kind == READ_NODE && v->node->dtype != (int8_t)d))
        return wrong(r, n, "a view takes one tensor of the same dtype");
    made.base = lz_ir_in(n, 0)->mark;
    LZ_TRY(get_int(r, n, "offset", &made.offset));
    LZ_TRY(get_exactly(r, n, "strides", sizes.n, &made.strides));
    LZ_TRY(new_shape(r, d, sizes, &made.node));
    return know(r, n->out[0], made);
}

/* ---- results ---- */

static lz_err *output_of(reader *r, const lz_ln *x, int32_t *out)
{
    for (size_t i = 0; i < r->l->outputs.len; i++)
        if (r->l->outputs.data[i] == x) {
            *out = (int32_t)i;
            return NULL;
        }
    *out = (int32_t)r->l->outputs.len;
    return lz_vec_push(&r->l->outputs, x);
}

/* The slot of a source that nothing may have read. */
static lz_err *slot_of(reader *r, const lz_ir_node *n, const lz_ir_value *v, int64_t *out)
{
    lz_ir_use use = { .value = (lz_ir_value *)v };
    lz_ir_node one = *n;
    one.in = &use;
    one.nin = 1;
    return source_slot(r, &one, false, out);
}

static lz_err *read_assign(reader *r, lz_ir_node *n)
{
    read_value *to, *from;
    lz_lwrite w;
    LZ_TRY(value_of(r, n, 0, &to));
    LZ_TRY(value_of(r, n, 1, &from));
    if (n->nin != 2 || n->nout || n->nblocks || to->kind != READ_SOURCE || from->kind == READ_SOURCE
        || from->kind == READ_ITEM)
        return wrong(r, n, "a parameter is assigned a tensor");
    const lz_ln *x = from->node;
    if (from->kind == READ_VIEW)
        LZ_TRY(memory_node(r, n, 1, &x));
    LZ_TRY(slot_of(r, n, to->value, &w.slot));
    LZ_TRY(output_of(r, x, &w.output));
    return lz_vec_push(&r->l->writes, w);
}

static lz_err *read_result(reader *r, const lz_ir_node *ret, uint32_t i)
{
    read_value *v;
    lz_lresult x = { .output = -1 };
    LZ_TRY(value_of(r, ret, i, &v));
    read_value *base = v->kind == READ_VIEW ? &r->values.data[v->base - 1] : v;
    x.whole = v->kind != READ_VIEW;
    if (!x.whole) {
        x.dtype = (lz_dtype)v->node->dtype;
        x.sizes = lz_ln_sizes(v->node);
        x.strides = (lz_ints){ v->strides, v->node->ndim };
        x.offset = v->offset;
    }
    if (base->kind == READ_SOURCE)
        LZ_TRY(slot_of(r, ret, base->value, &x.slot));
    else
        LZ_TRY(output_of(r, base->node, &x.output));
    return lz_vec_push(&r->l->results, x);
}

/* ---- the graph ---- */

static lz_err *read_memory(reader *r, lz_ir_node *n)
{
    if (r->memory || n->nin || n->nout || n->nblocks)
        return wrong(r, n, "lz::memory stands once, alone");
    r->memory = r->l->placed = true;
    LZ_TRY(get_int(r, n, "temporaries", &r->l->temporaries));
    LZ_TRY(get_int(r, n, "peak", &r->l->peak));
    return get_int(r, n, "donated", &r->l->donated);
}

typedef lz_err *top_fn(reader *r, lz_ir_node *n);

static lz_err *top_constant(reader *r, lz_ir_node *n)
{
    return know(r, n->out[0], (read_value){ .kind = READ_SOURCE });
}

static const struct {
    const char *name;
    top_fn *read;
} tops[] = {
    { "lz::view", read_view },          { "lz::buffer", read_buffer_node },
    { "lz::group", read_group },        { "lz::run", read_run },
    { "lz::assign", read_assign },      { "lz::memory", read_memory },
    { "prim::Constant", top_constant },
};

static lz_err *read_top(reader *r, lz_ir_node *n)
{
    lz_lkind kind;
    const lz_ln *node;
    LZ_TRY(lz_vec_push(&r->l->origins, n->loc));
    r->b->origin = (uint32_t)r->l->origins.len - 1;
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++)
        if (lz_ir_named(n, tops[i].name))
            return tops[i].read(r, n);
    if (!lz_lkind_find(n->sym->name, &kind))
        return wrong(r, n, "a lowered graph has no such node");
    if (r->l->is_fused && kind != LZ_L_INPUT)
        return wrong(r, n, "what is computed stands in groups, once there are groups");
    LZ_TRY(read_node(r, n, kind, &node));
    return know(r, n->out[0], (read_value){ READ_NODE, .node = node });
}

static lz_err *finish_fused(reader *r)
{
    lz_fused *f = &r->l->fused;
    f->arena = r->b->arena;
    f->dag = r->b;
    LZ_TRY(lz_arena_new(r->b->arena, &f->nodes, r->b->n_nodes + 1));
    LZ_TRY(lz_arena_new(r->b->arena, &r->l->buffers, r->b->n_nodes + 1));
    for (size_t i = 0; i < r->buffers.len; i++) {
        f->nodes[r->buffers.data[i].node->id].buffer = true;
        r->l->buffers[r->buffers.data[i].node->id] = r->buffers.data[i].memory;
    }
    for (size_t i = 0; i < r->aliases.len; i++) {
        const read_value *v = &r->values.data[r->aliases.data[i] - 1];
        f->nodes[v->node->id].alias = r->values.data[v->base - 1].node;
    }
    return NULL;
}

static lz_err *read(reader *r)
{
    const lz_ir_block *b = r->g->block;
    for (lz_ir_node *n = lz_ir_first(b); n; n = lz_ir_next(n))
        for (uint32_t i = 0; i < n->nout; i++)
            n->out[i]->mark = 0;
    for (uint32_t i = 0; i < b->param->nout; i++)
        LZ_TRY(know(r, b->param->out[i], (read_value){ .kind = READ_SOURCE }));
    for (lz_ir_node *n = lz_ir_first(b); n != b->ret; n = n->next)
        LZ_TRY(read_top(r, n));
    for (uint32_t i = 0; i < b->ret->nin; i++)
        LZ_TRY(read_result(r, b->ret, i));
    return r->l->is_fused ? finish_fused(r) : NULL;
}

lz_err *lz_lowered_read(lz_graph *g, lz_lower *dag, lz_lowered *out)
{
    reader r = { .g = g, .l = out, .b = dag };
    *out = (lz_lowered){ .graph = g, .dag = dag, .is_fused = lz_graph_is_fused(g) };
    lz_err *e = read(&r);
    lz_vec_deinit(&r.values);
    lz_vec_deinit(&r.buffers);
    lz_vec_deinit(&r.aliases);
    if (e)
        lz_lowered_deinit(out);
    return e;
}
