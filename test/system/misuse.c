/* misuse NAME: one kind of misuse, or a size beyond the usual. A clean end or a reported error is right;
 * misuse.sh runs them all. Without a name: the names. */
#include <lazuli/lazuli.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static long rss(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_maxrss / 1024;
}
static float d[6] = { 1, 2, 3, 4, 5, 6 };
static void state(lz_ctx *c)
{
    printf("failed %d %s\n", lz_failed(c), lz_message(c));
}
#define T(name) static void name(void)
T(double_release)
{
    lz_ctx *c = lz_open(NULL);
    lz_scope *s = lz_scope_push(c);
    lz_tensor *x = lz_retain(lz_from_memory(c, LZ_F32, LZ_DIMS(6), d));
    lz_scope_pop(s);
    lz_release(x);
    puts("once");
    lz_release(x);
    puts("twice");
    lz_close(c);
}
T(use_after_release)
{
    lz_ctx *c = lz_open(NULL);
    lz_scope *s = lz_scope_push(c);
    lz_tensor *x = lz_retain(lz_from_memory(c, LZ_F32, LZ_DIMS(6), d));
    lz_scope_pop(s);
    lz_release(x);
    lz_tensor *y = lz_relu(c, x);
    printf("%s\n", lz_print(y));
    state(c);
    lz_close(c);
}
T(use_after_pop)
{
    lz_ctx *c = lz_open(NULL);
    lz_scope *s = lz_scope_push(c);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(6), d);
    lz_scope_pop(s);
    lz_tensor *y = lz_relu(c, x);
    printf("%s\n", lz_print(y));
    state(c);
    lz_close(c);
}
T(close_with_live)
{
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = lz_retain(lz_from_memory(c, LZ_F32, LZ_DIMS(6), d));
    lz_close(c);
    puts("closed");
    lz_release(x);
    puts("released after close");
}
T(close_null)
{
    lz_close(NULL);
    lz_release(NULL);
    lz_compiled_free(NULL);
    lz_archive_close(NULL);
    puts("ok");
}
T(null_tensor)
{
    lz_ctx *c = lz_open(NULL);
    lz_tensor *y = lz_relu(c, NULL);
    state(c);
    printf("%p %d\n", (void *)y, lz_tensor_is_inert(y));
    lz_clear(c);
    y = lz_add_Tensor(c, NULL, NULL);
    state(c);
    lz_close(c);
}
T(foreign_ctx)
{
    lz_ctx *c = lz_open(NULL), *e = lz_open(NULL);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(6), d), *y = lz_from_memory(e, LZ_F32, LZ_DIMS(6), d);
    lz_add_Tensor(c, x, y);
    state(c);
    lz_close(c);
    lz_close(e);
}
static lz_tensor *hook_back(lz_ctx *c, lz_tensor *g, void *u)
{
    int *n = u;
    printf("hook %d\n", *n);
    if (++*n < 5) {
        lz_tensor *q = lz_mul_Scalar(c, g, 1);
        lz_set_requires_grad(q, true);
        lz_tensor *l = lz_sum(c, lz_mul_Tensor(c, q, q));
        printf("inner backward %d\n", lz_backward(c, l));
        printf("read in hook %s\n", lz_print(g));
        lz_mark_step(c);
    }
    return NULL;
}
T(hook_recursion)
{
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(6), d);
    lz_set_requires_grad(x, true);
    int n = 0;
    lz_add_grad_hook(x, hook_back, &n);
    lz_backward(c, lz_sum(c, lz_mul_Tensor(c, x, x)));
    state(c);
    printf("%s\n", lz_print(lz_grad_of(x)));
    lz_close(c);
}
static lz_tensor *hook_same(lz_ctx *c, lz_tensor *g, void *u)
{
    (void)g;
    lz_tensor *loss = u;
    printf("again %d\n", lz_backward(c, loss));
    lz_clear(c);
    return NULL;
}
T(hook_same_graph)
{
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(6), d);
    lz_set_requires_grad(x, true);
    lz_tensor *l = lz_sum(c, lz_mul_Tensor(c, x, x));
    lz_add_grad_hook(x, hook_same, l);
    lz_backward(c, l);
    state(c);
    lz_close(c);
}
static lz_tensor *hook_close(lz_ctx *c, lz_tensor *g, void *u)
{
    (void)g;
    (void)u;
    lz_close(c);
    return NULL;
}
T(hook_closes)
{
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(6), d);
    lz_set_requires_grad(x, true);
    lz_add_grad_hook(x, hook_close, 0);
    lz_backward(c, lz_sum(c, lz_mul_Tensor(c, x, x)));
    puts("back");
    lz_close(c);
}
static lz_tensor *hook_rm(lz_ctx *c, lz_tensor *g, void *u)
{
    (void)g;
    lz_tensor **p = u;
    lz_release(p[0]);
    (void)c;
    return NULL;
}
T(hook_releases_leaf)
{
    lz_ctx *c = lz_open(NULL);
    lz_scope *s = lz_scope_push(c);
    static lz_tensor *x;
    x = lz_retain(lz_from_memory(c, LZ_F32, LZ_DIMS(6), d));
    lz_scope_pop(s);
    lz_set_requires_grad(x, true);
    lz_add_grad_hook(x, hook_rm, &x);
    lz_backward(c, lz_sum(c, lz_mul_Tensor(c, x, x)));
    state(c);
    lz_close(c);
}
static lz_err *clos(void *u)
{
    lz_ctx *c = u;
    static int n;
    printf("closure %d\n", n);
    if (n++ < 4) {
        lz_add_step_closure(c, clos, c, false);
        lz_mark_step(c);
    }
    return NULL;
}
T(closure_recursion)
{
    lz_ctx *c = lz_open(NULL);
    lz_add_step_closure(c, clos, c, false);
    lz_relu(c, lz_from_memory(c, LZ_F32, LZ_DIMS(6), d));
    lz_mark_step(c);
    state(c);
    lz_mark_step(c);
    lz_close(c);
}
static lz_err *clos_async(void *u)
{
    lz_ctx *c = u;
    printf("async closure marks: %d\n", lz_mark_step(c));
    return NULL;
}
T(closure_async_marks)
{
    lz_ctx *c = lz_open(NULL);
    lz_add_step_closure(c, clos_async, c, true);
    lz_relu(c, lz_from_memory(c, LZ_F32, LZ_DIMS(6), d));
    lz_mark_step(c);
    usleep(200000);
    lz_wait(c);
    state(c);
    lz_close(c);
}
static void *hammer(void *u)
{
    lz_ctx *c = u;
    for (int i = 0; i < 3000; i++) {
        lz_scope *s = lz_scope_push(c);
        lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(6), d);
        lz_tensor *y = lz_relu(c, lz_add_Tensor(c, x, x));
        float o[6];
        lz_read(y, o, sizeof o);
        lz_scope_pop(s);
    }
    return NULL;
}
T(shared_ctx)
{
    lz_ctx *c = lz_open(NULL);
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], 0, hammer, c);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    state(c);
    lz_close(c);
}
static int work(lz_ctx *c, int n)
{
    lz_scope *s = lz_scope_push(c);
    lz_tensor *x = lz_ones(c, LZ_DIMS(n, n));
    lz_tensor *y = lz_sum(c, lz_mm(c, lz_relu(c, lz_add_Scalar(c, x, 1)), x));
    double v = lz_item(y).re;
    int ok = !lz_failed(c) && v == 2.0 * n * n * n;
    if (!ok)
        printf("  work: %g %s\n", v, lz_message(c));
    lz_scope_pop(s);
    return ok;
}
T(fork_after)
{
    lz_ctx *c = lz_open(NULL);
    printf("parent before %d\n", work(c, 512));
    fflush(stdout);
    for (int k = 0; k < 3; k++) {
        pid_t p = fork();
        if (!p) {
            alarm(20);
            int a = work(c, 512);
            lz_ctx *e = lz_open(NULL);
            int b = work(e, 300);
            printf("child: old context %d, new context %d\n", a, b);
            lz_close(e);
            if (k == 1)
                lz_close(c);
            fflush(stdout);
            if (k == 2)
                exit(0);
            _exit(0);
        }
        int st;
        waitpid(p, &st, 0);
        printf("child %d status %x (%s)\n", k, st, WIFSIGNALED(st) ? strsignal(WTERMSIG(st)) : "ok");
        fflush(stdout);
    }
    printf("parent after %d\n", work(c, 512));
    lz_close(c);
}
T(fork_async)
{
    lz_ctx *c = lz_open(&(lz_options){ .async = true });
    printf("parent before %d\n", work(c, 256));
    lz_tensor *x = lz_ones(c, LZ_DIMS(1000, 1000));
    for (int i = 0; i < 20; i++)
        x = lz_mm(c, x, x);
    lz_mark_step(c);
    fflush(stdout);
    pid_t p = fork();
    if (!p) {
        alarm(20);
        int a = work(c, 256);
        printf("child %d\n", a);
        fflush(stdout);
        lz_close(c);
        exit(0);
    }
    int st;
    waitpid(p, &st, 0);
    printf("child status %x (%s)\n", st, WIFSIGNALED(st) ? strsignal(WTERMSIG(st)) : "ok");
    lz_close(c);
}
T(deep_scopes)
{
    lz_ctx *c = lz_open(NULL);
    double t = now();
    for (int i = 0; i < 1000000; i++)
        lz_scope_push(c);
    printf("1e6 scopes %.2f s rss %ld\n", now() - t, rss());
    state(c);
    t = now();
    lz_close(c);
    printf("closed %.2f\n", now() - t);
}
T(named_scopes)
{
    lz_ctx *c = lz_open(&(lz_options){ .scopes_in_graph = true });
    double t = now();
    for (int i = 0; i < 20000; i++)
        lz_scope_push_as(c, "a_rather_long_name_of_a_scope");
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(6), d);
    for (int i = 0; i < 100; i++)
        x = lz_relu(c, x);
    char *o;
    lz_err *e = lz_dump(c, &x, 1, LZ_DUMP_TEXT, &o);
    printf("%.2f s rss %ld, dump %zu %s\n", now() - t, rss(), e ? 0 : strlen(o), lz_err_text(e));
    lz_close(c);
}
T(scope_wrong_order)
{
    lz_ctx *c = lz_open(NULL);
    lz_scope *a = lz_scope_push(c), *b = lz_scope_push(c);
    lz_scope_pop(a);
    puts("popped outer");
    lz_scope_pop(b);
    puts("popped inner after");
    state(c);
    lz_close(c);
}
static void chain(int n, int grad)
{
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(6), d);
    if (grad)
        lz_set_requires_grad(x, true);
    double t = now();
    lz_tensor *y = x;
    for (int i = 0; i < n; i++)
        y = lz_add_Scalar(c, y, 1e-6);
    printf("%d nodes recorded %.2f s rss %ld MB\n", n, now() - t, rss());
    t = now();
    if (grad) {
        lz_backward(c, lz_sum(c, y));
        printf("backward recorded %.2f s\n", now() - t);
        t = now();
        printf("%s\n", lz_print(lz_grad_of(x)));
    } else
        printf("%s\n", lz_print(y));
    printf("run %.2f s rss %ld MB\n", now() - t, rss());
    state(c);
    t = now();
    lz_close(c);
    printf("closed %.2f s\n", now() - t);
}
T(chain_1e6)
{
    chain(1000000, 0);
}
T(chain_1e5_grad)
{
    chain(100000, 1);
}
T(chain_1e6_grad)
{
    chain(1000000, 1);
}
T(wide_1e5)
{
    lz_ctx *c = lz_open(NULL);
    enum { N = 100000 };
    lz_tensor **p = malloc(N * sizeof *p);
    double t = now();
    for (int i = 0; i < N; i++)
        p[i] = lz_from_memory(c, LZ_F32, LZ_DIMS(6), d);
    printf("1e5 inputs %.2f s\n", now() - t);
    t = now();
    lz_tensor *s = p[0];
    for (int i = 1; i < N; i++)
        s = lz_add_Tensor(c, s, p[i]);
    printf("recorded %.2f\n", now() - t);
    t = now();
    printf("%s\n", lz_print(s));
    printf("run %.2f s rss %ld MB\n", now() - t, rss());
    state(c);
    t = now();
    lz_tensor *k = lz_cat_at(c, LZ_HERE, (lz_tensors){ p, N }, 0);
    printf("cat of 1e5: %lld %.2f s\n", (long long)lz_tensor_numel(k), now() - t);
    float *o = malloc(4 * 6 * N);
    printf("read %d %.2f s rss %ld\n", lz_read(k, o, 4 * 6 * N), now() - t, rss());
    state(c);
    lz_close(c);
}
T(dims64)
{
    for (int nd = 60; nd <= 130; nd += (nd == 66 ? 62 : 1)) {
        int64_t z[200];
        for (int i = 0; i < nd; i++)
            z[i] = i == nd - 1 ? 6 : 1;
        lz_ctx *c = lz_open(NULL);
        lz_tensor *x = lz_from_memory(c, LZ_F32, (lz_ints){ z, nd }, d);
        lz_tensor *y = lz_relu(c, lz_neg(c, x));
        lz_tensor *q = lz_sum_dim_IntList(c, y, LZ_INTS(-1));
        lz_tensor *u = lz_unsqueeze(c, x, 0);
        float o[6];
        int r = lz_read(y, o, sizeof o);
        printf("%d dims: read %d item %g unsqueezed %lld; %s\n", nd, r, lz_failed(c) ? -1.0 : lz_item(q).re,
               (long long)lz_tensor_ndim(u), lz_message(c));
        lz_close(c);
    }
}
T(dims20_transposed)
{
    int64_t z[22], p[22];
    for (int i = 0; i < 22; i++)
        z[i] = 2, p[i] = 21 - i;
    lz_ctx *c = lz_open(NULL);
    double t = now();
    lz_tensor *x = lz_reshape(c, lz_arange(c, LZ_S(1 << 22), .dtype = LZ_F32), ((lz_ints){ z, 22 }));
    lz_tensor *y = lz_add_Tensor(c, lz_permute(c, x, ((lz_ints){ p, 22 })), x);
    lz_tensor *s = lz_sum(c, y, .dtype = LZ_F64);
    printf("%g %s %.2f s\n", lz_item(s).re, lz_message(c), now() - t);
    lz_close(c);
}
T(bad_sizes)
{
    lz_ctx *c = lz_open(NULL);
    lz_zeros(c, LZ_DIMS(-1));
    state(c);
    lz_clear(c);
    lz_zeros(c, LZ_DIMS(1LL << 40, 1LL << 40));
    state(c);
    lz_clear(c);
    lz_tensor *x = lz_zeros(c, LZ_DIMS(1LL << 45));
    state(c);
    lz_clear(c);
    float o[1];
    printf("read %d\n", lz_read(x, o, 4));
    state(c);
    lz_clear(c);
    lz_tensor *y = lz_expand(c, lz_ones(c, LZ_DIMS(1)), LZ_INTS(1LL << 62));
    state(c);
    lz_clear(c);
    lz_tensor *z = lz_expand(c, y, LZ_INTS(1LL << 10, 1LL << 62));
    (void)z;
    state(c);
    lz_clear(c);
    lz_item(lz_sum(c, lz_expand(c, lz_ones(c, LZ_DIMS(1)), LZ_INTS(1LL << 34))));
    state(c);
    lz_clear(c);
    lz_from_memory(c, LZ_F32, LZ_DIMS(1LL << 61), d);
    state(c);
    lz_clear(c);
    lz_as_strided(c, lz_ones(c, LZ_DIMS(4)), LZ_INTS(2, 2), LZ_INTS(1LL << 62, 1LL << 62));
    state(c);
    lz_clear(c);
    lz_arange(c, LZ_S(1e18));
    state(c);
    lz_clear(c);
    lz_arange(c, LZ_S(INT64_MAX));
    state(c);
    lz_clear(c);
    lz_item(lz_sum(c, lz_repeat(c, lz_ones(c, LZ_DIMS(4)), LZ_INTS(1LL << 62))));
    state(c);
    lz_clear(c);
    lz_close(c);
}
T(bad_dtype)
{
    lz_ctx *c = lz_open(NULL);
    for (int i = -2; i < 50; i++) {
        lz_tensor *x = lz_from_memory(c, (lz_dtype)i, LZ_DIMS(1), d);
        lz_tensor *y = lz_add_Scalar(c, x, 1);
        lz_print(y);
        if (i < 0 || i > 15)
            printf("%d: %s\n", i, lz_message(c));
        lz_clear(c);
        lz_zeros(c, LZ_DIMS(2), .dtype = (lz_dtype)i);
        lz_clear(c);
    }
    lz_close(c);
}
T(read_small)
{
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(6), d);
    float o[2];
    printf("%d\n", lz_read(x, o, sizeof o));
    state(c);
    lz_clear(c);
    lz_item(x);
    state(c);
    lz_close(c);
}
T(bad_list)
{
    lz_ctx *c = lz_open(NULL);
    lz_cat_at(c, LZ_HERE, (lz_tensors){ NULL, 0 }, 0);
    state(c);
    lz_clear(c);
    lz_cat_at(c, LZ_HERE, (lz_tensors){ NULL, 3 }, 0);
    state(c);
    lz_clear(c);
    lz_tensor *n[2] = { NULL, NULL };
    lz_cat_at(c, LZ_HERE, (lz_tensors){ n, 2 }, 0);
    state(c);
    lz_clear(c);
    lz_zeros(c, ((lz_ints){ NULL, 3 }));
    state(c);
    lz_clear(c);
    lz_zeros(c, ((lz_ints){ NULL, -5 }));
    state(c);
    lz_close(c);
}
T(bad_device)
{
    lz_ctx *c = lz_open(&(lz_options){ .device = "npu:99" });
    if (c)
        state(c);
    lz_close(c);
    c = lz_open(&(lz_options){ .device = "cpu:5" });
    if (c) {
        state(c);
        work(c, 8);
    }
    lz_close(c);
    c = lz_open(&(lz_options){ .threads = -7 });
    if (c) {
        state(c);
        printf("%d\n", work(c, 64));
    }
    lz_close(c);
    c = lz_open(&(lz_options){ .threads = 100000 });
    if (c) {
        state(c);
        printf("%d\n", work(c, 64));
    }
    lz_close(c);
    c = lz_open(&(lz_options){ .force_fallback = "aten::nothing" });
    if (c)
        state(c);
    lz_close(c);
}
static volatile int sig;
static void on(int s)
{
    sig = s;
}
T(signals)
{
    struct sigaction a = { .sa_handler = on };
    sigaction(SIGALRM, &a, 0);
    struct {
        long a, b, c, d;
    } it = { 0, 1000, 0, 1000 };
    (void)it;
    extern int ualarm_(void);
    lz_ctx *c = lz_open(NULL);
    for (int i = 0; i < 300; i++) {
        ualarm(300, 300);
        if (!work(c, 128)) {
            puts("wrong");
            break;
        }
    }
    ualarm(0, 0);
    puts("done");
    lz_close(c);
}
T(compiled_misuse)
{
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(6), d), *y = lz_relu(c, x);
    lz_compiled *k = lz_extract(c, &x, 1, &y, 1);
    state(c);
    lz_tensor *o = NULL;
    lz_tensor *w = lz_from_memory(c, LZ_F32, LZ_DIMS(3), d);
    printf("wrong shape %d\n", lz_compiled_run(k, &w, 1, &o, 1));
    state(c);
    lz_clear(c);
    printf("wrong count %d\n", lz_compiled_run(k, &x, 0, &o, 1));
    state(c);
    lz_clear(c);
    lz_tensor *oo[5];
    printf("too many results %d\n", lz_compiled_run(k, &x, 1, oo, 5));
    state(c);
    lz_clear(c);
    lz_tensor *i64 = lz_from_memory(c, LZ_I32, LZ_DIMS(6), d);
    printf("wrong dtype %d\n", lz_compiled_run(k, &i64, 1, &o, 1));
    state(c);
    lz_clear(c);
    lz_tensor *nl = NULL;
    printf("null %d\n", lz_compiled_run(k, &nl, 1, &o, 1));
    state(c);
    lz_clear(c);
    lz_compiled_free(k);
    lz_graph_key key = { 1, 2 };
    printf("unknown key %d\n", lz_run_cached(c, key, &x, 1, &o, 1));
    state(c);
    lz_close(c);
    puts("closed");
}
T(compiled_after_close)
{
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(6), d), *y = lz_relu(c, x);
    lz_compiled *k = lz_extract(c, &x, 1, &y, 1);
    lz_close(c);
    puts("closed");
    lz_compiled_free(k);
    puts("freed");
}
T(exit_running)
{
    lz_ctx *c = lz_open(&(lz_options){ .async = true });
    lz_tensor *x = lz_ones(c, LZ_DIMS(1500, 1500));
    for (int i = 0; i < 10; i++)
        x = lz_mm(c, x, x);
    lz_mark_step(c);
    puts("exit");
    exit(0);
}
T(many_ctx)
{
    double t = now();
    lz_ctx *c[500];
    for (int i = 0; i < 500; i++) {
        c[i] = lz_open(&(lz_options){ .async = i % 2, .threads = 4 });
        if (!c[i] || !work(c[i], 32)) {
            printf("%d failed\n", i);
        }
    }
    printf("500 contexts %.2f s rss %ld\n", now() - t, rss());
    for (int i = 0; i < 500; i++)
        lz_close(c[i]);
}
T(huge_u8)
{
    lz_ctx *c = lz_open(NULL);
    double t = now();
    lz_tensor *x = lz_full(c, LZ_DIMS(2500000000LL), LZ_S(3), .dtype = LZ_U8);
    lz_tensor *s = lz_sum(c, x);
    printf("sum %lld (want 7500000000) %.1f s\n", (long long)lz_item(s).i, now() - t);
    state(c);
    lz_clear(c);
    lz_fill__Scalar(c, lz_select_int(c, x, 0, 2499999999LL), LZ_S(200));
    lz_fill__Scalar(c, lz_slice_Tensor(c, x, .start = LZ_SOME(2300000000LL), .end = LZ_SOME(2300000010LL)),
                    LZ_S(100));
    lz_tensor *a = lz_argmax(c, x);
    printf("argmax %lld (want 2499999999)\n", (long long)lz_item(a).i);
    state(c);
    lz_clear(c);
    lz_tensor *n = lz_sum(c, lz_eq_Scalar(c, x, 100));
    printf("hundreds %lld (want 10)\n", (long long)lz_item(n).i);
    lz_tensor *i = lz_from_memory(c, LZ_I64, LZ_DIMS(2), ((int64_t[]){ 2300000005LL, 2499999999LL }));
    printf("index_select %s\n", lz_print(lz_index_select(c, x, 0, i)));
    state(c);
    lz_clear(c);
    printf("%.1f s rss %ld\n", now() - t, rss());
    lz_close(c);
}
T(huge_2d)
{
    lz_ctx *c = lz_open(NULL);
    double t = now();
    lz_tensor *x = lz_zeros(c, LZ_DIMS(50000, 50000), .dtype = LZ_U8);
    lz_tensor *y = lz_add_Scalar(c, x, 1);
    lz_tensor *r = lz_sum_dim_IntList(c, y, LZ_INTS(0));
    lz_tensor *q = lz_sum(c, r);
    printf("%lld (want 2500000000) %.1f s rss %ld\n", (long long)lz_item(q).i, now() - t, rss());
    lz_tensor *k = lz_sum(c, lz_slice_Tensor(c, lz_t(c, y), .start = LZ_SOME(49990LL)));
    printf("%lld (want 500000)\n", (long long)lz_item(k).i);
    state(c);
    lz_close(c);
}
T(explain_print_inert)
{
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = lz_relu(c, NULL);
    lz_clear(c);
    const char *p = lz_print(x);
    printf("%s\n", p ? p : "(null)");
    printf("%lld %lld %d\n", (long long)lz_tensor_ndim(x), (long long)lz_tensor_numel(x), lz_tensor_dtype(x));
    printf("%s\n", lz_explain(c));
    lz_backward(c, x);
    state(c);
    lz_clear(c);
    lz_set_requires_grad(x, true);
    lz_grad_of(x);
    lz_set_data(x, x);
    state(c);
    lz_share(c, x);
    lz_copy_to(c, x, (lz_device){ 0, 0 });
    lz_release(x);
    lz_retain(x);
    lz_close(c);
}
T(nan_item)
{
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = lz_zeros(c, LZ_DIMS(0));
    lz_item(x);
    state(c);
    lz_clear(c);
    printf("%s\n", lz_print(lz_amax(c, x)));
    state(c);
    lz_clear(c);
    printf("%s %s\n", lz_print(lz_mean(c, x)), lz_message(c));
    lz_clear(c);
    lz_argmax(c, x);
    state(c);
    lz_close(c);
}
static void dropit(void *u)
{
    ++*(int *)u;
}

