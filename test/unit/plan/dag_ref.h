/* dag_ref.h - a lowered DAG computed the slow way: node by node, element by element, in
 * double and int64. What plans give is compared with it. */
#ifndef LZ_TEST_DAG_REF_H
#define LZ_TEST_DAG_REF_H

#include "check.h"
#include "core/convert.h"
#include "core/strided_array.h"
#include "kernel/kernels.h"
#include "plan/plan.h"
#include <math.h>
#include <stdlib.h>

typedef struct dag {
    lz_arena arena;
    lz_lower b;
    lz_array inputs[8];
    lz_scalar scalars[8];
    int64_t n_inputs, n_scalars;
} dag;

static inline void dag_init(dag *d)
{
    *d = (dag){ 0 };
    lz_arena_init(&d->arena);
    lz_low_init(&d->b, &d->arena);
}

static inline void dag_deinit(dag *d)
{
    for (int64_t i = 0; i < d->n_inputs; i++)
        lz_array_deinit(&d->inputs[i]);
    lz_low_deinit(&d->b);
    lz_arena_deinit(&d->arena);
}

static uint64_t dag_seed = 1;
static inline uint64_t dag_random(void)
{
    dag_seed ^= dag_seed << 13;
    dag_seed ^= dag_seed >> 7;
    dag_seed ^= dag_seed << 17;
    return dag_seed * UINT64_C(0x2545F4914F6CDD1D) >> 16;
}

/* A new input with small values; the second half of them are eighths. */
static inline lz_err *dag_input(dag *d, lz_dtype dtype, lz_ints sizes, const lz_low_node **out)
{
    lz_array *a = &d->inputs[d->n_inputs];
    LZ_TRY(lz_array_init(a, NULL, dtype, sizes));
    d->n_inputs++;
    for (int64_t i = 0; i < a->numel; i++) {
        int64_t v = (int64_t)(dag_random() % 65) - 32;
        lz_array_set(a, i, lz_dtype_is_whole(dtype) ? lz_scalar_int(v / 8) : lz_scalar_float((double)v / 8));
    }
    return lz_low_input(&d->b, d->n_inputs - 1, dtype, sizes, lz_array_strides(a), 0, out);
}

static inline lz_err *dag_scalar(dag *d, double v, const lz_low_node **out)
{
    d->scalars[d->n_scalars++] = lz_scalar_float(v);
    return lz_low_scalar(&d->b, d->n_scalars - 1, LZ_F64, out);
}

/* ---- elements ---- */

typedef struct rv {
    double f;
    int64_t i;
} rv;

static inline rv rv_get(const lz_array *a, int64_t at)
{
    lz_scalar s = lz_array_get(a, at);
    return s.kind == LZ_SCALAR_FLOAT ? (rv){ s.re, 0 } : (rv){ (double)s.i, s.i };
}

static inline void rv_set(const lz_array *a, int64_t at, rv v)
{
    lz_array_set(a, at, lz_dtype_is_float(a->dtype) ? lz_scalar_float(v.f) : lz_scalar_int(v.i));
}

static inline rv rv_of(double v)
{
    return (rv){ v, (int64_t)v };
}

static inline rv ref_map(lz_kernel_op op, bool real, rv x, rv y, rv z)
{
    switch (op) {
    case LZ_KERNEL_ADD:
        return real ? rv_of(x.f + y.f) : (rv){ 0, x.i + y.i };
    case LZ_KERNEL_SUB:
        return real ? rv_of(x.f - y.f) : (rv){ 0, x.i - y.i };
    case LZ_KERNEL_MUL:
        return real ? rv_of(x.f * y.f) : (rv){ 0, x.i * y.i };
    case LZ_KERNEL_DIV:
        return rv_of(x.f / y.f);
    case LZ_KERNEL_MAX:
        return real ? rv_of(x.f > y.f ? x.f : y.f) : (rv){ 0, x.i > y.i ? x.i : y.i };
    case LZ_KERNEL_MIN:
        return real ? rv_of(x.f < y.f ? x.f : y.f) : (rv){ 0, x.i < y.i ? x.i : y.i };
    case LZ_KERNEL_LT:
        return (rv){ 0, real ? x.f < y.f : x.i < y.i };
    case LZ_KERNEL_EXP:
        return rv_of(exp(x.f));
    case LZ_KERNEL_TANH:
        return rv_of(tanh(x.f));
    case LZ_KERNEL_SQRT:
        return rv_of(sqrt(x.f));
    case LZ_KERNEL_NEG:
        return real ? rv_of(-x.f) : (rv){ 0, -x.i };
    case LZ_KERNEL_ABS:
        return real ? rv_of(fabs(x.f)) : (rv){ 0, x.i < 0 ? -x.i : x.i };
    case LZ_KERNEL_SELECT:
        return x.i ? y : z;
    default:
        fail_msg("the reference has no op %d", op);
    }
    return x;
}

