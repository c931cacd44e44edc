/* ts_data.h - elements on a device of the TorchScript backend.
 *
 * Dense and row-major, in a buffer that never changes after the data is made, so several data may share a
 * buffer. A number is a tensor without dimensions. */
#ifndef LZ_TS_TS_DATA_H
#define LZ_TS_TS_DATA_H

#include "core/buffer.h"
#include <lazuli/backend.h>

typedef struct lz_ts_data {
    lz_buffer *buffer; /* one count */
    lz_backend_device device;
    lz_dtype dtype;
    int64_t ndim, numel;
    int64_t sizes[];
} lz_ts_data;

static inline lz_data_type lz_ts_data_type(const lz_ts_data *d)
{
    return (lz_data_type){ d->dtype, { d->sizes, d->ndim } };
}

/* Takes over one count of the buffer, also on failure. */
LZ_MUST_USE lz_err *lz_ts_data_create(lz_buffer *buffer, lz_data_type type, lz_backend_device device,
                                      lz_ts_data **out);
void lz_ts_data_destroy(lz_ts_data *d); /* NULL does nothing */

/* Uses memory that has an owner without copying, if it is dense and aligned; copies any other memory. A
 * single element is broadcast. On failure `drop` is not called. */
LZ_MUST_USE lz_err *lz_ts_data_upload(lz_buffer_pool *memory, const lz_host_tensor *t,
                                      lz_backend_device device, lz_ts_data **out);
LZ_MUST_USE lz_err *lz_ts_data_of_scalar(lz_buffer_pool *memory, lz_scalar v, lz_backend_device device,
                                         lz_ts_data **out);
/* Copies to host memory of any strides and dtype. */
LZ_MUST_USE lz_err *lz_ts_data_download(const lz_ts_data *d, const lz_host_tensor *out);

#endif
