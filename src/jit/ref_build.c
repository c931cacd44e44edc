/* ref_build.c - the builder of kernels for the slow evaluator in ref_run.c, the one that
 * the fast one is compared with. It shares equal values and drops unneeded ones; it
 * folds nothing and expands nothing. */
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "jit/ref.h"
#include <stdatomic.h>

enum { B = 1, I = 2, F = 4 }; /* the letters of LZ_KOPS */
enum { SAME, BOOL, LAST, BITS };

typedef struct op_row {
    const char *text;
    int operands, types, result;
} op_row;

static const op_row ops[LZ_KOP_COUNT] = {
#define ROW(name, text, n, types, result) { text, n, types, result },
    LZ_KOPS(ROW)
#undef ROW
};

static const int letter_of[LZ_KTYPES] = { B, I, I, F, F };
static const char *const type_names[LZ_KTYPES] = { "bool", "i32", "i64", "f32", "f64" };

typedef struct reduce_row {
    const char *text;
    int types;
} reduce_row;

static const reduce_row reduces[LZ_K_REDUCES] = {
    { "sum", I | F }, { "prod", I | F }, { "max", B | I | F },    { "min", B | I | F },    { "and", B | I },
    { "or", B | I },  { "xor", B | I },  { "argmax", B | I | F }, { "argmin", B | I | F },
};

bool lz_kop_find(lz_str text, lz_kop *out)
{
    for (int i = 0; i < LZ_KOP_COUNT; i++)
        if (lz_str_is(text, ops[i].text)) {
            *out = (lz_kop)i;
            return true;
        }
    return false;
}

const char *lz_kop_text(lz_kop op)
{
    return ops[op].text;
}

int lz_kop_operands(lz_kop op)
{
    return ops[op].operands;
}

typedef struct dtype_row {
    const char *text;
    lz_ktype type;
    int size;
} dtype_row;

static const dtype_row dtypes[] = {
    [LZ_U8] = { "u8", LZ_KI32, 1 },     [LZ_I8] = { "i8", LZ_KI32, 1 },   [LZ_I16] = { "i16", LZ_KI32, 2 },
    [LZ_I32] = { "i32", LZ_KI32, 4 },   [LZ_I64] = { "i64", LZ_KI64, 8 }, [LZ_F16] = { "f16", LZ_KF32, 2 },
    [LZ_F32] = { "f32", LZ_KF32, 4 },   [LZ_F64] = { "f64", LZ_KF64, 8 }, [LZ_BOOL] = { "bool", LZ_KBOOL, 1 },
    [LZ_BF16] = { "bf16", LZ_KF32, 2 },
};

static const char *dtype_text(int dtype)
{
    bool known = dtype >= 0 && dtype < (int)(sizeof dtypes / sizeof *dtypes) && dtypes[dtype].text;
    return known ? dtypes[dtype].text : NULL;
}

lz_ktype lz_ktype_of(lz_dtype dtype)
{
    return dtype_text((int)dtype) ? dtypes[dtype].type : LZ_KTYPES;
}

struct lz_kb {
    lz_err *err; /* the first; from then on nothing is done */
    lz_kmode mode;
    int n_outer, n_row;
    lz_arena arena;
    lz_map known; /* bytes of a value -> 1 + its number */
    LZ_VEC(ref_value *) values;
    LZ_VEC(ref_access) accesses;
    LZ_VEC(int32_t) params;
};

lz_err *lz_kb_create(lz_kmode mode, int n_outer, int n_row, lz_kb **out)
{
    if (n_outer < 0 || n_row < 0)
        return lz_errf(LZ_ERR_ARG, "a kernel cannot have %d outer and %d row dimensions", n_outer, n_row);
    lz_kb *b = lz_mem_zalloc(1, sizeof *b);
    if (!b)
        return lz_err_oom();
    b->mode = mode;
    b->n_outer = n_outer;
    b->n_row = n_row;
    if (n_outer > LZ_KERNEL_DIMS || n_row > LZ_KERNEL_DIMS - n_outer)
        b->err = lz_errf(LZ_ERR_LIMIT, "a kernel has at most %d dimensions", LZ_KERNEL_DIMS);
    lz_arena_init(&b->arena);
    *out = b;
    return NULL;
}

void lz_kb_destroy(lz_kb *b)
{
    if (!b)
        return;
    lz_err_free(b->err);
    lz_map_deinit(&b->known);
    lz_vec_deinit(&b->values);
    lz_vec_deinit(&b->accesses);
    lz_vec_deinit(&b->params);
    lz_arena_deinit(&b->arena);
    lz_mem_free(b);
}

