#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

static void *libc_resize(void *user, void *ptr, size_t size, size_t align)
{
    (void)user;
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    if (align <= LZ_MEM_ALIGN)
        return realloc(ptr, size);
    void *out = NULL;
    return posix_memalign(&out, align, size) == 0 ? out : NULL;
}

static const lz_allocator libc_allocator = { .resize = libc_resize };
static lz_allocator current = { .resize = libc_resize };

void lz_allocator_set(const lz_allocator *a)
{
    current = a ? *a : libc_allocator;
}

void *lz_mem_alloc(size_t size)
{
    return current.resize(current.user, NULL, size ? size : 1, LZ_MEM_ALIGN);
}

void *lz_mem_zalloc(size_t count, size_t size)
{
    size_t total;
    if (!lz_size_mul(count, size, &total))
        return NULL;
    void *p = lz_mem_alloc(total);
    if (p)
        memset(p, 0, total);
    return p;
}

void *lz_mem_resize(void *ptr, size_t size)
{
    return current.resize(current.user, ptr, size ? size : 1, LZ_MEM_ALIGN);
}

void *lz_mem_alloc_aligned(size_t size, size_t align)
{
    return current.resize(current.user, NULL, size ? size : 1, align);
}

void lz_mem_free(void *ptr)
{
    if (ptr)
        current.resize(current.user, ptr, 0, LZ_MEM_ALIGN);
}

bool lz_size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

bool lz_size_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
