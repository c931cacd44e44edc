/* A run that is stopped and goes on in another context gives the same losses, to the last bit. */
#include "check.h"
#include <lazuli/lazuli.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 10, STOP = 4, BATCH = 6 };

typedef struct run {
    lz_ctx *c;
    lz_module *m;
    lz_optim *o;
} run;

static run begin(lz_optim_kind kind, uint64_t seed)
{
    run r = { .c = lz_open(&(lz_options){ .seed = seed }) };
    r.m = lz_module_create(r.c);
    lz_module *s = lz_nn_sequential(r.m, "net");
    lz_nn_conv1d(s, NULL, 2, 4, 3);
    lz_nn_batch_norm1d(s, NULL, 4);
    lz_nn_op(s, NULL, lz_relu_at);
    lz_nn_flatten(s, NULL);
    lz_nn_dropout(s, NULL, 0.3);
    lz_nn_linear(s, NULL, 4 * 5, 3);
    lz_optim_options o = lz_optim_defaults(kind);
    o.momentum = kind == LZ_SGD || kind == LZ_RMSPROP ? 0.9 : 0;
    o.amsgrad = kind == LZ_ADAM;
    r.o = lz_optim_of_at(kind, LZ_HERE, r.m, &o);
    assert_non_null(r.o);
    return r;
}

static void end(run *r)
{
    assert_false(lz_failed(r->c));
    lz_optim_free(r->o);
    lz_module_free(r->m);
    lz_close(r->c);
}

static float step(run *r, int t)
{
    float x[BATCH * 2 * 7];
    int64_t y[BATCH];
    for (int i = 0; i < BATCH * 2 * 7; i++)
        x[i] = (float)((i * 7 + t * 3) % 11) / 5 - 1;
    for (int i = 0; i < BATCH; i++)
        y[i] = (i + t) % 3;
    lz_scope *s = lz_scope_push(r->c);
    lz_tensor *out =
        lz_forward(lz_module_find(r->m, "net"), lz_from_memory(r->c, LZ_F32, LZ_DIMS(BATCH, 2, 7), x));
    lz_tensor *loss =
        lz_retain(lz_cross_entropy_loss(r->c, out, lz_from_memory(r->c, LZ_I64, LZ_DIMS(BATCH), y)));
    assert_true(lz_backward(r->c, loss));
    lz_optim_set_lr(r->o, lz_schedule_one_cycle(0.01, t, STEPS));
    assert_true(lz_optim_step(r->o));
    lz_scope_pop(s);
    assert_true(lz_mark_step(r->c));
    float v = (float)lz_item(loss).re;
    lz_release(loss);
    return v;
}

/* The state goes through memory: what a file would hold. */
static void move(const run *from, const run *to)
{
    lz_state *s = lz_training_state(from->m, from->o), *copy = lz_state_create(to->c);
    assert_non_null(s);
    lz_named_tensors list = lz_state_list(s);
    for (size_t i = 0; i < list.n; i++) {
        char bytes[4096];
        lz_tensor *t = list.v[i].tensor;
        assert_true(lz_read(t, bytes, sizeof bytes));
        lz_tensor *same = lz_from_memory(to->c, lz_tensor_dtype(t), lz_tensor_sizes(t), bytes);
        assert_true(lz_state_add(copy, list.v[i].name, same));
    }
    assert_true(lz_training_load_state(to->m, to->o, lz_state_list(copy)));
    lz_state_free(copy);
    lz_state_free(s);
}

/* Tensors of one context are read by another. */
static void move_directly(const run *from, const run *to)
{
    lz_state *s = lz_training_state(from->m, from->o);
    assert_non_null(s);
    assert_true(lz_training_load_state(to->m, to->o, lz_state_list(s)));
    lz_state_free(s);
}

/* The same through a file. */
static void move_file(const run *from, const run *to)
{
    char path[256];
    int64_t at = 0;
    snprintf(path, sizeof path, "%s/run.safetensors", lz_check_dir());
    assert_true(lz_save_training(from->m, from->o, path, STOP));
    assert_true(lz_load_training(to->m, to->o, path, &at));
    assert_int_equal(at, STOP);
}

static void check_resume(void (*move_run)(const run *from, const run *to))
{
    for (int kind = 0; kind < LZ_OPTIM_KINDS; kind++) {
        /* Muon takes no vectors, which the layers of this run have; test_lbfgs has LBFGS */
        if (kind == LZ_MUON || kind == LZ_LBFGS)
            continue;
        float whole[STEPS], parts[STEPS];
        run a = begin((lz_optim_kind)kind, 5), b = begin((lz_optim_kind)kind, 5);
        for (int t = 0; t < STEPS; t++)
            whole[t] = step(&a, t);
        for (int t = 0; t < STOP; t++)
            parts[t] = step(&b, t);
        run later = begin((lz_optim_kind)kind, 77);
        move_run(&b, &later);
        for (int t = STOP; t < STEPS; t++)
            parts[t] = step(&later, t);
        assert_memory_equal(whole, parts, sizeof whole);
        assert_true(whole[0] != whole[STEPS - 1]);
        end(&a);
        end(&b);
        end(&later);
    }
}

