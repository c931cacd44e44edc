#include "api/conform.h"
#include "core/convert.h"
#include "core/device.h"
#include "lazy/registry.h"
#include <lazuli/backend.h>
#include <stdio.h>
#include <string.h>

uint64_t lz_conform_roll(uint64_t *dice)
{
    *dice += 0x9e3779b97f4a7c15;
    uint64_t z = *dice;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

lz_err *lz_conform_judge(lz_conform *k, const char *group, const char *id, lz_verdict v)
{
    lz_tally *t;
    LZ_TRY(lz_text_check(&k->why));
    LZ_TRY(lz_replay_tally(&k->r, lz_str_of(group), &t));
    lz_err *e = lz_replay_judge(&k->r, t, v, lz_str_of(id), lz_text_view(&k->why));
    k->why.len = 0;
    return e;
}

bool lz_conform_call(lz_ctx *c, const lz_op_row *op, const lz_value *in, size_t n, lz_value *out)
{
    lz_bound bound;
    lz_err *e = lz_boxed_bind(op, LZ_HERE, in, n, &bound);
    if (e) {
        lz_err_free(e);
        return false;
    }
    lz_record(c, op, LZ_HERE, bound.in, out);
    return !lz_failed(c);
}

static lz_err *fill(lz_dtype d, lz_ints sizes, uint64_t seed, lz_array *out)
{
    LZ_TRY(lz_array_init(out, NULL, d, sizes));
    for (int64_t i = 0; i < out->numel; i++) {
        int64_t v = (int64_t)(lz_conform_roll(&seed) % 17) - 8;
        bool whole = lz_dtype_is_whole(d);
        lz_array_set(out, i,
                     whole ? lz_scalar_int(d == LZ_BOOL ? v & 1 : v / 3) : lz_scalar_float((double)v / 8));
    }
    return NULL;
}

lz_err *lz_conform_tensor(lz_ctx *c, lz_dtype d, lz_ints sizes, uint64_t seed, lz_tensor **out)
{
    lz_array a;
    LZ_TRY(fill(d, sizes, seed, &a));
    *out = lz_from_memory(c, d, sizes, a.buffer->data);
    lz_array_deinit(&a);
    return NULL;
}

/* ---- comparing ---- */

static lz_err *read(lz_conform *k, lz_tensor *t, lz_ctx *c, lz_array *out, bool *ok)
{
    LZ_TRY(lz_array_init(out, NULL, lz_tensor_dtype(t), lz_tensor_sizes(t)));
    *ok = lz_read(t, out->buffer->data, (size_t)out->numel * lz_dtype_size(out->dtype));
    if (!*ok)
        lz_text_printf(&k->why, "cannot be read: %s", lz_message(c));
    return NULL;
}

lz_err *lz_conform_compare(lz_conform *k, lz_tensor *cpu, lz_tensor *dev)
{
    lz_array want, got;
    bool there, also;
    LZ_TRY(read(k, cpu, k->cpu, &want, &there));
    lz_err *e = read(k, dev, k->dev, &got, &also);
    if (!e) {
        lz_tolerance tolerance = lz_tolerance_of(want.dtype);
        if (there && also)
            lz_array_equal(&got, &want, &tolerance, NULL, &k->why);
        lz_array_deinit(&got);
    }
    lz_array_deinit(&want);
    return e;
}

/* ---- data ---- */

/* Elements of any kind come back as they were; memory that is only looked at is given back. */
static lz_err *round_trip(lz_conform *k, lz_dtype d, lz_ints sizes)
{
    lz_array a, b;
    char shape[LZ_SHAPE_CHARS];
    bool ok;
    LZ_TRY(fill(d, sizes, 5, &a));
    lz_scope *s = lz_scope_push(k->dev);
    lz_tensor *t = lz_from_memory(k->dev, d, sizes, a.buffer->data);
    lz_err *e = read(k, t, k->dev, &b, &ok);
    if (!e) {
        if (ok && memcmp(a.buffer->data, b.buffer->data, (size_t)a.numel * lz_dtype_size(d)) != 0)
            lz_text_puts(&k->why, "other elements come back");
        lz_array_deinit(&b);
    }
    lz_scope_pop(s);
    lz_clear(k->dev);
    lz_array_deinit(&a);
    LZ_TRY(e);
    lz_text name = { 0 };
    lz_text_printf(&name, "%s%s", lz_dtype_get(d)->script, lz_shape_print(sizes, shape));
    lz_text_putc(&name, '\0');
    e = lz_text_check(&name);
    if (!e)
        e = lz_conform_judge(k, "data", name.ptr, k->why.len ? LZ_FAILED : LZ_PASSED);
    lz_text_deinit(&name);
    return e;
}

lz_err *lz_conform_data(lz_conform *k)
{
    static const lz_dtype dtypes[] = { LZ_BOOL, LZ_U8,  LZ_I8,   LZ_I16, LZ_I32,
                                       LZ_I64,  LZ_F16, LZ_BF16, LZ_F32, LZ_F64 };
    static const int64_t sizes[] = { 2, 3, 4 };
    static const int64_t empty[] = { 0, 3 };
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        LZ_TRY(round_trip(k, dtypes[i], (lz_ints){ NULL, 0 }));
        LZ_TRY(round_trip(k, dtypes[i], (lz_ints){ sizes, 3 }));
        LZ_TRY(round_trip(k, dtypes[i], (lz_ints){ empty, 2 }));
    }
    return NULL;
}

