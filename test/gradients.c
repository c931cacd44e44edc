/* gradients [-v] [-o OPERATOR] [-d FILE] CASES...: derivatives of all operators against finite differences.
 *
 * The recorded calls of operators give the inputs; they are taken in f64. Of what an operator
 * gives, a random linear function is differentiated along random directions: by central
 * differences of the operator, and by the formulas of ops/derivatives.yaml, recorded by the
 * tape. The gradient is then differentiated the same way, for second derivatives. Where two
 * steps of different length disagree there is a kink, and another direction is tried.
 * Tangents are compared with gradients, gradients of operators that write in place with those of
 * operators that do not, and gradients that a case knows (at kinks, where they
 * are a choice) with those. Prints what differs and, last, which operators were never looked
 * at; -d writes all gradients, for test/torch/gradients.py. */
#include "autograd/grad_table.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "core/dtype.h"
#include "grad_problem.h"
#include "op/functional_table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTA = 40, TRIES = 4 };

typedef enum verdict { GOOD, WRONG, KINK, SKIPPED, VERDICTS } verdict;

typedef struct count {
    const lz_op_row *op;
    size_t cases, seen,
        by[4][VERDICTS]; /* by first and second derivatives, tangents, and gradients of writes */
} count;

static count counts[LZ_OP_COUNT];
static bool verbose;
static const char *only;
static FILE *dump;

/* ---- comparing ---- */

/* Differences along a direction with one step. */
typedef struct slope {
    double value; /* central */
    double bend;  /* how much those to both sides differ */
    double noise; /* that rounding makes */
    bool defined;
} slope;

static lz_err *evaluate_at(problem *p, leaf *l, const double *v, double h, int order, double *const *scratch,
                           slope *s, double *out)
{
    double *x = l->data, *old = lz_mem_alloc((size_t)l->numel * sizeof *old + 1);
    if (!old)
        return lz_err_oom();
    memcpy(old, x, (size_t)l->numel * sizeof *x);
    for (int64_t i = 0; i < l->numel; i++)
        x[i] = old[i] + h * v[i];
    lz_err *e = problem_evaluate(p, order, out, scratch);
    memcpy(x, old, (size_t)l->numel * sizeof *x);
    lz_mem_free(old);
    if (!e || lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_err_free(e); /* beyond the edge */
    s->defined = false;
    *out = 0;
    return NULL;
}

static lz_err *find_slope(problem *p, leaf *l, const double *v, double h, int order, double *const *scratch,
                          slope *out)
{
    double up = 0, down = 0, here = 0;
    *out = (slope){ .defined = true };
    LZ_TRY(evaluate_at(p, l, v, h, order, scratch, out, &up));
    LZ_TRY(evaluate_at(p, l, v, -h, order, scratch, out, &down));
    LZ_TRY(evaluate_at(p, l, v, 0, order, scratch, out, &here));
    out->value = (up - down) / (2 * h);
    out->bend = fabs(up - 2 * here + down) / h;
    out->noise = 4e-15 * fmax(fabs(up), fabs(down)) / h;
    out->defined = out->defined && isfinite(up) && isfinite(down);
    return NULL;
}

static bool repeats(const leaf *l)
{
    const int64_t *x = l->data;
    for (int64_t i = 0; l->dtype == LZ_I64 && i < l->numel; i++)
        for (int64_t k = 0; k < i; k++)
            if (x[i] == x[k])
                return true;
    return false;
}

/* Gradients that are not derivatives, as in PyTorch: of what is written several times to one
 * place all get the gradient of the one that stays; embeddings that are padding get none, and
 * with scale_grad_by_freq less; of the weights of classes only a part is differentiated. */
static bool is_by_choice(const problem *p, size_t tensor)
{
    static const char *const writers[] = {
        "scatter.src",    "index_put",    "_unsafe_index_put", "index_copy",     "put",
        "max_unpool2d",   "max_unpool3d", "embedding",         "scatter.reduce", "index_fill.int_Tensor",
        "_index_put_impl"
    };
    bool writes = false, twice = false;
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        writes = writes || !strcmp(p->op->name, writers[i]);
    for (size_t i = 0; i < p->nleaves; i++)
        twice = twice || repeats(&p->leaves[i]);
    /* and a cumulative product: its second derivatives are those of elements that are not 0 */
    return (writes && twice) || !strcmp(p->op->name, "cumprod")
           || (tensor == 2 && !strcmp(p->op->name, "cross_entropy_loss"));
}

/* Operators that read one triangle of a symmetric matrix, in argument 0. The gradient counts an element and
 * its mirror image as two, so it is a derivative along symmetric directions. */
static bool is_symmetric(const problem *p, size_t tensor)
{
    static const char *const names[] = { "_linalg_eigh",        "linalg_eigh",     "linalg_eigvalsh",
                                         "linalg_cholesky_ex",  "linalg_cholesky", "_routine_cholesky",
                                         "linalg_matrix_sqrth", "_routine_eigh",   "_solve_sylvester" };
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        found = found || !strcmp(p->op->name, names[i]);
    return found && tensor == 0;
}

static void make_symmetric(const leaf *l, double *v)
{
    int64_t n = l->sizes.n ? l->sizes.v[l->sizes.n - 1] : 0;
    for (int64_t at = 0; n && at < l->numel; at += n * n)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++)
                v[at + j * n + i] = v[at + i * n + j];
}

