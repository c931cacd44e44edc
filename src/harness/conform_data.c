/* Data on a device: elements of all kinds are the same after a round trip, also from a caller's strided
 * memory and between devices; released memory is freed. */
#include "core/convert.h"
#include "harness/conform.h"
#include "lazy/registry.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const lz_dtype dtypes[] = { LZ_BOOL, LZ_U8,  LZ_I8,   LZ_I16, LZ_I32,
                                   LZ_I64,  LZ_F16, LZ_BF16, LZ_F32, LZ_F64 };

enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* Compares the bits of a tensor and an array. */
static lz_err *same_bits(lz_conform *k, lz_ctx *c, lz_tensor *t, const lz_array *want)
{
    lz_array got;
    bool ok;
    LZ_TRY(lz_conform_read(k, t, c, &got, &ok));
    size_t bytes = (size_t)want->numel * lz_dtype_size(want->dtype);
    if (ok && memcmp(want->buffer->data, got.buffer->data, bytes) != 0)
        lz_text_puts(&k->why, "the elements differ after a round trip");
    lz_array_deinit(&got);
    return NULL;
}

static lz_err *judge(lz_conform *k, const char *group, const char *what, lz_dtype d, lz_ints sizes)
{
    char shape[LZ_SHAPE_CHARS], id[LZ_SHAPE_CHARS + 64];
    snprintf(id, sizeof id, "%s%s%s", what, lz_dtype_get(d)->script, lz_shape_print(sizes, shape));
    return lz_conform_done(k, group, id);
}

/* ---- round trips ---- */

static lz_err *round_trip(lz_conform *k, lz_dtype d, lz_ints sizes, lz_flavour f)
{
    lz_array a;
    LZ_TRY(lz_conform_fill(d, sizes, f, 5, &a));
    lz_scope *s = lz_scope_push(k->dev);
    lz_err *e = same_bits(k, k->dev, lz_from_memory(k->dev, d, sizes, a.buffer->data), &a);
    lz_scope_pop(s);
    lz_clear(k->dev);
    lz_array_deinit(&a);
    return e ? e : judge(k, "data", "", d, sizes);
}

static lz_err *round_trips(lz_conform *k)
{
    static const int64_t sizes[] = { 2, 3, 4 }, empty[] = { 0, 3 };
    static const int64_t long_ones[] = { 257, 4097, 100000 };
    for (size_t i = 0; i < DTYPES; i++) {
        LZ_TRY(round_trip(k, dtypes[i], (lz_ints){ NULL, 0 }, LZ_WIDE));
        LZ_TRY(round_trip(k, dtypes[i], (lz_ints){ sizes, 3 }, LZ_SPECIAL));
        LZ_TRY(round_trip(k, dtypes[i], (lz_ints){ empty, 2 }, LZ_PLAIN));
    }
    for (size_t i = 0; i < 3; i++) {
        LZ_TRY(round_trip(k, LZ_F32, (lz_ints){ &long_ones[i], 1 }, LZ_PLAIN));
        LZ_TRY(round_trip(k, LZ_I64, (lz_ints){ &long_ones[i], 1 }, LZ_WIDE));
    }
    return NULL;
}

/* ---- memory of the caller ---- */

static atomic_int dropped;

static void drop(void *owner)
{
    (void)owner;
    atomic_fetch_add(&dropped, 1);
}

enum { ROWS = 3, COLUMNS = 4, ROOM = 2 * ROWS * COLUMNS };

/* The expected elements: `room` seen as ROWS by COLUMNS with these strides. */
static lz_err *expected(const lz_array *room, const int64_t *strides, lz_array *out)
{
    static const int64_t sizes[] = { ROWS, COLUMNS };
    size_t size = lz_dtype_size(room->dtype);
    LZ_TRY(lz_array_init(out, NULL, room->dtype, (lz_ints){ sizes, 2 }));
    for (int64_t i = 0; i < (int64_t)ROWS * COLUMNS; i++)
        memcpy((char *)out->buffer->data + (size_t)i * size,
               (char *)room->buffer->data
                   + (size_t)(i / COLUMNS * strides[0] + i % COLUMNS * strides[1]) * size,
               size);
    return NULL;
}

