/* ts_device.h - the hardware behind the TorchScript backend's devices. */
#ifndef LZ_TS_TS_DEVICE_H
#define LZ_TS_TS_DEVICE_H

#include "base/err.h"
#include <lazuli/backend.h>

enum { LZ_TS_MOST_DEVICES = 64 };

/* CPU0, CPU1, ...: virtual devices of the one host. They have memory of their own and share the threads. */
size_t lz_ts_device_count(void);
/* The number of devices: at least n, and at least as many as the environment requests. */
LZ_MUST_USE lz_err *lz_ts_devices_start(void);
LZ_MUST_USE lz_err *lz_ts_devices_want(size_t n);

const char *lz_ts_device_name(int8_t type); /* "CPU", "CUDA", "Unknown" */
/* NULL if graphs can be run on devices of this type here. */
LZ_MUST_USE lz_err *lz_ts_device_check(int8_t type);
/* NULL if data can be put on the device: one of this backend, or of a backend that delegates to this one. */
LZ_MUST_USE lz_err *lz_ts_device_exists(lz_backend_device d);
/* NULL if a graph that runs on device `on` may read data of device `of`. */
LZ_MUST_USE lz_err *lz_ts_device_reads(lz_backend_device on, lz_backend_device of);
const char *lz_ts_cpu_description(void); /* "Intel(R) Xeon(R) ..." */
/* The type that the environment chooses. */
int8_t lz_ts_device_chosen(void);

#endif