T(foreign_drop)
{
    lz_ctx *c = lz_open(NULL);
    static int drops;
    lz_from_foreign(c, LZ_F32, LZ_DIMS(-4), LZ_INTS(1), d, dropit, &drops);
    lz_from_foreign(c, LZ_F32, LZ_DIMS(4), LZ_INTS(1, 2), d, dropit, &drops);
    lz_from_foreign(c, (lz_dtype)77, LZ_DIMS(4), LZ_INTS(1), d, dropit, &drops);
    lz_from_foreign(c, LZ_F32, LZ_DIMS(2), LZ_INTS(INT64_MAX), d, dropit, &drops);
    lz_from_foreign(c, LZ_F32, LZ_DIMS(6), LZ_INTS(1), d, dropit, &drops);
    state(c);
    lz_close(c);
    printf("drops %d (want 5)\n", drops);
}
static void use_all(lz_ctx *c, lz_tensor *t)
{
    int64_t rows = lz_tensor_sizes(t).v[0];
    lz_print(lz_add_Scalar(c, t, 1));
    lz_print(lz_sum(c, t));
    lz_print(lz_slice_Tensor(c, t, .dim = 0, .step = 3));
    lz_print(lz_slice_Tensor(c, t, .dim = 0, .step = INT64_MAX));
    lz_print(lz_slice_Tensor(c, t, .dim = 1, .step = INT64_MAX));
    lz_print(lz_unfold(c, t, 0, rows > 0, INT64_MAX));
    lz_print(lz_diagonal(c, t));
    lz_print(lz_unsqueeze(c, t, 0));
    lz_print(lz_reshape(c, t, LZ_INTS(-1)));
    lz_print(lz_expand(c, t, LZ_INTS(4, -1, -1)));
    lz_print(lz_mm(c, lz_t(c, t), t));
    lz_print(lz_cat(c, LZ_TENSORS(t, t)));
    lz_print(lz_as_strided(c, t, LZ_INTS(1, 1), LZ_INTS(INT64_MAX, 1)));
    lz_clear(c);
    lz_add__Scalar(c, t, 1);
    lz_mark_step(c);
    lz_clear(c);
}
/* Strides and steps at the ends of their range, of dimensions with none, one or two indices: UBSan sees
 * overflows. */
