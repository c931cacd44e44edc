/* Products of matrices. */
#include "lower/prim_impl.h"

static lz_err *check_dtypes(const lz_low_value *x, const lz_low_value *y)
{
    if (x->dtype == y->dtype)
        return NULL;
    return lz_err_because(LZ_REASON_DTYPE, "expected m1 and m2 to have the same dtype, but got: %s != %s",
                          lz_dtype_get(x->dtype)->c_name, lz_dtype_get(y->dtype)->c_name);
}

/* A product over k = 0 is 0 and needs no kernel. */
static lz_err *product(lz_lower *b, const lz_low_node *x, const lz_low_node *y, lz_dtype d,
                       const lz_low_node **out)
{
    if (x->sizes[2] > 0 && x->numel && y->numel)
        return lz_low_matmul_to(b, x, y, d, out);
    return lz_prim_full(b, 0, d, LZ_INTS(x->sizes[0], x->sizes[1], y->sizes[2]), out);
}

/* What was cast to x; x itself if it is no cast. (Nodes made to find out sizes have no inputs.) */
static const lz_low_node *uncast(const lz_low_node *x)
{
    return x->kind == LZ_LOW_CAST && x->nin ? x->in[0] : x;
}

/* Operands that were bf16 and are f32 now are read as bf16: the sums are f32 either way. */
static void narrow(const lz_low_node **x, const lz_low_node **y)
{
    const lz_low_node *m = uncast(*x), *n = uncast(*y);
    if (m->dtype != LZ_BF16 || n->dtype != LZ_BF16 || (*x)->dtype != LZ_F32 || (*y)->dtype != LZ_F32)
        return;
    *x = m;
    *y = n;
}

/* x and y have two dimensions and fit. */
static lz_err *matrix_product(lz_lower *b, const lz_low_node *x, const lz_low_node *y, lz_dtype d,
                              const lz_low_node **out)
{
    LZ_TRY(lz_low_unsqueeze(b, x, 0, &x));
    LZ_TRY(lz_low_unsqueeze(b, y, 0, &y));
    LZ_TRY(product(b, x, y, d, out));
    return lz_low_select(b, *out, 0, 0, out);
}

lz_err *lz_lower_mm(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *y = args[1].node, *n;
    if (x->ndim != 2 || y->ndim != 2)
        return lz_errf(LZ_ERR_ARG, x->ndim != 2 ? "self must be a matrix" : "mat2 must be a matrix");
    if (x->sizes[1] != y->sizes[0])
        return lz_err_because(
            LZ_REASON_SHAPE, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
            (long long)x->sizes[0], (long long)x->sizes[1], (long long)y->sizes[0], (long long)y->sizes[1]);
    LZ_TRY(check_dtypes(&args[0], &args[1]));
    lz_dtype d = (lz_dtype)x->dtype;
    narrow(&x, &y);
    LZ_TRY(matrix_product(b, x, y, d, &n));
    results[0] = lz_prim_tensor(args[0].dtype, n);
    return NULL;
}

lz_err *lz_lower__int_mm(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *y = args[1].node, *n;
    if (x->ndim != 2)
        return lz_errf(LZ_ERR_ARG, "_int_mm: self must be a matrix, got %d-D tensor", (int)x->ndim);
    if (y->ndim != 2)
        return lz_errf(LZ_ERR_ARG, "_int_mm: mat2 must be a matrix, got %d-D tensor", (int)y->ndim);
    if (x->sizes[1] != y->sizes[0])
        return lz_err_because(
            LZ_REASON_SHAPE, "_int_mm: mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
            (long long)x->sizes[0], (long long)x->sizes[1], (long long)y->sizes[0], (long long)y->sizes[1]);
    if (args[0].dtype != LZ_I8 && args[0].dtype != LZ_U8)
        return lz_err_because(LZ_REASON_DTYPE, "_int_mm: Expected self dtype to be int8 or uint8 but got %s",
                              lz_dtype_get(args[0].dtype)->c_name);
    if (args[1].dtype != LZ_I8)
        return lz_err_because(LZ_REASON_DTYPE, "_int_mm: Expected mat2 dtype to be of type int8 but got %s",
                              lz_dtype_get(args[1].dtype)->c_name);
    LZ_TRY(matrix_product(b, x, y, LZ_I32, &n));
    results[0] = lz_prim_tensor(LZ_I32, n);
    return NULL;
}

lz_err *lz_lower_bmm(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *y = args[1].node, *n;
    if (x->ndim != 3 || y->ndim != 3)
        return lz_errf(LZ_ERR_ARG,
                       x->ndim != 3 ? "batch1 must be a 3D tensor" : "batch2 must be a 3D tensor");
    if (x->sizes[0] != y->sizes[0] || x->sizes[2] != y->sizes[1])
        return lz_err_because(
            LZ_REASON_SHAPE,
            "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: "
            "[%lld, %lld].",
            (long long)x->sizes[0], (long long)x->sizes[2], (long long)y->sizes[0], (long long)y->sizes[1]);
    LZ_TRY(check_dtypes(&args[0], &args[1]));
    lz_dtype d = (lz_dtype)x->dtype;
    narrow(&x, &y);
    LZ_TRY(product(b, x, y, d, &n));
    results[0] = lz_prim_tensor(args[0].dtype, n);
    return NULL;
}
