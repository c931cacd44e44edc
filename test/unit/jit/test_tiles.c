/* The ways in which the tile interpreter walks: for each a shape that takes it, compared to the last bit with
 * the slow evaluator, with every vector extension, one thread and three, and with compiled code. */
#include "emit_run.h"
#include "jit/code_launch.h"
#include "jit/fused_instr.h"
#include "jit/program.h"
#include "random_kernel.h"
#include "slow_eval.h"

typedef random_kernel grid;

static lz_pool *threads;
static const lz_target *targets[LZ_TARGETS_MOST];
static int n_targets;

/* ---- kernels and their memory ---- */

static void begin(grid *g, lz_kernel_mode mode, int n_outer, int n_row, const int64_t *extents)
{
    *g = (grid){ .state = 77, .n_outer = n_outer, .n_row = n_row };
    memcpy(g->extents, extents, (size_t)(n_outer + n_row) * sizeof *extents);
    assert_null(lz_kernel_builder_create(mode, n_outer, n_row, &g->b));
}

/* Strides of all dimensions; memory is as large as they reach. */
static int reach(grid *g, int dtype, lz_kernel_vary vary, bool store, const int64_t *strides)
{
    int a = lz_kernel_build_access(g->b, (lz_dtype)dtype, vary);
    int64_t low = 0, high = 0;
    for (int d = 0; d < g->n_outer + g->n_row; d++) {
        int64_t far = strides[d] * (g->extents[d] - 1);
        g->strides[a][d] = strides[d];
        low += far < 0 ? far : 0;
        high += far > 0 ? far : 0;
    }
    g->access[a] = (lz_kernel_access){ .offset = -low, .strides = g->strides[a] };
    g->bytes[a] = (size_t)(high - low + 2) * 8;
    g->access[a].base = calloc(1, g->bytes[a]);
    assert_non_null(g->access[a].base);
    if (!store)
        rk_fill(g, dtype, g->access[a].base, high - low + 1);
    g->stored[a] = store;
    g->dtypes[a] = dtype;
    g->n_access = a + 1;
    return a;
}

#define S(...) ((const int64_t[]){ __VA_ARGS__ })

static lz_kernel_value load(grid *g, int dtype, lz_kernel_vary vary, const int64_t *strides)
{
    return lz_kernel_build_load(g->b, reach(g, dtype, vary, false, strides));
}

static void store(grid *g, int dtype, lz_kernel_vary vary, const int64_t *strides, lz_kernel_value v)
{
    lz_kernel_build_store(g->b, reach(g, dtype, vary, true, strides), v);
}

static lz_kernel_value whole(grid *g, int64_t v)
{
    return lz_kernel_build_const_i(g->b, LZ_KERNEL_I64, v);
}

/* Whole numbers from 0 to `below`, without it, in the memory of an access. */
static void indices(grid *g, int a, int64_t below)
{
    int64_t *at = g->access[a].base;
    for (size_t i = 0; i < g->bytes[a] / 8; i++)
        at[i] = (int64_t)(i * 7919 % (size_t)below);
}

/* ---- running ---- */

typedef char *memory[RK_ACCESSES];

static void take(const grid *g, memory out)
{
    for (int a = 0; a < g->n_access; a++) {
        out[a] = g->stored[a] ? malloc(g->bytes[a]) : NULL;
        if (out[a])
            memcpy(out[a], g->access[a].base, g->bytes[a]);
    }
}

/* Compares with `want`, and clears. */
static void expect(const grid *g, memory want, const char *what)
{
    for (int a = 0; a < g->n_access; a++) {
        if (!want[a])
            continue;
        int64_t at = er_difference(g->dtypes[a], g->access[a].base, want[a], g->bytes[a] - 8);
        if (at >= 0)
            fail_msg("%s: access %d differs at byte %lld", what, a, (long long)at);
        memset(g->access[a].base, 0, g->bytes[a]);
    }
}

