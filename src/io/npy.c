#include "io/npy.h"
#include "base/file.h"
#include "base/mem.h"
#include "core/strides.h"
#include "io/elements.h"
#include "io/npy_header.h"
#include "io/save_archive.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The result borrows the sizes. */
static lz_elements elements_of(const lz_npy_header *h)
{
    return (lz_elements){ h->dtype, h->swapped, h->fortran, lz_shape_ints(&h->sizes) };
}

static lz_err *wrong_size(const char *name, size_t need, size_t have)
{
    return lz_err_at(LZ_ERR_SYNTAX, (lz_loc){ .file = name },
                     "the shape needs %zu bytes of elements, the file has %s%zu", need,
                     have > need ? "more than " : "", have > need ? need : have);
}

static lz_err *bytes_needed(const lz_npy_header *h, const char *name, size_t *out)
{
    lz_elements s = elements_of(h);
    lz_err *e = lz_elements_bytes(&s, out);
    return name ? lz_err_wrap(e, "%s", name) : e;
}

/* Reads n bytes, or less at the end of the file. */
static lz_err *read_up_to(int fd, const char *path, char *p, size_t n, size_t *out)
{
    ssize_t got = 1;
    *out = 0;
    while (*out < n && got != 0) {
        got = read(fd, p + *out, n - *out);
        if (got < 0 && errno != EINTR)
            return lz_err_errno(errno, "read", path);
        *out += got > 0 ? (size_t)got : 0;
    }
    return NULL;
}

static lz_err *read_header(int fd, const char *path, lz_npy_header *out)
{
    char prefix[LZ_NPY_PREFIX];
    size_t got, more, end;
    LZ_TRY(read_up_to(fd, path, prefix, sizeof prefix, &got));
    LZ_TRY(lz_npy_header_length((lz_str){ prefix, got }, path, &end));
    char *bytes = lz_mem_alloc(end > got ? end : got);
    if (!bytes)
        return lz_err_oom();
    memcpy(bytes, prefix, got);
    lz_err *e = end > got ? read_up_to(fd, path, bytes + got, end - got, &more) : NULL;
    if (!e)
        e = lz_npy_header_parse((lz_str){ bytes, end > got ? got + more : got }, path, out);
    lz_mem_free(bytes);
    return e;
}

/* Checks the size before memory is allocated. Pipes and devices are not checked. */
static lz_err *check_file_size(int fd, const char *path, size_t need)
{
    struct stat st;
    off_t at = lseek(fd, 0, SEEK_CUR);
    if (at < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return NULL;
    size_t have = st.st_size > at ? (size_t)(st.st_size - at) : 0;
    return have < need ? wrong_size(path, need, have) : NULL;
}

static lz_err *read_elements(int fd, const char *path, lz_buffer *b)
{
    size_t got, more = 0;
    char beyond;
    LZ_TRY(read_up_to(fd, path, b->data, b->size, &got));
    if (got == b->size)
        LZ_TRY(read_up_to(fd, path, &beyond, 1, &more));
    return got + more == b->size ? NULL : wrong_size(path, b->size, got + more);
}

static lz_err *read_array(int fd, const char *path, lz_buffer_pool *pool, lz_array *out)
{
    lz_npy_header h;
    lz_buffer *b;
    size_t need;
    LZ_TRY(read_header(fd, path, &h));
    LZ_TRY(bytes_needed(&h, path, &need));
    LZ_TRY(check_file_size(fd, path, need));
    LZ_TRY(lz_buffer_create(pool, need, &b));
    lz_elements s = elements_of(&h);
    lz_err *e = read_elements(fd, path, b);
    if (!e)
        e = lz_elements_adopt(&s, b, out);
    lz_buffer_release(b);
    return e;
}

lz_err *lz_npy_read(const char *path, lz_buffer_pool *pool, lz_array *out)
{
    *out = (lz_array){ .dtype = LZ_DTYPE_NONE };
    int fd;
    LZ_TRY(lz_file_open(path, &fd));
    lz_err *e = read_array(fd, path, pool, out);
    close(fd);
    return e;
}

static bool lies_in_fortran_order(const lz_array *a)
{
    lz_shape sizes = a->sizes, strides = a->strides;
    for (int64_t i = 0; i < a->sizes.n; i++) {
        sizes.v[i] = a->sizes.v[a->sizes.n - 1 - i];
        strides.v[i] = a->strides.v[a->sizes.n - 1 - i];
    }
    return !lz_array_is_contiguous(a)
           && lz_strides_are_contiguous(lz_shape_ints(&sizes), lz_shape_ints(&strides));
}

static void put_elements(const lz_array *a, lz_text *out)
{
    size_t size = lz_dtype_size(a->dtype);
    const char *first = (const char *)a->buffer->data + (size_t)a->offset * size;
    lz_text_add(out, (lz_str){ first, (size_t)a->numel * size });
}

lz_err *lz_npy_encode(const lz_array *a, lz_text *out)
{
    bool fortran = lies_in_fortran_order(a);
    lz_array packed;
    LZ_TRY(lz_npy_header_print(a->dtype, lz_array_sizes(a), fortran, out));
    if (fortran || lz_array_is_contiguous(a)) {
        put_elements(a, out);
        return lz_text_check(out);
    }
    LZ_TRY(lz_array_init_clone(&packed, NULL, a, a->dtype));
    put_elements(&packed, out);
    lz_array_deinit(&packed);
    return lz_text_check(out);
}

lz_err *lz_npy_write(const char *path, const lz_array *a)
{
    lz_text t = { 0 };
    mode_t mode;
    LZ_TRY(lz_save_mode(path, &mode));
    lz_err *e = lz_npy_encode(a, &t);
    if (!e)
        e = lz_file_replace(path, lz_text_view(&t), mode, 0);
    lz_text_deinit(&t);
    return e;
}
