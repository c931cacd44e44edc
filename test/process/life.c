/* life CASE ROUNDS: a program of a user that ends, forks or is refused something at a random moment.
 *
 * Each round is a process of its own, started anew, since LLVM is loaded once in a process. It has to end
 * with the status that its case expects, and within LIMIT_S. The cache of compiled kernels is empty in every
 * second round, so that rounds both compile and load. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lazuli/lazuli.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 60, HOT = 3000000, FEW = 1000, THREADS = 4, FORKS = 8, SKIPPED = 77 };

/* ---- what a program computes ---- */

static void nap_us(long us)
{
    nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

static int below(int n)
{
    return rand() % n;
}

/* A kernel that no other round has had, mostly; large enough to be compiled. */
static lz_tensor *expression(lz_ctx *c, int64_t n)
{
    lz_tensor *x = lz_div_Scalar(c, lz_arange(c, LZ_S(n), .dtype = LZ_F32), 1000);
    for (int k = 0; k < 5; k++) {
        int r = below(5);
        x = r == 0   ? lz_sin(c, x)
            : r == 1 ? lz_tanh(c, x)
            : r == 2 ? lz_erf(c, x)
            : r == 3 ? lz_sqrt(c, lz_abs(c, x))
                     : lz_log1p(c, lz_abs(c, x));
    }
    return lz_sum(c, x);
}

static void compute(lz_ctx *c)
{
    (void)lz_item(expression(c, HOT));
}

/* Large enough for oneDNN. */
static lz_tensor *product(lz_ctx *c)
{
    lz_tensor *m = lz_div_Scalar(
        c, lz_reshape(c, lz_arange(c, LZ_S(256 * 256), .dtype = LZ_F32), LZ_INTS(256, 256)), 1e4);
    return lz_sum(c, lz_mm(c, m, m));
}

/* Whether a context gives right results. */
static bool is_good(lz_ctx *c)
{
    double sum = lz_item(lz_sum(c, lz_ones(c, LZ_DIMS(FEW)))).re;
    if (!lz_failed(c) && sum == FEW)
        return true;
    fprintf(stderr, "sum %g: %s\n", sum, lz_message(c));
    return false;
}

static lz_ctx *start(bool async)
{
    lz_ctx *c = lz_open(&(lz_options){ .async = async });
    for (int i = below(3); i >= 0; i--)
        compute(c);
    return c;
}

/* ---- exit ---- */

static int exit_main(void)
{
    (void)start(false);
    nap_us(below(30000));
    exit(0);
}

static int exit_return(void)
{
    (void)start(false);
    nap_us(below(30000));
    return 0;
}

static int exit_at_once(void)
{
    (void)start(false);
    return 0;
}

static int exit_after_error(void)
{
    lz_ctx *c = start(false);
    (void)lz_mm(c, lz_ones(c, LZ_DIMS(2, 3)), lz_ones(c, LZ_DIMS(2, 3)));
    exit(lz_failed(c) ? 1 : 0);
}

static int exit_raw(void)
{
    (void)start(false);
    nap_us(below(10000));
    _exit(0);
}

static int exit_quick(void)
{
    (void)start(false);
    nap_us(below(10000));
    quick_exit(0);
}

static int exit_async(void)
{
    lz_ctx *c = start(true);
    for (int i = 0; i < 4; i++) {
        lz_tensor *x = lz_add_Tensor(c, expression(c, HOT), product(c));
        lz_mark_step(c);
        lz_release(x);
    }
    nap_us(below(10000));
    exit(0);
}

static lz_ctx *open_context;

static void close_late(void)
{
    lz_close(open_context);
}

static int exit_then_close(void)
{
    atexit(close_late);
    open_context = start(below(2));
    return 0;
}

static void *exit_soon(void *own)
{
    if (own)
        compute(lz_open(NULL));
    nap_us(below(60000));
    exit(0);
}

/* Another thread exits, one that uses the library or one that does not, while the main one computes. */
static int exit_beside(bool user)
{
    pthread_t t;
    lz_ctx *c = lz_open(NULL);
    if (pthread_create(&t, NULL, exit_soon, user ? &t : NULL))
        return 2;
    for (;;) {
        lz_scope *s = lz_scope_push(c);
        compute(c);
        (void)lz_item(product(c));
        lz_scope_pop(s);
    }
}

static int exit_other_thread(void)
{
    return exit_beside(true);
}

/* In the mode now LLVM is loaded at once, so that many rounds exit while it is. */
static int exit_stranger(void)
{
    setenv("LAZULI_JIT", below(2) ? "now" : "background", 1);
    return exit_beside(false);
}

static void exit_from_log(void *user, lz_level level, const char *text)
{
    (void)user, (void)level, (void)text;
    exit(0);
}

/* A kernel that LLVM is not there for is logged by the thread that compiles. */
static int exit_log(void)
{
    setenv("LAZULI_LLVM", "/no/such/library", 1);
    lz_log_set(exit_from_log, NULL, LZ_LOG_DEBUG);
    lz_ctx *c = lz_open(NULL);
    for (int i = 0; i < 100; i++) {
        compute(c);
        nap_us(1000);
    }
    return 2;
}

static void exit_from_signal(int signal)
{
    (void)signal;
    exit(0); /* NOLINT(bugprone-signal-handler): it is what this tests */
}

/* While code is made. This thread only sleeps: exit from inside malloc is lost whatever a library does. */
static int exit_signal(void)
{
    (void)start(false);
    signal(SIGALRM, exit_from_signal);
    setitimer(ITIMER_REAL, &(struct itimerval){ .it_value.tv_usec = 1 + below(50000) }, NULL);
    for (int i = 0; i < 10000; i++)
        nap_us(1000);
    return 2;
}

/* ---- fork ---- */

static int status_of(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What a child may do with the context of its parent. A graph that was running at the fork is
 * an error in the child. */
static int child_uses(lz_ctx *c)
{
    lz_tensor *x = lz_ones(c, LZ_DIMS(FEW));
    lz_mark_step(c);
    lz_wait(c);
    if (lz_failed(c) && !strstr(lz_message(c), "forked"))
        return 3;
    lz_clear(c);
    lz_release(x);
    compute(c);
    (void)lz_item(product(c));
    return is_good(c) ? 0 : 4;
}

static int child_opens(bool async)
{
    lz_ctx *c = lz_open(&(lz_options){ .async = async });
    compute(c);
    (void)lz_item(product(c));
    bool good = is_good(c);
    lz_close(c);
    return good ? 0 : 5;
}

static _Noreturn void child(lz_ctx *c, int what)
{
    int status = what == 0   ? child_uses(c)
                 : what == 1 ? child_opens(true)
                 : what == 2 ? child_opens(false)
                             : 0;
    if (what == 3)
        lz_close(c);
    if (status || below(2))
        _exit(status);
    exit(status);
}

static int fork_and_wait(lz_ctx *c)
{
    int what = below(5);
    fflush(NULL);
    pid_t p = fork();
    if (p == 0)
        child(c, what);
    int status = p < 0 ? 2 : status_of(p);
    if (status)
        fprintf(stderr, "child %d ends with %d\n", what, status);
    return status;
}

static int fork_some(bool async)
{
    int status = 0;
    lz_ctx *c = start(async);
    for (int i = 0; i < FORKS && !status; i++) {
        lz_tensor *x = expression(c, HOT);
        lz_mark_step(c);
        nap_us(below(2000));
        status = fork_and_wait(c);
        lz_release(x);
    }
    status = status ? status : is_good(c) ? 0 : 6;
    lz_close(c);
    return status;
}

static int fork_plain(void)
{
    return fork_some(false);
}

static int fork_async(void)
{
    return fork_some(true);
}

static atomic_bool over;

static void *keep_busy(void *unused)
{
    lz_ctx *c = lz_open(&(lz_options){ .async = below(2) });
    (void)unused;
    while (!atomic_load(&over)) {
        lz_scope *s = lz_scope_push(c);
        compute(c);
        (void)lz_item(product(c));
        char *text;
        lz_err *e = lz_metrics_text(&text);
        if (!e)
            lz_text_free(text);
        lz_err_free(e);
        lz_cache_clear(c);
        lz_scope_pop(s);
    }
    bool good = is_good(c);
    lz_close(c);
    return good ? NULL : &over;
}

/* The child becomes another program at once, which has a context of its own. */
static int fork_exec(void)
{
    int status = 0;
    lz_ctx *c = start(below(2));
    for (int i = 0; i < 2 && !status; i++) {
        lz_tensor *x = expression(c, HOT);
        lz_mark_step(c);
        nap_us(below(2000));
        pid_t p = fork();
        if (p == 0) {
            execl("/proc/self/exe", "life", "exit_at_once", "1", "round", NULL);
            _exit(126);
        }
        status = p < 0 ? 2 : status_of(p);
        lz_release(x);
    }
    status = status ? status : is_good(c) ? 0 : 6;
    lz_close(c);
    return status;
}

/* Other threads are anywhere in the library when the process is forked. */
static int fork_busy(void)
{
    pthread_t t[THREADS];
    int status = 0;
    lz_ctx *c = lz_open(&(lz_options){ .async = below(2) });
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, keep_busy, NULL))
            return 2;
    for (int i = 0; i < FORKS && !status; i++) {
        nap_us(below(20000));
        status = fork_and_wait(c);
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        status = status || !bad ? status : 7;
    }
    lz_close(c);
    return status;
}

