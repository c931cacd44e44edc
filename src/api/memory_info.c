/* What lz_memory_info tells about devices. */
#include "base/vec.h"
#include "core/dtype.h"
#include "lazy/ctx.h"
#include "lazy/lazy_storage.h"
#include "lazy/registry.h"
#include "lazy/runtime.h"
#include <stdlib.h>

static lz_err *find_device(const lz_ctx *c, const char *name, lz_device *out)
{
    if (!c->syncer)
        return lz_errf(LZ_ERR_NOT_FOUND, "the context has no device");
    *out = c->device;
    if (!name)
        return NULL;
    LZ_TRY(lz_device_parse(lz_str_of(name), out));
    return lz_backend_device_of(*out, out);
}

static lz_err *ask(const lz_ctx *c, const char *device, lz_memory_info *out)
{
    lz_device d;
    lz_backend_device real;
    LZ_TRY(find_device(c, device, &d));
    const lz_backend *b = lz_backend_of(d.type);
    LZ_TRY(lz_backend_real_device(b, d, &real));
    return b->get_memory_info(b->self, real, out);
}

bool lz_get_memory_info(lz_ctx *c, const char *device, lz_memory_info *out)
{
    *out = (lz_memory_info){ -1, -1, -1, -1 };
    return lz_ctx_report(c, (lz_loc){ 0 }, ask(c, device, out));
}

typedef struct held {
    int64_t id, bytes;
} held;

static int by_id(const void *pa, const void *pb)
{
    const held *a = pa, *b = pb;
    return (a->id > b->id) - (a->id < b->id);
}

static held held_by(const lz_data *d)
{
    held h = { d->id, (int64_t)lz_dtype_size(d->type.dtype) };
    for (int64_t i = 0; i < d->type.sizes.n; i++)
        h.bytes *= d->type.sizes.v[i]; /* no overflow: the data exists */
    return h;
}

static lz_err *sum_held(const lz_ctx *c, const char *device, int64_t *out)
{
    lz_device d;
    LZ_VEC(held) all = { 0 };
    LZ_TRY(find_device(c, device, &d));
    lz_err *e = NULL;
    for (const lz_lazy_storage *a = c->live; !e && a; a = a->next)
        if (a->data && lz_device_eq(a->device, d))
            e = lz_vec_push(&all, held_by(a->data));
    if (all.len)
        qsort(all.data, all.len, sizeof *all.data, by_id);
    for (size_t i = 0; !e && i < all.len; i++)
        *out += i && all.data[i].id == all.data[i - 1].id ? 0 : all.data[i].bytes;
    lz_vec_deinit(&all);
    return e;
}

int64_t lz_held_bytes(lz_ctx *c, const char *device)
{
    int64_t bytes = 0;
    return lz_ctx_report(c, (lz_loc){ 0 }, sum_held(c, device, &bytes)) ? bytes : -1;
}
