#include "open_ctx.h"
#include <math.h>

/* Offsets of views of held data are run-time numbers: a loop over x[t] has one graph. Values are compared
 * with loops over plain arrays. */

enum { ROWS = 24, COLS = 6, NUMEL = ROWS * COLS, TIMES = 20, SETTLED = 3 };

typedef struct loop {
    lz_ctx *c;
    lz_tensor *x;        /* [ROWS, COLS], held */
    double model[NUMEL]; /* its elements */
} loop;

static double read_all(lz_tensor *t, double *out)
{
    lz_tensor *copy = lz_contiguous(lz_tensor_ctx(t), t);
    int64_t n = lz_tensor_numel(copy);
    float v[NUMEL];
    assert_true(n <= NUMEL);
    lz_read(copy, v, (size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++)
        out[i] = v[i];
    return n > 0 ? v[0] : 0;
}

static void expect(lz_tensor *t, const double *want, int64_t n)
{
    double got[NUMEL];
    assert_int_equal(lz_tensor_numel(t), n);
    read_all(t, got);
    for (int64_t i = 0; i < n; i++)
        if (got[i] != want[i])
            fail_msg("element %lld is %g, not %g", (long long)i, got[i], want[i]);
}

/* Elements of the model by offset, sizes and strides. */
static int64_t show(const loop *l, int64_t offset, int64_t n0, int64_t s0, int64_t n1, int64_t s1,
                    double *out)
{
    for (int64_t i = 0; i < n0; i++)
        for (int64_t j = 0; j < n1; j++)
            out[i * n1 + j] = l->model[offset + i * s0 + j * s1];
    return n0 * n1;
}

/* ---- reads ---- */

static void narrow(loop *l, int64_t t)
{
    double want[NUMEL];
    int64_t n = show(l, t * COLS, 3, COLS, COLS, 1, want);
    expect(lz_mul_Scalar(l->c, lz_narrow(l->c, l->x, 0, t, 3), 1), want, n);
}

static void narrow_columns(loop *l, int64_t t)
{
    double want[NUMEL];
    int64_t n = show(l, t % 4, ROWS, COLS, 3, 1, want);
    expect(lz_mul_Scalar(l->c, lz_narrow(l->c, l->x, 1, t % 4, 3), 1), want, n);
}

static void select_row(loop *l, int64_t t)
{
    double want[NUMEL];
    int64_t n = show(l, t * COLS, 1, 0, COLS, 1, want);
    expect(lz_mul_Scalar(l->c, lz_select_int(l->c, l->x, 0, t), 1), want, n);
}

static void select_from_end(loop *l, int64_t t)
{
    double want[NUMEL];
    int64_t n = show(l, (ROWS - 1 - t) * COLS, 1, 0, COLS, 1, want);
    expect(lz_mul_Scalar(l->c, lz_select_int(l->c, l->x, 0, -1 - t), 1), want, n);
}

static void slice_with_step(loop *l, int64_t t)
{
    double want[NUMEL];
    int64_t n = show(l, t % 8 * COLS, 5, 3 * COLS, COLS, 1, want), from = t % 8;
    lz_tensor *v =
        lz_slice_Tensor(l->c, l->x, .dim = 0, .start = LZ_SOME(from), .end = LZ_SOME(from + 13), .step = 3);
    expect(lz_mul_Scalar(l->c, v, 1), want, n);
}

static void transposed(loop *l, int64_t t)
{
    double want[NUMEL];
    int64_t n = show(l, t * COLS, COLS, 1, 2, COLS, want);
    expect(lz_mul_Scalar(l->c, lz_narrow(l->c, lz_t(l->c, l->x), 1, t, 2), 1), want, n);
}

static void view_of_view(loop *l, int64_t t)
{
    double want[NUMEL];
    int64_t n = show(l, (t + 1) * COLS + t % 3, 2, COLS, 2, 1, want);
    lz_tensor *v = lz_narrow(l->c, l->x, 0, t, 4);
    v = lz_narrow(l->c, lz_narrow(l->c, v, 0, 1, 2), 1, t % 3, 2);
    expect(lz_mul_Scalar(l->c, v, 1), want, n);
}

static void strided(loop *l, int64_t t)
{
    double want[NUMEL];
    int64_t n = show(l, t, 3, 2, 2, 7, want);
    lz_tensor *v = lz_as_strided(l->c, l->x, LZ_DIMS(3, 2), LZ_DIMS(2, 7), .storage_offset = LZ_SOME(t));
    expect(lz_mul_Scalar(l->c, v, 1), want, n);
}

static void unbound(loop *l, int64_t t)
{
    double want[NUMEL];
    int64_t n = show(l, t * COLS, 1, 0, COLS, 1, want);
    lz_tensors rows = lz_unbind_int(l->c, l->x);
    expect(lz_mul_Scalar(l->c, rows.v[t], 1), want, n);
}

static void split_part(loop *l, int64_t t)
{
    double want[NUMEL];
    int64_t n = show(l, t % 8 * 3 * COLS, 3, COLS, COLS, 1, want);
    lz_tensors parts = lz_split_Tensor(l->c, l->x, 3);
    expect(lz_mul_Scalar(l->c, parts.v[t % 8], 1), want, n);
}

/* Different offsets of one base, also where they are equal by chance: each has a number of its own. */
static void several(loop *l, int64_t t)
{
    double a[NUMEL], b[NUMEL];
    int64_t n = show(l, t * COLS, 2, COLS, COLS, 1, a);
    show(l, (t * 5 % 20) * COLS, 2, COLS, COLS, 1, b);
    for (int64_t i = 0; i < n; i++)
        a[i] -= 2 * b[i];
    lz_tensor *x = lz_narrow(l->c, l->x, 0, t, 2), *y = lz_narrow(l->c, l->x, 0, t * 5 % 20, 2);
    expect(lz_sub_Tensor(l->c, x, lz_mul_Scalar(l->c, y, 2)), a, n);
}

/* What does not fuse reads them where they lie. */
static void product(loop *l, int64_t t)
{
    double want[16] = { 0 };
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < COLS; k++)
                want[i * 4 + j] += l->model[(t + i) * COLS + k] * l->model[(ROWS - 4 - t + j) * COLS + k];
    lz_tensor *a = lz_narrow(l->c, l->x, 0, t, 4), *b = lz_narrow(l->c, l->x, 0, ROWS - 4 - t, 4);
    expect(lz_mm(l->c, a, lz_t(l->c, b)), want, 16);
}

