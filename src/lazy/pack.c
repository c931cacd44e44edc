#include "lazy/pack.h"
#include <string.h>

void lz_call_init(lz_call *c)
{
    memset(c, 0, sizeof *c);
}

void lz_call_deinit(lz_call *c)
{
    lz_vec_deinit(&c->tensors);
    lz_vec_deinit(&c->words);
}

/* ---- words: the kind, then what it needs ---- */

static lz_err *put(lz_call *c, uint64_t v)
{
    return lz_vec_push(&c->words, v);
}

/* n bytes, filled up to whole words. */
static lz_err *put_bytes(lz_call *c, const void *p, size_t n)
{
    size_t words = (n + 7) / 8;
    LZ_TRY(lz_vec_reserve(&c->words, words + 1));
    uint64_t *to = c->words.data + c->words.len;
    if (words)
        to[words - 1] = 0;
    if (n)
        memcpy(to, p, n);
    c->words.len += words;
    return NULL;
}

typedef lz_err *put_fn(lz_call *c, const lz_value *v);

static lz_err *put_int(lz_call *c, const lz_value *v)
{
    return put(c, (uint64_t)v->integer);
}

static lz_err *put_real(lz_call *c, const lz_value *v)
{
    return put_bytes(c, &v->real, sizeof v->real);
}

static lz_err *put_bool(lz_call *c, const lz_value *v)
{
    return put(c, v->truth);
}

static lz_err *put_dtype(lz_call *c, const lz_value *v)
{
    return put(c, (uint64_t)v->dtype);
}

static lz_err *put_layout(lz_call *c, const lz_value *v)
{
    return put(c, (uint64_t)v->layout);
}

static lz_err *put_format(lz_call *c, const lz_value *v)
{
    return put(c, (uint64_t)v->memory_format);
}

static lz_err *put_qscheme(lz_call *c, const lz_value *v)
{
    return put(c, (uint64_t)v->qscheme);
}

static lz_err *put_device(lz_call *c, const lz_value *v)
{
    return put(c, (uint64_t)(uint16_t)v->device.type << 16 | (uint16_t)v->device.index);
}

/* As the struct lies in memory, with what is between its members set to 0. */
static lz_err *put_number(lz_call *c, const lz_scalar *s)
{
    lz_scalar clean;
    memset(&clean, 0, sizeof clean);
    clean.kind = s->kind;
    if (s->kind == LZ_SCALAR_BOOL || s->kind == LZ_SCALAR_INT)
        clean.i = s->i;
    if (s->kind == LZ_SCALAR_FLOAT || s->kind == LZ_SCALAR_COMPLEX)
        clean.re = s->re;
    if (s->kind == LZ_SCALAR_COMPLEX)
        clean.im = s->im;
    return put_bytes(c, &clean, sizeof clean);
}

static lz_err *put_scalar(lz_call *c, const lz_value *v)
{
    return put_number(c, &v->scalar);
}

static lz_err *put_str(lz_call *c, const lz_value *v)
{
    size_t n = strlen(v->str) + 1;
    LZ_TRY(put(c, n));
    return put_bytes(c, v->str, n);
}

static lz_err *put_list(lz_call *c, const void *p, int64_t n, size_t size)
{
    LZ_TRY(put(c, (uint64_t)n));
    return put_bytes(c, p, (size_t)(n < 0 ? 0 : n) * size);
}

static lz_err *put_ints(lz_call *c, const lz_value *v)
{
    return put_list(c, v->ints.v, v->ints.n, sizeof(int64_t));
}

static lz_err *put_floats(lz_call *c, const lz_value *v)
{
    return put_list(c, v->floats.v, v->floats.n, sizeof(double));
}

static lz_err *put_bools(lz_call *c, const lz_value *v)
{
    return put_list(c, v->bools.v, v->bools.n, sizeof(bool));
}

