/* How runs are cut for compiled code: with code that interprets its frame, random kernels give
 * what the interpreter gives, to the last bit, on one thread, two and three; and so do
 * long rows that threads share. */
#include "jit/code_launch.h"
#include "jit/codes.h"
#include "jit/program.h"
#include "jit/reduce.h"
#include "nan_at.h"
#include "random_kernel.h"
#include <stdio.h>

static uint64_t from = 1, to = 1500;

enum { COMPILED = 10 }; /* one seed of so many is compiled */

/* ---- code that interprets its frame ---- */

/* The kernel over one outer dimension and one of the row, as code has it. */
static struct {
    lz_kernel_ir ir;
    lz_program *program;
    const lz_native_variant *variant;
} fake;

/* In a flat kernel nothing is per outer index: which dimensions are the row is up to the cut. */
static void make_fake(const lz_kernel *k, const lz_native_split *cut)
{
    fake.ir = k->ir;
    fake.ir.n_outer = fake.ir.n_row = 1;
    fake.ir.nodes.data = malloc((k->ir.nodes.len + 1) * sizeof *fake.ir.nodes.data);
    fake.ir.access.data = malloc((k->ir.access.len + 1) * sizeof *fake.ir.access.data);
    assert_non_null(fake.ir.nodes.data);
    assert_non_null(fake.ir.access.data);
    for (size_t i = 0; i < k->ir.nodes.len; i++) {
        fake.ir.nodes.data[i] = k->ir.nodes.data[i];
        if (cut->flat && k->ir.nodes.data[i].level == LZ_LEVEL_OUTER)
            fake.ir.nodes.data[i].level = LZ_LEVEL_ELEMENT;
    }
    for (size_t i = 0; i < k->ir.access.len; i++) {
        fake.ir.access.data[i] = k->ir.access.data[i];
        if (cut->flat)
            fake.ir.access.data[i].vary = LZ_KERNEL_ELEMENT;
    }
    assert_null(lz_program_create(&fake.ir, lz_tile(), &fake.program));
    fake.variant = &cut->variant;
}

static void drop_fake(void)
{
    lz_program_destroy(fake.program);
    free(fake.ir.nodes.data);
    free(fake.ir.access.data);
}

static int64_t in_piece(const lz_native_frame *f, int a, int64_t v)
{
    const lz_native_piece *p = &f->access[a].pieces[v >> f->piece_shift];
    int64_t i = v & ((INT64_C(1) << f->piece_shift) - 1), size = lz_kernel_use_size(&fake.ir.access.data[a]);
    assert_true(f->piece_shift >= 4 && p->count > 0);
    return (i < p->count ? p->first : p->then) + i * size;
}

/* Where the element at (outer, row) is, as the frame says. */
static char *place(const lz_native_frame *f, int a, int64_t outer, int64_t row)
{
    const lz_native_access *x = &f->access[a];
    bool columns = fake.variant->columns;
    int64_t v = columns ? outer : row, other = columns ? row : outer;
    int64_t along = fake.variant->run[a] == LZ_RUN_TABLE    ? x->table[v]
                    : fake.variant->run[a] == LZ_RUN_PIECES ? in_piece(f, a, v)
                                                            : v * x->step;
    int64_t across = fake.variant->across_table ? x->across_table[other] : other * x->across;
    return lz_pointer_add(x->base, along + across);
}

static bool by_table(int a)
{
    return fake.variant->run[a] == LZ_RUN_TABLE || fake.variant->run[a] == LZ_RUN_PIECES
           || fake.variant->across_table;
}

/* Elements that lie by tables, side by side; or back. */
static void copy(const lz_native_frame *f, int a, char *side, bool back)
{
    size_t size = lz_dtype_bytes(fake.ir.access.data[a].dtype);
    for (int64_t o = 0; o < f->n_outer; o++) {
        for (int64_t r = 0; r < f->n_row; r++) {
            char *there = place(f, a, o, r), *here = side + (size_t)(o * f->n_row + r) * size;
            memcpy(back ? there : here, back ? here : there, size);
        }
    }
}

