/* Builds kernels: checks operands, hash-conses nodes, computes levels. */
#include "base/mem.h"
#include "jit/kernel_ir.h"
#include "jit/kernel_set.h"
#include "jit/program.h"
#include <assert.h>
#include <string.h>

struct lz_kernel_builder {
    lz_kernel_ir ir;
    lz_err *err; /* the first one; later calls do nothing */
    lz_hash_table table;
    lz_arena arena; /* owns the table's entries */
};

enum { BUILD_NODES = 4 * LZ_KERNEL_OPS }; /* limit while building; dead nodes are removed at the end */

lz_kernel_type lz_kernel_type_of(lz_dtype dtype)
{
    static const uint8_t types[] = {
        [LZ_BOOL] = 1 + LZ_KERNEL_BOOL, [LZ_U8] = 1 + LZ_KERNEL_I32,   [LZ_I8] = 1 + LZ_KERNEL_I32,
        [LZ_I16] = 1 + LZ_KERNEL_I32,   [LZ_I32] = 1 + LZ_KERNEL_I32,  [LZ_I64] = 1 + LZ_KERNEL_I64,
        [LZ_F16] = 1 + LZ_KERNEL_F32,   [LZ_BF16] = 1 + LZ_KERNEL_F32, [LZ_F32] = 1 + LZ_KERNEL_F32,
        [LZ_F64] = 1 + LZ_KERNEL_F64,
    };
    bool known = dtype >= 0 && (size_t)dtype < sizeof types && types[dtype];
    return known ? (lz_kernel_type)(types[dtype] - 1) : LZ_KERNEL_TYPES;
}

lz_err *lz_kernel_builder_create(lz_kernel_mode mode, int n_outer, int n_row, lz_kernel_builder **out)
{
    if (n_outer < 0 || n_row < 0 || n_outer + n_row > LZ_KERNEL_DIMS)
        return lz_errf(LZ_ERR_LIMIT, "a kernel of %d dimensions; at most %d", n_outer + n_row,
                       LZ_KERNEL_DIMS);
    lz_kernel_builder *b = lz_mem_zalloc(1, sizeof *b);
    if (!b)
        return lz_err_oom();
    b->ir.mode = (uint8_t)mode;
    b->ir.n_outer = n_outer;
    b->ir.n_row = n_row;
    *out = b;
    return NULL;
}

static void drop_ir(lz_kernel_ir *ir)
{
    lz_vec_deinit(&ir->nodes);
    lz_vec_deinit(&ir->access);
    lz_vec_deinit(&ir->params);
    lz_vec_deinit(&ir->stores);
}

void lz_kernel_builder_destroy(lz_kernel_builder *b)
{
    if (!b)
        return;
    drop_ir(&b->ir);
    lz_hash_table_deinit(&b->table);
    lz_arena_deinit(&b->arena);
    lz_err_free(b->err);
    lz_mem_free(b);
}

lz_kernel_value lz_kernel_builder_fail(lz_kernel_builder *b, lz_err *e)
{
    b->err = lz_err_first(b->err, e);
    return 0;
}

const lz_kernel_node *lz_kernel_builder_at(const lz_kernel_builder *b, lz_kernel_value x)
{
    assert(x < b->ir.nodes.len);
    return &b->ir.nodes.data[x];
}

lz_kernel_ir *lz_kernel_builder_ir(lz_kernel_builder *b)
{
    return &b->ir;
}

/* False if an earlier call failed or one of the values does not exist. */
static bool ready(lz_kernel_builder *b, int n, const lz_kernel_value *in)
{
    for (int i = 0; !b->err && i < n; i++) {
        if (in[i] >= b->ir.nodes.len)
            b->err = lz_errf(LZ_ERR_ARG, "kernel: there is no value %u", in[i]);
    }
    return !b->err;
}

/* A node in the table. Holds the node's number, not a pointer: the vector of nodes moves as it grows. */
typedef struct interned {
    lz_hash_link link;
    uint64_t hash;
    lz_kernel_value value;
} interned;