/* The view itself is a result. */
static void kept(loop *l, int64_t t)
{
    double want[NUMEL];
    int64_t n = show(l, t * COLS, 2, COLS, COLS, 1, want);
    lz_tensor *v = lz_clone(l->c, lz_narrow(l->c, l->x, 0, t, 2));
    lz_mark_step(l->c);
    expect(v, want, n);
}

/* ---- writes ---- */

static lz_tensor *numbers(lz_ctx *c, int64_t rows, int64_t cols, double first, double *out)
{
    float v[NUMEL];
    for (int64_t i = 0; i < rows * cols; i++)
        out[i] = v[i] = (float)(first + (double)i);
    return lz_from_memory(c, LZ_F32, LZ_DIMS(rows, cols), v);
}

static void put(loop *l, int64_t offset, int64_t n0, int64_t s0, int64_t n1, int64_t s1, const double *v)
{
    for (int64_t i = 0; i < n0; i++)
        for (int64_t j = 0; j < n1; j++)
            l->model[offset + i * s0 + j * s1] = v[i * n1 + j];
}

static void write_row(loop *l, int64_t t)
{
    double v[NUMEL];
    lz_tensor *from = numbers(l->c, 1, COLS, 100 + (double)t, v);
    lz_copy_(l->c, lz_select_int(l->c, l->x, 0, t), lz_select_int(l->c, from, 0, 0));
    put(l, t * COLS, 1, 0, COLS, 1, v);
    expect(l->x, l->model, NUMEL);
}

static void write_columns(loop *l, int64_t t)
{
    double v[NUMEL];
    lz_tensor *from = numbers(l->c, ROWS, 2, 7 * (double)t, v);
    lz_copy_(l->c, lz_narrow(l->c, l->x, 1, t % 5, 2), from);
    put(l, t % 5, ROWS, COLS, 2, 1, v);
    expect(l->x, l->model, NUMEL);
}