static void check_run(const lz_native_frame *f, int a)
{
    const lz_native_access *x = &f->access[a];
    int64_t size = lz_kernel_use_size(&fake.ir.access.data[a]);
    int64_t n = fake.variant->columns ? f->n_outer : f->n_row;
    if (n > 1 && fake.variant->run[a] == LZ_RUN_SAME)
        assert_int_equal(x->step, 0);
    if (n > 1 && fake.variant->run[a] == LZ_RUN_NEXT)
        assert_int_equal(x->step, size);
    if (fake.variant->stream[a])
        assert_int_equal((uintptr_t)x->base % 64, 0);
}

static int outcome_of(lz_native_frame *f, lz_err *e)
{
    int rc = !e ? LZ_CODE_FINE : strstr(lz_err_text(e), "division") ? LZ_CODE_DIVIDED : LZ_CODE_INDEX;
    long long index, dim, size;
    if (rc == LZ_CODE_INDEX) {
        assert_int_equal(sscanf(lz_err_text(e),
                                "index %lld is out of bounds for dimension %lld with size %lld", &index, &dim,
                                &size),
                         3);
        f->index = index;
        f->dim = dim;
        f->size = size;
    }
    lz_err_free(e);
    return rc;
}

static int run_fake(lz_native_frame *f)
{
    lz_kernel_access access[RK_ACCESSES] = { 0 };
    int64_t strides[RK_ACCESSES][2] = { 0 }, extents[2] = { f->n_outer, f->n_row };
    char *side[RK_ACCESSES] = { NULL };
    bool columns = fake.variant->columns;
    int n = (int)fake.ir.access.len;
    for (int a = 0; a < n; a++) {
        const lz_kernel_use *u = &fake.ir.access.data[a];
        if (!lz_kernel_use_any(u))
            continue;
        int64_t size = lz_kernel_use_size(u);
        const lz_native_access *x = &f->access[a];
        check_run(f, a);
        access[a] = (lz_kernel_access){ .base = x->base, .strides = strides[a] };
        strides[a][columns] = x->across / size;
        strides[a][!columns] = x->step / size;
        if (!u->loads && !u->stores)
            access[a].offset = (int64_t)(uintptr_t)x->base;
        if (by_table(a)) {
            side[a] = malloc((size_t)(f->n_outer * f->n_row * size) + 1);
            assert_non_null(side[a]);
            copy(f, a, side[a], false);
            access[a].base = side[a];
            strides[a][0] = f->n_row;
            strides[a][1] = 1;
        }
    }
    memset(f->scratch, 0x5a, 100);
    lz_kernel_args args = { .extents = extents, .access = access, .params = f->params };
    int rc = outcome_of(f, lz_program_run(fake.program, &args, NULL));
    for (int a = 0; a < n; a++) {
        if (side[a] && fake.ir.access.data[a].stores)
            copy(f, a, side[a], true);
        free(side[a]);
    }
    return rc;
}

/* Tables of what has no memory, or of what does not move along all of it, are not for it. */
static bool can_fake(const lz_kernel *k, const lz_native_split *cut)
{
    bool can = true;
    for (size_t a = 0; a < k->ir.access.len; a++) {
        const lz_kernel_use *u = &k->ir.access.data[a];
        bool table = cut->variant.run[a] == LZ_RUN_TABLE || cut->variant.run[a] == LZ_RUN_PIECES
                     || (cut->variant.across_table && lz_kernel_use_any(u));
        can = can && !(table && (u->affine || (!cut->flat && u->vary == LZ_KERNEL_OUTER)));
    }
    return can;
}

/* ---- comparisons ---- */

static void show(const random_kernel *r, const lz_kernel *k, const lz_native_split *cut)
{
    lz_text t = { 0 };
    lz_kernel_print(k, &t);
    print_error("%.*s", LZ_FMT(lz_text_view(&t)));
    for (int d = 0; d < r->n_outer + r->n_row; d++)
        print_error("extent %lld\n", (long long)r->extents[d]);
    for (int a = 0; a < r->n_access; a++) {
        print_error("access %d: run %d offset %lld strides", a, cut->variant.run[a],
                    (long long)r->access[a].offset);
        for (int d = 0; d < r->n_outer + r->n_row; d++)
            print_error(" %lld", (long long)r->strides[a][d]);
        print_error("\n");
    }
    print_error("vectors %d (%lld) around %d (%lld) scale %lld tail %lld\n", cut->vectors.n,
                (long long)cut->vectors.total, cut->around.n, (long long)cut->around.total,
                (long long)cut->scale, (long long)cut->tail);
    lz_text_deinit(&t);
}

