/* Compiled kernels, each thing by itself: operations, dtypes, ways of access, reductions
 * and scans of all lengths, failures. The tile interpreter says what is right. */
#include "base/thread.h"
#include "emit_run.h"
#include "jit/program.h"
#include "random_kernel.h"

static const lz_target *targets[LZ_TARGETS_MOST];
static int n_targets;

/* A kernel being built, and memory for it: every access a dense array of [outer][row]. */
enum { MOST = 24 };

typedef struct bench {
    lz_kernel_builder *b;
    lz_kernel *k;
    int64_t extents[2], strides[MOST][2];
    lz_kernel_access access[MOST];
    char *memory[MOST], *want[MOST];
    int dtype[MOST], n;
    bool stored[MOST];
    lz_kernel_scalar params[4];
    random_kernel dice;
} bench;

static void open_bench(bench *t, lz_kernel_mode mode)
{
    *t = (bench){ .dice.state = 12345 };
    assert_null(lz_kernel_builder_create(mode, 1, 1, &t->b));
}

static int add_access(bench *t, int dtype, lz_kernel_vary vary, bool stored)
{
    t->dtype[t->n] = dtype;
    t->stored[t->n] = stored;
    t->n = lz_kernel_build_access(t->b, (lz_dtype)dtype, vary) + 1;
    return t->n - 1;
}

static lz_kernel_value input(bench *t, int dtype)
{
    return lz_kernel_build_load(t->b, add_access(t, dtype, LZ_KERNEL_ELEMENT, false));
}

static void output(bench *t, int dtype, lz_kernel_value x)
{
    lz_kernel_vary vary = lz_kernel_build_varies(t->b, x) ? LZ_KERNEL_ELEMENT : LZ_KERNEL_OUTER;
    lz_kernel_build_store(t->b, add_access(t, dtype, vary, true), x);
}

static void finish(bench *t)
{
    assert_null(lz_kernel_builder_finish(t->b, &t->k));
}

static void drop_memory(bench *t)
{
    for (int a = 0; a < t->n; a++) {
        free(t->memory[a]);
        free(t->want[a]);
        t->memory[a] = t->want[a] = NULL;
    }
}

static void close_bench(bench *t)
{
    drop_memory(t);
    lz_kernel_release(t->k);
}

static size_t bytes_of(const bench *t, int a)
{
    int64_t row = t->extents[1] ? t->extents[1] : 1;
    return (size_t)(t->extents[0] * row + 1) * lz_dtype_bytes(t->dtype[a]);
}

/* gap: elements between neighbours of the row, and of rows */
static void set_extents(bench *t, int64_t outer, int64_t row, int64_t gap)
{
    drop_memory(t);
    t->extents[0] = outer;
    t->extents[1] = row * gap;
    for (int a = 0; a < t->n; a++) {
        bool columns = t->k->ir.mode == LZ_KERNEL_COLUMNS,
             still = t->k->ir.access.data[a].vary == LZ_KERNEL_OUTER;
        t->strides[a][0] = still ? 1 : columns ? gap : row * gap;
        t->strides[a][1] = still ? 0 : columns ? outer * gap : gap;
        t->memory[a] = aligned_alloc(64, (bytes_of(t, a) + 127) / 64 * 64);
        t->want[a] = malloc(bytes_of(t, a) + 8);
        assert_non_null(t->memory[a]);
        assert_non_null(t->want[a]);
        memset(t->memory[a], 0, bytes_of(t, a));
        if (!t->stored[a])
            rk_fill(&t->dice, t->dtype[a], t->memory[a], t->extents[0] * t->extents[1]);
        t->access[a] = (lz_kernel_access){ t->memory[a], 0, t->strides[a] };
    }
    t->extents[1] = row;
}

static lz_kernel_args bench_args(const bench *t)
{
    return (lz_kernel_args){ .extents = t->extents, .access = t->access, .params = t->params };
}

static void keep_wanted(bench *t, int64_t gap)
{
    t->extents[1] *= gap;
    for (int a = 0; a < t->n; a++) {
        memcpy(t->want[a], t->memory[a], bytes_of(t, a));
        if (t->stored[a])
            memset(t->memory[a], 0, bytes_of(t, a));
    }
    t->extents[1] /= gap;
}

