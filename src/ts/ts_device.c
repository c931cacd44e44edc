#include "ts/ts_device.h"
#include "base/dl.h"
#include "base/env.h"
#include "ts/ts_backend.h"

const char *lz_ts_device_name(int8_t type)
{
    static const char *const names[] = { [LZ_TS_CPU] = "CPU", [LZ_TS_CUDA] = "CUDA" };
    return type == LZ_TS_CPU || type == LZ_TS_CUDA ? names[type] : "Unknown";
}

/* Set to anything is enough, as in the original. */
int8_t lz_ts_device_chosen(void)
{
    return lz_env_text(LZ_ENV_TS_CUDA) || lz_env_text(LZ_ENV_LTC_TS_CUDA) ? LZ_TS_CUDA : LZ_TS_CPU;
}

/* ---- CUDA: the driver knows how many devices there are ---- */

typedef struct driver {
    int (*init)(unsigned flags);
    int (*count)(int *n);
} driver;

static lz_err *count_devices(int *out)
{
    static const char *const names[] = { "libcuda.so.1", "libcuda.so", NULL };
    static const lz_dl_symbol symbols[] = { { "cuInit", true, offsetof(driver, init) },
                                            { "cuDeviceGetCount", true, offsetof(driver, count) } };
    lz_dl *dl;
    driver d;
    LZ_TRY(lz_dl_open(names, &dl));
    lz_err *e = lz_dl_load(dl, symbols, 2, &d);
    *out = 0;
    if (!e && (d.init(0) != 0 || d.count(out) != 0))
        *out = 0;
    lz_dl_close(dl);
    return e;
}

static lz_err *check_cuda(void)
{
    int n = 0;
    lz_err *e = count_devices(&n);
    if (lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    bool driver_is_there = !e;
    lz_err_free(e);
    if (!driver_is_there)
        return lz_errf(LZ_ERR_NOT_FOUND, "there is no CUDA device: the driver's library is not there");
    if (!n)
        return lz_errf(LZ_ERR_NOT_FOUND, "there is no CUDA device: the driver finds none");
    return lz_errf(LZ_ERR_UNSUPPORTED,
                   "there are %d CUDA devices, but graphs cannot be compiled for them: use the CPU", n);
}

lz_err *lz_ts_device_check(int8_t type)
{
    if (type == LZ_TS_CPU)
        return NULL;
    if (type != LZ_TS_CUDA)
        return lz_errf(LZ_ERR_ARG, "the TorchScript backend has devices of type CPU (0) or CUDA (1), not %d",
                       type);
    return check_cuda();
}