static lz_err *look_at(lz_conform *k, const lz_array *room, const int64_t *strides)
{
    static const int64_t sizes[] = { ROWS, COLUMNS };
    lz_array want;
    LZ_TRY(expected(room, strides, &want));
    atomic_store(&dropped, 0);
    lz_scope *s = lz_scope_push(k->dev);
    lz_tensor *t = lz_from_foreign(k->dev, room->dtype, (lz_ints){ sizes, 2 }, (lz_ints){ strides, 2 },
                                   room->buffer->data, drop, NULL);
    lz_err *e = same_bits(k, k->dev, t, &want);
    lz_scope_pop(s);
    lz_wait(k->dev);
    lz_clear(k->dev);
    if (!e && !k->why.len && atomic_load(&dropped) != 1)
        lz_text_printf(&k->why, "drop was called %d times, expected once", atomic_load(&dropped));
    lz_array_deinit(&want);
    return e;
}

static lz_err *foreign_memory(lz_conform *k)
{
    static const struct {
        const char *what;
        int64_t strides[2];
    } layouts[] = { { "row-major ", { COLUMNS, 1 } },
                    { "transposed ", { 1, ROWS } },
                    { "stepped ", { (int64_t)2 * COLUMNS, 2 } },
                    { "expanded ", { 0, 1 } } };
    static const lz_dtype some[] = { LZ_F32, LZ_F64, LZ_I64, LZ_F16, LZ_U8 };
    static const int64_t length[] = { ROOM };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        for (size_t d = 0; d < sizeof some / sizeof *some; d++) {
            lz_array room;
            LZ_TRY(lz_conform_fill(some[d], (lz_ints){ length, 1 }, LZ_WIDE, 9 + d, &room));
            lz_err *e = look_at(k, &room, layouts[i].strides);
            lz_array_deinit(&room);
            LZ_TRY(e);
            LZ_TRY(judge(k, "foreign", layouts[i].what, some[d], (lz_ints){ NULL, 0 }));
        }
    return NULL;
}

/* ---- copies between devices ---- */

static size_t count_devices(const lz_conform *k)
{
    const lz_backend *b = lz_get_backend(k->device);
    size_t n = 0;
    lz_err *e = b->get_backend_devices(b->self, NULL, 0, &n);
    lz_err_free(e);
    return e ? 0 : n;
}

/* Copies data to the other device, computes there, and copies the result back. */
static lz_err *copy_to_and_fro(lz_conform *k, const lz_array *a)
{
    lz_ctx *c = k->dev;
    lz_tensor *t = lz_from_memory(c, a->dtype, lz_array_sizes(a), a->buffer->data);
    lz_device here = lz_tensor_device(t), there = { here.type, here.index == 0 };
    lz_tensor *copy = lz_copy_to(c, t, there);
    LZ_TRY(same_bits(k, c, copy, a));
    const lz_value in[] = { lz_value_tensor(copy) };
    lz_value same;
    if (k->why.len || !lz_conform_call(c, &lz_op_table[LZ_OP_clone], in, 1, &same))
        return NULL;
    LZ_TRY(same_bits(k, c, lz_copy_to(c, same.tensor, here), a));
    return k->why.len ? NULL : same_bits(k, c, t, a); /* the original is unchanged */
}

static lz_err *copies(lz_conform *k)
{
    static const int64_t sizes[] = { 7, 37 };
    for (size_t i = 0; i < DTYPES && count_devices(k) > 1; i++) {
        lz_array a;
        LZ_TRY(lz_conform_fill(dtypes[i], (lz_ints){ sizes, 2 }, LZ_WIDE, i, &a));
        lz_scope *s = lz_scope_push(k->dev);
        lz_err *e = copy_to_and_fro(k, &a);
        lz_clear(k->dev);
        lz_scope_pop(s);
        lz_array_deinit(&a);
        LZ_TRY(e);
        LZ_TRY(judge(k, "copies", "", dtypes[i], (lz_ints){ sizes, 2 }));
    }
    return NULL;
}