/* The bend of a smooth function goes with the step, that of a kink stays. */
static bool is_kink(const slope *far, const slope *near, double size)
{
    double bound = 1e-5 * size + far->noise + near->noise;
    return fabs(far->value - near->value) > bound || (near->bend > bound && near->bend > far->bend / 2);
}

static lz_err *compare_leaf(problem *p, size_t i, int order, double *const *grads, double *const *scratch,
                            verdict *out, lz_text *why)
{
    leaf *l = &p->leaves[i];
    double v[ELEMENTS] = { 0 };
    slope far, near;
    for (int try = 0; try < TRIES; try++) {
        for (int64_t k = 0; k < l->numel; k++)
            v[k] = problem_roll(&p->dice) * fmax(fmin(fabs(((double *)l->data)[k]), 1), 0.01);
        if (is_symmetric(p, i))
            make_symmetric(l, v);
        LZ_TRY(find_slope(p, l, v, 2e-5, order - 1, scratch, &far));
        LZ_TRY(find_slope(p, l, v, 5e-6, order - 1, scratch, &near));
        double got = problem_dot(grads[i], v, l->numel);
        double size = 1 + fabs(near.value) + sqrt(problem_dot(grads[i], grads[i], l->numel));
        *out = far.defined && near.defined && isfinite(got) ? GOOD : SKIPPED;
        if (*out == SKIPPED || fabs(got - near.value) <= 2e-6 * size + near.noise
            || fabs(got - far.value) <= 2e-6 * size + far.noise)
            return NULL;
        *out = is_kink(&far, &near, size) || is_by_choice(p, i) ? KINK : WRONG;
        /* a saw with fine teeth (fmod) shows its slope to the smallest steps only */
        LZ_TRY(find_slope(p, l, v, 1e-7, order - 1, scratch, &near));
        if (*out == WRONG && near.defined && fabs(got - near.value) <= 1e-4 * size + near.noise)
            *out = GOOD;
        if (*out == GOOD)
            return NULL;
        if (*out == KINK)
            continue;
        lz_text_printf(why, "tensor %zu: ", i);
        lz_text_double(why, got);
        lz_text_puts(why, ", by differences ");
        lz_text_double(why, near.value);
        return NULL;
    }
    return NULL;
}

static lz_err *compare_order(problem *p, int order, verdict *out, lz_text *why)
{
    double *grads[LEAVES] = { 0 }, *scratch[LEAVES] = { 0 }, value;
    for (size_t i = 0; i < p->nleaves; i++) {
        LZ_TRY(lz_arena_new(p->arena, &grads[i], (size_t)p->leaves[i].numel + 1));
        LZ_TRY(lz_arena_new(p->arena, &scratch[i], (size_t)p->leaves[i].numel + 1));
    }
    LZ_TRY(problem_evaluate(p, order, &value, grads));
    *out = SKIPPED;
    for (size_t i = 0; i < p->nleaves && *out != WRONG; i++) {
        verdict one;
        if (!p->leaves[i].differentiable || p->leaves[i].numel == 0)
            continue;
        LZ_TRY(compare_leaf(p, i, order, grads, scratch, &one, why));
        *out = one == WRONG ? WRONG : *out == GOOD || one == GOOD ? GOOD : one;
    }
    return NULL;
}

