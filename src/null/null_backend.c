/* A backend that does nothing: data has no elements, graphs are not compiled, results are zeros.
 *
 * It is here to be copied. docs/adding-a-backend.md turns the copy into a backend, step by step. This file
 * uses nothing but <lazuli/backend.h>, and what follows is all that is required; an entry that is not in the
 * table has the default which the header states for it. */
#include "null/null_backend.h"
#include <string.h>

/* Handles belong to the backend: the library carries them around and never looks inside. This backend has
 * nothing to remember, so all handles are equal. */
static int nothing;

/* The devices: how many there are, and what they are. *n is their number even if `room` is smaller. null:0 is
 * the first device. */
static lz_err *get_backend_devices(void *self, lz_backend_device *out, size_t room, size_t *n)
{
    (void)self;
    *n = 1;
    if (room > 0)
        out[0] = (lz_backend_device){ .type = 0, .ordinal = 0 };
    return NULL;
}

/* Copies host memory to the device. The elements lie as t->strides says. If t->drop is set, the backend may
 * keep the memory instead, and calls drop when it no longer needs the memory. */
static lz_err *make_computation_data_from_tensor(void *self, const lz_host_tensor *t, lz_backend_device d,
                                                 void **out)
{
    (void)self, (void)d;
    if (t->drop)
        t->drop(t->owner);
    *out = &nothing;
    return NULL;
}

static size_t bytes_of(lz_dtype d)
{
    static const size_t size[] = {
        [LZ_U8] = 1,  [LZ_I8] = 1,  [LZ_I16] = 2, [LZ_I32] = 4,   [LZ_I64] = 8,  [LZ_F16] = 2, [LZ_F32] = 4,
        [LZ_F64] = 8, [LZ_C32] = 4, [LZ_C64] = 8, [LZ_C128] = 16, [LZ_BOOL] = 1, [LZ_BF16] = 2
    };
    return d >= 0 && (size_t)d < sizeof size / sizeof *size ? size[d] : 0;
}

/* Copies data from the device into strided memory of the caller: the element with index (i, j) goes to
 * position i * strides[0] + j * strides[1]. */
static lz_err *make_tensor_from_computation_data(void *self, void *data, lz_dtype logical_scalar_type,
                                                 const lz_host_tensor *out)
{
    (void)self, (void)data;
    size_t size = bytes_of(logical_scalar_type);
    if (!size)
        return lz_error(LZ_ERR_UNSUPPORTED, "unsupported dtype %d", (int)logical_scalar_type);
    int64_t numel = 1;
    for (int64_t i = 0; i < out->type.sizes.n; i++)
        numel *= out->type.sizes.v[i];
    for (int64_t k = 0; k < numel; k++) {
        int64_t rest = k, at = 0;
        for (int64_t i = out->type.sizes.n; i-- > 0; rest /= out->type.sizes.v[i])
            at += rest % out->type.sizes.v[i] * out->strides.v[i];
        memset((char *)out->data + at * (int64_t)size, 0, size);
    }
    return NULL;
}

/* Called once for each data handle. */
static void release_data(void *self, void *data)
{
    (void)self, (void)data;
}

/* Compiles a graph. lz_lowering_nodes gives the nodes, operands before their users; lz_lowering_parameters
 * and lz_lowering_results give the inputs and outputs. The nodes are gone when the function returns. */
static lz_err *compile(void *self, lz_lowering *const *instances, size_t n, void **out)
{
    (void)self, (void)instances;
    for (size_t i = 0; i < n; i++)
        out[i] = &nothing;
    return NULL;
}

/* Gives one payload for each result. On failure: an error, the failed node's place in *x->failed if it is
 * known, and nothing in x->results. */
static lz_err *execute_computation(void *self, void *computation, const lz_execution *x)
{
    (void)self, (void)computation;
    for (size_t i = 0; i < x->n_results; i++)
        x->results[i] = &nothing;
    return NULL;
}

static void release_computation(void *self, void *computation)
{
    (void)self, (void)computation;
}

static const lz_backend table = {
    .struct_size = sizeof(lz_backend),
    .abi = (uint32_t)LZ_BACKEND_ABI << 16 | LZ_BACKEND_ABI_MINOR,
    .name = "null",
    .get_backend_devices = get_backend_devices,
    .make_computation_data_from_tensor = make_computation_data_from_tensor,
    .make_tensor_from_computation_data = make_tensor_from_computation_data,
    .release_data = release_data,
    .compile = compile,
    .execute_computation = execute_computation,
    .release_computation = release_computation,
};

/* The table may depend on the version of the calling library; NULL refuses the library. */
const lz_backend *lz_null_backend(uint32_t host_abi)
{
    (void)host_abi;
    return &table;
}

#ifdef LAZULI_PLUGIN
/* The one symbol that a shared object with a backend exports. */
LZ_API const lz_backend *lazuli_backend(uint32_t host_abi);

const lz_backend *lazuli_backend(uint32_t host_abi)
{
    return lz_null_backend(host_abi);
}
#endif