static void test_resume(void **state)
{
    (void)state;
    check_resume(move);
    check_resume(move_directly);
}

static void test_resume_from_file(void **state)
{
    (void)state;
    check_resume(move_file);
}

static double sum_of(run *r, const char *name)
{
    lz_scope *s = lz_scope_push(r->c);
    double v = lz_item(lz_sum(r->c, lz_module_get(r->m, name))).re;
    lz_scope_pop(s);
    return v;
}

static void expect_refused(run *r, const char *part)
{
    if (!strstr(lz_message(r->c), part))
        print_message("'%s' is not in: %s\n", part, lz_message(r->c));
    assert_non_null(strstr(lz_message(r->c), part));
    lz_clear(r->c);
}

/* What fits in part changes nothing: neither model nor optimiser, generator or step. */
static void test_refused_file(void **state)
{
    char path[256];
    int64_t at = -1;
    (void)state;
    snprintf(path, sizeof path, "%s/other.safetensors", lz_check_dir());
    run a = begin(LZ_ADAM, 5), b = begin(LZ_SGD, 6);
    step(&a, 0);
    step(&b, 0);
    double before = sum_of(&b, "net.5.weight");
    lz_random_state random = lz_get_random_state(b.c);
    assert_true(lz_save_training(a.m, a.o, path, STOP));
    assert_false(lz_load_training(b.m, b.o, path, &at));
    expect_refused(&b, "the state does not fit SGD: unexpected");
    assert_true(lz_save_training(a.m, NULL, path, STOP));
    assert_false(lz_load_training(b.m, b.o, path, &at));
    expect_refused(&b, "the state does not fit SGD: missing 'optim.group.0.lr'");
    assert_true(sum_of(&b, "net.5.weight") == before);
    assert_true(lz_get_random_state(b.c).seed == random.seed);
    assert_true(lz_get_random_state(b.c).position == random.position);
    assert_int_equal(at, -1);
    assert_true(lz_load_training(b.m, NULL, path, &at));
    assert_true(sum_of(&b, "net.5.weight") == sum_of(&a, "net.5.weight"));
    assert_int_equal(at, STOP);
    end(&a);
    end(&b);
}

/* Only the last number is wrong; those before it stay as they were. */
static void test_refused_state(void **state)
{
    const double lr = 7, bad[] = { -1, 0.0 / 0.0, 1e300 };
    (void)state;
    run r = begin(LZ_SGD, 5);
    double was = lz_optim_lr(r.o);
    for (int i = 0; i < 3; i++) {
        lz_scope *s = lz_scope_push(r.c);
        lz_ints none = { NULL, 0 };
        lz_named_tensor list[] = { { "group.0.lr", lz_from_memory(r.c, LZ_F64, none, &lr) },
                                   { "net.5.bias.step", lz_from_memory(r.c, LZ_F64, none, &bad[i]) } };
        assert_false(lz_optim_load_state(r.o, "", (lz_named_tensors){ list, 2 }));
        expect_refused(&r, "'net.5.bias.step' is not a valid number of steps");
        assert_true(lz_optim_lr(r.o) == was);
        lz_scope_pop(s);
    }
    end(&r);
}

/* A model alone: evaluation gives the same. */
static void test_model_file(void **state)
{
    char path[256];
    (void)state;
    snprintf(path, sizeof path, "%s/model.safetensors", lz_check_dir());
    run a = begin(LZ_ADAM, 5), b = begin(LZ_ADAM, 6);
    for (int t = 0; t < STOP; t++)
        step(&a, t);
    assert_true(lz_save_model(a.m, path));
    assert_true(lz_load_model(b.m, path));
    lz_named_tensors x = lz_module_params(a.m), y = lz_module_params(b.m);
    assert_int_equal(x.n, y.n);
    for (size_t i = 0; i < x.n; i++) {
        float v[128], w[128];
        size_t n = (size_t)lz_tensor_numel(x.v[i].tensor);
        assert_true(n <= 128 && lz_read(x.v[i].tensor, v, sizeof v) && lz_read(y.v[i].tensor, w, sizeof w));
        assert_memory_equal(v, w, n * sizeof *v);
    }
    lz_load_model(b.m, "/nowhere/model.safetensors");
    assert_int_equal(lz_code_of(b.c), LZ_ERR_NOT_FOUND);
    lz_clear(b.c);
    end(&a);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_resume),
                                        cmocka_unit_test(test_resume_from_file),
                                        cmocka_unit_test(test_refused_file),
                                        cmocka_unit_test(test_refused_state),
                                        cmocka_unit_test(test_model_file) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
