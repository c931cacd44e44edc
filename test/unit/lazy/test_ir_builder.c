#include "check.h"
#include "lazy/ctx.h"
#include "lazy/ir.h"
#include "lazy/nodes.h"

/* Puts a node's output under a tensor, so that it can be read. */
static lz_err *read_i64(lz_ctx *c, lz_output o, int64_t *out)
{
    lz_alias *a;
    lz_tensor *t;
    LZ_TRY(lz_alias_pending(c, o.node->specs[o.index], o, &a));
    lz_node_retain((lz_node *)o.node);
    lz_err *e = lz_tensor_create(a, o.node->specs[o.index], 0, &t);
    lz_alias_release(a);
    LZ_TRY(e);
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
                            "there is no dimension 2 of 2");
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

/* Equal nodes are one node, also with absent operands and lists. */
static lz_err *make_twice(lz_ctx *c)
{
    lz_ir *ir = lz_ir_of(c);
    lz_output x, y, z;
    LZ_TRY(lz_own_ir_builder.make_scalar(NULL, ir, lz_scalar_int(2), LZ_F32, &x));
    lz_output two[] = { x, x };
    lz_err *e = lz_make_stack(ir, (lz_operands){ two, 2 }, 0, &y);
    if (!e) {
        e = lz_make_stack(ir, (lz_operands){ two, 2 }, 0, &z);
        if (!e) {
            assert_ptr_equal(y.node, z.node);
            assert_int_equal(y.node->specs[0]->sizes[0], 2);
            lz_ir_release(ir, z);
        }
        lz_ir_release(ir, y);
    }
    if (!e)
        e = lz_check_err(lz_make_mm(ir, x, x, &z), LZ_ERR_ARG, "");
    lz_ir_release(ir, x);
    return e;
}

static lz_err *test_nodes(void)
{
    return in_context(make_twice);
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_builder), LZ_TEST(test_nodes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