static void expect_compiled(const grid *g, const lz_kernel *k, memory want)
{
    static emit_run run;
    lz_kernel_args args = rk_args(g);
    for (int t = 0; t < n_targets; t++) {
        lz_native_loaded code = { 0 };
        er_init(&run, k, &args, 0, 0);
        assert_null(er_compile(&run, targets[t], &code));
        assert_null(er_call(&run, &code));
        expect(g, want, targets[t]->name);
        lz_native_unload(&code);
        er_free(&run);
    }
}

static void expect_interpreted(const grid *g, const lz_kernel *k, memory want)
{
    const lz_tile_table *tiles[3];
    lz_kernel_args args = rk_args(g);
    int n = lz_tile_all(tiles);
    for (int t = 0; t < n * 2; t++) {
        lz_program *p = NULL;
        assert_null(lz_program_create(&k->ir, tiles[t / 2], &p));
        assert_null(lz_program_run(p, &args, t % 2 ? threads : NULL));
        expect(g, want, tiles[t / 2]->name);
        lz_program_destroy(p);
    }
}

/* Runs it in all ways. `l`: how the interpreter does it on one thread. */
static void finish(grid *g, lz_launch *l)
{
    lz_kernel *k = NULL, *plain = NULL;
    lz_kernel_args args = rk_args(g);
    memory want = { NULL };
    assert_null(lz_kernel_builder_finish(g->b, &k));
    assert_null(lz_kernel_expand(k, &plain));
    assert_true(slow_run(&plain->ir, &args));
    take(g, want);
    for (int a = 0; a < g->n_access; a++)
        if (g->stored[a])
            memset(g->access[a].base, 0, g->bytes[a]);
    expect_interpreted(g, k, want);
    expect_compiled(g, k, want);
    assert_null(lz_launch_prepare(l, k->program, &args, 1));
    l->p = NULL; /* gone with the kernel */
    for (int a = 0; a < RK_ACCESSES; a++)
        free(want[a]);
    lz_kernel_release(plain);
    lz_kernel_release(k);
    rk_free(g);
}

/* ---- tiles of whole lines ---- */

static void test_lines(void **state)
{
    (void)state;
    grid g;
    lz_launch l;
    begin(&g, LZ_KERNEL_ROWS, 2, 1, S(5, 41, 30));
    lz_kernel_value x = load(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(1, 150, 5)),
                    y = load(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(1230, 30, 1));
    store(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(1400, 34, -1), lz_kernel_build_op2(g.b, LZ_KERNEL_SUB, x, y));
    finish(&g, &l);
    assert_true(l.flat && l.lines > 1 && !l.across);
}

static void test_lines_of_columns(void **state)
{
    (void)state;
    grid g;
    lz_launch l;
    begin(&g, LZ_KERNEL_COLUMNS, 3, 2, S(6, 32, 32, 2, 2));
    lz_kernel_value x = load(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(4096, 128, 2, 64, 1));
    store(&g, LZ_F32, LZ_KERNEL_OUTER, S(1024, 32, 1, 0, 0), lz_kernel_build_reduce(g.b, LZ_KERNEL_RSUM, x));
    finish(&g, &l);
    assert_true(!l.flat && !l.rows && l.lines > 1);
}

/* So few lines side by side that tiles go on wherever the order leads. */
static void test_across(void **state)
{
    (void)state;
    grid g;
    lz_launch l;
    begin(&g, LZ_KERNEL_ROWS, 2, 1, S(90, 5, 7));
    lz_kernel_value x = load(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(1, 700, 90));
    store(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(40, 8, 1), lz_kernel_build_op1(g.b, LZ_KERNEL_NEG, x));
    finish(&g, &l);
    assert_true(l.flat && l.across && !l.lines);
}

/* Three columns: the tiles go down them. */
static void test_short_lines(void **state)
{
    (void)state;
    grid g;
    lz_launch l;
    begin(&g, LZ_KERNEL_ROWS, 1, 1, S(700, 3));
    lz_kernel_value x = load(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(3, 1)),
                    y = load(&g, LZ_I16, LZ_KERNEL_ELEMENT, S(1, 701));
    store(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(4, 1),
          lz_kernel_build_op2(g.b, LZ_KERNEL_ADD, x, lz_kernel_build_cast(g.b, y, LZ_F32)));
    finish(&g, &l);
    assert_true(l.flat);
    assert_int_equal(l.lane.extent[1], 700);
}