static lz_kv fail(lz_kb *b, const char *what)
{
    if (!b->err)
        b->err = lz_errf(LZ_ERR_ARG, "kernel: %s", what);
    return 0;
}

static lz_err *intern(lz_kb *b, const ref_value *v, lz_kv *out)
{
    lz_map_entry *e = lz_map_find(&b->known, (lz_str){ (const char *)v, sizeof *v });
    if (e) {
        *out = (lz_kv)((uintptr_t)e->value - 1);
        return NULL;
    }
    ref_value *copy;
    LZ_TRY(lz_arena_new(&b->arena, &copy, 1));
    *copy = *v;
    LZ_TRY(lz_vec_push(&b->values, copy));
    *out = (lz_kv)(b->values.len - 1);
    return lz_map_put(&b->known, (lz_str){ (const char *)copy, sizeof *copy },
                      (void *)(uintptr_t)b->values.len);
}

static uint8_t at_least(uint8_t level, ref_level least)
{
    return level < least ? (uint8_t)least : level;
}

/* Level and stage come from the operands and the kind. */
static lz_kv add(lz_kb *b, ref_value v)
{
    for (int i = 0; !b->err && i < v.n; i++) {
        if (v.in[i] >= b->values.len)
            return fail(b, "an operand that does not exist");
        const ref_value *x = b->values.data[v.in[i]];
        v.level = at_least(v.level, (ref_level)x->level);
        v.stage = v.stage < x->stage ? x->stage : v.stage;
    }
    if (b->err)
        return 0;
    if (v.kind == REF_REDUCE) {
        v.level = REF_OUTER;
        v.stage++;
    }
    lz_kv out = 0;
    b->err = intern(b, &v, &out);
    return b->err ? 0 : out;
}

static bool has_type(const lz_kb *b, lz_kv x, lz_ktype type)
{
    return x < b->values.len && b->values.data[x]->type == type;
}

int lz_kb_access(lz_kb *b, lz_dtype dtype, lz_kvary vary)
{
    if (!b->err && b->accesses.len == LZ_KERNEL_ACCESSES)
        b->err = lz_errf(LZ_ERR_LIMIT, "a kernel has at most %d accesses", LZ_KERNEL_ACCESSES);
    if (!b->err)
        b->err = lz_vec_push(&b->accesses, (ref_access){ (int32_t)dtype, (int32_t)vary, REF_UNUSED, 0 });
    return b->err ? 0 : (int)b->accesses.len - 1;
}

/* Puts access and level into v, or fails. */
static bool reads(lz_kb *b, int access, ref_value *v)
{
    if (b->err)
        return false;
    if (access < 0 || (size_t)access >= b->accesses.len || b->accesses.data[access].use == REF_WRITE)
        return fail(b, "a read of an access that is none, or a store's") != 0;
    ref_access *a = &b->accesses.data[access];
    lz_ktype type = v->kind == REF_AFFINE ? LZ_KI64 : lz_ktype_of((lz_dtype)a->dtype);
    if (type == LZ_KTYPES)
        return fail(b, "a load of a dtype that kernels do not have") != 0;
    a->use = REF_READ;
    v->type = (uint8_t)type;
    v->level = a->vary == LZ_K_ELEMENT ? REF_ELEMENT : REF_OUTER;
    v->attr = access;
    return true;
}

lz_kv lz_kb_load(lz_kb *b, int access)
{
    ref_value v = { .kind = REF_LOAD };
    return reads(b, access, &v) ? add(b, v) : 0;
}

lz_kv lz_kb_load_if(lz_kb *b, int access, lz_kv mask, lz_kv fill)
{
    ref_value v = { .kind = REF_LOAD, .n = 2, .in = { mask, fill } };
    if (!reads(b, access, &v))
        return 0;
    if (!has_type(b, mask, LZ_KBOOL) || !has_type(b, fill, (lz_ktype)v.type))
        return fail(b, "a mask that is not bool, or a fill of another type");
    return add(b, v);
}

lz_kv lz_kb_gather(lz_kb *b, int access, lz_kv index)
{
    ref_value v = { .kind = REF_GATHER, .n = 1, .in = { index } };
    if (!reads(b, access, &v))
        return 0;
    return has_type(b, index, LZ_KI64) ? add(b, v) : fail(b, "an index that is not i64");
}

