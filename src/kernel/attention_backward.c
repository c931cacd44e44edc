/* Attention: the gradients of query, key and value. The weights are computed again from the logarithms of
 * their sums. */
#include "kernel/attention.h"
#include <string.h>

typedef struct backward {
    lz_attention a;
    const lz_strided *grad, *lse, *delta;
    int64_t ranges, blocks; /* blocks of keys, dealt in turn to the ranges */
    int64_t ld;             /* elements from one row of scores to the next */
    size_t keys, turned_keys, turned_values, queries, grads, scores, to_keys, to_values, bias;
} backward;

static void set_up(backward *f, const lz_kernel_call *c)
{
    lz_attention *a = &f->a;
    lz_attention_init(a, c, 1, 6, (int)c->params[1]);
    int64_t m = lz_attention_least(LZ_ATTENTION_ROWS, a->l), n = lz_attention_least(LZ_ATTENTION_COLS, a->s);
    f->grad = &c->in[0];
    f->lse = &c->in[4];
    f->delta = &c->in[5];
    f->ranges = c->params[2];
    f->blocks = (a->s + LZ_ATTENTION_COLS - 1) / LZ_ATTENTION_COLS;
    f->ld = (int64_t)lz_attention_bytes(a, n) / a->size;
    f->keys = lz_attention_panels(a, n, a->e);
    f->turned_keys = lz_attention_panels(a, a->e, n);
    f->turned_values = lz_attention_panels(a, a->ev, n);
    f->queries = lz_attention_panels(a, m, a->e);
    f->grads = lz_attention_panels(a, m, a->ev);
    f->scores = (size_t)(m * f->ld * a->size);
    f->to_keys = lz_attention_bytes(a, n * a->e);
    f->to_values = lz_attention_bytes(a, n * a->ev);
    f->bias = lz_attention_bytes(a, n);
    a->room = f->keys + f->turned_keys + f->turned_values + f->queries + f->grads + 2 * f->scores + f->to_keys
              + f->to_values + f->bias;
}

size_t lz_attention_backward_scratch(const lz_kernel_call *c)
{
    backward f;
    set_up(&f, c);
    return f.a.room;
}

typedef struct work {
    const backward *f;
    lz_attention_tile t;
    int64_t group;
    char *keys, *turned_keys, *turned_values, *queries, *grads, *scores, *slopes, *to_keys, *to_values, *bias;
    char *to_queries; /* the part of the result, [batch, l, heads, e] */
} work;

static void lay_out(work *w, int worker)
{
    const backward *f = w->f;
    w->keys = f->a.scratch + (size_t)worker * f->a.room;
    w->turned_keys = w->keys + f->keys;
    w->turned_values = w->turned_keys + f->turned_keys;
    w->queries = w->turned_values + f->turned_values;
    w->grads = w->queries + f->queries;
    w->scores = w->grads + f->grads;
    w->slopes = w->scores + f->scores;
    w->to_keys = w->slopes + f->scores;
    w->to_values = w->to_keys + f->to_keys;
    w->bias = w->to_values + f->to_values;
}

/* Number (b, head, row) of [batch, heads, rows]. */
static double number_at(const lz_attention *a, const lz_strided *x, const lz_attention_tile *t, int64_t i)
{
    const char *at = lz_attention_at(a, x, t->b, t->head, t->i + i);
    return a->is_f64 ? *(const double *)(const void *)at : (double)*(const float *)(const void *)at;
}

static void slopes(work *w)
{
    const lz_attention *a = &w->f->a;
    for (int64_t i = 0; i < w->t.m; i++) {
        lz_attention_row r = { .s = w->scores + i * w->f->ld * a->size,
                               .slope = w->slopes + i * w->f->ld * a->size,
                               .bias = lz_attention_bias(a, &w->t, i, w->bias),
                               .choose = a->mask && a->mask->dtype == LZ_BOOL,
                               .valid = lz_attention_valid(a, &w->t, i),
                               .n = w->t.n,
                               .scale = a->scale,
                               .lse = number_at(a, w->f->lse, &w->t, i),
                               .delta = number_at(a, w->f->delta, &w->t, i) };
        a->math->backward[a->is_f64](&r);
    }
}

/* Weights and gradients of the scores of a tile. */
static void score(work *w)
{
    const lz_attention *a = &w->f->a;
    const lz_attention_tile *t = &w->t;
    const lz_strided *g = w->f->grad;
    lz_attention_product p = { .m = t->m,
                               .n = t->n,
                               .k = a->e,
                               .x = lz_attention_at(a, a->q, t->b, t->head, t->i),
                               .xi = a->q->strides[2],
                               .xk = a->q->strides[3],
                               .y = w->turned_keys,
                               .out = w->scores,
                               .oi = w->f->ld };
    lz_attention_multiply(a, &p);
    p.k = a->ev;
    p.x = lz_attention_at(a, g, t->b, t->head, t->i);
    p.xi = g->strides[2];
    p.xk = g->strides[3];
    p.y = w->turned_values;
    p.out = w->slopes;
    lz_attention_multiply(a, &p);
    slopes(w);
}