/* Their order shows in which index is out of bounds: it stays. */
static void test_short_lines_of_checks(void **state)
{
    (void)state;
    grid g;
    lz_launch l;
    begin(&g, LZ_KERNEL_ROWS, 1, 1, S(700, 3));
    int a = reach(&g, LZ_I64, LZ_KERNEL_ELEMENT, false, S(4, 1));
    indices(&g, a, 50);
    lz_kernel_value at = lz_kernel_build_check(g.b, lz_kernel_build_load(g.b, a), whole(&g, 50), 0, false);
    store(&g, LZ_I64, LZ_KERNEL_ELEMENT, S(3, 1), at);
    finish(&g, &l);
    assert_int_equal(l.lane.extent[1], 3);
}

/* An output that goes past the caches: of values that are made, of a plain copy, at any address. */
static void test_streams(void **state)
{
    (void)state;
    grid g;
    lz_launch l;
    int64_t n = lz_stream_least() / 8 / 1003 + 1;
    begin(&g, LZ_KERNEL_ROWS, 1, 1, S(n, 1003));
    lz_kernel_value x = load(&g, LZ_F64, LZ_KERNEL_ELEMENT, S(0, 1));
    store(&g, LZ_F64, LZ_KERNEL_ELEMENT, S(1003, 1), lz_kernel_build_op1(g.b, LZ_KERNEL_NEG, x));
    store(&g, LZ_F64, LZ_KERNEL_ELEMENT, S(1004, 1), x);
    g.access[2].offset = 1;
    finish(&g, &l);
    assert_true(l.streams && l.access[1].stream && l.access[2].stream);
}

/* ---- what is kept ---- */

/* A broadcast row through a function; parts of lines, lines, and all lines of a dimension. */
static void test_kept(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { { 3, 50, 3000 }, { 4, 90, 70 }, { 9, 11, 33 }, { 2, 1, 40 } };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t *e = shapes[i];
        grid g;
        lz_launch l;
        begin(&g, LZ_KERNEL_ROWS, 2, 1, e);
        lz_kernel_value x = load(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(e[1] * e[2], e[2], 1));
        lz_kernel_value row = load(&g, LZ_F16, LZ_KERNEL_ELEMENT, S(0, 0, 1));
        lz_kernel_value column = load(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(1, 0, 0));
        lz_kernel_value k =
            lz_kernel_build_op2(g.b, LZ_KERNEL_ADD, lz_kernel_build_op1(g.b, LZ_KERNEL_SIN, row),
                                lz_kernel_build_op1(g.b, LZ_KERNEL_COS, column));
        store(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(e[1] * (e[2] + 1), e[2] + 1, 1),
              lz_kernel_build_op2(g.b, LZ_KERNEL_MUL, x, k));
        store(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(e[1] * e[2], e[2], 1),
              lz_kernel_build_op1(g.b, LZ_KERNEL_NEG, row));
        finish(&g, &l);
        assert_true(l.keeps || e[1] == 1);
    }
}

/* Row after row: the index along the row is kept, what is made of the outer value is not. */
static void test_kept_rows(void **state)
{
    (void)state;
    grid g;
    lz_launch l;
    begin(&g, LZ_KERNEL_ROWS, 1, 1, S(60, 200));
    lz_kernel_value x = load(&g, LZ_I64, LZ_KERNEL_OUTER, S(1, 0)),
                    half = lz_kernel_build_op2(g.b, LZ_KERNEL_SHR, x, whole(&g, 1));
    lz_kernel_value along = lz_kernel_build_affine(g.b, reach(&g, LZ_I64, LZ_KERNEL_ELEMENT, false, S(0, 1)));
    lz_kernel_value twice = lz_kernel_build_op2(g.b, LZ_KERNEL_MUL, along, along);
    store(&g, LZ_I64, LZ_KERNEL_ELEMENT, S(200, 1), lz_kernel_build_op2(g.b, LZ_KERNEL_ADD, half, twice));
    finish(&g, &l);
    assert_true(l.rows && l.once && l.keeps);
}