static void write_with_step(loop *l, int64_t t)
{
    double v[NUMEL];
    int64_t from = t % 8;
    lz_tensor *part = numbers(l->c, 5, COLS, (double)t, v);
    lz_copy_(
        l->c,
        lz_slice_Tensor(l->c, l->x, .dim = 0, .start = LZ_SOME(from), .end = LZ_SOME(from + 13), .step = 3),
        part);
    put(l, from * COLS, 5, 3 * COLS, COLS, 1, v);
    expect(l->x, l->model, NUMEL);
}

/* Rows and columns leave elements out: one scatter. */
static void write_block(loop *l, int64_t t)
{
    double v[NUMEL];
    lz_tensor *from = numbers(l->c, 3, 2, -(double)t, v);
    lz_tensor *view = lz_narrow(l->c, lz_narrow(l->c, l->x, 0, t, 3), 1, t % 4, 2);
    lz_copy_(l->c, view, from);
    put(l, t * COLS + t % 4, 3, COLS, 2, 1, v);
    expect(l->x, l->model, NUMEL);
}

static void write_strided(loop *l, int64_t t)
{
    double v[NUMEL];
    lz_tensor *from = numbers(l->c, 3, 2, (double)t, v);
    lz_copy_(l->c, lz_as_strided(l->c, l->x, LZ_DIMS(3, 2), LZ_DIMS(2, 7), .storage_offset = LZ_SOME(t)),
             from);
    put(l, t, 3, 2, 2, 7, v);
    expect(l->x, l->model, NUMEL);
}

static void add_in_place(loop *l, int64_t t)
{
    lz_add__Scalar(l->c, lz_narrow(l->c, l->x, 0, t, 2), 0.5);
    for (int64_t i = 0; i < 2 * COLS; i++)
        l->model[t * COLS + i] += 0.5;
    expect(l->x, l->model, NUMEL);
}

/* A row is written and another one read before anything has run. */
static void write_then_read(loop *l, int64_t t)
{
    double v[NUMEL], want[NUMEL];
    lz_tensor *from = numbers(l->c, 1, COLS, (double)t, v);
    lz_copy_(l->c, lz_narrow(l->c, l->x, 0, t, 1), from);
    put(l, t * COLS, 1, 0, COLS, 1, v);
    int64_t at = t * 7 % 20, n = show(l, at * COLS, 4, COLS, COLS, 1, want);
    expect(lz_mul_Scalar(l->c, lz_narrow(l->c, l->x, 0, at, 4), 1), want, n);
    expect(l->x, l->model, NUMEL);
}

/* The old row is read and then written over, in one graph; nobody else has the storage. */
static void read_then_write(loop *l, int64_t t)
{
    double want[NUMEL];
    int64_t n = show(l, (t + 2) * COLS, 2, COLS, COLS, 1, want);
    lz_tensor *old = lz_mul_Scalar(l->c, lz_narrow(l->c, l->x, 0, t + 2, 2), 3);
    lz_copy_(l->c, lz_narrow(l->c, l->x, 0, t, 2), old);
    for (int64_t i = 0; i < n; i++)
        want[i] *= 3;
    put(l, t * COLS, 2, COLS, COLS, 1, want);
    lz_mark_step(l->c);
    expect(l->x, l->model, NUMEL);
    expect(old, want, n);
    for (int64_t i = 0; i < NUMEL; i++) /* lest numbers become large */
        l->model[i] = (double)(i % 11);
    float v[NUMEL];
    for (int i = 0; i < NUMEL; i++)
        v[i] = (float)l->model[i];
    lz_copy_(l->c, l->x, lz_from_memory(l->c, LZ_F32, LZ_DIMS(ROWS, COLS), v));
    lz_mark_step(l->c);
}

/* ---- gradients ---- */

static lz_tensor *leaf(loop *l)
{
    lz_tensor *x = lz_detach(l->c, l->x);
    lz_set_requires_grad(x, true);
    return x;
}

/* Of the sum of w * x[t:t+2]^2, which is 2 * w * x there and 0 elsewhere. */
static void gradient(loop *l, int64_t t)
{
    double want[NUMEL] = { 0 };
    lz_tensor *x = leaf(l);
    lz_tensor *part = lz_narrow(l->c, x, 0, t, 2);
    lz_backward(l->c, lz_sum(l->c, lz_mul_Scalar(l->c, lz_mul_Tensor(l->c, part, part), 3)));
    for (int64_t i = t * COLS; i < (t + 2) * COLS; i++)
        want[i] = 6 * l->model[i];
    expect(lz_grad_of(x), want, NUMEL);
}

