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

lz_value lz_unpack(const uint64_t *words, uint32_t first)
{
    return lz_value_get(words + first);
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

static inline lz_err *check_list(const lz_op_row *op, const lz_arg_row *a, const lz_value *v)
{
    enum {
        LISTS = 1 << LZ_KIND_INTS | 1 << LZ_KIND_FLOATS | 1 << LZ_KIND_BOOLS | 1 << LZ_KIND_SCALARS
                | 1 << LZ_KIND_TENSORS
    };
    return LISTS >> v->kind & 1 && v->ints.n > 0 && !v->ints.v /* all lists have one layout */
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
    if (lz_value_is_absent(v))
        return NULL;
    if (!lz_kinds[v->kind].put)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s(): argument '%s' has a kind of value that cannot be recorded",
                       c->op->name, a->name);
    LZ_TRY(check_list(c->op, a, v));
    *s = (lz_slot){ .kind = LZ_ARG_VALUE, .first = (uint32_t)c->words.len };
    return lz_value_put(&c->words, v);
}

static void pack_number(lz_call *c, lz_scalar v, lz_slot *s)
{
    *s = (lz_slot){ .kind = LZ_ARG_SCALAR, .scalar = (uint8_t)v.kind, .first = c->nnumbers };
    c->numbers[c->nnumbers++] = v;
}

lz_err *lz_call_pack(lz_call *c, const lz_op_row *op, const lz_value *args, bool statics)
{
    c->op = op;
    c->args = args;
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

/* w: the words behind the word that holds the kind. */
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
    return a->type->kind == LZ_KIND_TENSORS ? v->kind != LZ_KIND_TENSORS || v->tensors.n < 0
                                            : lz_value_is_absent(v);
}

lz_generator *lz_call_generator(const lz_call *c)
{
    for (uint32_t i = 0; i < c->op->nargs; i++)
        if (c->args[i].kind == LZ_KIND_GENERATOR && c->args[i].generator)
            return c->args[i].generator;
    return NULL;
}

void lz_call_add_random(lz_call *c, uint64_t seed, uint64_t position)
{
    c->slots[c->nslots++] = (lz_slot){ .kind = LZ_ARG_RANDOM, .scalar = LZ_SCALAR_INT, .first = c->nnumbers };
    c->numbers[c->nnumbers++] = lz_scalar_int((int64_t)seed);
    c->numbers[c->nnumbers++] = lz_scalar_int((int64_t)position);
}
