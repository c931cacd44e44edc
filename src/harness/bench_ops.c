/* One operator per row, at one size: the operators in which libraries differ most. A row is what a user
 * writes: the operator is recorded, run and waited for. bench/compare.py has the same rows. */
#include "harness/bench_impl.h"
#include <string.h>

/* Side of the matrices. Vectors have as many elements as a matrix. */
enum { SIDE = 1000 };

typedef struct inputs {
    lz_ctx *c;
    int64_t side, n;
    lz_tensor *x, *sorted, *mask, *u8, *i32;               /* n elements */
    lz_tensor *weights;                                    /* of 1000 categories */
    lz_tensor *ids, *places;                               /* i64: below side, below n */
    lz_tensor *row_ids, *tokens;                           /* the first elements of ids */
    lz_tensor *m, *y, *m_f64, *m_bf16, *m_i8, *matrix_ids; /* side x side */
    lz_tensor *img, *w1, *w3, *w5, *w_depth, *w_transposed;
    lz_tensor *p, *q, *b1, *b2, *table, *heads, *longs;
} inputs;

static int64_t at_most(int64_t want, int64_t has)
{
    return want < has ? want : has;
}

/* The first rows and columns of a matrix. */
static lz_tensor *corner(lz_ctx *c, lz_tensor *m, int64_t want)
{
    int64_t side = at_most(want, lz_tensor_sizes(m).v[0]);
    return lz_narrow(c, lz_narrow(c, m, 0, 0, side), 1, 0, side);
}