/* Which NaN a NaN is, is not said: how a compiler ordered the operands decides it. */
static bool equal(int dtype, const char *x, const char *y, size_t bytes)
{
    size_t size = lz_dtype_bytes(dtype);
    bool is = memcmp(x, y, bytes) == 0;
    for (size_t i = 0; !is && i + size <= bytes; i += size) {
        char a[8] = { 0 }, b[8] = { 0 };
        memcpy(a, x + i, size);
        memcpy(b, y + i, size);
        if (memcmp(a, b, size) != 0 && !(nan_at(dtype, a) && nan_at(dtype, b)))
            return false;
    }
    return true;
}

static void expect(const random_kernel *r, char *const want[RK_ACCESSES], const lz_kernel *k,
                   const lz_native_split *cut, uint64_t seed, int threads)
{
    for (int a = 0; a < r->n_access; a++) {
        if (want[a] && !equal(k->ir.access.data[a].dtype, want[a], r->access[a].base, r->bytes[a])) {
            show(r, k, cut);
            fail_msg("seed %llu, %d threads: access %d differs", (unsigned long long)seed, threads, a);
        }
        if (want[a])
            memset(r->access[a].base, 0, r->bytes[a]);
    }
}

static bool try_seed(uint64_t seed, bool large, lz_pool *const pools[3])
{
    static random_kernel r;
    static lz_native_split cut;
    lz_kernel *k = rk_make(&r, seed, large);
    lz_kernel_args args = rk_args(&r);
    char *want[RK_ACCESSES] = { NULL };
    bool can = false;
    if (k) {
        assert_null(lz_native_split_make(k, &args, &cut));
        can = can_fake(k, &cut);
    }
    lz_err *first = can ? lz_program_run(k->program, &args, NULL) : NULL;
    rk_keep(&r, want);
    for (int t = 0; can && t < 3; t++) {
        lz_native_loaded code = { .run = run_fake, .needs = { .scratch = 100, .strip = 7 + t } };
        code.needs.scratch_row = t == 1 ? 8 : 0;
        make_fake(k, &cut);
        lz_err *e = lz_native_run(&code, &cut, pools[t]);
        drop_fake();
        assert_string_equal(e ? lz_err_text(e) : "", first ? lz_err_text(first) : "");
        if (!e)
            expect(&r, want, k, &cut, seed, t + 1);
        lz_err_free(e);
    }
    lz_err_free(first);
    for (int a = 0; a < RK_ACCESSES; a++)
        free(want[a]);
    lz_kernel_release(k);
    rk_free(&r);
    return can;
}

/* ---- the compiler's code ---- */

static bool is_nan(int dtype, const char *p)
{
    uint16_t h;
    uint32_t w;
    double d;
    memcpy(&h, p, sizeof h);
    memcpy(&w, p, dtype == LZ_F32 ? sizeof w : sizeof h);
    memcpy(&d, p, dtype == LZ_F64 ? sizeof d : sizeof h);
    return (dtype == LZ_F16 && (h & 0x7fff) > 0x7c00) || (dtype == LZ_BF16 && (h & 0x7fff) > 0x7f80)
           || (dtype == LZ_F32 && (w & 0x7fffffff) > 0x7f800000) || (dtype == LZ_F64 && isnan(d));
}

/* To the last bit, but for those of a NaN. */
static void expect_numbers(const random_kernel *r, char *const want[RK_ACCESSES], const lz_kernel *k,
                           const lz_native_split *cut, uint64_t seed, int threads)
{
    for (int a = 0; a < r->n_access; a++) {
        size_t size = lz_dtype_bytes(r->dtypes[a]);
        const char *got = r->access[a].base;
        for (size_t i = 0; want[a] && i + size <= r->bytes[a]; i += size) {
            bool same = memcmp(want[a] + i, got + i, size) == 0;
            if (!same && !(is_nan(r->dtypes[a], want[a] + i) && is_nan(r->dtypes[a], got + i))) {
                show(r, k, cut);
                fail_msg("seed %llu, %d threads: access %d differs at byte %zu", (unsigned long long)seed,
                         threads, a, i);
            }
        }
        if (want[a])
            memset(r->access[a].base, 0, r->bytes[a]);
    }
}