/* ---- limits ---- */

static atomic_int warnings;

static void count_warnings(void *user, lz_level level, const char *text)
{
    (void)user;
    if (level == LZ_LOG_WARN && strstr(text, "fewer threads"))
        atomic_fetch_add(&warnings, 1);
}

/* A process of root has no such limit, so it becomes that of another user, with no process of his. */
static int no_threads(void)
{
    struct rlimit none = { 1, 1 };
    lz_log_set(count_warnings, NULL, LZ_LOG_WARN);
    if (setrlimit(RLIMIT_NPROC, &none) || (geteuid() == 0 && setuid(54321)))
        return SKIPPED;
    lz_ctx *c = lz_open(&(lz_options){ .async = below(2), .threads = 4 });
    compute(c);
    (void)lz_item(product(c));
    bool good = is_good(c);
    lz_close(c);
    return !good ? 2 : atomic_load(&warnings) == 1 ? 0 : 3;
}

/* Results are right, or there is an error that says that memory is out. LLVM and the matrix libraries end a
 * process whose memory is out within them, so they are left out where little is left: below about 200 MiB all
 * of them, above 500 none. */
static int little_memory(void)
{
    struct rlimit most;
    getrlimit(RLIMIT_AS, &most);
    most.rlim_cur = (rlim_t)(40 + below(below(2) ? 200 : 800)) << 20;
    if (setrlimit(RLIMIT_AS, &most))
        return SKIPPED;
    lz_ctx *c = lz_open(&(lz_options){ .async = below(2) });
    if (!c)
        return 0;
    compute(c);
    (void)lz_item(product(c));
    double sum = lz_item(lz_sum(c, lz_ones(c, LZ_DIMS(FEW)))).re;
    bool good = lz_failed(c) ? lz_failed(c) == LZ_ERR_MEMORY : sum == FEW;
    if (!good)
        fprintf(stderr, "%g %s\n", sum, lz_message(c));
    lz_close(c);
    return good ? 0 : 2;
}