/* X(name, call) */
#define ROWS(X)                                                                                              \
    X(sort_1e6, lz_sort(c, in->x).values)                                                                    \
    X(sort_rows, lz_sort(c, in->m).values)                                                                   \
    X(sort_cols, lz_sort(c, in->m, .dim = 0).values)                                                         \
    X(argsort_i64, lz_argsort(c, in->ids))                                                                   \
    X(topk5_1e6, lz_topk(c, in->x, at_most(5, in->n)).values)                                                \
    X(topk10_rows, lz_topk(c, in->m, at_most(10, in->side)).values)                                          \
    X(topk100_rows, lz_topk(c, in->m, at_most(100, in->side)).values)                                        \
    X(kthvalue_1e6, lz_kthvalue(c, in->x, (in->n + 1) / 2).values)                                           \
    X(median_1e6, lz_median(c, in->x))                                                                       \
    X(unique_1e6, lz__unique2(c, in->ids).out0)                                                              \
    X(bincount, lz_bincount(c, in->ids, .minlength = in->side))                                              \
    X(histc, lz_histc(c, in->x, .bins = 100))                                                                \
    X(scatter_add_1e6, lz_scatter_add(c, lz_zeros(c, LZ_DIMS(in->side)), 0, in->ids, in->x))                 \
    X(index_add_1e6, lz_index_add(c, lz_zeros(c, LZ_DIMS(in->side)), 0, in->ids, in->x))                     \
    X(index_add_rows, lz_index_add(c, lz_zeros(c, LZ_DIMS(in->side, in->side)), 0, in->row_ids, in->m))      \
    X(index_put_acc,                                                                                         \
      lz_index_put(c, lz_zeros(c, LZ_DIMS(in->side)), LZ_TENSORS(in->ids), in->x, .accumulate = true))       \
    X(gather_1e6, lz_gather(c, in->x, 0, in->places))                                                        \
    X(gather_rows, lz_gather(c, in->m, 1, in->matrix_ids))                                                   \
    X(index_select_rows, lz_index_select(c, in->m, 0, in->row_ids))                                          \
    X(index_1e6, lz_index_Tensor(c, in->x, LZ_TENSORS(in->places)))                                          \
    X(cumsum_1e6, lz_cumsum(c, in->x, 0))                                                                    \
    X(cumsum_rows, lz_cumsum(c, in->m, 1))                                                                   \
    X(cumsum_cols, lz_cumsum(c, in->m, 0))                                                                   \
    X(cumprod_rows, lz_cumprod(c, in->m, 1))                                                                 \
    X(cummax_rows, lz_cummax(c, in->m, 1).values)                                                            \
    X(nonzero_1e6, lz_nonzero(c, in->mask))                                                                  \
    X(masked_select_1e6, lz_masked_select(c, in->x, in->mask))                                               \
    X(searchsorted_1e6, lz_searchsorted_Tensor(c, in->sorted, in->x))                                        \
    X(where, lz_where_self(c, in->mask, in->x, in->sorted))                                                  \
    X(argmax_rows, lz_argmax(c, in->m, .dim = LZ_SOME(1)))                                                   \
    X(argmax_cols, lz_argmax(c, in->m, .dim = LZ_SOME(0)))                                                   \
    X(argmax_all, lz_argmax(c, in->m))                                                                       \
    X(max_dim_rows, lz_max_dim(c, in->m, 1).values)                                                          \
    X(sum_all, lz_sum(c, in->m))                                                                             \
    X(sum_rows, lz_sum_dim_IntList(c, in->m, LZ_INTS(1)))                                                    \
    X(sum_cols, lz_sum_dim_IntList(c, in->m, LZ_INTS(0)))                                                    \
    X(sum_mid, lz_sum_dim_IntList(c, in->img, LZ_INTS(0, 2, 3)))                                             \
    X(sum_i64, lz_sum(c, in->matrix_ids))                                                                    \
    X(sum_u8, lz_sum(c, in->u8))                                                                             \
    X(sum_bf16_rows, lz_sum_dim_IntList(c, in->m_bf16, LZ_INTS(1)))                                          \
    X(var_rows, lz_var_correction(c, in->m, .dim = LZ_INTS(1)))                                              \
    X(std_all, lz_std(c, in->m))                                                                             \
    X(norm_all, lz_linalg_vector_norm(c, in->m))                                                             \
    X(prod_rows, lz_prod_dim_int(c, in->m, 1))                                                               \
    X(any_rows, lz_any_dim(c, lz_gt_Scalar(c, in->m, 3.0), 1))                                               \
    X(logsumexp_rows, lz_logsumexp(c, in->m, LZ_INTS(1)))                                                    \
    X(softmax_rows, lz_softmax_int(c, in->m, 1))                                                             \
    X(softmax_cols, lz_softmax_int(c, in->m, 0))                                                             \
    X(softmax_d64, lz_softmax_int(c, in->m_f64, 1))                                                          \
    X(transpose_copy, lz_clone(c, lz_t(c, in->m), .memory_format = LZ_CONTIGUOUS))                           \
    X(permute_copy,                                                                                          \
      lz_clone(c, lz_permute(c, in->heads, LZ_DIMS(0, 2, 1, 3)), .memory_format = LZ_CONTIGUOUS))            \
    X(nchw_nhwc, lz_clone(c, lz_permute(c, in->img, LZ_DIMS(0, 2, 3, 1)), .memory_format = LZ_CONTIGUOUS))   \
    X(flip_rows, lz_flip(c, in->m, LZ_INTS(1)))                                                              \
    X(roll, lz_roll(c, in->m, LZ_INTS(3), .dims = LZ_INTS(1)))                                               \
    X(cat_0, lz_cat(c, LZ_TENSORS(in->m, in->y)))                                                            \
    X(cat_1, lz_cat(c, LZ_TENSORS(in->m, in->y), .dim = 1))                                                  \
    X(stack_2, lz_stack(c, LZ_TENSORS(in->m, in->y), .dim = 2))                                              \
    X(repeat, lz_repeat(c, in->table, LZ_INTS(4, 1)))                                                        \
    X(tril, lz_tril(c, in->m))                                                                               \
    X(one_hot, lz_one_hot(c, in->tokens, .num_classes = in->side))                                           \
    X(add, lz_add_Tensor(c, in->m, in->y))                                                                   \
    X(add_t, lz_add_Tensor(c, in->m, lz_t(c, in->y)))                                                        \
    X(add_bcast_col, lz_add_Tensor(c, in->m, lz_narrow(c, in->y, 1, 0, 1)))                                  \
    X(exp, lz_exp(c, in->m))                                                                                 \
    X(tanh, lz_tanh(c, in->m))                                                                               \
    X(gelu, lz_gelu(c, in->m))                                                                               \
    X(pow_2_5, lz_pow_Tensor_Scalar(c, lz_abs(c, in->m), 2.5))                                               \
    X(sin, lz_sin(c, in->m))                                                                                 \
    X(erf, lz_erf(c, in->m))                                                                                 \
    X(lgamma, lz_lgamma(c, lz_abs(c, in->m)))                                                                \
    X(sin_d64, lz_sin(c, in->m_f64))                                                                         \
    X(exp_d64, lz_exp(c, in->m_f64))                                                                         \
    X(div_i32, lz_floor_divide(c, in->i32, lz_add_Scalar(c, in->i32, 1)))                                    \
    X(remainder_i64, lz_remainder_Scalar(c, in->ids, 7))                                                     \
    X(to_f64, lz_to_dtype(c, in->m, LZ_F64))                                                                 \
    X(to_bf16, lz_to_dtype(c, in->m, LZ_BF16))                                                               \
    X(u8_to_f32, lz_to_dtype(c, in->u8, LZ_F32))                                                             \
    X(rand_1e6, lz_rand(c, LZ_DIMS(in->n)))                                                                  \
    X(randn_1e6, lz_randn(c, LZ_DIMS(in->n)))                                                                \
    X(uniform_1e6, lz_uniform(c, in->x, .from = 2, .to = 5))                                                 \
    X(exponential_1e6, lz_exponential(c, in->x))                                                             \
    X(bernoulli_1e6, lz_bernoulli_p(c, in->x, 0.3))                                                          \
    X(randint_1e6, lz_randint(c, 1000, LZ_DIMS(in->n)))                                                      \
    X(randperm_1e6, lz_randperm(c, in->n))                                                                   \
    X(multinomial_1e6, lz_multinomial(c, in->weights, in->n, .replacement = true))                           \
    X(multinomial_rows, lz_multinomial(c, lz_abs(c, in->m), 1))                                              \
    X(poisson_1e6, lz_poisson(c, lz_full_like(c, in->x, 5)))                                                 \
    X(dropout, lz_dropout(c, in->m, 0.5, true))                                                              \
    X(mm_1000, lz_mm(c, in->m, in->y))                                                                       \
    X(mm_d64_1000, lz_mm(c, in->m_f64, in->m_f64))                                                           \
    X(mm_bf16_1000, lz_mm(c, in->m_bf16, in->m_bf16))                                                        \
    X(int_mm_1000, lz__int_mm(c, in->m_i8, in->m_i8))                                                        \
    X(mv_1000, lz_mv(c, in->m, lz_select_int(c, in->y, 0, 0)))                                               \
    X(mtv_1000, lz_mv(c, lz_t(c, in->m), lz_select_int(c, in->y, 0, 0)))                                     \
    X(dot_1e6, lz_dot(c, in->x, in->sorted))                                                                 \
    X(outer, lz_outer(c, lz_select_int(c, in->y, 0, 0), lz_select_int(c, in->y, 0, 1)))                      \
    X(bmm_64, lz_bmm(c, in->b1, in->b2))                                                                     \
    X(bmm_t, lz_bmm(c, in->b1, lz_transpose_int(c, in->b2, 1, 2)))                                           \
    X(mm_i64_200, lz_mm(c, corner(c, in->matrix_ids, 200), corner(c, in->matrix_ids, 200)))                  \
    X(cdist, lz__cdist_forward(c, in->p, in->q, 2.0, (lz_opt_int){ 0 }))                                     \
    X(cdist_p1, lz__cdist_forward(c, in->p, in->q, 1.0, (lz_opt_int){ 0 }))                                  \
    X(conv3x3, lz_conv2d(c, in->img, in->w3, .padding = LZ_INTS(1, 1)))                                      \
    X(conv5x5, lz_conv2d(c, in->img, in->w5, .padding = LZ_INTS(2, 2)))                                      \
    X(conv1x1, lz_conv2d(c, in->img, in->w1))                                                                \
    X(conv_dw, lz_conv2d(c, in->img, in->w_depth, .padding = LZ_INTS(1, 1), .groups = 16))                   \
    X(conv_s2, lz_conv2d(c, in->img, in->w3, .padding = LZ_INTS(1, 1), .stride = LZ_INTS(2, 2)))             \
    X(conv_dil, lz_conv2d(c, in->img, in->w3, .padding = LZ_INTS(2, 2), .dilation = LZ_INTS(2, 2)))          \
    X(conv_d64, lz_conv2d(c, lz_to_dtype(c, in->img, LZ_F64), lz_to_dtype(c, in->w3, LZ_F64),                \
                          .padding = LZ_INTS(1, 1)))                                                         \
    X(convT_2, lz_conv_transpose2d_input(c, in->img, in->w_transposed, .stride = LZ_INTS(2, 2)))             \
    X(conv1d,                                                                                                \
      lz_conv1d(c, lz_reshape(c, in->img, LZ_DIMS(8, 16, 4096)),                                             \
                lz_reshape(c, lz_narrow(c, in->w3, 2, 0, 1), LZ_DIMS(16, 16, 3)), .padding = LZ_INTS(1)))    \
    X(maxpool2, lz_max_pool2d(c, in->img, LZ_INTS(2, 2)))                                                    \
    X(maxpool3s2,                                                                                            \
      lz_max_pool2d(c, in->img, LZ_INTS(3, 3), .stride = LZ_INTS(2, 2), .padding = LZ_INTS(1, 1)))           \
    X(avgpool2, lz_avg_pool2d(c, in->img, LZ_INTS(2, 2)))                                                    \
    X(adaptive1, lz_adaptive_avg_pool2d(c, in->img, LZ_INTS(1, 1)))                                          \
    X(bilinear2, lz_upsample_bilinear2d(c, in->img, LZ_INTS(128, 128), false))                               \
    X(nearest2, lz_upsample_nearest2d(c, in->img, LZ_INTS(128, 128)))                                        \
    X(im2col, lz_im2col(c, in->img, LZ_INTS(3, 3), LZ_INTS(1, 1), LZ_INTS(1, 1), LZ_INTS(1, 1)))             \
    X(pad_reflect, lz_pad(c, in->img, LZ_INTS(2, 2, 2, 2), .mode = "reflect"))                               \
    X(embedding, lz_embedding(c, in->table, in->tokens))                                                     \
    X(layer_norm, lz_layer_norm(c, in->m, LZ_INTS(in->side)))                                                \
    X(sdpa, lz_scaled_dot_product_attention(c, in->heads, in->heads, in->heads))                             \
    X(sdpa_long, lz_scaled_dot_product_attention(c, in->longs, in->longs, in->longs, .is_causal = true))     \
    X(quantile_rows, lz_quantile_scalar(c, in->m, 0.9, .dim = LZ_SOME(1)))                                   \
    X(kron, lz_kron(c, corner(c, in->m, 30), corner(c, in->m, 30)))                                          \
    X(diff, lz_diff(c, in->m))                                                                               \
    X(isin, lz_isin_Tensor_Tensor(c, in->ids, in->row_ids))                                                  \
    X(masked_fill, lz_masked_fill_Scalar(c, in->x, in->mask, 0))                                             \
    X(lerp, lz_lerp_Scalar(c, in->m, in->y, 0.3))

