/* What a lazy step runs is what `lazuli graph --passes lower,views,fuse,inplace,memory` shows of the step's
 * graph: as many launches, as much memory. The text of a step's graph comes from LTC_SAVE_TENSORS_FILE, as a
 * user gets it; the launches are counted by the device. */
#include "base/file.h"
#include "base/mem.h"
#include "open_ctx.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STEPS = 3, BATCH = 6 };

/* What lives from step to step. */
typedef struct state {
    lz_tensor *t[2];
    lz_module *all, *conv, *norm, *dropout, *out;
    lz_optim *optim;
} state;

typedef void step_fn(lz_ctx *c, state *s);

static void keep(state *s, int i, lz_tensor *t)
{
    lz_tensor *old = s->t[i];
    s->t[i] = lz_retain(t);
    if (old)
        lz_release(old);
}

/* ---- steps ---- */

static void record_chain(lz_ctx *c, state *s)
{
    lz_tensor *x = s->t[0] ? s->t[0] : lz_rand(c, LZ_DIMS(32, 48)),
              *w = lz_full(c, LZ_DIMS(48, 48), LZ_S(0.25));
    lz_tensor *y = lz_matmul(c, x, w);
    keep(s, 0, lz_softmax(c, lz_relu(c, lz_add(c, y, x, .alpha = LZ_S(2))), 1));
    keep(s, 1, lz_sum(c, lz_mul(c, y, y), .dim = LZ_DIMS(0)));
}

static void record_views(lz_ctx *c, state *s)
{
    lz_tensor *x = s->t[0] ? s->t[0] : lz_rand(c, LZ_DIMS(8, 12)), *m = lz_t(c, x);
    lz_tensor *top = lz_narrow(c, m, 0, 2, 6), *row = lz_select(c, m, 0, 3);
    lz_tensor *scaled = lz_mul(c, top, row), *turned = lz_flip(c, lz_neg(c, top), LZ_DIMS(1));
    keep(s, 0, lz_view(c, lz_cat(c, LZ_TENSORS(scaled, turned)), LZ_DIMS(8, 12)));
    keep(s, 1, lz_unfold(c, lz_flatten_using_ints(c, x), 0, 5, 3));
}

static void record_writes(lz_ctx *c, state *s)
{
    lz_tensor *x = s->t[0] ? s->t[0] : lz_zeros(c, LZ_DIMS(6, 10));
    lz_tensor *y = lz_mul(c, x, LZ_S(2));
    lz_add_(c, lz_select(c, x, 0, 1), LZ_S(1));
    lz_copy_(c, lz_narrow(c, lz_t(c, x), 0, 2, 4), lz_narrow(c, lz_t(c, y), 0, 0, 4));
    lz_mul_(c, x, lz_exp(c, y));
    lz_fill_(c, lz_select(c, y, 1, 9), LZ_S(3));
    keep(s, 0, x);
    keep(s, 1, y);
}

static void record_training(lz_ctx *c, state *s)
{
    if (!s->all) {
        s->all = lz_module_create(c);
        s->conv = lz_nn_conv2d(s->all, "conv", 1, 4, 3, .padding = 1);
        s->norm = lz_nn_batch_norm2d(s->all, "norm", 4);
        s->dropout = lz_nn_dropout(s->all, "dropout", 0.3);
        s->out = lz_nn_linear(s->all, "out", 4 * 4 * 4, 3);
        s->optim = lz_adam(s->all, .weight_decay = 1e-4);
    }
    lz_tensor *x = lz_rand(c, LZ_DIMS(BATCH, 1, 8, 8)),
              *classes = lz_zeros(c, LZ_DIMS(BATCH), .dtype = LZ_I64);
    lz_tensor *h = lz_relu(c, lz_forward(s->norm, lz_forward(s->conv, x)));
    h = lz_flatten_using_ints(c, lz_max_pool2d(c, h, LZ_DIMS(2, 2)), .start_dim = 1);
    lz_tensor *loss = lz_cross_entropy_loss(c, lz_forward(s->out, lz_forward(s->dropout, h)), classes);
    lz_backward(c, loss);
    lz_optim_step(s->optim);
    keep(s, 0, loss);
}

