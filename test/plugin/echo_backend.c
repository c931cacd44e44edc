/* A backend that has memory of its own and lets the CPU compute: begun as a copy of
 * src/null/null_backend.c.
 *
 * Data is row-major memory of the host. A graph is compiled by the CPU's backend; to run it, the
 * arguments are uploaded there and the results fetched. */
#include <lazuli/backend.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 2, DIMS = 64 };

static const size_t bytes_of[] = {
    [LZ_U8] = 1,  [LZ_I8] = 1,  [LZ_I16] = 2, [LZ_I32] = 4,   [LZ_I64] = 8,  [LZ_F16] = 2, [LZ_F32] = 4,
    [LZ_F64] = 8, [LZ_C32] = 4, [LZ_C64] = 8, [LZ_C128] = 16, [LZ_BOOL] = 1, [LZ_BF16] = 2
};

static atomic_llong used, peak;

/* ---- memory ---- */

typedef struct block {
    lz_dtype dtype;
    size_t bytes, numel;
    int64_t ndim, sizes[DIMS], strides[DIMS];
    char data[];
} block;

static lz_err *new_block(lz_data_type t, block **out)
{
    size_t numel = 1;
    if (t.sizes.n > DIMS)
        return lz_error(LZ_ERR_LIMIT, "%lld dimensions; %d are the most", (long long)t.sizes.n, DIMS);
    if (t.dtype < 0 || (size_t)t.dtype >= sizeof bytes_of / sizeof *bytes_of || !bytes_of[t.dtype])
        return lz_error(LZ_ERR_UNSUPPORTED, "no memory for elements of dtype %d", (int)t.dtype);
    for (int64_t i = 0; i < t.sizes.n; i++)
        numel *= (size_t)t.sizes.v[i];
    block *b = malloc(sizeof *b + numel * bytes_of[t.dtype] + 1);
    if (!b)
        return lz_error(LZ_ERR_MEMORY, "out of memory");
    *b = (block){ .dtype = t.dtype, .numel = numel, .bytes = numel * bytes_of[t.dtype], .ndim = t.sizes.n };
    int64_t stride = 1;
    for (int64_t i = t.sizes.n; i-- > 0; stride *= t.sizes.v[i]) {
        b->sizes[i] = t.sizes.v[i];
        b->strides[i] = stride;
    }
    long long now = atomic_fetch_add(&used, (long long)b->bytes) + (long long)b->bytes;
    if (now > atomic_load(&peak))
        atomic_store(&peak, now);
    *out = b;
    return NULL;
}

static void release_data(void *self, void *data)
{
    (void)self;
    atomic_fetch_sub(&used, (long long)((block *)data)->bytes);
    free(data);
}

static lz_host_tensor as_tensor(block *b)
{
    return (lz_host_tensor){ .type = { b->dtype, { b->sizes, b->ndim } },
                             .strides = { b->strides, b->ndim },
                             .data = b->data };
}

/* The byte where element k, in row-major order, of a strided tensor lies. */
static char *place(const lz_host_tensor *t, size_t k, size_t size)
{
    int64_t rest = (int64_t)k, at = 0;
    for (int64_t i = t->type.sizes.n; i-- > 0; rest /= t->type.sizes.v[i])
        at += rest % t->type.sizes.v[i] * t->strides.v[i];
    return (char *)t->data + at * (int64_t)size;
}

static lz_err *make_computation_data_from_tensor(void *self, const lz_host_tensor *t, lz_backend_device d,
                                                 void **out)
{
    block *b;
    (void)self, (void)d;
    lz_err *e = new_block(t->type, &b);
    if (e)
        return e;
    size_t size = bytes_of[b->dtype];
    for (size_t k = 0; k < b->numel; k++)
        memcpy(b->data + k * size, place(t, k, size), size);
    if (t->drop)
        t->drop(t->owner);
    *out = b;
    return NULL;
}

