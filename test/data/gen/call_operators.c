/* A program that calls the operators of golden/ as a user would: through macros, and boxed. The functions
 * behind them are here, and write down what they get. */
#include "api/boxed_table.h"
#include "op/dispatch_table.h"
#include "op/functional_table.h"
#include <lazuli/ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lz_tensor {
    int id;
};

static struct {
    lz_loc at;
    lz_tensor *self, *other;
    lz_add_Tensor_args add;
    lz_conv2d_args conv;
    int64_t stride[2];
    lz_options_args options;
    lz_words_args words;
    int64_t dim, n, dims;
    lz_scalar scalar;
    int calls;
} seen;

static int failures;

#define CHECK(what)                                                                                          \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            printf("call_operators.c:%d: not so: %s\n", __LINE__, #what);                                              \
            failures++;                                                                                      \
        }                                                                                                    \
    } while (0)

/* ---- what the library would do ---- */

static lz_tensor results[8];

static lz_tensor *add(lz_loc at, lz_tensor *self, lz_tensor *other, const lz_add_Tensor_args *args)
{
    seen.at = at;
    seen.self = self;
    seen.other = other;
    seen.add = args ? *args : lz_add_Tensor_defaults;
    return &results[seen.calls++ % 8];
}

lz_tensor *lz_add_Tensor_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_tensor *other,
                            const lz_add_Tensor_args *args)
{
    (void)c;
    return add(at, self, other, args);
}

lz_tensor *lz_sub_Tensor_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_tensor *other,
                            const lz_sub_Tensor_args *args)
{
    (void)c;
    return add(at, other, self, args);
}

lz_tensor *lz_relu_at(lz_ctx *c, lz_loc at, lz_tensor *self)
{
    (void)c;
    seen.at = at;
    seen.self = self;
    return self;
}

lz_tensor *lz_mul_Scalar_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_scalar other)
{
    (void)c, (void)at;
    seen.scalar = other;
    return self;
}

lz_max_dim_result lz_max_dim_at(lz_ctx *c, lz_loc at, lz_tensor *self, int64_t dim,
                                const lz_max_dim_args *args)
{
    lz_max_dim_result r = { self, args->keepdim ? self : NULL };
    (void)c, (void)at;
    seen.dim = dim;
    return r;
}

lz_tensor *lz_conv2d_at(lz_ctx *c, lz_loc at, lz_tensor *input, lz_tensor *weight, const lz_conv2d_args *args)
{
    (void)c, (void)at, (void)weight;
    seen.conv = *args;
    seen.stride[0] = args->stride.v[0];
    seen.stride[1] = args->stride.v[1];
    return input;
}

lz_tensor *lz_sum_dim_IntList_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_ints dim,
                                 const lz_sum_dim_IntList_args *args)
{
    (void)c, (void)at, (void)args;
    seen.dims = dim.n;
    seen.dim = dim.n > 0 ? dim.v[dim.n - 1] : -1;
    return self;
}

lz_tensor *lz_options_at(lz_ctx *c, lz_loc at, lz_tensor *self, const lz_options_args *args)
{
    (void)c, (void)at;
    seen.options = *args;
    return self;
}

lz_words_result lz_words_at(lz_ctx *c, lz_loc at, lz_tensor *self, int64_t default_, lz_tensor *new_,
                            const lz_words_args *args)
{
    lz_words_result r = { self, new_ };
    (void)c, (void)at;
    seen.n = default_;
    seen.words = *args;
    return r;
}

bool lz_late_at(lz_ctx *c, lz_loc at, lz_tensor *other, const lz_late_args *args)
{
    (void)c, (void)at;
    seen.n = args->a;
    return other == args->self;
}

int64_t lz_all_named_at(lz_ctx *c, lz_loc at, const lz_all_named_args *args)
{
    (void)c;
    seen.at = at;
    return args ? args->n : -1;
}

void lz_nothing_at(lz_ctx *c, lz_loc at)
{
    (void)c, (void)at;
    seen.calls += 100;
}

/* ---- calls ---- */

static lz_ctx *c;
static lz_tensor x, y;

static void keywords(void)
{
    lz_tensor *r = lz_add_Tensor(c, &x, &y);
    CHECK(r && seen.at.line == __LINE__ - 1 && !strcmp(seen.at.file, __FILE__));
    CHECK(seen.self == &x && seen.other == &y);
    CHECK(seen.add.alpha.kind == LZ_SCALAR_INT && seen.add.alpha.i == 1);
    lz_add_Tensor(c, &x, &y, .alpha = LZ_S(2.5));
    CHECK(seen.add.alpha.kind == LZ_SCALAR_FLOAT && seen.add.alpha.re == 2.5);
    lz_sub_Tensor(c, &x, &y, .alpha = LZ_S(-1));
    CHECK(seen.self == &y && seen.add.alpha.i == -1);
    lz_add_Tensor_at(c, LZ_HERE, &x, &y, NULL);
    CHECK(seen.add.alpha.i == 1);
}