/* Of a row of a column block, and of a slice with a step: views of views. */
static void gradient_of_views(loop *l, int64_t t)
{
    double want[NUMEL] = { 0 };
    int64_t from = t % 8;
    lz_tensor *x = leaf(l);
    lz_tensor *row = lz_select_int(l->c, lz_narrow(l->c, x, 1, t % 4, 2), 0, t);
    lz_tensor *some =
        lz_slice_Tensor(l->c, x, .dim = 0, .start = LZ_SOME(from), .end = LZ_SOME(from + 13), .step = 3);
    lz_backward(l->c, lz_add_Tensor(l->c, lz_sum(l->c, lz_mul_Scalar(l->c, row, 5)), lz_sum(l->c, some)));
    for (int64_t i = 0; i < 2; i++)
        want[t * COLS + t % 4 + i] += 5;
    for (int64_t i = 0; i < 5; i++)
        for (int64_t j = 0; j < COLS; j++)
            want[(from + 3 * i) * COLS + j] += 1;
    expect(lz_grad_of(x), want, NUMEL);
}

/* The derivative of the gradient of x[t]^3 by x: 6 * x there. It looks at pending gradients, whose offsets
 * are part of the graph. */
static void second_derivative(loop *l, int64_t t)
{
    double want[NUMEL] = { 0 };
    lz_tensor *x = leaf(l), *first[1], *second[1];
    lz_tensor *row = lz_select_int(l->c, x, 0, t);
    lz_tensor *y = lz_sum(l->c, lz_mul_Tensor(l->c, row, lz_mul_Tensor(l->c, row, row)));
    assert_true(lz_grad(l->c, LZ_TENSORS(y), LZ_TENSORS(x), first, .create_graph = true));
    lz_tensor *z = lz_sum(l->c, first[0]);
    assert_true(lz_grad(l->c, LZ_TENSORS(z), LZ_TENSORS(x), second));
    for (int64_t j = 0; j < COLS; j++)
        want[t * COLS + j] = 6 * l->model[t * COLS + j];
    expect(second[0], want, NUMEL);
}

/* ---- the loops ---- */

typedef void step_fn(loop *l, int64_t t);

static const struct named {
    const char *name;
    step_fn *run;
    bool fixed; /* offsets are part of the graph: only values are compared */
} steps[] = {
    { "narrow", narrow, .fixed = false },
    { "narrow_columns", narrow_columns, .fixed = false },
    { "select_row", select_row, .fixed = false },
    { "select_from_end", select_from_end, .fixed = false },
    { "slice_with_step", slice_with_step, .fixed = false },
    { "transposed", transposed, .fixed = false },
    { "view_of_view", view_of_view, .fixed = false },
    { "strided", strided, .fixed = false },
    { "unbound", unbound, .fixed = false },
    { "split_part", split_part, .fixed = false },
    { "several", several, .fixed = false },
    { "product", product, .fixed = false },
    { "kept", kept, .fixed = false },
    { "write_row", write_row, .fixed = false },
    { "write_columns", write_columns, .fixed = false },
    { "write_with_step", write_with_step, .fixed = false },
    { "write_block", write_block, .fixed = false },
    { "write_strided", write_strided, .fixed = false },
    { "add_in_place", add_in_place, .fixed = false },
    { "write_then_read", write_then_read, .fixed = false },
    { "read_then_write", read_then_write, .fixed = false },
    { "gradient", gradient, .fixed = false },
    { "gradient_of_views", gradient_of_views, .fixed = false },
    { "second_derivative", second_derivative, .fixed = true },
};

static loop start(lz_ctx *c)
{
    loop l = { .c = c };
    float v[NUMEL];
    for (int i = 0; i < NUMEL; i++)
        l.model[i] = v[i] = (float)(i * 37 % 101);
    l.x = lz_from_memory(c, LZ_F32, LZ_DIMS(ROWS, COLS), v);
    return l;
}