static void expect_wanted(bench *t, int64_t gap, const char *what)
{
    t->extents[1] *= gap;
    for (int a = 0; a < t->n; a++) {
        int64_t at = er_difference(t->dtype[a], t->memory[a], t->want[a],
                                   bytes_of(t, a) - lz_dtype_bytes(t->dtype[a]));
        if (at >= 0)
            fail_msg("%s, %lld x %lld: access %d, byte %lld", what, (long long)t->extents[0],
                     (long long)t->extents[1], a, (long long)at);
        if (t->stored[a])
            memset(t->memory[a], 0, bytes_of(t, a));
    }
    t->extents[1] /= gap;
}

/* Code for a target, made once, runs with all these lengths. */
typedef struct shapes {
    const int64_t *outer, *row; /* ending with -1 */
    int64_t gap;
    int force;
} shapes;

static void try_shape(bench *t, const lz_native_loaded *c, const shapes *s, const lz_target *target)
{
    static emit_run run;
    lz_kernel_args args = bench_args(t);
    assert_null(lz_program_run(t->k->program, &args, NULL));
    keep_wanted(t, s->gap);
    er_init(&run, t->k, &args, 0, s->force);
    lz_err *e = er_call(&run, c);
    er_free(&run);
    if (e)
        fail_msg("%s", lz_err_text(e));
    expect_wanted(t, s->gap, target->name);
}

static void try_target(bench *t, const shapes *s, const lz_target *target)
{
    static emit_run run;
    lz_native_loaded code = { 0 };
    set_extents(t, 3, 9, s->gap);
    lz_kernel_args args = bench_args(t);
    er_init(&run, t->k, &args, 0, s->force);
    lz_err *e = er_compile(&run, target, &code);
    er_free(&run);
    if (e)
        fail_msg("%s: %s", target->name, lz_err_text(e));
    for (const int64_t *o = s->outer; *o >= 0; o++) {
        for (const int64_t *r = s->row; *r >= 0; r++) {
            set_extents(t, *o, *r, s->gap);
            try_shape(t, &code, s, target);
        }
    }
    lz_native_unload(&code);
}

static void try_shapes(bench *t, shapes s)
{
    for (int i = 0; i < n_targets; i++)
        try_target(t, &s, targets[i]);
}

static const int64_t few[] = { 2, -1 }, lengths[] = { 0, 1, 15, 16, 17, 63, 64, 65, 130, -1 };

static const int dtype_of_type[LZ_KERNEL_TYPES] = { LZ_BOOL, LZ_I32, LZ_I64, LZ_F32, LZ_F64 };

/* ---- operations ---- */

static bool divides(int op, int t)
{
    return t < LZ_KERNEL_F32
           && (op == LZ_KERNEL_IDIV || op == LZ_KERNEL_IDIV_FLOOR || op == LZ_KERNEL_FMOD
               || op == LZ_KERNEL_REMAINDER);
}

static void add_op(bench *t, int op, int type)
{
    lz_kernel_value x = input(t, op == LZ_KERNEL_SELECT ? LZ_BOOL : dtype_of_type[type]);
    int n = lz_kernel_op_operands((lz_kernel_op)op);
    lz_kernel_value y = n > 1 ? input(t, dtype_of_type[type]) : x,
                    z = n > 2 ? input(t, dtype_of_type[type]) : x;
    if (divides(op, type))
        y = lz_kernel_build_op2(t->b, LZ_KERNEL_OR, y,
                                lz_kernel_build_const_i(t->b, (lz_kernel_type)type, 1));
    lz_kernel_value r = n == 1   ? lz_kernel_build_op1(t->b, (lz_kernel_op)op, x)
                        : n == 2 ? lz_kernel_build_op2(t->b, (lz_kernel_op)op, x, y)
                                 : lz_kernel_build_op3(t->b, (lz_kernel_op)op, x, y, z);
    output(t, dtype_of_type[lz_kernel_build_type(t->b, r)], r);
}

static void test_operations(void **state)
{
    (void)state;
    static const int64_t rows[] = { 1000, -1 };
    for (int op = 0; op < LZ_KERNEL_SCALE; op++) {
        bench t;
        open_bench(&t, LZ_KERNEL_ROWS);
        for (int type = 0; type < LZ_KERNEL_TYPES; type++) {
            if (lz_kernel_op_types((lz_kernel_op)op) >> type & 1)
                add_op(&t, op, type);
        }
        finish(&t);
        try_shapes(&t, (shapes){ few, rows, 1, 0 });
        close_bench(&t);
    }
}

