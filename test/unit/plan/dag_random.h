/* dag_random.h - lowered DAGs of all sorts of nodes, the same for the same seed. */
#ifndef LZ_TEST_DAG_RANDOM_H
#define LZ_TEST_DAG_RANDOM_H

#include "dag_ref.h"

#define D(...) LZ_DIMS(__VA_ARGS__)

enum { DAG_OUTPUTS = 3 };

static inline lz_err *map1(dag *d, lz_kernel_op op, const lz_low_node *x, const lz_low_node **out)
{
    return lz_low_map(&d->b, op, &x, out);
}

static inline lz_err *map2(dag *d, lz_kernel_op op, const lz_low_node *x, const lz_low_node *y,
                           const lz_low_node **out)
{
    const lz_low_node *in[2] = { x, y };
    LZ_TRY(lz_low_expand(&d->b, x, lz_low_node_sizes(x->ndim >= y->ndim ? x : y), &in[0]));
    LZ_TRY(lz_low_expand(&d->b, y, lz_low_node_sizes(in[0]), &in[1]));
    return lz_low_map(&d->b, op, in, out);
}

typedef lz_err *random_fn(dag *d, const lz_low_node *x, const lz_low_node *y, int64_t dim,
                          const lz_low_node **out);

static inline lz_err *some_unary(dag *d, const lz_low_node *x, const lz_low_node *y, int64_t dim,
                                 const lz_low_node **out)
{
    static const lz_kernel_op ops[] = { LZ_KERNEL_NEG, LZ_KERNEL_ABS, LZ_KERNEL_TANH };
    (void)y, (void)dim;
    return map1(d, ops[dag_random() % 3], x, out);
}

static inline bool fits(const lz_low_node *x, const lz_low_node *y)
{
    for (int64_t i = 1; i <= x->ndim && i <= y->ndim; i++) {
        int64_t a = x->sizes[x->ndim - i], b = y->sizes[y->ndim - i];
        if (a != b && a != 1 && b != 1)
            return false;
    }
    return true;
}

static inline lz_err *some_binary(dag *d, const lz_low_node *x, const lz_low_node *y, int64_t dim,
                                  const lz_low_node **out)
{
    static const lz_kernel_op ops[] = { LZ_KERNEL_ADD, LZ_KERNEL_SUB, LZ_KERNEL_MIN, LZ_KERNEL_MAX };
    const lz_low_node *in[2];
    lz_shape s;
    if (!fits(x, y))
        return some_unary(d, x, y, dim, out);
    LZ_TRY(lz_shape_broadcast((lz_ints[]){ lz_low_node_sizes(x), lz_low_node_sizes(y) }, 2, &s));
    LZ_TRY(lz_low_expand(&d->b, x, lz_shape_ints(&s), &in[0]));
    LZ_TRY(lz_low_expand(&d->b, y, lz_shape_ints(&s), &in[1]));
    return lz_low_map(&d->b, ops[dag_random() % 4], in, out);
}

static inline lz_err *some_permute(dag *d, const lz_low_node *x, const lz_low_node *y, int64_t dim,
                                   const lz_low_node **out)
{
    int64_t perm[LZ_MAX_DIMS];
    (void)y, (void)dim;
    for (int64_t i = 0; i < x->ndim; i++)
        perm[i] = (i + 1) % x->ndim;
    return lz_low_permute(&d->b, x, perm, out);
}

static inline lz_err *some_flip(dag *d, const lz_low_node *x, const lz_low_node *y, int64_t dim,
                                const lz_low_node **out)
{
    (void)y;
    return lz_low_slice(&d->b, x, dim, x->sizes[dim] - 1, -1, x->sizes[dim], out);
}

static inline lz_err *some_reduce(dag *d, const lz_low_node *x, const lz_low_node *y, int64_t dim,
                                  const lz_low_node **out)
{
    (void)y;
    return lz_low_reduce(&d->b, dag_random() % 2 ? LZ_KERNEL_RMAX : LZ_KERNEL_RSUM, x, UINT64_C(1) << dim,
                         true, out);
}

static inline lz_err *some_reshape(dag *d, const lz_low_node *x, const lz_low_node *y, int64_t dim,
                                   const lz_low_node **out)
{
    int64_t k = dag_random() % 2 ? 1 : x->numel % 4 == 0 ? 4 : x->numel % 3 == 0 ? 3 : 1;
    (void)y, (void)dim;
    return k == 1 ? lz_low_reshape(&d->b, x, LZ_DIMS(x->numel), out)
                  : lz_low_reshape(&d->b, x, LZ_DIMS(k, x->numel / k), out);
}

static inline lz_err *some_cat(dag *d, const lz_low_node *x, const lz_low_node *y, int64_t dim,
                               const lz_low_node **out)
{
    const lz_low_node *parts[2] = { x, x };
    return x->numel > 2000 ? some_unary(d, x, y, dim, out) : lz_low_cat(&d->b, parts, 2, dim, out);
}

static inline lz_err *some_scan(dag *d, const lz_low_node *x, const lz_low_node *y, int64_t dim,
                                const lz_low_node **out)
{
    (void)y;
    return lz_low_scan(&d->b, LZ_KERNEL_RSUM, x, dim, out);
}