/* With sums over the row, whose states lie beside what is kept. */
static void test_kept_rows_and_sums(void **state)
{
    (void)state;
    grid g;
    lz_launch l;
    begin(&g, LZ_KERNEL_ROWS, 1, 1, S(33, 300));
    lz_kernel_value x = load(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(300, 1)),
                    weight = load(&g, LZ_BF16, LZ_KERNEL_ELEMENT, S(0, 1));
    lz_kernel_value w = lz_kernel_build_op1(g.b, LZ_KERNEL_EXP, weight),
                    sum = lz_kernel_build_reduce(g.b, LZ_KERNEL_RSUM,
                                                 lz_kernel_build_op2(g.b, LZ_KERNEL_ADD, x, w));
    store(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(300, 1), lz_kernel_build_op2(g.b, LZ_KERNEL_DIV, w, sum));
    finish(&g, &l);
    assert_true(l.rows && l.keeps);
}

/* ---- gathers with one index for each row ---- */

/* Rows of a table. strides: of the table, row by row; e: the shape, the last is the row. */
static lz_launch gather(const int64_t *e, int64_t along)
{
    grid g;
    lz_launch l;
    begin(&g, LZ_KERNEL_ROWS, 2, 1, e);
    int a = reach(&g, LZ_I64, LZ_KERNEL_OUTER, false, S(e[1], 1, 0));
    indices(&g, a, 17);
    lz_kernel_value row = lz_kernel_build_check(g.b, lz_kernel_build_load(g.b, a), whole(&g, 17), 0, true);
    int table = reach(&g, LZ_F32, LZ_KERNEL_ELEMENT, false, S(0, 0, 1));
    free(g.access[table].base);
    g.bytes[table] = (size_t)(17 * e[2] + 8) * 8;
    g.access[table].base = calloc(1, g.bytes[table]);
    rk_fill(&g, LZ_F32, g.access[table].base, 17 * e[2]);
    g.strides[table][2] = along;
    lz_kernel_value x =
        lz_kernel_build_gather(g.b, table, lz_kernel_build_op2(g.b, LZ_KERNEL_MUL, row, whole(&g, e[2])));
    store(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(e[1] * e[2], e[2], 1), x);
    finish(&g, &l);
    return l;
}

static void test_gathers(void **state)
{
    (void)state;
    lz_launch l = gather(S(3, 10, 300), 1); /* once for each row */
    assert_true(l.rows && l.once);
    l = gather(S(3, 40, 64), 1); /* by line */
    assert_true(l.row_lines && l.lines > 1);
    l = gather(S(3, 40, 64), 0); /* one place leads through all lines, but not one index */
    assert_true(l.row_lines && l.lines > 1 && l.access[1].linear);
}

/* Indices that differ, and steps of all kinds: whole vectors and what is left. */
static void test_picks(void **state)
{
    (void)state;
    static const int dtypes[] = { LZ_F32, LZ_I32, LZ_F64, LZ_I64, LZ_I8, LZ_BF16 };
    static const int64_t steps[] = { 0, 1, -1, 3, -5 };
    for (int i = 0; i < 6 * 5; i++) {
        grid g;
        lz_launch l;
        begin(&g, LZ_KERNEL_ROWS, 0, 1, S(75));
        int at = reach(&g, LZ_I64, LZ_KERNEL_ELEMENT, false, S(1)),
            from = reach(&g, dtypes[i % 6], LZ_KERNEL_ELEMENT, false, S(20));
        indices(&g, at, 200);
        g.strides[from][0] = steps[i / 6];
        g.access[from].offset = 640; /* in the middle of its 1480 elements */
        lz_kernel_value index = lz_kernel_build_load(g.b, at),
                        x = lz_kernel_build_gather(g.b, from, lz_kernel_build_op1(g.b, LZ_KERNEL_NEG, index));
        lz_kernel_value y = lz_kernel_build_gather_if(
            g.b, from, index, lz_kernel_build_op2(g.b, LZ_KERNEL_LT, index, whole(&g, 90)), x);
        store(&g, dtypes[i % 6], LZ_KERNEL_ELEMENT, S(1), x);
        store(&g, dtypes[i % 6], LZ_KERNEL_ELEMENT, S(2), y);
        store(&g, dtypes[i % 6], LZ_KERNEL_ELEMENT, S(1), lz_kernel_build_load(g.b, from));
        finish(&g, &l);
    }
}