static lz_err *put_scalars(lz_call *c, const lz_value *v)
{
    LZ_TRY(put(c, (uint64_t)v->scalars.n));
    for (int64_t i = 0; i < v->scalars.n; i++)
        LZ_TRY(put_number(c, &v->scalars.v[i]));
    return NULL;
}

static put_fn *const puts_by_kind[LZ_KIND_COUNT] = {
    [LZ_KIND_INT] = put_int,         [LZ_KIND_FLOAT] = put_real,
    [LZ_KIND_BOOL] = put_bool,       [LZ_KIND_SCALAR] = put_scalar,
    [LZ_KIND_STR] = put_str,         [LZ_KIND_DTYPE] = put_dtype,
    [LZ_KIND_LAYOUT] = put_layout,   [LZ_KIND_MEMORY_FORMAT] = put_format,
    [LZ_KIND_QSCHEME] = put_qscheme, [LZ_KIND_DEVICE] = put_device,
    [LZ_KIND_INTS] = put_ints,       [LZ_KIND_FLOATS] = put_floats,
    [LZ_KIND_BOOLS] = put_bools,     [LZ_KIND_SCALARS] = put_scalars,
};

/* What a type's own value for "absent" looks like. */
static bool is_absent(const lz_value *v)
{
    switch (v->kind) {
    case LZ_KIND_NONE:
    case LZ_KIND_GENERATOR: /* the context draws the numbers */
        return true;
    case LZ_KIND_SCALAR:
        return v->scalar.kind == LZ_SCALAR_NONE;
    case LZ_KIND_STR:
        return !v->str;
    case LZ_KIND_DTYPE:
        return v->dtype == LZ_DTYPE_NONE;
    case LZ_KIND_LAYOUT:
        return v->layout == LZ_LAYOUT_NONE;
    case LZ_KIND_MEMORY_FORMAT:
        return v->memory_format == LZ_MEMORY_FORMAT_NONE;
    case LZ_KIND_DEVICE:
        return v->device.type < 0;
    case LZ_KIND_INTS:
        return v->ints.n < 0;
    case LZ_KIND_FLOATS:
        return v->floats.n < 0;
    case LZ_KIND_BOOLS:
        return v->bools.n < 0;
    case LZ_KIND_SCALARS:
        return v->scalars.n < 0;
    default:
        return false;
    }
}

lz_value lz_unpack(const uint64_t *words, uint32_t first)
{
    lz_value v = { .kind = (lz_kind)words[first] };
    const uint64_t *w = words + first + 1;
    int64_t n = (int64_t)w[0];
    switch (v.kind) {
    case LZ_KIND_INT:
        v.integer = n;
        break;
    case LZ_KIND_FLOAT:
        memcpy(&v.real, w, sizeof v.real);
        break;
    case LZ_KIND_BOOL:
        v.truth = n != 0;
        break;
    case LZ_KIND_SCALAR:
        memcpy(&v.scalar, w, sizeof v.scalar);
        break;
    case LZ_KIND_STR:
        v.str = (const char *)(w + 1);
        break;
    case LZ_KIND_DTYPE:
        v.dtype = (lz_dtype)n;
        break;
    case LZ_KIND_LAYOUT:
        v.layout = (lz_layout)n;
        break;
    case LZ_KIND_MEMORY_FORMAT:
        v.memory_format = (lz_memory_format)n;
        break;
    case LZ_KIND_QSCHEME:
        v.qscheme = (lz_qscheme)n;
        break;
    case LZ_KIND_DEVICE:
        v.device = (lz_device){ (int16_t)(n >> 16), (int16_t)n };
        break;
    case LZ_KIND_INTS:
        v.ints = (lz_ints){ (const int64_t *)(w + 1), n };
        break;
    case LZ_KIND_FLOATS:
        v.floats = (lz_floats){ (const void *)(w + 1), n };
        break;
    case LZ_KIND_BOOLS:
        v.bools = (lz_bools){ (const bool *)(w + 1), n };
        break;
    case LZ_KIND_SCALARS:
        v.scalars = (lz_scalars){ (const lz_scalar *)(w + 1), n };
        break;
    default:
        v.kind = LZ_KIND_NONE;
        v.tensor = NULL;
    }
    return v;
}

