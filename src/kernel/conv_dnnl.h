/* conv_dnnl.h - convolution and its gradients by oneDNN, of f32.
 *
 * Primitives are made once for a shape and kept, so many of them; arrays come and go in plain
 * row-major layout. Work is cut by images, as the shape alone says, and spread over our pool; what
 * parts add to the gradient of the weight is added up in their order. */
#ifndef LZ_KERNEL_CONV_DNNL_H
#define LZ_KERNEL_CONV_DNNL_H

#include "base/pool.h"
#include <stdbool.h>

typedef enum lz_conv_kind { LZ_CONV_FORWARD, LZ_CONV_INPUT, LZ_CONV_WEIGHT } lz_conv_kind;

enum { LZ_CONV_DIMS = 3 };

/* All of it numbers, so that it can be compared as memory. */
typedef struct lz_conv_shape {
    int64_t kind, d;
    int64_t n, groups, cin, cout;                                      /* channels of one group */
    int64_t in[LZ_CONV_DIMS], out[LZ_CONV_DIMS], window[LZ_CONV_DIMS]; /* the last d count, others are 1 */
    int64_t stride[LZ_CONV_DIMS], padding[LZ_CONV_DIMS], dilation[LZ_CONV_DIMS];
} lz_conv_shape;

/* Of x, w and y the one that the kind is about is written. *done is false if oneDNN is not there or
 * has no way to do it; nothing is written then. */
enum { LZ_CONV_ARRAYS = 3 };
LZ_MUST_USE lz_err *lz_conv_dnnl(const lz_conv_shape *s, float *const arrays[LZ_CONV_ARRAYS], lz_pool *pool,
                                 bool *done);
/* How many primitives are kept at most, and how many are. */
enum { LZ_CONV_KEPT = 64 };
int lz_conv_dnnl_kept(void);

#endif