/* Descriptors: what needs one (LLVM, the cache, a file) is done without, or is an error that says so. */
static int few_files(void)
{
    struct rlimit most;
    int next = dup(0); /* the lowest that is free */
    close(next);
    getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = (rlim_t)next + (rlim_t)below(4);
    if (next < 0 || setrlimit(RLIMIT_NOFILE, &most))
        return SKIPPED;
    lz_ctx *c = start(below(2));
    (void)lz_item(product(c));
    if (!is_good(c))
        return 2;
    (void)lz_load_npy(c, "/proc/self/exe");
    bool told =
        lz_failed(c)
        && (strstr(lz_message(c), "Too many open files") || strstr(lz_message(c), "not an .npy file"));
    if (!told)
        fprintf(stderr, "%s\n", lz_message(c));
    lz_clear(c);
    bool good = is_good(c);
    lz_close(c);
    return told && good ? 0 : 3;
}

/* ---- files ---- */

static char folder[64];

static bool make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/lazuli-life-XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0;
}

static void remove_folder(void)
{
    DIR *d = opendir(folder);
    for (const struct dirent *f; d && (f = readdir(d));) {
        if (strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0)
            unlink(f->d_name);
    }
    if (d)
        closedir(d);
    rmdir(folder);
}

static bool save(lz_ctx *c, const char *path)
{
    lz_named_tensor t = { "x", lz_full(c, LZ_DIMS(FEW), LZ_S(1.0)) };
    bool ok = lz_save_safetensors(c, path, (lz_named_tensors){ &t, 1 }, NULL, 0);
    lz_release((lz_tensor *)t.tensor);
    return ok;
}

