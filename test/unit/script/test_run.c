/* The public way to run graphs: values in and out, control flow, errors that name their node
 * and leave inputs as they were. */
#include "base/text.h"
#include "base/thread.h"
#include "check.h"
#include <lazuli/run.h>
#include <stdio.h>

enum { MOST = 4 };

/* ---- running from text ---- */

typedef struct run {
    lz_graph *graph;
    lz_runner *runner;
    lz_gvalue *in[MOST], *out[MOST];
    size_t nin, nout;
    lz_run_stats stats;
} run;

static lz_err *run_begin(run *r, const char *text, const lz_runner_options *o)
{
    *r = (run){ 0 };
    LZ_TRY(lz_graph_parse("test.ir", lz_str_of(text), &r->graph));
    return lz_runner_create(r->graph, o, &r->runner);
}

static void drop_outputs(run *r)
{
    for (size_t i = 0; i < r->nout; i++)
        lz_gvalue_release(r->out[i]);
    r->nout = 0;
}

static void run_end(run *r)
{
    drop_outputs(r);
    for (size_t i = 0; i < r->nin; i++)
        lz_gvalue_release(r->in[i]);
    lz_runner_release(r->runner);
    lz_graph_release(r->graph);
}

static lz_err *add_literal(run *r, const char *text)
{
    LZ_TRY(lz_gvalue_create_literal(lz_str_of(text), &r->in[r->nin]));
    r->nin++;
    return NULL;
}

static lz_err *add_literals(run *r, const char *const *literals)
{
    for (; *literals; literals++)
        LZ_TRY(add_literal(r, *literals));
    return NULL;
}

static lz_err *go(run *r)
{
    drop_outputs(r);
    LZ_TRY(lz_runner_run(r->runner, r->in, r->nin, r->out, &r->stats));
    r->nout = lz_runner_outputs(r->runner);
    return NULL;
}

static lz_err *output_is(run *r, size_t i, const char *want)
{
    lz_str got;
    LZ_TRY(lz_gvalue_text(r->out[i], &got));
    if (!lz_str_is(got, want))
        fail_msg("got %.*s, want %s", LZ_FMT(got), want);
    return NULL;
}

/* Fused and not: the same. */
static lz_err *expect(const char *text, const char *const *literals, const char *want)
{
    lz_err *e = NULL;
    for (int separate = 0; !e && separate < 2; separate++) {
        run r;
        e = run_begin(&r, text, &(lz_runner_options){ .threads = 1, .separate = separate });
        e = e ? e : add_literals(&r, literals);
        e = e ? e : go(&r);
        e = e ? e : output_is(&r, 0, want);
        if (!e)
            assert_true(r.stats.real_peak <= r.stats.predicted_peak);
        run_end(&r);
    }
    return e;
}

#define INPUTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* ---- arrays ---- */

static void count_drop(void *user, void *data)
{
    (void)data;
    ++*(int *)user;
}

static lz_err *text_is(lz_array *a, const char *want)
{
    lz_str got;
    LZ_TRY(lz_array_text(a, &got));
    if (!lz_str_is(got, want))
        fail_msg("got %.*s, want %s", LZ_FMT(got), want);
    return NULL;
}

static lz_err *look_at_foreign(lz_array *a, const float *data)
{
    lz_scalar s;
    assert_int_equal(lz_array_dtype(a), LZ_F32);
    assert_int_equal(lz_array_sizes(a).n, 2);
    assert_int_equal(lz_array_strides(a).v[0], -3);
    assert_int_equal(lz_array_numel(a), 6);
    assert_ptr_equal(lz_array_data(a), data);
    assert_false(lz_array_is_contiguous(a));
    LZ_TRY(lz_array_element(a, 4, &s));
    assert_true(s.re == 2);
    LZ_TRY(lz_check_err(lz_array_element(a, 6, &s), LZ_ERR_ARG, "element 6"));
    return text_is(a, "tensor([[4., 5., 6.],\n        [1., 2., 3.]])");
}

static lz_err *test_foreign_memory(void)
{
    float data[6] = { 1, 2, 3, 4, 5, 6 };
    int drops = 0;
    lz_array *a;
    lz_foreign m = { .data = data + 3,
                     .dtype = LZ_F32,
                     .sizes = LZ_DIMS(2, 3),
                     .strides = LZ_DIMS(-3, 1),
                     .drop = count_drop,
                     .user = &drops };
    lz_err *e = lz_array_wrap(&m, &a);
    assert_int_equal(drops, 0);
    LZ_TRY(e);
    e = look_at_foreign(lz_array_retain(a), data + 3);
    lz_array_release(a);
    assert_int_equal(drops, 0);
    lz_array_release(a);
    assert_int_equal(drops, 1);
    return e;
}