static bool try_compiled(uint64_t seed, bool large, lz_pool *const pools[3])
{
    static random_kernel r;
    static lz_native_split cut;
    lz_kernel *k = rk_make(&r, seed, large);
    lz_kernel_args args = rk_args(&r);
    char *want[RK_ACCESSES] = { NULL };
    lz_err *first = k ? lz_program_run(k->program, &args, NULL) : NULL;
    rk_keep(&r, want);
    if (k)
        assert_null(lz_native_split_make(k, &args, &cut));
    for (int t = 0; k && t < 3; t++) {
        lz_err *e = lz_kernel_run(k, &args, pools[t]);
        if (strcmp(e ? lz_err_text(e) : "", first ? lz_err_text(first) : "") != 0) {
            show(&r, k, &cut);
            fail_msg("seed %llu, %d threads: %s, not %s", (unsigned long long)seed, t + 1, lz_err_text(e),
                     lz_err_text(first));
        }
        if (!e)
            expect_numbers(&r, want, k, &cut, seed, t + 1);
        lz_err_free(e);
    }
    lz_err_free(first);
    for (int a = 0; a < RK_ACCESSES; a++)
        free(want[a]);
    lz_kernel_release(k);
    rk_free(&r);
    return k;
}

static void test_random_compiled(void **state)
{
    lz_pool *pools[3] = { NULL };
    int done = 0;
    (void)state;
    assert_null(lz_pool_create(2, &pools[1]));
    assert_null(lz_pool_create(3, &pools[2]));
    lz_jit_mode_set(LZ_JIT_NOW);
    for (uint64_t seed = from; seed <= to; seed += COMPILED)
        done += try_compiled(seed, seed / COMPILED % 4 == 0, pools);
    lz_jit_mode_set(LZ_JIT_OFF);
    lz_pool_destroy(pools[1]);
    lz_pool_destroy(pools[2]);
    print_message("%d kernels\n", done);
}

static void test_random_kernels(void **state)
{
    lz_pool *pools[3] = { NULL };
    int done = 0;
    (void)state;
    assert_null(lz_pool_create(2, &pools[1]));
    assert_null(lz_pool_create(3, &pools[2]));
    for (uint64_t seed = from; seed <= to; seed++)
        done += try_seed(seed, seed % 16 == 0, pools);
    lz_pool_destroy(pools[1]);
    lz_pool_destroy(pools[2]);
    print_message("%d of %d kernels\n", done, (int)(to - from + 1));
    assert_true(done > (int)(to - from + 1) / 2);
}

/* ---- how it is cut ---- */

/* x[i] = a * b + c on tensors of these strides */
static lz_kernel *plain_kernel(int dims)
{
    lz_kernel_builder *b;
    lz_kernel *k;
    assert_null(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, dims, &b));
    lz_kernel_value v[3];
    for (int i = 0; i < 3; i++)
        v[i] = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_value y =
        lz_kernel_build_op2(b, LZ_KERNEL_ADD, lz_kernel_build_op2(b, LZ_KERNEL_MUL, v[0], v[1]), v[2]);
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT), y);
    assert_null(lz_kernel_builder_finish(b, &k));
    return k;
}

