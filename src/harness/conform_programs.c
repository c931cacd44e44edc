/* Programs with views and writes, on a backend and on the CPU. */
#include "harness/conform.h"
#include <stdio.h>

enum { PROGRAMS = 200, STATEMENTS = 24, VARS = 40 };

typedef struct pair {
    lz_tensor *cpu, *dev;
} pair;

typedef struct program {
    lz_conform *k;
    uint64_t dice;
    pair vars[VARS];
    int n;
} program;

/* Arguments of a statement besides its variable. */
typedef enum form { ALONE, NUMBER, DIM, TWO_DIMS, DIM_AND_INDEX, SLICE, FLAT, SAME, OTHER } form;

static const struct {
    uint16_t op;
    form form;
    bool writes;
} statements[] = {
    { LZ_OP_neg, ALONE, false },
    { LZ_OP_relu, ALONE, false },
    { LZ_OP_tanh, ALONE, false },
    { LZ_OP_clone, ALONE, false },
    { LZ_OP_mul_Scalar, NUMBER, false },
    { LZ_OP_add_Tensor, SAME, false },
    { LZ_OP_mul_Tensor, OTHER, false },
    { LZ_OP_sum_dim_IntList, DIM, false },
    { LZ_OP_unsqueeze, DIM, false },
    { LZ_OP_transpose_int, TWO_DIMS, false },
    { LZ_OP_select_int, DIM_AND_INDEX, false },
    { LZ_OP_slice_Tensor, SLICE, false },
    { LZ_OP_slice_Tensor, SLICE, false },
    { LZ_OP_reshape, FLAT, false },
    { LZ_OP_view, FLAT, false },
    { LZ_OP_detach, ALONE, false },
    { LZ_OP_fill__Scalar, NUMBER, true },
    { LZ_OP_add__Tensor, OTHER, true },
    { LZ_OP_mul__Scalar, NUMBER, true },
    { LZ_OP_relu_, ALONE, true },
    { LZ_OP_zero_, ALONE, true },
    { LZ_OP_copy_, OTHER, true },
    { LZ_OP_tanh_, ALONE, true },
};

static int64_t roll(program *p, uint64_t sides)
{
    return (int64_t)(lz_conform_roll(&p->dice) % sides);
}

static size_t make_args(program *p, form f, lz_tensor *self, lz_tensor *other, uint64_t dice, lz_value *in,
                        int64_t *room)
{
    uint64_t here = p->dice; /* both contexts get the same random numbers */
    int64_t ndim = lz_tensor_ndim(self);
    p->dice = dice;
    in[0] = lz_value_tensor(self);
    in[1] = lz_value_integer(roll(p, (uint64_t)ndim + 1) - 1);
    in[2] = lz_value_integer(roll(p, (uint64_t)ndim + 1) - 1);
    room[0] = f == FLAT ? -1 : in[1].integer;
    int64_t from = roll(p, 3), step = 1 + roll(p, 2);
    double number = (double)(roll(p, 9) - 4) / 4;
    p->dice = here;
    switch (f) {
    case ALONE:
        return 1;
    case NUMBER:
        in[1] = lz_value_scalar(lz_scalar_float(number));
        return 2;
    case DIM:
        return 2;
    case TWO_DIMS:
        return 3;
    case DIM_AND_INDEX:
        in[2] = lz_value_integer(0);
        return 3;
    case SLICE:
        in[2] = lz_value_integer(from);
        in[3] = lz_value_none();
        in[4] = lz_value_integer(step);
        return 5;
    case FLAT:
        in[1] = lz_value_ints((lz_ints){ room, 1 });
        return 2;
    case SAME:
        in[1] = lz_value_tensor(self);
        return 2;
    case OTHER:
        in[1] = lz_value_tensor(other);
        return 2;
    }
    return 1;
}

static void release(pair v)
{
    lz_release(v.cpu);
    lz_release(v.dev);
}

static void keep(program *p, pair v)
{
    int at = p->n < VARS ? p->n++ : (int)roll(p, VARS);
    if (at < p->n - 1 || p->n == VARS)
        release(p->vars[at]);
    p->vars[at] = (pair){ lz_retain(v.cpu), lz_retain(v.dev) };
}