/* The tangent against the gradient: both are the derivative along the weights. */
static lz_err *compare_tangent(problem *p, verdict *out, lz_text *why)
{
    double *grads[LEAVES] = { 0 }, value, tangent, size = 1;
    for (size_t i = 0; i < p->nleaves; i++)
        LZ_TRY(lz_arena_new(p->arena, &grads[i], (size_t)p->leaves[i].numel + 1));
    LZ_TRY(problem_evaluate(p, 1, &value, grads));
    LZ_TRY(problem_tangent(p, &tangent));
    for (size_t i = 0; i < p->nleaves; i++)
        size += p->leaves[i].differentiable ? sqrt(problem_dot(grads[i], grads[i], p->leaves[i].numel)) : 0;
    *out = !isfinite(value) || !isfinite(tangent) ? SKIPPED
           : fabs(value - tangent) <= 1e-9 * size ? GOOD
                                                  : WRONG;
    if (*out == WRONG && is_by_choice(p, 0))
        *out = KINK;
    if (*out != WRONG)
        return NULL;
    lz_text_puts(why, "tangent ");
    lz_text_double(why, tangent);
    lz_text_puts(why, ", by the gradient ");
    lz_text_double(why, value);
    return NULL;
}

/* Writing gives the same gradients. */
static lz_err *compare_in_place(problem *p, verdict *out, lz_text *why)
{
    double *grads[LEAVES] = { 0 }, *written[LEAVES] = { 0 }, value;
    *out = SKIPPED;
    for (size_t i = 0; i < p->nleaves; i++) {
        LZ_TRY(lz_arena_new(p->arena, &grads[i], (size_t)p->leaves[i].numel + 1));
        LZ_TRY(lz_arena_new(p->arena, &written[i], (size_t)p->leaves[i].numel + 1));
    }
    LZ_TRY(problem_evaluate(p, 1, &value, grads));
    p->in_place = true;
    lz_err *e = problem_evaluate(p, 0, &value, NULL);
    bool refused = e && (strstr(lz_err_text(e), "broadcast shape") || strstr(lz_err_text(e), "be cast"));
    if (refused) {
        lz_err_free(e);
        e = NULL;
    } else if (!e) {
        *out = GOOD;
        e = problem_evaluate(p, 1, &value, written);
    }
    p->in_place = false;
    for (size_t i = 0; !e && *out == GOOD && i < p->nleaves; i++)
        for (int64_t k = 0; p->leaves[i].differentiable && k < p->leaves[i].numel; k++)
            if (fabs(grads[i][k] - written[i][k]) > 1e-12 * (1 + fabs(grads[i][k]))) {
                *out = WRONG;
                lz_text_printf(why, "tensor %zu, element %lld: ", i, (long long)k);
                lz_text_double(why, written[i][k]);
                lz_text_puts(why, " instead of ");
                lz_text_double(why, grads[i][k]);
                return NULL;
            }
    return e;
}

static bool fits(const problem *p)
{
    int64_t n = 0;
    bool finite = true;
    for (size_t i = 0; i < p->nleaves; i++) {
        const leaf *l = &p->leaves[i];
        n += l->differentiable ? l->numel : 0;
        for (int64_t k = 0; l->dtype == LZ_F64 && k < l->numel; k++)
            finite = finite && fabs(((double *)l->data)[k]) < 1e3; /* or the steps would drown in rounding */
        if (l->numel > ELEMENTS)
            return false;
    }
    return n > 0 && finite;
}

/* Whether the call is refused, or not computed in f64. */
static lz_err *is_taken_by_all(problem *p, bool *out)
{
    double value;
    lz_err *e = problem_evaluate(p, 0, &value, NULL);
    *out = !e;
    if (lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_err_free(e);
    return NULL;
}

/* Sequences have no second derivatives, as PyTorch's oneDNN layers. */
static int orders(const problem *p)
{
    static const char *const names[] = { "lstm.", "gru.", "rnn_tanh.", "rnn_relu." };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(p->op->name, names[i], strlen(names[i])))
            return 1;
    return 2;
}

/* Without elements, or with such that cannot be compared, it must still be differentiated. */
static lz_err *only_run(problem *p)
{
    double *grads[LEAVES] = { 0 }, value;
    for (size_t i = 0; i < p->nleaves; i++) {
        if (p->leaves[i].numel > ELEMENTS)
            return NULL;
        LZ_TRY(lz_arena_new(p->arena, &grads[i], (size_t)p->leaves[i].numel + 1));
    }
    LZ_TRY(problem_evaluate(p, 1, &value, grads));
    return orders(p) > 1 ? problem_evaluate(p, 2, &value, grads) : NULL;
}

