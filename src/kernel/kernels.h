/* kernels.h - primitives that do not fuse: plain loops over strided memory.
 *
 * Each gives the same bits on any number of threads: chunks of work and the order of additions depend on the
 * sizes alone. Results are dense and row-major, and share no memory with the inputs. */
#ifndef LZ_KERNEL_KERNELS_H
#define LZ_KERNEL_KERNELS_H

#include "base/pool.h"
#include "core/distribution.h"
#include <lazuli/value.h>
#include <stdbool.h>

/* Strides are in elements. */
typedef struct lz_strided {
    void *data;
    lz_dtype dtype;
    int64_t ndim;
    const int64_t *sizes, *strides;
} lz_strided;

enum { LZ_CALL_INPUTS = 8 };

/* Called when rows [begin, end) of a product are complete, on the thread that completed them. Rows are
 * numbered through all matrices of a batch. */
typedef lz_err *lz_kernel_after_fn(void *user, int64_t begin, int64_t end);

typedef struct lz_kernel_call {
    lz_strided in[LZ_CALL_INPUTS];
    lz_strided out;
    const int64_t *params;
    lz_pool *pool;             /* may be NULL */
    int way;                   /* the method, chosen by the prepare function; 0: not prepared */
    char *scratch;             /* of the scratch function's size per thread; NULL: allocated by the call */
    lz_kernel_after_fn *after; /* lz_matmul only; may be NULL */
    void *after_user;
    const char **by; /* receives the name of the library that was used, static; may be NULL */
} lz_kernel_call;

typedef lz_err *lz_kernel_call_fn(const lz_kernel_call *c);
/* Makes all decisions that do not need data. */
typedef lz_err *lz_kernel_call_prepare_fn(lz_kernel_call *c);
/* Bytes per thread; a prepared call that has them cannot fail. */
typedef size_t lz_kernel_call_scratch_fn(const lz_kernel_call *c);

/* out[b, i, j] = sum over k of x[b, i, k] * y[b, k, j]. f16 and bf16 are added up in f32, narrow integers
 * wrap around. */
LZ_MUST_USE lz_err *lz_matmul(const lz_kernel_call *c);
LZ_MUST_USE lz_err *lz_matmul_prepare(lz_kernel_call *c); /* chooses the library; does not read data */
size_t lz_matmul_scratch(const lz_kernel_call *c);
bool lz_matmul_is_own(const lz_kernel_call *c);     /* after prepare: no library is used */
const char *lz_matmul_way(const lz_kernel_call *c); /* after prepare: "own", "onednn", ...; else NULL */

/* Attention without a matrix of scores: softmax(q k' scale + mask) v. in: q [b, h, l, e], k [b, g, s, e],
 * v [b, g, s, ev] of f32 or f64, scale (f64), and a mask [b, h, l, s] if params[1] counts 5 inputs: bool
 * (false: unseen), or of q's dtype (added). h is a multiple of g: neighbouring heads share a key. params:
 * causal (query i sees the keys up to i), number of inputs. out [b * h * l * (ev + 2)]: results [b, l, h,
 * ev], then the greatest score of each row and the sum of exp(score - greatest), each [b, h, l]. */
LZ_MUST_USE lz_err *lz_attention_forward(const lz_kernel_call *c);
size_t lz_attention_scratch(const lz_kernel_call *c);
/* in: gradient of the result, q, k, v, logarithm of the sum of exp(score) [b, h, l, 1], sum of gradient times
 * result [b, h, l, 1], scale, mask or not. params: causal, number of inputs, ranges. out: gradients for q
 * [ranges, b, l, h, e], whose sum over the ranges counts; for k [b, s, g, e]; for v [b, s, g, ev]. */
LZ_MUST_USE lz_err *lz_attention_backward(const lz_kernel_call *c);
size_t lz_attention_backward_scratch(const lz_kernel_call *c);

/* A recurrent cell along sequences, whose numbers at each time never grow. in: gates of the input [rows, g *
 * h] of f32 or f64, weight [g * h, h] and bias [g * h] of the state's gates, states [s, b, h], i64 number of
 * sequences at each time [t], whose sum is rows. params: lz_cell_kind, whether the last time comes first.
 * out: parts [k, rows, h] that the gradient needs, the first one being the output; states after the last step
 * [s, b, h]. core/recurrent_cell.h has g, s, k. */
LZ_MUST_USE lz_err *lz_recur(const lz_kernel_call *c);
/* in: gradients of the output [rows, h] and of the states; the parts [k, rows, h]; weight; numbers of
 * sequences. out: gradients of the state's gates [rows, g * h]; of a GRU's third gate of the input [rows, h];
 * of the first states. */
LZ_MUST_USE lz_err *lz_recur_backward(const lz_kernel_call *c);

/* A linear recurrence with the weight of a cell, and its gradients (kernel/recurrent.h). in: what is added to
 * the states [states, rows, width], weight, slopes [gates + states, rows, width], states, batch sizes. out:
 * for each row state and state before, then memory and memory before; the states. */
LZ_MUST_USE lz_err *lz_recur_linear(const lz_kernel_call *c);
/* in: gradients of the rows and of the states, slopes, weight, batch sizes, what is added to the gradients of
 * the gates [rows, gates * width]. out: gradients of the gates, of what is added to the states, of the
 * states. */