/* ---- arguments ---- */

static lz_err *missing(const lz_call *c, const lz_arg_row *a)
{
    return lz_errf(LZ_ERR_ARG, "%s(): argument '%s' must be a tensor, not none", c->op->name, a->name);
}

static lz_err *pack_tensor(lz_call *c, const lz_arg_row *a, const lz_value *v, lz_slot *s)
{
    bool given = v->kind == LZ_KIND_TENSOR && v->tensor;
    if (!given && !(a->type->flags & LZ_TYPE_OPTIONAL))
        return missing(c, a);
    if (!given)
        return NULL;
    *s = (lz_slot){ .kind = LZ_ARG_TENSOR, .n = 1, .first = (uint32_t)c->tensors.len };
    return lz_vec_push(&c->tensors, v->tensor);
}

static bool lacks_memory(const lz_value *v)
{
    switch (v->kind) {
    case LZ_KIND_INTS:
        return v->ints.n > 0 && !v->ints.v;
    case LZ_KIND_FLOATS:
        return v->floats.n > 0 && !v->floats.v;
    case LZ_KIND_BOOLS:
        return v->bools.n > 0 && !v->bools.v;
    case LZ_KIND_SCALARS:
        return v->scalars.n > 0 && !v->scalars.v;
    case LZ_KIND_TENSORS:
        return v->tensors.n > 0 && !v->tensors.v;
    default:
        return false;
    }
}

static inline lz_err *check_list(const lz_op_row *op, const lz_arg_row *a, const lz_value *v)
{
    enum {
        LISTS = 1 << LZ_KIND_INTS | 1 << LZ_KIND_FLOATS | 1 << LZ_KIND_BOOLS | 1 << LZ_KIND_SCALARS
                | 1 << LZ_KIND_TENSORS
    };
    return LISTS >> v->kind & 1 && lacks_memory(v)
               ? lz_errf(LZ_ERR_ARG, "%s(): the list '%s' has members, but v is NULL", op->name, a->name)
               : NULL;
}

lz_err *lz_call_check_lists(const lz_op_row *op, const lz_value *args)
{
    for (uint32_t i = 0; i < op->nargs; i++)
        LZ_TRY(check_list(op, &op->args[i], &args[i]));
    return NULL;
}

static lz_err *pack_tensors(lz_call *c, const lz_arg_row *a, const lz_value *v, lz_slot *s)
{
    int64_t n = v->kind == LZ_KIND_TENSORS ? v->tensors.n : -1;
    if (n < 0 && a->type->flags & LZ_TYPE_OPTIONAL)
        return NULL;
    LZ_TRY(check_list(c->op, a, v));
    if (n > UINT16_MAX)
        return lz_errf(LZ_ERR_LIMIT, "%s(): more than %d tensors in '%s'", c->op->name, UINT16_MAX, a->name);
    *s = (lz_slot){ .kind = LZ_ARG_TENSORS,
                    .n = (uint16_t)(n < 0 ? 0 : n),
                    .first = (uint32_t)c->tensors.len };
    LZ_TRY(lz_vec_reserve(&c->tensors, s->n));
    for (int64_t i = 0; i < n; i++) {
        if (!v->tensors.v[i] && !(a->type->flags & LZ_TYPE_NULLABLE))
            return missing(c, a);
        c->tensors.data[c->tensors.len++] = v->tensors.v[i];
    }
    return NULL;
}

