/* Attention: results, and for each row the maximum and the sum that the backward pass needs. */
#include "kernel/attention.h"
#include <string.h>

typedef struct forward {
    lz_attention a;
    int64_t blocks;                         /* of queries in a head */
    size_t keys, values, scores, out, bias; /* bytes of the parts of the scratch */
    int64_t ld;                             /* elements from one row of scores to the next */
} forward;

static void set_up(forward *f, const lz_kernel_call *c)
{
    lz_attention *a = &f->a;
    lz_attention_init(a, c, 0, 3, (int)c->params[1]);
    int64_t m = lz_attention_least(LZ_ATTENTION_ROWS, a->l), n = lz_attention_least(LZ_ATTENTION_COLS, a->s);
    f->blocks = (a->l + LZ_ATTENTION_ROWS - 1) / LZ_ATTENTION_ROWS;
    f->ld = (int64_t)lz_attention_bytes(a, n) / a->size;
    f->keys = lz_attention_panels(a, a->e, n);
    f->values = lz_attention_panels(a, n, a->ev);
    f->scores = (size_t)(m * f->ld * a->size);
    f->out = lz_attention_bytes(a, m * a->ev);
    f->bias = lz_attention_bytes(a, n);
    a->room = f->keys + f->values + f->scores + f->out + f->bias;
}

size_t lz_attention_scratch(const lz_kernel_call *c)
{
    forward f;
    set_up(&f, c);
    return f.a.room;
}

typedef struct work {
    const forward *f;
    lz_attention_tile t;
    char *keys, *values, *scores, *out, *bias;
    double max[LZ_ATTENTION_ROWS], sum[LZ_ATTENTION_ROWS];
} work;

static void soften(work *w)
{
    const lz_attention *a = &w->f->a;
    for (int64_t i = 0; i < w->t.m; i++) {
        lz_attention_row r = { .s = w->scores + i * w->f->ld * a->size,
                               .bias = lz_attention_bias(a, &w->t, i, w->bias),
                               .choose = a->mask && a->mask->dtype == LZ_BOOL,
                               .valid = lz_attention_valid(a, &w->t, i),
                               .n = w->t.n,
                               .scale = a->scale,
                               .max = w->max[i],
                               .sum = w->sum[i] };
        a->math->forward[a->is_f64](&r);
        w->max[i] = r.max;
        w->sum[i] = r.sum;
        if (w->t.j > 0 && r.shrink != 1)
            a->math->multiply[a->is_f64](w->out + i * a->ev * a->size, a->ev, r.shrink);
    }
}

static void do_tile(work *w)
{
    const lz_attention *a = &w->f->a;
    const lz_attention_tile *t = &w->t;
    int64_t group = t->head / (a->heads / a->groups);
    lz_attention_pack(a, a->k, t->b, group, t->j, t->n, true, w->keys);
    lz_attention_pack(a, a->v, t->b, group, t->j, t->n, false, w->values);
    lz_attention_multiply(a, &(lz_attention_product){ .m = t->m,
                                                      .n = t->n,
                                                      .k = a->e,
                                                      .x = lz_attention_at(a, a->q, t->b, t->head, t->i),
                                                      .xi = a->q->strides[2],
                                                      .xk = a->q->strides[3],
                                                      .y = w->keys,
                                                      .out = w->scores,
                                                      .oi = w->f->ld });
    soften(w);
    lz_attention_multiply(a, &(lz_attention_product){ .m = t->m,
                                                      .n = a->ev,
                                                      .k = t->n,
                                                      .x = w->scores,
                                                      .xi = w->f->ld,
                                                      .xk = 1,
                                                      .y = w->values,
                                                      .out = w->out,
                                                      .oi = a->ev,
                                                      .add = t->j > 0 });
}

static void put(const lz_attention *a, char *to, int64_t at, double v)
{
    if (a->is_f64)
        ((double *)(void *)to)[at] = v;
    else
        ((float *)(void *)to)[at] = (float)v;
}

/* The results are [batch, l, heads, ev], then the maxima and the sums, [batch, heads, l] each. A row that may
 * see nothing has the result 0. */
static void finish(const work *w)
{
    const lz_attention *a = &w->f->a;
    const lz_attention_tile *t = &w->t;
    char *out = a->c->out.data;
    int64_t rows = a->batch * a->heads * a->l;
    for (int64_t i = 0; i < t->m; i++) {
        int64_t row = (t->b * a->l + t->i + i) * a->heads + t->head;
        int64_t at = rows * a->ev + (t->b * a->heads + t->head) * a->l + t->i + i;
        bool nothing = w->sum[i] == 0;
        a->math->write[a->is_f64](w->out + i * a->ev * a->size, a->ev, nothing ? 0 : 1 / w->sum[i],
                                  out + row * a->ev * a->size);
        put(a, out, at, nothing ? 0 : w->max[i]);
        put(a, out, at + rows, nothing ? 1 : w->sum[i]);
    }
}

/* Blocks with the most work come first: the last ones, where queries see earlier keys only. */
static lz_err *do_block(void *user, int64_t begin, int64_t end, int worker)
{
    const forward *f = user;
    const lz_attention *a = &f->a;
    work w = { .f = f, .keys = a->scratch + (size_t)worker * a->room };
    w.values = w.keys + f->keys;
    w.scores = w.values + f->values;
    w.out = w.scores + f->scores;
    w.bias = w.out + f->out;
    for (int64_t at = begin; at < end; at++) {
        int64_t head = at % (a->batch * a->heads), block = f->blocks - 1 - at / (a->batch * a->heads);
        w.t = (lz_attention_tile){ .b = head / a->heads,
                                   .head = head % a->heads,
                                   .i = block * LZ_ATTENTION_ROWS };
        w.t.m = lz_attention_least(LZ_ATTENTION_ROWS, a->l - w.t.i);
        for (int64_t i = 0; i < w.t.m; i++) {
            w.max[i] = -INFINITY;
            w.sum[i] = 0;
        }
        int64_t seen = a->causal ? lz_attention_least(a->s, w.t.i + w.t.m) : a->s;
        for (w.t.j = 0; w.t.j < seen; w.t.j += LZ_ATTENTION_COLS) {
            w.t.n = lz_attention_least(LZ_ATTENTION_COLS, a->s - w.t.j);
            do_tile(&w);
        }
        finish(&w);
    }
    return NULL;
}

lz_err *lz_attention_forward(const lz_kernel_call *c)
{
    forward f;
    set_up(&f, c);
    return lz_attention_run(&f.a, f.a.batch * f.a.heads * f.blocks, do_block, &f);
}
