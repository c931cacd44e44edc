#include "gen/torch/static_runtime/config.h"
#include "gen/torch/static_runtime/gen_static_runtime_ops.h"
#include "gen_text.h"
#include "oracle.h"

#define OUT(name, args)                                                                                      \
    "- func: " name "(" args ") -> Tensor\n  dispatch: {CPU: k}\n"                                           \
    "- func: " name ".out(" args ", *, Tensor(a!) out) -> Tensor(a!)\n  dispatch: {CPU: k_out}\n"

static const char *const text =
    /* groups */
    OUT("plain", "Tensor self, int n=1, Scalar? s=None, ScalarType t, str m, bool? b=None")
        OUT("abs", "Tensor self") /* written by hand */
    OUT("relu", "Tensor self")    /* blocked */
    OUT("listed", "Tensor self, int[] n") OUT("floats", "Tensor self, float n")
        OUT("nested", "Tensor self, Tensor?[]? n") OUT("aliased", "Tensor(b) self, Tensor(c) other")
            OUT("own", "Tensor(b) self, Tensor other") /* of self, nothing is asked */
    "- func: plain.more(Tensor self) -> Tensor\n"
    "  dispatch: {CompositeExplicitAutograd: more}\n"
    "- func: plain.more_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n" /* not .out */
    "  dispatch: {CompositeExplicitAutograd: more_out}\n"
    "- func: built(Tensor self, Scalar k) -> Tensor\n"
    "  structured_delegate: built.x_out\n"
    "- func: built.x_out(Tensor self, Scalar k, *, Tensor(a!) y) -> Tensor(a!)\n"
    "  structured: True\n  dispatch: {CPU: built_cpu}\n"
    "- func: pair(Tensor self) -> (Tensor, Tensor)\n  dispatch: {CPU: k}\n"
    "- func: pair.out(Tensor self, *, Tensor(a!) one, Tensor(b!) out) -> (Tensor(a!), Tensor(b!))\n"
    "  dispatch: {CPU: k_out}\n"
    "- func: built.Both(Tensor self, Tensor other) -> Tensor\n"
    "- func: built.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n"
    /* views */
    "- func: turn(Tensor(a) self, int dim) -> Tensor(a)\n"
    "  dispatch: {CPU: turn_cpu, CUDA: turn_cuda}\n"
    "- func: turn_copy(Tensor self, int dim) -> Tensor\n"
    "  dispatch: {CompositeExplicitAutogradNonFunctional: turn_copy}\n  tags: view_copy\n"
    "- func: parts(Tensor(a) self) -> Tensor(a)[]\n"
    "- func: wide(Tensor(a) self, SymInt n) -> Tensor(a)\n"
    "- func: view(Tensor(a) self) -> Tensor(a)\n";

typedef struct fixture {
    lzg_ops ops;
    lzg_diag diag;
    lz_arena arena;
} fixture;

static lz_err *with_text(lz_err *(*check)(fixture *x))
{
    fixture x = { 0 };
    lz_err *e = gen_ops(&x.ops, text, &x.diag);
    if (!e && lzg_diag_any(&x.diag))
        e = lzg_diag_error(&x.diag);
    if (!e)
        e = check(&x);
    lz_arena_deinit(&x.arena);
    lzg_ops_deinit(&x.ops);
    lzg_diag_deinit(&x.diag);
    return e;
}

static lzg_functor_verdict judge(const fixture *x, const char *name)
{
    const lzg_group *g = lz_map_get(&x->ops.group_of, lz_str_of(name));
    const lzg_view_group *v = lz_map_get(&x->ops.view_group_of, lz_str_of(name));
    assert_true(g || v);
    return g ? lzg_functor_judge_group(&x->ops, g) : lzg_functor_judge_view(&x->ops, v);
}

