#include "lazy/statistics.h"
#include "lazy/layout.h"
#include "lazy/record.h"
#include <string.h>

/* Places of the arguments, which all operators with statistics share. */
enum { INPUT, WEIGHT, BIAS, MEAN, VAR, TRAINING, MOMENTUM, EPS };

static bool is_tensor(const lz_value *v)
{
    return v->kind == LZ_KIND_TENSOR && v->tensor && v->tensor->alias;
}

bool lz_statistics_are_written(const lz_op_row *op, const lz_value *in)
{
    return lz_layout_of(op)->memory & LZ_MEMORY_STATISTICS && in[TRAINING].kind == LZ_KIND_BOOL
           && in[TRAINING].truth && is_tensor(&in[INPUT]) && is_tensor(&in[MEAN]) && is_tensor(&in[VAR])
           && in[INPUT].tensor->spec->numel > 0 && in[INPUT].tensor->spec->ndim >= 2;
}

/* What a call has to do. */
typedef struct update {
    lz_ctx *c;
    lz_loc at;
    lz_value in[EPS + 1]; /* of batch_norm; instance_norm has an input of one batch */
    int64_t n, channels;  /* instances that share each statistic; 0: a batch */
    bool failed;
} update;

static lz_value call(update *u, uint16_t op, const lz_value *in)
{
    lz_value out[LZ_ARGS_MAX];
    out[0] = lz_value_none();
    if (!u->failed)
        lz_record(u->c, &lz_op_table[op], u->at, in, out);
    u->failed = u->failed || !is_tensor(&out[0]);
    return u->failed ? lz_value_none() : out[0];
}

static lz_value reshaped(update *u, lz_value t, lz_ints sizes)
{
    const lz_value in[] = { t, lz_value_ints(sizes) };
    return call(u, LZ_OP_reshape, in);
}

static lz_value repeated(update *u, lz_value t, int64_t n)
{
    const lz_value in[] = { t, lz_value_ints((lz_ints){ &n, 1 }) };
    return call(u, LZ_OP_repeat, in);
}

/* Each instance is a channel of its own; its statistics begin with the shared ones. */
static void spread_instances(update *u)
{
    const lz_spec *s = u->in[INPUT].tensor->spec;
    lz_shape sizes = { .n = s->ndim };
    u->n = s->sizes[0];
    u->channels = s->sizes[1];
    memcpy(sizes.v, s->sizes, (size_t)s->ndim * sizeof *sizes.v);
    sizes.v[0] = 1;
    sizes.v[1] = u->n * u->channels;
    u->in[INPUT] = reshaped(u, u->in[INPUT], lz_shape_ints(&sizes));
}

/* The mean of what the instances make of a statistic. */
static lz_value gathered(update *u, lz_value t)
{
    const int64_t sizes[] = { u->n, u->channels }, first = 0;
    if (!u->n)
        return t;
    const lz_value in[] = { reshaped(u, t, (lz_ints){ sizes, 2 }), lz_value_ints((lz_ints){ &first, 1 }),
                            lz_value_truth(false), lz_value_none() };
    return call(u, LZ_OP_mean_dim, in);
}

static void new_statistics(update *u, lz_value *mean, lz_value *var)
{
    lz_value in[EPS + 1], out[LZ_ARGS_MAX];
    memcpy(in, u->in, sizeof in);
    in[WEIGHT] = in[BIAS] = lz_value_none();
    for (int i = MEAN; u->n && i <= VAR; i++)
        in[i] = repeated(u, in[i], u->n);
    if (u->failed)
        return;
    lz_record(u->c, &lz_op_table[LZ_OP__native_batch_norm_legit_functional], u->at, in, out);
    u->failed = !is_tensor(&out[3]) || !is_tensor(&out[4]);
    if (u->failed)
        return;
    *mean = gathered(u, out[3]);
    *var = gathered(u, out[4]);
}

static void write(update *u, lz_value to, lz_value from)
{
    const lz_value in[] = { to, from, lz_value_truth(false) };
    call(u, LZ_OP_copy_, in);
}

/* The mean is written first: a tensor that is both is written twice. */
static void write_both(update *u)
{
    lz_value mean = lz_value_none(), var = lz_value_none();
    new_statistics(u, &mean, &var);
    write(u, u->in[MEAN], mean);
    if (u->in[MEAN].tensor->alias == u->in[VAR].tensor->alias)
        new_statistics(u, &mean, &var);
    write(u, u->in[VAR], var);
}

void lz_statistics_write(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *rest)
{
    bool was = c->tape_is_hidden;
    lz_scope *s;
    update u = { .c = c, .at = at };
    memcpy(rest, in, op->nargs * sizeof *in);
    lz_err *e = lz_scope_begin(c, &s);
    if (e) {
        lz_ctx_fail(c, at, op, e);
        return;
    }
    memcpy(u.in, in, sizeof u.in);
    c->tape_is_hidden = true;
    if (op == &lz_op_table[LZ_OP_instance_norm])
        spread_instances(&u);
    write_both(&u);
    c->tape_is_hidden = was;
    lz_scope_pop(s);
    rest[MEAN] = rest[VAR] = lz_value_tensor(NULL);
}
