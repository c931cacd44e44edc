/* Detection of objects: which boxes to keep, and regions of images pooled to one size. */
#include "lower/prim_impl.h"

/* args: boxes [n, 4] in the order of their scores, iou_threshold. */
lz_err *lz_lower__suppress(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *in[2] = { args[0].node, NULL }, *out;
    lz_low_value most;
    if (in[0]->ndim != 2 || in[0]->sizes[1] != 4 || (args[0].dtype != LZ_F32 && args[0].dtype != LZ_F64))
        return lz_err_because(LZ_REASON_SHAPE, "boxes are float32 or float64 of shape [n, 4]");
    LZ_TRY(lz_low_wrap(b, &args[1], &most));
    LZ_TRY(lz_low_cast(b, most.node, LZ_F64, &in[1]));
    LZ_TRY(lz_low_kernel(b, LZ_CALL_SUPPRESS, in, 2, LZ_BOOL, LZ_INTS(in[0]->sizes[0]), NULL, 0, &out));
    results[0] = lz_prim_tensor(LZ_BOOL, out);
    return NULL;
}

/* Data of four dimensions, and regions of five numbers, of one dtype. */
static lz_err *check_regions(const lz_low_value *data, const lz_low_value *rois)
{
    bool ok = (data->dtype == LZ_F32 || data->dtype == LZ_F64) && rois->dtype == data->dtype
              && lz_low_value_ndim(data) == 4 && lz_low_value_ndim(rois) == 2 && rois->node->sizes[1] == 5;
    return ok ? NULL
              : lz_err_because(
                  LZ_REASON_SHAPE,
                  "regions of images are float32 or float64: data of 4 dimensions, and rois [k, 5]");
}

/* values: spatial_scale, rows, cols, sampling_ratio, aligned. sizes: of the result. */
static lz_err *pool(lz_lower *b, const lz_low_value *data, const lz_low_value *rois,
                    const lz_low_value *const values[5], bool backward, lz_ints sizes, lz_low_value *out)
{
    const lz_low_node *in[3] = { NULL, NULL, NULL }, *n;
    lz_low_value scale;
    bool aligned;
    int64_t params[5] = { 0 };
    LZ_TRY(lz_low_value_get_int(values[1], &params[0]));
    LZ_TRY(lz_low_value_get_int(values[2], &params[1]));
    LZ_TRY(lz_low_value_get_int(values[3], &params[2]));
    LZ_TRY(lz_low_value_get_bool(values[4], &aligned));
    params[3] = aligned;
    params[4] = backward;
    LZ_TRY(lz_low_copy(b, data->node, &in[0]));
    in[1] = rois->node;
    LZ_TRY(lz_low_wrap(b, values[0], &scale));
    LZ_TRY(lz_low_cast(b, scale.node, LZ_F64, &in[2]));
    LZ_TRY(lz_low_kernel(b, LZ_CALL_ROI_ALIGN, in, 3, (lz_dtype)in[0]->dtype, sizes, params, 5, &n));
    *out = lz_prim_tensor(data->dtype, n);
    return NULL;
}

/* args: input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned. */
lz_err *lz_lower__roi_pool(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_value *const values[5] = { &args[2], &args[3], &args[4], &args[5], &args[6] };
    int64_t rows, cols;
    LZ_TRY(check_regions(&args[0], &args[1]));
    LZ_TRY(lz_low_value_get_int(&args[3], &rows));
    LZ_TRY(lz_low_value_get_int(&args[4], &cols));
    if (rows <= 0 || cols <= 0 || !args[0].node->numel)
        return lz_err_because(LZ_REASON_SHAPE,
                              "regions are pooled from images with elements to a positive size");
    return pool(b, &args[0], &args[1], values, false,
                LZ_INTS(args[1].node->sizes[0], args[0].node->sizes[1], rows, cols), &results[0]);
}

/* args: grad, rois, spatial_scale, pooled_height, pooled_width, size, sampling_ratio, aligned. */
lz_err *lz_lower__roi_pool_backward(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_value *const values[5] = { &args[2], &args[3], &args[4], &args[6], &args[7] };
    lz_ints sizes;
    LZ_TRY(check_regions(&args[0], &args[1]));
    LZ_TRY(lz_low_value_get_ints(b, &args[5], &sizes));
    int64_t rows, cols;
    LZ_TRY(lz_low_value_get_int(&args[3], &rows));
    LZ_TRY(lz_low_value_get_int(&args[4], &cols));
    const lz_ints bins = LZ_INTS(args[1].node->sizes[0], sizes.n == 4 ? sizes.v[1] : -1, rows, cols);
    if (!lz_shape_eq(lz_low_value_sizes(&args[0]), bins) || rows <= 0 || cols <= 0 || sizes.v[0] < 0
        || sizes.v[2] <= 0 || sizes.v[3] <= 0)
        return lz_err_because(LZ_REASON_SHAPE, "the gradient of pooled regions does not fit rois and size");
    return pool(b, &args[0], &args[1], values, true, sizes, &results[0]);
}
