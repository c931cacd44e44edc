#include "ts/ts_backend.h"
#include "base/env.h"
#include "base/lock.h"
#include "base/mem.h"
#include "core/dtype.h"
#include "lower/op_lower.h"
#include "ts/ts_computation.h"
#include "ts/ts_device.h"
#include <unistd.h>

enum { KEEP = 1 << 30 }; /* bytes of free buffers that stay in a pool */

/* The threads of contexts with this option; threads 0: one per core. */
typedef struct thread_pools {
    struct thread_pools *next;
    int threads;
    lz_pool *pool;
} thread_pools;

/* What all devices share: the thread pools, and one memory pool for each device. Pools exist while data or
 * computations exist (users). */
typedef struct backend {
    lz_lock lock;
    lz_buffer_pool *memory[LZ_TS_MOST_DEVICES]; /* NULL: not used yet */
    thread_pools *pools;
    atomic_size_t users;
    atomic_int type, ordinal; /* of the default device */
    atomic_int_fast64_t compiled, run, uploaded, launches;
    atomic_size_t planned;                  /* by the last graph that ran */
    atomic_size_t predicted;                /* bytes held plus bytes planned: the most of all graphs so far */
    atomic_int_fast64_t bytes[LZ_TS_PARTS]; /* of all living computations */
} backend;

static backend the_backend = { .lock = LZ_LOCK_INIT };

/* ---- life ---- */

static void stop(backend *b)
{
    while (b->pools) {
        thread_pools *c = b->pools;
        b->pools = c->next;
        lz_pool_destroy(c->pool);
        lz_mem_free(c);
    }
    for (size_t i = 0; i < LZ_TS_MOST_DEVICES; i++) {
        lz_buffer_pool_release(b->memory[i]);
        b->memory[i] = NULL;
    }
}

/* Requires the lock. A device of a backend that delegates to this one uses the memory of the first device. */
static lz_err *memory_of(backend *b, lz_backend_device d, lz_buffer_pool **out)
{
    bool own = d.type == LZ_TS_CPU && d.ordinal >= 0 && d.ordinal < LZ_TS_MOST_DEVICES;
    lz_buffer_pool **pool = &b->memory[own ? d.ordinal : 0];
    if (!*pool)
        LZ_TRY(lz_buffer_pool_create(KEEP, pool));
    *out = *pool;
    return NULL;
}

static lz_err *add_thread_pools(backend *b, int threads, thread_pools **out)
{
    thread_pools *c = lz_mem_zalloc(1, sizeof *c);
    if (!c)
        return lz_err_oom();
    lz_err *e = lz_pool_create(threads, &c->pool);
    if (e) {
        lz_mem_free(c);
        return e;
    }
    c->threads = threads;
    c->next = b->pools;
    b->pools = *out = c;
    return NULL;
}

/* The threads and memory of a run. Requires a user of the backend. */
static lz_err *get_env(backend *b, lz_backend_device d, int threads, lz_ts_env *out)
{
    *out = (lz_ts_env){ 0 };
    lz_lock_take(&b->lock);
    thread_pools *c = b->pools;
    while (c && c->threads != threads)
        c = c->next;
    lz_err *e = c ? NULL : add_thread_pools(b, threads, &c);
    if (!e)
        e = memory_of(b, d, &out->memory);
    out->threads = e ? NULL : c->pool;
    lz_lock_give(&b->lock);
    return e;
}

/* Adds a user; creates the memory pool if there is none. */
static lz_err *backend_use(backend *b, lz_backend_device d, lz_buffer_pool **memory)
{
    lz_lock_take(&b->lock);
    lz_err *e = memory_of(b, d, memory);
    if (!e)
        atomic_fetch_add(&b->users, 1);
    lz_lock_give(&b->lock);
    return e;
}

static void backend_unuse(backend *b)
{
    if (atomic_fetch_sub(&b->users, 1) != 1)
        return;
    lz_lock_take(&b->lock);
    if (atomic_load(&b->users) == 0)
        stop(b);
    lz_lock_give(&b->lock);
}

/* A missing device type is no error here: opening the default device reports it. */
static lz_err *initialize_aten_bindings(void *self)
{
    backend *b = self;
    atomic_store(&b->type, lz_ts_device_chosen());
    atomic_store(&b->ordinal, 0);
    return lz_ts_devices_start();
}

/* Pools are freed with the last data or computation. */
static void prepare_to_exit(void *self)
{
    (void)self;
}

/* Random operators get seed and position from the recorder. */
static lz_err *set_rng_seed(void *self, uint64_t seed)
{
    (void)self, (void)seed;
    return NULL;
}

