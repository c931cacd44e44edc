#include "check.h"
#include <lazuli/gen.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TREE LZ_SOURCE_DIR "/test/gen/torch"

/* A fresh folder for each run of a test. */
static const char *fresh(char path[4096])
{
    static int runs;
    snprintf(path, 4096, "%s/%d", lz_check_dir(), runs++);
    return path;
}

static bool exists(const char *folder, const char *name)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static lz_err *test_aten(void)
{
    char folder[4096];
    lzg_torch_report report;
    const char *const generate[] = { "headers", NULL };
    lzg_torch_options o = { .source_path = TREE "/rules",
                            .install_dir = fresh(folder),
                            .aoti_install_dir = folder,
                            .generate = generate };
    LZ_TRY(lzg_torch(&o, &report));
    assert_int_equal(report.files, 26);
    assert_int_equal(report.written, 26);
    assert_true(exists(folder, "Functions.h") && exists(folder, "core/enum_tag.h"));
    assert_false(exists(folder, "RegisterSchema.cpp"));
    LZ_TRY(lzg_torch(&o, &report));
    assert_int_equal(report.files, 26);
    assert_int_equal(report.written, 0);
    o.source_path = "/nowhere";
    return lz_check_err(lzg_torch(&o, &report), LZ_ERR_NOT_FOUND, "/nowhere/native/tags.yaml");
}

static lz_err *test_autograd(void)
{
    char folder[4096];
    lzg_torch_report report;
    lzg_torch_autograd_options o = { .native = TREE "/tools/autograd/native_functions.yaml",
                                     .tags = TREE "/aten/native/tags.yaml",
                                     .derivatives = TREE "/tools/autograd",
                                     .templates = TREE "/tools/autograd/templates",
                                     .install_dir = fresh(folder),
                                     .subset = "python" };
    LZ_TRY(lzg_torch_autograd(&o, &report));
    assert_int_equal(report.files, 1);
    assert_int_equal(report.written, 1);
    assert_true(exists(folder, "annotated_fn_args.py"));
    o.subset = "everything";
    LZ_TRY(lz_check_err(lzg_torch_autograd(&o, &report), LZ_ERR_ARG, "--subset cannot be 'everything'"));
    o.subset = NULL;
    o.tags = NULL;
    return lz_check_err(lzg_torch_autograd(&o, &report), LZ_ERR_ARG, "needs --tags");
}

static lz_err *test_lazy(void)
{
    char folder[4096];
    lzg_torch_report report;
    lzg_torch_lazy_options o = { .source_path = TREE "/aten",
                                 .source_yaml = TREE "/lazy/small.yaml",
                                 .output_dir = fresh(folder),
                                 .shape_inference_hdr = TREE "/lazy/shapes.h",
                                 .backend_name = "Small" };
    LZ_TRY(lzg_torch_lazy(&o, &report));
    assert_int_equal(report.files, 5);
    assert_int_equal(report.written, 5);
    assert_true(exists(folder, "XLANativeFunctions.cpp") && exists(folder, "RegisterXLA.cpp"));
    LZ_TRY(lzg_torch_lazy(&o, &report));
    assert_int_equal(report.written, 0);
    o.source_yaml = NULL;
    return lz_check_err(lzg_torch_lazy(&o, &report), LZ_ERR_ARG, "needs --source-yaml");
}

/* Each run once: both read and compute much, and test_python and others make every allocation of theirs fail.
 */
static void run_aten(void **state)
{
    (void)state;
    assert_null(test_aten());
}

static void run_autograd(void **state)
{
    (void)state;
    assert_null(test_autograd());
}

static void run_lazy(void **state)
{
    (void)state;
    assert_null(test_lazy());
}

int main(void)
{
    setenv("LAZULI_CACHE", "off", 1);
    const struct CMUnitTest tests[] = { cmocka_unit_test(run_aten), cmocka_unit_test(run_autograd),
                                        cmocka_unit_test(run_lazy) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