static lz_err *make_tensor_from_computation_data(void *self, void *data, lz_dtype logical_scalar_type,
                                                 const lz_host_tensor *out)
{
    block *b = data;
    (void)self;
    if (logical_scalar_type != b->dtype)
        return lz_error(LZ_ERR_UNSUPPORTED, "data of dtype %d is not one of dtype %d", (int)b->dtype,
                        (int)logical_scalar_type);
    size_t size = bytes_of[b->dtype];
    for (size_t k = 0; k < b->numel; k++)
        memcpy(place(out, k, size), b->data + k * size, size);
    return NULL;
}

static lz_err *copy_data(void *self, void *data, lz_backend_device from, lz_backend_device to, void **out)
{
    block *b = data, *copy;
    (void)self, (void)from, (void)to;
    lz_err *e = new_block(as_tensor(b).type, &copy);
    if (e)
        return e;
    memcpy(copy->data, b->data, b->bytes);
    *out = copy;
    return NULL;
}

/* ---- graphs ---- */

typedef struct computation {
    const lz_backend *cpu;
    void *inner;
    size_t nresults;
    lz_data_type *types; /* of the results; sizes lie behind */
} computation;

static void release_computation(void *self, void *c)
{
    computation *x = c;
    (void)self;
    if (x->inner)
        x->cpu->release_computation(x->cpu->self, x->inner);
    free(x->types);
    free(x);
}

/* The types of the results: the nodes are gone when the graph runs. */
static lz_err *remember_results(computation *c, const lz_lowering *l)
{
    const lz_output *results;
    c->nresults = lz_lowering_results(l, &results);
    size_t dims = 0;
    for (size_t i = 0; i < c->nresults; i++)
        dims += (size_t)lz_node_type(results[i].node, results[i].index).sizes.n;
    c->types = malloc(c->nresults * sizeof *c->types + dims * sizeof(int64_t) + 1);
    if (!c->types)
        return lz_error(LZ_ERR_MEMORY, "out of memory");
    int64_t *sizes = (int64_t *)(c->types + c->nresults);
    for (size_t i = 0; i < c->nresults; i++) {
        lz_data_type t = lz_node_type(results[i].node, results[i].index);
        for (int64_t k = 0; k < t.sizes.n; k++)
            sizes[k] = t.sizes.v[k];
        c->types[i] = (lz_data_type){ t.dtype, { sizes, t.sizes.n } };
        sizes += t.sizes.n;
    }
    return NULL;
}

static lz_err *compile_one(lz_lowering *l, computation **out)
{
    computation *c = calloc(1, sizeof *c);
    if (!c)
        return lz_error(LZ_ERR_MEMORY, "out of memory");
    c->cpu = lz_get_backend("cpu");
    lz_err *e = c->cpu ? remember_results(c, l)
                       : lz_error(LZ_ERR_NOT_FOUND, "echo computes on the CPU, and there is no CPU backend");
    if (!e)
        e = c->cpu->compile(c->cpu->self, &l, 1, &c->inner);
    if (e) {
        release_computation(NULL, c);
        return e;
    }
    *out = c;
    return NULL;
}

static lz_err *compile(void *self, lz_lowering *const *instances, size_t n, void **out)
{
    for (size_t i = 0; i < n; i++) {
        lz_err *e = compile_one(instances[i], (computation **)&out[i]);
        if (!e)
            continue;
        while (i-- > 0)
            release_computation(self, out[i]);
        return e;
    }
    return NULL;
}

/* ---- running ---- */

static const lz_backend_device cpu_device = { 0, 0 };

static lz_err *lend(const lz_backend *cpu, const lz_execution *x, lz_argument *args)
{
    for (size_t i = 0; i < x->n; i++) {
        lz_err *e = NULL;
        args[i] = (lz_argument){ .number = x->arguments[i].number };
        if (x->arguments[i].data) {
            lz_host_tensor t = as_tensor(x->arguments[i].data);
            e = cpu->make_computation_data_from_tensor(cpu->self, &t, cpu_device, &args[i].data);
        }
        if (e)
            return e;
    }
    return NULL;
}