#define DEFINE(name, ...)                                                                                    \
    static lz_tensor *call_##name(const inputs *in)                                                          \
    {                                                                                                        \
        lz_ctx *c = in->c;                                                                                   \
        return __VA_ARGS__;                                                                                  \
    }
ROWS(DEFINE)

typedef struct row {
    const char *name;
    lz_tensor *(*call)(const inputs *in);
} row;

#define ENTRY(name, ...) { #name, call_##name },
static const row rows[] = { ROWS(ENTRY) };

enum { COUNT = sizeof rows / sizeof *rows };

/* ---- inputs ---- */

/* Integers from 0 to below - 1. */
static lz_tensor *whole(const inputs *in, int64_t below, lz_dtype d)
{
    return lz_to_dtype(in->c, lz_mul_Scalar(in->c, lz_rand(in->c, LZ_DIMS(in->n)), (double)below), d);
}

static void make_vectors(inputs *in)
{
    lz_ctx *c = in->c;
    in->x = lz_randn(c, LZ_DIMS(in->n));
    in->sorted = lz_sort(c, in->x).values;
    in->mask = lz_gt_Scalar(c, in->x, 0.0);
    in->ids = whole(in, in->side, LZ_I64);
    in->places = whole(in, in->n, LZ_I64);
    in->u8 = whole(in, 255, LZ_U8);
    in->i32 = lz_to_dtype(c, in->ids, LZ_I32);
    in->weights = lz_rand(c, LZ_DIMS(1000));
    in->row_ids = lz_narrow(c, in->ids, 0, 0, in->side);
    in->tokens = lz_narrow(c, in->ids, 0, 0, at_most(4096, in->n));
}