/* ---- all of it ---- */

static lz_err *open_on(const lz_conform *k, const char *device, lz_ctx **out)
{
    lz_options o = { .device = device, .threads = k->r.options->threads };
    *out = lz_open(&o);
    if (!*out)
        return lz_err_oom();
    return lz_failed(*out) ? lz_errf(lz_code_of(*out), "%s", lz_message(*out)) : NULL;
}

static lz_err *tell_entries(lz_conform *k)
{
    const lz_backend *b = lz_get_backend(k->device);
    const char *name, *comma = "";
    lz_text_printf(&k->r.line, "%s leaves to the library:", k->device);
    for (size_t i = 0; b && (name = lz_backend_entry_name(i)); i++)
        if (!lz_backend_has_entry(b, i)) {
            lz_text_printf(&k->r.line, "%s %s", comma, name);
            comma = ",";
        }
    return lz_replay_say(&k->r);
}

static lz_err *check_all(lz_conform *k, lz_replay_totals *out)
{
    LZ_TRY(open_on(k, "cpu", &k->cpu));
    LZ_TRY(open_on(k, k->device, &k->dev));
    LZ_TRY(tell_entries(k));
    LZ_TRY(lz_conform_data(k));
    LZ_TRY(lz_conform_ops(k));
    LZ_TRY(lz_conform_programs(k));
    LZ_TRY(lz_conform_failure(k));
    LZ_TRY(lz_conform_threads(k));
    return lz_replay_close(&k->r, out);
}

static lz_err *load(const char *path, char *device)
{
    int16_t type;
    LZ_TRY(lz_backends_ready());
    if (lz_has_backend(path)) {
        snprintf(device, LZ_DEVICE_CHARS, "%s", path);
        return NULL;
    }
    LZ_TRY(lz_backend_load(path, &type));
    lz_device_print((lz_device){ type, -1 }, device);
    return NULL;
}

lz_err *lz_replay_backend(const char *path, const lz_replay_options *options, lz_replay_line_fn *tell,
                          void *user, lz_replay_totals *out)
{
    char device[LZ_DEVICE_CHARS];
    lz_conform k = { .device = device };
    LZ_TRY(load(path, device));
    lz_err *e = lz_replay_init(&k.r, options, tell, user);
    if (!e)
        e = check_all(&k, out);
    lz_close(k.cpu);
    lz_close(k.dev);
    lz_text_deinit(&k.why);
    lz_replay_deinit(&k.r);
    return e;
}