/* Away from a kink: equal elements are equal no longer. */
static void move_a_little(problem *p)
{
    for (size_t i = 0; i < p->nleaves; i++) {
        double *x = p->leaves[i].data;
        for (int64_t k = 0; p->leaves[i].dtype == LZ_F64 && k < p->leaves[i].numel; k++)
            x[k] += 0.01 * problem_roll(&p->dice) * fmax(fmin(fabs(x[k]), 1), 0.01);
    }
}

/* Gradients of the sum of all that comes out, which the case knows. */
static lz_err *compare_known(problem *p, const lz_json *known, verdict *out, lz_text *why)
{
    double *grads[LEAVES] = { 0 }, value;
    *out = GOOD;
    for (size_t i = 0; i < p->nleaves; i++)
        LZ_TRY(lz_arena_new(p->arena, &grads[i], (size_t)p->leaves[i].numel + 1));
    p->ones = true;
    lz_err *e = problem_evaluate(p, 1, &value, grads);
    p->ones = false;
    for (uint32_t i = 0; !e && i < known->len; i++)
        for (uint32_t k = 0; known->items[i].kind == LZ_JSON_ARRAY && k < known->items[i].len; k++) {
            double due = problem_number(&known->items[i].items[k]), got = grads[i][k];
            if (fabs(got - due) <= 1e-12 * fabs(due) || got == due || (isnan(got) && isnan(due)))
                continue;
            *out = WRONG;
            lz_text_printf(why, "tensor %u, element %u: ", i, k);
            lz_text_double(why, got);
            lz_text_puts(why, " instead of ");
            lz_text_double(why, due);
            return NULL;
        }
    return e;
}

/* An error is a wrong result, unless nobody computes that in f64. */
static void judge(problem *p, count *c, int what, lz_err *e, verdict *v, lz_text *why)
{
    static const char *const names[] = { "first derivative", "second derivative", "tangent", "in place" };
    if (e && lz_err_code(e) != LZ_ERR_UNSUPPORTED) {
        *v = WRONG;
        lz_text_puts(why, lz_err_text(e));
    }
    lz_err_free(e);
    c->by[what][*v]++;
    if (*v == WRONG)
        printf("%.*s %s: %.*s\n", LZ_FMT(p->id), names[what], LZ_FMT(lz_text_view(why)));
    why->len = 0;
}

/* Operators that only the formulas of lstm.input, gru.input, ..., einsum, roi_align and _upsample_*_aa call,
 * which have cases, and grid_sampler_2d under a name that takes f32 only. */
static bool is_part(const char *name)
{
    static const char *const starts[] = { "_recurrent",           "_packed_rows", "_resize_aa",
                                          "_grid_sampler_2d_cpu", "_einsum_pair", "_roi_pool" };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (lz_str_starts(lz_str_of(name), lz_str_of(starts[i])))
            return true;
    return false;
}

/* Gradients of rounding, which are no slopes, of operators that take scales in f32 only; recorded cases of
 * the operators for the gradients compare them. That of ctc_loss is for probabilities that add up to 1, which
 * a step would change: recorded_gradients compares it. */
static bool has_no_slope(const char *name)
{
    return is_part(name) || !strcmp(name, "_amp_update_scale") /* a choice by an f32 flag */
           || lz_str_starts(lz_str_of(name), LZ_STR("_fake_quantize_learnable_"))
           || lz_str_starts(lz_str_of(name), LZ_STR("_ctc"))
           || lz_str_starts(lz_str_of(name), LZ_STR("ctc_loss"))
           || lz_str_starts(lz_str_of(name), LZ_STR("_fused_moving_avg"))
           || !strcmp(name, "_observe_and_quantize") || !strcmp(name, "_range_to_grid")
           || !strcmp(name, "fake_quantize_per_channel_affine")
           || !strcmp(name, "fake_quantize_per_channel_affine_cachemask");
}

/* In the dtypes that were recorded: half precision, and whole numbers beside floats. */
static lz_err *run_as_is(const problem *p, count *c)
{
    problem *own;
    bool taken;
    lz_text why = { 0 };
    verdict v = SKIPPED;
    LZ_TRY(lz_arena_new(p->arena, &own, 1));
    *own = *p;
    own->as_is = true;
    LZ_TRY(problem_read(own));
    LZ_TRY(is_taken_by_all(own, &taken));
    lz_err *e = taken ? only_run(own) : NULL;
    if (e && lz_err_code(e) != LZ_ERR_UNSUPPORTED)
        judge(own, c, 0, e, &v, &why);
    else
        lz_err_free(e);
    lz_text_deinit(&why);
    return NULL;
}