static void make_matrices(inputs *in)
{
    lz_ctx *c = in->c;
    in->m = lz_randn(c, LZ_DIMS(in->side, in->side));
    in->y = lz_randn(c, LZ_DIMS(in->side, in->side));
    in->m_f64 = lz_to_dtype(c, in->m, LZ_F64);
    in->m_bf16 = lz_to_dtype(c, in->m, LZ_BF16);
    in->m_i8 = lz_to_dtype(c, lz_mul_Scalar(c, in->m, 40), LZ_I8);
    in->matrix_ids = lz_clone(c, lz_reshape(c, in->ids, LZ_DIMS(in->side, in->side)));
    in->table = lz_randn(c, LZ_DIMS(in->side, 256));
    in->p = lz_randn(c, LZ_DIMS(2 * in->side, 16));
    in->q = lz_randn(c, LZ_DIMS((in->side + 1) / 2, 16));
    in->b1 = lz_randn(c, LZ_DIMS(64, 64, 64));
    in->b2 = lz_randn(c, LZ_DIMS(64, 64, 64));
}

static void make_images(inputs *in)
{
    lz_ctx *c = in->c;
    in->img = lz_randn(c, LZ_DIMS(8, 16, 64, 64));
    in->w1 = lz_randn(c, LZ_DIMS(16, 16, 1, 1));
    in->w3 = lz_randn(c, LZ_DIMS(16, 16, 3, 3));
    in->w5 = lz_randn(c, LZ_DIMS(16, 16, 5, 5));
    in->w_depth = lz_randn(c, LZ_DIMS(16, 1, 3, 3));
    in->w_transposed = lz_randn(c, LZ_DIMS(16, 16, 2, 2));
    in->heads = lz_randn(c, LZ_DIMS(4, 32, 128, 64));
    in->longs = lz_randn(c, LZ_DIMS(1, 4, 2048, 64));
}