static uint64_t hash_of(const void *item)
{
    return ((const interned *)item)->hash;
}

static const lz_hash_kind node_kind = { offsetof(interned, link), hash_of };

typedef struct wanted {
    const lz_kernel_node *node, *nodes;
} wanted;

static bool same(const void *item, const void *key)
{
    const wanted *w = key;
    const lz_kernel_node *x = &w->nodes[((const interned *)item)->value], *y = w->node;
    return lz_hash_eq(x->hash, y->hash) && x->op == y->op && x->type == y->type && x->attr == y->attr
           && x->bits == y->bits && memcmp(x->in, y->in, sizeof x->in) == 0;
}

static lz_err *intern(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    lz_kernel_nodes *nodes = &b->ir.nodes;
    uint64_t hash = n->hash.lo;
    interned *x = lz_hash_table_find(&b->table, &node_kind, hash, same, &(wanted){ n, nodes->data });
    if (!x) {
        if (nodes->len == BUILD_NODES)
            return lz_errf(LZ_ERR_LIMIT, "a kernel of more than %d values", BUILD_NODES);
        for (int i = 0; i < lz_kernel_node_operands(n); i++) /* operands before users */
            assert(n->in[i] < nodes->len);
        LZ_TRY(lz_hash_table_reserve(&b->table, &node_kind));
        LZ_TRY(lz_arena_new(&b->arena, &x, 1));
        *x = (interned){ .hash = hash, .value = (lz_kernel_value)nodes->len };
        LZ_TRY(lz_vec_push(nodes, *n));
        lz_hash_table_add(&b->table, &node_kind, hash, x);
    }
    *out = x->value;
    return NULL;
}

/* Level and stage are the maximum over the operands. Reductions and accesses have set their own before. */
static void place(const lz_kernel_builder *b, lz_kernel_node *n)
{
    lz_hash h = lz_hash_add((lz_hash){ 0x6b65726e, 0x656c }, n->op | (uint64_t)n->type << 8);
    h = lz_hash_add(lz_hash_add(h, (uint32_t)n->attr), (uint64_t)n->bits);
    int inputs = lz_kernel_node_operands(n);
    for (int i = 0; i < inputs; i++) {
        const lz_kernel_node *x = lz_kernel_builder_at(b, n->in[i]);
        h = lz_hash_mix(h, x->hash);
        n->level = x->level > n->level ? x->level : n->level;
        n->stage = x->stage > n->stage ? x->stage : n->stage;
    }
    if (n->op == LZ_KERNEL_NODE_REDUCE) {
        n->level = LZ_LEVEL_OUTER;
        n->stage++;
    }
    if (n->op == LZ_KERNEL_NODE_SCAN)
        n->level = LZ_LEVEL_ELEMENT;
    assert(n->level <= LZ_LEVEL_ELEMENT);
    n->hash = h;
}

static bool commutes(int op)
{
    static const bool does[LZ_KERNEL_NODE_COUNT] = {
        [LZ_KERNEL_ADD] = true, [LZ_KERNEL_MUL] = true, [LZ_KERNEL_EQ] = true,  [LZ_KERNEL_NE] = true,
        [LZ_KERNEL_AND] = true, [LZ_KERNEL_OR] = true,  [LZ_KERNEL_XOR] = true, [LZ_KERNEL_GCD] = true,
    };
    return does[op];
}

/* Operand order of commutative operations: constants last, the others by hash. Does not depend on creation
 * order. */
static bool goes_after(const lz_kernel_node *x, const lz_kernel_node *y)
{
    bool cx = x->op == LZ_KERNEL_NODE_CONST, cy = y->op == LZ_KERNEL_NODE_CONST;
    if (cx != cy)
        return cx;
    return x->hash.hi != y->hash.hi ? x->hash.hi > y->hash.hi : x->hash.lo > y->hash.lo;
}

