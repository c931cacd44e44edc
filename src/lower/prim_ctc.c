/* The CTC loss: one kernel call along the sequences, and one for its gradient. */
#include "lower/prim_impl.h"
#include <math.h>

static lz_err *take(const lz_low_value *args, size_t n, const lz_low_node **in)
{
    for (size_t i = 0; i < n; i++)
        in[i] = args[i].node;
    bool ok = in[0]->ndim == 3 && in[1]->ndim == 2 && (args[0].dtype == LZ_F32 || args[0].dtype == LZ_F64);
    for (size_t i = 1; ok && i < 4; i++)
        ok = args[i].dtype == LZ_I64 && in[i]->ndim > 0 && in[i]->sizes[0] == in[0]->sizes[1];
    if (ok)
        return NULL;
    return lz_err_because(LZ_REASON_SHAPE,
                          "CTC takes probabilities [times, batch, classes] and targets [batch, most]");
}

/* args: log_probs, targets, input_lengths, target_lengths, blank. */
lz_err *lz_lower__ctc_alpha(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *in[4], *out;
    int64_t blank;
    LZ_TRY(take(args, 4, in));
    LZ_TRY(lz_low_value_get_int(&args[4], &blank));
    lz_ints sizes = LZ_INTS(in[0]->sizes[1], in[0]->sizes[0], 2 * in[1]->sizes[1] + 1);
    if (in[0]->numel)
        LZ_TRY(lz_low_kernel(b, LZ_CALL_CTC_ALPHA, in, 4, (lz_dtype)in[0]->dtype, sizes, &blank, 1, &out));
    else
        LZ_TRY(lz_prim_full(b, -INFINITY, (lz_dtype)in[0]->dtype, sizes, &out));
    results[0] = lz_prim_tensor(args[0].dtype, out);
    return NULL;
}

/* args: log_probs, targets, input_lengths, target_lengths, loss, alpha, blank. */
lz_err *lz_lower__ctc_slope(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *in[6], *out;
    int64_t blank;
    LZ_TRY(take(args, 6, in));
    LZ_TRY(lz_low_value_get_int(&args[6], &blank));
    out = in[0];
    if (in[0]->numel)
        LZ_TRY(lz_low_kernel(b, LZ_CALL_CTC_SLOPE, in, 6, (lz_dtype)in[0]->dtype, lz_low_node_sizes(in[0]),
                             &blank, 1, &out));
    results[0] = lz_prim_tensor(args[0].dtype, out);
    return NULL;
}
