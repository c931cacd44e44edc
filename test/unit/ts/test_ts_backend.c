#include "check.h"
#include "lazy/backend_data.h"
#include "lazy/lowering.h"
#include "lazy/registry.h"
#include "op/op_table.h"
#include "ts/ts_backend.h"
#include "ts/ts_data.h"
#include <stdio.h>
#include <string.h>

/* The backend by its table alone, on nodes made by hand. */

typedef struct bench {
    const lz_backend *b;
    int16_t type;
    lz_specs *specs;
    lz_nodes *nodes;
    lz_arena arena;
    lz_lowering lowering;
    const lz_spec *spec; /* f32 [2, 3] */
    lz_node *made[8];
    size_t n;
    void *computation;
} bench;

static lz_err *set_up(bench *t)
{
    *t = (bench){ .type = -1 };
    lz_arena_init(&t->arena);
    lz_lowering_init(&t->lowering, &t->arena, "test", (lz_backend_device){ 0, 0 });
    LZ_TRY(lz_backend_register(lz_ts_backend(LZ_BACKEND_ABI << 16), &t->type));
    t->b = lz_backend_of(t->type);
    LZ_TRY(lz_specs_create(&t->specs));
    LZ_TRY(lz_nodes_create(&t->nodes));
    return lz_spec_get(t->specs, LZ_F32, LZ_DIMS(2, 3), (lz_ints){ NULL, 0 }, &t->spec);
}

static void tear_down(bench *t)
{
    if (t->computation)
        t->b->release_computation(t->b->self, t->computation);
    lz_lowering_deinit(&t->lowering);
    for (size_t i = 0; i < t->n; i++)
        lz_node_release(t->nodes, t->made[i]);
    if (t->nodes)
        lz_nodes_destroy(t->nodes);
    if (t->specs)
        lz_specs_destroy(t->specs);
    lz_arena_deinit(&t->arena);
    if (t->type >= 0)
        lz_backend_forget(t->type);
}

static lz_err *leaf(bench *t, const lz_spec *s, lz_output *out)
{
    lz_data *d;
    LZ_TRY(lz_data_create(t->b, (lz_device){ 0, 0 }, (lz_data_type){ (lz_dtype)s->dtype, lz_spec_sizes(s) },
                          &d));
    lz_err *e = lz_node_data(t->nodes, d, s, (lz_loc){ 0 }, &t->made[t->n]);
    if (e)
        lz_data_release(d);
    LZ_TRY(e);
    *out = (lz_output){ t->made[t->n++], 0 };
    return NULL;
}

static lz_err *node(bench *t, lz_op op, const lz_value *args, const lz_output *in, size_t nin, int32_t line,
                    lz_output *out)
{
    LZ_TRY(lz_node_op_create(t->nodes, &lz_op_table[op], args, in, nin, &t->spec, 1,
                             (lz_loc){ "net.c", line, 0 }, &t->made[t->n]));
    *out = (lz_output){ t->made[t->n++], 0 };
    return NULL;
}

static lz_value tensor(void)
{
    static char some;
    return lz_value_tensor((lz_tensor *)&some); /* which, the operands say */
}

/* relu(x * 3 + y), the 3 and the alpha of the sum being run-time numbers. */
static lz_err *make_graph(bench *t)
{
    lz_output in[2], x, y, product, sum, last;
    size_t place;
    const lz_value scaled[] = { tensor(), lz_value_scalar(lz_scalar_float(3)) };
    const lz_value added[] = { tensor(), tensor(), lz_value_scalar(lz_scalar_int(1)) };
    const lz_value one[] = { tensor() };
    LZ_TRY(leaf(t, t->spec, &x));
    LZ_TRY(leaf(t, t->spec, &y));
    in[0] = x;
    LZ_TRY(node(t, LZ_OP_mul_Scalar, scaled, in, 1, 10, &product));
    in[0] = product;
    in[1] = y;
    LZ_TRY(node(t, LZ_OP_add_Tensor, added, in, 2, 11, &sum));
    in[0] = sum;
    LZ_TRY(node(t, LZ_OP_relu, one, in, 1, 12, &last));
    LZ_TRY(lz_lowering_add_result(&t->lowering, last, &place));
    LZ_TRY(lz_lowering_add_result(&t->lowering, product, &place));
    lz_lowering *l = &t->lowering;
    return t->b->compile(t->b->self, &l, 1, &t->computation);
}

