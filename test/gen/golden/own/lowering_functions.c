/* add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor */
lz_err *lz_lower_add_Tensor(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value t[2];
    lz_inner in;
    lz_low_value x[3];
    LZ_TRY(lz_inner_begin(b, "add.Tensor", LZ_INNER_POINTWISE, args, 3, x, &in));
    const lz_low_value *self = &x[0];
    const lz_low_value *other = &x[1];
    const lz_low_value *alpha = &x[2];
    if (!(lz_calc_is(in.type, LZ_DTYPE_IS_FLOATING_POINT) || lz_calc_is(in.type, LZ_DTYPE_IS_COMPLEX)
            || !lz_calc_is(lz_low_value_number_dtype(&args[2]), LZ_DTYPE_IS_FLOATING_POINT)))
        return lz_low_message(LZ_REASON_DTYPE,
                LZ_ARGS(lz_low_value_str(LZ_STR("alpha must be an integer for integer tensors, not ")),
                *alpha), 2);
    if (!(in.type == LZ_BOOL || lz_low_value_number_dtype(&args[2]) != LZ_BOOL))
        return lz_low_message(LZ_REASON_DTYPE,
                LZ_ARGS(lz_low_value_str(LZ_STR("a bool alpha is for bool results only"))), 1);
    LZ_TRY(lz_low_op(b, LZ_LOW_OP_MUL, LZ_ARGS(*alpha, *other), &t[0]));
    LZ_TRY(lz_low_op(b, LZ_LOW_OP_ADD, LZ_ARGS(*self, t[0]), &t[1]));
    return lz_inner_end(b, &in, &t[1], results);
}

/* softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor */
lz_err *lz_lower_softplus(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value t[6];
    const lz_low_value *self = &args[0];
    const lz_low_value *beta = &args[1];
    const lz_low_value *threshold = &args[2];
    if (!lz_calc_is(self->dtype, LZ_DTYPE_IS_FLOATING_POINT))
        return lz_low_message(LZ_REASON_DTYPE,
                LZ_ARGS(lz_low_value_str(LZ_STR("softplus is not defined for ")),
                lz_low_value_dtype(self->dtype)), 2);
    LZ_TRY(lz_low_apply(b, LZ_OP_mul_Scalar, LZ_ARGS(*self, *beta), &t[1]));
    LZ_TRY(lz_low_apply(b, LZ_OP_gt_Scalar, LZ_ARGS(t[1], *threshold), &t[0]));
    LZ_TRY(lz_low_apply(b, LZ_OP_mul_Scalar, LZ_ARGS(*self, *beta), &t[5]));
    LZ_TRY(lz_low_apply(b, LZ_OP_exp, LZ_ARGS(t[5]), &t[4]));
    LZ_TRY(lz_low_apply(b, LZ_OP_log1p, LZ_ARGS(t[4]), &t[3]));
    LZ_TRY(lz_low_apply(b, LZ_OP_div_Scalar, LZ_ARGS(t[3], *beta), &t[2]));
    return lz_low_apply(b, LZ_OP_where_self, LZ_ARGS(t[0], *self, t[2]), results);
}

/* clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor */
lz_err *lz_lower_clamp(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_value *self = &args[0];
    const lz_low_value *min = &args[1];
    const lz_low_value *max = &args[2];
    if (!(!lz_low_value_is_none(min) || !lz_low_value_is_none(max)))
        return lz_low_message(LZ_REASON_ARGUMENT, LZ_ARGS(lz_low_value_str(LZ_STR("clamp needs min or max"))),
                1);
    lz_low_value low;
    if (lz_low_value_is_none(min)) {
        low = *self;
    } else {
        LZ_TRY(lz_low_apply(b, LZ_OP_clamp_min, LZ_ARGS(*self, *min), &low));
    }
    if (lz_low_value_is_none(max)) {
        results[0] = low;
    } else {
        LZ_TRY(lz_low_apply(b, LZ_OP_clamp_max, LZ_ARGS(low, *max), results));
    }
    return NULL;
}

/* eq.Tensor(Tensor self, Tensor other) -> Tensor */
lz_err *lz_lower_eq_Tensor(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value t[1];
    lz_inner in;
    lz_low_value x[2];
    LZ_TRY(lz_inner_begin(b, "eq.Tensor", LZ_INNER_PREDICATE, args, 2, x, &in));
    const lz_low_value *self = &x[0];
    const lz_low_value *other = &x[1];
    LZ_TRY(lz_low_op(b, LZ_LOW_OP_EQ, LZ_ARGS(*self, *other), &t[0]));
    return lz_inner_end(b, &in, &t[0], results);
}

/* layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor */
lz_err *lz_lower_layer_norm(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_value *input = &args[0];
    const lz_low_value *normalized_shape = &args[1];
    const lz_low_value *weight = &args[2];
    const lz_low_value *bias = &args[3];
    const lz_low_value *eps = &args[4];
    lz_low_value r1[3];
    LZ_TRY(lz_low_apply(b, LZ_OP_native_layer_norm, LZ_ARGS(*input, *normalized_shape, *weight, *bias, *eps),
            r1));
    results[0] = r1[0];
    return NULL;
}

/* arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
lz_err *lz_lower_arange(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_value *end = &args[0];
    const lz_low_value *dtype = &args[1];
    const lz_low_value *layout = &args[2];
    const lz_low_value *device = &args[3];
    const lz_low_value *pin_memory = &args[4];
    return lz_low_apply(b, LZ_OP_arange_start_step, LZ_ARGS(lz_low_value_int(0), *end, lz_low_value_int(1),
            *dtype, *layout, *device, *pin_memory), results);
}

/* var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor */
lz_err *lz_lower_var_correction(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_value *self = &args[0];
    const lz_low_value *dim = &args[1];
    const lz_low_value *correction = &args[2];
    bool keepdim;
    LZ_TRY(lz_low_value_get_bool(&args[3], &keepdim));
    lz_low_value r1[2];
    LZ_TRY(lz_low_apply(b, LZ_OP_var_mean_correction, LZ_ARGS(*self, *dim, *correction,
            lz_low_value_bool(keepdim)), r1));
    results[0] = r1[0];
    return NULL;
}

/* native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor) */
lz_err *lz_lower_native_dropout(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value t[7];
    const lz_low_value *input = &args[0];
    const lz_low_value *p = &args[1];
    const lz_low_value *train = &args[2];
    bool c1 = lz_low_value_is_none(train);
    if (!c1) {
        bool c2;
        LZ_TRY(lz_low_value_get_bool(train, &c2));
        c1 = c2;
    }
    if (c1) {
        lz_low_value keep;
        LZ_TRY(lz_low_shape(b, input, &t[1]));
        LZ_TRY(lz_low_apply(b, LZ_OP_rand, LZ_ARGS(t[1], lz_low_value_dtype(LZ_F32), lz_low_value_none(),
                lz_low_value_none(), lz_low_value_none()), &t[0]));
        LZ_TRY(lz_low_apply(b, LZ_OP_ge_Scalar, LZ_ARGS(t[0], *p), &keep));
        LZ_TRY(lz_low_op(b, LZ_LOW_OP_SUB, LZ_ARGS(lz_low_value_int(1), *p), &t[4]));
        LZ_TRY(lz_low_apply(b, LZ_OP_div_Scalar, LZ_ARGS(*input, t[4]), &t[3]));
        LZ_TRY(lz_low_cast_to(b, LZ_ARGS(lz_low_value_int(0)), input->dtype, &t[5]));
        LZ_TRY(lz_low_apply(b, LZ_OP_where_ScalarOther, LZ_ARGS(keep, t[3], t[5]), &t[2]));
        results[0] = t[2];
        results[1] = keep;
    } else {
        LZ_TRY(lz_low_apply(b, LZ_OP_ones_like, LZ_ARGS(*input, lz_low_value_dtype(LZ_BOOL),
                lz_low_value_none(), lz_low_value_none(), lz_low_value_none(), lz_low_value_none()), &t[6]));
        results[0] = *input;
        results[1] = t[6];
    }
    return NULL;
}

/* nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight) */
lz_err *lz_lower_nll_loss_forward(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value t[17];
    const lz_low_value *self = &args[0];
    const lz_low_value *target = &args[1];
    const lz_low_value *weight = &args[2];
    int64_t reduction;
    LZ_TRY(lz_low_value_get_int(&args[3], &reduction));
    int64_t ignore_index;
    LZ_TRY(lz_low_value_get_int(&args[4], &ignore_index));
    if (!(lz_low_value_ndim(self) == 1 || lz_low_value_ndim(self) == 2))
        return lz_low_message(LZ_REASON_ARGUMENT,
                LZ_ARGS(lz_low_value_str(LZ_STR("nll_loss needs 1 or 2 dimensions, not ")),
                lz_low_value_sized(lz_scalar_int(lz_low_value_ndim(self)))), 2);
    if (lz_low_value_ndim(target) != lz_low_value_ndim(self) - 1) {
        return lz_low_message(LZ_REASON_SHAPE,
                LZ_ARGS(lz_low_value_str(LZ_STR("nll_loss needs a target of ")),
                lz_low_value_sized(lz_scalar_int(lz_low_value_ndim(self) - 1)),
                lz_low_value_str(LZ_STR(" dimensions, not ")),
                lz_low_value_sized(lz_scalar_int(lz_low_value_ndim(target)))), 4);
    }
    bool c1 = lz_low_value_ndim(self) == 1;
    if (!c1) {
        int64_t n2;
        LZ_TRY(lz_calc_size(self, 0, &n2));
        int64_t n3;
        LZ_TRY(lz_calc_size(target, 0, &n3));
        c1 = n2 == n3;
    }
    if (!c1) {
        LZ_TRY(lz_low_shape(b, self, &t[0]));
        LZ_TRY(lz_low_shape(b, target, &t[1]));
        return lz_low_message(LZ_REASON_SHAPE, LZ_ARGS(lz_low_value_str(LZ_STR("size mismatch (got input: ")),
                t[0], lz_low_value_str(LZ_STR(", target: ")), t[1], lz_low_value_str(LZ_STR(")"))), 5);
    }
    if (!(target->dtype == LZ_I64 || target->dtype == LZ_U8))
        return lz_low_message(LZ_REASON_DTYPE,
                LZ_ARGS(lz_low_value_str(LZ_STR("expected target dtype to be Long or Byte, but got ")),
                lz_low_value_dtype(target->dtype)), 2);
    lz_low_value wanted;
    LZ_TRY(lz_low_cast_to(b, target, LZ_I64, &wanted));
    lz_low_value valid;
    LZ_TRY(lz_low_apply(b, LZ_OP_ne_Scalar, LZ_ARGS(wanted, lz_low_value_sized(lz_scalar_int(ignore_index))),
            &valid));
    lz_low_value class_;
    LZ_TRY(lz_low_apply(b, LZ_OP_where_ScalarOther, LZ_ARGS(valid, wanted, lz_low_value_int(0)), &class_));
    lz_low_value picked;
    LZ_TRY(lz_low_apply(b, LZ_OP_unsqueeze, LZ_ARGS(class_, lz_low_value_int(-1)), &t[3]));
    LZ_TRY(lz_low_apply(b, LZ_OP_gather, LZ_ARGS(*self, lz_low_value_int(-1), t[3], lz_low_value_bool(false)),
            &t[2]));
    LZ_TRY(lz_low_apply(b, LZ_OP_squeeze_dim, LZ_ARGS(t[2], lz_low_value_int(-1)), &picked));
    lz_low_value factor;
    if (lz_low_value_is_none(weight)) {
        LZ_TRY(lz_low_apply(b, LZ_OP_ones_like, LZ_ARGS(picked, lz_low_value_none(), lz_low_value_none(),
                lz_low_value_none(), lz_low_value_none(), lz_low_value_none()), &factor));
    } else {
        LZ_TRY(lz_low_shape(b, weight, &t[4]));
        int64_t n4;
        LZ_TRY(lz_calc_size(self, -1, &n4));
        LZ_TRY(lz_low_list(b, LZ_ARGS(lz_low_value_sized(lz_scalar_int(n4))), 1, &t[5]));
        bool c5;
        LZ_TRY(lz_low_value_equal(b, &t[4], &t[5], &c5));
        if (!c5) {
            int64_t n6;
            LZ_TRY(lz_calc_size(self, -1, &n6));
            LZ_TRY(lz_low_shape(b, weight, &t[6]));
            return lz_low_message(LZ_REASON_SHAPE,
                    LZ_ARGS(lz_low_value_str(LZ_STR("weight tensor should be defined either for all ")),
                    lz_low_value_sized(lz_scalar_int(n6)),
                    lz_low_value_str(LZ_STR(" classes or no classes but got weight tensor of shape: ")),
                    t[6]), 4);
        }
        if (weight->dtype != self->dtype)
            return lz_low_message(LZ_REASON_DTYPE, LZ_ARGS(lz_low_value_str(LZ_STR("expected scalar type ")),
                    lz_low_value_dtype(self->dtype), lz_low_value_str(LZ_STR(" but found ")),
                    lz_low_value_dtype(weight->dtype)), 4);
        LZ_TRY(lz_low_list(b, LZ_ARGS(lz_low_value_sized(lz_scalar_int(lz_low_value_numel(&class_)))), 1,
                &t[9]));
        LZ_TRY(lz_low_apply(b, LZ_OP_reshape, LZ_ARGS(class_, t[9]), &t[8]));
        LZ_TRY(lz_low_apply(b, LZ_OP_index_select, LZ_ARGS(*weight, lz_low_value_int(0), t[8]), &t[7]));
        LZ_TRY(lz_low_shape(b, &class_, &t[10]));
        LZ_TRY(lz_low_apply(b, LZ_OP_reshape, LZ_ARGS(t[7], t[10]), &factor));
    }
    lz_low_value used;
    LZ_TRY(lz_low_cast_to(b, LZ_ARGS(lz_low_value_int(0)), self->dtype, &t[11]));
    LZ_TRY(lz_low_apply(b, LZ_OP_where_ScalarOther, LZ_ARGS(valid, factor, t[11]), &used));
    lz_low_value loss;
    LZ_TRY(lz_low_apply(b, LZ_OP_neg, LZ_ARGS(picked), &t[12]));
    LZ_TRY(lz_low_apply(b, LZ_OP_mul_Tensor, LZ_ARGS(t[12], used), &loss));
    lz_low_value total;
    LZ_TRY(lz_low_apply(b, LZ_OP_sum, LZ_ARGS(used, lz_low_value_none()), &total));
    if (reduction == 1) {
        LZ_TRY(lz_low_apply(b, LZ_OP_sum, LZ_ARGS(loss, lz_low_value_none()), &t[14]));
        LZ_TRY(lz_low_apply(b, LZ_OP_div_Tensor, LZ_ARGS(t[14], total), &t[13]));
        results[0] = t[13];
        results[1] = total;
    } else if (reduction != 0) {
        LZ_TRY(lz_low_apply(b, LZ_OP_sum, LZ_ARGS(loss, lz_low_value_none()), &t[15]));
        results[0] = t[15];
        results[1] = total;
    } else {
        if (lz_low_value_ndim(self) == 1) {
            t[16] = total;
        } else {
            LZ_TRY(lz_low_apply(b, LZ_OP_zeros_like, LZ_ARGS(total, lz_low_value_none(), lz_low_value_none(),
                    lz_low_value_none(), lz_low_value_none(), lz_low_value_none()), &t[16]));
        }
        results[0] = loss;
        results[1] = t[16];
    }
    return NULL;
}

