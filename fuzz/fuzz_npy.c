/* Any bytes are an array or are refused. What was read and written reads back as the
 * same array; what was read can be printed. */
#include "core/array_print.h"
#include "io/npy.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

/* From a file in memory: the library reads .npy from files only. */
static lz_err *read_bytes(const void *bytes, size_t size, lz_array *out)
{
    char path[32];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    check(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    lz_err *e = lz_npy_read(path, NULL, out);
    close(fd);
    return e;
}

static void round_trip(const lz_array *a)
{
    const lz_tolerance exact = { .nan_equal = true };
    lz_text t = { 0 };
    lz_array back;
    lz_err *e = lz_npy_encode(a, &t);
    check(!e);
    e = read_bytes(t.ptr, t.len, &back);
    check(!e && lz_array_equal(&back, a, &exact, NULL, NULL));
    lz_array_deinit(&back);
    lz_text_clear(&t);
    e = lz_array_print(a, NULL, &t);
    check(!e || lz_err_code(e) == LZ_ERR_LIMIT);
    lz_err_free(e);
    lz_text_deinit(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lz_array a;
    lz_err *e = read_bytes(data, size, &a);
    if (e)
        check(lz_err_code(e) != LZ_ERR_INTERNAL && lz_err_text(e)[0] != '\0');
    else
        round_trip(&a);
    lz_err_free(e);
    lz_array_deinit(&a);
    return 0;
}
