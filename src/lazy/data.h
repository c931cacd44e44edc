/* data.h - elements on a device: a counted handle around a backend's payload.
 *
 * A handle is made empty, as the place for a result that is on its way, or full. It becomes
 * full or failed once, by whoever computes it; after that nothing about it changes until
 * the last count goes. Any thread may hold, wait for and read it. */
#ifndef LZ_LAZY_DATA_H
#define LZ_LAZY_DATA_H

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
    unsigned generation; /* in which it was made (lz_fork_count) */
    int64_t id;          /* of the process; never used again */
    char *failure;       /* when FAILED: why, for messages */
    lz_code failure_code;
    lz_loc failure_at; /* the line that recorded what failed */
    lz_data_type type; /* sizes lie behind */
};

LZ_MUST_USE lz_err *lz_data_create(const lz_backend *b, lz_device d, lz_data_type t, lz_data **out);
LZ_MUST_USE lz_err *lz_data_upload(const lz_backend *b, lz_device d, const lz_host_tensor *t, lz_data **out);
lz_data *lz_data_retain(lz_data *d);
void lz_data_release(lz_data *d);
bool lz_data_is_sole(const lz_data *d); /* the caller has the only count */

/* Once, by whoever computes it; wakes those who wait. */
void lz_data_fill(lz_data *d, void *payload);
void lz_data_fail(lz_data *d, const lz_err *why);

extern const char lz_lost_in_fork[];

lz_data_state lz_data_look(const lz_data *d);
lz_err *lz_data_failure(const lz_data *d); /* of one that failed */

/* Until it is full; the error says why it failed. What another thread was computing when the process was
 * forked fails in the child. */
LZ_MUST_USE lz_err *lz_data_wait(lz_data *d);
/* Waits, then copies to the host. */
LZ_MUST_USE lz_err *lz_data_read(lz_data *d, lz_dtype logical, const lz_host_tensor *out);

/* The same elements on another device, of another backend perhaps; on the same one just another
 * count. Waits. */
LZ_MUST_USE lz_err *lz_data_copy(lz_data *from, const lz_backend *b, lz_device d, lz_data **out);

#endif
