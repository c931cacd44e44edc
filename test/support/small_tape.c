#include "small_tape.h"
#include "core/dtype.h"
#include <lazuli/autograd.h>

enum { MOST = 256 };

void small_tape_init(small_tape *t, lz_ctx *c)
{
    *t = (small_tape){ .on = true };
    lz_recorder_init(&t->r, c, LZ_HERE);
}

void small_tape_deinit(small_tape *t)
{
    lz_recorder_deinit(&t->r);
}

static lz_tensor *tensor_of(const small_tape *t, const lz_low_value *v)
{
    int64_t slot = lz_recorder_slot(v);
    return slot < 0 ? NULL : t->r.tensors.data[slot];
}

static lz_err *failed(const small_tape *t)
{
    return lz_errf(lz_code_of(t->r.ctx), "%s", lz_message(t->r.ctx));
}

lz_err *small_tape_want(small_tape *t, const lz_low_value *v)
{
    lz_tensor *x = tensor_of(t, v);
    for (size_t i = 0; v->kind == LZ_LOW_VALUE_LIST && i < v->list.n; i++)
        LZ_TRY(small_tape_want(t, &v->list.items[i]));
    if (!x || !lz_dtype_is_float(v->dtype) || lz_tensor_is_inert(x))
        return NULL;
    return lz_set_requires_grad(x, true) ? NULL : failed(t);
}

lz_err *small_tape_call(small_tape *t, uint16_t op, const lz_low_value *args, lz_low_value *results)
{
    lz_grad_mode was = lz_set_grad_mode(t->r.ctx, t->on ? LZ_GRAD_ON : LZ_GRAD_OFF);
    lz_err *e = lz_recorder_call(&t->r, op, args, results);
    lz_set_grad_mode(t->r.ctx, was);
    return e;
}

lz_err *small_tape_back(small_tape *t, const lz_low_value *y, const lz_low_value *gy, size_t ny,
                        const lz_low_value *x, lz_low_value *gx, size_t nx, bool again)
{
    lz_tensor *from[MOST], *grads[MOST], *to[MOST], *out[MOST];
    size_t where[MOST] = { 0 }, n = 0, m = 0;
    for (size_t i = 0; i < ny && n < MOST; i++) {
        from[n] = tensor_of(t, &y[i]);
        grads[n] = tensor_of(t, &gy[i]);
        n += from[n] && grads[n] && lz_requires_grad(from[n]);
    }
    for (size_t i = 0; i < nx && m < MOST; i++) {
        gx[i] = lz_low_value_none();
        where[m] = i;
        to[m] = tensor_of(t, &x[i]);
        m += to[m] && lz_requires_grad(to[m]);
    }
    if (!n || !m)
        return NULL;
    const lz_grad_args args = {
        .gradients = { grads, (int64_t)n }, .retain_graph = true, .create_graph = again, .allow_unused = true
    };
    if (!lz_grad_at(t->r.ctx, LZ_HERE, (lz_tensors){ from, (int64_t)n }, (lz_tensors){ to, (int64_t)m }, out,
                    &args))
        return failed(t);
    for (size_t i = 0; i < m; i++)
        LZ_TRY(lz_recorder_add(&t->r, out[i], &gx[where[i]]));
    return NULL;
}