static inline lz_err *some_pad(dag *d, const lz_low_node *x, const lz_low_node *y, int64_t dim,
                               const lz_low_node **out)
{
    const lz_low_node *fill;
    int64_t before[LZ_MAX_DIMS] = { 0 };
    lz_shape s = { .n = x->ndim };
    for (int64_t i = 0; i < x->ndim; i++)
        s.v[i] = x->sizes[i];
    before[dim] = 1;
    s.v[dim] += 2;
    LZ_TRY(lz_low_const(&d->b, lz_scalar_float(-1), (lz_dtype)x->dtype, &fill));
    return x->numel > 2000 ? some_unary(d, x, y, dim, out)
                           : lz_low_pad(&d->b, x, before, lz_shape_ints(&s), fill, out);
}

/* The index is made of the elements themselves: |x| cut to an integer within bounds. */
static inline lz_err *some_gather(dag *d, const lz_low_node *x, const lz_low_node *y, int64_t dim,
                                  const lz_low_node **out)
{
    const lz_low_node *i, *last;
    (void)y;
    LZ_TRY(lz_low_const(&d->b, lz_scalar_float((double)x->sizes[dim] - 1), LZ_F64, &last));
    LZ_TRY(map1(d, LZ_KERNEL_ABS, x, &i));
    LZ_TRY(map2(d, LZ_KERNEL_MIN, i, last, &i));
    LZ_TRY(lz_low_check_index(&d->b, i, x->sizes[dim], dim, true, &i));
    return lz_low_gather(&d->b, x, i, dim, out);
}

/* One element of each row of something pointwise, as a loss asks for it. */
static inline lz_err *some_few(dag *d, const lz_low_node *x, const lz_low_node *y, int64_t dim,
                               const lz_low_node **out)
{
    const lz_low_node *i, *last, *most;
    LZ_TRY(lz_low_const(&d->b, lz_scalar_float((double)x->sizes[dim] - 1), LZ_F64, &last));
    LZ_TRY(lz_low_slice(&d->b, x, dim, 0, 1, 1, &i));
    LZ_TRY(map1(d, LZ_KERNEL_ABS, i, &i));
    LZ_TRY(map2(d, LZ_KERNEL_MIN, i, last, &i));
    LZ_TRY(lz_low_check_index(&d->b, i, x->sizes[dim], dim, true, &i));
    LZ_TRY(lz_low_reduce(&d->b, LZ_KERNEL_RMAX, x, UINT64_C(1) << dim, true, &most));
    LZ_TRY(lz_low_expand(&d->b, most, lz_low_node_sizes(x), &most));
    LZ_TRY(map2(d, LZ_KERNEL_SUB, x, most, &x));
    (void)y;
    return lz_low_gather(&d->b, x, i, dim, out);
}

static inline lz_err *some_update(dag *d, const lz_low_node *x, const lz_low_node *y, int64_t dim,
                                  const lz_low_node **out)
{
    const lz_low_node *part;
    int64_t strides[LZ_MAX_DIMS], s = 1;
    (void)y;
    for (int64_t i = x->ndim; i-- > 0; s *= x->sizes[i])
        strides[i] = s;
    LZ_TRY(lz_low_slice(&d->b, x, dim, 0, 1, 1, &part));
    LZ_TRY(map1(d, LZ_KERNEL_TANH, part, &part));
    return lz_low_update(&d->b, x, part, (x->sizes[dim] - 1) * strides[dim], strides, out);
}

static inline lz_err *some_product(dag *d, const lz_low_node *x, const lz_low_node *y, int64_t dim,
                                   const lz_low_node **out)
{
    const lz_low_node *a, *b;
    (void)y, (void)dim;
    LZ_TRY(map1(d, LZ_KERNEL_TANH, x, &a)); /* keeps numbers small */
    LZ_TRY(lz_low_reshape(&d->b, a, LZ_DIMS(1, x->sizes[0], x->numel / x->sizes[0]), &a));
    LZ_TRY(lz_low_permute(&d->b, a, (int64_t[]){ 0, 2, 1 }, &b));
    return lz_low_matmul(&d->b, a, b, out);
}

static inline lz_err *random_node(dag *d, const lz_low_node **pool, size_t n, const lz_low_node **out)
{
    static random_fn *const makers[] = { some_unary,   some_binary, some_permute, some_flip, some_reduce,
                                         some_reshape, some_cat,    some_scan,    some_pad,  some_gather,
                                         some_few,     some_update, some_product };
    const lz_low_node *x = pool[dag_random() % n], *y = pool[dag_random() % n];
    int64_t dim = x->ndim ? (int64_t)(dag_random() % x->ndim) : 0;
    size_t k = x->ndim ? dag_random() % (sizeof makers / sizeof *makers) : 0;
    return makers[k](d, x, y, dim, out);
}

static inline lz_err *dag_randomise(dag *d, uint64_t seed, const lz_low_node **out)
{
    enum { NODES = 24 };
    const lz_low_node *pool[NODES + 3];
    size_t n = 0;
    dag_seed = seed * 2654435761 + 1;
    LZ_TRY(dag_input(d, LZ_F64, D(4, 3, 2), &pool[n++]));
    LZ_TRY(dag_input(d, LZ_F64, D(12, 2), &pool[n++]));
    LZ_TRY(dag_input(d, LZ_F64, D(3, 1), &pool[n++]));
    for (int i = 0; i < NODES; i++, n++)
        LZ_TRY(random_node(d, pool, n, &pool[n]));
    for (size_t i = 0; i < DAG_OUTPUTS; i++)
        out[i] = pool[n - 1 - i * 5];
    return NULL;
}

#endif