static lz_err *test_foreign_memory_is_checked(void)
{
    int64_t words[2] = { 0 };
    lz_array *a;
    lz_foreign m = { .data = words, .dtype = LZ_I64, .sizes = LZ_DIMS(2), .strides = LZ_DIMS(1, 1) };
    LZ_TRY(lz_check_err(lz_array_wrap(&m, &a), LZ_ERR_ARG, "1 sizes and 2 strides"));
    m.strides = LZ_DIMS(INT64_MAX);
    LZ_TRY(lz_check_err(lz_array_wrap(&m, &a), LZ_ERR_LIMIT, ""));
    m.strides = LZ_DIMS(1);
    m.data = (char *)words + 1;
    LZ_TRY(lz_check_err(lz_array_wrap(&m, &a), LZ_ERR_ARG, "multiples of 8"));
    m.data = NULL;
    LZ_TRY(lz_check_err(lz_array_wrap(&m, &a), LZ_ERR_ARG, "needs memory"));
    m.sizes = LZ_DIMS(0); /* nothing is looked at */
    LZ_TRY(lz_array_wrap(&m, &a));
    lz_array_release(a);
    m.dtype = LZ_DTYPE_NONE;
    return lz_check_err(lz_array_wrap(&m, &a), LZ_ERR_ARG, "dtype");
}

static lz_err *same_as_saved(const char *path, const lz_array *a)
{
    lz_array *back;
    LZ_TRY(lz_array_load(path, &back));
    assert_int_equal(lz_array_dtype(back), LZ_I32);
    assert_int_equal(lz_array_numel(back), 6);
    assert_memory_equal(lz_array_data(back), lz_array_data(a), 6 * sizeof(int32_t));
    lz_array_release(back);
    return NULL;
}

static lz_err *test_arrays_in_files(void)
{
    lz_array *a;
    lz_text path = { 0 };
    lz_text_printf(&path, "%s/a.npy%c", lz_check_dir(), 0);
    lz_err *e = lz_text_check(&path);
    e = e ? e : lz_array_create(LZ_I32, LZ_DIMS(2, 3), &a);
    if (!e) {
        for (int i = 0; i < 6; i++)
            ((int32_t *)lz_array_data(a))[i] = i * i;
        e = lz_array_save(path.ptr, a);
        e = e ? e : same_as_saved(path.ptr, a);
        lz_array_release(a);
    }
    lz_text_deinit(&path);
    return e;
}

/* ---- values ---- */

static lz_err *reads_back(const char *text, lz_gvalue_kind kind, size_t count)
{
    lz_gvalue *v;
    lz_str got;
    LZ_TRY(lz_gvalue_create_literal(lz_str_of(text), &v));
    assert_int_equal(lz_gvalue_kind_of(v), kind);
    assert_int_equal(lz_gvalue_count(v), count);
    lz_err *e = lz_gvalue_text(v, &got);
    if (!e && !lz_str_is(got, text))
        fail_msg("got %.*s, want %s", LZ_FMT(got), text);
    lz_gvalue_release(v);
    return e;
}

static lz_err *test_literals(void)
{
    LZ_TRY(reads_back("3", LZ_GVALUE_INT, 0));
    LZ_TRY(reads_back("-0.1", LZ_GVALUE_FLOAT, 0));
    LZ_TRY(reads_back("None", LZ_GVALUE_NONE, 0));
    LZ_TRY(reads_back("True", LZ_GVALUE_BOOL, 0));
    LZ_TRY(reads_back("\"a\\n\"", LZ_GVALUE_STR, 0));
    LZ_TRY(reads_back("[1, [2, 3], []]", LZ_GVALUE_LIST, 3));
    LZ_TRY(reads_back("(1,)", LZ_GVALUE_TUPLE, 1));
    LZ_TRY(reads_back("{\"a\": 1, \"b\": 2}", LZ_GVALUE_DICT, 2));
    return reads_back("{}", LZ_GVALUE_DICT, 0);
}

static lz_err *test_bad_literals(void)
{
    static const char *const bad[] = { "", "x", "1 2", "[1", "int", "{1: }", "\"a", "tensor(1)", "1\n2" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lz_gvalue *v = NULL;
        lz_err *e = lz_gvalue_create_literal(lz_str_of(bad[i]), &v);
        if (!e)
            fail_msg("'%s' was taken", bad[i]);
        if (lz_err_code(e) == LZ_ERR_MEMORY)
            return e;
        assert_int_equal(lz_err_code(e), LZ_ERR_SYNTAX);
        lz_err_free(e);
    }
    return NULL;
}