lz_kv lz_kb_gather_if(lz_kb *b, int access, lz_kv index, lz_kv mask, lz_kv fill)
{
    ref_value v = { .kind = REF_GATHER, .n = 3, .in = { index, mask, fill } };
    if (!reads(b, access, &v))
        return 0;
    if (!has_type(b, index, LZ_KI64))
        return fail(b, "an index that is not i64");
    if (!has_type(b, mask, LZ_KBOOL) || !has_type(b, fill, (lz_ktype)v.type))
        return fail(b, "a mask that is not bool, or a fill of another type");
    return add(b, v);
}

lz_kv lz_kb_affine(lz_kb *b, int access)
{
    ref_value v = { .kind = REF_AFFINE };
    return reads(b, access, &v) ? add(b, v) : 0;
}

lz_kv lz_kb_check(lz_kb *b, lz_kv index, lz_kv size, int dim, bool wrap)
{
    ref_value v = {
        .kind = REF_CHECK, .type = LZ_KI64, .n = 2, .attr = dim, .more = wrap, .in = { index, size }
    };
    if (!b->err && (!has_type(b, index, LZ_KI64) || !has_type(b, size, LZ_KI64)))
        return fail(b, "a checked index that is not i64");
    return add(b, v);
}

lz_kv lz_kb_param(lz_kb *b, lz_ktype type)
{
    if (!b->err && b->params.len == LZ_KERNEL_PARAMS)
        b->err = lz_errf(LZ_ERR_LIMIT, "a kernel has at most %d parameters", LZ_KERNEL_PARAMS);
    if (!b->err && (type < 0 || type >= LZ_KTYPES))
        return fail(b, "a parameter of a type that does not exist");
    ref_value v = { .kind = REF_PARAM, .type = (uint8_t)type, .attr = (int32_t)b->params.len };
    if (!b->err)
        b->err = lz_vec_push(&b->params, (int32_t)type);
    return add(b, v);
}

lz_kv lz_kb_const_f(lz_kb *b, lz_ktype type, double v)
{
    if (!b->err && type != LZ_KF32 && type != LZ_KF64)
        return fail(b, "a fraction of a type that is not a float");
    double rounded = type == LZ_KF32 ? (double)(float)v : v;
    return add(b, (ref_value){ .kind = REF_CONST, .type = (uint8_t)type, .c.f = rounded });
}

lz_kv lz_kb_const_i(lz_kb *b, lz_ktype type, int64_t v)
{
    if (type == LZ_KF32)
        return lz_kb_const_f(b, type, (double)(float)v);
    if (type == LZ_KF64)
        return lz_kb_const_f(b, type, (double)v);
    int64_t wrapped = type == LZ_KBOOL ? v != 0 : type == LZ_KI32 ? (int32_t)v : v;
    return add(b, (ref_value){ .kind = REF_CONST, .type = (uint8_t)type, .c.i = wrapped });
}

static const uint8_t bits_type[LZ_KTYPES] = { LZ_KBOOL, LZ_KF32, LZ_KF64, LZ_KI32, LZ_KI64 };

static lz_kv add_op(lz_kb *b, lz_kop op, int n, lz_kv x, lz_kv y, lz_kv z)
{
    if (b->err)
        return 0;
    const lz_kv in[3] = { x, y, z };
    if (ops[op].operands != n)
        return fail(b, "an operation with the wrong number of operands");
    for (int i = 0; i < n; i++)
        if (in[i] >= b->values.len)
            return fail(b, "an operand that does not exist");
    int first = op == LZ_K_SELECT;
    uint8_t type = b->values.data[in[first]]->type;
    bool fits = (letter_of[type] & ops[op].types) && (!first || has_type(b, x, LZ_KBOOL));
    for (int i = first; i < n; i++)
        fits &= b->values.data[in[i]]->type == type;
    if (!fits)
        return fail(b, ops[op].text);
    const uint8_t result[] = { [SAME] = type, [BOOL] = LZ_KBOOL, [LAST] = type, [BITS] = bits_type[type] };
    ref_value v = { .kind = REF_OP, .type = result[ops[op].result], .n = (uint8_t)n, .attr = (int32_t)op };
    memcpy(v.in, in, (size_t)n * sizeof *in);
    return add(b, v);
}

lz_kv lz_kb_op1(lz_kb *b, lz_kop op, lz_kv x)
{
    return add_op(b, op, 1, x, 0, 0);
}