lz_err *lz_conform_data(lz_conform *k)
{
    if (lz_conform_wants(k, "data", NULL))
        LZ_TRY(round_trips(k));
    if (lz_conform_wants(k, "foreign", NULL))
        LZ_TRY(foreign_memory(k));
    return lz_conform_wants(k, "copies", NULL) ? copies(k) : NULL;
}

/* ---- leaks ---- */

/* Bytes in use on all devices; -1: the backend does not report them. */
static int64_t used_bytes(const lz_conform *k)
{
    const lz_backend *b = lz_get_backend(k->device);
    lz_backend_device devices[LZ_BACKEND_DEVICES];
    lz_memory_info m;
    size_t n = 0;
    int64_t all = 0;
    lz_err *e = b->get_backend_devices(b->self, devices, LZ_BACKEND_DEVICES, &n);
    for (size_t i = 0; !e && all >= 0 && i < n && i < LZ_BACKEND_DEVICES; i++) {
        m = (lz_memory_info){ .used_bytes = -1 };
        e = b->get_memory_info(b->self, devices[i], &m);
        all = m.used_bytes < 0 ? -1 : all + m.used_bytes;
    }
    bool failed = e != NULL;
    lz_err_free(e);
    return failed ? -1 : all;
}

static void compute(lz_ctx *c, lz_tensor *t)
{
    const lz_value two[] = { lz_value_tensor(t), lz_value_tensor(t) };
    const lz_value one[] = { lz_value_tensor(t) };
    float v[1];
    lz_value sum, all;
    lz_conform_call(c, &lz_op_table[LZ_OP_add_Tensor], two, 2, &sum);
    lz_conform_call(c, &lz_op_table[LZ_OP_neg_], one, 1, &all);
    lz_mark_step(c);
    const lz_value in[] = { sum };
    if (lz_conform_call(c, &lz_op_table[LZ_OP_sum], in, 1, &all))
        lz_read(all.tensor, v, sizeof v);
}

/* Uploads, runs, reads, and lets a run fail, in a context that is closed afterwards. */
static lz_err *work(lz_conform *k)
{
    static const int64_t bad[] = { 1 << 20 };
    lz_ctx *c = lz_conform_open(k, 0, false);
    lz_tensor *t;
    lz_value lost;
    if (!c)
        return NULL;
    lz_err *e = lz_conform_tensor(c, LZ_F32, LZ_DIMS(1000), LZ_PLAIN, 1, &t);
    if (!e) {
        compute(c, t);
        const lz_value in[] = { lz_value_tensor(t), lz_value_integer(0),
                                lz_value_tensor(lz_from_memory(c, LZ_I64, LZ_DIMS(1), bad)) };
        lz_conform_call(c, &lz_op_table[LZ_OP_index_select], in, 3, &lost);
        lz_mark_step(c);
    }
    lz_close(c);
    return e;
}

lz_err *lz_conform_leaks(lz_conform *k)
{
    if (!lz_conform_wants(k, "leaks", NULL))
        return NULL;
    LZ_TRY(work(k)); /* first run: compiled computations stay in memory */
    int64_t before = used_bytes(k);
    for (int i = 0; i < 3; i++)
        LZ_TRY(work(k));
    int64_t after = used_bytes(k);
    if (after > before)
        lz_text_printf(&k->why,
                       "%lld bytes are in use before, %lld after repeating the same work three times",
                       (long long)before, (long long)after);
    if (!k->why.len && before < 0) {
        lz_text_puts(&k->why, "get_memory_info does not report how many bytes are used");
        return lz_conform_judge(k, "leaks", "memory is given back", LZ_UNSUPPORTED);
    }
    return lz_conform_done(k, "leaks", "memory is given back");
}