lz_kernel_value lz_kernel_build_node(lz_kernel_builder *b, lz_kernel_node n)
{
    if (!ready(b, lz_kernel_node_operands(&n), n.in))
        return 0;
    if (commutes(n.op) && goes_after(lz_kernel_builder_at(b, n.in[0]), lz_kernel_builder_at(b, n.in[1]))) {
        uint32_t first = n.in[0];
        n.in[0] = n.in[1];
        n.in[1] = first;
    }
    lz_kernel_value v = 0;
    if (lz_kernel_build_simplify(b, &n, &v) || b->err)
        return v;
    place(b, &n);
    lz_err *e =
        n.stage == UINT8_MAX ? lz_errf(LZ_ERR_LIMIT, "a kernel of too many stages") : intern(b, &n, &v);
    return e ? lz_kernel_builder_fail(b, e) : v;
}

int lz_kernel_build_access(lz_kernel_builder *b, lz_dtype dtype, lz_kernel_vary vary)
{
    if (b->err)
        return 0;
    if (lz_kernel_type_of(dtype) == LZ_KERNEL_TYPES)
        return (int)lz_kernel_builder_fail(
            b, lz_errf(LZ_ERR_UNSUPPORTED, "kernel: no accesses of dtype %d", (int)dtype));
    if (b->ir.access.len == LZ_KERNEL_ACCESSES)
        return (int)lz_kernel_builder_fail(
            b, lz_errf(LZ_ERR_LIMIT, "a kernel of more than %d accesses", LZ_KERNEL_ACCESSES));
    lz_err *e = lz_vec_push(&b->ir.access, (lz_kernel_use){ .dtype = (uint8_t)dtype, .vary = (uint8_t)vary });
    return e ? (int)lz_kernel_builder_fail(b, e) : (int)b->ir.access.len - 1;
}

/* NULL if this or an earlier call failed. */
static lz_kernel_use *use_access(lz_kernel_builder *b, int access)
{
    if (!b->err && (access < 0 || (size_t)access >= b->ir.access.len))
        b->err = lz_errf(LZ_ERR_ARG, "kernel: there is no access %d", access);
    return b->err ? NULL : &b->ir.access.data[access];
}

static bool typed(lz_kernel_builder *b, lz_kernel_value x, lz_kernel_type want, const char *what)
{
    if (!ready(b, 1, &x))
        return false;
    lz_kernel_type t = (lz_kernel_type)lz_kernel_builder_at(b, x)->type;
    if (t != want)
        b->err = lz_errf(LZ_ERR_ARG, "kernel: %s is %s, not %s", what, lz_kernel_type_text(t),
                         lz_kernel_type_text(want));
    return !b->err;
}

static lz_kernel_value load(lz_kernel_builder *b, int op, int access, lz_kernel_node n)
{
    lz_kernel_use *u = use_access(b, access);
    if (!u)
        return 0;
    if (u->stores)
        return lz_kernel_builder_fail(b,
                                      lz_errf(LZ_ERR_ARG, "kernel: access %d is loaded and stored", access));
    u->loads = 1;
    n.op = (uint8_t)op;
    n.type = (uint8_t)lz_kernel_type_of((lz_dtype)u->dtype);
    n.attr = access;
    n.level = u->vary == LZ_KERNEL_ELEMENT ? LZ_LEVEL_ELEMENT : LZ_LEVEL_OUTER;
    return lz_kernel_build_node(b, n);
}

static bool fills(lz_kernel_builder *b, int access, lz_kernel_value mask, lz_kernel_value fill)
{
    const lz_kernel_use *u = use_access(b, access);
    return u && typed(b, mask, LZ_KERNEL_BOOL, "a mask")
           && typed(b, fill, lz_kernel_type_of((lz_dtype)u->dtype), "a fill value");
}

lz_kernel_value lz_kernel_build_load(lz_kernel_builder *b, int access)
{
    return load(b, LZ_KERNEL_NODE_LOAD, access, (lz_kernel_node){ 0 });
}

