#include "base/vec.h"
#include "base/mem.h"
#include <string.h>

/* Every LZ_VEC starts with a pointer and two sizes. They are accessed as bytes, because the pointer's type
 * differs between vectors. */
typedef struct raw_vec {
    void *data;
    size_t len, cap;
} raw_vec;

lz_err *lz_vec_grow(void *vec, size_t elem, size_t extra)
{
    raw_vec v;
    size_t need, bytes;
    memcpy(&v, vec, sizeof v);
    if (!lz_size_add(v.len, extra, &need))
        return lz_err_oom();
    if (need <= v.cap)
        return NULL;
    size_t cap = v.cap < 4 ? 8 : v.cap * 2;
    cap = cap < need ? need : cap;
    void *p = lz_size_mul(cap, elem, &bytes) ? lz_mem_resize(v.data, bytes) : NULL;
    if (!p)
        return lz_err_oom();
    v.data = p;
    v.cap = cap;
    memcpy(vec, &v, sizeof v);
    return NULL;
}

void lz_vec_free(void *vec)
{
    raw_vec v;
    memcpy(&v, vec, sizeof v);
    lz_mem_free(v.data);
    v = (raw_vec){ 0 };
    memcpy(vec, &v, sizeof v);
}