static const int dtypes[] = {
    LZ_BOOL, LZ_U8, LZ_I8, LZ_I16, LZ_I32, LZ_I64, LZ_F16, LZ_BF16, LZ_F32, LZ_F64
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static void test_casts(void **state)
{
    (void)state;
    static const int64_t rows[] = { 700, -1 };
    for (int i = 0; i < DTYPES; i++) {
        bench t;
        open_bench(&t, LZ_KERNEL_ROWS);
        lz_kernel_value x = input(&t, dtypes[i]);
        for (int k = 0; k < DTYPES; k++) /* through the computing type, and stored as it is */
            output(&t, dtypes[k], lz_kernel_build_cast(t.b, x, (lz_dtype)dtypes[k]));
        output(&t, dtypes[i], x);
        finish(&t);
        try_shapes(&t, (shapes){ few, rows, 1, 0 });
        close_bench(&t);
    }
}

/* ---- ways of access ---- */

static void test_accesses(void **state)
{
    (void)state;
    static const int64_t gaps[LZ_RUNS] = { [LZ_RUN_NEXT] = 1, [LZ_RUN_STEP] = 3, [LZ_RUN_TABLE] = 2 };
    for (int run = LZ_RUN_NEXT; run < LZ_RUNS; run++) {
        for (int half = 0; gaps[run] && half < 2; half++) {
            bench t;
            open_bench(&t, LZ_KERNEL_ROWS);
            lz_kernel_value mask = input(&t, LZ_BOOL);
            for (int i = half * DTYPES / 2; i < (half + 1) * DTYPES / 2; i++) {
                lz_kernel_value x = input(&t, dtypes[i]);
                int other = add_access(&t, dtypes[i], LZ_KERNEL_ELEMENT, false);
                output(&t, dtypes[i], lz_kernel_build_load_if(t.b, other, mask, x));
            }
            finish(&t);
            try_shapes(&t, (shapes){ few, lengths, gaps[run], run + 1 });
            if (run == LZ_RUN_TABLE) /* side by side after all */
                try_shapes(&t, (shapes){ few, lengths, 1, run + 1 });
            close_bench(&t);
        }
    }
}

/* What the interpreter gives is wanted, and a run that is to give it is laid out. args: lives as long. */
static void lay_out(bench *t, const lz_kernel_args *args, emit_run *run)
{
    assert_null(lz_program_run(t->k->program, args, NULL));
    keep_wanted(t, 1);
    er_init(run, t->k, args, 0, 0);
}

static void expect_run(bench *t, emit_run *run, const lz_target *target)
{
    lz_native_loaded code = { 0 };
    assert_null(er_compile(run, target, &code));
    assert_null(er_call(run, &code));
    expect_wanted(t, 1, target->name);
    er_free(run);
    lz_native_unload(&code);
    close_bench(t);
}

/* A matrix on its side: in memory the next row is nearer than the next element. */
static void try_across(const lz_target *target, int64_t outer, int64_t row)
{
    static emit_run run;
    bench t;
    open_bench(&t, LZ_KERNEL_ROWS);
    lz_kernel_value x = input(&t, LZ_F32), y = input(&t, LZ_F32);
    output(&t, LZ_F32, lz_kernel_build_op2(t.b, LZ_KERNEL_SUB, x, y));
    finish(&t);
    set_extents(&t, outer, row, 1);
    t.strides[0][0] = 1;
    t.strides[0][1] = outer;
    lz_kernel_args args = bench_args(&t);
    lay_out(&t, &args, &run);
    assert_int_equal(run.v.run[0], LZ_RUN_STEP);
    expect_run(&t, &run, target);
}

static void test_across(void **state)
{
    (void)state;
    for (int i = 0; i < n_targets; i++) {
        try_across(targets[i], 5, 70);
        try_across(targets[i], 70, 5);
        try_across(targets[i], 40, 64);
    }
}

/* Rows from the last element to the first, of a load and of a store. */
static void try_backwards(const lz_target *target, int dtype, int64_t row)
{
    static emit_run run;
    bench t;
    open_bench(&t, LZ_KERNEL_ROWS);
    lz_kernel_value x = input(&t, dtype);
    output(&t, dtype, x);
    output(&t, dtype, x);
    finish(&t);
    set_extents(&t, 3, row, 1);
    for (int a = 0; a < 2; a++) {
        t.access[a].offset = row - 1;
        t.strides[a][1] = -1;
    }
    lz_kernel_args args = bench_args(&t);
    lay_out(&t, &args, &run);
    assert_int_equal(run.v.run[0], row > 1 ? LZ_RUN_BACK : LZ_RUN_NEXT);
    assert_int_equal(run.v.run[1], row > 1 ? LZ_RUN_BACK : LZ_RUN_NEXT);
    assert_int_equal(run.v.run[2], LZ_RUN_NEXT);
    expect_run(&t, &run, target);
}

static void test_backwards(void **state)
{
    (void)state;
    for (int i = 0; i < n_targets; i++) {
        for (int d = 0; d < DTYPES; d++) {
            for (const int64_t *row = lengths + 1; *row >= 0; row++)
                try_backwards(targets[i], dtypes[d], *row);
        }
    }
}

/* Rows of several pieces that do not touch: copied to where they do and to where they do not, and their
 * greatest element. */
enum { PIECES_MOST = 4, PIECE_MOST = 1500, GAP = 3, PIECES_ROOM = 2 * PIECES_MOST * (PIECE_MOST + GAP) };

static lz_kernel *pieces_kernel(int dtype)
{
    lz_kernel_builder *b;
    lz_kernel *k;
    assert_null(lz_kernel_builder_create(LZ_KERNEL_ROWS, 1, 2, &b));
    lz_kernel_value x =
        lz_kernel_build_load(b, lz_kernel_build_access(b, (lz_dtype)dtype, LZ_KERNEL_ELEMENT));
    lz_kernel_build_store(b, lz_kernel_build_access(b, (lz_dtype)dtype, LZ_KERNEL_ELEMENT), x);
    lz_kernel_build_store(b, lz_kernel_build_access(b, (lz_dtype)dtype, LZ_KERNEL_ELEMENT), x);
    lz_kernel_value most = lz_kernel_build_reduce(b, LZ_KERNEL_RMAX, x);
    lz_kernel_build_store(b, lz_kernel_build_access(b, (lz_dtype)dtype, LZ_KERNEL_OUTER), most);
    assert_null(lz_kernel_builder_finish(b, &k));
    return k;
}

static void try_pieces(const lz_kernel *k, const lz_target *target, int dtype, int64_t pieces, int64_t n)
{
    static emit_run run;
    static _Alignas(64) char memory[4][PIECES_ROOM * 8], want[4][PIECES_ROOM * 8];
    random_kernel dice = { .state = 5 };
    int64_t extents[] = { 2, pieces, n }, apart[] = { pieces * (n + GAP), n + GAP, 1 },
            dense[] = { pieces * n, n, 1 }, outer[] = { 1, 0, 0 };
    lz_kernel_access access[] = {
        { memory[0], 0, apart }, { memory[1], 0, dense }, { memory[2], 0, apart }, { memory[3], 0, outer }
    };
    lz_kernel_args args = { .extents = extents, .access = access };
    lz_native_loaded code = { 0 };
    memset(memory, 0, sizeof memory);
    rk_fill(&dice, dtype, memory[0], PIECES_ROOM);
    assert_null(lz_program_run(k->program, &args, NULL));
    memcpy(want, memory, sizeof memory);
    memset(memory[1], 0, sizeof memory - sizeof memory[0]);
    er_init(&run, k, &args, 0, 0);
    assert_int_equal(run.v.run[0], LZ_RUN_PIECES);
    assert_int_equal(run.v.run[1], LZ_RUN_NEXT);
    assert_null(er_compile(&run, target, &code));
    assert_null(er_call(&run, &code));
    for (int a = 0; a < 4; a++)
        assert_int_equal(er_difference(dtype, memory[a], want[a], sizeof memory[a] - 8), -1);
    er_free(&run);
    lz_native_unload(&code);
}

static void test_pieces(void **state)
{
    (void)state;
    static const int64_t lengths_of[] = { 16, 17, 23, 31, 32, 64, 70, 128, 333, PIECE_MOST, -1 };
    for (int d = 0; d < DTYPES; d++) {
        lz_kernel *k = pieces_kernel(dtypes[d]);
        for (const int64_t *n = lengths_of; *n >= 0; n++) {
            for (int i = 0; i < n_targets; i++)
                try_pieces(k, targets[i], dtypes[d], d % 3 + 2, *n);
        }
        lz_kernel_release(k);
    }
}

/* Whole rows, each from where one index says. */
static void test_gathered_rows(void **state)
{
    (void)state;
    for (int i = 0; i < DTYPES; i++) {
        bench t;
        open_bench(&t, LZ_KERNEL_ROWS);
        lz_kernel_value at = lz_kernel_build_load(t.b, add_access(&t, LZ_I64, LZ_KERNEL_OUTER, false));
        lz_kernel_value two = lz_kernel_build_const_i(t.b, LZ_KERNEL_I64, 2);
        at = lz_kernel_build_op2(t.b, LZ_KERNEL_SUB, lz_kernel_build_const_i(t.b, LZ_KERNEL_I64, 0),
                                 lz_kernel_build_op2(t.b, LZ_KERNEL_REMAINDER, at, two)); /* 0 or 1 before */
        lz_kernel_value mask = input(&t, LZ_BOOL);
        int one = add_access(&t, dtypes[i], LZ_KERNEL_ELEMENT, false);
        int other = add_access(&t, dtypes[i], LZ_KERNEL_ELEMENT, false);
        lz_kernel_value first = lz_kernel_build_affine(t.b, add_access(&t, LZ_I64, LZ_KERNEL_ELEMENT, false));
        lz_kernel_value inside =
            lz_kernel_build_op2(t.b, LZ_KERNEL_GT, first, lz_kernel_build_const_i(t.b, LZ_KERNEL_I64, 0));
        lz_kernel_value x = lz_kernel_build_gather(t.b, one, lz_kernel_build_op2(t.b, LZ_KERNEL_MUL, at, at));
        output(&t, dtypes[i],
               lz_kernel_build_gather_if(t.b, other, at,
                                         lz_kernel_build_op2(t.b, LZ_KERNEL_AND, mask, inside), x));
        finish(&t);
        try_shapes(&t, (shapes){ few, lengths, 1, 0 });
        close_bench(&t);
    }
}

static void test_gathers(void **state)
{
    (void)state;
    for (int i = 0; i < DTYPES; i++) {
        bench t;
        open_bench(&t, LZ_KERNEL_ROWS);
        lz_kernel_value n = lz_kernel_build_const_i(t.b, LZ_KERNEL_I64, 2);
        lz_kernel_value index = lz_kernel_build_op2(t.b, LZ_KERNEL_REMAINDER, input(&t, LZ_I64), n);
        index = lz_kernel_build_check(t.b, lz_kernel_build_op2(t.b, LZ_KERNEL_SUB, index, n), n, 0, true);
        lz_kernel_value still =
            lz_kernel_build_gather(t.b, add_access(&t, dtypes[i], LZ_KERNEL_OUTER, false), index);
        lz_kernel_value mask = input(&t, LZ_BOOL);
        int moving = add_access(&t, dtypes[i], LZ_KERNEL_ELEMENT, false);
        output(&t, dtypes[i],
               lz_kernel_build_gather_if(t.b, moving, lz_kernel_build_const_i(t.b, LZ_KERNEL_I64, 0), mask,
                                         still));
        output(&t, LZ_I64, index);
        finish(&t);
        try_shapes(&t, (shapes){ few, lengths, 1, 0 });
        close_bench(&t);
    }
}

/* ---- reductions and scans ---- */

static bool takes(int kind, int type)
{
    bool bits = kind == LZ_KERNEL_RAND || kind == LZ_KERNEL_ROR || kind == LZ_KERNEL_RXOR;
    bool order = kind == LZ_KERNEL_RMAX || kind == LZ_KERNEL_RMIN;
    return type == LZ_KERNEL_BOOL ? bits || order : bits ? type < LZ_KERNEL_F32 : true;
}

static void try_along(lz_kernel_mode mode, int type, bool scan, shapes s)
{
    bench t;
    open_bench(&t, mode);
    lz_kernel_value x = input(&t, dtype_of_type[type]);
    for (int kind = 0; kind < LZ_KERNEL_REDUCES; kind++) {
        if (!takes(kind, type))
            continue;
        lz_kernel_value r = scan ? lz_kernel_build_scan(t.b, (lz_kernel_reduction)kind, x)
                                 : lz_kernel_build_reduce(t.b, (lz_kernel_reduction)kind, x);
        output(&t, dtype_of_type[lz_kernel_build_type(t.b, r)], r);
    }
    finish(&t);
    try_shapes(&t, s);
    close_bench(&t);
}

static void test_reductions(void **state)
{
    (void)state;
    static const int64_t rows[] = { 0, 1, 15, 16, 17, 63, 64, 65, 4095, 4096, 4097, 3 * 4096 + 70, -1 };
    static const int64_t one[] = { 1, -1 }, long_rows[] = { 65 * 4096 + 33, -1 };
    for (int type = 0; type < LZ_KERNEL_TYPES; type++) {
        try_along(LZ_KERNEL_ROWS, type, false, (shapes){ few, rows, 1, 0 });
        try_along(LZ_KERNEL_ROWS, type, false, (shapes){ one, long_rows, 1, 0 });
    }
}

static void test_scans(void **state)
{
    (void)state;
    static const int64_t columns[] = { 1, 17, 100, -1 }, rows[] = { 0, 1, 5, 20, -1 };
    for (int type = 0; type < LZ_KERNEL_TYPES; type++) {
        try_along(LZ_KERNEL_ROWS, type, true, (shapes){ few, lengths, 1, 0 });
        try_along(LZ_KERNEL_COLUMNS, type, true, (shapes){ columns, rows, 1, 0 });
    }
}

/* One scan with next to nothing beside it, of one row, several, and more than run side by side. */
static void test_single_scans(void **state)
{
    (void)state;
    static const int64_t outer[] = { 0, 1, 3, 4, 5, 9, -1 }, rows[] = { 0, 1, 7, 40, -1 };
    for (int type = 0; type < LZ_KERNEL_TYPES; type++) {
        for (int kind = 0; kind < LZ_KERNEL_REDUCES; kind++) {
            bench t;
            if (!takes(kind, type))
                continue;
            open_bench(&t, LZ_KERNEL_ROWS);
            lz_kernel_value r =
                lz_kernel_build_scan(t.b, (lz_kernel_reduction)kind, input(&t, dtype_of_type[type]));
            output(&t, dtype_of_type[lz_kernel_build_type(t.b, r)], r);
            finish(&t);
            try_shapes(&t, (shapes){ outer, rows, 1, 0 });
            close_bench(&t);
        }
    }
}

/* A scan of what is the row's own. */
static void test_scan_outer(void **state)
{
    (void)state;
    static const int64_t outer[] = { 1, 6, -1 };
    bench t;
    open_bench(&t, LZ_KERNEL_ROWS);
    lz_kernel_value own = lz_kernel_build_load(t.b, add_access(&t, LZ_F32, LZ_KERNEL_OUTER, false));
    lz_kernel_value x = lz_kernel_build_op2(t.b, LZ_KERNEL_MUL, input(&t, LZ_F32), own);
    output(&t, LZ_F32, lz_kernel_build_scan(t.b, LZ_KERNEL_RSUM, x));
    output(&t, LZ_F32, own);
    finish(&t);
    try_shapes(&t, (shapes){ outer, lengths, 1, 0 });
    close_bench(&t);
}

static void test_columns(void **state)
{
    (void)state;
    static const int64_t columns[] = { 1, 15, 16, 17, 65, 1100, -1 }, some[] = { 5, -1 };
    static const int64_t rows[] = { 0, 1, 3, 4, 5, 8, 11, -1 };
    static const int64_t many[] = { 255, 256, 257, 1030, 64 * 256 + 700, -1 };
    for (int type = 0; type < LZ_KERNEL_TYPES; type++) {
        try_along(LZ_KERNEL_COLUMNS, type, false, (shapes){ columns, rows, 1, 0 });
        try_along(LZ_KERNEL_COLUMNS, type, false, (shapes){ some, many, 1, 0 });
    }
}

/* Several walks: exp is computed once and read back. */
static void test_softmax(void **state)
{
    (void)state;
    for (int mode = LZ_KERNEL_ROWS; mode <= LZ_KERNEL_COLUMNS; mode++) {
        bench t;
        open_bench(&t, (lz_kernel_mode)mode);
        lz_kernel_value x = input(&t, LZ_F32);
        lz_kernel_value e = lz_kernel_build_op1(
            t.b, LZ_KERNEL_EXP,
            lz_kernel_build_op2(t.b, LZ_KERNEL_SUB, x, lz_kernel_build_reduce(t.b, LZ_KERNEL_RMAX, x)));
        output(&t, LZ_F32,
               lz_kernel_build_op2(t.b, LZ_KERNEL_DIV, e, lz_kernel_build_reduce(t.b, LZ_KERNEL_RSUM, e)));
        finish(&t);
        try_shapes(&t, (shapes){ few, lengths, 1, 0 });
        close_bench(&t);
    }
}

/* ---- the rest ---- */

static void test_random_numbers(void **state)
{
    (void)state;
    bench t;
    open_bench(&t, LZ_KERNEL_ROWS);
    lz_kernel_value seed = lz_kernel_build_param(t.b, LZ_KERNEL_I64), stream = input(&t, LZ_I64),
                    index = input(&t, LZ_I64);
    for (int word = 0; word < 4; word++)
        output(&t, LZ_I64, lz_kernel_build_philox(t.b, word, seed, stream, index));
    finish(&t);
    t.params[0].i = INT64_C(0x123456789abcdef);
    try_shapes(&t, (shapes){ few, lengths, 1, 0 });
    close_bench(&t);
}

/* An index is reported with what it is out of; lanes behind the row do not count. */
static void try_failures(const lz_target *target, bool divide)
{
    static emit_run run;
    bench t;
    lz_native_loaded code = { 0 };
    open_bench(&t, LZ_KERNEL_ROWS);
    lz_kernel_value x = input(&t, LZ_I64), seven = lz_kernel_build_const_i(t.b, LZ_KERNEL_I64, 7);
    output(&t, LZ_I64,
           divide ? lz_kernel_build_op2(t.b, LZ_KERNEL_IDIV, seven, x)
                  : lz_kernel_build_check(t.b, x, seven, 5, false));
    finish(&t);
    set_extents(&t, 1, 21, 1);
    lz_kernel_args args = bench_args(&t);
    int64_t *data = (int64_t *)(void *)t.memory[0];
    er_init(&run, t.k, &args, 0, 0);
    assert_null(er_compile(&run, target, &code));
    for (int bad = 0; bad < 22; bad++) { /* 21: none */
        for (int i = 0; i < 22; i++)
            data[i] = i == bad ? (divide ? 0 : 7) : 3;
        lz_err *e = er_call(&run, &code);
        assert_true((e != NULL) == (bad < 21));
        if (e && !divide)
            assert_string_equal(lz_err_text(e), "index 7 is out of bounds for dimension 5 with size 7");
        lz_err_free(e);
    }
    er_free(&run);
    lz_native_unload(&code);
    close_bench(&t);
}

static void test_failures(void **state)
{
    (void)state;
    for (int i = 0; i < n_targets; i++) {
        try_failures(targets[i], false);
        try_failures(targets[i], true);
    }
}

/* The store goes where a load came from; and past the caches. */
static void try_in_place(const lz_target *target, bool stream, int64_t n)
{
    static emit_run run;
    bench t;
    lz_native_loaded code = { 0 };
    open_bench(&t, LZ_KERNEL_ROWS);
    lz_kernel_value x = input(&t, LZ_F32), y = input(&t, LZ_F32);
    output(&t, LZ_F32,
           lz_kernel_build_op2(t.b, LZ_KERNEL_SUB, y, lz_kernel_build_op2(t.b, LZ_KERNEL_MUL, x, x)));
    finish(&t);
    set_extents(&t, 1, n, 1);
    lz_kernel_args args = bench_args(&t);
    assert_null(lz_program_run(t.k->program, &args, NULL));
    memcpy(t.want[2], t.memory[2], bytes_of(&t, 2));
    t.access[2].base = t.memory[0];
    er_init(&run, t.k, &args, 0, 0);
    run.v.stream[2] = stream;
    assert_null(er_compile(&run, target, &code));
    assert_null(er_call(&run, &code));
    assert_int_equal(er_difference(LZ_F32, t.memory[0], t.want[2], (size_t)n * 4), -1);
    er_free(&run);
    lz_native_unload(&code);
    close_bench(&t);
}

static void test_in_place(void **state)
{
    (void)state;
    for (int i = 0; i < n_targets; i++) {
        try_in_place(targets[i], false, 100);
        try_in_place(targets[i], true, 100);
        try_in_place(targets[i], true, 128);
    }
}

/* Rows whose results go past the caches. */
static void try_row_stream(const lz_target *target, int64_t outer, int64_t row)
{
    static emit_run run;
    bench t;
    open_bench(&t, LZ_KERNEL_ROWS);
    lz_kernel_value x = input(&t, LZ_F32);
    output(&t, LZ_F32,
           lz_kernel_build_op2(t.b, LZ_KERNEL_SUB, x, lz_kernel_build_reduce(t.b, LZ_KERNEL_RSUM, x)));
    finish(&t);
    set_extents(&t, outer, row, 1);
    lz_kernel_args args = bench_args(&t);
    lay_out(&t, &args, &run);
    run.v.stream[1] = true;
    expect_run(&t, &run, target);
}

static void test_row_stream(void **state)
{
    (void)state;
    for (int i = 0; i < n_targets; i++) {
        try_row_stream(targets[i], 1, 100);
        try_row_stream(targets[i], 3, 128);
        try_row_stream(targets[i], 2, 16);
    }
}

/* Running out of memory anywhere is an error like any other. */
static lz_err *test_memory(void)
{
    lz_kernel_builder *b = NULL;
    lz_kernel *k = NULL;
    lz_text object = { 0 };
    lz_native_variant v = { .run = { LZ_RUN_NEXT, LZ_RUN_NEXT } };
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 1, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_build_store(
        b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT),
        lz_kernel_build_op2(b, LZ_KERNEL_MUL, x, lz_kernel_build_reduce(b, LZ_KERNEL_RSUM, x)));
    LZ_TRY(lz_kernel_builder_finish(b, &k));
    lz_err *e = lz_emit_kernel(k, &v, targets[0], &object);
    lz_text_deinit(&object);
    lz_kernel_release(k);
    return e;
}

