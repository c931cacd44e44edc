#include "lazy/backend_data.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/profiler.h"
#include "core/convert.h"
#include "core/dtype.h"
#include "lazy/registry.h"
#include <assert.h>
#include <string.h>

/* Waiting is rare and short, so all handles share one lock. A waiter counts itself before it reads the state;
 * a filler reads the count of waiters after it has set the state. So one of the two sees the other. */
static struct {
    lz_lock lock;
    atomic_int waiters;
} ready = { .lock = LZ_LOCK_INIT };

static atomic_int_fast64_t last_id;

const char lz_lost_in_fork[] =
    "the value was being computed when the process was forked; only the parent process gets it";

static int64_t next_id(void)
{
    return atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
}

lz_err *lz_data_create(const lz_backend *b, lz_device d, lz_data_type t, lz_data **out)
{
    lz_backend_device real;
    LZ_TRY(lz_backend_real_device(b, d, &real));
    lz_data *x = lz_mem_zalloc(1, sizeof *x + (size_t)t.sizes.n * sizeof *t.sizes.v);
    if (!x)
        return lz_err_oom();
    int64_t *sizes = (int64_t *)(x + 1);
    if (t.sizes.n)
        memcpy(sizes, t.sizes.v, (size_t)t.sizes.n * sizeof *sizes);
    atomic_init(&x->count, 1);
    atomic_init(&x->state, LZ_DATA_EMPTY);
    x->backend = b;
    x->generation = lz_fork_count();
    x->device = d;
    x->real = real;
    x->id = next_id();
    x->type = (lz_data_type){ t.dtype, { sizes, t.sizes.n } };
    *out = x;
    return NULL;
}

/* Whether make_computation_data_from_scalar makes this type: no dimensions, the widest dtype of a number's
 * kind. */
static bool is_number(lz_data_type t)
{
    return t.sizes.n == 0
           && (t.dtype == LZ_BOOL || t.dtype == LZ_I64 || t.dtype == LZ_F64 || t.dtype == LZ_C128);
}

static lz_err *upload_number(const lz_backend *b, const lz_host_tensor *t, lz_backend_device d, void **out)
{
    lz_scalar v = lz_element_get(t->type.dtype, t->data);
    LZ_TRY(b->make_computation_data_from_scalar(b->self, v, d, out));
    if (t->drop)
        t->drop(t->owner);
    return NULL;
}

static lz_err *bytes_of(lz_data_type t, size_t *out)
{
    size_t n = lz_dtype_size(t.dtype);
    for (int64_t i = 0; i < t.sizes.n; i++)
        if (!lz_size_mul(n, (size_t)t.sizes.v[i], &n))
            return lz_errf(LZ_ERR_LIMIT, "a tensor larger than the address space");
    *out = n;
    return NULL;
}

static void end_span(const lz_span *s, lz_phase phase, lz_data_type t)
{
    size_t bytes = 0;
    if (s->profile)
        lz_err_free(bytes_of(t, &bytes));
    lz_span_end(s, &(lz_span_note){ .phase = phase, .bytes = bytes });
}

lz_err *lz_data_upload(const lz_backend *b, lz_device d, const lz_host_tensor *t, lz_data **out)
{
    lz_data *x;
    void *payload = NULL;
    LZ_TRY(lz_data_create(b, d, t->type, &x));
    lz_span span = lz_span_begin();
    lz_err *e = is_number(t->type) ? upload_number(b, t, x->real, &payload)
                                   : b->make_computation_data_from_tensor(b->self, t, x->real, &payload);
    end_span(&span, LZ_PHASE_UPLOAD, t->type);
    if (e) {
        lz_data_release(x);
        return e;
    }
    lz_data_fill(x, payload);
    *out = x;
    return NULL;
}

lz_data *lz_data_retain(lz_data *d)
{
    assert(atomic_load_explicit(&d->count, memory_order_relaxed) > 0);
    atomic_fetch_add_explicit(&d->count, 1, memory_order_relaxed);
    return d;
}

void lz_data_release(lz_data *d)
{
    if (!d || atomic_fetch_sub_explicit(&d->count, 1, memory_order_acq_rel) != 1)
        return;
    if (d->payload)
        d->backend->release_data(d->backend->self, d->payload);
    lz_mem_free(d->failure);
    lz_mem_free(d);
}

bool lz_data_is_sole(const lz_data *d)
{
    return atomic_load_explicit(&d->count, memory_order_acquire) == 1;
}

void *lz_data_renew(lz_data *d)
{
    void *payload = d->payload;
    assert(lz_data_state_of(d) == LZ_DATA_FULL);
    d->payload = NULL;
    d->generation = lz_fork_count();
    d->id = next_id();
    atomic_store(&d->state, LZ_DATA_EMPTY);
    return payload;
}

lz_data_state lz_data_state_of(const lz_data *d)
{
    return (lz_data_state)atomic_load_explicit(&d->state, memory_order_acquire);
}

static void settle(lz_data *d, lz_data_state s)
{
    assert(atomic_load(&d->state) == LZ_DATA_EMPTY); /* a handle is settled once */
    atomic_store(&d->state, (int)s);
    if (atomic_load(&ready.waiters) == 0)
        return;
    lz_lock_take(&ready.lock);
    lz_lock_wake(&ready.lock);
    lz_lock_give(&ready.lock);
}

