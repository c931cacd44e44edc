/* Factorisations and solvers of matrices: arguments become a call of a routine (core/matrix_routine.h). */
#include "core/matrix_routine.h"
#include "lower/prim_impl.h"

/* A call that is being made. */
typedef struct builder {
    lz_lower *b;
    lz_routine routine;
    const char *name; /* of the operator's kernel in PyTorch, for messages */
    int64_t params[LZ_ROUTINE_PARAMS];
    const lz_low_node *in[LZ_ROUTINE_INS];
    int n_in;
    lz_ints batch; /* the leading dimensions */
    lz_dtype real;
} builder;

static int64_t count(lz_ints sizes)
{
    int64_t n = 1;
    for (int64_t d = 0; d < sizes.n; d++)
        n *= sizes.v[d];
    return n;
}

/* Adds an operand with all its leading dimensions as one. `own`: the dimensions of one matrix or vector. */
static lz_err *add(builder *x, const lz_low_value *v, int64_t own)
{
    lz_ints sizes = lz_low_value_sizes(v);
    lz_shape flat = { .n = own + 1 };
    int64_t lead = sizes.n - own;
    if (lead < 0)
        return lz_err_because(LZ_REASON_SHAPE,
                              "%s: expected a tensor with at least %d dimensions, got one with %d", x->name,
                              (int)own, (int)sizes.n);
    flat.v[0] = count((lz_ints){ sizes.v, lead });
    for (int64_t d = 0; d < own; d++)
        flat.v[1 + d] = sizes.v[lead + d];
    if (x->n_in == 0) {
        x->batch = (lz_ints){ sizes.v, lead };
        x->real = v->dtype;
    }
    return lz_low_reshape(x->b, v->node, lz_shape_ints(&flat), &x->in[x->n_in++]);
}

static lz_err *check_dtype(const builder *x, const lz_low_value *a)
{
    if (a->dtype == LZ_F32 || a->dtype == LZ_F64 || x->routine == LZ_ROUTINE_PERMUTATION)
        return NULL;
    return lz_err_because(LZ_REASON_DTYPE, "\"%s\" not implemented for '%s'", x->name,
                          lz_dtype_get(a->dtype)->script);
}

/* The function whose errors are reported; "" for none. */
static lz_err *set_check(builder *x, lz_str api)
{
    int64_t number = lz_routine_api(api);
    if (number < 0)
        return lz_errf(LZ_ERR_ARG, "no function '%.*s' reports errors of matrices", LZ_FMT(api));
    x->params[1] = number ? 2 * number + (x->batch.n > 0) : 0;
    return NULL;
}

/* A result with the leading dimensions of the first operand. */
static lz_err *give_shape(const builder *x, const lz_low_node *n, lz_low_value *out)
{
    lz_shape sizes = { .n = x->batch.n };
    for (int64_t d = 0; d < x->batch.n; d++)
        sizes.v[d] = x->batch.v[d];
    for (int64_t d = 1; d < n->ndim; d++)
        sizes.v[sizes.n++] = n->sizes[d];
    LZ_TRY(lz_low_reshape(x->b, n, lz_shape_ints(&sizes), &n));
    *out = lz_prim_tensor((lz_dtype)n->dtype, n);
    return NULL;
}

/* The other results of a call lie behind the first one. If that has no elements the routine does not run, and
 * they are zeros. */
static lz_err *result(const builder *x, const lz_routine_call *c, int i, const lz_low_node **first,
                      lz_low_value *out)
{
    int64_t sizes[3], at = (int64_t)lz_routine_offset(c, i, x->real);
    lz_dtype d = lz_routine_dtype(c, i, x->real);
    lz_ints shape = { sizes, lz_routine_sizes(c, i, sizes) };
    const lz_low_node *n;
    if (i == 0)
        LZ_TRY(lz_low_kernel(x->b, LZ_CALL_MATRICES, x->in, (size_t)x->n_in, d, shape, x->params,
                             LZ_ROUTINE_PARAMS, first));
    n = *first;
    if (i > 0 && (*first)->numel)
        LZ_TRY(lz_low_kernel(x->b, LZ_CALL_BESIDE, first, 1, d, shape, &at, 1, &n));
    else if (i > 0)
        LZ_TRY(lz_prim_full(x->b, 0, d, shape, &n));
    return give_shape(x, n, out);
}

