#include "lower/statistics.h"
#include <assert.h>
#include <string.h>

bool lz_statistics_need(const lz_spec *input)
{
    return input->numel > 0 && input->ndim >= 2;
}

typedef struct update {
    const lz_statistics_update *u;
    const lz_functional_row *row;
    const lz_op_row *functional;
    lz_statistics_arg args[LZ_ARGS_MAX]; /* of the functional operator */
    int32_t next;                        /* value */
    int64_t n, channels;                 /* instances that share each statistic; 0: a batch */
} update;

/* ---- calls ---- */

static lz_statistics_arg constant(lz_value v)
{
    return (lz_statistics_arg){ LZ_STATISTICS_CONSTANT, v };
}

static lz_statistics_arg value(int32_t number)
{
    return (lz_statistics_arg){ .number = number };
}

/* *first: the first result. */
static lz_err *call(update *p, const lz_op_row *op, const lz_statistics_arg *args, int32_t *first)
{
    *first = p->next;
    p->next += op->nreturns;
    assert(p->next <= LZ_STATISTICS_VALUES);
    return p->u->call(p->u->user, op, args);
}

static lz_err *call_sized(update *p, uint16_t op, int32_t x, lz_ints sizes, int32_t *out)
{
    const lz_statistics_arg args[] = { value(x), constant(lz_value_ints(sizes)) };
    return call(p, &lz_op_table[op], args, out);
}

/* ---- arguments of the functional operator ---- */

static bool is_written(const update *p, uint32_t arg)
{
    bool written = false;
    for (uint32_t k = 0; k < p->row->nwrites; k++)
        written = written || p->row->writes[k].argument == arg;
    return written;
}

static void find_args(update *p)
{
    for (uint32_t i = 0; i < p->functional->nargs; i++)
        p->args[i] = p->row->from[i] == LZ_NO_ARGUMENT ? constant(lz_value_none()) : value(p->row->from[i]);
}

/* ---- each instance of a batch has statistics of its own ---- */

/* Instances become channels of one batch. */
static lz_err *spread_input(update *p, lz_statistics_arg *input)
{
    const lz_spec *s = p->u->input;
    lz_shape sizes = { .n = s->ndim };
    p->n = s->sizes[0];
    p->channels = s->sizes[1];
    memcpy(sizes.v, s->sizes, (size_t)s->ndim * sizeof *sizes.v);
    sizes.v[0] = 1;
    sizes.v[1] = p->n * p->channels;
    return call_sized(p, LZ_OP_reshape, input->number, lz_shape_ints(&sizes), &input->number);
}

/* Their statistics begin with the shared ones. */
static lz_err *spread_instances(update *p)
{
    LZ_TRY(spread_input(p, &p->args[0]));
    for (uint32_t i = 1; i < p->functional->nargs; i++)
        if (p->row->from[i] != LZ_NO_ARGUMENT && is_written(p, p->row->from[i]))
            LZ_TRY(call_sized(p, LZ_OP_repeat, p->args[i].number, (lz_ints){ &p->n, 1 }, &p->args[i].number));
    return NULL;
}

/* The mean of what the instances make of a statistic. */
static lz_err *gather_instances(update *p, int32_t *result)
{
    const int64_t sizes[] = { p->n, p->channels }, first = 0;
    lz_statistics_arg args[] = { value(0), constant(lz_value_ints((lz_ints){ &first, 1 })),
                                 constant(lz_value_truth(false)), constant(lz_value_none()) };
    if (!p->n)
        return NULL;
    LZ_TRY(call_sized(p, LZ_OP_reshape, *result, (lz_ints){ sizes, 2 }, &args[0].number));
    return call(p, &lz_op_table[LZ_OP_mean_dim], args, result);
}

/* ---- the whole call ---- */

static lz_err *compute(update *p, int32_t *results)
{
    int32_t first;
    find_args(p);
    if (lz_layout_of(p->u->op)->memory & LZ_MEMORY_INSTANCES)
        LZ_TRY(spread_instances(p));
    LZ_TRY(call(p, p->functional, p->args, &first));
    for (uint32_t k = 0; k < p->row->nwrites; k++) {
        results[k] = first + p->row->writes[k].result;
        LZ_TRY(gather_instances(p, &results[k]));
    }
    return NULL;
}

/* In the order of the arguments: a tensor that is both mean and variance is written twice. The second value
 * begins with the first one, as in PyTorch, unless there are instances, which have copies of the statistics.
 */
lz_err *lz_statistics_run(const lz_statistics_update *u)
{
    update p = { .u = u, .row = lz_statistics_of(u->op), .next = u->op->nargs };
    bool one_by_one = u->shared && !(lz_layout_of(u->op)->memory & LZ_MEMORY_INSTANCES);
    int32_t results[LZ_ARGS_MAX] = { 0 };
    assert(p.row); /* the caller asked lz_statistics_of whether the operator has any */
    p.functional = &lz_op_table[p.row->functional];
    for (uint32_t k = 0; k < p.row->nwrites; k++) {
        if (k == 0 || one_by_one)
            LZ_TRY(compute(&p, results));
        LZ_TRY(u->write(u->user, p.row->writes[k].argument, results[k]));
    }
    return NULL;
}