/* Whether the file is there, whole and as it was saved. */
static bool is_whole(lz_ctx *c, const char *path)
{
    lz_archive *a = lz_archive_open(c, path);
    double sum = lz_item(lz_sum(c, lz_archive_tensor(c, a, "x"))).re;
    lz_archive_close(a);
    return !lz_failed(c) && sum == FEW;
}

/* A limit of file sizes: kernels are not kept on disk, a save is an error. No signal reaches the program. */
static int small_files(void)
{
    struct rlimit most;
    getrlimit(RLIMIT_FSIZE, &most);
    if (!make_folder())
        return SKIPPED;
    most.rlim_cur = (rlim_t)below(3000);
    if (setrlimit(RLIMIT_FSIZE, &most))
        return SKIPPED;
    setenv("LAZULI_CACHE_DIR", folder, 1);
    setenv("LAZULI_JIT", below(2) ? "now" : "background", 1);
    lz_ctx *c = start(below(2));
    bool told = !save(c, "x.safetensors") && strstr(lz_message(c), "File too large");
    lz_clear(c);
    bool good = is_good(c);
    lz_close(c);
    remove_folder();
    return told && good ? 0 : 2;
}

/* Whether every file of the folder is. */
static bool all_whole(lz_ctx *c)
{
    bool whole = true;
    DIR *d = opendir(folder);
    for (const struct dirent *f; d && whole && (f = readdir(d));)
        whole = strcmp(f->d_name, ".") == 0 || strcmp(f->d_name, "..") == 0 || is_whole(c, f->d_name);
    if (d)
        closedir(d);
    return d && whole;
}

static _Noreturn void save_for_ever(void)
{
    lz_ctx *c = lz_open(NULL);
    for (;;)
        if (!save(c, "x.safetensors"))
            _exit(9);
}

/* Killed at any moment a save leaves the last whole file and nothing else. The moment between a name and its
 * renaming is the exception that docs/files.md tells: a file that is whole, and of another name. */
static int killed_saving(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!make_folder())
        return SKIPPED;
    bool good = save(c, "x.safetensors");
    for (int i = 0; i < FORKS && good; i++) {
        pid_t p = fork();
        if (p == 0)
            save_for_ever();
        nap_us(below(20000));
        kill(p, below(2) ? SIGKILL : SIGTERM);
        int status = status_of(p);
        good = (status == 128 + SIGKILL || status == 128 + SIGTERM) && is_whole(c, "x.safetensors");
        if (!good)
            fprintf(stderr, "status %d: %s\n", status, lz_message(c));
    }
    bool whole = good && all_whole(c);
    lz_close(c);
    remove_folder();
    return !good ? 2 : whole ? 0 : 3;
}

/* ---- signals ---- */

static void *send_term(void *unused)
{
    (void)unused;
    nap_us(below(40000));
    kill(getpid(), SIGTERM);
    return NULL;
}

/* The library has no handlers: a signal whose disposition is the default one ends the process. */
static int signal_term(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, send_term, NULL))
        return 2;
    lz_ctx *c = start(below(2));
    for (;;) {
        lz_scope *s = lz_scope_push(c);
        compute(c);
        lz_scope_pop(s);
    }
}

static atomic_int interruptions;

static void interrupt(int signal)
{
    (void)signal;
    atomic_fetch_add(&interruptions, 1);
}