/* ---- masks ---- */

/* Masks that hold nowhere, everywhere, in the middle, and now and then. */
static void test_masks(void **state)
{
    (void)state;
    grid g;
    lz_launch l;
    begin(&g, LZ_KERNEL_ROWS, 1, 1, S(40, 90));
    int a = reach(&g, LZ_BOOL, LZ_KERNEL_ELEMENT, false, S(90, 1));
    uint8_t *mask = g.access[a].base;
    for (int i = 0; i < 40 * 90; i++) {
        int row = i / 90, at = i % 90;
        mask[i] = row % 4 == 0   ? row % 8 == 0
                  : row % 4 == 1 ? at >= row && at < 90 - row
                  : row % 4 == 2 ? at < 30 || (at - 30) % 3 == 0
                                 : at % 2 == 0;
    }
    lz_kernel_value is = lz_kernel_build_load(g.b, a), fill = load(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(91, 1));
    lz_kernel_value x =
        lz_kernel_build_load_if(g.b, reach(&g, LZ_F32, LZ_KERNEL_ELEMENT, false, S(95, 1)), is, fill);
    lz_kernel_value y =
        lz_kernel_build_load_if(g.b, reach(&g, LZ_F16, LZ_KERNEL_ELEMENT, false, S(1, 40)), is, x);
    store(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(90, 1), y);
    finish(&g, &l);
    assert_true(l.lines > 1);
}

/* lo <= x < hi is one step, from either side; and a select behind a masked load none. */
static void test_ranges(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        grid g;
        lz_launch l;
        begin(&g, LZ_KERNEL_ROWS, 1, 1, S(20, 70));
        lz_kernel_value at =
            lz_kernel_build_affine(g.b, reach(&g, LZ_I64, LZ_KERNEL_ELEMENT, false, S(3, 1)));
        lz_kernel_value low = lz_kernel_build_op2(g.b, LZ_KERNEL_LE, whole(&g, 9), at),
                        high = lz_kernel_build_op2(g.b, LZ_KERNEL_LT, at, whole(&g, 60));
        lz_kernel_value is = lz_kernel_build_op2(g.b, LZ_KERNEL_AND, side ? high : low, side ? low : high);
        lz_kernel_value fill = lz_kernel_build_const_f(g.b, LZ_KERNEL_F32, -3);
        lz_kernel_value x =
            lz_kernel_build_load_if(g.b, reach(&g, LZ_F32, LZ_KERNEL_ELEMENT, false, S(70, 1)), is, fill);
        assert_int_equal(lz_kernel_build_op3(g.b, LZ_KERNEL_SELECT, is, x, fill), x);
        assert_int_not_equal(
            lz_kernel_build_op3(g.b, LZ_KERNEL_SELECT, is, x, lz_kernel_build_const_f(g.b, LZ_KERNEL_F32, 3)),
            x);
        store(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(70, 1), x);
        finish(&g, &l);
    }
}

/* ---- reductions along rows ---- */

static const int64_t lengths[] = { 1, 2, 63, 64, 65, 700, 1024, 1025, 2600, 70000 };
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Sums and products of what is widened, sums of products, each alone and where another walk needs the same.
 */