static lz_err *check_case(problem *p, count *c)
{
    bool retry = false;
    if (has_no_slope(p->op->name))
        return NULL;
    LZ_TRY(run_as_is(p, c));
    LZ_TRY(problem_read(p));
    const lz_json *known = lz_json_get(p->j, "grads");
    if (known) {
        lz_text reason = { 0 };
        verdict kind = SKIPPED;
        lz_err *e = compare_known(p, known, &kind, &reason);
        judge(p, c, 0, e, &kind, &reason);
        lz_text_deinit(&reason);
        return NULL;
    }
    bool taken;
    LZ_TRY(is_taken_by_all(p, &taken));
    if (!taken || !fits(p)) {
        lz_text reason = { 0 };
        verdict kind = SKIPPED;
        lz_err *e = taken ? only_run(p) : NULL;
        judge(p, c, 0, e, &kind, &reason);
        lz_text_deinit(&reason);
        return NULL;
    }
    if (dump)
        LZ_TRY(problem_dump(p, dump));
    lz_text why = { 0 };
    verdict v = GOOD;
    if (lz_grad_table[p->number].forward != LZ_FORWARD_NONE) {
        lz_err *e = compare_tangent(p, &v, &why);
        judge(p, c, 2, e, &v, &why);
    }
    if (lz_functional_table[p->number].inplace && p->nleaves && p->leaves[0].differentiable) {
        lz_err *e = compare_in_place(p, &v, &why);
        judge(p, c, 3, e, &v, &why);
    }
    v = GOOD;
    for (int order = 1; order <= orders(p) && v == GOOD; order++) {
        v = SKIPPED;
        lz_err *e = compare_order(p, order, &v, &why);
        if (!e && v == KINK && !retry) {
            move_a_little(p);
            retry = true;
            order = 0;
            v = GOOD;
            continue;
        }
        judge(p, c, order - 1, e, &v, &why);
    }
    lz_text_deinit(&why);
    return NULL;
}

/* ---- files ---- */

static uint16_t find_op(lz_str name)
{
    if (lz_str_starts(name, LZ_STR("aten::")))
        name = lz_str_sub(name, 6, name.len);
    for (size_t i = 1; i < LZ_OP_COUNT; i++)
        if (lz_str_is(name, lz_op_table[i].name))
            return (uint16_t)i;
    return 0;
}

/* Derivatives of draws that differences do not show: those of gamma are taken at a fixed value of the
 * distribution function, and not at fixed random words, and those of normal are 0, as PyTorch's.
 * test_draw_gradients.c compares. */
static bool is_implicit(uint16_t op)
{
    return op == LZ_OP__standard_gamma || op == LZ_OP__sample_dirichlet || op == LZ_OP_normal_Tensor_Tensor
           || op == LZ_OP_normal_Tensor_float || op == LZ_OP_normal_float_Tensor;
}

/* PyTorch does not have the derivative in its only tensor. */
static bool has_no_derivative(uint16_t op)
{
    return op == LZ_OP_special_zeta_other_scalar;
}

static bool is_checked(uint16_t op)
{
    return op && !is_implicit(op) && !has_no_derivative(op) && !has_no_slope(lz_op_table[op].name)
           && lz_op_table[op].kind == LZ_SCHEMA_FUNCTIONAL && lz_grad_table[op].kind != LZ_GRAD_NOT
           && (!only || !strcmp(only, lz_op_table[op].name));
}

/* Cases of an operator are taken evenly from all there are. */
static bool is_taken(count *c, bool recorded)
{
    size_t before = c->seen * QUOTA / c->cases, after = ++c->seen * QUOTA / c->cases;
    return only || !recorded || after > before;
}