/* ---- the suite ---- */

typedef struct call {
    const lz_bench *b;
    const inputs *in;
    const row *row;
} call;

static lz_err *run(void *user)
{
    const call *k = user;
    lz_scope *s = lz_scope_push(k->b->c);
    lz_err *e = lz_bench_finish(k->b, k->row->call(k->in));
    lz_scope_pop(s);
    return e;
}

static lz_err *measure(const lz_bench *b, const inputs *in, const row *r)
{
    call k = { b, in, r };
    lz_measured ways[] = { { .run = run, .user = &k }, { 0 } };
    LZ_TRY(lz_bench_measure(b, ways, 1));
    lz_bench_report_times(b, r->name, ways, NULL, 1e6, "us");
    return NULL;
}

lz_err *lz_bench_ops(lz_bench *b)
{
    int64_t side = b->o.n ? b->o.n : SIDE;
    inputs in = { .c = b->c, .side = side, .n = side * side };
    bool any = false;
    if (side > 1 << 15)
        return lz_errf(LZ_ERR_ARG, "ops: n must be at most %d", 1 << 15);
    make_vectors(&in);
    make_matrices(&in);
    make_images(&in);
    lz_mark_step(b->c);
    LZ_TRY(lz_bench_check(b));
    for (int i = 0; i < COUNT; i++)
        if (!b->o.only || strstr(rows[i].name, b->o.only)) {
            any = true;
            LZ_TRY(measure(b, &in, &rows[i]));
        }
    return any ? NULL : lz_errf(LZ_ERR_NOT_FOUND, "ops: no row has '%s' in its name", b->o.only);
}