static bool call_on(program *p, lz_ctx *c, size_t which, lz_tensor *self, lz_tensor *other, uint64_t dice,
                    lz_tensor **out)
{
    const lz_op_row *op = &lz_op_table[statements[which].op];
    int64_t room[1];
    lz_value in[8], results[LZ_ARGS_MAX];
    size_t n = make_args(p, statements[which].form, self, other, dice, in, room);
    if (op->args[1 < op->nargs ? 1 : 0].type->kind == LZ_KIND_INTS && statements[which].form == DIM)
        in[1] = lz_value_ints((lz_ints){ room, 1 });
    bool ok = lz_conform_call(c, op, in, n, results);
    *out = ok ? results[0].tensor : NULL;
    return ok;
}

/* The CPU and the device must both accept or both refuse a statement. */
static void run_statement(program *p)
{
    size_t which = (size_t)roll(p, sizeof statements / sizeof *statements);
    pair self = p->vars[roll(p, (uint64_t)p->n)], other = p->vars[roll(p, (uint64_t)p->n)], out;
    uint64_t dice = lz_conform_roll(&p->dice);
    lz_scope *s = lz_scope_push(p->k->cpu), *t = lz_scope_push(p->k->dev);
    bool cpu = call_on(p, p->k->cpu, which, self.cpu, other.cpu, dice, &out.cpu);
    bool dev = call_on(p, p->k->dev, which, self.dev, other.dev, dice, &out.dev);
    if (cpu != dev)
        lz_text_printf(&p->k->why, "%s: %s by the CPU alone: %s", lz_op_table[statements[which].op].name,
                       cpu ? "taken" : "refused", lz_message(cpu ? p->k->dev : p->k->cpu));
    if (cpu && dev && !statements[which].writes)
        keep(p, out);
    lz_clear(p->k->cpu);
    lz_clear(p->k->dev);
    lz_scope_pop(t);
    lz_scope_pop(s);
    if (roll(p, 5) == 0)
        lz_mark_step(p->k->dev);
}

static lz_err *begin(program *p)
{
    static const struct {
        int64_t n, sizes[3];
    } shapes[] = { { 2, { 2, 3 } }, { 2, { 2, 3 } }, { 1, { 4 } }, { 3, { 2, 2, 2 } } };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        lz_ints sizes = { shapes[i].sizes, shapes[i].n };
        uint64_t seed = lz_conform_roll(&p->dice);
        lz_scope *s = lz_scope_push(p->k->cpu), *t = lz_scope_push(p->k->dev);
        pair v = { NULL, NULL };
        lz_err *e = lz_conform_tensor(p->k->cpu, LZ_F32, sizes, LZ_PLAIN, seed, &v.cpu);
        if (!e)
            e = lz_conform_tensor(p->k->dev, LZ_F32, sizes, LZ_PLAIN, seed, &v.dev);
        if (!e)
            keep(p, v);
        lz_scope_pop(t);
        lz_scope_pop(s);
        LZ_TRY(e);
    }
    return NULL;
}

static lz_err *run_program(program *p)
{
    LZ_TRY(begin(p));
    for (int i = 0; i < STATEMENTS && !p->k->why.len; i++)
        run_statement(p);
    for (int i = 0; i < p->n && !p->k->why.len; i++)
        LZ_TRY(lz_conform_compare(p->k, p->vars[i].cpu, p->vars[i].dev));
    return NULL;
}

static lz_err *check_program(lz_conform *k, int i, const char *id)
{
    program p = { .k = k, .dice = (uint64_t)i };
    lz_err *e = run_program(&p);
    for (int v = 0; v < p.n; v++)
        release(p.vars[v]);
    lz_clear(k->cpu);
    lz_clear(k->dev);
    return e ? e : lz_conform_done(k, "programs", id);
}

lz_err *lz_conform_programs(lz_conform *k)
{
    for (int i = 0; i < PROGRAMS; i++) {
        char id[32];
        snprintf(id, sizeof id, "program %d", i);
        if (lz_conform_wants(k, "programs", id))
            LZ_TRY(check_program(k, i, id));
    }
    return NULL;
}
