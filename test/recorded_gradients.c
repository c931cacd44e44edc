/* recorded_gradients FILE KNOWN [-v] [OPERATOR...]: first and second gradients as PyTorch gave them, at
 * ordinary points, at kinks and with arguments that are broadcast (torch/record_gradients.py wrote the file
 * and says what is in it).
 *
 * KNOWN lists differences that stay, a line each: operator, how many calls may differ, why. More is a
 * failure; fewer is reported. */
#include "autograd/grad_table.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "core/dtype.h"
#include "grad_problem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct tally {
    lz_ctx *ctx;
    lz_str known;
    const char *const *only;
    int nonly;
    bool verbose;
    char op[128];
    int failed_here, calls, second, failed, ops, bad_ops;
    bool worse;
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
    *p = (problem){ .op = &lz_op_table[op], .number = op, .j = j, .dice = 1, .arena = a, .ctx = t->ctx };
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

/* How many calls of the operator may differ. */
static int allowed(const tally *t)
{
    lz_str rest = t->known;
    for (bool more = true; more;) {
        lz_str line = lz_str_cut(&rest, LZ_STR("\n"), &more), name = line;
        size_t space = lz_str_find_char(line, ' ');
        name.len = space == SIZE_MAX ? 0 : space;
        if (name.len && lz_str_is(name, t->op))
            return (int)strtol(line.ptr + space, NULL, 10);
    }
    return 0;
}

static void end_op(tally *t)
{
    int most = t->op[0] ? allowed(t) : 0;
    if (t->failed_here > most)
        printf("%s: %d calls differ, %d are known to\n", t->op, t->failed_here, most);
    if (t->failed_here < most && t->nonly == 0)
        printf("%s: only %d calls differ, %d were known to: the list can be shortened\n", t->op,
               t->failed_here, most);
    t->worse = t->worse || t->failed_here > most;
}

static bool is_asked(const tally *t, lz_str name)
{
    bool any = t->nonly == 0;
    for (int i = 0; i < t->nonly; i++)
        any = any || lz_str_is(name, t->only[i]);
    return any;
}

static void begin_op(tally *t, lz_str name)
{
    if (lz_str_is(name, t->op))
        return;
    end_op(t);
    snprintf(t->op, sizeof t->op, "%.*s", LZ_FMT(name));
    t->failed_here = 0;
    t->ops++;
}

static void report(tally *t, const lz_json *j, lz_err *e)
{
    t->calls++;
    if (!e)
        return;
    t->failed++;
    t->bad_ops += t->failed_here == 0;
    if ((t->failed_here++ < 3 && allowed(t) == 0) || t->verbose)
        printf("%s, line %d: %s\n", t->op, (int)j->loc.line, lz_err_text(e));
    lz_err_free(e);
}

static uint16_t find_op(const char *name)
{
    for (size_t i = 1; i < LZ_OP_COUNT; i++)
        if (!strcmp(name, lz_op_table[i].name))
            return (uint16_t)i;
    return 0;
}

static lz_err *one_line(void *user, const lz_json *j, lz_arena *a)
{
    tally *t = user;
    lz_str name = lz_json_get(j, "op")->str;
    if (!is_asked(t, name))
        return NULL;
    begin_op(t, name);
    uint16_t op = find_op(t->op);
    if (!op)
        return lz_errf(LZ_ERR_MODEL, "there is no operator %s", t->op);
    report(t, j, run_case(t, j, op, a));
    return NULL;
}

static lz_err *run_file(tally *t, const char *file, const char *known)
{
    enum { MOST = 1 << 28 };
    char *text, *list;
    size_t len, n;
    LZ_TRY(lz_gzip_read(file, MOST, &len, &text));
    lz_err *e = lz_gzip_read(known, MOST, &n, &list);
    if (!e) {
        t->known = (lz_str){ list, n };
        e = lz_json_lines_each(file, (lz_str){ text, len }, one_line, t);
        end_op(t);
        lz_mem_free(list);
    }
    lz_mem_free(text);
    return e;
}

int main(int argc, char **argv)
{
    tally t = { .only = (const char *const *)argv + 3, .nonly = argc - 3 };
    if (argc < 3)
        return 2;
    if (t.nonly > 0 && !strcmp(argv[3], "-v")) {
        t.verbose = true;
        t.only++;
        t.nonly--;
    }
    t.ctx = lz_open(NULL);
    lz_err *e =
        lz_failed(t.ctx) ? lz_errf(LZ_ERR_MODEL, "%s", lz_message(t.ctx)) : run_file(&t, argv[1], argv[2]);
    if (e)
        fprintf(stderr, "%s\n", lz_err_text(e));
    printf("%d operators, %d of them differ somewhere; %d calls, %d with second gradients, %d differ\n",
           t.ops, t.bad_ops, t.calls, t.second, t.failed);
    bool bad = e || t.worse || !t.calls;
    lz_err_free(e);
    lz_close(t.ctx);
    return bad;
}
