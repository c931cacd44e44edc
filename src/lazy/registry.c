#include "lazy/registry.h"
#include "base/dl.h"
#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/device.h"
#include "lazy/ir_builder.h"
#include "lazy/node.h"
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void any_fn(void);

/* One backend. `full` is the first member, so that a table leads to its record. */
typedef struct record {
    lz_backend full;
    atomic_bool there;
    atomic_bool exits;         /* the backend was notified that the process ends */
    atomic_int default_device; /* index; where the backend has no entry for the default device */
    atomic_size_t count;       /* of devices; grows, but entries below the count never change */
    lz_backend_device devices[LZ_BACKEND_DEVICES];
    uint64_t has; /* bit i: the backend's own table has entry i */
    char name[LZ_DEVICE_NAME];
    lz_dl *dl;
    uint32_t order; /* of registration */
} record;

static record records[LZ_DEVICE_TYPES];
static lz_lock registering = LZ_LOCK_INIT;
static uint32_t registered;

typedef struct entry {
    const char *name;
    size_t offset;
} entry;

#define ENTRY(name)                                                                                          \
    {                                                                                                        \
#name, offsetof(lz_backend, name)                                                                    \
    }

static const entry required[] = {
    ENTRY(get_backend_devices),
    ENTRY(make_computation_data_from_tensor),
    ENTRY(make_tensor_from_computation_data),
    ENTRY(release_data),
    ENTRY(compile),
    ENTRY(execute_computation),
    ENTRY(release_computation),
};

static const entry optional[] = {
    ENTRY(initialize_aten_bindings),
    ENTRY(prepare_to_exit),
    ENTRY(set_rng_seed),
    ENTRY(get_ir_builder),
    ENTRY(make_computation_data_from_scalar),
    ENTRY(create_data_placeholder),
    ENTRY(get_computation_data_from_node),
    ENTRY(copy_data),
    ENTRY(create_lowering_context),
    ENTRY(release_lowering_context),
    ENTRY(supports),
    ENTRY(get_compilation_devices),
    ENTRY(get_computation_backend_text),
    ENTRY(get_default_device_type),
    ENTRY(set_default_device_type),
    ENTRY(get_default_device_ordinal),
    ENTRY(set_default_device_ordinal),
    ENTRY(eager_fallback_device_type),
    ENTRY(get_backend_device),
    ENTRY(device_type_name),
    ENTRY(create_metric_report),
    ENTRY(get_metrics),
    ENTRY(get_memory_info),
    ENTRY(async),
    ENTRY(collectives),
    ENTRY(synchronize),
    ENTRY(device_description),
    ENTRY(takes_offsets),
    ENTRY(get_computation_bytes),
    ENTRY(set_device_count),
};

enum { REQUIRED = sizeof required / sizeof *required, OPTIONAL = sizeof optional / sizeof *optional };

static bool is_set(const lz_backend *b, size_t offset)
{
    const void *p;
    memcpy(&p, (const char *)b + offset, sizeof p);
    return p != NULL;
}

/* ---- looking up ---- */

static bool is_there(const record *r)
{
    return atomic_load_explicit(&r->there, memory_order_acquire);
}

static record *record_of(const lz_backend *b)
{
    for (size_t i = 0; i < LZ_DEVICE_TYPES; i++)
        if (b == &records[i].full)
            return &records[i];
    return NULL;
}

/* Backends differ in self. */
static record *by_self(const void *self)
{
    for (size_t i = 0; i < LZ_DEVICE_TYPES; i++)
        if (records[i].full.struct_size && records[i].full.self == self)
            return &records[i];
    return NULL;
}

static const lz_ir_builder *own_builder(void *self)
{
    (void)self;
    return &lz_own_ir_builder;
}

static const lz_backend *by_name(const char *name)
{
    for (size_t i = 0; i < LZ_DEVICE_TYPES; i++)
        if (is_there(&records[i]) && strcmp(records[i].name, name) == 0)
            return &records[i].full;
    return NULL;
}