static void forget(state *s)
{
    for (int i = 0; i < 2; i++)
        if (s->t[i])
            lz_release(s->t[i]);
    lz_optim_free(s->optim);
    lz_module_free(s->all);
    *s = (state){ 0 };
}

/* ---- the text of a graph ---- */

static const char begins[] = "## BEGIN_GRAPH\n";

static size_t count_of(const char *text, const char *word)
{
    size_t n = 0;
    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

static void must(lz_err *e)
{
    if (e)
        fail_msg("%s", lz_err_text(e));
}

static int64_t number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    assert_non_null(at);
    return strtoll(at + strlen(word), NULL, 10);
}

typedef struct figures {
    int64_t launches, peak, donated;
} figures;

static figures plan_text(const char *name, char *graph)
{
    lz_graph *g;
    lz_str shown;
    *strstr(graph, "## END_GRAPH") = '\0';
    must(lz_graph_parse(name, lz_str_of(graph), &g));
    must(lz_graph_improve(g, LZ_STR("lower,views,fuse,inplace,memory"), true));
    must(lz_graph_print(g, LZ_GRAPH_TEXT, &shown));
    char *text = strndup(shown.ptr, shown.len);
    assert_non_null(text);
    figures f = { (int64_t)(count_of(text, "lz::run[") + count_of(text, "lz::group[")),
                  number_after(text, "peak="), number_after(text, "donated=") };
    free(text);
    lz_graph_release(g);
    return f;
}

/* ---- the comparison ---- */

static void compare(const char *name, int step, const char *path, int64_t launches)
{
    char *text;
    must(lz_file_read(path, 1 << 22, NULL, &text));
    assert_int_equal(count_of(text, begins), 1);
    figures f = plan_text(name, strstr(text, begins) + strlen(begins));
    int64_t planned = count("TsBytesPlanned");
    if (f.launches != launches)
        fail_msg("%s, step %d: %lld launches, but its text has %lld", name, step, (long long)launches,
                 (long long)f.launches);
    if (planned > f.peak || planned < f.peak - f.donated)
        fail_msg("%s, step %d: %lld bytes planned, but its text has %lld, or %lld fewer with donated inputs",
                 name, step, (long long)planned, (long long)f.peak, (long long)f.donated);
    lz_mem_free(text);
}

static void check_steps(const char *name, step_fn *record)
{
    char path[512];
    state s = { 0 };
    snprintf(path, sizeof path, "%s/steps", lz_check_dir());
    setenv("LTC_SAVE_TENSORS_FILE", path, 1);
    setenv("LAZULI_SAVE_TENSORS_FMT", "backend", 1);
    lz_ctx *c = open_ctx(&(lz_options){ .seed = 5 });
    for (int i = 0; i < STEPS; i++) {
        lz_scope *scope = lz_scope_push(c);
        record(c, &s);
        lz_scope_pop(scope);
        unlink(path); /* making a network syncs as well */
        int64_t launches = count("TsLaunches");
        lz_mark_step(c);
        assert_string_equal(lz_message(c), "");
        compare(name, i, path, count("TsLaunches") - launches);
    }
    forget(&s);
    close_ctx(c);
    unsetenv("LTC_SAVE_TENSORS_FILE");
    unsetenv("LAZULI_SAVE_TENSORS_FMT");
}

static void test_chain(void **unused)
{
    (void)unused;
    check_steps("chain", record_chain);
}

static void test_views(void **unused)
{
    (void)unused;
    check_steps("views", record_views);
}

static void test_writes(void **unused)
{
    (void)unused;
    check_steps("writes", record_writes);
}

static void test_training(void **unused)
{
    (void)unused;
    check_steps("training", record_training);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