lz_kv lz_kb_op2(lz_kb *b, lz_kop op, lz_kv x, lz_kv y)
{
    if (op == LZ_K_GT || op == LZ_K_GE)
        return add_op(b, op == LZ_K_GT ? LZ_K_LT : LZ_K_LE, 2, y, x, 0);
    return add_op(b, op, 2, x, y, 0);
}

lz_kv lz_kb_op3(lz_kb *b, lz_kop op, lz_kv x, lz_kv y, lz_kv z)
{
    return add_op(b, op, 3, x, y, z);
}

lz_kv lz_kb_cast(lz_kb *b, lz_kv x, lz_dtype to)
{
    lz_ktype type = lz_ktype_of(to);
    if (!b->err && type == LZ_KTYPES)
        return fail(b, "a cast to a dtype that kernels do not have");
    return add(
        b, (ref_value){ .kind = REF_CAST, .type = (uint8_t)type, .n = 1, .attr = (int32_t)to, .in = { x } });
}

lz_kv lz_kb_philox(lz_kb *b, int word, lz_kv seed, lz_kv stream, lz_kv index)
{
    ref_value v = {
        .kind = REF_PHILOX, .type = LZ_KI64, .n = 3, .attr = word, .in = { seed, stream, index }
    };
    for (int i = 0; !b->err && i < 3; i++)
        if (!has_type(b, v.in[i], LZ_KI64))
            return fail(b, "philox of a value that is not i64");
    if (!b->err && (word < 0 || word > 3))
        return fail(b, "philox has words 0 to 3");
    return add(b, v);
}

static lz_kv add_reduce(lz_kb *b, ref_kind kind, lz_kreduce reduce, lz_kv x)
{
    if (b->err)
        return 0;
    if (x >= b->values.len || !(letter_of[b->values.data[x]->type] & reduces[reduce].types))
        return fail(b, reduces[reduce].text);
    bool arg = reduce == LZ_K_RARGMAX || reduce == LZ_K_RARGMIN;
    ref_value v = { .kind = (uint8_t)kind, .n = 1, .attr = (int32_t)reduce, .in = { x } };
    v.type = arg ? LZ_KI64 : b->values.data[x]->type;
    v.level = REF_ELEMENT;
    return add(b, v);
}

lz_kv lz_kb_reduce(lz_kb *b, lz_kreduce kind, lz_kv x)
{
    return add_reduce(b, REF_REDUCE, kind, x);
}

lz_kv lz_kb_scan(lz_kb *b, lz_kreduce kind, lz_kv x)
{
    return add_reduce(b, REF_SCAN, kind, x);
}

void lz_kb_store(lz_kb *b, int access, lz_kv x)
{
    if (b->err)
        return;
    if (access < 0 || (size_t)access >= b->accesses.len || b->accesses.data[access].use != REF_UNUSED) {
        fail(b, "a store to an access that is none, or in use");
        return;
    }
    ref_access *a = &b->accesses.data[access];
    lz_ktype type = lz_ktype_of((lz_dtype)a->dtype);
    if (type == LZ_KTYPES || !has_type(b, x, type)) {
        fail(b, "a store of another type than the access has");
        return;
    }
    if (a->vary == LZ_K_OUTER && lz_kb_varies(b, x)) {
        fail(b, "a store per outer index of a value per element");
        return;
    }
    a->use = REF_WRITE;
    a->stored = x;
}

lz_ktype lz_kb_type(const lz_kb *b, lz_kv x)
{
    return x < b->values.len ? (lz_ktype)b->values.data[x]->type : LZ_KBOOL;
}

bool lz_kb_varies(const lz_kb *b, lz_kv x)
{
    return x < b->values.len && b->values.data[x]->level == REF_ELEMENT;
}

int lz_kb_count(const lz_kb *b)
{
    return (int)b->values.len;
}

/* place[v] becomes 1 + v's number among the values that stores need, 0 for the others. */
static uint32_t number(const lz_kb *b, uint32_t *place)
{
    for (size_t i = 0; i < b->accesses.len; i++)
        if (b->accesses.data[i].use == REF_WRITE)
            place[b->accesses.data[i].stored] = 1;
    for (size_t v = b->values.len; v-- > 0;)
        for (int i = 0; place[v] && i < b->values.data[v]->n; i++)
            place[b->values.data[v]->in[i]] = 1;
    uint32_t n = 0;
    for (size_t v = 0; v < b->values.len; v++)
        place[v] = place[v] ? ++n : 0;
    return n;
}