LZ_MUST_USE lz_err *lz_recur_linear_backward(const lz_kernel_call *c);

/* Convolution over 1 to 3 dimensions. params: d, stride[d], padding[d], dilation[d], groups. */
LZ_MUST_USE lz_err *lz_conv(const lz_kernel_call *c);        /* in: x [n, c, ...], w [o, c / groups, ...] */
LZ_MUST_USE lz_err *lz_conv_input(const lz_kernel_call *c);  /* in: gy, w; out like x */
LZ_MUST_USE lz_err *lz_conv_weight(const lz_kernel_call *c); /* in: gy, x; out like w */

/* The greatest element of each window in the last two dimensions of x (f32 or f64), and its number within its
 * plane (i64). Every window must contain an element. Of equal elements the first counts; the first NaN wins.
 * params: kernel[2], stride[2], padding[2], dilation[2]. */
LZ_MUST_USE lz_err *lz_pool_greatest(const lz_kernel_call *c);
LZ_MUST_USE lz_err *lz_pool_places(const lz_kernel_call *c);

/* i64 indices along the last dimension: of all elements in order (params: descending), or of the first k
 * (out's last size; params: k, largest, sorted). Stable; NaN counts as greater than any number. */
LZ_MUST_USE lz_err *lz_sort_indices(const lz_kernel_call *c);
LZ_MUST_USE lz_err *lz_topk_indices(const lz_kernel_call *c);
/* The index of the element of a given rank in ascending order, out [..., 1]. params: rank, from 0. */
LZ_MUST_USE lz_err *lz_rank_index(const lz_kernel_call *c);

/* For each value its insertion position in the sorted sequence: before equal elements, or after them (params:
 * right). in: sequence [..., n] or [n], values [..., m]. */
LZ_MUST_USE lz_err *lz_search_sorted(const lz_kernel_call *c);

/* f64 draws. in: i64 keys, a random number for each element; f64 a, b. params: the distribution. A draw
 * depends on its key and parameters alone. A parameter that is NaN or out of range gives NaN. */
LZ_MUST_USE lz_err *lz_draw(const lz_kernel_call *c);
double lz_draw_one(lz_distribution d, uint64_t key, double a, double b);

/* i64 [n]: the numbers from 0 to n - 1 in an order that depends on n and the i64 key in[0] alone; each order
 * is equally likely. */
LZ_MUST_USE lz_err *lz_shuffle(const lz_kernel_call *c);

/* bool, for each element of in[0]: is it equal to some element of in[1], which has the same dtype? */
LZ_MUST_USE lz_err *lz_contains(const lz_kernel_call *c);

/* i64 [bins]: how often each number from 0 to bins - 1 occurs in in[0], i64 [n]. params: whether to check
 * that range, and the dimension that a message names. */
LZ_MUST_USE lz_err *lz_count_numbers(const lz_kernel_call *c);

/* in: base, index (i64), source, and for sums of f32 and f64 perhaps a number [] by which the source is
 * multiplied. params: mode (lz_low_scatter_mode), dim, whether to check the index, the
 * dimension that a message names, whether negative indices count from the end. An index out of bounds is
 * LZ_ERR_ARG, and the base is unchanged. */
LZ_MUST_USE lz_err *lz_scatter_into(const lz_kernel_call *c);

/* bool [n]: whether a box is kept. in: boxes [n, 4] of f32 or f64, x1, y1, x2, y2, the best ones first; f64
 * [] the greatest intersection over union of a box with a kept one before it. */
LZ_MUST_USE lz_err *lz_suppress(const lz_kernel_call *c);

/* in: images [n, c, h, w] of f32 or f64, row-major; regions [k, 5]: image, x1, y1, x2, y2; f64 [] the scale
 * of their coordinates. params: rows, columns, samples in each direction of a bin (0: as many as it has
 * pixels), aligned, 0. out [k, c, rows, columns]: the mean of the samples of each bin. With 1 as the last
 * parameter: the gradient of the result instead of images, row-major, and out is that of the images. A region
 * of no image is LZ_ERR_ARG. */
LZ_MUST_USE lz_err *lz_roi_align(const lz_kernel_call *c);

/* Connectionist temporal classification. in: log probabilities [times, batch, classes] of f32 or f64, i64
 * targets [batch, most], i64 lengths of inputs and of targets [batch]. params: the blank label. out [batch,
 * times, 2 most + 1]: the logarithm of the probability to be in each state of the target, -inf behind the
 * lengths. Lengths and labels out of range are LZ_ERR_ARG. */
LZ_MUST_USE lz_err *lz_ctc_alpha(const lz_kernel_call *c);
/* in: these, the loss [batch] and alpha. out: the gradient of the log probabilities. */
LZ_MUST_USE lz_err *lz_ctc_slope(const lz_kernel_call *c);

/* Factorises or solves each matrix of a batch: core/matrix_routine.h. The result is the first array of the
 * routine; the others lie behind it in the same buffer. */
LZ_MUST_USE lz_err *lz_matrices(const lz_kernel_call *c);
/* Copies such an array. in: the result of lz_matrices; params: the bytes from its beginning. */
LZ_MUST_USE lz_err *lz_matrices_beside(const lz_kernel_call *c);

#endif
