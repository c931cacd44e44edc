/* mul.Tensor(Tensor self, Tensor other) -> Tensor */
lz_err *lz_grad_mul_Tensor_other(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value t[1];
    const lz_low_value *self = &args[0];
    const lz_low_value *grad = &args[3];
    LZ_TRY(lz_low_apply(b, LZ_OP_mul_Tensor, LZ_ARGS(*grad, *self), &t[0]));
    results[0] = t[0];
    return NULL;
}

/* mul.Tensor(Tensor self, Tensor other) -> Tensor */
lz_err *lz_grad_mul_Tensor_self(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value t[1];
    const lz_low_value *other = &args[1];
    const lz_low_value *grad = &args[3];
    LZ_TRY(lz_low_apply(b, LZ_OP_mul_Tensor, LZ_ARGS(*grad, *other), &t[0]));
    results[0] = t[0];
    return NULL;
}

/* mul.Tensor(Tensor self, Tensor other) -> Tensor */
lz_err *lz_grad_mul_Tensor_forward_result(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value t[2];
    const lz_low_value *self_p = &args[0];
    const lz_low_value *other_p = &args[1];
    const lz_low_value *self_t = &args[3];
    const lz_low_value *other_t = &args[4];
    LZ_TRY(lz_low_apply(b, LZ_OP_mul_Tensor, LZ_ARGS(*self_t, *other_p), &t[0]));
    LZ_TRY(lz_low_apply(b, LZ_OP_mul_Tensor, LZ_ARGS(*other_t, *self_p), &t[1]));
    return lz_low_apply(b, LZ_OP_add_Tensor, LZ_ARGS(t[0], t[1], lz_low_value_int(1)), results);
}

/* div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor */
lz_err *lz_grad_div_Tensor_mode_other(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value t[4];
    const lz_low_value *self = &args[0];
    const lz_low_value *other = &args[1];
    const lz_low_value *rounding_mode = &args[2];
    const lz_low_value *grad = &args[4];
    if (lz_low_value_is_none(rounding_mode)) {
        LZ_TRY(lz_low_apply(b, LZ_OP_neg, LZ_ARGS(*grad), &t[2]));
        LZ_TRY(lz_low_apply(b, LZ_OP_div_Tensor, LZ_ARGS(*self, *other), &t[3]));
        LZ_TRY(lz_low_apply(b, LZ_OP_mul_Tensor, LZ_ARGS(t[2], t[3]), &t[1]));
        LZ_TRY(lz_low_apply(b, LZ_OP_div_Tensor, LZ_ARGS(t[1], *other), &t[0]));
    } else {
        LZ_TRY(lz_low_apply(b, LZ_OP_zeros_like, LZ_ARGS(*grad, lz_low_value_none(), lz_low_value_none(),
                lz_low_value_none(), lz_low_value_none(), lz_low_value_none()), &t[0]));
    }
    results[0] = t[0];
    return NULL;
}

/* max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) */
lz_err *lz_grad_max_dim_self(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value t[5];
    const lz_low_value *self = &args[0];
    int64_t dim;
    LZ_TRY(lz_low_value_get_int(&args[1], &dim));
    bool keepdim;
    LZ_TRY(lz_low_value_get_bool(&args[2], &keepdim));
    const lz_low_value *indices = &args[4];
    const lz_low_value *grad = &args[5];
    if (lz_low_value_ndim(self) == 0) {
        t[0] = *grad;
    } else {
        LZ_TRY(lz_low_shape(b, self, &t[2]));
        LZ_TRY(lz_low_apply(b, LZ_OP_zeros, LZ_ARGS(t[2], lz_low_value_dtype(grad->dtype),
                lz_low_value_none(), lz_low_value_none(), lz_low_value_none()), &t[1]));
        if (keepdim) {
            t[3] = *indices;
        } else {
            LZ_TRY(lz_low_apply(b, LZ_OP_unsqueeze, LZ_ARGS(*indices, lz_low_value_sized(lz_scalar_int(dim))),
                    &t[3]));
        }
        if (keepdim) {
            t[4] = *grad;
        } else {
            LZ_TRY(lz_low_apply(b, LZ_OP_unsqueeze, LZ_ARGS(*grad, lz_low_value_sized(lz_scalar_int(dim))),
                    &t[4]));
        }
        LZ_TRY(lz_low_apply(b, LZ_OP_scatter_add, LZ_ARGS(t[1], lz_low_value_sized(lz_scalar_int(dim)), t[3],
                t[4]), &t[0]));
    }
    results[0] = t[0];
    return NULL;
}

