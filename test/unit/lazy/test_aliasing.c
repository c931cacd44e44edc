#include "lazy_calls.h"

/* Random programs of views and writes, beside an array that does what strides say. */

enum { STORAGES = 64, TENSORS = 24, ROOM = 512, STATEMENTS = 60 };

static uint64_t state;

static int64_t below(int64_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)(state >> 33) % n;
}

typedef struct plain {
    lz_tensor *t; /* NULL: none */
    int storage;
    int64_t n, sizes[16], strides[16], offset;
} plain;

typedef struct world {
    lz_ctx *c;
    float memory[STORAGES][ROOM];
    int64_t length[STORAGES];
    int nstorages;
    plain v[TENSORS];
} world;

/* ---- the plain side ---- */

static int64_t numel(const plain *p)
{
    int64_t n = 1;
    for (int64_t i = 0; i < p->n; i++)
        n *= p->sizes[i];
    return n;
}

/* Where element i of the row-major order lies. */
static int64_t place(const plain *p, int64_t i)
{
    int64_t at = p->offset;
    for (int64_t d = p->n - 1; d >= 0; d--) {
        at += i % p->sizes[d] * p->strides[d];
        i /= p->sizes[d];
    }
    return at;
}

static float *element(world *w, const plain *p, int64_t i)
{
    return &w->memory[p->storage][place(p, i)];
}

static bool repeats(const plain *p)
{
    bool seen[ROOM] = { false }, twice = false;
    for (int64_t i = 0; i < numel(p); i++) {
        int64_t at = place(p, i);
        twice = twice || seen[at];
        seen[at] = true;
    }
    return twice;
}

/* Some element of both, at different places of the two. */
static bool shifted(const plain *a, const plain *b)
{
    for (int64_t i = 0; a->storage == b->storage && i < numel(a); i++)
        for (int64_t j = 0; j < numel(b); j++)
            if (i != j && place(a, i) == place(b, j))
                return true;
    return false;
}

/* ---- both sides ---- */

static plain *pick(world *w)
{
    plain *p = &w->v[below(TENSORS)];
    return p->t ? p : &w->v[0];
}

/* A result that is a view: what the plain side says must be what it looks like. */
static void keep(world *w, plain p, lz_tensor *t)
{
    plain *to = &w->v[1 + below(TENSORS - 1)];
    if (lz_failed(w->c))
        return;
    assert_int_equal(lz_tensor_ndim(t), p.n);
    assert_int_equal(lz_tensor_offset(t), p.offset);
    for (int64_t i = 0; i < p.n; i++) {
        assert_int_equal(lz_tensor_sizes(t).v[i], p.sizes[i]);
        if (p.sizes[i] > 1)
            assert_int_equal(lz_tensor_strides(t).v[i], p.strides[i]);
    }
    if (to->t)
        lz_release(to->t);
    *to = p;
    to->t = t;
}

/* A result of its own, that has p's elements plus a number: laid out as it says. */
static void keep_fresh(world *w, const plain *p, float plus, lz_tensor *t)
{
    plain q = { .storage = w->nstorages, .n = p->n };
    if (lz_failed(w->c) || w->nstorages == STORAGES || numel(p) > ROOM)
        return;
    w->length[w->nstorages++] = numel(p);
    assert_true(t->spec->dense);
    for (int64_t i = 0; i < p->n; i++) {
        q.sizes[i] = p->sizes[i];
        q.strides[i] = lz_tensor_strides(t).v[i];
    }
    for (int64_t i = 0; i < numel(p); i++)
        *element(w, &q, i) = *element(w, p, i) + plus;
    keep(w, q, t);
}

static void drop_dim(plain *p, int64_t d)
{
    p->n--;
    for (; d < p->n; d++) {
        p->sizes[d] = p->sizes[d + 1];
        p->strides[d] = p->strides[d + 1];
    }
}

static void add_dim(plain *p, int64_t d, int64_t size, int64_t stride)
{
    for (int64_t i = p->n++; i > d; i--) {
        p->sizes[i] = p->sizes[i - 1];
        p->strides[i] = p->strides[i - 1];
    }
    p->sizes[d] = size;
    p->strides[d] = stride;
}

/* ---- views ---- */

