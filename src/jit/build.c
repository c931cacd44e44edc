/* The builder of kernels: checks, hash-consing, levels. */
#include "base/mem.h"
#include "jit/kernel_ir.h"
#include "jit/kernel_set.h"
#include "jit/program.h"
#include <assert.h>
#include <string.h>

struct lz_kb {
    lz_kir ir;
    lz_err *err;     /* the first */
    uint32_t *slots; /* 1 + node; open addressing, a power of two */
    size_t slot_count;
};

enum { BUILD_NODES = 4 * LZ_KERNEL_OPS }; /* before the dead ones go */

lz_ktype lz_ktype_of(lz_dtype dtype)
{
    static const uint8_t types[] = {
        [LZ_BOOL] = 1 + LZ_KBOOL, [LZ_U8] = 1 + LZ_KI32,  [LZ_I8] = 1 + LZ_KI32,  [LZ_I16] = 1 + LZ_KI32,
        [LZ_I32] = 1 + LZ_KI32,   [LZ_I64] = 1 + LZ_KI64, [LZ_F16] = 1 + LZ_KF32, [LZ_BF16] = 1 + LZ_KF32,
        [LZ_F32] = 1 + LZ_KF32,   [LZ_F64] = 1 + LZ_KF64,
    };
    bool known = dtype >= 0 && (size_t)dtype < sizeof types && types[dtype];
    return known ? (lz_ktype)(types[dtype] - 1) : LZ_KTYPES;
}

lz_err *lz_kb_create(lz_kmode mode, int n_outer, int n_row, lz_kb **out)
{
    if (n_outer < 0 || n_row < 0 || n_outer + n_row > LZ_KERNEL_DIMS)
        return lz_errf(LZ_ERR_LIMIT, "a kernel of %d dimensions; at most %d", n_outer + n_row,
                       LZ_KERNEL_DIMS);
    lz_kb *b = lz_mem_zalloc(1, sizeof *b);
    if (!b)
        return lz_err_oom();
    b->ir.mode = (uint8_t)mode;
    b->ir.n_outer = n_outer;
    b->ir.n_row = n_row;
    *out = b;
    return NULL;
}

static void drop_ir(lz_kir *ir)
{
    lz_vec_deinit(&ir->nodes);
    lz_vec_deinit(&ir->access);
    lz_vec_deinit(&ir->params);
    lz_vec_deinit(&ir->stores);
}

void lz_kb_destroy(lz_kb *b)
{
    if (!b)
        return;
    drop_ir(&b->ir);
    lz_mem_free(b->slots);
    lz_err_free(b->err);
    lz_mem_free(b);
}

lz_kv lz_kb_fail(lz_kb *b, lz_err *e)
{
    b->err = lz_err_first(b->err, e);
    return 0;
}

const lz_knode *lz_kb_at(const lz_kb *b, lz_kv x)
{
    return &b->ir.nodes.data[x];
}

lz_kir *lz_kb_ir(lz_kb *b)
{
    return &b->ir;
}

/* False if an error sticks, or one of the values is none. */
static bool ready(lz_kb *b, int n, const lz_kv *in)
{
    for (int i = 0; !b->err && i < n; i++) {
        if (in[i] >= b->ir.nodes.len)
            b->err = lz_errf(LZ_ERR_ARG, "kernel: there is no value %u", in[i]);
    }
    return !b->err;
}

static bool same(const lz_knode *x, const lz_knode *y)
{
    return lz_hash_eq(x->hash, y->hash) && x->op == y->op && x->type == y->type && x->attr == y->attr
           && x->bits == y->bits && memcmp(x->in, y->in, sizeof x->in) == 0;
}