/* where.self(Tensor condition, Tensor self, Tensor other) -> Tensor */
lz_err *lz_grad_where_self_self(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value t[1];
    const lz_low_value *condition = &args[0];
    const lz_low_value *grad = &args[4];
    LZ_TRY(lz_low_apply(b, LZ_OP_where_ScalarOther, LZ_ARGS(*condition, *grad, lz_low_value_int(0)), &t[0]));
    results[0] = t[0];
    return NULL;
}

/* native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor) */
lz_err *lz_grad_native_layer_norm_input_weight_bias(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_calc_fault fault = 0;
    lz_low_value t[13];
    const lz_low_value *input = &args[0];
    const lz_low_value *normalized_shape = &args[1];
    const lz_low_value *weight = &args[2];
    const lz_low_value *bias = &args[3];
    const lz_low_value *result1 = &args[6];
    const lz_low_value *result2 = &args[7];
    const lz_low_value *grads = &args[11];
    const lz_low_value *grad_input_mask = &args[12];
    lz_low_value g;
    LZ_TRY(lz_low_list_get(grads, 0, &g));
    lz_low_value gm;
    LZ_TRY(lz_low_list_get(grads, 1, &gm));
    lz_low_value gr;
    LZ_TRY(lz_low_list_get(grads, 2, &gr));
    int64_t n = 1;
    for (size_t i1 = 0; i1 < normalized_shape->list.n; i1++) {
        int64_t s;
        LZ_TRY(lz_low_value_get_int(&normalized_shape->list.items[i1], &s));
        int64_t n2 = lz_calc_mul(&fault, n, s);
        LZ_TRY(lz_calc_check(fault));
        n = n2;
    }
    lz_low_value r3[3];
    if (lz_low_value_is_none(&g)) {
        r3[0] = lz_low_value_none();
        r3[1] = lz_low_value_none();
        r3[2] = lz_low_value_none();
    } else {
        lz_low_value r4[3];
        LZ_TRY(lz_low_apply(b, LZ_OP_native_layer_norm_backward, LZ_ARGS(g, *input, *normalized_shape,
                *result1, *result2, *weight, *bias, *grad_input_mask), r4));
        r3[0] = r4[0];
        r3[1] = r4[1];
        r3[2] = r4[2];
    }
    lz_low_value by_mean;
    if (lz_low_value_is_none(&gm)) {
        by_mean = r3[0];
    } else {
        if (lz_low_value_is_none(&r3[0])) {
            LZ_TRY(lz_low_shape(b, input, &t[2]));
            LZ_TRY(lz_low_apply(b, LZ_OP_expand, LZ_ARGS(gm, t[2], lz_low_value_bool(false)), &t[1]));
            LZ_TRY(lz_low_apply(b, LZ_OP_div_Scalar, LZ_ARGS(t[1], lz_low_value_sized(lz_scalar_int(n))),
                    &t[0]));
        } else {
            LZ_TRY(lz_low_apply(b, LZ_OP_div_Scalar, LZ_ARGS(gm, lz_low_value_sized(lz_scalar_int(n))),
                    &t[3]));
            LZ_TRY(lz_low_apply(b, LZ_OP_add_Tensor, LZ_ARGS(r3[0], t[3], lz_low_value_int(1)), &t[0]));
        }
        by_mean = t[0];
    }
    lz_low_value drift;
    if (lz_low_value_is_none(&gr)) {
        drift = lz_low_value_none();
    } else {
        LZ_TRY(lz_low_apply(b, LZ_OP_neg, LZ_ARGS(gr), &t[7]));
        LZ_TRY(lz_low_apply(b, LZ_OP_mul_Tensor, LZ_ARGS(*result2, *result2), &t[9]));
        LZ_TRY(lz_low_apply(b, LZ_OP_mul_Tensor, LZ_ARGS(t[9], *result2), &t[8]));
        LZ_TRY(lz_low_apply(b, LZ_OP_mul_Tensor, LZ_ARGS(t[7], t[8]), &t[6]));
        LZ_TRY(lz_low_apply(b, LZ_OP_div_Scalar, LZ_ARGS(t[6], lz_low_value_sized(lz_scalar_int(n))), &t[5]));
        LZ_TRY(lz_low_apply(b, LZ_OP_sub_Tensor, LZ_ARGS(*input, *result1, lz_low_value_int(1)), &t[10]));
        LZ_TRY(lz_low_apply(b, LZ_OP_mul_Tensor, LZ_ARGS(t[5], t[10]), &t[4]));
        drift = t[4];
    }
    if (lz_low_value_is_none(&drift)) {
        t[11] = by_mean;
    } else {
        if (lz_low_value_is_none(&by_mean)) {
            t[12] = drift;
        } else {
            LZ_TRY(lz_low_apply(b, LZ_OP_add_Tensor, LZ_ARGS(by_mean, drift, lz_low_value_int(1)), &t[12]));
        }
        t[11] = t[12];
    }
    results[0] = t[11];
    results[1] = r3[1];
    results[2] = r3[2];
    return NULL;
}