const lz_backend *lz_backend_first(void)
{
    const record *first = NULL;
    for (size_t i = 0; i < LZ_DEVICE_TYPES; i++)
        if (is_there(&records[i]) && (!first || records[i].order < first->order))
            first = &records[i];
    const lz_backend *cpu = by_name("cpu");
    return cpu ? cpu : first ? &first->full : NULL;
}

const lz_backend *lz_backend_fallback(void)
{
    return by_name("cpu");
}

const lz_backend *lz_get_backend(const char *name)
{
    return name ? by_name(name) : lz_backend_first();
}

bool lz_has_backend(const char *name)
{
    return lz_get_backend(name) != NULL;
}

const lz_backend *lz_backend_of(int16_t type)
{
    return type >= 0 && type < LZ_DEVICE_TYPES && is_there(&records[type]) ? &records[type].full : NULL;
}

int16_t lz_backend_type(const lz_backend *b)
{
    const record *r = record_of(b);
    return (int16_t)(r && is_there(r) ? r - records : -1);
}

const lz_ir_builder *lz_get_ir_builder(const char *name)
{
    const lz_backend *b = lz_get_backend(name);
    return b && b->get_ir_builder ? b->get_ir_builder(b->self) : NULL;
}

const char *lz_backend_entry_name(size_t i)
{
    return i < OPTIONAL ? optional[i].name : NULL;
}

bool lz_backend_has_entry(const lz_backend *b, size_t i)
{
    const record *r = record_of(b);
    if (i >= OPTIONAL)
        return false;
    return r ? r->has >> i & 1
             : optional[i].offset + sizeof(any_fn *) <= b->struct_size && is_set(b, optional[i].offset);
}

/* ---- defaults of optional entries ---- */

static lz_err *no_init(void *self)
{
    (void)self;
    return NULL;
}

static void no_exit(void *self)
{
    (void)self;
}

static lz_err *no_seed(void *self, uint64_t seed)
{
    (void)self, (void)seed;
    return NULL;
}

static lz_err *scalar_as_tensor(void *self, lz_scalar v, lz_backend_device d, void **out)
{
    static const lz_dtype dtypes[] = { [LZ_SCALAR_NONE] = LZ_DTYPE_NONE,
                                       [LZ_SCALAR_BOOL] = LZ_BOOL,
                                       [LZ_SCALAR_INT] = LZ_I64,
                                       [LZ_SCALAR_FLOAT] = LZ_F64,
                                       [LZ_SCALAR_COMPLEX] = LZ_C128 };
    bool truth = v.i != 0;
    double parts[2] = { v.re, v.im };
    void *const data[] = { [LZ_SCALAR_BOOL] = &truth,
                           [LZ_SCALAR_INT] = &v.i,
                           [LZ_SCALAR_FLOAT] = parts,
                           [LZ_SCALAR_COMPLEX] = parts };
    const record *r = by_self(self);
    if (v.kind == LZ_SCALAR_NONE || !r)
        return lz_errf(LZ_ERR_ARG, "expected a number, got none");
    lz_host_tensor t = { .type = { dtypes[v.kind], { NULL, 0 } }, .data = data[v.kind] };
    return r->full.make_computation_data_from_tensor(self, &t, d, out);
}

static lz_err *no_placeholder(void *self, lz_backend_device d, const lz_data_type *t, void **out)
{
    (void)self, (void)d, (void)t;
    *out = NULL;
    return NULL;
}

static lz_data *data_of_leaf(void *self, const lz_node *n)
{
    (void)self;
    return lz_node_is_recorded(n) && !n->op ? n->data : NULL;
}

static lz_err *no_lowering(void *self, lz_lowering *l, const lz_node *const *post_order, size_t n,
                           void **payload)
{
    (void)self, (void)l, (void)post_order, (void)n;
    *payload = NULL;
    return NULL;
}

static void no_lowering_release(void *self, void *payload)
{
    (void)self, (void)payload;
}