/* ---- data ---- */

static lz_err *make_computation_data_from_tensor(void *self, const lz_host_tensor *t, lz_backend_device d,
                                                 void **out)
{
    backend *b = self;
    lz_buffer_pool *memory;
    lz_ts_data *made;
    LZ_TRY(lz_ts_device_exists(d));
    LZ_TRY(backend_use(b, d, &memory));
    lz_err *e = lz_ts_data_upload(memory, t, d, &made);
    if (e) {
        backend_unuse(b);
        return e;
    }
    atomic_fetch_add_explicit(&b->uploaded, 1, memory_order_relaxed);
    *out = made;
    return NULL;
}

static lz_err *make_computation_data_from_scalar(void *self, lz_scalar value, lz_backend_device d, void **out)
{
    backend *b = self;
    lz_buffer_pool *memory;
    lz_ts_data *made;
    LZ_TRY(lz_ts_device_exists(d));
    LZ_TRY(backend_use(b, d, &memory));
    lz_err *e = lz_ts_data_of_scalar(memory, value, d, &made);
    if (e)
        backend_unuse(b);
    else
        *out = made;
    return e;
}

static lz_err *make_tensor_from_computation_data(void *self, void *data, lz_dtype logical_scalar_type,
                                                 const lz_host_tensor *out)
{
    lz_host_tensor to = *out;
    (void)self;
    if (logical_scalar_type != LZ_DTYPE_NONE)
        to.type.dtype = logical_scalar_type;
    return lz_ts_data_download(data, &to);
}

static void release_data(void *self, void *data)
{
    lz_ts_data_destroy(data);
    if (data)
        backend_unuse(self);
}

/* Elements never change, so devices of this backend share a buffer. */
static lz_err *copy_data(void *self, void *data, lz_backend_device from, lz_backend_device to, void **out)
{
    const lz_ts_data *d = data;
    backend *b = self;
    lz_ts_data *made;
    (void)from;
    LZ_TRY(lz_ts_device_exists(to));
    LZ_TRY(lz_ts_data_create(lz_buffer_retain(d->buffer), lz_ts_data_type(d), to, &made));
    atomic_fetch_add(&b->users, 1);
    *out = made;
    return NULL;
}

/* ---- code ---- */

static void count_bytes(backend *b, const lz_ts_computation *c, int sign)
{
    for (int i = 0; i < LZ_TS_PARTS; i++) {
        int_fast64_t n = (int_fast64_t)c->bytes[i];
        atomic_fetch_add_explicit(&b->bytes[i], sign < 0 ? -n : n, memory_order_relaxed);
    }
}

static void release_computation(void *self, void *computation)
{
    if (!computation)
        return;
    count_bytes(self, computation, -1);
    lz_ts_computation_destroy(computation);
    backend_unuse(self);
}

static lz_err *compile_one(backend *b, lz_lowering *l, void **out)
{
    lz_buffer_pool *memory;
    lz_ts_computation *c;
    LZ_TRY(backend_use(b, lz_lowering_device(l), &memory));
    lz_err *e = lz_ts_compile(l, &c);
    if (e) {
        backend_unuse(b);
        return e;
    }
    atomic_fetch_add_explicit(&b->compiled, 1, memory_order_relaxed);
    count_bytes(b, c, 1);
    *out = c;
    return NULL;
}

static lz_err *compile(void *self, lz_lowering *const *instances, size_t n, void **out)
{
    for (size_t i = 0; i < n; i++) {
        lz_err *e = compile_one(self, instances[i], &out[i]);
        while (e && i-- > 0)
            release_computation(self, out[i]);
        LZ_TRY(e);
    }
    return NULL;
}

/* The sum over devices first .. first + n - 1. */
static lz_buffer_stats stats_of(backend *b, size_t first, size_t n)
{
    lz_buffer_stats all = { 0 };
    lz_lock_take(&b->lock);
    for (size_t i = first; i < first + n && i < LZ_TS_MOST_DEVICES; i++) {
        if (!b->memory[i])
            continue;
        lz_buffer_stats s = lz_buffer_pool_stats(b->memory[i]);
        all.live += s.live;
        all.peak += s.peak;
        all.made += s.made;
        all.reused += s.reused;
    }
    lz_lock_give(&b->lock);
    return all;
}

static void raise_to(atomic_size_t *most, size_t n)
{
    size_t now = atomic_load_explicit(most, memory_order_relaxed);
    while (
        now < n
        && !atomic_compare_exchange_weak_explicit(most, &now, n, memory_order_relaxed, memory_order_relaxed))
        ;
}