lz_kernel_value lz_kernel_build_load_if(lz_kernel_builder *b, int access, lz_kernel_value mask,
                                        lz_kernel_value fill)
{
    return fills(b, access, mask, fill)
               ? load(b, LZ_KERNEL_NODE_LOAD_IF, access, (lz_kernel_node){ .in = { mask, fill } })
               : 0;
}

lz_kernel_value lz_kernel_build_gather(lz_kernel_builder *b, int access, lz_kernel_value index)
{
    return typed(b, index, LZ_KERNEL_I64, "an index")
               ? load(b, LZ_KERNEL_NODE_GATHER, access, (lz_kernel_node){ .in = { index } })
               : 0;
}

lz_kernel_value lz_kernel_build_gather_if(lz_kernel_builder *b, int access, lz_kernel_value index,
                                          lz_kernel_value mask, lz_kernel_value fill)
{
    bool ok = typed(b, index, LZ_KERNEL_I64, "an index") && fills(b, access, mask, fill);
    return ok ? load(b, LZ_KERNEL_NODE_GATHER_IF, access, (lz_kernel_node){ .in = { index, mask, fill } })
              : 0;
}

lz_kernel_value lz_kernel_build_affine(lz_kernel_builder *b, int access)
{
    lz_kernel_use *u = use_access(b, access);
    if (!u)
        return 0;
    u->affine = 1;
    return lz_kernel_build_node(
        b, (lz_kernel_node){ .op = LZ_KERNEL_NODE_AFFINE,
                             .type = LZ_KERNEL_I64,
                             .attr = access,
                             .level = u->vary == LZ_KERNEL_ELEMENT ? LZ_LEVEL_ELEMENT : LZ_LEVEL_OUTER });
}

/* dim < 0 stands for rule -1 - dim. */
static lz_kernel_value check(lz_kernel_builder *b, lz_kernel_value index, lz_kernel_value size, int dim,
                             bool wrap)
{
    if (!typed(b, index, LZ_KERNEL_I64, "an index") || !typed(b, size, LZ_KERNEL_I64, "a size"))
        return 0;
    return lz_kernel_build_node(b, (lz_kernel_node){ .op = LZ_KERNEL_NODE_CHECK,
                                                     .type = LZ_KERNEL_I64,
                                                     .attr = dim * 2 + wrap,
                                                     .in = { index, size } });
}

lz_kernel_value lz_kernel_build_check(lz_kernel_builder *b, lz_kernel_value index, lz_kernel_value size,
                                      int dim, bool wrap)
{
    assert(dim >= 0);
    return check(b, index, size, dim, wrap);
}

lz_kernel_value lz_kernel_build_require(lz_kernel_builder *b, lz_kernel_value x, lz_kernel_value size,
                                        int rule)
{
    assert(rule >= 0);
    return check(b, x, size, -1 - rule, false);
}

lz_kernel_value lz_kernel_build_param(lz_kernel_builder *b, lz_kernel_type type)
{
    if (b->err)
        return 0;
    if (b->ir.params.len == LZ_KERNEL_PARAMS)
        return lz_kernel_builder_fail(
            b, lz_errf(LZ_ERR_LIMIT, "a kernel of more than %d parameters", LZ_KERNEL_PARAMS));
    lz_err *e = lz_vec_push(&b->ir.params, (uint8_t)type);
    if (e)
        return lz_kernel_builder_fail(b, e);
    return lz_kernel_build_node(b, (lz_kernel_node){ .op = LZ_KERNEL_NODE_PARAM,
                                                     .type = (uint8_t)type,
                                                     .attr = (int32_t)b->ir.params.len - 1 });
}

static lz_kernel_value constant(lz_kernel_builder *b, lz_kernel_type type, const void *value)
{
    lz_kernel_node n = { .op = LZ_KERNEL_NODE_CONST, .type = (uint8_t)type };
    memcpy(&n.bits, value, lz_kernel_type_size(type));
    return lz_kernel_build_node(b, n);
}