void lz_data_fill(lz_data *d, void *payload)
{
    d->payload = payload;
    settle(d, LZ_DATA_FULL);
}

/* Copies text and file of the error into one block. Without memory for the copy the handle keeps the kind of
 * the error. */
void lz_data_fail(lz_data *d, const lz_err *why)
{
    lz_loc at = lz_err_loc(why);
    const char *text = lz_err_text(why);
    size_t n = strlen(text) + 1, m = at.file ? strlen(at.file) + 1 : 0;
    d->failure = lz_mem_alloc(n + m);
    if (d->failure) {
        memcpy(d->failure, text, n);
        if (m)
            memcpy(d->failure + n, at.file, m);
        at.file = m ? d->failure + n : NULL;
        d->failure_at = at;
    }
    d->failure_code = lz_err_code(why);
    d->failure_reason = lz_err_reason(why);
    d->failure_names_op = lz_err_names_op(why);
    settle(d, LZ_DATA_FAILED);
}

/* Requires the lock. */
static void abandon(lz_data *d)
{
    d->failure = NULL;
    d->failure_code = LZ_ERR_BUSY;
    atomic_store(&d->state, LZ_DATA_FAILED);
}

static void wait_for(lz_data *d)
{
    lz_lock_take(&ready.lock);
    atomic_fetch_add(&ready.waiters, 1);
    while (atomic_load(&d->state) == LZ_DATA_EMPTY)
        if (d->generation == lz_fork_count())
            lz_lock_wait(&ready.lock);
        else
            abandon(d);
    atomic_fetch_sub(&ready.waiters, 1);
    lz_lock_give(&ready.lock);
}

lz_err *lz_data_failure(const lz_data *d)
{
    assert(lz_data_state_of(d) == LZ_DATA_FAILED);
    if (d->failure_code == LZ_ERR_MEMORY && !d->failure)
        return lz_err_oom();
    const char *why = d->failure_code == LZ_ERR_BUSY ? lz_lost_in_fork : "the value was not computed";
    lz_err *e = lz_err_at(d->failure_code, d->failure_at, "%s", d->failure ? d->failure : why);
    lz_err_set_reason(e, d->failure_reason);
    return d->failure_names_op ? lz_err_set_names_op(e) : e;
}

lz_err *lz_data_wait(lz_data *d)
{
    if (lz_data_state_of(d) == LZ_DATA_EMPTY) {
        lz_span span = lz_span_begin();
        wait_for(d);
        lz_span_end(&span, &(lz_span_note){ .phase = LZ_PHASE_WAIT });
    }
    return lz_data_state_of(d) == LZ_DATA_FULL ? NULL : lz_data_failure(d);
}

lz_err *lz_data_read(lz_data *d, lz_dtype logical, const lz_host_tensor *out)
{
    LZ_TRY(lz_data_wait(d));
    lz_span span = lz_span_begin();
    lz_err *e = d->backend->make_tensor_from_computation_data(d->backend->self, d->payload, logical, out);
    end_span(&span, LZ_PHASE_DOWNLOAD, d->type);
    return e;
}

/* ---- copies ---- */

static void row_major(lz_ints sizes, int64_t *strides)
{
    int64_t step = 1;
    for (int64_t i = sizes.n; i-- > 0; step *= sizes.v[i] > 1 ? sizes.v[i] : 1)
        strides[i] = step;
}

static lz_err *through_host(lz_data *from, const lz_backend *b, lz_device d, lz_data **out)
{
    size_t bytes;
    LZ_TRY(bytes_of(from->type, &bytes));
    int64_t *strides = lz_mem_zalloc((size_t)from->type.sizes.n + 1, sizeof *strides);
    void *memory = lz_mem_alloc_aligned(bytes, 64);
    lz_host_tensor t = { .type = from->type, .strides = { strides, from->type.sizes.n }, .data = memory };
    lz_err *e = strides && memory ? NULL : lz_err_oom();
    if (!e) {
        row_major(from->type.sizes, strides);
        e = lz_data_read(from, from->type.dtype, &t);
    }
    if (!e)
        e = lz_data_upload(b, d, &t, out);
    lz_mem_free(strides);
    lz_mem_free(memory);
    return e;
}

static lz_err *within_backend(lz_data *from, lz_device d, lz_data **out)
{
    lz_data *x;
    void *payload = NULL;
    LZ_TRY(lz_data_create(from->backend, d, from->type, &x));
    lz_span span = lz_span_begin();
    lz_err *e = from->backend->copy_data(from->backend->self, from->payload, from->real, x->real, &payload);
    end_span(&span, LZ_PHASE_COPY, from->type);
    if (e) {
        lz_data_release(x);
        return e;
    }
    lz_data_fill(x, payload);
    *out = x;
    return NULL;
}

lz_err *lz_data_copy(lz_data *from, const lz_backend *b, lz_device d, lz_data **out)
{
    LZ_TRY(lz_data_wait(from));
    if (from->backend == b && lz_device_eq(from->device, d)) {
        *out = lz_data_retain(from);
        return NULL;
    }
    return from->backend == b && b->copy_data ? within_backend(from, d, out) : through_host(from, b, d, out);
}
