#include "lazy/ir_builder.h"
#include "lazy/registry.h"
#include "lazy_calls.h"

static lz_err *read_i64(lz_ctx *c, lz_output o, int64_t *out)
{
    lz_tensor *t;
    LZ_TRY(lz_ir_tensor(lz_ir_of(c), o, &t));
    *out = lz_item(t).i;
    return NULL;
}

static lz_err *combine(lz_ctx *c, const lz_ir_builder *b, lz_output rows, lz_output columns)
{
    lz_err *(*const fns[])(void *, lz_ir *, lz_output, lz_output,
                           lz_output *) = { b->make_size_add, b->make_size_mul, b->make_size_div };
    static const int64_t want[] = { 10, 21, 2 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < 3; i++) {
        lz_output o;
        int64_t got = 0;
        e = fns[i](NULL, lz_ir_of(c), columns, rows, &o);
        if (e)
            break;
        e = read_i64(c, o, &got);
        if (!e && !lz_failed(c))
            assert_int_equal(got, want[i]);
        lz_ir_release(lz_ir_of(c), o);
    }
    return e;
}

static lz_err *with_sizes(lz_ctx *c, const lz_ir_builder *b, lz_output x)
{
    lz_output rows, columns, none;
    LZ_TRY(b->make_size_node(NULL, lz_ir_of(c), x, 0, &rows));
    lz_err *e = b->make_size_node(NULL, lz_ir_of(c), x, -1, &columns);
    if (!e) {
        e = combine(c, b, rows, columns);
        lz_ir_release(lz_ir_of(c), columns);
    }
    lz_ir_release(lz_ir_of(c), rows);
    return e ? e
             : lz_check_err(b->make_size_node(NULL, lz_ir_of(c), x, 2, &none), LZ_ERR_ARG,
                            "expected a dimension of a tensor with 2 dimensions, got 2");
}

static lz_err *use_builder(lz_ctx *c)
{
    const lz_ir_builder *b = &lz_own_ir_builder;
    lz_output one, wide, whole;
    LZ_TRY(b->make_scalar(NULL, lz_ir_of(c), lz_scalar_float(1.5), LZ_F32, &one));
    lz_err *e = b->make_expand(NULL, lz_ir_of(c), one, LZ_DIMS(3, 7), true, &wide);
    if (!e) {
        assert_true(wide.node->specs[0]->numel == 21 && wide.node->specs[0]->dtype == LZ_F32);
        e = b->make_cast(NULL, lz_ir_of(c), wide, LZ_I64, &whole);
        if (!e) {
            assert_int_equal(whole.node->specs[0]->dtype, LZ_I64);
            e = with_sizes(c, b, whole);
            lz_ir_release(lz_ir_of(c), whole);
        }
        lz_ir_release(lz_ir_of(c), wide);
    }
    lz_ir_release(lz_ir_of(c), one);
    return e;
}

static lz_err *in_context(lz_err *(*fn)(lz_ctx *c))
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_err *e = fn(c);
    if (!e && lz_failed(c))
        e = lz_errf(lz_code_of(c), "%s", lz_message(c));
    lz_close(c);
    return e;
}

static lz_err *test_builder(void)
{
    return in_context(use_builder);
}

static lz_err *make_stack(lz_ir *ir, lz_operands parts, lz_output *out)
{
    const lz_value args[] = { lz_value_none(), lz_value_integer(0) };
    return lz_ir_make(ir, &lz_op_table[LZ_OP_stack], args, &parts, 1, out);
}

static lz_err *make_mm(lz_ir *ir, const lz_output *x, lz_output *out)
{
    const lz_operands in[] = { { x, 1 }, { x, 1 } };
    const lz_value args[] = { lz_value_none(), lz_value_none() };
    return lz_ir_make(ir, &lz_op_table[LZ_OP_mm], args, in, 2, out);
}

/* Equal nodes are one node, also with absent operands and lists. */
static lz_err *make_twice(lz_ctx *c)
{
    lz_ir *ir = lz_ir_of(c);
    lz_output x, y, z;
    LZ_TRY(lz_own_ir_builder.make_scalar(NULL, ir, lz_scalar_int(2), LZ_F32, &x));
    lz_output two[] = { x, x };
    lz_err *e = make_stack(ir, (lz_operands){ two, 2 }, &y);
    if (!e) {
        e = make_stack(ir, (lz_operands){ two, 2 }, &z);
        if (!e) {
            assert_ptr_equal(y.node, z.node);
            assert_int_equal(y.node->specs[0]->sizes[0], 2);
            lz_ir_release(ir, z);
        }
        lz_ir_release(ir, y);
    }
    if (!e)
        e = lz_check_err(make_mm(ir, &x, &z), LZ_ERR_ARG, "");
    lz_ir_release(ir, x);
    return e;
}

static lz_err *test_nodes(void)
{
    return in_context(make_twice);
}

/* ---- a builder that a backend brings ---- */

/* A backend that leaves all work to the CPU's, under a name and with a builder of its own. */
static const lz_backend *cpu;
static int built[4]; /* scalar, expand, cast, generic */

