#include "check.h"
#include "core/contraction.h"
#include "core/shape.h"
#include <string.h>

enum { MOST = 5 };

static lz_err *test_the_example_of_the_header(void)
{
    static const int64_t expected[] = { 1, 11, LZ_CONTRACTION_PAIR, 0, 1, 0, 1, 1, 0, 1, 0, 1 };
    const lz_ints shapes[] = { LZ_INTS(2, 3), LZ_INTS(3, 4) };
    lz_arena a;
    lz_ints plan = { 0 };
    lz_arena_init(&a);
    lz_err *e = lz_contraction_plan(&a, LZ_STR("ij,jk->ik"), shapes, 2, NULL, &plan);
    if (!e) {
        assert_int_equal(plan.n, 12);
        assert_memory_equal(plan.v, expected, sizeof expected);
    }
    lz_arena_deinit(&a);
    return e;
}

/* ---- the order ---- */

static void remove_shape(lz_shape *of, size_t *n, int64_t i)
{
    memmove(&of[i], &of[i + 1], (*n - (size_t)i - 1) * sizeof *of);
    --*n;
}

/* Multiplications of a plan of pairs, from the sizes of the operands. */
static int64_t work_of(lz_ints plan, const lz_ints *shapes, size_t n)
{
    lz_shape now[MOST];
    int64_t work = 0, at = 1;
    for (size_t k = 0; k < n; k++) {
        now[k].n = shapes[k].n;
        memcpy(now[k].v, shapes[k].v, (size_t)shapes[k].n * sizeof *shapes[k].v);
    }
    for (int64_t k = 0; k < plan.v[0]; k++, at += plan.v[at]) {
        const int64_t *p = plan.v + at + 2;
        if (plan.v[at + 1] != LZ_CONTRACTION_PAIR)
            continue;
        int64_t i = p[0], j = p[1], shared = p[2] + p[4], one = 1;
        lz_shape x = now[i], y = now[j], made = { .n = 0 };
        const int64_t *left = p + 5, *right = left + x.n;
        for (int64_t d = 0; d < x.n; d++) {
            one *= x.v[left[d]];
            if (d < p[2] + p[3])
                made.v[made.n++] = x.v[left[d]];
        }
        for (int64_t d = shared; d < y.n; d++) {
            one *= y.v[right[d]];
            made.v[made.n++] = y.v[right[d]];
        }
        work += one;
        remove_shape(now, &n, j);
        remove_shape(now, &n, i);
        now[n++] = made;
    }
    return work;
}

/* Tries all paths of a chain of matrices. */
static lz_err *cheapest(lz_arena *a, lz_str equation, const lz_ints *shapes, size_t n, int64_t *least)
{
    int64_t path[2 * MOST] = { 0 };
    *least = INT64_MAX;
    for (int64_t code = 0; code < 10 * 6 * 3; code++) {
        int64_t rest = code;
        for (int64_t left = (int64_t)n, k = 0; left > 1; left--, k += 2) {
            int64_t pairs = left * (left - 1) / 2, pair = rest % pairs;
            rest /= pairs;
            for (path[k] = 0; pair >= left - 1 - path[k]; path[k]++)
                pair -= left - 1 - path[k];
            path[k + 1] = path[k] + 1 + pair;
        }
        const lz_ints given = { path, 2 * ((int64_t)n - 1) };
        lz_ints plan = { 0 };
        LZ_TRY(lz_contraction_plan(a, equation, shapes, n, &given, &plan));
        int64_t work = work_of(plan, shapes, n);
        *least = work < *least ? work : *least;
    }
    return NULL;
}

static lz_err *compare_orders(lz_arena *a, uint64_t seed)
{
    lz_ints shapes[MOST], plan = { 0 };
    int64_t sizes[MOST][2], edge[MOST + 1], least = 0;
    for (int i = 0; i <= MOST; i++, seed = seed * 6364136223846793005U + 1442695040888963407U)
        edge[i] = 1 + (int64_t)(seed >> 60);
    for (int i = 0; i < MOST; i++) {
        sizes[i][0] = edge[i];
        sizes[i][1] = edge[i + 1];
        shapes[i] = (lz_ints){ sizes[i], 2 };
    }
    lz_str equation = LZ_STR("ab,bc,cd,de,ef->af");
    LZ_TRY(lz_contraction_plan(a, equation, shapes, MOST, NULL, &plan));
    LZ_TRY(cheapest(a, equation, shapes, MOST, &least));
    assert_int_equal(work_of(plan, shapes, MOST), least);
    return NULL;
}

static lz_err *test_no_path_needs_fewer_operations(void)
{
    lz_arena a;
    lz_err *e = NULL;
    lz_arena_init(&a);
    for (uint64_t seed = 1; !e && seed < 12; seed++)
        e = compare_orders(&a, seed * 0x9E3779B97F4A7C15U);
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_the_example_of_the_header),
        LZ_TEST(test_no_path_needs_fewer_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