/* {"k": [array, 7]}, taken apart again. */
static lz_err *take_apart(const lz_gvalue *dict)
{
    lz_gvalue *key, *list = NULL, *item = NULL;
    lz_array *a = NULL;
    LZ_TRY(lz_gvalue_key(dict, 0, &key));
    assert_true(lz_str_is(lz_gvalue_str(key), "k"));
    lz_err *e = lz_gvalue_item(dict, 0, &list);
    e = e ? e : lz_check_err(lz_gvalue_item(list, 2, &item), LZ_ERR_ARG, "item 2");
    e = e ? e : lz_check_err(lz_gvalue_array(list, &a), LZ_ERR_ARG, "no tensor");
    e = e ? e : lz_gvalue_item(list, 0, &item);
    e = e ? e : lz_gvalue_array(item, &a);
    if (!e)
        assert_int_equal(((float *)lz_array_data(a))[1], 8);
    lz_array_release(a);
    lz_gvalue_release(item);
    lz_gvalue_release(list);
    lz_gvalue_release(key);
    return e;
}

static lz_err *test_values_within_values(void)
{
    lz_array *a;
    lz_gvalue *items[2] = { 0 }, *key = NULL, *list = NULL, *dict = NULL;
    LZ_TRY(lz_array_create(LZ_F32, LZ_DIMS(2), &a));
    ((float *)lz_array_data(a))[1] = 8;
    lz_err *e = lz_gvalue_create_array(a, &items[0]);
    lz_array_release(a);
    e = e ? e : lz_gvalue_create_literal(LZ_STR("7"), &items[1]);
    e = e ? e : lz_gvalue_create_literal(LZ_STR("\"k\""), &key);
    e = e ? e : lz_gvalue_create_list(LZ_GVALUE_LIST, items, 2, &list);
    e = e ? e : lz_gvalue_create_dict(&key, &list, 1, &dict);
    e = e ? e : take_apart(dict);
    lz_gvalue *all[] = { items[0], items[1], key, list, dict };
    for (size_t i = 0; i < 5; i++)
        lz_gvalue_release(all[i]);
    return e;
}

/* ---- runs ---- */

static const char scale[] =
    "graph(%x : Tensor, %n : int, %f : float?, %l : int[], %d : Dict(str, int), %s : str):\n"
    "  %y : Tensor = aten::mul(%x, %n)\n"
    "  %k : int = aten::__getitem__(%d, %s)\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %c : bool = aten::__is__(%f, %none)\n"
    "  %m : int = aten::len(%l)\n"
    "  %a : int[] = aten::append(%l, %m)\n"
    "  %r : (Tensor, int, bool, int[]) = prim::TupleConstruct(%y, %k, %c, %l)\n"
    "  return (%r)\n";

/* Twice: what the first run appended is gone in the second. */
static lz_err *test_plain_values(void)
{
    run r = { 0 };
    lz_err *e = run_begin(&r, scale, NULL);
    const char *const inputs[] = { "{1.5, 2}", "3", "None", "[4, 5]", "{\"a\": 6}", "\"a\"" };
    lz_gvalue *in[6] = { 0 }, *out = NULL;
    for (size_t i = 0; !e && i < 6; i++)
        e = lz_gvalue_create_literal(lz_str_of(inputs[i]), &in[i]);
    for (int i = 0; !e && i < 2; i++) {
        lz_str got;
        e = lz_runner_run(r.runner, in, 6, &out, NULL);
        e = e ? e : lz_gvalue_text(out, &got);
        if (!e)
            assert_true(lz_str_is(got, "(tensor([4.5000, 6.0000]), 6, True, [4, 5, 2])"));
        lz_gvalue_release(out);
        out = NULL;
    }
    for (size_t i = 0; i < 6; i++)
        lz_gvalue_release(in[i]);
    run_end(&r);
    return e;
}

static lz_err *refuses(const char *text, const char *const *literals, lz_code code, const char *part)
{
    run r;
    lz_err *e = run_begin(&r, text, &(lz_runner_options){ .threads = 1 });
    e = e ? e : add_literals(&r, literals);
    if (!e)
        e = lz_check_err(go(&r), code, part);
    run_end(&r);
    return e;
}

static const char sum[] = "graph(%x : Tensor, %n : int):\n"
                          "  %y : Tensor = aten::add(%x, %n, %n)\n"
                          "  return (%y)\n";

static lz_err *test_wrong_inputs(void)
{
    LZ_TRY(refuses(sum, INPUTS("1"), LZ_ERR_ARG, "takes 2 inputs, found 1"));
    LZ_TRY(refuses(sum, INPUTS("1", "2", "3"), LZ_ERR_ARG, "takes 2 inputs, found 3"));
    LZ_TRY(refuses(sum, INPUTS("1", "0.5"), LZ_ERR_MODEL, "input 1, %n : int"));
    LZ_TRY(refuses(sum, INPUTS("[1]", "2"), LZ_ERR_MODEL, "input 0, %x : Tensor"));
    return refuses(sum, INPUTS("1", "{2}"), LZ_ERR_MODEL, "expected int");
}

