/* conv_dnnl.h - convolution and its gradients by oneDNN, for f32.
 *
 * A primitive is created once per shape and cached, up to a limit. Arrays are passed in plain row-major
 * layout. The work is split by images, depending on the shape alone, and run on our pool. The parts of a
 * weight gradient are added up in order. */
#ifndef LZ_KERNEL_CONV_DNNL_H
#define LZ_KERNEL_CONV_DNNL_H

#include "base/pool.h"
#include <stdbool.h>

typedef enum lz_conv_kind { LZ_CONV_FORWARD, LZ_CONV_INPUT, LZ_CONV_WEIGHT } lz_conv_kind;

enum { LZ_CONV_DIMS = 3 };

/* int64_t only, so that shapes can be compared as memory. */
typedef struct lz_conv_shape {
    int64_t kind, d;
    int64_t n, groups, cin, cout;                                      /* channels of one group */
    int64_t in[LZ_CONV_DIMS], out[LZ_CONV_DIMS], window[LZ_CONV_DIMS]; /* right-aligned; unused ones are 1 */
    int64_t stride[LZ_CONV_DIMS], padding[LZ_CONV_DIMS], dilation[LZ_CONV_DIMS];
} lz_conv_shape;

/* arrays are x, w and y; the one that `kind` computes is written. *done is false if oneDNN is missing or does
 * not support the shape; then nothing is written. */
enum { LZ_CONV_ARRAYS = 3 };
LZ_MUST_USE lz_err *lz_conv_dnnl(const lz_conv_shape *s, float *const arrays[LZ_CONV_ARRAYS], lz_pool *pool,
                                 bool *done);
enum { LZ_CONV_KEPT = 64 }; /* the most primitives that are cached */

#endif