static lz_err *fetch(const computation *c, void *const *inner, void **results)
{
    for (size_t i = 0; i < c->nresults; i++) {
        block *b;
        lz_err *e = new_block(c->types[i], &b);
        if (!e) {
            lz_host_tensor t = as_tensor(b);
            results[i] = b;
            e = c->cpu->make_tensor_from_computation_data(c->cpu->self, inner[i], b->dtype, &t);
        }
        if (!e)
            continue;
        for (size_t k = 0; k < c->nresults; k++) {
            if (results[k])
                release_data(NULL, results[k]);
            results[k] = NULL;
        }
        return e;
    }
    return NULL;
}

static lz_err *run(const computation *c, const lz_execution *x, lz_argument *args, void **inner)
{
    lz_execution there = { .arguments = args,
                           .n = x->n,
                           .device = cpu_device,
                           .results = inner,
                           .n_results = c->nresults,
                           .failed = x->failed };
    lz_err *e = lend(c->cpu, x, args);
    if (!e)
        e = c->cpu->execute_computation(c->cpu->self, c->inner, &there);
    return e ? e : fetch(c, inner, x->results);
}

static lz_err *execute_computation(void *self, void *computation_, const lz_execution *x)
{
    const computation *c = computation_;
    (void)self;
    lz_argument *args = calloc(x->n + 1, sizeof *args);
    void **inner = calloc(c->nresults + 1, sizeof *inner);
    lz_err *e = args && inner ? run(c, x, args, inner) : lz_error(LZ_ERR_MEMORY, "out of memory");
    for (size_t i = 0; args && i < x->n; i++)
        if (args[i].data)
            c->cpu->release_data(c->cpu->self, args[i].data);
    for (size_t i = 0; inner && i < c->nresults; i++)
        if (inner[i])
            c->cpu->release_data(c->cpu->self, inner[i]);
    free(args);
    free(inner);
    return e;
}

/* What the CPU cannot do, we cannot. */
/* Its graphs are the CPU's. */
static bool takes_offsets(void *self)
{
    (void)self;
    const lz_backend *cpu = lz_get_backend("cpu");
    return cpu && cpu->takes_offsets(cpu->self);
}

static bool supports(void *self, const lz_node *n)
{
    const lz_backend *cpu = lz_get_backend("cpu");
    (void)self;
    return cpu && cpu->supports(cpu->self, n);
}

/* ---- devices ---- */

static lz_err *get_backend_devices(void *self, lz_backend_device *out, size_t room, size_t *n)
{
    (void)self;
    *n = DEVICES;
    for (size_t i = 0; i < DEVICES && i < room; i++)
        out[i] = (lz_backend_device){ .type = 7, .ordinal = (int64_t)i };
    return NULL;
}

static const char *device_type_name(void *self, int8_t type)
{
    (void)self;
    return type == 7 ? "ECHO" : "Unknown";
}

static lz_err *get_memory_info(void *self, lz_backend_device d, lz_memory_info *out)
{
    (void)self, (void)d;
    *out = (lz_memory_info){ -1, -1, atomic_load(&used), atomic_load(&peak) };
    return NULL;
}

static const lz_backend table = {
    .struct_size = sizeof(lz_backend),
    .abi = (uint32_t)LZ_BACKEND_ABI << 16 | LZ_BACKEND_ABI_MINOR,
    .name = "echo",
    .get_backend_devices = get_backend_devices,
    .make_computation_data_from_tensor = make_computation_data_from_tensor,
    .make_tensor_from_computation_data = make_tensor_from_computation_data,
    .release_data = release_data,
    .compile = compile,
    .execute_computation = execute_computation,
    .release_computation = release_computation,
    .copy_data = copy_data,
    .supports = supports,
    .takes_offsets = takes_offsets,
    .device_type_name = device_type_name,
    .get_memory_info = get_memory_info,
};

LZ_API const lz_backend *lazuli_backend(uint32_t host_abi);

const lz_backend *lazuli_backend(uint32_t host_abi)
{
    (void)host_abi;
    return &table;
}