lz_kernel_value lz_kernel_build_const_f(lz_kernel_builder *b, lz_kernel_type type, double v)
{
    float f = (float)v;
    if (type == LZ_KERNEL_F32)
        return constant(b, type, &f);
    if (type == LZ_KERNEL_F64)
        return constant(b, type, &v);
    return lz_kernel_builder_fail(
        b, lz_errf(LZ_ERR_ARG, "kernel: a float constant of type %s", lz_kernel_type_text(type)));
}

lz_kernel_value lz_kernel_build_const_i(lz_kernel_builder *b, lz_kernel_type type, int64_t v)
{
    uint8_t truth = v != 0;
    int32_t narrow = (int32_t)v;
    const void *values[LZ_KERNEL_TYPES] = { &truth, &narrow, &v };
    return values[type] ? constant(b, type, values[type]) : lz_kernel_build_const_f(b, type, (double)v);
}

static lz_kernel_type bits_type(lz_kernel_type t)
{
    static const lz_kernel_type other[LZ_KERNEL_TYPES] = { LZ_KERNEL_BOOL, LZ_KERNEL_F32, LZ_KERNEL_F64,
                                                           LZ_KERNEL_I32, LZ_KERNEL_I64 };
    return other[t];
}

static lz_kernel_type result_type(lz_kernel_op op, lz_kernel_type last)
{
    lz_kernel_result r = lz_kernel_op_result(op);
    return r == LZ_KERNEL_REDUCE_BOOL ? LZ_KERNEL_BOOL : r == LZ_KERNEL_REDUCE_BITS ? bits_type(last) : last;
}

/* GT and GE become LT and LE with their operands swapped. */
static lz_kernel_value operation(lz_kernel_builder *b, lz_kernel_op op, int count,
                                 const lz_kernel_value in[3])
{
    if (!ready(b, count, in))
        return 0;
    if (lz_kernel_op_operands(op) != count)
        return lz_kernel_builder_fail(
            b, lz_errf(LZ_ERR_ARG, "kernel: %s of %d operands", lz_kernel_op_text(op), count));
    lz_kernel_type t = (lz_kernel_type)lz_kernel_builder_at(b, in[count - 1])->type;
    if (!(lz_kernel_op_types(op) >> t & 1))
        return lz_kernel_builder_fail(b, lz_errf(LZ_ERR_ARG, "kernel: there is no %s of %s",
                                                 lz_kernel_op_text(op), lz_kernel_type_text(t)));
    bool choice = op == LZ_KERNEL_SELECT;
    for (int i = 0; i < count; i++) {
        if (!typed(b, in[i], choice && i == 0 ? LZ_KERNEL_BOOL : t, lz_kernel_op_text(op)))
            return 0;
    }
    lz_kernel_node n = { .op = (uint8_t)op, .type = (uint8_t)result_type(op, t) };
    memcpy(n.in, in, (size_t)count * sizeof *in);
    if (op == LZ_KERNEL_GT || op == LZ_KERNEL_GE) {
        n.op = op == LZ_KERNEL_GT ? LZ_KERNEL_LT : LZ_KERNEL_LE;
        n.in[0] = in[1];
        n.in[1] = in[0];
    }
    return lz_kernel_build_node(b, n);
}

lz_kernel_value lz_kernel_build_op1(lz_kernel_builder *b, lz_kernel_op op, lz_kernel_value x)
{
    return operation(b, op, 1, (lz_kernel_value[3]){ x });
}

lz_kernel_value lz_kernel_build_op2(lz_kernel_builder *b, lz_kernel_op op, lz_kernel_value x,
                                    lz_kernel_value y)
{
    return operation(b, op, 2, (lz_kernel_value[3]){ x, y });
}

lz_kernel_value lz_kernel_build_op3(lz_kernel_builder *b, lz_kernel_op op, lz_kernel_value x,
                                    lz_kernel_value y, lz_kernel_value z)
{
    return operation(b, op, 3, (lz_kernel_value[3]){ x, y, z });
}

