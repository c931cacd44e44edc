/* The public face of the generator, against what the same text says to a reader. */
#include "base/str.h"
#include "check.h"
#include <lazuli/gen.h>
#include <stdio.h>

static const char *const ops_text =
    "- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
    "  variants: function, method\n"
    "  structured_delegate: add.out\n"
    "  tags: [core]\n"
    "- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)\n"
    "  structured: True\n"
    "  dispatch: {CPU: add_out, CUDA: add_out_symint}\n"
    "- func: turn(Tensor(a) self, SymInt? n=None) -> Tensor(a)\n"
    "- func: scale(Tensor self) -> Tensor\n"
    "  dispatch: {CPU: scale}\n"
    "  autogen: scale.out\n";

static const char *path_of(const char *name, const char *text)
{
    static char paths[3][4200];
    static int next;
    char *path = paths[next++ % 3];
    (void)snprintf(path, sizeof paths[0], "%s/%s", lz_check_dir(), name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return path;
}

static lz_err *open_text(const char *text, lzg_set **out)
{
    const char *files[] = { path_of("ops.yaml", text), NULL };
    const char *tags = path_of("tags.yaml", "- {tag: core, desc: c}\n- {tag: out, desc: o}\n");
    return lzg_set_open(&(lzg_set_options){ .files = files, .tags = tags }, out);
}

static lz_err *check_facts(lzg_set *s)
{
    const lzg_function *f = lzg_set_at(s, 0);
    lzg_facts x = lzg_describe(f);
    lzg_arg_facts arg;
    lzg_kernel_facts kernel;
    lz_str tag;
    assert_true(lz_str_is(x.name, "add.Tensor") && lz_str_is(x.base, "add") && lz_str_is(x.ns, "aten"));
    assert_true(lz_str_is(x.kind, "functional") && x.loc.line == 1 && x.has_method && x.is_abstract);
    assert_true(x.nargs == 3 && x.nreturns == 1 && x.ntags == 1 && x.nkernels == 0 && !x.python_module.ptr);
    LZ_TRY(lzg_describe_arg(s, f, 2, &arg));
    assert_true(lz_str_is(arg.name, "alpha") && lz_str_is(arg.type, "Scalar") && lz_str_is(arg.deflt, "1"));
    assert_true(arg.keyword_only && !arg.out && !arg.tensor_like);
    LZ_TRY(lzg_describe_tag(f, 0, &tag));
    assert_true(lz_str_is(tag, "core"));
    f = lzg_set_find(s, "add.out");
    LZ_TRY(lzg_describe_arg(s, f, 3, &arg));
    assert_true(arg.out && arg.write && lz_str_is(arg.annotation, "a!"));
    LZ_TRY(lzg_describe_kernel(f, 1, &kernel));
    assert_true(lz_str_is(kernel.key, "CUDA") && kernel.symint && kernel.structured);
    f = lzg_set_find(s, "turn");
    LZ_TRY(lzg_describe_arg(s, f, 1, &arg));
    assert_true(arg.symint_like && arg.nullable && lzg_describe(f).is_view);
    LZ_TRY(lzg_describe_return(s, f, 0, &arg));
    assert_true(lz_str_is(arg.annotation, "a") && !arg.write && arg.tensor_like);
    return NULL;
}

static lz_err *check_sets(lzg_set *s)
{
    lzg_group_facts group;
    lzg_view_facts view;
    lzg_index_facts index;
    assert_int_equal(lzg_set_count(s), 5); /* one of them generated */
    assert_true(lzg_describe(lzg_set_at(s, 4)).generated);
    assert_ptr_equal(lzg_set_find(s, "scale.out"), lzg_set_at(s, 4));
    assert_true(!lzg_set_at(s, 5) && !lzg_set_find(s, "sub"));
    assert_int_equal(lzg_set_groups(s), 2);
    LZ_TRY(lzg_describe_group(s, 0, &group));
    assert_true(group.structured && group.functional == lzg_set_at(s, 0) && group.out == lzg_set_at(s, 1));
    assert_true(!group.inplace && !group.mutable_);
    assert_int_equal(lzg_set_views(s), 1);
    LZ_TRY(lzg_describe_view(s, 0, &view));
    assert_true(view.composite && view.view == lzg_set_at(s, 2) && !view.view_copy);
    assert_int_equal(lzg_set_indices(s), 4); /* CPU, CUDA and the composites of turn and scale.out */
    LZ_TRY(lzg_describe_index(s, 0, &index));
    assert_true(index.nkernels > 0 && index.key.len > 0);
    return NULL;
}

static lz_err *check_bounds(lzg_set *s)
{
    const lzg_function *f = lzg_set_at(s, 0);
    lzg_arg_facts arg;
    lzg_kernel_facts kernel;
    lzg_group_facts group;
    lzg_view_facts view;
    lzg_index_facts index;
    lz_str tag;
    LZ_TRY(lz_check_err(lzg_describe_arg(s, f, 3, &arg), LZ_ERR_ARG, ""));
    LZ_TRY(lz_check_err(lzg_describe_return(s, f, 1, &arg), LZ_ERR_ARG, ""));
    LZ_TRY(lz_check_err(lzg_describe_kernel(f, 0, &kernel), LZ_ERR_ARG, ""));
    LZ_TRY(lz_check_err(lzg_describe_tag(f, 1, &tag), LZ_ERR_ARG, ""));
    LZ_TRY(lz_check_err(lzg_describe_group(s, 2, &group), LZ_ERR_ARG, ""));
    LZ_TRY(lz_check_err(lzg_describe_view(s, 1, &view), LZ_ERR_ARG, ""));
    return lz_check_err(lzg_describe_index(s, 4, &index), LZ_ERR_ARG, "");
}

#define ALL(name, alpha)                                                                                     \
    "at::Tensor " name "(const at::Tensor & self, const at::Tensor & other, const at::Scalar & alpha" alpha  \
    ")"

static lz_err *check_signatures(lzg_set *s)
{
    static const struct {
        lzg_sig_kind kind;
        const char *want;
    } rows[] = {
        { LZG_SIG_CPP, ALL("add", "=1") },
        { LZG_SIG_CPP_FAITHFUL, NULL }, /* it would be the plain one */
        { LZG_SIG_CPP_SYMINT, NULL },
        { LZG_SIG_CPP_SYMINT_FAITHFUL, NULL },
        { LZG_SIG_DISPATCHER, ALL("add", "") },
        { LZG_SIG_DISPATCHER_TYPE,
          "at::Tensor (const at::Tensor &, const at::Tensor &, const at::Scalar &)" },
        { LZG_SIG_NATIVE, ALL("add_Tensor", "=1") },
        { LZG_SIG_NATIVE_SYMINT, NULL },
        { LZG_SIG_C_SHIM, "AOTI_TORCH_EXPORT AOTITorchError aoti_torch_aten_add_Tensor(AtenTensorHandle "
                          "self, AtenTensorHandle "
                          "other, double alpha, AtenTensorHandle* ret0);" },
        { LZG_SIG_PYTHON, "add(Tensor input, Tensor other, *, Scalar alpha=1)" },
        { LZG_SIG_PYI, "def add(\n    input: Tensor,\n    other: Tensor,\n    *,\n"
                       "    alpha: Number | _complex | PySymType = 1,\n) -> Tensor: ..." },
    };
    _Static_assert(sizeof rows / sizeof *rows == LZG_SIG_COUNT, "every kind");
    lz_str got;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        LZ_TRY(lzg_set_signature(s, lzg_set_at(s, 0), rows[i].kind, &got));
        if (rows[i].want ? !lz_str_is(got, rows[i].want) : got.ptr != NULL)
            fail_msg("%d: %.*s", (int)rows[i].kind, LZ_FMT(got));
    }
    LZ_TRY(lzg_set_signature(s, lzg_set_find(s, "turn"), LZG_SIG_NATIVE_SYMINT, &got));
    assert_true(lz_str_is(
        got, "at::Tensor turn(const at::Tensor & self, ::std::optional<c10::SymInt> n=::std::nullopt)"));
    return lz_check_err(lzg_set_signature(s, lzg_set_at(s, 0), LZG_SIG_COUNT, &got), LZ_ERR_ARG, "no kind");
}