/* ---- nodes ---- */

static inline void ref_index(const lz_low_node *n, const lz_array *x, const lz_array *fill, lz_array *out)
{
    const lz_low_index_attr *a = n->attr;
    int64_t at[LZ_MAX_DIMS], to[LZ_MAX_DIMS];
    for (int64_t i = 0; i < out->numel; i++) {
        bool in = true;
        lz_array_index_of(out, i, at);
        for (int64_t r = 0; r < x->sizes.n; r++) {
            to[r] = a->v[r];
            for (int64_t c = 0; c < n->ndim; c++)
                to[r] += a->v[x->sizes.n + r * n->ndim + c] * at[c];
            in = in && to[r] >= 0 && to[r] < x->sizes.v[r];
            assert_true(in || a->bounded >> r & 1 || a->bounded);
        }
        lz_scalar v = in ? lz_element_get(x->dtype, lz_array_at(x, to)) : lz_array_get(fill, 0);
        lz_array_set(out, i, v);
    }
}

static inline void ref_reduce(const lz_low_node *n, const lz_array *x, lz_array *out)
{
    uint64_t dims = ((const lz_low_reduce_attr *)n->attr)->dims;
    int64_t at[LZ_MAX_DIMS], reduced = out->numel ? x->numel / out->numel : 0;
    bool real = lz_dtype_is_float(x->dtype);
    for (int64_t o = 0; o < out->numel; o++) {
        rv acc = n->op == LZ_KERNEL_RPROD ? rv_of(1) : rv_of(0);
        int64_t best = 0;
        for (int64_t r = 0; r < reduced; r++) {
            int64_t ko = o, kr = r;
            for (int64_t d = x->sizes.n; d-- > 0;) {
                int64_t *k = dims >> d & 1 ? &kr : &ko;
                at[d] = *k % x->sizes.v[d];
                *k /= x->sizes.v[d];
            }
            lz_scalar s = lz_element_get(x->dtype, lz_array_at(x, at));
            rv v = s.kind == LZ_SCALAR_FLOAT ? rv_of(s.re) : (rv){ (double)s.i, s.i };
            bool more = r == 0 || (real ? v.f > acc.f : v.i > acc.i);
            if (n->op == LZ_KERNEL_RSUM)
                acc = (rv){ acc.f + v.f, acc.i + v.i };
            else if (n->op == LZ_KERNEL_RPROD)
                acc = (rv){ acc.f * v.f, acc.i * v.i };
            else if (more) {
                acc = v;
                best = r;
            }
        }
        rv_set(out, o, n->op == LZ_KERNEL_RARGMAX ? (rv){ 0, best } : acc);
    }
}

static inline void ref_scan(const lz_low_node *n, const lz_array *x, lz_array *out)
{
    int64_t dim = ((const lz_low_dim_attr *)n->attr)->dim, at[LZ_MAX_DIMS];
    for (int64_t i = 0; i < out->numel; i++) {
        rv acc = rv_of(0);
        lz_array_index_of(out, i, at);
        for (int64_t last = at[dim], k = 0; k <= last; k++) {
            at[dim] = k;
            lz_scalar s = lz_element_get(x->dtype, lz_array_at(x, at));
            acc = (rv){ acc.f + s.re, acc.i + s.i };
        }
        rv_set(out, i, acc);
    }
}