static lz_err *test_numbers_are_tensors_too(void)
{
    LZ_TRY(expect(sum, INPUTS("3", "2"), "tensor(7)"));
    LZ_TRY(expect(sum, INPUTS("0.5", "2"), "tensor(4.5000)"));
    return expect("graph(%x : Double()):\n  %y : Tensor = aten::neg(%x)\n  return (%y)\n", INPUTS("2"),
                  "tensor(-2., dtype=torch.float64)");
}

/* Different numbers in each run, the same again from the start. */
static lz_err *draw(uint64_t seed, float *first, float *second)
{
    run r;
    lz_err *e = run_begin(&r,
                          "graph(%s : int[]):\n  %n : NoneType = prim::Constant()\n"
                          "  %y : Tensor = aten::rand(%s, %n, %n, %n, %n)\n  return (%y)\n",
                          &(lz_runner_options){ .threads = 1, .seed = seed });
    float *to[] = { first, second };
    e = e ? e : add_literal(&r, "[1]");
    for (int i = 0; !e && i < 2; i++) {
        lz_array *a;
        e = go(&r);
        e = e ? e : lz_gvalue_array(r.out[0], &a);
        if (!e) {
            *to[i] = *(float *)lz_array_data(a);
            lz_array_release(a);
        }
    }
    run_end(&r);
    return e;
}

static lz_err *test_seeds(void)
{
    float a[2], b[2], c[2];
    LZ_TRY(draw(5, &a[0], &a[1]));
    LZ_TRY(draw(5, &b[0], &b[1]));
    LZ_TRY(draw(6, &c[0], &c[1]));
    assert_true(a[0] == b[0] && a[1] == b[1]);
    assert_true(a[0] != a[1] && a[0] != c[0]);
    return NULL;
}

static lz_err *test_graph_may_change(void)
{
    run r;
    lz_port in, none;
    lz_err *e = run_begin(&r, sum, &(lz_runner_options){ .threads = 1 });
    e = e ? e : add_literals(&r, INPUTS("3", "2"));
    if (!e) {
        in = lz_runner_input(r.runner, 1);
        none = lz_runner_input(r.runner, 2);
        assert_true(lz_str_is(in.name, "%n") && lz_str_is(in.type, "int") && !none.name.ptr);
        assert_true(lz_str_is(lz_runner_output(r.runner, 0).name, "%y"));
        lz_graph_release(r.graph);
        r.graph = NULL;
        e = go(&r);
    }
    e = e ? e : output_is(&r, 0, "tensor(7)");
    run_end(&r);
    return e;
}

/* Three operators on a row: one launch fused, three or more otherwise; a second run plans nothing. */
static lz_err *count_launches(bool separate, size_t *launches)
{
    run r;
    lz_err *e = run_begin(&r,
                          "graph(%x : Tensor):\n  %k : int = prim::Constant[value=1]()\n"
                          "  %a : Tensor = aten::mul(%x, %x)\n  %b : Tensor = aten::add(%a, %x, %k)\n"
                          "  %c : Tensor = aten::relu(%b)\n  return (%c)\n",
                          &(lz_runner_options){ .threads = 1, .separate = separate });
    e = e ? e : add_literal(&r, "{1., -2., 3.}");
    for (int i = 0; !e && i < 2; i++) {
        e = go(&r);
        if (!e) {
            assert_int_equal(r.stats.plans, 1);
            assert_true(r.stats.real_peak >= 12 && r.stats.real_peak <= r.stats.predicted_peak);
            *launches = r.stats.launches;
        }
    }
    run_end(&r);
    return e;
}

static lz_err *test_stats(void)
{
    size_t fused, separate;
    LZ_TRY(count_launches(false, &fused));
    LZ_TRY(count_launches(true, &separate));
    assert_int_equal(fused, 1);
    assert_true(separate >= 3);
    return NULL;
}

/* One runner, several threads, each with a shape and a number of its own. */
typedef struct job {
    lz_runner *runner;
    int size, rounds;
    bool ok;
} job;