/* A handler without SA_RESTART: system calls of the library are interrupted, and go on. */
static int signal_interrupts(void)
{
    struct sigaction handler = { .sa_handler = interrupt };
    const struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { 0 };
    if (!make_folder() || sigaction(SIGALRM, &handler, NULL))
        return SKIPPED;
    setenv("LAZULI_CACHE_DIR", folder, 1);
    setenv("LAZULI_JIT", below(2) ? "now" : "background", 1);
    setitimer(ITIMER_REAL, &often, NULL);
    lz_ctx *c = start(below(2));
    bool good = true;
    for (int i = 0; i < 20 && good; i++)
        good = save(c, "x.safetensors") && is_whole(c, "x.safetensors");
    compute(c);
    good = good && is_good(c);
    if (!good)
        fprintf(stderr, "%s\n", lz_message(c));
    lz_close(c);
    setitimer(ITIMER_REAL, &never, NULL);
    remove_folder();
    return !good ? 2 : atomic_load(&interruptions) ? 0 : 3;
}

/* ---- the cases ---- */

static const struct {
    const char *name;
    int (*run)(void);
    int status;
} cases[] = {
    { "exit_main", exit_main, 0 },
    { "exit_return", exit_return, 0 },
    { "exit_at_once", exit_at_once, 0 },
    { "exit_after_error", exit_after_error, 1 },
    { "exit_raw", exit_raw, 0 },
    { "exit_quick", exit_quick, 0 },
    { "exit_async", exit_async, 0 },
    { "exit_then_close", exit_then_close, 0 },
    { "exit_other_thread", exit_other_thread, 0 },
    { "exit_stranger", exit_stranger, 0 },
    { "exit_log", exit_log, 0 },
    { "exit_signal", exit_signal, 0 },
    { "fork_plain", fork_plain, 0 },
    { "fork_async", fork_async, 0 },
    { "fork_busy", fork_busy, 0 },
    { "fork_exec", fork_exec, 0 },
    { "no_threads", no_threads, 0 },
    { "little_memory", little_memory, 0 },
    { "few_files", few_files, 0 },
    { "small_files", small_files, 0 },
    { "killed_saving", killed_saving, 0 },
    { "signal_term", signal_term, 128 + SIGTERM },
    { "signal_interrupts", signal_interrupts, 0 },
};

enum { CASES = sizeof cases / sizeof *cases };

static int find(const char *name)
{
    int i = 0;
    while (i < CASES && strcmp(cases[i].name, name) != 0)
        i++;
    return i;
}

static void run_round(char **argv, int round)
{
    char number[16];
    snprintf(number, sizeof number, "%d", round);
    setenv("LAZULI_CACHE", round % 2 ? "on" : "off", 1);
    execl("/proc/self/exe", argv[0], argv[1], number, "round", NULL);
    _exit(126);
}

/* -1: it had to be killed. */
static int wait_for(pid_t p)
{
    int status;
    for (int i = 0; i < LIMIT_S * 1000; i++) {
        if (waitpid(p, &status, WNOHANG) == p)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        nap_us(1000);
    }
    kill(p, SIGKILL);
    waitpid(p, &status, 0);
    return -1;
}

static int run_rounds(char **argv, int which, int rounds)
{
    int bad = 0, skipped = 0;
    for (int i = 0; i < rounds; i++) {
        fflush(NULL);
        pid_t p = fork();
        if (p == 0)
            run_round(argv, i);
        int status = wait_for(p);
        skipped += status == SKIPPED;
        if (status == cases[which].status || status == SKIPPED)
            continue;
        printf("round %d: %s %d\n", i, status < 0 ? "hangs" : "ends with status", status);
        bad++;
    }
    printf("%s: %d of %d rounds bad\n", argv[1], bad, rounds);
    return bad ? 1 : skipped == rounds ? SKIPPED : 0;
}

int main(int argc, char **argv)
{
    int which = argc >= 3 ? find(argv[1]) : CASES;
    if (which == CASES) {
        fprintf(stderr, "life CASE ROUNDS\n");
        return 2;
    }
    if (argc == 3)
        return run_rounds(argv, which, atoi(argv[2]));
    srand((unsigned)getpid() * 7919u + (unsigned)atoi(argv[2]));
    return cases[which].run();
}
