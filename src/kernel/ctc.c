/* Connectionist temporal classification: probabilities of all ways to emit a target (Graves et al. 2006). The
 * states of a target are its labels with a blank before, between and behind them. */
#include "base/mem.h"
#include "kernel/strided_walk.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>

/* in: log_probs [times, batch, classes], targets [batch, most], lengths of both [batch]; for the gradient
 * also the loss [batch] and alpha [batch, times, states]. */
enum { PROBS, TARGETS, INPUT_LENGTHS, TARGET_LENGTHS, LOSS, ALPHA };

typedef struct alignment {
    const lz_kernel_call *c;
    int64_t times, batch, classes, states, blank;
} alignment;

/* One sequence of the batch. */
typedef struct sequence {
    const alignment *a;
    int64_t n, times, states; /* number, length, states of its target */
    double *now, *next;       /* [states] */
    double *sums;             /* [classes]; gradient only */
} sequence;

static double number(const lz_strided *s, int64_t offset)
{
    return s->dtype == LZ_F32 ? (double)((const float *)s->data)[offset] : ((const double *)s->data)[offset];
}

static void put(const lz_strided *s, int64_t at, double v)
{
    if (s->dtype == LZ_F32)
        ((float *)s->data)[at] = (float)v;
    else
        ((double *)s->data)[at] = v;
}

static int64_t whole(const lz_strided *s, int64_t i)
{
    return ((const int64_t *)s->data)[i * s->strides[0]];
}

static double log_prob(const sequence *q, int64_t t, int64_t label)
{
    const lz_strided *p = &q->a->c->in[PROBS];
    return number(p, t * p->strides[0] + q->n * p->strides[1] + label * p->strides[2]);
}

static int64_t label_of(const sequence *q, int64_t state)
{
    const lz_strided *t = &q->a->c->in[TARGETS];
    return state % 2 ? ((const int64_t *)t->data)[q->n * t->strides[0] + state / 2 * t->strides[1]]
                     : q->a->blank;
}

static double log_add(double x, double y)
{
    double most = x > y ? x : y;
    return most == -INFINITY ? most : most + log(exp(x - most) + exp(y - most));
}

static lz_err *too_long(const char *what, int64_t found, int64_t most)
{
    return lz_errf(LZ_ERR_ARG, "Expected %s to have values between 0 and %" PRId64 ", but got %" PRId64, what,
                   most, found);
}

static lz_err *open_sequence(const alignment *a, int64_t n, sequence *q)
{
    int64_t length = whole(&a->c->in[TARGET_LENGTHS], n), most = (a->states - 1) / 2;
    q->n = n;
    q->times = whole(&a->c->in[INPUT_LENGTHS], n);
    q->states = 2 * length + 1;
    if (q->times < 0 || q->times > a->times)
        return too_long("input_lengths", q->times, a->times);
    if (length < 0 || length > most)
        return too_long("target_lengths", length, most);
    for (int64_t s = 1; s < q->states; s += 2)
        if (label_of(q, s) < 0 || label_of(q, s) >= a->classes)
            return too_long("targets", label_of(q, s), a->classes - 1);
    return NULL;
}

/* ---- alpha: the logarithm of the probability to be in a state at a time ---- */

static void step_forward(const sequence *q, int64_t t, const double *before, double *now)
{
    for (int64_t s = 0; s < q->states; s++) {
        int64_t label = label_of(q, s);
        double x = before[s];
        if (s > 0)
            x = log_add(x, before[s - 1]);
        if (s > 1 && label != label_of(q, s - 2))
            x = log_add(x, before[s - 2]);
        now[s] = x + log_prob(q, t, label);
    }
}

static void forward(sequence *q)
{
    const lz_strided *out = &q->a->c->out;
    int64_t row = q->n * q->a->times * q->a->states;
    for (int64_t i = 0; i < q->a->times * q->a->states; i++)
        put(out, row + i, -INFINITY);
    for (int64_t t = 0; t < q->times; t++, row += q->a->states) {
        for (int64_t s = 0; t == 0 && s < q->states; s++)
            q->next[s] = s < 2 ? log_prob(q, 0, label_of(q, s)) : -INFINITY;
        if (t)
            step_forward(q, t, q->now, q->next);
        double *done = q->next;
        q->next = q->now;
        q->now = done;
        for (int64_t s = 0; s < q->states; s++)
            put(out, row + s, done[s]);
    }
}