static bool run_job(const job *j, int round)
{
    char number[16];
    lz_array *x, *y = NULL;
    lz_gvalue *in[2] = { 0 }, *out = NULL;
    lz_err *e = lz_array_create(LZ_F32, LZ_DIMS(j->size), &x);
    for (int i = 0; !e && i < j->size; i++)
        ((float *)lz_array_data(x))[i] = (float)i;
    snprintf(number, sizeof number, "%d", round);
    e = e ? e : lz_gvalue_create_array(x, &in[0]);
    e = e ? e : lz_gvalue_create_literal(lz_str_of(number), &in[1]);
    e = e ? e : lz_runner_run(j->runner, in, 2, &out, NULL);
    e = e ? e : lz_gvalue_array(out, &y);
    bool ok = !e && lz_array_numel(y) == j->size + round;
    for (int i = 0; ok && i < j->size; i++)
        ok = ((float *)lz_array_data(y))[round + i] == (float)(i * round);
    lz_err_free(e);
    lz_array_release(x);
    lz_array_release(y);
    lz_gvalue_release(in[0]);
    lz_gvalue_release(in[1]);
    lz_gvalue_release(out);
    return ok;
}

static void *work(void *arg)
{
    job *j = arg;
    for (int i = 1; j->ok && i <= j->rounds; i++)
        j->ok = run_job(j, i);
    return NULL;
}

/* The number is a Scalar and a size, so that its value is needed; zeros are put in front. */
static void test_threads(void **state)
{
    enum { THREADS = 4 };
    job jobs[THREADS];
    pthread_t threads[THREADS];
    run r;
    (void)state;
    lz_err *e = run_begin(&r,
                          "graph(%x : Tensor, %n : int):\n  %0 : int = prim::Constant[value=0]()\n"
                          "  %p : int[] = prim::ListConstruct(%n, %0)\n"
                          "  %y : Tensor = aten::mul(%x, %n)\n"
                          "  %z : Tensor = aten::constant_pad_nd(%y, %p, %0)\n  return (%z)\n",
                          NULL);
    assert_null(e);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (job){ .runner = r.runner, .size = 3 + i, .rounds = 40, .ok = true };
        e = lz_thread_start("job", 1 << 20, work, &jobs[i], &threads[i]);
        assert_null(e);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(jobs[i].ok);
    }
    run_end(&r);
}

/* ---- control flow ---- */

/* sum over i < n, j <= i of (x + j), and every second outer trip takes the other way. */
static const char nested[] = "graph(%x : Tensor, %n : int):\n"
                             "  %t : bool = prim::Constant[value=1]()\n"
                             "  %0 : int = prim::Constant[value=0]()\n"
                             "  %1 : int = prim::Constant[value=1]()\n"
                             "  %2 : int = prim::Constant[value=2]()\n"
                             "  %start : Tensor = aten::mul(%x, %0)\n"
                             "  %r : Tensor = prim::Loop(%n, %t, %start)\n"
                             "    block0(%i : int, %acc : Tensor):\n"
                             "      %m : int = aten::add(%i, %1)\n"
                             "      %sum : Tensor = prim::Loop(%m, %t, %acc)\n"
                             "        block0(%j : int, %s : Tensor):\n"
                             "          %xj : Tensor = aten::add(%x, %j, %1)\n"
                             "          %s2 : Tensor = aten::add(%s, %xj, %1)\n"
                             "          -> (%t, %s2)\n"
                             "      %rem : int = aten::remainder(%i, %2)\n"
                             "      %odd : bool = aten::eq(%rem, %1)\n"
                             "      %out : Tensor = prim::If(%odd)\n"
                             "        block0():\n"
                             "          %neg : Tensor = aten::neg(%sum)\n"
                             "          -> (%neg)\n"
                             "        block1():\n"
                             "          -> (%sum)\n"
                             "      -> (%t, %out)\n"
                             "  return (%r)\n";

/* The statistics are two rows of a tensor that the graph returns. */
#define NORM(sizes, op)                                                                                      \
    "graph(%flat : Tensor, %start : Tensor, %train : bool):\n"                                               \
    "  %n : NoneType = prim::Constant()\n"                                                                   \
    "  %0 : int = prim::Constant[value=0]()\n"                                                               \
    "  %1 : int = prim::Constant[value=1]()\n"                                                               \
    "  %2 : int = prim::Constant[value=2]()\n"                                                               \
    "  %3 : int = prim::Constant[value=3]()\n"                                                               \
    "  %half : float = prim::Constant[value=0.5]()\n"                                                        \
    "  %eps : float = prim::Constant[value=0.]()\n"                                                          \
    "  %f : bool = prim::Constant[value=0]()\n"                                                              \
    "  %sizes : int[] = prim::ListConstruct(" sizes ")\n"                                                    \
    "  %two : int[] = prim::ListConstruct(%2, %2)\n"                                                         \
    "  %x : Tensor = aten::view(%flat, %sizes)\n"                                                            \
    "  %rows : Tensor = aten::view(%start, %two)\n"                                                          \
    "  %all : Tensor = aten::clone(%rows, %n)\n"                                                             \
    "  %mean : Tensor = aten::select(%all, %0, %0)\n"                                                        \
    "  %var : Tensor = aten::select(%all, %0, %1)\n" op "  return (%all)\n"