/* Gives the first n results of the routine. */
static lz_err *finish(builder *x, int n, lz_low_value *results)
{
    lz_routine_call c;
    lz_ints sizes[LZ_ROUTINE_INS];
    const lz_low_node *first = NULL;
    x->params[0] = x->routine;
    for (int i = 0; i < x->n_in; i++)
        sizes[i] = lz_low_node_sizes(x->in[i]);
    if (!lz_routine_read(x->params, sizes, x->n_in, &c))
        return lz_err_because(LZ_REASON_SHAPE, "%s: the sizes of the operands do not fit together", x->name);
    for (int i = 0; i < n; i++)
        LZ_TRY(result(x, &c, i, &first, &results[i]));
    return NULL;
}

/* What to add to a call: an operand with so many dimensions of its own; a bool parameter; an int parameter;
 * the function whose errors are reported. In the order of the operator's arguments. */
typedef enum part { PART_END, PART_MATRIX, PART_VECTOR, PART_FLAG, PART_INT, PART_CHECK } part;

static lz_err *add_part(builder *x, part p, const lz_low_value *v, int *flags)
{
    int64_t number = 0;
    bool on = false;
    if (p == PART_MATRIX || p == PART_VECTOR)
        return add(x, v, p == PART_MATRIX ? 2 : 1);
    if (p == PART_CHECK)
        return set_check(x, v->str);
    if (p == PART_FLAG)
        LZ_TRY(lz_low_value_get_bool(v, &on));
    else
        LZ_TRY(lz_low_value_get_int(v, &number));
    x->params[2 + (*flags)++] = p == PART_FLAG ? on : number;
    return NULL;
}

enum { PARTS = 6 };

typedef struct routine_lowering {
    lz_routine routine;
    const char *name; /* of PyTorch's kernel, for messages */
    part parts[PARTS];
    int results;
} routine_lowering;

static lz_err *call(lz_lower *b, const routine_lowering *r, const lz_low_value *args, lz_low_value *results)
{
    builder x = { .b = b, .routine = r->routine, .name = r->name };
    int flags = 0;
    LZ_TRY(check_dtype(&x, &args[0]));
    for (int i = 0; i < PARTS && r->parts[i] != PART_END; i++)
        LZ_TRY(add_part(&x, r->parts[i], &args[i], &flags));
    return finish(&x, r->results, results);
}

#define ROUTINE(NAME, ID, KERNEL, RESULTS, ...)                                                              \
    lz_err *lz_lower__routine_##NAME(lz_lower *b, const lz_low_value *args, lz_low_value *results)           \
    {                                                                                                        \
        static const routine_lowering r = { LZ_ROUTINE_##ID, KERNEL, { __VA_ARGS__ }, RESULTS };             \
        return call(b, &r, args, results);                                                                   \
    }

ROUTINE(cholesky, CHOLESKY, "cholesky_cpu", 2, PART_MATRIX, PART_FLAG, PART_CHECK)
ROUTINE(lu, LU, "lu_cpu", 3, PART_MATRIX, PART_CHECK)
ROUTINE(solve, SOLVE, "lu_cpu", 2, PART_MATRIX, PART_MATRIX, PART_CHECK)
ROUTINE(lu_solve, LU_SOLVE, "linalg_lu_solve_cpu", 1, PART_MATRIX, PART_VECTOR, PART_MATRIX, PART_FLAG)
ROUTINE(qr, QR, "geqrf_cpu", 2, PART_MATRIX)
ROUTINE(reflectors, REFLECTORS, "orgqr_cpu", 1, PART_MATRIX, PART_VECTOR)
ROUTINE(reflect, REFLECT, "ormqr_cpu", 1, PART_MATRIX, PART_VECTOR, PART_MATRIX, PART_FLAG, PART_FLAG)
ROUTINE(eigh, EIGH, "linalg_eigh_cpu", 2, PART_MATRIX, PART_FLAG, PART_FLAG, PART_CHECK)
ROUTINE(svd, SVD, "linalg_svd_cpu", 3, PART_MATRIX, PART_INT, PART_CHECK)
ROUTINE(ldl, LDL, "ldl_factor_kernel_cpu", 3, PART_MATRIX, PART_CHECK)
ROUTINE(ldl_solve, LDL_SOLVE, "ldl_solve_cpu", 1, PART_MATRIX, PART_VECTOR, PART_MATRIX)
ROUTINE(triangular_solve, TRIANGULAR_SOLVE, "triangular_solve_cpu", 1, PART_MATRIX, PART_MATRIX, PART_FLAG,
        PART_FLAG, PART_FLAG)
ROUTINE(permutation, PERMUTATION, "permutation", 1, PART_VECTOR, PART_INT)
ROUTINE(square, SQUARE, "square", 1, PART_MATRIX, PART_VECTOR)