static lz_err *upload(const bench *t, const float *elements, void **out)
{
    static const int64_t sizes[] = { 2, 3 }, strides[] = { 3, 1 };
    lz_host_tensor h = { .type = { LZ_F32, { sizes, 2 } },
                         .strides = { strides, 2 },
                         .data = (void *)elements };
    return t->b->make_computation_data_from_tensor(t->b->self, &h, (lz_backend_device){ 0, 0 }, out);
}

static lz_err *check_data(const bench *t, void *data, const double *want)
{
    static const int64_t sizes[] = { 2, 3 }, strides[] = { 1, 2 }; /* column by column, as f64 */
    double got[6];
    lz_host_tensor h = { .type = { LZ_F64, { sizes, 2 } }, .strides = { strides, 2 }, .data = got };
    LZ_TRY(t->b->make_tensor_from_computation_data(t->b->self, data, LZ_F64, &h));
    for (int i = 0; i < 6; i++)
        assert_true(got[i % 3 * 2 + i / 3] == want[i]);
    return NULL;
}

/* Arguments in the order of the parameters: data and numbers as they come. */
static lz_err *run(const bench *t, void *x, void *y, double scale, bool donate, void **results)
{
    const lz_parameter *p;
    size_t n = lz_lowering_parameters(&t->lowering, &p), data = 0;
    lz_argument args[8] = { 0 };
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++)
        if (p[i].scalar == LZ_SCALAR_NONE)
            args[i] = (lz_argument){ .data = data++ ? y : x, .donated = donate };
        else
            args[i].number = p[i].scalar == LZ_SCALAR_INT ? lz_scalar_int(1) : lz_scalar_float(scale);
    lz_execution e = { .arguments = args, .n = n, .results = results, .n_results = 2 };
    return t->b->execute_computation(t->b->self, t->computation, &e);
}

static void release_all(const bench *t, void **data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (data[i])
            t->b->release_data(t->b->self, data[i]);
}

static lz_err *run_twice(const bench *t)
{
    static const float x[] = { 1, -2, 3, -4, 5, -6 }, y[] = { 1, 1, 1, 1, 1, 1 };
    static const double relu[] = { 4, 0, 10, 0, 16, 0 }, product[] = { 3, -6, 9, -12, 15, -18 };
    static const double relu2[] = { 0, 3, 0, 5, 0, 7 };
    void *data[6] = { NULL };
    lz_err *e = upload(t, x, &data[0]);
    if (!e)
        e = upload(t, y, &data[1]);
    if (!e)
        e = run(t, data[0], data[1], 3, false, data + 2);
    if (!e)
        e = check_data(t, data[2], relu);
    if (!e)
        e = check_data(t, data[3], product);
    if (!e) /* other numbers, and inputs that nobody needs any more */
        e = run(t, data[0], data[1], -1, true, data + 4);
    if (!e)
        e = check_data(t, data[4], relu2);
    release_all(t, data, 6);
    return e;
}

static lz_err *test_compiles_and_runs(void)
{
    bench t;
    lz_err *e = set_up(&t);
    if (!e)
        e = make_graph(&t);
    if (!e)
        e = run_twice(&t);
    tear_down(&t);
    return e;
}

static const char expected[] = "graph(%p0 : Float(2, 3),\n"
                               "      %p1 : float,\n"
                               "      %p2 : Float(2, 3),\n"
                               "      %p3 : int):\n"
                               "  %4 : Float(2, 3) = aten::mul(%p0, %p1) # net.c:10:0\n"
                               "  %5 : Float(2, 3) = aten::add(%4, %p2, %p3) # net.c:11:0\n"
                               "  %6 : Float(2, 3) = aten::relu(%5) # net.c:12:0\n"
                               "  return (%6, %4)\n";

static lz_err *test_text_is_the_graph(void)
{
    bench t;
    lz_err *e = set_up(&t);
    if (!e)
        e = make_graph(&t);
    if (!e) {
        const char *text = t.b->get_computation_backend_text(t.b->self, t.computation);
        if (!lz_check_failing() || *text)
            assert_string_equal(text, expected);
    }
    tear_down(&t);
    return e;
}