static void run_loop(const struct named *n, bool async)
{
    lz_ctx *c = open_ctx(&(lz_options){ .async = async });
    loop l = start(c);
    int64_t compiled = 0;
    for (int64_t t = 0; t < TIMES; t++) {
        lz_scope *s = lz_scope_push(c);
        n->run(&l, t);
        lz_scope_pop(s);
        if (t == SETTLED)
            compiled = count("UncachedCompile");
    }
    if (!n->fixed && count("UncachedCompile") != compiled)
        fail_msg("%s: %lld graphs for %d offsets: %s", n->name,
                 (long long)(count("UncachedCompile") - compiled), TIMES - SETTLED, lz_explain(c));
    close_ctx(c);
}

static void test_loops(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        run_loop(&steps[i], false);
        run_loop(&steps[i], true);
    }
}

/* ---- programs that nobody wrote ---- */

enum { STORES = 4, VIEWS = 6, ACTIONS = 60, PROGRAMS = 40, BASE = 60 };

typedef struct store {
    double v[BASE];
} store;

typedef struct view {
    lz_tensor *t;
    int store;
    int64_t offset, n, size[2], stride[2];
} view;

typedef struct program {
    lz_ctx *c;
    uint64_t state;
    store stores[STORES];
    view bases[STORES], views[VIEWS];
} program;

static uint64_t draw(program *p, uint64_t n)
{
    p->state = p->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (p->state >> 33) % n;
}

static int64_t address(const view *v, int64_t i)
{
    return v->n == 1 ? v->offset + i * v->stride[0]
                     : v->offset + i / v->size[1] * v->stride[0] + i % v->size[1] * v->stride[1];
}

static int64_t numel(const view *v)
{
    return v->n == 1 ? v->size[0] : v->size[0] * v->size[1];
}

static void drop(view *v)
{
    if (v->t)
        lz_release(v->t);
    v->t = NULL;
}

static void keep(view *to, view v, lz_tensor *t)
{
    lz_tensor *kept = lz_retain(t);
    drop(to);
    *to = v;
    to->t = kept;
}

static void make_store(program *p, int i)
{
    float v[BASE];
    int64_t rows = draw(p, 2) ? 10 : 12;
    for (int k = 0; k < BASE; k++)
        p->stores[i].v[k] = v[k] = (float)draw(p, 50);
    view b = { NULL, i, 0, 2, { rows, BASE / rows }, { BASE / rows, 1 } };
    keep(&p->bases[i], b, lz_from_memory(p->c, LZ_F32, LZ_DIMS(rows, BASE / rows), v));
}

/* A part, a row, a transposition of a base or a view. */
static void make_view(program *p)
{
    const view *from = draw(p, 2) ? &p->bases[draw(p, STORES)] : &p->views[draw(p, VIEWS)];
    view v = *from;
    if (!v.t)
        return;
    int d = (int)draw(p, (uint64_t)v.n);
    int64_t kind = (int64_t)draw(p, 4), step = 1 + (int64_t)draw(p, 2), n = v.size[d];
    lz_tensor *t = v.t;
    if (kind == 0) {
        int64_t len = 1 + (int64_t)draw(p, (uint64_t)n), at = (int64_t)draw(p, (uint64_t)(n - len + 1));
        t = lz_narrow(p->c, v.t, d, at, len);
        v.offset += at * v.stride[d];
        v.size[d] = len;
    } else if (kind == 1 && v.n == 2) {
        int64_t at = (int64_t)draw(p, (uint64_t)n);
        t = lz_select_int(p->c, v.t, d, draw(p, 2) ? at : at - n);
        v.offset += at * v.stride[d];
        v.size[0] = v.size[1 - d];
        v.stride[0] = v.stride[1 - d];
        v.n = 1;
    } else if (kind == 2) {
        int64_t at = (int64_t)draw(p, (uint64_t)n);
        t = lz_slice_Tensor(p->c, v.t, .dim = d, .start = LZ_SOME(at), .step = step);
        v.offset += at * v.stride[d];
        v.size[d] = (n - at + step - 1) / step;
        v.stride[d] *= step;
    } else if (v.n == 2) {
        t = lz_t(p->c, v.t);
        v = *from;
        v.size[0] = from->size[1], v.size[1] = from->size[0];
        v.stride[0] = from->stride[1], v.stride[1] = from->stride[0];
    }
    keep(&p->views[draw(p, VIEWS)], v, t);
}