static void do_slice(world *w)
{
    plain p = *pick(w);
    if (p.n == 0)
        return;
    int64_t d = below(p.n), start = below(p.sizes[d] + 1), end = start + below(p.sizes[d] - start + 1);
    int64_t step = 1 + below(3);
    lz_tensor *t = CALL(w->c, slice_Tensor, T(p.t), I(d), I(start), I(end), I(step));
    if (end == start)
        return; /* strides of nothing mean nothing */
    p.offset += start * p.strides[d];
    p.sizes[d] = (end - start + step - 1) / step;
    p.strides[d] *= step;
    keep(w, p, t);
}

static void do_select(world *w)
{
    plain p = *pick(w);
    if (p.n == 0)
        return;
    int64_t d = below(p.n), i = below(p.sizes[d]);
    p.offset += i * p.strides[d];
    lz_tensor *t = CALL(w->c, select_int, T(p.t), I(d), I(i));
    drop_dim(&p, d);
    keep(w, p, t);
}

static void do_transpose(world *w)
{
    plain p = *pick(w), q = p;
    if (p.n < 2)
        return;
    int64_t a = below(p.n), b = below(p.n);
    q.sizes[a] = p.sizes[b];
    q.strides[a] = p.strides[b];
    q.sizes[b] = p.sizes[a];
    q.strides[b] = p.strides[a];
    keep(w, q, CALL(w->c, transpose_int, T(p.t), I(a), I(b)));
}

static void do_unsqueeze(world *w)
{
    plain p = *pick(w);
    if (p.n == 6)
        return;
    int64_t d = below(p.n + 1);
    lz_tensor *t = CALL(w->c, unsqueeze, T(p.t), I(d));
    add_dim(&p, d, 1, 1);
    keep(w, p, t);
}

static void do_expand(world *w)
{
    plain p = *pick(w);
    if (p.n == 6 || numel(&p) > 50)
        return;
    add_dim(&p, 0, 2, 0);
    lz_tensor *t = CALL(w->c, expand, T(p.t), lz_value_ints((lz_ints){ p.sizes, p.n }));
    keep(w, p, t);
}

static void do_diagonal(world *w)
{
    plain p = *pick(w);
    if (p.n < 2)
        return;
    int64_t size = p.sizes[0] < p.sizes[1] ? p.sizes[0] : p.sizes[1], stride = p.strides[0] + p.strides[1];
    lz_tensor *t = CALL(w->c, diagonal, T(p.t), I(0), I(0), I(1));
    drop_dim(&p, 0);
    drop_dim(&p, 0);
    add_dim(&p, p.n, size, stride);
    keep(w, p, t);
}

static void do_unfold(world *w)
{
    plain p = *pick(w);
    int64_t d = p.n ? below(p.n) : 0, step = 1 + below(3), size = 2;
    if (p.n == 0 || p.n == 6 || p.sizes[d] < size)
        return;
    lz_tensor *t = CALL(w->c, unfold, T(p.t), I(d), I(size), I(step));
    int64_t stride = p.strides[d];
    p.sizes[d] = (p.sizes[d] - size) / step + 1;
    p.strides[d] *= step;
    add_dim(&p, p.n, size, stride);
    keep(w, p, t);
}

static void do_strided(world *w)
{
    plain p = *pick(w);
    int64_t n = w->length[p.storage], a = 1 + below(3), b = 1 + below(3), s = below(4), u = below(4),
            at = below(3);
    if (at + (a - 1) * s + (b - 1) * u >= n)
        return;
    lz_tensor *t = CALL(w->c, as_strided, T(p.t), L(a, b), L(s, u), I(at));
    plain q = { .storage = p.storage, .n = 2, .sizes = { a, b }, .strides = { s, u }, .offset = at };
    keep(w, q, t);
}

/* Two neighbouring dimensions as one, where that is a view; else a copy. */
static void do_flatten(world *w)
{
    plain p = *pick(w), q = p;
    if (p.n < 2)
        return;
    int64_t d = below(p.n - 1);
    bool view = p.sizes[d] == 1 || p.sizes[d + 1] == 1 || p.strides[d] == p.strides[d + 1] * p.sizes[d + 1];
    lz_tensor *t = CALL(w->c, flatten_using_ints, T(p.t), I(d), I(d + 1));
    q.strides[d] = p.sizes[d + 1] == 1 ? p.strides[d] : p.strides[d + 1];
    q.sizes[d] = p.sizes[d] * p.sizes[d + 1];
    drop_dim(&q, d + 1);
    if (lz_failed(w->c))
        return;
    assert_int_equal(lz_is_alias_of(t, p.t), view);
    if (view)
        keep(w, q, t);
}

