/* A step of Adam over many small parameters: vectors and matrices of 16 to 2,048 elements. */
#include "base/mem.h"
#include "harness/bench_impl.h"
#include <lazuli/optim.h>
#include <stdio.h>

enum { PARAMETERS = 200, WIDTH = 16, KINDS = 8, NAME = 24 };

typedef struct updates {
    const lz_bench *b;
    lz_optim *o;
    size_t n;
    lz_named_tensor *p;
    lz_tensor **grads;
    char (*names)[NAME];
} updates;

/* Every second parameter is a matrix. */
static lz_err *make_one(updates *u, size_t i)
{
    int64_t rows = WIDTH * (int64_t)(1 + i % KINDS);
    lz_tensor *p;
    snprintf(u->names[i], NAME, "p%zu", i);
    LZ_TRY(lz_bench_input(u->b, i % 2 ? LZ_DIMS(rows, WIDTH) : LZ_DIMS(rows), &p, NULL));
    u->p[i] = (lz_named_tensor){ u->names[i], p };
    lz_set_requires_grad(p, true);
    return lz_bench_input(u->b, lz_tensor_sizes(p), &u->grads[i], NULL);
}

static lz_err *make(updates *u)
{
    for (size_t i = 0; i < u->n; i++)
        LZ_TRY(make_one(u, i));
    u->o = lz_optim_create(u->b->c, LZ_ADAM);
    lz_optim_add_group(u->o, (lz_named_tensors){ u->p, u->n }, NULL);
    return lz_bench_check(u->b);
}

static lz_err *step(void *user)
{
    updates *u = user;
    for (size_t i = 0; i < u->n; i++)
        lz_set_grad(u->p[i].tensor, u->grads[i]);
    lz_optim_step(u->o);
    lz_mark_step(u->b->c);
    lz_wait(u->b->c);
    return lz_bench_check(u->b);
}

static lz_err *measure(updates *u)
{
    char name[32];
    lz_measured ways[] = { { .run = step, .user = u }, { .run = NULL } };
    LZ_TRY(make(u));
    LZ_TRY(lz_bench_measure(u->b, ways, 2));
    snprintf(name, sizeof name, "n=%zu", u->n);
    lz_bench_report_times(u->b, name, ways, NULL, 1e6, "us");
    return NULL;
}

lz_err *lz_bench_adam(lz_bench *b)
{
    updates u = { .b = b, .n = b->o.n ? (size_t)b->o.n : PARAMETERS };
    u.p = lz_mem_zalloc(u.n, sizeof *u.p);
    u.grads = lz_mem_zalloc(u.n, sizeof *u.grads);
    u.names = lz_mem_zalloc(u.n, sizeof *u.names);
    lz_scope *s = lz_scope_push(b->c);
    lz_err *e = u.p && u.grads && u.names ? measure(&u) : lz_err_oom();
    lz_optim_free(u.o);
    lz_scope_pop(s);
    lz_mem_free(u.p);
    lz_mem_free(u.grads);
    lz_mem_free(u.names);
    return e;
}
