/* Sequences of layers, operators as layers, changes of shape. */
#include "nn/module.h"

/* ---- sequential ---- */

static lz_tensor *forward_sequential(lz_module *m, lz_tensor *x)
{
    for (lz_module *k = m->first; k; k = k->next)
        x = lz_forward_at(k, m->at, x);
    return x;
}

lz_module *lz_nn_sequential_at(lz_module *parent, lz_loc at, const char *name)
{
    static const lz_layer layer = { { "Sequential", forward_sequential, NULL }, NULL };
    return lz_layer_make(parent, at, name, &layer, NULL, 0);
}

/* ---- operators ---- */

typedef struct unary {
    lz_unary_op *op;
} unary;

static lz_tensor *forward_op(lz_module *m, lz_tensor *x)
{
    return ((const unary *)m->data)->op(m->ctx, m->at, x);
}

lz_module *lz_nn_op_at(lz_module *parent, lz_loc at, const char *name, lz_unary_op *op)
{
    static const lz_layer layer = { { "Op", forward_op, NULL }, NULL };
    unary o = { op };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}

static lz_tensor *forward_identity(lz_module *m, lz_tensor *x)
{
    (void)m;
    return x;
}

lz_module *lz_nn_identity_at(lz_module *parent, lz_loc at, const char *name)
{
    static const lz_layer layer = { { "Identity", forward_identity, NULL }, NULL };
    return lz_layer_make(parent, at, name, &layer, NULL, 0);
}

/* ---- shapes ---- */

static lz_tensor *forward_flatten(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const lz_flatten_options *o = m->data;
    return lz_flatten_using_ints(m->ctx, x, .start_dim = o->start_dim, .end_dim = o->end_dim);
}

lz_module *lz_nn_flatten_at(lz_module *parent, lz_loc at, const char *name, const lz_flatten_options *options)
{
    static const lz_layer layer = { { "Flatten", forward_flatten, NULL }, NULL };
    return lz_layer_make(parent, at, name, &layer, options, sizeof *options);
}

typedef struct unflattening {
    int64_t dim;
    lz_ints sizes;
} unflattening;

static lz_err *build_unflatten(lz_module *m)
{
    unflattening *o = m->data;
    return o->sizes.n > 0 ? lz_module_keep_ints(m, &o->sizes)
                          : lz_errf(LZ_ERR_ARG, "sizes must not be empty");
}

static lz_tensor *forward_unflatten(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const unflattening *o = m->data;
    return lz_unflatten_int(m->ctx, x, o->dim, o->sizes);
}

lz_module *lz_nn_unflatten_at(lz_module *parent, lz_loc at, const char *name, int64_t dim, lz_ints sizes)
{
    static const lz_layer layer = { { "Unflatten", forward_unflatten, NULL }, build_unflatten };
    unflattening o = { dim, sizes };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}

typedef struct shuffling {
    lz_shuffle_kind kind;
    int64_t count;
} shuffling;

static lz_err *build_shuffle(lz_module *m)
{
    const shuffling *o = m->data;
    if ((unsigned)o->kind > LZ_CHANNEL_SHUFFLE)
        return lz_errf(LZ_ERR_ARG, "expected an lz_shuffle_kind");
    return o->count > 0 ? NULL : lz_errf(LZ_ERR_ARG, "factors and groups must be greater than zero");
}

static lz_tensor *forward_shuffle(lz_module *m, lz_tensor *x)
{
    typedef lz_tensor *shuffle_fn(lz_ctx *, lz_loc, lz_tensor *, int64_t);
    static shuffle_fn *const shuffle[] = { [LZ_PIXEL_SHUFFLE] = lz_pixel_shuffle_at,
                                           [LZ_PIXEL_UNSHUFFLE] = lz_pixel_unshuffle_at,
                                           [LZ_CHANNEL_SHUFFLE] = lz_channel_shuffle_at };
    const shuffling *o = m->data;
    return shuffle[o->kind](m->ctx, m->at, x, o->count);
}

lz_module *lz_nn_shuffle_at(lz_module *parent, lz_loc at, const char *name, lz_shuffle_kind kind,
                            int64_t count)
{
    static const lz_layer layer = { { "Shuffle", forward_shuffle, NULL }, build_shuffle };
    shuffling o = { kind, count };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}