/* meshgrid(Tensor[] tensors) -> Tensor[] */
lz_err *lz_lower_meshgrid(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value t[4];
    const lz_low_value *tensors = &args[0];
    if (lz_calc_len(tensors) <= 0)
        return lz_low_message(LZ_REASON_ARGUMENT,
                LZ_ARGS(lz_low_value_str(LZ_STR("meshgrid expects a non-empty TensorList"))), 1);
    bool good = true;
    for (size_t i1 = 0; i1 < tensors->list.n; i1++) {
        const lz_low_value *t_ = &tensors->list.items[i1];
        good = good && lz_low_value_ndim(t_) <= 1;
    }
    if (!good)
        return lz_low_message(LZ_REASON_ARGUMENT,
                LZ_ARGS(lz_low_value_str(LZ_STR("torch.meshgrid: Expected 0D or 1D tensors in the tensor list"))),
                1);
    bool good_ = true;
    for (size_t i2 = 0; i2 < tensors->list.n; i2++) {
        const lz_low_value *t_ = &tensors->list.items[i2];
        bool c3 = good_;
        if (c3) {
            LZ_TRY(lz_low_list_get(tensors, 0, &t[0]));
            c3 = t_->dtype == t[0].dtype;
        }
        good_ = c3;
    }
    if (!good_)
        return lz_low_message(LZ_REASON_DTYPE,
                LZ_ARGS(lz_low_value_str(LZ_STR("meshgrid expects all tensors to have the same dtype"))), 1);
    int64_t n = lz_calc_len(tensors);
    lz_low_value *items4;
    size_t len5 = 0;
    LZ_TRY(lz_low_list_new(b, tensors->list.n, &items4));
    for (size_t i6 = 0; i6 < tensors->list.n; i6++) {
        const lz_low_value *t_ = &tensors->list.items[i6];
        items4[len5++] = lz_low_value_sized(lz_scalar_int(lz_low_value_numel(t_)));
    }
    lz_low_value shape = lz_low_value_list(items4, len5);
    lz_low_value *items7;
    size_t len8 = 0;
    LZ_TRY(lz_low_list_new(b, lz_calc_count(0, n), &items7));
    for (int64_t i = 0; i < n; i++) {
        LZ_TRY(lz_low_list_get(tensors, i, &t[3]));
        lz_low_value *items9;
        size_t len10 = 0;
        LZ_TRY(lz_low_list_new(b, lz_calc_count(0, n), &items9));
        for (int64_t j = 0; j < n; j++) {
            int64_t n11;
            if (j == i) {
                LZ_TRY(lz_calc_int_at(&shape, i, &n11));
            } else {
                n11 = 1;
            }
            items9[len10++] = lz_low_value_sized(lz_scalar_int(n11));
        }
        LZ_TRY(lz_low_apply(b, LZ_OP_view, LZ_ARGS(t[3], lz_low_value_list(items9, len10)), &t[2]));
        LZ_TRY(lz_low_apply(b, LZ_OP_expand, LZ_ARGS(t[2], shape, lz_low_value_bool(false)), &t[1]));
        items7[len8++] = t[1];
    }
    results[0] = lz_low_value_list(items7, len8);
    return NULL;
}

/* tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[] */
lz_err *lz_lower_tensor_split_sections(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_calc_fault fault = 0;
    lz_low_value t[1];
    const lz_low_value *self = &args[0];
    int64_t sections;
    LZ_TRY(lz_low_value_get_int(&args[1], &sections));
    int64_t dim;
    LZ_TRY(lz_low_value_get_int(&args[2], &dim));
    if (lz_low_value_ndim(self) <= 0)
        return lz_low_message(LZ_REASON_ARGUMENT,
                LZ_ARGS(lz_low_value_str(LZ_STR("tensor_split expected at least a 1-dimensional tensor, but got a tensor with ")),
                lz_low_value_sized(lz_scalar_int(lz_low_value_ndim(self))),
                lz_low_value_str(LZ_STR(" dims"))), 3);
    if (sections <= 0)
        return lz_low_message(LZ_REASON_ARGUMENT,
                LZ_ARGS(lz_low_value_str(LZ_STR("number of sections must be larger than 0, got ")),
                lz_low_value_sized(lz_scalar_int(sections))), 2);
    int64_t n;
    int64_t n1;
    LZ_TRY(lz_low_wrap_dim(dim, lz_low_value_ndim(self), &n1));
    LZ_TRY(lz_calc_size(self, n1, &n));
    int64_t size = lz_calc_div(&fault, n, sections);
    LZ_TRY(lz_calc_check(fault));
    int64_t more = lz_calc_mod(&fault, n, sections);
    LZ_TRY(lz_calc_check(fault));
    lz_low_value *items2;
    size_t len3 = 0;
    LZ_TRY(lz_low_list_new(b, lz_calc_count(0, sections), &items2));
    for (int64_t i = 0; i < sections; i++) {
        int64_t n4 = lz_calc_add(&fault, lz_calc_mul(&fault, i, size), lz_calc_min(i, more));
        LZ_TRY(lz_calc_check(fault));
        int64_t n5 = lz_calc_add(&fault, lz_calc_mul(&fault, lz_calc_add(&fault, i, 1), size),
                lz_calc_min(lz_calc_add(&fault, i, 1), more));
        LZ_TRY(lz_calc_check(fault));
        LZ_TRY(lz_low_apply(b, LZ_OP_slice_Tensor, LZ_ARGS(*self, lz_low_value_sized(lz_scalar_int(dim)),
                lz_low_value_sized(lz_scalar_int(n4)), lz_low_value_sized(lz_scalar_int(n5)),
                lz_low_value_int(1)), &t[0]));
        items2[len3++] = t[0];
    }
    results[0] = lz_low_value_list(items2, len3);
    return NULL;
}