static void test_forms(void **state)
{
    (void)state;
    for (int i = 0; i < LENGTHS; i++) {
        grid g;
        lz_launch l;
        begin(&g, LZ_KERNEL_ROWS, 1, 1, S(3, lengths[i]));
        lz_kernel_value x = load(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(lengths[i], 1)),
                        u = load(&g, LZ_U8, LZ_KERNEL_ELEMENT, S(lengths[i], 1));
        lz_kernel_value d = lz_kernel_build_cast(g.b, x, LZ_F64),
                        sum = lz_kernel_build_reduce(g.b, LZ_KERNEL_RSUM, d);
        lz_kernel_value away = lz_kernel_build_op2(g.b, LZ_KERNEL_SUB, d, sum),
                        whole_sum =
                            lz_kernel_build_reduce(g.b, LZ_KERNEL_RSUM, lz_kernel_build_cast(g.b, u, LZ_I64));
        lz_kernel_value roots =
            lz_kernel_build_reduce(g.b, LZ_KERNEL_RSUM, lz_kernel_build_op2(g.b, LZ_KERNEL_MUL, away, away));
        lz_kernel_value dot = lz_kernel_build_reduce(
            g.b, LZ_KERNEL_RSUM,
            lz_kernel_build_op2(g.b, LZ_KERNEL_MUL, x, lz_kernel_build_cast(g.b, u, LZ_F32)));
        lz_kernel_value product =
            lz_kernel_build_reduce(g.b, LZ_KERNEL_RPROD, lz_kernel_build_cast(g.b, u, LZ_I64));
        store(&g, LZ_F64, LZ_KERNEL_OUTER, S(1, 0), sum);
        store(&g, LZ_F64, LZ_KERNEL_OUTER, S(1, 0), roots);
        store(&g, LZ_F32, LZ_KERNEL_OUTER, S(1, 0), dot);
        store(&g, LZ_I64, LZ_KERNEL_OUTER, S(1, 0), whole_sum);
        store(&g, LZ_I64, LZ_KERNEL_OUTER, S(1, 0), product);
        lz_kernel_value near = lz_kernel_build_op2(
            g.b, LZ_KERNEL_SUB, x,
            lz_kernel_build_const_f(g.b, LZ_KERNEL_F32, 0.25)); /* could be a pair with the product */
        store(&g, LZ_F32, LZ_KERNEL_OUTER, S(1, 0),
              lz_kernel_build_reduce(g.b, LZ_KERNEL_RSUM, lz_kernel_build_op2(g.b, LZ_KERNEL_MUL, near, x)));
        store(&g, LZ_F64, LZ_KERNEL_OUTER, S(1, 0), lz_kernel_build_reduce(g.b, LZ_KERNEL_RPROD, d));
        finish(&g, &l);
        assert_true(l.rows);
    }
}

/* Sums of u8, i8 and i16 read the elements in memory if these follow each other. `least`: all elements have
 * the greatest distance from 0. */
static void sum_memory(lz_dtype dtype, int64_t step, int64_t length, bool least)
{
    grid g;
    lz_launch l;
    begin(&g, LZ_KERNEL_ROWS, 1, 1, S(3, length));
    lz_kernel_value x = load(&g, dtype, LZ_KERNEL_ELEMENT, S(length * 2, step));
    if (least)
        memset(g.access[0].base, dtype == LZ_U8 ? 0xff : 0x80, g.bytes[0]);
    store(&g, LZ_I64, LZ_KERNEL_OUTER, S(1, 0),
          lz_kernel_build_reduce(g.b, LZ_KERNEL_RSUM, lz_kernel_build_cast(g.b, x, LZ_I64)));
    finish(&g, &l);
    assert_int_equal(l.access[0].raw, step == 1 || length == 1);
}

static void test_sums_of_memory(void **state)
{
    static const lz_dtype dtypes[] = { LZ_U8, LZ_I8, LZ_I16 };
    (void)state;
    for (int i = 0; i < LENGTHS * 3; i++) {
        sum_memory(dtypes[i % 3], 1, lengths[i / 3], false);
        sum_memory(dtypes[i % 3], 1, lengths[i / 3], true);
        sum_memory(dtypes[i % 3], 2, lengths[i / 3], false);
        sum_memory(dtypes[i % 3], -1, lengths[i / 3], false);
    }
}

