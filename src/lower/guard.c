#include "lower/guard.h"
#include "core/convert.h"
#include "core/scalar.h"
#include "lower/lower_impl.h"
#include <string.h>

enum { MOST_STEPS = 64 };

/* Computes one number from the numbers of earlier steps. */
typedef struct step {
    lz_low_kind kind; /* SCALAR, CONST, CAST or MAP */
    lz_kernel_op op;
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
    lz_reason reason;
    lz_dtype fits; /* the number `condition` must fit this dtype; LZ_DTYPE_NONE: it must be true */
    size_t n_steps, n_parts;
    const step *steps;
    const part *parts;
};

/* ---- running steps ---- */

/* By lz_kernel_op: 1 + the scalar operation; 0: none. */
static const int8_t binaries[LZ_KERNEL_OP_COUNT] = {
    [LZ_KERNEL_ADD] = 1 + LZ_SCALAR_ADD, [LZ_KERNEL_SUB] = 1 + LZ_SCALAR_SUB,
    [LZ_KERNEL_MUL] = 1 + LZ_SCALAR_MUL, [LZ_KERNEL_DIV] = 1 + LZ_SCALAR_DIV,
    [LZ_KERNEL_AND] = 1 + LZ_SCALAR_AND, [LZ_KERNEL_OR] = 1 + LZ_SCALAR_OR,
    [LZ_KERNEL_XOR] = 1 + LZ_SCALAR_XOR,
};

static const int8_t comparisons[LZ_KERNEL_OP_COUNT] = {
    [LZ_KERNEL_EQ] = 1 + LZ_SCALAR_EQ, [LZ_KERNEL_NE] = 1 + LZ_SCALAR_NE, [LZ_KERNEL_LT] = 1 + LZ_SCALAR_LT,
    [LZ_KERNEL_LE] = 1 + LZ_SCALAR_LE, [LZ_KERNEL_GT] = 1 + LZ_SCALAR_GT, [LZ_KERNEL_GE] = 1 + LZ_SCALAR_GE,
};

static bool can_do(const lz_low_node *n)
{
    lz_kernel_op op = (lz_kernel_op)n->op;
    if (n->kind == LZ_LOW_MAP)
        return binaries[op] || comparisons[op] || op == LZ_KERNEL_NEG || op == LZ_KERNEL_ABS
               || op == LZ_KERNEL_SELECT || (op == LZ_KERNEL_NOT && n->dtype == LZ_BOOL);
    return n->kind == LZ_LOW_SCALAR || n->kind == LZ_LOW_CONST || n->kind == LZ_LOW_CAST;
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
    if (s->op == LZ_KERNEL_NEG)
        return lz_scalar_neg(x, out);
    if (s->op == LZ_KERNEL_ABS)
        return lz_scalar_abs(x, out);
    *out = s->op == LZ_KERNEL_NOT ? lz_scalar_bool(!x.i) : x.i ? y : done[s->in[2]];
    return NULL;
}

static lz_err *do_step(const step *s, const lz_scalar *scalars, const lz_scalar *done, lz_scalar *out)
{
    char room[16];
    if (s->kind == LZ_LOW_MAP)
        return map_step(s, done, out);
    *out = s->kind == LZ_LOW_SCALAR ? scalars[s->slot] : s->kind == LZ_LOW_CONST ? s->value : done[s->in[0]];
    lz_element_set(s->dtype, *out, room);
    *out = lz_element_get(s->dtype, room);
    return NULL;
}

/* ---- making guards ---- */

typedef struct nodes {
    const lz_low_node *v[MOST_STEPS]; /* by id */
    size_t n;
} nodes;

/* False: the node is in the table already, or the table is full. */
static bool add_node(nodes *found, const lz_low_node *n)
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

static uint32_t place_of(const nodes *found, const lz_low_node *n)
{
    uint32_t i = 0;
    while (i + 1 < found->n && found->v[i] != n)
        i++;
    return i;
}

/* Adds everything that the nodes are computed from. Inputs have smaller ids, so one pass downwards finds
 * all. False: steps cannot compute the nodes. */
static bool find_inputs(nodes *found)
{
    for (size_t i = found->n; i-- > 0;) {
        const lz_low_node *n = found->v[i];
        if (!can_do(n) || n->nin > 3 || found->n + n->nin > MOST_STEPS)
            return false;
        for (int k = 0; k < n->nin; k++)
            i += add_node(found, n->in[k]);
    }
    return true;
}

