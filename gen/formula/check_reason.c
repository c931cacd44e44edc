#include "gen/formula/check_reason.h"
#include <assert.h>

enum {
    SIZE = 1,  /* sizes of a tensor */
    INT = 2,   /* an int argument */
    NAMED = 4, /* a value of the call, no constant */
};

static bool is_dtype(const lzg_fty *t)
{
    while (t->elem)
        t = t->elem;
    return lzg_fty_is(t, LZG_TY_ScalarType);
}

/* NOLINTBEGIN(misc-no-recursion): terms are as high as the parser lets expressions be */

static uint8_t subject_of(uint8_t *slots, const lzg_term *t);

static uint8_t subject_of_all(uint8_t *slots, const lzg_term *const *terms, size_t n)
{
    uint8_t all = 0;
    for (size_t i = 0; i < n; i++)
        all |= terms[i] ? subject_of(slots, terms[i]) : 0;
    return all;
}

static uint8_t subject_of_prim(uint8_t *slots, const lzg_term *t)
{
    /* A dimension is no size, although wrapping it uses the number of dimensions. */
    bool dimension = t->prim == LZG_PRIM_WRAP_DIM || t->prim == LZG_PRIM_WRAP_DIMS;
    uint8_t all = subject_of_all(slots, t->kids, dimension ? 1 : t->nkids);
    if (t->prim == LZG_PRIM_SHAPE || t->prim == LZG_PRIM_NDIM || t->prim == LZG_PRIM_NUMEL)
        return SIZE | NAMED;
    return t->prim == LZG_PRIM_LEN ? all & (uint8_t)~INT : all;
}

/* A slot is set before it is used: this walk sets the slots of lets, lists, folds and loops. */
static uint8_t subject_of_block(uint8_t *slots, const lzg_term *t)
{
    size_t source = t->kind == LZG_TERM_MAP, sources = t->kind == LZG_TERM_FOLD ? 2 : 1;
    uint8_t all = subject_of_all(slots, t->kids + source, sources);
    for (size_t i = 0; i < t->nslots; i++)
        slots[t->slots[i]] = all;
    for (size_t i = 0; i < t->nkids; i++)
        if ((i < source || i >= source + sources) && t->kids[i])
            all = subject_of(slots, t->kids[i]) | (t->kind == LZG_TERM_LET ? 0 : all);
    return all;
}

static uint8_t subject_of(uint8_t *slots, const lzg_term *t)
{
    switch (t->kind) {
    case LZG_TERM_VAR:
        return slots[t->integer];
    case LZG_TERM_PRIM:
        return subject_of_prim(slots, t);
    case LZG_TERM_LET:
    case LZG_TERM_MAP:
    case LZG_TERM_FOLD:
    case LZG_TERM_LOOP:
        return subject_of_block(slots, t);
    case LZG_TERM_CALL: /* a tensor: a primitive reads its sizes */
        subject_of_all(slots, t->kids, t->nkids);
        return NAMED;
    default:
        return subject_of_all(slots, t->kids, t->nkids);
    }
}

static lz_reason reason_of_comparison(uint8_t *slots, const lzg_term *t)
{
    uint8_t a = subject_of(slots, t->kids[0]), b = subject_of(slots, t->kids[1]), both = a | b;
    bool equal = t->op == LZG_OP_EQ || t->op == LZG_OP_NE;
    if (!(both & SIZE))
        return LZ_REASON_ARGUMENT;
    if (equal)
        return a & b & NAMED ? LZ_REASON_SHAPE : LZ_REASON_ARGUMENT;
    return both & INT ? LZ_REASON_INDEX : LZ_REASON_ARGUMENT;
}

static bool is_comparison(const lzg_term *t)
{
    return t->kind == LZG_TERM_OP && t->op >= LZG_OP_EQ && t->op <= LZG_OP_GT;
}

static lz_reason stronger(lz_reason a, lz_reason b)
{
    static const lz_reason order[] = { LZ_REASON_DTYPE, LZ_REASON_SHAPE, LZ_REASON_INDEX };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (a == order[i] || b == order[i])
            return order[i];
    return LZ_REASON_ARGUMENT;
}

static lz_reason reason_of(uint8_t *slots, const lzg_term *t)
{
    lz_reason found = is_comparison(t) ? reason_of_comparison(slots, t) : LZ_REASON_ARGUMENT;
    if (t->kind == LZG_TERM_CALL || (t->kind == LZG_TERM_PRIM && t->prim == LZG_PRIM_IS_NONE))
        return LZ_REASON_ARGUMENT;
    if (is_dtype(t->type))
        return LZ_REASON_DTYPE;
    for (size_t i = 0; i < t->nkids; i++)
        if (t->kids[i])
            found = stronger(found, reason_of(slots, t->kids[i]));
    return found;
}

/* NOLINTEND(misc-no-recursion) */

lz_err *lzg_subjects_of(lz_arena *a, const lzg_checked *c, const uint8_t **out)
{
    uint8_t *slots;
    LZ_TRY(lz_arena_new(a, &slots, c->nslots + 1));
    for (size_t i = 0; i < c->ngiven; i++)
        slots[i] = lzg_fty_is_int(c->slots[i].type) ? INT | NAMED : NAMED;
    if (c->root)
        subject_of(slots, c->root);
    *out = slots;
    return NULL;
}

lz_reason lzg_check_reason(const uint8_t *subjects, const lzg_term *check)
{
    assert(check->kind == LZG_TERM_CHECK);
    /* Every slot is set: a second walk writes the same values. */
    return reason_of((uint8_t *)subjects, check->kids[0]);
}
