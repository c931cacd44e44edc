#include "ts/ts_device.h"
#include "base/cpu.h"
#include "base/dl.h"
#include "base/env.h"
#include "ts/ts_backend.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

const char *lz_ts_device_name(int8_t type)
{
    static const char *const names[] = { [LZ_TS_CPU] = "CPU", [LZ_TS_CUDA] = "CUDA" };
    return type == LZ_TS_CPU || type == LZ_TS_CUDA ? names[type] : "Unknown";
}

static atomic_size_t cpus = 1;

size_t lz_ts_device_count(void)
{
    return atomic_load_explicit(&cpus, memory_order_relaxed);
}

lz_err *lz_ts_devices_start(void)
{
    int64_t n = 1;
    LZ_TRY(lz_env_int(LZ_ENV_CPU_DEVICES, 1, LZ_TS_MOST_DEVICES, &n));
    atomic_store(&cpus, (size_t)n);
    return NULL;
}

lz_err *lz_ts_devices_want(size_t n)
{
    size_t now = atomic_load(&cpus);
    if (n > LZ_TS_MOST_DEVICES)
        return lz_errf(LZ_ERR_LIMIT, "\"cpu\" has at most %d devices, not %zu", LZ_TS_MOST_DEVICES, n);
    while (now < n && !atomic_compare_exchange_weak(&cpus, &now, n))
        ;
    return NULL;
}

static bool is_own(lz_backend_device d)
{
    return d.type == LZ_TS_CPU && d.ordinal >= 0 && (size_t)d.ordinal < lz_ts_device_count();
}

lz_err *lz_ts_device_exists(lz_backend_device d)
{
    if (is_own(d) || lz_backend_device_exists(d))
        return NULL;
    return lz_errf(LZ_ERR_NOT_FOUND, "no such device: %s%lld (type %d)", lz_ts_device_name(d.type),
                   (long long)d.ordinal, d.type);
}

/* Whether a graph that runs on a device can read data of another one. A backend that delegates to this one
 * may keep data on a CPU and still run on a device of its own. */
lz_err *lz_ts_device_reads(lz_backend_device on, lz_backend_device of)
{
    if ((on.type == of.type && on.ordinal == of.ordinal) || (is_own(of) && !is_own(on)))
        return NULL;
    return lz_errf(LZ_ERR_ARG, "the data is on %s%lld (type %d), but the graph runs on %s%lld (type %d)",
                   lz_ts_device_name(of.type), (long long)of.ordinal, of.type, lz_ts_device_name(on.type),
                   (long long)on.ordinal, on.type);
}

static char cpu[64];

static void describe_cpu(void)
{
    lz_text t = { 0 };
    lz_cpu_name(&t);
    if (!t.failed)
        snprintf(cpu, sizeof cpu, "%.*s", (int)t.len, t.ptr);
    lz_text_deinit(&t);
}

const char *lz_ts_cpu_description(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, describe_cpu);
    return cpu;
}

/* Any value chooses CUDA, as in the original. */
int8_t lz_ts_device_chosen(void)
{
    return lz_env_text(LZ_ENV_TS_CUDA) || lz_env_text(LZ_ENV_LTC_TS_CUDA) ? LZ_TS_CUDA : LZ_TS_CPU;
}

/* ---- CUDA: the driver's library counts the devices ---- */

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
    if (lz_err_must_surface(e))
        return e;
    bool driver_is_there = !e;
    lz_err_free(e);
    if (!driver_is_there)
        return lz_errf(LZ_ERR_NOT_FOUND, "there is no CUDA device: the driver's library was not found");
    if (!n)
        return lz_errf(LZ_ERR_NOT_FOUND, "there is no CUDA device: the driver finds none");
    return lz_errf(LZ_ERR_UNSUPPORTED, "there are %d CUDA devices, but this build compiles for the CPU only",
                   n);
}

lz_err *lz_ts_device_check(int8_t type)
{
    if (type == LZ_TS_CPU)
        return NULL;
    if (type != LZ_TS_CUDA)
        return lz_errf(LZ_ERR_ARG, "expected device type 0 (CPU) or 1 (CUDA), got %d", type);
    return check_cuda();
}