static lz_err *test_running_statistics(void)
{
    static const char batch[] = NORM(
        "%3, %2", "  %y : Tensor = aten::batch_norm(%x, %n, %n, %mean, %var, %train, %half, %eps, %f)\n");
    static const char native[] =
        NORM("%3, %2", "  %y : Tensor, %p : Tensor, %q : Tensor = "
                       "aten::native_batch_norm(%x, %n, %n, %mean, %var, %train, %half, %eps)\n");
    static const char instance[] =
        NORM("%2, %2, %2",
             "  %y : Tensor = aten::instance_norm(%x, %n, %n, %mean, %var, %train, %half, %eps, %f)\n");
    const char *x = "{0., 1., 2., 3., 4., 8.}", *start = "{0., 0., 1., 1.}";
    const char *images = "{0., 2., 2., 6., 4., 10., 6., 14.}";
    LZ_TRY(expect(batch, INPUTS(x, start, "True"), "tensor([[1.0000, 2.0000],\n        [2.5000, 7.0000]])"));
    LZ_TRY(expect(native, INPUTS(x, start, "True"), "tensor([[1.0000, 2.0000],\n        [2.5000, 7.0000]])"));
    LZ_TRY(expect(batch, INPUTS(x, start, "False"), "tensor([[0., 0.],\n        [1., 1.]])"));
    return expect(instance, INPUTS(images, start, "True"),
                  "tensor([[ 2.0000,  3.5000],\n        [ 5.5000, 10.5000]])");
}

/* as_strided_copy.out looks at the whole storage of self, which stays, and resizes what it writes. */
static lz_err *test_strided_copy_into(void)
{
    static const char text[] = "graph(%x : Tensor, %out : Tensor):\n"
                               "  %0 : int = prim::Constant[value=0]()\n"
                               "  %1 : int = prim::Constant[value=1]()\n"
                               "  %2 : int = prim::Constant[value=2]()\n"
                               "  %sizes : int[] = prim::ListConstruct(%2)\n"
                               "  %strides : int[] = prim::ListConstruct(%1)\n"
                               "  %part : Tensor = aten::select(%x, %0, %0)\n"
                               "  %y : Tensor = aten::as_strided_copy(%part, %sizes, %strides, %1, %out)\n"
                               "  %all : (Tensor, Tensor, Tensor) = prim::TupleConstruct(%x, %out, %part)\n"
                               "  return (%all)\n";
    return expect(text, INPUTS("{0., 1., 2., 3.}", "{5., 5., 5.}"),
                  "(tensor([0., 1., 2., 3.]), tensor([1., 2.]), tensor(0.))");
}

/* Written lists: the last call sees what it wrote to the items before, since %a is in its list twice. */
static lz_err *test_written_lists(void)
{
    static const char text[] = "graph(%x : Tensor, %y : Tensor):\n"
                               "  %1 : int = prim::Constant[value=1]()\n"
                               "  %l : Tensor[] = prim::ListConstruct(%x, %y)\n"
                               "  %m : Tensor[] = prim::ListConstruct(%y, %x)\n"
                               "  %r : Tensor[] = aten::_foreach_add(%l, %m, %1)\n"
                               "  %a : Tensor, %b : Tensor = prim::ListUnpack(%r)\n"
                               "  %k : Tensor[] = prim::ListConstruct(%a, %b)\n"
                               "   = aten::_foreach_mul_(%k, %m)\n"
                               "  %t : Tensor[] = prim::ListConstruct(%a, %a)\n"
                               "  %u : Tensor[] = prim::ListConstruct(%b, %a)\n"
                               "   = aten::_foreach_add_(%t, %u, %1)\n"
                               "  %all : (Tensor, Tensor) = prim::TupleConstruct(%a, %b)\n"
                               "  return (%all)\n";
    return expect(text, INPUTS("{1., 2.}", "{3., 4.}"), "(tensor([32., 72.]), tensor([ 4., 12.]))");
}

static lz_err *test_nested_loops(void)
{
    double want = 0;
    char text[64];
    for (int i = 0; i < 7; i++) {
        for (int j = 0; j <= i; j++)
            want += 2 + j;
        want = i % 2 ? -want : want;
    }
    LZ_TRY(expect(nested, INPUTS("{2., 2.}", "0"), "tensor([0., 0.])"));
    run r;
    lz_err *e = run_begin(&r, nested, &(lz_runner_options){ .threads = 1 });
    e = e ? e : add_literals(&r, INPUTS("2.", "7"));
    e = e ? e : go(&r);
    snprintf(text, sizeof text, "tensor(%d.)", (int)want);
    e = e ? e : output_is(&r, 0, text);
    run_end(&r);
    return e;
}