static lz_err *devices(void *self, lz_backend_device *out, size_t room, size_t *n)
{
    (void)self;
    return cpu->get_backend_devices(cpu->self, out, room, n);
}

static lz_err *upload(void *self, const lz_host_tensor *t, lz_backend_device d, void **out)
{
    (void)self;
    return cpu->make_computation_data_from_tensor(cpu->self, t, d, out);
}

static lz_err *download(void *self, void *data, lz_dtype logical, const lz_host_tensor *out)
{
    (void)self;
    return cpu->make_tensor_from_computation_data(cpu->self, data, logical, out);
}

static void release(void *self, void *data)
{
    (void)self;
    cpu->release_data(cpu->self, data);
}

static lz_err *compile(void *self, lz_lowering *const *l, size_t n, void **out)
{
    (void)self;
    return cpu->compile(cpu->self, l, n, out);
}

static lz_err *execute(void *self, void *computation, const lz_execution *x)
{
    (void)self;
    return cpu->execute_computation(cpu->self, computation, x);
}

static void release_computation(void *self, void *computation)
{
    (void)self;
    cpu->release_computation(cpu->self, computation);
}

static lz_err *build_scalar(void *self, lz_ir *ir, lz_scalar value, lz_dtype dtype, lz_output *out)
{
    built[0]++;
    return lz_own_ir_builder.make_scalar(self, ir, value, dtype, out);
}

static lz_err *build_expand(void *self, lz_ir *ir, lz_output x, lz_ints sizes, bool is_scalar, lz_output *out)
{
    built[1]++;
    return lz_own_ir_builder.make_expand(self, ir, x, sizes, is_scalar, out);
}

static lz_err *build_cast(void *self, lz_ir *ir, lz_output x, lz_dtype to, lz_output *out)
{
    built[2]++;
    return lz_own_ir_builder.make_cast(self, ir, x, to, out);
}

static lz_err *build_generic(void *self, lz_ir *ir, const lz_op_row *op, const lz_value *args,
                             const lz_operands *in, size_t n, lz_output *out)
{
    built[3]++;
    return lz_own_ir_builder.make_generic(self, ir, op, args, in, n, out);
}

/* make_device_data and make_size_* are left out: they are the library's own. */
static const lz_ir_builder *builder(void *self)
{
    static const lz_ir_builder b = { .struct_size = offsetof(lz_ir_builder, make_size_node),
                                     .make_scalar = build_scalar,
                                     .make_expand = build_expand,
                                     .make_cast = build_cast,
                                     .make_generic = build_generic };
    (void)self;
    return &b;
}

static void write_and_grow(lz_ctx *c)
{
    static const float v[] = { 1, 2, 3, 4 };
    static const double w[] = { 10, 20, 30, 40 };
    float got[4] = { 0 }, grown[4] = { 0 };
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(4), v), *i = lz_from_memory(c, LZ_F32, LZ_DIMS(4), v);
    CALL(c, add__Tensor, T(i), T(lz_from_memory(c, LZ_F64, LZ_DIMS(4), w)), S(1)); /* a sum in f64 */
    lz_tensor *small = lz_from_memory(c, LZ_F32, LZ_DIMS(2), v), *other = CALL(c, detach, T(small));
    CALL(c, neg_out, T(x), T(small)); /* another looks at its storage: that grows */
    (void)other;
    if (!lz_failed(c) && lz_read(i, got, sizeof got) && lz_read(small, grown, sizeof grown))
        for (int k = 0; k < 4; k++)
            assert_true((double)got[k] == 11 * (k + 1) && grown[k] == -v[k]);
}

static lz_err *test_the_core_asks_a_backends_builder(void)
{
    static lz_backend table;
    int16_t type;
    LZ_TRY(lz_backends_ready());
    cpu = lz_get_backend("cpu");
    table = (lz_backend){ .struct_size = sizeof table,
                          .abi = LZ_BACKEND_ABI << 16,
                          .name = "fake_building",
                          .get_backend_devices = devices,
                          .make_computation_data_from_tensor = upload,
                          .make_tensor_from_computation_data = download,
                          .release_data = release,
                          .compile = compile,
                          .execute_computation = execute,
                          .release_computation = release_computation,
                          .get_ir_builder = builder };
    LZ_TRY(lz_backend_register(&table, &type));
    memset(built, 0, sizeof built);
    lz_ctx *c = lz_open(&(lz_options){ .device = "fake_building" });
    lz_err *e = c ? NULL : lz_err_oom();
    if (c)
        write_and_grow(c);
    if (c && lz_failed(c))
        e = lz_errf(lz_code_of(c), "%s", lz_message(c));
    lz_close(c);
    for (size_t i = 0; i < 4; i++)
        assert_true(e || lz_check_failing() || built[i] == 1);
    lz_backend_forget(type);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_builder), LZ_TEST(test_nodes),
                                        LZ_TEST(test_the_core_asks_a_backends_builder) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