static inline void ref_place(const lz_array *x, lz_array *out, int64_t offset, const int64_t *strides)
{
    int64_t at[LZ_MAX_DIMS];
    for (int64_t i = 0; i < x->numel; i++) {
        int64_t to = offset;
        lz_array_index_of(x, i, at);
        for (int64_t d = 0; d < x->sizes.n; d++)
            to += at[d] * strides[d];
        lz_array_set(out, to, lz_array_get(x, i));
    }
}

static inline void ref_cat(const lz_low_node *n, const lz_array *all, lz_array *out)
{
    int64_t dim = ((const lz_low_dim_attr *)n->attr)->dim, offset = 0;
    for (int i = 0; i < n->nin; i++) {
        const lz_array *x = &all[n->in[i]->id];
        ref_place(x, out, offset, out->strides.v);
        offset += x->sizes.v[dim] * out->strides.v[dim];
    }
}

static inline void ref_update(const lz_low_node *n, const lz_array *base, const lz_array *part, lz_array *out)
{
    const lz_low_update_attr *a = n->attr;
    for (int64_t i = 0; i < out->numel; i++)
        lz_array_set(out, i, lz_array_get(base, i));
    ref_place(part, out, a->offset, a->strides);
}

static inline void ref_gather(const lz_low_node *n, const lz_array *x, const lz_array *index, lz_array *out)
{
    int64_t dim = ((const lz_low_dim_attr *)n->attr)->dim, at[LZ_MAX_DIMS];
    for (int64_t i = 0; i < out->numel; i++) {
        lz_array_index_of(out, i, at);
        at[dim] = lz_array_get(index, i).i;
        lz_array_set(out, i, lz_element_get(x->dtype, lz_array_at(x, at)));
    }
}

static inline void ref_matmul(const lz_array *x, const lz_array *y, lz_array *out)
{
    int64_t m = out->sizes.v[1], k = x->sizes.v[2], n = out->sizes.v[2];
    for (int64_t i = 0; i < out->numel; i++) {
        rv acc = rv_of(0);
        for (int64_t l = 0; l < k; l++) {
            rv a = rv_get(x, i / n * k + l), b = rv_get(y, (i / n / m * k + l) * n + i % n);
            acc = (rv){ acc.f + a.f * b.f, acc.i + a.i * b.i };
        }
        rv_set(out, i, acc);
    }
}

static inline lz_err *ref_node(const dag *d, const lz_low_node *n, lz_array *all)
{
    lz_array *out = &all[n->id];
    const lz_array none = { 0 };
    const lz_array *x = n->nin ? &all[n->in[0]->id] : &none, *y = n->nin > 1 ? &all[n->in[1]->id] : &none;
    const lz_array *z = n->nin > 2 ? &all[n->in[2]->id] : &none;
    LZ_TRY(lz_array_init(out, NULL, (lz_dtype)n->dtype, lz_low_node_sizes(n)));
    if (n->kind == LZ_LOW_INPUT)
        return lz_array_copy(&d->inputs[((const lz_low_input_attr *)n->attr)->slot], out);
    if (n->kind == LZ_LOW_INDEX)
        ref_index(n, x, y, out);
    else if (n->kind == LZ_LOW_REDUCE)
        ref_reduce(n, x, out);
    else if (n->kind == LZ_LOW_SCAN)
        ref_scan(n, x, out);
    else if (n->kind == LZ_LOW_CAT)
        ref_cat(n, all, out);
    else if (n->kind == LZ_LOW_UPDATE)
        ref_update(n, x, y, out);
    else if (n->kind == LZ_LOW_GATHER)
        ref_gather(n, x, y, out);
    else if (n->kind == LZ_LOW_CALL && n->op == LZ_CALL_MATMUL)
        ref_matmul(x, y, out);
    else
        for (int64_t i = 0; i < out->numel; i++) {
            int64_t at[LZ_MAX_DIMS], number = 0;
            const lz_low_iota_attr *iota = n->attr;
            if (n->kind == LZ_LOW_SCALAR)
                lz_array_set(out, i, d->scalars[((const lz_low_scalar_attr *)n->attr)->slot]);
            else if (n->kind == LZ_LOW_CONST)
                lz_array_set(out, i, *(const lz_scalar *)n->attr);
            else if (n->kind == LZ_LOW_CAST || n->kind == LZ_LOW_RESHAPE)
                lz_array_set(out, i, lz_array_get(x, i));
            else if (n->kind == LZ_LOW_CHECK) {
                int64_t v = lz_array_get(x, i).i;
                lz_array_set(out, i,
                             lz_scalar_int(v < 0 ? v + ((const lz_low_check_attr *)n->attr)->size : v));
            } else if (n->kind == LZ_LOW_IOTA) {
                lz_array_index_of(out, i, at);
                number = iota->offset;
                for (int64_t k = 0; k < n->ndim; k++)
                    number += iota->strides[k] * at[k];
                lz_array_set(out, i, lz_scalar_int(number));
            } else if (n->kind == LZ_LOW_MAP) {
                bool real = lz_dtype_is_float(n->op == LZ_KERNEL_SELECT ? y->dtype : x->dtype);
                rv v = ref_map((lz_kernel_op)n->op, real, rv_get(x, i), n->nin > 1 ? rv_get(y, i) : rv_of(0),
                               n->nin > 2 ? rv_get(z, i) : rv_of(0));
                rv_set(out, i, v);
            } else {
                fail_msg("the reference has no kind %d", n->kind);
            }
        }
    return NULL;
}