static bool supports_all(void *self, const lz_node *n)
{
    (void)self, (void)n;
    return true;
}

static lz_err *same_devices(void *self, lz_backend_device device, lz_backend_device *devices, size_t n)
{
    (void)self, (void)device, (void)devices, (void)n;
    return NULL;
}

static size_t no_bytes(void *self, void *computation)
{
    (void)self, (void)computation;
    return 0;
}

static const char *no_text(void *self, void *computation)
{
    (void)self, (void)computation;
    return "";
}

/* Index of the first device with this type and ordinal (-1: any ordinal); -1: there is none. */
static int find_device(const record *r, int8_t type, int64_t ordinal)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->devices[i].type == type && (ordinal < 0 || r->devices[i].ordinal == ordinal))
            return (int)i;
    return -1;
}

static lz_backend_device kept_device(void *self)
{
    record *r = by_self(self);
    return r ? r->devices[atomic_load(&r->default_device)] : (lz_backend_device){ 0 };
}

static int8_t kept_type(void *self)
{
    return kept_device(self).type;
}

static int64_t kept_ordinal(void *self)
{
    return kept_device(self).ordinal;
}

/* Keeps the ordinal if a device of the type has it. */
static lz_err *keep_type(void *self, int8_t type)
{
    record *r = by_self(self);
    int i = r ? find_device(r, type, kept_ordinal(self)) : -1;
    if (r && i < 0)
        i = find_device(r, type, -1);
    if (i < 0)
        return lz_errf(LZ_ERR_NOT_FOUND, "no device of type %d", type);
    atomic_store(&r->default_device, i);
    return NULL;
}

static lz_err *keep_ordinal(void *self, int64_t ordinal)
{
    record *r = by_self(self);
    int i = r && ordinal >= 0 ? find_device(r, kept_type(self), ordinal) : -1;
    if (i < 0)
        return lz_errf(LZ_ERR_NOT_FOUND, "no device of type %d with ordinal %lld", kept_type(self),
                       (long long)ordinal);
    atomic_store(&r->default_device, i);
    return NULL;
}

static int8_t type_zero(void *self)
{
    (void)self;
    return 0;
}

static lz_err *by_index(void *self, lz_device d, lz_backend_device *out)
{
    const record *r = by_self(self);
    if (!r || d.index < 0 || (size_t)d.index >= r->count)
        return lz_errf(LZ_ERR_NOT_FOUND, "no device with index %d", d.index);
    *out = r->devices[d.index];
    return NULL;
}

static const char *unknown_type(void *self, int8_t type)
{
    (void)self, (void)type;
    return "Unknown";
}

static const char *no_report(void *self)
{
    (void)self;
    return "";
}

static size_t no_metrics(void *self, lz_metric_value *out, size_t room)
{
    (void)self, (void)out, (void)room;
    return 0;
}

static lz_err *unknown_memory(void *self, lz_backend_device d, lz_memory_info *out)
{
    (void)self, (void)d;
    *out = (lz_memory_info){ -1, -1, -1, -1 };
    return NULL;
}

static lz_err *nothing_to_wait_for(void *self, lz_backend_device d)
{
    (void)self, (void)d;
    return NULL;
}

static bool takes_no_offsets(void *self)
{
    (void)self;
    return false;
}

bool lz_backend_takes_offsets(int16_t type)
{
    const lz_backend *b = lz_backend_of(type);
    return b && b->takes_offsets(b->self);
}

static const char *no_description(void *self, lz_backend_device d)
{
    (void)self, (void)d;
    return "";
}

static lz_err *fixed_count(void *self, size_t n)
{
    const record *r = by_self(self);
    size_t there = r ? r->count : 0;
    if (n <= there)
        return NULL;
    return lz_errf(LZ_ERR_UNSUPPORTED, "the backend has %zu devices and cannot provide %zu", there, n);
}

