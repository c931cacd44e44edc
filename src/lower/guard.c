#include "lower/guard.h"
#include "core/convert.h"
#include "core/scalar.h"
#include "lower/lower_impl.h"
#include <string.h>

enum { MOST_STEPS = 64 };

/* Computes one number from those before it. */
typedef struct step {
    lz_lkind kind; /* SCALAR, CONST, CAST or MAP */
    lz_kop op;
    lz_dtype dtype;
    uint32_t in[3];
    int64_t slot;
    lz_scalar value;
} step;

/* A piece of the message: a text, or the number of a step. */
typedef struct part {
    lz_str text;
    uint32_t step;
    bool is_number;
} part;

struct lz_guard {
    const lz_guard *next;
    uint32_t origin, condition;
    lz_dtype fits; /* the number `condition` must fit this dtype; LZ_DTYPE_NONE: it must be true */
    size_t n_steps, n_parts;
    const step *steps;
    const part *parts;
};

/* ---- what steps do ---- */

/* 1 + the operation, by lz_kop. */
static const int8_t binaries[LZ_KOP_COUNT] = {
    [LZ_K_ADD] = 1 + LZ_SCALAR_ADD, [LZ_K_SUB] = 1 + LZ_SCALAR_SUB, [LZ_K_MUL] = 1 + LZ_SCALAR_MUL,
    [LZ_K_DIV] = 1 + LZ_SCALAR_DIV, [LZ_K_AND] = 1 + LZ_SCALAR_AND, [LZ_K_OR] = 1 + LZ_SCALAR_OR,
    [LZ_K_XOR] = 1 + LZ_SCALAR_XOR,
};

static const int8_t comparisons[LZ_KOP_COUNT] = {
    [LZ_K_EQ] = 1 + LZ_SCALAR_EQ, [LZ_K_NE] = 1 + LZ_SCALAR_NE, [LZ_K_LT] = 1 + LZ_SCALAR_LT,
    [LZ_K_LE] = 1 + LZ_SCALAR_LE, [LZ_K_GT] = 1 + LZ_SCALAR_GT, [LZ_K_GE] = 1 + LZ_SCALAR_GE,
};

static bool can_do(const lz_ln *n)
{
    lz_kop op = (lz_kop)n->op;
    if (n->kind == LZ_L_MAP)
        return binaries[op] || comparisons[op] || op == LZ_K_NEG || op == LZ_K_ABS || op == LZ_K_SELECT
               || (op == LZ_K_NOT && n->dtype == LZ_BOOL);
    return n->kind == LZ_L_SCALAR || n->kind == LZ_L_CONST || n->kind == LZ_L_CAST;
}

static lz_err *map_step(const step *s, const lz_scalar *done, lz_scalar *out)
{
    lz_scalar x = done[s->in[0]], y = done[s->in[1]];
    bool truth;
    if (binaries[s->op])
        return lz_scalar_binary((lz_scalar_op)(binaries[s->op] - 1), x, y, out);
    if (comparisons[s->op]) {
        LZ_TRY(lz_scalar_compare((lz_scalar_cmp)(comparisons[s->op] - 1), x, y, &truth));
        *out = lz_scalar_bool(truth);
        return NULL;
    }
    if (s->op == LZ_K_NEG)
        return lz_scalar_neg(x, out);
    if (s->op == LZ_K_ABS)
        return lz_scalar_abs(x, out);
    *out = s->op == LZ_K_NOT ? lz_scalar_bool(!x.i) : x.i ? y : done[s->in[2]];
    return NULL;
}

static lz_err *do_step(const step *s, const lz_scalar *scalars, const lz_scalar *done, lz_scalar *out)
{
    char room[16];
    if (s->kind == LZ_L_MAP)
        return map_step(s, done, out);
    *out = s->kind == LZ_L_SCALAR ? scalars[s->slot] : s->kind == LZ_L_CONST ? s->value : done[s->in[0]];
    lz_element_set(s->dtype, *out, room);
    *out = lz_element_get(s->dtype, room);
    return NULL;
}

