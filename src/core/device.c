#include "core/device.h"
#include "base/lock.h"
#include "base/number.h"
#include "base/text.h"
#include <stdatomic.h>
#include <stdio.h>

typedef struct type_row {
    char name[LZ_DEVICE_NAME];
    atomic_int_fast32_t count;
} type_row;

/* Rows below `known` never change their name, so names are read without the lock. */
static struct {
    lz_lock lock;
    atomic_int_fast16_t known;
    type_row rows[LZ_DEVICE_TYPES];
} types = { .lock = LZ_LOCK_INIT, .known = 1, .rows = { { .name = "cpu", .count = 1 } } };

int16_t lz_device_types(void)
{
    return (int16_t)atomic_load_explicit(&types.known, memory_order_acquire);
}

static type_row *row_of(int16_t type)
{
    return type >= 0 && type < lz_device_types() ? &types.rows[type] : NULL;
}

int32_t lz_device_count(int16_t type)
{
    type_row *row = row_of(type);
    return row ? (int32_t)atomic_load_explicit(&row->count, memory_order_relaxed) : 0;
}

const char *lz_device_name(int16_t type)
{
    const type_row *row = row_of(type);
    return row ? row->name : NULL;
}

/* -1: none */
static int16_t find(lz_str name)
{
    int16_t n = lz_device_types();
    for (int16_t i = 0; i < n; i++)
        if (lz_str_is(name, types.rows[i].name))
            return i;
    return -1;
}

static bool is_name(lz_str s)
{
    bool ok = s.len > 0 && s.len < LZ_DEVICE_NAME;
    for (size_t i = 0; ok && i < s.len; i++) {
        char c = s.ptr[i];
        ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    }
    return ok;
}

/* With the lock held; -1: the table is full. */
static int16_t add(lz_str name)
{
    int16_t type = lz_device_types();
    if (type == LZ_DEVICE_TYPES)
        return -1;
    memcpy(types.rows[type].name, name.ptr, name.len);
    atomic_store_explicit(&types.known, type + 1, memory_order_release);
    return type;
}

lz_err *lz_device_register(lz_str name, int32_t count, int16_t *out)
{
    if (!is_name(name))
        return lz_errf(LZ_ERR_ARG,
                       "'%.*s' cannot name a device type: it takes 1 to %d letters and underscores",
                       LZ_FMT(name), LZ_DEVICE_NAME - 1);
    if (count < 0 || count > LZ_DEVICE_INDICES)
        return lz_errf(LZ_ERR_ARG, "%.*s: %d devices; there can be 0 to %d", LZ_FMT(name), count,
                       LZ_DEVICE_INDICES);
    lz_lock_take(&types.lock);
    int16_t type = find(name);
    type = type < 0 ? add(name) : type;
    if (type >= 0)
        atomic_store_explicit(&types.rows[type].count, count, memory_order_relaxed);
    lz_lock_give(&types.lock);
    if (type < 0)
        return lz_errf(LZ_ERR_LIMIT, "no room for the device type %.*s: there are %d already", LZ_FMT(name),
                       LZ_DEVICE_TYPES);
    *out = type;
    return NULL;
}

/* Parses digits without a leading zero; -1 otherwise. */
static int16_t parse_index(lz_str s)
{
    int64_t v = -1;
    bool plain = s.len > 0 && s.ptr[0] >= '0' && s.ptr[0] <= '9' && (s.len == 1 || s.ptr[0] != '0');
    bool ok = plain && lz_int64_parse(s, &v) && v < LZ_DEVICE_INDICES;
    return ok ? (int16_t)v : (int16_t)-1;
}

static lz_err *unknown_type(lz_str name, lz_str text)
{
    lz_text known = { 0 };
    for (int16_t i = 0; i < lz_device_types(); i++)
        lz_text_printf(&known, "%s%s", i ? ", " : "", types.rows[i].name);
    lz_str list = lz_text_view(&known);
    lz_err *e = lz_text_check(&known);
    if (!e)
        e = lz_errf(LZ_ERR_NOT_FOUND, "device '%.*s': no device type '%.*s' is registered; there is %.*s",
                    LZ_FMT(text), LZ_FMT(name), LZ_FMT(list));
    lz_text_deinit(&known);
    return e;
}

lz_err *lz_device_parse(lz_str text, lz_device *out)
{
    bool indexed;
    lz_str rest = text, name = lz_str_cut(&rest, LZ_STR(":"), &indexed);
    int16_t index = indexed ? parse_index(rest) : (int16_t)-1;
    if (!is_name(name) || (indexed && index < 0))
        return lz_errf(LZ_ERR_SYNTAX, "Invalid device string: '%.*s'", LZ_FMT(text));
    int16_t type = find(name);
    if (type < 0)
        return unknown_type(name, text);
    *out = (lz_device){ type, index };
    return NULL;
}

const char *lz_device_print(lz_device d, char buf[LZ_DEVICE_CHARS])
{
    const char *name = lz_device_name(d.type);
    if (!name && d.type < 0)
        snprintf(buf, LZ_DEVICE_CHARS, "none");
    else if (!name)
        snprintf(buf, LZ_DEVICE_CHARS, "type%d:%d", d.type, d.index);
    else if (d.index < 0)
        snprintf(buf, LZ_DEVICE_CHARS, "%s", name);
    else
        snprintf(buf, LZ_DEVICE_CHARS, "%s:%d", name, d.index);
    return buf;
}

lz_err *lz_device_check(lz_device d)
{
    char text[LZ_DEVICE_CHARS];
    int32_t count = lz_device_count(d.type);
    if (!lz_device_name(d.type))
        return lz_errf(LZ_ERR_ARG, "%s: no such device type", lz_device_print(d, text));
    if (d.index < -1 || d.index >= count)
        return lz_errf(LZ_ERR_ARG, "%s: no such device; there %s %d", lz_device_print(d, text),
                       count == 1 ? "is" : "are", count);
    return NULL;
}