static lz_kernel_value cast(lz_kernel_builder *b, lz_kernel_value x, lz_kernel_type to)
{
    if (!ready(b, 1, &x))
        return 0;
    if (lz_kernel_builder_at(b, x)->type == to)
        return x;
    return lz_kernel_build_node(
        b, (lz_kernel_node){ .op = LZ_KERNEL_NODE_CAST, .type = (uint8_t)to, .in = { x } });
}

/* Floats are cast to narrow integers through i64, so that they wrap as integers do. */
lz_kernel_value lz_kernel_build_cast(lz_kernel_builder *b, lz_kernel_value x, lz_dtype to)
{
    static const bool narrow[] = {
        [LZ_U8] = true, [LZ_I8] = true, [LZ_I16] = true, [LZ_F16] = true, [LZ_BF16] = true
    };
    lz_kernel_type t = lz_kernel_type_of(to);
    if (!ready(b, 1, &x))
        return 0;
    if (t == LZ_KERNEL_TYPES)
        return lz_kernel_builder_fail(b,
                                      lz_errf(LZ_ERR_UNSUPPORTED, "kernel: no casts to dtype %d", (int)to));
    bool floating = lz_kernel_builder_at(b, x)->type >= LZ_KERNEL_F32;
    bool thin = (size_t)to < sizeof narrow && narrow[to];
    if (thin && floating && t == LZ_KERNEL_I32)
        x = cast(b, x, LZ_KERNEL_I64);
    x = cast(b, x, t);
    return thin ? lz_kernel_build_node(
               b,
               (lz_kernel_node){ .op = LZ_KERNEL_NODE_NARROW, .type = (uint8_t)t, .attr = to, .in = { x } })
                : x;
}

lz_kernel_value lz_kernel_build_philox(lz_kernel_builder *b, int word, lz_kernel_value seed,
                                       lz_kernel_value stream, lz_kernel_value index)
{
    bool ok = typed(b, seed, LZ_KERNEL_I64, "a seed") && typed(b, stream, LZ_KERNEL_I64, "a stream")
              && typed(b, index, LZ_KERNEL_I64, "an index");
    return ok ? lz_kernel_build_node(b, (lz_kernel_node){ .op = LZ_KERNEL_NODE_PHILOX,
                                                          .type = LZ_KERNEL_I64,
                                                          .attr = word & 3,
                                                          .in = { seed, stream, index } })
              : 0;
}

static bool reduces(lz_kernel_reduction kind, lz_kernel_type t)
{
    static const uint8_t types[LZ_KERNEL_REDUCES] = {
        [LZ_KERNEL_RSUM] = 30, [LZ_KERNEL_RPROD] = 30,   [LZ_KERNEL_RMAX] = 31,
        [LZ_KERNEL_RMIN] = 31, [LZ_KERNEL_RAND] = 7,     [LZ_KERNEL_ROR] = 7,
        [LZ_KERNEL_RXOR] = 7,  [LZ_KERNEL_RARGMAX] = 30, [LZ_KERNEL_RARGMIN] = 30,
    };
    return (unsigned)kind < LZ_KERNEL_REDUCES && (types[kind] >> t & 1);
}

static lz_kernel_value along_row(lz_kernel_builder *b, int op, lz_kernel_reduction kind, lz_kernel_value x)
{
    if (!ready(b, 1, &x))
        return 0;
    bool index = kind == LZ_KERNEL_RARGMAX || kind == LZ_KERNEL_RARGMIN;
    if (index && lz_kernel_builder_at(b, x)->type == LZ_KERNEL_BOOL)
        x = cast(b, x, LZ_KERNEL_I32);
    lz_kernel_type t = (lz_kernel_type)lz_kernel_builder_at(b, x)->type;
    if (!reduces(kind, t))
        return lz_kernel_builder_fail(
            b, lz_errf(LZ_ERR_ARG, "kernel: no reduction %d of %s", (int)kind, lz_kernel_type_text(t)));
    return lz_kernel_build_node(b, (lz_kernel_node){ .op = (uint8_t)op,
                                                     .type = (uint8_t)(index ? LZ_KERNEL_I64 : t),
                                                     .attr = (int)kind,
                                                     .in = { x } });
}