static lz_err *check_verdicts(fixture *x)
{
    static const struct {
        const char *name;
        lzg_functor_verdict want;
    } rows[] = {
        { "plain", LZG_FUNCTOR_FITS },        { "own", LZG_FUNCTOR_FITS },
        { "built", LZG_FUNCTOR_FITS },        { "built.Both", LZG_FUNCTOR_FITS },
        { "turn", LZG_FUNCTOR_FITS },         { "abs", LZG_FUNCTOR_HAND_WRITTEN },
        { "view", LZG_FUNCTOR_HAND_WRITTEN }, { "relu", LZG_FUNCTOR_BLOCKED },
        { "listed", LZG_FUNCTOR_ARGUMENT },   { "floats", LZG_FUNCTOR_ARGUMENT },
        { "nested", LZG_FUNCTOR_ARGUMENT },   { "wide", LZG_FUNCTOR_ARGUMENT },
        { "pair", LZG_FUNCTOR_NO_OUT },       { "plain.more", LZG_FUNCTOR_NO_OUT },
        { "parts", LZG_FUNCTOR_RETURN },      { "aliased", LZG_FUNCTOR_ALIASES },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (judge(x, rows[i].name) != rows[i].want)
            fail_msg("%s: %d", rows[i].name, (int)judge(x, rows[i].name));
    return NULL;
}

static lz_err *check_functors(fixture *x)
{
    static const struct {
        const char *functor, *op, *call, *out_call;
    } rows[] = {
        { "plain", "plain", "at::native::k(self,n,s,t,m,b)", "at::native::k_out(self,n,s,t,m,b,out)" },
        { "own", "own", "at::native::k(self,other)", "at::native::k_out(self,other,out)" },
        { "built", "built", "at::cpu::built(self,k)", "at::cpu::built_out(y,self,k)" },
        { "built", "built.Both", "at::native::built(self,other)", "at::native::built_out(self,other,out)" },
        { "turn", "turn", "at::native::turn_cpu(self,dim)", "" },
    };
    lzg_functors all;
    size_t n = 0;
    LZ_TRY(lzg_static_runtime_functors(&x->arena, &x->ops, &all));
    assert_true(all.len == 4 && all.groups == 4 && all.views == 1);
    for (size_t i = 0; i < all.len; i++)
        for (size_t k = 0; k < all.data[i].ncases; k++, n++) {
            const lzg_functor_case *c = &all.data[i].cases[k];
            assert_true(lz_str_is(all.data[i].name, rows[n].functor));
            assert_true(lz_str_is(c->op->func->name.text, rows[n].op));
            assert_true(lz_str_is(c->call, rows[n].call));
            assert_true(lz_str_eq(c->out_call, lz_str_of(rows[n].out_call)));
            assert_true(all.data[i].view == !c->out);
        }
    assert_int_equal(n, 5);
    return NULL;
}

static lz_err *check_input(fixture *x, const char *op, const char *type, int round, const char *want)
{
    static const char *const elements[] = { "real", "int", "complex" };
    const lzg_type *t;
    lzg_input in;
    lz_text out = { 0 };
    LZ_TRY(lzg_type_parse(&x->arena, lz_str_of(type), (lz_loc){ 0 }, &t));
    LZ_TRY(lzg_input_for(&x->ops, lz_str_of(op), t, round, &in));
    lz_text_puts(&out, in.literal ? in.literal : elements[in.elements]);
    for (size_t i = 0; i < in.rank; i++)
        lz_text_printf(&out, " %d", (int)in.sizes[i]);
    lz_err *e = lz_text_check(&out);
    if (!e)
        assert_text(&out, want);
    lz_text_deinit(&out);
    return e;
}

static lz_err *check_inputs(fixture *x)
{
    static const struct {
        const char *op, *type;
        int round;
        const char *want;
    } rows[] = {
        { "plain", "Tensor", 0, "real 6 6 6" },
        { "plain", "Tensor?", 1, "real 22 22 22" },
        { "mm", "Tensor", 0, "real 8 8" },
        { "mm", "Tensor", 1, "real 32 32" },
        { "dot", "Tensor", 0, "real 16" },
        { "dot", "Tensor", 1, "real 64" },
        { "gcd", "Tensor", 0, "int 6 6 6" },
        { "imag", "Tensor", 0, "complex 6 6 6" },
        { "view_as_complex", "Tensor", 1, "real 2 2" },
        { "plain", "int", 0, "1" },
        { "plain", "bool?", 0, "false" },
        { "plain", "Scalar", 1, "2" },
        { "plain", "ScalarType?", 0, "Float" },
        { "plain", "str", 0, "\"floor\"" },
    };
    const lzg_type *t;
    const lz_json *fitted;
    lzg_input in;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        LZ_TRY(check_input(x, rows[i].op, rows[i].type, rows[i].round, rows[i].want));
    LZ_TRY(lzg_fitted_inputs(&x->ops, LZ_STR("gather"), 1, &fitted));
    assert_true(fitted && fitted->len == 4);
    LZ_TRY(lzg_fitted_inputs(&x->ops, LZ_STR("plain"), 0, &fitted));
    assert_null(fitted);
    LZ_TRY(lzg_type_parse(&x->arena, LZ_STR("int[]"), (lz_loc){ 0 }, &t));
    return lz_check_err(lzg_input_for(&x->ops, LZ_STR("plain"), t, 0, &in), LZ_ERR_UNSUPPORTED, "no input");
}

static lz_err *test_verdicts(void)
{
    return with_text(check_verdicts);
}

static lz_err *test_functors(void)
{
    return with_text(check_functors);
}

static lz_err *test_inputs(void)
{
    return with_text(check_inputs);
}

/* The original's own count of what it makes. */
static void test_functors_of_the_original(void **state)
{
    const char *files[2] = { NULL, NULL }, *tags;
    fixture x = { 0 };
    lzg_functors all;
    (void)state;
    lzg_diag_init(&x.diag);
    assert_null(lz_oracle_files(&files[0], &tags));
    assert_null(lzg_ops_load(&x.ops, &(lzg_ops_options){ .files = files, .tags = tags }, &x.diag));
    assert_null(lzg_static_runtime_functors(&x.arena, &x.ops, &all));
    assert_int_equal(all.groups, 233);
    assert_int_equal(all.views, 29);
    assert_int_equal(all.len, 247);
    lz_arena_deinit(&x.arena);
    lzg_ops_deinit(&x.ops);
    lzg_diag_deinit(&x.diag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_verdicts),
        LZ_TEST(test_functors),
        LZ_TEST(test_inputs),
        cmocka_unit_test(test_functors_of_the_original),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