static void test_cuts(void **state)
{
    static float memory[64];
    static lz_native_split cut;
    (void)state;
    /* [5, 100]: dense, a row for all, a value for each row, dense: rows, the third hoisted */
    int64_t extents[] = { 5, 100 }, dense[] = { 100, 1 }, row[] = { 0, 1 }, column[] = { 1, 0 };
    lz_kernel_access access[] = {
        { memory, 0, dense }, { memory, 0, row }, { memory, 0, column }, { memory, 0, dense }
    };
    lz_kernel_args args = { .extents = extents, .access = access };
    lz_kernel *k = plain_kernel(2);
    assert_null(lz_native_split_make(k, &args, &cut));
    assert_int_equal(cut.vectors.total, 100);
    assert_int_equal(cut.around.total, 5);
    const uint8_t rows[] = { LZ_RUN_NEXT, LZ_RUN_NEXT, LZ_RUN_SAME, LZ_RUN_NEXT };
    assert_memory_equal(cut.variant.run, rows, 4);
    /* [100000, 3]: the last dimension is short, so several go together, by tables */
    extents[0] = 100000;
    extents[1] = dense[0] = 3;
    assert_null(lz_native_split_make(k, &args, &cut));
    const uint8_t tables[] = { LZ_RUN_NEXT, LZ_RUN_TABLE, LZ_RUN_TABLE, LZ_RUN_NEXT };
    assert_memory_equal(cut.variant.run, tables, 4);
    assert_int_equal(cut.vectors.total, 341 * 3);
    assert_int_equal(cut.tail, 100000 % 341 * 3);
    assert_int_equal(cut.around.total, 100000 / 341 + 1);
    /* the same where nothing is dense: one column after the other */
    const int64_t apart[] = { 10, 1 };
    access[0].strides = access[3].strides = apart;
    assert_null(lz_native_split_make(k, &args, &cut));
    const uint8_t steps[] = { LZ_RUN_STEP, LZ_RUN_SAME, LZ_RUN_NEXT, LZ_RUN_STEP };
    assert_memory_equal(cut.variant.run, steps, 4);
    assert_int_equal(cut.vectors.total, 100000);
    assert_int_equal(cut.around.total, 3);
    access[0].strides = access[3].strides = dense;
    /* all dense: one axis, whatever the shape */
    access[1].strides = access[2].strides = dense;
    assert_null(lz_native_split_make(k, &args, &cut));
    assert_int_equal(cut.vectors.total, 300000);
    assert_int_equal(cut.around.total, 1);
    lz_kernel_release(k);
}

/* x - max(x) on rows */
static lz_kernel *row_kernel(void)
{
    lz_kernel_builder *b;
    lz_kernel *k;
    assert_null(lz_kernel_builder_create(LZ_KERNEL_ROWS, 1, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_build_store(
        b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT),
        lz_kernel_build_op2(b, LZ_KERNEL_SUB, x, lz_kernel_build_reduce(b, LZ_KERNEL_RMAX, x)));
    assert_null(lz_kernel_builder_finish(b, &k));
    return k;
}

/* Past the caches: what is large, starts each row at a line, and is not read by the same run. */
static void test_large_outputs_stream(void **state)
{
    static const struct {
        int64_t rows, length;
        size_t from; /* bytes behind a line */
        bool in_place, streams;
    } cases[] = { { 4096, 1024, 0, false, true },
                  { 4096, 1024, 4, false, false },
                  { 4096, 1024, 0, true, false },
                  { 4096, 1030, 0, false, false },
                  { 64, 1024, 0, false, false } };
    static _Alignas(64) char memory[2][128]; /* is not looked at */
    static lz_native_split cut;
    (void)state;
    lz_kernel *k = row_kernel();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t extents[] = { cases[i].rows, cases[i].length }, strides[] = { cases[i].length, 1 };
        lz_kernel_access access[] = { { memory[0], 0, strides },
                                      { memory[!cases[i].in_place] + cases[i].from, 0, strides } };
        lz_kernel_args args = { .extents = extents, .access = access };
        assert_null(lz_native_split_make(k, &args, &cut));
        assert_int_equal(cut.variant.stream[1], cases[i].streams);
    }
    lz_kernel_release(k);
}

/* ---- long rows ---- */

/* softmax, its greatest element and where that is */
static lz_kernel *long_kernel(void)
{
    lz_kernel_builder *b;
    lz_kernel *k;
    assert_null(lz_kernel_builder_create(LZ_KERNEL_ROWS, 1, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_value most = lz_kernel_build_reduce(b, LZ_KERNEL_RMAX, x);
    lz_kernel_value e = lz_kernel_build_op1(b, LZ_KERNEL_EXP, lz_kernel_build_op2(b, LZ_KERNEL_SUB, x, most));
    lz_kernel_value y =
        lz_kernel_build_op2(b, LZ_KERNEL_DIV, e, lz_kernel_build_reduce(b, LZ_KERNEL_RSUM, e));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT), y);
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_OUTER), most);
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_I64, LZ_KERNEL_OUTER),
                          lz_kernel_build_reduce(b, LZ_KERNEL_RARGMAX, y));
    assert_null(lz_kernel_builder_finish(b, &k));
    return k;
}

enum { ROWS = 3, LENGTH = 1000003 };

