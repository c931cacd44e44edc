#include "check.h"
#include <lazuli/gen.h>
#include <stdio.h>

#define OPS  LZ_SOURCE_DIR "/test/gen/ops.yaml"
#define TAGS LZ_SOURCE_DIR "/test/gen/tags.yaml"

static lz_err *open_set(lzg_set **out)
{
    static const char *const files[] = { OPS, NULL };
    return lzg_set_open(&(lzg_set_options){ .files = files, .tags = TAGS }, out);
}

static bool is(lz_str s, const char *want)
{
    return s.len == strlen(want) && (s.len == 0 || memcmp(s.ptr, want, s.len) == 0);
}

/* Everything that has an index can be asked up to its count and not beyond. */
static lz_err *ask_all(lzg_set *s, const lzg_function *f)
{
    lzg_facts facts = lzg_describe(f);
    lzg_arg_facts arg;
    lzg_kernel_facts kernel;
    lz_str tag;
    for (size_t i = 0; i < facts.nargs; i++)
        LZ_TRY(lzg_describe_arg(s, f, i, &arg));
    for (size_t i = 0; i < facts.nreturns; i++)
        LZ_TRY(lzg_describe_return(s, f, i, &arg));
    for (size_t i = 0; i < facts.nkernels; i++)
        LZ_TRY(lzg_describe_kernel(f, i, &kernel));
    for (size_t i = 0; i < facts.ntags; i++)
        LZ_TRY(lzg_describe_tag(f, i, &tag));
    LZ_TRY(lz_check_err(lzg_describe_arg(s, f, facts.nargs, &arg), LZ_ERR_ARG, "argument"));
    LZ_TRY(lz_check_err(lzg_describe_return(s, f, facts.nreturns, &arg), LZ_ERR_ARG, "return"));
    LZ_TRY(lz_check_err(lzg_describe_kernel(f, facts.nkernels, &kernel), LZ_ERR_ARG, "kernel"));
    return lz_check_err(lzg_describe_tag(f, facts.ntags, &tag), LZ_ERR_ARG, "tag");
}

static lz_err *walk_functions(lzg_set *s)
{
    assert_true(lzg_set_count(s) > 5);
    assert_null(lzg_set_at(s, lzg_set_count(s)));
    assert_null(lzg_set_find(s, "no_such_operator"));
    for (size_t i = 0; i < lzg_set_count(s); i++) {
        const lzg_function *f = lzg_set_at(s, i);
        char name[256];
        snprintf(name, sizeof name, "%.*s", LZ_FMT(lzg_describe(f).name));
        assert_ptr_equal(lzg_set_find(s, name), f);
        LZ_TRY(ask_all(s, f));
    }
    return NULL;
}

static lz_err *walk_groups(lzg_set *s)
{
    lzg_group_facts g;
    lzg_view_facts v;
    lzg_index_facts x;
    for (size_t i = 0; i < lzg_set_groups(s); i++) {
        LZ_TRY(lzg_describe_group(s, i, &g));
        assert_non_null(g.functional);
        assert_true(is(lzg_describe(g.functional).kind, "functional"));
        assert_true(!g.out || is(lzg_describe(g.out).kind, "out"));
    }
    for (size_t i = 0; i < lzg_set_views(s); i++) {
        LZ_TRY(lzg_describe_view(s, i, &v));
        assert_true(v.view && lzg_describe(v.view).is_view);
    }
    LZ_TRY(lz_check_err(lzg_describe_group(s, lzg_set_groups(s), &g), LZ_ERR_ARG, "group"));
    LZ_TRY(lz_check_err(lzg_describe_view(s, lzg_set_views(s), &v), LZ_ERR_ARG, "view group"));
    return lz_check_err(lzg_describe_index(s, lzg_set_indices(s), &x), LZ_ERR_ARG, "backend index");
}

/* The index of a key holds as many kernels as there are operators that say so. */
static lz_err *count_kernels(lzg_set *s)
{
    assert_true(lzg_set_indices(s) > 0);
    for (size_t i = 0; i < lzg_set_indices(s); i++) {
        lzg_index_facts x;
        size_t found = 0;
        LZ_TRY(lzg_describe_index(s, i, &x));
        for (size_t k = 0; k < lzg_set_count(s); k++) {
            lzg_kernel_facts kernel;
            lz_err *e = lzg_index_kernel(s, i, lzg_set_at(s, k), &kernel);
            found += !e;
            if (e)
                LZ_TRY(lz_check_err(e, LZ_ERR_NOT_FOUND, "has no kernel for"));
        }
        assert_int_equal(found, x.nkernels);
    }
    return NULL;
}

static lz_err *signatures(lzg_set *s)
{
    const lzg_function *add = lzg_set_find(s, "add.Tensor");
    lz_str sig;
    assert_non_null(add);
    LZ_TRY(lzg_set_signature(s, add, LZG_SIG_CPP, &sig));
    assert_true(
        is(sig,
           "at::Tensor add(const at::Tensor & self, const at::Tensor & other, const at::Scalar & alpha=1)"));
    LZ_TRY(lzg_set_signature(s, add, LZG_SIG_CPP_FAITHFUL, &sig));
    assert_null(sig.ptr);
    LZ_TRY(lzg_set_signature(s, add, LZG_SIG_DISPATCHER_TYPE, &sig));
    assert_true(is(sig, "at::Tensor (const at::Tensor &, const at::Tensor &, const at::Scalar &)"));
    LZ_TRY(lzg_set_signature(s, add, LZG_SIG_PYTHON, &sig));
    assert_true(is(sig, "add(Tensor input, Tensor other, *, Scalar alpha=1)"));
    return lz_check_err(lzg_set_signature(s, add, LZG_SIG_COUNT, &sig), LZ_ERR_ARG, "no kind of signature");
}

static lz_err *with_set(lz_err *(*ask)(lzg_set *s))
{
    lzg_set *s = NULL;
    lz_err *e = open_set(&s);
    if (!e)
        e = ask(s);
    lzg_set_close(s);
    return e;
}

static lz_err *test_functions_can_be_walked(void)
{
    return with_set(walk_functions);
}

static lz_err *test_groups_can_be_walked(void)
{
    return with_set(walk_groups);
}

static lz_err *test_indices_agree_with_functions(void)
{
    return with_set(count_kernels);
}

static lz_err *test_signatures_can_be_asked_for(void)
{
    return with_set(signatures);
}

static lz_err *test_mistakes_come_all_at_once(void)
{
    static const char *const files[] = { TAGS, NULL };
    lzg_set *s = NULL;
    lz_err *e = lzg_set_open(&(lzg_set_options){ .files = files, .tags = TAGS }, &s);
    assert_null(s);
    return lz_check_err(e, LZ_ERR_MODEL, "tags.yaml:");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_functions_can_be_walked),      LZ_TEST(test_groups_can_be_walked),
        LZ_TEST(test_indices_agree_with_functions), LZ_TEST(test_signatures_can_be_asked_for),
        LZ_TEST(test_mistakes_come_all_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