static void nesting(void)
{
    lz_tensor *inner = &results[seen.calls % 8];
    lz_tensor *r = lz_relu(c, lz_add_Tensor(c, &x, &y, .alpha = LZ_S(3)));
    CHECK(r == inner && seen.self == inner && seen.add.alpha.i == 3);
    r = lz_add_Tensor(c, lz_add_Tensor(c, &x, &y), lz_relu(c, lz_add_Tensor(c, &y, &x, .alpha = LZ_S(4))));
    CHECK(r && seen.self != seen.other && seen.add.alpha.i == 1);
    r = lz_conv2d(c, &x, lz_relu(c, &y),
                  .bias = lz_add_Tensor(c, &x, lz_add_Tensor(c, &x, &y, .alpha = LZ_S(7))));
    CHECK(r == &x && seen.conv.bias && seen.add.alpha.i == 1);
    CHECK((lz_late(c, &x) ? 1 : lz_add_Tensor(c, &x, &y) != NULL) == 1);
}

/* Lists that are written in a call live until it returns, whatever the optimizer does. */
static void lists(void)
{
    lz_conv2d(c, &x, &y);
    CHECK(seen.stride[0] == 1 && seen.stride[1] == 1 && seen.conv.stride.n == 2 && seen.conv.groups == 1);
    lz_conv2d(c, &x, &y, .stride = LZ_INTS(3, 4), .groups = 2);
    CHECK(seen.stride[0] == 3 && seen.stride[1] == 4 && seen.conv.groups == 2);
    lz_relu(c, lz_conv2d(c, lz_sum_dim_IntList(c, &x, LZ_DIMS(5, 6)), &y, .stride = LZ_INTS(7, 8)));
    CHECK(seen.stride[0] == 7 && seen.stride[1] == 8 && seen.dims == 2 && seen.dim == 6);
}

static void options(void)
{
    lz_options(c, &x);
    CHECK(seen.options.a.has && seen.options.a.v == 2 && !seen.options.b.has);
    CHECK(seen.options.e.has && !seen.options.e.v && !seen.options.s && seen.options.f == LZ_CONTIGUOUS);
    CHECK(seen.options.d.type == -1 && seen.options.l.n == 2 && seen.options.l.v[0] == 0.5);
    lz_options(c, &x, .a = LZ_SOME(7), .b = lz_some_float(0.5), .s = "text", .l = LZ_FLOATS(1, 2, 3));
    CHECK(seen.options.a.v == 7 && seen.options.b.has && !strcmp(seen.options.s, "text")
          && seen.options.l.n == 3);
    lz_mul_Scalar(c, &x, 2);
    CHECK(seen.scalar.kind == LZ_SCALAR_INT && seen.scalar.i == 2);
    lz_mul_Scalar(c, &x, 0.5F);
    CHECK(seen.scalar.kind == LZ_SCALAR_FLOAT && seen.scalar.re == 0.5);
    lz_mul_Scalar(c, &x, LZ_S(9));
    CHECK(seen.scalar.i == 9);
}

static void shapes_of_calls(void)
{
    lz_max_dim_result r = lz_max_dim(c, &x, 3, .keepdim = true);
    CHECK(r.values == &x && r.indices == &x && seen.dim == 3);
    CHECK(!lz_max_dim(c, &x, 1).indices);
    lz_words_result w = lz_words(c, &x, 11, &y, .this_ = false);
    CHECK(w.template_ == &x && w.c_ == &y && seen.n == 11 && !seen.words.this_ && seen.words.I_ == 0.25);
    CHECK(lz_late(c, &x, .self = &x, .a = 6) && seen.n == 6);
    CHECK(lz_all_named(c) == 3 && seen.at.line == __LINE__);
    CHECK(lz_all_named(c, .n = 5) == 5);
    int before = seen.calls;
    lz_nothing(c);
    CHECK(seen.calls == before + 100);
}

/* ---- tables ---- */

static lz_op find(const char *name)
{
    int low = 0, high = LZ_OP_COUNT - 1;
    while (low <= high) {
        int mid = (low + high) / 2, order = mid ? strcmp(name, lz_op_table[lz_op_by_name[mid]].name) : 1;
        if (!order)
            return (lz_op)lz_op_by_name[mid];
        low = order > 0 ? mid + 1 : low;
        high = order > 0 ? high : mid - 1;
    }
    return LZ_OP_NONE;
}