/* ---- making them ---- */

typedef struct nodes {
    const lz_ln *v[MOST_STEPS]; /* by id */
    size_t n;
} nodes;

/* false: it is there already, or there is no room. */
static bool add_node(nodes *found, const lz_ln *n)
{
    size_t at = 0;
    while (at < found->n && found->v[at]->id < n->id)
        at++;
    if ((at < found->n && found->v[at] == n) || found->n == MOST_STEPS)
        return false;
    memmove(&found->v[at + 1], &found->v[at], (found->n - at) * sizeof *found->v);
    found->v[at] = n;
    found->n++;
    return true;
}

static uint32_t place_of(const nodes *found, const lz_ln *n)
{
    uint32_t i = 0;
    while (i + 1 < found->n && found->v[i] != n)
        i++;
    return i;
}

/* Adds what the nodes are made of; inputs have smaller ids, so one way down finds all. false: steps
 * cannot compute them. */
static bool find_inputs(nodes *found)
{
    for (size_t i = found->n; i-- > 0;) {
        const lz_ln *n = found->v[i];
        if (!can_do(n) || n->nin > 3 || found->n + n->nin > MOST_STEPS)
            return false;
        for (int k = 0; k < n->nin; k++)
            i += add_node(found, n->in[k]);
    }
    return true;
}

static void make_step(const nodes *found, const lz_ln *n, step *out)
{
    *out = (step){ .kind = (lz_lkind)n->kind, .op = (lz_kop)n->op, .dtype = (lz_dtype)n->dtype };
    for (int k = 0; k < n->nin; k++)
        out->in[k] = place_of(found, n->in[k]);
    if (n->kind == LZ_L_SCALAR)
        out->slot = ((const lz_lscalar *)n->attr)->slot;
    if (n->kind == LZ_L_CONST)
        out->value = *(const lz_scalar *)n->attr;
}

static lz_err *make_part(lz_lower *b, const nodes *found, const lz_lv *v, part *out)
{
    lz_text t = { 0 };
    if (v->kind == LZ_LV_NUMBER && v->node) {
        *out = (part){ .step = place_of(found, v->node), .is_number = true };
        return NULL;
    }
    lz_lv_print(v, &t);
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = lz_arena_copy(b->arena, lz_text_view(&t), &out->text);
    lz_text_deinit(&t);
    return e;
}

/* The guard's steps; all else is the caller's to fill in. */
static lz_err *new_guard(lz_lower *b, const nodes *found, const lz_ln *condition, lz_guard **out)
{
    step *steps;
    LZ_TRY(lz_arena_new(b->arena, out, 1));
    LZ_TRY(lz_arena_new(b->arena, &steps, found->n));
    for (size_t i = 0; i < found->n; i++)
        make_step(found, found->v[i], &steps[i]);
    **out = (lz_guard){ .next = b->guards,
                        .origin = b->origin,
                        .condition = place_of(found, condition),
                        .fits = LZ_DTYPE_NONE,
                        .n_steps = found->n,
                        .steps = steps };
    return NULL;
}

static lz_err *add_guard(lz_lower *b, const lz_ln *condition, const lz_lv *parts, size_t n)
{
    nodes found = { .n = 0 };
    lz_guard *g;
    part *made;
    add_node(&found, condition);
    for (size_t i = 0; i < n; i++)
        if (parts[i].kind == LZ_LV_NUMBER && parts[i].node)
            add_node(&found, parts[i].node);
    if (!find_inputs(&found))
        return lz_errf(LZ_ERR_INTERNAL, "a condition that is too difficult to be a guard");
    LZ_TRY(new_guard(b, &found, condition, &g));
    LZ_TRY(lz_arena_new(b->arena, &made, n));
    for (size_t i = 0; i < n; i++)
        LZ_TRY(make_part(b, &found, &parts[i], &made[i]));
    g->parts = made;
    g->n_parts = n;
    b->guards = g;
    return NULL;
}

