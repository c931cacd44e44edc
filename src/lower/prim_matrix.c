/* Products of matrices. */
#include "lower/prim_impl.h"

static lz_err *check_dtypes(const lz_lv *x, const lz_lv *y)
{
    if (x->dtype == y->dtype)
        return NULL;
    return lz_errf(LZ_ERR_ARG, "expected m1 and m2 to have the same dtype, but got: %s != %s",
                   lz_dtype_get(x->dtype)->c_name, lz_dtype_get(y->dtype)->c_name);
}

/* A sum over nothing is 0; no kernel is needed for that. */
static lz_err *product(lz_lower *b, const lz_ln *x, const lz_ln *y, const lz_ln **out)
{
    if (x->sizes[2] > 0 && x->numel && y->numel)
        return lz_low_matmul(b, x, y, out);
    return lz_prim_full(b, 0, (lz_dtype)x->dtype, LZ_INTS(x->sizes[0], x->sizes[1], y->sizes[2]), out);
}

lz_err *lz_lower_mm(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    const lz_ln *x = args[0].node, *y = args[1].node, *n;
    if (x->ndim != 2 || y->ndim != 2)
        return lz_errf(LZ_ERR_ARG, x->ndim != 2 ? "self must be a matrix" : "mat2 must be a matrix");
    if (x->sizes[1] != y->sizes[0])
        return lz_errf(LZ_ERR_ARG, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                       (long long)x->sizes[0], (long long)x->sizes[1], (long long)y->sizes[0],
                       (long long)y->sizes[1]);
    LZ_TRY(check_dtypes(&args[0], &args[1]));
    LZ_TRY(lz_low_unsqueeze(b, x, 0, &x));
    LZ_TRY(lz_low_unsqueeze(b, y, 0, &y));
    LZ_TRY(product(b, x, y, &n));
    LZ_TRY(lz_low_select(b, n, 0, 0, &n));
    results[0] = lz_prim_tensor(args[0].dtype, n);
    return NULL;
}

lz_err *lz_lower_bmm(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    const lz_ln *x = args[0].node, *y = args[1].node, *n;
    if (x->ndim != 3 || y->ndim != 3)
        return lz_errf(LZ_ERR_ARG,
                       x->ndim != 3 ? "batch1 must be a 3D tensor" : "batch2 must be a 3D tensor");
    if (x->sizes[0] != y->sizes[0] || x->sizes[2] != y->sizes[1])
        return lz_errf(LZ_ERR_ARG,
                       "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: "
                       "[%lld, %lld].",
                       (long long)x->sizes[0], (long long)x->sizes[2], (long long)y->sizes[0],
                       (long long)y->sizes[1]);
    LZ_TRY(check_dtypes(&args[0], &args[1]));
    LZ_TRY(product(b, x, y, &n));
    results[0] = lz_prim_tensor(args[0].dtype, n);
    return NULL;
}