static lz_err *grow_slots(lz_kb *b)
{
    size_t count = b->slot_count ? b->slot_count * 2 : 64;
    uint32_t *slots = lz_mem_zalloc(count, sizeof *slots);
    if (!slots)
        return lz_err_oom();
    for (size_t i = 0; i < b->ir.nodes.len; i++) {
        size_t at = b->ir.nodes.data[i].hash.lo & (count - 1);
        while (slots[at])
            at = (at + 1) & (count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    lz_mem_free(b->slots);
    b->slots = slots;
    b->slot_count = count;
    return NULL;
}

static lz_err *intern(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    lz_knodes *nodes = &b->ir.nodes;
    if (b->slot_count < 2 * (nodes->len + 1))
        LZ_TRY(grow_slots(b));
    size_t at = n->hash.lo & (b->slot_count - 1);
    while (b->slots[at] && !same(&nodes->data[b->slots[at] - 1], n))
        at = (at + 1) & (b->slot_count - 1);
    if (!b->slots[at]) {
        if (nodes->len == BUILD_NODES)
            return lz_errf(LZ_ERR_LIMIT, "a kernel of more than %d values", BUILD_NODES);
        LZ_TRY(lz_vec_push(nodes, *n));
        b->slots[at] = (uint32_t)nodes->len;
    }
    *out = b->slots[at] - 1;
    return NULL;
}

/* Level and stage follow from the operands; reductions and accesses have set theirs. */
static void place(const lz_kb *b, lz_knode *n)
{
    lz_hash h = lz_hash_add((lz_hash){ 0x6b65726e, 0x656c }, n->op | (uint64_t)n->type << 8);
    h = lz_hash_add(lz_hash_add(h, (uint32_t)n->attr), (uint64_t)n->bits);
    int inputs = lz_knode_operands(n);
    for (int i = 0; i < inputs; i++) {
        const lz_knode *x = lz_kb_at(b, n->in[i]);
        h = lz_hash_mix(h, x->hash);
        n->level = x->level > n->level ? x->level : n->level;
        n->stage = x->stage > n->stage ? x->stage : n->stage;
    }
    if (n->op == LZ_N_REDUCE) {
        n->level = LZ_LEVEL_OUTER;
        n->stage++;
    }
    if (n->op == LZ_N_SCAN)
        n->level = LZ_LEVEL_ELEMENT;
    n->hash = h;
}

static bool commutes(int op)
{
    static const bool does[LZ_N_COUNT] = {
        [LZ_K_ADD] = true, [LZ_K_MUL] = true, [LZ_K_EQ] = true,  [LZ_K_NE] = true,
        [LZ_K_AND] = true, [LZ_K_OR] = true,  [LZ_K_XOR] = true, [LZ_K_GCD] = true,
    };
    return does[op];
}

/* Constants go last, the rest by hash: an order that does not depend on who came first. */
static bool goes_after(const lz_knode *x, const lz_knode *y)
{
    bool cx = x->op == LZ_N_CONST, cy = y->op == LZ_N_CONST;
    if (cx != cy)
        return cx;
    return x->hash.hi != y->hash.hi ? x->hash.hi > y->hash.hi : x->hash.lo > y->hash.lo;
}

lz_kv lz_kb_node(lz_kb *b, lz_knode n)
{
    if (!ready(b, lz_knode_operands(&n), n.in))
        return 0;
    if (commutes(n.op) && goes_after(lz_kb_at(b, n.in[0]), lz_kb_at(b, n.in[1]))) {
        uint32_t first = n.in[0];
        n.in[0] = n.in[1];
        n.in[1] = first;
    }
    lz_kv v = 0;
    if (lz_kb_simplify(b, &n, &v) || b->err)
        return v;
    place(b, &n);
    lz_err *e =
        n.stage == UINT8_MAX ? lz_errf(LZ_ERR_LIMIT, "a kernel of too many stages") : intern(b, &n, &v);
    return e ? lz_kb_fail(b, e) : v;
}

int lz_kb_access(lz_kb *b, lz_dtype dtype, lz_kvary vary)
{
    if (b->err)
        return 0;
    if (lz_ktype_of(dtype) == LZ_KTYPES)
        return (int)lz_kb_fail(b, lz_errf(LZ_ERR_UNSUPPORTED, "kernel: no accesses of dtype %d", (int)dtype));
    if (b->ir.access.len == LZ_KERNEL_ACCESSES)
        return (int)lz_kb_fail(
            b, lz_errf(LZ_ERR_LIMIT, "a kernel of more than %d accesses", LZ_KERNEL_ACCESSES));
    lz_err *e = lz_vec_push(&b->ir.access, (lz_kuse){ .dtype = (uint8_t)dtype, .vary = (uint8_t)vary });
    return e ? (int)lz_kb_fail(b, e) : (int)b->ir.access.len - 1;
}

/* NULL after an error. */
static lz_kuse *use_access(lz_kb *b, int access)
{
    if (!b->err && (access < 0 || (size_t)access >= b->ir.access.len))
        b->err = lz_errf(LZ_ERR_ARG, "kernel: there is no access %d", access);
    return b->err ? NULL : &b->ir.access.data[access];
}

static bool typed(lz_kb *b, lz_kv x, lz_ktype want, const char *what)
{
    if (!ready(b, 1, &x))
        return false;
    lz_ktype t = (lz_ktype)lz_kb_at(b, x)->type;
    if (t != want)
        b->err = lz_errf(LZ_ERR_ARG, "kernel: %s is %s, not %s", what, lz_ktype_text(t), lz_ktype_text(want));
    return !b->err;
}

static lz_kv load(lz_kb *b, int op, int access, lz_knode n)
{
    lz_kuse *u = use_access(b, access);
    if (!u)
        return 0;
    if (u->stores)
        return lz_kb_fail(b, lz_errf(LZ_ERR_ARG, "kernel: access %d is loaded and stored", access));
    u->loads = 1;
    n.op = (uint8_t)op;
    n.type = (uint8_t)lz_ktype_of((lz_dtype)u->dtype);
    n.attr = access;
    n.level = u->vary == LZ_K_ELEMENT ? LZ_LEVEL_ELEMENT : LZ_LEVEL_OUTER;
    return lz_kb_node(b, n);
}

static bool fills(lz_kb *b, int access, lz_kv mask, lz_kv fill)
{
    const lz_kuse *u = use_access(b, access);
    return u && typed(b, mask, LZ_KBOOL, "a mask")
           && typed(b, fill, lz_ktype_of((lz_dtype)u->dtype), "a fill value");
}

lz_kv lz_kb_load(lz_kb *b, int access)
{
    return load(b, LZ_N_LOAD, access, (lz_knode){ 0 });
}

lz_kv lz_kb_load_if(lz_kb *b, int access, lz_kv mask, lz_kv fill)
{
    return fills(b, access, mask, fill) ? load(b, LZ_N_LOAD_IF, access, (lz_knode){ .in = { mask, fill } })
                                        : 0;
}

lz_kv lz_kb_gather(lz_kb *b, int access, lz_kv index)
{
    return typed(b, index, LZ_KI64, "an index") ? load(b, LZ_N_GATHER, access, (lz_knode){ .in = { index } })
                                                : 0;
}

lz_kv lz_kb_gather_if(lz_kb *b, int access, lz_kv index, lz_kv mask, lz_kv fill)
{
    bool ok = typed(b, index, LZ_KI64, "an index") && fills(b, access, mask, fill);
    return ok ? load(b, LZ_N_GATHER_IF, access, (lz_knode){ .in = { index, mask, fill } }) : 0;
}

lz_kv lz_kb_affine(lz_kb *b, int access)
{
    lz_kuse *u = use_access(b, access);
    if (!u)
        return 0;
    u->affine = 1;
    return lz_kb_node(b, (lz_knode){ .op = LZ_N_AFFINE,
                                     .type = LZ_KI64,
                                     .attr = access,
                                     .level = u->vary == LZ_K_ELEMENT ? LZ_LEVEL_ELEMENT : LZ_LEVEL_OUTER });
}

/* dim below 0: rule -1 - dim. */
static lz_kv check(lz_kb *b, lz_kv index, lz_kv size, int dim, bool wrap)
{
    if (!typed(b, index, LZ_KI64, "an index") || !typed(b, size, LZ_KI64, "a size"))
        return 0;
    return lz_kb_node(
        b, (lz_knode){ .op = LZ_N_CHECK, .type = LZ_KI64, .attr = dim * 2 + wrap, .in = { index, size } });
}

lz_kv lz_kb_check(lz_kb *b, lz_kv index, lz_kv size, int dim, bool wrap)
{
    assert(dim >= 0);
    return check(b, index, size, dim, wrap);
}

lz_kv lz_kb_require(lz_kb *b, lz_kv x, lz_kv size, int rule)
{
    assert(rule >= 0);
    return check(b, x, size, -1 - rule, false);
}

lz_kv lz_kb_param(lz_kb *b, lz_ktype type)
{
    if (b->err)
        return 0;
    if (b->ir.params.len == LZ_KERNEL_PARAMS)
        return lz_kb_fail(b, lz_errf(LZ_ERR_LIMIT, "a kernel of more than %d parameters", LZ_KERNEL_PARAMS));
    lz_err *e = lz_vec_push(&b->ir.params, (uint8_t)type);
    if (e)
        return lz_kb_fail(b, e);
    return lz_kb_node(
        b, (lz_knode){ .op = LZ_N_PARAM, .type = (uint8_t)type, .attr = (int32_t)b->ir.params.len - 1 });
}

static lz_kv constant(lz_kb *b, lz_ktype type, const void *value)
{
    lz_knode n = { .op = LZ_N_CONST, .type = (uint8_t)type };
    memcpy(&n.bits, value, lz_ktype_size(type));
    return lz_kb_node(b, n);
}

lz_kv lz_kb_const_f(lz_kb *b, lz_ktype type, double v)
{
    float f = (float)v;
    if (type == LZ_KF32)
        return constant(b, type, &f);
    if (type == LZ_KF64)
        return constant(b, type, &v);
    return lz_kb_fail(b, lz_errf(LZ_ERR_ARG, "kernel: a float constant of type %s", lz_ktype_text(type)));
}

lz_kv lz_kb_const_i(lz_kb *b, lz_ktype type, int64_t v)
{
    uint8_t truth = v != 0;
    int32_t narrow = (int32_t)v;
    const void *values[LZ_KTYPES] = { &truth, &narrow, &v };
    return values[type] ? constant(b, type, values[type]) : lz_kb_const_f(b, type, (double)v);
}

static lz_ktype bits_type(lz_ktype t)
{
    static const lz_ktype other[LZ_KTYPES] = { LZ_KBOOL, LZ_KF32, LZ_KF64, LZ_KI32, LZ_KI64 };
    return other[t];
}

static lz_ktype result_type(lz_kop op, lz_ktype last)
{
    lz_kresult r = lz_kop_result(op);
    return r == LZ_KR_BOOL ? LZ_KBOOL : r == LZ_KR_BITS ? bits_type(last) : last;
}

/* GT and GE are the others turned round. */
static lz_kv operation(lz_kb *b, lz_kop op, int count, const lz_kv in[3])
{
    if (!ready(b, count, in))
        return 0;
    if (lz_kop_operands(op) != count)
        return lz_kb_fail(b, lz_errf(LZ_ERR_ARG, "kernel: %s of %d operands", lz_kop_text(op), count));
    lz_ktype t = (lz_ktype)lz_kb_at(b, in[count - 1])->type;
    if (!(lz_kop_types(op) >> t & 1))
        return lz_kb_fail(
            b, lz_errf(LZ_ERR_ARG, "kernel: there is no %s of %s", lz_kop_text(op), lz_ktype_text(t)));
    bool choice = op == LZ_K_SELECT;
    for (int i = 0; i < count; i++) {
        if (!typed(b, in[i], choice && i == 0 ? LZ_KBOOL : t, lz_kop_text(op)))
            return 0;
    }
    lz_knode n = { .op = (uint8_t)op, .type = (uint8_t)result_type(op, t) };
    memcpy(n.in, in, (size_t)count * sizeof *in);
    if (op == LZ_K_GT || op == LZ_K_GE) {
        n.op = op == LZ_K_GT ? LZ_K_LT : LZ_K_LE;
        n.in[0] = in[1];
        n.in[1] = in[0];
    }
    return lz_kb_node(b, n);
}

lz_kv lz_kb_op1(lz_kb *b, lz_kop op, lz_kv x)
{
    return operation(b, op, 1, (lz_kv[3]){ x });
}

lz_kv lz_kb_op2(lz_kb *b, lz_kop op, lz_kv x, lz_kv y)
{
    return operation(b, op, 2, (lz_kv[3]){ x, y });
}

lz_kv lz_kb_op3(lz_kb *b, lz_kop op, lz_kv x, lz_kv y, lz_kv z)
{
    return operation(b, op, 3, (lz_kv[3]){ x, y, z });
}

static lz_kv cast(lz_kb *b, lz_kv x, lz_ktype to)
{
    if (!ready(b, 1, &x))
        return 0;
    if (lz_kb_at(b, x)->type == to)
        return x;
    return lz_kb_node(b, (lz_knode){ .op = LZ_N_CAST, .type = (uint8_t)to, .in = { x } });
}

/* Floats become narrow integers through i64, so that they wrap as integers do. */
lz_kv lz_kb_cast(lz_kb *b, lz_kv x, lz_dtype to)
{
    static const bool narrow[] = {
        [LZ_U8] = true, [LZ_I8] = true, [LZ_I16] = true, [LZ_F16] = true, [LZ_BF16] = true
    };
    lz_ktype t = lz_ktype_of(to);
    if (!ready(b, 1, &x))
        return 0;
    if (t == LZ_KTYPES)
        return lz_kb_fail(b, lz_errf(LZ_ERR_UNSUPPORTED, "kernel: no casts to dtype %d", (int)to));
    bool floating = lz_kb_at(b, x)->type >= LZ_KF32;
    bool thin = (size_t)to < sizeof narrow && narrow[to];
    if (thin && floating && t == LZ_KI32)
        x = cast(b, x, LZ_KI64);
    x = cast(b, x, t);
    return thin ? lz_kb_node(b, (lz_knode){ .op = LZ_N_NARROW, .type = (uint8_t)t, .attr = to, .in = { x } })
                : x;
}

lz_kv lz_kb_philox(lz_kb *b, int word, lz_kv seed, lz_kv stream, lz_kv index)
{
    bool ok = typed(b, seed, LZ_KI64, "a seed") && typed(b, stream, LZ_KI64, "a stream")
              && typed(b, index, LZ_KI64, "an index");
    return ok ? lz_kb_node(b, (lz_knode){ .op = LZ_N_PHILOX,
                                          .type = LZ_KI64,
                                          .attr = word & 3,
                                          .in = { seed, stream, index } })
              : 0;
}

static bool reduces(lz_kreduce kind, lz_ktype t)
{
    static const uint8_t types[LZ_K_REDUCES] = {
        [LZ_K_RSUM] = 30, [LZ_K_RPROD] = 30, [LZ_K_RMAX] = 31,    [LZ_K_RMIN] = 31,    [LZ_K_RAND] = 7,
        [LZ_K_ROR] = 7,   [LZ_K_RXOR] = 7,   [LZ_K_RARGMAX] = 30, [LZ_K_RARGMIN] = 30,
    };
    return (unsigned)kind < LZ_K_REDUCES && (types[kind] >> t & 1);
}

static lz_kv along_row(lz_kb *b, int op, lz_kreduce kind, lz_kv x)
{
    if (!ready(b, 1, &x))
        return 0;
    bool index = kind == LZ_K_RARGMAX || kind == LZ_K_RARGMIN;
    if (index && lz_kb_at(b, x)->type == LZ_KBOOL)
        x = cast(b, x, LZ_KI32);
    lz_ktype t = (lz_ktype)lz_kb_at(b, x)->type;
    if (!reduces(kind, t))
        return lz_kb_fail(b,
                          lz_errf(LZ_ERR_ARG, "kernel: no reduction %d of %s", (int)kind, lz_ktype_text(t)));
    return lz_kb_node(
        b, (lz_knode){
               .op = (uint8_t)op, .type = (uint8_t)(index ? LZ_KI64 : t), .attr = (int)kind, .in = { x } });
}

/* In f64, then rounded once. */
static lz_kv in_f64(lz_kb *b, int op, lz_kreduce kind, lz_kv x)
{
    return cast(b, along_row(b, op, kind, cast(b, x, LZ_KF64)), LZ_KF32);
}

static bool is_f32(lz_kb *b, lz_kv x)
{
    return ready(b, 1, &x) && lz_kb_at(b, x)->type == LZ_KF32;
}

lz_kv lz_kb_reduce(lz_kb *b, lz_kreduce kind, lz_kv x)
{
    bool wide = kind == LZ_K_RPROD && is_f32(b, x);
    return (wide ? in_f64 : along_row)(b, LZ_N_REDUCE, kind, x);
}

lz_kv lz_kb_scan(lz_kb *b, lz_kreduce kind, lz_kv x)
{
    bool wide = (kind == LZ_K_RSUM || kind == LZ_K_RPROD) && is_f32(b, x);
    return (wide ? in_f64 : along_row)(b, LZ_N_SCAN, kind, x);
}

void lz_kb_store(lz_kb *b, int access, lz_kv x)
{
    lz_kuse *u = use_access(b, access);
    if (!u || !typed(b, x, lz_ktype_of((lz_dtype)u->dtype), "a stored value"))
        return;
    if (u->stores || u->loads)
        b->err = lz_errf(LZ_ERR_ARG, "kernel: access %d is used twice", access);
    else if (u->vary == LZ_K_OUTER && lz_kb_varies(b, x))
        b->err = lz_errf(LZ_ERR_ARG, "kernel: store %d has one place for a value per element", access);
    else
        b->err = lz_vec_push(&b->ir.stores, (lz_kstore){ access, x });
    u->stores = 1;
}

lz_ktype lz_kb_type(const lz_kb *b, lz_kv x)
{
    return x < b->ir.nodes.len ? (lz_ktype)b->ir.nodes.data[x].type : LZ_KTYPES;
}

bool lz_kb_varies(const lz_kb *b, lz_kv x)
{
    return x < b->ir.nodes.len && b->ir.nodes.data[x].level == LZ_LEVEL_ELEMENT;
}

int lz_kb_count(const lz_kb *b)
{
    return (int)b->ir.nodes.len;
}

/* Numbers what the stores need, operands first, in the order a walk from the first
 * store meets it. `place` is the new number + 1; `stack` has room for every node twice. */
static size_t number(const lz_kir *ir, uint32_t root, uint32_t *stack, uint32_t *place, size_t count)
{
    size_t depth = 0;
    stack[depth++] = root;
    while (depth) {
        uint32_t v = stack[depth - 1];
        const lz_knode *n = &ir->nodes.data[v];
        int open = lz_knode_operands(n);
        while (open > 0 && place[n->in[lz_knode_operands(n) - open]])
            open--;
        if (open == 0) {
            depth--;
            if (!place[v])
                place[v] = (uint32_t)++count;
        } else {
            stack[depth++] = n->in[lz_knode_operands(n) - open];
        }
    }
    return count;
}

static lz_err *copy_nodes(const lz_kir *from, const uint32_t *place, size_t count, lz_kir *to)
{
    LZ_TRY(lz_vec_reserve(&to->nodes, count));
    to->nodes.len = count;
    for (size_t i = 0; i < from->nodes.len; i++) {
        if (!place[i])
            continue;
        lz_knode n = from->nodes.data[i];
        int inputs = lz_knode_operands(&n);
        for (int k = 0; k < inputs; k++)
            n.in[k] = place[n.in[k]] - 1;
        to->nodes.data[place[i] - 1] = n;
    }
    for (size_t i = 0; i < from->stores.len; i++) {
        lz_kstore s = from->stores.data[i];
        LZ_TRY(lz_vec_push(&to->stores, (lz_kstore){ s.access, place[s.value] - 1 }));
    }
    return NULL;
}

static lz_err *canonical(const lz_kir *from, lz_kir *to)
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

static lz_hash structure_hash(const lz_kir *ir)
{
    lz_hash h = lz_hash_add((lz_hash){ ir->mode, (uint64_t)ir->n_outer }, (uint64_t)ir->n_row);
    h = lz_hash_mix(h, lz_hash_bytes(ir->params.data, ir->params.len));
    for (size_t i = 0; i < ir->access.len; i++) {
        lz_kuse u = ir->access.data[i];
        h = lz_hash_add(h, u.dtype | (uint64_t)u.vary << 8);
    }
    for (size_t i = 0; i < ir->stores.len; i++) {
        lz_kstore s = ir->stores.data[i];
        h = lz_hash_mix(lz_hash_add(h, (uint64_t)s.access), ir->nodes.data[s.value].hash);
    }
    return h;
}

static lz_err *make(lz_kb *b, lz_kernel *k)
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

/* Takes k, also when it fails. */
static lz_err *settle(lz_kernel *k, lz_kernel **out)
{
    lz_kernel *there = lz_kernel_set_find(k);
    lz_err *e = there ? NULL : lz_program_create(&k->ir, lz_tile(), &k->program);
    if (there || e) {
        lz_kernel_release(k);
        *out = there;
        return e;
    }
    *out = lz_kernel_set_add(k);
    return NULL;
}

lz_err *lz_kb_finish(lz_kb *b, lz_kernel **out)
{
    lz_err *e = b->err;
    lz_kernel *k = e ? NULL : lz_mem_zalloc(1, sizeof *k);
    b->err = NULL;
    if (!e)
        e = k ? make(b, k) : lz_err_oom();
    lz_kb_destroy(b);
    if (e) {
        lz_kernel_release(k);
        return e;
    }
    return settle(k, out);
}