/* The program has them. */
static void test_forms_are_found(void **state)
{
    (void)state;
    grid g;
    lz_kernel *k = NULL;
    int found[LZ_FORM_PRODUCTS + 1] = { 0 };
    begin(&g, LZ_KERNEL_ROWS, 1, 1, S(1, 1));
    lz_kernel_value x = load(&g, LZ_F32, LZ_KERNEL_ELEMENT, S(1, 1)),
                    d = lz_kernel_build_cast(g.b, x, LZ_F64);
    lz_kernel_value sum = lz_kernel_build_reduce(g.b, LZ_KERNEL_RSUM, d),
                    away = lz_kernel_build_op2(g.b, LZ_KERNEL_SUB, d, sum);
    store(&g, LZ_F64, LZ_KERNEL_OUTER, S(1, 0),
          lz_kernel_build_reduce(g.b, LZ_KERNEL_RSUM, lz_kernel_build_op2(g.b, LZ_KERNEL_MUL, away, away)));
    store(&g, LZ_F64, LZ_KERNEL_OUTER, S(1, 0), lz_kernel_build_reduce(g.b, LZ_KERNEL_RMAX, away));
    assert_null(lz_kernel_builder_finish(g.b, &k));
    for (size_t i = 0; i < k->program->n_code; i++)
        found[k->program->code[i].form] += k->program->code[i].kind == LZ_INSTR_REDUCE;
    assert_int_equal(found[LZ_FORM_WIDEN], 1);
    assert_int_equal(found[LZ_FORM_PRODUCTS], 1);
    assert_int_equal(found[LZ_FORM_PLAIN], 1);
    lz_kernel_release(k);
    rk_free(&g);
}

/* The first of equals, the first NaN; every kind of reduction and type is folded. */
static void test_bests_and_folds(void **state)
{
    (void)state;
    static const int dtypes[] = { LZ_F32, LZ_F64, LZ_I32, LZ_I64, LZ_U8 };
    for (int i = 0; i < LENGTHS * 5; i++) {
        grid g;
        lz_launch l;
        int64_t n = lengths[i / 5];
        int dtype = dtypes[i % 5], out = dtype == LZ_U8 ? LZ_I32 : dtype;
        if (n > 3000 && dtype != LZ_F32)
            continue; /* the slow evaluator is */
        begin(&g, LZ_KERNEL_ROWS, 1, 1, S(2, n));
        lz_kernel_value x = load(&g, dtype, LZ_KERNEL_ELEMENT, S(n, 1));
        for (int kind = LZ_KERNEL_RSUM; kind <= LZ_KERNEL_RARGMIN; kind++) {
            bool bits = kind == LZ_KERNEL_RAND || kind == LZ_KERNEL_ROR || kind == LZ_KERNEL_RXOR;
            if (bits && lz_kernel_build_type(g.b, x) >= LZ_KERNEL_F32)
                continue;
            lz_kernel_value v = lz_kernel_build_reduce(g.b, (lz_kernel_reduction)kind, x);
            store(&g, kind >= LZ_KERNEL_RARGMAX ? LZ_I64 : out, LZ_KERNEL_OUTER, S(1, 0), v);
        }
        finish(&g, &l);
    }
}

int main(void)
{
    const lz_llvm *llvm;
    lz_err *e = lz_llvm_get(&llvm);
    n_targets = e ? 0 : lz_target_all(targets); /* without LLVM nothing is compared with compiled code */
    lz_err_free(e);
    e = lz_pool_create(3, &threads);
    if (e)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_lines_of_columns),
        cmocka_unit_test(test_across),
        cmocka_unit_test(test_short_lines),
        cmocka_unit_test(test_short_lines_of_checks),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_kept_rows),
        cmocka_unit_test(test_kept_rows_and_sums),
        cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_picks),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_sums_of_memory),
        cmocka_unit_test(test_forms_are_found),
        cmocka_unit_test(test_bests_and_folds),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lz_pool_destroy(threads);
    return failed;
}