static size_t count_results(const lz_execution *x)
{
    size_t n = 0;
    for (size_t i = 0; i < x->n_results; i++)
        n += x->results[i] != NULL;
    return n;
}

/* Runs of a graph with a workspace get the data of earlier results as placeholders. */
static lz_err *execute_computation(void *self, void *computation, const lz_execution *x)
{
    backend *b = self;
    atomic_fetch_add_explicit(&b->run, 1, memory_order_relaxed);
    lz_ts_figures f;
    lz_ts_env env;
    LZ_TRY(lz_ts_device_exists(x->device));
    LZ_TRY(get_env(b, x->device, x->threads, &env));
    env.memory = lz_workspace_memory(env.memory);
    env.again = lz_workspace_is_entered();
    size_t held = lz_buffer_pool_stats(env.memory).live, given = env.again ? count_results(x) : 0;
    lz_err *e = lz_ts_execute(computation, &env, x, &f);
    atomic_fetch_add_explicit(&b->launches, (int_fast64_t)f.launches, memory_order_relaxed);
    atomic_store_explicit(&b->planned, f.planned, memory_order_relaxed);
    if (f.planned)
        raise_to(&b->predicted, held + f.planned);
    atomic_fetch_add(&b->users, e && !env.again ? 0 : count_results(x));
    for (size_t i = 0; i < given; i++)
        backend_unuse(b);
    return e;
}

bool lz_ts_is_backend(const lz_backend *b)
{
    return b->execute_computation == execute_computation;
}

const lz_static_graph *lz_ts_static_graph(const void *computation)
{
    return ((const lz_ts_computation *)computation)->static_graph;
}

static const char *get_computation_backend_text(void *self, void *computation)
{
    (void)self;
    return lz_ts_computation_text(computation);
}

static size_t get_computation_bytes(void *self, void *computation)
{
    const lz_ts_computation *c = computation;
    size_t bytes = 0;
    (void)self;
    for (int i = 0; i < LZ_TS_PARTS; i++)
        bytes += c->bytes[i];
    return bytes;
}

static bool serves(lz_dtype d)
{
    return !lz_dtype_is_complex(d);
}

static bool supports(void *self, const lz_node *n)
{
    const lz_op_row *op = lz_node_op(n);
    const lz_output *in;
    size_t nin = lz_node_operands(n, &in);
    bool ok = !op || lz_op_can_lower(op);
    (void)self;
    for (size_t i = 0; ok && i < nin; i++)
        ok = !in[i].node || serves(lz_node_type(in[i].node, in[i].index).dtype);
    for (size_t i = 0; ok && i < lz_node_outputs(n); i++)
        ok = serves(lz_node_type(n, i).dtype);
    return ok;
}

/* ---- devices ---- */

static lz_err *get_backend_devices(void *self, lz_backend_device *out, size_t room, size_t *n)
{
    (void)self;
    *n = lz_ts_device_count();
    for (size_t i = 0; i < *n && i < room; i++)
        out[i] = (lz_backend_device){ LZ_TS_CPU, (int64_t)i };
    return NULL;
}

static lz_err *set_device_count(void *self, size_t n)
{
    (void)self;
    return lz_ts_devices_want(n);
}

static int8_t get_default_device_type(void *self)
{
    return (int8_t)atomic_load(&((backend *)self)->type);
}

static lz_err *set_default_device_type(void *self, int8_t type)
{
    LZ_TRY(lz_ts_device_check(type));
    atomic_store(&((backend *)self)->type, type);
    return NULL;
}

static int64_t get_default_device_ordinal(void *self)
{
    return atomic_load(&((backend *)self)->ordinal);
}

static lz_err *set_default_device_ordinal(void *self, int64_t ordinal)
{
    size_t n = lz_ts_device_count();
    if (ordinal < 0 || (size_t)ordinal >= n)
        return lz_errf(LZ_ERR_ARG, "expected a device index of \"cpu\" below %zu, got %lld", n,
                       (long long)ordinal);
    atomic_store(&((backend *)self)->ordinal, (int)ordinal);
    return NULL;
}

static lz_err *get_backend_device(void *self, lz_device virtual_device, lz_backend_device *out)
{
    size_t n = lz_ts_device_count();
    (void)self;
    if (virtual_device.index < 0 || (size_t)virtual_device.index >= n)
        return lz_errf(LZ_ERR_NOT_FOUND, "expected a device index of \"cpu\" below %zu, got %d", n,
                       virtual_device.index);
    *out = (lz_backend_device){ LZ_TS_CPU, virtual_device.index };
    return NULL;
}

