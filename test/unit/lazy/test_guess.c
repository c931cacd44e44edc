/* A walk that is compared with the graph of an earlier walk says "same" exactly for equal words. */
#include "lazy/walk.h"
#include "lazy_calls.h"

enum { MOST_ROOTS = 2, GRAPHS = 18 };

typedef struct graph {
    lz_output roots[MOST_ROOTS];
    size_t n;
} graph;

/* After a failed allocation tensors are inert; then the graphs are not used. */
static void add_root(graph *g, const lz_tensor *a)
{
    if (a->storage)
        g->roots[g->n++] = a->storage->value;
}

static void one(graph *g, const lz_tensor *a)
{
    add_root(g, a);
}

static void two(graph *g, const lz_tensor *a, const lz_tensor *b)
{
    add_root(g, a);
    add_root(g, b);
}

static const float data[] = { 0, 1, 2, 3, 4, 5 };

/* Graphs that differ in one thing each, and some that differ only in data, numbers or identity. */
static void record_all(lz_ctx *c, graph *g)
{
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), data),
              *y = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), data);
    lz_tensor *row = lz_from_memory(c, LZ_F32, LZ_DIMS(1, 3), data);
    lz_tensor *a = CALL(c, add_Tensor, T(x), T(y)), *twice = CALL(c, mul_Tensor, T(a), T(a));
    lz_tensor *b = CALL(c, add_Tensor, T(y), T(x), S(2.5));
    one(g++, CALL(c, relu, T(a)));
    one(g++, CALL(c, relu, T(b)));
    one(g++, CALL(c, relu, T(CALL(c, add_Tensor, T(y), T(x)))));
    one(g++, CALL(c, relu, T(CALL(c, add_Tensor, T(x), T(x)))));
    one(g++, CALL(c, relu, T(CALL(c, add_Tensor, T(x), T(row)))));
    one(g++, CALL(c, tanh, T(a)));
    one(g++, CALL(c, relu, T(CALL(c, relu, T(a)))));
    one(g++, CALL(c, add_Tensor, T(CALL(c, relu, T(a))), T(x)));
    one(g++, CALL(c, add_Tensor, T(x), T(CALL(c, relu, T(a)))));
    one(g++, CALL(c, sum_dim_IntList, T(a), L(0), lz_value_truth(false)));
    one(g++, CALL(c, sum_dim_IntList, T(a), L(1), lz_value_truth(false)));
    one(g++, CALL(c, sum_dim_IntList, T(a), L(0), lz_value_truth(true)));
    one(g++, twice);
    one(g++, CALL(c, mul_Tensor, T(a), T(b)));
    two(g++, twice, a);
    two(g++, a, twice);
    two(g++, a, a);
    one(g++, CALL(c, transpose_int, T(CALL(c, relu, T(a))), I(0), I(1)));
}

static bool equal(const lz_flat *a, const lz_words *b)
{
    return a->n == b->len && memcmp(a->words, b->data, a->n * sizeof *a->words) == 0;
}

/* Expects each graph in turn, and compares it with all. */
static lz_err *compare_all(lz_device d, const graph *g, lz_walk *w, lz_walk_guess *guess, lz_words *words)
{
    for (size_t i = 0; i < GRAPHS; i++) {
        LZ_TRY(lz_walk_run(w, g[i].roots, g[i].n, d, 0));
        words->len = 0;
        LZ_TRY(lz_vec_reserve(words, w->flat.n));
        memcpy(words->data, w->flat.words, w->flat.n * sizeof *words->data);
        words->len = w->flat.n;
        LZ_TRY(lz_walk_expect(w, words->data, guess));
        for (size_t k = 0; k < GRAPHS; k++) {
            bool same = false, forced = false;
            LZ_TRY(lz_walk_compare(w, guess, g[k].roots, g[k].n, d, 1, &forced));
            LZ_TRY(lz_walk_compare(w, guess, g[k].roots, g[k].n, d, 0, &same));
            size_t nodes = w->nodes.len, numbers = w->nnumbers, leaves = w->leaves.len;
            LZ_TRY(lz_walk_run(w, g[k].roots, g[k].n, d, 0));
            assert_int_equal(same, equal(&w->flat, words));
            assert_true(same || k != i);
            assert_false(forced);
            assert_true(!same
                        || (nodes == w->nodes.len && numbers == w->nnumbers && leaves == w->leaves.len));
        }
    }
    return NULL;
}

static lz_err *test_same_words(void)
{
    graph g[GRAPHS] = { 0 };
    lz_walk w = { 0 };
    lz_walk_guess guess = { 0 };
    lz_words words = { 0 };
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    record_all(c, g);
    lz_err *e = lz_failed(c) ? NULL : compare_all(c->device, g, &w, &guess, &words);
    lz_walk_deinit(&w);
    lz_walk_guess_deinit(&guess);
    lz_vec_deinit(&words);
    if (e)
        lz_ctx_fail(c, LZ_HERE, e);
    return finish(c);
}

/* A loop that repeats two graphs in turns, and now and then has another: the values are right, and graphs are
 * compiled once. */
static lz_err *test_turns(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), data);
    for (int i = 0; i < 24 && !lz_failed(c); i++) {
        lz_scope *s = lz_scope_push(c);
        double add = i + 1;
        int kind = i % 7 == 6 ? 2 : i % 2;
        float got[6] = { 0 };
        lz_tensor *y = CALL(c, add_Scalar, T(x), S(add));
        y = kind == 0   ? CALL(c, mul_Tensor, T(y), T(x))
            : kind == 1 ? CALL(c, mul_Tensor, T(y), T(y))
                        : CALL(c, neg, T(y));
        if (!lz_failed(c) && lz_read(y, got, sizeof got))
            for (int k = 0; k < 6; k++) {
                float z = data[k] + (float)add;
                assert_true(got[k] == (kind == 0 ? z * data[k] : kind == 1 ? z * z : -z));
            }
        lz_scope_pop(s);
    }
    return finish(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_same_words), LZ_TEST(test_turns) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