/* Arguments of another kind, dtype or number are refused before anything runs. */
static lz_err *test_wrong_arguments(void)
{
    static const float x[6] = { 0 };
    bench t;
    void *data[2] = { NULL }, *results[2];
    lz_err *e = set_up(&t);
    if (!e)
        e = make_graph(&t);
    if (!e)
        e = upload(&t, x, &data[0]);
    if (!e)
        e = lz_check_err(run(&t, data[0], NULL, 1, false, results), LZ_ERR_ARG, "compiled for");
    if (!e) {
        lz_execution none = { .n = 0, .results = results, .n_results = 2 };
        e = lz_check_err(t.b->execute_computation(t.b->self, t.computation, &none), LZ_ERR_ARG,
                         "expected 4 arguments");
    }
    release_all(&t, data, 1);
    tear_down(&t);
    return e;
}

/* Sizes that only elements tell: such a graph is run by the executor. */
static lz_err *run_nonzero(bench *t)
{
    static const float x[] = { 0, -2, 0, 0, 5, 0 };
    static const int64_t sizes[] = { 2, 2 }, strides[] = { 2, 1 };
    int64_t got[4] = { 0 };
    void *data[2] = { NULL };
    const lz_value one[] = { tensor() };
    lz_host_tensor h = { .type = { LZ_I64, { sizes, 2 } }, .strides = { strides, 2 }, .data = got };
    lz_output in, out;
    size_t place;
    lz_lowering *l = &t->lowering;
    LZ_TRY(leaf(t, t->spec, &in));
    LZ_TRY(node(t, LZ_OP_nonzero, one, &in, 1, 20, &out));
    LZ_TRY(lz_lowering_add_result(l, out, &place));
    LZ_TRY(t->b->compile(t->b->self, &l, 1, &t->computation));
    lz_err *e = upload(t, x, &data[0]);
    lz_argument arg = { .data = data[0] };
    lz_execution run_it = { .arguments = &arg, .n = 1, .results = &data[1], .n_results = 1 };
    if (!e)
        e = t->b->execute_computation(t->b->self, t->computation, &run_it);
    if (!e)
        e = t->b->make_tensor_from_computation_data(t->b->self, data[1], LZ_I64, &h);
    if (!e)
        assert_memory_equal(got, ((int64_t[]){ 0, 1, 1, 1 }), sizeof got);
    release_all(t, data, 2);
    return e;
}

static lz_err *test_sizes_that_elements_tell(void)
{
    bench t;
    lz_err *e = set_up(&t);
    if (!e)
        e = run_nonzero(&t);
    tear_down(&t);
    return e;
}

/* ---- data ---- */

static int dropped;

static void drop(void *owner)
{
    dropped++;
    assert_ptr_equal(owner, &dropped);
}

/* Dense memory with an owner is kept, other memory copied; the owner hears of it once. */
static lz_err *test_foreign_memory(void)
{
    static float elements[6] = { 1, 2, 3, 4, 5, 6 };
    static const int64_t sizes[] = { 3, 2 }, dense[] = { 2, 1 }, transposed[] = { 1, 3 };
    lz_ts_data *d;
    lz_host_tensor h = { .type = { LZ_F32, { sizes, 2 } },
                         .strides = { dense, 2 },
                         .data = elements,
                         .drop = drop,
                         .owner = &dropped };
    dropped = 0;
    LZ_TRY(lz_ts_data_upload(NULL, &h, (lz_backend_device){ 0, 0 }, &d));
    assert_ptr_equal(d->buffer->data, elements);
    assert_true(d->buffer->read_only);
    assert_int_equal(dropped, 0);
    lz_ts_data_destroy(d);
    assert_int_equal(dropped, 1);
    h.strides = (lz_ints){ transposed, 2 };
    LZ_TRY(lz_ts_data_upload(NULL, &h, (lz_backend_device){ 0, 0 }, &d));
    assert_int_equal(dropped, 2);
    assert_true(((float *)d->buffer->data)[1] == 4);
    lz_ts_data_destroy(d);
    assert_int_equal(dropped, 2);
    return NULL;
}

static lz_err *test_numbers(void)
{
    lz_ts_data *d;
    double got = 0;
    lz_host_tensor h = { .type = { LZ_F64, { NULL, 0 } }, .data = &got };
    LZ_TRY(lz_ts_data_of_scalar(NULL, lz_scalar_int(7), (lz_backend_device){ 0, 0 }, &d));
    assert_int_equal(d->dtype, LZ_I64);
    lz_err *e = lz_ts_data_download(d, &h);
    assert_true(e || got == 7);
    lz_ts_data_destroy(d);
    return e;
}

/* ---- devices ---- */

