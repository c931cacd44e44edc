/* How much work fusion does: the steps that its searches meet, for graphs of n and of 4 n nodes. */
#include "check.h"
#include "plan/fuse_impl.h"

typedef lz_err *make_fn(lz_lower *b, int n, const lz_low_node **out);

static const int64_t row_sizes[] = { 1, 4, 8 };

static lz_err *input(lz_lower *b, int64_t slot, lz_ints sizes, const lz_low_node **out)
{
    int64_t strides[4], s = 1;
    for (int64_t d = sizes.n; d-- > 0; s *= sizes.v[d])
        strides[d] = s;
    return lz_low_input(b, slot, LZ_F32, sizes, (lz_ints){ strides, sizes.n }, 0, out);
}

static lz_err *map2(lz_lower *b, lz_kernel_op op, const lz_low_node *x, const lz_low_node *y,
                    const lz_low_node **out)
{
    const lz_low_node *in[] = { x, y };
    return lz_low_map(b, op, in, out);
}

static lz_err *tanh_of(lz_lower *b, const lz_low_node *x, const lz_low_node **out)
{
    return lz_low_map(b, LZ_KERNEL_TANH, &x, out);
}

/* A recurrent cell: h = tanh(x[t] + h w), all h's side by side; then back again, as gradients do. */
static lz_err *make_scan(lz_lower *b, int n, const lz_low_node **out)
{
    const int64_t all[] = { n, 1, 4, 8 }, square[] = { 1, 8, 8 };
    const lz_low_node *x, *w, *h, *at, *g, **hs;
    LZ_TRY(lz_arena_new(b->arena, &hs, (size_t)n));
    LZ_TRY(input(b, 0, (lz_ints){ all, 4 }, &x));
    LZ_TRY(input(b, 1, (lz_ints){ square, 3 }, &w));
    LZ_TRY(input(b, 2, (lz_ints){ row_sizes, 3 }, &h));
    for (int t = 0; t < n; t++) {
        LZ_TRY(lz_low_select(b, x, 0, t, &at));
        LZ_TRY(lz_low_matmul(b, h, w, &h));
        LZ_TRY(map2(b, LZ_KERNEL_ADD, h, at, &h));
        LZ_TRY(tanh_of(b, h, &h));
        hs[t] = h;
    }
    LZ_TRY(lz_low_cat(b, hs, (size_t)n, 1, &at));
    LZ_TRY(tanh_of(b, at, out));
    for (int t = n; t-- > 0;) {
        LZ_TRY(lz_low_slice(b, *out, 1, 4 * t, 1, 4, &g));
        LZ_TRY(map2(b, LZ_KERNEL_MUL, g, hs[t], &g));
        LZ_TRY(map2(b, LZ_KERNEL_ADD, g, h, &h));
        LZ_TRY(lz_low_matmul(b, h, w, &h));
    }
    *out = h;
    return NULL;
}

/* Many parts of one result, each read by itself. */
static lz_err *make_wide(lz_lower *b, int n, const lz_low_node **out)
{
    const lz_low_node *x, *all, *part, **parts;
    LZ_TRY(lz_arena_new(b->arena, &parts, (size_t)n));
    for (int i = 0; i < n; i++) {
        LZ_TRY(input(b, i, (lz_ints){ row_sizes, 3 }, &x));
        LZ_TRY(tanh_of(b, x, &parts[i]));
    }
    LZ_TRY(lz_low_cat(b, parts, (size_t)n, 1, &all));
    for (int i = 0; i < n; i++) {
        LZ_TRY(lz_low_slice(b, all, 1, 4 * i, 1, 4, &part));
        LZ_TRY(lz_low_reduce(b, LZ_KERNEL_RSUM, part, 7, true, &part));
        LZ_TRY(i ? map2(b, LZ_KERNEL_ADD, *out, part, out) : (*out = part, NULL));
    }
    return NULL;
}

/* A chain in which each link is used by the next and by the last but one. */
static lz_err *make_chain(lz_lower *b, int n, const lz_low_node **out)
{
    const lz_low_node *x, *sum;
    LZ_TRY(input(b, 0, (lz_ints){ row_sizes, 3 }, &x));
    for (int i = 0; i < n; i++) {
        LZ_TRY(lz_low_reduce(b, LZ_KERNEL_RSUM, x, 4, true, &sum));
        LZ_TRY(lz_low_expand(b, sum, (lz_ints){ row_sizes, 3 }, &sum));
        LZ_TRY(map2(b, LZ_KERNEL_ADD, x, sum, &x));
        LZ_TRY(tanh_of(b, x, &x));
    }
    *out = x;
    return NULL;
}

static lz_err *count(make_fn *make, int n, size_t *met, size_t *steps)
{
    lz_arena arena;
    lz_lower b;
    lz_fused f;
    const lz_low_node *out;
    lz_arena_init(&arena);
    lz_low_init(&b, &arena);
    lz_err *e = make(&b, n, &out);
    e = e ? e : lz_fuse(&f, &b, &out, 1, LZ_GROUP_ITEMS);
    if (!e) {
        *met = f.lists->met;
        *steps = f.order.len;
        lz_fused_deinit(&f);
    }
    lz_low_deinit(&b);
    lz_arena_deinit(&arena);
    return e;
}

/* Four times the nodes: at most four times the work and a little, and as well fused. */
static lz_err *check_linear(make_fn *make, int n)
{
    size_t met[2], steps[2];
    LZ_TRY(count(make, n, &met[0], &steps[0]));
    LZ_TRY(count(make, 4 * n, &met[1], &steps[1]));
    if (met[1] > 5 * met[0] + 100 || steps[1] > 4 * steps[0] + 8)
        fail_msg("%d: %zu met, %zu steps; four times as many: %zu met, %zu steps", n, met[0], steps[0],
                 met[1], steps[1]);
    return NULL;
}

static void test_linear(void **state)
{
    make_fn *const makers[] = { make_scan, make_wide, make_chain };
    (void)state;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        lz_err *e = check_linear(makers[i], 400);
        if (e)
            fail_msg("%s", lz_err_text(e));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_linear) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