static void copy_values(lz_kernel *k, const lz_kb *b, const uint32_t *place)
{
    for (size_t i = 0; i < b->values.len; i++) {
        if (!place[i])
            continue;
        ref_value *v = &k->values[place[i] - 1];
        *v = *b->values.data[i];
        for (int j = 0; j < v->n; j++)
            v->in[j] = place[v->in[j]] - 1;
        if (v->kind == REF_REDUCE || v->kind == REF_SCAN)
            v->more = k->n_reductions++;
        k->last = k->last < v->stage ? v->stage : k->last;
    }
}

static void copy_accesses(lz_kernel *k, const lz_kb *b, const uint32_t *place)
{
    for (int i = 0; i < k->n_accesses; i++) {
        k->accesses[i] = b->accesses.data[i];
        if (k->accesses[i].use == REF_WRITE)
            k->accesses[i].stored = place[k->accesses[i].stored] - 1;
    }
}

static lz_hash hash_of(const lz_kernel *k)
{
    const int32_t head[] = { (int32_t)k->mode, k->n_outer, k->n_row };
    lz_hash h = lz_hash_bytes(head, sizeof head);
    h = lz_hash_mix(h, lz_hash_bytes(k->values, (size_t)k->n_values * sizeof *k->values));
    h = lz_hash_mix(h, lz_hash_bytes(k->accesses, (size_t)k->n_accesses * sizeof *k->accesses));
    return lz_hash_mix(h, lz_hash_bytes(k->params, (size_t)k->n_params * sizeof *k->params));
}

static lz_err *allocate(const lz_kb *b, uint32_t n_values, lz_kernel **out)
{
    lz_kernel *k = lz_mem_zalloc(1, sizeof *k);
    if (!k)
        return lz_err_oom();
    atomic_init(&k->count, 1);
    k->mode = b->mode;
    k->n_outer = b->n_outer;
    k->n_row = b->n_row;
    k->n_values = (int)n_values;
    k->n_accesses = (int)b->accesses.len;
    k->n_params = (int)b->params.len;
    k->values = lz_mem_zalloc(n_values, sizeof *k->values);
    k->accesses = lz_mem_zalloc(b->accesses.len, sizeof *k->accesses);
    k->params = lz_mem_zalloc(b->params.len, sizeof *k->params);
    if (!k->values || !k->accesses || !k->params) {
        lz_kernel_release(k);
        return lz_err_oom();
    }
    *out = k;
    return NULL;
}

static lz_err *assemble(const lz_kb *b, uint32_t *place, lz_kernel **out)
{
    uint32_t n = number(b, place);
    if (n > LZ_KERNEL_OPS)
        return lz_errf(LZ_ERR_LIMIT, "a kernel has at most %d values", LZ_KERNEL_OPS);
    lz_kernel *k;
    LZ_TRY(allocate(b, n, &k));
    copy_values(k, b, place);
    copy_accesses(k, b, place);
    if (b->params.len)
        memcpy(k->params, b->params.data, b->params.len * sizeof *k->params);
    if (k->n_reductions > LZ_KERNEL_REDUCTIONS) {
        lz_kernel_release(k);
        return lz_errf(LZ_ERR_LIMIT, "a kernel has at most %d reductions", LZ_KERNEL_REDUCTIONS);
    }
    k->hash = hash_of(k);
    *out = k;
    return NULL;
}

lz_err *lz_kb_finish(lz_kb *b, lz_kernel **out)
{
    lz_err *e = b->err;
    b->err = NULL;
    if (!e) {
        uint32_t *place = lz_mem_zalloc(b->values.len, sizeof *place);
        e = place ? assemble(b, place, out) : lz_err_oom();
        lz_mem_free(place);
    }
    lz_kb_destroy(b);
    return e;
}

lz_kernel *lz_kernel_retain(lz_kernel *k)
{
    atomic_fetch_add_explicit(&k->count, 1, memory_order_relaxed);
    return k;
}

void lz_kernel_release(lz_kernel *k)
{
    if (!k || atomic_fetch_sub_explicit(&k->count, 1, memory_order_acq_rel) != 1)
        return;
    lz_mem_free(k->values);
    lz_mem_free(k->accesses);
    lz_mem_free(k->params);
    lz_mem_free(k);
}

lz_hash lz_kernel_hash(const lz_kernel *k)
{
    return k->hash;
}