/* while x.sum() < limit: x = x + x; collecting all of them */
static const char collect[] = "graph(%x : Tensor, %limit : int):\n"
                              "  %most : int = prim::Constant[value=9223372036854775807]()\n"
                              "  %n : NoneType = prim::Constant()\n"
                              "  %1 : int = prim::Constant[value=1]()\n"
                              "  %0 : int = prim::Constant[value=0]()\n"
                              "  %l : Tensor[] = prim::ListConstruct(%x)\n"
                              "  %s0 : Tensor = aten::sum(%x, %n)\n"
                              "  %i0 : int = aten::Int(%s0)\n"
                              "  %go0 : bool = aten::lt(%i0, %limit)\n"
                              "  %last : Tensor = prim::Loop(%most, %go0, %x)\n"
                              "    block0(%i : int, %y : Tensor):\n"
                              "      %z : Tensor = aten::add(%y, %y, %1)\n"
                              "      %w : Tensor[] = aten::append(%l, %z)\n"
                              "      %s : Tensor = aten::sum(%z, %n)\n"
                              "      %v : int = aten::Int(%s)\n"
                              "      %go : bool = aten::lt(%v, %limit)\n"
                              "      -> (%go, %z)\n"
                              "  %all : Tensor = aten::stack(%l, %0)\n"
                              "  %count : int = aten::len(%l)\n"
                              "  %t : (Tensor, int) = prim::TupleConstruct(%all, %count)\n"
                              "  return (%t)\n";

static lz_err *test_lists_of_tensors(void)
{
    LZ_TRY(expect(collect, INPUTS("{1, 2}", "0"), "(tensor([[1, 2]]), 1)"));
    return expect(collect, INPUTS("{1, 2}", "10"), "(tensor([[1, 2],\n        [2, 4],\n        [4, 8]]), 3)");
}

/* ---- errors ---- */

/* An input as bytes, before and after: a graph that writes to it and then fails. */
static lz_err *fails_on_arrays(const char *text, const float *x, lz_ints sizes, const char *second,
                               const char *const *parts)
{
    run r;
    lz_array *a = NULL;
    size_t bytes = 0;
    lz_err *e = run_begin(&r, text, &(lz_runner_options){ .threads = 1 });
    e = e ? e : lz_array_create(LZ_F32, sizes, &a);
    if (!e) {
        bytes = (size_t)lz_array_numel(a) * sizeof *x;
        memcpy(lz_array_data(a), x, bytes);
        e = lz_gvalue_create_array(a, &r.in[0]);
        r.nin = !e;
    }
    e = e ? e : add_literal(&r, second);
    if (!e) {
        e = go(&r);
        assert_non_null(e);
        for (; lz_err_code(e) != LZ_ERR_MEMORY && *parts; parts++)
            if (!strstr(lz_err_text(e), *parts))
                fail_msg("'%s' is not in '%s'", *parts, lz_err_text(e));
        if (lz_err_code(e) != LZ_ERR_MEMORY) {
            assert_string_equal(lz_err_loc(e).file, "test.ir");
            assert_true(lz_err_loc(e).line > 1);
            lz_err_free(e);
            e = NULL;
        }
        assert_memory_equal(lz_array_data(a), x, bytes);
    }
    lz_array_release(a);
    run_end(&r);
    return e;
}

static lz_err *test_shapes_that_do_not_fit(void)
{
    return fails_on_arrays(
        "graph(%x : Tensor, %y : Tensor):\n  %k : int = prim::Constant[value=1]()\n"
        "  %z : Tensor = aten::mul_(%x, %x) # net.py:7:4\n"
        "  %w : Tensor = aten::add(%z, %y, %k) # net.py:8:4\n  return (%w)\n",
        (float[]){ 1, 2 }, LZ_DIMS(2), "{1., 2., 3.}",
        INPUTS("must match the size", "%w : Tensor = aten::add(%z, %y, %k)", "net.py:8:4"));
}

static lz_err *test_index_out_of_range(void)
{
    return fails_on_arrays(
        "graph(%x : Tensor, %i : Tensor):\n  %0 : int = prim::Constant[value=0]()\n"
        "  %1 : int = prim::Constant[value=1]()\n"
        "  %z : Tensor = aten::add_(%x, %x, %1) # net.py:7:4\n"
        "  %w : Tensor = aten::index_select(%z, %0, %i) # net.py:8:4\n  return (%w)\n",
        (float[]){ 1, 2 }, LZ_DIMS(2), "{0, 5}",
        INPUTS("index 5 is out of bounds", "aten::index_select(%z, %0, %i)", "net.py:8:4"));
}

