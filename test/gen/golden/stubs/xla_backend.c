/* To be filled in: copy this file and write what the device can do. The functions below are
 * those that every backend must have; docs/adding-a-backend.md walks through them. */
#include "xla_ops.h"

static lz_err *not_written(const char *what)
{
    return lz_error(LZ_ERR_UNSUPPORTED, "xla cannot %s yet", what);
}

static lz_err *devices(void *self, lz_backend_device *out, size_t room, size_t *n)
{
    (void)self;
    if (room)
        out[0] = (lz_backend_device){ 0, 0 };
    *n = 1;
    return NULL;
}

static lz_err *upload(void *self, const lz_host_tensor *t, lz_backend_device d, void **out)
{
    (void)self, (void)t, (void)d, (void)out;
    return not_written("upload");
}

static lz_err *download(void *self, void *data, lz_dtype dtype, const lz_host_tensor *out)
{
    (void)self, (void)data, (void)dtype, (void)out;
    return not_written("download");
}

static void drop_data(void *self, void *data)
{
    (void)self, (void)data;
}

static lz_err *compile(void *self, lz_lowering *const *graphs, size_t n, void **out)
{
    (void)self, (void)graphs, (void)n, (void)out;
    return not_written("compile");
}

static lz_err *execute(void *self, void *computation, const lz_execution *x)
{
    (void)self, (void)computation, (void)x;
    return not_written("execute");
}

static void drop_computation(void *self, void *computation)
{
    (void)self, (void)computation;
}

static bool supports(void *self, const lz_node *n)
{
    (void)self;
    return xla_op_find(lz_node_op(n)) != NULL;
}

static const lz_backend table = {
    .struct_size = sizeof(lz_backend),
    .abi = LZ_BACKEND_ABI << 16 | LZ_BACKEND_ABI_MINOR,
    .name = "xla",
    .get_backend_devices = devices,
    .make_computation_data_from_tensor = upload,
    .make_tensor_from_computation_data = download,
    .release_data = drop_data,
    .compile = compile,
    .execute_computation = execute,
    .release_computation = drop_computation,
    .supports = supports,
};

LZ_API lz_backend_entry_fn lazuli_backend;
const lz_backend *lazuli_backend(uint32_t host_abi)
{
    (void)host_abi;
    return &table;
}