static const char *device_type_name(void *self, int8_t type)
{
    (void)self;
    return lz_ts_device_name(type);
}

static bool takes_offsets(void *self)
{
    (void)self;
    return true;
}

static const char *device_description(void *self, lz_backend_device d)
{
    (void)self;
    return d.type == LZ_TS_CPU ? lz_ts_cpu_description() : "";
}

/* ---- reports ---- */

static size_t get_metrics(void *self, lz_metric_value *out, size_t room)
{
    backend *b = self;
    lz_buffer_stats s = stats_of(b, 0, LZ_TS_MOST_DEVICES);
    const lz_metric_value all[] = {
        { "TsCompiled", atomic_load(&b->compiled) },
        { "TsExecuted", atomic_load(&b->run) },
        { "TsUploaded", atomic_load(&b->uploaded) },
        { "TsBytes", (int64_t)s.live },
        { "TsBytesPeak", (int64_t)s.peak },
        { "TsBuffersMade", (int64_t)s.made },
        { "TsBuffersReused", (int64_t)s.reused },
        { "TsLaunches", atomic_load(&b->launches) },
        { "TsBytesPlanned", (int64_t)atomic_load(&b->planned) },
        { "TsBytesPredicted", (int64_t)atomic_load(&b->predicted) },
        { "TsGraphBytes", atomic_load(&b->bytes[LZ_TS_GRAPH]) },
        { "TsStepBytes", atomic_load(&b->bytes[LZ_TS_STEPS]) },
        { "TsLaunchBytes", atomic_load(&b->bytes[LZ_TS_LAUNCHES]) },
        { "TsArgumentBytes", atomic_load(&b->bytes[LZ_TS_ARGUMENTS]) },
        { "TsKernelBytes", atomic_load(&b->bytes[LZ_TS_KERNELS]) },
    };
    size_t n = sizeof all / sizeof *all;
    for (size_t i = 0; i < n && i < room; i++)
        out[i] = all[i];
    return n;
}

static lz_err *get_memory_info(void *self, lz_backend_device d, lz_memory_info *out)
{
    LZ_TRY(lz_ts_device_exists(d));
    bool own = d.type == LZ_TS_CPU && d.ordinal < LZ_TS_MOST_DEVICES;
    lz_buffer_stats s = stats_of(self, own ? (size_t)d.ordinal : 0, 1);
    int64_t page = sysconf(_SC_PAGESIZE), all = sysconf(_SC_PHYS_PAGES), left = sysconf(_SC_AVPHYS_PAGES);
    *out = (lz_memory_info){ .free_bytes = left < 0 ? -1 : left * page,
                             .total_bytes = all < 0 ? -1 : all * page,
                             .used_bytes = (int64_t)s.live,
                             .peak_bytes = (int64_t)s.peak };
    return NULL;
}

/* ---- the table ---- */

static const lz_backend table = {
    .struct_size = sizeof(lz_backend),
    .abi = LZ_BACKEND_ABI << 16 | LZ_BACKEND_ABI_MINOR,
    .name = "cpu",
    .self = &the_backend,
    .get_backend_devices = get_backend_devices,
    .make_computation_data_from_tensor = make_computation_data_from_tensor,
    .make_tensor_from_computation_data = make_tensor_from_computation_data,
    .release_data = release_data,
    .compile = compile,
    .execute_computation = execute_computation,
    .release_computation = release_computation,
    .initialize_aten_bindings = initialize_aten_bindings,
    .prepare_to_exit = prepare_to_exit,
    .set_rng_seed = set_rng_seed,
    .make_computation_data_from_scalar = make_computation_data_from_scalar,
    .copy_data = copy_data,
    .supports = supports,
    .get_computation_backend_text = get_computation_backend_text,
    .get_computation_bytes = get_computation_bytes,
    .get_default_device_type = get_default_device_type,
    .set_default_device_type = set_default_device_type,
    .get_default_device_ordinal = get_default_device_ordinal,
    .set_default_device_ordinal = set_default_device_ordinal,
    .eager_fallback_device_type = get_default_device_type,
    .get_backend_device = get_backend_device,
    .device_type_name = device_type_name,
    .get_metrics = get_metrics,
    .get_memory_info = get_memory_info,
    .device_description = device_description,
    .takes_offsets = takes_offsets,
    .set_device_count = set_device_count,
};

const lz_backend *lz_ts_backend(uint32_t host_abi)
{
    return host_abi >> 16 == LZ_BACKEND_ABI ? &table : NULL;
}