static lz_err *with_set(lz_err *(*check)(lzg_set *))
{
    lzg_set *s = NULL;
    lz_err *e = open_text(ops_text, &s);
    if (!e)
        e = check(s);
    lzg_set_close(s);
    return e;
}

static lz_err *test_facts(void)
{
    return with_set(check_facts);
}

static lz_err *test_sets(void)
{
    return with_set(check_sets);
}

static lz_err *test_bounds(void)
{
    return with_set(check_bounds);
}

static lz_err *test_signatures(void)
{
    return with_set(check_signatures);
}

static lz_err *test_every_mistake_is_told(void)
{
    lzg_set *s;
    lz_err *e =
        open_text("- func: f(Tensor self) -> Tensor\n  variant: method\n- func: g(tensor x) -> ()\n", &s);
    if (lz_err_code(e) == LZ_ERR_MODEL)
        assert_non_null(strstr(lz_err_text(e), "ops.yaml:3:11: unknown type 'tensor'"));
    LZ_TRY(lz_check_err(e, LZ_ERR_MODEL, "ops.yaml:2:3: unknown field 'variant'"));
    lzg_set_close(NULL);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_facts),
        LZ_TEST(test_sets),
        LZ_TEST(test_bounds),
        LZ_TEST(test_signatures),
        LZ_TEST(test_every_mistake_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