T(far_strides)
{
    static const int64_t far[] = { INT64_MAX, INT64_MIN, INT64_MAX / 4, 1LL << 58, -(1LL << 62), 1 };
    static float memory[64];
    lz_ctx *c = lz_open(NULL);
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        for (int64_t size = 0; size < 3; size++) {
            int64_t reach = far[i] == 1 ? 2 : size;
            lz_scope *s = lz_scope_push(c);
            lz_tensor *base = lz_zeros(c, LZ_DIMS(16));
            use_all(c, lz_as_strided(c, base, LZ_INTS(size, 3), LZ_INTS(far[i], 1)));
            use_all(c, lz_as_strided(c, base, LZ_INTS(3, size), LZ_INTS(1, far[i])));
            if (reach < 2)
                use_all(c,
                        lz_from_foreign(c, LZ_F32, LZ_DIMS(size, 3), LZ_INTS(far[i], 1), memory, NULL, NULL));
            lz_scope_pop(s);
        }
    use_all(c, lz_zeros(c, LZ_DIMS(0, 1LL << 62)));
    use_all(c, lz_zeros(c, LZ_DIMS(5, 3)));
    lz_as_strided(c, lz_zeros(c, LZ_DIMS(3)), LZ_INTS(1, 3), LZ_INTS(INT64_MAX, 1));
    puts(strstr(lz_message(c), "overflowed") ? "refused" : "wrong");
    lz_close(c);
}
static const struct {
    const char *n;
    void (*f)(void);
} all[] = {
#define X(name) { #name, name },
    X(double_release) X(use_after_release) X(use_after_pop) X(close_with_live) X(close_null) X(null_tensor)
        X(foreign_ctx) X(hook_recursion) X(hook_same_graph) X(hook_closes) X(hook_releases_leaf)
            X(closure_recursion) X(closure_async_marks) X(shared_ctx) X(fork_after) X(fork_async)
                X(deep_scopes) X(named_scopes) X(scope_wrong_order) X(chain_1e6) X(chain_1e5_grad)
                    X(chain_1e6_grad) X(wide_1e5) X(dims64) X(dims20_transposed) X(bad_sizes) X(bad_dtype)
                        X(read_small) X(bad_list) X(bad_device) X(signals) X(compiled_misuse)
                            X(compiled_after_close) X(exit_running) X(many_ctx) X(huge_u8) X(huge_2d)
                                X(explain_print_inert) X(nan_item) X(foreign_drop) X(far_strides)
#undef X
};

int main(int argc, char **argv)
{
    setvbuf(stdout, 0, _IOLBF, 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (argc < 2)
            puts(all[i].n);
        else if (!strcmp(argv[1], all[i].n)) {
            all[i].f();
            return 0;
        }
    }
    return argc < 2 ? 0 : 99;
}