static bool same_bytes(const void *a, const void *b, int n, size_t size)
{
    return memcmp(a, b, (size_t)n * size) == 0;
}

bool lz_kernel_equal(const lz_kernel *a, const lz_kernel *b)
{
    return lz_hash_eq(a->hash, b->hash) && a->mode == b->mode && a->n_outer == b->n_outer
           && a->n_row == b->n_row && a->n_values == b->n_values && a->n_accesses == b->n_accesses
           && a->n_params == b->n_params && same_bytes(a->values, b->values, a->n_values, sizeof *a->values)
           && same_bytes(a->accesses, b->accesses, a->n_accesses, sizeof *a->accesses)
           && same_bytes(a->params, b->params, a->n_params, sizeof *a->params);
}

static void print_attr(const ref_value *v, lz_text *out)
{
    static const char *const kinds[REF_KINDS] = { "const",    "param",   "load @", "gather @",
                                                  "affine @", "check ",  "",       "cast ",
                                                  "philox ",  "reduce ", "scan " };
    lz_text_puts(out, kinds[v->kind]);
    if (v->kind == REF_CONST)
        lz_text_putc(out, ' ');
    if (v->kind == REF_CONST && letter_of[v->type] == F)
        lz_text_double(out, v->c.f);
    else if (v->kind == REF_CONST)
        lz_text_int(out, v->c.i);
    else if (v->kind == REF_OP)
        lz_text_puts(out, ops[v->attr].text);
    else if (v->kind == REF_CAST)
        lz_text_puts(out, dtype_text(v->attr));
    else if (v->kind == REF_REDUCE || v->kind == REF_SCAN)
        lz_text_puts(out, reduces[v->attr].text);
    else
        lz_text_printf(out, "%s%d%s", v->kind == REF_PARAM ? " " : "", v->attr,
                       v->kind == REF_CHECK && v->more ? " wrap" : "");
}

void lz_kernel_print(const lz_kernel *k, lz_text *out)
{
    static const char *const levels[] = { "uniform", "outer", "element" };
    lz_text_printf(out, "kernel %s %d+%d\n", k->mode == LZ_K_ROWS ? "rows" : "columns", k->n_outer, k->n_row);
    for (int i = 0; i < k->n_values; i++) {
        const ref_value *v = &k->values[i];
        lz_text_printf(out, "%%%d: %s %s = ", i, type_names[v->type], levels[v->level]);
        print_attr(v, out);
        for (int j = 0; j < v->n; j++)
            lz_text_printf(out, " %%%u", (unsigned)v->in[j]);
        lz_text_putc(out, '\n');
    }
    for (int i = 0; i < k->n_accesses; i++)
        if (k->accesses[i].use == REF_WRITE)
            lz_text_printf(out, "store %s @%d %%%u\n", dtype_text(k->accesses[i].dtype), i,
                           (unsigned)k->accesses[i].stored);
}

/* The last walk in which v is read again, if stores are made as soon as they can be. */
static uint32_t last_read(const lz_kernel *k, uint32_t v)
{
    bool marked[LZ_KERNEL_OPS] = { false };
    uint32_t last = k->values[v].stage;
    marked[v] = true;
    for (uint32_t u = v + 1; u < (uint32_t)k->n_values; u++) {
        const ref_value *x = &k->values[u];
        for (int i = 0; i < x->n; i++)
            marked[u] |= marked[x->in[i]];
        if (!marked[u])
            continue;
        uint32_t walk = x->stage - (x->kind == REF_REDUCE);
        last = last < walk ? walk : last;
        marked[u] = x->kind != REF_REDUCE;
    }
    return last;
}

bool lz_kernel_in_place(const lz_kernel *k, int load, int store)
{
    if (load < 0 || store < 0 || load >= k->n_accesses || store >= k->n_accesses)
        return false;
    const ref_access *from = &k->accesses[load], *to = &k->accesses[store];
    if (from->use != REF_READ || to->use != REF_WRITE || from->vary != to->vary)
        return false;
    if (!dtype_text(from->dtype) || dtypes[from->dtype].size != dtypes[to->dtype].size)
        return false;
    bool fits = true;
    for (uint32_t v = 0; fits && v < (uint32_t)k->n_values; v++) {
        const ref_value *x = &k->values[v];
        if ((x->kind == REF_LOAD || x->kind == REF_GATHER) && x->attr == load)
            fits = x->kind == REF_LOAD && last_read(k, v) <= k->values[to->stored].stage;
    }
    return fits;
}