static void do_tile(work *w, bool first)
{
    const lz_attention *a = &w->f->a;
    const lz_attention_tile *t = &w->t;
    lz_attention_pack(a, a->q, t->b, t->head, t->i, t->m, false, w->queries);
    lz_attention_pack(a, w->f->grad, t->b, t->head, t->i, t->m, false, w->grads);
    score(w);
    lz_attention_product p = { .m = t->n,
                               .n = a->ev,
                               .k = t->m,
                               .x = w->scores,
                               .xi = 1,
                               .xk = w->f->ld,
                               .y = w->grads,
                               .out = w->to_values,
                               .oi = a->ev,
                               .add = !first };
    lz_attention_multiply(a, &p);
    p.n = p.oi = a->e;
    p.x = w->slopes;
    p.y = w->queries;
    p.out = w->to_keys;
    lz_attention_multiply(a, &p);
    p = (lz_attention_product){ .m = t->m,
                                .n = a->e,
                                .k = t->n,
                                .x = w->slopes,
                                .xi = w->f->ld,
                                .xk = 1,
                                .y = w->keys,
                                .out = w->to_queries
                                       + ((t->b * a->l + t->i) * a->heads + t->head) * a->e * a->size,
                                .oi = a->heads * a->e,
                                .add = true };
    lz_attention_multiply(a, &p);
}

/* Copies the gradients of a block of keys or values to [batch, s, groups, width] at `out`. */
static void write_rows(const work *w, const char *from, int64_t width, char *out)
{
    const lz_attention *a = &w->f->a;
    size_t bytes = (size_t)(width * a->size);
    for (int64_t j = 0; j < w->t.n; j++)
        memcpy(out + ((w->t.b * a->s + w->t.j + j) * a->groups + w->group) * width * a->size,
               from + (size_t)j * bytes, bytes);
}

static void do_keys(work *w)
{
    const lz_attention *a = &w->f->a;
    lz_attention_tile *t = &w->t;
    int64_t share = a->heads / a->groups;
    bool first = true;
    lz_attention_pack(a, a->k, t->b, w->group, t->j, t->n, false, w->keys);
    lz_attention_pack(a, a->k, t->b, w->group, t->j, t->n, true, w->turned_keys);
    lz_attention_pack(a, a->v, t->b, w->group, t->j, t->n, true, w->turned_values);
    for (t->head = w->group * share; t->head < (w->group + 1) * share; t->head++)
        for (t->i = a->causal ? t->j / LZ_ATTENTION_ROWS * LZ_ATTENTION_ROWS : 0; t->i < a->l;
             t->i += LZ_ATTENTION_ROWS) {
            t->m = lz_attention_least(LZ_ATTENTION_ROWS, a->l - t->i);
            do_tile(w, first);
            first = false;
        }
    if (first) { /* no query sees these keys */
        memset(w->to_keys, 0, w->f->to_keys);
        memset(w->to_values, 0, w->f->to_values);
    }
    char *out = (char *)a->c->out.data + w->f->ranges * a->batch * a->heads * a->l * a->e * a->size;
    write_rows(w, w->to_keys, a->e, out);
    write_rows(w, w->to_values, a->ev, out + a->batch * a->groups * a->s * a->e * a->size);
}

static void clear_queries(const work *w)
{
    const lz_attention *a = &w->f->a;
    int64_t share = a->heads / a->groups;
    for (int64_t i = 0; i < a->l; i++)
        memset(w->to_queries + ((w->t.b * a->l + i) * a->heads + w->group * share) * a->e * a->size, 0,
               (size_t)(share * a->e * a->size));
}

/* A task is one range of the keys of one head. Each range has sums of its own for the queries. */
static lz_err *do_range(void *user, int64_t begin, int64_t end, int worker)
{
    const backward *f = user;
    const lz_attention *a = &f->a;
    work w = { .f = f };
    lay_out(&w, worker);
    for (int64_t at = begin; at < end; at++) {
        int64_t range = at % f->ranges, pair = at / f->ranges;
        w.t.b = pair / a->groups;
        w.group = pair % a->groups;
        w.to_queries = (char *)a->c->out.data + range * a->batch * a->heads * a->l * a->e * a->size;
        clear_queries(&w);
        for (int64_t block = range; block < f->blocks; block += f->ranges) {
            w.t.j = block * LZ_ATTENTION_COLS;
            w.t.n = lz_attention_least(LZ_ATTENTION_COLS, a->s - w.t.j);
            do_keys(&w);
        }
    }
    return NULL;
}

lz_err *lz_attention_backward(const lz_kernel_call *c)
{
    backward f;
    set_up(&f, c);
    return lz_attention_run(&f.a, f.a.batch * f.a.groups * f.ranges, do_range, &f);
}