static void run_long(const lz_kernel *k, float *x, float *y, float most[ROWS], int64_t at[ROWS], int threads)
{
    const int64_t extents[] = { ROWS, LENGTH }, strides[] = { LENGTH, 1 }, outer[] = { 1, 0 };
    const lz_kernel_access access[] = {
        { x, 0, strides }, { y, 0, strides }, { most, 0, outer }, { at, 0, outer }
    };
    lz_kernel_args args = { .extents = extents, .access = access };
    lz_pool *pool = NULL;
    assert_null(lz_pool_create(threads, &pool));
    assert_null(lz_program_run(k->program, &args, pool));
    lz_pool_destroy(pool);
}

static void test_threads_share_long_rows(void **state)
{
    size_t bytes = (size_t)ROWS * LENGTH * sizeof(float);
    float *x = malloc(bytes), *y = malloc(bytes), *z = malloc(bytes), most[2][ROWS];
    int64_t at[2][ROWS];
    lz_kernel *k = long_kernel();
    (void)state;
    assert_true(x && y && z);
    uint32_t seed = 1;
    for (size_t i = 0; i < ROWS * LENGTH; i++, seed = seed * 1664525 + 1013904223)
        x[i] = (float)(seed >> 8) * 0x1p-20f;
    run_long(k, x, y, most[0], at[0], 1);
    for (int threads = 2; threads <= 3; threads++) {
        memset(z, 0, bytes);
        run_long(k, x, z, most[1], at[1], threads);
        assert_memory_equal(y, z, bytes);
        assert_memory_equal(most[0], most[1], sizeof most[0]);
        assert_memory_equal(at[0], at[1], sizeof at[0]);
    }
    for (int r = 0; r < ROWS; r++) {
        const float *row = x + (size_t)r * LENGTH;
        int64_t best = 0;
        for (int64_t i = 1; i < LENGTH; i++)
            best = row[i] > row[best] ? i : best;
        assert_true(row[best] == most[0][r]);
        assert_true(y[r * (int64_t)LENGTH + at[0][r]] == y[r * (int64_t)LENGTH + best]);
    }
    lz_kernel_release(k);
    free(x);
    free(y);
    free(z);
}

/* The same row as the only one: here compiled code, too, is shared. Its sum tells. */
static lz_kernel *only_row(void)
{
    lz_kernel_builder *b;
    lz_kernel *k;
    assert_null(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_value e = lz_kernel_build_op1(
        b, LZ_KERNEL_EXP,
        lz_kernel_build_op2(b, LZ_KERNEL_SUB, x, lz_kernel_build_reduce(b, LZ_KERNEL_RMAX, x)));
    lz_kernel_value sum = lz_kernel_build_reduce(b, LZ_KERNEL_RSUM, e);
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT),
                          lz_kernel_build_op2(b, LZ_KERNEL_DIV, e, sum));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_OUTER), sum);
    assert_null(lz_kernel_builder_finish(b, &k));
    return k;
}

static void test_compiled_rows_are_shared(void **state)
{
    enum { N = 700001 };
    const int64_t n = N, one[] = { 1 }, none[] = { 0 };
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), *z = malloc(N * sizeof *z), sum[2];
    lz_kernel *k = only_row();
    (void)state;
    assert_true(x && y && z);
    for (int i = 0; i < N; i++)
        x[i] = (float)(i * 7919LL % 1000003) * 1e-5f;
    for (int threads = 0; threads <= 3; threads++) { /* 0: interpreted, alone */
        const lz_kernel_access access[] = { { x, 0, one },
                                            { threads ? z : y, 0, one },
                                            { &sum[threads > 0], 0, none } };
        lz_kernel_args args = { .extents = &n, .access = access };
        lz_pool *pool = NULL;
        assert_null(lz_pool_create(threads ? threads : 1, &pool));
        lz_jit_mode_set(threads ? LZ_JIT_NOW : LZ_JIT_OFF);
        assert_null(lz_kernel_run(k, &args, pool));
        lz_pool_destroy(pool);
        if (threads) {
            assert_memory_equal(y, z, N * sizeof *y);
            assert_memory_equal(&sum[0], &sum[1], sizeof *sum);
            memset(z, 0, N * sizeof *z);
        }
    }
    lz_kernel_release(k);
    free(x);
    free(y);
    free(z);
}