/* Reduces an f32 in f64 and rounds the result once. */
static lz_kernel_value in_f64(lz_kernel_builder *b, int op, lz_kernel_reduction kind, lz_kernel_value x)
{
    return cast(b, along_row(b, op, kind, cast(b, x, LZ_KERNEL_F64)), LZ_KERNEL_F32);
}

static bool is_f32(lz_kernel_builder *b, lz_kernel_value x)
{
    return ready(b, 1, &x) && lz_kernel_builder_at(b, x)->type == LZ_KERNEL_F32;
}

lz_kernel_value lz_kernel_build_reduce(lz_kernel_builder *b, lz_kernel_reduction kind, lz_kernel_value x)
{
    bool wide = kind == LZ_KERNEL_RPROD && is_f32(b, x);
    return (wide ? in_f64 : along_row)(b, LZ_KERNEL_NODE_REDUCE, kind, x);
}

lz_kernel_value lz_kernel_build_scan(lz_kernel_builder *b, lz_kernel_reduction kind, lz_kernel_value x)
{
    bool wide = (kind == LZ_KERNEL_RSUM || kind == LZ_KERNEL_RPROD) && is_f32(b, x);
    return (wide ? in_f64 : along_row)(b, LZ_KERNEL_NODE_SCAN, kind, x);
}

void lz_kernel_build_store(lz_kernel_builder *b, int access, lz_kernel_value x)
{
    lz_kernel_use *u = use_access(b, access);
    if (!u || !typed(b, x, lz_kernel_type_of((lz_dtype)u->dtype), "a stored value"))
        return;
    if (u->stores || u->loads)
        b->err = lz_errf(LZ_ERR_ARG, "kernel: access %d is used twice", access);
    else if (u->vary == LZ_KERNEL_OUTER && lz_kernel_build_varies(b, x))
        b->err = lz_errf(LZ_ERR_ARG, "kernel: store %d has one place for a value per element", access);
    else
        b->err = lz_vec_push(&b->ir.stores, (lz_kernel_store){ access, x });
    u->stores = 1;
}

lz_kernel_type lz_kernel_build_type(const lz_kernel_builder *b, lz_kernel_value x)
{
    return x < b->ir.nodes.len ? (lz_kernel_type)b->ir.nodes.data[x].type : LZ_KERNEL_TYPES;
}

bool lz_kernel_build_varies(const lz_kernel_builder *b, lz_kernel_value x)
{
    return x < b->ir.nodes.len && b->ir.nodes.data[x].level == LZ_LEVEL_ELEMENT;
}

int lz_kernel_build_count(const lz_kernel_builder *b)
{
    return (int)b->ir.nodes.len;
}

/* Numbers the nodes that `root` needs, operands before users, in depth-first order. place[v] is the new
 * number + 1, 0 if v has none yet; `stack` must have room for every node twice. */
static size_t number(const lz_kernel_ir *ir, uint32_t root, uint32_t *stack, uint32_t *place, size_t count)
{
    size_t depth = 0;
    stack[depth++] = root;
    while (depth) {
        uint32_t v = stack[depth - 1];
        const lz_kernel_node *n = &ir->nodes.data[v];
        int open = lz_kernel_node_operands(n);
        while (open > 0 && place[n->in[lz_kernel_node_operands(n) - open]])
            open--;
        if (open == 0) {
            depth--;
            if (!place[v])
                place[v] = (uint32_t)++count;
        } else {
            stack[depth++] = n->in[lz_kernel_node_operands(n) - open];
        }
    }
    return count;
}

