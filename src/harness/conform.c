#include "harness/conform.h"
#include "core/convert.h"
#include "core/device.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

uint64_t lz_conform_roll(uint64_t *dice)
{
    *dice += 0x9e3779b97f4a7c15;
    uint64_t z = *dice;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

bool lz_conform_wants(const lz_conform *k, const char *group, const char *id)
{
    const char *only = k->r.options->only;
    return !only || strcmp(only, group) == 0 || (id && strcmp(only, id) == 0);
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

lz_err *lz_conform_done(lz_conform *k, const char *group, const char *id)
{
    return lz_conform_judge(k, group, id, k->why.len ? LZ_FAILED : LZ_PASSED);
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

/* ---- elements ---- */

static lz_scalar special_element(uint64_t roll)
{
    static const double all[] = { NAN, INFINITY, -INFINITY, -0.0 };
    return lz_scalar_float(all[roll / 64 % 4]);
}

static lz_scalar element(lz_dtype d, lz_flavour f, uint64_t roll)
{
    int64_t v = (int64_t)(roll % 17) - 8;
    if (d == LZ_BOOL)
        return lz_scalar_int(v & 1);
    if (lz_dtype_is_whole(d))
        return lz_scalar_int(f == LZ_WIDE && d == LZ_I64 ? v * ((INT64_C(1) << 33) + 1) : v / 3);
    if (f == LZ_SPECIAL && roll % 5 == 0)
        return special_element(roll);
    return lz_scalar_float((double)v / (f == LZ_FINE ? 8.1 : 8));
}

enum { PERIOD = 1021 }; /* a prime; elements repeat with this period, because generating them takes time */

lz_err *lz_conform_fill(lz_dtype d, lz_ints sizes, lz_flavour f, uint64_t seed, lz_array *out)
{
    LZ_TRY(lz_array_init(out, NULL, d, sizes));
    size_t size = lz_dtype_size(d);
    char *data = out->buffer->data;
    for (int64_t i = 0; i < out->numel && i < PERIOD; i++)
        lz_array_set(out, i, element(d, f, lz_conform_roll(&seed)));
    for (int64_t i = PERIOD; i < out->numel; i += PERIOD)
        memcpy(data + (size_t)i * size, data,
               (size_t)(out->numel - i < PERIOD ? out->numel - i : PERIOD) * size);
    return NULL;
}

lz_err *lz_conform_tensor(lz_ctx *c, lz_dtype d, lz_ints sizes, lz_flavour f, uint64_t seed, lz_tensor **out)
{
    lz_array a;
    LZ_TRY(lz_conform_fill(d, sizes, f, seed, &a));
    *out = lz_from_memory(c, d, sizes, a.buffer->data);
    lz_array_deinit(&a);
    return NULL;
}

/* ---- comparing ---- */

lz_err *lz_conform_read(lz_conform *k, lz_tensor *t, lz_ctx *c, lz_array *out, bool *ok)
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
    LZ_TRY(lz_conform_read(k, cpu, k->cpu, &want, &there));
    lz_err *e = lz_conform_read(k, dev, k->dev, &got, &also);
    if (!e) {
        lz_tolerance tolerance = lz_tolerance_of(want.dtype);
        if (there && also)
            lz_array_equal(&got, &want, &tolerance, NULL, &k->why);
        lz_array_deinit(&got);
    }
    lz_array_deinit(&want);
    return e;
}

/* ---- the whole run ---- */

static lz_err *open_on(const lz_conform *k, const char *device, lz_ctx **out)
{
    lz_options o = { .device = device, .threads = k->r.options->threads };
    *out = lz_open(&o);
    if (!*out)
        return lz_err_oom();
    return lz_failed(*out) ? lz_errf(lz_code_of(*out), "%s", lz_message(*out)) : NULL;
}

lz_ctx *lz_conform_open(lz_conform *k, int index, bool async)
{
    char name[LZ_DEVICE_CHARS + 16];
    snprintf(name, sizeof name, "%s:%d", k->device, index);
    lz_ctx *c = lz_open(&(lz_options){ .device = name, .threads = k->r.options->threads, .async = async });
    if (c && !lz_failed(c))
        return c;
    lz_text_puts(&k->why, c ? lz_message(c) : "no context");
    lz_close(c);
    return NULL;
}

static lz_err *report_entries(lz_conform *k)
{
    const lz_backend *b = lz_get_backend(k->device);
    const char *name, *comma = "";
    lz_text_printf(&k->r.line, "%s leaves to the library:", k->device);
    for (size_t i = 0; b && (name = lz_backend_entry_name(i)); i++)
        if (!lz_backend_has_entry(b, i)) {
            lz_text_printf(&k->r.line, "%s %s", comma, name);
            comma = ",";
        }
    return lz_replay_report_line(&k->r);
}

static lz_err *check_all(lz_conform *k, lz_replay_totals *out)
{
    static lz_err *(*const groups[])(
        lz_conform *) = { lz_conform_data,    lz_conform_ops,     lz_conform_programs, lz_conform_failure,
                          lz_conform_threads, lz_conform_by_hand, lz_conform_leaks };
    LZ_TRY(open_on(k, "cpu:0", &k->cpu));
    LZ_TRY(open_on(k, k->device, &k->dev));
    LZ_TRY(report_entries(k));
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        LZ_TRY(groups[i](k));
    return lz_replay_close(&k->r, out);
}

/* The system's loader searches a bare name only in its own folders. A file in the current folder is meant. */
static lz_err *load_file(const char *path, int16_t *type)
{
    char here[4096];
    int n = snprintf(here, sizeof here, "./%s", path);
    bool bare = !strchr(path, '/') && n > 0 && (size_t)n < sizeof here && access(here, R_OK) == 0;
    return lz_backend_load(bare ? here : path, type);
}

static lz_err *load(const char *path, char *device)
{
    int16_t type;
    LZ_TRY(lz_backends_ready());
    if (lz_has_backend(path)) {
        snprintf(device, LZ_DEVICE_CHARS, "%s", path);
        return NULL;
    }
    LZ_TRY(load_file(path, &type));
    lz_device_print((lz_device){ type, -1 }, device);
    return NULL;
}

lz_err *lz_replay_backend(const char *path, const lz_replay_options *options, lz_replay_line_fn *report,
                          void *user, lz_replay_totals *out)
{
    char device[LZ_DEVICE_CHARS];
    lz_conform k = { .device = device };
    LZ_TRY(load(path, device));
    lz_err *e = lz_replay_init(&k.r, options, report, user);
    if (!e)
        e = check_all(&k, out);
    lz_close(k.cpu);
    lz_close(k.dev);
    lz_text_deinit(&k.why);
    lz_replay_deinit(&k.r);
    return e;
}