/* ---- the gradient ---- */

static void step_backward(const sequence *q, int64_t t, const double *after, double *now)
{
    for (int64_t s = 0; s < q->states; s++) {
        int64_t label = label_of(q, s);
        double x = after[s];
        if (s + 1 < q->states)
            x = log_add(x, after[s + 1]);
        if (s + 2 < q->states && label != label_of(q, s + 2))
            x = log_add(x, after[s + 2]);
        now[s] = x + log_prob(q, t, label);
    }
}

/* The probability of a label at a time, less the part of the ways that emit it there. */
static void put_slopes(const sequence *q, int64_t t, const double *beta)
{
    const alignment *a = q->a;
    const lz_strided *alpha = &a->c->in[ALPHA], *out = &a->c->out;
    double loss = number(&a->c->in[LOSS], q->n * a->c->in[LOSS].strides[0]);
    for (int64_t k = 0; k < a->classes; k++)
        q->sums[k] = -INFINITY;
    for (int64_t s = 0; s < q->states; s++) {
        double *sum = &q->sums[label_of(q, s)];
        *sum = log_add(*sum, beta[s]
                                 + number(alpha, q->n * alpha->strides[0] + t * alpha->strides[1]
                                                     + s * alpha->strides[2]));
    }
    for (int64_t k = 0; k < a->classes; k++) {
        double p = log_prob(q, t, k);
        put(out, (t * a->batch + q->n) * a->classes + k, exp(p) - exp(q->sums[k] + loss - p));
    }
}

static void backward(sequence *q)
{
    const alignment *a = q->a;
    for (int64_t t = a->times; t-- > q->times;)
        for (int64_t k = 0; k < a->classes; k++)
            put(&a->c->out, (t * a->batch + q->n) * a->classes + k, 0);
    for (int64_t t = q->times; t-- > 0;) {
        bool last = t == q->times - 1;
        for (int64_t s = 0; last && s < q->states; s++)
            q->next[s] = s + 2 >= q->states ? log_prob(q, t, label_of(q, s)) : -INFINITY;
        if (!last)
            step_backward(q, t, q->now, q->next);
        double *done = q->next;
        q->next = q->now;
        q->now = done;
        put_slopes(q, t, done);
    }
}

/* ---- all sequences ---- */

static lz_err *sequences(const alignment *a, int64_t begin, int64_t end, void (*run)(sequence *q))
{
    double *room = lz_temporary_take((size_t)(2 * a->states + a->classes) * sizeof *room, LZ_MEM_ALIGN);
    if (!room)
        return lz_err_oom();
    sequence q = { .a = a, .now = room, .next = room + a->states, .sums = room + 2 * a->states };
    lz_err *e = NULL;
    for (int64_t n = begin; !e && n < end; n++) {
        e = open_sequence(a, n, &q);
        if (!e)
            run(&q);
    }
    lz_temporary_give(room);
    return e;
}

static lz_err *forward_range(void *user, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    return sequences(user, begin, end, forward);
}

static lz_err *backward_range(void *user, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    return sequences(user, begin, end, backward);
}

static alignment alignment_of(const lz_kernel_call *c)
{
    const int64_t *probs = c->in[PROBS].sizes;
    return (alignment){ .c = c,
                        .times = probs[0],
                        .batch = probs[1],
                        .classes = probs[2],
                        .states = 2 * c->in[TARGETS].sizes[1] + 1,
                        .blank = c->params[0] };
}

lz_err *lz_ctc_alpha(const lz_kernel_call *c)
{
    alignment a = alignment_of(c);
    return lz_pool_for(c->pool, a.batch, 1, forward_range, &a);
}

lz_err *lz_ctc_slope(const lz_kernel_call *c)
{
    alignment a = alignment_of(c);
    assert(c->in[ALPHA].sizes[2] == a.states);
    return lz_pool_for(c->pool, a.batch, 1, backward_range, &a);
}