static lz_err *pack_fixed(lz_call *c, const lz_arg_row *a, const lz_value *v, lz_slot *s)
{
    put_fn *fn = puts_by_kind[v->kind];
    if (is_absent(v))
        return NULL;
    if (!fn)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s(): argument '%s' cannot be recorded", c->op->name, a->name);
    LZ_TRY(check_list(c->op, a, v));
    *s = (lz_slot){ .kind = LZ_ARG_VALUE, .first = (uint32_t)c->words.len };
    LZ_TRY(put(c, v->kind));
    return fn(c, v);
}

static void pack_number(lz_call *c, lz_scalar v, lz_slot *s)
{
    *s = (lz_slot){ .kind = LZ_ARG_SCALAR, .scalar = (uint8_t)v.kind, .first = c->nnumbers };
    c->numbers[c->nnumbers++] = v;
}

lz_err *lz_call_pack(lz_call *c, const lz_op_row *op, const lz_value *args, bool statics)
{
    c->op = op;
    c->nnumbers = 0;
    c->nslots = op->nargs;
    c->tensors.len = c->words.len = 0;
    for (uint32_t i = 0; i < op->nargs; i++) {
        const lz_arg_row *a = &op->args[i];
        const lz_value *v = &args[i];
        lz_slot *s = &c->slots[i];
        *s = (lz_slot){ .kind = LZ_ARG_NONE };
        if (a->type->kind == LZ_KIND_TENSOR)
            LZ_TRY(pack_tensor(c, a, v, s));
        else if (a->type->kind == LZ_KIND_TENSORS)
            LZ_TRY(pack_tensors(c, a, v, s));
        else if (v->kind == LZ_KIND_SCALAR && v->scalar.kind != LZ_SCALAR_NONE && !a->fixed && !statics)
            pack_number(c, v->scalar, s);
        else
            LZ_TRY(pack_fixed(c, a, v, s));
    }
    return NULL;
}

/* ---- comparing instead of packing ---- */

/* w: behind the word of the kind. */
static bool repeats_value(const uint64_t *w, const lz_value *v)
{
    int64_t n = (int64_t)w[0];
    uint64_t bits;
    switch (v->kind) {
    case LZ_KIND_INT:
        return n == v->integer;
    case LZ_KIND_FLOAT:
        memcpy(&bits, &v->real, sizeof bits);
        return w[0] == bits;
    case LZ_KIND_BOOL:
        return w[0] == v->truth;
    case LZ_KIND_DTYPE:
        return n == v->dtype;
    case LZ_KIND_LAYOUT:
        return n == v->layout;
    case LZ_KIND_MEMORY_FORMAT:
        return n == v->memory_format;
    case LZ_KIND_STR:
        return v->str && strcmp((const char *)(w + 1), v->str) == 0;
    case LZ_KIND_INTS:
        return n == v->ints.n
               && (n == 0 || (v->ints.v && memcmp(w + 1, v->ints.v, (size_t)n * sizeof *v->ints.v) == 0));
    default:
        return false;
    }
}

bool lz_pack_repeats(const lz_slot *s, const uint64_t *fixed, const lz_arg_row *a, const lz_value *v)
{
    if (s->kind == LZ_ARG_VALUE)
        return fixed[s->first] == (uint64_t)v->kind && repeats_value(fixed + s->first + 1, v);
    if (s->kind != LZ_ARG_NONE)
        return false;
    if (a->type->kind == LZ_KIND_TENSOR)
        return v->kind != LZ_KIND_TENSOR || !v->tensor;
    return a->type->kind == LZ_KIND_TENSORS ? v->kind != LZ_KIND_TENSORS || v->tensors.n < 0 : is_absent(v);
}

void lz_call_add_random(lz_call *c, uint64_t seed, uint64_t position)
{
    c->slots[c->nslots++] = (lz_slot){ .kind = LZ_ARG_RANDOM, .scalar = LZ_SCALAR_INT, .first = c->nnumbers };
    c->numbers[c->nnumbers++] = lz_scalar_int((int64_t)seed);
    c->numbers[c->nnumbers++] = lz_scalar_int((int64_t)position);
}
