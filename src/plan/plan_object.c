/* A plan as an object: made, destroyed, asked about. */
#include "base/mem.h"
#include "plan/plan_impl.h"

void lz_plan_clear(lz_plan *p)
{
    for (size_t i = 0; i < p->n_launches; i++)
        lz_kernel_release(p->launches[i].kernel);
    lz_arena_deinit(&p->arena);
    *p = (lz_plan){ .number = p->number };
    lz_arena_init(&p->arena);
}

void lz_plan_destroy(lz_plan *p)
{
    if (p)
        lz_plan_clear(p);
    lz_mem_free(p);
}

lz_plan *lz_plan_new(void)
{
    static atomic_uint_fast64_t last;
    lz_plan *p = lz_mem_zalloc(1, sizeof *p);
    if (!p)
        return NULL;
    lz_arena_init(&p->arena);
    p->number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    return p;
}

/* ---- queries ---- */

size_t lz_plan_outputs(const lz_plan *p)
{
    return p->n_outputs;
}

const lz_plan_output *lz_plan_output_get(const lz_plan *p, size_t i)
{
    return &p->outputs[i];
}

size_t lz_plan_launches(const lz_plan *p)
{
    return p->n_launches;
}

void lz_plan_find_read(const lz_plan *p, bool *read)
{
    for (size_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].kind == LZ_PLAN_BUFFER_INPUT)
            read[p->buffers[i].where] = true;
}

lz_plan_bytes lz_plan_measure(const lz_plan *p)
{
    lz_plan_bytes b = { .launches = p->n_launches * sizeof *p->launches };
    b.arguments = sizeof *p + p->arena.total - b.launches;
    for (size_t i = 0; i < p->n_launches; i++)
        b.kernels += p->launches[i].kernel ? lz_kernel_share(p->launches[i].kernel) : 0;
    return b;
}

size_t lz_plan_peak(const lz_plan *p)
{
    return p->peak;
}
