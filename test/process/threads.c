/* threads: 32 threads with contexts of their own that share tensors and a runner, all at once. TSan must have
 * nothing to report, and no call fails. LAZULI_JIT says how kernels run. */
#include <lazuli/lazuli.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 32, SHARED = 4, ROUNDS = 6, SIDE = 32 };

static lz_tensor *shared[SHARED];
static lz_runner *runner;
static lz_array *array;
static atomic_int failures;

/* A product of two shared tensors, with known elements: relu(s s'), all of them SIDE * (0.1 * (a + b))^2. */
static void use_shared(lz_ctx *c, int id)
{
    int a = id % SHARED, b = (id + 1) % SHARED;
    lz_tensor *s = lz_add_Tensor(c, lz_share(c, shared[a]), lz_share(c, shared[b]));
    double sum = lz_item_double(lz_sum(c, lz_relu(c, lz_mm(c, s, lz_t(c, s)))));
    double element = 0.1 * (a + b), wanted = SIDE * SIDE * (double)SIDE * element * element;
    if (sum < wanted * 0.999 || sum > wanted * 1.001) {
        fprintf(stderr, "thread %d: %g instead of %g\n", id, sum, wanted);
        atomic_fetch_add(&failures, 1);
    }
}

static void use_gradients(lz_ctx *c, int round)
{
    lz_tensor *x = lz_rand(c, LZ_DIMS(4, 4));
    lz_set_requires_grad(x, true);
    lz_backward(c, lz_sum(c, lz_mul_Tensor(c, lz_mul_Tensor(c, x, x), lz_rand(c, LZ_DIMS(4, 4)))));
    (void)lz_print(lz_grad_of(x));
    lz_tensor *large = lz_add_Scalar(c, lz_arange(c, LZ_S(20000), .dtype = LZ_F32), round);
    (void)lz_item(lz_sum(c, lz_sin(c, large)));
}

static void use_counters(lz_ctx *c, int id, int round)
{
    int64_t v;
    char *text;
    lz_mark_step(c);
    (void)lz_explain(c);
    (void)lz_counter_value("UncachedCompile", &v);
    (void)lz_counter_name(0);
    if (round == ROUNDS / 2)
        lz_cache_clear(c);
    lz_err *e = id % 5 == 0 ? lz_metrics_text(&text) : NULL;
    if (!e && id % 5 == 0)
        lz_text_free(text);
    lz_err_free(e);
}

static void use_runner(void)
{
    lz_gvalue *in, *out;
    lz_err *e = lz_gvalue_create_array(array, &in);
    if (!e) {
        e = lz_runner_run(runner, &in, 1, &out, NULL);
        if (!e)
            lz_gvalue_release(out);
        lz_gvalue_release(in);
    }
    atomic_fetch_add(&failures, e != NULL);
    lz_err_free(e);
}

static void *work(void *number)
{
    int id = *(const int *)number;
    lz_ctx *c = lz_open(&(lz_options){ .async = id % 2, .threads = 1 + id % 3, .seed = 7 + (uint64_t)id });
    for (int round = 0; round < ROUNDS; round++) {
        lz_scope *s = lz_scope_push(c);
        use_shared(c, id);
        use_gradients(c, round);
        use_counters(c, id, round);
        use_runner();
        lz_scope_pop(s);
    }
    if (lz_failed(c)) {
        fprintf(stderr, "thread %d: %s\n", id, lz_message(c));
        atomic_fetch_add(&failures, 1);
    }
    lz_close(c);
    return NULL;
}

static lz_err *make_runner(lz_graph **graph)
{
    static const char text[] = "graph(%x : Tensor):\n  %1 : Tensor = aten::relu(%x)\n"
                               "  %2 : Tensor = aten::mul(%1, %x)\n  return (%2)\n";
    lz_err *e = lz_graph_parse("graph", (lz_str){ text, sizeof text - 1 }, graph);
    e = e ? e : lz_runner_create(*graph, NULL, &runner);
    return e ? e : lz_array_create(LZ_F32, LZ_DIMS(3, 3), &array);
}

int main(void)
{
    lz_ctx *c = lz_open(NULL);
    lz_graph *graph = NULL;
    pthread_t threads[THREADS];
    int numbers[THREADS];
    lz_err *e = make_runner(&graph);
    if (e) {
        fprintf(stderr, "%s\n", lz_err_text(e));
        return 1;
    }
    for (int i = 0; i < SHARED; i++)
        shared[i] = lz_full(c, LZ_DIMS(SIDE, SIDE), LZ_S(0.1 * i));
    lz_mark_step(c);
    lz_wait(c);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, work, &numbers[i]))
            return 2;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    lz_runner_release(runner);
    lz_graph_release(graph);
    lz_array_release(array);
    lz_close(c);
    printf("%d failures\n", atomic_load(&failures));
    return atomic_load(&failures) != 0;
}
