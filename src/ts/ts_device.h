/* ts_device.h - the hardware behind the TorchScript backend's devices. */
#ifndef LZ_TS_TS_DEVICE_H
#define LZ_TS_TS_DEVICE_H

#include "base/err.h"
#include <lazuli/backend.h>

const char *lz_ts_device_name(int8_t type); /* "CPU", "CUDA", "Unknown" */
/* NULL if graphs can be run on devices of this type here. */
LZ_MUST_USE lz_err *lz_ts_device_check(int8_t type);
/* NULL if data may be put there: a device of the TorchScript backend, or of another backend that
 * leaves its work to this one. */
LZ_MUST_USE lz_err *lz_ts_device_exists(lz_backend_device d);
/* NULL if a graph that runs on device `on` may read data of device `of`. */
LZ_MUST_USE lz_err *lz_ts_device_reads(lz_backend_device on, lz_backend_device of);
const char *lz_ts_cpu_description(void); /* "Intel(R) Xeon(R) ..." */
/* What the environment asks for. */
int8_t lz_ts_device_chosen(void);

#endif
