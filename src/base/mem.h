/* mem.h - all heap memory, through the allocator hook of lazuli/base.h.
 *
 * NULL means failure; nothing here makes an lz_err, because errors are themselves allocated here. Sizes of
 * zero are rounded up to one byte, so NULL is never a success. */
#ifndef LZ_BASE_MEM_H
#define LZ_BASE_MEM_H

#include <lazuli/base.h>
#include <stdbool.h>

enum { LZ_MEM_ALIGN = 16 };

void *lz_mem_alloc(size_t size);
void *lz_mem_zalloc(size_t count, size_t size); /* overflow-checked, zeroed */
void *lz_mem_resize(void *ptr, size_t size);
void *lz_mem_alloc_aligned(size_t size, size_t align); /* align: a power of two */
void lz_mem_free(void *ptr);

/* false on overflow */
bool lz_size_mul(size_t a, size_t b, size_t *out);
bool lz_size_add(size_t a, size_t b, size_t *out);

#endif