/* ---- values ---- */

static void do_add(world *w)
{
    plain p = *pick(w);
    if (numel(&p) <= ROOM)
        keep_fresh(w, &p, 3, CALL(w->c, add_Scalar, T(p.t), S(3), S(1)));
}

static void do_add_inplace(world *w)
{
    plain p = *pick(w);
    if (repeats(&p))
        return;
    CALL(w->c, add__Scalar, T(p.t), S(1), S(2));
    for (int64_t i = 0; i < numel(&p); i++)
        *element(w, &p, i) += 2;
}

static void do_fill(world *w)
{
    plain p = *pick(w);
    float v = (float)below(10);
    CALL(w->c, fill__Scalar, T(p.t), S(v));
    for (int64_t i = 0; i < numel(&p); i++)
        *element(w, &p, i) = v;
}

static void do_copy(world *w)
{
    plain p = *pick(w), q = *pick(w);
    bool same = p.n == q.n;
    float old[ROOM] = { 0 };
    for (int64_t i = 0; same && i < p.n; i++)
        same = p.sizes[i] == q.sizes[i];
    if (!same || repeats(&p) || shifted(&p, &q))
        return;
    CALL(w->c, copy_, T(p.t), T(q.t));
    for (int64_t i = 0; i < numel(&q); i++)
        old[i] = *element(w, &q, i);
    for (int64_t i = 0; i < numel(&p); i++)
        *element(w, &p, i) = old[i];
}

static void do_transpose_inplace(world *w)
{
    plain *p = pick(w);
    if (p->n < 2)
        return;
    int64_t size = p->sizes[0], stride = p->strides[0];
    CALL(w->c, transpose_, T(p->t), I(0), I(1));
    p->sizes[0] = p->sizes[1];
    p->strides[0] = p->strides[1];
    p->sizes[1] = size;
    p->strides[1] = stride;
}

static void do_step(world *w)
{
    lz_err *e = below(3) ? NULL : lz_ctx_sync(w->c, NULL, 0, LZ_CAUSE_STEP, LZ_HERE);
    lz_ctx_fail(w->c, LZ_HERE, e);
}

static void do_read(world *w)
{
    plain p = *pick(w);
    float got[ROOM];
    if (numel(&p) > ROOM || !lz_read(p.t, got, sizeof got))
        return;
    for (int64_t i = 0; i < numel(&p); i++)
        assert_true(got[i] == *element(w, &p, i));
}

/* ---- programs ---- */

typedef void statement(world *w);

static statement *const statements[] = { do_slice,   do_select,      do_transpose, do_unsqueeze,
                                         do_expand,  do_diagonal,    do_unfold,    do_strided,
                                         do_flatten, do_add,         do_fill,      do_copy,
                                         do_step,    do_add_inplace, do_read,      do_transpose_inplace,
                                         do_slice,   do_add_inplace, do_copy,      do_select };

static void begin(world *w)
{
    plain p = { .n = 3, .sizes = { 3, 4, 5 }, .strides = { 20, 5, 1 } };
    for (int i = 0; i < 60; i++)
        w->memory[0][i] = (float)i;
    w->length[0] = 60;
    w->nstorages = 1;
    w->v[0] = p;
    w->v[0].t = lz_from_memory(w->c, LZ_F32, LZ_DIMS(3, 4, 5), w->memory[0]);
}

static lz_err *run_program(uint64_t seed, int length)
{
    static world w;
    memset(&w, 0, sizeof w);
    state = seed;
    w.c = lz_open(NULL);
    if (!w.c)
        return lz_err_oom();
    if (!lz_failed(w.c))
        begin(&w);
    for (int i = 0; i < length && !lz_failed(w.c); i++)
        statements[below(sizeof statements / sizeof *statements)](&w);
    for (int i = 0; i < 2 * TENSORS && !lz_failed(w.c); i++)
        do_read(&w);
    return finish(w.c);
}

static lz_err *test_short_program(void)
{
    return run_program(5, 14);
}

static lz_err *test_programs(void)
{
    lz_err *e = NULL;
    for (uint64_t seed = 1; !e && !lz_check_failing() && seed <= 300; seed++)
        e = run_program(seed * 77, STATEMENTS);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_short_program), LZ_TEST(test_programs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
