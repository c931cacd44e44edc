/* Regions of images, each pooled to one size by bilinear samples (He et al. 2017), and the gradient of the
 * images. */
#include "base/mem.h"
#include "kernel/strided_walk.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* in: images [n, channels, height, width] or, for the gradient, that of the result [regions, channels, rows,
 * cols]; regions [regions, 5]: number of the image, x1, y1, x2, y2; f64 scale []. */
enum { DATA, REGIONS, SCALE };

typedef struct pooling {
    const lz_kernel_call *c;
    int64_t regions, channels, height, width, rows, cols, images, sampling;
    bool aligned, backward;
} pooling;

static lz_err *image_error(double image, const pooling *p)
{
    return lz_errf(LZ_ERR_ARG, "roi_align: a region is in image %" PRId64 ", but there are %" PRId64,
                   isnan(image) || fabs(image) > 1e15 ? -1 : (int64_t)image, p->images);
}

#define T       float
#define NAME(x) x##_f32
#define CEIL    ceilf
#include "kernel/roi_samples.h"
#undef T
#undef NAME
#undef CEIL
#define T       double
#define NAME(x) x##_f64
#define CEIL    ceil
#include "kernel/roi_samples.h"
#undef T
#undef NAME
#undef CEIL

static pooling pooling_of(const lz_kernel_call *c)
{
    const int64_t *params = c->params, *image = params[4] ? c->out.sizes : c->in[DATA].sizes;
    return (pooling){ .c = c,
                      .regions = c->in[REGIONS].sizes[0],
                      .images = image[0],
                      .channels = image[1],
                      .height = image[2],
                      .width = image[3],
                      .rows = params[0],
                      .cols = params[1],
                      .sampling = params[2],
                      .aligned = params[3] != 0,
                      .backward = params[4] != 0 };
}

/* Forward, threads share the regions; backward the channels, so that each sum has its order. */
lz_err *lz_roi_align(const lz_kernel_call *c)
{
    pooling p = pooling_of(c);
    bool f32 = c->in[DATA].dtype == LZ_F32;
    if (p.backward)
        memset(c->out.data, 0,
               (size_t)(p.images * p.channels * p.height * p.width) * lz_dtype_size(c->out.dtype));
    return lz_pool_for(c->pool, p.backward ? p.channels : p.regions, 1, f32 ? regions_f32 : regions_f64, &p);
}
