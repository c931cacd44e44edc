/* ts_device.h - the hardware behind the TorchScript backend's devices. */
#ifndef LZ_TS_TS_DEVICE_H
#define LZ_TS_TS_DEVICE_H

#include "base/err.h"
#include <lazuli/backend.h>

const char *lz_ts_device_name(int8_t type); /* "CPU", "CUDA", "Unknown" */
/* NULL if graphs can be run on devices of this type here. */
LZ_MUST_USE lz_err *lz_ts_device_check(int8_t type);
/* What the environment asks for. */
int8_t lz_ts_device_chosen(void);

#endif