/* copy_data, async and collectives stay NULL: the library works without them. */
static const lz_backend defaults = {
    .initialize_aten_bindings = no_init,
    .prepare_to_exit = no_exit,
    .set_rng_seed = no_seed,
    .get_ir_builder = own_builder,
    .make_computation_data_from_scalar = scalar_as_tensor,
    .create_data_placeholder = no_placeholder,
    .get_computation_data_from_node = data_of_leaf,
    .create_lowering_context = no_lowering,
    .release_lowering_context = no_lowering_release,
    .supports = supports_all,
    .get_compilation_devices = same_devices,
    .get_computation_backend_text = no_text,
    .get_default_device_type = kept_type,
    .set_default_device_type = keep_type,
    .get_default_device_ordinal = kept_ordinal,
    .set_default_device_ordinal = keep_ordinal,
    .eager_fallback_device_type = type_zero,
    .get_backend_device = by_index,
    .device_type_name = unknown_type,
    .create_metric_report = no_report,
    .get_metrics = no_metrics,
    .get_memory_info = unknown_memory,
    .synchronize = nothing_to_wait_for,
    .device_description = no_description,
    .takes_offsets = takes_no_offsets,
    .get_computation_bytes = no_bytes,
    .set_device_count = fixed_count,
};

/* ---- registering ---- */

static lz_err *check_head(const lz_backend *b)
{
    uint32_t major = b->abi >> 16;
    if (b->struct_size < offsetof(lz_backend, get_backend_devices) + REQUIRED * sizeof(any_fn *))
        return lz_errf(LZ_ERR_MODEL, "the table has %zu bytes and ends before the required entries",
                       b->struct_size);
    if (major != LZ_BACKEND_ABI)
        return lz_errf(LZ_ERR_UNSUPPORTED, "the table has version %u of the interface, expected version %u",
                       major, (uint32_t)LZ_BACKEND_ABI);
    if (!b->name)
        return lz_errf(LZ_ERR_MODEL, "the name is NULL");
    for (size_t i = 0; i < REQUIRED; i++)
        if (!is_set(b, required[i].offset))
            return lz_errf(LZ_ERR_MODEL, "the required entry %s is missing", required[i].name);
    return NULL;
}

/* Copies the entries that both versions of the table have. Missing optional entries get defaults. */
static void complete(record *r, const lz_backend *b)
{
    size_t n = b->struct_size < sizeof r->full ? b->struct_size : sizeof r->full;
    memset(&r->full, 0, sizeof r->full);
    memcpy(&r->full, b, n);
    r->full.struct_size = sizeof r->full;
    r->full.name = r->name;
    r->full.self = b->self ? b->self : r;
    r->has = 0;
    for (size_t i = 0; i < OPTIONAL; i++) {
        size_t at = optional[i].offset;
        if (is_set(&r->full, at))
            r->has |= (uint64_t)1 << i;
        else
            memcpy((char *)&r->full + at, (const char *)&defaults + at, sizeof(any_fn *));
    }
}

static lz_err *ask_devices(const lz_backend *b, lz_backend_device *devices, size_t *n)
{
    LZ_TRY(b->get_backend_devices(b->self, devices, LZ_BACKEND_DEVICES, n));
    if (*n == 0)
        return lz_errf(LZ_ERR_NOT_FOUND, "the backend has no devices");
    if (*n > LZ_BACKEND_DEVICES)
        return lz_errf(LZ_ERR_LIMIT, "the backend has %zu devices; the limit is %d", *n, LZ_BACKEND_DEVICES);
    return NULL;
}

static lz_err *start(record *r)
{
    size_t n;
    LZ_TRY(r->full.initialize_aten_bindings(r->full.self));
    LZ_TRY(ask_devices(&r->full, r->devices, &n));
    atomic_store(&r->count, n);
    atomic_store(&r->default_device, 0);
    return NULL;
}