/* ---- columns of a wider tensor ---- */

enum { IMAGES = 9, HEIGHT = 300, WIDTH = 40, WIDER = WIDTH + 2 * 4 };

/* Edges of a padding: reads rows given by an index, and stores to columns. `twice`: y = x + x. */
static lz_kernel *edge_kernel(bool twice)
{
    lz_kernel_builder *b;
    lz_kernel *k;
    assert_null(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 3, &b));
    lz_kernel_value row = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_I64, LZ_KERNEL_ELEMENT));
    lz_kernel_value width = lz_kernel_build_const_i(b, LZ_KERNEL_I64, WIDTH);
    lz_kernel_value x = lz_kernel_build_gather(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT),
                                               lz_kernel_build_op2(b, LZ_KERNEL_MUL, row, width));
    x = twice ? lz_kernel_build_op2(b, LZ_KERNEL_ADD, x, x) : x;
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT), x);
    assert_null(lz_kernel_builder_finish(b, &k));
    return k;
}

typedef struct edge {
    int64_t row[HEIGHT];
    float x[IMAGES][HEIGHT][WIDTH], y[IMAGES][HEIGHT][WIDER];
} edge;

static void expect_edge(const edge *e, int columns, float factor)
{
    for (int i = 0; i < IMAGES; i++)
        for (int h = 0; h < HEIGHT; h++)
            for (int w = 0; w < WIDER; w++) {
                float want = w < columns ? factor * e->x[i][e->row[h]][columns - w] : -1;
                if (e->y[i][h][w] != want)
                    fail_msg("%d columns: [%d][%d][%d] is %g, not %g", columns, i, h, w,
                             (double)e->y[i][h][w], (double)want);
            }
}

/* y[i][h][w] = x[i][row[h]][columns - w] */
static void copy_edge(edge *e, const lz_kernel *k, int columns, lz_pool *pool)
{
    static const int64_t by_row[] = { 0, 1, 0 }, back[] = { HEIGHT * WIDTH, 0, -1 },
                         wider[] = { HEIGHT * WIDER, WIDER, 1 };
    const int64_t extents[] = { IMAGES, HEIGHT, columns };
    const lz_kernel_access access[] = { { e->row, 0, by_row }, { e->x, columns, back }, { e->y, 0, wider } };
    lz_kernel_args args = { .extents = extents, .access = access };
    for (int i = 0; i < IMAGES * HEIGHT * WIDER; i++)
        (&e->y[0][0][0])[i] = -1;
    assert_null(lz_kernel_run(k, &args, pool));
}

static void test_edges(void **state)
{
    static edge e;
    (void)state;
    for (int h = 0; h < HEIGHT; h++)
        e.row[h] = h < 7 ? 7 - h : h;
    for (int i = 0; i < IMAGES * HEIGHT * WIDTH; i++)
        (&e.x[0][0][0])[i] = (float)i;
    for (int twice = 0; twice < 2; twice++) {
        lz_kernel *k = edge_kernel(twice);
        for (int threads = 0; threads <= 3; threads++) { /* 0: interpreted */
            lz_pool *pool = NULL;
            assert_null(lz_pool_create(threads ? threads : 1, &pool));
            lz_jit_mode_set(threads ? LZ_JIT_NOW : LZ_JIT_OFF);
            for (int columns = 1; columns <= 8; columns++) {
                copy_edge(&e, k, columns, pool);
                expect_edge(&e, columns, twice ? 2 : 1);
            }
            lz_pool_destroy(pool);
        }
        lz_kernel_release(k);
    }
    lz_jit_mode_set(LZ_JIT_OFF);
}

/* test_code_launch [FROM TO]: the seeds to try */
int main(int argc, char **argv)
{
    if (argc == 3) {
        from = strtoull(argv[1], NULL, 10);
        to = strtoull(argv[2], NULL, 10);
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_kernels),
                                        cmocka_unit_test(test_random_compiled),
                                        cmocka_unit_test(test_cuts),
                                        cmocka_unit_test(test_large_outputs_stream),
                                        cmocka_unit_test(test_threads_share_long_rows),
                                        cmocka_unit_test(test_compiled_rows_are_shared),
                                        cmocka_unit_test(test_edges) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