/* All threads make the same objects, also at the same time. */
typedef struct maker {
    const lz_kernel *k;
    lz_native_variant v;
    lz_text object;
    lz_err *err;
} maker;

static void *make_object(void *arg)
{
    maker *m = arg;
    m->err = lz_emit_kernel(m->k, &m->v, NULL, &m->object);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    bench t;
    maker all[THREADS + 1];
    pthread_t threads[THREADS];
    open_bench(&t, LZ_KERNEL_ROWS);
    lz_kernel_value x = input(&t, LZ_F32);
    output(&t, LZ_F32,
           lz_kernel_build_op2(t.b, LZ_KERNEL_DIV, lz_kernel_build_op1(t.b, LZ_KERNEL_EXP, x),
                               lz_kernel_build_reduce(t.b, LZ_KERNEL_RSUM, x)));
    finish(&t);
    for (int i = 0; i <= THREADS; i++)
        all[i] = (maker){ .k = t.k, .v = { .run = { LZ_RUN_NEXT, LZ_RUN_NEXT } } };
    for (int i = 0; i < THREADS; i++)
        assert_null(lz_thread_start("maker", 8 << 20, make_object, &all[i], &threads[i]));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    make_object(&all[THREADS]);
    for (int i = 0; i <= THREADS; i++) {
        assert_null(all[i].err);
        assert_true(lz_str_eq(lz_text_view(&all[i].object), lz_text_view(&all[THREADS].object)));
    }
    for (int i = 0; i <= THREADS; i++)
        lz_text_deinit(&all[i].object);
    close_bench(&t);
}

int main(void)
{
    const lz_llvm *l;
    lz_err *e = lz_llvm_get(&l);
    if (e) {
        print_message("skipped: %s\n", lz_err_text(e));
        lz_err_free(e);
        return 77;
    }
    n_targets = lz_target_all(targets);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_accesses),
        cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_across),
        cmocka_unit_test(test_backwards),
        cmocka_unit_test(test_gathered_rows),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_scans),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_random_numbers),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_row_stream),
        cmocka_unit_test(test_threads),
        LZ_TEST(test_memory),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_single_scans),
        cmocka_unit_test(test_scan_outer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