static void make_step(const nodes *found, const lz_low_node *n, step *out)
{
    *out = (step){ .kind = (lz_low_kind)n->kind, .op = (lz_kernel_op)n->op, .dtype = (lz_dtype)n->dtype };
    for (int k = 0; k < n->nin; k++)
        out->in[k] = place_of(found, n->in[k]);
    if (n->kind == LZ_LOW_SCALAR)
        out->slot = ((const lz_low_scalar_attr *)n->attr)->slot;
    if (n->kind == LZ_LOW_CONST)
        out->value = *(const lz_scalar *)n->attr;
}

static lz_err *make_part(lz_lower *b, const nodes *found, const lz_low_value *v, part *out)
{
    lz_text t = { 0 };
    if (v->kind == LZ_LOW_VALUE_NUMBER && v->node) {
        *out = (part){ .step = place_of(found, v->node), .is_number = true };
        return NULL;
    }
    lz_low_value_print(v, &t);
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = lz_arena_copy(b->arena, lz_text_view(&t), &out->text);
    lz_text_deinit(&t);
    return e;
}

/* Makes a guard with its steps; the caller sets the message or `fits`. */
static lz_err *new_guard(lz_lower *b, const nodes *found, const lz_low_node *condition, lz_guard **out)
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

static lz_err *add_guard(lz_lower *b, const lz_low_node *condition, lz_reason reason,
                         const lz_low_value *parts, size_t n)
{
    nodes found = { .n = 0 };
    lz_guard *g;
    part *made;
    add_node(&found, condition);
    for (size_t i = 0; i < n; i++)
        if (parts[i].kind == LZ_LOW_VALUE_NUMBER && parts[i].node)
            add_node(&found, parts[i].node);
    if (!find_inputs(&found))
        return lz_errf(LZ_ERR_NEEDS_VALUE, "a condition on run-time numbers is too large for a guard");
    LZ_TRY(new_guard(b, &found, condition, &g));
    LZ_TRY(lz_arena_new(b->arena, &made, n));
    for (size_t i = 0; i < n; i++)
        LZ_TRY(make_part(b, &found, &parts[i], &made[i]));
    g->reason = reason;
    g->parts = made;
    g->n_parts = n;
    b->guards = g;
    return NULL;
}

lz_err *lz_low_require(lz_lower *b, const lz_low_value *condition, lz_reason reason,
                       const lz_low_value *parts, size_t n)
{
    if (condition->node)
        return b->shape_only ? NULL : add_guard(b, condition->node, reason, parts, n);
    return condition->number.i ? NULL : lz_low_message(reason, parts, n);
}

/* Whether every number of the kind fits into d, so that no guard is needed. */
static bool always_fits(lz_scalar_kind kind, lz_dtype d)
{
    bool whole = kind == LZ_SCALAR_INT, wide = d == LZ_F32 || d == LZ_BF16 || d == LZ_I64;
    return kind == LZ_SCALAR_BOOL || d == LZ_BOOL || d == LZ_F64 || lz_dtype_is_complex(d) || (whole && wide);
}

lz_err *lz_low_require_fits(lz_lower *b, const lz_low_value *number, lz_dtype d)
{
    nodes found = { .n = 0 };
    lz_guard *g;
    lz_scalar ignored;
    if (!number->node)
        return lz_scalar_cast(number->number, d, &ignored);
    if (b->shape_only || always_fits(number->number.kind, d))
        return NULL;
    add_node(&found, number->node);
    if (!find_inputs(
            &found)) /* a formula computed the number; only numbers that a program passed are checked */
        return NULL;
    LZ_TRY(new_guard(b, &found, number->node, &g));
    g->fits = d;
    b->guards = g;
    return NULL;
}

/* ---- copying guards ---- */

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

/* ---- checking guards ---- */

static lz_err *do_steps(const lz_guard *g, const lz_scalar *scalars, lz_scalar *done)
{
    for (size_t i = 0; i < g->n_steps; i++)
        LZ_TRY(do_step(&g->steps[i], scalars, done, &done[i]));
    return NULL;
}

static lz_err *check_guard(const lz_guard *g, const lz_scalar *scalars)
{
    lz_scalar done[MOST_STEPS];
    lz_low_value parts[MOST_STEPS];
    LZ_TRY(do_steps(g, scalars, done));
    if (g->fits != LZ_DTYPE_NONE)
        return lz_scalar_cast(done[g->condition], g->fits, &(lz_scalar){ 0 });
    if (done[g->condition].i)
        return NULL;
    size_t n = g->n_parts < MOST_STEPS ? g->n_parts : MOST_STEPS;
    for (size_t i = 0; i < n; i++)
        parts[i] = g->parts[i].is_number ? lz_low_value_number(done[g->parts[i].step])
                                         : lz_low_value_str(g->parts[i].text);
    return lz_low_message(g->reason, parts, n);
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
