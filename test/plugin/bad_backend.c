/* Backends with one mistake each, chosen by BAD; load.c of the unit tests expects its reason. */
#include <lazuli/backend.h>

enum { NONE, VERSION, SHORT, MISSING, NO_DEVICES, NO_TABLE };

static lz_err *devices(void *self, lz_backend_device *out, size_t room, size_t *n)
{
    (void)self, (void)out, (void)room;
    *n = BAD == NO_DEVICES ? 0 : 1;
    if (room)
        *out = (lz_backend_device){ 0, 0 };
    return 0;
}

static lz_err *upload(void *self, const lz_host_tensor *t, lz_backend_device d, void **out)
{
    (void)self, (void)t, (void)d;
    *out = self;
    return 0;
}

static lz_err *download(void *self, void *data, lz_dtype d, const lz_host_tensor *out)
{
    (void)self, (void)data, (void)d, (void)out;
    return 0;
}

static void release(void *self, void *x)
{
    (void)self, (void)x;
}

static lz_err *compile(void *self, lz_lowering *const *l, size_t n, void **out)
{
    (void)self, (void)l, (void)n, (void)out;
    return 0;
}

static lz_err *execute(void *self, void *c, const lz_execution *x)
{
    (void)self, (void)c, (void)x;
    return 0;
}

static const lz_backend table = {
    .struct_size = BAD == SHORT ? 24 : sizeof(lz_backend),
    .abi = (LZ_BACKEND_ABI + (BAD == VERSION)) << 16,
    .name = "bad",
    .get_backend_devices = devices,
    .make_computation_data_from_tensor = upload,
    .make_tensor_from_computation_data = download,
    .release_data = release,
    .compile = compile,
    .execute_computation = BAD == MISSING ? 0 : execute,
    .release_computation = release,
};

LZ_API const lz_backend *lazuli_backend(uint32_t host_abi);

const lz_backend *lazuli_backend(uint32_t host_abi)
{
    (void)host_abi;
    return BAD == NO_TABLE ? 0 : &table;
}