static lz_err *each_case(const char *path, lz_str lines, const char *bytes, lz_ctx *ctx, bool run)
{
    lz_arena a;
    lz_err *e = NULL;
    bool more = true;
    lz_arena_init(&a);
    lz_arena_mark start = lz_arena_save(&a);
    while (!e && more) {
        lz_str line = lz_str_cut(&lines, LZ_STR("\n"), &more);
        const lz_json *j;
        if (!line.len)
            continue;
        lz_arena_rewind(&a, start);
        e = lz_json_parse(&a, path, line, &j);
        uint16_t op = e ? 0 : find_op(lz_json_get(j, "op")->str);
        if (e || !is_checked(op))
            continue;
        count *c = &counts[op];
        c->op = &lz_op_table[op];
        if (!run) {
            c->cases++;
            continue;
        }
        if (!is_taken(c, strstr(path, ".gz")))
            continue;
        problem *p;
        e = lz_arena_new(&a, &p, 1);
        if (e)
            break;
        *p = (problem){ .op = c->op,
                        .number = op,
                        .id = lz_json_get(j, lz_json_get(j, "id") ? "id" : "op")->str,
                        .j = j,
                        .dice = 1 };
        p->line = line;
        p->tensors = lz_json_get(j, "tensors");
        p->bytes = bytes;
        p->arena = &a;
        p->ctx = ctx;
        e = check_case(p, c);
    }
    lz_arena_deinit(&a);
    return e;
}

static lz_err *read_gz(const char *path, size_t *len, char **out)
{
    return lz_gzip_read(path, (size_t)1 << 30, len, out);
}

static lz_err *check_file(const char *path, lz_ctx *ctx, bool run)
{
    char *lines, *bytes, bin[4096];
    size_t n, m;
    const char *dot_at = strstr(path, ".jsonl");
    if (!dot_at)
        return lz_errf(LZ_ERR_ARG, "not a file of cases: %s", path);
    bool packed = strstr(path, ".gz") != NULL; /* with elements beside it */
    if (packed)
        snprintf(bin, sizeof bin, "%.*s.bin.gz", (int)(dot_at - path), path);
    else
        snprintf(bin, sizeof bin, "%s", path);
    LZ_TRY(read_gz(path, &n, &lines));
    lz_err *e = read_gz(bin, &m, &bytes);
    if (!e) {
        e = each_case(path, (lz_str){ lines, n }, bytes, ctx, run);
        lz_mem_free(bytes);
    }
    lz_mem_free(lines);
    return e;
}

static int report(void)
{
    size_t wrong = 0, ops = 0, first = 0, second = 0, tangents = 0, writes = 0;
    for (size_t i = 1; i < LZ_OP_COUNT; i++) {
        const count *c = &counts[i];
        wrong += c->by[0][WRONG] + c->by[1][WRONG] + c->by[2][WRONG] + c->by[3][WRONG];
        writes += c->by[3][GOOD];
        tangents += c->by[2][GOOD];
        first += c->by[0][GOOD];
        second += c->by[1][GOOD];
        ops += c->by[0][GOOD] > 0;
        if (verbose && c->op)
            printf("%s: %zu good, %zu wrong, %zu at kinks, %zu skipped; second %zu good, %zu wrong, %zu at "
                   "kinks, "
                   "%zu skipped\n",
                   c->op->name, c->by[0][GOOD], c->by[0][WRONG], c->by[0][KINK], c->by[0][SKIPPED],
                   c->by[1][GOOD], c->by[1][WRONG], c->by[1][KINK], c->by[1][SKIPPED]);
    }
    size_t forgotten = 0;
    for (size_t i = 1; i < LZ_OP_COUNT; i++)
        if (is_checked((uint16_t)i) && !counts[i].by[0][GOOD]) {
            printf("not looked at: %s (%zu cases)\n", lz_op_table[i].name, counts[i].cases);
            forgotten++;
        }
    printf("%zu operators, %zu first derivatives, %zu second ones, %zu tangents, %zu in place, %zu wrong\n",
           ops, first, second, tangents, writes, wrong);
    return wrong || forgotten ? 1 : 0;
}

int main(int argc, char **argv)
{
    lz_err *e = NULL;
    lz_ctx *ctx = lz_open(NULL);
    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at++)
        if (!strcmp(argv[at], "-v"))
            verbose = true;
        else if (at + 1 < argc && !strcmp(argv[at], "-o"))
            only = argv[++at];
        else if (at + 1 < argc && !strcmp(argv[at], "-d"))
            dump = fopen(argv[++at], "w");
    for (int run = 0; run < 2; run++)
        for (int i = at; !e && i < argc; i++)
            e = check_file(argv[i], ctx, run);
    lz_close(ctx);
    if (dump)
        fclose(dump);
    if (e) {
        fprintf(stderr, "gradients: %s\n", lz_err_text(e));
        lz_err_free(e);
        return 2;
    }
    return report();
}