static view *any(program *p)
{
    view *v = draw(p, 3) ? &p->views[draw(p, VIEWS)] : &p->bases[draw(p, STORES)];
    return v->t ? v : &p->bases[draw(p, STORES)];
}

static lz_ints sizes_of(const view *v)
{
    return (lz_ints){ v->size, v->n };
}

static void write_view(program *p)
{
    view *v = any(p);
    float data[BASE];
    double add = (double)draw(p, 9), *to = p->stores[v->store].v;
    if (draw(p, 2)) {
        lz_add__Scalar(p->c, v->t, add);
        for (int64_t i = 0; i < numel(v); i++)
            to[address(v, i)] += add;
        return;
    }
    for (int64_t i = 0; i < numel(v); i++)
        to[address(v, i)] = data[i] = (float)draw(p, 90);
    lz_copy_(p->c, v->t, lz_from_memory(p->c, LZ_F32, sizes_of(v), data));
}

/* From one storage into another, through views of the same size. */
static void copy_view(program *p)
{
    view *a = any(p), *b = any(p);
    if (a->store == b->store || a->n != b->n || a->size[0] != b->size[0]
        || (a->n == 2 && a->size[1] != b->size[1]))
        return;
    lz_copy_(p->c, a->t, b->t);
    for (int64_t i = 0; i < numel(a); i++)
        p->stores[a->store].v[address(a, i)] = p->stores[b->store].v[address(b, i)];
}

static void check_view(program *p, const view *v, int action)
{
    float got[BASE];
    lz_scope *s = lz_scope_push(p->c);
    lz_tensor *t = lz_add_Scalar(p->c, v->t, 1);
    lz_read(lz_contiguous(p->c, t), got, (size_t)numel(v) * sizeof *got);
    for (int64_t i = 0; i < numel(v); i++)
        if (got[i] != p->stores[v->store].v[address(v, i)] + 1)
            fail_msg("action %d: element %lld is %g, not %g (%s)", action, (long long)i, got[i] - 1.0F,
                     p->stores[v->store].v[address(v, i)], lz_message(p->c));
    lz_scope_pop(s);
}

static void act(program *p, int i)
{
    switch (draw(p, 8)) {
    case 0:
    case 1:
    case 2:
        make_view(p);
        return;
    case 3:
    case 4:
        write_view(p);
        return;
    case 5:
        copy_view(p);
        return;
    case 6:
        check_view(p, any(p), i);
        return;
    default:
        if (draw(p, 3))
            lz_mark_step(p->c);
        else
            make_store(p, (int)draw(p, STORES));
    }
}

/* A storage that is made anew leaves its old views with what they had: they are dropped. */
static void forget_views(program *p)
{
    for (int i = 0; i < VIEWS; i++)
        if (p->views[i].t && !p->bases[p->views[i].store].t)
            drop(&p->views[i]);
}

static void run_program(uint64_t seed, bool async)
{
    static program p;
    memset(&p, 0, sizeof p);
    p.c = open_ctx(&(lz_options){ .async = async });
    p.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (int i = 0; i < STORES; i++)
        make_store(&p, i);
    lz_mark_step(p.c);
    for (int i = 0; i < ACTIONS; i++) {
        lz_scope *s = lz_scope_push(p.c);
        lz_tensor *old[STORES];
        for (int k = 0; k < STORES; k++)
            old[k] = p.bases[k].t;
        act(&p, i);
        for (int k = 0; k < VIEWS; k++)
            if (p.views[k].t && old[p.views[k].store] != p.bases[p.views[k].store].t)
                drop(&p.views[k]);
        lz_scope_pop(s);
    }
    forget_views(&p);
    for (int i = 0; i < STORES; i++)
        check_view(&p, &p.bases[i], ACTIONS);
    for (int i = 0; i < VIEWS; i++)
        if (p.views[i].t)
            check_view(&p, &p.views[i], ACTIONS);
    for (int i = 0; i < VIEWS; i++)
        drop(&p.views[i]);
    for (int i = 0; i < STORES; i++)
        drop(&p.bases[i]);
    close_ctx(p.c);
}

static void test_random_programs(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < PROGRAMS; seed++)
        run_program(seed, seed % 4 == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