static lz_err *test_devices(void)
{
    const lz_backend *b = lz_ts_backend(LZ_BACKEND_ABI << 16);
    lz_backend_device d[4];
    size_t n;
    assert_null(lz_ts_backend(99u << 16));
    LZ_TRY(b->get_backend_devices(b->self, d, 4, &n));
    assert_int_equal(n, 1);
    assert_string_equal(b->device_type_name(b->self, LZ_TS_CPU), "CPU");
    assert_string_equal(b->device_type_name(b->self, LZ_TS_CUDA), "CUDA");
    assert_string_equal(b->device_type_name(b->self, 9), "Unknown");
    assert_int_equal(b->get_default_device_type(b->self), LZ_TS_CPU);
    assert_int_equal(b->eager_fallback_device_type(b->self), LZ_TS_CPU);
    LZ_TRY(lz_check_err(b->set_default_device_type(b->self, 9), LZ_ERR_ARG, "0 (CPU) or 1 (CUDA), got 9"));
    lz_err *e = b->set_default_device_type(b->self, LZ_TS_CUDA);
    if (lz_err_code(e) != LZ_ERR_UNSUPPORTED)
        e = lz_check_err(e, LZ_ERR_NOT_FOUND, "no CUDA device");
    else
        lz_err_free(e), e = NULL;
    assert_int_equal(b->get_default_device_type(b->self), LZ_TS_CPU);
    LZ_TRY(e);
    return lz_check_err(b->get_backend_device(b->self, (lz_device){ 0, 5 }, d), LZ_ERR_NOT_FOUND,
                        "below 1, got 5");
}

static lz_err *use_three(const lz_backend *b)
{
    lz_backend_device d[4];
    size_t n;
    LZ_TRY(b->set_device_count(b->self, 3));
    LZ_TRY(b->get_backend_devices(b->self, d, 4, &n));
    assert_true(n == 3 && d[2].type == LZ_TS_CPU && d[2].ordinal == 2);
    LZ_TRY(b->set_device_count(b->self, 2)); /* no fewer than there are */
    LZ_TRY(b->get_backend_device(b->self, (lz_device){ 0, 2 }, d));
    assert_int_equal(d[0].ordinal, 2);
    LZ_TRY(lz_check_err(b->set_device_count(b->self, 65), LZ_ERR_LIMIT, "at most 64"));
    return lz_check_err(b->set_default_device_ordinal(b->self, 3), LZ_ERR_ARG, "below 3, got 3");
}

static lz_err *test_more_devices(void)
{
    const lz_backend *b = lz_ts_backend(LZ_BACKEND_ABI << 16);
    lz_err *e = use_three(b), *back = b->initialize_aten_bindings(b->self); /* one again */
    if (e)
        lz_err_free(back);
    return e ? e : back;
}

/* Data goes to devices that some backend has, and to no others. */
static lz_err *test_no_such_device(void)
{
    static const lz_backend_device bad[] = {
        { LZ_TS_CUDA, 3 }, { 77, 0 }, { LZ_TS_CPU, 1 }, { LZ_TS_CPU, -1 }
    };
    static float elements[2] = { 1, 2 };
    static const int64_t sizes[] = { 2 }, strides[] = { 1 };
    const lz_backend *b = lz_ts_backend(LZ_BACKEND_ABI << 16);
    lz_host_tensor h = { .type = { LZ_F32, { sizes, 1 } }, .strides = { strides, 1 }, .data = elements };
    void *data, *copy;
    LZ_TRY(b->make_computation_data_from_tensor(b->self, &h, (lz_backend_device){ LZ_TS_CPU, 0 }, &data));
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof bad / sizeof *bad; i++) {
        e = lz_check_err(b->make_computation_data_from_tensor(b->self, &h, bad[i], &copy), LZ_ERR_NOT_FOUND,
                         "no such device");
        if (!e)
            e = lz_check_err(b->make_computation_data_from_scalar(b->self, lz_scalar_int(1), bad[i], &copy),
                             LZ_ERR_NOT_FOUND, "no such device");
        if (!e)
            e = lz_check_err(b->copy_data(b->self, data, (lz_backend_device){ 0, 0 }, bad[i], &copy),
                             LZ_ERR_NOT_FOUND, "no such device");
    }
    b->release_data(b->self, data);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_compiles_and_runs), LZ_TEST(test_text_is_the_graph),
        LZ_TEST(test_wrong_arguments),   LZ_TEST(test_sizes_that_elements_tell),
        LZ_TEST(test_foreign_memory),    LZ_TEST(test_numbers),
        LZ_TEST(test_devices),           LZ_TEST(test_no_such_device),
        LZ_TEST(test_more_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