/* cat(Tensor[] tensors, int dim=0) -> Tensor */
lz_err *lz_grad_cat_tensors(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value t[2];
    const lz_low_value *tensors = &args[0];
    int64_t dim;
    LZ_TRY(lz_low_value_get_int(&args[1], &dim));
    const lz_low_value *grad = &args[3];
    int64_t d;
    bool c1 = lz_low_value_ndim(grad) == 1;
    if (c1) {
        int64_t n2;
        LZ_TRY(lz_calc_size(grad, 0, &n2));
        c1 = n2 == 0;
    }
    if (c1) {
        d = 0;
    } else {
        LZ_TRY(lz_low_wrap_dim(dim, lz_low_value_ndim(grad), &d));
    }
    lz_low_value at_;
    lz_low_value *items3;
    size_t len4 = 0;
    LZ_TRY(lz_low_list_new(b, tensors->list.n, &items3));
    for (size_t i5 = 0; i5 < tensors->list.n; i5++) {
        const lz_low_value *t_ = &tensors->list.items[i5];
        int64_t n6;
        if (lz_low_value_ndim(t_) == lz_low_value_ndim(grad)) {
            LZ_TRY(lz_calc_size(t_, d, &n6));
        } else {
            n6 = 0;
        }
        items3[len4++] = lz_low_value_sized(lz_scalar_int(n6));
    }
    LZ_TRY(lz_low_sums(b, LZ_ARGS(lz_low_value_list(items3, len4)), &at_));
    lz_low_value *items7;
    size_t len8 = 0;
    LZ_TRY(lz_low_list_new(b, lz_calc_count(0, lz_calc_len(tensors)), &items7));
    for (int64_t i = 0; i < lz_calc_len(tensors); i++) {
        lz_low_value t_;
        LZ_TRY(lz_low_list_get(tensors, i, &t_));
        if (lz_low_value_ndim(&t_) == lz_low_value_ndim(grad)) {
            int64_t n9;
            LZ_TRY(lz_calc_int_at(&at_, i, &n9));
            int64_t n10;
            LZ_TRY(lz_calc_int_at(&at_, i + 1, &n10));
            LZ_TRY(lz_low_apply(b, LZ_OP_slice_Tensor, LZ_ARGS(*grad, lz_low_value_sized(lz_scalar_int(d)),
                    lz_low_value_sized(lz_scalar_int(n9)), lz_low_value_sized(lz_scalar_int(n10)),
                    lz_low_value_int(1)), &t[0]));
        } else {
            LZ_TRY(lz_low_shape(b, &t_, &t[1]));
            LZ_TRY(lz_low_apply(b, LZ_OP_zeros, LZ_ARGS(t[1], lz_low_value_dtype(t_.dtype),
                    lz_low_value_none(), lz_low_value_none(), lz_low_value_none()), &t[0]));
        }
        items7[len8++] = t[0];
    }
    results[0] = lz_low_value_list(items7, len8);
    return NULL;
}