static lz_err *test_division_by_zero(void)
{
    return fails_on_arrays("graph(%x : Tensor, %i : Tensor):\n"
                           "  %z : Tensor = aten::mul_(%x, %x) # net.py:7:4\n"
                           "  %w : Tensor = aten::floor_divide(%i, %i) # net.py:8:4\n"
                           "  %v : Tensor = aten::mul(%w, %z) # net.py:9:4\n  return (%v)\n",
                           (float[]){ 1, 2, 3 }, LZ_DIMS(3), "{0, 5, 1}",
                           INPUTS("division by zero", "aten::floor_divide(%i, %i)", "net.py:8:4"));
}

/* Three trips are fine, and have written; the fourth divides by zero. */
static lz_err *test_error_in_a_loop(void)
{
    return fails_on_arrays(
        "graph(%x : Tensor, %n : int):\n  %k : int = prim::Constant[value=1]()\n"
        "  %t : bool = prim::Constant[value=1]()\n"
        "  %three : int = prim::Constant[value=3]()\n"
        "  %r : Tensor = prim::Loop(%n, %t, %x) # net.py:4:4\n"
        "    block0(%i : int, %a : Tensor):\n"
        "      %left : int = aten::sub(%three, %i)\n"
        "      %s : Tensor = aten::add_(%a, %k, %k) # net.py:5:8\n"
        "      %q : int = aten::floordiv(%three, %left) # net.py:6:8\n"
        "      %u : Tensor = aten::mul_(%s, %q) # net.py:7:8\n"
        "      -> (%t, %u)\n  return (%r)\n",
        (float[]){ 1, 2 }, LZ_DIMS(2), "4",
        INPUTS("ZeroDivisionError", "%q : int = aten::floordiv(%three, %left)", "net.py:6:8"));
}

static lz_err *test_raised_and_unknown(void)
{
    LZ_TRY(refuses("graph(%x : Tensor):\n  %m : str = prim::Constant[value=\"too bad\"]()\n"
                   "   = prim::RaiseException(%m) # net.py:3:1\n  return (%x)\n",
                   INPUTS("1"), LZ_ERR_ARG, "too bad"));
    return refuses("graph(%x : Tensor):\n  %y : Tensor = my::thing(%x) # net.py:3:1\n  return (%y)\n",
                   INPUTS("1"), LZ_ERR_UNSUPPORTED, "my::thing");
}

/* ---- nothing ---- */

static lz_err *is_refused(lz_err *e)
{
    assert_non_null(e);
    if (lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    assert_int_equal(lz_err_code(e), LZ_ERR_ARG);
    lz_err_free(e);
    return NULL;
}

static lz_err *give_nothing(run *r)
{
    lz_gvalue *none = NULL, *out;
    lz_str text;
    LZ_TRY(add_literal(r, "1"));
    LZ_TRY(is_refused(lz_runner_run(r->runner, &none, 1, r->out, NULL)));
    LZ_TRY(is_refused(lz_gvalue_create_array(NULL, &out)));
    LZ_TRY(is_refused(lz_gvalue_create_list(LZ_GVALUE_LIST, &none, 1, &out)));
    LZ_TRY(is_refused(lz_gvalue_create_dict(r->in, &none, 1, &out)));
    LZ_TRY(is_refused(lz_gvalue_create_dict(&none, r->in, 1, &out)));
    return is_refused(lz_graph_print(r->graph, (lz_graph_form)9, &text));
}

static lz_err *test_what_is_not_given(void)
{
    run r;
    lz_err *e = run_begin(&r, "graph(%x : Tensor):\n  return (%x)\n", NULL);
    if (!e)
        e = give_nothing(&r);
    run_end(&r);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_what_is_not_given),
        LZ_TEST(test_foreign_memory),
        LZ_TEST(test_foreign_memory_is_checked),
        LZ_TEST(test_arrays_in_files),
        LZ_TEST(test_literals),
        LZ_TEST(test_bad_literals),
        LZ_TEST(test_values_within_values),
        LZ_TEST(test_plain_values),
        LZ_TEST(test_wrong_inputs),
        LZ_TEST(test_numbers_are_tensors_too),
        LZ_TEST(test_seeds),
        LZ_TEST(test_graph_may_change),
        LZ_TEST(test_stats),
        cmocka_unit_test(test_threads),
        LZ_TEST(test_running_statistics),
        LZ_TEST(test_strided_copy_into),
        LZ_TEST(test_written_lists),
        LZ_TEST(test_nested_loops),
        LZ_TEST(test_lists_of_tensors),
        LZ_TEST(test_shapes_that_do_not_fit),
        LZ_TEST(test_index_out_of_range),
        LZ_TEST(test_division_by_zero),
        LZ_TEST(test_error_in_a_loop),
        LZ_TEST(test_raised_and_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
