#include "plan/op_nonzero.h"
#include "core/shape.h"
#include "kernel/nonzero.h"
#include <assert.h>

static lz_err *compute(lz_lower *b, const lz_ln *x, const lz_run_args *args, lz_buffer **out)
{
    lz_plan *p;
    LZ_TRY(lz_low_copy(b, x, &x));
    LZ_TRY(lz_plan_create(b, &x, 1, NULL, &p));
    lz_err *e = lz_plan_run(p, args, out);
    lz_plan_destroy(p);
    return e;
}

static lz_err *list(const lz_nonzero *z, lz_buffer_pool *memory, lz_array *found)
{
    LZ_TRY(lz_array_init(found, memory, LZ_I64, LZ_DIMS(lz_nonzero_count(z), z->sizes.n)));
    lz_err *e = lz_nonzero_list(z, found->buffer->data);
    if (e)
        lz_array_deinit(found);
    return e;
}

/* x is bool. */
lz_err *lz_op_nonzero(lz_lower *b, const lz_ln *x, const lz_run_args *args, lz_array *found)
{
    lz_buffer *data;
    lz_nonzero z;
    assert(x->dtype == LZ_BOOL);
    LZ_TRY(compute(b, x, args, &data));
    lz_err *e = lz_nonzero_init(&z, data->data, lz_ln_sizes(x), args->threads);
    if (!e) {
        e = list(&z, args->memory, found);
        lz_nonzero_deinit(&z);
    }
    lz_buffer_release(data);
    return e;
}