/* Writes only the new entries: other threads may be reading the others. */
static lz_err *grow(record *r, size_t n)
{
    lz_backend_device devices[LZ_BACKEND_DEVICES];
    size_t before = atomic_load(&r->count), now;
    int16_t type;
    LZ_TRY(r->full.set_device_count(r->full.self, n));
    LZ_TRY(ask_devices(&r->full, devices, &now));
    if (now <= before)
        return NULL;
    memcpy(r->devices + before, devices + before, (now - before) * sizeof *devices);
    atomic_store(&r->count, now);
    return lz_device_register(lz_str_of(r->name), (int32_t)now, &type);
}

static lz_err *enter(const lz_backend *b, int16_t *type)
{
    LZ_TRY(check_head(b));
    if (by_name(b->name))
        return lz_errf(LZ_ERR_BUSY, "the name %s is taken by another backend", b->name);
    if (b->self && by_self(b->self))
        return lz_errf(LZ_ERR_BUSY, "self equals the self of another backend");
    LZ_TRY(lz_device_register(lz_str_of(b->name), 1, type));
    record *r = &records[*type];
    snprintf(r->name, sizeof r->name, "%s", b->name);
    complete(r, b);
    lz_err *e = start(r);
    if (!e)
        e = lz_device_register(lz_str_of(b->name), (int32_t)r->count, type);
    if (e) {
        memset(&r->full, 0, sizeof r->full);
        return e;
    }
    r->order = registered++;
    atomic_store(&r->exits, false);
    atomic_store_explicit(&r->there, true, memory_order_release);
    return NULL;
}

/* ---- the end ---- */

lz_err *lz_backend_synchronize(const lz_backend *b)
{
    const record *r = record_of(b);
    lz_err *e = NULL;
    for (size_t i = 0; r && i < r->count; i++)
        e = lz_err_first(e, b->synchronize(b->self, r->devices[i]));
    return e;
}

static void prepare(record *r)
{
    if (atomic_exchange(&r->exits, true))
        return;
    lz_err *e = lz_backend_synchronize(&r->full);
    if (e)
        lz_logf(LZ_LOG_ERROR, "backend %s: the last work failed: %s", r->name, lz_err_text(e));
    lz_err_free(e);
    r->full.prepare_to_exit(r->full.self);
}

/* Exit handlers run in reverse order. So the handler that was registered after a backend runs before the
 * handlers of the libraries that the backend loaded. */
static void prepare_youngest(void)
{
    record *youngest = NULL;
    for (size_t i = 0; i < LZ_DEVICE_TYPES; i++)
        if (is_there(&records[i]) && !atomic_load(&records[i].exits)
            && (!youngest || records[i].order > youngest->order))
            youngest = &records[i];
    if (youngest)
        prepare(youngest);
}

static void forget(record *r)
{
    prepare(r);
    atomic_store(&r->there, false);
    memset(&r->full, 0, sizeof r->full);
}

static lz_err *enter_until_exit(const lz_backend *b, int16_t *type)
{
    LZ_TRY(enter(b, type));
    if (atexit(prepare_youngest) == 0)
        return NULL;
    forget(&records[*type]);
    return lz_err_oom();
}

lz_err *lz_backend_register(const lz_backend *b, int16_t *type)
{
    int16_t given;
    if (!b)
        return lz_errf(LZ_ERR_ARG, "lz_backend_register: the table is NULL");
    lz_lock_take(&registering);
    lz_err *e = enter_until_exit(b, &given);
    lz_lock_give(&registering);
    if (!e && type)
        *type = given;
    return e ? lz_err_wrap(e, "backend %s",
                           b->struct_size > offsetof(lz_backend, name) && b->name ? b->name : "?")
             : NULL;
}

lz_err *lz_backend_set_device_count(const char *name, size_t n)
{
    LZ_TRY(lz_backends_ready());
    record *r = record_of(lz_get_backend(name));
    if (!r)
        return lz_errf(LZ_ERR_NOT_FOUND, "no backend %s", name ? name : "at all");
    if (n < 1 || n > LZ_BACKEND_DEVICES)
        return lz_errf(LZ_ERR_ARG, "a backend has 1 to %d devices, not %zu", LZ_BACKEND_DEVICES, n);
    lz_lock_take(&registering);
    lz_err *e = n > atomic_load(&r->count) ? grow(r, n) : NULL;
    lz_lock_give(&registering);
    return lz_err_wrap(e, "backend %s", r->name);
}

