/* backend_data.h - elements on a device: a counted handle around a backend's payload.
 *
 * A handle is created full, or empty for a result that is not computed yet. The thread that computes the
 * result fills the handle or marks it as failed, once; after that the handle does not change until its last
 * count is released. Any thread may hold a handle, wait for it and read it. */
#ifndef LZ_LAZY_BACKEND_DATA_H
#define LZ_LAZY_BACKEND_DATA_H

#include "base/err.h"
#include "core/device.h"
#include <lazuli/backend.h>
#include <stdatomic.h>

typedef enum lz_data_state { LZ_DATA_EMPTY, LZ_DATA_FULL, LZ_DATA_FAILED } lz_data_state;

struct lz_data {
    atomic_uint count;
    atomic_int state; /* lz_data_state; acquire to read what it guards */
    const lz_backend *backend;
    lz_device device; /* virtual */
    lz_backend_device real;
    void *payload;       /* when FULL */
    unsigned generation; /* the fork count of the process that made the handle (lz_fork_count) */
    int64_t id;          /* unique in the process, never reused */
    char *failure;       /* when FAILED: why, for messages */
    lz_code failure_code;
    lz_reason failure_reason;
    bool failure_names_op;
    lz_loc failure_at; /* the line that recorded what failed */
    lz_data_type type; /* sizes lie behind */
};

LZ_MUST_USE lz_err *lz_data_create(const lz_backend *b, lz_device d, lz_data_type t, lz_data **out);
LZ_MUST_USE lz_err *lz_data_upload(const lz_backend *b, lz_device d, const lz_host_tensor *t, lz_data **out);
lz_data *lz_data_retain(lz_data *d);
void lz_data_release(lz_data *d);
bool lz_data_is_sole(const lz_data *d); /* the caller has the only count */
/* Makes a full handle that nobody else reads empty again, with another id. Returns the former payload. */
void *lz_data_renew(lz_data *d);

/* One of the two is called once, by the thread that computes the data; wakes all waiting threads. */
void lz_data_fill(lz_data *d, void *payload);
void lz_data_fail(lz_data *d, const lz_err *why);

extern const char lz_lost_in_fork[];

lz_data_state lz_data_state_of(const lz_data *d);
lz_err *lz_data_failure(const lz_data *d); /* requires a failed handle */

/* Waits until the handle is full or failed; the error says why. Data that another thread was computing when
 * the process was forked fails in the child. */
LZ_MUST_USE lz_err *lz_data_wait(lz_data *d);
/* Waits, then copies to the host. */
LZ_MUST_USE lz_err *lz_data_read(lz_data *d, lz_dtype logical, const lz_host_tensor *out);

/* Waits, then copies the elements to a device, possibly of another backend; for the same device *out is one
 * more count of `from`. */
LZ_MUST_USE lz_err *lz_data_copy(lz_data *from, const lz_backend *b, lz_device d, lz_data **out);

#endif