/* ---- comparing ---- */

static inline lz_err *dag_run(const dag *d, const lz_low_node *const *outputs, size_t n, bool separate,
                              lz_array *got, size_t *launches)
{
    lz_plan *p;
    lz_run_input in[8] = { 0 };
    lz_buffer *out[8] = { NULL };
    lz_plan_options o = { .separate = separate };
    for (int64_t i = 0; i < d->n_inputs; i++)
        in[i].buffer = d->inputs[i].buffer;
    LZ_TRY(lz_plan_create(&d->b, outputs, n, &o, &p));
    *launches = lz_plan_launches(p);
    lz_run_args args = { .inputs = in, .scalars = d->scalars };
    lz_err *e = lz_plan_run(p, &args, out);
    for (size_t i = 0; i < n && out[i]; i++) {
        const lz_plan_output *v = lz_plan_output_get(p, i);
        if (!e)
            e = lz_array_init_view(&got[i], out[i], v->dtype, v->sizes, v->strides, v->offset);
        lz_buffer_release(out[i]);
    }
    lz_plan_destroy(p);
    return e;
}

static inline lz_err *dag_compare(const dag *d, const lz_low_node *const *outputs, size_t n, bool separate,
                                  const lz_array *all, size_t *launches)
{
    lz_array got[8] = { 0 };
    lz_text why = { 0 };
    lz_err *e = dag_run(d, outputs, n, separate, got, launches);
    for (size_t i = 0; !e && i < n; i++) {
        lz_tolerance t = lz_tolerance_of(got[i].dtype);
        if (!lz_array_equal(&got[i], &all[outputs[i]->id], &t, NULL, &why))
            fail_msg("output %zu%s: %.*s", i, separate ? " (separate)" : "", LZ_FMT(lz_text_view(&why)));
    }
    for (size_t i = 0; i < n; i++)
        lz_array_deinit(&got[i]);
    lz_text_deinit(&why);
    return e;
}

/* Fused and separate runs both give what the reference gives; launches: of the fused. */
static inline lz_err *dag_check(const dag *d, const lz_low_node *const *outputs, size_t n, size_t *launches)
{
    lz_array *all = calloc(d->b.n_nodes, sizeof *all);
    lz_err *e = NULL;
    size_t many;
    assert_non_null(all);
    for (uint32_t i = 0; !e && i < d->b.n_nodes; i++)
        e = ref_node(d, d->b.nodes[i], all);
    if (!e)
        e = dag_compare(d, outputs, n, false, all, launches);
    if (!e)
        e = dag_compare(d, outputs, n, true, all, &many);
    for (uint32_t i = 0; i < d->b.n_nodes; i++)
        lz_array_deinit(&all[i]);
    free(all);
    return e;
}

#endif