void lz_backend_forget(int16_t type)
{
    record *r = &records[type];
    lz_lock_take(&registering);
    if (is_there(r)) {
        forget(r);
        lz_dl_close(r->dl);
        r->dl = NULL;
    }
    lz_lock_give(&registering);
}

lz_err *lz_backends_built_in(void)
{
    for (size_t i = 0; lz_builtin_backends[i]; i++) {
        const lz_backend *b = lz_builtin_backends[i]((uint32_t)LZ_BACKEND_ABI << 16 | LZ_BACKEND_ABI_MINOR);
        if (b && !by_name(b->name))
            LZ_TRY(lz_backend_register(b, NULL));
    }
    return NULL;
}

/* ---- shared objects ---- */

typedef struct plugin {
    lz_backend_entry_fn *entry;
} plugin;

static lz_err *enter_plugin(const plugin *p, lz_dl *dl, int16_t *type)
{
    const lz_backend *b = p->entry((uint32_t)LZ_BACKEND_ABI << 16 | LZ_BACKEND_ABI_MINOR);
    if (!b)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s returned NULL for version %d.%d of the interface",
                       LZ_BACKEND_SYMBOL, LZ_BACKEND_ABI, LZ_BACKEND_ABI_MINOR);
    LZ_TRY(lz_backend_register(b, type));
    records[*type].dl = dl;
    return NULL;
}

static lz_err *load(const char *path, int16_t *type)
{
    static const lz_dl_symbol symbols[] = { { LZ_BACKEND_SYMBOL, true, offsetof(plugin, entry) } };
    const char *const candidates[] = { path, NULL };
    plugin p;
    lz_dl *dl;
    LZ_TRY(lz_dl_open(candidates, &dl));
    lz_err *e = lz_dl_load(dl, symbols, 1, &p);
    if (!e)
        e = enter_plugin(&p, dl, type);
    if (e)
        lz_dl_close(dl);
    return e;
}

lz_err *lz_backend_load(const char *path, int16_t *type)
{
    int16_t given;
    if (!path || !*path)
        return lz_errf(LZ_ERR_ARG, "lz_backend_load: the path is NULL or empty");
    lz_err *e = load(path, &given);
    if (!e && type)
        *type = given;
    return lz_err_wrap(e, "%s", path);
}

static bool is_loaded(const char *path)
{
    for (size_t i = 0; i < LZ_DEVICE_TYPES; i++)
        if (is_there(&records[i]) && records[i].dl && strcmp(lz_dl_path(records[i].dl), path) == 0)
            return true;
    return false;
}

lz_err *lz_backend_load_all(const char *paths)
{
    lz_str rest = lz_str_of(paths);
    for (bool more = true; more;) {
        lz_str part = lz_str_cut(&rest, LZ_STR(":"), &more);
        char path[4096];
        if (part.len >= sizeof path)
            return lz_errf(LZ_ERR_LIMIT, "a path of a backend has %zu bytes; the limit is %zu", part.len,
                           sizeof path - 1);
        memcpy(path, part.ptr, part.len);
        path[part.len] = '\0';
        if (part.len && !is_loaded(path))
            LZ_TRY(lz_backend_load(path, NULL));
    }
    return NULL;
}

/* The lock keeps two threads from loading one file twice. */
lz_err *lz_backends_ready(void)
{
    static lz_lock once = LZ_LOCK_INIT;
    const char *plugins = lz_env_text(LZ_ENV_BACKEND);
    lz_lock_take(&once);
    lz_err *e = lz_backends_built_in();
    if (!e && plugins)
        e = lz_backend_load_all(plugins);
    lz_lock_give(&once);
    return e;
}

/* ---- devices ---- */