static lz_err *copy_nodes(const lz_kernel_ir *from, const uint32_t *place, size_t count, lz_kernel_ir *to)
{
    LZ_TRY(lz_vec_reserve(&to->nodes, count));
    to->nodes.len = count;
    for (size_t i = 0; i < from->nodes.len; i++) {
        if (!place[i])
            continue;
        lz_kernel_node n = from->nodes.data[i];
        int inputs = lz_kernel_node_operands(&n);
        for (int k = 0; k < inputs; k++)
            n.in[k] = place[n.in[k]] - 1;
        to->nodes.data[place[i] - 1] = n;
    }
    for (size_t i = 0; i < from->stores.len; i++) {
        lz_kernel_store s = from->stores.data[i];
        LZ_TRY(lz_vec_push(&to->stores, (lz_kernel_store){ s.access, place[s.value] - 1 }));
    }
    return NULL;
}

static lz_err *canonical(const lz_kernel_ir *from, lz_kernel_ir *to)
{
    uint32_t *place = lz_mem_zalloc(3 * from->nodes.len + 1, sizeof *place);
    if (!place)
        return lz_err_oom();
    size_t count = 0;
    for (size_t i = 0; i < from->stores.len; i++)
        count = number(from, from->stores.data[i].value, place + from->nodes.len, place, count);
    lz_err *e = count > LZ_KERNEL_OPS
                    ? lz_errf(LZ_ERR_LIMIT, "a kernel of %zu values; at most %d", count, LZ_KERNEL_OPS)
                    : copy_nodes(from, place, count, to);
    lz_mem_free(place);
    return e;
}

static lz_hash structure_hash(const lz_kernel_ir *ir)
{
    lz_hash h = lz_hash_add((lz_hash){ ir->mode, (uint64_t)ir->n_outer }, (uint64_t)ir->n_row);
    h = lz_hash_mix(h, lz_hash_bytes(ir->params.data, ir->params.len));
    for (size_t i = 0; i < ir->access.len; i++) {
        lz_kernel_use u = ir->access.data[i];
        h = lz_hash_add(h, u.dtype | (uint64_t)u.vary << 8);
    }
    for (size_t i = 0; i < ir->stores.len; i++) {
        lz_kernel_store s = ir->stores.data[i];
        h = lz_hash_mix(lz_hash_add(h, (uint64_t)s.access), ir->nodes.data[s.value].hash);
    }
    return h;
}

static lz_err *make(lz_kernel_builder *b, lz_kernel *k)
{
    k->ir.mode = b->ir.mode;
    k->ir.n_outer = b->ir.n_outer;
    k->ir.n_row = b->ir.n_row;
    LZ_TRY(canonical(&b->ir, &k->ir));
    memcpy(&k->ir.access, &b->ir.access, sizeof k->ir.access);
    memcpy(&k->ir.params, &b->ir.params, sizeof k->ir.params);
    memset(&b->ir.access, 0, sizeof b->ir.access);
    memset(&b->ir.params, 0, sizeof b->ir.params);
    k->hash = structure_hash(&k->ir);
    return NULL;
}

/* Takes ownership of k, even on failure. */
static lz_err *settle(lz_kernel *k, lz_kernel **out)
{
    lz_kernel *there = lz_kernel_set_find(k);
    lz_err *e = there ? NULL : lz_program_create(&k->ir, lz_tile(), &k->program);
    if (there || e) {
        lz_kernel_release(k);
        *out = there;
        return e;
    }
    return lz_kernel_set_add(k, out);
}

lz_err *lz_kernel_builder_finish(lz_kernel_builder *b, lz_kernel **out)
{
    lz_err *e = b->err;
    lz_kernel *k = e ? NULL : lz_mem_zalloc(1, sizeof *k);
    b->err = NULL;
    if (!e)
        e = k ? make(b, k) : lz_err_oom();
    lz_kernel_builder_destroy(b);
    if (e) {
        lz_kernel_release(k);
        return e;
    }
    return settle(k, out);
}
