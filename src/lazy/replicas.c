#include "lazy/replicas.h"
#include "base/str.h"
#include "core/device.h"
#include <string.h>

/* ---- which devices ---- */

static bool has(const lz_replicas *r, lz_device d)
{
    for (size_t i = 0; i < r->n; i++)
        if (lz_device_eq(r->devices[i], d))
            return true;
    return false;
}

static lz_err *add(lz_replicas *r, lz_str name, lz_device own)
{
    lz_device d;
    LZ_TRY(lz_device_parse(name, &d));
    if (d.type != own.type)
        return lz_errf(LZ_ERR_ARG, "%.*s is not a device of %s, the backend of the context", LZ_FMT(name),
                       lz_device_name(own.type));
    LZ_TRY(lz_backend_device_of(d, &d));
    if (!lz_device_eq(d, own) && !has(r, d))
        r->devices[r->n++] = d; /* the array has room for all devices */
    return NULL;
}

lz_err *lz_replicas_parse(const char *list, lz_device own, lz_replicas *out)
{
    lz_str rest = lz_str_of(list);
    *out = (lz_replicas){ 0 };
    for (bool more = rest.len > 0; more;) {
        lz_str name = lz_str_trim(lz_str_cut(&rest, LZ_STR(","), &more));
        if (name.len)
            LZ_TRY(lz_err_wrap(add(out, name, own), "replicas"));
    }
    return NULL;
}

/* ---- compiling ---- */

#define COPY(from, to, list)                                                                                 \
    do {                                                                                                     \
        LZ_TRY(lz_vec_reserve(&(to)->list, (from)->list.len));                                               \
        if ((from)->list.len)                                                                                \
            memcpy((to)->list.data, (from)->list.data, (from)->list.len * sizeof *(to)->list.data);          \
        (to)->list.len = (from)->list.len;                                                                   \
    } while (0)

/* The copy has the same nodes in the same places. */
static lz_err *copy_lowering(const lz_lowering *from, lz_lowering *to)
{
    COPY(from, to, nodes);
    COPY(from, to, emission);
    COPY(from, to, results);
    COPY(from, to, parameters);
    COPY(from, to, aliases);
    return NULL;
}

typedef struct batch {
    const lz_backend *b;
    size_t n; /* lowerings */
    lz_lowering *copies;
    lz_lowering **instances;
    lz_backend_device *devices;
} batch;

static lz_err *make_batch(lz_arena *a, lz_lowering *l, size_t n, batch *x)
{
    x->n = n + 1;
    LZ_TRY(lz_arena_new(a, &x->instances, x->n));
    LZ_TRY(lz_arena_new(a, &x->devices, x->n));
    LZ_TRY(lz_arena_new(a, &x->copies, x->n));
    x->instances[0] = l;
    for (size_t i = 1; i < x->n; i++) {
        x->instances[i] = &x->copies[i];
        lz_lowering_init(&x->copies[i], l->arena, l->name, l->device);
    }
    return NULL;
}

static lz_err *start(batch *x, const lz_device *others)
{
    lz_backend_device own = x->devices[0] = x->instances[0]->device;
    for (size_t i = 1; i < x->n; i++) {
        LZ_TRY(copy_lowering(x->instances[0], x->instances[i]));
        LZ_TRY(lz_backend_real_device(x->b, others[i - 1], &x->devices[i]));
    }
    LZ_TRY(x->b->get_compilation_devices(x->b->self, own, x->devices, x->n));
    for (size_t i = 0; i < x->n; i++) {
        x->instances[i]->device = x->devices[i];
        LZ_TRY(lz_lowering_start(x->instances[i], x->b));
    }
    return NULL;
}

static size_t blamed_of(const batch *x)
{
    size_t at = SIZE_MAX;
    for (size_t i = 0; at == SIZE_MAX && i < x->n; i++)
        at = lz_lowering_blamed(x->instances[i]);
    return at;
}

lz_err *lz_replicas_compile(lz_arena *a, const lz_backend *b, lz_lowering *l, const lz_device *others,
                            size_t n, void **out, size_t *blamed)
{
    batch x = { .b = b };
    *blamed = SIZE_MAX;
    LZ_TRY(make_batch(a, l, n, &x));
    lz_err *e = start(&x, others);
    if (!e) {
        e = b->compile(b->self, x.instances, x.n, out);
        *blamed = e ? blamed_of(&x) : SIZE_MAX;
    }
    for (size_t i = 1; i < x.n; i++)
        lz_lowering_deinit(&x.copies[i]);
    return e;
}