bool lz_backend_device_exists(lz_backend_device d)
{
    for (size_t i = 0; i < LZ_DEVICE_TYPES; i++)
        if (is_there(&records[i]) && d.ordinal >= 0 && find_device(&records[i], d.type, d.ordinal) >= 0)
            return true;
    return false;
}

/* A backend that has chosen no default says type 0, ordinal 0. If it has no device 0 of
 * type 0, its first device is taken. */
static lz_err *default_index(const lz_backend *b, int16_t *out)
{
    const record *r = record_of(b);
    int8_t type = b->get_default_device_type(b->self);
    int64_t ordinal = b->get_default_device_ordinal(b->self);
    int i = ordinal < 0 ? -1 : find_device(r, type, ordinal);
    if (i < 0 && (type || ordinal))
        return lz_errf(LZ_ERR_NOT_FOUND,
                       "no such device: the default of %s is %s%lld, which it does not have", b->name,
                       b->device_type_name(b->self, type), (long long)ordinal);
    *out = (int16_t)(i < 0 ? 0 : i);
    return NULL;
}

lz_err *lz_backend_device_of(lz_device d, lz_device *out)
{
    const lz_backend *b = lz_backend_of(d.type);
    if (!b)
        return lz_errf(LZ_ERR_NOT_FOUND, "no backend for devices of type %s",
                       lz_device_name(d.type) ? lz_device_name(d.type) : "?");
    if (d.index < 0)
        LZ_TRY(default_index(b, &d.index));
    LZ_TRY(lz_device_check(d));
    *out = d;
    return NULL;
}

lz_err *lz_backend_device_typed(const lz_backend *b, int8_t type, lz_device *out)
{
    const record *r = record_of(b);
    int i = r ? find_device(r, type, -1) : -1;
    if (i < 0)
        return lz_errf(LZ_ERR_NOT_FOUND, "no such device: %s has none of type %s", b->name,
                       b->device_type_name(b->self, type));
    *out = (lz_device){ lz_backend_type(b), (int16_t)i };
    return NULL;
}

lz_err *lz_backend_real_device(const lz_backend *b, lz_device d, lz_backend_device *out)
{
    LZ_TRY(lz_backend_device_of(d, &d));
    return b->get_backend_device(b->self, d, out);
}

lz_err *lz_backend_device_like(const lz_backend *b, int8_t type, lz_device *out, lz_backend_device *real)
{
    const record *r = record_of(b);
    int16_t i = 0;
    while (r && (size_t)i < r->count && r->devices[i].type != type)
        i++;
    *out = (lz_device){ lz_backend_type(b), (int16_t)(r && (size_t)i < r->count ? i : 0) };
    return lz_backend_real_device(b, *out, real);
}

lz_err *lz_backend_default_device(const char *name, lz_device *out)
{
    const lz_backend *b = lz_get_backend(name);
    if (!b)
        return lz_errf(LZ_ERR_NOT_FOUND, "no backend %s", name ? name : "at all");
    return lz_backend_device_of((lz_device){ lz_backend_type(b), -1 }, out);
}

lz_err *lz_backend_set_default(const char *device)
{
    lz_device d;
    lz_backend_device real;
    LZ_TRY(lz_backends_ready());
    LZ_TRY(lz_device_parse(lz_str_of(device), &d));
    LZ_TRY(lz_backend_device_of(d, &d));
    const lz_backend *b = lz_backend_of(d.type);
    LZ_TRY(b->get_backend_device(b->self, d, &real));
    int8_t before = b->get_default_device_type(b->self);
    LZ_TRY(b->set_default_device_type(b->self, real.type));
    lz_err *e = b->set_default_device_ordinal(b->self, real.ordinal);
    if (e)
        lz_err_free(b->set_default_device_type(b->self, before));
    return e;
}

lz_err *lz_error(lz_code code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    lz_err *e = lz_err_vat(code, (lz_loc){ 0 }, format, ap);
    va_end(ap);
    return e;
}