static void tables(void)
{
    for (int i = 1; i < LZ_OP_COUNT; i++) {
        const lz_op_row *op = &lz_op_table[i];
        CHECK(find(op->name) == (lz_op)i && !strncmp(op->schema, op->name, strlen(op->name)));
        CHECK(op->name[op->base] == '.' || !op->name[op->base]);
        CHECK(!lz_boxed_table[i].thunk == !lz_op_table[i].name);
    }
    CHECK(find("add.Tensr") == LZ_OP_NONE);
    const lz_op_row *op = &lz_op_table[LZ_OP_add__Tensor];
    CHECK(op->kind == LZ_SCHEMA_INPLACE && op->args[0].write && op->returns[0].argument == 0);
    CHECK((op->flags & LZ_OPF_METHOD) && !(op->flags & LZ_OPF_FUNCTION)
          && (op->tags & LZ_TAG_BIT(pointwise)));
    CHECK(lz_functional_table[LZ_OP_add__Tensor].functional == LZ_OP_add_Tensor
          && lz_functional_table[LZ_OP_add_Tensor].inplace == LZ_OP_add__Tensor
          && !lz_functional_table[LZ_OP_add_out].inplace);
    op = &lz_op_table[LZ_OP_split_Tensor];
    CHECK((op->flags & LZ_OPF_VIEW) && op->returns[0].alias == op->args[0].alias
          && op->returns[0].type->kind == LZ_KIND_TENSORS);
    op = &lz_op_table[LZ_OP_conv2d];
    CHECK(op->args[3].type->size == 2 && op->args[3].default_value->ints.v[1] == 1
          && (op->flags & LZ_OPF_SYMINT));
    CHECK(op->args == lz_op_table[LZ_OP_conv2d].args
          && lz_op_table[LZ_OP_max_dim].args == lz_op_table[LZ_OP_min_dim].args);
    CHECK(!strcmp(lz_op_table[LZ_OP_gelu].args[2].default_value->str, "*/\"?\?/"));
    const lz_dispatch_row *row = &lz_dispatch_table[LZ_OP_add_out];
    CHECK(row->nkernels == 4 && row->kernels[2].key == LZ_KEY_MPS
          && (row->kernels[2].flags & LZ_KERNEL_STRUCTURED));
    CHECK(!strcmp(row->kernels[3].ns, "sparse::native") && row->kernels[3].flags == LZ_KERNEL_SYMINT);
    CHECK(lz_dispatch_table[LZ_OP_add_Tensor].delegate == LZ_OP_add_out);
    CHECK(lz_composite_order[0] == LZ_KEY_CompositeExplicitAutograd
          && lz_dispatch_table[LZ_OP_empty_memory_format].composite == 1);
}

/* ---- boxed calls ---- */

static lz_err *call(lz_op op, const lz_value *in, size_t n, lz_value *out)
{
    return lz_boxed_call(op, c, LZ_HERE, in, n, out);
}

static void refused(lz_err *e, const char *why)
{
    CHECK(e && lz_err_code(e) == LZ_ERR_ARG);
    if (!e || strcmp(lz_err_text(e), why) != 0) {
        printf("call_operators.c: '%s'\n instead of '%s'\n", e ? lz_err_text(e) : "", why);
        failures++;
    }
    lz_err_free(e);
}

static void boxed(void)
{
    lz_value in[3] = { lz_value_tensor(&x), lz_value_tensor(&y), lz_value_integer(3) }, out[2];
    CHECK(!call(LZ_OP_sub_Tensor, in, 3, out) && out[0].kind == LZ_KIND_TENSOR);
    CHECK(seen.self == &y && seen.add.alpha.i == 3);
    CHECK(!call(LZ_OP_add_Tensor, in, 2, out) && seen.add.alpha.i == 1);
    in[1] = lz_value_integer(1);
    CHECK(!call(LZ_OP_max_dim, in, 2, out) && out[0].tensor == &x && !out[1].tensor && seen.dim == 1);
    lz_value conv[4] = { lz_value_tensor(&x), lz_value_tensor(&y), lz_value_none(), lz_value_integer(6) };
    CHECK(!call(LZ_OP_conv2d, conv, 4, out) && !seen.conv.bias);
    CHECK(seen.stride[0] == 6 && seen.stride[1] == 6 && seen.conv.stride.n == 2);
    lz_value opt[2] = { lz_value_tensor(&x), lz_value_none() };
    CHECK(!call(LZ_OP_options, opt, 2, out) && !seen.options.a.has && seen.options.e.has);
    CHECK(!call(LZ_OP_sum_dim_IntList, opt, 2, out) && seen.dims == -1);
    CHECK(!call(LZ_OP_all_named, NULL, 0, out) && out[0].kind == LZ_KIND_INT && out[0].integer == 3);
    CHECK(!call(LZ_OP_nothing, NULL, 0, NULL));
    refused(call(LZ_OP_add_Tensor, opt, 1, out), "add.Tensor: argument 'other' of type Tensor is missing");
    refused(call(LZ_OP_add_Tensor, conv, 4, out), "add.Tensor: expected at most 3 arguments, found 4");
    in[1] = lz_value_str("y");
    refused(call(LZ_OP_add_Tensor, in, 2, out), "add.Tensor: argument 'other': expected Tensor, found str");
    in[1] = lz_value_tensor(NULL);
    refused(call(LZ_OP_add_Tensor, in, 2, out), "add.Tensor: argument 'other' of type Tensor is NULL");
}

int main(void)
{
    keywords();
    nesting();
    lists();
    options();
    shapes_of_calls();
    tables();
    boxed();
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