lz_err *lz_low_require(lz_lower *b, const lz_lv *condition, const lz_lv *parts, size_t n)
{
    if (condition->node)
        return b->shape_only ? NULL : add_guard(b, condition->node, parts, n);
    return condition->number.i ? NULL : lz_low_message(parts, n);
}

/* Every number of that kind fits: no guard is needed. */
static bool always_fits(lz_scalar_kind kind, lz_dtype d)
{
    bool whole = kind == LZ_SCALAR_INT, wide = d == LZ_F32 || d == LZ_BF16 || d == LZ_I64;
    return kind == LZ_SCALAR_BOOL || d == LZ_BOOL || d == LZ_F64 || lz_dtype_is_complex(d) || (whole && wide);
}

lz_err *lz_low_require_fits(lz_lower *b, const lz_lv *number, lz_dtype d)
{
    nodes found = { .n = 0 };
    lz_guard *g;
    lz_scalar ignored;
    if (!number->node)
        return lz_scalar_cast(number->number, d, &ignored);
    if (b->shape_only || always_fits(number->number.kind, d))
        return NULL;
    add_node(&found, number->node);
    if (!find_inputs(&found)) /* a number that a formula made: not one that a program passed */
        return NULL;
    LZ_TRY(new_guard(b, &found, number->node, &g));
    g->fits = d;
    b->guards = g;
    return NULL;
}

/* ---- keeping them ---- */

static lz_err *copy_parts(const lz_guard *g, lz_arena *arena, part **out)
{
    LZ_TRY(lz_arena_new(arena, out, g->n_parts));
    for (size_t i = 0; i < g->n_parts; i++) {
        (*out)[i] = g->parts[i];
        LZ_TRY(lz_arena_copy(arena, g->parts[i].text, &(*out)[i].text));
    }
    return NULL;
}

lz_err *lz_guards_copy(const lz_guard *from, lz_arena *arena, const lz_guard **out)
{
    const lz_guard *first = NULL;
    for (; from; from = from->next) {
        lz_guard *g;
        step *steps;
        part *parts;
        LZ_TRY(lz_arena_new(arena, &g, 1));
        LZ_TRY(lz_arena_new(arena, &steps, from->n_steps));
        LZ_TRY(copy_parts(from, arena, &parts));
        memcpy(steps, from->steps, from->n_steps * sizeof *steps);
        *g = *from;
        g->steps = steps;
        g->parts = parts;
        g->next = first;
        first = g;
    }
    *out = first;
    return NULL;
}

/* ---- asking them ---- */

static lz_err *do_steps(const lz_guard *g, const lz_scalar *scalars, lz_scalar *done)
{
    for (size_t i = 0; i < g->n_steps; i++)
        LZ_TRY(do_step(&g->steps[i], scalars, done, &done[i]));
    return NULL;
}

static lz_err *check_guard(const lz_guard *g, const lz_scalar *scalars)
{
    lz_scalar done[MOST_STEPS];
    lz_lv parts[MOST_STEPS];
    LZ_TRY(do_steps(g, scalars, done));
    if (g->fits != LZ_DTYPE_NONE)
        return lz_scalar_cast(done[g->condition], g->fits, &(lz_scalar){ 0 });
    if (done[g->condition].i)
        return NULL;
    size_t n = g->n_parts < MOST_STEPS ? g->n_parts : MOST_STEPS;
    for (size_t i = 0; i < n; i++)
        parts[i] = g->parts[i].is_number ? lz_lv_number(done[g->parts[i].step]) : lz_lv_str(g->parts[i].text);
    return lz_low_message(parts, n);
}

lz_err *lz_guards_check(const lz_guard *g, const lz_scalar *scalars, uint32_t *failed)
{
    for (; g; g = g->next) {
        lz_err *e = check_guard(g, scalars);
        if (e && failed)
            *failed = g->origin;
        LZ_TRY(e);
    }
    return NULL;
}
