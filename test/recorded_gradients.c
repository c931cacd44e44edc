/* recorded_gradients FILE KNOWN [-v] [OPERATOR...]: first and second gradients as PyTorch gave them, at
 * ordinary points, at kinks and with arguments that are broadcast (torch/record_gradients.py wrote the file
 * and says what is in it).
 *
 * KNOWN lists differences that stay (known_calls.h). */
#include "autograd/grad_table.h"
#include "core/dtype.h"
#include "grad_problem.h"
#include "known_calls.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct tally {
    known_calls x;
    int second; /* calls with second gradients */
} tally;

/* ---- one call ---- */

/* Nine digits were recorded. At kinks many of PyTorch's second gradients are NaN, because a branch that was
 * not taken divided by 0: a number is no worse. */
static bool is_close(double got, double due, double size, int order)
{
    if (isnan(due) || isinf(due))
        return isnan(due) ? isnan(got) || order == 2 : got == due;
    return fabs(got - due) <= 1e-7 * fabs(due) + 1e-8 * size;
}

static double largest(const lz_json *list)
{
    double size = 1;
    for (uint32_t k = 0; k < list->len; k++) {
        double x = fabs(problem_number(&list->items[k]));
        size = isfinite(x) && x > size ? x : size;
    }
    return size;
}

static lz_err *compare_leaf(size_t i, int order, const double *got, const lz_json *due)
{
    double size = largest(due);
    for (uint32_t k = 0; k < due->len; k++) {
        double want = problem_number(&due->items[k]);
        if (!is_close(got[k], want, size, order))
            return lz_errf(LZ_ERR_MODEL, "%s gradient of tensor %zu, element %u: %.9g, PyTorch %.9g",
                           order == 1 ? "first" : "second", i, k, got[k], want);
    }
    return NULL;
}

static lz_err *compare_order(problem *p, int order, const lz_json *due)
{
    double *grads[LEAVES] = { 0 }, value;
    for (size_t i = 0; i < p->nleaves; i++)
        LZ_TRY(lz_arena_new(p->arena, &grads[i], (size_t)p->leaves[i].numel + 1));
    LZ_TRY(problem_evaluate(p, order, &value, grads));
    uint32_t at = 0;
    for (size_t i = 0; i < p->nleaves; i++) {
        if (p->leaves[i].dtype != LZ_F64 || at == due->len)
            continue;
        const lz_json *list = &due->items[at++];
        if (list->kind == LZ_JSON_ARRAY)
            LZ_TRY(compare_leaf(i, order, grads[i], list));
    }
    return NULL;
}

/* What PyTorch does not differentiate gets no gradient here either, or the coefficients would mix. */
static void drop_leaves(problem *p, const lz_json *first)
{
    uint32_t at = 0;
    for (size_t i = 0; i < p->nleaves; i++)
        if (p->leaves[i].dtype == LZ_F64 && at < first->len && first->items[at++].kind != LZ_JSON_ARRAY)
            p->leaves[i].differentiable = false;
}

static lz_err *run_case(tally *t, const lz_json *j, uint16_t op, lz_arena *a)
{
    const lz_json *first = lz_json_get(j, "first"), *second = lz_json_get(j, "second");
    problem *p;
    LZ_TRY(lz_arena_new(a, &p, 1));
    *p = (problem){ .op = &lz_op_table[op], .number = op, .j = j, .dice = 1, .arena = a, .ctx = t->x.c };
    p->tensors = lz_json_get(j, "tensors");
    p->outs = lz_json_get(j, "outs");
    LZ_TRY(problem_read(p));
    problem_weigh(p, 11);
    drop_leaves(p, first);
    LZ_TRY(compare_order(p, 1, first));
    t->second += second != NULL;
    return second ? compare_order(p, 2, second) : NULL;
}

/* ---- all of them ---- */

static uint16_t find_op(const char *name)
{
    for (size_t i = 1; i < LZ_OP_COUNT; i++)
        if (!strcmp(name, lz_op_table[i].name))
            return (uint16_t)i;
    return 0;
}

static lz_err *one_line(known_calls *x, const lz_json *j, lz_arena *a)
{
    uint16_t op = find_op(x->op);
    if (!op)
        return lz_errf(LZ_ERR_MODEL, "there is no operator %s", x->op);
    known_calls_report(x, j, "", run_case((tally *)x, j, op, a));
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    tally t = { .x = { .c = lz_open(NULL), .line = one_line } };
    bool good = known_calls_run(&t.x, argc, argv);
    printf("%d operators, %d of them differ somewhere; %d calls, %d with second gradients, %d differ\n",
           t.x.ops, t.x.bad_ops, t.x.calls, t.second, t.x.failed);
    lz_close(t.x.c);
    return !good;
}
